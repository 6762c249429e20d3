/* SPDX-License-Identifier: GPL-2.0-only */
/* A recording of ourselves for a moment: the one proof that recording works. */
#ifndef FLOWTAP_TOOLS_DOCTOR_SELFTEST_H
#define FLOWTAP_TOOLS_DOCTOR_SELFTEST_H

#include <flowtap/drain.h>
#include <linux/flowtap.h>
#include <stddef.h>
#include <stdint.h>

struct selftest {
	const char *step;	/* what failed, NULL: nothing */
	uint32_t cpu;
	uint64_t samples;
	uint64_t entries;
	uint64_t bytes;		/* of trace, where there are no entries */
};

/*
 * On the first CPU with a source that we may run on. 0 or -errno; -ENODATA: no sample came; -EBUSY:
 * because somebody records all that runs there.
 */
int selftest_run(const struct flowtap_query *queries, size_t n, struct selftest *selftest);

/*
 * Asks for a stream like this (source, CPU, ring and, where nothing triggers, an event that every
 * machine has are filled in) and gives it back. 0 or -errno of CONFIGURE.
 */
int selftest_configure(const struct flowtap_query *query, const struct flowtap_configure *request);
/*
 * How record would empty a ring of so many pages: into *method, of a stream that is configured,
 * mapped and drained into memory. 0 or -errno.
 */
int selftest_drain(const struct flowtap_query *query, uint32_t pages,
		   enum flowtap_drain_method *method);
/* Who holds the CPU's source at this moment, for messages; buffer of 64 bytes. */
const char *selftest_holder(uint32_t cpu, char *buffer);

#endif /* FLOWTAP_TOOLS_DOCTOR_SELFTEST_H */
