// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that what a daemon measures of itself is never less than before, and that each move of its
 * governor is logged and counted.
 */
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "folder.h"
#include "logged.h"
#include "slow_disk.h"
#include "support/kselftest_harness.h"

/* CPU time of the process, and of its children none. */
static long used_us;

int getrusage(__rusage_who_t who, struct rusage *usage)
{
	*usage = (struct rusage){ .ru_utime.tv_usec = who == RUSAGE_SELF ? used_us : 0 };
	return 0;
}

int fsync(int fd)
{
	slow_disk_takes();
	return 0;
}

/* Of a run only what is measured. 0 or -errno. */
static int start(struct run *run, char *directory)
{
	const struct store_limits any = { 0 };
	struct store_left left;

	return mkdtemp(directory) ? store_open(directory, &any, &left, &run->store) : -errno;
}

static void finish(struct run *run, const char *directory)
{
	totals_free(&run->totals);
	store_close(run->store);
	syncer_free(run->syncer);
	folder_remove(directory);
}

TEST(what_children_took_more_than_is_known_of_all_is_not_taken_off)
{
	char directory[] = "/tmp/flowtap-figures-XXXXXX";
	static struct run run;

	ASSERT_EQ(0, start(&run, directory));
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
	finish(&run, directory);
}

TEST(what_the_disk_has_not_taken_is_counted)
{
	char directory[] = "/tmp/flowtap-figures-XXXXXX";
	static struct run run;

	ASSERT_EQ(0, start(&run, directory));
	ASSERT_EQ(0, syncer_new(&run.syncer));
	store_sync_by(run.store, run.syncer);
	governor_init(&run.governor, 1, 1, 1);
	slow_disk_hold(true);
	ASSERT_LE(0, store_begin(run.store, 0));
	EXPECT_EQ(-EINPROGRESS, store_finish(run.store, &(struct store_facts){ .why = "size" }));
	run_measure(&run);
	EXPECT_EQ(1, run.figures.segments_unfinished);
	slow_disk_release(run.syncer);
	EXPECT_EQ(1, store_retry(run.store, &(struct store_facts){ .why = "" }));
	run_measure(&run);
	EXPECT_EQ(0, run.figures.segments_unfinished);
	finish(&run, directory);
}

/* Each second that could not be recorded, and was to be. */
TEST(what_is_stopped_is_not_counted_as_full)
{
	char directory[] = "/tmp/flowtap-figures-XXXXXX";
	static struct run run;

	ASSERT_EQ(0, start(&run, directory));
	governor_init(&run.governor, 1, 1, 1);
	run.full = 5;
	run.full_since = 10;
	run.full_stopped = 17;
	run_measure(&run);
	EXPECT_EQ(12, run.figures.full);
	finish(&run, directory);
}

static unsigned int count(const char *text, const char *word)
{
	unsigned int n = 0;

	while ((text = strstr(text, word))) {
		text += strlen(word);
		n++;
	}
	return n;
}

TEST(each_move_of_the_governor_is_logged_and_counted)
{
	char directory[] = "/tmp/flowtap-figures-XXXXXX";
	const uint64_t second = 1000000000;
	static struct run run;
	struct logged logged;
	const char *log;
	uint64_t now = second;

	ASSERT_EQ(0, start(&run, directory));
	governor_init(&run.governor, 10000, 1000, 1);
	run.conf.memory = UINT64_MAX;
	run.second = now;
	used_us = 0;
	logged_open(&logged);
	run_govern(&run, now += second);
	EXPECT_STREQ("", logged_since(&logged));
	/* A twentieth of a second, where a hundredth is the budget. */
	used_us = 50000;
	run_govern(&run, now += second);
	EXPECT_EQ(1, run.figures.moves[GOVERNOR_CPU]);
	log = logged_since(&logged);
	EXPECT_EQ(1, count(log, "event=share from=100.0000% to=50.0000% why=cpu own_cpu=5.0000%"));
	EXPECT_EQ(1, count(log, "event="));
	/* Half a minute is enough to pay that back. */
	for (int i = 0; i < 30; i++)
		run_govern(&run, now += second);
	log = logged_since(&logged);
	EXPECT_LT(0, run.figures.moves[GOVERNOR_CALMED]);
	EXPECT_EQ(run.figures.moves[GOVERNOR_CALMED], count(log, "event=share "));
	EXPECT_EQ(run.figures.moves[GOVERNOR_CALMED], count(log, " why=calm "));
	EXPECT_EQ(1, run.figures.moves[GOVERNOR_CPU]);
	logged_close(&logged);
	finish(&run, directory);
}

TEST_HARNESS_MAIN
