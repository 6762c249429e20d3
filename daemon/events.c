// SPDX-License-Identifier: GPL-2.0-only
/* Writes the log line of each event, with the figures that belong to it. */
#include "events.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../tools/common/names.h"
#include "../tools/common/tool.h"
#include "log.h"

void event_begun(const struct run *run)
{
	struct log_line line;

	log_begin(&line, LEVEL_INFO, "segment-begun");
	log_text(&line, "name", store_current(run->store));
	log_end(&line);
}

void event_ended(const struct run *run, const struct store_facts *facts)
{
	const struct store_segment *segment = store_finished(run->store);
	struct log_line line;

	log_begin(&line, facts->lost ? LEVEL_WARNING : LEVEL_INFO, "segment-ended");
	if (segment) {
		log_text(&line, "name", segment->name);
		log_number(&line, "bytes", segment->bytes);
	}
	log_number(&line, "records", facts->records);
	log_number(&line, "lost", facts->lost);
	log_number(&line, "seconds", facts->seconds);
	log_text(&line, "why", facts->why);
	log_end(&line);
}

void event_deleted(const struct run *run, unsigned int deleted)
{
	struct log_line line;

	if (!deleted)
		return;
	log_begin(&line, LEVEL_INFO, "segments-deleted");
	log_number(&line, "count", deleted);
	log_number(&line, "bytes_left", store_bytes(run->store));
	log_end(&line);
}

void event_drain(const struct run *run)
{
	static const enum flowtap_drain_method wanted = FLOWTAP_DRAIN_URING;
	const struct flowtap_session *session = &run->collect.streams.session;
	const enum flowtap_drain_method method = flowtap_drain_method(session->drain);
	const bool less = method > wanted;
	struct log_line line;

	log_begin(&line, less ? LEVEL_WARNING : LEVEL_INFO, "drain");
	log_text(&line, "method", flowtap_drain_method_name(method));
	log_text(&line, "instead_of", less ? flowtap_drain_method_name(wanted) : NULL);
	log_number(&line, "cpus", session->n);
	log_end(&line);
	if (!flowtap_sideband_polled(run->collect.sideband))
		return;
	log_begin(&line, LEVEL_WARNING, "polled");
	log_text(&line, "why", "the kernel denies perf events");
	log_text(&line, "lacking", "code that is mapped for a moment only");
	log_text(&line, "fix", "sysctl kernel.perf_event_paranoid=2, or restart flowtapd as its unit does");
	log_end(&line);
}

void event_choice(const struct run *run)
{
	struct choice_figures figures;
	struct log_line line;

	choice_measure(run->choice, &figures);
	if (figures.method == CHOICE_NONE)
		return;
	log_begin(&line, figures.method == CHOICE_KERNEL ? LEVEL_INFO : LEVEL_WARNING, "tasks");
	log_text(&line, "chosen_by", choice_method_name(figures.method));
	log_text(&line, "why", figures.why);
	log_text(&line, "lacking", choice_method_lacks(figures.method));
	log_text(&line, "fix", figures.fix);
	log_end(&line);
}

void event_configuration(const struct run *run, const char *event)
{
	const struct conf *conf = &run->conf;
	struct log_line line;

	log_begin(&line, LEVEL_NOTICE, event);
	log_text(&line, "path", run->path);
	log_time(&line, "on_time", conf->on_time);
	log_time(&line, "on_period", conf->on_period);
	log_share(&line, "cpu_budget", conf->cpu);
	log_share(&line, "loss_budget", conf->loss);
	log_share(&line, "least", conf->least);
	log_number(&line, "size", conf->size);
	log_time(&line, "time_limit", conf->time);
	log_number(&line, "quota", conf->quota);
	log_number(&line, "free", conf->free);
	log_text(&line, "directory", conf->directory);
	log_end(&line);
}

void event_start(const struct run *run)
{
	struct log_line line;

	log_begin(&line, LEVEL_NOTICE, "start");
	log_text(&line, "version", FLOWTAP_VERSION);
	log_number(&line, "pid", (uint64_t)getpid());
	log_text(&line, "source", name_of(source_names, run->collect.streams.session.source));
	log_number(&line, "cpus", run->collect.streams.session.n);
	log_text(&line, "control", run->conf.socket);
	log_text(&line, "metrics", run->conf.metrics);
	log_end(&line);
	event_configuration(run, "configuration");
}

void event_end(const struct run *run)
{
	struct log_line line;

	log_begin(&line, LEVEL_NOTICE, "end");
	log_number(&line, "segments", run->figures.segments);
	log_time(&line, "ran", number_now() - run->started);
	log_end(&line);
}

void event_share(const struct governor *governor, uint32_t from, enum governor_cause cause)
{
	struct log_line line;

	/* Once it is below what was asked for the further steps are no news. */
	log_begin(&line, from == GOVERNOR_WHOLE ? LEVEL_WARNING : LEVEL_INFO, "share");
	log_share(&line, "from", from);
	log_share(&line, "to", governor->share);
	log_text(&line, "why", governor_cause_name(cause));
	log_share(&line, "own_cpu", governor->cpu);
	log_share(&line, "cpu_budget", governor->cpu_budget);
	log_share(&line, "loss", governor->loss);
	log_share(&line, "loss_budget", governor->loss_budget);
	log_end(&line);
}

void event_memory(const struct run *run)
{
	struct log_line line;

	log_begin(&line, run->over_memory ? LEVEL_WARNING : LEVEL_INFO, "memory");
	log_number(&line, "resident", run->figures.resident);
	log_number(&line, "memory_budget", run->conf.memory);
	log_text(&line, "fix", run->over_memory ? "a larger [budget] memory" : NULL);
	log_end(&line);
}

void event_trigger(const struct flowtap_archive_trigger *trigger, const char *text)
{
	struct log_line line;

	log_begin(&line, LEVEL_NOTICE, "trigger");
	log_text(&line, "cause", name_of(trigger_cause_names, trigger->cause));
	log_text(&line, "by", *text ? text : NULL);
	if (trigger->pid) {
		log_number(&line, "pid", trigger->pid);
		log_number(&line, "tid", trigger->tid);
	}
	log_end(&line);
}

void event_passed(uint64_t crashes)
{
	struct log_line line;

	if (!crashes)
		return;
	log_begin(&line, LEVEL_WARNING, "crashes-passed");
	log_number(&line, "count", crashes);
	log_text(&line, "why", "others were saved, or could not be, just before");
	log_end(&line);
}

void event_undeleted(const char *name, int error)
{
	struct log_line line;

	log_begin(&line, LEVEL_ERROR, "not-deleted");
	log_text(&line, "name", name);
	log_text(&line, "why", strerror(-error));
	log_text(&line, "fix", "delete what has its name, below decoded/ as well");
	log_end(&line);
}

void event_full(const struct run *run, int error)
{
	struct log_line line;

	log_begin(&line, LEVEL_ERROR, "full");
	log_text(&line, "directory", run->conf.directory);
	log_text(&line, "why", disk_error(error));
	log_text(&line, "fix", error == -ENOSPC ?
		 "make room there, or lower free or raise quota: recording waits for it" :
		 error == -EDQUOT ?
		 "a larger quota of its file system, or a lower quota: recording waits for it" :
		 error == -EINPROGRESS ?
		 "a quicker disk, or less to record (flowtapd.conf(5)): recording waits for it" :
		 error == -EACCES ? "chown it to flowtapd's user: recording waits for it" :
		 error == -EROFS ? "mount it to be written: recording waits for it" :
		 "recording waits until segments can be written there");
	log_end(&line);
}

void event_space(const struct run *run)
{
	struct log_line line;

	log_begin(&line, LEVEL_NOTICE, "room");
	log_text(&line, "directory", run->conf.directory);
	log_end(&line);
}

void event_unsaved(uint64_t records)
{
	struct log_line line;

	if (!records)
		return;
	log_begin(&line, LEVEL_WARNING, "unsaved");
	log_number(&line, "records", records);
	log_end(&line);
}

void event_cpus(const char *before, const char *now)
{
	struct log_line line;

	log_begin(&line, LEVEL_NOTICE, "cpus");
	log_text(&line, "before", before);
	log_text(&line, "online", now);
	log_end(&line);
}

void event_left(const struct store_left *left)
{
	struct log_line line;

	if (!(left->finished + left->bad + left->failed + left->waiting))
		return;
	log_begin(&line, left->bad + left->failed ? LEVEL_WARNING : LEVEL_NOTICE, "left");
	log_number(&line, "finished", left->finished);
	log_number(&line, "cut_bytes", left->cut);
	log_number(&line, "bad", left->bad);
	log_number(&line, "unreadable", left->failed);
	if (left->waiting) {
		log_number(&line, "waiting", left->waiting);
		log_number(&line, "waiting_bytes", left->waiting_bytes);
	}
	log_end(&line);
}
