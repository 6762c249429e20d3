/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Who is there now, and with which code: kept along with the side band, so that an archive can
 * begin in the middle of it. What was added goes into a log; what nothing recorded can be before
 * any more goes from the log into what holds now. A new archive gets what holds, as of time 0, then
 * the log.
 */
#ifndef FLOWTAP_LIBUAPI_CAPTURE_ROSTER_H
#define FLOWTAP_LIBUAPI_CAPTURE_ROSTER_H

#include <flowtap/archive.h>
#include <flowtap/address_map.h>
#include <stddef.h>
#include <stdint.h>

struct flowtap_roster;

/* limit: bytes that it may take; what does not fit is not kept, and counted. NULL: no memory. */
struct flowtap_roster *flowtap_roster_new(size_t limit);
void flowtap_roster_free(struct flowtap_roster *roster);
/*
 * A block that went into the archive, payload in two parts: TASK, MAPPING, BYTES (of what is in
 * every process, the first of a path is kept); others are nothing to it. Order among CPUs does not
 * matter.
 */
void flowtap_roster_add(struct flowtap_roster *roster, uint32_t type, uint32_t cpu, uint64_t time,
			const void *first, size_t first_size, const void *second,
			size_t second_size);
/*
 * Nothing that is recorded from now on is from before `time`, and all that happened before has been
 * reported: it is the time before the side band was drained, then.
 */
void flowtap_roster_advance(struct flowtap_roster *roster, uint64_t time);
/* All of it; and a LOST block if something was not kept. 0 or -errno of the archive. */
int flowtap_roster_write(const struct flowtap_roster *roster,
			 struct flowtap_archive_writer *writer);
/*
 * Called for each mapping that flowtap_roster_write writes, in any order. 0, or what `mapped`
 * returns that is not, and nothing more is reported then.
 */
int flowtap_roster_mappings(const struct flowtap_roster *roster,
			    int (*mapped)(void *argument, const struct flowtap_mapping *mapping),
			    void *argument);
/* Bytes that it takes, and blocks that were not kept. */
size_t flowtap_roster_size(const struct flowtap_roster *roster);
uint64_t flowtap_roster_dropped(const struct flowtap_roster *roster);

#endif /* FLOWTAP_LIBUAPI_CAPTURE_ROSTER_H */
