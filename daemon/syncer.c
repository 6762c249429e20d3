// SPDX-License-Identifier: GPL-2.0-only
/* Syncs files in a thread, in the order in which they were asked for. */
#include "syncer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 100

struct sync {
	struct syncer *syncer;
	struct sync *next;	/* in the queue, or of those that are known */
	int fd;
	int error;		/* -EINPROGRESS: not known yet */
	bool dropped;		/* nobody asks */
};

/* All of it, and each sync's error, under the lock. */
struct syncer {
	pthread_mutex_t lock;
	pthread_cond_t asked, done;
	pthread_t thread;
	bool running, over;
	unsigned int pending;
	struct sync *first, **last;
};

int syncer_new(struct syncer **result)
{
	struct syncer *syncer = calloc(1, sizeof(*syncer));
	pthread_condattr_t attributes;

	if (!syncer)
		return -ENOMEM;
	syncer->last = &syncer->first;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&syncer->lock, NULL);
	pthread_cond_init(&syncer->asked, &attributes);
	pthread_cond_init(&syncer->done, &attributes);
	pthread_condattr_destroy(&attributes);
	*result = syncer;
	return 0;
}

static void destroy(struct syncer *syncer)
{
	pthread_cond_destroy(&syncer->done);
	pthread_cond_destroy(&syncer->asked);
	pthread_mutex_destroy(&syncer->lock);
	free(syncer);
}

static int sync_file(int fd)
{
	return fsync(fd) ? -errno : 0;
}

/* With the lock held, but while the disk works. */
static void serve(struct syncer *syncer)
{
	struct sync *sync = syncer->first;
	int error;

	syncer->first = sync->next;
	if (!syncer->first)
		syncer->last = &syncer->first;
	pthread_mutex_unlock(&syncer->lock);
	error = sync_file(sync->fd);
	close(sync->fd);
	pthread_mutex_lock(&syncer->lock);
	sync->error = error;
	if (sync->dropped)
		free(sync);
	syncer->pending--;
	pthread_cond_broadcast(&syncer->done);
}

static void *run(void *argument)
{
	struct syncer *syncer = argument;
	sigset_t all;

	/* Signals are for others. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pthread_mutex_lock(&syncer->lock);
	for (;;) {
		while (!syncer->first && !syncer->over)
			pthread_cond_wait(&syncer->asked, &syncer->lock);
		if (!syncer->first)
			break;
		serve(syncer);
	}
	pthread_mutex_unlock(&syncer->lock);
	return NULL;
}

/* With the lock held: until so many ms are over nothing is pending, or this one is known. */
static void wait_for(struct syncer *syncer, const struct sync *sync, unsigned int ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	while (sync ? sync->error == -EINPROGRESS : syncer->pending)
		if (pthread_cond_timedwait(&syncer->done, &syncer->lock, &until))
			break;
}

/* NULL: it cannot be. */
static struct sync *queue(struct syncer *syncer, int fd)
{
	struct sync *sync = calloc(1, sizeof(*sync));

	if (!sync)
		return NULL;
	*sync = (struct sync){ .syncer = syncer, .error = -EINPROGRESS };
	sync->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (sync->fd < 0) {
		free(sync);
		return NULL;
	}
	*syncer->last = sync;
	syncer->last = &sync->next;
	syncer->pending++;
	pthread_cond_signal(&syncer->asked);
	return sync;
}

int syncer_begin(struct syncer *syncer, int fd, struct sync **sync)
{
	*sync = NULL;
	if (!syncer)
		return sync_file(fd);
	pthread_mutex_lock(&syncer->lock);
	syncer->running = syncer->running || !pthread_create(&syncer->thread, NULL, run, syncer);
	if (syncer->running)
		*sync = queue(syncer, fd);
	if (*sync && syncer->pending == 1)
		wait_for(syncer, *sync, PATIENCE_MS);
	pthread_mutex_unlock(&syncer->lock);
	return *sync ? syncer_ask(sync) : sync_file(fd);
}

bool syncer_knows(const struct sync *sync)
{
	bool known;

	pthread_mutex_lock(&sync->syncer->lock);
	known = sync->error != -EINPROGRESS;
	pthread_mutex_unlock(&sync->syncer->lock);
	return known;
}

int syncer_ask(struct sync **sync)
{
	int error = -EINPROGRESS;

	if (!syncer_knows(*sync))
		return error;
	error = (*sync)->error;
	free(*sync);
	*sync = NULL;
	return error;
}

void syncer_drop(struct sync **sync)
{
	struct syncer *syncer = *sync ? (*sync)->syncer : NULL;

	if (!syncer)
		return;
	pthread_mutex_lock(&syncer->lock);
	if ((*sync)->error == -EINPROGRESS)
		(*sync)->dropped = true;
	else
		free(*sync);
	pthread_mutex_unlock(&syncer->lock);
	*sync = NULL;
}

bool syncer_wait(struct syncer *syncer, unsigned int ms)
{
	bool done;

	pthread_mutex_lock(&syncer->lock);
	wait_for(syncer, NULL, ms);
	done = !syncer->pending;
	pthread_mutex_unlock(&syncer->lock);
	return done;
}

void syncer_free(struct syncer *syncer)
{
	bool busy;

	if (!syncer)
		return;
	pthread_mutex_lock(&syncer->lock);
	syncer->over = true;
	busy = syncer->pending;
	pthread_cond_signal(&syncer->asked);
	pthread_mutex_unlock(&syncer->lock);
	if (busy) {
		pthread_detach(syncer->thread);
		return;
	}
	if (syncer->running)
		pthread_join(syncer->thread, NULL);
	destroy(syncer);
}
