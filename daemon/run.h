/* SPDX-License-Identifier: GPL-2.0-only */
/* A daemon that runs: what it records into, how much, and who asks it. */
#ifndef FLOWTAP_DAEMON_RUN_H
#define FLOWTAP_DAEMON_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "after.h"
#include "choice.h"
#include "collect.h"
#include "conf.h"
#include "cpus.h"
#include "disk.h"
#include "governor.h"
#include "images.h"
#include "lend.h"
#include "metrics.h"
#include "notify.h"
#include "privileges.h"
#include "probes.h"
#include "server.h"
#include "store.h"
#include "syncer.h"
#include "totals.h"

enum run_state {
	RUN_RECORDING,
	RUN_STOPPED,		/* somebody asked for it */
	RUN_FULL,		/* there is no space for another segment */
	RUN_LENT,		/* nothing is open: somebody borrowed the hardware, or CPUs changed */
};

/* Metrics as they were answered last: the same for whoever asks before something has changed. */
struct answer_page {
	char *text;		/* NULL: none was */
	size_t size;
	uint64_t second;	/* of the run, then */
	uint64_t segments;
	enum run_state state;
};

struct run {
	const char *path;	/* of the conf */
	struct conf conf;
	struct privileges privileges;
	struct store *store;
	struct syncer *syncer;	/* for its segments; NULL: none could be made */
	struct after after;
	struct images *images;	/* NULL: not wanted */
	struct collect collect;
	struct choice *choice;	/* of whom collect records */
	struct notify notify;
	struct server *control;
	struct server *metrics;	/* NULL: not wanted */
	struct governor governor;
	enum run_state state;
	enum run_state reported;	/* to the service manager */
	int signals;
	/* What was asked for, done at the next turn of the loop. */
	bool over;
	bool rotate;
	bool save;		/* a trigger is in the archive: it is finished and kept */
	bool reload;
	bool failed;		/* a segment is not whole */
	/* Times: CLOCK_MONOTONIC_RAW, ns. */
	uint64_t started;
	uint64_t period;	/* when the present on_period began */
	uint64_t second;	/* the last tick */
	uint64_t alive;		/* when the service manager last heard so */
	uint64_t retry;		/* when space is looked for again */
	bool unfinished;	/* no segment was begun, since too many are unfinished */
	uint64_t space_made;	/* when some was made last; 0: never */
	uint64_t full_since;	/* there is none; 0: there is */
	uint64_t full_stopped;	/* then somebody stopped it, which does not count; 0: nobody did */
	uint64_t full;		/* ns, all such times that are over */
	int full_error;		/* why: -errno */
	uint64_t segment_began;	/* s since 1970 */
	/* Figures of the tick before. */
	uint64_t cpu, bytes, lost, losses;
	int crashes;		/* see crash.h; -1 */
	uint64_t crash_silent;	/* until then none triggers */
	uint64_t crash_reported; /* until then one that cannot be saved is only counted */
	uint64_t crashes_passed; /* that were counted only */
	uint64_t probes_reported; /* until then what is probed and cannot be saved is only counted */
	uint64_t probes_passed;	/* that were */
	uint64_t crashes_missed; /* until then no message says that some were missed */
	uint64_t probes_missed;	/* the same of probes */
	struct probes *probes;	/* NULL: none */
	struct disk disk;	/* how long it was waited for */
	struct metrics figures;
	struct answer_page page;
	struct totals totals;	/* what the figures have of CPUs */
	uint64_t sideband_past;	/* losses of a side band that is closed */
	uint64_t sideband_reported;
	bool over_memory;		/* an event said so */
	struct lease lease;	/* while RUN_LENT */
	struct cpus cpus;	/* when streams were opened, or one went last */
};

/* Until somebody ends it: an exit status. */
int run_loop(struct run *run);
/* What is done with finished segments. */
struct after_options run_after_options(const struct conf *conf);
/*
 * advice.c: how the segments' folder comes to be written, after this error; nothing where nobody
 * knows.
 */
void run_advise_folder(const struct run *run, int error);

/* "recording", "stopped", "full", "lent" */
const char *run_state_name(enum run_state state);
/*
 * segments.c: ends the segment, whole as far as it can be, and finishes it; complains about what goes
 * wrong.
 */
void run_end_segment(struct run *run, const char *why);
/* So many segments went to make space: counted and told, as is one that could not be deleted. */
void run_count_deleted(struct run *run, unsigned int deleted);
/* The first segment of a collect that was just opened. 0; -ENOSPC: no space; -errno. */
int run_begin_segment(struct run *run);
/* Ends it when it is due, and begins another. */
void run_keep_segments(struct run *run, uint64_t now);
/* There is no space, or the disk takes no more: what is there is finished, and recording waits. */
void run_wait_for_space(struct run *run, int error);
/* ns for which there has been no space, without those in which it was stopped; 0: there is. */
uint64_t run_full_time(const struct run *run);
/* There is space again: segments are written. */
void run_full_over(struct run *run);
/*
 * What was not finished goes on: what the disk has taken meanwhile, or a piece more of what it did not.
 * Where recording waits for that it goes on at once; where it waits for space, no sooner.
 */
void run_rewrite_unfinished(struct run *run);
/*
 * What the disk did not take is in memory alone until the next flowtapd has written it again: so that
 * is done here, for as long as one may wait for the end.
 */
void run_end_unfinished(struct run *run);
/* s since 1970. */
uint64_t run_wall_seconds(void);

/* Whether streams record; if they cannot nothing else is to be recorded, and who started it is told. */
void run_switch_on(struct run *run, bool on);
/* They do all the time: there is no rest. */
bool run_is_whole(const struct run *run);

/*
 * open.c: all that the conf wants, and records nothing yet. 0 or an exit status, after a complaint.
 * run_close in any case.
 */
int run_open(struct run *run, const char *path);
void run_close(struct run *run);
/* Opens run->collect, at the start and after a loan. 0 or -errno after a complaint. */
int run_open_device(struct run *run);
/* Whether the device itself could be opened. */
bool run_may_open_device(const struct run *run);

/* figures.c: run->figures as they are now. */
void run_measure(struct run *run);
/* The same, and collect is to be closed: what it counted is kept. */
void run_keep_figures(struct run *run);
/* A step of the governor, and events for what was lost. Every second. */
void run_govern(struct run *run, uint64_t now);
/* Gives back what libc has, and says so, where figures.resident is over the budget. */
void run_watch_memory(struct run *run);

/* answer.c: what is asked on the control socket, and by whoever reads metrics. As in server.h. */
size_t answer_line(const char *text, size_t size);
bool answer_control(void *run, const struct server_peer *peer, char *request, FILE *reply);
void answer_closed(void *run, const struct server_peer *peer);
size_t answer_http(const char *text, size_t size);
bool answer_metrics(void *run, const struct server_peer *peer, char *request, FILE *reply);
void answer_free(struct answer_page *page);

/*
 * triggers.c: what the rings that overwrite have is saved, with this as its reason. 0; -EINVAL:
 * they do not overwrite; -EAGAIN: nothing is being recorded; -errno of the archive.
 */
int run_trigger(struct run *run, const struct flowtap_archive_trigger *trigger, const char *text);
/* Because somebody asks: SIGUSR2. Complains about what goes wrong. */
void run_save(struct run *run, const char *who);
/* Crashes of others and probes trigger from now on, as configured. Complains about what fails. */
void run_open_triggers(struct run *run);
/* So that they wake run->collect. 0 or -errno. */
int run_watch_triggers(struct run *run);
void run_take_triggers(struct run *run);
void run_close_triggers(struct run *run);

#endif /* FLOWTAP_DAEMON_RUN_H */
