// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The block caches of several trace units. */
#include "ete/unit_blocks.h"

#include <flowtap/arm.h>

#define OTHER_LIMIT (64U << 20)

flowtap_block_decode flowtap_ete_block_decode(bool wfx)
{
	return wfx ? flowtap_arm_block_wfx : flowtap_arm_block;
}

struct flowtap_blocks *flowtap_ete_unit_blocks(struct flowtap_blocks *blocks,
					       const struct flowtap_ete_config *config)
{
	return flowtap_blocks_of(blocks, flowtap_ete_block_decode(flowtap_ete_wfx_is_p0(config)),
				 OTHER_LIMIT);
}
