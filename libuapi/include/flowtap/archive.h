/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The archive (.ftap): everything that decoding elsewhere needs, raw.
 *
 * A file is a 16-byte magic with the version, then blocks: {u32 type, u32 size, u32 crc, u32 cpu,
 * u64 time} and size bytes, padded to 8. Little-endian. crc is CRC-32C of header (crc 0) and
 * payload. A file that ends within a block, or has a damaged one, is good up to there: the reader
 * says at which offset and why. After a damaged block whose length is plausible the reader goes on
 * at the next one.
 */
#ifndef FLOWTAP_ARCHIVE_H
#define FLOWTAP_ARCHIVE_H

#include <linux/flowtap.h>
#include <stddef.h>
#include <stdint.h>

#define FLOWTAP_ARCHIVE_VERSION 1
#define FLOWTAP_ARCHIVE_BLOCK_MAX (16U << 20)

enum flowtap_archive_type {
	FLOWTAP_ARCHIVE_INFO = 1,	/* text, KEY=VALUE lines: host, kernel, command, arch, page ... */
	FLOWTAP_ARCHIVE_QUERY,		/* struct flowtap_query of `cpu` */
	FLOWTAP_ARCHIVE_CONFIGURE,	/* struct flowtap_configure of `cpu` */
	FLOWTAP_ARCHIVE_RING,		/* whole records of `cpu`'s ring, as they were */
	FLOWTAP_ARCHIVE_AUX,		/* u64 offset, then bytes of the AUX area */
	FLOWTAP_ARCHIVE_MAPPING,	/* struct flowtap_archive_mapping, path */
	FLOWTAP_ARCHIVE_TASK,		/* struct flowtap_archive_task, comm: fork, exec, comm, exit */
	FLOWTAP_ARCHIVE_BYTES,		/* struct flowtap_archive_mapping, path, 0, pad to 8, code bytes */
	FLOWTAP_ARCHIVE_LOST,		/* side band lost: u64 count */
	FLOWTAP_ARCHIVE_STATS,		/* struct flowtap_stats of `cpu` at the end */
	FLOWTAP_ARCHIVE_END,		/* empty: the recording was finalised */
};

struct flowtap_archive_block {
	uint32_t type;
	uint32_t cpu;
	uint64_t time;
	uint64_t offset;		/* of the block in the file */
	const void *payload;		/* valid until the next read */
	size_t size;
};

struct flowtap_archive_mapping {
	uint64_t time;
	uint64_t start;
	uint64_t size;
	uint64_t file_offset;
	uint32_t pid;
	uint32_t tid;
	uint32_t executable;
	uint32_t build_id_size;
	uint8_t build_id[24];
	uint32_t path_size;		/* bytes of the path that follows, without the 0 */
	uint32_t reserved;
};

enum flowtap_archive_task_event {
	FLOWTAP_TASK_FORK = 1,
	FLOWTAP_TASK_EXEC,
	FLOWTAP_TASK_COMM,
	FLOWTAP_TASK_EXIT,
};

struct flowtap_archive_task {
	uint64_t time;
	uint32_t event;
	uint32_t pid;
	uint32_t tid;
	uint32_t parent_pid;
	uint32_t parent_tid;
	uint32_t comm_size;
	uint8_t comm[16];
};

struct flowtap_archive_writer;
struct flowtap_archive_reader;

/* fd is borrowed and written sequentially. Buffers up to 1 MiB; flush empties the buffer. */
int flowtap_archive_create(int fd, struct flowtap_archive_writer **writer);
/* payload in up to two parts (a ring's stretches). 0, -EMSGSIZE, -errno of write. */
int flowtap_archive_write(struct flowtap_archive_writer *writer, uint32_t type, uint32_t cpu,
			  uint64_t time, const void *first, size_t first_size, const void *second,
			  size_t second_size);
int flowtap_archive_flush(struct flowtap_archive_writer *writer);
uint64_t flowtap_archive_size(const struct flowtap_archive_writer *writer);
void flowtap_archive_writer_free(struct flowtap_archive_writer *writer);

/*
 * fd is borrowed; regular files and pipes. 0; -EBADMSG: no archive (or of another version,
 * -EPROTONOSUPPORT); -errno of read; -ENOMEM.
 */
int flowtap_archive_open(int fd, struct flowtap_archive_reader **reader);
/*
 * The next block: 1; the end: 0; below 0: damage, flowtap_archive_error says where and why.
 * After -EBADMSG reading may go on (a block was passed over); after -ENODATA (truncated) it ends.
 */
int flowtap_archive_next(struct flowtap_archive_reader *reader, struct flowtap_archive_block *block);
/* The last damage as one line: offset and reason; and how many bytes are not usable so far. */
const char *flowtap_archive_error(const struct flowtap_archive_reader *reader, uint64_t *bad_bytes);
void flowtap_archive_reader_free(struct flowtap_archive_reader *reader);

#endif /* FLOWTAP_ARCHIVE_H */
