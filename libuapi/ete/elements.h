/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Packets become elements (K10.5.2): in their order, with what a packet leaves out.
 *
 * The fields are for these functions and elements.c only.
 */
#ifndef FLOWTAP_LIBUAPI_ETE_ELEMENTS_H
#define FLOWTAP_LIBUAPI_ETE_ELEMENTS_H

#include "ete/entry.h"

struct flowtap_ete;

struct ete_elements {
	bool start_is_p0;	/* TRCIDR0.COMMTRANS 0: Transaction Start counts */
	bool initialized;	/* a Trace Info has said how many P0 elements are unseen */
	bool seen_vmid;		/* a Context packet had it since the last Trace Info packet */
	bool seen_contextid;
};

/* Packets are lost: the next Trace Info says what waits, as the first one does (K10.5.3.2.1). */
static inline void ete_restart_elements(struct ete_elements *elements)
{
	elements->initialized = false;
}

/* Before the first packet. */
void flowtap_ete_elements_init(struct ete_elements *elements,
			       const struct flowtap_ete_config *config);
/*
 * The elements of the packet, to the queue: its commits first, its cancels and mispredicts last. 0;
 * what the sink returned below 0; -ENOMEM.
 */
int flowtap_ete_element(struct flowtap_ete *ete, const struct flowtap_ete_packet *packet);
/* What the trace unit lost: a gap, and the address is lost. 0; what the sink returned below 0. */
int flowtap_ete_emit_overflow(struct flowtap_ete *ete);
/* The element of a packet that ete_is_time_or_event. */
struct ete_entry flowtap_ete_time_or_event(const struct flowtap_ete_packet *packet);

/* Whether the packet says nothing of the path, and its element waits for what came before only. */
static inline bool ete_is_time_or_event(enum flowtap_ete_packet_type type)
{
	const uint64_t those = 1ULL << FLOWTAP_ETE_TIMESTAMP | 1ULL << FLOWTAP_ETE_EVENT |
			       1ULL << FLOWTAP_ETE_CYCLE_COUNT_1 |
			       1ULL << FLOWTAP_ETE_CYCLE_COUNT_2 |
			       1ULL << FLOWTAP_ETE_CYCLE_COUNT_3;

	return those >> type & 1;
}

#endif /* FLOWTAP_LIBUAPI_ETE_ELEMENTS_H */
