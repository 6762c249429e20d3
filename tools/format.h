/* SPDX-License-Identifier: GPL-2.0-only */
/* The sink that writes what --to names. */
#ifndef FORMAT_H
#define FORMAT_H

#include "decode.h"
#include "output.h"

#include <flowtap/block.h>
#include <flowtap/stf.h>
#include <flowtap/text.h>

struct format {
	struct flowtap_sink *sink;	/* NULL: not open */
	struct flowtap_stf *stf;	/* one of them */
	struct flowtap_text *text;
};

/*
 * Writes to output, which is open. comment: lines about the trace, for those formats that can hold
 * them. blocks: where blocks come from. All zeros is one that is not open. 0 or -errno.
 */
int format_open(struct format *format, struct output *output, const struct decode_options *options,
		struct flowtap_blocks *blocks, const char *comment);
/* Writes what is left. 0 or -errno; -ENODATA: no instruction came, so there is no STF. */
int format_finish(struct format *format);
void format_free(struct format *format);

#endif /* FORMAT_H */
