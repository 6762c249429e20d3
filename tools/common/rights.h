/* SPDX-License-Identifier: GPL-2.0-only */
/* What this user may record, as the kernel's settings and our capabilities have it. */
#ifndef RIGHTS_H
#define RIGHTS_H

#include <linux/flowtap.h>
#include <stdbool.h>
#include <stddef.h>

struct rights {
	bool privileged;	/* CAP_PERFMON or CAP_SYS_ADMIN */
	long paranoid;		/* perf_event_paranoid, LONG_MIN unknown */
};

void rights_read(struct rights *rights);
/* Whether perf would let us see the kernel's addresses, and so does the module. */
bool rights_kernel(const struct rights *rights);
/*
 * Why a stream like this was denied, in one line, and in fix (of `room` bytes) what to do; NULL:
 * not for lack of these rights.
 */
const char *rights_problem(const struct flowtap_configure *configure, char *fix, size_t room);

#endif /* RIGHTS_H */
