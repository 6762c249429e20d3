/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The main loop, with streams, rings and a side band that are the test's own: `fake` has what comes of
 * them, and what happened.
 */
#ifndef FLOWTAP_SELFTESTS_DAEMON_RUN_FIXTURE_H
#define FLOWTAP_SELFTESTS_DAEMON_RUN_FIXTURE_H

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
#include "slow_disk.h"
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
	unsigned int rotate;		/* bits: turns in which somebody does */
	unsigned int sick_until;	/* before, nothing is taken, and each turn wants another */
	uint64_t slow;			/* ns that it takes for a file */
	bool works;			/* what takes it is the thread itself */
	uint64_t worked;		/* ns of its CPU time */
	unsigned int ons;		/* of them, those that began with it on */
	unsigned int on_taken, taken;	/* collect_take, of them with it on */
	unsigned int on_synced, synced;	/* files that were synced, of them with it on */
	unsigned int deleted;
	bool crowded;			/* from the first turn on the disk has room for no segment */
	int full;			/* the last error of an event */
	int next;			/* the last file that was prepared */
	uint32_t limited;		/* the budget of the CPU when it was told of */
	int live;			/* the file that an archive is written to; -1: none */
	unsigned int live_synced;	/* files that were synced then */
	unsigned int whole, broken;	/* segments that were told of */
	const char *why;		/* the last one of them ended */
	unsigned int left;		/* that were left, and were told of as finished */
	bool late_error;		/* of what the thread syncs */
	unsigned int released_at;	/* then the disk takes what it held; 0: never */
	int manager;			/* its socket, where nobody hears before the last turn */
	unsigned int choice_ends;
	unsigned int waits_before;	/* for the disk's thread, before the last of them */
} fake;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	const uint64_t ns = clock == CLOCK_THREAD_CPUTIME_ID ? fake.worked : fake.now;

	if (clock != CLOCK_MONOTONIC_RAW && clock != CLOCK_THREAD_CPUTIME_ID)
		return (int)syscall(SYS_clock_gettime, clock, time);
	*time = (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
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
	if ((fake.rotate_at && fake.turns == fake.rotate_at) ||
	    (fake.turns < 32 && fake.rotate >> fake.turns & 1))
		run.rotate = true;
	if (fake.crowded)
		store_limit(run.store, &(struct store_limits){ .free = UINT64_MAX });
	if (fake.sick_until) {
		run.rotate = fake.turns > fake.sick_until;
		fake.unsynced = run.rotate ? UINT_MAX : 0;
	}
	if (fake.released_at && fake.turns == fake.released_at)
		slow_disk_release(run.syncer);
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

	slow_disk_takes();
	/* In the thread nobody waits, and nothing of this is its. */
	if (gettid() != getpid()) {
		errno = EIO;
		return fake.late_error ? -1 : (int)syscall(SYS_fsync, fd);
	}
	if (!fstat(fd, &status) && S_ISREG(status.st_mode)) {
		fake.synced++;
		fake.now += fake.slow;
		fake.worked += fake.works ? fake.slow : 0;
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

void choice_end(struct choice *choice)
{
	(void)choice;
	fake.choice_ends++;
	fake.waits_before = slow_disk.waits;
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
	syncer_free(run.syncer);
	conf_free(&run.conf);
	folder_remove(self->directory);
}

#endif /* FLOWTAP_SELFTESTS_DAEMON_RUN_FIXTURE_H */
