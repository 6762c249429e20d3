// SPDX-License-Identifier: GPL-2.0-only
/*
 * Draws the share that is done, or the count where the size is not known, at most once in DRAW_NS
 * or LINE_NS.
 */
#include "common/progress.h"

#include "common/tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define DRAW_NS 200000000ULL
#define LINE_NS 60000000000ULL

static void print(const struct progress *progress, uint64_t done, uint64_t size, const char *unit)
{
	char number[32];

	if (size)
		fprintf(stderr, "%s %3.0f%%", progress->doing, 100.0 * (double)done / (double)size);
	else
		fprintf(stderr, "%s, %s %s", progress->doing, number_group(done, number), unit);
}

bool progress_beside_text(void)
{
	struct stat output, errors;

	if (fstat(STDOUT_FILENO, &output) || !S_ISREG(output.st_mode))
		return false;
	return fstat(STDERR_FILENO, &errors) || errors.st_dev != output.st_dev ||
	       errors.st_ino != output.st_ino;
}

void progress_begin(struct progress *progress)
{
	if (progress->doing)
		progress->shown = number_now();
}

void progress_show(struct progress *progress, uint64_t done, uint64_t size, const char *unit)
{
	bool terminal;
	uint64_t now;

	if (!progress->doing)
		return;
	terminal = isatty(STDERR_FILENO);
	now = number_now();
	/* What is done sooner needs none. */
	if (!progress->shown)
		progress->shown = now;
	if (now - progress->shown < (terminal ? DRAW_NS : LINE_NS))
		return;
	progress->shown = now;
	progress->drawn = terminal;
	fputs(terminal ? "\r" : "flowtap: ", stderr);
	print(progress, done, size, unit);
	fputs(terminal ? " " : "\n", stderr);
}

void progress_hide(struct progress *progress)
{
	if (progress->drawn)
		fprintf(stderr, "\r%50s\r", "");
	progress->drawn = false;
}

void progress_end(struct progress *progress)
{
	progress_hide(progress);
	progress->shown = 0;
}
