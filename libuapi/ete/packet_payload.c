// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Packets with a payload, each as the section of K10.5.2 that its comment names has it; what an ETMv4
 * has besides is in IHI 0064, 6.4.
 */
#include "ete/packet_fields.h"

/* BitReplacement(): `width` (9 to 64) bits of *value anew. */
static size_t bit_replacement(const uint8_t *bytes, unsigned int width, uint64_t *value,
			      struct flowtap_ete_packet *packet)
{
	unsigned int i = 0;
	size_t n = 0;
	uint8_t byte;

	do {
		byte = bytes[n++];
		*value = (*value & ~(UINT64_C(0x7f) << i)) | (uint64_t)(byte & 0x7f) << i;
		i += 7;
	} while (byte & 0x80 && i < width - 8);
	if (!(byte & 0x80))
		return n;
	byte = bytes[n++];
	*value = (*value & ~(UINT64_C(0xff) << i)) | (uint64_t)byte << i;
	if (i + 8 > width && byte >> (width - i))
		return wrong(packet, n, "a number has bits above its width");
	return n;
}

static size_t uleb128(const uint8_t *bytes, unsigned int width, uint32_t *value,
		      struct flowtap_ete_packet *packet)
{
	uint64_t wide = 0;
	size_t size = bit_replacement(bytes, width, &wide, packet);

	*value = (uint32_t)wide;
	return size;
}

#define ULEB128_96 14		/* bytes at most */

/*
 * KEY, SPEC and CYCT of a Trace Info have 96 bits. No trace unit counts so far: above 32 is wrong.
 * Leading zeros are not.
 */
static size_t uleb128_96(const uint8_t *bytes, uint32_t *value, struct flowtap_ete_packet *packet)
{
	const size_t last = ULEB128_96;
	uint64_t wide = 0;
	size_t n = 0;
	uint8_t byte, part;

	do {
		byte = bytes[n++];
		part = n < last ? byte & 0x7f : byte;
		if (part && n <= 5)
			wide |= (uint64_t)part << (7 * (n - 1));
		if ((part && n > 5) || wide > UINT32_MAX)
			return wrong(packet, n, "Trace Info: a number has more than 32 bits");
	} while (byte & 0x80 && n < last);
	*value = (uint32_t)wide;
	return n;
}

/* A VMID or Context ID of so many bytes: 0, 1, 2 or 4. */
static uint32_t identifier(const uint8_t *bytes, unsigned int size)
{
	uint32_t value = 0;

	for (unsigned int i = 0; i < size; i++)
		value |= (uint32_t)bytes[i] << 8 * i;
	return value;
}

/*
 * ContextBytes(). NSE is bit 3 of the payload where FEAT_RME is: K10.5.2.14.9 has it as SBZ, as
 * ETMv4 has.
 */
static size_t context(struct flowtap_ete_parser *parser, const uint8_t *bytes,
		      struct flowtap_ete_packet *packet)
{
	static const uint8_t security[4] = { FLOWTAP_SECURE, FLOWTAP_NONSECURE, FLOWTAP_ROOT,
					     FLOWTAP_REALM };
	const uint8_t payload = bytes[0];
	size_t size = 1;

	if (payload & 4)
		return wrong(packet, 1, "a context: bit 2 of its first byte is set");
	if (payload & 8 && parser->etm4)
		return wrong(packet, 1, "a context: bit 3 of its first byte is set");
	if ((payload & 0x40 && !parser->vmid_size) || (payload & 0x80 && !parser->contextid_size))
		return wrong(packet, 1, "a context has an ID for which TRCIDR2 has no size");
	parser->context.exception_level = payload & 3;
	parser->context.sixty_four_bit = payload >> 4 & 1;
	parser->context.security = security[(payload >> 2 & 2) | (payload >> 5 & 1)];
	if (payload & 0x40) {
		packet->has_vmid = true;
		parser->context.vmid = identifier(bytes + size, parser->vmid_size);
		size += parser->vmid_size;
	}
	if (payload & 0x80) {
		packet->has_contextid = true;
		parser->context.contextid = identifier(bytes + size, parser->contextid_size);
		size += parser->contextid_size;
	}
	packet->has_context = packet->context_updated = true;
	packet->context = parser->context;
	return size;
}

static size_t address_context(struct flowtap_ete_parser *parser, unsigned int kind,
			      const uint8_t *bytes, struct flowtap_ete_packet *packet)
{
	size_t size = long_address(parser, kind, bytes, packet);

	return is_wrong(packet) ? size : size + context(parser, bytes + size, packet);
}

/* --- Packets. `bytes` begin with the header. --- */

/*
 * INFO of an ETMv4: TRCCONFIGR has none of what these bits say, else the trace unit were not
 * decoded (flowtap_ete_unsupported).
 */
static size_t etm4_info(struct flowtap_ete_packet *packet, size_t size)
{
	if (packet->info & 0xe)
		return wrong(packet, size, "Trace Info: conditional instructions are traced");
	if (packet->info & 0x30)
		return wrong(packet, size, "Trace Info: loads or stores are P0 elements");
	if (packet->info & 0xc0)
		return wrong(packet, size, "Trace Info: a bit of INFO that ETMv4 has not");
	return size;
}

/*
 * K10.5.2.6. Sections that the architecture has not could be of any size: nothing after them can be
 * parsed. KEY is ETMv4's: what would identify data elements.
 */
static size_t trace_info(struct flowtap_ete_parser *parser, const uint8_t *bytes,
			 struct flowtap_ete_packet *packet)
{
	const uint8_t sections = parser->etm4 ? 0xf : 0xd;
	uint32_t key, cyct = 0;
	size_t size = 2;

	_Static_assert(3 + 3 * ULEB128_96 <= FLOWTAP_ETE_PACKET_MAX, "Trace Info");
	packet->plctl = bytes[1];
	packet->info = 0;
	packet->spec = 0;
	if (packet->plctl & ~sections)
		return wrong(packet, 2, "Trace Info: a section that its architecture has not");
	if (packet->plctl & 1)
		packet->info = bytes[size++];
	if (parser->etm4)
		size = etm4_info(packet, size);
	if (packet->plctl & 2 && !is_wrong(packet))
		size += uleb128_96(bytes + size, &key, packet);
	if (packet->plctl & 4 && !is_wrong(packet))
		size += uleb128_96(bytes + size, &packet->spec, packet);
	if (packet->plctl & 8 && !is_wrong(packet))
		size += uleb128_96(bytes + size, &cyct, packet);
	packet->cc_enabled = packet->info & 1;
	packet->in_transaction = packet->info >> 6 & 1;
	packet->cc_threshold = packet->cc_enabled ? cyct : 0;

	memset(parser->history, 0, sizeof(parser->history));
	parser->context = (struct flowtap_ete_context){ .security = FLOWTAP_SECURE };
	parser->timestamp = 0;
	parser->cc_threshold = packet->cc_threshold;
	return size;
}

/* K10.5.2.16.1. */
static size_t timestamp(struct flowtap_ete_parser *parser, const uint8_t *bytes,
			struct flowtap_ete_packet *packet)
{
	size_t size = 1;
	uint32_t count;

	size += bit_replacement(bytes + 1, 64, &parser->timestamp, packet);
	packet->timestamp = parser->timestamp;
	if (!(bytes[0] & 1))
		return size;
	packet->has_cycles = true;
	size += uleb128(bytes + size, 20, &count, packet);
	packet->cycles = count;
	return size;
}

/* What follows the information bytes: the header of an address, with or without a context. */
static size_t exception_address(struct flowtap_ete_parser *parser, const uint8_t *bytes,
				struct flowtap_ete_packet *packet)
{
	const uint8_t header = bytes[0];

	switch (parser->headers[header].type) {
	case FLOWTAP_ETE_TARGET_EXACT:
		exact_address(parser, header & 3, packet);
		return 1;
	case FLOWTAP_ETE_TARGET_SHORT:
		return 1 + short_address(parser, header == 0x96, bytes + 1, packet);
	case FLOWTAP_ETE_TARGET_LONG:
		return 1 + long_address(parser, header & 7, bytes + 1, packet);
	case FLOWTAP_ETE_ADDRESS_CONTEXT:
		return 1 + address_context(parser, header & 7, bytes + 1, packet);
	case FLOWTAP_ETE_IGNORE:
		if (parser->etm4)
			break;
		/* UnknownAddressHistoryBuffer() */
		add_address(parser, 0, packet);
		packet->has_address = false;
		packet->address_unknown = true;
		return 1;
	default:
		break;
	}
	return wrong(packet, 1, "Exception: no address follows");
}

/*
 * K10.5.2.13.1. PE reset (type 0) and Transaction failure (24: K10.5.2.13.2) are packets of their
 * own in DDI 0487 D5, and Exceptions here: their third byte is 0x70, for no address. An ETMv4 may
 * have a second byte, with the upper bits of the type.
 */
static size_t exception(struct flowtap_ete_parser *parser, const uint8_t *bytes,
			struct flowtap_ete_packet *packet)
{
	const uint8_t payload = bytes[1];
	size_t size = 2;

	packet->exception_type = payload >> 1 & 0x1f;
	packet->exception_e = (payload >> 5 & 2) | (payload & 1);
	packet->fault_pending = false;
	if (payload & 0x80) {
		if (!parser->etm4)
			return wrong(packet, 2, "Exception: bit 7 of its first byte is set");
		if (bytes[2] & 0xc0)
			return wrong(packet, 3, "Exception: bit 6 or 7 of its second byte is set");
		packet->exception_type |= (bytes[2] & 0x1f) << 5;
		packet->fault_pending = bytes[2] >> 5 & 1;
		size = 3;
	}
	if (packet->exception_e != 1 && packet->exception_e != 2)
		return wrong(packet, size, "Exception: E is reserved");
	return size + exception_address(parser, bytes + size, packet);
}

/* K10.5.2.11.1. */
static size_t q(struct flowtap_ete_parser *parser, const uint8_t *bytes,
		struct flowtap_ete_packet *packet)
{
	size_t size = 1;

	if (!parser->has_q)
		return wrong(packet, 1, "Q: TRCIDR0.QSUPP says that there is none");
	packet->q_type = bytes[0] & 0xf;
	packet->q_count = 0;
	switch (packet->q_type) {
	case 0x0 ... 0x2:
		exact_address(parser, packet->q_type, packet);
		break;
	case 0x5:
	case 0x6:
		size += short_address(parser, packet->q_type == 6, bytes + 1, packet);
		break;
	case 0xa:
	case 0xb:
		size += long_address(parser, packet->q_type & 7, bytes + 1, packet);
		break;
	case 0xf:
		return 1;
	}
	return is_wrong(packet) ? size :
				  size + uleb128(bytes + size, 32, &packet->q_count, packet);
}

/* K10.5.2.16.2, K10.5.2.16.4. */
static size_t cycle_count_1(const struct flowtap_ete_parser *parser, const uint8_t *bytes,
			    struct flowtap_ete_packet *packet)
{
	size_t size = 1;
	uint32_t count;

	if (!parser->commit_mode)
		size += uleb128(bytes + 1, 32, &packet->commit, packet);
	if (bytes[0] & 1 || is_wrong(packet))
		return size;
	size += uleb128(bytes + size, 20, &count, packet);
	cycles(parser, count, packet);
	return size;
}

static const char *reserved_header(const struct flowtap_ete_parser *parser, uint8_t header)
{
	if (parser->etm4 && header >= 0x20 && header <= 0x2c)
		return "a data synchronisation marker, and data trace is off";
	if (parser->etm4 && header >= 0x40 && header <= 0x6f)
		return "a conditional instruction, and they are not traced";
	return "a header that is reserved";
}

/* Packets that ETMv4 has since a version: TRCARCHMIN, or on a profile only. */
static size_t since(const struct flowtap_ete_parser *parser, uint8_t version,
		    struct flowtap_ete_packet *packet)
{
	if (parser->etm4 < version)
		return wrong(packet, 1, "a header that its version of ETMv4 has not");
	return 1;
}

size_t ete_packet_payload(struct flowtap_ete_parser *parser, const uint8_t *bytes,
			  struct flowtap_ete_packet *packet)
{
	/* What a Source Address is as a Target Address: its header bits 2:0 are others. */
	static const uint8_t kinds[4] = { 2, 3, 5, 6 };
	const uint8_t header = bytes[0];

	switch (packet->type) {
	case FLOWTAP_ETE_TRACE_INFO:
		return trace_info(parser, bytes, packet);
	case FLOWTAP_ETE_TIMESTAMP:
		return timestamp(parser, bytes, packet);
	case FLOWTAP_ETE_EXCEPTION:
		return exception(parser, bytes, packet);
	case FLOWTAP_ETE_INSTRUMENTATION:
		/* FEAT_ITE: the Exception level, then the value. */
		packet->instrumentation_el = bytes[1] & 3;
		packet->instrumentation = pod64(bytes + 2);
		return 10;
	case FLOWTAP_ETE_CYCLE_COUNT_1:
		return cycle_count_1(parser, bytes, packet);
	case FLOWTAP_ETE_CYCLE_COUNT_2:
		return cycle_count_2(parser, bytes, packet);
	case FLOWTAP_ETE_CYCLE_COUNT_3:
		return cycle_count_3(parser, header, packet);
	case FLOWTAP_ETE_COMMIT:
		return 1 + uleb128(bytes + 1, 32, &packet->commit, packet);
	case FLOWTAP_ETE_CANCEL_1:
		return 1 + uleb128(bytes + 1, 32, &packet->cancel, packet);
	case FLOWTAP_ETE_CONTEXT:
		if (header & 1)
			return 1 + context(parser, bytes + 1, packet);
		packet->has_context = true;
		packet->context = parser->context;
		return 1;
	case FLOWTAP_ETE_ADDRESS_CONTEXT:
		return 1 + address_context(parser, header & 7, bytes + 1, packet);
	case FLOWTAP_ETE_TARGET_EXACT:
	case FLOWTAP_ETE_SOURCE_EXACT:
		exact_address(parser, header & 3, packet);
		return 1;
	case FLOWTAP_ETE_TARGET_SHORT:
		return 1 + short_address(parser, header == 0x96, bytes + 1, packet);
	case FLOWTAP_ETE_TARGET_LONG:
		return 1 + long_address(parser, header & 7, bytes + 1, packet);
	case FLOWTAP_ETE_SOURCE_SHORT:
		return 1 + short_address(parser, header == 0xb5, bytes + 1, packet);
	case FLOWTAP_ETE_SOURCE_LONG:
		/* K10.5.2.12.1 leaves out what K10.5.2.14.2 has as SBZ: it is checked here too. */
		return 1 + long_address(parser, kinds[header - 0xb6], bytes + 1, packet);
	case FLOWTAP_ETE_Q:
		return q(parser, bytes, packet);
	case FLOWTAP_ETE_IGNORE:
		return since(parser, 0x43, packet);
	case FLOWTAP_ETE_TIMESTAMP_MARKER:
		return since(parser, 0x46, packet);
	case FLOWTAP_ETE_FUNCTION_RETURN:
		if (!parser->m_profile)
			return wrong(packet, 1, "Function Return: this is no M profile");
		return since(parser, 0x42, packet);
	default:
		return wrong(packet, 1, reserved_header(parser, header));
	}
}

