/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace unit in software: from what a PE executes to a legal ETE byte stream, written from the
 * text of DDI 0487 (K10.5.2 read backwards) and from nothing of the decoder. An ETMv4's as well, as
 * IHI 0064 has it, of the A profile and the M profile.
 *
 * The PE tells each instruction, exception, change of context and so on; where it goes down a wrong
 * path it says so and takes it back. The encoder chooses among the legal packets: the shortest, or
 * any at random, and keeps the oracle of what the stream says.
 */
#ifndef FLOWTAP_SELFTESTS_ETE_ENCODER_H
#define FLOWTAP_SELFTESTS_ETE_ENCODER_H

#include <flowtap/ete.h>

#include "rng.h"
#include "oracle.h"

#define ENCODER_STACK 15
#define ENCODER_MARKS 4
#define ENCODER_MAXSPEC 256

/* Of the M profile: no address of code, and no return address (EXC_RETURN); where lockup is. */
#define ENCODER_TAIL_CHAINED	0xfffffffeu
#define ENCODER_LOCKED_UP	0xeffffffeu
/* Exceptions of the M profile that are none of DDI 0553's. */
#define ENCODER_LAZY_FP_PUSH	25
#define ENCODER_LOCKUP		26

struct encoder_options {
	uint8_t etm4;		/* an ETMv4's version, 0x40 to 0x46; 0: an ETE */
	uint8_t vmid_size;	/* bytes of an ETMv4's VMID: 1, 2, 4; of the M profile 0 */
	bool m_profile;		/* an ETMv4's */
	uint32_t maxspec;	/* TRCIDR8.MAXSPEC, at most ENCODER_MAXSPEC */
	bool commopt;		/* TRCIDR0.COMMOPT */
	bool commtrans;		/* TRCIDR0.COMMTRANS: Transaction Start is no P0 element */
	uint8_t return_stack;	/* its depth, 0: off */
	bool broadcast;		/* TRCCONFIGR.BB */
	bool cycles;		/* TRCCONFIGR.CCI */
	uint32_t threshold;	/* TRCCCCTLR */
	bool vmid;
	bool contextid;
	bool timestamps;
	bool wfx;		/* TRCIDR2.WFXMODE */
	bool source;		/* Source Address elements for some taken branches */
	bool q;
	uint32_t sync;		/* bytes between alignment synchronisations, 0: only at the begin */
	uint32_t ignore;	/* one Ignore packet in so many packets, 0: none */
	bool shortest;		/* the shortest packets, never a random one */
	bool sync_exact;	/* Alignment Sync has 12 bytes, never more */
	/* Address and context may come some P0 elements after a later Trace Info. */
	bool sync_delay;
	/*
	 * Nothing that OpenCSD 1.5.5 gets wrong. With a return stack: a later Alignment Sync after
	 * an indirect branch (it drops atoms), an Exception packet with the branch's target in it
	 * (it pops all the same). A Trace Info with a speculation depth (it commits more than it
	 * has). A commit in a Cycle Count packet (ignored). VMID and Context ID that are 0 and not
	 * told after a Trace Info (it keeps those of before).
	 */
	bool classic;
	bool prompt;		/* cycle counts as soon as they are due, not by chance */
	bool drained;		/* encoder_take is used: no list of places is kept */
};

/* Packets, as they are counted. */
enum encoder_packet {
	PACKET_ASYNC,
	PACKET_DISCARD,
	PACKET_OVERFLOW,
	PACKET_TRACE_INFO,
	PACKET_TRACE_INFO_MIDDLE,	/* not the first one */
	PACKET_TRACE_INFO_DEEP,		/* with a speculation depth */
	PACKET_TRACE_INFO_TRANSACTION,
	PACKET_TRACE_INFO_KEY,		/* an ETMv4's */
	PACKET_TRACE_ON,
	PACKET_TIMESTAMP,
	PACKET_TIMESTAMP_CYCLES,
	PACKET_MARKER,
	PACKET_ITE,
	PACKET_EVENT,
	PACKET_IGNORE,
	PACKET_EXCEPTION,
	PACKET_EXCEPTION_LONGER,	/* an ETMv4's, with a second information byte */
	PACKET_EXCEPTION_PENDING,	/* ... which says that a fault is pending: of the M profile */
	PACKET_EXCEPTION_RETURN,
	PACKET_FUNCTION_RETURN,		/* of the M profile */
	PACKET_EXCEPTION_ADDRESS,	/* E 0b10 */
	PACKET_EXCEPTION_CONTEXT,
	PACKET_EXCEPTION_EXACT,
	PACKET_EXCEPTION_SHORT,
	PACKET_EXCEPTION_LONG32,
	PACKET_EXCEPTION_LONG64,
	PACKET_PE_RESET,
	PACKET_TRANSACTION_START,
	PACKET_TRANSACTION_COMMIT,
	PACKET_TRANSACTION_FAILURE,
	PACKET_CYCLES_1,
	PACKET_CYCLES_1_UNKNOWN,
	PACKET_CYCLES_1_COMMIT,
	PACKET_CYCLES_2,
	PACKET_CYCLES_2_F,
	PACKET_CYCLES_3,
	PACKET_COMMIT,
	PACKET_CANCEL_1,
	PACKET_CANCEL_1_MISPREDICT,
	PACKET_CANCEL_2_0,
	PACKET_CANCEL_2_1,
	PACKET_CANCEL_2_2,
	PACKET_CANCEL_2_3,
	PACKET_CANCEL_3_0,
	PACKET_CANCEL_3_1,
	PACKET_MISPREDICT_0,
	PACKET_MISPREDICT_1,
	PACKET_MISPREDICT_2,
	PACKET_MISPREDICT_3,
	PACKET_CONTEXT_SAME,
	PACKET_CONTEXT,
	PACKET_CONTEXT_VMID,
	PACKET_CONTEXT_ID,
	PACKET_CONTEXT_BOTH,
	PACKET_EXACT_0,
	PACKET_EXACT_1,
	PACKET_EXACT_2,
	PACKET_SHORT_0,
	PACKET_SHORT_1,
	PACKET_LONG32_0,
	PACKET_LONG32_1,
	PACKET_LONG64_0,
	PACKET_LONG64_1,
	PACKET_LONG32_0_CONTEXT,
	PACKET_LONG32_1_CONTEXT,
	PACKET_LONG64_0_CONTEXT,
	PACKET_LONG64_1_CONTEXT,
	PACKET_SOURCE_EXACT_0,
	PACKET_SOURCE_EXACT_1,
	PACKET_SOURCE_EXACT_2,
	PACKET_SOURCE_SHORT_0,
	PACKET_SOURCE_SHORT_1,
	PACKET_SOURCE_LONG32_0,
	PACKET_SOURCE_LONG32_1,
	PACKET_SOURCE_LONG64_0,
	PACKET_SOURCE_LONG64_1,
	PACKET_Q_0,
	PACKET_Q_1,
	PACKET_Q_2,
	PACKET_Q_5,
	PACKET_Q_6,
	PACKET_Q_A,
	PACKET_Q_B,
	PACKET_Q_C,
	PACKET_Q_F,
	PACKET_ATOM_1,
	PACKET_ATOM_2,
	PACKET_ATOM_3,
	PACKET_ATOM_4,
	PACKET_ATOM_5_1,
	PACKET_ATOM_5_2,
	PACKET_ATOM_6_E,
	PACKET_ATOM_6_N,
	PACKETS
};

extern const char *const encoder_packet_names[PACKETS];

enum encoder_kind {
	ENCODER_OTHER,		/* no P0 instruction */
	ENCODER_DIRECT,
	ENCODER_INDIRECT,
	ENCODER_BARRIER,	/* ISB, TSTART, and WFx where it is P0: goes on after it */
};

struct encoder_insn {
	uint64_t address;
	uint64_t target;	/* where it was executed as taken */
	uint8_t isa;		/* enum flowtap_isa */
	uint8_t target_isa;
	uint8_t size;
	uint8_t kind;
	bool taken;
	bool link;
	bool eret;
	bool function_return;	/* of the M profile: its target comes of FNC_RETURN */
	bool wrong;		/* taken is not true: encoder_mark follows */
	uint8_t flips;		/* so many Mispredict elements after it; taken is what is true */
};

struct encoder_address {
	uint64_t address;
	bool is1;		/* T32 */
};

/* A place in the stream where decoding can begin. */
struct encoder_sync {
	size_t offset;		/* of the A-sync */
	size_t told;		/* steps of the oracle that were told when it was written */
};

/* A place between two packets, kept if there is an oracle. */
struct encoder_point {
	size_t offset;
	size_t resolved;	/* steps of the oracle that the bytes before it say for good */
};

/* What the encoder tells of as it happens, with a value. */
enum encoder_seen {
	ENCODER_SEEN_SYNC,	/* offset of the A-sync in the whole stream */
	ENCODER_SEEN_TIMESTAMP,	/* ticks */
	ENCODER_SEEN_CYCLES,	/* count, UINT64_MAX: unknown */
	ENCODER_SEEN_EVENT,	/* mask */
	ENCODER_SEEN_OVERFLOW,
};

/* What the analyzer knows once everything so far is resolved: goes back when it is cancelled. */
struct encoder_view {
	bool trace_on_due;
	bool has_context;
	bool need_address;
	bool may_pop;		/* the need comes of an indirect branch */
	bool clear_pending;
	uint8_t nstack;
	uint64_t start;		/* where execution is since the last P0 element */
	uint8_t isa;
	uint32_t delay;		/* P0 elements before address and context have to be told */
	struct trace_context context;
	struct encoder_address stack[ENCODER_STACK];
	size_t transaction;	/* steps before it began, where in_transaction */
	bool in_transaction;
};

struct encoder_mark {
	struct encoder_view view;
	uint64_t emitted;
	uint64_t syncs;
	uint64_t addresses;
	size_t steps;
};

struct encoder {
	struct encoder_options options;
	struct rng rng;
	/* Output. */
	uint8_t *bytes;
	size_t size;
	size_t capacity;
	size_t synced;		/* where the last A-sync ended; modulo, as it may have been taken */
	uint64_t taken;		/* bytes that encoder_take has given out */
	uint64_t counts[PACKETS];
	/* A bit for each exception number that occurred; of the M profile bit 32 for all above. */
	uint64_t exceptions;
	struct encoder_sync *syncs;
	size_t nsyncs;
	struct encoder_point *points;
	size_t npoints;
	/* What the parser knows; no cancelling changes it. */
	struct encoder_address history[3];
	uint64_t timestamp;
	struct trace_context told;
	bool told_ids;		/* VMID and Context ID, since the last Trace Info */
	/* Speculation: P0 elements. */
	uint64_t emitted;
	uint64_t resolved;
	uint64_t committed;	/* resolved, as of the last time no atom waited */
	uint64_t addresses;	/* told so far */
	size_t ends[ENCODER_MAXSPEC + 64];	/* steps after element number % size */
	struct encoder_mark marks[ENCODER_MARKS];
	unsigned int nmarks;
	struct encoder_view view;
	struct trace_context context;		/* the PE's */
	bool tracing;
	bool restart;		/* everything is to be told again */
	/* Atoms not yet written, oldest in bit 0. */
	uint64_t atoms;
	unsigned int natoms;
	unsigned int held;	/* not taken branches that have no atom yet (source addresses) */
	uint64_t cycles;
	bool cycles_unknown;
	/* Instructions that no P0 element covers yet. */
	struct encoder_insn *run;
	size_t nrun;
	size_t run_room;
	struct oracle *oracle;	/* may be NULL */
	void (*seen)(void *opaque, enum encoder_seen what, uint64_t value);	/* may be NULL */
	void *opaque;
	bool keep_failed;	/* instructions of failed transactions stay in the oracle */
};

/* oracle: borrowed, may be NULL. */
void encoder_init(struct encoder *encoder, const struct encoder_options *options, uint64_t seed,
		  struct oracle *oracle);
void encoder_free(struct encoder *encoder);
void encoder_config(const struct encoder_options *options, struct flowtap_ete_config *config);

/* Tracing begins, or goes on after it was off, at `address`. */
void encoder_on(struct encoder *encoder, uint64_t address, uint8_t isa,
		const struct trace_context *context);
/* Tracing pauses: nothing of what no P0 element covers is told. */
void encoder_off(struct encoder *encoder);
void encoder_insn(struct encoder *encoder, const struct encoder_insn *insn);
/* The PE's context as of the next instruction. Only where no instruction waits for a P0 element. */
void encoder_context(struct encoder *encoder, const struct trace_context *context);
/*
 * number: K10.5's exception type, or the M profile's. return_address: everything before it was
 * executed. Of the M profile it may be ENCODER_TAIL_CHAINED, also where an exception return went
 * there; a lazy FP push has no handler, but the return address once more; lockup ENCODER_LOCKED_UP.
 */
void encoder_exception(struct encoder *encoder, unsigned int number, uint64_t return_address,
		       uint64_t handler, uint8_t handler_isa, const struct trace_context *context);
/* After it nothing of before is known to have come to an end; the handler is at `address`. */
void encoder_reset(struct encoder *encoder, uint64_t address, uint8_t isa,
		   const struct trace_context *context);
/*
 * Instructions that a Q element stands for: where encoder_can_q, then each as it is executed, then
 * encoder_q with where execution is now.
 */
bool encoder_can_q(const struct encoder *encoder);
void encoder_quiet(struct encoder *encoder, const struct encoder_insn *insn);
void encoder_q(struct encoder *encoder, uint64_t address, uint8_t isa);
void encoder_event(struct encoder *encoder, unsigned int mask);
void encoder_timestamp(struct encoder *encoder, uint64_t ticks);
void encoder_marker(struct encoder *encoder);
void encoder_ite(struct encoder *encoder, uint8_t el, uint64_t value);
void encoder_cycles(struct encoder *encoder, uint32_t n);
/* TSTART itself was told as ENCODER_BARRIER right before. */
void encoder_transaction_start(struct encoder *encoder);
void encoder_transaction_commit(struct encoder *encoder);
/* Execution goes on at `address`. */
void encoder_transaction_fail(struct encoder *encoder, uint64_t address, uint8_t isa);
bool encoder_in_transaction(const struct encoder *encoder);

/*
 * From here on the path may be wrong: it follows a P0 element. False: there is no room to go down
 * it. encoder_go_on: whether another P0 element is possible on it. encoder_cancel takes back
 * everything since the last mark; mispredict: and the branch before goes the other way.
 */
bool encoder_mark(struct encoder *encoder);
bool encoder_go_on(const struct encoder *encoder);
void encoder_cancel(struct encoder *encoder, bool mispredict, uint64_t address, uint8_t isa,
		    bool need_address);

/* Everything that can be is committed. */
void encoder_commit(struct encoder *encoder);
/* The trace unit's buffer overflows, or it is switched off with elements unresolved. */
void encoder_overflow(struct encoder *encoder);
void encoder_discard(struct encoder *encoder);
/* Ends the stream: all resolved. */
void encoder_finish(struct encoder *encoder);
/*
 * Everything that can be is committed and all atoms become packets, while tracing goes on: then
 * what encoder_take gives says all that was executed up to the last P0 element.
 */
void encoder_flush(struct encoder *encoder);
/* The bytes since it was last called; good until anything else is called. Where options.drained. */
const uint8_t *encoder_take(struct encoder *encoder, size_t *n);
/* The stream begins, if it has not: Alignment Sync and Trace Info come before tracing does. */
void encoder_begin(struct encoder *encoder);
/* Taken branches from here on tell their targets, or no longer: a branch broadcasting region. */
void encoder_broadcast(struct encoder *encoder, bool on);
/* Cycles that nobody counted: the next count is unknown. */
void encoder_cycles_lost(struct encoder *encoder);

#endif
