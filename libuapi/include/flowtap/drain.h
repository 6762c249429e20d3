/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The drain: moves what many streams record into an archive, in one thread.
 *
 *	flowtap_drain_open(&options, writer, &drain);
 *	flowtap_drain_add(drain, fd, &reader, cpu);		each stream
 *	flowtap_drain_watch(drain, signal_fd, POLLIN);		what else is waited for
 *	while (flowtap_drain_wait(drain, -1) >= 0 && !over)
 *		flowtap_drain_collect(drain, &moved);
 *	flowtap_drain_flush(drain);				after the streams are disabled
 *
 * With io_uring the rings' memory is written straight into the file, at offsets that the archive's
 * writer gives away, and one system call hands over all that is to be written and waits for all
 * that may happen. A tail advances only over blocks that are in the file as a whole, in their order
 * in the ring: whatever fails, what the archive lacks is still in the ring, or recorded as lost.
 * Blocks of a ring that hold little (8 KiB) are copied together and written by one write.
 * Everything that others write to the archive meanwhile goes into it by the same writer.
 *
 * Of a stream whose reader has its AUX area mapped, the bytes that AUX records name go into the
 * file the same way, as AUX blocks before the block with these records, with such pads of the kernel
 * as lie between them. aux_tail advances together with data_tail: when both are in the file.
 *
 * Where io_uring cannot be had (an older kernel, kernel.io_uring_disabled, a sandbox), or the
 * archive cannot be written at offsets (a pipe, a file opened to append), poll and write do the
 * same. Ring memory is registered with io_uring if RLIMIT_MEMLOCK has space for it once more, or
 * with CAP_IPC_LOCK. If a block cannot be written the archive ends in damage that its reader
 * passes over; other streams' blocks after it may be whole.
 *
 * No function here is to be called while another runs, and all by the thread that opened.
 */
#ifndef FLOWTAP_DRAIN_H
#define FLOWTAP_DRAIN_H

#include <flowtap/archive.h>
#include <flowtap/ring.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct flowtap_drain;

enum flowtap_drain_method {
	/*
	 * io_uring, ring memory registered; a block is linked writes: killed in between, it is cut
	 */
	FLOWTAP_DRAIN_FIXED,
	/* io_uring, ring memory as it is mapped; a block is one writev */
	FLOWTAP_DRAIN_URING,
	FLOWTAP_DRAIN_POLL,		/* poll and write */
	FLOWTAP_DRAIN_METHODS,
};

struct flowtap_drain_options {
	enum flowtap_drain_method method;	/* the first to try, then those after it */
	unsigned int streams;			/* at most, up to 65536 */
};

/* "io_uring-fixed", "io_uring", "poll"; NULL for another number. */
const char *flowtap_drain_method_name(enum flowtap_drain_method method);

/* Borrows writer. 0; -EINVAL; -ENOMEM. That io_uring cannot be had is no error. */
int flowtap_drain_open(const struct flowtap_drain_options *options,
		       struct flowtap_archive_writer *writer, struct flowtap_drain **drain);
/*
 * A configured stream; borrows fd and reader. A number for flowtap_drain_events and others, or
 * -ENOSPC (more than options.streams); -ENOMEM. Streams with FLOWTAP_OVERWRITE are only waited for:
 * see flowtap_drain_snapshot.
 */
int flowtap_drain_add(struct flowtap_drain *drain, int fd, struct flowtap_reader *reader,
		      uint32_t cpu);
/* Another fd to wait for, borrowed; events as poll's. Its number; -ENOMEM. */
int flowtap_drain_watch(struct flowtap_drain *drain, int fd, short events);
/*
 * The stream or fd is forgotten, after what is on its way has been written; its ring may be
 * unmapped then. 0 or the error of flowtap_drain_flush; -EINVAL: no such number.
 */
int flowtap_drain_remove(struct flowtap_drain *drain, int number);

/* What really happens: the worst of all streams, as they were added so far. */
enum flowtap_drain_method flowtap_drain_method(const struct flowtap_drain *drain);

/*
 * Waits until a stream or another fd has something to report, or until timeout_ms (-1: for ever).
 * 1; 0: time is over, a signal came, or the kernel has no memory now. -errno of the archive: nothing more will be written.
 *
 * It is reported once (edge-triggered): look at the fd until it has nothing more. One that
 * gave POLLHUP, POLLERR or POLLNVAL is not waited for any more.
 */
int flowtap_drain_wait(struct flowtap_drain *drain, int timeout_ms);
/* Poll's events of this number since the last call; 0 also for no such number. */
unsigned int flowtap_drain_events(struct flowtap_drain *drain, int number);

/*
 * Takes what waits in the rings and AUX areas, *moved bytes, and flushes the archive's buffer; what
 * goes by io_uring is handed over by the next call of flowtap_drain_wait or _flush. Call it after
 * each wait. 0 or -errno of the archive. A ring that contradicts itself is not read any more,
 * others are: see flowtap_drain_error.
 */
int flowtap_drain_collect(struct flowtap_drain *drain, uint64_t *moved);
/*
 * Takes what waits now and returns when all is in the file. 0 or -errno of the archive: then it has
 * of each stream what its tail has passed and nothing else, as far as it can be written at offsets.
 */
int flowtap_drain_flush(struct flowtap_drain *drain);
/*
 * Why this stream is not read any more: 0 (it is), or -EPROTO: heads, tails or sizes of records
 * contradict each other, or an AUX record names bytes that are not there, or come before others'.
 */
int flowtap_drain_error(const struct flowtap_drain *drain, int number);
/*
 * What snapshots of a stream leave out from now on: the older records beyond `most` bytes, and
 * those before the first one whose time (CLOCK_MONOTONIC_RAW, ns) is not before `since`. 0;
 * -EINVAL: no such stream.
 */
int flowtap_drain_limit(struct flowtap_drain *drain, int number, uint64_t since, uint64_t most);
/*
 * Writes those of the newest records of a stream with FLOWTAP_OVERWRITE that it did not write
 * before into the archive's buffer, also while it records. *moved: bytes; *dropped: overwritten
 * while they were copied. 0; -errno of the archive; what flowtap_reader_copy says; -ENOMEM (for a
 * copy of the ring).
 *
 * A stream with an AUX area is to be disabled before. Its records come with those bytes that are
 * still there: an old one's beginning, or all of it, may be missing. -EPROTO also where an AUX
 * record names bytes that never were, or come before others'.
 */
int flowtap_drain_snapshot(struct flowtap_drain *drain, int number, uint64_t *moved,
			   uint64_t *dropped);
/*
 * From now on into another archive; flush before. What the old one failed to take goes into the
 * new one, and the error is forgotten. 0; -EBUSY: something is still on its way; -EINVAL: the old
 * one could be written at offsets, this one cannot.
 */
int flowtap_drain_switch(struct flowtap_drain *drain, struct flowtap_archive_writer *writer);
/* Waits for what is on its way; takes nothing more. */
void flowtap_drain_close(struct flowtap_drain *drain);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_DRAIN_H */
