// SPDX-License-Identifier: GPL-2.0-only
/* Shows that what a daemon measures of itself is never less than before. */
#include "run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "folder.h"
#include "support/kselftest_harness.h"

/* CPU time of the process, and of its children none. */
static long used_us;

int getrusage(__rusage_who_t who, struct rusage *usage)
{
	*usage = (struct rusage){ .ru_utime.tv_usec = who == RUSAGE_SELF ? used_us : 0 };
	return 0;
}

TEST(what_children_took_more_than_is_known_of_all_is_not_taken_off)
{
	const struct store_limits any = { 0 };
	char directory[] = "/tmp/flowtap-figures-XXXXXX";
	static struct run run;
	struct store_left left;

	ASSERT_TRUE(mkdtemp(directory));
	ASSERT_EQ(0, store_open(directory, &any, &left, &run.store));
	governor_init(&run.governor, 1, 1, 1);
	used_us = 500;
	run.after.cpu = 600000;
	run_measure(&run);
	EXPECT_EQ(600000, run.figures.after_cpu);
	EXPECT_EQ(0, run.figures.own_cpu);
	used_us = 900;
	run_measure(&run);
	EXPECT_EQ(300000, run.figures.own_cpu);
	run.after.cpu = 700000;
	run_measure(&run);
	EXPECT_EQ(300000, run.figures.own_cpu);
	used_us = 1200;
	run_measure(&run);
	EXPECT_EQ(500000, run.figures.own_cpu);
	totals_free(&run.totals);
	store_close(run.store);
	folder_remove(directory);
}

TEST_HARNESS_MAIN
