// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What A64 instructions are, as far as tracing them goes (DDI 0487 C4.1, C6.2), and the pieces of
 * code that QEMU has translated.
 */
#include <pthread.h>
#include <string.h>

#include "plugin.h"

#define HASH_BITS 16

enum field { NO_FIELD, IMM26, IMM19, IMM14, IMM9 };

enum { CONDITIONAL = 1, LINK = 2, RETURN = 4 };

static const struct encoding {
	uint32_t mask;
	uint32_t value;
	uint8_t kind;
	uint8_t distance;	/* enum field: in words, signed */
	uint8_t flags;
} encodings[] = {
	{ 0xfc000000, 0x14000000, INSN_DIRECT, IMM26, 0 },		/* B */
	{ 0xfc000000, 0x94000000, INSN_DIRECT, IMM26, LINK },		/* BL */
	{ 0xff000000, 0x54000000, INSN_DIRECT, IMM19, CONDITIONAL },	/* B.cond, BC.cond */
	{ 0x7e000000, 0x34000000, INSN_DIRECT, IMM19, CONDITIONAL },	/* CBZ, CBNZ */
	{ 0x7e000000, 0x36000000, INSN_DIRECT, IMM14, CONDITIONAL },	/* TBZ, TBNZ */
	/* FEAT_CMPBR: CB<cc> of registers, CBB<cc>, CBH<cc>, CB<cc> of an immediate; no cc 10x. */
	{ 0x7f80c000, 0x74000000, INSN_DIRECT, IMM9, CONDITIONAL },
	{ 0x7fc0c000, 0x74c00000, INSN_DIRECT, IMM9, CONDITIONAL },
	{ 0xff808000, 0x74008000, INSN_DIRECT, IMM9, CONDITIONAL },
	{ 0xffc08000, 0x74c08000, INSN_DIRECT, IMM9, CONDITIONAL },
	{ 0x7f804000, 0x75000000, INSN_DIRECT, IMM9, CONDITIONAL },
	{ 0x7fc04000, 0x75c00000, INSN_DIRECT, IMM9, CONDITIONAL },
	{ 0xfffffc1f, 0xd61f0000, INSN_INDIRECT, 0, 0 },		/* BR */
	{ 0xfffffc1f, 0xd63f0000, INSN_INDIRECT, 0, LINK },		/* BLR */
	{ 0xfffffc1f, 0xd65f0000, INSN_INDIRECT, 0, 0 },		/* RET */
	{ 0xfffff81f, 0xd61f081f, INSN_INDIRECT, 0, 0 },	/* BRAAZ, BRABZ */
	{ 0xfffff81f, 0xd63f081f, INSN_INDIRECT, 0, LINK },
	{ 0xfffff800, 0xd71f0800, INSN_INDIRECT, 0, 0 },	/* BRAA, BRAB */
	{ 0xfffff800, 0xd73f0800, INSN_INDIRECT, 0, LINK },
	/* RETAA, RETAB, RETAASPPCR, RETABSPPCR */
	{ 0xfffffbe0, 0xd65f0be0, INSN_INDIRECT, 0, 0 },
	{ 0xffc0001f, 0x5500001f, INSN_INDIRECT, 0, 0 },	/* RETA*SPPC */
	{ 0xffffffff, 0xd69f03e0, INSN_INDIRECT, 0, RETURN },		/* ERET */
	{ 0xfffffbff, 0xd69f0bff, INSN_INDIRECT, 0, RETURN },
	{ 0xfffff0ff, 0xd50330df, INSN_ISB, 0, 0 },
	{ 0xffffffdf, 0xd503205f, INSN_WFX, 0, 0 },			/* WFE, WFI */
	{ 0xffffffc0, 0xd5031000, INSN_WFX, 0, 0 },			/* WFET, WFIT */
	{ 0xffffffff, 0xd503309f, INSN_OTHER, 0, 0 },			/* SSBB */
	{ 0xffffffff, 0xd503349f, INSN_OTHER, 0, 0 },			/* PSSBB */
	{ 0xfffff3ff, 0xd503319f, INSN_OTHER, 0, 0 },			/* DSB of loads */
	{ 0xfffff3ff, 0xd503329f, INSN_OTHER, 0, 0 },			/* DSB of stores */
	{ 0xfffff0ff, 0xd503309f, INSN_DSB, 0, 0 },
	{ 0xfffff3ff, 0xd503323f, INSN_DSB, 0, 0 },			/* DSB nXS */
	{ 0xffffffff, 0xd503225f, INSN_TSB_CSYNC, 0, 0 },
	{ 0xfff00000, 0xd5300000, INSN_MRS, 0, 0 },
	{ 0xfff00000, 0xd5100000, INSN_MSR, 0, 0 },
	{ 0xffe0001f, 0xd4000002, INSN_CALL, 0, 0 },			/* HVC */
	{ 0xffe0001f, 0xd4000003, INSN_CALL, 0, 0 },			/* SMC */
	{ 0xffe0001f, 0xd4400000, INSN_HLT, 0, 0 },
};

#define N_ENCODINGS (sizeof(encodings) / sizeof(encodings[0]))

static int32_t signed_field(uint32_t opcode, unsigned int low, unsigned int bits)
{
	return (int32_t)(opcode << (32 - low - bits)) >> (32 - bits);
}

static int32_t distance(uint32_t opcode, enum field field)
{
	switch (field) {
	case IMM26:
		return signed_field(opcode, 0, 26) * 4;
	case IMM19:
		return signed_field(opcode, 5, 19) * 4;
	case IMM14:
		return signed_field(opcode, 5, 14) * 4;
	case IMM9:
		return signed_field(opcode, 5, 9) * 4;
	case NO_FIELD:
		break;
	}
	return 0;
}

void insn_classify(uint32_t opcode, struct insn *insn)
{
	memset(insn, 0, sizeof(*insn));
	/* Branches, exceptions and system instructions (C4.1.65). */
	if ((opcode & 0x1c000000) != 0x14000000)
		return;
	for (size_t i = 0; i < N_ENCODINGS; i++) {
		const struct encoding *encoding = &encodings[i];

		if ((opcode & encoding->mask) != encoding->value)
			continue;
		insn->kind = encoding->kind;
		insn->conditional = encoding->flags & CONDITIONAL;
		insn->link = encoding->flags & LINK;
		insn->eret = encoding->flags & RETURN;
		insn->distance = distance(opcode, encoding->distance);
		insn->reg = opcode >> 5;
		insn->rt = opcode & 31;
		return;
	}
}

/* C1.2.4 */
static bool holds(unsigned int condition, unsigned int nzcv)
{
	const bool n = nzcv & 8, z = nzcv & 4, c = nzcv & 2, v = nzcv & 1;
	bool result;

	switch (condition >> 1) {
	case 0:
		result = z;
		break;
	case 1:
		result = c;
		break;
	case 2:
		result = n;
		break;
	case 3:
		result = v;
		break;
	case 4:
		result = c && !z;
		break;
	case 5:
		result = n == v;
		break;
	case 6:
		result = n == v && !z;
		break;
	default:
		return true;
	}
	return result != (condition & 1);
}

/* CB<cc>: C6.2, FEAT_CMPBR. The operands as many bits as are compared. */
static bool compares(uint32_t opcode, uint64_t rt, uint64_t rm)
{
	const bool immediate = opcode & 1 << 24;
	const unsigned int small = immediate ? 0 : opcode >> 14 & 3;
	const unsigned int bits = small == 2 ? 8 : small == 3 ? 16 : opcode >> 31 ? 64 : 32;
	const unsigned int shift = 64 - bits;
	int64_t a, b;

	if (immediate)
		rm = opcode >> 15 & 63;
	a = (int64_t)(rt << shift) >> shift;
	b = (int64_t)(rm << shift) >> shift;
	rt = rt << shift >> shift;
	rm = rm << shift >> shift;
	switch (opcode >> 21 & 7) {
	case 0:
		return a > b;
	case 1:
		return immediate ? a < b : a >= b;
	case 2:
		return rt > rm;
	case 3:
		return immediate ? rt < rm : rt >= rm;
	case 6:
		return rt == rm;
	default:
		return rt != rm;
	}
}

bool insn_taken(uint32_t opcode, unsigned int nzcv, uint64_t rt, uint64_t rm)
{
	switch (opcode >> 25 & 0x3f) {
	case 0x2a:	/* B.cond, BC.cond */
		return holds(opcode & 15, nzcv);
	case 0x1a:	/* CBZ, CBNZ */
		return ((opcode >> 31 ? rt : (uint32_t)rt) == 0) != (opcode >> 24 & 1);
	case 0x1b:	/* TBZ, TBNZ */
		return (rt >> (opcode >> 31 << 5 | (opcode >> 19 & 31)) & 1) == (opcode >> 24 & 1);
	default:
		return compares(opcode, rt, rm);
	}
}

static struct code *table[1 << HASH_BITS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t hash(uint64_t address, unsigned int el, const uint32_t *opcodes, uint32_t n)
{
	uint64_t value = address ^ (uint64_t)el << 60 ^ (uint64_t)n << 48;

	for (uint32_t i = 0; i < n; i++)
		value = (value ^ opcodes[i]) * 0x9e3779b97f4a7c15;
	return (value * 0x9e3779b97f4a7c15) >> (64 - HASH_BITS);
}

/* Whether an instruction needs a callback of its own. */
static bool is_point(const struct insn *insn)
{
	switch (insn->kind) {
	case INSN_ISB:
	case INSN_DSB:
	case INSN_TSB_CSYNC:
	case INSN_CALL:
	case INSN_HLT:
		return true;
	case INSN_MRS:
		return pe_replaces(insn->reg);
	case INSN_MSR:
		return pe_owns(insn->reg);
	case INSN_DIRECT:
		return insn->conditional && insn->distance == 4;
	}
	return insn->eret;
}

static void analyze(struct code *code)
{
	struct insn insn;
	const uint32_t n = code->n;

	for (uint32_t i = 0; i < n; i++) {
		insn_classify(code->opcodes[i], &insn);
		code->inner |= i + 1 < n && insn_is_p0(&insn);
		code->n_points += is_point(&insn);
	}
	code->last = insn;
	/* A branch into the block itself is not to be taken for a block that was left. */
	if (insn.kind == INSN_DIRECT)
		code->watched_end = n > 1 && insn.distance <= 0 &&
				    insn.distance >= -4 * (int32_t)(n - 1);
	else if (insn.kind == INSN_INDIRECT)
		code->watched_end = n > 1;
	if (!code->n_points)
		return;
	code->points = g_new0(struct point, code->n_points);
	code->n_points = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct point *point = &code->points[code->n_points];

		insn_classify(code->opcodes[i], &insn);
		if (!is_point(&insn))
			continue;
		point->code = code;
		point->index = i;
		point->opcode = code->opcodes[i];
		point->insn = insn;
		code->n_points++;
	}
}

const struct code *code_get(struct log_set *log, uint64_t address, unsigned int el,
			    const uint32_t *opcodes, uint32_t n)
{
	const uint32_t bucket = hash(address, el, opcodes, n);
	struct code *code;

	pthread_mutex_lock(&lock);
	for (code = table[bucket]; code; code = code->next) {
		if (code->address == address && code->el == el && code->n == n &&
		    !memcmp(code->opcodes, opcodes, n * sizeof(*opcodes)))
			break;
	}
	if (!code) {
		code = g_malloc0(sizeof(*code) + n * sizeof(*opcodes));
		code->address = address;
		code->offset = address & 0xfff;
		code->el = el;
		code->n = n;
		memcpy(code->opcodes, opcodes, n * sizeof(*opcodes));
		code->id = log_code(log, address, opcodes, n);
		analyze(code);
		code->next = table[bucket];
		table[bucket] = code;
	}
	pthread_mutex_unlock(&lock);
	return code;
}
