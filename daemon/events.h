/* SPDX-License-Identifier: GPL-2.0-only */
/* What happens to a daemon that runs, as lines of the log (log.h); flowtapd(8) lists them. */
#ifndef FLOWTAP_DAEMON_EVENTS_H
#define FLOWTAP_DAEMON_EVENTS_H

#include "run.h"

/* Everything is open. With what holds of the configuration. */
void event_start(const struct run *run);
/* "configuration" or "reload": what can be changed while it runs. */
void event_configuration(const struct run *run, const char *event);
/*
 * What became of segments that an earlier daemon left, and those that wait to be finished; nothing
 * where there are none.
 */
void event_left(const struct store_left *left);
/* How rings are emptied, and whether that is less than what was tried first. */
void event_drain(const struct run *run);
/* How tasks are chosen, where some are, and what that lacks. */
void event_choice(const struct run *run);
void event_begun(const struct run *run);
/* The segment that was finished last. */
void event_ended(const struct run *run, const struct store_facts *facts);
/* Segments that were deleted to make space; 0: nothing. */
void event_deleted(const struct run *run, unsigned int deleted);
/* There is no space for a segment, or it cannot be written: -errno. And there is again. */
void event_full(const struct run *run, int error);
void event_space(const struct run *run);
/*
 * The governor's move from this share. A warning where less is recorded than was asked for from now
 * on, else for who wants all of them.
 */
void event_share(const struct governor *governor, uint32_t from, enum governor_cause cause);
/* More memory is resident than the budget has, or no longer. */
void event_memory(const struct run *run);
/* What the rings have is saved. text: of who asked, "" nobody. */
void event_trigger(const struct flowtap_archive_trigger *trigger, const char *text);
/* Crashes that saved nothing, since others had just been saved or could not be; 0: nothing. */
void event_passed(uint64_t crashes);
/* A segment that is to make space cannot be deleted: it is left, and the next one goes. */
void event_undeleted(const char *name, int error);
/* Records that waited in rings when these were closed; 0: nothing. */
void event_unsaved(uint64_t records);
/* CPUs went or came: those online before and now, as in sysfs. */
void event_cpus(const char *before, const char *now);
void event_end(const struct run *run);

#endif /* FLOWTAP_DAEMON_EVENTS_H */
