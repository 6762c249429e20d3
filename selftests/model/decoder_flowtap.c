// SPDX-License-Identifier: GPL-2.0-or-later
/* libflowtap's decoder tells the judge. */
#include <stdio.h>
#include <stdlib.h>

#include <flowtap/arm.h>

#include "decoders.h"

struct state {
	struct flowtap_sink sink;
	struct judge *judge;
	struct flowtap_blocks *blocks;
	struct flowtap_ete *ete;
};

static int take_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		      uint64_t target)
{
	struct judge *judge = ((struct state *)sink)->judge;

	if (block->isa != FLOWTAP_ISA_A64)
		judge_gap(judge, "a block that is not of A64");
	else
		judge_instructions(judge, block->address, block->size / 4,
				   taken ? JUDGE_TAKEN : JUDGE_NOT_TAKEN, target);
	return judge->failed ? -1 : 0;
}

static void take_context(struct judge *judge, const struct flowtap_context *context)
{
	judge_context(judge, &(struct judge_context){
		.el = context->mode, .nonsecure = context->security == FLOWTAP_NONSECURE,
		.aarch64 = context->width == 64, .has_contextid = context->has_contextid,
		.has_vmid = context->has_vmid, .contextid = context->contextid,
		.vmid = context->vmid,
	});
}

static void take_gap(struct judge *judge, const struct flowtap_gap *gap)
{
	char what[200];

	if (gap->reason == FLOWTAP_GAP_OVERFLOW) {
		judge_overflow(judge);
		return;
	}
	snprintf(what, sizeof(what), "gap %s at 0x%llx: %s", flowtap_gap_name(gap->reason),
		 (unsigned long long)gap->address, gap->detail ? gap->detail : "");
	if (gap->reason == FLOWTAP_GAP_NO_ADDRESS)
		judge_no_address(judge, what);
	else
		judge_gap(judge, what);
}

static int take_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct judge *judge = ((struct state *)sink)->judge;

	switch (element->kind) {
	case FLOWTAP_ELEMENT_CONTEXT:
		take_context(judge, &element->context);
		break;
	case FLOWTAP_ELEMENT_EXCEPTION:
		judge_exception(judge, element->exception.number, element->exception.address);
		break;
	case FLOWTAP_ELEMENT_EXCEPTION_RETURN:
		judge_return(judge);
		break;
	case FLOWTAP_ELEMENT_TRACE_ON:
		judge_trace_on(judge);
		break;
	case FLOWTAP_ELEMENT_GAP:
		take_gap(judge, &element->gap);
		break;
	case FLOWTAP_ELEMENT_EVENT:
		judge_side(judge, JUDGE_EVENT, element->event);
		break;
	case FLOWTAP_ELEMENT_TIMESTAMP:
		judge_side(judge, JUDGE_TIMESTAMP, element->timestamp.ticks);
		break;
	case FLOWTAP_ELEMENT_CYCLES:
		judge_side(judge, JUDGE_CYCLES, element->cycles.unknown ? 0 :
						element->cycles.count + 1);
		break;
	case FLOWTAP_ELEMENT_Q:
	case FLOWTAP_ELEMENT_TRANSACTION:
	case FLOWTAP_ELEMENT_INSTRUMENTATION:
		judge_gap(judge, "an element that this trace unit does not make");
		break;
	default:
		break;
	}
	return judge->failed ? -1 : 0;
}

static const struct flowtap_code *find(void *argument, const struct flowtap_context *context,
				       uint64_t address)
{
	return judge_find(argument, context->mode == FLOWTAP_PRIVILEGE_U, address);
}

/*
 * The code is another's after an exec, which the context does not say: what was found is forgotten.
 */
static void left(void *argument, const struct flowtap_exception *exception)
{
	(void)argument;
	(void)exception;
}

static void *new(struct judge *judge, const struct flowtap_ete_config *config)
{
	struct flowtap_ete_images images = { .find = find, .left = left, .argument = judge };
	struct state *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->judge = judge;
	state->sink = (struct flowtap_sink){ take_block, take_element };
	state->blocks = flowtap_blocks_new(flowtap_ete_wfx_is_p0(config) ? flowtap_arm_block_wfx :
					   flowtap_arm_block, 0);
	if (!state->blocks ||
	    flowtap_ete_new(config, NULL, &images, state->blocks, &state->sink, &state->ete)) {
		if (state->blocks)
			flowtap_blocks_free(state->blocks);
		free(state);
		return NULL;
	}
	return state;
}

/* That the judge has seen a difference is no failure of the decoder. */
static int result(const struct state *state, int err)
{
	return state->judge->failed ? 0 : err;
}

static int feed(void *opaque, const uint8_t *bytes, size_t n)
{
	struct state *state = opaque;

	return state->judge->failed ? 0 : result(state, flowtap_ete_decode(state->ete, bytes, n));
}

static int lose(void *opaque)
{
	struct state *state = opaque;

	/* What waited is as at an end: the bytes that would resolve it are lost. */
	return state->judge->failed ? 0 : result(state, flowtap_ete_session(state->ete));
}

static int finish(void *opaque)
{
	struct state *state = opaque;

	return state->judge->failed ? 0 : result(state, flowtap_ete_finish(state->ete));
}

static void release(void *opaque)
{
	struct state *state = opaque;

	flowtap_ete_free(state->ete);
	flowtap_blocks_free(state->blocks);
	free(state);
}

static const char *version(void)
{
	return FLOWTAP_VERSION;
}

const struct decoder decoder_flowtap = {
	.name = "libflowtap", .version = version, .new = new, .feed = feed, .lose = lose,
	.finish = finish, .free = release,
};
