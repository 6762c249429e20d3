/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a stream of trace has to become: the instructions that were executed and what happened
 * between them, in order, and beside them what has a place of its own only (events, times, cycles).
 * The encoder keeps it, as it is the one to know what its stream covers.
 */
#ifndef FLOWTAP_TEST_ETE_TRUTH_H
#define FLOWTAP_TEST_ETE_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_context {
	uint8_t el;
	uint8_t security;	/* enum flowtap_security */
	bool sf;		/* AArch64 */
	uint32_t vmid;
	uint32_t contextid;
};

enum truth_kind {
	TRUTH_INSN,
	TRUTH_EXCEPTION,	/* value: number */
	TRUTH_ERET,
	TRUTH_TRACE_ON,
	TRUTH_Q,		/* address: start; value: instructions, 0 not told; next */
	TRUTH_TRANSACTION,	/* value: enum flowtap_transaction */
	TRUTH_GAP,		/* value: enum flowtap_gap_reason */
	/* Beside. */
	TRUTH_EVENT,		/* value: number */
	TRUTH_TIMESTAMP,	/* value: ticks; more: cycles, has_more */
	TRUTH_CYCLES,		/* value; has_more: not known */
	TRUTH_ITE,		/* value; more: exception level */
	TRUTH_MARKER,
};

struct truth_step {
	uint64_t address;
	uint64_t value;
	uint64_t next;
	uint32_t context;	/* index into contexts; UINT32_MAX not known */
	uint8_t kind;
	uint8_t isa;
	uint8_t size;
	bool branch;
	bool taken;
	bool inside;		/* of the Q before: a decoder may find them out or not */
};

struct truth_side {
	uint64_t value;
	uint64_t more;
	size_t low;		/* it comes behind this many steps at least, and */
	size_t high;		/* at most: where it was among what was cancelled both differ */
	uint8_t kind;
	bool has_more;
};

struct truth {
	struct truth_step *steps;
	size_t n;
	size_t room;
	struct truth_side *sides;
	size_t nsides;
	size_t sides_room;
	struct trace_context *contexts;
	size_t ncontexts;
};

void truth_init(struct truth *truth);
void truth_free(struct truth *truth);
void truth_reset(struct truth *truth);
uint32_t truth_context(struct truth *truth, const struct trace_context *context);
struct truth_step *truth_step(struct truth *truth, enum truth_kind kind);
void truth_side(struct truth *truth, enum truth_kind kind, uint64_t value, uint64_t more,
		bool has_more);
/* The steps from n on did not happen; what is beside them did, not before `resolved` steps. */
void truth_cut(struct truth *truth, size_t n, size_t resolved);

/*
 * Whether `got` is what `truth` says. Prints the first difference as comments of TAP.
 * ignore_transactions: they are left out on both sides.
 */
bool truth_equal(const struct truth *truth, struct truth *got, bool ignore_transactions);
/*
 * How far `got` is as `truth` is, from the begin; and how much of its end is as that of `truth` is,
 * from step `from` on. Numbers of steps of got; *reached: of truth. Without Q. The place in got
 * where the end begins is at least `least`; SIZE_MAX: it is not there.
 */
size_t truth_begin(const struct truth *truth, const struct truth *got, size_t *reached);
size_t truth_end(const struct truth *truth, size_t from, const struct truth *got, size_t least);
void truth_print(const struct truth *truth, size_t around);
const char *truth_line(const struct truth *truth, const struct truth_step *step, char *line,
		       size_t size);

#endif
