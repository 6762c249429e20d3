/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's harness, for machines that are emulated, look closely at their kernel, and are busy. */
#ifndef FLOWTAP_TEST_HARNESS_H
#define FLOWTAP_TEST_HARNESS_H

#include "kselftest_harness.h"

/* Seconds: only for what hangs. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 600

#endif /* FLOWTAP_TEST_HARNESS_H */
