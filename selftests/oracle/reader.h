/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the oracle log (log.h). Files are mapped; nothing in them is believed. */
#ifndef FLOWTAP_SELFTESTS_ORACLE_READER_H
#define FLOWTAP_SELFTESTS_ORACLE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "log.h"

struct oracle_piece {
	uint64_t address;
	uint32_t n;
	const uint32_t *opcodes;
};

struct oracle_code {
	void *bytes;
	size_t size;
	struct oracle_piece *pieces;
	uint32_t n;
};

struct oracle_hart {
	uint8_t *bytes;
	size_t size;
	size_t offset;		/* of the next event */
	uint64_t stamp;		/* of the last one */
	const struct oracle_code *code;
};

/* Runs have been checked against the code: n instructions exist. */
struct oracle_event {
	enum oracle_kind kind;
	uint64_t stamp;		/* of a run: that of the event before */
	uint64_t field[ORACLE_FIELDS_MAX];	/* without the stamp */
};

static inline uint32_t oracle_length(uint32_t opcode)
{
	return (opcode & 3) == 3 ? 4 : 2;
}

/* 0; -errno of open; -EBADMSG; -ENOMEM. */
int oracle_code_open(struct oracle_code *code, const char *prefix);
void oracle_code_close(struct oracle_code *code);

/* Borrows code. 0; -errno of open (-ENOENT: no such hart); -EBADMSG. */
int oracle_hart_open(struct oracle_hart *hart, const struct oracle_code *code, const char *prefix,
		     unsigned int number);
/* 1: an event; 0: the end; -EBADMSG at hart->offset. */
int oracle_hart_next(struct oracle_hart *hart, struct oracle_event *event);
void oracle_hart_close(struct oracle_hart *hart);

#endif /* FLOWTAP_SELFTESTS_ORACLE_READER_H */
