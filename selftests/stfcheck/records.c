// SPDX-License-Identifier: GPL-2.0-only
/* A table of all STF records by descriptor: position, fixed size and counted part. */
#include "records.h"
#include "stfcheck.h"

/* size: without what is counted. count_width 0: nothing is. */
struct kind {
	const char *name;
	uint8_t place;
	uint8_t size;
	uint8_t count_at;
	uint8_t count_width;
	uint8_t unit;
};

static const struct kind kinds[256] = {
	[RECORD_IDENTIFIER] = { "IDENTIFIER", PLACE_HEADER, 3, 0, 0, 0 },
	[RECORD_VERSION] = { "VERSION", PLACE_HEADER, 8, 0, 0, 0 },
	[RECORD_COMMENT] = { "COMMENT", PLACE_ANY, 4, 0, 4, 1 },
	[RECORD_ISA] = { "ISA", PLACE_HEADER, 2, 0, 0, 0 },
	[RECORD_IEM] = { "INST_IEM", PLACE_HEADER, 2, 0, 0, 0 },
	[RECORD_TRACE_INFO] = { "TRACE_INFO", PLACE_HEADER, 6, 4, 2, 1 },
	[RECORD_FEATURE] = { "TRACE_INFO_FEATURE", PLACE_HEADER, 8, 0, 0, 0 },
	[RECORD_PROCESS] = { "PROCESS_ID_EXT", PLACE_ANY, 12, 0, 0, 0 },
	[RECORD_FORCE_PC] = { "FORCE_PC", PLACE_ANY, 8, 0, 0, 0 },
	[RECORD_VLEN] = { "VLEN_CONFIG", PLACE_HEADER, 4, 0, 0, 0 },
	[RECORD_PROTOCOL] = { "PROTOCOL_ID", PLACE_HEADER, 1, 0, 0, 0 },
	[RECORD_CLOCK] = { "CLOCK_ID", PLACE_HEADER, 4, 2, 2, 1 },
	[RECORD_ISA_EXTENDED] = { "ISA_EXTENDED", PLACE_HEADER, 4, 0, 4, 1 },
	[RECORD_END_HEADER] = { "END_HEADER", PLACE_HEADER, 0, 0, 0, 0 },
	[RECORD_PC_TARGET] = { "INST_PC_TARGET", PLACE_GROUP, 8, 0, 0, 0 },
	[RECORD_REG] = { "INST_REG", PLACE_GROUP, 3, 0, 0, 0 },
	[RECORD_READY_REG] = { "INST_READY_REG", PLACE_GROUP, 2, 0, 0, 0 },
	[RECORD_PAGE_TABLE] = { "PAGE_TABLE_WALK", PLACE_GROUP, 21, 20, 1, 16 },
	[RECORD_MEM_ACCESS] = { "INST_MEM_ACCESS", PLACE_GROUP, 13, 0, 0, 0 },
	[RECORD_MEM_CONTENT] = { "INST_MEM_CONTENT", PLACE_GROUP, 8, 0, 0, 0 },
	[RECORD_BUS_ACCESS] = { "BUS_MASTER_ACCESS", PLACE_GROUP, 17, 0, 0, 0 },
	[RECORD_BUS_CONTENT] = { "BUS_MASTER_CONTENT", PLACE_GROUP, 8, 0, 0, 0 },
	[RECORD_EVENT] = { "EVENT", PLACE_GROUP, 0, 0, 0, 0 },
	[RECORD_EVENT_PC_TARGET] = { "EVENT_PC_TARGET", PLACE_GROUP, 8, 0, 0, 0 },
	[RECORD_MICROOP] = { "MICROOP", PLACE_GROUP, 5, 0, 0, 0 },
	[RECORD_INST_32] = { "INST_32", PLACE_OPCODE, 4, 0, 0, 0 },
	[RECORD_INST_16] = { "INST_16", PLACE_OPCODE, 2, 0, 0, 0 },
	[RECORD_TRANSACTION] = { "TRANSACTION", PLACE_BETWEEN, 18, 0, 0, 0 },
	[RECORD_DEPENDENCY] = { "DEPENDENCY", PLACE_BETWEEN, 18, 0, 0, 0 },
};

const char *stfcheck_name(uint8_t descriptor)
{
	return kinds[descriptor].name;
}

int record_place(uint8_t descriptor)
{
	return kinds[descriptor].place;
}

static uint64_t counted(uint64_t size, const uint8_t *payload, size_t available, size_t count_at,
			unsigned int count_width, unsigned int unit)
{
	if (available < count_at + count_width)
		return UINT64_MAX;
	return size + get(payload + count_at, count_width) * unit;
}

/* u16 n, n bits. */
static uint64_t bits(uint64_t size, const uint8_t *payload, size_t available)
{
	if (available < size + 2)
		return UINT64_MAX;
	return size + 2 + (get(payload + size, 2) + 7) / 8;
}

/* u16 register, u8 operand and type; a vector register's value is as long as vectors are. */
static uint64_t register_size(const struct record_widths *widths, const uint8_t *payload,
			      size_t available, const char **reason)
{
	if (available < 3)
		return UINT64_MAX;
	if ((payload[2] & 15) != 3)
		return 3 + 8;
	if (!widths->vlen)
		*reason = "vector register without VLEN_CONFIG";
	return 3 + ((uint64_t)widths->vlen + 63) / 64 * 8;
}

/*
 * u64 id, u64 delta, u16 clock, then what the protocol says. TileLink (1): u8 channel, and for A
 * to D u8 code, u8 param, u8 size, u64 source, u16 n, n bytes; for A to C u64 address; for A and
 * B u16 n, n bits; for D and E u64 sink.
 */
static uint64_t transaction_size(const struct record_widths *widths, const uint8_t *payload,
				 size_t available, const char **reason)
{
	uint64_t size = 19;
	uint8_t channel;

	if (available < size)
		return UINT64_MAX;
	channel = payload[18];
	if (widths->protocol != 1 || !channel || channel > 5) {
		*reason = "transaction of an unknown protocol or channel";
		return 0;
	}
	if (channel < 5)
		size = counted(size + 13, payload, available, size + 11, 2, 1);
	if (size > available)
		return UINT64_MAX;
	if (channel < 4)
		size += 8;
	if (channel < 3)
		return bits(size, payload, available);
	return channel < 4 ? size : size + 8;
}

uint64_t record_size(const struct record_widths *widths, uint8_t descriptor, const uint8_t *payload,
		     size_t available, const char **reason)
{
	const struct kind *kind = &kinds[descriptor];

	switch (descriptor) {
	case RECORD_EVENT:
		return counted(widths->event_id + 1, payload, available, widths->event_id, 1, 8);
	case RECORD_REG:
		return register_size(widths, payload, available, reason);
	case RECORD_TRANSACTION:
		return transaction_size(widths, payload, available, reason);
	default:
		if (!kind->count_width)
			return kind->size;
		return counted(kind->size, payload, available, kind->count_at, kind->count_width,
			       kind->unit);
	}
}
