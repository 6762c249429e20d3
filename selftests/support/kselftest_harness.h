/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's harness, but a test may take as long as a busy or slow machine takes for it: the
 * limit is there for what hangs.
 */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_KSELFTEST_HARNESS_H
#define FLOWTAP_SELFTESTS_SUPPORT_KSELFTEST_HARNESS_H

#include_next <kselftest_harness.h>

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 600

#endif /* FLOWTAP_SELFTESTS_SUPPORT_KSELFTEST_HARNESS_H */
