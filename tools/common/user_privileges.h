/* SPDX-License-Identifier: GPL-2.0-only */
/* What this user may record, as the kernel's settings and our capabilities have it. */
#ifndef FLOWTAP_TOOLS_COMMON_USER_PRIVILEGES_H
#define FLOWTAP_TOOLS_COMMON_USER_PRIVILEGES_H

#include <linux/flowtap.h>
#include <stdbool.h>
#include <stddef.h>

struct user_privileges {
	bool privileged;	/* CAP_PERFMON or CAP_SYS_ADMIN */
	bool administrator;	/* CAP_SYS_ADMIN: Debian asks for it where paranoid is above 2 */
	long paranoid;		/* perf_event_paranoid, LONG_MIN unknown */
};

void user_privileges_read(struct user_privileges *privileges);
/* Whether perf would let us see the kernel's addresses, and so does the module. */
bool user_privileges_kernel(const struct user_privileges *privileges);
/*
 * Why a stream like this was denied, in one line, and in fix (of `capacity` bytes) what to do;
 * NULL: not for lack of these privileges.
 */
const char *user_privileges_problem(const struct flowtap_configure *configure, char *fix,
				    size_t capacity);

#endif /* FLOWTAP_TOOLS_COMMON_USER_PRIVILEGES_H */
