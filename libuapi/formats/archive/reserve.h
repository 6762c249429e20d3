/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Reserves bytes in an archive's file, for who writes a block there himself while the writer
 * continues after it.
 */
#ifndef FLOWTAP_LIBUAPI_FORMATS_ARCHIVE_RESERVE_H
#define FLOWTAP_LIBUAPI_FORMATS_ARCHIVE_RESERVE_H

#include <flowtap/archive.h>
#include <stdbool.h>
#include <sys/uio.h>

/* Whether the file can be written at offsets: no pipe or terminal, not opened to append. */
bool flowtap_archive_can_reserve(const struct flowtap_archive_writer *writer);
/* What the blocks are written to; borrowed. */
int flowtap_archive_fd(const struct flowtap_archive_writer *writer);
/*
 * Flushes, then reserves the bytes that come next, for a block of this payload: *header has type,
 * cpu and time, and gets the rest, checksum and all; *offset is that of the header in the fd's
 * file. The payload and zeros up to a multiple of 8 are to follow it directly. Results as
 * flowtap_archive_write; -EINVAL for a file that cannot be written at offsets.
 */
int flowtap_archive_reserve(struct flowtap_archive_writer *writer,
			    struct flowtap_archive_block_header *header,
			    const struct iovec payload[2], uint64_t *offset);
/*
 * Bytes of the archive, from its start, that are in the file or reserved there. After an error of
 * the writer these are whole blocks, and what was after them was cut off, where that is possible.
 */
uint64_t flowtap_archive_written(const struct flowtap_archive_writer *writer);
/* What was reserved could not be written: from now on every call returns `error`, unless one of
 * before was there first. */
void flowtap_archive_fail(struct flowtap_archive_writer *writer, int error);
/*
 * The block at `at`, bytes from the archive's start, is no part of it: its header becomes zeros, if
 * it is in the file and the file can be written at offsets. Its reader passes over it.
 */
void flowtap_archive_withdraw(const struct flowtap_archive_writer *writer, uint64_t at);
/*
 * All that was reserved is written: the fd is at the end of the file again, for whoever else
 * writes to it. 0 or -errno.
 */
int flowtap_archive_seek_end(struct flowtap_archive_writer *writer);

#endif /* FLOWTAP_LIBUAPI_FORMATS_ARCHIVE_RESERVE_H */
