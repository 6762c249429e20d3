/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What the CTR decoder gives to its sink: elements and blocks, counted, and the context that the
 * sink has been given last.
 *
 * Functions return what the sink returns: below 0 decoding ends.
 */
#ifndef FLOWTAP_LIBUAPI_CTR_EMIT_H
#define FLOWTAP_LIBUAPI_CTR_EMIT_H

#include <flowtap/block.h>
#include <flowtap/ctr.h>
#include <flowtap/flow.h>

struct ctr_emit {
	struct flowtap_sink *sink;
	struct flowtap_ctr_counts counts;	/* of blocks, gaps and bad records here */
	struct flowtap_context context;		/* as the sink has it, the mode included */
	bool has_context;
};

static inline int flowtap_ctr_send(struct ctr_emit *emit, const struct flowtap_element *element)
{
	return emit->sink->element(emit->sink, element);
}

/* A block that was executed; taken, target: how it was left (flow.h). */
static inline int flowtap_ctr_send_block(struct ctr_emit *emit, struct flowtap_block *block,
					 bool taken, uint64_t target)
{
	block->executed++;
	emit->counts.blocks++;
	emit->counts.instructions += block->instructions;
	return emit->sink->block(emit->sink, block, taken, target);
}

/* Sends a gap and counts it. */
int flowtap_ctr_gap(struct ctr_emit *emit, const struct flowtap_gap *gap);
/*
 * A gap for a record that is not well formed: why, as printf has it. time: of the record, 0
 * unknown.
 */
int flowtap_ctr_bad_record(struct ctr_emit *emit, uint64_t time, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Sends who executes from now on, and in which mode, if that changes. */
int flowtap_ctr_enter(struct ctr_emit *emit, uint32_t pid, uint32_t tid, uint32_t cpu,
		      enum flowtap_privilege mode);

#endif /* FLOWTAP_LIBUAPI_CTR_EMIT_H */
