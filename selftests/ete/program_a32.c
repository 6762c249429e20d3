// SPDX-License-Identifier: GPL-2.0-only
/* A32 instructions (F4.1): every form of P0 instruction, and some that are none. */
#include "program.h"

enum form {
	B, BL, BLX_LABEL, BX, BLX, BXJ, BX_LR, MOV_PC_LR, MOV_PC, ADD_PC, LDR_PC, LDR_PC_POST,
	POP_PC, LDMDB_PC, SUBS_PC, MOVS_PC, RFE, LDM_USER, ISB, WFE, WFI, SVC,
	ADD, MOV, LDR, STR, CMP, NOP, LDM, FORMS
};

static const struct {
	uint8_t what;
	bool link;
	bool interworks;
	bool always;		/* has no condition */
} forms[FORMS] = {
	[B] = { INSN_DIRECT, false, false, false },
	[BL] = { INSN_DIRECT, true, false, false },
	[BLX_LABEL] = { INSN_DIRECT, true, true, true },
	[BX] = { INSN_INDIRECT, false, true, false },
	[BLX] = { INSN_INDIRECT, true, true, false },
	[BXJ] = { INSN_INDIRECT, false, true, false },
	[BX_LR] = { INSN_RETURN, false, true, false },
	[MOV_PC_LR] = { INSN_RETURN, false, true, false },
	[MOV_PC] = { INSN_INDIRECT, false, true, false },
	[ADD_PC] = { INSN_TABLE, false, false, false },
	[LDR_PC] = { INSN_INDIRECT, false, true, false },
	[LDR_PC_POST] = { INSN_RETURN, false, true, false },
	[POP_PC] = { INSN_RETURN, false, true, false },
	[LDMDB_PC] = { INSN_RETURN, false, true, false },
	[SUBS_PC] = { INSN_ERET, false, true, true },
	[MOVS_PC] = { INSN_ERET, false, true, true },
	[RFE] = { INSN_ERET, false, true, true },
	[LDM_USER] = { INSN_ERET, false, true, true },
	[ISB] = { INSN_ISB, false, false, true },
	[WFE] = { INSN_WFX, false, false, true },
	[WFI] = { INSN_WFX, false, false, true },
	[SVC] = { INSN_SVC, false, false, true },
	[ADD] = { INSN_PLAIN, false, false, true },
	[MOV] = { INSN_PLAIN, false, false, true },
	[LDR] = { INSN_PLAIN, false, false, true },
	[STR] = { INSN_PLAIN, false, false, true },
	[CMP] = { INSN_PLAIN, false, false, true },
	[NOP] = { INSN_PLAIN, false, false, true },
	[LDM] = { INSN_PLAIN, false, false, true },
};

static uint8_t form_of(enum insn_role role, struct rng *rng)
{
	static const uint8_t rare[] = { BX, BLX, BXJ, BX_LR, MOV_PC_LR, MOV_PC, ADD_PC, LDR_PC,
					LDR_PC_POST, POP_PC, LDMDB_PC, ISB, WFE, WFI, SVC };
	static const uint8_t ends[] = { BX_LR, BX_LR, BX_LR, MOV_PC_LR, LDR_PC_POST, POP_PC, POP_PC,
					LDMDB_PC, B, BX, BXJ, MOV_PC, LDR_PC };

	switch (role) {
	case ROLE_TRANSFER:
		if (rng_one_in(rng, 4))
			return rare[rng_below(rng, sizeof(rare))];
		return rng_one_in(rng, 3) ? BL : rng_one_in(rng, 5) ? BLX_LABEL : B;
	case ROLE_END:
		return ends[rng_below(rng, sizeof(ends))];
	case ROLE_ERET:
		return SUBS_PC + rng_below(rng, 4);
	default:
		return ADD + rng_below(rng, FORMS - ADD);
	}
}

void program_a32_choose(struct program_insn *insn, enum insn_role role, struct rng *rng)
{
	insn->isa = FLOWTAP_ISA_A32;
	insn->size = 4;
	insn->form = form_of(role, rng);
	insn->what = forms[insn->form].what;
	insn->link = forms[insn->form].link;
	insn->interworks = forms[insn->form].interworks;
	/* In the middle what goes away for good has a condition, mostly. */
	insn->conditional = role == ROLE_TRANSFER && !forms[insn->form].always &&
			    !rng_one_in(rng, 4);
	insn->bits = rng_next(rng);
}

bool program_a32_exchanges(const struct program_insn *insn)
{
	return insn->form == BLX_LABEL;
}

/* Registers never R15 where that means something else. */
uint32_t program_a32_encode(const struct program_insn *insn, int64_t distance)
{
	uint32_t bits = insn->bits;
	uint32_t cond = (insn->conditional ? bits % 14 : 14) << 28;
	uint32_t rm = (bits >> 8) % 15, rd = (bits >> 12) % 15 << 12, rn = (bits >> 16) % 15 << 16;
	uint32_t offset = (uint32_t)((distance - 8) >> 2) & 0xffffff;

	switch (insn->form) {
	case B:
		return cond | 0x0a000000 | offset;
	case BL:
		return cond | 0x0b000000 | offset;
	case BLX_LABEL:
		return 0xfa000000 | ((distance - 8) >> 1 & 1) << 24 | offset;
	case BX:
		return cond | 0x012fff10 | rm;
	case BLX:
		return cond | 0x012fff30 | rm;
	case BXJ:
		return cond | 0x012fff20 | rm;
	case BX_LR:
		return cond | 0x012fff1e;
	case MOV_PC_LR:
		return cond | 0x01a0f00e;
	case MOV_PC:
		return cond | 0x01a0f000 | rm;
	case ADD_PC:
		return cond | 0x008ff100 | rm;
	case LDR_PC:
		return cond | 0x0590f000 | rn | (bits >> 20 & 0xfff);
	case LDR_PC_POST:
		return cond | 0x049df004;
	case POP_PC:
		return cond | 0x08bd8000 | (bits & 0x1fff);
	case LDMDB_PC:
		return cond | 0x091b8000 | (bits & 0x7fff);
	case SUBS_PC:
		return 0xe25ef000 | (bits & 1 ? 4 : 8);
	case MOVS_PC:
		return 0xe1b0f00e;
	case RFE:
		return 0xf8bd0a00;
	case LDM_USER:
		return 0xe8fd8000 | (bits & 0xfff) | 1;
	case ISB:
		return 0xf57ff06f;
	case WFE:
		return 0xe320f002;
	case WFI:
		return 0xe320f003;
	case SVC:
		return 0xef000000 | (bits & 0xffffff);
	case ADD:
		return 0xe0800000 | rn | rd | rm;
	case MOV:
		return 0xe3a00000 | rd | (bits & 0xff);
	case LDR:
		return 0xe5900000 | rn | rd | (bits & 0xff);
	case STR:
		return 0xe5800000 | rn | rd | (bits & 0xff);
	case CMP:
		return 0xe3500000 | rn | (bits & 0xff);
	case LDM:
		return 0xe8bd0000 | (bits & 0x1fff) | 1;
	default:
		return 0xe320f000;
	}
}
