/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Packets of an ETE (K10.5.2) or an ETMv4 (IHI 0064, 6.4): the first stage of decoding, and what
 * `flowtap dump --packets` shows.
 */
#ifndef FLOWTAP_ETE_PACKET_H
#define FLOWTAP_ETE_PACKET_H

#include <flowtap/ete.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum flowtap_ete_packet_type {
	FLOWTAP_ETE_INCOMPLETE,		/* the bytes end before the packet does */
	FLOWTAP_ETE_NOT_SYNCED,		/* bytes before an Alignment Sync */
	FLOWTAP_ETE_RESERVED,		/* `reason` says what is wrong */
	FLOWTAP_ETE_ALIGNMENT_SYNC,
	FLOWTAP_ETE_ALIGNMENT_ZEROS,	/* of an Alignment Sync with many more than it needs */
	FLOWTAP_ETE_DISCARD,
	FLOWTAP_ETE_OVERFLOW,
	FLOWTAP_ETE_TRACE_INFO,
	FLOWTAP_ETE_TIMESTAMP,
	FLOWTAP_ETE_TIMESTAMP_MARKER,
	FLOWTAP_ETE_TRACE_ON,
	FLOWTAP_ETE_EXCEPTION,		/* with PE reset (type 0), transaction failure (24) */
	FLOWTAP_ETE_EXCEPTION_RETURN,	/* ETMv4 */
	FLOWTAP_ETE_FUNCTION_RETURN,	/* ETMv4 of Armv8-M */
	FLOWTAP_ETE_BRANCH_FUTURE_FLUSH,	/* ETMv4.5 of Armv8.1-M */
	FLOWTAP_ETE_INSTRUMENTATION,	/* ITE */
	FLOWTAP_ETE_TRANSACTION_START,
	FLOWTAP_ETE_TRANSACTION_COMMIT,
	FLOWTAP_ETE_CYCLE_COUNT_1,
	FLOWTAP_ETE_CYCLE_COUNT_2,
	FLOWTAP_ETE_CYCLE_COUNT_3,
	FLOWTAP_ETE_COMMIT,
	FLOWTAP_ETE_CANCEL_1,
	FLOWTAP_ETE_CANCEL_2,
	FLOWTAP_ETE_CANCEL_3,
	FLOWTAP_ETE_MISPREDICT,
	FLOWTAP_ETE_IGNORE,
	FLOWTAP_ETE_EVENT,
	FLOWTAP_ETE_CONTEXT,
	FLOWTAP_ETE_ADDRESS_CONTEXT,	/* Target Address with Context */
	FLOWTAP_ETE_TARGET_EXACT,
	FLOWTAP_ETE_TARGET_SHORT,
	FLOWTAP_ETE_TARGET_LONG,
	FLOWTAP_ETE_Q,
	FLOWTAP_ETE_SOURCE_EXACT,
	FLOWTAP_ETE_SOURCE_SHORT,
	FLOWTAP_ETE_SOURCE_LONG,
	FLOWTAP_ETE_ATOM_1,
	FLOWTAP_ETE_ATOM_2,
	FLOWTAP_ETE_ATOM_3,
	FLOWTAP_ETE_ATOM_4,
	FLOWTAP_ETE_ATOM_5_1,
	FLOWTAP_ETE_ATOM_5_2,
	FLOWTAP_ETE_ATOM_6,
	FLOWTAP_ETE_PACKET_TYPES
};

enum flowtap_ete_exception {
	FLOWTAP_ETE_PE_RESET = 0,
	FLOWTAP_ETE_TRANSACTION_FAILURE = 24,
	FLOWTAP_ETE_PE_RESET_UNKNOWN = 25,	/* its address, too, is unknown (K10.5.6.3.12) */
	FLOWTAP_ETM4_M_RESET = 1,	/* the M profile's */
	FLOWTAP_ETM4_M_LAZY_FP_PUSH = 25,
	FLOWTAP_ETM4_M_LOCKUP = 26,
};

/* As in an entry of the address history buffer. */
struct flowtap_ete_address {
	uint64_t address;
	uint8_t sub_isa;	/* 0: IS0, A64 or A32; 1: IS1, T32 */
};

struct flowtap_ete_context {
	uint32_t contextid;
	uint32_t vmid;
	uint8_t exception_level;
	uint8_t security;	/* enum flowtap_security: NS and NSE (Realm, Root) */
	bool sixty_four_bit;
};

/*
 * One packet. What is first is set for every type, the rest where the comment says so: it is
 * whatever it was before for other types.
 */
struct flowtap_ete_packet {
	enum flowtap_ete_packet_type type;
	uint32_t size;			/* bytes */

	/*
	 * P0 elements and speculation, in the order in which a packet has them: commit first, then
	 * atoms, then cancel, then mispredict.
	 */
	uint32_t commit;		/* a Commit element of so many, 0 none */
	uint32_t atoms;			/* bit i: atom i, the oldest is 0, is E */
	uint32_t cancel;		/* 0 none */
	uint8_t atom_count;
	bool mispredict;

	bool has_address;		/* Target, Source, Exception, Q */
	bool address_unknown;		/* Exception: its address is not known (0x70) */
	bool has_context;		/* Context, Address with Context, Exception with it */
	bool context_updated;		/* ... and it has a payload (P) */
	bool has_vmid;			/* ... with VMID, CONTEXTID in it */
	bool has_contextid;
	bool has_cycles;		/* Timestamp, Cycle Count: false, or U set: unknown */
	uint8_t exact;			/* exact match: which entry, 0 to 2 */
	uint8_t q_type;			/* Q: TYPE */
	uint8_t events;			/* Event: bit i: event i */

	const char *reason;		/* RESERVED: one line */

	struct flowtap_ete_address address;	/* has_address: whole, as it is now */
	struct flowtap_ete_context context;	/* has_context: likewise */

	uint16_t exception_type;	/* Exception: TYPE; 10 bits of an ETMv4, else 5 */
	uint8_t exception_e;		/* ... E1:E0 */
	bool fault_pending;		/* ... P, of an ETMv4's second information byte */

	uint32_t q_count;		/* Q: 0: no count */

	uint64_t cycles;		/* has_cycles; Cycle Count: threshold added */
	uint64_t timestamp;		/* Timestamp */

	uint8_t plctl, info;		/* Trace Info */
	bool cc_enabled;
	bool in_transaction;
	uint32_t spec;			/* ... its speculation depth */
	uint32_t cc_threshold;

	uint64_t instrumentation;	/* ITE: the value written, and where */
	uint8_t instrumentation_el;
};

#define FLOWTAP_ETE_PACKET_HEAD offsetof(struct flowtap_ete_packet, reason)

/*
 * What each header byte says of its packet: for a packet without a payload all of it, its size then
 * is 1; else its type and what is in the header, and its size is 0.
 */
extern const struct flowtap_ete_packet flowtap_ete_headers[256];
extern const struct flowtap_ete_packet flowtap_etm4_headers[256];

/* What goes on from packet to packet (K10.5.2.1). Set by flowtap_ete_parser_init only. */
struct flowtap_ete_parser {
	uint64_t history[3];		/* the address history buffer; bit 0: sub_isa */
	struct flowtap_ete_context context;
	uint64_t timestamp;
	uint32_t cc_threshold;
	uint32_t max_speculation;	/* TRCIDR8.MAXSPEC */
	const struct flowtap_ete_packet *headers;	/* of its architecture */
	uint8_t etm4;			/* an ETMv4's version, 0x40 to 0x4f; 0: ETE */
	bool m_profile;
	bool has_q;			/* TRCIDR0.QSUPP; or that is not known */
	uint8_t vmid_size;		/* bytes of them in a context */
	uint8_t contextid_size;
	bool commit_mode;		/* TRCIDR0.COMMOPT */
	bool synced;
	uint8_t zeros;			/* 0x00 bytes at the end of the packet before */
};

/* Not synced. */
void flowtap_ete_parser_init(struct flowtap_ete_parser *parser,
			     const struct flowtap_ete_config *config);

/*
 * In bytes, what no packet but NOT_SYNCED and ALIGNMENT_ZEROS is longer than: an ETMv4's Trace Info,
 * whose numbers can have as many leading zeros as they have space for, has 45.
 */
#define FLOWTAP_ETE_PACKET_MAX 48

/*
 * The packet that begins at bytes, of which size > 0 are there. Returns how many bytes were used,
 * which is packet->size, but for
 * - INCOMPLETE: 0, and nothing of the parser changes; give the same bytes again with more after
 *   them. Never of FLOWTAP_ETE_PACKET_MAX bytes or more.
 * - NOT_SYNCED: what was skipped, up to the zeros that are or may be an Alignment Sync's.
 * - RESERVED: the bytes looked at, at least 1; the parser is not synced any more. What began in
 *   those bytes can be an Alignment Sync's zeros: none of them are lost.
 *
 * Alignment Sync is at least 11 zeros and 0x80 (K10.5.2.3). It is recognised wherever a packet can
 * begin, and everywhere where the parser is not synced. K10.5.2.3 names no end of its zeros: of a
 * run of FLOWTAP_ETE_PACKET_MAX or more the first come as ALIGNMENT_ZEROS, which says nothing.
 * Where the packet before was cut off and took zeros of it, the first zero that is left is
 * RESERVED, and what is left then is the Alignment Sync. A Trace Info resets history, context and
 * timestamp as K10.5.2.6.2 says.
 *
 * The same packets come out however the bytes are cut, but for NOT_SYNCED and ALIGNMENT_ZEROS,
 * which may come in parts.
 */
static inline size_t flowtap_ete_parse(struct flowtap_ete_parser *parser, const uint8_t *bytes,
				       size_t size, struct flowtap_ete_packet *packet);

/* The same for what is more than a header byte: flowtap_ete_parse's own. */
size_t flowtap_ete_parse_long(struct flowtap_ete_parser *parser, const uint8_t *bytes, size_t size,
			      struct flowtap_ete_packet *packet);

static inline size_t flowtap_ete_parse(struct flowtap_ete_parser *parser, const uint8_t *bytes,
				       size_t size, struct flowtap_ete_packet *packet)
{
	const struct flowtap_ete_packet *header = &parser->headers[*bytes];

	memcpy(packet, header, FLOWTAP_ETE_PACKET_HEAD);
	if (!header->size || !parser->synced)
		return flowtap_ete_parse_long(parser, bytes, size, packet);
	parser->zeros = 0;
	return 1;
}

/* The packet's name as the specification spells it, "Atom format 1" ... */
const char *flowtap_ete_packet_name(enum flowtap_ete_packet_type type);

/*
 * The name of an exception type, "PE reset", "IRQ" ...; "reserved" where there is none. m_profile:
 * as in flowtap_ete_config; types are other ones there.
 */
const char *flowtap_ete_exception_name(bool m_profile, unsigned int type);

/*
 * For the decoder's fast path: a header byte that is an Atom packet, all of it. count 0: it is
 * none. Only where the parser is synced; a caller that takes such a byte by itself sets the
 * parser's zeros to 0.
 */
struct flowtap_ete_atoms {
	uint32_t taken;		/* bit i: atom i is E */
	uint8_t count;
};

extern const struct flowtap_ete_atoms flowtap_ete_atoms[256];

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_ETE_PACKET_H */
