/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The P0 element that was committed last. It is held back until the next one is committed: a
 * Mispredict element can still turn it round (K10.5.5.11), and the target of an indirect branch
 * follows it.
 *
 * The fields are for these functions and for speculation.c and fast_path.c, which resolve it.
 */
#ifndef FLOWTAP_LIBUAPI_ETE_HELD_H
#define FLOWTAP_LIBUAPI_ETE_HELD_H

#include "ete/entry.h"

struct ete_held {
	/* What each atom touches: 8 bytes. */
	uint8_t kind;		/* enum ete_kind: ATOMS, SOURCE, Q; NONE: nothing is held */
	bool taken;		/* of an atom: E; was E before any mispredict */
	bool initial;
	bool any;		/* one was committed since nothing is known of those before */
	bool direct;		/* atoms need no queue: nothing is speculative, and nothing waits */
	bool next_known;	/* an address follows it, where nothing waits in between */
	uint8_t next_sub_isa;
	uint64_t next_address;
	struct ete_entry entry;	/* of a SOURCE, Q */
};

static inline void ete_hold_atom(struct ete_held *held, bool taken, bool initial)
{
	held->kind = ETE_ATOMS;
	held->taken = taken;
	held->initial = initial;
}

/* entry: a SOURCE or Q, copied. */
static inline void ete_hold(struct ete_held *held, const struct ete_entry *entry)
{
	held->kind = entry->kind;
	held->entry = *entry;
}

/* The address that came after it, and after all else that came. */
static inline void ete_set_next_address(struct ete_held *held, uint64_t address, uint8_t sub_isa)
{
	held->next_known = true;
	held->next_address = address;
	held->next_sub_isa = sub_isa;
}

/* A Mispredict element that comes before any other P0 element is of one that nobody has. */
static inline void ete_discard_committed(struct ete_held *held)
{
	held->any = false;
}

/* Whether what comes next needs no queue. */
static inline bool ete_is_direct(const struct ete_held *held)
{
	return held->direct;
}

static inline void ete_set_direct(struct ete_held *held, bool direct)
{
	held->direct = direct;
}

#endif /* FLOWTAP_LIBUAPI_ETE_HELD_H */
