// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Reads and writes the fields of a single record by a table of their widths (STF 1.3,
 * "Specification of Records").
 */
#include <flowtap/stf_record.h>

#include "formats/stf/layout.h"
#include "formats/stf/records.h"

#include <errno.h>

/* Bytes of each field, and of the count of what is after them, in pieces of `unit` bytes. */
struct fields {
	uint8_t width[FLOWTAP_STF_FIELDS];
	uint8_t count;
	uint8_t unit;
};

#define ID 0xff		/* of an EVENT */

static const struct fields fields[256] = {
	[STF_VERSION] = { { 4, 4 }, 0, 0 },
	[STF_COMMENT] = { { 0 }, 4, 1 },
	[STF_ISA] = { { 2 }, 0, 0 },
	[STF_INST_IEM] = { { 2 }, 0, 0 },
	[STF_TRACE_INFO] = { { 1, 1, 1, 1 }, 2, 1 },
	[STF_TRACE_INFO_FEATURE] = { { 8 }, 0, 0 },
	[STF_PROCESS_ID_EXT] = { { 4, 4, 4 }, 0, 0 },
	[STF_FORCE_PC] = { { 8 }, 0, 0 },
	[STF_VLEN_CONFIG] = { { 4 }, 0, 0 },
	[STF_PROTOCOL_ID] = { { 1 }, 0, 0 },
	[STF_CLOCK_ID] = { { 2 }, 2, 1 },
	[STF_ISA_EXTENDED] = { { 0 }, 4, 1 },
	[STF_INST_PC_TARGET] = { { 8 }, 0, 0 },
	[STF_INST_REG] = { { 2, 1 }, 0, 0 },
	[STF_INST_READY_REG] = { { 2 }, 0, 0 },
	[STF_PAGE_TABLE_WALK] = { { 8, 8, 4 }, 1, 16 },
	[STF_INST_MEM_ACCESS] = { { 8, 2, 2, 1 }, 0, 0 },
	[STF_INST_MEM_CONTENT] = { { 8 }, 0, 0 },
	[STF_BUS_MASTER_ACCESS] = { { 8, 2, 1, 1, 4, 1 }, 0, 0 },
	[STF_BUS_MASTER_CONTENT] = { { 8 }, 0, 0 },
	[STF_EVENT] = { { ID }, 1, 8 },
	[STF_EVENT_PC_TARGET] = { { 8 }, 0, 0 },
	[STF_MICROOP] = { { 1, 4 }, 0, 0 },
	[STF_INST_32] = { { 4 }, 0, 0 },
	[STF_INST_16] = { { 2 }, 0, 0 },
	[STF_TRANSACTION] = { { 8, 8, 2 }, 0, 0 },
	[STF_DEPENDENCY] = { { 8, 8, 2 }, 0, 0 },
};

static bool exists(uint8_t descriptor)
{
	return stf_position(descriptor) != STF_POSITION_NONE;
}

static struct stf_widths widths_of(const struct flowtap_stf_sizes *sizes)
{
	return (struct stf_widths){
		.event_id = sizes->event_id == 8 ? 8 : 4,
		.vlen = sizes->vlen <= STF_VLEN_MAX ? sizes->vlen : 0,
		.protocol = sizes->protocol,
	};
}

/* Bytes of a field. */
static unsigned int width_of(const struct stf_widths *widths, uint8_t descriptor, unsigned int i)
{
	uint8_t width = fields[descriptor].width[i];

	return width == ID ? widths->event_id : width;
}

static uint8_t *write_number(uint8_t *to, uint64_t value, unsigned int width)
{
	for (; width--; value >>= 8)
		*to++ = (uint8_t)value;
	return to;
}

/* The fields and the count: 0, and how many bytes these are. */
static int write_fields(uint8_t head[64], const struct stf_widths *widths,
			const struct flowtap_stf_record *record, size_t *size)
{
	const struct fields *known = &fields[record->descriptor];
	uint64_t count = known->unit ? record->size / known->unit : 0;
	uint8_t *to = put8(head, record->descriptor);

	for (unsigned int i = 0; i < FLOWTAP_STF_FIELDS; i++) {
		unsigned int width = width_of(widths, record->descriptor, i);

		if (width < 8 && record->field[i] >> (8 * width))
			return -ERANGE;
		to = write_number(to, record->field[i], width);
	}
	if (known->unit && record->size % known->unit)
		return -EINVAL;
	if (known->count && count >> (8 * known->count))
		return -ERANGE;
	*size = (size_t)(write_number(to, count, known->count) - head);
	return 0;
}

/* Whether this is how long the readers will take it for. fixed: without record->bytes. */
static bool right_size(const struct stf_widths *widths, const struct flowtap_stf_record *record,
		       const uint8_t *head, size_t capacity, size_t fixed)
{
	if (record->descriptor == STF_TRANSACTION)
		return record->size == flowtap_stf_protocol(widths->protocol, record->bytes,
							    record->size);
	return fixed + record->size ==
	       1 + stf_payload(widths, record->descriptor, head + 1, capacity - 1);
}

int flowtap_stf_record_write(uint8_t *to, size_t capacity, const struct flowtap_stf_sizes *sizes,
			     const struct flowtap_stf_record *record, size_t *size)
{
	const struct stf_widths widths = widths_of(sizes);
	uint8_t head[64] = { 0 };
	size_t fixed;
	int error;

	if (!exists(record->descriptor))
		return -EINVAL;
	error = write_fields(head, &widths, record, &fixed);
	if (error)
		return error;
	if (!right_size(&widths, record, head, sizeof(head), fixed))
		return -EINVAL;
	*size = fixed + record->size;
	if (*size > capacity)
		return -ENOSPC;
	memcpy(to, head, fixed);
	if (record->size)
		memcpy(to + fixed, record->bytes, record->size);
	return 0;
}

/* Without what is after the fields and the count. */
static size_t fixed_size(const struct stf_widths *widths, uint8_t descriptor)
{
	size_t size = 1 + fields[descriptor].count;

	for (unsigned int i = 0; i < FLOWTAP_STF_FIELDS; i++)
		size += width_of(widths, descriptor, i);
	return size;
}

int flowtap_stf_record_parse(const uint8_t *bytes, size_t available,
			     const struct flowtap_stf_sizes *sizes,
			     struct flowtap_stf_record *record, size_t *size)
{
	const struct stf_widths widths = widths_of(sizes);
	const uint8_t *at = bytes + 1;
	uint64_t payload;

	*size = 0;
	if (!available)
		return -ENODATA;
	if (!exists(bytes[0]))
		return -EBADMSG;
	payload = stf_payload(&widths, bytes[0], at, available - 1);
	if (payload == STF_PAYLOAD_UNKNOWN)
		return -EBADMSG;
	if (payload == UINT64_MAX)
		return -ENODATA;
	*size = 1 + (size_t)payload;
	if (fixed_size(&widths, bytes[0]) > available)
		return -ENODATA;
	*record = (struct flowtap_stf_record){ .descriptor = bytes[0] };
	for (unsigned int i = 0; i < FLOWTAP_STF_FIELDS; i++) {
		unsigned int width = width_of(&widths, bytes[0], i);

		record->field[i] = stf_number(at, width);
		at += width;
	}
	at += fields[bytes[0]].count;
	record->size = (*size < available ? *size : available) - (size_t)(at - bytes);
	record->bytes = record->size ? at : NULL;
	return *size > available ? -ENODATA : 0;
}

void flowtap_stf_record_follow(struct flowtap_stf_sizes *sizes,
			       const struct flowtap_stf_record *record)
{
	if (sizes->body)
		return;
	sizes->body = record->descriptor == STF_END_HEADER;
	if (record->descriptor == STF_TRACE_INFO_FEATURE)
		sizes->event_id = record->field[0] & FEATURE_EVENT64 ? 8 : 4;
	if (record->descriptor == STF_VLEN_CONFIG)
		sizes->vlen = (uint32_t)record->field[0];
	if (record->descriptor == STF_PROTOCOL_ID)
		sizes->protocol = (uint8_t)record->field[0];
}

const char *flowtap_stf_record_name(uint8_t descriptor)
{
	return exists(descriptor) ? stf_name(descriptor) : NULL;
}
