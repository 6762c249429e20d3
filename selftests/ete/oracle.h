/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a stream of trace has to become: the instructions that were executed and what happened
 * between them, in order, and beside them what has a place of its own only (events, times, cycles).
 * The encoder keeps it, as it is the one to know what its stream covers.
 */
#ifndef FLOWTAP_SELFTESTS_ETE_ORACLE_H
#define FLOWTAP_SELFTESTS_ETE_ORACLE_H

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

enum oracle_kind {
	ORACLE_INSN,
	ORACLE_EXCEPTION,	/* value: number */
	ORACLE_ERET,
	ORACLE_TRACE_ON,
	ORACLE_Q,		/* address: start; value: instructions, 0 not told; next */
	ORACLE_TRANSACTION,	/* value: enum flowtap_transaction */
	ORACLE_GAP,		/* value: enum flowtap_gap_reason */
	/* Beside. */
	ORACLE_EVENT,		/* value: number */
	ORACLE_TIMESTAMP,	/* value: ticks; more: cycles, has_more */
	ORACLE_CYCLES,		/* value; has_more: not known */
	ORACLE_ITE,		/* value; more: exception level */
	ORACLE_MARKER,
};

struct oracle_step {
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

struct oracle_side {
	uint64_t value;
	uint64_t more;
	size_t low;		/* it comes after this many steps at least, and */
	size_t high;		/* at most: where it was among what was cancelled both differ */
	uint8_t kind;
	bool has_more;
};

struct oracle {
	struct oracle_step *steps;
	size_t n;
	size_t capacity;
	struct oracle_side *sides;
	size_t nsides;
	size_t sides_capacity;
	struct trace_context *contexts;
	size_t ncontexts;
	bool erets;		/* the exception returns of AArch32 count */
};

void oracle_init(struct oracle *oracle);
void oracle_free(struct oracle *oracle);
void oracle_reset(struct oracle *oracle);
uint32_t oracle_context(struct oracle *oracle, const struct trace_context *context);
struct oracle_step *oracle_step(struct oracle *oracle, enum oracle_kind kind);
void oracle_side(struct oracle *oracle, enum oracle_kind kind, uint64_t value, uint64_t more,
		 bool has_more);
/* The steps from n on did not happen; what is beside them did, not before `resolved` steps. */
void oracle_cut(struct oracle *oracle, size_t n, size_t resolved);

/*
 * Whether `got` is what `oracle` says. Prints the first difference as comments of TAP.
 * ignore_transactions: they are left out on both sides.
 */
bool oracle_equal(const struct oracle *oracle, struct oracle *got, bool ignore_transactions);
/*
 * How far `got` is as `oracle` is, from the begin; and how much of its end is as that of `oracle`,
 * from step `from` on. Numbers of steps of got; *reached: of oracle. Without Q. The place in got
 * where the end begins is at least `least`; SIZE_MAX: it is not there.
 */
size_t oracle_begin(const struct oracle *oracle, const struct oracle *got, size_t *reached);
size_t oracle_end(const struct oracle *oracle, size_t from, const struct oracle *got, size_t least);
void oracle_print(const struct oracle *oracle, size_t around);
const char *oracle_line(const struct oracle *oracle, const struct oracle_step *step, char *line,
			size_t size);

#endif
