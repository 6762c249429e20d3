/* SPDX-License-Identifier: GPL-2.0-only */
/* A perf.data file that a test made, opened: what the programs here share. */
#ifndef FLOWTAP_SELFTESTS_UNIT_FORMATS_PERFDATA_FIXTURE_H
#define FLOWTAP_SELFTESTS_UNIT_FORMATS_PERFDATA_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <flowtap/perfdata.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/kselftest_harness.h"
#include "support/perffile.h"

#define NONE FLOWTAP_PERFDATA_NONE
#define RAW 0x100

struct opened {
	int fd;
	struct flowtap_perfdata *perfdata;
	const struct flowtap_perfdata_info *info;
	const struct flowtap_perfdata_range *ranges;
	size_t n;
	const char *reason;
	int err;
	int damages;
	uint64_t damage_at;
	char damage[128];
};

static inline void on_damage(void *argument, uint64_t offset, const char *reason)
{
	struct opened *opened = argument;

	opened->damages++;
	opened->damage_at = offset;
	snprintf(opened->damage, sizeof(opened->damage), "%s", reason);
}

/* In memory of exactly that size, and closed by done(). */
static inline void open_bytes(struct opened *opened, const void *bytes, size_t size)
{
	*opened = (struct opened) { .fd = memfd_create("perf.data", MFD_CLOEXEC) };
	if (opened->fd < 0 || write(opened->fd, bytes, size) != (ssize_t)size)
		abort();
	opened->err = flowtap_perfdata_open(opened->fd, on_damage, opened, &opened->perfdata,
					    &opened->reason);
	if (opened->err)
		return;
	opened->info = flowtap_perfdata_info(opened->perfdata);
	opened->ranges = flowtap_perfdata_ranges(opened->perfdata, &opened->n);
}

static inline void done(struct opened *opened)
{
	flowtap_perfdata_close(opened->perfdata);
	close(opened->fd);
}

static const struct perffile_unit units[] = {
	{
		.magic = PERFFILE_ETE, .cpu = 0, .configr = 0x18c1, .traceidr = 0x10,
		.idr0 = 0x28000ea1, .idr1 = 0x4100fff3, .idr2 = 0x20001088, .idr8 = 7,
		.authstatus = 0xcc, .devarch = 0x47705a13, .ts_source = 1,
	},
	{
		.magic = PERFFILE_ETE, .cpu = 5, .configr = 0x841, .traceidr = 0x12,
		.idr0 = 0x28000ea2, .idr1 = 0x4100fff4, .idr2 = 0x20001089, .idr8 = 8,
		.authstatus = 0xcd, .devarch = 0x47715a13, .ts_source = (uint64_t)-1,
	},
	{
		.magic = PERFFILE_ETMV4, .cpu = 6, .configr = 0x841, .traceidr = 0x14,
		.idr0 = 1, .idr1 = 2, .idr2 = 3, .idr8 = 4, .authstatus = 5, .ts_source = 3,
	},
};

/* One buffer of CPU 0 with two AUX records, in the usual layout. */
static inline void small(struct perffile *file, bool pipe)
{
	uint8_t trace[64];

	for (int i = 0; i < 64; i++)
		trace[i] = (uint8_t)(i + 1);
	perffile_start(file, pipe, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(file, 1, false, 3, units);
	file->time = 1000;
	perffile_aux(file, 0, 40, RAW);
	file->time = 2000;
	perffile_aux(file, 40, 24, RAW | FLOWTAP_PERFDATA_TRUNCATED);
	perffile_auxtrace(file, 0, 0, NONE, 0, trace, 64);
}

static inline void finish(struct perffile *file, struct opened *opened)
{
	perffile_finish(file);
	open_bytes(opened, file->bytes, file->size);
	free(file->bytes);
}

#endif /* FLOWTAP_SELFTESTS_UNIT_FORMATS_PERFDATA_FIXTURE_H */
