// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Stage 1 of trace analysis: the byte stream parsed (K10.5.2).
 *
 * A packet is taken apart where FLOWTAP_ETE_PACKET_MAX bytes can be read without asking, and only
 * then looked at for being whole: nothing of the parser changes before.
 */
#include <flowtap/ete_packet.h>

#include "ete_packet_table.h"

#include <endian.h>
#include <string.h>

#define ZEROS 11	/* of an Alignment Sync: K10.5.2.3 */
#define COMMOPT (1u << 29)

/* How many bytes of the packet were looked at, and what is wrong with the last of them or NULL. */
struct parsed {
	size_t size;
	const char *wrong;
};

/* --- The encodings of data, K10.5.6.4. --- */

static uint32_t pod32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return le32toh(value);
}

static uint64_t pod64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

/* BitReplacement(): `width` (9 to 64) bits of *value anew. */
static struct parsed bit_replacement(const uint8_t *bytes, unsigned int width, uint64_t *value)
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
		return (struct parsed){ n, NULL };
	byte = bytes[n++];
	*value = (*value & ~(UINT64_C(0xff) << i)) | (uint64_t)byte << i;
	if (i + 8 > width && byte >> (width - i))
		return (struct parsed){ n, "a number has bits above its width" };
	return (struct parsed){ n, NULL };
}

static struct parsed uleb128(const uint8_t *bytes, unsigned int width, uint32_t *value)
{
	uint64_t wide = 0;
	struct parsed parsed = bit_replacement(bytes, width, &wide);

	*value = (uint32_t)wide;
	return parsed;
}

/* SPEC and CYCT of a Trace Info have 96 bits. No trace unit counts so far: above 32 is wrong. */
static struct parsed uleb128_96(const uint8_t *bytes, uint32_t *value)
{
	const unsigned int bytes_max = 14;
	uint64_t wide = 0;
	size_t n = 0;
	uint8_t byte, part;

	do {
		byte = bytes[n++];
		part = n < bytes_max ? byte & 0x7f : byte;
		if (part && n > 5)
			return (struct parsed){ n, "Trace Info: a number has more than 32 bits" };
		if (part)
			wide |= (uint64_t)part << (7 * (n - 1));
		if (wide > UINT32_MAX)
			return (struct parsed){ n, "Trace Info: a number has more than 32 bits" };
	} while (byte & 0x80 && n < bytes_max);
	*value = (uint32_t)wide;
	return (struct parsed){ n, NULL };
}

/* --- Addresses and contexts, K10.5.2.14. --- */

/* LongAddressBytes() and LongAddressPacket(): header bits 2:0 say which of four it is. */
static inline struct parsed long_address(const struct flowtap_ete_parser *parser,
					 unsigned int kind, const uint8_t *bytes,
					 struct flowtap_ete_packet *packet)
{
	bool wide = kind >= 5, is1 = kind == 3 || kind == 6;
	uint64_t data, high;

	if (wide) {
		data = pod64(bytes);
		high = 0;
	} else {
		data = pod32(bytes);
		high = parser->history[0].address & ~UINT64_C(0xffffffff);
	}
	packet->has_address = true;
	packet->address.sub_isa = is1;
	if (data & 0x80)
		return (struct parsed){ 1, "an address: bit 7 of its first byte is set" };
	if (is1) {
		packet->address.address = high | (data & ~UINT64_C(0xff)) | (data & 0x7f) << 1;
		return (struct parsed){ wide ? 8 : 4, NULL };
	}
	if (data & 0x8000)
		return (struct parsed){ 2, "an address: bit 7 of its second byte is set" };
	packet->address.address = high | (data & ~UINT64_C(0xffff)) | (data & 0x7f00) << 1 |
				  (data & 0x7f) << 2;
	return (struct parsed){ wide ? 8 : 4, NULL };
}

/* ShortAddressBytes() and ShortAddressPacket(): the second byte has 8 bits. */
static inline struct parsed short_address(const struct flowtap_ete_parser *parser, bool is1,
					  const uint8_t *bytes, struct flowtap_ete_packet *packet)
{
	unsigned int shift = is1 ? 1 : 2;
	uint64_t mask = 0x7f, data = bytes[0] & 0x7f;
	size_t size = 1;

	if (bytes[0] & 0x80) {
		mask = 0x7fff;
		data |= (uint64_t)bytes[1] << 7;
		size = 2;
	}
	/* What is below the shift is 0. */
	mask = mask << shift | ((1u << shift) - 1);
	packet->has_address = true;
	packet->address.sub_isa = is1;
	packet->address.address = (parser->history[0].address & ~mask) | data << shift;
	return (struct parsed){ size, NULL };
}

static inline void exact_address(const struct flowtap_ete_parser *parser, unsigned int which,
				 struct flowtap_ete_packet *packet)
{
	packet->has_address = true;
	packet->exact = which;
	packet->address = parser->history[which];
}

/* ContextBytes(). NSE is bit 3 of the payload where FEAT_RME is: K10.5.2.14.9 has it as SBZ. */
static struct parsed context(const struct flowtap_ete_parser *parser, const uint8_t *bytes,
			     struct flowtap_ete_packet *packet)
{
	static const uint8_t security[4] = { FLOWTAP_SECURE, FLOWTAP_NONSECURE, FLOWTAP_ROOT,
					     FLOWTAP_REALM };
	const uint8_t payload = bytes[0];
	size_t size = 1;

	packet->has_context = packet->context_updated = true;
	packet->context = parser->context;
	packet->context.exception_level = payload & 3;
	packet->context.sixty_four_bit = payload >> 4 & 1;
	packet->context.security = security[(payload >> 2 & 2) | (payload >> 5 & 1)];
	if (payload & 4)
		return (struct parsed){ 1, "a context: bit 2 of its first byte is set" };
	if (payload & 0x40) {
		packet->has_vmid = true;
		packet->context.vmid = pod32(bytes + size);
		size += 4;
	}
	if (payload & 0x80) {
		packet->has_contextid = true;
		packet->context.contextid = pod32(bytes + size);
		size += 4;
	}
	return (struct parsed){ size, NULL };
}

static struct parsed address_context(const struct flowtap_ete_parser *parser, unsigned int kind,
				     const uint8_t *bytes, struct flowtap_ete_packet *packet)
{
	struct parsed address = long_address(parser, kind, bytes, packet);
	struct parsed parsed;

	if (address.wrong)
		return address;
	parsed = context(parser, bytes + address.size, packet);
	parsed.size += address.size;
	return parsed;
}

/* --- Packets. `bytes` begin with the header. --- */

/* K10.5.2.6. Sections that ETE has not could be of any size: there is no going on behind them. */
static struct parsed trace_info(const uint8_t *bytes, struct flowtap_ete_packet *packet)
{
	struct parsed parsed = { 2, NULL }, number;
	uint32_t cyct = 0;

	packet->plctl = bytes[1];
	packet->info = 0;
	packet->spec = 0;
	if (packet->plctl & 0xf2)
		return (struct parsed){ 2, "Trace Info: a section that ETE has not" };
	if (packet->plctl & 1)
		packet->info = bytes[parsed.size++];
	if (packet->plctl & 4) {
		number = uleb128_96(bytes + parsed.size, &packet->spec);
		parsed.size += number.size;
		parsed.wrong = number.wrong;
	}
	if (packet->plctl & 8 && !parsed.wrong) {
		number = uleb128_96(bytes + parsed.size, &cyct);
		parsed.size += number.size;
		parsed.wrong = number.wrong;
	}
	packet->cc_enabled = packet->info & 1;
	packet->in_transaction = packet->info >> 6 & 1;
	packet->cc_threshold = packet->cc_enabled ? cyct : 0;
	return parsed;
}

/* K10.5.2.16.1. */
static struct parsed timestamp(const struct flowtap_ete_parser *parser, const uint8_t *bytes,
			       struct flowtap_ete_packet *packet)
{
	struct parsed parsed, number;
	uint32_t count;

	packet->timestamp = parser->timestamp;
	parsed = bit_replacement(bytes + 1, 64, &packet->timestamp);
	parsed.size++;
	if (bytes[0] & 1) {
		number = uleb128(bytes + parsed.size, 20, &count);
		parsed.size += number.size;
		parsed.wrong = number.wrong;
		packet->has_cycles = true;
		packet->cycles = count;
	}
	return parsed;
}

/*
 * K10.5.2.13.1. PE reset and Transaction failure are Exception packets with types of their own,
 * and mostly with an unknown address.
 */
static struct parsed exception(const struct flowtap_ete_parser *parser, const uint8_t *bytes,
			       struct flowtap_ete_packet *packet)
{
	const uint8_t payload = bytes[1], header = bytes[2];
	struct parsed parsed = { 0, NULL };

	packet->exception_type = payload >> 1 & 0x1f;
	packet->exception_e = (payload >> 5 & 2) | (payload & 1);
	if (payload & 0x80)
		return (struct parsed){ 2, "Exception: bit 7 of its first byte is set" };
	if (packet->exception_e != 1 && packet->exception_e != 2)
		return (struct parsed){ 2, "Exception: E is reserved" };
	switch (ete_packet_types[header]) {
	case FLOWTAP_ETE_TARGET_EXACT:
		exact_address(parser, header & 3, packet);
		break;
	case FLOWTAP_ETE_TARGET_SHORT:
		parsed = short_address(parser, (header & 3) == 2, bytes + 3, packet);
		break;
	case FLOWTAP_ETE_TARGET_LONG:
		parsed = long_address(parser, header & 7, bytes + 3, packet);
		break;
	case FLOWTAP_ETE_ADDRESS_CONTEXT:
		parsed = address_context(parser, header & 7, bytes + 3, packet);
		break;
	case FLOWTAP_ETE_IGNORE:
		/* UnknownAddressHistoryBuffer() */
		packet->address_unknown = true;
		packet->address = (struct flowtap_ete_address){ 0 };
		break;
	default:
		parsed.wrong = "Exception: no address follows";
	}
	parsed.size += 3;
	return parsed;
}

/* K10.5.2.11.1. */
static struct parsed q(const struct flowtap_ete_parser *parser, const uint8_t *bytes,
		       struct flowtap_ete_packet *packet)
{
	struct parsed parsed = { 0, NULL }, number;

	packet->q_type = bytes[0] & 0xf;
	packet->q_count = 0;
	switch (packet->q_type) {
	case 0x0 ... 0x2:
		exact_address(parser, packet->q_type, packet);
		break;
	case 0x5:
	case 0x6:
		parsed = short_address(parser, packet->q_type == 6, bytes + 1, packet);
		break;
	case 0xa:
	case 0xb:
		parsed = long_address(parser, packet->q_type & 7, bytes + 1, packet);
		break;
	case 0xf:
		return (struct parsed){ 1, NULL };
	}
	parsed.size++;
	if (parsed.wrong)
		return parsed;
	number = uleb128(bytes + parsed.size, 32, &packet->q_count);
	return (struct parsed){ parsed.size + number.size, number.wrong };
}

/*
 * K10.5.2.12.1. The header's low bits are other than those of a Target Address. What the text has
 * as bits <6:0> of a byte is there in a Target Address with a bit 7 that should be zero.
 */
static struct parsed source_long(const struct flowtap_ete_parser *parser, const uint8_t *bytes,
				 struct flowtap_ete_packet *packet)
{
	static const uint8_t kinds[4] = { 2, 3, 5, 6 };
	struct parsed parsed = long_address(parser, kinds[bytes[0] - 0xb6], bytes + 1, packet);

	parsed.size++;
	return parsed;
}

static void cycles(const struct flowtap_ete_parser *parser, uint32_t count,
		   struct flowtap_ete_packet *packet)
{
	packet->has_cycles = true;
	packet->cycles = (uint64_t)parser->cc_threshold + count;
}

/* K10.5.2.16.2, K10.5.2.16.4. */
static struct parsed cycle_count_1(const struct flowtap_ete_parser *parser, const uint8_t *bytes,
				   struct flowtap_ete_packet *packet)
{
	struct parsed parsed = { 0, NULL }, number;
	uint32_t count;

	if (!parser->commit_mode)
		parsed = uleb128(bytes + 1, 32, &packet->commit);
	parsed.size++;
	if (bytes[0] & 1 || parsed.wrong)
		return parsed;
	number = uleb128(bytes + parsed.size, 20, &count);
	cycles(parser, count, packet);
	return (struct parsed){ parsed.size + number.size, number.wrong };
}

/* K10.5.2.16.5: in commit mode 1 it is as if F and AAAA were all ones. */
static struct parsed cycle_count_2(const struct flowtap_ete_parser *parser, const uint8_t *bytes,
				   struct flowtap_ete_packet *packet)
{
	bool f = parser->commit_mode || bytes[0] & 1;
	uint32_t a = parser->commit_mode ? 15 : bytes[1] >> 4;

	if (!f)
		packet->commit = a + 1;
	else if (parser->max_speculation + a > 15)
		packet->commit = parser->max_speculation + a - 15;
	cycles(parser, bytes[1] & 0xf, packet);
	return (struct parsed){ 2, NULL };
}

/* K10.5.2.16.6. */
static struct parsed cycle_count_3(const struct flowtap_ete_parser *parser, uint8_t header,
				   struct flowtap_ete_packet *packet)
{
	if (!parser->commit_mode)
		packet->commit = (header >> 2 & 3) + 1;
	cycles(parser, header & 3, packet);
	return (struct parsed){ 1, NULL };
}

/* The atoms of Mispredict and Cancel format 2: none, E, EE, N. */
static void two_atoms(uint8_t header, struct flowtap_ete_packet *packet)
{
	static const uint8_t taken[4] = { 0, 1, 3, 0 }, count[4] = { 0, 1, 2, 1 };

	packet->atoms = taken[header & 3];
	packet->atom_count = count[header & 3];
	packet->mispredict = true;
}

/* Every packet but Atoms, and those that begin with 0x00. */
static struct parsed parse(const struct flowtap_ete_parser *parser, const uint8_t *bytes,
			   struct flowtap_ete_packet *packet)
{
	struct parsed parsed = { 0, NULL };
	const uint8_t header = bytes[0];

	switch (packet->type) {
	case FLOWTAP_ETE_TRACE_INFO:
		return trace_info(bytes, packet);
	case FLOWTAP_ETE_TIMESTAMP:
		return timestamp(parser, bytes, packet);
	case FLOWTAP_ETE_EXCEPTION:
		return exception(parser, bytes, packet);
	case FLOWTAP_ETE_INSTRUMENTATION:
		/* FEAT_ITE: the Exception level, then the value. */
		packet->instrumentation_el = bytes[1] & 3;
		packet->instrumentation = pod64(bytes + 2);
		return (struct parsed){ 10, NULL };
	case FLOWTAP_ETE_CYCLE_COUNT_1:
		return cycle_count_1(parser, bytes, packet);
	case FLOWTAP_ETE_CYCLE_COUNT_2:
		return cycle_count_2(parser, bytes, packet);
	case FLOWTAP_ETE_CYCLE_COUNT_3:
		return cycle_count_3(parser, header, packet);
	case FLOWTAP_ETE_COMMIT:
		parsed = uleb128(bytes + 1, 32, &packet->commit);
		break;
	case FLOWTAP_ETE_CANCEL_1:
		packet->mispredict = header & 1;
		parsed = uleb128(bytes + 1, 32, &packet->cancel);
		break;
	case FLOWTAP_ETE_CANCEL_2:
		two_atoms(header, packet);
		packet->cancel = 1;
		break;
	case FLOWTAP_ETE_CANCEL_3:
		packet->atoms = packet->atom_count = header & 1;
		packet->cancel = (header >> 1 & 3) + 2;
		packet->mispredict = true;
		break;
	case FLOWTAP_ETE_MISPREDICT:
		two_atoms(header, packet);
		break;
	case FLOWTAP_ETE_EVENT:
		packet->events = header & 0xf;
		break;
	case FLOWTAP_ETE_CONTEXT:
		if (header & 1) {
			parsed = context(parser, bytes + 1, packet);
			break;
		}
		packet->has_context = true;
		packet->context = parser->context;
		break;
	case FLOWTAP_ETE_ADDRESS_CONTEXT:
		parsed = address_context(parser, header & 7, bytes + 1, packet);
		break;
	case FLOWTAP_ETE_TARGET_EXACT:
	case FLOWTAP_ETE_SOURCE_EXACT:
		exact_address(parser, header & 3, packet);
		break;
	case FLOWTAP_ETE_TARGET_SHORT:
		parsed = short_address(parser, header == 0x96, bytes + 1, packet);
		break;
	case FLOWTAP_ETE_SOURCE_SHORT:
		parsed = short_address(parser, header == 0xb5, bytes + 1, packet);
		break;
	case FLOWTAP_ETE_TARGET_LONG:
		parsed = long_address(parser, header & 7, bytes + 1, packet);
		break;
	case FLOWTAP_ETE_SOURCE_LONG:
		return source_long(parser, bytes, packet);
	case FLOWTAP_ETE_Q:
		return q(parser, bytes, packet);
	case FLOWTAP_ETE_RESERVED:
		return (struct parsed){ 1, "a header that is reserved" };
	default:
		/* Trace On, Transaction Start and Commit, Timestamp Marker, Ignore */
		break;
	}
	parsed.size++;
	return parsed;
}

/* The state behind the packet. */
static void commit(struct flowtap_ete_parser *parser, const struct flowtap_ete_packet *packet)
{
	if (packet->has_address || packet->address_unknown) {
		parser->history[2] = parser->history[1];
		parser->history[1] = parser->history[0];
		parser->history[0] = packet->address;
	}
	if (packet->context_updated)
		parser->context = packet->context;
	if (packet->type == FLOWTAP_ETE_TIMESTAMP)
		parser->timestamp = packet->timestamp;
	if (packet->type == FLOWTAP_ETE_TRACE_INFO) {
		memset(parser->history, 0, sizeof(parser->history));
		parser->context = (struct flowtap_ete_context){ .security = FLOWTAP_SECURE };
		parser->timestamp = 0;
		parser->cc_threshold = packet->cc_threshold;
	}
}

static inline void clear(struct flowtap_ete_packet *packet)
{
	memset(packet, 0, offsetof(struct flowtap_ete_packet, reason));
}

static size_t incomplete(struct flowtap_ete_packet *packet)
{
	clear(packet);
	packet->type = FLOWTAP_ETE_INCOMPLETE;
	return 0;
}

/* Zeros at the end of what was looked at may begin an Alignment Sync. */
static size_t reserved(struct flowtap_ete_parser *parser, const uint8_t *bytes, size_t size,
		       const char *reason, struct flowtap_ete_packet *packet)
{
	while (size > 1 && !bytes[size - 1])
		size--;
	clear(packet);
	packet->type = FLOWTAP_ETE_RESERVED;
	packet->size = size;
	packet->reason = reason;
	parser->synced = false;
	parser->zeros = 0;
	return size;
}

/* A packet of which nothing but type and size is to be said. */
static size_t plain(struct flowtap_ete_parser *parser, enum flowtap_ete_packet_type type,
		    size_t size, struct flowtap_ete_packet *packet)
{
	clear(packet);
	packet->type = type;
	packet->size = size;
	parser->zeros = 0;
	return size;
}

/* Not synced: what is there up to an Alignment Sync, or that. */
static size_t unsynced(struct flowtap_ete_parser *parser, const uint8_t *bytes, size_t size,
		       struct flowtap_ete_packet *packet)
{
	size_t zeros = parser->zeros, i;

	for (i = 0; i < size; i++) {
		if (!bytes[i]) {
			zeros++;
			continue;
		}
		if (bytes[i] == 0x80 && zeros >= ZEROS)
			break;
		zeros = 0;
	}
	if (i < size) {
		if (i > ZEROS)
			return plain(parser, FLOWTAP_ETE_NOT_SYNCED, i - ZEROS, packet);
		parser->synced = true;
		return plain(parser, FLOWTAP_ETE_ALIGNMENT_SYNC, i + 1, packet);
	}
	if (zeros > ZEROS)
		zeros = ZEROS;
	if (zeros >= size)
		return incomplete(packet);
	return plain(parser, FLOWTAP_ETE_NOT_SYNCED, size - zeros, packet);
}

/* Parse_ExtensionPacket(), K10.5.2.3.1. */
static size_t extension(struct flowtap_ete_parser *parser, const uint8_t *bytes, size_t size,
			struct flowtap_ete_packet *packet)
{
	size_t zeros = 1;

	while (zeros < size && zeros < FLOWTAP_ETE_PACKET_MAX && !bytes[zeros])
		zeros++;
	if (zeros == FLOWTAP_ETE_PACKET_MAX)
		return plain(parser, FLOWTAP_ETE_ALIGNMENT_ZEROS, zeros - ZEROS, packet);
	if (zeros == size)
		return incomplete(packet);
	if (bytes[zeros] == 0x80) {
		if (zeros >= ZEROS)
			return plain(parser, FLOWTAP_ETE_ALIGNMENT_SYNC, zeros + 1, packet);
		if (zeros + parser->zeros >= ZEROS) {
			zeros = parser->zeros + 1;
			reserved(parser, bytes, 1, "the packet before was cut off", packet);
			parser->zeros = zeros;
			return 1;
		}
	}
	if (zeros == 1 && bytes[1] == 0x03)
		return plain(parser, FLOWTAP_ETE_DISCARD, 2, packet);
	if (zeros == 1 && bytes[1] == 0x05)
		return plain(parser, FLOWTAP_ETE_OVERFLOW, 2, packet);
	return reserved(parser, bytes, zeros + 1,
			zeros == 1 ? "an extension that is reserved" :
				     "an Alignment Sync that is none", packet);
}

/* Any other packet than Atoms. */
static size_t payload(struct flowtap_ete_parser *parser, const uint8_t *bytes, size_t size,
		      struct flowtap_ete_packet *packet)
{
	uint8_t end[FLOWTAP_ETE_PACKET_MAX + 8] = { 0 };
	const uint8_t *there = bytes;
	struct parsed parsed;
	size_t zeros = 0;

	if (size < FLOWTAP_ETE_PACKET_MAX)
		there = memcpy(end, bytes, size);
	parsed = parse(parser, there, packet);
	if (parsed.size > size)
		return incomplete(packet);
	if (parsed.wrong)
		return reserved(parser, bytes, parsed.size, parsed.wrong, packet);
	commit(parser, packet);
	while (zeros < ZEROS && zeros < parsed.size && !bytes[parsed.size - 1 - zeros])
		zeros++;
	parser->zeros = zeros;
	packet->size = parsed.size;
	return parsed.size;
}

size_t flowtap_ete_parse(struct flowtap_ete_parser *parser, const uint8_t *bytes, size_t size,
			 struct flowtap_ete_packet *packet)
{
	const struct flowtap_ete_atoms *atoms = &flowtap_ete_atoms[*bytes];

	if (__builtin_expect(!parser->synced, 0))
		return unsynced(parser, bytes, size, packet);
	clear(packet);
	packet->type = ete_packet_types[*bytes];
	if (atoms->count) {
		packet->size = 1;
		packet->atoms = atoms->taken;
		packet->atom_count = atoms->count;
		parser->zeros = 0;
		return 1;
	}
	if (!*bytes)
		return extension(parser, bytes, size, packet);
	return payload(parser, bytes, size, packet);
}

void flowtap_ete_parser_init(struct flowtap_ete_parser *parser,
			     const struct flowtap_ete_config *config)
{
	*parser = (struct flowtap_ete_parser){
		.context.security = FLOWTAP_SECURE,
		.max_speculation = config->idr8,
		.commit_mode = config->idr0 & COMMOPT,
	};
}
