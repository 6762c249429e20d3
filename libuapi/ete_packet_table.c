// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What each header byte begins (K10.5.2.2.1), and the atoms of those that are Atom packets. */
#include "ete_packet_table.h"

#include <flowtap/ete_packet.h>

#define RESERVED FLOWTAP_ETE_RESERVED

const uint8_t ete_packet_types[256] = {
	/* The second byte says which: Discard, Overflow or this. */
	[0x00] = FLOWTAP_ETE_ALIGNMENT_SYNC,
	[0x01] = FLOWTAP_ETE_TRACE_INFO,
	[0x02 ... 0x03] = FLOWTAP_ETE_TIMESTAMP,
	[0x04] = FLOWTAP_ETE_TRACE_ON,
	[0x05] = RESERVED,
	[0x06] = FLOWTAP_ETE_EXCEPTION,
	/* ETMv4's Exception Return is not in ETE. */
	[0x07 ... 0x08] = RESERVED,
	/* FEAT_ITE, ETE 1.3: not in the list of K10.5.2.2.1, but among the packets of D5.5. */
	[0x09] = FLOWTAP_ETE_INSTRUMENTATION,
	[0x0a] = FLOWTAP_ETE_TRANSACTION_START,
	[0x0b] = FLOWTAP_ETE_TRANSACTION_COMMIT,
	[0x0c ... 0x0d] = FLOWTAP_ETE_CYCLE_COUNT_2,
	[0x0e ... 0x0f] = FLOWTAP_ETE_CYCLE_COUNT_1,
	[0x10 ... 0x1f] = FLOWTAP_ETE_CYCLE_COUNT_3,
	[0x20 ... 0x2c] = RESERVED,
	[0x2d] = FLOWTAP_ETE_COMMIT,
	[0x2e ... 0x2f] = FLOWTAP_ETE_CANCEL_1,
	[0x30 ... 0x33] = FLOWTAP_ETE_MISPREDICT,
	[0x34 ... 0x37] = FLOWTAP_ETE_CANCEL_2,
	[0x38 ... 0x3f] = FLOWTAP_ETE_CANCEL_3,
	[0x40 ... 0x6f] = RESERVED,
	[0x70] = FLOWTAP_ETE_IGNORE,
	[0x71 ... 0x7f] = FLOWTAP_ETE_EVENT,
	[0x80 ... 0x81] = FLOWTAP_ETE_CONTEXT,
	[0x82 ... 0x83] = FLOWTAP_ETE_ADDRESS_CONTEXT,
	[0x84] = RESERVED,
	[0x85 ... 0x86] = FLOWTAP_ETE_ADDRESS_CONTEXT,
	[0x87] = RESERVED,
	/* ETE 1.1: not in the list of K10.5.2.2.1 either. */
	[0x88] = FLOWTAP_ETE_TIMESTAMP_MARKER,
	[0x89 ... 0x8f] = RESERVED,
	[0x90 ... 0x92] = FLOWTAP_ETE_TARGET_EXACT,
	[0x93 ... 0x94] = RESERVED,
	[0x95 ... 0x96] = FLOWTAP_ETE_TARGET_SHORT,
	[0x97 ... 0x99] = RESERVED,
	[0x9a ... 0x9b] = FLOWTAP_ETE_TARGET_LONG,
	[0x9c] = RESERVED,
	[0x9d ... 0x9e] = FLOWTAP_ETE_TARGET_LONG,
	[0x9f] = RESERVED,
	[0xa0 ... 0xa2] = FLOWTAP_ETE_Q,
	[0xa3 ... 0xa4] = RESERVED,
	[0xa5 ... 0xa6] = FLOWTAP_ETE_Q,
	[0xa7 ... 0xa9] = RESERVED,
	[0xaa ... 0xac] = FLOWTAP_ETE_Q,
	[0xad ... 0xae] = RESERVED,
	[0xaf] = FLOWTAP_ETE_Q,
	[0xb0 ... 0xb2] = FLOWTAP_ETE_SOURCE_EXACT,
	[0xb3] = RESERVED,
	/* K10.5.2.12.1 has 0b10011101 for the second: a Target Address, and no Source Address. */
	[0xb4 ... 0xb5] = FLOWTAP_ETE_SOURCE_SHORT,
	[0xb6 ... 0xb9] = FLOWTAP_ETE_SOURCE_LONG,
	[0xba ... 0xbf] = RESERVED,

	/* K10.5.2.10.1: format 6 is what no other format has of 0b11xxxxxx. */
	[0xc0 ... 0xd4] = FLOWTAP_ETE_ATOM_6,
	[0xd5 ... 0xd7] = FLOWTAP_ETE_ATOM_5_2,
	[0xd8 ... 0xdb] = FLOWTAP_ETE_ATOM_2,
	[0xdc ... 0xdf] = FLOWTAP_ETE_ATOM_4,
	[0xe0 ... 0xf4] = FLOWTAP_ETE_ATOM_6,
	[0xf5] = FLOWTAP_ETE_ATOM_5_1,
	[0xf6 ... 0xf7] = FLOWTAP_ETE_ATOM_1,
	[0xf8 ... 0xff] = FLOWTAP_ETE_ATOM_3,
};

/*
 * Format 6: COUNT + 3 times E, then one more, E or N (header bit 5). COUNT is at most 20: the
 * header bytes above are other formats.
 */
#define FORMAT_6(COUNT)                                                  \
	[0xc0 + (COUNT)] = { .taken = (16u << (COUNT)) - 1, .count = (COUNT) + 4 }, \
	[0xe0 + (COUNT)] = { .taken = (8u << (COUNT)) - 1, .count = (COUNT) + 4 }

const struct flowtap_ete_atoms flowtap_ete_atoms[256] = {
	[0xf6] = { 0, 1 }, [0xf7] = { 1, 1 },					/* format 1 */
	[0xd8] = { 0, 2 }, [0xd9] = { 1, 2 }, [0xda] = { 2, 2 }, [0xdb] = { 3, 2 },
	[0xf8] = { 0, 3 }, [0xf9] = { 1, 3 }, [0xfa] = { 2, 3 }, [0xfb] = { 3, 3 },
	[0xfc] = { 4, 3 }, [0xfd] = { 5, 3 }, [0xfe] = { 6, 3 }, [0xff] = { 7, 3 },
	[0xdc] = { 0xe, 4 },							/* NEEE */
	[0xdd] = { 0x0, 4 },							/* NNNN */
	[0xde] = { 0xa, 4 },							/* NENE */
	[0xdf] = { 0x5, 4 },							/* ENEN */
	[0xf5] = { 0x1e, 5 },							/* NEEEE */
	[0xd5] = { 0x00, 5 },							/* NNNNN */
	[0xd6] = { 0x0a, 5 },							/* NENEN */
	[0xd7] = { 0x15, 5 },							/* ENENE */
	FORMAT_6(0), FORMAT_6(1), FORMAT_6(2), FORMAT_6(3), FORMAT_6(4), FORMAT_6(5),
	FORMAT_6(6), FORMAT_6(7), FORMAT_6(8), FORMAT_6(9), FORMAT_6(10), FORMAT_6(11),
	FORMAT_6(12), FORMAT_6(13), FORMAT_6(14), FORMAT_6(15), FORMAT_6(16), FORMAT_6(17),
	FORMAT_6(18), FORMAT_6(19), FORMAT_6(20),
};
