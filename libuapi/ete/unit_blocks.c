// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The block caches of several trace units. */
#include "ete/unit_blocks.h"

#include <flowtap/arm.h>

#define OTHER_LIMIT (64U << 20)

flowtap_block_decode flowtap_ete_block_decode(bool wfx)
{
	return wfx ? flowtap_arm_block_wfx : flowtap_arm_block;
}

struct flowtap_blocks *flowtap_ete_unit_blocks(struct ete_unit_blocks *unit_blocks,
					       const struct flowtap_ete_config *config)
{
	bool wfx = flowtap_ete_wfx_is_p0(config);

	if (wfx == unit_blocks->wfx)
		return unit_blocks->blocks;
	if (!unit_blocks->other)
		unit_blocks->other = flowtap_blocks_new(flowtap_ete_block_decode(wfx), OTHER_LIMIT);
	return unit_blocks->other;
}

void flowtap_ete_unit_blocks_free(struct ete_unit_blocks *unit_blocks)
{
	flowtap_blocks_free(unit_blocks->other);
	unit_blocks->other = NULL;
}
