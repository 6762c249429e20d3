/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's harness, but a test may take as long as a busy or slow machine takes for it: the
 * limit is there for what hangs, whatever the program was started with.
 */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_KSELFTEST_HARNESS_H
#define FLOWTAP_SELFTESTS_SUPPORT_KSELFTEST_HARNESS_H

#include_next <kselftest_harness.h>

#include <signal.h>

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 600

/* The limit is a SIGALRM, which who started the program may have blocked. */
static void __attribute__((constructor)) unblock_limit(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_KSELFTEST_HARNESS_H */
