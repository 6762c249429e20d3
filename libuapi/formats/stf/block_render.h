/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The records that a block becomes, made once and kept with it. */
#ifndef FLOWTAP_STF_RENDER_H
#define FLOWTAP_STF_RENDER_H

#include <flowtap/block.h>

#include "isa/block_end.h"

/*
 * flowtap_render.mark: the offset of the target, and whether the last instruction is one of those
 * of which there may be more to say, or less, than where a branch goes.
 */
#define STF_MARK_TARGET	0xffffffU
#define STF_MARK_APART	(1U << 31)

/*
 * Renders the block unless that was done, or it is too long for that. blocks: charged for it; may
 * be NULL. 0; -EINVAL: it is not what it claims to be; -ENOMEM.
 */
int flowtap_stf_render(const struct flowtap_block *block, struct flowtap_blocks *blocks);

#endif /* FLOWTAP_STF_RENDER_H */
