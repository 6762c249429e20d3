// SPDX-License-Identifier: GPL-2.0-only
/* A64 instructions (C4.1): every form of P0 instruction, and some that are none. */
#include "program.h"

enum form {
	B, BL, B_COND, BC_COND, CBZ, TBZ, CB_REGISTER, CB_BYTE, CB_HALF, CB_IMMEDIATE,
	BR, BLR, RET, BRA, BRAZ, BLRA, BLRAZ, RETA, RETASPPC, RETASPPCR,
	ERET, ERETA, TEXIT, ISB, WFE, WFI, WFET, WFIT, TSTART, TCOMMIT, SVC,
	ADD, MOV, LDR, STR, AND, NOP, LDP, FMOV, FORMS
};

static const struct {
	uint8_t what;
	bool conditional;
	bool link;
} forms[FORMS] = {
	[B] = { INSN_DIRECT, false, false },
	[BL] = { INSN_DIRECT, false, true },
	[B_COND] = { INSN_DIRECT, true, false },
	[BC_COND] = { INSN_DIRECT, true, false },
	[CBZ] = { INSN_DIRECT, true, false },
	[TBZ] = { INSN_DIRECT, true, false },
	[CB_REGISTER] = { INSN_DIRECT, true, false },
	[CB_BYTE] = { INSN_DIRECT, true, false },
	[CB_HALF] = { INSN_DIRECT, true, false },
	[CB_IMMEDIATE] = { INSN_DIRECT, true, false },
	[BR] = { INSN_INDIRECT, false, false },
	[BLR] = { INSN_INDIRECT, false, true },
	[RET] = { INSN_RETURN, false, false },
	[BRA] = { INSN_INDIRECT, false, false },
	[BRAZ] = { INSN_INDIRECT, false, false },
	[BLRA] = { INSN_INDIRECT, false, true },
	[BLRAZ] = { INSN_INDIRECT, false, true },
	[RETA] = { INSN_RETURN, false, false },
	[RETASPPC] = { INSN_RETURN, false, false },
	[RETASPPCR] = { INSN_RETURN, false, false },
	[ERET] = { INSN_ERET, false, false },
	[ERETA] = { INSN_ERET, false, false },
	[TEXIT] = { INSN_ERET, false, false },
	[ISB] = { INSN_ISB, false, false },
	[WFE] = { INSN_WFX, false, false },
	[WFI] = { INSN_WFX, false, false },
	[WFET] = { INSN_WFX, false, false },
	[WFIT] = { INSN_WFX, false, false },
	[TSTART] = { INSN_TSTART, false, false },
	[TCOMMIT] = { INSN_TCOMMIT, false, false },
	[SVC] = { INSN_SVC, false, false },
};

static uint8_t transfer(struct rng *rng, const struct program_options *options)
{
	static const uint8_t common[] = { B_COND, B_COND, CBZ, TBZ, B_COND, CBZ, BL, BL };
	static const uint8_t rare[] = {
		BC_COND, CB_REGISTER, CB_BYTE, CB_HALF, CB_IMMEDIATE, BLR, BLRA, BLRAZ, ISB, WFE,
		WFI, WFET, WFIT, SVC, BL, TSTART, TCOMMIT, TCOMMIT, TCOMMIT,
	};
	static const uint8_t classic[] = { BLR, BLRA, BLRAZ, ISB, WFE, WFI, SVC, TSTART, TCOMMIT };

	if (options->classic)
		return rng_one_in(rng, 4) ? classic[rng_below(rng, sizeof(classic) -
							       (options->transactions ? 0 : 2))] :
					    common[rng_below(rng, sizeof(common))];
	if (options->plain)
		return rng_one_in(rng, 40) ? BLR : common[rng_below(rng, sizeof(common))];
	if (rng_one_in(rng, 2))
		return common[rng_below(rng, sizeof(common))];
	return rare[rng_below(rng, sizeof(rare) - (options->transactions ? 0 : 4))];
}

static uint8_t end(struct rng *rng, const struct program_options *options)
{
	static const uint8_t ends[] = { RET, RET, RET, RET, RETA, B, BR, BRA, BRAZ, RETASPPC,
					RETASPPCR };

	if (options->plain)
		return RET;
	return ends[rng_below(rng, sizeof(ends) - (options->classic ? 2 : 0))];
}

void program_a64_choose(struct program_insn *insn, enum insn_role role, struct rng *rng,
			const struct program_options *options)
{
	insn->isa = FLOWTAP_ISA_A64;
	insn->size = 4;
	insn->bits = rng_next(rng);
	switch (role) {
	case ROLE_PLAIN:
	case ROLE_IT:
		insn->form = ADD + rng_below(rng, FORMS - ADD);
		break;
	case ROLE_TRANSFER:
		insn->form = transfer(rng, options);
		break;
	case ROLE_END:
		insn->form = end(rng, options);
		break;
	case ROLE_ERET:
		insn->form = options->plain || options->classic ? ERET : ERET + rng_below(rng, 3);
		break;
	}
	insn->what = forms[insn->form].what;
	insn->conditional = forms[insn->form].conditional;
	insn->link = forms[insn->form].link;
}

static uint32_t field(int64_t distance, unsigned int bits, unsigned int at)
{
	return ((uint32_t)(distance >> 2) & ((1U << bits) - 1)) << at;
}

/* FEAT_CMPBR: the condition codes of the register and the immediate form that are allocated. */
static uint32_t compare_and_branch(const struct program_insn *insn, int64_t distance)
{
	static const uint8_t conditions[] = { 0, 1, 2, 3, 6, 7 };
	uint32_t cc = conditions[(insn->bits >> 8) % 6] << 21;
	uint32_t rt = insn->bits & 31, rm = (insn->bits >> 16 & 31) << 16;
	uint32_t sf = insn->bits & 1U << 31;

	switch (insn->form) {
	case CB_BYTE:
		return 0x74008000 | cc | rm | field(distance, 9, 5) | rt;
	case CB_HALF:
		return 0x7400c000 | cc | rm | field(distance, 9, 5) | rt;
	case CB_IMMEDIATE:
		return 0x75000000 | sf | cc | (insn->bits >> 16 & 63) << 15 |
		       field(distance, 9, 5) | rt;
	default:
		return 0x74000000 | sf | cc | rm | field(distance, 9, 5) | rt;
	}
}

static uint32_t encode_plain(const struct program_insn *insn)
{
	uint32_t bits = insn->bits;
	uint32_t rd = bits & 31, rn = (bits >> 5 & 31) << 5, rm = (bits >> 16 & 31) << 16;

	switch (insn->form) {
	case ADD:
		return 0x91000000 | (bits >> 10 & 0xfff) << 10 | rn | rd;
	case MOV:
		return 0xd2800000 | (bits >> 5 & 0xffff) << 5 | rd;
	case LDR:
		return 0xf9400000 | (bits >> 10 & 0xfff) << 10 | rn | rd;
	case STR:
		return 0xf9000000 | (bits >> 10 & 0xfff) << 10 | rn | rd;
	case AND:
		return 0x8a000000 | rm | rn | rd;
	case LDP:
		return 0xa9400000 | rm >> 6 | rn | rd;
	case FMOV:
		return 0x1e604000 | rn | rd;
	default:
		return 0xd503201f;
	}
}

/* Registers never X31 where that means something else. */
uint32_t program_a64_encode(const struct program_insn *insn, int64_t distance)
{
	uint32_t bits = insn->bits;
	uint32_t rt = bits & 31, rn = (bits >> 5) % 31 << 5, sf = bits & 1U << 31;
	uint32_t rm = (bits >> 16) % 31, key = (bits >> 12 & 1) << 10;

	switch (insn->form) {
	case B:
		return 0x14000000 | field(distance, 26, 0);
	case BL:
		return 0x94000000 | field(distance, 26, 0);
	case B_COND:
		return 0x54000000 | field(distance, 19, 5) | bits % 14;
	case BC_COND:
		return 0x54000010 | field(distance, 19, 5) | bits % 14;
	case CBZ:
		return 0x34000000 | sf | (bits >> 30 & 1) << 24 | field(distance, 19, 5) | rt;
	case TBZ:
		return 0x36000000 | sf | (bits >> 30 & 1) << 24 | (bits >> 19 & 31) << 19 |
		       field(distance, 14, 5) | rt;
	case CB_REGISTER:
	case CB_BYTE:
	case CB_HALF:
	case CB_IMMEDIATE:
		return compare_and_branch(insn, distance);
	case BR:
		return 0xd61f0000 | rn;
	case BLR:
		return 0xd63f0000 | rn;
	case RET:
		return 0xd65f03c0;
	case BRA:
		return 0xd71f0800 | key | rn | rm;
	case BRAZ:
		return 0xd61f081f | key | rn;
	case BLRA:
		return 0xd73f0800 | key | rn | rm;
	case BLRAZ:
		return 0xd63f081f | key | rn;
	case RETA:
		return 0xd65f0bff | key;
	case RETASPPC:
		return 0x5500001f | key << 11 | (bits >> 5 & 0xffff) << 5;
	case RETASPPCR:
		return 0xd65f0be0 | key | rm;
	case ERET:
		return 0xd69f03e0;
	case ERETA:
		return 0xd69f0bff | key;
	case TEXIT:
		return 0xd6ff03e0 | key;
	case ISB:
		return 0xd5033fdf;
	case WFE:
		return 0xd503205f;
	case WFI:
		return 0xd503207f;
	case WFET:
		return 0xd5031000 | rt;
	case WFIT:
		return 0xd5031020 | rt;
	case TSTART:
		return 0xd5233060 | rt;
	case TCOMMIT:
		return 0xd503307f;
	case SVC:
		return 0xd4000001 | (bits & 0xffff) << 5;
	default:
		return encode_plain(insn);
	}
}
