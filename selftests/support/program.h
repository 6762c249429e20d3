/* SPDX-License-Identifier: GPL-2.0-only */
/* Random programs for the test machine: every kind of transfer, long and short forms mixed. */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_PROGRAM_H
#define FLOWTAP_SELFTESTS_SUPPORT_PROGRAM_H

#include "support/random.h"
#include "support/rv64.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#ifndef PROGRAM_STATEMENTS
#define PROGRAM_STATEMENTS 6000
#endif

struct program {
	uint8_t *text;
	size_t size;
	uint64_t base;
	uint64_t labels[PROGRAM_STATEMENTS];	/* addresses of the statements */
	size_t n;
	uint64_t resume;	/* after a write to sctrctl, the first of what ends the text */
};

static inline uint64_t program_random(uint64_t *state)
{
	return random_next(state) >> 11;
}

enum statement {
	ST_ALU, ST_ALU_SHORT, ST_BRANCH, ST_BRANCH_SHORT, ST_JUMP, ST_JUMP_SHORT, ST_CALL,
	ST_INDIRECT, ST_INDIRECT_SHORT, ST_RETURN, ST_ECALL, ST_EBREAK, ST_ILLEGAL,
	ST_SRET, ST_RECORDING, ST_KINDS
};

/* Bytes. */
static const unsigned int program_sizes[ST_KINDS] = {
	[ST_ALU] = 4, [ST_ALU_SHORT] = 2, [ST_BRANCH] = 4, [ST_BRANCH_SHORT] = 2, [ST_JUMP] = 4,
	[ST_JUMP_SHORT] = 2, [ST_CALL] = 4, [ST_INDIRECT] = 12, [ST_INDIRECT_SHORT] = 10,
	[ST_RETURN] = 4, [ST_ECALL] = 4, [ST_EBREAK] = 2, [ST_ILLEGAL] = 2, [ST_SRET] = 4,
	[ST_RECORDING] = 4,
};

/* How often, of 100 or so: as many transfers of all kinds as possible. */
static const unsigned int program_dense[ST_KINDS] = {
	[ST_ALU] = 24, [ST_ALU_SHORT] = 26, [ST_BRANCH] = 14, [ST_BRANCH_SHORT] = 10, [ST_JUMP] = 2,
	[ST_JUMP_SHORT] = 2, [ST_CALL] = 5, [ST_INDIRECT] = 5, [ST_INDIRECT_SHORT] = 3,
	[ST_RETURN] = 5, [ST_ECALL] = 3, [ST_EBREAK] = 1, [ST_ILLEGAL] = 1,
};

/* A kernel: calls of firmware, returns to the program, and now and then the recorder at work. */
static const unsigned int program_kernel[ST_KINDS] = {
	[ST_ALU] = 48, [ST_ALU_SHORT] = 52, [ST_BRANCH] = 28, [ST_BRANCH_SHORT] = 20, [ST_JUMP] = 4,
	[ST_JUMP_SHORT] = 4, [ST_CALL] = 10, [ST_INDIRECT] = 10, [ST_INDIRECT_SHORT] = 6,
	[ST_RETURN] = 10, [ST_ECALL] = 6, [ST_EBREAK] = 1, [ST_ILLEGAL] = 1, [ST_SRET] = 16,
	[ST_RECORDING] = 1,
};

static inline unsigned int program_reg(uint64_t *state)
{
	return 8 + program_random(state) % 8;
}

/* The offset to a statement at most `far` bytes away. */
static inline int32_t program_offset(const struct program *p, size_t from, int32_t far,
				     uint64_t *state)
{
	for (;;) {
		int64_t to = (int64_t)from + (int64_t)(program_random(state) % 601) - 300;
		int64_t offset;

		if (far < 1000)
			to = (int64_t)from + (to - (int64_t)from) / 8;
		if (to < 0 || to >= (int64_t)p->n)
			continue;
		offset = p->labels[to] - p->labels[from];
		if (offset >= -far && offset < far)
			return offset;
	}
}

/* auipc, addi, and a jump by that register. */
static inline void program_indirect(struct program *p, struct rv_code *code, size_t at, bool brief,
			     uint64_t *state)
{
	static const uint8_t bases[] = { 1, 5, 6, 10 }, links[] = { 0, 0, 1, 1, 5, 2, 7 };
	uint32_t base = bases[program_random(state) % sizeof(bases)];
	uint32_t link = links[program_random(state) % sizeof(links)];
	int32_t offset = program_offset(p, at, 1 << 20, state);

	rv_put(code, rv_auipc(base, (offset + 0x800) >> 12));
	rv_put(code, rv_addi(base, base, offset & 0xfff));
	if (brief)
		rv_put(code, link == 1 ? rv_c_jalr(base) : rv_c_jr(base));
	else
		rv_put(code, rv_jalr(link, base, 0));
}

static inline void program_alu(struct rv_code *code, bool brief, uint64_t *state)
{
	uint32_t a = program_reg(state), b = program_reg(state), c = program_reg(state);
	uint64_t kind = program_random(state) % 5;

	if (brief && kind < 3)
		rv_put(code, rv_c_addi(a, 1 + program_random(state) % 31));
	else if (brief)
		rv_put(code, kind == 3 ? rv_c_add(a, b) : rv_c_mv(a, b));
	else if (kind == 0)
		rv_put(code, rv_mul(a, b, c));
	else if (kind == 1)
		rv_put(code, rv_srli(a, b, program_random(state) % 64));
	else
		rv_put(code, kind == 2 ? rv_xor(a, b, c) :
					 rv_addi(a, b, program_random(state) % 4096));
}

static inline void program_put(struct program *p, struct rv_code *code, size_t at,
			       enum statement kind, uint64_t *state)
{
	static const enum rv_branch branches[] = {
		RV_BEQ, RV_BNE, RV_BLT, RV_BGE, RV_BLTU, RV_BGEU,
	};
	static const uint8_t links[] = { 1, 1, 1, 5, 6 };
	uint64_t r = program_random(state);

	switch (kind) {
	case ST_ALU:
	case ST_ALU_SHORT:
		program_alu(code, kind == ST_ALU_SHORT, state);
		break;
	case ST_BRANCH:
		rv_put(code, rv_b(branches[r % 6], program_reg(state), program_reg(state),
				  program_offset(p, at, 4096, state)));
		break;
	case ST_BRANCH_SHORT:
		rv_put(code, rv_c_b(r & 1, program_reg(state), program_offset(p, at, 256, state)));
		break;
	case ST_JUMP:
		rv_put(code, rv_jal(0, program_offset(p, at, 1 << 20, state)));
		break;
	case ST_JUMP_SHORT:
		rv_put(code, rv_c_j(program_offset(p, at, 2048, state)));
		break;
	case ST_CALL:
		rv_put(code, rv_jal(links[r % sizeof(links)],
				    program_offset(p, at, 1 << 20, state)));
		break;
	case ST_INDIRECT:
	case ST_INDIRECT_SHORT:
		program_indirect(p, code, at, kind == ST_INDIRECT_SHORT, state);
		break;
	case ST_RETURN:
		rv_put(code, rv_jalr(r % 8 ? 0 : 7, r % 16 < 12 ? 1 : 5, 0));
		break;
	case ST_ECALL:
		rv_put(code, RV_ECALL);
		break;
	case ST_EBREAK:
		rv_put(code, RV_C_EBREAK);
		break;
	case ST_SRET:
		rv_put(code, RV_SRET);
		break;
	case ST_RECORDING:
		rv_put(code, RV_CSRW_SCTRCTL_A0);
		break;
	default:
		rv_put(code, 0);
		break;
	}
}

static inline void program_make(struct program *p, uint64_t base, uint64_t seed,
			 const unsigned int *shares)
{
	uint8_t *kinds = calloc(PROGRAM_STATEMENTS, 1);
	struct rv_code code = { 0 };
	unsigned int total = 0;

	for (int k = 0; k < ST_KINDS; k++)
		total += shares[k];
	p->base = base;
	p->n = PROGRAM_STATEMENTS;
	p->size = 0;
	for (size_t i = 0; i < p->n; i++) {
		unsigned int pick = program_random(&seed) % total, k = 0;

		while (pick >= shares[k])
			pick -= shares[k++];
		kinds[i] = k;
		p->labels[i] = base + p->size;
		p->size += program_sizes[k];
	}
	p->resume = base + p->size + 4;
	p->size += 8;
	p->text = calloc(1, p->size);
	code.bytes = p->text;
	code.capacity = p->size;
	for (size_t i = 0; i < p->n; i++)
		program_put(p, &code, i, kinds[i], &seed);
	rv_put(&code, RV_CSRW_SCTRCTL_A0);
	rv_put(&code, RV_C_NOP);
	rv_put(&code, rv_c_jr(1));
	free(kinds);
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_PROGRAM_H */
