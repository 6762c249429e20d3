// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * What each header byte of an ETE (K10.5.2.2.1) and of an ETMv4 begins, and all of the packets that
 * are nothing else.
 */
#include <flowtap/ete_packet.h>

#define LONG(TYPE) { .type = FLOWTAP_ETE_##TYPE }
#define SHORT(TYPE, ...) { .type = FLOWTAP_ETE_##TYPE, .size = 1, ##__VA_ARGS__ }
#define ATOMS(TAKEN, COUNT) .atoms = TAKEN, .atom_count = COUNT

/*
 * K10.5.2.10, the Atom packets: X(header, format, taken, count). Atoms are written from the oldest
 * to the newest, bit 0 is the oldest.
 *
 * Format 6 is COUNT + 3 times E and one more, which is E, or N where bit 5 of the header is set. It
 * has what no other format has of 0b11xxxxxx, so COUNT is 20 at most.
 */
#define FORMAT_6(X, COUNT)                                      \
	X(0xc0 + COUNT, 6, (16u << COUNT) - 1, COUNT + 4)       \
	X(0xe0 + COUNT, 6, (8u << COUNT) - 1, COUNT + 4)

#define ATOM_PACKETS(X)                                                                 \
	X(0xf6, 1, 0, 1) X(0xf7, 1, 1, 1)                                               \
	X(0xd8, 2, 0, 2) X(0xd9, 2, 1, 2) X(0xda, 2, 2, 2) X(0xdb, 2, 3, 2)             \
	X(0xf8, 3, 0, 3) X(0xf9, 3, 1, 3) X(0xfa, 3, 2, 3) X(0xfb, 3, 3, 3)             \
	X(0xfc, 3, 4, 3) X(0xfd, 3, 5, 3) X(0xfe, 3, 6, 3) X(0xff, 3, 7, 3)             \
	X(0xdc, 4, 0xe, 4) /* NEEE */ X(0xdd, 4, 0x0, 4) /* NNNN */                     \
	X(0xde, 4, 0xa, 4) /* NENE */ X(0xdf, 4, 0x5, 4) /* ENEN */                     \
	X(0xf5, 5_1, 0x1e, 5) /* NEEEE */ X(0xd5, 5_2, 0x00, 5) /* NNNNN */             \
	X(0xd6, 5_2, 0x0a, 5) /* NENEN */ X(0xd7, 5_2, 0x15, 5) /* ENENE */             \
	FORMAT_6(X, 0) FORMAT_6(X, 1) FORMAT_6(X, 2) FORMAT_6(X, 3) FORMAT_6(X, 4)      \
	FORMAT_6(X, 5) FORMAT_6(X, 6) FORMAT_6(X, 7) FORMAT_6(X, 8) FORMAT_6(X, 9)      \
	FORMAT_6(X, 10) FORMAT_6(X, 11) FORMAT_6(X, 12) FORMAT_6(X, 13) FORMAT_6(X, 14) \
	FORMAT_6(X, 15) FORMAT_6(X, 16) FORMAT_6(X, 17) FORMAT_6(X, 18) FORMAT_6(X, 19) \
	FORMAT_6(X, 20)

#define PACKET(HEADER, FORMAT, TAKEN, COUNT) \
	[HEADER] = SHORT(ATOM_##FORMAT, ATOMS(TAKEN, COUNT)),
#define ATOM(HEADER, FORMAT, TAKEN, COUNT) [HEADER] = { .taken = TAKEN, .count = COUNT },

const struct flowtap_ete_atoms flowtap_ete_atoms[256] = { ATOM_PACKETS(ATOM) };

/* The rows that ETE and ETMv4 have in common. */
#define COMMON_PACKETS                                                                          \
	/* The second byte says which: Discard, Overflow or this. */                            \
	[0x00] = LONG(ALIGNMENT_SYNC),                                                          \
	[0x01] = LONG(TRACE_INFO),                                                              \
	[0x02 ... 0x03] = LONG(TIMESTAMP),                                                      \
	[0x04] = SHORT(TRACE_ON),                                                               \
	[0x06] = LONG(EXCEPTION),                                                               \
	[0x08] = LONG(RESERVED),                                                                \
	[0x0c ... 0x0d] = LONG(CYCLE_COUNT_2),                                                  \
	[0x0e ... 0x0f] = LONG(CYCLE_COUNT_1),                                                  \
	/* Without a payload; but threshold and commit mode are to be looked up. */             \
	[0x10 ... 0x1f] = LONG(CYCLE_COUNT_3),                                                  \
	/* ETMv4's data synchronisation markers. */                                             \
	[0x20 ... 0x2c] = LONG(RESERVED),                                                       \
	[0x2d] = LONG(COMMIT),                                                                  \
	[0x2e] = LONG(CANCEL_1),                                                                \
	[0x2f] = { .type = FLOWTAP_ETE_CANCEL_1, .mispredict = true },                          \
	[0x30] = SHORT(MISPREDICT, .mispredict = true),                                         \
	[0x31] = SHORT(MISPREDICT, ATOMS(1, 1), .mispredict = true),                            \
	[0x32] = SHORT(MISPREDICT, ATOMS(3, 2), .mispredict = true),                            \
	[0x33] = SHORT(MISPREDICT, ATOMS(0, 1), .mispredict = true),                            \
	[0x34] = SHORT(CANCEL_2, .cancel = 1, .mispredict = true),                              \
	[0x35] = SHORT(CANCEL_2, ATOMS(1, 1), .cancel = 1, .mispredict = true),                 \
	[0x36] = SHORT(CANCEL_2, ATOMS(3, 2), .cancel = 1, .mispredict = true),                 \
	[0x37] = SHORT(CANCEL_2, ATOMS(0, 1), .cancel = 1, .mispredict = true),                 \
	[0x38] = SHORT(CANCEL_3, .cancel = 2, .mispredict = true),                              \
	[0x39] = SHORT(CANCEL_3, ATOMS(1, 1), .cancel = 2, .mispredict = true),                 \
	[0x3a] = SHORT(CANCEL_3, .cancel = 3, .mispredict = true),                              \
	[0x3b] = SHORT(CANCEL_3, ATOMS(1, 1), .cancel = 3, .mispredict = true),                 \
	[0x3c] = SHORT(CANCEL_3, .cancel = 4, .mispredict = true),                              \
	[0x3d] = SHORT(CANCEL_3, ATOMS(1, 1), .cancel = 4, .mispredict = true),                 \
	[0x3e] = SHORT(CANCEL_3, .cancel = 5, .mispredict = true),                              \
	[0x3f] = SHORT(CANCEL_3, ATOMS(1, 1), .cancel = 5, .mispredict = true),                 \
	/* ETMv4's conditional instructions. */                                                 \
	[0x40 ... 0x6f] = LONG(RESERVED),                                                       \
	[0x71] = SHORT(EVENT, .events = 0x1), [0x72] = SHORT(EVENT, .events = 0x2),             \
	[0x73] = SHORT(EVENT, .events = 0x3), [0x74] = SHORT(EVENT, .events = 0x4),             \
	[0x75] = SHORT(EVENT, .events = 0x5), [0x76] = SHORT(EVENT, .events = 0x6),             \
	[0x77] = SHORT(EVENT, .events = 0x7), [0x78] = SHORT(EVENT, .events = 0x8),             \
	[0x79] = SHORT(EVENT, .events = 0x9), [0x7a] = SHORT(EVENT, .events = 0xa),             \
	[0x7b] = SHORT(EVENT, .events = 0xb), [0x7c] = SHORT(EVENT, .events = 0xc),             \
	[0x7d] = SHORT(EVENT, .events = 0xd), [0x7e] = SHORT(EVENT, .events = 0xe),             \
	[0x7f] = SHORT(EVENT, .events = 0xf),                                                   \
	[0x80 ... 0x81] = LONG(CONTEXT),                                                        \
	[0x82 ... 0x83] = LONG(ADDRESS_CONTEXT),                                                \
	[0x84] = LONG(RESERVED),                                                                \
	[0x85 ... 0x86] = LONG(ADDRESS_CONTEXT),                                                \
	[0x87] = LONG(RESERVED),                                                                \
	[0x89 ... 0x8f] = LONG(RESERVED),                                                       \
	[0x90 ... 0x92] = LONG(TARGET_EXACT),                                                   \
	[0x93 ... 0x94] = LONG(RESERVED),                                                       \
	[0x95 ... 0x96] = LONG(TARGET_SHORT),                                                   \
	[0x97 ... 0x99] = LONG(RESERVED),                                                       \
	[0x9a ... 0x9b] = LONG(TARGET_LONG),                                                    \
	[0x9c] = LONG(RESERVED),                                                                \
	[0x9d ... 0x9e] = LONG(TARGET_LONG),                                                    \
	[0x9f] = LONG(RESERVED),                                                                \
	[0xa0 ... 0xa2] = LONG(Q),                                                              \
	[0xa3 ... 0xa4] = LONG(RESERVED),                                                       \
	[0xa5 ... 0xa6] = LONG(Q),                                                              \
	[0xa7 ... 0xa9] = LONG(RESERVED),                                                       \
	[0xaa ... 0xac] = LONG(Q),                                                              \
	[0xad ... 0xae] = LONG(RESERVED),                                                       \
	[0xaf] = LONG(Q),                                                                       \
	[0xb3] = LONG(RESERVED),                                                                \
	[0xba ... 0xbf] = LONG(RESERVED),                                                       \
	ATOM_PACKETS(PACKET)

/* By 64: no copy of a first part crosses a line of the cache more than it must. */
const struct flowtap_ete_packet flowtap_ete_headers[256] __attribute__((aligned(64))) = {
	[0x05] = LONG(RESERVED),
	[0x07] = LONG(RESERVED),
	/* FEAT_ITE: the list of K10.5.2.2.1 lacks it. DDI 0487 D5, "Instrumentation packet". */
	[0x09] = LONG(INSTRUMENTATION),
	[0x0a] = SHORT(TRANSACTION_START),
	[0x0b] = SHORT(TRANSACTION_COMMIT),
	[0x70] = SHORT(IGNORE),
	/* ETE 1.1, TRCIDR0.TSMARK: lacking there, too. D5, "Timestamp Marker packet". */
	[0x88] = SHORT(TIMESTAMP_MARKER),
	[0xb0 ... 0xb2] = LONG(SOURCE_EXACT),
	/* K10.5.2.12.1 has 0b10011101 for the second: a Target Address, and no Source Address. */
	[0xb4 ... 0xb5] = LONG(SOURCE_SHORT),
	[0xb6 ... 0xb9] = LONG(SOURCE_LONG),
	COMMON_PACKETS
};

/* IHI 0064, 6.4. Those that came with a later version, or are of a profile, are LONG: it is asked. */
const struct flowtap_ete_packet flowtap_etm4_headers[256] __attribute__((aligned(64))) = {
	[0x05] = LONG(FUNCTION_RETURN),
	[0x07] = SHORT(EXCEPTION_RETURN),
	[0x09 ... 0x0b] = LONG(RESERVED),
	[0x70] = LONG(IGNORE),
	[0x88] = LONG(TIMESTAMP_MARKER),
	[0xb0 ... 0xb2] = LONG(RESERVED),
	[0xb4 ... 0xb9] = LONG(RESERVED),
	COMMON_PACKETS
};
