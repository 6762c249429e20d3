// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * A part of a trace: what is before its first instruction is read, and of it only the last context
 * is handed on.
 */
#include "isa/learned_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static int pass_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		      uint64_t target)
{
	struct learned_part *part = (struct learned_part *)sink;

	return part->to->block(part->to, block, taken, target);
}

static int pass_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct learned_part *part = (struct learned_part *)sink;

	if (!part->before)
		return part->to->element(part->to, element);
	if (element->kind == FLOWTAP_ELEMENT_CONTEXT) {
		part->context = *element;
		part->has_context = true;
	}
	return 0;
}

struct flowtap_sink *flowtap_learned_part(struct flowtap_learned *learned,
					  const struct flowtap_read *read,
					  struct flowtap_sink *sink)
{
	struct learned_part *part = &learned->part;
	bool all = !read->skip && !read->count;

	flowtap_learned_sink(learned, sink);
	if (all)
		return sink;
	*part = (struct learned_part){
		.sink = { .block = pass_block, .element = pass_element },
		.to = sink,
		.before = read->skip,
		.skip = read->skip,
		.count = read->count,
		.until = read->skip ? read->skip : read->count,
	};
	learned->sink = &part->sink;
	return &part->sink;
}

/* What is before it is no part of the flow, which says so. */
static int begin(struct learned_part *part)
{
	char detail[64];
	struct flowtap_element gap = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = { .reason = FLOWTAP_GAP_START, .size = UINT64_MAX, .detail = detail },
	};
	int status = 0;

	snprintf(detail, sizeof(detail), "%" PRIu64 " instructions are passed over", part->skip);
	part->before = false;
	part->until = part->count && part->count < UINT64_MAX - part->skip ?
			      part->skip + part->count : UINT64_MAX;
	if (part->has_context)
		status = part->to->element(part->to, &part->context);
	return status < 0 ? status : part->to->element(part->to, &gap);
}

int flowtap_learned_turn(struct flowtap_learned *learned)
{
	struct learned_part *part = &learned->part;
	int status;

	learned->cut = false;
	if (part->before) {
		status = begin(part);
		return status < 0 ? status : 0;
	}
	part->over = true;
	return -ECANCELED;
}

int flowtap_learned_part_end(struct flowtap_learned *learned, int status)
{
	bool over = learned->part.over && status == -ECANCELED;

	flowtap_learned_sink(learned, NULL);
	return over ? 0 : status;
}
