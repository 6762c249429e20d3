/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace unit on a bench: the PE is what the test says it does, the trace buffer keeps the bytes,
 * the log is lines of text.
 */
#ifndef FLOWTAP_SELFTESTS_MODEL_UNIT_RIG_H
#define FLOWTAP_SELFTESTS_MODEL_UNIT_RIG_H

#include "pe.h"
#include "sysreg.h"

struct rig {
	struct pe pe;
	struct machine machine;
	struct adversary_options adversary;
	struct trace_unit_options options;
	uint64_t counter;		/* the generic counter */
	uint64_t configr;
	uint8_t *bytes;			/* what came to the trace buffer */
	size_t nbytes;
	size_t read;			/* ... and rig_packets has said */
	size_t discarded;		/* what the unit has made and did not send */
	unsigned int triggers;
	size_t triggered;		/* nbytes at the last of them */
	uint8_t prohibited;		/* exception levels, by the trace buffer's owner */
	char *log;			/* lines: "block ADDRESS N", "NAME FIELDS" */
	size_t nlog;
	uint64_t at;			/* where the PE is */
};

/* options NULL: the defaults. what: ADVERSARY(). The PE is at EL1, the OS lock is clear. */
void rig_init(struct rig *rig, const struct trace_unit_options *options, bool el2, uint32_t what,
	      uint64_t seed);
void rig_free(struct rig *rig);

/* By the offset in the memory map. False: UNDEFINED. */
bool rig_write(struct rig *rig, uint32_t offset, uint64_t value);
bool rig_read(struct rig *rig, uint32_t offset, uint64_t *value);
uint64_t rig_get(struct rig *rig, uint32_t offset);
void rig_trfcr(struct rig *rig, uint64_t el1, uint64_t el2);
/* A context synchronization event. */
void rig_isb(struct rig *rig);
/* What Table K10-3 has as the least, with this TRCCONFIGR; nothing is enabled yet. */
void rig_program(struct rig *rig, uint64_t configr);
/* TRCPRGCTLR.EN, synchronized. TRFCR allows EL0 and EL1 (and EL2). */
void rig_enable(struct rig *rig);
void rig_disable(struct rig *rig);

/* The PE goes on from rig->at. */
void rig_run(struct rig *rig, unsigned int n);			/* without a branch */
/* n instructions, the last is a branch: rig_branch()'s a conditional one. */
void rig_branch(struct rig *rig, unsigned int n, bool taken, uint64_t to);
void rig_call(struct rig *rig, unsigned int n, uint64_t to);
void rig_indirect(struct rig *rig, unsigned int n, uint64_t to);
void rig_other(struct rig *rig, unsigned int n, enum pe_branch branch);
void rig_eret(struct rig *rig, unsigned int n, uint64_t to, unsigned int el);
void rig_exception(struct rig *rig, enum pe_exception_kind kind, uint32_t syndrome,
		   uint64_t handler, unsigned int el);

/* The address comparator n, with TRCACATR. */
void rig_comparator(struct rig *rig, unsigned int n, uint64_t address, uint64_t attributes);
/*
 * From 0x400000 up to `to`: blocks of four instructions, each with a branch at its end that is not
 * taken.
 */
void rig_walk(struct rig *rig, uint64_t to);

/*
 * The packets since the last call as text, one a line, Alignment Sync and Trace Info left out; the
 * unit is flushed. The caller frees it. Bytes that are no packets: "RESERVED ...".
 */
char *rig_packets(struct rig *rig);
/*
 * All P0 elements of the stream as they are once all is resolved, one character each: E, N, X an
 * exception; what was cancelled is gone. The unit is flushed; the caller frees it.
 */
char *rig_resolved(struct rig *rig);
/* The log's lines since the last call that begin with one of the words (one, with | between). */
char *rig_log(struct rig *rig, const char *words);
/* How often the violation was reported since the last call. */
uint64_t rig_violations(struct rig *rig, enum violation which);

#define EXPECT_TEXT(expected, call)             \
	do {                                    \
		char *got_ = call;              \
		EXPECT_STREQ(expected, got_);   \
		free(got_);                     \
	} while (0)

#endif
