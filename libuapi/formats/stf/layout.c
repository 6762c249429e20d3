// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The table of STF's records: fixed size, counted parts and permitted position of each (STF 1.3,
 * "Specification of Records").
 */
#include "formats/stf/layout.h"

#include "formats/stf/records.h"

#define FIXED(position, size) STF_POSITION_ ## position, STF_LENGTH_FIXED, size, 0, 0, 0
#define COUNTED(position, size, at, width, unit) \
	STF_POSITION_ ## position, STF_LENGTH_COUNTED, size, at, width, unit
#define OWN(position, size) STF_POSITION_ ## position, STF_LENGTH_OWN, size, 0, 0, 0

const struct stf_layout flowtap_stf_layouts[256] = {
	[STF_IDENTIFIER] = { "IDENTIFIER", FIXED(HEADER, 3) },
	[STF_VERSION] = { "VERSION", FIXED(HEADER, 8) },
	[STF_COMMENT] = { "COMMENT", COUNTED(ANY, 4, 0, 4, 1) },
	[STF_ISA] = { "ISA", FIXED(HEADER, 2) },
	[STF_INST_IEM] = { "INST_IEM", FIXED(HEADER, 2) },
	[STF_TRACE_INFO] = { "TRACE_INFO", COUNTED(HEADER, 6, 4, 2, 1) },
	[STF_TRACE_INFO_FEATURE] = { "TRACE_INFO_FEATURE", FIXED(HEADER, 8) },
	[STF_PROCESS_ID_EXT] = { "PROCESS_ID_EXT", FIXED(ANY, 12) },
	[STF_FORCE_PC] = { "FORCE_PC", FIXED(ANY, 8) },
	[STF_VLEN_CONFIG] = { "VLEN_CONFIG", FIXED(HEADER, 4) },
	[STF_PROTOCOL_ID] = { "PROTOCOL_ID", FIXED(HEADER, 1) },
	[STF_CLOCK_ID] = { "CLOCK_ID", COUNTED(HEADER, 4, 2, 2, 1) },
	[STF_ISA_EXTENDED] = { "ISA_EXTENDED", COUNTED(HEADER, 4, 0, 4, 1) },
	[STF_END_HEADER] = { "END_HEADER", FIXED(HEADER, 0) },
	[STF_INST_PC_TARGET] = { "INST_PC_TARGET", FIXED(GROUP, 8) },
	[STF_INST_REG] = { "INST_REG", OWN(GROUP, 3) },
	[STF_INST_READY_REG] = { "INST_READY_REG", FIXED(GROUP, 2) },
	[STF_PAGE_TABLE_WALK] = { "PAGE_TABLE_WALK", COUNTED(GROUP, 21, 20, 1, 16) },
	[STF_INST_MEM_ACCESS] = { "INST_MEM_ACCESS", FIXED(GROUP, 13) },
	[STF_INST_MEM_CONTENT] = { "INST_MEM_CONTENT", FIXED(GROUP, 8) },
	[STF_BUS_MASTER_ACCESS] = { "BUS_MASTER_ACCESS", FIXED(GROUP, 17) },
	[STF_BUS_MASTER_CONTENT] = { "BUS_MASTER_CONTENT", FIXED(GROUP, 8) },
	[STF_EVENT] = { "EVENT", OWN(GROUP, 0) },
	[STF_EVENT_PC_TARGET] = { "EVENT_PC_TARGET", FIXED(GROUP, 8) },
	[STF_MICROOP] = { "MICROOP", FIXED(GROUP, 5) },
	[STF_INST_32] = { "INST_32", FIXED(OPCODE, 4) },
	[STF_INST_16] = { "INST_16", FIXED(OPCODE, 2) },
	[STF_TRANSACTION] = { "TRANSACTION", OWN(TRANSACTION, 18) },
	[STF_DEPENDENCY] = { "DEPENDENCY", FIXED(TRANSACTION, 18) },
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
	const struct stf_layout *layout = &flowtap_stf_layouts[descriptor];

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
	if (layout->length == STF_LENGTH_FIXED)
		return layout->size;
	return counted(payload, available, layout->size, layout->at, layout->width, layout->unit);
}
