/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* One instruction that a line tells of, and what it does to the flow. */
#ifndef FLOWTAP_TOLD_INSTRUCTION_H
#define FLOWTAP_TOLD_INSTRUCTION_H

#include <flowtap/flow.h>

struct told_instruction {
	uint64_t address;
	uint8_t bytes[4];
	uint8_t size;
	uint8_t isa;		/* enum flowtap_isa */
	bool said;		/* it was taken, to: */
	uint64_t target;
};

/* The address behind it. */
static inline uint64_t told_next_address(const struct told_instruction *insn)
{
	return insn->address + insn->size;
}

/*
 * Whether there is an instruction of that ISA in exactly these bytes, at an address that can be: 0;
 * -EINVAL: not at this address; -EILSEQ: not of this size.
 */
int told_look_at(const struct told_instruction *insn);
/* It is one of those that a trace has as executed when the exception that they take is. */
bool told_is_call(const struct told_instruction *insn);
/* It returns from an exception, and elements say so: of A32 and T32 their opcode does. */
bool told_is_return(const struct told_instruction *insn);

struct told_end {
	bool ends;		/* a block ends with it */
	bool stays;		/* and may go on behind it */
	bool direct;
	uint64_t target;
};

struct told_end told_end_of(const struct told_instruction *insn);

#endif /* FLOWTAP_TOLD_INSTRUCTION_H */
