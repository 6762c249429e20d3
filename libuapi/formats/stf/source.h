/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The bytes of an STF, whatever they are packed in: plain, .zstf, gzip. */
#ifndef FLOWTAP_LIBUAPI_FORMATS_STF_SOURCE_H
#define FLOWTAP_LIBUAPI_FORMATS_STF_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many bytes after what was read may be looked at, though they mean nothing. */
#define STF_SOURCE_SLACK 64U
/* A record of this size is in one piece. */
#define STF_SOURCE_WHOLE (128U << 10)

struct stf_unpack;

struct stf_source {
	int fd;			/* borrowed */
	uint8_t *bytes;		/* [at, end) are there */
	size_t at, end;
	uint64_t offset;	/* of bytes[0], in the records: not of a file that is packed */
	uint64_t done;		/* bytes of the file that were read */
	uint64_t size;		/* of the file, 0 not known */
	bool over;		/* there is no more after `end` */
	bool packed;		/* offsets are those of the unpacked records */
	uint64_t chunk;		/* of a .zstf: the one that was read last, from 0 */
	/* A chunk of a .zstf begins at `at`, after one that could not be read. */
	bool resumed;
	uint64_t start_pc;
	/* After -EBADMSG. Offset in the file. */
	const char *reason;
	uint64_t reason_offset;
	/*
	 * Not NULL: what is wrong with the file, though nothing was lost by it; to be reported and
	 * set to NULL. Offset in the file.
	 */
	const char *warning;
	uint64_t warning_offset;
	bool unfinished;	/* over: its writer wrote no further, or what it wrote after it is lost */
	struct stf_unpack *unpack;
};

/*
 * fd is at the beginning of the file; a .zstf has to be a regular one. 0; -EBADMSG: reason says
 * what it is instead, or why it cannot be read (none is there for what is simply something else);
 * -EPROTONOSUPPORT: packed by xz; -errno of read; -ENOMEM. To be closed in any case.
 */
int stf_source_open(struct stf_source *input, int fd);
/*
 * Reads on: what is left goes to the beginning of `bytes`. 0: there is more, or `over` is set;
 * -EBADMSG: the file is damaged, and what comes next (if anything: `over`) is not what is
 * after; what was left is still there, though not in [at, end); -errno of read; -ENOMEM.
 */
int stf_source_more(struct stf_source *input);
/*
 * What is there has no sense: goes on at the next chunk of a .zstf, as after -EBADMSG; false: there
 * is none.
 */
bool stf_source_give_up(struct stf_source *input);
/*
 * Of a .zstf with an index: how many opcodes are in each chunk, and how many chunks there are. False:
 * it is none.
 */
bool stf_source_chunks(const struct stf_source *input, uint64_t *markers, uint64_t *chunks);
/*
 * What comes next is this chunk of a .zstf, as after one that could not be read (resumed). 0; -EBADMSG:
 * the index contradicts itself; -EINVAL: there is none such; -errno of read.
 */
int stf_source_seek(struct stf_source *input, uint64_t number);
void stf_source_close(struct stf_source *input);

#endif /* FLOWTAP_LIBUAPI_FORMATS_STF_SOURCE_H */
