/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Blocks that bring code, into the map: KERNEL, SYMBOLS, FILE. */
#ifndef FLOWTAP_LIBUAPI_PIPELINE_ARCHIVE_CODE_H
#define FLOWTAP_LIBUAPI_PIPELINE_ARCHIVE_CODE_H

#include <flowtap/address_map.h>

#include "formats/archive/compression.h"

/*
 * One of the three types. stored: its buffer is used from call to call. 0; -EINVAL: the block
 * contradicts itself or one before it; -EFBIG: more than can be held; -ENOMEM.
 */
int flowtap_replay_code(struct flowtap_address_map *map, uint32_t type, const void *payload,
			uint32_t size, struct flowtap_payload_codec *stored);

#endif /* FLOWTAP_LIBUAPI_PIPELINE_ARCHIVE_CODE_H */
