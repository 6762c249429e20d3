/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holds what a decoder says against what the log says was executed. It is told in the order of the
 * flow and keeps its place in the log; the first difference is kept, and what comes after it is
 * only counted.
 */
#ifndef FLOWTAP_SELFTESTS_MODEL_JUDGE_H
#define FLOWTAP_SELFTESTS_MODEL_JUDGE_H

#include <stdio.h>

#include "history.h"

enum judge_side { JUDGE_TIMESTAMP, JUDGE_CYCLES, JUDGE_EVENT, JUDGE_SIDES };

struct judge_context {
	uint8_t el;
	bool nonsecure;
	bool aarch64;
	bool has_contextid;
	bool has_vmid;
	uint32_t contextid;
	uint32_t vmid;
};

enum judge_taken { JUDGE_NOT_TAKEN, JUDGE_TAKEN, JUDGE_TAKEN_UNKNOWN };

struct judge_counts {
	uint64_t instructions;
	uint64_t exceptions;
	uint64_t returns;
	uint64_t contexts;
	uint64_t trace_ons;
	uint64_t sides[JUDGE_SIDES];
	uint64_t starts;	/* of decoding, at an A-sync */
	uint64_t gaps;		/* each explained */
	uint64_t skipped;	/* instructions that were to be traced, in such gaps */
	uint64_t tails;		/* instructions before a stop that no P0 element covered */
};

/* What a decoder said, while it is not known where in the log that is. */
struct judge_said {
	uint8_t kind;
	uint8_t taken;
	uint32_t n;
	uint64_t address;
	uint64_t target;
	struct judge_context context;
};

#define JUDGE_SAID 192

struct judge {
	const struct history *history;
	const char *decoder;
	struct flowtap_ete_config config;	/* of what is decoded now */
	struct history_place place;
	struct judge_context context;
	size_t hint;			/* the A-sync that decoding begins at, HISTORY_NONE: any */
	uint64_t sides[JUDGE_SIDES];	/* index of the event to be looked at next */
	bool lost;			/* it is not known where the decoder is */
	bool overflowed;		/* it is lost, and the next overflow of the log is the next one */
	bool explained;			/* so what is not decoded until then has a reason */
	bool on;			/* the decoder said Trace On */
	bool cause;			/* the log has a reason for that */
	bool broken;			/* the trace was off since what was decoded last */
	bool run_traced;		/* something in this run was to be traced */
	bool slack[JUDGE_SIDES];	/* some may not have been said, as there was no address */
	bool closing;			/* bytes end here: a packet may end within, and more */
	bool eret;			/* an exception return is to be said */
	bool attempt;
	bool failed;
	uint8_t *covered;		/* of each item of the log: not 0, it was decoded; may be NULL */
	uint8_t mark;			/* what is put there */
	size_t begun;			/* the A-sync that decoding began at */
	size_t reached;			/* the last A-sync that the decoder was given */
	unsigned int since;		/* what was said since then, that has a place */
	struct judge_counts counts;
	struct judge_said said[JUDGE_SAID];
	unsigned int nsaid;
	char message[400];		/* the first difference, one line */
	struct history_place where;	/* in the log */
};

/* history and decoder (a name): borrowed. */
void judge_init(struct judge *judge, const struct history *history, const char *decoder);

/* --- What the decoder says. --- */

/* n instructions at consecutive addresses; the last is taken to `target` (0 unknown) or not. */
void judge_instructions(struct judge *judge, uint64_t address, uint32_t n, enum judge_taken taken,
			uint64_t target);
/* Exception type as in K10.5; the preferred return address. */
void judge_exception(struct judge *judge, unsigned int number, uint64_t address);
void judge_return(struct judge *judge);
void judge_context(struct judge *judge, const struct judge_context *context);
void judge_trace_on(struct judge *judge);
/* Value as the log has it (LOG_TIMESTAMP, LOG_CYCLES, LOG_EVENT). */
void judge_side(struct judge *judge, enum judge_side side, uint64_t value);
/* The trace unit's buffer overflowed. */
void judge_overflow(struct judge *judge);
/* Decoding cannot go on, and nothing that the caller knows of is the reason. */
void judge_gap(struct judge *judge, const char *what);

/* As judge_gap: the decoder does not know where or in which context instructions are. That may be so
 * for some P0 elements after an A-sync (K10.5.1.1). */
void judge_no_address(struct judge *judge, const char *what);

/* --- What the caller knows. --- */

/* Bytes are missing here in the input; decoding goes on at an A-sync. explained: they are lost by
 * what the log says (or the caller says that it is fine). */
void judge_break(struct judge *judge, bool explained);
/* What the decoder says next begins at this A-sync, if it was lost. HISTORY_NONE: at any later. */
void judge_hint(struct judge *judge, size_t sync);
/* The trace ends. whole: with all that the log has, so nothing more was to be traced. */
void judge_end(struct judge *judge, bool whole);

/* The code at the address, where the decoder is. */
const struct flowtap_code *judge_find(const struct judge *judge, bool user, uint64_t address);
/* The exception type (K10.5) that this exception of the log is told as. */
unsigned int judge_exception_number(unsigned int kind, uint32_t syndrome);
/* The difference, and the log around it. */
void judge_print(const struct judge *judge, FILE *file);

#endif
