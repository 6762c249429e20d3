// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what the main loop does with streams while segments change, where nothing can be recorded,
 * and where the disk takes no more; and what a service manager hears of it.
 */
#include "run_fixture.h"

/* The oldest that is there. */
static uint64_t oldest(void)
{
	size_t n;
	const struct store_segment *segments = store_segments(run.store, &n);

	return n ? segments[0].number : 0;
}

TEST_F(run, what_rests_at_times_rests_while_a_segment_goes_to_the_disk)
{
	run.conf.on_time = HOUR / 2;
	fake.size = UINT64_MAX;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(3, fake.ons);
	/* The index too, and once more of both at the end. */
	EXPECT_EQ(4, fake.synced);
	EXPECT_EQ(0, fake.on_synced);
}

TEST_F(run, what_never_rests_goes_on_while_a_segment_goes_to_the_disk)
{
	fake.size = UINT64_MAX;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(3, fake.ons);
	EXPECT_EQ(4, fake.synced);
	EXPECT_EQ(2, fake.on_synced);
}

/* Whatever it takes to write what came. */
TEST_F(run, nothing_is_on_longer_than_its_time)
{
	run.conf.on_time = 2000000;
	run.conf.on_period = 100000000;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(2, fake.ons);
	EXPECT_EQ(3, fake.taken);
	EXPECT_EQ(0, fake.on_taken);
}

TEST_F(run, what_was_left_is_told_once_when_it_is_finished)
{
	run.after.left.finished = 2;
	fake.turns = 5;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(2, fake.left);
}

TEST_F(run, where_nothing_can_be_recorded_the_exit_status_says_so)
{
	fake.switch_error = -EBUSY;
	fake.turns = 100;
	EXPECT_EQ(STATUS_ERROR, run_loop(&run));
	EXPECT_EQ(99, fake.turns);
}

/* By its free space the disk has room. */
TEST_F(run, where_the_disk_takes_no_more_the_oldest_goes)
{
	fake.take_error = -EDQUOT;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(-EDQUOT, fake.full);
	EXPECT_EQ(1, fake.deleted);
	EXPECT_EQ(2, oldest());
	/* At once. */
	EXPECT_EQ(RUN_RECORDING, run.state);
	EXPECT_EQ(2, fake.ons);
}

/* A child that works, and writes nothing. */
static pid_t start_child(void)
{
	const pid_t child = fork();

	if (child < 0)
		abort();
	while (!child)
		pause();
	return child;
}

TEST_F(run, what_goes_for_what_a_child_writes_is_told_and_counted)
{
	size_t n;

	snprintf(run.after.segment, sizeof(run.after.segment), "%s",
		 store_segments(run.store, &n)[2].name);
	ASSERT_EQ(0, store_work_begin(run.store, STORE_PACKING, run.after.segment));
	run.after.work = STORE_PACKING;
	run.after.child = start_child();
	fake.crowded = true;
	fake.turns = 1;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(3, run.after.deleted);
	/* And the last one, which no child worked on. */
	EXPECT_EQ(4, fake.deleted);
	EXPECT_EQ(4, run.figures.segments_deleted);
	EXPECT_EQ(0, run.after.child);
	after_close(&run.after);
}

/* A file that is open somewhere gives nothing back; what others write takes it. */
TEST_F(run, where_that_makes_no_room_the_rest_does_not_go_at_once)
{
	fake.take_error = -ENOSPC;
	fake.full_again = true;
	fake.turns = 6;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_LE(2, fake.taken);
	EXPECT_EQ(1, fake.deleted);
	EXPECT_EQ(RUN_FULL, run.state);
	/* And later, the next. */
	EXPECT_LT(number_now(), run.retry);
	fake.now = run.retry;
	fake.turns = 2;
	run.over = false;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(2, fake.deleted);
}

TEST_F(run, the_time_in_which_it_is_full_ends_where_it_is_stopped)
{
	uint64_t full;

	fake.take_error = -ENOSPC;
	fake.full_again = true;
	fake.turns = 6;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(RUN_FULL, run.state);
	full = run_full_time(&run);
	EXPECT_LT(0, full);
	run.state = RUN_STOPPED;
	run.full_stopped = fake.now;
	fake.now += HOUR;
	EXPECT_EQ(full, run_full_time(&run));
	run_full_over(&run);
	EXPECT_EQ(full, run.full);
	EXPECT_EQ(0, run_full_time(&run));
	EXPECT_EQ(0, run.full_stopped);
	EXPECT_EQ(RUN_STOPPED, run.state);
}

/* It is seen when what came before is written. */
TEST_F(run, what_becomes_full_when_it_is_stopped_is_so_for_no_time)
{
	run.state = RUN_STOPPED;
	fake.take_error = -ENOSPC;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(-ENOSPC, fake.full);
	EXPECT_EQ(RUN_STOPPED, run.state);
	EXPECT_LT(0, run.full_since);
	EXPECT_EQ(0, run_full_time(&run));
}

/* A piece a second: meanwhile rings are emptied and the service manager hears of it. */
TEST_F(run, what_the_disk_did_not_take_is_written_again_between_turns)
{
	struct store_facts facts;

	fake.grown = 2 * STORE_PIECE + 1;
	fake.size = UINT64_MAX;
	fake.unsynced = 1;
	fake.turns = 8;
	fake.rotate_at = 7;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(8, fake.taken);
	/* The first one, the one that was asked for, and the last. */
	EXPECT_EQ(3, fake.whole);
	EXPECT_EQ(0, fake.broken);
	EXPECT_FALSE(store_rewrites(run.store));
	EXPECT_EQ(0, store_retry(run.store, &facts));
	EXPECT_FALSE(run.failed);
}

/* It waits for none of them any more, and not for the time when room would be looked for. */
TEST_F(run, where_too_many_were_unfinished_it_goes_on_when_one_is_finished)
{
	fake.grown = 2 * STORE_PIECE + 1;
	fake.turns = STORE_UNFINISHED + 4;
	fake.sick_until = 3;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(-EIO, fake.full);
	/* One more was being written then; and the last. */
	EXPECT_EQ(STORE_UNFINISHED + 2, fake.whole);
	EXPECT_EQ(STORE_UNFINISHED + 2, fake.prepared);
	EXPECT_EQ(0, fake.broken);
	EXPECT_EQ(RUN_RECORDING, run.state);
	EXPECT_EQ(0, run.full_since);
	EXPECT_STREQ("stop", fake.why);
}

static void turn_slowly(uint64_t slow)
{
	fake.slow = slow;
	fake.size = UINT64_MAX;
	fake.turns = 2;
	run.over = false;
}

#define SLOW "level=warning event=disk-slow took="

/* Two files are synced each time that a segment ends, here and at the end: it and the index. */
TEST_F(run, a_disk_that_keeps_it_waiting_is_told_once_a_minute_and_at_the_end)
{
	struct logged logged;

	logged_open(&logged);
	turn_slowly(4000000000);
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_STREQ(SLOW "8.000s times=1 longest=8.000s\n" SLOW "8.000s times=1 longest=8.000s\n",
		     logged_since(&logged));
	turn_slowly(3000000000);
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_STREQ(SLOW "12.000s times=2 longest=6.000s\n", logged_since(&logged));
	turn_slowly(400000000);
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_STREQ("", logged_since(&logged));
	fake.now += HOUR / 60;
	turn_slowly(2000000000);
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_STREQ(SLOW "4.000s times=1 longest=4.000s\n" SLOW "4.000s times=1 longest=4.000s\n",
		     logged_since(&logged));
	EXPECT_EQ(36000000000, run.disk.waited);
	logged_close(&logged);
}

TEST_F(run, what_it_works_itself_is_no_wait_for_the_disk)
{
	struct logged logged;

	logged_open(&logged);
	turn_slowly(4000000000);
	fake.works = true;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_STREQ("", logged_since(&logged));
	EXPECT_EQ(0, run.disk.waited);
	logged_close(&logged);
}

static void hold_disk(void)
{
	if (syncer_new(&run.syncer))
		abort();
	store_sync_by(run.store, run.syncer);
	slow_disk_hold(true);
}

/* Rings are emptied, and segments begun, while it takes the one before. */
TEST_F(run, a_slow_disk_holds_up_no_recording)
{
	struct logged logged;

	logged_open(&logged);
	hold_disk();
	fake.turns = 6;
	fake.rotate_at = 5;
	fake.released_at = 2;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(2, fake.prepared);
	EXPECT_EQ(6, fake.taken);
	EXPECT_EQ(RUN_RECORDING, run.state);
	EXPECT_EQ(2, fake.whole);
	EXPECT_EQ(0, run.disk.waited);
	EXPECT_EQ(0, store_unfinished(run.store, false));
	EXPECT_STREQ("", logged_since(&logged));
	logged_close(&logged);
}

/* As of one that the disk refuses at once. */
TEST_F(run, what_a_slow_disk_did_not_take_is_told_and_written_again)
{
	struct logged logged;
	const char *log;

	logged_open(&logged);
	hold_disk();
	fake.late_error = true;
	fake.turns = 6;
	fake.rotate_at = 5;
	fake.released_at = 3;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	log = logged_since(&logged);
	EXPECT_NE(NULL, strstr(log, "cannot finish a segment in"));
	EXPECT_NE(NULL, strstr(log, "Input/output error"));
	EXPECT_EQ(2, fake.prepared);
	EXPECT_LE(1, fake.whole);
	EXPECT_EQ(0, store_sync_error(run.store));
	logged_close(&logged);
}

TEST_F(run, of_a_disk_that_takes_nothing_so_many_wait_and_then_it_goes_on_at_once)
{
	hold_disk();
	fake.turns = STORE_UNFINISHED + 6;
	for (unsigned int turn = 0; turn <= STORE_UNFINISHED; turn++)
		fake.rotate |= 1U << (fake.turns - turn);
	fake.released_at = 3;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(-EINPROGRESS, fake.full);
	EXPECT_NE(NULL, strstr(run.collect.gap, " s: the disk has not taken the segments before\n"));
	EXPECT_STREQ("the disk has not taken the segments before", disk_error(fake.full));
	/* The one that was being written then ended as well. */
	EXPECT_EQ(STORE_UNFINISHED + 2, fake.prepared);
	EXPECT_EQ(STORE_UNFINISHED + 2, fake.whole);
	EXPECT_EQ(RUN_RECORDING, run.state);
	EXPECT_EQ(0, run.full_since);
}

/* The end has time for it, and then the segment is finished. */
TEST_F(run, a_slow_disk_is_waited_for_at_the_end)
{
	struct logged logged;

	logged_open(&logged);
	hold_disk();
	/* The first one is the segment's. */
	slow_disk.releases = 2;
	fake.turns = 1;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(1, fake.whole);
	EXPECT_EQ(0, store_unfinished(run.store, false));
	EXPECT_STREQ("", logged_since(&logged));
	logged_close(&logged);
}

/* Nobody serves the choice at the end: who is stopped until he is chosen would wait as long. */
TEST_F(run, nobody_is_chosen_while_the_end_waits_for_the_disk)
{
	hold_disk();
	slow_disk.releases = 2;
	fake.turns = 1;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(1, fake.choice_ends);
	EXPECT_EQ(1, fake.waits_before);
	EXPECT_LT(1, slow_disk.waits);
}

/* What it has not taken then is told, and is there as far as the next flowtapd finds it. */
TEST_F(run, a_disk_that_does_not_answer_is_not_waited_for_at_the_end)
{
	struct logged logged;

	logged_open(&logged);
	hold_disk();
	fake.turns = 1;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(0, fake.whole);
	EXPECT_EQ(1, store_unfinished(run.store, true));
	EXPECT_NE(NULL, strstr(logged_since(&logged), "the disk did not take all of 1 segments in"));
	slow_disk_release(run.syncer);
	logged_close(&logged);
}

/* Else it would be looked for each second. */
TEST_F(run, what_is_written_again_meanwhile_does_not_look_for_room)
{
	fake.grown = 2 * STORE_PIECE + 1;
	fake.size = UINT64_MAX;
	fake.unsynced = 1;
	fake.turns = 5;
	fake.rotate_at = 4;
	fake.unprepared = 3;
	/* Room was made just now: not at once either. */
	run.space_made = fake.now;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(-ENOMEM, fake.full);
	EXPECT_EQ(3, fake.prepared);
	/* The one that was written again, and the one that ended then. */
	EXPECT_EQ(2, fake.whole);
	EXPECT_EQ(RUN_FULL, run.state);
	EXPECT_LT(number_now(), run.retry);
}

/* The next start would take it from memory as if it were on the disk. */
TEST_F(run, what_the_disk_did_not_take_is_written_again_at_the_end)
{
	size_t n;

	fake.grown = 2 * STORE_PIECE + 1;
	fake.size = UINT64_MAX;
	fake.unsynced = 1;
	fake.turns = 1;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(2, fake.whole);
	EXPECT_EQ(0, store_unsynced(run.store));
	EXPECT_EQ(4, store_segments(run.store, &n)[3].number);
	EXPECT_EQ(5, n);
}

/* 4 s for each piece, and 10 s that the end has. */
TEST_F(run, the_end_does_not_wait_for_ever_for_what_is_written_again)
{
	fake.grown = 8 * (off_t)STORE_PIECE;
	fake.size = UINT64_MAX;
	fake.unsynced = 1;
	fake.slow = 4000000000;
	fake.turns = 1;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	/* The one that was begun last is finished. */
	EXPECT_EQ(1, fake.whole);
	EXPECT_EQ(1, store_unsynced(run.store));
	EXPECT_TRUE(store_rewrites(run.store));
	/* Of each segment, and the index with the last; three pieces. */
	EXPECT_EQ(6, fake.synced);
}

/* Else it would go on being written after its file was closed. */
TEST_F(run, where_there_is_no_memory_for_the_next_segment_the_present_one_ends_first)
{
	fake.size = UINT64_MAX;
	fake.turns = 1;
	fake.unprepared = 2;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(2, fake.prepared);
	EXPECT_EQ(-ENOMEM, fake.full);
	EXPECT_EQ(0, fake.live_synced);
	EXPECT_EQ(0, fake.broken);
	EXPECT_EQ(1, fake.whole);
	EXPECT_STREQ("full", fake.why);
	/* Nor is there one that nothing was written to. */
	EXPECT_EQ(NULL, store_current(run.store));
	/* And when there is, it goes on. */
	fake.turns = 2;
	run.over = false;
	run.reported = RUN_RECORDING;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(0, fake.live_synced);
	EXPECT_EQ(0, fake.broken);
	EXPECT_EQ(2, fake.whole);
	EXPECT_STREQ("stop", fake.why);
}

TEST_F(run, where_the_first_segment_cannot_be_begun_the_next_start_finds_room)
{
	fake.begin_error = -ENOSPC;
	EXPECT_EQ(STATUS_ERROR, run_loop(&run));
	EXPECT_EQ(1, fake.deleted);
	EXPECT_EQ(2, oldest());
	/* What has nothing to do with room costs no segment. */
	store_drop(run.store);
	fake.begin_error = -EIO;
	EXPECT_EQ(STATUS_ERROR, run_loop(&run));
	EXPECT_EQ(1, fake.deleted);
}

/* The service manager waits for it, and hears nothing for a while. */
TEST_F(run, that_it_is_ready_is_said_until_it_is_heard)
{
	bool ready = false;
	char heard[64];
	int pair[2];
	ssize_t n;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	while (send(pair[0], "STATUS=busy", 11, MSG_DONTWAIT) == 11)
		;
	fake.manager = pair[1];
	run.notify.fd = pair[0];
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	while ((n = recv(pair[1], heard, sizeof(heard) - 1, MSG_DONTWAIT)) > 0) {
		heard[n] = 0;
		ready |= !strcmp(heard, "READY=1");
	}
	EXPECT_TRUE(ready);
	close(pair[0]);
	close(pair[1]);
}

/* How many, where signs are asked for so often; *ns: that it took. */
static uint64_t signs_of_life(uint64_t watchdog, uint64_t *ns)
{
	const uint64_t began = fake.now;
	uint64_t signs = 0;
	char heard[64];
	int pair[2];
	ssize_t n;

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
		abort();
	run.notify.fd = pair[0];
	run.notify.watchdog = watchdog;
	fake.turns = 20;
	run.over = false;
	if (run_loop(&run) != STATUS_OK)
		abort();
	*ns = fake.now - began;
	while ((n = recv(pair[1], heard, sizeof(heard) - 1, MSG_DONTWAIT)) > 0) {
		heard[n] = 0;
		signs += !strcmp(heard, "WATCHDOG=1");
	}
	close(pair[0]);
	close(pair[1]);
	run.notify.fd = -1;
	return signs;
}

TEST_F(run, signs_of_life_come_as_often_as_they_are_asked_for_and_at_least_each_second)
{
	const uint64_t ms = 1000000;
	uint64_t signs, ns;

	signs = signs_of_life(600 * ms, &ns);
	EXPECT_LE(ns / (600 * ms), signs);
	EXPECT_LT(0, signs);
	signs = signs_of_life(120000 * ms, &ns);
	EXPECT_LE(ns / (2000 * ms), signs);
	EXPECT_GE(ns / (1000 * ms) + 1, signs);
	EXPECT_EQ(0, signs_of_life(0, &ns));
}

TEST_HARNESS_MAIN
