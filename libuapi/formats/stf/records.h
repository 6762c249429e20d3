/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* STF records: their numbers and how they are put together. Each put returns where it ends. */
#ifndef FLOWTAP_LIBUAPI_FORMATS_STF_RECORDS_H
#define FLOWTAP_LIBUAPI_FORMATS_STF_RECORDS_H

#include <endian.h>
#include <flowtap/flow.h>
#include <stdbool.h>
#include <string.h>

#include "isa/block_end.h"

enum {
	STF_IDENTIFIER = 0x01,
	STF_VERSION = 0x02,
	STF_COMMENT = 0x03,
	STF_ISA = 0x04,
	STF_INST_IEM = 0x05,
	STF_TRACE_INFO = 0x06,
	STF_TRACE_INFO_FEATURE = 0x07,
	STF_PROCESS_ID_EXT = 0x08,
	STF_FORCE_PC = 0x09,
	STF_VLEN_CONFIG = 0x0a,
	STF_PROTOCOL_ID = 0x0b,
	STF_CLOCK_ID = 0x0c,
	STF_ISA_EXTENDED = 0x0d,
	STF_END_HEADER = 0x13,
	STF_INST_PC_TARGET = 0x1f,
	STF_INST_REG = 0x28,
	STF_INST_READY_REG = 0x29,
	STF_PAGE_TABLE_WALK = 0x32,
	STF_INST_MEM_ACCESS = 0x3c,
	STF_INST_MEM_CONTENT = 0x3d,
	STF_BUS_MASTER_ACCESS = 0x3e,
	STF_BUS_MASTER_CONTENT = 0x3f,
	STF_EVENT = 0x64,
	STF_EVENT_PC_TARGET = 0x65,
	STF_MICROOP = 0xe6,
	STF_TRANSACTION = 0xfa,
	STF_DEPENDENCY = 0xfb,
	STF_INST_32 = 0xf0,
	STF_INST_16 = 0xf1,
};

#define VERSION_MAJOR	1
#define VERSION_MINOR	5
#define ISA_RISCV	1
#define ISA_ARM		2
#define IEM_NONE	0		/* none is assigned for Arm */
#define IEM_RV64	2
#define FEATURE_PHYSICAL_ADDRESS (1ULL << 0)
#define FEATURE_EVENT	(1ULL << 3)
#define FEATURE_RV64	(1ULL << 5)
#define FEATURE_PTE	(1ULL << 8)
#define FEATURE_PROCESS_ID (1ULL << 10)
#define FEATURE_EVENT64	(1ULL << 19)
#define MODE_CHANGE	(1ULL << 62)	/* with EVENT64 */

/* Our COMMENTs that are no line of flowtap/text.h. */
#define COMMENT_UNEXPLAINED "gap unexplained"
#define COMMENT_AFTER "after the next instruction" /* so are the comments up to its opcode */
#define COMMENT_TAKEN	"taken"		/* the next branch, to an address that is not known */

#define TARGET_SIZE	9U		/* INST_PC_TARGET */
#define EVENT_SIZE	18U		/* EVENT with one field */
#define OPCODE_MAX	5U		/* INST_32 */
#define COMMENT_HEAD	5U		/* COMMENT without its text */
#define LAST_MAX \
	(COMMENT_HEAD + sizeof(COMMENT_TAKEN) + 2 * TARGET_SIZE + 3 * EVENT_SIZE + OPCODE_MAX)

static inline uint8_t *put8(uint8_t *to, uint8_t value)
{
	*to = value;
	return to + 1;
}

static inline uint8_t *put16(uint8_t *to, uint16_t value)
{
	value = htole16(value);
	memcpy(to, &value, sizeof(value));
	return to + sizeof(value);
}

static inline uint8_t *put32(uint8_t *to, uint32_t value)
{
	value = htole32(value);
	memcpy(to, &value, sizeof(value));
	return to + sizeof(value);
}

static inline uint8_t *put64(uint8_t *to, uint64_t value)
{
	value = htole64(value);
	memcpy(to, &value, sizeof(value));
	return to + sizeof(value);
}

static inline uint8_t *put_address(uint8_t *to, uint8_t descriptor, uint64_t address)
{
	return put64(put8(to, descriptor), address);
}

static inline uint8_t *put_comment(uint8_t *to, const char *text)
{
	size_t size = strlen(text);

	to = put32(put8(to, STF_COMMENT), (uint32_t)size);
	memcpy(to, text, size);
	return to + size;
}

static inline uint8_t *put_process(uint8_t *to, const struct flowtap_context *context)
{
	to = put32(put8(to, STF_PROCESS_ID_EXT), context->cpu);
	return put32(put32(to, context->pid), context->tid);
}

static inline uint8_t *put_event(uint8_t *to, uint64_t id, uint64_t field)
{
	to = put8(put64(put8(to, STF_EVENT), id), 1);
	return put64(to, field);
}

static inline uint8_t *put_mode(uint8_t *to, uint8_t mode)
{
	return put_event(to, MODE_CHANGE, mode);
}

/*
 * The bytes as they are in memory. A 32-bit T32 instruction, though, is two halfwords of which
 * the first one is the upper half of its encoding (F3.1).
 */
static inline uint8_t *put_insn(uint8_t *to, unsigned int isa, const uint8_t *insn)
{
	size_t size = insn_size(isa, insn);

	*to++ = size == 4 ? STF_INST_32 : STF_INST_16;
	if (isa == FLOWTAP_ISA_T32 && size == 4) {
		memcpy(to, insn + 2, 2);
		memcpy(to + 2, insn, 2);
	} else {
		memcpy(to, insn, size);
	}
	return to + size;
}

/* An instruction with what is said of it: a trap, its return, or a branch to nobody knows where. */
struct stf_last {
	uint8_t insn[4];
	uint8_t isa;		/* enum flowtap_isa */
	bool unknown;		/* `target` is: 0, which may be one */
	bool may_fall_through;		/* without a target it looks as if it was not taken */
	uint64_t address;
	bool returns;		/* an xRET */
	bool carries;		/* INST_PC_TARGET */
	uint64_t target;
	bool begins;		/* its mode has to be said: `before` */
	uint8_t before;
	bool traps;		/* the exception with this id leads to `handler` */
	uint64_t id;
	uint64_t field;
	uint64_t handler;
	bool changes;		/* what follows is executed in mode `after` */
	uint8_t after;
};

/*
 * The group of the instruction, its opcode at the end. Of T32 the next reader may not know that it
 * is always taken (flowtap/arm.h).
 *
 * Of an xRET one change of mode is taken for the one that it makes: if its own has to be said, both
 * are, even if they are the same.
 */
static inline uint8_t *put_last(uint8_t *to, const struct stf_last *last)
{
	bool twice = last->begins && last->returns;

	if (last->unknown && last->may_fall_through && !last->carries)
		to = put_comment(to, COMMENT_TAKEN);
	if (last->carries)
		to = put_address(to, STF_INST_PC_TARGET, last->target);
	if (last->begins)
		to = put_mode(to, last->before);
	if (last->traps)
		to = put_address(put_event(to, last->id, last->field), STF_EVENT_PC_TARGET,
				 last->handler);
	if (last->changes || twice)
		to = put_mode(to, last->changes ? last->after : last->before);
	return put_insn(to, last->isa, last->insn);
}

#endif /* FLOWTAP_LIBUAPI_FORMATS_STF_RECORDS_H */
