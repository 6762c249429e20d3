/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The archive (.ftap): everything that decoding elsewhere needs, raw.
 *
 * A file is struct flowtap_archive_header, then blocks: struct flowtap_archive_block_header and
 * `size` bytes of payload, padded with zeros to 8. All is little-endian. The checksums are CRC-32C:
 * the file header's of the bytes before it; a block's of its header (with crc 0) and payload.
 *
 * A file that ends within a block is good up to there. A block that does not match its checksum
 * is passed over: reading goes on at the next offset (all are multiples of 8) where a whole block
 * begins that does. Each damage is reported with its offset, reason and size.
 */
#ifndef FLOWTAP_ARCHIVE_H
#define FLOWTAP_ARCHIVE_H

#include <flowtap/address_map.h>
#include <linux/flowtap.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLOWTAP_ARCHIVE_VERSION 1
#define FLOWTAP_ARCHIVE_BLOCK_MAX (16U << 20)	/* bytes of payload */
#define FLOWTAP_ARCHIVE_MAGIC	"\211FTAP\r\n\032"	/* 8 bytes; broken by transfers as text */
#define FLOWTAP_ARCHIVE_MARK	0xf7a9U

struct flowtap_archive_header {
	uint8_t magic[8];
	uint32_t version;
	uint32_t crc;
};

struct flowtap_archive_block_header {
	uint16_t type;			/* enum flowtap_archive_type, or one not known yet */
	uint16_t mark;			/* FLOWTAP_ARCHIVE_MARK: lets a reader find blocks again */
	uint32_t size;			/* of the payload, at most FLOWTAP_ARCHIVE_BLOCK_MAX */
	uint32_t crc;
	uint32_t cpu;
	uint64_t time;			/* of the contents or of writing, CLOCK_MONOTONIC_RAW */
};

enum flowtap_archive_type {
	FLOWTAP_ARCHIVE_INFO = 1,	/* text, KEY=VALUE lines: host, kernel, command ... */
	FLOWTAP_ARCHIVE_QUERY,		/* struct flowtap_query of `cpu` */
	FLOWTAP_ARCHIVE_CONFIGURE,	/* struct flowtap_configure of `cpu` */
	FLOWTAP_ARCHIVE_RING,		/* whole records of `cpu`'s ring, as they were */
	/*
	 * u64 offset, as in struct flowtap_record_aux, then bytes of `cpu`'s AUX area, before the
	 * RING block with the record that names them. Their offsets grow; with one that goes back,
	 * or after a CONFIGURE of `cpu`, another stream begins.
	 */
	FLOWTAP_ARCHIVE_AUX,
	FLOWTAP_ARCHIVE_MAPPING,	/* struct flowtap_archive_mapping, path */
	FLOWTAP_ARCHIVE_TASK,		/* struct flowtap_archive_task */
	/*
	 * struct flowtap_archive_mapping, path, 0, pad to 8, code bytes. pid 0: the bytes of what
	 * is mapped by this path in any process (the vdso), from its file offset 0.
	 */
	FLOWTAP_ARCHIVE_BYTES,
	FLOWTAP_ARCHIVE_LOST,		/* side band lost: u64 count */
	FLOWTAP_ARCHIVE_STATS,		/* struct flowtap_stats of `cpu` at the end */
	FLOWTAP_ARCHIVE_END,		/* empty: the recording was finalised */
	/*
	 * struct flowtap_archive_kernel, name, 0, pad to 8, code: text of the kernel or of a module
	 * as one look found it in memory.
	 */
	FLOWTAP_ARCHIVE_KERNEL,
	FLOWTAP_ARCHIVE_SYMBOLS,	/* struct flowtap_archive_symbols, text */
	FLOWTAP_ARCHIVE_FILE,		/* struct flowtap_archive_file, path, 0, pad to 8, contents */
	/*
	 * struct flowtap_stats of `cpu` when this archive began, where the stream is older: what is
	 * counted up to then is in archives before it. Before the first RING of `cpu`.
	 */
	FLOWTAP_ARCHIVE_BEGUN,
	FLOWTAP_ARCHIVE_TRIGGER,	/* struct flowtap_archive_trigger, text: why this was saved */
};

struct flowtap_archive_block {
	uint32_t type;
	uint32_t cpu;
	uint64_t time;
	uint64_t offset;		/* of the block in the file */
	const void *payload;		/* valid until the next read */
	size_t size;
};

enum flowtap_archive_cause {
	FLOWTAP_ARCHIVE_CAUSE_ASKED = 1,	/* by a signal or a command */
	FLOWTAP_ARCHIVE_CAUSE_CRASH,		/* a process ended by a signal that dumps core */
	FLOWTAP_ARCHIVE_CAUSE_UPROBE,		/* a function was reached, at `address` */
	FLOWTAP_ARCHIVE_CAUSE_TRACEPOINT,	/* of the kernel; `address` is the task's in user mode */
	FLOWTAP_ARCHIVE_CAUSE_LATENCY,		/* the function at `address` took longer than it may */
};

/* What had the newest bytes of rings that overwrite saved. */
struct flowtap_archive_trigger {
	uint64_t time;			/* when it happened, CLOCK_MONOTONIC_RAW; not after the block's */
	uint64_t address;		/* where it happened, 0: nowhere, or it is not known */
	uint32_t pid;			/* whom it happened to, 0: nobody */
	uint32_t tid;
	uint32_t cause;			/* FLOWTAP_ARCHIVE_CAUSE_ */
	uint32_t text_size;		/* bytes of the text that follows, without a 0 */
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
	uint8_t build_id[24];		/* at most 20 are used */
	uint32_t path_size;		/* bytes of the path that follows, without a 0 */
	uint32_t reserved;
};

enum flowtap_archive_compression {
	FLOWTAP_COMPRESSION_NONE,
	FLOWTAP_COMPRESSION_ZSTD,	/* one frame, which says the size of what is in it */
};

/*
 * A region of text, as it was found by one look: each byte was read at some moment of
 * [time, until]. The first look at a region gives all of it, in as many parts (blocks with the
 * same name, start, size, time and until) as it takes; a later look gives the pages that are not
 * as they were, or one block without a part that says that all are. Looks at a region do not
 * overlap in time.
 */
struct flowtap_archive_kernel {
	uint64_t time;
	uint64_t until;
	uint64_t start;			/* address of the region */
	uint64_t size;			/* of all of it */
	uint64_t offset;		/* of this part; a multiple of FLOWTAP_KERNEL_PAGE */
	uint32_t part_size;		/* bytes, uncompressed: whole pages, but at the end; or 0 */
	uint32_t compression;		/* enum flowtap_archive_compression */
	uint32_t stored_size;		/* bytes of code as they follow */
	uint32_t name_size;		/* "kernel", or the module's name; without a 0 */
	uint32_t flags;			/* FLOWTAP_KERNEL_ */
	uint32_t reserved;
};

#define FLOWTAP_KERNEL_NEW	1U	/* it came at some moment of [time, until] */
#define FLOWTAP_KERNEL_GONE	2U	/* it went at some moment of [time, until]; no part */

/* Whole lines of kallsyms ("address type name", "\t[module]") of what is text. */
struct flowtap_archive_symbols {
	uint64_t time;
	uint32_t size;			/* of the text, uncompressed */
	uint32_t compression;
};

/*
 * A part of a file that was mapped, whole files part after part: whoever decodes elsewhere need not
 * have them.
 */
struct flowtap_archive_file {
	uint64_t size;			/* of the whole file */
	uint64_t offset;		/* of this part */
	uint64_t part_size;		/* bytes, uncompressed */
	uint32_t compression;
	uint32_t stored_size;
	uint32_t path_size;		/* as in the mappings that name it, without a 0 */
	uint32_t build_id_size;
	uint8_t build_id[24];
};

enum flowtap_archive_task_event {
	FLOWTAP_TASK_FORK = 1,		/* of a thread if pid == parent_pid */
	FLOWTAP_TASK_EXEC,		/* from now on nothing is mapped; comm is the new name */
	FLOWTAP_TASK_COMM,		/* also for each task that was there at the start, time 0 */
	FLOWTAP_TASK_EXIT,		/* of one thread; others of the process may go on */
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

/*
 * fd is borrowed and written from its offset on, one block after the other (but see
 * flowtap/drain.h). Buffers up to 1 MiB; flush empties the buffer. 0 and *writer; -ENOMEM.
 * Nothing is written before the buffer is full or flushed, or a block of 64 KiB or more comes.
 */
int flowtap_archive_create(int fd, struct flowtap_archive_writer **writer);
/*
 * payload in up to two parts (a ring's buffers). 0; -EMSGSIZE; -EINVAL (type beyond 16 bits);
 * -errno of write: the file is then good up to its last whole block and no more can be written,
 * every further call returns the same.
 */
int flowtap_archive_write(struct flowtap_archive_writer *writer, uint32_t type, uint32_t cpu,
			  uint64_t time, const void *first, size_t first_size, const void *second,
			  size_t second_size);
/* 0 or -errno of write. */
int flowtap_archive_flush(struct flowtap_archive_writer *writer);
/* Bytes of the file, with those still in the buffer. */
uint64_t flowtap_archive_size(const struct flowtap_archive_writer *writer);
/* Does not flush. */
void flowtap_archive_writer_free(struct flowtap_archive_writer *writer);

/*
 * fd is borrowed and read from its offset on; regular files and pipes. 0; -EBADMSG: no archive;
 * -EPROTONOSUPPORT: one of another version; -errno of read; -ENOMEM. Memory is 256 KiB or the
 * greatest block.
 */
int flowtap_archive_open(int fd, struct flowtap_archive_reader **reader);
/*
 * The next block: 1; the end: 0; below 0: damage, flowtap_archive_damage says where and why.
 * After -EBADMSG (something was passed over) and -ENODATA (the file ends within a block) reading
 * may go on; after another (-errno of read, -ENOMEM) every further call returns the same.
 * The payload is aligned to 8.
 */
int flowtap_archive_next(struct flowtap_archive_reader *reader,
			 struct flowtap_archive_block *block);

struct flowtap_archive_damage {
	uint64_t offset;		/* in the file */
	uint64_t bytes;			/* not usable from there */
	const char *reason;		/* valid until the next damage */
};

/* The last damage; NULL if there was none. */
const struct flowtap_archive_damage *
flowtap_archive_damage(const struct flowtap_archive_reader *reader);
/*
 * The last damage as one line with offset, size and reason ("" if there was none); and how many
 * bytes were not usable so far.
 */
const char *flowtap_archive_error(const struct flowtap_archive_reader *reader, uint64_t *bad_bytes);
void flowtap_archive_reader_free(struct flowtap_archive_reader *reader);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_ARCHIVE_H */
