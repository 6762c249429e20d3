// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walks back from the end of a sample through the flow and the executed steps together, and
 * matches item by item.
 */
#include "flow.h"

#include <errno.h>
#include <flowtap/block.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opcode.h"

static int add(struct flow *flow, struct flow_item item)
{
	if (flow->n == flow->capacity) {
		size_t capacity = flow->capacity ? 2 * flow->capacity : 65536;
		struct flow_item *more = reallocarray(flow->items, capacity, sizeof(*more));

		if (!more)
			return -ENOMEM;
		flow->items = more;
		flow->capacity = capacity;
	}
	flow->items[flow->n++] = item;
	return 0;
}

static int on_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		    uint64_t target)
{
	struct flow *flow = (struct flow *)sink;

	return add(flow, (struct flow_item){
		.kind = FLOW_BLOCK,
		.pid = flow->context.pid,
		.tid = flow->context.tid,
		.address = block->address,
		.target = target,
		.bytes = block->bytes,
		.size = block->size,
		.n = block->instructions,
		.taken = taken,
		.mode = flow->context.mode,
	});
}

static int add_callstack(struct flow *flow, const uint64_t *frames, size_t n)
{
	if (flow->frames_capacity - flow->n_frames < n) {
		size_t capacity = 2 * flow->frames_capacity + n + 4096;
		uint64_t *more = reallocarray(flow->frames, capacity, sizeof(*more));

		if (!more)
			return -ENOMEM;
		flow->frames = more;
		flow->frames_capacity = capacity;
	}
	if (n)
		memcpy(flow->frames + flow->n_frames, frames, n * sizeof(*frames));
	flow->n_frames += n;
	return add(flow, (struct flow_item){
		.kind = FLOW_CALLSTACK,
		.frames = flow->n_frames - n,
		.n = n,
	});
}

static int on_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct flow *flow = (struct flow *)sink;

	switch (element->kind) {
	case FLOWTAP_ELEMENT_CONTEXT:
		flow->context = element->context;
		return 0;
	case FLOWTAP_ELEMENT_EXCEPTION:
		return add(flow, (struct flow_item){
			.kind = FLOW_EXCEPTION,
			.address = element->exception.address,
			.target = element->exception.target,
			.interrupt = element->exception.interrupt,
		});
	case FLOWTAP_ELEMENT_TRANSFER:
		return add(flow, (struct flow_item){
			.kind = FLOW_TRANSFER,
			.address = element->transfer.source,
			.target = element->transfer.target,
			.type = element->transfer.type,
		});
	case FLOWTAP_ELEMENT_CALLSTACK:
		return add_callstack(flow, element->callstack.frames, element->callstack.n);
	case FLOWTAP_ELEMENT_GAP:
		return add(flow, (struct flow_item){
			.kind = FLOW_GAP,
			.reason = element->gap.reason,
			.address = element->gap.address,
		});
	default:
		return 0;
	}
}

void flow_init(struct flow *flow)
{
	memset(flow, 0, sizeof(*flow));
	flow->sink.block = on_block;
	flow->sink.element = on_element;
}

void flow_free(struct flow *flow)
{
	free(flow->items);
	free(flow->frames);
}

/* A place in the flow that does not say how much is missing is tried so often in all. */
#define TRIES 100000

struct walk {
	struct flow_match *match;
	const struct flow_item *items;
	size_t first;		/* items before are the gap before the sample */
	const struct drain *drain;
	const struct step *steps;
	size_t at;		/* steps before this one are still to be found in the flow */
	size_t transfer;	/* entries before this one stand in steps before `at` */
	bool gap, hides;	/* the items before `first`: is there a gap, for want of code */
	unsigned int *tries;
};

__attribute__((format(printf, 2, 3)))
static bool problem(struct walk *walk, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(walk->match->problem, sizeof(walk->match->problem), format, args);
	va_end(args);
	walk->match->step = walk->at ? walk->at - 1 : 0;
	return false;
}

static const struct step *back(struct walk *walk)
{
	walk->at--;
	if (walk->transfer && walk->drain->entries[walk->transfer - 1].origin.step == walk->at)
		walk->transfer--;
	return &walk->steps[walk->at];
}

/* Traps that CTR does not record are no news to the flow: it may run through them. */
static void pass_unrecorded(struct walk *walk)
{
	while (walk->at) {
		const struct step *step = &walk->steps[walk->at - 1];

		if (step->kind != STEP_TRAP || step->recorded)
			break;
		back(walk);
	}
}

static bool match_insn(struct walk *walk, uint64_t pc, uint32_t opcode)
{
	const struct step *step;

	pass_unrecorded(walk);
	if (!walk->at)
		return problem(walk, "the flow has 0x%" PRIx64 ", executed before the recording",
			       pc);
	step = &walk->steps[walk->at - 1];
	if (step->kind != STEP_INSN)
		return problem(walk, "the flow has 0x%" PRIx64 " where a %s was", pc,
			       step->kind == STEP_TRAP ? "trap" : "break");
	if (step->pc != pc || step->opcode != opcode)
		return problem(walk, "the flow has 0x%" PRIx64 " (%08x), executed was 0x%" PRIx64
			       " (%08x)", pc, opcode, step->pc, step->opcode);
	back(walk);
	walk->match->instructions++;
	walk->match->user += oracle_is_user(pc);
	return true;
}

#define BLOCK_INSNS 4096

/* Where the block's instructions begin; false: they do not make up its size and number. */
static bool split(const struct flow_item *item, uint16_t starts[BLOCK_INSNS])
{
	uint32_t offset = 0, n = 0;

	while (offset < item->size && n < item->n && n < BLOCK_INSNS) {
		starts[n++] = offset;
		offset += oracle_length(item->bytes[offset]);
	}
	return offset == item->size && n == item->n && n;
}

static bool match_block(struct walk *walk, const struct flow_item *item)
{
	uint16_t starts[BLOCK_INSNS];
	uint64_t target = item->taken ? item->target : item->address + item->size;
	size_t end;

	if (item->mode !=
	    (oracle_is_kernel(item->address) ? FLOWTAP_PRIVILEGE_S : FLOWTAP_PRIVILEGE_U))
		return problem(walk, "the block at 0x%" PRIx64 " is said to be of mode %u",
			       item->address, item->mode);
	if (!split(item, starts))
		return problem(walk, "the block at 0x%" PRIx64 " has not %u instructions in %u"
			       " bytes", item->address, item->n, item->size);
	end = walk->at;
	pass_unrecorded(walk);
	/* Firmware's calls return after their ecall. */
	if (!walk->at || walk->steps[walk->at - 1].kind != STEP_INSN ||
	    !opcode_traps(walk->steps[walk->at - 1].opcode))
		end = walk->at;
	if (target && end && end < walk->drain->window->n && walk->steps[end].pc != target)
		return problem(walk, "the block at 0x%" PRIx64 " goes on at 0x%" PRIx64
			       ", executed was 0x%" PRIx64, item->address, target,
			       walk->steps[end].pc);
	for (uint32_t i = item->n; i--;) {
		uint32_t opcode = 0;

		memcpy(&opcode, item->bytes + starts[i],
		       oracle_length(item->bytes[starts[i]]));
		if (!match_insn(walk, item->address + starts[i], opcode))
			return false;
	}
	return true;
}

static bool match_exception(struct walk *walk, const struct flow_item *item)
{
	const struct step *step;

	pass_unrecorded(walk);
	step = walk->at ? &walk->steps[walk->at - 1] : NULL;
	if (!step || step->kind != STEP_TRAP || step->pc != item->address ||
	    step->interrupt != item->interrupt)
		return problem(walk, "no %s was at 0x%" PRIx64,
			       item->interrupt ? "interrupt" : "exception", item->address);
	back(walk);
	return true;
}

static bool is_transfer(const struct walk *walk, size_t step)
{
	return walk->transfer && walk->drain->entries[walk->transfer - 1].origin.step == step;
}

/*
 * What was executed after a trap, up to the next transfer, is not known to the flow; nor what
 * comes before and after the recorder's own code. True: something unrecorded is in there.
 */
static bool pass_trap_gap(struct walk *walk)
{
	bool broken = false;

	while (walk->at && !is_transfer(walk, walk->at - 1)) {
		walk->match->skipped += walk->steps[walk->at - 1].kind == STEP_INSN;
		broken |= walk->steps[walk->at - 1].kind == STEP_BREAK;
		back(walk);
	}
	return broken;
}

static bool hides(const struct flow_item *item)
{
	return item->kind == FLOW_GAP && (item->reason == FLOWTAP_GAP_NO_CODE ||
					  item->reason == FLOWTAP_GAP_NO_IMAGE);
}

/* Whether the step before `at` can be the last one of what `item` says. */
static bool can_end(const struct walk *walk, const struct flow_item *item)
{
	const struct step *step = &walk->steps[walk->at - 1];
	uint64_t size = item->address + item->size - step->pc;

	if (item->kind == FLOW_EXCEPTION)
		return step->kind == STEP_TRAP && step->recorded && step->pc == item->address;
	return step->kind == STEP_INSN && size == oracle_length(step->opcode);
}

/* The oldest thing in the flow: what was executed before must be what the buffer lost. */
static bool match_front(struct walk *walk)
{
	if (walk->gap && !walk->hides && walk->transfer)
		return problem(walk, "the flow begins with entry %zu of %u", walk->transfer,
			       walk->drain->nr);
	pass_unrecorded(walk);
	if (!walk->gap && walk->at)
		return problem(walk, "the flow does not say that something is missing before it");
	return true;
}

static bool match_items(struct walk *walk, size_t n);

/* Code was missing: the items before `n` are wherever they fit, the later the better. */
static bool match_hidden(struct walk *walk, size_t n)
{
	const struct flow_match before = *walk->match;
	uint64_t hidden = 0;

	for (; walk->at; back(walk)) {
		struct walk here = *walk;

		if (can_end(walk, &walk->items[n - 1])) {
			if (!*walk->tries)
				break;
			--*walk->tries;
			*walk->match = before;
			walk->match->hidden += hidden;
			if (match_items(&here, n))
				return true;
		}
		hidden += walk->steps[walk->at - 1].kind == STEP_INSN;
	}
	return problem(walk, "what the flow has before its code was missing is nowhere");
}

/* One or more gaps that end with item n; the items before them are left. */
static bool match_gaps(struct walk *walk, size_t *n, bool *hidden)
{
	bool recorder = false;

	for (;; --*n) {
		const struct flow_item *item = &walk->items[*n];

		*hidden |= hides(item);
		recorder |= item->reason == FLOWTAP_GAP_RECORDER ||
			    item->reason == FLOWTAP_GAP_FROZEN;
		if (!hides(item) && item->reason != FLOWTAP_GAP_TRAP && item->reason != FLOWTAP_GAP_USER &&
		    item->reason != FLOWTAP_GAP_RECORDER && item->reason != FLOWTAP_GAP_FROZEN)
			return problem(walk, "a gap %s at 0x%" PRIx64 " amid what was recorded",
				       flowtap_gap_name(item->reason), item->address);
		if (walk->items[*n - 1].kind != FLOW_GAP)
			break;
	}
	if (*hidden)
		return true;
	return pass_trap_gap(walk) || !recorder ||
	       problem(walk, "a gap recorder or frozen where nothing was unrecorded");
}

/* The first n items end before walk->at. */
static bool match_items(struct walk *walk, size_t n)
{
	bool fits = true, hidden = false;

	while (n > walk->first && fits) {
		const struct flow_item *item = &walk->items[--n];

		switch (item->kind) {
		case FLOW_BLOCK:
			fits = match_block(walk, item);
			break;
		case FLOW_EXCEPTION:
			fits = match_exception(walk, item);
			break;
		case FLOW_GAP:
			fits = match_gaps(walk, &n, &hidden);
			if (hidden)
				return match_hidden(walk, n);
			break;
		}
	}
	return fits && match_front(walk);
}

/*
 * After a trap nothing is known; the gap is told with the next sample. So it is where not all
 * traps are recorded, and with the driver's own first steps, before it has stopped recording.
 */
static bool ends_open(const struct drain *drain)
{
	uint64_t control = drain->control;

	return !(control & (ORACLE_CONTROL_STE | ORACLE_CONTROL_S)) ||
	       control & ORACLE_CONTROL_BPFRZ ||
	       (control & ORACLE_CONTROL_S && !drain->by_overflow);
}

bool flow_match(struct flow_match *match, const struct flow_item *items, size_t n,
		const struct drain *drain)
{
	unsigned int tries = TRIES;
	struct walk walk = {
		.match = match,
		.items = items,
		.drain = drain,
		.steps = drain->window->steps,
		.at = drain->window->n,
		.transfer = drain->nr,
		.tries = &tries,
	};

	memset(match, 0, sizeof(*match));
	for (; walk.first < n && (items[walk.first].kind == FLOW_GAP ||
				  items[walk.first].kind == FLOW_NOTHING); walk.first++) {
		walk.gap |= items[walk.first].kind == FLOW_GAP;
		walk.hides |= hides(&items[walk.first]);
	}
	if (n > walk.first && (items[n - 1].kind == FLOW_EXCEPTION || ends_open(drain)))
		pass_trap_gap(&walk);
	return match_items(&walk, n);
}
