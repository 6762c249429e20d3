// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What the AUX records of a block name, and the blocks made of it. */
#include "capture/drain_internal.h"

#include <errno.h>
#include <string.h>

#define PADS 8192U	/* between records are the kernel's pads: to alignment, and for errata */

_Static_assert(DRAIN_AUX_MAX + sizeof(uint64_t) <= FLOWTAP_ARCHIVE_BLOCK_MAX, "a block holds it");

/* `size` bytes at `at`, out of both parts. False: there are not so many. */
static bool copy_out(const struct flowtap_buffer part[2], size_t at, void *to, size_t size)
{
	size_t first = at < part[0].size ? part[0].size - at : 0;
	size_t skip = at < part[0].size ? 0 : at - part[0].size;

	if (at > part[0].size + part[1].size || size > part[0].size + part[1].size - at)
		return false;
	if (first > size)
		first = size;
	if (first)
		memcpy(to, (const uint8_t *)part[0].bytes + at, first);
	if (first < size)
		memcpy((uint8_t *)to + first, (const uint8_t *)part[1].bytes + skip, size - first);
	return true;
}

/* After `base` and before `head`; without overwrite it does not go round the area's end. */
static bool possible(const struct flowtap_reader *reader, const struct flowtap_record_aux *record,
		     uint64_t base, uint64_t head)
{
	uint64_t ahead = record->offset - base, there = head - base;

	if (record->header.size < sizeof(*record) || ahead > there || record->size > there - ahead)
		return false;
	return reader->overwrite ||
	       record->size <= reader->aux_size - (record->offset & (reader->aux_size - 1));
}

/* More records would make a block of this one's bytes too long, or too old. */
static bool joins(const struct drain_named *named, const struct flowtap_record_aux *record,
		  uint64_t most)
{
	uint64_t begin = named->begin, end = record->offset + record->size;

	return begin == named->end ||
	       (record->offset - named->end <= PADS && end - begin <= most);
}

int drain_aux_named(const struct flowtap_reader *reader, const struct flowtap_buffer part[2],
		    uint64_t base, uint64_t head, struct drain_named *named)
{
	/* Of a full area a quarter at a time, so that there is space again early. */
	uint64_t most = reader->aux_size / 4 < DRAIN_AUX_MAX ? reader->aux_size / 4 : DRAIN_AUX_MAX;
	struct flowtap_record header;
	size_t at = 0;

	*named = (struct drain_named){ .begin = base, .end = base };
	/* What was taken is not there any more: the count has gone back. */
	if ((int64_t)(head - base) < 0)
		return -EPROTO;
	while (copy_out(part, at, &header, sizeof(header))) {
		size_t left = part[0].size + part[1].size - at;
		struct flowtap_record_aux record = { .header = header };

		if (header.size < sizeof(header) || header.size % 8 || header.size > left)
			return -EPROTO;
		if (header.type == FLOWTAP_RECORD_AUX) {
			if (header.size >= sizeof(record))
				copy_out(part, at, &record, sizeof(record));
			record.header = header;
			if (!possible(reader, &record, named->end, head))
				return -EPROTO;
			if (record.size && !joins(named, &record, most))
				break;
			if (named->begin == named->end)
				named->begin = record.offset;
			named->end = record.offset + record.size;
		}
		at += header.size;
	}
	named->records = at;
	return 0;
}

uint64_t drain_aux_piece(const struct flowtap_reader *reader, uint64_t begin, uint64_t end,
			 const void **bytes)
{
	uint64_t at = begin & (reader->aux_size - 1), size = end - begin;

	if (size > reader->aux_size - at)
		size = reader->aux_size - at;
	if (size > DRAIN_AUX_MAX)
		size = DRAIN_AUX_MAX;
	*bytes = reader->aux + at;
	return size;
}
