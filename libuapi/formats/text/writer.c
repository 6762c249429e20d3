// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Prints blocks as ranges and all other elements as lines, and joins ranges that the block cache
 * has cut.
 */
#include <flowtap/block.h>
#include <flowtap/text.h>

#include "base/write_buffer.h"
#include "flow/flow_line.h"

#include <errno.h>
#include <stdlib.h>

/* A range with its newline: "range ", two addresses, a count, an ISA and E or N. */
#define RANGE_MAX 128
#define MARK_FALLS_THROUGH (1U << 31)
_Static_assert(sizeof("range ") + 17 + 17 + 21 + sizeof("RV64 E\n") <= RANGE_MAX, "a range fits");

/* A range that may not have ended yet: no instruction of it can transfer. */
struct range {
	uint64_t start;
	uint64_t end;
	uint64_t instructions;	/* 0: there is none */
	uint8_t isa;
};

struct flowtap_text {
	struct flowtap_sink sink;
	struct flowtap_write_buffer out;
	struct flowtap_slot slot;
	struct range open;
	uint64_t source;	/* where the open range ends, not at the branches before it */
	bool has_source;
};

/* Returns its length, newline included. */
static size_t write_range(char text[RANGE_MAX], const struct range *range, char executed)
{
	struct flowtap_line line = { .at = text, .end = text + RANGE_MAX };

	flowtap_line_string(&line, "range ");
	flowtap_line_hex(&line, range->start);
	flowtap_line_string(&line, " ");
	flowtap_line_hex(&line, range->end);
	flowtap_line_string(&line, " ");
	flowtap_line_decimal(&line, range->instructions);
	flowtap_line_string(&line, " ");
	flowtap_line_string(&line, flowtap_isa_name(range->isa));
	flowtap_line_string(&line, executed == 'N' ? " N\n" : " E\n");
	return line.at - text;
}

static struct range range_of(const struct flowtap_block *block)
{
	return (struct range){
		.start = block->address,
		.end = block->address + block->size,
		.instructions = block->instructions,
		.isa = block->isa,
	};
}

/*
 * Whether the last instruction may not have been taken. What a T32 block does not know is whether
 * it begins within an IT block (arm.h): there any branch may be conditional.
 */
static bool may_fall_through(const struct flowtap_block *block)
{
	return block->conditional || (block->isa == FLOWTAP_ISA_T32 && block->end);
}

/* N: the last instruction is a conditional branch that was not taken. */
static inline char executed(bool taken, bool may_fall_through)
{
	return (taken | !may_fall_through) ? 'E' : 'N';
}

/*
 * The line as it is when the last instruction was taken; mark: where E is, and MARK_FALLS_THROUGH.
 * NULL: no memory.
 */
static const struct flowtap_render *render(struct flowtap_text *text,
					   const struct flowtap_block *block)
{
	const struct range range = range_of(block);
	char line[RANGE_MAX];
	size_t size = write_range(line, &range, 'E'), capacity = flowtap_write_buffer_padded(size);
	char *bytes = calloc(1, capacity);
	const struct flowtap_render made = {
		.bytes = bytes,
		.size = size,
		.mark = (size - 2) | (may_fall_through(block) ? MARK_FALLS_THROUGH : 0),
	};

	if (!bytes)
		return NULL;
	memcpy(bytes, line, size);
	return flowtap_slot_keep(&text->slot, block, &made, capacity);
}

/* Writes the range that is open. */
static int close_range(struct flowtap_text *text, char executed)
{
	char line[RANGE_MAX];
	size_t size = write_range(line, &text->open, executed);

	text->open.instructions = 0;
	return flowtap_write_buffer_add(&text->out, line, size);
}

/* Whether the range that is open goes on after the block. */
static bool continues_range(struct flowtap_text *text, const struct flowtap_block *block)
{
	if (!text->has_source)
		return !block->end;
	if (block->address + block->last != text->source)
		return true;
	text->has_source = false;
	return false;
}

/*
 * Blocks are cut where code goes on for long, ranges are not (flowtap_block_max_size). This has no
 * end of its own, or goes on with what has none. What a Source Address covers is one range as well,
 * as the reference decoder prints it.
 */
static int join(struct flowtap_text *text, const struct flowtap_block *block, bool taken)
{
	struct range *open = &text->open;

	if (text->out.error)
		return text->out.error;
	if (open->instructions && (block->address != open->end || block->isa != open->isa))
		close_range(text, 'E');
	if (open->instructions) {
		open->end = block->address + block->size;
		open->instructions += block->instructions;
	} else {
		*open = range_of(block);
	}
	if (!continues_range(text, block))
		close_range(text, executed(taken, may_fall_through(block)));
	return text->out.error;
}

/* Of a block that has an end, for the path below: the others are joined. */
static const struct flowtap_render *rendered(struct flowtap_text *text,
					     const struct flowtap_block *block)
{
	const struct flowtap_render *line = flowtap_slot_find(&text->slot, block);

	return line ? line : render(text, block);
}

static int write_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		       uint64_t target)
{
	struct flowtap_text *text = (struct flowtap_text *)sink;
	const struct flowtap_render *line = flowtap_slot_guess(&text->slot, block);
	struct flowtap_write_buffer *out = &text->out;
	int error;

	(void)target;
	if (__builtin_expect(text->open.instructions || text->has_source, 0))
		return join(text, block, taken);
	if (__builtin_expect(line->owner != text->slot.owner, 0)) {
		if (!block->end)
			return join(text, block, taken);
		line = rendered(text, block);
		if (!line)
			return -ENOMEM;
	}
	error = flowtap_write_buffer_reserve(out, line->size);
	if (error || out->error)
		return out->error;
	flowtap_write_buffer_copy(out->bytes + out->fill, line->bytes, line->size);
	out->bytes[out->fill + (line->mark & ~MARK_FALLS_THROUGH)] =
		executed(taken, line->mark & MARK_FALLS_THROUGH);
	out->fill += line->size;
	return 0;
}

static int write_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct flowtap_text *text = (struct flowtap_text *)sink;
	char line[FLOWTAP_LINE_CAPACITY + 1];
	size_t size = flowtap_line_element(line, element);

	if (text->open.instructions)
		close_range(text, 'E');
	text->has_source = element->kind == FLOWTAP_ELEMENT_SOURCE;
	text->source = text->has_source ? element->source : 0;
	if (text->out.error || text->has_source)
		return text->out.error;
	line[size] = '\n';
	return flowtap_write_buffer_add(&text->out, line, size + 1);
}

int flowtap_text_new(int fd, struct flowtap_blocks *blocks, struct flowtap_text **text)
{
	static uint64_t kind;
	struct flowtap_text *new = calloc(1, sizeof(*new));

	*text = NULL;
	if (!new)
		return -ENOMEM;
	if (flowtap_write_buffer_init(&new->out, fd)) {
		free(new);
		return -ENOMEM;
	}
	new->sink.block = write_block;
	new->sink.element = write_element;
	new->slot = flowtap_blocks_slot(blocks, &kind);
	*text = new;
	return 0;
}

struct flowtap_sink *flowtap_text_sink(struct flowtap_text *text)
{
	return &text->sink;
}

int flowtap_text_finish(struct flowtap_text *text)
{
	if (text->open.instructions)
		close_range(text, 'E');
	return text->out.error ? text->out.error : flowtap_write_buffer_flush(&text->out);
}

void flowtap_text_free(struct flowtap_text *text)
{
	if (!text)
		return;
	flowtap_write_buffer_free(&text->out);
	free(text);
}
