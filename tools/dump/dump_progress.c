// SPDX-License-Identifier: GPL-2.0-only
/* Shows no progress unless standard output is a regular file, and another one than standard error. */
#include "dump/dump_progress.h"

#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

const char *dump_progress_doing(bool quiet)
{
	struct stat output, errors;

	if (quiet || fstat(STDOUT_FILENO, &output) || !S_ISREG(output.st_mode))
		return NULL;
	if (!fstat(STDERR_FILENO, &errors) && errors.st_dev == output.st_dev &&
	    errors.st_ino == output.st_ino)
		return NULL;
	return "printing";
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
