/* SPDX-License-Identifier: GPL-2.0-only */
/* One transfer of each type (Smctr tables 9 and 10), in a known place. riscv64 only. */
#ifndef FLOWTAP_SELFTESTS_KERNEL_INSN_PROGRAMS_H
#define FLOWTAP_SELFTESTS_KERNEL_INSN_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "stream.h"
#include "support/transfer_type.h"

/* Filter bits of sctrctl (Smctr 2.1) and what each is about. */
static const struct filter {
	uint64_t bit;
	enum transfer_type type;
	bool enables;			/* else inhibits */
} filters[] = {
	{ 1ULL << 33, TYPE_EXCEPTION, false },
	{ 1ULL << 34, TYPE_INTERRUPT, false },
	{ 1ULL << 35, TYPE_TRAP_RETURN, false },
	{ 1ULL << 36, TYPE_NOT_TAKEN, true },
	{ 1ULL << 37, TYPE_TAKEN, false },
	{ 1ULL << 40, TYPE_INDIRECT_CALL, false },
	{ 1ULL << 41, TYPE_DIRECT_CALL, false },
	{ 1ULL << 42, TYPE_INDIRECT_JUMP, false },
	{ 1ULL << 43, TYPE_DIRECT_JUMP, false },
	{ 1ULL << 44, TYPE_SWAP, false },
	{ 1ULL << 45, TYPE_RETURN, false },
	{ 1ULL << 46, TYPE_OTHER_INDIRECT, false },
	{ 1ULL << 47, TYPE_OTHER_DIRECT, false },
};

#define FILTERS (sizeof(filters) / sizeof(filters[0]))
#define INHIBIT_ALL 0xff2e00000000ULL

/* What insn_program() does, by type; not-taken branches are there only where they are asked for. */
static const unsigned int insn_program_has[16] = {
	[TYPE_EXCEPTION] = 1, [TYPE_NOT_TAKEN] = 1, [TYPE_TAKEN] = 1, [TYPE_INDIRECT_CALL] = 1,
	[TYPE_DIRECT_CALL] = 1, [TYPE_INDIRECT_JUMP] = 1, [TYPE_DIRECT_JUMP] = 1,
	[TYPE_SWAP] = 1, [TYPE_RETURN] = 3, [TYPE_OTHER_INDIRECT] = 1, [TYPE_OTHER_DIRECT] = 1,
};

void insn_program(void);
extern const char insn_program_begin[], insn_program_end[];

/* The system call is getpid, which leaves all registers but a0. */
asm(".pushsection .text\n"
    ".option push\n"
    ".option norvc\n"
    ".option norelax\n"
    "insn_program_begin:\n"
    "insn_program_leaf:\n"
    "	jalr	x0, 0(ra)\n"
    ".globl insn_program\n"
    "insn_program:\n"
    "	mv	t2, ra\n"
    "	beq	x0, x0, 1f\n"
    "	nop\n"
    "1:	bne	x0, x0, 1b\n"
    "	jal	ra, insn_program_leaf\n"
    "	lla	t3, insn_program_leaf\n"
    "	jalr	ra, 0(t3)\n"
    "	jal	x0, 2f\n"
    "	nop\n"
    "2:	lla	t3, 3f\n"
    "	jalr	x0, 0(t3)\n"
    "3:	lla	t0, 4f\n"
    "	jalr	ra, 0(t0)\n"
    "4:	jal	t4, 5f\n"
    "5:	lla	t3, 6f\n"
    "	jalr	t4, 0(t3)\n"
    "6:	li	a7, 172\n"
    "	ecall\n"
    "	mv	ra, t2\n"
    "	jalr	x0, 0(ra)\n"
    "insn_program_end:\n"
    ".option pop\n"
    ".popsection");

static inline bool in_insn_program(uint64_t address)
{
	return (address & ~1ULL) - (uint64_t)insn_program_begin <
	       insn_program_end - insn_program_begin;
}

/* Counts by type what the last sample has from within it, and the trap's return into it. */
static inline void count_insn_program(const struct stream *stream, unsigned int *count)
{
	const struct flowtap_entry *entry = entries_of(stream);
	unsigned int i, type;

	memset(count, 0, 16 * sizeof(*count));
	for (i = 0; i < stream->record.sample.nr; i++) {
		type = entry[i].data & 0xf;
		count[type] += in_insn_program(type == TYPE_TRAP_RETURN ? entry[i].target :
								      entry[i].source);
	}
}

#endif /* FLOWTAP_SELFTESTS_KERNEL_INSN_PROGRAMS_H */
