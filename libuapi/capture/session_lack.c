// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Compares what a stream is asked for with what its CPU can do. */
#include <flowtap/session.h>

/* The others do not depend on the source. */
#define SOME_FLAGS	(FLOWTAP_CPU_WIDE | FLOWTAP_OVERWRITE)

uint32_t flowtap_session_cycles_least(const struct flowtap_ete_caps *caps)
{
	return caps->trcidr[3] & 0xfff;
}

static enum flowtap_session_lack lack_of_trace(const struct flowtap_ete_caps *caps,
					       const struct flowtap_ete_configure *ete, uint64_t *bits)
{
	if ((*bits = ete->config & ~caps->settable))
		return FLOWTAP_SESSION_LACK_TRACE;
	*bits = caps->address_ranges;
	if (ete->address_ranges > caps->address_ranges)
		return FLOWTAP_SESSION_LACK_RANGES;
	*bits = flowtap_session_cycles_least(caps);
	if (ete->cycle_threshold && ete->cycle_threshold < *bits)
		return FLOWTAP_SESSION_LACK_CYCLES;
	*bits = 0;
	return FLOWTAP_SESSION_LACK_NONE;
}

enum flowtap_session_lack flowtap_session_lack(const struct flowtap_query *query,
					       const struct flowtap_configure *configure,
					       uint64_t *bits)
{
	const uint32_t depth = configure->ctr.depth, depths = query->ctr.depths;

	if ((*bits = configure->modes & ~query->modes))
		return FLOWTAP_SESSION_LACK_MODE;
	if ((*bits = configure->flags & ~query->flags & SOME_FLAGS))
		return FLOWTAP_SESSION_LACK_FLAG;
	if ((*bits = configure->triggers & ~(query->triggers | FLOWTAP_TRIGGER_SNAPSHOT)))
		return FLOWTAP_SESSION_LACK_TRIGGER;
	if ((*bits = configure->ctr.control & ~query->ctr.settable))
		return FLOWTAP_SESSION_LACK_CONTROL;
	if (depth && depths && !(depths & depth / 16)) {
		*bits = depth;
		return FLOWTAP_SESSION_LACK_DEPTH;
	}
	return query->source == FLOWTAP_SOURCE_ETE ?
		       lack_of_trace(&query->ete, &configure->ete, bits) : FLOWTAP_SESSION_LACK_NONE;
}
