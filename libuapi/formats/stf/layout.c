// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The table of STF's records: fixed size, counted parts and permitted position of each (STF 1.3,
 * "Specification of Records").
 */
#include "formats/stf/layout.h"

#include "formats/stf/records.h"

/* A counted part: a number of `width` bytes at `at`, of pieces of `unit` bytes. width 0: none. */
struct layout {
	const char *name;
	uint8_t position;
	uint8_t size;		/* bytes that are always there */
	uint8_t at;
	uint8_t width;
	uint8_t unit;
};

static const struct layout layouts[256] = {
	[STF_IDENTIFIER] = { "IDENTIFIER", STF_POSITION_HEADER, 3, 0, 0, 0 },
	[STF_VERSION] = { "VERSION", STF_POSITION_HEADER, 8, 0, 0, 0 },
	[STF_COMMENT] = { "COMMENT", STF_POSITION_ANY, 4, 0, 4, 1 },
	[STF_ISA] = { "ISA", STF_POSITION_HEADER, 2, 0, 0, 0 },
	[STF_INST_IEM] = { "INST_IEM", STF_POSITION_HEADER, 2, 0, 0, 0 },
	[STF_TRACE_INFO] = { "TRACE_INFO", STF_POSITION_HEADER, 6, 4, 2, 1 },
	[STF_TRACE_INFO_FEATURE] = { "TRACE_INFO_FEATURE", STF_POSITION_HEADER, 8, 0, 0, 0 },
	[STF_PROCESS_ID_EXT] = { "PROCESS_ID_EXT", STF_POSITION_ANY, 12, 0, 0, 0 },
	[STF_FORCE_PC] = { "FORCE_PC", STF_POSITION_ANY, 8, 0, 0, 0 },
	[STF_VLEN_CONFIG] = { "VLEN_CONFIG", STF_POSITION_HEADER, 4, 0, 0, 0 },
	[STF_PROTOCOL_ID] = { "PROTOCOL_ID", STF_POSITION_HEADER, 1, 0, 0, 0 },
	[STF_CLOCK_ID] = { "CLOCK_ID", STF_POSITION_HEADER, 4, 2, 2, 1 },
	[STF_ISA_EXTENDED] = { "ISA_EXTENDED", STF_POSITION_HEADER, 4, 0, 4, 1 },
	[STF_END_HEADER] = { "END_HEADER", STF_POSITION_HEADER, 0, 0, 0, 0 },
	[STF_INST_PC_TARGET] = { "INST_PC_TARGET", STF_POSITION_GROUP, 8, 0, 0, 0 },
	[STF_INST_REG] = { "INST_REG", STF_POSITION_GROUP, 3, 0, 0, 0 },
	[STF_INST_READY_REG] = { "INST_READY_REG", STF_POSITION_GROUP, 2, 0, 0, 0 },
	[STF_PAGE_TABLE_WALK] = { "PAGE_TABLE_WALK", STF_POSITION_GROUP, 21, 20, 1, 16 },
	[STF_INST_MEM_ACCESS] = { "INST_MEM_ACCESS", STF_POSITION_GROUP, 13, 0, 0, 0 },
	[STF_INST_MEM_CONTENT] = { "INST_MEM_CONTENT", STF_POSITION_GROUP, 8, 0, 0, 0 },
	[STF_BUS_MASTER_ACCESS] = { "BUS_MASTER_ACCESS", STF_POSITION_GROUP, 17, 0, 0, 0 },
	[STF_BUS_MASTER_CONTENT] = { "BUS_MASTER_CONTENT", STF_POSITION_GROUP, 8, 0, 0, 0 },
	[STF_EVENT] = { "EVENT", STF_POSITION_GROUP, 0, 0, 0, 0 },
	[STF_EVENT_PC_TARGET] = { "EVENT_PC_TARGET", STF_POSITION_GROUP, 8, 0, 0, 0 },
	[STF_MICROOP] = { "MICROOP", STF_POSITION_GROUP, 5, 0, 0, 0 },
	[STF_INST_32] = { "INST_32", STF_POSITION_OPCODE, 4, 0, 0, 0 },
	[STF_INST_16] = { "INST_16", STF_POSITION_OPCODE, 2, 0, 0, 0 },
	[STF_TRANSACTION] = { "TRANSACTION", STF_POSITION_TRANSACTION, 18, 0, 0, 0 },
	[STF_DEPENDENCY] = { "DEPENDENCY", STF_POSITION_TRANSACTION, 18, 0, 0, 0 },
};

/*
 * TileLink, the one protocol there is: u8 channel, then what this channel has, as stf_lib writes it
 * (source: its protocols/tilelink.hpp). Numbers are u64, but for the first three of a message,
 * which are u8; data are u16 n and n bytes, a mask is u16 n and n bits.
 */
#define TILELINK 1
#define TILELINK_MESSAGE (1 + 1 + 1 + 8U)	/* code, param, size, source */

static const struct {
	bool message;		/* and data; then, in this order: */
	bool address;
	bool mask;
	bool sink;
} tilelink_channels[] = {
	[1] = { .message = true, .address = true, .mask = true },	/* A */
	[2] = { .message = true, .address = true, .mask = true },	/* B */
	[3] = { .message = true, .address = true },			/* C */
	[4] = { .message = true, .sink = true },			/* D */
	[5] = { .sink = true },						/* E */
};

const char *flowtap_stf_name(uint8_t descriptor)
{
	return layouts[descriptor].name;
}

enum stf_position flowtap_stf_position(uint8_t descriptor)
{
	return layouts[descriptor].position;
}

static uint64_t counted(const uint8_t *payload, size_t available, size_t size, size_t at,
			unsigned int width, unsigned int unit)
{
	if (available < at + width)
		return UINT64_MAX;
	return size + stf_number(payload + at, width) * unit;
}

/* Where what follows the u16 at `at` ends: it counts pieces of `unit` bits. */
static uint64_t end_after(const uint8_t *data, size_t available, uint64_t at, unsigned int unit)
{
	if (at > available || available - at < 2)
		return UINT64_MAX;
	return at + 2 + (stf_number(data + at, 2) * unit + 7) / 8;
}

uint64_t flowtap_stf_protocol(unsigned int protocol, const uint8_t *data, size_t available)
{
	const size_t channels = sizeof(tilelink_channels) / sizeof(tilelink_channels[0]);
	uint64_t size = 1;
	uint8_t channel;

	if (!available)
		return UINT64_MAX;
	channel = data[0];
	if (protocol != TILELINK || !channel || channel >= channels)
		return STF_PAYLOAD_UNKNOWN;
	if (tilelink_channels[channel].message)
		size = end_after(data, available, size + TILELINK_MESSAGE, 8);
	if (size == UINT64_MAX)
		return size;
	size += tilelink_channels[channel].address ? 8 : 0;
	if (tilelink_channels[channel].mask)
		return end_after(data, available, size, 1);
	return size + (tilelink_channels[channel].sink ? 8 : 0);
}

static uint64_t transaction(unsigned int protocol, const uint8_t *payload, size_t available,
			    size_t size)
{
	uint64_t rest = available < size ? UINT64_MAX :
					   flowtap_stf_protocol(protocol, payload + size,
								available - size);

	return rest < STF_PAYLOAD_UNKNOWN ? size + rest : rest;
}

uint64_t flowtap_stf_payload(const struct stf_widths *widths, uint8_t descriptor,
			     const uint8_t *payload, size_t available)
{
	const struct layout *layout = &layouts[descriptor];

	if (descriptor == STF_EVENT)
		return counted(payload, available, widths->event_id + 1, widths->event_id, 1, 8);
	if (descriptor == STF_TRANSACTION)
		return transaction(widths->protocol, payload, available, layout->size);
	if (descriptor == STF_INST_REG) {
		/* u16 register, u8 operand and type; type 3 is a vector register. */
		if (available < 3)
			return UINT64_MAX;
		if ((payload[2] & 0xf) != 3 || !widths->vlen)
			return 3 + 8;
		return 3 + ((uint64_t)widths->vlen + 63) / 64 * 8;
	}
	if (!layout->width)
		return layout->size;
	return counted(payload, available, layout->size, layout->at, layout->width, layout->unit);
}
