/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A disk that takes files when the test wants, and a thread that syncs them of which nobody's clock
 * says how long that took: who waits for it waits until it is done, or, where the disk is held, not at
 * all. The test's fsync calls slow_disk_takes first.
 */
#ifndef FLOWTAP_SELFTESTS_DAEMON_SLOW_DISK_H
#define FLOWTAP_SELFTESTS_DAEMON_SLOW_DISK_H

#include "syncer.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t released;
	bool held;
	unsigned int waits;	/* for the thread */
	unsigned int releases;	/* at this one of them it is held no more; 0: at none */
	unsigned int taken;	/* files, by the thread */
} slow_disk = { .lock = PTHREAD_MUTEX_INITIALIZER, .released = PTHREAD_COND_INITIALIZER };

static inline void slow_disk_takes(void)
{
	if (gettid() == getpid())
		return;
	pthread_mutex_lock(&slow_disk.lock);
	slow_disk.taken++;
	while (slow_disk.held)
		pthread_cond_wait(&slow_disk.released, &slow_disk.lock);
	pthread_mutex_unlock(&slow_disk.lock);
}

/* The syncer's alone. */
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *until)
{
	bool held;

	(void)until;
	pthread_mutex_lock(&slow_disk.lock);
	if (++slow_disk.waits == slow_disk.releases) {
		slow_disk.held = false;
		pthread_cond_broadcast(&slow_disk.released);
	}
	held = slow_disk.held;
	pthread_mutex_unlock(&slow_disk.lock);
	return held ? ETIMEDOUT : pthread_cond_wait(cond, lock);
}

static inline void slow_disk_hold(bool held)
{
	pthread_mutex_lock(&slow_disk.lock);
	slow_disk.held = held;
	pthread_cond_broadcast(&slow_disk.released);
	pthread_mutex_unlock(&slow_disk.lock);
}

/* And it has taken all when this returns. */
static inline void slow_disk_release(struct syncer *syncer)
{
	slow_disk_hold(false);
	if (!syncer_wait(syncer, 0))
		abort();
}

#endif /* FLOWTAP_SELFTESTS_DAEMON_SLOW_DISK_H */
