/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's text, followed while it is recorded. Looks at it take their time and are made in a
 * thread beside the draining of rings; what they found is written where the archive is.
 */
#ifndef KERNEL_RECORDER_H
#define KERNEL_RECORDER_H

#include <flowtap/archive.h>
#include <flowtap/kernel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* All zeros: the kernel is not followed, and every call does nothing. */
struct kernel {
	struct flowtap_kernel *text;
	pthread_t thread;
	bool looking;
	bool done;			/* by the thread; atomic */
	int result;
	bool due;			/* a look is wanted */
	uint64_t polled;
};

/*
 * The first look, before recording is enabled. Where the kernel denies it a message names the
 * consequence, and recording continues without. 0 or -ENOMEM.
 */
int kernel_start(struct kernel *kernel);
/* Some of what it found. 1: there is more; 0 or -errno of the archive or of memory. */
int kernel_write(struct kernel *kernel, struct flowtap_archive_writer *writer);
/* Recording runs: what enabling it has patched is to be looked at. */
void kernel_enabled(struct kernel *kernel);
/* To be called often: begins looks, writes what they found. 0 or -errno, as above. */
int kernel_drain(struct kernel *kernel, struct flowtap_archive_writer *writer);
/* The last look, after recording has stopped and before streams are closed. As above. */
int kernel_finish(struct kernel *kernel, struct flowtap_archive_writer *writer);
void kernel_free(struct kernel *kernel);

#endif /* KERNEL_RECORDER_H */
