/* SPDX-License-Identifier: GPL-2.0-only */
/* Transfer types as the tests know them (Smctr table 9), on their own account. */
#ifndef FLOWTAP_TEST_TRANSFER_TYPE_H
#define FLOWTAP_TEST_TRANSFER_TYPE_H

enum transfer_type {
	TYPE_EXCEPTION = 1,
	TYPE_INTERRUPT = 2,
	TYPE_TRAP_RETURN = 3,
	TYPE_NOT_TAKEN = 4,
	TYPE_TAKEN = 5,
	TYPE_INDIRECT_CALL = 8,
	TYPE_DIRECT_CALL = 9,
	TYPE_INDIRECT_JUMP = 10,
	TYPE_DIRECT_JUMP = 11,
	TYPE_SWAP = 12,
	TYPE_RETURN = 13,
	TYPE_OTHER_INDIRECT = 14,
	TYPE_OTHER_DIRECT = 15,
};

#endif /* FLOWTAP_TEST_TRANSFER_TYPE_H */
