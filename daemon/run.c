// SPDX-License-Identifier: GPL-2.0-only
/*
 * The main loop of the daemon: when it records, and serves signals, sockets, snapshots and the
 * governor.
 */
#include "run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "../tools/common/device_report.h"
#include "../tools/common/names.h"
#include "../tools/common/tool.h"
#include "events.h"
#include "log.h"
#include "rules.h"

#define SECOND 1000000000ULL
/* What comes within this time is taken together: rings hold more than that. */
#define PAUSE_NS 20000000ULL

const char *run_state_name(enum run_state state)
{
	static const char *const names[] = { "recording", "stopped", "full", "lent" };

	return names[state];
}

/* A decoded one may take as much as many raw ones. */
struct after_options run_after_options(const struct conf *conf)
{
	static const char *const formats[] = {
		[CONF_FORMAT_STF] = "stf", [CONF_FORMAT_ZSTF] = "zstf",
		[CONF_FORMAT_TARMAC] = "tarmac", [CONF_FORMAT_QEMU4V] = "qemu4v",
	};

	return (struct after_options){
		.directory = conf->directory,
		.pack = conf->compress,
		.format = formats[conf->format],
		.waiting = conf->waiting,
		.most = conf->quota / 4,
	};
}

static void work_after(struct run *run, uint64_t now)
{
	const uint64_t before = run->after.deleted;

	after_step(&run->after, now, run_wall_seconds());
	run_count_deleted(run, (unsigned int)(run->after.deleted - before));
	event_left(&run->after.left);
	run->after.left = (struct store_left){ 0 };
	/* One that is not finished yet names files as well. */
	if (run->images)
		images_step(run->images, store_oldest(run->store));
}

/* --- How much. --- */

/* Or nothing else is to be recorded: who started it gets a message. */
void run_switch_on(struct run *run, bool on)
{
	if (!collect_switch_on(&run->collect, on))
		return;
	run->over = true;
	run->failed = true;
}

/* All the time: there is no rest. */
bool run_is_whole(const struct run *run)
{
	return run->conf.on_time >= governor_period(&run->governor, run->conf.on_period);
}

/* Whether it is the time to record now; *left: ns until that changes, or UINT64_MAX. */
static bool on_duty(struct run *run, uint64_t now, uint64_t *left)
{
	const uint64_t period = governor_period(&run->governor, run->conf.on_period);
	const uint64_t on = run->conf.on_time;
	uint64_t at = now - run->period;

	*left = UINT64_MAX;
	if (run->state != RUN_RECORDING || run->collect.paused)
		return false;
	if (run_is_whole(run))
		return true;
	if (at >= period) {
		run->period = at - period < period ? run->period + period : now;
		at = now - run->period;
	}
	*left = at < on ? on - at : period - at;
	return at < on;
}

/* --- Signals. --- */

static void handle_signals(struct run *run)
{
	struct signalfd_siginfo info;

	while (read(run->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			run->reload = true;
		else if (info.ssi_signo == SIGUSR1)
			run->rotate = true;
		else if (info.ssi_signo == SIGUSR2)
			run_save(run, "SIGUSR2");
		else
			run->over = true;
	}
}

static void swap_lists(struct conf_list *a, struct conf_list *b)
{
	struct conf_list old = *a;

	*a = *b;
	*b = old;
}

/* Streams are of whole CPUs or of tasks, and programs are loaded or not, from the start on. */
static void reload_tasks(struct run *run, struct conf *conf)
{
	struct conf would = *conf;

	/* A reload changes no pids. */
	would.pids = run->conf.pids;
	if (rules_wide(&would) != rules_wide(&run->conf) ||
	    rules_any(&would) != rules_any(&run->conf)) {
		complain("[tasks] is as it was: such a change holds when flowtapd is started again");
		return;
	}
	swap_lists(&run->conf.cgroups, &conf->cgroups);
	swap_lists(&run->conf.commands, &conf->commands);
	swap_lists(&run->conf.not_cgroups, &conf->not_cgroups);
	swap_lists(&run->conf.not_commands, &conf->not_commands);
	choice_change(run->choice);
}

/* Limits and budgets can change while it runs; what is opened at the start cannot. */
static void reload(struct run *run)
{
	struct after_options after;
	struct store_limits limits;
	struct conf conf;
	char *error, unapplied[CONF_UNAPPLIED];

	run->reload = false;
	notify_reloading(&run->notify);
	if (conf_load(run->path, &conf, &error)) {
		complain("%s: what was before holds", error ? error : "no memory");
		free(error);
	} else {
		conf_unapplied(&run->conf, &conf, unapplied);
		if (*unapplied)
			complain("%s: as it was: such a change holds when flowtapd is started again",
				 unapplied);
		run->conf.on_time = conf.on_time;
		run->conf.on_period = conf.on_period;
		run->conf.cpu = conf.cpu;
		run->conf.loss = conf.loss;
		run->conf.least = conf.least;
		run->conf.size = conf.size;
		run->conf.time = conf.time;
		run->conf.quota = conf.quota;
		run->conf.free = conf.free;
		limits = (struct store_limits){ .quota = conf.quota, .free = conf.free };
		store_limit(run->store, &limits);
		run->conf.compress = conf.compress;
		run->conf.format = conf.format;
		run->conf.waiting = conf.waiting;
		after = run_after_options(&run->conf);
		after_change(&run->after, &after);
		if (run->images)
			images_limit(run->images, conf.quota / 4, conf.free);
		governor_change(&run->governor, conf.cpu, conf.loss, conf.least);
		collect_limit(&run->collect);
		run->retry = 0;
		reload_tasks(run, &conf);
		event_configuration(run, "reload");
		conf_free(&conf);
	}
	notify_send(&run->notify, "READY=1");
}

/* --- The loop. --- */

static int wait_ms(const struct run *run, uint64_t now, uint64_t duty)
{
	uint64_t left = run->second + SECOND > now ? run->second + SECOND - now : 0;

	left = duty < left ? duty : left;
	if (run->notify.watchdog && run->notify.watchdog / 2 < left)
		left = run->notify.watchdog / 2;
	return (int)((left + 999999) / 1000000);
}

static void serve(struct run *run, uint64_t now)
{
	if (run->control)
		server_serve(run->control, now);
	if (run->metrics)
		server_serve(run->metrics, now);
}

/* Who is stopped until he is chosen does not wait for it. */
static void pause_for(struct run *run, uint64_t ns)
{
	struct pollfd fd = { .fd = choice_fd(run->choice), .events = POLLIN };
	const uint64_t end = number_now() + ns;

	for (uint64_t now = end - ns; now < end; now = number_now()) {
		const struct timespec time = { .tv_nsec = (long)(end - now) };

		if (ppoll(&fd, 1, &time, NULL) > 0)
			choice_serve(run->choice, now);
	}
}

/* That it lives, twice as often as is asked for, and what it does when that changes. */
static void notify_manager(struct run *run, uint64_t now)
{
	const uint64_t often = run->notify.watchdog / 2 < SECOND ? run->notify.watchdog / 2 : SECOND;

	if (run->notify.unready)
		notify_send(&run->notify, "READY=1");
	if (run->notify.watchdog && now - run->alive >= often) {
		notify_send(&run->notify, "WATCHDOG=1");
		run->alive = now;
	}
	if (run->reported == run->state)
		return;
	run->reported = run->state;
	if (run->state == RUN_RECORDING)
		notify_send(&run->notify, "STATUS=records into %.200s", run->conf.directory);
	else if (run->state == RUN_LENT)
		notify_send(&run->notify, run->lease.pid ? "STATUS=lent to process %d" :
			    "STATUS=opens what CPUs have again", run->lease.pid);
	else
		notify_send(&run->notify, "STATUS=%s", run->state == RUN_FULL ?
			    "cannot write another segment: waits" : "was asked to stop: waits");
}

/* What there is to do where nothing is open. */
static void turn_lent(struct run *run)
{
	struct pollfd fds[] = {
		{ .fd = run->signals, .events = POLLIN },
		{ .fd = server_fd(run->control), .events = POLLIN },
		{ .fd = run->metrics ? server_fd(run->metrics) : -1, .events = POLLIN },
	};
	uint64_t now = number_now();
	int wait = run->lease.returned ? 100 : wait_ms(run, now, UINT64_MAX);

	poll(fds, sizeof(fds) / sizeof(fds[0]), wait);
	run_take_triggers(run);
	handle_signals(run);
	now = number_now();
	serve(run, now);
	if (!run->over)
		lend_serve(run, now);
}

static void turn_open(struct run *run)
{
	uint64_t now = number_now(), duty;
	int error;

	run_switch_on(run, on_duty(run, now, &duty));
	pause_for(run, duty < PAUSE_NS ? duty : PAUSE_NS);
	now = number_now();
	duty = duty > PAUSE_NS ? duty - PAUSE_NS : 0;
	collect_wait(&run->collect, wait_ms(run, now, duty));
	now = number_now();
	/* What follows may take longer than the rest does. */
	if (run->collect.enabled)
		run_switch_on(run, on_duty(run, now, &duty));
	choice_serve(run->choice, now);
	disk_begin(&run->disk);
	error = collect_take(&run->collect);
	disk_end(&run->disk);
	run_take_triggers(run);
	handle_signals(run);
	serve(run, now);
	if (run->state == RUN_LENT)
		return;
	disk_begin(&run->disk);
	if (error)
		run_wait_for_space(run, error);
	else
		run_keep_segments(run, now);
	disk_end(&run->disk);
}

static void turn(struct run *run)
{
	uint64_t now;

	if (run->state == RUN_LENT)
		turn_lent(run);
	else
		turn_open(run);
	if (run->reload)
		reload(run);
	now = number_now();
	if (now - run->second >= SECOND) {
		run_govern(run, now);
		if (run->state != RUN_LENT && !run->collect.paused)
			cpus_look(run);
		disk_begin(&run->disk);
		run_rewrite_unfinished(run);
		work_after(run, now);
		disk_end(&run->disk);
	}
	notify_manager(run, now);
}

static int end(struct run *run)
{
	notify_send(&run->notify, "STOPPING=1");
	if (run->state != RUN_LENT)
		run_end_segment(run, "stop");
	/* Else who is stopped until he is chosen would wait for the disk as well. */
	choice_end(run->choice);
	disk_begin(&run->disk);
	run_end_unfinished(run);
	disk_end(&run->disk);
	disk_last(&run->disk);
	/* Losses that no event has yet. */
	run_keep_figures(run);
	totals_report_losses(&run->totals, UINT64_MAX);
	event_end(run);
	return run->failed ? STATUS_ERROR : STATUS_OK;
}

int run_loop(struct run *run)
{
	int error, status;

	event_start(run);
	error = run_begin_segment(run);
	if (error) {
		complain("cannot begin a segment in '%s': %s", run->conf.directory, strerror(-error));
		run_advise_folder(run, error);
		return STATUS_ERROR;
	}
	error = privileges_end(&run->privileges);
	if (error) {
		complain("cannot give up capabilities: %s", strerror(-error));
		return STATUS_ERROR;
	}
	/* Who starts it reads all complaints up to here. */
	log_take_messages(true);
	run->started = run->period = run->second = number_now();
	run_measure(run);
	run->cpu = run->figures.own_cpu;
	notify_send(&run->notify, "READY=1\nSTATUS=records into %.200s", run->conf.directory);
	while (!run->over)
		turn(run);
	status = end(run);
	log_take_messages(false);
	return status;
}
