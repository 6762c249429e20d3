/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sink with a trace of its own for each thread, process or CPU: OUT with its number in the name.
 */
#ifndef FLOWTAP_TOOLS_DECODE_SPLIT_H
#define FLOWTAP_TOOLS_DECODE_SPLIT_H

#include "common/format.h"
#include "common/output_file.h"
#include "decode/decode.h"

#include <flowtap/block.h>
#include <flowtap/flow.h>
#include <stddef.h>
#include <stdint.h>

/* Each has a file that is open. */
#define SPLIT_MAX OUTPUT_PARTS_MAX

struct split_part {
	uint32_t number;		/* tid, pid or CPU */
	uint64_t instructions;
	uint64_t bytes;			/* of the file, when it is whole */
	char *path;
	bool written;			/* the file is there */
	struct output output;
	struct format format;
};

struct split {
	struct flowtap_sink sink;	/* first */
	const struct decode_options *options;
	const struct format_request *request;
	struct flowtap_blocks *blocks;
	const char *comment;
	void *parts;			/* tree (search.h) */
	struct split_part **list;	/* as they came */
	size_t n;
	struct flowtap_context context;
	bool has_context;
	struct left_out left_out;	/* of all that were finished */
	int error;			/* what ended it: of those that are not finished */
	struct split_part *part;	/* of the context; NULL: not opened yet */
};

/* options (with split), request, blocks and comment (as format_open takes it) are borrowed. */
void split_init(struct split *split, const struct decode_options *options,
		const struct format_request *request, struct flowtap_blocks *blocks,
		const char *comment);
/*
 * Finishes all files. Those without an instruction are left out, but for the flow. 0; -ENODATA:
 * none is left; -errno of the first that failed: those before it are written.
 */
int split_finish(struct split *split);
/* Removes what is not finished. */
void split_free(struct split *split);

#endif /* FLOWTAP_TOOLS_DECODE_SPLIT_H */
