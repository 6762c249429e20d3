/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* STF records: their numbers and how they are put together. Each put returns where it ends. */
#ifndef FLOWTAP_STF_RECORDS_H
#define FLOWTAP_STF_RECORDS_H

#include <endian.h>
#include <flowtap/flow.h>
#include <string.h>

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
	STF_END_HEADER = 0x13,
	STF_INST_PC_TARGET = 0x1f,
	STF_EVENT = 0x64,
	STF_INST_32 = 0xf0,
	STF_INST_16 = 0xf1,
};

#define VERSION_MAJOR	1
#define VERSION_MINOR	5
#define ISA_RISCV	1
#define IEM_RV64	2
#define FEATURE_EVENT	(1ULL << 3)
#define FEATURE_RV64	(1ULL << 5)
#define FEATURE_PROCESS_ID (1ULL << 10)
#define FEATURE_EVENT64	(1ULL << 19)
#define MODE_CHANGE	(1ULL << 62)

#define TARGET_SIZE	9U		/* INST_PC_TARGET */
#define EVENT_SIZE	18U		/* EVENT with one field */
#define OPCODE_MAX	5U		/* INST_32 */

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

static inline uint8_t *put_process(uint8_t *to, const struct flowtap_context *context)
{
	to = put32(put8(to, STF_PROCESS_ID_EXT), context->cpu);
	return put32(put32(to, context->pid), context->tid);
}

static inline uint8_t *put_mode(uint8_t *to, uint8_t mode)
{
	to = put8(put64(put8(to, STF_EVENT), MODE_CHANGE), 1);
	return put64(to, mode);
}

static inline size_t insn_size(const uint8_t *insn)
{
	return (insn[0] & 3) == 3 ? 4 : 2;
}

static inline uint8_t *put_insn(uint8_t *to, const uint8_t *insn)
{
	size_t size = insn_size(insn);

	*to++ = size == 4 ? STF_INST_32 : STF_INST_16;
	memcpy(to, insn, size);
	return to + size;
}

#endif /* FLOWTAP_STF_RECORDS_H */
