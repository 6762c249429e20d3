/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A made-up run with its log and its archive, in order or with one thing wrong.
 *
 * The program, in task A (and once more at another address, in task B):
 *
 *	00 start: c.nop
 *	02 again: addi a0, a0, 1
 *	06        jal ra, work
 *	0a        c.nop
 *	0c        bnez a0, again
 *	10        ecall
 *	14 work:  c.nop
 *	16        ret
 */
#ifndef FLOWTAP_SELFTESTS_ORACLE_SYNTHETIC_LOG_H
#define FLOWTAP_SELFTESTS_ORACLE_SYNTHETIC_LOG_H

#include <flowtap/archive.h>
#include <linux/flowtap.h>
#include <stdint.h>
#include <stdio.h>

#include "log.h"

enum mutation {
	NOTHING,
	RESUMED_ELSEWHERE,	/* nothing is wrong: a trap sends the program elsewhere */
	EMPTY_FIRST,		/* nor here: the first sample has no entries, after a look at task B */
	LOOKED,			/* nor here: the driver reads sctrstatus in an interrupt of others */
	FIRST_WRONG,
	/* in the log, that is, the driver or the hardware did otherwise than it should */
	LOG_OPCODE = FIRST_WRONG,
	LOG_MORE,		/* one more turn of the loop than was recorded */
	LOG_EXTRA_DRAIN,
	LOG_SWITCH,		/* the window goes on into another task */
	LOG_STRAY,		/* the other task is recorded too, though never sampled */
	LOG_NOT_CLEARED,	/* after a drain */
	LOG_NOT_ORDERED,	/* the driver reads the entries in another order */
	LOG_UNRECORDED,		/* recording was off for a while */
	LOG_CONTROL,
	LOG_TRUNCATED,
	LOG_TORN,		/* an address follows that cannot */
	/* in the archive */
	CODE,			/* other code than was executed */
	SAMPLE_MISSING,
	SAMPLE_TWICE,
	SAMPLES_SWAPPED,
	SAMPLE_SHORT,		/* its oldest entry is not there */
	SAMPLE_CUT,		/* its newest entry is not there */
	ENTRY_FOREIGN,		/* a transfer of the other task */
	ENTRY_SOURCE,
	ENTRY_TARGET,
	ENTRY_TYPE,
	ENTRY_INVALID,		/* V is clear */
	ENTRIES_SWAPPED,
	SAMPLE_IP,
	SAMPLE_NOT_USER,
	SAMPLE_TID,
	SAMPLE_PID,
	SAMPLE_CPU,
	SAMPLE_DEPTH,
	SAMPLE_CONTIGUOUS,	/* claims so, although the buffer overflowed */
	SWITCH_CONTIGUOUS,	/* although the task was away, and what it had recorded is gone */
	LOSS_CLAIMED,
	STATISTICS,
	NOT_FINALISED,
	MUTATIONS
};

/* Where the program is in either task. */
#define A 0x10000UL
#define B 0x20000UL

#define DEPTH 16
#define SAMPLES 5

struct record {
	struct flowtap_record_sample sample;
	struct flowtap_entry entries[DEPTH];
};

/* A run that is being made up. */
struct synthetic_log {
	enum mutation mutation;
	char directory[32];		/* a new one */
	FILE *log;
	int fd;				/* of the archive */
	uint64_t control;		/* sctrctl (modes.h) */
	uint32_t base;			/* piece numbers of the task that runs */
	uint64_t program;		/* its address */
	struct flowtap_entry made[64];	/* since the buffer was cleared */
	unsigned int n_made;
	struct record records[SAMPLES + 1];
	unsigned int n;
};

/* What is wrong, for people; NULL: nothing. */
extern const char *const synthetic_log_names[MUTATIONS];

/* Writes DIRECTORY/log.code, log.0 and archive. Aborts where that is not possible. */
void synthetic_log_make(struct synthetic_log *synthetic, enum mutation mutation);
void synthetic_log_remove(const struct synthetic_log *synthetic);

/* What they are made with; they abort where it is not possible. */
void synthetic_log_directory(struct synthetic_log *synthetic);
FILE *synthetic_log_create(const struct synthetic_log *synthetic, const char *name,
			   const char *magic);
/* fields: as many as the kind has, without the stamp. */
void synthetic_log_event(struct synthetic_log *synthetic, enum oracle_kind kind,
			 const uint64_t *fields);
struct flowtap_archive_writer *synthetic_log_archive(struct synthetic_log *synthetic);
void synthetic_log_block(struct flowtap_archive_writer *writer, unsigned int type,
			 const void *first,
			 size_t first_size, const void *second, size_t second_size);
/* The program of pids 7 and 8, at A. */
void synthetic_log_image(struct flowtap_archive_writer *writer, const uint8_t *code, size_t size);
void synthetic_log_archive_end(struct synthetic_log *synthetic,
			       struct flowtap_archive_writer *writer);

#endif /* FLOWTAP_SELFTESTS_ORACLE_SYNTHETIC_LOG_H */
