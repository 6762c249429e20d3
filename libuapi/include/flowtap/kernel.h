/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The recorder's side of the kernel's text: it is read out of /proc/kcore at the start and again
 * later, and what is different goes into the archive (FLOWTAP_ARCHIVE_KERNEL and SYMBOLS).
 *
 *	flowtap_kernel_open(&kernel);
 *	flowtap_kernel_look(kernel);		everything; before recording is enabled
 *	while (flowtap_kernel_write(kernel, writer) > 0);
 *	...
 *	flowtap_kernel_look(kernel);		again: once recording runs (that itself patches the
 *	while (...);				kernel), when modules moved, when it has stopped
 *
 * A look takes some 10 ms for each 10 MB; it may be made in a thread of its own while nothing else
 * is called for this kernel. What is patched and patched back between two looks is not seen, nor
 * code that is of no module (BPF, out-of-line slots of probes), nor what ran when the kernel or a
 * module started and was freed.
 *
 * Memory: what text there is (Debian's kernel: 11 to 14 MB, and its modules), at most 512 MiB.
 */
#ifndef FLOWTAP_KERNEL_H
#define FLOWTAP_KERNEL_H

#include <flowtap/archive.h>
#include <flowtap/sideband.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct flowtap_kernel;

/*
 * Reads kallsyms. 0; -EPERM, -EACCES: /proc/kcore or the addresses (kptr_restrict) are not for us;
 * -ENOENT: this kernel has no kcore, or no symbols; -ENOMEM; another -errno.
 */
int flowtap_kernel_open(struct flowtap_kernel **kernel);
/* 0; -ENOMEM; -errno of reading, nothing of this look counts then. */
int flowtap_kernel_look(struct flowtap_kernel *kernel);
/*
 * Some of what the last look found, a block of up to 1 MiB before it is compressed. 1: there is
 * more; 0: that was all; -ENOMEM; -errno of the archive. To be finished before the next look.
 */
int flowtap_kernel_write(struct flowtap_kernel *kernel, struct flowtap_archive_writer *writer);
/* Whether modules came or went since the last look began. Reads /proc/modules. */
bool flowtap_kernel_moved(struct flowtap_kernel *kernel);

struct flowtap_kernel_figures {
	uint64_t looks;
	uint64_t regions;	/* of text, that were seen */
	uint64_t bytes;		/* of text, that are held */
	uint64_t changed;	/* pages that a later look found to be different */
	uint64_t skipped;	/* bytes of text: no space for them, or they cannot be read */
};

/* What the looks so far have come to. */
void flowtap_kernel_figures(const struct flowtap_kernel *kernel,
			    struct flowtap_kernel_figures *figures);
void flowtap_kernel_free(struct flowtap_kernel *kernel);

/*
 * The follower makes these looks for a recorder that drains rings meanwhile: each but the first and
 * the last in a thread, and writes what they found in the recorder's own thread.
 *
 *	flowtap_kernel_follower_start(&follower);	before recording is enabled
 *	flowtap_kernel_follower_write(&follower, sideband, writer);
 *	flowtap_kernel_follower_enabled(&follower);
 *	flowtap_kernel_follower_drain(&follower, writer);	whenever rings are drained
 *	flowtap_kernel_follower_finish(&follower, writer, &unread);
 *
 * All zeros, or where the start failed: the kernel is not followed, and every call does nothing.
 * The fields are the follower's own; it is not to be moved in memory.
 */
struct flowtap_kernel_follower {
	struct flowtap_kernel *kernel;
	pthread_t thread;
	bool looking;
	bool done;			/* by the thread; atomic */
	int result;			/* of its look */
	bool due;			/* a look is wanted */
	uint64_t polled;		/* when modules were asked for last, ns of CLOCK_MONOTONIC_RAW */
};

/* The first look. 0; -ENOMEM; what flowtap_kernel_open and _look return: one may record without. */
int flowtap_kernel_follower_start(struct flowtap_kernel_follower *follower);
/*
 * Writes all that the first look found. It takes a while, in which the side band must not overflow:
 * it is drained as well. 0 or -errno of the archive or of memory.
 */
int flowtap_kernel_follower_write(struct flowtap_kernel_follower *follower,
				  struct flowtap_sideband *sideband,
				  struct flowtap_archive_writer *writer);
/* Recording runs: what enabling it has patched is to be looked at. */
void flowtap_kernel_follower_enabled(struct flowtap_kernel_follower *follower);
/*
 * To be called often: begins a look where one is due or modules have moved (asked for ten times a
 * second at most), and writes what one has found. 0 or -errno, as above. A look that failed is as
 * none.
 */
int flowtap_kernel_follower_drain(struct flowtap_kernel_follower *follower,
				  struct flowtap_archive_writer *writer);
/*
 * The last look, after recording has stopped and before streams are closed. 0 or -errno, as above.
 * *unread: 0, or -errno: this look could not read, and what was patched since the one before is not
 * known.
 */
int flowtap_kernel_follower_finish(struct flowtap_kernel_follower *follower,
				   struct flowtap_archive_writer *writer, int *unread);
/* Waits for a look that is being made. */
void flowtap_kernel_follower_free(struct flowtap_kernel_follower *follower);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_KERNEL_H */
