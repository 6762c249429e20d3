/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the three instruction sets of arm.c have in common. */
#ifndef FLOWTAP_LIBUAPI_ISA_ARM_INTERNAL_H
#define FLOWTAP_LIBUAPI_ISA_ARM_INTERNAL_H

#include <flowtap/arm.h>

/* An encoding: the first row of a table that matches an instruction says what it is. */
struct arm_row {
	uint32_t mask;
	uint32_t match;
	uint8_t class;		/* enum flowtap_arm_class */
	uint8_t form;		/* of its target or condition, the instruction set's own */
};

static inline const struct arm_row *arm_find(const struct arm_row *rows, size_t n, uint32_t word)
{
	for (size_t i = 0; i < n; i++) {
		if ((word & rows[i].mask) == rows[i].match)
			return &rows[i];
	}
	return NULL;
}

static inline uint32_t arm_field(uint32_t word, unsigned int low, unsigned int bits)
{
	return word >> low & ((1U << bits) - 1);
}

/* The lowest `bits` bits of value as a signed number. */
static inline int64_t arm_signed(uint32_t value, unsigned int bits)
{
	int64_t sign = 1LL << (bits - 1);

	return (int64_t)(value & (2 * sign - 1)) - ((value & sign) << 1);
}

/* A64's UDF, which always takes an exception: a block ends with it, though it is of no class. */
static inline bool arm_is_udf(uint32_t word)
{
	return !(word >> 16);
}

/*
 * Fill class, direct, conditional, target and target_isa of `insn`, in which length and address's
 * isa are set and all else is 0. insn->it: ITSTATE of the instruction itself, to be advanced.
 */
void flowtap_arm_a64(uint64_t address, uint32_t word, struct flowtap_arm_insn *insn);
void flowtap_arm_a32(uint32_t address, uint32_t word, struct flowtap_arm_insn *insn);
/* word: the only halfword, or the first one above the second. */
void flowtap_arm_t32(uint32_t address, uint32_t word, struct flowtap_arm_insn *insn);

#endif /* FLOWTAP_LIBUAPI_ISA_ARM_INTERNAL_H */
