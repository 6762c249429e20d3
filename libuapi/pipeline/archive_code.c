// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Splits KERNEL, SYMBOLS and FILE blocks into structure, name and content, unpacks the content
 * and gives it to the map.
 */
#include "pipeline/archive_code.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

struct code_block {
	struct flowtap_address_map *map;
	const uint8_t *payload;
	uint32_t size;
	struct flowtap_payload_codec *stored;
};

/*
 * What follows a structure of `head` bytes: a name, 0, padding to 8, and `stored` bytes that are
 * the end of the block. 0 or -EINVAL.
 */
static int split(struct code_block *block, size_t head, uint32_t name_size, uint32_t stored,
		 char name[PATH_MAX])
{
	uint64_t skip;

	if (name_size >= PATH_MAX || name_size > block->size - head)
		return -EINVAL;
	memcpy(name, block->payload + head, name_size);
	name[name_size] = 0;
	skip = (head + (uint64_t)name_size + 8) & ~7ULL;
	if (!name_size || strlen(name) != name_size || skip > block->size ||
	    block->size - skip != stored)
		return -EINVAL;
	block->stored->bytes = block->payload + skip;
	block->stored->size = stored;
	return 0;
}

static int handle_kernel(struct code_block *block)
{
	struct flowtap_archive_kernel from;
	struct flowtap_kernel_text text;
	const void *bytes = NULL;
	char name[PATH_MAX];
	int err;

	if (block->size < sizeof(from))
		return -EINVAL;
	memcpy(&from, block->payload, sizeof(from));
	err = split(block, sizeof(from), from.name_size, from.stored_size, name);
	block->stored->compression = from.compression;
	if (!err && from.part_size)
		err = flowtap_payload_unpack(block->stored, from.part_size, &bytes);
	if (err)
		return err;
	text = (struct flowtap_kernel_text) {
		.time = from.time,
		.until = from.until,
		.start = from.start,
		.size = from.size,
		.offset = from.offset,
		.part_size = from.part_size,
		.fresh = from.flags & FLOWTAP_KERNEL_NEW,
		.gone = from.flags & FLOWTAP_KERNEL_GONE,
		.name = name,
	};
	return flowtap_address_map_add_kernel(block->map, &text, bytes);
}

static int handle_symbols(struct code_block *block)
{
	struct flowtap_archive_symbols from;
	const void *text;
	int err;

	if (block->size < sizeof(from))
		return -EINVAL;
	memcpy(&from, block->payload, sizeof(from));
	block->stored->bytes = block->payload + sizeof(from);
	block->stored->size = block->size - (uint32_t)sizeof(from);
	block->stored->compression = from.compression;
	err = flowtap_payload_unpack(block->stored, from.size, &text);
	return err ? err : flowtap_address_map_add_symbols(block->map, text, from.size);
}

static int handle_file(struct code_block *block)
{
	struct flowtap_archive_file from;
	struct flowtap_bundled part;
	const void *bytes;
	char path[PATH_MAX];
	int err;

	if (block->size < sizeof(from))
		return -EINVAL;
	memcpy(&from, block->payload, sizeof(from));
	if (from.build_id_size > FLOWTAP_BUILD_ID_MAX ||
	    from.part_size > FLOWTAP_ARCHIVE_BLOCK_MAX)
		return -EINVAL;
	err = split(block, sizeof(from), from.path_size, from.stored_size, path);
	block->stored->compression = from.compression;
	if (!err)
		err = flowtap_payload_unpack(block->stored, (uint32_t)from.part_size, &bytes);
	if (err)
		return err;
	part = (struct flowtap_bundled) {
		.path = path,
		.size = from.size,
		.offset = from.offset,
		.part_size = from.part_size,
		.build_id_size = (uint8_t)from.build_id_size,
	};
	memcpy(part.build_id, from.build_id, sizeof(part.build_id));
	return flowtap_address_map_add_file(block->map, &part, bytes);
}

int flowtap_replay_code(struct flowtap_address_map *map, uint32_t type, const void *payload,
			uint32_t size, struct flowtap_payload_codec *stored)
{
	struct code_block block = { map, payload, size, stored };

	switch (type) {
	case FLOWTAP_ARCHIVE_KERNEL:
		return handle_kernel(&block);
	case FLOWTAP_ARCHIVE_SYMBOLS:
		return handle_symbols(&block);
	default:
		return handle_file(&block);
	}
}
