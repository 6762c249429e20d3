// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Stage 1 of trace analysis: the byte stream parsed (K10.5.2).
 *
 * Near the end of what is there a packet is taken apart with a copy of the bytes and of the parser,
 * and only then it is known whether it is whole.
 */
#include "ete/packet_fields.h"

#include <stddef.h>

#define ZEROS 11	/* of an Alignment Sync: K10.5.2.3 */
#define COMMOPT (1u << 29)
#define QSUPP (3u << 15)
#define ETE_ID_SIZE 4	/* bytes of a VMID or Context ID: K10.5.2.14.9 */
#define ETM4_MAJOR 4

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

/* Parse_ExtensionPacket(), K10.5.2.3.1; the flush is IHI 0064's. */
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
	/* What a BF announced is forgotten: nobody goes by that here (atoms.c). */
	if (zeros == 1 && bytes[1] == 0x07 && parser->etm4 >= 0x45)
		return plain(parser, FLOWTAP_ETE_BRANCH_FUTURE_FLUSH, 2, packet);
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
	size_t size = ete_packet_payload(parser, bytes, packet);

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
	const bool etm4 = flowtap_ete_is_etm4(config);

	*parser = (struct flowtap_ete_parser){
		.context.security = FLOWTAP_SECURE,
		.max_speculation = config->idr8,
		.commit_mode = config->idr0 & COMMOPT,
		/* No trace unit has a TRCIDR0 of 0: it is not known. */
		.has_q = !config->idr0 || config->idr0 & QSUPP,
		.headers = etm4 ? flowtap_etm4_headers : flowtap_ete_headers,
		.vmid_size = ETE_ID_SIZE,
		.contextid_size = ETE_ID_SIZE,
	};
	if (!etm4)
		return;
	/* TRCARCHMAJ, TRCARCHMIN; where these are not known, the last version. */
	parser->etm4 = config->idr1 >> 4 & 0xff;
	if (parser->etm4 >> 4 != ETM4_MAJOR)
		parser->etm4 = ETM4_MAJOR << 4 | 0xf;
	parser->m_profile = config->m_profile;
	parser->vmid_size = ete_vmid_size(config);
	parser->contextid_size = ete_contextid_size(config);
}
