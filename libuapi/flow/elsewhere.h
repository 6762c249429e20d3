/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The gap of a trace of instructions, one of which is where the one before it cannot have led. */
#ifndef FLOWTAP_LIBUAPI_FLOW_ELSEWHERE_H
#define FLOWTAP_LIBUAPI_FLOW_ELSEWHERE_H

#include <flowtap/flow.h>
#include <string.h>

#define FLOW_ELSEWHERE "the next instruction is elsewhere"

/* address: of the instruction before it. 0, or what the sink returned below 0. */
static inline int flow_emit_elsewhere(struct flowtap_sink *sink, uint64_t address)
{
	const struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = {
			.reason = FLOWTAP_GAP_IMPOSSIBLE,
			.size = UINT64_MAX,
			.address = address,
			.detail = FLOW_ELSEWHERE,
		},
	};
	int status = sink->element(sink, &element);

	return status < 0 ? status : 0;
}

/* Whether the element is that gap, and its address known. */
static inline bool flow_is_elsewhere(const struct flowtap_element *element)
{
	return element->kind == FLOWTAP_ELEMENT_GAP && element->gap.address &&
	       element->gap.reason == FLOWTAP_GAP_IMPOSSIBLE && element->gap.detail &&
	       !strcmp(element->gap.detail, FLOW_ELSEWHERE);
}

#endif /* FLOWTAP_LIBUAPI_FLOW_ELSEWHERE_H */
