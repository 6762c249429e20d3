/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What segments were decoded to, beside them:
 *
 *	decoded/NUMBER-YYYYMMDDTHHMMSSZ/	of a segment: traces, and a file `result`
 *	decoded/NUMBER-YYYYMMDDTHHMMSSZ.part/	being written, or left by who was killed
 *
 * Each is a directory of files; what else is in it is left alone, and keeps it from going.
 * `directory` is a descriptor of the segments' folder, `name` the directory's name in decoded/,
 * without `.part`.
 */
#ifndef FLOWTAP_DAEMON_DECODED_H
#define FLOWTAP_DAEMON_DECODED_H

#include <stdbool.h>
#include <stdint.h>

#define DECODED "decoded"
#define DECODED_RESULT "result"		/* a file in each: how it went */
#define DECODED_FILES_MAX 100000	/* more in one directory are not looked at */

/* An empty one to write into, in place of what was left: a descriptor of it, or -errno. */
int decoded_begin(int directory, const char *name);
/* Whether there is one, and bytes on the disk of what is in it; 0 if it is not there. */
bool decoded_is(int directory, const char *name, bool part, uint64_t *bytes);
/*
 * A file in the one that is being written, as a whole. 0 or -errno.
 */
int decoded_write(int directory, const char *name, const char *file, const char *text);
/* Removes files in it whose name ends in .part: who wrote them did not end. */
void decoded_drop_parts(int directory, const char *name);
/* All that was written is on the disk. To be called by who may wait for that. 0 or -errno. */
int decoded_sync(int directory, const char *name);
/* The one that was written gets its name. 0 or -errno. */
int decoded_finish(int directory, const char *name);
/* It is no more. Nothing is no error. 0 or -errno. */
int decoded_remove(int directory, const char *name, bool part);
/*
 * Removes unfinished ones, and finished ones whose name `keep` does not want; others than `mine`
 * says are not looked at.
 */
void decoded_clean(int directory, bool (*mine)(void *argument, const char *name),
		   bool (*keep)(void *argument, const char *name), void *argument);

#endif /* FLOWTAP_DAEMON_DECODED_H */
