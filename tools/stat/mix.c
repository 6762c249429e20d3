// SPDX-License-Identifier: GPL-2.0-only
/* Searches tables of masks and values, ordered as the encoding chapters of the manuals. */
#include "stat/mix.h"

#include <flowtap/arm.h>
#include <flowtap/riscv.h>

/* The first row whose bits under mask are match counts. */
struct row {
	uint32_t mask, match;
	enum mix mix;
};

/* Unprivileged ISA, table "RISC-V base opcode map": bits 6:2 of the 32-bit encodings. */
static const struct row riscv[] = {
	{ 0x0000707f, 0x0000000f, MIX_SYSTEM },		/* FENCE */
	{ 0x0000007f, 0x0000000f, MIX_SYSTEM },		/* FENCE.I, CBO */
	{ 0x0000007f, 0x00000003, MIX_LOAD },
	{ 0x0000007f, 0x00000007, MIX_LOAD },		/* LOAD-FP, vectors' as well */
	{ 0x0000007f, 0x00000023, MIX_STORE },
	{ 0x0000007f, 0x00000027, MIX_STORE },
	{ 0xf800007f, 0x1000002f, MIX_LOAD },		/* LR */
	{ 0xf800007f, 0x1800002f, MIX_STORE },		/* SC */
	{ 0x0000007f, 0x0000002f, MIX_ATOMIC },
	{ 0xfe00007f, 0x02000033, MIX_MULTIPLY },
	{ 0xfe00007f, 0x0200003b, MIX_MULTIPLY },
	{ 0x0000007f, 0x00000033, MIX_INTEGER },	/* OP */
	{ 0x0000007f, 0x0000003b, MIX_INTEGER },	/* OP-32 */
	{ 0x0000007f, 0x00000013, MIX_INTEGER },	/* OP-IMM */
	{ 0x0000007f, 0x0000001b, MIX_INTEGER },	/* OP-IMM-32 */
	{ 0x0000007f, 0x00000017, MIX_INTEGER },	/* AUIPC */
	{ 0x0000007f, 0x00000037, MIX_INTEGER },	/* LUI */
	{ 0x00000073, 0x00000043, MIX_FLOAT },		/* MADD, MSUB, NMSUB, NMADD */
	{ 0x0000007f, 0x00000053, MIX_FLOAT },		/* OP-FP */
	{ 0x0000007f, 0x00000057, MIX_VECTOR },		/* OP-V */
	{ 0x0000007f, 0x00000077, MIX_VECTOR },		/* OP-VE */
	{ 0xffffffff, 0x00000073, MIX_TRAP },		/* ECALL */
	{ 0xffffffff, 0x00100073, MIX_TRAP },		/* EBREAK */
	{ 0xffbfffff, 0xce104073, MIX_STORE },		/* SSPUSH, of Zimop's encodings: */
	{ 0x8000707f, 0x80004073, MIX_INTEGER },	/* MOP.R, MOP.RR */
	{ 0x0200707f, 0x00004073, MIX_LOAD },		/* HLV */
	{ 0x0200707f, 0x02004073, MIX_STORE },		/* HSV */
	{ 0x0000007f, 0x00000073, MIX_SYSTEM },
	{ 0, 0, MIX_OTHER }
};

/* Chapter "C": bits 15:13 and 1:0 of the 16-bit encodings. */
static const struct row compressed[] = {
	{ 0xffff, 0x0000, MIX_OTHER },			/* defined illegal */
	{ 0xe003, 0x0000, MIX_INTEGER },		/* C.ADDI4SPN */
	{ 0xf803, 0x8000, MIX_LOAD },			/* Zcb: C.LBU, C.LHU, C.LH */
	{ 0xf803, 0x8800, MIX_STORE },			/* C.SB, C.SH */
	{ 0x8003, 0x0000, MIX_LOAD },			/* C.FLD, C.LW, C.LD */
	{ 0x8003, 0x8000, MIX_STORE },
	{ 0xfc63, 0x9c41, MIX_MULTIPLY },		/* C.MUL */
	{ 0x0003, 0x0001, MIX_INTEGER },
	{ 0xe003, 0x0002, MIX_INTEGER },		/* C.SLLI */
	{ 0x8003, 0x0002, MIX_LOAD },
	{ 0xffff, 0x9002, MIX_TRAP },			/* C.EBREAK */
	{ 0xe003, 0x8002, MIX_INTEGER },		/* C.MV, C.ADD */
	{ 0x8003, 0x8002, MIX_STORE },
	{ 0, 0, MIX_OTHER }
};

/* DDI 0487 C4.1. */
static const struct row a64[] = {
	/* Bits 28:25 are 101x: branches, exceptions, system. */
	{ 0xff000000, 0xd4000000, MIX_TRAP },		/* SVC, HVC, SMC, BRK, HLT */
	{ 0xff000000, 0xd5000000, MIX_SYSTEM },
	{ 0x1c000000, 0x14000000, MIX_OTHER },
	/* 100x and x101: integers. */
	{ 0x1f000000, 0x1b000000, MIX_MULTIPLY },	/* three sources */
	{ 0x7fe0f800, 0x1ac00800, MIX_MULTIPLY },	/* UDIV, SDIV */
	{ 0x1c000000, 0x10000000, MIX_INTEGER },
	{ 0x0e000000, 0x0a000000, MIX_INTEGER },
	/* x111: floating point and Advanced SIMD. */
	{ 0x0e000000, 0x0e000000, MIX_FLOAT },
	/* x1x0: memory. */
	{ 0xff000000, 0xd8000000, MIX_SYSTEM },		/* PRFM (literal) */
	{ 0x3b000000, 0x18000000, MIX_LOAD },		/* LDR (literal) */
	{ 0x3fa00000, 0x08a00000, MIX_ATOMIC },		/* CAS */
	{ 0xbfa07c00, 0x08207c00, MIX_ATOMIC },		/* CASP */
	{ 0x3f400000, 0x08400000, MIX_LOAD },		/* exclusive, acquire */
	{ 0x3f400000, 0x08000000, MIX_STORE },
	{ 0x3a400000, 0x28400000, MIX_LOAD },		/* pairs */
	{ 0x3a400000, 0x28000000, MIX_STORE },
	{ 0xbf400000, 0x0c400000, MIX_LOAD },		/* SIMD structures */
	{ 0xbf400000, 0x0c000000, MIX_STORE },
	{ 0xbf400000, 0x0d400000, MIX_LOAD },
	{ 0xbf400000, 0x0d000000, MIX_STORE },
	{ 0x3fe0fc00, 0x38a0c000, MIX_LOAD },		/* LDAPR */
	{ 0x3f200c00, 0x38200000, MIX_ATOMIC },		/* LDADD, SWP ... */
	{ 0x3f200400, 0x38200400, MIX_LOAD },		/* LDRAA, LDRAB */
	{ 0xffc00000, 0xf9800000, MIX_SYSTEM },		/* PRFM */
	{ 0xffe00000, 0xf8a00000, MIX_SYSTEM },
	{ 0xffe00c00, 0xf8800000, MIX_SYSTEM },		/* PRFUM */
	{ 0x3ec00000, 0x3c800000, MIX_STORE },		/* STR of 128 bits */
	{ 0x3ac00000, 0x38000000, MIX_STORE },
	{ 0x3a000000, 0x38000000, MIX_LOAD },
	{ 0xff600c00, 0xd9600000, MIX_LOAD },		/* LDG, LDGM */
	{ 0xff200000, 0xd9200000, MIX_STORE },		/* STG ... */
	{ 0x3be00c00, 0x19c00400, MIX_STORE },		/* MOPS: SET ... */
	{ 0x3b200c00, 0x19000400, MIX_ATOMIC },		/* CPY ..., of memory to memory */
	{ 0xbf200000, 0x19200000, MIX_ATOMIC },		/* LDCLRP, LDSETP, SWPP, RCWCAS ... */
	{ 0xbfe00c00, 0x99800800, MIX_STORE },		/* STLR, pre-index */
	{ 0x3fc00000, 0x19000000, MIX_STORE },		/* STLUR, STILP */
	{ 0x3f000000, 0x19000000, MIX_LOAD },		/* LDAPUR, LDIAPP, LDAPR, post-index */
	{ 0x3f600c00, 0x1d000800, MIX_STORE },		/* STLUR, LDAPUR of SIMD registers */
	{ 0x3f600c00, 0x1d400800, MIX_LOAD },
	/* 0010: SVE; 0000 with bit 31: SME. */
	{ 0xde000000, 0x84000000, MIX_LOAD },
	{ 0xfe000000, 0xa4000000, MIX_LOAD },
	{ 0xfe000000, 0xe4000000, MIX_STORE },
	{ 0x1e000000, 0x04000000, MIX_VECTOR },
	{ 0xffe00000, 0xe1200000, MIX_STORE },		/* STR (ZA) */
	{ 0xfe200000, 0xe0200000, MIX_STORE },
	{ 0xfe200000, 0xe0000000, MIX_LOAD },
	{ 0x9e000000, 0x80000000, MIX_VECTOR },
	{ 0, 0, MIX_OTHER }
};

/* DDI 0487 F4.1. */
static const struct row a32[] = {
	/* Unconditional: bits 31:28 are 1111. */
	{ 0xfe000000, 0xf2000000, MIX_FLOAT },		/* Advanced SIMD */
	{ 0xff300000, 0xf4200000, MIX_LOAD },
	{ 0xff300000, 0xf4000000, MIX_STORE },
	{ 0xfe500000, 0xf8400000, MIX_STORE },		/* SRS */
	{ 0xfe000000, 0xfc000000, MIX_FLOAT },
	{ 0xfe000000, 0xfe000000, MIX_FLOAT },
	{ 0xf0000000, 0xf0000000, MIX_SYSTEM },		/* PLD, barriers, CPS */
	{ 0x0f000000, 0x0f000000, MIX_TRAP },		/* SVC */
	{ 0x0ff000f0, 0x01000070, MIX_TRAP },		/* HLT */
	{ 0x0ff000f0, 0x01200070, MIX_TRAP },		/* BKPT */
	{ 0x0ff000f0, 0x01400070, MIX_TRAP },		/* HVC */
	{ 0x0ff000f0, 0x01600070, MIX_TRAP },		/* SMC */
	{ 0x0ff000f0, 0x07f000f0, MIX_TRAP },		/* UDF */
	/* 000: data processing, multiplies, extra loads and stores. */
	{ 0x0f0000f0, 0x00000090, MIX_MULTIPLY },
	{ 0x0fb000f0, 0x01000090, MIX_ATOMIC },		/* SWP */
	{ 0x0f1000f0, 0x01100090, MIX_LOAD },		/* exclusive, acquire */
	{ 0x0f1000f0, 0x01000090, MIX_STORE },
	{ 0x0e1000f0, 0x000000d0, MIX_LOAD },		/* LDRD */
	{ 0x0e100090, 0x00100090, MIX_LOAD },
	{ 0x0e100090, 0x00000090, MIX_STORE },
	{ 0x0f900090, 0x01000080, MIX_MULTIPLY },	/* SMLA<x><y> ... */
	{ 0x0f9000f0, 0x01000000, MIX_SYSTEM },		/* MRS, MSR */
	{ 0x0fb00000, 0x03200000, MIX_SYSTEM },		/* MSR (immediate), hints */
	{ 0x0c000000, 0x00000000, MIX_INTEGER },
	/* 01x: loads and stores, media. */
	{ 0x0f800010, 0x07000010, MIX_MULTIPLY },	/* SMLAD, SDIV ... */
	{ 0x0e000010, 0x06000010, MIX_INTEGER },
	{ 0x0c100000, 0x04100000, MIX_LOAD },
	{ 0x0c100000, 0x04000000, MIX_STORE },
	{ 0x0e100000, 0x08100000, MIX_LOAD },		/* LDM */
	{ 0x0e100000, 0x08000000, MIX_STORE },
	/* 11x: coprocessors 10 and 11 are floating point and SIMD. */
	{ 0x0fe00e00, 0x0c400a00, MIX_FLOAT },		/* VMOV of 64 bits */
	{ 0x0e100000, 0x0c100000, MIX_LOAD },		/* VLDR, VLDM, LDC */
	{ 0x0e100000, 0x0c000000, MIX_STORE },
	{ 0x0f000c00, 0x0e000800, MIX_FLOAT },
	{ 0x0f000000, 0x0e000000, MIX_SYSTEM },		/* MCR, MRC */
	{ 0, 0, MIX_OTHER }
};

/* DDI 0487 F3.1, of 16 bits. */
static const struct row t16[] = {
	{ 0xffc0, 0x4340, MIX_MULTIPLY },		/* MUL */
	{ 0xf800, 0x4800, MIX_LOAD },			/* LDR (literal) */
	{ 0xfe00, 0x5600, MIX_LOAD },			/* LDRSB (register) */
	{ 0xf800, 0x5000, MIX_STORE },
	{ 0xfc00, 0x5400, MIX_STORE },
	{ 0xf000, 0x5000, MIX_LOAD },
	{ 0xe800, 0x6800, MIX_LOAD },
	{ 0xe800, 0x6000, MIX_STORE },
	{ 0xe800, 0x8800, MIX_LOAD },
	{ 0xf800, 0x8000, MIX_STORE },
	{ 0xf800, 0x9000, MIX_STORE },
	{ 0xf800, 0x9800, MIX_LOAD },
	{ 0xfe00, 0xb400, MIX_STORE },			/* PUSH */
	{ 0xfe00, 0xbc00, MIX_LOAD },			/* POP */
	{ 0xff00, 0xbe00, MIX_TRAP },			/* BKPT */
	{ 0xffc0, 0xba80, MIX_TRAP },			/* HLT */
	{ 0xff0f, 0xbf00, MIX_SYSTEM },			/* hints */
	{ 0xff00, 0xbf00, MIX_OTHER },			/* IT */
	{ 0xffc0, 0xb640, MIX_SYSTEM },			/* CPS, SETEND */
	{ 0xf800, 0xc800, MIX_LOAD },			/* LDM */
	{ 0xf800, 0xc000, MIX_STORE },
	{ 0xff00, 0xdf00, MIX_TRAP },			/* SVC */
	{ 0xff00, 0xde00, MIX_TRAP },			/* UDF */
	{ 0xf000, 0xd000, MIX_OTHER },
	{ 0xf800, 0xe000, MIX_OTHER },
	{ 0x0000, 0x0000, MIX_INTEGER },
};

/* The same of 32 bits, the first halfword above. */
static const struct row t32[] = {
	{ 0xff100000, 0xf9100000, MIX_LOAD },		/* signed */
	{ 0xff700000, 0xf8100000, MIX_LOAD },
	{ 0xff100000, 0xf8100000, MIX_LOAD },
	{ 0xff100000, 0xf8000000, MIX_STORE },
	{ 0xff300000, 0xf9200000, MIX_LOAD },		/* SIMD structures */
	{ 0xff100000, 0xf9000000, MIX_STORE },
	{ 0xffffffff, 0xe97fe97f, MIX_SYSTEM },		/* SG */
	{ 0xfff0f03f, 0xe840f000, MIX_SYSTEM },		/* TT */
	{ 0xfe100000, 0xe8100000, MIX_LOAD },		/* LDM, LDRD, exclusive */
	{ 0xfe100000, 0xe8000000, MIX_STORE },
	{ 0xfe000000, 0xea000000, MIX_INTEGER },
	{ 0xff000000, 0xfb000000, MIX_MULTIPLY },
	{ 0xff000000, 0xfa000000, MIX_INTEGER },
	{ 0xef000000, 0xef000000, MIX_FLOAT },
	{ 0xefe00e00, 0xec400a00, MIX_FLOAT },		/* VMOV of 64 bits */
	{ 0xfe100000, 0xec100000, MIX_LOAD },
	{ 0xfe100000, 0xec000000, MIX_STORE },
	{ 0xef000c00, 0xee000800, MIX_FLOAT },
	{ 0xef000000, 0xee000000, MIX_SYSTEM },
	{ 0xf8008000, 0xf0000000, MIX_INTEGER },
	{ 0xfff0d000, 0xf7f08000, MIX_TRAP },		/* SMC */
	{ 0xfff0d000, 0xf7e08000, MIX_TRAP },		/* HVC */
	{ 0xfff0f000, 0xf7f0a000, MIX_TRAP },		/* UDF */
	{ 0xf800d000, 0xf0008000, MIX_SYSTEM },		/* MSR, barriers, hints */
	{ 0, 0, MIX_OTHER }
};

static const struct {
	const char *name, *title;
} names[] = {
	[MIX_TAKEN] = { "taken_branch", "taken_branch" },
	[MIX_NOT_TAKEN] = { "not_taken_branch", "not_taken_branch" },
	[MIX_JUMP] = { "jump", "jump" },
	[MIX_CALL] = { "call", "call" },
	[MIX_INDIRECT_JUMP] = { "indirect_jump", "indirect_jump" },
	[MIX_INDIRECT_CALL] = { "indirect_call", "indirect_call" },
	[MIX_RETURN] = { "return", "return" },
	[MIX_TRAP] = { "system_call", "system call, breakpoint" },
	[MIX_TRAP_RETURN] = { "trap_return", "trap_return" },
	[MIX_LOAD] = { "load", "load" },
	[MIX_STORE] = { "store", "store" },
	[MIX_ATOMIC] = { "atomic", "atomic" },
	[MIX_INTEGER] = { "integer", "integer" },
	[MIX_MULTIPLY] = { "multiply", "multiply, divide" },
	[MIX_FLOAT] = { "float", "floating point, SIMD" },
	[MIX_VECTOR] = { "vector", "vector" },
	[MIX_SYSTEM] = { "system", "system" },
	[MIX_OTHER] = { "other", "other" },
};

const char *mix_name(enum mix mix)
{
	return names[mix].name;
}

const char *mix_title(enum mix mix)
{
	return names[mix].title;
}

static uint32_t half(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8;
}

static enum mix look(const struct row *row, uint32_t opcode)
{
	while ((opcode & row->mask) != row->match)
		row++;
	return row->mix;
}

enum mix mix_of(enum flowtap_isa isa, const uint8_t *bytes, size_t size)
{
	uint32_t first = half(bytes), second = size == 4 ? half(bytes + 2) : 0;

	switch (isa) {
	case FLOWTAP_ISA_RV64:
		return size == 2 ? look(compressed, first) : look(riscv, first | second << 16);
	case FLOWTAP_ISA_A64:
		return look(a64, first | second << 16);
	case FLOWTAP_ISA_A32:
		return look(a32, first | second << 16);
	default:
		return size == 2 ? look(t16, first) : look(t32, first << 16 | second);
	}
}

static enum mix of_riscv(uint8_t end)
{
	static const uint8_t ends[] = {
		[FLOWTAP_TRANSFER_NONE] = MIX_OTHER,
		[FLOWTAP_TRANSFER_EXCEPTION] = MIX_TRAP,
		[FLOWTAP_TRANSFER_TRAP_RETURN] = MIX_TRAP_RETURN,
		[FLOWTAP_TRANSFER_INDIRECT_CALL] = MIX_INDIRECT_CALL,
		[FLOWTAP_TRANSFER_DIRECT_CALL] = MIX_CALL,
		[FLOWTAP_TRANSFER_INDIRECT_JUMP] = MIX_INDIRECT_JUMP,
		[FLOWTAP_TRANSFER_DIRECT_JUMP] = MIX_JUMP,
		[FLOWTAP_TRANSFER_SWAP] = MIX_RETURN,
		[FLOWTAP_TRANSFER_RETURN] = MIX_RETURN,
		[FLOWTAP_TRANSFER_INDIRECT_LINK] = MIX_INDIRECT_JUMP,
		[FLOWTAP_TRANSFER_DIRECT_LINK] = MIX_JUMP,
		[FLOWTAP_TRANSFER_RECORDING] = MIX_SYSTEM,
	};

	return end < sizeof(ends) ? (enum mix)ends[end] : MIX_OTHER;
}

static enum mix of_arm(uint8_t end)
{
	static const uint8_t ends[] = {
		[FLOWTAP_ARM_OTHER] = MIX_OTHER,
		[FLOWTAP_ARM_BRANCH] = MIX_JUMP,
		[FLOWTAP_ARM_CALL] = MIX_CALL,
		[FLOWTAP_ARM_INDIRECT] = MIX_INDIRECT_JUMP,
		[FLOWTAP_ARM_INDIRECT_CALL] = MIX_INDIRECT_CALL,
		[FLOWTAP_ARM_RETURN] = MIX_RETURN,
		[FLOWTAP_ARM_EXCEPTION_RETURN] = MIX_TRAP_RETURN,
		[FLOWTAP_ARM_ISB] = MIX_SYSTEM,
		[FLOWTAP_ARM_WFX] = MIX_SYSTEM,
		[FLOWTAP_ARM_TSTART] = MIX_SYSTEM,
	};

	return end < sizeof(ends) ? (enum mix)ends[end] : MIX_OTHER;
}

static enum mix of_riscv_end(const struct flowtap_block *block, bool taken)
{
	if (!block->conditional)
		return of_riscv(block->end);
	if (taken)
		return MIX_TAKEN;
	/* An encoding that may do anything (learned.h), and did not branch. */
	return block->direct ? MIX_NOT_TAKEN : MIX_OTHER;
}

static enum mix of_arm_end(const struct flowtap_block *block, bool taken)
{
	if (block->end >= FLOWTAP_ARM_ISB)
		return of_arm(block->end);
	if (block->conditional)
		return taken ? MIX_TAKEN : MIX_NOT_TAKEN;
	/* T32 does not know of an IT block that began before (arm.h). */
	if (block->isa == FLOWTAP_ISA_T32 && !taken)
		return MIX_NOT_TAKEN;
	return of_arm(block->end);
}

enum mix mix_of_end(const struct flowtap_block *block, bool taken)
{
	if (!block->end)
		return mix_of((enum flowtap_isa)block->isa, block->bytes + block->last,
			      block->size - block->last);
	return block->isa == FLOWTAP_ISA_RV64 ? of_riscv_end(block, taken) :
						of_arm_end(block, taken);
}
