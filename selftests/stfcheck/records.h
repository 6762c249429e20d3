/* SPDX-License-Identifier: GPL-2.0-only */
/* How long each STF record is and where it may stand. */
#ifndef FLOWTAP_SELFTESTS_STFCHECK_RECORDS_H
#define FLOWTAP_SELFTESTS_STFCHECK_RECORDS_H

#include <stddef.h>
#include <stdint.h>

enum {
	RECORD_IDENTIFIER = 0x01,
	RECORD_VERSION = 0x02,
	RECORD_COMMENT = 0x03,
	RECORD_ISA = 0x04,
	RECORD_IEM = 0x05,
	RECORD_TRACE_INFO = 0x06,
	RECORD_FEATURE = 0x07,
	RECORD_PROCESS = 0x08,
	RECORD_FORCE_PC = 0x09,
	RECORD_VLEN = 0x0a,
	RECORD_PROTOCOL = 0x0b,
	RECORD_CLOCK = 0x0c,
	RECORD_ISA_EXTENDED = 0x0d,
	RECORD_END_HEADER = 0x13,
	RECORD_PC_TARGET = 0x1f,
	RECORD_REG = 0x28,
	RECORD_READY_REG = 0x29,
	RECORD_PAGE_TABLE = 0x32,
	RECORD_MEM_ACCESS = 0x3c,
	RECORD_MEM_CONTENT = 0x3d,
	RECORD_BUS_ACCESS = 0x3e,
	RECORD_BUS_CONTENT = 0x3f,
	RECORD_EVENT = 0x64,
	RECORD_EVENT_PC_TARGET = 0x65,
	RECORD_MICROOP = 0xe6,
	RECORD_INST_32 = 0xf0,
	RECORD_INST_16 = 0xf1,
	RECORD_TRANSACTION = 0xfa,
	RECORD_DEPENDENCY = 0xfb,
};

/* Where a record may stand. */
enum {
	PLACE_NONE,		/* there is no such record */
	PLACE_HEADER,
	PLACE_ANY,		/* header and groups, in no order */
	PLACE_GROUP,		/* in an instruction's group, ascending */
	PLACE_OPCODE,		/* ends the group */
	PLACE_BETWEEN,		/* no part of a group */
};

/* What decides how long some records are. */
struct record_widths {
	unsigned int event_id;	/* 4 or 8 bytes */
	uint32_t vlen;		/* bits of a vector register, 0 not said */
	uint8_t protocol;	/* of transactions, 0 not said */
};

int record_place(uint8_t descriptor);
/*
 * Bytes of payload, or UINT64_MAX if `available` ones do not suffice to tell. *reason is set, and
 * 0 returned, where it cannot be told at all.
 */
uint64_t record_size(const struct record_widths *widths, uint8_t descriptor, const uint8_t *payload,
		     size_t available, const char **reason);

/* Little-endian, any alignment. */
static inline uint64_t get(const uint8_t *bytes, unsigned int n)
{
	uint64_t value = 0;

	while (n--)
		value = value << 8 | bytes[n];
	return value;
}

#endif /* FLOWTAP_SELFTESTS_STFCHECK_RECORDS_H */
