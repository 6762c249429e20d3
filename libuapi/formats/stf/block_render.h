/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The records that a block becomes, made once and kept with it. */
#ifndef FLOWTAP_LIBUAPI_FORMATS_STF_BLOCK_RENDER_H
#define FLOWTAP_LIBUAPI_FORMATS_STF_BLOCK_RENDER_H

#include <flowtap/block.h>

#include "isa/block_end.h"

/*
 * flowtap_render.mark: the offset of the target, the ISA, and whether the last instruction is one
 * of those of which there may be more to say, or less, than where a branch goes.
 */
#define STF_MARK_TARGET	0xffffffU
#define STF_MARK_ISA	24		/* above that, so that one comparison finds the two last */
#define STF_MARK_APART	(1U << 31)

/* What writers and readers have in common: a block's records are the same for each of them. */
struct flowtap_slot flowtap_stf_slot(struct flowtap_blocks *blocks);

/*
 * The block's rendering, made unless that was done; *rendered is NULL where the block is too long
 * for that. 0; -EINVAL: it is not what it claims to be; -ENOMEM.
 */
int flowtap_stf_render(const struct flowtap_block *block, struct flowtap_slot *slot,
		       const struct flowtap_render **rendered);

#endif /* FLOWTAP_LIBUAPI_FORMATS_STF_BLOCK_RENDER_H */
