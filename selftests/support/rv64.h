/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small RV64C assembler for tests: encodings by the unprivileged specification, written without
 * a look at libuapi/isa/riscv.c. Registers are x numbers; the short forms take x8 to x15 where the
 * specification has a prime (rs1').
 */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_RV64_H
#define FLOWTAP_SELFTESTS_SUPPORT_RV64_H

#include <stdint.h>
#include <string.h>

enum rv_branch { RV_BEQ = 0, RV_BNE = 1, RV_BLT = 4, RV_BGE = 5, RV_BLTU = 6, RV_BGEU = 7 };

#define RV_ECALL	0x00000073U
#define RV_EBREAK	0x00100073U
#define RV_SRET		0x10200073U
#define RV_MRET		0x30200073U
#define RV_NOP		0x00000013U
#define RV_CSRW_SCTRCTL_A0 0x14e51073U
#define RV_C_NOP	0x0001U
#define RV_C_EBREAK	0x9002U

static inline uint32_t rv_i(uint32_t opcode, uint32_t f3, uint32_t rd, uint32_t rs1, int32_t imm)
{
	return (uint32_t)imm << 20 | rs1 << 15 | f3 << 12 | rd << 7 | opcode;
}

static inline uint32_t rv_r(uint32_t f7, uint32_t f3, uint32_t rd, uint32_t rs1, uint32_t rs2)
{
	return f7 << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | rd << 7 | 0x33;
}

static inline uint32_t rv_addi(uint32_t rd, uint32_t rs1, int32_t imm)
{
	return rv_i(0x13, 0, rd, rs1, imm);
}

static inline uint32_t rv_add(uint32_t rd, uint32_t rs1, uint32_t rs2)
{
	return rv_r(0, 0, rd, rs1, rs2);
}

static inline uint32_t rv_xor(uint32_t rd, uint32_t rs1, uint32_t rs2)
{
	return rv_r(0, 4, rd, rs1, rs2);
}

static inline uint32_t rv_mul(uint32_t rd, uint32_t rs1, uint32_t rs2)
{
	return rv_r(1, 0, rd, rs1, rs2);
}

static inline uint32_t rv_srli(uint32_t rd, uint32_t rs1, uint32_t shift)
{
	return rv_i(0x13, 5, rd, rs1, shift);
}

static inline uint32_t rv_lui(uint32_t rd, int32_t imm20)
{
	return (uint32_t)imm20 << 12 | rd << 7 | 0x37;
}

static inline uint32_t rv_auipc(uint32_t rd, int32_t imm20)
{
	return (uint32_t)imm20 << 12 | rd << 7 | 0x17;
}

static inline uint32_t rv_jalr(uint32_t rd, uint32_t rs1, int32_t imm)
{
	return rv_i(0x67, 0, rd, rs1, imm);
}

/* offset: even, -1 MiB to 1 MiB - 2 */
static inline uint32_t rv_jal(uint32_t rd, int32_t offset)
{
	uint32_t o = offset;

	return (o >> 20 & 1) << 31 | (o >> 1 & 0x3ff) << 21 | (o >> 11 & 1) << 20 |
	       (o >> 12 & 0xff) << 12 | rd << 7 | 0x6f;
}

/* offset: even, -4096 to 4094 */
static inline uint32_t rv_b(enum rv_branch f3, uint32_t rs1, uint32_t rs2, int32_t offset)
{
	uint32_t o = offset;

	return (o >> 12 & 1) << 31 | (o >> 5 & 0x3f) << 25 | rs2 << 20 | rs1 << 15 |
	       (uint32_t)f3 << 12 | (o >> 1 & 0xf) << 8 | (o >> 11 & 1) << 7 | 0x63;
}

/* offset: even, -2048 to 2046. imm[11|4|9:8|10|6|7|3:1|5] in bits 12:2 */
static inline uint16_t rv_c_j(int32_t offset)
{
	uint32_t o = offset;

	return 0xa001 | (o >> 11 & 1) << 12 | (o >> 4 & 1) << 11 | (o >> 8 & 3) << 9 |
	       (o >> 10 & 1) << 8 | (o >> 6 & 1) << 7 | (o >> 7 & 1) << 6 | (o >> 1 & 7) << 3 |
	       (o >> 5 & 1) << 2;
}

/* offset: even, -256 to 254. c.beqz, or with nez c.bnez */
static inline uint16_t rv_c_b(int nez, uint32_t rs1, int32_t offset)
{
	uint32_t o = offset;

	return (nez ? 0xe001 : 0xc001) | (o >> 8 & 1) << 12 | (o >> 3 & 3) << 10 | (rs1 - 8) << 7 |
	       (o >> 6 & 3) << 5 | (o >> 1 & 3) << 3 | (o >> 5 & 1) << 2;
}

static inline uint16_t rv_c_jr(uint32_t rs1)
{
	return 0x8002 | rs1 << 7;
}

static inline uint16_t rv_c_jalr(uint32_t rs1)
{
	return 0x9002 | rs1 << 7;
}

static inline uint16_t rv_c_mv(uint32_t rd, uint32_t rs2)
{
	return 0x8002 | rd << 7 | rs2 << 2;
}

static inline uint16_t rv_c_add(uint32_t rd, uint32_t rs2)
{
	return 0x9002 | rd << 7 | rs2 << 2;
}

/* imm: -32 to 31, not 0 */
static inline uint16_t rv_c_addi(uint32_t rd, int32_t imm)
{
	return 0x0001 | (imm >> 5 & 1) << 12 | rd << 7 | (imm & 0x1f) << 2;
}

static inline uint16_t rv_c_li(uint32_t rd, int32_t imm)
{
	return 0x4001 | (imm >> 5 & 1) << 12 | rd << 7 | (imm & 0x1f) << 2;
}

/* Code that grows: `bytes` has room for `size`; what does not fit is left out. */
struct rv_code {
	uint8_t *bytes;
	size_t capacity;
	size_t size;
};

static inline void rv_put(struct rv_code *code, uint32_t insn)
{
	size_t n = (insn & 3) == 3 ? 4 : 2;

	if (code->size + n > code->capacity)
		return;
	for (size_t i = 0; i < n; i++)
		code->bytes[code->size++] = insn >> 8 * i;
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_RV64_H */
