/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* One instruction that a line names, and what it does to the flow. */
#ifndef FLOWTAP_LIBUAPI_FORMATS_LINES_LINE_INSTRUCTION_H
#define FLOWTAP_LIBUAPI_FORMATS_LINES_LINE_INSTRUCTION_H

#include <flowtap/flow.h>

struct line_instruction {
	uint64_t address;
	uint8_t bytes[4];
	uint8_t size;
	uint8_t isa;		/* enum flowtap_isa */
	bool skipped;		/* its condition failed */
	bool said;		/* it was taken, to: */
	uint64_t target;
};

/* The address after it. */
static inline uint64_t line_next_address(const struct line_instruction *insn)
{
	return insn->address + insn->size;
}

/*
 * Whether there is an instruction of that ISA in exactly these bytes, at an address that can be: 0;
 * -EINVAL: not at this address; -EILSEQ: not of this size.
 */
int line_instruction_check(const struct line_instruction *insn);
/* It is one of those that a trace has as executed when the exception that they take is. */
bool line_is_call(const struct line_instruction *insn);
/* It returns from an exception, and elements say so: of A32 and T32 their opcode does. */
bool line_is_return(const struct line_instruction *insn);

struct line_end {
	bool ends;		/* a block ends with it */
	bool falls_through;	/* and may go on after it */
	bool direct;
	uint64_t target;
};

struct line_end line_end_of(const struct line_instruction *insn);

#endif /* FLOWTAP_LIBUAPI_FORMATS_LINES_LINE_INSTRUCTION_H */
