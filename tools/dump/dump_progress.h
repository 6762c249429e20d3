/* SPDX-License-Identifier: GPL-2.0-only */
/* How far a dump has come, on standard error, where the text goes into a file. */
#ifndef FLOWTAP_TOOLS_DUMP_DUMP_PROGRESS_H
#define FLOWTAP_TOOLS_DUMP_DUMP_PROGRESS_H

#include "common/progress.h"

#include <stdbool.h>
#include <stdint.h>

/* The clock is looked at once in so many bytes of the file, not for each record. */
#define DUMP_PROGRESS_STEP (64U << 10)

struct dump_progress {
	struct progress progress;
	uint64_t size;		/* of the file; 0: not known */
	uint64_t next;		/* bytes of it at which the clock is looked at again */
};

/*
 * What is said to be done, for struct progress; NULL: nothing is shown, since `quiet` is set or it
 * would disturb the text (progress_beside_text).
 */
const char *dump_progress_doing(bool quiet);
/* fd: the file that is printed, from now on. */
void dump_progress_begin(struct dump_progress *progress, int fd, bool quiet);
/* Takes the line away, before a complaint; it comes again when it is due. */
void dump_progress_hide(struct dump_progress *progress);
/* The same at the end. */
void dump_progress_end(struct dump_progress *progress);

/* As often as one likes: so many bytes of the file are printed. */
static inline void dump_progress_show(struct dump_progress *progress, uint64_t done)
{
	if (done < progress->next)
		return;
	progress->next = done + DUMP_PROGRESS_STEP;
	progress_show(&progress->progress, done, progress->size, "bytes");
}

#endif /* FLOWTAP_TOOLS_DUMP_DUMP_PROGRESS_H */
