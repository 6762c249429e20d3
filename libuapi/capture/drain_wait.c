// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What is waited for, and the waiting. */
#include "capture/drain_internal.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/vector.h"

#define LAST (POLLHUP | POLLERR | POLLNVAL)	/* nothing will come after these */

static int free_number(struct flowtap_drain *drain)
{
	int number = 0, err;

	while (number < drain->watches && drain->watch[number].used)
		number++;
	if (number < drain->watches)
		return number;
	err = FLOWTAP_GROW(drain->watch, (size_t)number);
	if (!err)
		err = FLOWTAP_GROW(drain->poll, (size_t)number);
	if (err)
		return err;
	memset(&drain->watch[number], 0, sizeof(drain->watch[number]));
	drain->watches++;
	return number;
}

int flowtap_drain_watch(struct flowtap_drain *drain, int fd, short events)
{
	int number = free_number(drain);

	if (number < 0)
		return number;
	drain->watch[number] = (struct drain_watch) {
		.stream = -1,
		.generation = drain->watch[number].generation,
		.used = true,
	};
	drain->poll[number] = (struct pollfd) { .fd = fd, .events = events };
	return number;
}

void drain_saw(struct flowtap_drain *drain, int number, unsigned int events)
{
	struct drain_watch *watch = &drain->watch[number];

	if (!events)
		return;
	watch->seen |= events;
	drain->happened++;
	if (events & LAST) {
		watch->dead = true;
		drain->poll[number].fd = -1;
	}
}

unsigned int flowtap_drain_events(struct flowtap_drain *drain, int number)
{
	unsigned int seen;

	if (number < 0 || number >= drain->watches || !drain->watch[number].used)
		return 0;
	seen = drain->watch[number].seen;
	drain->watch[number].seen = 0;
	return seen;
}

static int64_t monotonic(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* As drain_uring_turn. */
static int poll_turn(struct flowtap_drain *drain, int64_t deadline)
{
	int64_t left = deadline < 0 ? 0 : deadline - monotonic();
	struct timespec time = { 0, 0 };
	int n;

	if (left > 0)
		time = (struct timespec) { left / 1000000000, left % 1000000000 };
	n = ppoll(drain->poll, (nfds_t)drain->watches, deadline < 0 ? NULL : &time, NULL);
	if (n < 0)
		return -errno;
	for (int i = 0; n && i < drain->watches; i++)
		if (drain->watch[i].used && !drain->watch[i].dead)
			drain_saw(drain, i, (unsigned short)drain->poll[i].revents);
	return n ? 1 : -ETIME;
}

static int wait_until(struct flowtap_drain *drain, int64_t deadline)
{
	int result;

	do {
		bool ready = drain_ready(drain);
		int64_t until = ready ? 0 : deadline;

		result = drain->uring ? drain_uring_turn(drain, until) : poll_turn(drain, until);
		/* Where only a write was completed the caller has nothing to do. */
		if (drain->failed || drain->happened || ready || drain_ready(drain))
			return 1;
	} while (result >= 0);
	return result == -ETIME || result == -EINTR ? 0 : result;
}

int flowtap_drain_wait(struct flowtap_drain *drain, int timeout_ms)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	int saved = errno, result = 1;

	drain->happened = 0;
	if (!drain->failed)
		result = wait_until(drain, timeout_ms < 0 ? -1 : monotonic() + timeout_ms * 1000000LL);
	/* No reason to give the archive up; nor to ask without a pause. */
	if (drain_passes(result)) {
		nanosleep(&moment, NULL);
		result = 0;
	}
	errno = saved;
	if (result < 0)
		drain_fail(drain, result);
	return drain->failed ? drain->failed : result;
}
