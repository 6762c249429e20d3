// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of instruction sets, modes and security states, and the length of an instruction from its
 * first bytes.
 */
#include "common/isa.h"

#include <flowtap/arm.h>

const char *isa_name(enum flowtap_isa isa)
{
	static const char *const names[ISAS] = {
		[FLOWTAP_ISA_RV64] = "RV64", [FLOWTAP_ISA_A64] = "A64",
		[FLOWTAP_ISA_A32] = "A32", [FLOWTAP_ISA_T32] = "T32",
	};

	return names[isa];
}

const char *isa_mode_name(enum flowtap_isa isa, unsigned int mode)
{
	static const char *const names[2][ISA_MODES] = {
		{ "U", "S", "H", "M" }, { "EL0", "EL1", "EL2", "EL3" },
	};

	return names[isa != FLOWTAP_ISA_RV64][mode];
}

const char *isa_security_name(unsigned int security)
{
	static const char *const names[] = {
		[FLOWTAP_NONSECURE] = "nonsecure", [FLOWTAP_SECURE] = "secure",
		[FLOWTAP_REALM] = "realm", [FLOWTAP_ROOT] = "root",
	};

	return names[security & 3];
}

size_t isa_length(enum flowtap_isa isa, const uint8_t *bytes, size_t available)
{
	size_t size = 4;

	if (available < 2)
		return 0;
	if (isa == FLOWTAP_ISA_RV64)
		size = (bytes[0] & 3) == 3 ? 4 : 2;
	else if (isa == FLOWTAP_ISA_T32)
		size = bytes[1] >= 0xe8 ? 4 : 2;
	return size <= available ? size : 0;
}

uint32_t isa_opcode(enum flowtap_isa isa, const uint8_t *bytes, size_t size)
{
	uint32_t first = bytes[0] | (uint32_t)bytes[1] << 8;
	uint32_t second = size == 4 ? bytes[2] | (uint32_t)bytes[3] << 8 : 0;

	if (size == 2)
		return first;
	return isa == FLOWTAP_ISA_T32 ? first << 16 | second : second << 16 | first;
}

uint8_t isa_it_after(enum flowtap_isa isa, uint8_t it, uint64_t address, const uint8_t *bytes,
		      size_t size)
{
	struct flowtap_arm_insn insn;

	if (isa != FLOWTAP_ISA_T32 || flowtap_arm_classify(isa, address, it, bytes, size, &insn))
		return 0;
	return insn.it;
}
