/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The flow: what decoders say and sinks take. One direction, one thread.
 *
 * Numbers are as in the architecture, times nanoseconds of CLOCK_MONOTONIC_RAW. A decoder calls
 * the sink once per element, in order. Whatever a sink returns below 0 stops the decoder, which
 * hands it to its caller.
 *
 * A context (context.h) says who executes what follows, and how: before the first block and at each
 * change, which is after a trap's EXCEPTION, after a trap return's block, and where a gap ended
 * elsewhere.
 */
#ifndef FLOWTAP_FLOW_H
#define FLOWTAP_FLOW_H

#include <flowtap/context.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct flowtap_block;

enum flowtap_gap_reason {
	/* from the kernel, in the order of FLOWTAP_CAUSE_ */
	FLOWTAP_GAP_START,
	FLOWTAP_GAP_WRAPPED,
	FLOWTAP_GAP_SWITCH,
	FLOWTAP_GAP_FROZEN,
	FLOWTAP_GAP_DISPLACED,
	FLOWTAP_GAP_RING_FULL,
	FLOWTAP_GAP_DISABLED,
	FLOWTAP_GAP_NO_STREAM,
	FLOWTAP_GAP_THROTTLED,
	FLOWTAP_GAP_OFFLINE,
	FLOWTAP_GAP_SKID,
	FLOWTAP_GAP_EXEC,
	FLOWTAP_GAP_HARDWARE,
	FLOWTAP_GAP_MEMORY,
	FLOWTAP_GAP_STROBE,
	FLOWTAP_GAP_EXCLUDED,
	/* from the decoder */
	FLOWTAP_GAP_TRAP,	/* resumed somewhere after a trap: user-only recording does not say where */
	FLOWTAP_GAP_NO_IMAGE,	/* nothing known is mapped at `address` */
	FLOWTAP_GAP_NO_CODE,	/* mapped, but the file is missing, other than recorded, or too short */
	FLOWTAP_GAP_IMPOSSIBLE,	/* the code at `address` cannot have done what was recorded */
	FLOWTAP_GAP_BAD_RECORD,	/* a record that is not well formed */
	FLOWTAP_GAP_FILTERED,	/* transfers inhibited by configuration: no blocks possible */
	FLOWTAP_GAP_RECORDER,	/* the recorder's own code ran in the kernel, which is not recorded */
	FLOWTAP_GAP_GUEST,	/* a virtual machine ran, which is not recorded */
	FLOWTAP_GAP_USER,	/* user mode (or a guest) ran, and only the kernel is recorded */
	FLOWTAP_GAP_OVERFLOW,	/* the trace unit's own buffer overflowed */
	FLOWTAP_GAP_UNSYNCED,	/* bytes before a point where decoding can begin */
	FLOWTAP_GAP_BAD_PACKET,	/* a packet, or CoreSight frame, that cannot be */
	FLOWTAP_GAP_NO_ADDRESS,	/* the target is not in the trace, and the return stack is empty; or */
				/* nobody knows whether a branch was taken (Armv8.1-M's BF) */
	FLOWTAP_GAP_UNRESOLVED,	/* speculation or a transaction of which the end is missing */
	FLOWTAP_GAP_TRUNCATED,	/* the buffer was full before its end was collected */
	FLOWTAP_GAP_REASONS
};

struct flowtap_gap {
	enum flowtap_gap_reason reason;
	uint64_t since;		/* 0 unknown */
	uint64_t until;		/* 0 unknown */
	uint64_t size;		/* transfers or bytes; UINT64_MAX unknown */
	uint64_t address;	/* where the decoder was, 0 unknown */
	const char *detail;	/* one line for people, or NULL; the sink copies what it keeps */
};

/*
 * A trap. `address` is the instruction that did not complete: it executes after the return, or
 * (ecall, ebreak) was the cause itself, and is then the end of the block before. number is the
 * cause code (mcause, Arm exception number), -1 where the hardware does not record it.
 */
struct flowtap_exception {
	int number;
	bool interrupt;
	uint64_t address;	/* 0: in a mode that is not recorded, or there is none */
	uint64_t target;	/* the handler, where the flow goes on; 0 not recorded */
	bool m_profile;		/* the number is of Arm's M profile; not told by text */
};

/* RISC-V: ctrdata.TYPE (Smctr table 9). */
enum flowtap_transfer_type {
	FLOWTAP_TRANSFER_NONE = 0,	/* the hardware does not report types */
	FLOWTAP_TRANSFER_EXCEPTION = 1,
	FLOWTAP_TRANSFER_INTERRUPT = 2,
	FLOWTAP_TRANSFER_TRAP_RETURN = 3,
	FLOWTAP_TRANSFER_NOT_TAKEN = 4,
	FLOWTAP_TRANSFER_TAKEN = 5,
	FLOWTAP_TRANSFER_INDIRECT_CALL = 8,
	FLOWTAP_TRANSFER_DIRECT_CALL = 9,
	FLOWTAP_TRANSFER_INDIRECT_JUMP = 10,
	FLOWTAP_TRANSFER_DIRECT_JUMP = 11,
	FLOWTAP_TRANSFER_SWAP = 12,
	FLOWTAP_TRANSFER_RETURN = 13,
	FLOWTAP_TRANSFER_INDIRECT_LINK = 14,
	FLOWTAP_TRANSFER_DIRECT_LINK = 15,
	/*
	 * No type of CTR's, but one of instructions: it writes sctrctl or sctrstatus, and what
	 * follows may be recorded otherwise than what was before.
	 */
	FLOWTAP_TRANSFER_RECORDING = 16,
};

/* "direct_call" ...; "reserved" for 6, 7 and what is above 16. Static. */
const char *flowtap_transfer_name(unsigned int type);

struct flowtap_transfer {
	uint64_t source;
	uint64_t target;
	uint8_t type;		/* enum flowtap_transfer_type */
	bool mispredicted;
};

/* A point in the trace's own time: ticks of the generic counter. */
struct flowtap_timestamp {
	uint64_t ticks;
	uint64_t cycles;	/* since the last cycle count, no part of the sum of all */
	bool has_cycles;
};

/*
 * Q (K10.5.5.15): `instructions` were executed from start on, by an unknown path: nothing
 * says which branches were taken, so there are no blocks. The flow goes on at next.
 */
struct flowtap_q {
	uint64_t start;		/* 0 unknown */
	uint64_t next;		/* 0 unknown: an address follows */
	uint64_t instructions;	/* 0 unknown */
};

enum flowtap_transaction {
	FLOWTAP_TRANSACTION_START,
	FLOWTAP_TRANSACTION_COMMIT,
	FLOWTAP_TRANSACTION_FAIL,
};

/* What the program itself wrote into the trace (TRCIT). */
struct flowtap_instrumentation {
	uint64_t value;
	uint8_t mode;		/* the exception level it was written at */
};

enum flowtap_element_kind {
	FLOWTAP_ELEMENT_SESSION,
	FLOWTAP_ELEMENT_CONTEXT,
	FLOWTAP_ELEMENT_EXCEPTION,
	FLOWTAP_ELEMENT_EXCEPTION_RETURN,
	FLOWTAP_ELEMENT_TIME,
	FLOWTAP_ELEMENT_CYCLES,
	FLOWTAP_ELEMENT_GAP,
	FLOWTAP_ELEMENT_TRANSFER,
	FLOWTAP_ELEMENT_CALLSTACK,
	FLOWTAP_ELEMENT_MISPREDICTED,	/* the last block's transfer was, by branch prediction */
	/* Arm's trace only. */
	FLOWTAP_ELEMENT_TRACE_ON,	/* not continuous: the trace's begin, a filter, an overflow */
	FLOWTAP_ELEMENT_TIMESTAMP,
	FLOWTAP_ELEMENT_MARKER,		/* the next timestamp is of here */
	FLOWTAP_ELEMENT_Q,
	FLOWTAP_ELEMENT_TRANSACTION,
	FLOWTAP_ELEMENT_EVENT,		/* ETEEvents: bit i of `event`, number i */
	FLOWTAP_ELEMENT_INSTRUMENTATION,
	FLOWTAP_ELEMENT_SOURCE,		/* the blocks that follow came as one, up to `source` */
};

/* Everything but blocks. Valid during the call only. */
struct flowtap_element {
	enum flowtap_element_kind kind;
	union {
		struct flowtap_context context;
		struct flowtap_exception exception;
		struct flowtap_gap gap;
		struct flowtap_transfer transfer;
		uint64_t time;
		uint64_t source;	/* a branch that was taken, or after the last instruction */
		struct flowtap_timestamp timestamp;
		struct flowtap_q q;
		enum flowtap_transaction transaction;
		unsigned int event;
		struct flowtap_instrumentation instrumentation;
		struct {
			uint64_t count;
			bool at_least;		/* the counter was saturated */
			bool unknown;		/* ETE: no count, as after an overflow */
		} cycles;
		struct {
			const uint64_t *frames;	/* ip if known, then calls, the innermost first */
			size_t n;
		} callstack;
	};
};

struct flowtap_sink {
	/*
	 * The block's instructions were all executed. taken: the last one transferred control to
	 * target. Not taken and no transfer at all: target is the address after the block.
	 */
	int (*block)(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		     uint64_t target);
	int (*element)(struct flowtap_sink *sink, const struct flowtap_element *element);
};

/* Takes everything and does nothing. One for all threads, not to be changed. */
struct flowtap_sink *flowtap_sink_nowhere(void);

/* The name of a reason as the flow grammar and the summaries spell it: "wrapped", "no_image" ... */
const char *flowtap_gap_name(enum flowtap_gap_reason reason);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_FLOW_H */
