/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the execution log of log.h. Nothing in the files is trusted. */
#ifndef FLOWTAP_SELFTESTS_MODEL_LOG_READ_H
#define FLOWTAP_SELFTESTS_MODEL_LOG_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log.h"

#define LOG_FIELDS 5

/* One of the two files, mapped or lent by the caller. */
struct log_bytes {
	const uint8_t *bytes;
	size_t size;
};

/* PREFIX.code: where each piece is. */
struct log_pieces {
	struct log_bytes file;
	size_t *at;		/* of piece k + 1 */
	size_t n;
};

/* Instructions that were executed one after the other. */
struct log_block {
	uint64_t address;
	uint64_t next;		/* where execution went on */
	const uint32_t *opcodes;	/* n, into the file of code */
	uint32_t n;
	uint8_t branch;		/* enum pe_branch */
	bool taken;
	bool link;
	bool eret;
};

struct log_item {
	enum log_kind kind;	/* never LOG_REPEAT: each block comes out by itself */
	size_t offset;		/* of the event in the file */
	uint64_t fields[LOG_FIELDS];	/* of a kind that is no block, in the order of LOG_TABLE */
	unsigned int nfields;
	struct log_block block;
	const uint8_t *bytes;	/* LOG_STORED: fields[0] of them */
	uint32_t slot;		/* LOG_BLOCK: the same slot and no `fresh` since: the same block */
	bool fresh;		/* LOG_BLOCK: the slot has been filled with it */
};

struct log_reader {
	struct log_bytes file;
	const struct log_pieces *pieces;
	size_t at;
	uint64_t pc;
	uint64_t run;
	uint32_t last;
	bool ended;
	struct {
		struct log_block block;
		uint32_t next;
	} slots[LOG_SLOTS];
	char error[160];	/* one line, after log_read returned a negative errno */
};

/* Maps a file. 0 or a negative errno. Empty files are fine. */
int log_map(const char *path, struct log_bytes *file);
void log_unmap(struct log_bytes *file);

/* file: borrowed until log_pieces_free. 0, -ENOMEM, or -EBADMSG and a line in error. */
int log_pieces_read(struct log_pieces *pieces, struct log_bytes file, char error[160]);
void log_pieces_free(struct log_pieces *pieces);

/* file and pieces: borrowed. 0, or -EBADMSG and a line in reader->error. */
int log_reader_init(struct log_reader *reader, struct log_bytes file,
		    const struct log_pieces *pieces);
/*
 * The next event. 1; 0 after LOG_END, which itself does not come out; -EBADMSG: what is at
 * reader->at is no event, reader->error says why; -ENODATA: the file ends without LOG_END.
 */
int log_read(struct log_reader *reader, struct log_item *item);

/* "block", "exception" ...; "?" for none. Field names, space separated. */
const char *log_kind_name(enum log_kind kind);
const char *log_kind_fields(enum log_kind kind);
unsigned int log_kind_nfields(enum log_kind kind);

#endif
