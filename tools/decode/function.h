/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions by how hot they are. Samples come at equal distances of the event, or of time, so the
 * share of samples is the share of that. Where there are none that do, instructions count. The instructions reconstructed are not: the same number of
 * transfers spans more of them where there are fewer branches.
 */
#ifndef FUNCTION_H
#define FUNCTION_H

#include "decode/profile.h"

#include <flowtap/block.h>
#include <flowtap/image.h>
#include <stddef.h>
#include <stdint.h>

struct function {
	const char *name;	/* NULL: the file has no symbol for it */
	const char *path;	/* NULL: not known any more */
	uint64_t hits;		/* samples that an event or the time triggered in it */
	uint64_t instructions;	/* of it that were reconstructed */
};

/* All that were hit or executed, the hottest first; malloc'ed, NULL: none, or no memory. */
struct function *functions_of(struct flowtap_blocks *blocks, const struct profile *profile,
			      size_t *n);

#endif /* FUNCTION_H */
