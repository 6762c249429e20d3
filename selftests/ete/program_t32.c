// SPDX-License-Identifier: GPL-2.0-only
/*
 * T32 instructions (F3.1): every form of P0 instruction, IT blocks, and some that are none. Of
 * Armv8.1-M those that its loops and security states have (DDI 0553, C2.4).
 */
#include "program.h"

enum form {
	B_COND, B_NARROW, B_COND_WIDE, B_WIDE, BL, BLX_LABEL, CBZ, BX, BLX, BXJ, BX_LR, MOV_PC_LR,
	MOV_PC, ADD_PC, POP, POP_WIDE, LDR_PC, LDR_PC_POST, TBB, TBH, SUBS_PC, RFE, ISB, WFE, WFI,
	WFI_WIDE, SVC, IT, BXNS, BLXNS, WLS, WLSTP, LE, LETP, DLS, DLSTP, LCTP, LDM_WIDE, ADD, MOV,
	LDR, STR, NOP, PUSH, ADD_WIDE, MOV_WIDE, LDR_WIDE, STR_WIDE,
	FORMS
};

static const struct {
	uint8_t what;
	uint8_t size;
	bool conditional;
	bool link;
	bool interworks;
} forms[FORMS] = {
	[B_COND] = { INSN_DIRECT, 2, true, false, false },
	[B_NARROW] = { INSN_DIRECT, 2, false, false, false },
	[B_COND_WIDE] = { INSN_DIRECT, 4, true, false, false },
	[B_WIDE] = { INSN_DIRECT, 4, false, false, false },
	[BL] = { INSN_DIRECT, 4, false, true, false },
	[BLX_LABEL] = { INSN_DIRECT, 4, false, true, true },
	[CBZ] = { INSN_DIRECT, 2, true, false, false },
	[BX] = { INSN_INDIRECT, 2, false, false, true },
	[BLX] = { INSN_INDIRECT, 2, false, true, true },
	[BXJ] = { INSN_INDIRECT, 4, false, false, true },
	[BX_LR] = { INSN_RETURN, 2, false, false, true },
	[MOV_PC_LR] = { INSN_RETURN, 2, false, false, false },
	[MOV_PC] = { INSN_INDIRECT, 2, false, false, false },
	[ADD_PC] = { INSN_TABLE, 2, false, false, false },
	[POP] = { INSN_RETURN, 2, false, false, true },
	[POP_WIDE] = { INSN_RETURN, 4, false, false, true },
	[LDR_PC] = { INSN_INDIRECT, 4, false, false, true },
	[LDR_PC_POST] = { INSN_RETURN, 4, false, false, true },
	[TBB] = { INSN_TABLE, 4, false, false, false },
	[TBH] = { INSN_TABLE, 4, false, false, false },
	[SUBS_PC] = { INSN_ERET, 4, false, false, true },
	[RFE] = { INSN_ERET, 4, false, false, true },
	[ISB] = { INSN_ISB, 4, false, false, false },
	[WFE] = { INSN_WFX, 2, false, false, false },
	[WFI] = { INSN_WFX, 2, false, false, false },
	[WFI_WIDE] = { INSN_WFX, 4, false, false, false },
	[SVC] = { INSN_SVC, 2, false, false, false },
	[IT] = { INSN_PLAIN, 2, false, false, false },
	[BXNS] = { INSN_INDIRECT, 2, false, false, true },
	[BLXNS] = { INSN_INDIRECT, 2, false, true, true },
	[WLS] = { INSN_DIRECT, 4, true, false, false },
	[WLSTP] = { INSN_DIRECT, 4, true, false, false },
	[LE] = { INSN_DIRECT, 4, true, false, false },
	[LETP] = { INSN_DIRECT, 4, true, false, false },
	[DLS] = { INSN_PLAIN, 4, false, false, false },
	[DLSTP] = { INSN_PLAIN, 4, false, false, false },
	[LCTP] = { INSN_PLAIN, 4, false, false, false },
	[LDM_WIDE] = { INSN_PLAIN, 4, false, false, false },
	[ADD] = { INSN_PLAIN, 2, false, false, false },
	[MOV] = { INSN_PLAIN, 2, false, false, false },
	[LDR] = { INSN_PLAIN, 2, false, false, false },
	[STR] = { INSN_PLAIN, 2, false, false, false },
	[NOP] = { INSN_PLAIN, 2, false, false, false },
	[PUSH] = { INSN_PLAIN, 2, false, false, false },
	[ADD_WIDE] = { INSN_PLAIN, 4, false, false, false },
	[MOV_WIDE] = { INSN_PLAIN, 4, false, false, false },
	[LDR_WIDE] = { INSN_PLAIN, 4, false, false, false },
	[STR_WIDE] = { INSN_PLAIN, 4, false, false, false },
};

static void set(struct program_insn *insn, uint8_t form, struct rng *rng)
{
	insn->isa = FLOWTAP_ISA_T32;
	insn->form = form;
	insn->size = forms[form].size;
	insn->what = forms[form].what;
	insn->conditional = forms[form].conditional;
	insn->link = forms[form].link;
	insn->interworks = forms[form].interworks;
	insn->bits = rng_next(rng);
}

static uint8_t one_of(const uint8_t *list, size_t n, struct rng *rng)
{
	return list[rng_below(rng, n)];
}

/* Nothing that goes to A32 or is of the A profile. */
static uint8_t choose_m(enum insn_role role, struct rng *rng)
{
	static const uint8_t common[] = { B_COND, B_COND, CBZ, CBZ, B_COND_WIDE, BL, BL, LE, WLS };
	static const uint8_t rare[] = { BLX, BLXNS, ISB, WFE, WFI, WFI_WIDE, SVC, TBB, TBH, LETP,
					WLSTP };
	static const uint8_t ends[] = { BX_LR, BX_LR, POP, POP, POP_WIDE, MOV_PC_LR, LDR_PC_POST,
					TBB, TBH, B_WIDE, B_WIDE, BX, BXNS, MOV_PC, LDR_PC };
	static const uint8_t returns[] = { BX_LR, POP, POP_WIDE, LDR_PC_POST };

	switch (role) {
	case ROLE_TRANSFER:
		return rng_one_in(rng, 4) ? one_of(rare, sizeof(rare), rng) :
					    one_of(common, sizeof(common), rng);
	case ROLE_END:
		return one_of(ends, sizeof(ends), rng);
	case ROLE_ERET:
		return one_of(returns, sizeof(returns), rng);
	case ROLE_IT:
		return ADD + rng_below(rng, FORMS - ADD);
	default:
		return DLS + rng_below(rng, FORMS - DLS);
	}
}

void program_t32_choose(struct program_insn *insn, enum insn_role role, struct rng *rng,
			const struct program_options *options)
{
	static const uint8_t common[] = { B_COND, B_COND, CBZ, CBZ, B_COND_WIDE, BL, BL,
					  BLX_LABEL };
	static const uint8_t rare[] = { BLX, ISB, WFE, WFI, WFI_WIDE, SVC, BLX, TBB, TBH };
	static const uint8_t ends[] = { BX_LR, BX_LR, POP, POP, POP_WIDE, MOV_PC_LR, LDR_PC_POST,
					TBB, TBH, B_WIDE, B_WIDE, BX, BXJ, MOV_PC, LDR_PC };
	uint8_t form;

	if (options->m_profile) {
		do {
			form = choose_m(role, rng);
		} while (options->classic && form >= BXNS && form <= LCTP);
		set(insn, form, rng);
		if (role == ROLE_ERET)
			insn->what = INSN_ERET;
		return;
	}
	switch (role) {
	case ROLE_TRANSFER:
		form = rng_one_in(rng, 4) ? rare[rng_below(rng, sizeof(rare))] :
					    common[rng_below(rng, sizeof(common))];
		break;
	case ROLE_END:
		form = ends[rng_below(rng, sizeof(ends))];
		break;
	case ROLE_ERET:
		form = SUBS_PC + rng_below(rng, 2);
		break;
	default:
		form = ADD + rng_below(rng, FORMS - ADD);
		break;
	}
	set(insn, form, rng);
}

void program_t32_it(struct program_insn *insn, unsigned int n, struct rng *rng)
{
	set(insn, IT, rng);
	/* All follow the condition: the mask repeats its lowest bit, then ends with a 1. */
	insn->bits = insn->bits % 14 << 4;
	insn->bits |= ((insn->bits & 0x10 ? 0x1eU << (4 - n) : 0) | 1U << (4 - n)) & 0xf;
}

void program_t32_it_branch(struct program_insn *insn, struct rng *rng)
{
	static const uint8_t last[] = { B_NARROW, B_WIDE, BL, BX, BLX, BX_LR, POP, MOV_PC_LR,
					LDR_PC, TBB, MOV_PC, ADD_PC };

	set(insn, last[rng_below(rng, sizeof(last))], rng);
	insn->conditional = true;
	insn->in_it = true;
}

bool program_t32_exchanges(const struct program_insn *insn)
{
	return insn->form == BLX_LABEL;
}

bool program_t32_skips(const struct program_insn *insn)
{
	return insn->form == CBZ;
}

bool program_t32_loops(const struct program_insn *insn)
{
	return insn->form == LE || insn->form == LETP;
}

bool program_t32_leaves_secure(const struct program_insn *insn)
{
	return insn->form == BXNS || insn->form == BLXNS;
}

bool program_t32_returns(const struct program_insn *insn)
{
	return insn->what == INSN_RETURN && insn->form != MOV_PC_LR;
}

unsigned int program_t32_reach(const struct program_insn *insn, bool *forward)
{
	*forward = insn->form == CBZ || insn->form == WLS || insn->form == WLSTP;
	return insn->form == CBZ ? 31 : 55;
}

/* imm32 of B (T4), BL and BLX as S, J1, J2, imm10 and imm11 (F6.1). */
static uint32_t wide(uint32_t opcode, int64_t offset)
{
	uint32_t s = offset < 0, i1 = offset >> 23 & 1, i2 = offset >> 22 & 1;

	return opcode | s << 26 | (offset >> 12 & 0x3ff) << 16 | (!i1 ^ s) << 13 | (!i2 ^ s) << 11 |
	       (offset >> 1 & 0x7ff);
}

static uint32_t wide_conditional(uint32_t cond, int64_t offset)
{
	return 0xf0008000 | (offset < 0) << 26 | cond << 22 | (offset >> 12 & 0x3f) << 16 |
	       (offset >> 18 & 1) << 13 | (offset >> 19 & 1) << 11 | (offset >> 1 & 0x7ff);
}

/* imm10:imm1:0 of WLS and LE, from the address 4 further on and without a sign. */
static uint32_t loop(uint32_t opcode, uint32_t offset)
{
	return opcode | (offset >> 2 & 0x3ff) << 1 | (offset >> 1 & 1) << 11;
}

static uint32_t encode_plain(const struct program_insn *insn)
{
	uint32_t bits = insn->bits;
	uint32_t low = bits & 7, rd = (bits >> 3) % 13, rn = (bits >> 8) % 13;

	switch (insn->form) {
	case IT:
		return 0xbf00 | (bits & 0xff);
	case ADD:
		return 0x3000 | low << 8 | (bits >> 8 & 0xff);
	case MOV:
		return 0x2000 | low << 8 | (bits >> 8 & 0xff);
	case LDR:
		return 0x6800 | (bits & 0x7ff);
	case STR:
		return 0x6000 | (bits & 0x7ff);
	case PUSH:
		return 0xb500 | (bits & 0xff);
	case ADD_WIDE:
		return 0xeb000000 | rn << 16 | rd << 8 | rn;
	case MOV_WIDE:
		return 0xf2400000 | rd << 8 | (bits >> 16 & 0xff);
	case LDR_WIDE:
		return 0xf8d00000 | rn << 16 | rd << 12 | (bits >> 16 & 0xfff);
	case DLS:
		return 0xf040e001 | rn << 16;
	case DLSTP:
		return 0xf000e001 | (bits >> 16 & 3) << 20 | rn << 16;
	case LCTP:
		return 0xf00fe001;
	case LDM_WIDE:
		return 0xe8b00000 | rn << 16 | (bits >> 16 & 0x1fff) | 3;
	case STR_WIDE:
		return 0xf8c00000 | rn << 16 | rd << 12 | (bits >> 16 & 0xfff);
	default:
		return 0xbf00;
	}
}

uint32_t program_t32_encode(const struct program_insn *insn, int64_t distance)
{
	uint32_t bits = insn->bits;
	uint32_t cond = bits % 14, rm = (bits >> 8) % 13;
	int64_t offset = distance - 4;

	switch (insn->form) {
	case B_COND:
		return 0xd000 | cond << 8 | (offset >> 1 & 0xff);
	case B_NARROW:
		return 0xe000 | (offset >> 1 & 0x7ff);
	case B_COND_WIDE:
		return wide_conditional(cond, offset);
	case B_WIDE:
		return wide(0xf0009000, offset);
	case BL:
		return wide(0xf000d000, offset);
	case BLX_LABEL:
		/* From the address rounded down to 4. */
		return wide(0xf000c000, offset + (insn->address & 2));
	case CBZ:
		return 0xb100 | (bits & 1) << 11 | (offset >> 6 & 1) << 9 |
		       (offset >> 1 & 31) << 3 | (bits >> 4 & 7);
	case BX:
		return 0x4700 | rm << 3;
	case BLX:
		return 0x4780 | rm << 3;
	case BXJ:
		return 0xf3c08f00 | rm << 16;
	case BXNS:
		return 0x4704 | rm << 3;
	case BLXNS:
		return 0x4784 | rm << 3;
	case WLS:
		return loop(0xf040c001 | rm << 16, offset);
	case WLSTP:
		return loop(0xf000c001 | (bits >> 16 & 3) << 20 | rm << 16, offset);
	case LE:
		return loop(0xf00fc001, -offset);
	case LETP:
		return loop(0xf01fc001, -offset);
	case BX_LR:
		return 0x4770;
	case MOV_PC_LR:
		return 0x46f7;
	case MOV_PC:
		return 0x4687 | rm << 3;
	case ADD_PC:
		return 0x4487 | rm << 3;
	case POP:
		return 0xbd00 | (bits & 0xff);
	case POP_WIDE:
		return 0xe8bd8000 | (bits & 0x1fff) | 1;
	case LDR_PC:
		return 0xf8d0f000 | rm << 16 | (bits >> 16 & 0xfff);
	case LDR_PC_POST:
		return 0xf85dfb04;
	case TBB:
		return 0xe8d0f000 | rm << 16 | (bits >> 4) % 13;
	case TBH:
		return 0xe8d0f010 | rm << 16 | (bits >> 4) % 13;
	case SUBS_PC:
		return 0xf3de8f00 | (bits & 1 ? 4 : 8);
	case RFE:
		return 0xe9bdc000;
	case ISB:
		return 0xf3bf8f6f;
	case WFE:
		return 0xbf20;
	case WFI:
		return 0xbf30;
	case WFI_WIDE:
		return 0xf3af8003;
	case SVC:
		return 0xdf00 | (bits & 0xff);
	default:
		return encode_plain(insn);
	}
}
