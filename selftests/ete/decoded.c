// SPDX-License-Identifier: GPL-2.0-only
/* A sink that takes blocks apart into instructions, and images made of a program's memory. */
#include "decoded.h"

#include <flowtap/arm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "execute.h"

static struct decoded *of(struct flowtap_sink *sink)
{
	return (struct decoded *)((char *)sink - offsetof(struct decoded, sink));
}

/* F3.1: halfwords from 0b11101 on begin an instruction of 4 bytes. */
static unsigned int length(const struct flowtap_block *block, uint32_t offset)
{
	if (block->isa != FLOWTAP_ISA_T32)
		return 4;
	return block->bytes[offset + 1] >= 0xe8 ? 4 : 2;
}

static int take_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		      uint64_t target)
{
	struct decoded *decoded = of(sink);

	for (uint32_t offset = 0; offset < block->size;) {
		struct oracle_step *step = oracle_step(&decoded->oracle, ORACLE_INSN);

		step->address = block->address + offset;
		step->isa = block->isa;
		step->size = length(block, offset);
		step->context = decoded->context;
		offset += step->size;
		if (offset == block->size)
			step->taken = taken;
	}
	return 0;
}

static void take_context(struct decoded *decoded, const struct flowtap_context *context)
{
	struct trace_context copy = { .el = context->mode, .security = context->security,
				      .sf = context->width == 64 };

	if (context->has_vmid)
		copy.vmid = context->vmid;
	if (context->has_contextid)
		copy.contextid = context->contextid;
	decoded->context = oracle_context(&decoded->oracle, &copy);
}

static void take_q(struct decoded *decoded, const struct flowtap_q *q)
{
	struct oracle_step *step = oracle_step(&decoded->oracle, ORACLE_Q);

	step->address = q->start;
	step->next = q->next;
	step->value = q->instructions;
}

static int take_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct decoded *decoded = of(sink);
	struct oracle *oracle = &decoded->oracle;
	struct oracle_step *step;

	switch (element->kind) {
	case FLOWTAP_ELEMENT_CONTEXT:
		take_context(decoded, &element->context);
		break;
	case FLOWTAP_ELEMENT_EXCEPTION:
		step = oracle_step(oracle, ORACLE_EXCEPTION);
		step->address = element->exception.address;
		step->value = element->exception.number;
		break;
	case FLOWTAP_ELEMENT_EXCEPTION_RETURN:
		oracle_step(oracle, ORACLE_ERET);
		break;
	case FLOWTAP_ELEMENT_TRACE_ON:
		oracle_step(oracle, ORACLE_TRACE_ON);
		break;
	case FLOWTAP_ELEMENT_Q:
		take_q(decoded, &element->q);
		break;
	case FLOWTAP_ELEMENT_TRANSACTION:
		oracle_step(oracle, ORACLE_TRANSACTION)->value = element->transaction;
		break;
	case FLOWTAP_ELEMENT_GAP:
		step = oracle_step(oracle, ORACLE_GAP);
		step->value = element->gap.reason;
		if (!decoded->gaps++)
			decoded->gap_size = element->gap.size;
		snprintf(decoded->detail, sizeof(decoded->detail), "%s at %llx: %s",
			 flowtap_gap_name(element->gap.reason),
			 (unsigned long long)element->gap.address,
			 element->gap.detail ? element->gap.detail : "");
		break;
	case FLOWTAP_ELEMENT_EVENT:
		/* One for a packet: a bit for each ETEEvent. */
		for (unsigned int i = 0; i < 4; i++)
			if (element->event >> i & 1)
				oracle_side(oracle, ORACLE_EVENT, i, 0, false);
		break;
	case FLOWTAP_ELEMENT_TIMESTAMP:
		oracle_side(oracle, ORACLE_TIMESTAMP, element->timestamp.ticks,
			    element->timestamp.has_cycles ? element->timestamp.cycles : 0,
			    element->timestamp.has_cycles);
		break;
	case FLOWTAP_ELEMENT_CYCLES:
		oracle_side(oracle, ORACLE_CYCLES,
			    element->cycles.unknown ? 0 : element->cycles.count,
			    0, element->cycles.unknown);
		break;
	case FLOWTAP_ELEMENT_INSTRUMENTATION:
		oracle_side(oracle, ORACLE_ITE, element->instrumentation.value,
			    element->instrumentation.mode, true);
		break;
	case FLOWTAP_ELEMENT_MARKER:
		oracle_side(oracle, ORACLE_MARKER, 0, 0, false);
		break;
	default:
		break;
	}
	return 0;
}

static const struct flowtap_code *find(void *argument, const struct flowtap_context *context,
				       uint64_t address)
{
	struct decoded *decoded = argument;

	return program_find(decoded->program,
			    execute_group(decoded->program, context->has_contextid ?
					  context->contextid : 0, decoded->now_modified), address);
}

static void reached(void *argument, const struct flowtap_timestamp *timestamp)
{
	struct decoded *decoded = argument;

	if (decoded->modified && timestamp->ticks >= decoded->modified)
		decoded->now_modified = true;
}

int decoded_new(struct decoded *decoded, const struct flowtap_ete_config *config,
		const struct flowtap_ete_options *options, const struct program *program,
		uint64_t modified)
{
	struct flowtap_ete_images images = { .find = find, .time = reached, .argument = decoded };
	int err;

	memset(decoded, 0, sizeof(*decoded));
	decoded->sink.block = take_block;
	decoded->sink.element = take_element;
	decoded->program = program;
	decoded->modified = modified;
	decoded->context = UINT32_MAX;
	decoded->oracle.erets = config->m_profile;
	decoded->blocks = flowtap_blocks_new(flowtap_ete_wfx_is_p0(config) ?
					     flowtap_arm_block_wfx : flowtap_arm_block, 1 << 20);
	if (!decoded->blocks)
		abort();
	err = flowtap_ete_new(config, options, &images, decoded->blocks, &decoded->sink,
			      &decoded->ete);
	if (err)
		flowtap_blocks_free(decoded->blocks);
	return err;
}

void decoded_free(struct decoded *decoded)
{
	flowtap_ete_free(decoded->ete);
	flowtap_blocks_free(decoded->blocks);
	oracle_free(&decoded->oracle);
}

int decoded_feed(struct decoded *decoded, const uint8_t *bytes, size_t size, struct rng *rng)
{
	while (size) {
		size_t part = 1 + rng_below(rng, rng_one_in(rng, 4) ? 8 : 5000);
		uint8_t *copy;
		int err;

		if (part > size)
			part = size;
		/* Of exactly that size: a byte read beyond is found. */
		copy = malloc(part);
		if (!copy)
			abort();
		memcpy(copy, bytes, part);
		err = flowtap_ete_decode(decoded->ete, copy, part);
		free(copy);
		if (err)
			return err;
		bytes += part;
		size -= part;
	}
	return 0;
}
