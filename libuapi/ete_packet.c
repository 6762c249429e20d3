// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Stage 1 of trace analysis: the byte stream parsed (K10.5.2).
 *
 * A packet is taken apart where FLOWTAP_ETE_PACKET_MAX bytes can be read without asking. Near the
 * end of what is there that is done with a copy of the bytes and of the parser, and only then it is
 * known whether the packet is whole.
 */
#include <flowtap/ete_packet.h>

#include <endian.h>
#include <stddef.h>
#include <string.h>

#define ZEROS 11	/* of an Alignment Sync: K10.5.2.3 */
#define COMMOPT (1u << 29)

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define noinline __attribute__((noinline))
#define always_inline inline __attribute__((always_inline))

/*
 * What takes a part of a packet says how many bytes that was. Where it is wrong, that is up to and
 * with the byte that is wrong, and nothing behind it was looked at.
 */
static size_t wrong(struct flowtap_ete_packet *packet, size_t size, const char *reason)
{
	packet->type = FLOWTAP_ETE_RESERVED;
	packet->reason = reason;
	return size;
}

static bool is_wrong(const struct flowtap_ete_packet *packet)
{
	return packet->type == FLOWTAP_ETE_RESERVED;
}

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

/* SPEC and CYCT of a Trace Info have 96 bits. No trace unit counts so far: above 32 is wrong. */
static size_t uleb128_96(const uint8_t *bytes, uint32_t *value, struct flowtap_ete_packet *packet)
{
	const size_t last = 14;
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

/* --- Addresses and contexts, K10.5.2.14. --- */

/* An entry is the address, which has a bit 0 of 0, and its sub ISA in that bit. */
static inline void add_address(struct flowtap_ete_parser *parser, uint64_t entry,
			       struct flowtap_ete_packet *packet)
{
	parser->history[2] = parser->history[1];
	parser->history[1] = parser->history[0];
	parser->history[0] = entry;
	packet->address.address = entry & ~UINT64_C(1);
	packet->address.sub_isa = entry & 1;
	packet->has_address = true;
}

/* LongAddressBytes() and LongAddressPacket(): header bits 2:0 say which of four it is. */
static always_inline size_t long_address(struct flowtap_ete_parser *parser, unsigned int kind,
					 const uint8_t *bytes, struct flowtap_ete_packet *packet)
{
	bool wide = kind >= 5, is1 = kind == 3 || kind == 6;
	uint64_t data;

	if (wide)
		data = pod64(bytes);
	else
		data = (parser->history[0] & ~UINT64_C(0xffffffff)) | pod32(bytes);
	if (unlikely(data & 0x80))
		return wrong(packet, 1, "an address: bit 7 of its first byte is set");
	if (unlikely(is1)) {
		add_address(parser, (data & ~UINT64_C(0xff)) | (data & 0x7f) << 1 | 1, packet);
	} else {
		if (unlikely(data & 0x8000))
			return wrong(packet, 2, "an address: bit 7 of its second byte is set");
		add_address(parser, (data & ~UINT64_C(0xffff)) | (data & 0x7f00) << 1 |
			    (data & 0x7f) << 2, packet);
	}
	return wide ? 8 : 4;
}

/*
 * ShortAddressBytes() and ShortAddressPacket(): the second byte has 8 bits. Whether it is there is
 * anybody's guess, so there is no branch for it.
 */
static always_inline size_t short_address(struct flowtap_ete_parser *parser, bool is1,
					  const uint8_t *bytes, struct flowtap_ete_packet *packet)
{
	const unsigned int shift = is1 ? 1 : 2, second = bytes[0] >> 7;
	const uint64_t mask = second ? 0x7fff : 0x7f;
	const uint64_t data = (bytes[0] & 0x7f) | bytes[1] << 7;

	/* What is below the shift is 0, but for the entry's bit 0. */
	add_address(parser, (parser->history[0] & ~(mask << shift | ((1 << shift) - 1))) |
		    (data & mask) << shift | is1, packet);
	return 1 + second;
}

static inline void exact_address(struct flowtap_ete_parser *parser, unsigned int which,
				 struct flowtap_ete_packet *packet)
{
	packet->exact = which;
	add_address(parser, parser->history[which], packet);
}

/* ContextBytes(). NSE is bit 3 of the payload where FEAT_RME is: K10.5.2.14.9 has it as SBZ. */
static size_t context(struct flowtap_ete_parser *parser, const uint8_t *bytes,
		      struct flowtap_ete_packet *packet)
{
	static const uint8_t security[4] = { FLOWTAP_SECURE, FLOWTAP_NONSECURE, FLOWTAP_ROOT,
					     FLOWTAP_REALM };
	const uint8_t payload = bytes[0];
	size_t size = 1;

	if (payload & 4)
		return wrong(packet, 1, "a context: bit 2 of its first byte is set");
	parser->context.exception_level = payload & 3;
	parser->context.sixty_four_bit = payload >> 4 & 1;
	parser->context.security = security[(payload >> 2 & 2) | (payload >> 5 & 1)];
	if (payload & 0x40) {
		packet->has_vmid = true;
		parser->context.vmid = pod32(bytes + size);
		size += 4;
	}
	if (payload & 0x80) {
		packet->has_contextid = true;
		parser->context.contextid = pod32(bytes + size);
		size += 4;
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

/* K10.5.2.6. Sections that ETE has not could be of any size: there is no going on behind them. */
static size_t trace_info(struct flowtap_ete_parser *parser, const uint8_t *bytes,
			 struct flowtap_ete_packet *packet)
{
	uint32_t cyct = 0;
	size_t size = 2;

	packet->plctl = bytes[1];
	packet->info = 0;
	packet->spec = 0;
	if (packet->plctl & 0xf2)
		return wrong(packet, 2, "Trace Info: a section that ETE has not");
	if (packet->plctl & 1)
		packet->info = bytes[size++];
	if (packet->plctl & 4)
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

/*
 * K10.5.2.13.1. PE reset and Transaction failure are Exception packets with types of their own,
 * and mostly with an unknown address.
 */
static size_t exception(struct flowtap_ete_parser *parser, const uint8_t *bytes,
			struct flowtap_ete_packet *packet)
{
	const uint8_t payload = bytes[1], header = bytes[2];

	packet->exception_type = payload >> 1 & 0x1f;
	packet->exception_e = (payload >> 5 & 2) | (payload & 1);
	if (payload & 0x80)
		return wrong(packet, 2, "Exception: bit 7 of its first byte is set");
	if (packet->exception_e != 1 && packet->exception_e != 2)
		return wrong(packet, 2, "Exception: E is reserved");
	switch (flowtap_ete_headers[header].type) {
	case FLOWTAP_ETE_TARGET_EXACT:
		exact_address(parser, header & 3, packet);
		return 3;
	case FLOWTAP_ETE_TARGET_SHORT:
		return 3 + short_address(parser, header == 0x96, bytes + 3, packet);
	case FLOWTAP_ETE_TARGET_LONG:
		return 3 + long_address(parser, header & 7, bytes + 3, packet);
	case FLOWTAP_ETE_ADDRESS_CONTEXT:
		return 3 + address_context(parser, header & 7, bytes + 3, packet);
	case FLOWTAP_ETE_IGNORE:
		/* UnknownAddressHistoryBuffer() */
		add_address(parser, 0, packet);
		packet->has_address = false;
		packet->address_unknown = true;
		return 3;
	default:
		return wrong(packet, 3, "Exception: no address follows");
	}
}

/* K10.5.2.11.1. */
static size_t q(struct flowtap_ete_parser *parser, const uint8_t *bytes,
		struct flowtap_ete_packet *packet)
{
	size_t size = 1;

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

static void cycles(const struct flowtap_ete_parser *parser, uint32_t count,
		   struct flowtap_ete_packet *packet)
{
	packet->has_cycles = true;
	packet->cycles = (uint64_t)parser->cc_threshold + count;
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

/*
 * K10.5.2.16.5. In commit mode 1 the pseudocode takes F and AAAA for all ones, which makes MAXSPEC
 * elements of it. That is right where MAXSPEC is 0. Where it is not, Commit packets say what is
 * committed, as they do for the other formats in this mode.
 */
static size_t cycle_count_2(const struct flowtap_ete_parser *parser, const uint8_t *bytes,
			    struct flowtap_ete_packet *packet)
{
	uint32_t a = bytes[1] >> 4;

	if (!parser->commit_mode) {
		if (!(bytes[0] & 1))
			packet->commit = a + 1;
		else if (parser->max_speculation + a > 15)
			packet->commit = parser->max_speculation + a - 15;
	}
	cycles(parser, bytes[1] & 0xf, packet);
	return 2;
}

/* K10.5.2.16.6. */
static size_t cycle_count_3(const struct flowtap_ete_parser *parser, uint8_t header,
			    struct flowtap_ete_packet *packet)
{
	if (!parser->commit_mode)
		packet->commit = (header >> 2 & 3) + 1;
	cycles(parser, header & 3, packet);
	return 1;
}

/* Every packet that is not whole in the table. Its first part is there already. */
static size_t parse(struct flowtap_ete_parser *parser, const uint8_t *bytes,
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
	default:
		return wrong(packet, 1, "a header that is reserved");
	}
}

static inline void clear(struct flowtap_ete_packet *packet)
{
	memset(packet, 0, FLOWTAP_ETE_PACKET_HEAD);
}

static size_t incomplete(struct flowtap_ete_packet *packet)
{
	clear(packet);
	packet->type = FLOWTAP_ETE_INCOMPLETE;
	return 0;
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

/* packet->reason says why. Zeros at the end of what was looked at may begin an Alignment Sync. */
static noinline size_t reserved(struct flowtap_ete_parser *parser, const uint8_t *bytes,
				size_t size, struct flowtap_ete_packet *packet)
{
	while (size > 1 && !bytes[size - 1])
		size--;
	parser->synced = false;
	return plain(parser, FLOWTAP_ETE_RESERVED, size, packet);
}

static size_t count_leading_zeros(const uint8_t *bytes, size_t size)
{
	size_t zeros = 0;

	while (zeros < size && !bytes[zeros])
		zeros++;
	return zeros;
}

/*
 * Of a run of zeros that is too long to wait for its end, some: always so many that as many are
 * left, however often this is done.
 */
static size_t some_zeros(struct flowtap_ete_parser *parser, size_t zeros,
			 struct flowtap_ete_packet *packet)
{
	const size_t part = FLOWTAP_ETE_PACKET_MAX - ZEROS;

	return plain(parser, FLOWTAP_ETE_ALIGNMENT_ZEROS, (zeros - ZEROS) / part * part, packet);
}

/* Not synced, and no Alignment Sync begins here: what is there up to where one may. */
static size_t skip(struct flowtap_ete_parser *parser, const uint8_t *bytes, size_t size,
		   struct flowtap_ete_packet *packet)
{
	size_t at = count_leading_zeros(bytes, size), zeros;

	for (; at < size; at += zeros) {
		zeros = count_leading_zeros(bytes + at, size - at);
		if (at + zeros == size || zeros >= FLOWTAP_ETE_PACKET_MAX ||
		    (zeros >= ZEROS && bytes[at + zeros] == 0x80))
			break;
		if (!zeros)
			zeros = 1;
	}
	return plain(parser, FLOWTAP_ETE_NOT_SYNCED, at, packet);
}

static noinline size_t unsynced(struct flowtap_ete_parser *parser, const uint8_t *bytes,
				size_t size, struct flowtap_ete_packet *packet)
{
	size_t zeros = count_leading_zeros(bytes, size);

	if (zeros >= FLOWTAP_ETE_PACKET_MAX)
		return some_zeros(parser, zeros, packet);
	if (zeros == size)
		return incomplete(packet);
	if (bytes[zeros] != 0x80 || zeros + parser->zeros < ZEROS)
		return skip(parser, bytes, size, packet);
	parser->synced = true;
	return plain(parser, FLOWTAP_ETE_ALIGNMENT_SYNC, zeros + 1, packet);
}

/* Parse_ExtensionPacket(), K10.5.2.3.1. */
static noinline size_t extension(struct flowtap_ete_parser *parser, const uint8_t *bytes,
				 size_t size, struct flowtap_ete_packet *packet)
{
	size_t zeros = count_leading_zeros(bytes, size), before = parser->zeros;

	if (zeros >= FLOWTAP_ETE_PACKET_MAX)
		return some_zeros(parser, zeros, packet);
	if (zeros == size)
		return incomplete(packet);
	if (bytes[zeros] == 0x80 && zeros >= ZEROS)
		return plain(parser, FLOWTAP_ETE_ALIGNMENT_SYNC, zeros + 1, packet);
	if (bytes[zeros] == 0x80 && zeros + before >= ZEROS) {
		packet->reason = "the packet before was cut off by an Alignment Sync";
		reserved(parser, bytes, 1, packet);
		parser->zeros = before + 1;
		return 1;
	}
	if (zeros == 1 && bytes[1] == 0x03)
		return plain(parser, FLOWTAP_ETE_DISCARD, 2, packet);
	if (zeros == 1 && bytes[1] == 0x05)
		return plain(parser, FLOWTAP_ETE_OVERFLOW, 2, packet);
	packet->reason = zeros == 1 ? "an extension that is reserved" :
				      "zeros that are no Alignment Sync";
	return reserved(parser, bytes, zeros + 1, packet);
}

static noinline size_t count_zeros(struct flowtap_ete_parser *parser, const uint8_t *bytes,
				   size_t size)
{
	size_t zeros = 0;

	while (zeros < size && !bytes[size - 1 - zeros])
		zeros++;
	parser->zeros = zeros;
	return size;
}

static always_inline size_t finish(struct flowtap_ete_parser *parser, const uint8_t *bytes,
				   size_t size, struct flowtap_ete_packet *packet)
{
	packet->size = size;
	parser->zeros = 0;
	return likely(bytes[size - 1]) ? size : count_zeros(parser, bytes, size);
}

static noinline size_t other(struct flowtap_ete_parser *parser, const uint8_t *bytes,
			     struct flowtap_ete_packet *packet)
{
	size_t size = parse(parser, bytes, packet);

	if (unlikely(is_wrong(packet)))
		return reserved(parser, bytes, size, packet);
	return finish(parser, bytes, size, packet);
}

static always_inline size_t target_long(struct flowtap_ete_parser *parser, unsigned int kind,
					const uint8_t *bytes, struct flowtap_ete_packet *packet)
{
	size_t size = 1 + long_address(parser, kind, bytes + 1, packet);

	/* Wrong is the first byte or the second. */
	if (unlikely(size <= 3))
		return reserved(parser, bytes, size, packet);
	return finish(parser, bytes, size, packet);
}

/*
 * Where FLOWTAP_ETE_PACKET_MAX bytes can be read. The packets that a trace of A64 is full of are
 * apart from the others, as these make calls, for which a function has to save its registers.
 */
static always_inline size_t payload(struct flowtap_ete_parser *parser, const uint8_t *bytes,
				    struct flowtap_ete_packet *packet)
{
	const uint8_t header = *bytes;

	if (header == 0x95)
		return finish(parser, bytes, 1 + short_address(parser, false, bytes + 1, packet),
			      packet);
	if (header == 0x9a)
		return target_long(parser, 2, bytes, packet);
	if (header == 0x9d)
		return target_long(parser, 5, bytes, packet);
	if (packet->type == FLOWTAP_ETE_CYCLE_COUNT_3)
		return finish(parser, bytes, cycle_count_3(parser, header, packet), packet);
	if (packet->type == FLOWTAP_ETE_CYCLE_COUNT_2)
		return finish(parser, bytes, cycle_count_2(parser, bytes, packet), packet);
	if (packet->type == FLOWTAP_ETE_TARGET_EXACT) {
		exact_address(parser, header & 3, packet);
		return finish(parser, bytes, 1, packet);
	}
	return other(parser, bytes, packet);
}

/*
 * Where there may be less. No packet ends with a byte of the padding, nor is one of these taken for
 * a zero of an Alignment Sync: what comes out longer than what is there is incomplete.
 */
static noinline size_t payload_at_end(struct flowtap_ete_parser *parser, const uint8_t *bytes,
				      size_t size, struct flowtap_ete_packet *packet)
{
	struct flowtap_ete_parser copy = *parser;
	uint8_t end[FLOWTAP_ETE_PACKET_MAX];
	size_t used;

	memset(end, 0xff, sizeof(end));
	memcpy(end, bytes, size);
	used = payload(&copy, end, packet);
	if (used > size)
		return incomplete(packet);
	*parser = copy;
	return used;
}

static noinline size_t rare(struct flowtap_ete_parser *parser, const uint8_t *bytes, size_t size,
			    struct flowtap_ete_packet *packet)
{
	if (!parser->synced)
		return unsynced(parser, bytes, size, packet);
	if (!*bytes)
		return extension(parser, bytes, size, packet);
	return payload_at_end(parser, bytes, size, packet);
}

size_t flowtap_ete_parse_long(struct flowtap_ete_parser *parser, const uint8_t *bytes, size_t size,
			      struct flowtap_ete_packet *packet)
{
	if (unlikely(!parser->synced || !*bytes || size < FLOWTAP_ETE_PACKET_MAX))
		return rare(parser, bytes, size, packet);
	return payload(parser, bytes, packet);
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
