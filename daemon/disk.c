// SPDX-License-Identifier: GPL-2.0-only
/* Counts and tells how long the disk was waited for. */
#include "disk.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "../tools/common/tool.h"
#include "log.h"

#define SECOND 1000000000ULL
#define SLOW SECOND
#define SILENT (60 * SECOND)

static uint64_t thread_cpu(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

void disk_begin(struct disk *disk)
{
	disk->began = number_now();
	disk->cpu = thread_cpu();
}

static void report(struct disk *disk, uint64_t now)
{
	struct log_line line;

	log_begin(&line, LEVEL_WARNING, "disk-slow");
	log_time(&line, "took", disk->untold);
	log_number(&line, "times", disk->times);
	log_time(&line, "longest", disk->longest);
	log_end(&line);
	disk->untold = disk->times = disk->longest = 0;
	disk->silent = now + SILENT;
}

void disk_end(struct disk *disk)
{
	const uint64_t now = number_now(), elapsed = now - disk->began;
	const uint64_t worked = thread_cpu() - disk->cpu;
	const uint64_t waited = elapsed > worked ? elapsed - worked : 0;

	if (waited >= SLOW) {
		disk->waited += waited;
		disk->untold += waited;
		disk->times++;
		disk->longest = waited > disk->longest ? waited : disk->longest;
	}
	if (disk->times && now >= disk->silent)
		report(disk, now);
}

void disk_last(struct disk *disk)
{
	if (disk->times)
		report(disk, number_now());
}

const char *disk_error(int error)
{
	return error == -EINPROGRESS ? "the disk has not taken the segments before" : strerror(-error);
}
