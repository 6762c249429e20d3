// SPDX-License-Identifier: GPL-2.0-only
/* Shows at which level what happens is told, and what is told at all. */
#include "events.h"

#include <errno.h>

#include "support/kselftest_harness.h"
#include "logged.h"

FIXTURE(events)
{
	struct logged logged;
	struct run run;
};

FIXTURE_SETUP(events)
{
	self->run = (struct run){ .conf.directory = "/segments" };
	logged_open(&self->logged);
}

FIXTURE_TEARDOWN(events)
{
	logged_close(&self->logged);
}

/* Of each move there is a line, of which one a second would be no warning to anybody. */
TEST_F(events, the_first_step_below_the_configured_duty_is_a_warning)
{
	struct governor governor = { .cpu_budget = 10000, .least = 10000, .share = GOVERNOR_WHOLE };
	const struct governor_measure dear = { .elapsed = 1000, .cpu = 100, .recorded = 1 };
	const struct governor_measure cheap = { .elapsed = 1000, .recorded = 1 };
	unsigned int warnings = 0, infos = 0, moves = 0;

	for (int i = 0; i < 400; i++) {
		const uint32_t from = governor.share;
		enum governor_cause cause = governor_step(&governor, i < 20 ? &dear : &cheap);

		if (!cause)
			continue;
		moves++;
		event_share(&governor, from, cause);
		if (!strncmp(logged_since(&self->logged), "level=warning event=share ", 26)) {
			warnings++;
			EXPECT_STREQ("level=warning event=share from=100.0000% to=50.0000% why=cpu "
				     "own_cpu=10.0000% cpu_budget=1.0000% loss=0.0000% "
				     "loss_budget=0.0000%\n", self->logged.text);
		} else if (!strncmp(self->logged.text, "level=info event=share ", 23)) {
			infos++;
		}
	}
	EXPECT_EQ(GOVERNOR_WHOLE, governor.share);
	EXPECT_EQ(1, warnings);
	EXPECT_LT(10, infos);
	EXPECT_EQ(moves, warnings + infos);
	/* It was back where it is to be: what comes now is news again. */
	governor_step(&governor, &dear);
	event_share(&governor, GOVERNOR_WHOLE, GOVERNOR_CPU);
	EXPECT_EQ(0, strncmp(logged_since(&self->logged), "level=warning ", 14));
}

TEST_F(events, more_memory_than_the_budget_is_a_warning_once)
{
	struct run *run = &self->run;
	unsigned long long resident;

	run->conf.memory = 1ULL << 39;
	run->figures.resident = 1;
	run_watch_memory(run);
	EXPECT_STREQ("", logged_since(&self->logged));
	/* What libc only kept. */
	run->figures.resident = 1ULL << 40;
	run_watch_memory(run);
	EXPECT_STREQ("", logged_since(&self->logged));
	EXPECT_GT(1ULL << 39, run->figures.resident);
	/* As much as this test has. */
	run->conf.memory = 1;
	run_watch_memory(run);
	EXPECT_EQ(1, sscanf(logged_since(&self->logged), "level=warning event=memory resident=%llu "
			    "memory_budget=1 fix=\"a larger [budget] memory\"\n", &resident));
	EXPECT_EQ(run->figures.resident, resident);
	run_watch_memory(run);
	EXPECT_STREQ("", logged_since(&self->logged));
	/* A little below it is not enough. */
	run->conf.memory = 800;
	run->figures.resident = 701;
	run_watch_memory(run);
	EXPECT_STREQ("", logged_since(&self->logged));
	run->figures.resident = 700;
	run_watch_memory(run);
	EXPECT_STREQ("level=info event=memory resident=700 memory_budget=800\n", logged_since(&self->logged));
}

TEST_F(events, what_was_left_is_told_if_there_was_any)
{
	static const struct {
		struct store_left left;
		const char *told;
	} cases[] = {
		{ { 0 }, "" },
		{ { .finished = 1, .cut = 7 },
		  "level=notice event=left finished=1 cut_bytes=7 bad=0 unreadable=0\n" },
		{ { .bad = 2 }, "level=warning event=left finished=0 cut_bytes=0 bad=2 unreadable=0\n" },
		{ { .failed = 1 },
		  "level=warning event=left finished=0 cut_bytes=0 bad=0 unreadable=1\n" },
		{ { .waiting = 2, .waiting_bytes = 70000000 },
		  "level=notice event=left finished=0 cut_bytes=0 bad=0 unreadable=0 waiting=2 "
		  "waiting_bytes=70000000\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		event_left(&cases[i].left);
		EXPECT_STREQ(cases[i].told, logged_since(&self->logged));
	}
}

TEST_F(events, a_full_disk_says_what_helps)
{
	event_full(&self->run, -ENOSPC);
	EXPECT_TRUE(strstr(logged_since(&self->logged), "level=error event=full directory=/segments why=\"No "
			   "space left on device\" fix=\"make room there, "));
	event_full(&self->run, -EDQUOT);
	EXPECT_TRUE(strstr(logged_since(&self->logged), "fix=\"a larger quota of its file system, "));
	event_full(&self->run, -EROFS);
	EXPECT_TRUE(strstr(logged_since(&self->logged), "fix=\"mount it to be written: "));
	event_full(&self->run, -EACCES);
	EXPECT_TRUE(strstr(logged_since(&self->logged), "fix=\"chown it to flowtapd's user: "));
	event_full(&self->run, -EINPROGRESS);
	EXPECT_TRUE(strstr(logged_since(&self->logged), "why=\"the disk has not taken the segments before\""
			   " fix=\"a quicker disk, or less to record"));
	event_full(&self->run, -EIO);
	EXPECT_TRUE(strstr(logged_since(&self->logged), "fix=\"recording waits until segments can be "));
	event_space(&self->run);
	EXPECT_STREQ("level=notice event=room directory=/segments\n", logged_since(&self->logged));
}

TEST_F(events, a_trigger_says_whom_it_is_about)
{
	struct flowtap_archive_trigger trigger = { .cause = FLOWTAP_ARCHIVE_CAUSE_ASKED };

	event_trigger(&trigger, "SIGUSR2");
	EXPECT_STREQ("level=notice event=trigger cause=asked by=SIGUSR2\n", logged_since(&self->logged));
	trigger = (struct flowtap_archive_trigger){ .cause = FLOWTAP_ARCHIVE_CAUSE_CRASH, .pid = 7,
						    .tid = 8 };
	event_trigger(&trigger, "");
	EXPECT_STREQ("level=notice event=trigger cause=crash pid=7 tid=8\n", logged_since(&self->logged));
}

TEST_HARNESS_MAIN
