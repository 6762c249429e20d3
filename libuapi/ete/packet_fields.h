/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The parts that ETE packets are made of (K10.5.2.14, K10.5.2.16, K10.5.6.4).
 *
 * Each is taken apart where FLOWTAP_ETE_PACKET_MAX bytes of the packet can be read without asking.
 */
#ifndef FLOWTAP_LIBUAPI_ETE_PACKET_FIELDS_H
#define FLOWTAP_LIBUAPI_ETE_PACKET_FIELDS_H

#include <endian.h>
#include <flowtap/ete_packet.h>
#include <string.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define noinline __attribute__((noinline))
#define always_inline inline __attribute__((always_inline))

/*
 * A packet that is not whole in the header table; its first part is there already. How many bytes
 * it has, or were looked at where it is wrong. The parser's state is that after the packet.
 */
size_t ete_packet_payload(struct flowtap_ete_parser *parser, const uint8_t *bytes,
			  struct flowtap_ete_packet *packet);

/* TRCIDR2.VMIDSIZE and CIDSIZE, in bytes. */
static inline unsigned int ete_vmid_size(const struct flowtap_ete_config *config)
{
	return config->idr2 >> 10 & 0x1f;
}

static inline unsigned int ete_contextid_size(const struct flowtap_ete_config *config)
{
	return config->idr2 >> 5 & 0x1f;
}

/*
 * What takes a part of a packet says how many bytes that was. Where it is wrong, that is up to and
 * with the byte that is wrong, and nothing after it was read.
 */
static inline size_t wrong(struct flowtap_ete_packet *packet, size_t size, const char *reason)
{
	packet->type = FLOWTAP_ETE_RESERVED;
	packet->reason = reason;
	return size;
}

static inline bool is_wrong(const struct flowtap_ete_packet *packet)
{
	return packet->type == FLOWTAP_ETE_RESERVED;
}

/* --- The encodings of data, K10.5.6.4. --- */

static inline uint32_t pod32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return le32toh(value);
}

static inline uint64_t pod64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

/* --- Addresses, K10.5.2.14. --- */

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

/* --- Cycle counts without a number of any length, K10.5.2.16. --- */

static inline void cycles(const struct flowtap_ete_parser *parser, uint32_t count,
		   struct flowtap_ete_packet *packet)
{
	packet->has_cycles = true;
	packet->cycles = (uint64_t)parser->cc_threshold + count;
}

/*
 * K10.5.2.16.5. In commit mode 1 the pseudocode takes F and AAAA for all ones, which makes MAXSPEC
 * elements of it. That is right where MAXSPEC is 0. Where it is not, Commit packets say what is
 * committed, as they do for the other formats in this mode.
 */
static inline size_t cycle_count_2(const struct flowtap_ete_parser *parser, const uint8_t *bytes,
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
static inline size_t cycle_count_3(const struct flowtap_ete_parser *parser, uint8_t header,
			    struct flowtap_ete_packet *packet)
{
	if (!parser->commit_mode)
		packet->commit = (header >> 2 & 3) + 1;
	cycles(parser, header & 3, packet);
	return 1;
}

#endif /* FLOWTAP_LIBUAPI_ETE_PACKET_FIELDS_H */
