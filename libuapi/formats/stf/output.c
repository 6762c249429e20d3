// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Writes the records of an STF so that each chunk, and the trace, ends with an opcode. */
#include "formats/stf/output.h"

#include <errno.h>
#include <stdlib.h>

int stf_output_init(struct stf_output *output, int fd, const struct flowtap_zstf_options *zstf)
{
	*output = (struct stf_output){
		.boundary = UINT64_MAX,
		.comments.most = STF_COMMENTS_MOST,
	};
	if (flowtap_write_buffer_init(&output->buffer, fd))
		return -ENOMEM;
	if (!zstf)
		return 0;
	output->boundary = zstf->markers ? zstf->markers : FLOWTAP_ZSTF_MARKERS;
	return flowtap_zstf_new(&output->buffer, zstf, &output->zstf);
}

void stf_output_free(struct stf_output *output)
{
	flowtap_zstf_free(output->zstf);
	flowtap_write_buffer_free(&output->buffer);
	stf_comments_free(&output->comments);
}

int stf_output_add(struct stf_output *output, const void *records, size_t size)
{
	output->last_opcode = 0;
	return flowtap_write_buffer_add(&output->buffer, records, size);
}

int stf_output_opcode(struct stf_output *output, const uint8_t *record, size_t size)
{
	output->instructions++;
	if (output->holds) {
		memcpy(output->opcode, record, size);
		output->opcode_size = (uint8_t)size;
		return output->buffer.error;
	}
	output->last_opcode = (uint32_t)size;
	return flowtap_write_buffer_add(&output->buffer, record, size);
}

int stf_output_comments(struct stf_output *output, const uint8_t *records, size_t size)
{
	if (output->holds && stf_comments_reserve(&output->comments, size))
		stf_output_release(output);
	if (!output->holds)
		return size ? stf_output_add(output, records, size) : output->buffer.error;
	stf_comments_add(&output->comments, records, size);
	return output->buffer.error;
}

int stf_output_comment(struct stf_output *output, const char *text, size_t size)
{
	uint8_t head[COMMENT_HEAD];

	if (output->holds && stf_comments_reserve(&output->comments, COMMENT_HEAD + size))
		stf_output_release(output);
	put32(put8(head, STF_COMMENT), (uint32_t)size);
	stf_output_comments(output, head, sizeof(head));
	return stf_output_comments(output, (const uint8_t *)text, size);
}

void stf_output_begin_comments(struct stf_output *output)
{
	struct flowtap_write_buffer *buffer = &output->buffer;
	const uint32_t size = output->last_opcode;

	if (output->holds)
		return;
	if (!size || buffer->fill < size) {
		stf_output_begin_group(output, output->pc);
		return;
	}
	buffer->fill -= size;
	memcpy(output->opcode, buffer->bytes + buffer->fill, size);
	output->opcode_size = (uint8_t)size;
	output->last_opcode = 0;
	output->holds = true;
}

bool stf_output_await_opcode(struct stf_output *output, size_t size)
{
	if (stf_comments_reserve(&output->comments, COMMENT_HEAD + size))
		return false;
	output->holds = true;
	return true;
}

void stf_output_release(struct stf_output *output)
{
	if (!output->holds)
		return;
	output->holds = false;
	stf_output_add(output, output->opcode, output->opcode_size);
	stf_output_begin_group(output, output->pc);
	stf_output_add(output, output->comments.bytes, output->comments.size);
	output->opcode_size = 0;
	output->comments.size = 0;
}

int stf_output_finish(struct stf_output *output)
{
	if (output->holds) {
		output->holds = false;
		stf_output_comment(output, COMMENT_AFTER, sizeof(COMMENT_AFTER) - 1);
		stf_output_add(output, output->comments.bytes, output->comments.size);
		stf_output_add(output, output->opcode, output->opcode_size);
	}
	return output->zstf ? flowtap_zstf_finish(output->zstf) :
			      flowtap_write_buffer_flush(&output->buffer);
}
