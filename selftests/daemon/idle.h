/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What runs at idle priority waits for all others, on a busy machine for minutes: of the tests only
 * those that look at it have it, after want_idle(). In place of the C library's functions, also in a
 * child that is the program again.
 */
#ifndef FLOWTAP_SELFTESTS_DAEMON_IDLE_H
#define FLOWTAP_SELFTESTS_DAEMON_IDLE_H

#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* These wait longer than others, if they have to. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 600
#define PATIENCE_US 580000000

#define WANT_IDLE "FLOWTAP_TEST_IDLE"

static inline void want_idle(void)
{
	setenv(WANT_IDLE, "1", 1);
}

int sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
	return getenv(WANT_IDLE) ? (int)syscall(SYS_sched_setscheduler, pid, policy, param) : 0;
}

int setpriority(__priority_which_t which, id_t who, int priority)
{
	return getenv(WANT_IDLE) ? (int)syscall(SYS_setpriority, which, who, priority) : 0;
}

#endif /* FLOWTAP_SELFTESTS_DAEMON_IDLE_H */
