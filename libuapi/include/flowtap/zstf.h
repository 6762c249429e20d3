/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Compressed STF (.zstf): the records of an STF in chunks, each one a zstd frame.
 *
 *	"ZSTF", u64 markers, u64 index_offset
 *	chunks, one after the other
 *	at index_offset: u64 n, n times {u64 offset, u64 start_pc, u64 bytes}
 *
 * All integers are little-endian. Markers are the opcode records: every chunk but the last holds
 * exactly `markers` of them and ends with one. A chunk begins at `offset` in the file and has
 * `bytes` uncompressed bytes; start_pc is where the next instruction would be if no FORCE_PC
 * says otherwise, 0 for the first chunk, which begins with the header of the STF.
 *
 * flowtap/stf.h writes it. While it is written index_offset is moved on whenever chunks were
 * finished, so that a file whose writer was killed at any moment is whole up to there: each chunk
 * at first; beyond 1024 chunks, one in 1024 of them may be missing as well. What can then be
 * between the last chunk and the index is the beginning of the next ones, or what of an older index
 * they did not cover.
 */
#ifndef FLOWTAP_ZSTF_H
#define FLOWTAP_ZSTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLOWTAP_ZSTF_MAGIC	"ZSTF"
#define FLOWTAP_ZSTF_HEAD	20U		/* bytes before the first chunk */
#define FLOWTAP_ZSTF_ENTRY	24U		/* bytes of an entry of the index */
#define FLOWTAP_ZSTF_MARKERS	100000U		/* opcode records in a chunk, as others write */
#define FLOWTAP_ZSTF_MARKERS_MAX 10000000U
#define FLOWTAP_ZSTF_LEVEL	1
#define FLOWTAP_ZSTF_LEVEL_MAX	19

struct flowtap_zstf_options {
	uint64_t markers;	/* 1 to FLOWTAP_ZSTF_MARKERS_MAX; 0: FLOWTAP_ZSTF_MARKERS */
	int level;		/* of zstd, 1 to FLOWTAP_ZSTF_LEVEL_MAX; 0: FLOWTAP_ZSTF_LEVEL */
};

struct flowtap_zstf_reader;

struct flowtap_zstf_chunk {
	uint64_t number;	/* from 0 */
	uint64_t offset;	/* in the file */
	uint64_t end;		/* where its frame ends, says the index: the next entry is compared */
	uint64_t start_pc;
	uint64_t bytes;		/* uncompressed, at most 1 GiB */
	bool found;		/* no index has it: start_pc and bytes are 0, it ends before `end` */
};

struct flowtap_zstf_info {
	uint64_t markers;
	uint64_t index_offset;
	uint64_t chunks;	/* in the index; 0: it is of no use */
	uint64_t found;		/* chunks that are not in it */
	/* When flowtap_zstf_next said that there is no more, and all chunks were read: */
	uint64_t slack;		/* bytes that are of no use, left by a writer that was killed */
	uint64_t slack_offset;	/* of the first of them */
	bool complete;		/* the chunks reach to where the head says that the index is */
	bool cut;		/* the file ends within the last one: what was read of it is right */
};

/*
 * fd is borrowed and read by pread. Memory is 128 KiB, and what zstd takes for a window of at most
 * 128 MiB. 0; -EBADMSG: no .zstf, or one without an index: flowtap_zstf_problem says why, *reader
 * is to be freed then, too; -errno of read, -ENOMEM: *reader is NULL.
 */
int flowtap_zstf_open(int fd, struct flowtap_zstf_reader **reader);
/*
 * After -EBADMSG of flowtap_zstf_open, or of flowtap_zstf_next: from now on the index is not looked
 * at. Chunks are frames, one after the other from the last one that was read to its end on, or from
 * the first. After a damaged one there are no more. 0; -EBADMSG: nobody knows where to go on.
 */
int flowtap_zstf_scan(struct flowtap_zstf_reader *reader);
/*
 * The next chunk: 1; no more: 0; -EBADMSG: its entry contradicts itself, *chunk is it; -errno.
 * Whole frames with a checksum between the last chunk of the index and the index are chunks, too:
 * the writer was killed when they were there and a new index was not.
 */
int flowtap_zstf_next(struct flowtap_zstf_reader *reader, struct flowtap_zstf_chunk *chunk);
/*
 * flowtap_zstf_next returns chunk `number` (of info->chunks) next; entries before it are looked at,
 * their chunks are not. *bytes: what those have. 0; -EBADMSG: one of the entries contradicts itself, or
 * there is no index; -EINVAL: no such chunk; -errno of read.
 */
int flowtap_zstf_seek(struct flowtap_zstf_reader *reader, uint64_t number, uint64_t *bytes);
/*
 * Up to `size` of the chunk's bytes; 0 at its end, when all that the index says of it was true;
 * -EBADMSG, and then the next chunk may be tried (info->cut: what came before is right, there is no
 * next one); -errno of read.
 */
long flowtap_zstf_read(struct flowtap_zstf_reader *reader, void *bytes, size_t size);
/*
 * What comes out of the beginning of the first chunk, though it is damaged: at most `size` bytes,
 * which nothing has verified. How many, or 0; -errno of read, -ENOMEM. The chunk that is read stays
 * what it is.
 */
long flowtap_zstf_salvage(const struct flowtap_zstf_reader *reader, void *bytes, size_t size);
/* Why the last call returned -EBADMSG, and where in the file. */
const char *flowtap_zstf_problem(const struct flowtap_zstf_reader *reader, uint64_t *offset);
/* What head and index say; until the reader is closed. */
const struct flowtap_zstf_info *flowtap_zstf_info(const struct flowtap_zstf_reader *reader);
void flowtap_zstf_close(struct flowtap_zstf_reader *reader);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_ZSTF_H */
