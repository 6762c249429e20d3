// SPDX-License-Identifier: GPL-2.0-only
/* What flowtapd has open for as long as it runs, and what it says where it cannot be had. */
#include <errno.h>
#include <flowtap/session.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "../tools/common/device_report.h"
#include "../tools/common/user_privileges.h"
#include "../tools/common/tool.h"
#include "events.h"
#include "rules.h"
#include "run.h"

/* Who scrapes them comes every few seconds; anybody can come to a port. */
#define METRICS_RATE 8

static int open_store(struct run *run)
{
	const struct store_limits limits = { .quota = run->conf.quota, .free = run->conf.free };
	const struct after_options after = run_after_options(&run->conf);
	struct store_left left;
	int error = store_open(run->conf.directory, &limits, &left, &run->store);

	if (error) {
		complain("cannot use '%s' for segments: %s", run->conf.directory,
			 error == -EBUSY ? "another flowtapd has it" :
			 error == -E2BIG ? "too many are there" : strerror(-error));
		run_advise_folder(run, error);
		return STATUS_ERROR;
	}
	/* Without it the disk is waited for. */
	if (!syncer_new(&run->syncer))
		store_sync_by(run->store, run->syncer);
	event_left(&left);
	run_count_deleted(run, left.deleted);
	after_init(&run->after, run->store, &after);
	return 0;
}

/* Without them segments decode where the files are, or with --sysroot: no reason not to record. */
static void open_images(struct run *run)
{
	int error = run->conf.images ? images_open(run->conf.directory, run->conf.quota / 4,
						   run->conf.free, store_number(run->store),
						   &run->images) : 0;

	if (error)
		complain("files that are mapped cannot be saved in '%s/" IMAGES "': %s",
			 run->conf.directory, strerror(-error));
	run->collect.images = run->images;
}

static void complain_listen(const struct server_options *options, const char *path, int error)
{
	const char *address = options->address, *slash = strrchr(address, '/');

	switch (-error) {
	case EADDRINUSE:
		complain("cannot listen at '%s': another flowtapd is there", address);
		advise("end it, or name another socket in '%s'", path);
		break;
	case EINVAL:
		complain("cannot listen at '%s': it is neither a path nor a port of the loopback",
			 address);
		advise("write /run/flowtap/%s, or for metrics 127.0.0.1:9464, in '%s'",
		       options->whole == answer_http ? "metrics" : "control", path);
		break;
	case ESRCH:
		complain("cannot listen at '%s': there is no group '%s'", address, options->group);
		advise("make it (groupadd --system %s), or name another group in '%s'",
		       options->group, path);
		break;
	case ENOENT:
		complain("cannot listen at '%s': there is no directory '%.*s'", address,
			 (int)(slash - address), address);
		advise("make it (mkdir -p), or name another path in '%s'", path);
		break;
	case EEXIST:
		complain("cannot listen at '%s': it is there, and no socket", address);
		advise("remove it, or name another path in '%s'", path);
		break;
	default:
		complain("cannot listen at '%s': %s", address, strerror(-error));
		advise("name another address in '%s'", path);
	}
}

static int open_server(const char *address, const char *group, bool metrics, struct run *run,
		       struct server **server)
{
	const struct server_options options = {
		.address = address,
		.group = group,
		.whole = metrics ? answer_http : answer_line,
		.answer = metrics ? answer_metrics : answer_control,
		.closed = answer_closed,
		.argument = run,
		.rate = metrics ? METRICS_RATE : 0,
	};
	int error = server_open(&options, server);

	if (!error)
		return 0;
	complain_listen(&options, run->path, error);
	if (error == -EPERM && group && *group)
		advise("user %s must be in group %s", run->privileges.user, group);
	return STATUS_ERROR;
}

/* Whom it becomes, and where that user's sockets are. */
static int open_privileges(struct run *run)
{
	const struct conf *conf = &run->conf;
	struct privileges *privileges = &run->privileges;
	unsigned int uses = conf->modes != CONF_MODES_USER && conf->kernel_text ? PRIVILEGES_KERNEL : 0;
	struct user_privileges ours;
	int error;

	if (rules_any(conf))
		uses |= PRIVILEGES_TASKS | PRIVILEGES_STOPS;
	if (conf->overwrite && conf_probes(conf))
		uses |= PRIVILEGES_PROBES;
	user_privileges_read(&ours);
	if (ours.paranoid > 2)
		uses |= PRIVILEGES_PARANOID;
	error = privileges_find(privileges, conf->user, uses);
	if (error) {
		complain("there is no user '%s': %s", conf->user, strerror(-error));
		advise("make it: useradd --system --groups perf %s, or name another one in '%s' "
		       "([service] user)", conf->user, run->path);
		return STATUS_ERROR;
	}
	error = privileges_directory(privileges, conf->socket);
	if (!error)
		error = privileges_directory(privileges, conf->metrics);
	if (error)
		complain("cannot make the directory of '%s' or '%s': %s", conf->socket, conf->metrics,
			 strerror(-error));
	if (!error && privileges->root && !privileges->uid && !*conf->user)
		complain("there is no user '%s': it stays root, with few capabilities",
			 PRIVILEGES_USER);
	if (!error && (error = privileges_begin(privileges)))
		complain("cannot become user '%s': %s", privileges->user, strerror(-error));
	return error ? STATUS_ERROR : 0;
}

static int open_choice(struct run *run)
{
	struct choice_figures figures;
	int error = choice_open(&run->conf, &run->choice);

	if (error) {
		complain("cannot choose whom to record: %s", strerror(-error));
		if (error == -EINVAL)
			advise("FLOWTAP_CHOICE is kernel, stop or poll; or unset it");
		return error;
	}
	choice_measure(run->choice, &figures);
	if (figures.method != CHOICE_STOP)
		run->privileges.uses &= ~(unsigned int)PRIVILEGES_STOPS;
	return 0;
}

/* The capability of the start opens the device; later it must belong to the user or its group. */
int run_open_device(struct run *run)
{
	int error = privileges_device(&run->privileges, true), after;

	cpus_begin(run);
	if (!error)
		error = collect_open(&run->collect, &run->conf);
	after = privileges_device(&run->privileges, false);
	if (after)
		complain("cannot give up capabilities: %s", strerror(-after));
	if (!error)
		error = after;
	/* Once: the module is there, and so are the capabilities that it takes. */
	if (!error && !run->choice)
		error = open_choice(run);
	return error ? error : choice_begin(run->choice, &run->collect.streams);
}

bool run_may_open_device(const struct run *run)
{
	int fd = privileges_device(&run->privileges, true) ? -1 : flowtap_device_open();

	privileges_device(&run->privileges, false);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int open_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int run_open(struct run *run, const char *path)
{
	char *error;
	int status;

	*run = (struct run){ .path = path, .signals = -1, .crashes = -1, .notify.fd = -1 };
	if (conf_load(path, &run->conf, &error)) {
		complain("%s", error ? error : "no memory");
		free(error);
		return STATUS_USAGE;
	}
	if (notify_open(&run->notify))
		complain("NOTIFY_SOCKET cannot be reached: nobody is told that flowtapd is ready");
	governor_init(&run->governor, run->conf.cpu, run->conf.loss, run->conf.least);
	run->signals = open_signals();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	/* Who started it may have ignored it: then nobody hears how children ended. */
	signal(SIGCHLD, SIG_DFL);
	status = open_privileges(run);
	if (!status)
		status = open_store(run);
	if (!status)
		status = open_server(run->conf.socket, run->conf.group, false, run, &run->control);
	if (!status && *run->conf.metrics)
		status = open_server(run->conf.metrics, run->conf.group, true, run, &run->metrics);
	if (!status)
		open_images(run);
	if (!status && run_open_device(run))
		status = STATUS_ERROR;
	if (!status)
		run_open_triggers(run);
	return status;
}

void run_close(struct run *run)
{
	server_close(run->control);
	server_close(run->metrics);
	choice_close(run->choice);
	if (run->collect.conf)
		collect_close(&run->collect);
	totals_free(&run->totals);
	answer_free(&run->page);
	after_close(&run->after);
	images_close(run->images);
	store_close(run->store);
	syncer_free(run->syncer);
	notify_close(&run->notify);
	if (run->signals >= 0)
		close(run->signals);
	run_close_triggers(run);
	conf_free(&run->conf);
}
