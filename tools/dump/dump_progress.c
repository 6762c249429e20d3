// SPDX-License-Identifier: GPL-2.0-only
/* Shows no progress where it would disturb the text. */
#include "dump/dump_progress.h"

#include <stddef.h>
#include <sys/stat.h>

const char *dump_progress_doing(bool quiet)
{
	return quiet || !progress_beside_text() ? NULL : "printing";
}

void dump_progress_begin(struct dump_progress *progress, int fd, bool quiet)
{
	struct stat input;

	*progress = (struct dump_progress){ .progress.doing = dump_progress_doing(quiet) };
	if (!fstat(fd, &input) && S_ISREG(input.st_mode))
		progress->size = (uint64_t)input.st_size;
	progress_begin(&progress->progress);
}

void dump_progress_hide(struct dump_progress *progress)
{
	progress_hide(&progress->progress);
}

void dump_progress_end(struct dump_progress *progress)
{
	progress_end(&progress->progress);
}
