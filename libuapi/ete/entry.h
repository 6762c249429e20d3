/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Elements (K10.5.2) as they wait for a Commit, a transaction's end or the analysis; what follows
 * one, and the places that they lead to.
 */
#ifndef FLOWTAP_LIBUAPI_ETE_ENTRY_H
#define FLOWTAP_LIBUAPI_ETE_ENTRY_H

#include <flowtap/ete_packet.h>

#define ETE_ATOMS_MAX 32

enum ete_kind {
	ETE_NONE,		/* was cancelled */
	ETE_ATOMS,
	ETE_EXCEPTION,
	ETE_EXCEPTION_RETURN,
	ETE_FUNCTION_RETURN,
	ETE_SOURCE,
	ETE_Q,
	ETE_ADDRESS,
	ETE_CONTEXT,
	ETE_TRACE_INFO,
	ETE_TRACE_ON,
	ETE_TIMESTAMP,
	ETE_MARKER,
	ETE_CYCLES,
	ETE_EVENT,
	ETE_INSTRUMENTATION,
	ETE_TRANSACTION_START,
	ETE_TRANSACTION_COMMIT,
	ETE_TRANSACTION_FAIL,
};

/* One element; of atoms a run. */
struct ete_entry {
	uint8_t kind;
	uint8_t count;		/* P0 elements: of atoms how many, else 1; not P0: 0 */
	uint16_t number;	/* exception type, events, exception level of ITE */
	uint8_t sub_isa;	/* of an address; 1: T32 where it is AArch32 */
	bool known;		/* EXCEPTION: its address; CYCLES, TIMESTAMP: the cycles */
	bool taken;		/* SOURCE: not mispredicted */
	/*
	 * CONTEXT: has no payload. EXCEPTION: its address came right before it as well, and no
	 * context with it (E 0b10).
	 */
	bool repeated;
	union {
		/* Bit i: atom i, the oldest is 0, is E; was E before any mispredict. */
		struct {
			uint32_t taken;
			uint32_t initial;
		} atoms;
		struct {
			struct flowtap_ete_context packet;
			bool has_vmid;
			bool has_contextid;
		} context;
		struct {
			uint64_t value;		/* address, ticks, cycles, ITE; Q: count */
			uint64_t cycles;
		};
	};
};

_Static_assert(sizeof(struct ete_entry) <= 32, "ete.h says how much memory elements take");

/* A P0 element, or a run of them. */
static inline bool ete_is_p0(const struct ete_entry *entry)
{
	return entry->count;
}

/* Whether the analysis asks what follows it: the target of a branch does. */
static inline bool ete_asks_follower(const struct ete_entry *entry)
{
	return entry->kind == ETE_ATOMS || entry->kind == ETE_SOURCE || entry->kind == ETE_Q;
}

/* What follows a P0 element, as far as it concerns its target. */
enum ete_follow_kind {
	ETE_FOLLOW_END,		/* nothing, or the trace starts anew */
	ETE_FOLLOW_P0,
	/* An Exception Return packet, and no address of code after it: none of the return stack's. */
	ETE_FOLLOW_RETURN,
	ETE_FOLLOW_ADDRESS,
};

/* Of an ADDRESS also what comes after it. */
struct ete_follow {
	enum ete_follow_kind kind;
	uint8_t sub_isa;
	bool preceded;		/* another one or an exception return came before it */
	bool repeated;		/* an exception that has it, too: entry.repeated */
	bool unrelated;		/* a reset or a failed transaction: it says nothing of the path */
	uint64_t address;
};

enum ete_address_state {
	ETE_ADDRESS_KNOWN,
	ETE_ADDRESS_RETURN,	/* an indirect branch was taken, no address came yet */
	ETE_ADDRESS_ERET,	/* likewise, and that branch was an exception return */
	/*
	 * Of the M profile: nothing is executed before an address or an exception comes, and no
	 * return stack has it. After an exception return, in lockup; missing_reason.
	 */
	ETE_ADDRESS_NOWHERE,
	ETE_ADDRESS_MISSING,	/* an address has to come; missing_reason */
	ETE_ADDRESS_LOST,	/* there is none, and its gap is emitted */
};

/* An address that the analysis was at. */
struct ete_saved_position {
	enum ete_address_state state;
	uint8_t sub_isa;
	uint64_t address;	/* where it is KNOWN */
	const char *missing_reason;	/* where it is MISSING or NOWHERE */
};

#endif /* FLOWTAP_LIBUAPI_ETE_ENTRY_H */
