/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The block caches of several trace units. In some WFE and WFI are P0 elements and end blocks, in
 * others they are not (TRCIDR2.WFXMODE): blocks of the one kind are none of the other.
 */
#ifndef FLOWTAP_LIBUAPI_ETE_UNIT_BLOCKS_H
#define FLOWTAP_LIBUAPI_ETE_UNIT_BLOCKS_H

#include <flowtap/block.h>
#include <flowtap/ete.h>

/* What cuts the code of a trace unit of this kind into blocks. */
flowtap_block_decode flowtap_ete_block_decode(bool wfx);
/*
 * The cache for a trace unit: `blocks`, or one that belongs to it, of 64 MiB. NULL: no memory.
 */
struct flowtap_blocks *flowtap_ete_unit_blocks(struct flowtap_blocks *blocks,
					       const struct flowtap_ete_config *config);

#endif /* FLOWTAP_LIBUAPI_ETE_UNIT_BLOCKS_H */
