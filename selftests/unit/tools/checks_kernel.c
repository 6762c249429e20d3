// SPDX-License-Identifier: GPL-2.0-only
/* Shows what doctor says of kernels, by what their configurations have. */
#include "doctor/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "support/kselftest_harness.h"

static char failed[512], fixes[512];

void report_add(struct report *report, enum grade grade, const char *name, const char *fix,
		const char *format, ...)
{
	size_t n = strlen(failed);
	va_list list;

	(void)report;
	(void)name;
	if (grade != GRADE_FAIL)
		return;
	va_start(list, format);
	vsnprintf(failed + n, sizeof(failed) - n, format, list);
	va_end(list);
	strncat(failed, "\n", sizeof(failed) - strlen(failed) - 1);
	strncat(fixes, fix, sizeof(fixes) - strlen(fixes) - 1);
}

#define GOOD "\nCONFIG_MODULES=y\nCONFIG_PERF_EVENTS=y\nCONFIG_TRACEPOINTS=y\nCONFIG_HIGH_RES_TIMERS=y\n"

static const char *faults(const char *machine, char *config, bool loaded)
{
	struct report report = { .machine = { .config = config, .module_loaded = loaded } };

	failed[0] = fixes[0] = 0;
	strcpy(report.machine.name.machine, machine);
	checks_kernel(&report);
	return failed;
}

TEST(a_kernel_that_has_all_of_it_has_no_fault)
{
	EXPECT_STREQ("", faults("aarch64", (char[]){ GOOD }, false));
	EXPECT_STREQ("", faults("riscv64", (char[]){ GOOD "CONFIG_RISCV_PMU_SBI=y\n" }, false));
	EXPECT_STREQ("", faults("riscv64", NULL, false));
}

TEST(what_is_missing_is_named)
{
	EXPECT_STREQ("CONFIG_RISCV_PMU_SBI is off: hardware events cannot trigger samples\n",
		     faults("riscv64", (char[]){ GOOD }, false));
	EXPECT_STREQ("CONFIG_HIGH_RES_TIMERS is off: nothing can trigger samples by time\n",
		     faults("aarch64", (char[]){ "\nCONFIG_MODULES=y\nCONFIG_PERF_EVENTS=y\n"
						 "CONFIG_TRACEPOINTS=y\n" }, false));
}

/* The module refuses to be loaded there: to load it is no fix. */
TEST(so_is_what_must_not_be)
{
	EXPECT_STREQ("CONFIG_PREEMPT_RT is on: the module does not work with it\n",
		     faults("aarch64", (char[]){ GOOD "CONFIG_PREEMPT_RT=y\n" }, false));
	EXPECT_STREQ("boot a kernel without it (Debian's usual one)", fixes);
}

/* flowtap may be built in. */
TEST(what_loading_needs_is_not_asked_for_where_it_is_there)
{
	static const char config[] = "\nCONFIG_PERF_EVENTS=y\nCONFIG_TRACEPOINTS=y\n"
				     "CONFIG_HIGH_RES_TIMERS=y\n";

	EXPECT_STREQ("", faults("aarch64", (char *)config, true));
	EXPECT_STREQ("CONFIG_MODULES is off: the module cannot be loaded\n",
		     faults("aarch64", (char *)config, false));
}

TEST_HARNESS_MAIN
