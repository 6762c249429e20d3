/* SPDX-License-Identifier: GPL-2.0-only */
/* The flow that the library made of one sample, and whether its hart executed just that. */
#ifndef FLOWTAP_SELFTESTS_ORACLE_FLOW_H
#define FLOWTAP_SELFTESTS_ORACLE_FLOW_H

#include <flowtap/flow.h>

#include "machine.h"

enum flow_kind {
	FLOW_BLOCK,
	FLOW_EXCEPTION,
	FLOW_GAP,
	FLOW_TRANSFER,
	FLOW_CALLSTACK,
	FLOW_NOTHING,		/* an item that a test took away */
};

struct flow_item {
	uint64_t address;	/* BLOCK, EXCEPTION; source of a TRANSFER */
	uint64_t target;	/* BLOCK, EXCEPTION, TRANSFER */
	size_t frames;		/* CALLSTACK: index of the first one */
	const uint8_t *bytes;	/* BLOCK: the opcodes, owned by the image map */
	uint32_t size;
	uint32_t n;		/* BLOCK: instructions; CALLSTACK: frames */
	uint32_t pid, tid;	/* BLOCK */
	uint8_t kind;
	uint8_t mode;		/* BLOCK: enum flowtap_privilege */
	uint8_t type;		/* TRANSFER */
	uint8_t reason;		/* GAP: enum flowtap_gap_reason */
	bool taken;
	bool interrupt;		/* EXCEPTION */
};

/* Collects what a decoder sends. */
struct flow {
	struct flowtap_sink sink;
	struct flow_item *items;
	size_t n;
	size_t capacity;
	uint64_t *frames;
	size_t n_frames, frames_capacity;
	struct flowtap_context context;	/* the last one */
};

void flow_init(struct flow *flow);
void flow_free(struct flow *flow);

struct flow_match {
	uint64_t instructions;	/* of the flow, found in the log where they must be */
	uint64_t user;		/* of them, in user mode */
	uint64_t skipped;	/* executed after a trap and before the next transfer */
	uint64_t hidden;	/* executed, but gaps in the flow say that it lacks the code */
	bool whole;		/* they match */
	char problem[256];	/* what is wrong, empty if nothing */
	size_t step;		/* where */
};

/* Walks both backwards from the end. true: no problem. */
bool flow_match(struct flow_match *match, const struct flow_item *items, size_t n,
		const struct drain *drain);

#endif /* FLOWTAP_SELFTESTS_ORACLE_FLOW_H */
