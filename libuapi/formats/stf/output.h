/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The records of an STF on their way out, plain or .zstf: chunks end between groups, and the last
 * record is an opcode.
 *
 * Comments that may have no instruction after them are held back with the opcode before them,
 * until the next instruction comes or the trace ends.
 */
#ifndef FLOWTAP_LIBUAPI_FORMATS_STF_OUTPUT_H
#define FLOWTAP_LIBUAPI_FORMATS_STF_OUTPUT_H

#include <flowtap/zstf.h>
#include <stdbool.h>

#include "base/write_buffer.h"
#include "formats/stf/comments.h"
#include "formats/stf/records.h"
#include "formats/zstf/writer.h"

struct stf_output {
	struct flowtap_write_buffer buffer;
	uint64_t pc;			/* where a reader believes the next instruction to be */
	uint64_t instructions;		/* opcodes that are written or held back */
	uint64_t boundary;		/* instructions at which the chunk is full; UINT64_MAX never */
	uint32_t last_opcode;		/* size of the last record in `buffer`; 0: it is no opcode */
	bool holds;			/* `opcode` and `comments` come next */
	uint8_t opcode_size;		/* 0: it is still to come */
	uint8_t opcode[OPCODE_MAX];
	struct stf_comments comments;
	struct flowtap_zstf *zstf;	/* NULL: not compressed */
};

/*
 * To be freed in any case. fd is borrowed. zstf: options, or NULL for a plain file. 0, or an error
 * of flowtap_stf_new.
 */
int stf_output_init(struct stf_output *output, int fd, const struct flowtap_zstf_options *zstf);
/* Does not write. */
void stf_output_free(struct stf_output *output);

/*
 * To be called before the first record that belongs to the instruction at `pc`: a chunk that is
 * full ends here.
 */
static inline void stf_output_begin_group(struct stf_output *output, uint64_t pc)
{
	if (output->instructions != output->boundary)
		return;
	flowtap_zstf_cut(output->zstf, pc);
	output->boundary += flowtap_zstf_markers(output->zstf);
}

/*
 * The header was put, and ends here: in a .zstf it can be read without what comes after it. 0 or
 * -errno of write.
 */
static inline int stf_output_end_header(struct stf_output *output)
{
	if (output->zstf)
		flowtap_zstf_set_apart(output->zstf);
	return output->buffer.error;
}

/* Records that are neither an opcode nor a comment. 0 or -errno of write, as of the others. */
int stf_output_add(struct stf_output *output, const void *records, size_t size);
/* One opcode, of `size` bytes with its descriptor. */
int stf_output_opcode(struct stf_output *output, const uint8_t *record, size_t size);
/* A comment before the next opcode; it is held back where others are. */
int stf_output_comment(struct stf_output *output, const char *text, size_t size);
/* The same of whole records that need no opcode after them. */
int stf_output_comments(struct stf_output *output, const uint8_t *records, size_t size);

/*
 * Comments follow. The opcode before them is taken back until the next instruction comes. Where
 * the last record is none a chunk that is full ends here.
 */
void stf_output_begin_comments(struct stf_output *output);
/*
 * Comments follow that are after the next opcode. false: there is no space for one of `size`
 * bytes, and nothing has changed.
 */
bool stf_output_await_opcode(struct stf_output *output, size_t size);
/* What is held back is written: another instruction comes next. Its own opcode is there. */
void stf_output_release(struct stf_output *output);

/*
 * What is held back comes before the opcode that it is after, so that this is the last record:
 * stf_recompress leaves out a chunk that ends with a comment. Then all is written. 0 or -errno of
 * write.
 */
int stf_output_finish(struct stf_output *output);

#endif /* FLOWTAP_LIBUAPI_FORMATS_STF_OUTPUT_H */
