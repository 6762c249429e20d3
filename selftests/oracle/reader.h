/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the truth log (log.h). Files are mapped; nothing in them is believed. */
#ifndef TRUTH_READER_H
#define TRUTH_READER_H

#include <stddef.h>
#include <stdint.h>

#include "log.h"

struct truth_piece {
	uint64_t address;
	uint32_t n;
	const uint32_t *opcodes;
};

struct truth_code {
	void *bytes;
	size_t size;
	struct truth_piece *pieces;
	uint32_t n;
};

struct truth_hart {
	uint8_t *bytes;
	size_t size;
	size_t offset;		/* of the next event */
	uint64_t stamp;		/* of the last one */
	const struct truth_code *code;
};

/* Runs have been checked against the code: n instructions exist. */
struct truth_event {
	enum truth_kind kind;
	uint64_t stamp;		/* of a run: that of the event before */
	uint64_t field[TRUTH_FIELDS_MAX];	/* without the stamp */
};

static inline uint32_t truth_length(uint32_t opcode)
{
	return (opcode & 3) == 3 ? 4 : 2;
}

/* 0; -errno of open; -EBADMSG; -ENOMEM. */
int truth_code_open(struct truth_code *code, const char *prefix);
void truth_code_close(struct truth_code *code);

/* Borrows code. 0; -errno of open (-ENOENT: no such hart); -EBADMSG. */
int truth_hart_open(struct truth_hart *hart, const struct truth_code *code, const char *prefix,
		    unsigned int number);
/* 1: an event; 0: the end; -EBADMSG at hart->offset. */
int truth_hart_next(struct truth_hart *hart, struct truth_event *event);
void truth_hart_close(struct truth_hart *hart);

#endif /* TRUTH_READER_H */
