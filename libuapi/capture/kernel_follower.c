// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Makes the looks at the kernel's text in a thread, and writes what a look found at the first
 * drain after it.
 */
#include "capture/clock.h"

#include <errno.h>
#include <flowtap/kernel.h>

#define POLL_NS 100000000ULL		/* between two questions for new modules */

int flowtap_kernel_follower_start(struct flowtap_kernel_follower *follower)
{
	int error = flowtap_kernel_open(&follower->kernel);

	if (!error)
		error = flowtap_kernel_look(follower->kernel);
	if (error)
		flowtap_kernel_follower_free(follower);
	return error;
}

static int write_all(struct flowtap_kernel_follower *follower, struct flowtap_archive_writer *writer)
{
	int result;

	do {
		result = flowtap_kernel_write(follower->kernel, writer);
	} while (result > 0);
	return result;
}

int flowtap_kernel_follower_write(struct flowtap_kernel_follower *follower,
				  struct flowtap_sideband *sideband,
				  struct flowtap_archive_writer *writer)
{
	int error = 0;

	if (!follower->kernel)
		return 0;
	while (!error && (error = flowtap_kernel_write(follower->kernel, writer)) > 0)
		error = flowtap_sideband_drain(sideband);
	return error;
}

void flowtap_kernel_follower_enabled(struct flowtap_kernel_follower *follower)
{
	follower->due = true;
}

static void *look(void *argument)
{
	struct flowtap_kernel_follower *follower = argument;

	follower->result = flowtap_kernel_look(follower->kernel);
	__atomic_store_n(&follower->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Without a thread the last look knows less exactly when things changed. */
static void begin(struct flowtap_kernel_follower *follower)
{
	follower->due = false;
	follower->done = false;
	follower->looking = !pthread_create(&follower->thread, NULL, look, follower);
}

/* A look that failed is as none: the next one has it all. */
static int end(struct flowtap_kernel_follower *follower, struct flowtap_archive_writer *writer)
{
	pthread_join(follower->thread, NULL);
	follower->looking = false;
	if (follower->result)
		return follower->result == -ENOMEM ? -ENOMEM : 0;
	return write_all(follower, writer);
}

int flowtap_kernel_follower_drain(struct flowtap_kernel_follower *follower,
				  struct flowtap_archive_writer *writer)
{
	uint64_t now;

	if (!follower->kernel)
		return 0;
	if (follower->looking)
		return __atomic_load_n(&follower->done, __ATOMIC_ACQUIRE) ? end(follower, writer) : 0;
	now = clock_now();
	if (!follower->due && now - follower->polled >= POLL_NS) {
		follower->polled = now;
		follower->due = flowtap_kernel_moved(follower->kernel);
	}
	if (follower->due)
		begin(follower);
	return 0;
}

int flowtap_kernel_follower_finish(struct flowtap_kernel_follower *follower,
				   struct flowtap_archive_writer *writer, int *unread)
{
	int error = 0;

	*unread = 0;
	if (!follower->kernel)
		return 0;
	if (follower->looking)
		error = end(follower, writer);
	if (error)
		return error;
	error = flowtap_kernel_look(follower->kernel);
	if (!error)
		return write_all(follower, writer);
	if (error == -ENOMEM)
		return error;
	*unread = error;
	return 0;
}

void flowtap_kernel_follower_free(struct flowtap_kernel_follower *follower)
{
	if (follower->looking)
		pthread_join(follower->thread, NULL);
	follower->looking = false;
	flowtap_kernel_free(follower->kernel);
	follower->kernel = NULL;
}
