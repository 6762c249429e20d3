// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <flowtap/block.h>
#include <flowtap/text.h>

#include "line.h"
#include "out.h"

#include <errno.h>
#include <stdlib.h>

/* A range with its newline: "range ", two addresses, a count, an ISA and E or N. */
#define RANGE_MAX 64
_Static_assert(sizeof("range ") + 17 + 17 + 11 + sizeof("RV64 E\n") <= RANGE_MAX, "a range fits");

struct flowtap_text {
	struct flowtap_sink sink;
	struct flowtap_out out;
	struct flowtap_blocks *blocks;
};

/* The line as it is when the last instruction was taken; mark is where E stands. */
static int render(struct flowtap_text *text, const struct flowtap_block *block)
{
	/* The slot is the sink's: what it holds is no part of the block's value. */
	struct flowtap_render *slot = (void *)&block->render[FLOWTAP_RENDER_FLOW];
	char *bytes = calloc(1, flowtap_out_padded(RANGE_MAX));
	struct flowtap_line line = { .at = bytes, .end = bytes + RANGE_MAX };

	if (!bytes)
		return -ENOMEM;
	flowtap_line_string(&line, "range ");
	flowtap_line_hex(&line, block->address);
	flowtap_line_string(&line, " ");
	flowtap_line_hex(&line, block->address + block->size);
	flowtap_line_string(&line, " ");
	flowtap_line_decimal(&line, block->instructions);
	flowtap_line_string(&line, " ");
	flowtap_line_string(&line, flowtap_isa_name(block->isa));
	flowtap_line_string(&line, " E\n");
	slot->bytes = bytes;
	slot->size = line.at - bytes;
	slot->mark = slot->size - 2;
	if (text->blocks)
		flowtap_blocks_charge(text->blocks, flowtap_out_padded(RANGE_MAX));
	return 0;
}

static int put_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		     uint64_t target)
{
	struct flowtap_text *text = (struct flowtap_text *)sink;
	const struct flowtap_render *line = &block->render[FLOWTAP_RENDER_FLOW];
	struct flowtap_out *out = &text->out;
	int error;

	(void)target;
	if (!line->bytes) {
		error = render(text, block);
		if (error)
			return error;
	}
	error = flowtap_out_need(out, line->size);
	if (error || out->error)
		return out->error;
	flowtap_out_copy(out->bytes + out->fill, line->bytes, line->size);
	out->bytes[out->fill + line->mark] = (taken | !block->conditional) ? 'E' : 'N';
	out->fill += line->size;
	return 0;
}

static int put_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct flowtap_text *text = (struct flowtap_text *)sink;
	char line[FLOWTAP_LINE_ROOM + 1];
	size_t size = flowtap_line_element(line, element);

	if (text->out.error)
		return text->out.error;
	line[size] = '\n';
	return flowtap_out_put(&text->out, line, size + 1);
}

int flowtap_text_new(int fd, struct flowtap_blocks *blocks, struct flowtap_text **text)
{
	struct flowtap_text *new = calloc(1, sizeof(*new));

	*text = NULL;
	if (!new)
		return -ENOMEM;
	if (flowtap_out_init(&new->out, fd)) {
		free(new);
		return -ENOMEM;
	}
	new->sink.block = put_block;
	new->sink.element = put_element;
	new->blocks = blocks;
	*text = new;
	return 0;
}

struct flowtap_sink *flowtap_text_sink(struct flowtap_text *text)
{
	return &text->sink;
}

int flowtap_text_finish(struct flowtap_text *text)
{
	return flowtap_out_flush(&text->out);
}

void flowtap_text_free(struct flowtap_text *text)
{
	if (!text)
		return;
	flowtap_out_free(&text->out);
	free(text);
}
