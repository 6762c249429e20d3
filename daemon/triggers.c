// SPDX-License-Identifier: GPL-2.0-only
/* What makes rings that overwrite be saved. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../tools/common/tool.h"
#include "crash.h"
#include "events.h"
#include "run.h"

#define MINUTE 60000000000ULL

int run_trigger(struct run *run, const struct flowtap_archive_trigger *trigger, const char *text)
{
	int error;

	if (!run->conf.overwrite)
		return -EINVAL;
	/* When it was just started again it has no segment yet. */
	if (run->state != RUN_RECORDING || run->collect.paused)
		return -EAGAIN;
	error = collect_trigger(&run->collect, trigger, text);
	run->save |= !error;
	if (!error)
		event_trigger(trigger, text);
	return error;
}

void run_save(struct run *run, const char *who)
{
	const struct flowtap_archive_trigger trigger = {
		.time = number_now(), .cause = FLOWTAP_ARCHIVE_CAUSE_ASKED,
	};
	int error = run_trigger(run, &trigger, who);

	if (error == -EINVAL)
		complain("%s saves what rings have that overwrite: overwrite = yes is not in '%s'",
			 who, run->path);
	else if (error)
		complain("nothing was saved: %s", error == -EAGAIN ? "nothing is being recorded" :
			 strerror(-error));
}

static void open_crashes(struct run *run)
{
	run->crashes = crash_open();
	if (run->crashes >= 0)
		return;
	complain("crashes save nothing: %s", run->crashes == -EPERM ? "permission denied" :
		 run->crashes == -EPROTONOSUPPORT ? "this kernel has no CONFIG_PROC_EVENTS" :
		 strerror(-run->crashes));
	run->crashes = -1;
}

static void probe_failed(void *argument, const char *item, int error)
{
	const struct run *run = argument;

	complain("'%s' saves nothing: %s", item, error == -ENOENT || error == -ESRCH ?
		 "there is no such file, function or tracepoint" : strerror(-error));
	if (error == -ENOENT || error == -ESRCH)
		advise("nm -D FILE, or nm FILE, has its functions, /sys/kernel/tracing/available_events the "
		       "tracepoints; correct it in '%s'", run->path);
}

void run_open_triggers(struct run *run)
{
	int error;

	if (!run->conf.overwrite)
		return;
	if (run->conf.crash)
		open_crashes(run);
	error = probes_open(&run->conf, probe_failed, run, &run->probes);
	if (error)
		complain("functions and tracepoints save nothing: the kernel does not take the programs: %s",
			 strerror(-error));
}

int run_watch_triggers(struct run *run)
{
	int error = run->crashes < 0 ? 0 : collect_watch(&run->collect, run->crashes);

	return error || !run->probes ? error : collect_watch(&run->collect, probes_fd(run->probes));
}

/*
 * A program that crashes again and again, or anybody's, is not to take the place of all that was
 * saved before, nor of all that the log has.
 */
static void handle_crash(struct run *run, const struct crash *crash)
{
	const struct flowtap_archive_trigger trigger = {
		.time = crash->time, .address = crash->address, .pid = crash->pid,
		.tid = crash->tid, .cause = FLOWTAP_ARCHIVE_CAUSE_CRASH,
	};
	const uint64_t now = number_now();
	int error;

	if (now < run->crash_silent) {
		run->crashes_passed++;
		return;
	}
	error = run_trigger(run, &trigger, "");
	if (error && now < run->crash_reported) {
		run->crashes_passed++;
		return;
	}
	if (error) {
		complain("the crash of process %u was not saved: %s", crash->pid,
			 error == -EAGAIN ? "nothing is being recorded" : strerror(-error));
		run->crash_reported = now + MINUTE;
	} else {
		run->crash_silent = now + run->conf.pause;
	}
	event_passed(run->crashes_passed);
	run->crashes_passed = 0;
}

/* Whether a message is due; the next one is a minute later at the earliest. */
static bool is_due(uint64_t *next)
{
	const uint64_t now = number_now();

	if (now < *next)
		return false;
	*next = now + MINUTE;
	return true;
}

/* A process that dumps core is as it was for as long as that takes. */
static void handle_crashes(struct run *run)
{
	struct crash crash;
	int got = 0;

	while (run->crashes >= 0 && (got = crash_next(run->crashes, &crash)) > 0)
		handle_crash(run, &crash);
	if (got == -ENOBUFS && is_due(&run->crashes_missed))
		complain("crashes came faster than they could be taken: some saved nothing");
}

static void handle_probe(void *argument, const struct probe_event *event, uint32_t cause,
			 const char *text)
{
	const struct flowtap_archive_trigger trigger = {
		.time = number_raw(event->time), .address = event->address, .pid = event->pid,
		.tid = event->tid, .cause = cause,
	};
	struct run *run = argument;
	char passed[64] = "";
	int error = run_trigger(run, &trigger, text);

	if (!error)
		return;
	/* Anybody may call a function, as often as he likes. */
	if (!is_due(&run->probes_reported)) {
		run->probes_passed++;
		return;
	}
	if (run->probes_passed)
		snprintf(passed, sizeof(passed), "; %llu before it were not either",
			 (unsigned long long)run->probes_passed);
	complain("'%s' of process %u was not saved: %s%s", text, event->pid,
		 error == -EAGAIN ? "nothing is being recorded" : strerror(-error), passed);
	run->probes_passed = 0;
}

void run_take_triggers(struct run *run)
{
	handle_crashes(run);
	if (run->probes && probes_serve(run->probes, handle_probe, run) &&
	    is_due(&run->probes_missed))
		complain("functions and tracepoints were reached faster than that could be taken: some "
			 "saved nothing");
}

void run_close_triggers(struct run *run)
{
	if (run->crashes >= 0)
		close(run->crashes);
	probes_close(run->probes);
}
