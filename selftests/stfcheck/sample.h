/* SPDX-License-Identifier: GPL-2.0-only */
/* Traces made by hand, byte for byte: what the checker is tested with before it tests anything. */
#ifndef FLOWTAP_SELFTESTS_STFCHECK_SAMPLE_H
#define FLOWTAP_SELFTESTS_STFCHECK_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#define U16(v) (uint8_t)(v), (uint8_t)((v) >> 8)
#define U32(v) U16((uint32_t)(v)), U16((uint32_t)(v) >> 16)
#define U64(v) U32((uint64_t)(v)), U32((uint64_t)(v) >> 32)

/* Every record there is. Events have 32-bit ids. */
static const uint8_t sample_all[] = {
	0x01, 'S', 'T', 'F',					/* IDENTIFIER */
	0x02, U32(1), U32(6),					/* VERSION 1.6 */
	0x03, U32(5), 'e', 'v', 'e', 'r', 'y',			/* COMMENT */
	0x04, U16(1),						/* ISA RISC-V */
	0x05, U16(2),						/* INST_IEM RV64 */
	0x06, 0xff, 1, 2, 3, U16(2), 'b', 'y',			/* TRACE_INFO */
	0x06, 0x07, 0, 0, 0, U16(0),				/* TRACE_INFO of a second tool */
	0x07, U64(0x42438),					/* FEATURE RV64, EVENT ..., 32-bit */
	0x08, U32(3), U32(10), U32(11),				/* PROCESS_ID_EXT */
	0x09, U64(0x10000),					/* FORCE_PC */
	0x0a, U32(128),						/* VLEN_CONFIG */
	0x0b, 1,						/* PROTOCOL_ID TileLink */
	0x0c, U16(1), U16(3), 'c', 'l', 'k',			/* CLOCK_ID */
	0x0d, U32(6), 'r', 'v', '6', '4', 'g', 'c',		/* ISA_EXTENDED */
	0x13,							/* END_HEADER */

	0x28, U16(10), 0x11, U64(1),				/* INST_REG a0 state */
	0x28, U16(5), 0x22, U64(2),				/* INST_REG f5 source */
	0x28, U16(0x300), 0x34, U64(3),				/* INST_REG mstatus destination */
	0x28, U16(1), 0x13, U64(4), U64(5),			/* INST_REG v1, 128 bits */
	0x29, U16(10),						/* INST_READY_REG */
	0x32, U64(0x20000), U64(7), U32(4096), 2,		/* PAGE_TABLE_WALK of two */
		U64(1), U64(2), U64(3), U64(4),
	0x3c, U64(0x20000), U16(8), U16(0), 1,			/* INST_MEM_ACCESS, read */
	0x3d, U64(9),						/* INST_MEM_CONTENT */
	0x3c, U64(0x20000), U16(16), U16(0), 2,			/* INST_MEM_ACCESS, write of 16 */
	0x3d, U64(9), 0x3d, U64(10),				/* INST_MEM_CONTENT twice */
	0x3e, U64(0x30000), U16(8), 2, 0, U32(0), 1,		/* BUS_MASTER_ACCESS */
	0x3f, U64(11),						/* BUS_MASTER_CONTENT */
	0x64, U32(1U << 30), 1, U64(0),				/* EVENT MODE_CHANGE to U */
	0xe6, 4, U32(0x13),					/* MICROOP */
	0xf0, U32(0x00000013),					/* nop			@10000 U */

	0xfa, U64(1), U64(2), U16(1), 1, 0, 0, 3, U64(4), U16(2), 'a', 'b',
		U64(0x40000), U16(9), 0xff, 0x01,		/* TRANSACTION, channel A */
	0xfa, U64(2), U64(2), U16(1), 2, 0, 0, 3, U64(4), U16(0), U64(0x40000), U16(0),
	0xfa, U64(3), U64(2), U16(1), 3, 0, 0, 3, U64(4), U16(1), 'c', U64(0x40000),
	0xfa, U64(4), U64(2), U16(1), 4, 0, 0, 3, U64(4), U16(0), U64(6),
	0xfa, U64(5), U64(2), U16(1), 5, U64(6),		/* TRANSACTION, channel E */
	0xfb, U64(1), U64(2), U16(1),				/* DEPENDENCY */

	0x03, U32(3), 'w', 'h', 'y',				/* COMMENT */
	0x09, U64(0x10100),					/* FORCE_PC */
	0x64, U32(13), 2, U64(0x10100), U64(0x5000),		/* EVENT load page fault */
	0x65, U64(0x80000000),					/* EVENT_PC_TARGET */
	0x64, U32(1U << 30), 1, U64(1),				/* EVENT MODE_CHANGE to S */
	0xf0, U32(0x00013603),					/* ld a2,0(sp)		@10100 U */
	0xf1, U16(0x0001),					/* c.nop		@80000000 S */
	0x1f, U64(0x10100),					/* INST_PC_TARGET */
	0x64, U32(1U << 30), 1, U64(0),				/* EVENT MODE_CHANGE to U */
	0xf0, U32(0x10200073),					/* sret			@80000002 S */
	0xf0, U32(0x00013603),					/* ld a2,0(sp)		@10100 U */
	0x08, U32(4), U32(10), U32(12),				/* PROCESS_ID_EXT */
	0xf1, U16(0xc011),					/* c.beqz s0,4, not taken @10104 */
	0x1f, U64(0x1010a),					/* INST_PC_TARGET */
	0xf1, U16(0xa011),					/* c.j 4		@10106 */
	0x1f, U64(0x10000),					/* INST_PC_TARGET */
	0xf1, U16(0x8082),					/* c.jr ra		@1010a */
	0x64, U32(1U << 31 | 5), 0,				/* EVENT timer interrupt */
	0xf0, U32(0x00000013),					/* nop			@10000 */
	0x03, U32(3), 'e', 'n', 'd',				/* COMMENT */
};

/* ISA ARM: the same records, opcodes that are nobody's business, T32 on any even address. */
static const uint8_t sample_arm[] = {
	0x01, 'S', 'T', 'F',
	0x02, U32(1), U32(5),
	0x04, U16(2),						/* ISA ARM */
	0x05, U16(0),
	0x06, 0xff, 0, 1, 0, U16(0),
	0x07, U64(0x80000),
	0x09, U64(0x400001),
	0x13,
	0x1f, U64(0x400100),
	0xf0, U32(0x1400003f),					/* b			@400001 */
	0xf1, U16(0xbf00),					/* nop			@400100 */
	0xf0, U32(0xd503201f),					/* nop			@400102 */
};

/* As flowtap writes it: strict rules hold. User mode only, a gap, another task. */
static const uint8_t sample_user[] = {
	0x01, 'S', 'T', 'F',
	0x02, U32(1), U32(5),
	0x03, U32(4), 'u', 's', 'e', 'r',
	0x04, U16(1),
	0x05, U16(2),
	0x06, 0xff, 0, 1, 0, U16(3), 'f', 't', 'p',
	0x07, U64(0x80428),
	0x08, U32(0), U32(100), U32(100),
	0x09, U64(0x10000),
	0x13,
	0x08, U32(0), U32(100), U32(100),			/* PROCESS_ID_EXT */
	0x64, U64(1ULL << 62), 1, U64(0),			/* EVENT MODE_CHANGE to U */
	0xf0, U32(0x00500513),					/* addi a0,x0,5		@10000 */
	0x1f, U64(0x10000),
	0xf0, U32(0xfeb51ee3),					/* bne a0,a1,-4		@10004 */
	0xf0, U32(0x00500513),					/* addi			@10000 */
	0xf0, U32(0xfeb51ee3),					/* bne, not taken	@10004 */
	0xf0, U32(0x00000073),					/* ecall		@10008 */
	0x03, U32(17), 'e', 'x', 'c', 'e', 'p', 't', 'i', 'o', 'n', ' ', '8', ' ', '1', '0', '0',
		'0', '8',
	0x03, U32(8), 'g', 'a', 'p', ' ', 't', 'r', 'a', 'p',
	0x09, U64(0x1000c),
	0xf1, U16(0x4585),					/* c.li a1,1		@1000c */
	0x08, U32(1), U32(100), U32(101),			/* PROCESS_ID_EXT, another thread */
	0x09, U64(0x20000),
	0x1f, U64(0x1000c),
	0xf1, U16(0x8082),					/* c.jr ra		@20000 */
	0xf1, U16(0x0001),					/* c.nop		@1000c */
};

/* The same of Arm: a system call, its return, a lost target, A64, T32 and A32. */
static const uint8_t sample_isas[] = {
	0x01, 'S', 'T', 'F',
	0x02, U32(1), U32(5),
	0x03, U32(3), 'a', 'r', 'm',
	0x04, U16(2),
	0x05, U16(0),
	0x06, 0xff, 0, 1, 0, U16(3), 'f', 't', 'p',
	0x07, U64(0x80408),
	0x08, U32(0), U32(0), U32(0),
	0x09, U64(0x400000),
	0x13,
	0x03, U32(28), 'c', 'o', 'n', 't', 'e', 'x', 't', ' ', 'A', '6', '4', ' ', 'E', 'L', '0',
		' ', 'n', 'o', 'n', 's', 'e', 'c', 'u', 'r', 'e', ' ', '6', '4',
	0x08, U32(0), U32(0), U32(0),
	0x1f, U64(0x40000c),
	0x64, U64(1ULL << 62), 1, U64(0),			/* EVENT MODE_CHANGE to EL0 */
	0xf0, U32(0x54000060),					/* b.eq +12		@400000 */
	0xf0, U32(0xd4000001),					/* svc			@40000c */
	0x03, U32(18), 'e', 'x', 'c', 'e', 'p', 't', 'i', 'o', 'n', ' ', '2', ' ', '4', '0', '0',
		'0', '1', '0',
	0x03, U32(28), 'c', 'o', 'n', 't', 'e', 'x', 't', ' ', 'A', '6', '4', ' ', 'E', 'L', '1',
		' ', 'n', 'o', 'n', 's', 'e', 'c', 'u', 'r', 'e', ' ', '6', '4',
	0x09, U64(0xffff000000080400),
	0x64, U64(1ULL << 62), 1, U64(1),			/* EVENT MODE_CHANGE to EL1 */
	0xf0, U32(0xd5033fdf),					/* isb		@ffff000000080400 */
	0x1f, U64(0x400010),
	0x64, U64(1ULL << 62), 1, U64(0),			/* EVENT MODE_CHANGE to EL0 */
	0xf0, U32(0xd69f03e0),					/* eret */
	0x03, U32(28), 'c', 'o', 'n', 't', 'e', 'x', 't', ' ', 'A', '6', '4', ' ', 'E', 'L', '0',
		' ', 'n', 'o', 'n', 's', 'e', 'c', 'u', 'r', 'e', ' ', '6', '4',
	0xf0, U32(0xd61f0000),					/* br x0		@400010 */
	0x03, U32(14), 'g', 'a', 'p', ' ', 'n', 'o', '_', 'a', 'd', 'd', 'r', 'e', 's', 's',
	0x03, U32(28), 'c', 'o', 'n', 't', 'e', 'x', 't', ' ', 'T', '3', '2', ' ', 'E', 'L', '0',
		' ', 'n', 'o', 'n', 's', 'e', 'c', 'u', 'r', 'e', ' ', '3', '2',
	0x09, U64(0x1002),
	0xf0, U32(0xf3af8000),					/* nop.w		@1002 */
	0xf1, U16(0xbf00),					/* nop			@1006 */
	0x1f, U64(0x100c),
	0xf0, U32(0xf000e800),					/* blx, word-aligned	@1008 */
	0x03, U32(28), 'c', 'o', 'n', 't', 'e', 'x', 't', ' ', 'A', '3', '2', ' ', 'E', 'L', '0',
		' ', 'n', 'o', 'n', 's', 'e', 'c', 'u', 'r', 'e', ' ', '3', '2',
	0x1f, U64(0x100c),
	0xf0, U32(0xeafffffe),					/* b .			@100c */
	0xf0, U32(0x0afffffe),					/* beq ., not taken	@100c */
};

/* All of them. */
static const struct {
	const uint8_t *bytes;
	size_t size;
} samples[] = {
	{ sample_all, sizeof(sample_all) },
	{ sample_arm, sizeof(sample_arm) },
	{ sample_user, sizeof(sample_user) },
	{ sample_isas, sizeof(sample_isas) },
};

#define SAMPLES (sizeof(samples) / sizeof(samples[0]))

/*
 * Blocks of the code of sample_user, and some more, by the enumerators that the test has for them:
 * for an array of struct flowtap_block.
 */
#define SAMPLE_BLOCKS \
	[LOOP] = { .address = 0x10000, .size = 8, .instructions = 2, .last = 4, \
		   .bytes = (const uint8_t[]){ U32(0x00500513), U32(0xfeb51ee3) }, \
		   .end = FLOWTAP_TRANSFER_TAKEN, .conditional = true, .direct = true, \
		   .target = 0x10000 }, \
	[ECALL] = { .address = 0x10008, .size = 4, .instructions = 1, .last = 0, \
		    .bytes = (const uint8_t[]){ U32(0x00000073) }, \
		    .end = FLOWTAP_TRANSFER_EXCEPTION }, \
	[LI] = { .address = 0x1000c, .size = 2, .instructions = 1, .last = 0, \
		 .bytes = (const uint8_t[]){ U16(0x4585) } }, \
	[RET] = { .address = 0x20000, .size = 2, .instructions = 1, .last = 0, \
		  .bytes = (const uint8_t[]){ U16(0x8082) }, .end = FLOWTAP_TRANSFER_RETURN }, \
	[JUMP] = { .address = 0x30000, .size = 2, .instructions = 1, .last = 0, \
		   .bytes = (const uint8_t[]){ U16(0xa011) }, \
		   .end = FLOWTAP_TRANSFER_DIRECT_JUMP, .direct = true, .target = 0x30004 }, \
	[WIDE] = { .address = 0x30004, .size = 10, .instructions = 4, .last = 6, \
		   .bytes = (const uint8_t[]){ U16(0x0001), U16(0x4585), U16(0x0001), \
					       U32(0x00008067) }, \
		   .end = FLOWTAP_TRANSFER_RETURN }

#endif /* FLOWTAP_SELFTESTS_STFCHECK_SAMPLE_H */
