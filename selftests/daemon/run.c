// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what the main loop does with streams while segments change, where nothing can be recorded,
 * and where the disk takes no more. Streams, rings and the side band are this program's.
 */
#include "run.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../tools/common/tool.h"
#include "events.h"
#include "folder.h"
#include "logged.h"
#include "support/kselftest_harness.h"

#define HOUR 3600000000000ULL
#define TIME 1795348800		/* 2026-11-22 12:00:00 UTC */

static struct run run;

/* What comes of it, and what happened. */
static struct {
	uint64_t now;			/* ns: nobody waits longer than it was to be */
	int begin_error, take_error, switch_error;	/* of the next call */
	unsigned int prepared, unprepared;	/* files; the one for which there is no memory */
	bool full_again;		/* the take_error is that of each */
	uint64_t size;			/* of the segment, when it is asked for next */
	off_t grown;			/* the first file, when it is begun */
	unsigned int unsynced;		/* the next files that the disk does not take */
	unsigned int turns;		/* until the end */
	unsigned int rotate_at;		/* then somebody asks for that; 0: nobody does */
	unsigned int sick_until;	/* before, nothing is taken, and each turn wants another */
	uint64_t slow;			/* ns that it takes for a file */
	unsigned int ons;		/* of them, those that began with it on */
	unsigned int on_taken, taken;	/* collect_take, of them with it on */
	unsigned int on_synced, synced;	/* files that were synced, of them with it on */
	unsigned int deleted;
	int full;			/* the last error of an event */
	int next;			/* the last file that was prepared */
	uint32_t limited;		/* the budget of the CPU when it was told of */
	int live;			/* the file that an archive is written to; -1: none */
	unsigned int live_synced;	/* files that were synced then */
	unsigned int whole, broken;	/* segments that were told of */
	const char *why;		/* the last one of them ended */
	unsigned int left;		/* that were left, and were told of as finished */
	int manager;			/* its socket, where nobody hears before the last turn */
} fake;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (clock != CLOCK_MONOTONIC_RAW)
		return (int)syscall(SYS_clock_gettime, clock, time);
	*time = (struct timespec){ (time_t)(fake.now / 1000000000), (long)(fake.now % 1000000000) };
	return 0;
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *time, const sigset_t *set)
{
	fake.now += (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
	return 0;
}

static int once(int *error)
{
	const int now = *error;

	*error = 0;
	return now;
}

/* --- Instead of those that need a machine with the module. --- */

int collect_prepare(struct collect *collect, int fd)
{
	(void)collect;
	fake.next = fd;
	return ++fake.prepared == fake.unprepared ? -ENOMEM : 0;
}

int collect_begin(struct collect *collect)
{
	fake.live = fake.next;
	if (fake.grown && ftruncate(fake.next, fake.grown))
		abort();
	fake.grown = 0;
	collect->enabled = false;
	collect->paused = 0;
	collect->began = number_now();
	return once(&fake.begin_error);
}

int collect_switch_on(struct collect *collect, bool on)
{
	if (on && fake.switch_error)
		return fake.switch_error;
	collect->enabled = on;
	return 0;
}

int collect_wait(struct collect *collect, int timeout_ms)
{
	fake.now += (uint64_t)timeout_ms * 1000000;
	fake.ons += collect->enabled;
	if (fake.rotate_at && fake.turns == fake.rotate_at)
		run.rotate = true;
	if (fake.sick_until) {
		run.rotate = fake.turns > fake.sick_until;
		fake.unsynced = run.rotate ? UINT_MAX : 0;
	}
	if (!--fake.turns)
		run.over = true;
	if (fake.turns == 1 && fake.manager) {
		char heard[64];

		while (recv(fake.manager, heard, sizeof(heard), MSG_DONTWAIT) > 0)
			;
	}
	return 0;
}

int collect_take(struct collect *collect)
{
	fake.taken++;
	fake.on_taken += collect->enabled;
	return fake.full_again ? fake.take_error : once(&fake.take_error);
}

uint64_t collect_size(const struct collect *collect)
{
	const uint64_t size = fake.size;

	(void)collect;
	fake.size = 0;
	return size;
}

int collect_end(struct collect *collect)
{
	fake.live = -1;
	return collect_switch_on(collect, false);
}

int collect_pause(struct collect *collect)
{
	collect_switch_on(collect, false);
	fake.live = -1;
	collect->paused = number_now();
	return 0;
}

void collect_limit(struct collect *collect)
{
	(void)collect;
	fake.limited = run.conf.cpu;
}

int collect_watch(struct collect *collect, int fd)
{
	(void)collect;
	(void)fd;
	return 0;
}

uint64_t collect_waiting(const struct collect *collect)
{
	(void)collect;
	return 0;
}

int fsync(int fd)
{
	struct stat status;

	if (!fstat(fd, &status) && S_ISREG(status.st_mode)) {
		fake.synced++;
		fake.now += fake.slow;
		fake.on_synced += run.collect.enabled;
		fake.live_synced += fd == fake.live;
		if (fake.unsynced) {
			fake.unsynced--;
			errno = EIO;
			return -1;
		}
	}
	return (int)syscall(SYS_fsync, fd);
}

void event_deleted(const struct run *of, unsigned int deleted)
{
	(void)of;
	fake.deleted += deleted;
}

void event_full(const struct run *of, int error)
{
	(void)of;
	fake.full = error;
}

void event_ended(const struct run *of, const struct store_facts *facts)
{
	(void)of;
	fake.whole += !facts->broken;
	fake.broken += facts->broken;
	fake.why = facts->why;
}

void event_left(const struct store_left *left)
{
	fake.left += left->finished;
}

/* Nothing comes of these. */
int server_fd(const struct server *server) { return -1; }
void server_serve(struct server *server, uint64_t now) { }
int choice_fd(const struct choice *choice) { return -1; }
void choice_serve(struct choice *choice, uint64_t now) { }
void choice_change(struct choice *choice) { }
void lend_serve(struct run *of, uint64_t now) { }
void cpus_look(struct run *of) { }
int privileges_end(const struct privileges *privileges) { return 0; }
void run_measure(struct run *of) { }
void run_keep_figures(struct run *of) { }
void run_govern(struct run *of, uint64_t now) { of->second = now; }
void run_save(struct run *of, const char *who) { }
int run_watch_triggers(struct run *of) { return 0; }
void run_take_triggers(struct run *of) { }
void event_start(const struct run *of) { }
void event_configuration(const struct run *of, const char *event) { }
void event_drain(const struct run *of) { }
void event_choice(const struct run *of) { }
void event_begun(const struct run *of) { }
void event_space(const struct run *of) { }
void event_undeleted(const char *name, int error) { }
void event_unsaved(uint64_t records) { }
void event_end(const struct run *of) { }

/* --- --- */

FIXTURE(run)
{
	char directory[64];
};

FIXTURE_SETUP(run)
{
	const struct store_limits any = { 0 };
	const struct store_facts facts = { .began = TIME, .ended = TIME + 60, .why = "size" };
	struct after_options after;
	struct store_left left;

	memset(&fake, 0, sizeof(fake));
	memset(&run, 0, sizeof(run));
	strcpy(self->directory, "/tmp/flowtap-run-XXXXXX");
	ASSERT_TRUE(mkdtemp(self->directory));
	ASSERT_EQ(0, conf_default(&run.conf));
	run.conf.on_time = run.conf.on_period = HOUR;
	run.conf.time = HOUR;
	run.path = "/etc/flowtap/flowtapd.conf";
	run.signals = run.notify.fd = -1;
	governor_init(&run.governor, 1000000, 1000000, 1);
	ASSERT_EQ(0, store_open(self->directory, &any, &left, &run.store));
	for (int i = 0; i < 3; i++) {
		ASSERT_LE(0, store_begin(run.store, TIME));
		ASSERT_EQ(0, store_finish(run.store, &facts));
	}
	after = (struct after_options){ .directory = self->directory, .waiting = 100 };
	after_init(&run.after, run.store, &after);
	memset(&fake, 0, sizeof(fake));
	fake.now = HOUR;
	fake.turns = 3;
	fake.live = -1;
}

FIXTURE_TEARDOWN(run)
{
	store_close(run.store);
	conf_free(&run.conf);
	folder_remove(self->directory);
}

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

TEST_F(run, another_budget_is_told_to_what_looks_for_processes)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/conf", self->directory);
	file = fopen(path, "w");
	ASSERT_TRUE(file);
	fputs("[budget]\ncpu = 7%\n", file);
	fclose(file);
	run.path = path;
	run.reload = true;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(70000, fake.limited);
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

TEST_F(run, what_a_reload_cannot_change_is_told)
{
	struct logged logged;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/conf", self->directory);
	file = fopen(path, "w");
	ASSERT_TRUE(file);
	fputs("[budget]\nmemory = 32M\n[segments]\ncompress = no\n", file);
	fclose(file);
	run.path = path;
	run.reload = true;
	logged_open(&logged);
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_STREQ("level=error event=message text=\"[budget] memory: as it was: such a change holds when "
		     "flowtapd is started again\"\n", logged_since(&logged));
	logged_close(&logged);
	EXPECT_EQ(64U << 20, run.conf.memory);
}

TEST_HARNESS_MAIN
