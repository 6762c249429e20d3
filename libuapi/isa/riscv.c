// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * RV64GC instructions as far as the flow needs them: length, transfer class, direct target.
 * The two tables are the opcode maps of the unprivileged specification (chapters "RV32/64G
 * Instruction Set Listings" and "C", table "RVC opcode map"); classes are Smctr table 10.
 */
#include <errno.h>
#include <flowtap/block.h>
#include <flowtap/riscv.h>
#include <stdbool.h>

#define CSR_SCTRCTL	0x14e		/* Smctr table 5 */
#define CSR_SCTRSTATUS	0x14f

enum form {
	UNKNOWN,	/* reserved, custom, or longer than 32 bits: may be anything */
	PLAIN,		/* every encoding falls through */
	BRANCH,
	JALR,
	JAL,
	SYSTEM,
	C_ADDI4SPN,	/* c.addi4spn; with a zero immediate reserved or the illegal instruction */
	C_ZCB_MEMORY,	/* RV64C reserves them, Zcb has bytes and halfwords there */
	C_ADDIW,
	C_LUI,		/* c.addi16sp, c.lui, c.mop.n */
	C_ALU,
	C_J,
	C_BRANCH,
	C_LOAD_SP,
	C_JR_MV_ADD,	/* c.jr, c.jalr, c.ebreak, c.mv, c.add */
};

/* By bits 6:2 of a 32-bit instruction: LOAD ... STORE ... MADD ... BRANCH ... */
static const uint8_t majors[32] = {
	PLAIN, PLAIN, UNKNOWN, PLAIN, PLAIN, PLAIN, PLAIN, UNKNOWN,
	PLAIN, PLAIN, UNKNOWN, PLAIN, PLAIN, PLAIN, PLAIN, UNKNOWN,
	PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, UNKNOWN, UNKNOWN,
	BRANCH, JALR, UNKNOWN, JAL, SYSTEM, PLAIN, UNKNOWN, UNKNOWN,
};

/* By quadrant (bits 1:0) and funct3 (bits 15:13) of a 16-bit instruction. */
static const uint8_t quadrants[3][8] = {
	{ C_ADDI4SPN, PLAIN, PLAIN, PLAIN, C_ZCB_MEMORY, PLAIN, PLAIN, PLAIN },
	{ PLAIN, C_ADDIW, PLAIN, C_LUI, C_ALU, C_J, C_BRANCH, C_BRANCH },
	{ PLAIN, PLAIN, C_LOAD_SP, C_LOAD_SP, C_JR_MV_ADD, PLAIN, PLAIN, PLAIN },
};

/* SYSTEM with funct3 0: the only ones that are known. */
static const struct {
	uint32_t mask;
	uint32_t match;
	uint8_t transfer;
	int8_t cause;
} privileged[] = {
	{ 0xffffffff, 0x00000073, FLOWTAP_TRANSFER_EXCEPTION, 8 },	/* ecall */
	{ 0xffffffff, 0x00100073, FLOWTAP_TRANSFER_EXCEPTION, 3 },	/* ebreak */
	{ 0xffffffff, 0x10200073, FLOWTAP_TRANSFER_TRAP_RETURN, -1 },	/* sret */
	{ 0xffffffff, 0x30200073, FLOWTAP_TRANSFER_TRAP_RETURN, -1 },	/* mret */
	{ 0xffffffff, 0x70200073, FLOWTAP_TRANSFER_TRAP_RETURN, -1 },	/* mnret */
	{ 0xffffffff, 0x00d00073, FLOWTAP_TRANSFER_NONE, -1 },		/* wrs.nto */
	{ 0xffffffff, 0x01d00073, FLOWTAP_TRANSFER_NONE, -1 },		/* wrs.sto */
	{ 0xffffffff, 0x10400073, FLOWTAP_TRANSFER_NONE, -1 },		/* sctrclr */
	{ 0xffffffff, 0x10500073, FLOWTAP_TRANSFER_NONE, -1 },		/* wfi */
	{ 0xffffffff, 0x18000073, FLOWTAP_TRANSFER_NONE, -1 },		/* sfence.w.inval */
	{ 0xffffffff, 0x18100073, FLOWTAP_TRANSFER_NONE, -1 },		/* sfence.inval.ir */
	{ 0xfe007fff, 0x12000073, FLOWTAP_TRANSFER_NONE, -1 },		/* sfence.vma */
	{ 0xfe007fff, 0x16000073, FLOWTAP_TRANSFER_NONE, -1 },		/* sinval.vma */
	{ 0xfe007fff, 0x22000073, FLOWTAP_TRANSFER_NONE, -1 },		/* hfence.vvma */
	{ 0xfe007fff, 0x26000073, FLOWTAP_TRANSFER_NONE, -1 },		/* hinval.vvma */
	{ 0xfe007fff, 0x62000073, FLOWTAP_TRANSFER_NONE, -1 },		/* hfence.gvma */
	{ 0xfe007fff, 0x66000073, FLOWTAP_TRANSFER_NONE, -1 },		/* hinval.gvma */
};

static uint32_t field(uint32_t insn, unsigned int low, unsigned int bits)
{
	return insn >> low & ((1U << bits) - 1);
}

/* `bits` bits of the instruction from `low` on, put at `to` of an immediate. */
static uint32_t part(uint32_t insn, unsigned int low, unsigned int bits, unsigned int to)
{
	return field(insn, low, bits) << to;
}

static int32_t extend(uint32_t value, unsigned int bits)
{
	uint32_t sign = 1U << (bits - 1);

	return (int32_t)((value ^ sign) - sign);
}

static bool links(uint32_t reg)
{
	return reg == 1 || reg == 5;
}

/* Smctr table 10, the JALR lines (C.JR is JALR x0, C.JALR is JALR x1). */
static uint8_t jalr_class(uint32_t rd, uint32_t rs)
{
	if (links(rd))
		return links(rs) && rs != rd ? FLOWTAP_TRANSFER_SWAP :
					       FLOWTAP_TRANSFER_INDIRECT_CALL;
	if (links(rs))
		return FLOWTAP_TRANSFER_RETURN;
	return rd ? FLOWTAP_TRANSFER_INDIRECT_LINK : FLOWTAP_TRANSFER_INDIRECT_JUMP;
}

static uint8_t jal_class(uint32_t rd)
{
	if (links(rd))
		return FLOWTAP_TRANSFER_DIRECT_CALL;
	return rd ? FLOWTAP_TRANSFER_DIRECT_LINK : FLOWTAP_TRANSFER_DIRECT_JUMP;
}

static void set_direct(struct flowtap_riscv_insn *insn, uint8_t transfer, int32_t offset)
{
	insn->transfer = transfer;
	insn->conditional = transfer == FLOWTAP_TRANSFER_TAKEN;
	insn->direct = true;
	insn->offset = offset;
}

/* CSRRW and CSRRWI always write, the others unless rs1 or the immediate is 0 (Zicsr, table 1). */
static bool writes_csr(uint32_t word)
{
	return field(word, 12, 2) == 1 || field(word, 15, 5);
}

static int classify_csr(uint32_t word, struct flowtap_riscv_insn *insn)
{
	uint32_t csr = field(word, 20, 12);

	if (!writes_csr(word))
		return 0;
	/* Always the illegal instruction, unimp among them (privileged 2.1). */
	if (csr >> 10 == 3)
		return -EILSEQ;
	if (csr == CSR_SCTRCTL || csr == CSR_SCTRSTATUS)
		insn->transfer = FLOWTAP_TRANSFER_RECORDING;
	return 0;
}

static int classify_system(uint32_t word, struct flowtap_riscv_insn *insn)
{
	uint32_t funct3 = field(word, 12, 3);

	if (funct3 & 3)
		return classify_csr(word, insn);
	if (funct3)
		return 0;	/* hypervisor loads and stores, may-be-operations */
	for (size_t i = 0; i < sizeof(privileged) / sizeof(privileged[0]); i++) {
		if ((word & privileged[i].mask) == privileged[i].match) {
			insn->transfer = privileged[i].transfer;
			insn->cause = privileged[i].cause;
			return 0;
		}
	}
	return -EILSEQ;
}

static int classify_word(uint32_t word, struct flowtap_riscv_insn *insn)
{
	uint32_t funct3 = field(word, 12, 3);

	switch ((enum form)majors[field(word, 2, 5)]) {
	case PLAIN:
		return 0;
	case BRANCH:
		if (funct3 == 2 || funct3 == 3)
			return -EILSEQ;
		set_direct(insn, FLOWTAP_TRANSFER_TAKEN,
			   extend(part(word, 31, 1, 12) | part(word, 7, 1, 11) |
				  part(word, 25, 6, 5) | part(word, 8, 4, 1), 13));
		return 0;
	case JAL:
		set_direct(insn, jal_class(field(word, 7, 5)),
			   extend(part(word, 31, 1, 20) | part(word, 12, 8, 12) |
				  part(word, 20, 1, 11) | part(word, 21, 10, 1), 21));
		return 0;
	case JALR:
		if (funct3)
			return -EILSEQ;
		insn->transfer = jalr_class(field(word, 7, 5), field(word, 15, 5));
		return 0;
	case SYSTEM:
		return classify_system(word, insn);
	default:
		return -EILSEQ;
	}
}

/* Those of c.addi16sp, c.lui and c.mop.n (Zcmop: immediate 0, rd odd and below 16) that exist. */
static bool c_lui_exists(uint32_t half)
{
	uint32_t rd = field(half, 7, 5);

	return (half & 0x107c) != 0 || (rd & 0x11) == 1;
}

/* The last four rows of quadrant 1, funct3 100: c.sub ... c.addw and Zcb's c.mul, c.zext.b ... */
static bool c_alu_exists(uint32_t half)
{
	if (field(half, 10, 3) != 7)
		return true;
	return field(half, 5, 2) != 3 || field(half, 2, 3) < 6;
}

static int classify_jr(uint32_t half, struct flowtap_riscv_insn *insn)
{
	bool links_x1 = field(half, 12, 1);
	uint32_t rs1 = field(half, 7, 5);

	if (field(half, 2, 5))
		return 0;	/* c.mv, c.add */
	if (rs1) {
		insn->transfer = jalr_class(links_x1 ? 1 : 0, rs1);
		return 0;
	}
	if (!links_x1)
		return -EILSEQ;
	insn->transfer = FLOWTAP_TRANSFER_EXCEPTION;	/* c.ebreak */
	insn->cause = 3;
	return 0;
}

static int classify_half(uint32_t half, struct flowtap_riscv_insn *insn)
{
	bool exists = true;

	switch ((enum form)quadrants[field(half, 0, 2)][field(half, 13, 3)]) {
	case C_ADDI4SPN:
		exists = field(half, 5, 8);
		break;
	case C_ZCB_MEMORY:
		exists = field(half, 10, 3) < 3 || (field(half, 10, 3) == 3 && !field(half, 6, 1));
		break;
	case C_ADDIW:
	case C_LOAD_SP:
		exists = field(half, 7, 5);
		break;
	case C_LUI:
		exists = c_lui_exists(half);
		break;
	case C_ALU:
		exists = c_alu_exists(half);
		break;
	case C_J:
		set_direct(insn, FLOWTAP_TRANSFER_DIRECT_JUMP,
			   extend(part(half, 12, 1, 11) | part(half, 8, 1, 10) |
				  part(half, 9, 2, 8) | part(half, 6, 1, 7) | part(half, 7, 1, 6) |
				  part(half, 2, 1, 5) | part(half, 11, 1, 4) | part(half, 3, 3, 1),
				  12));
		break;
	case C_BRANCH:
		set_direct(insn, FLOWTAP_TRANSFER_TAKEN,
			   extend(part(half, 12, 1, 8) | part(half, 5, 2, 6) | part(half, 2, 1, 5) |
				  part(half, 10, 2, 3) | part(half, 3, 2, 1), 9));
		break;
	case C_JR_MV_ADD:
		return classify_jr(half, insn);
	default:
		break;
	}
	return exists ? 0 : -EILSEQ;
}

int flowtap_riscv_classify(const uint8_t *bytes, size_t available, struct flowtap_riscv_insn *insn)
{
	uint32_t word;

	*insn = (struct flowtap_riscv_insn){ .length = 2, .cause = -1 };
	if (available < 2)
		return -ENODATA;
	word = bytes[0] | (uint32_t)bytes[1] << 8;
	if ((word & 3) != 3)
		return classify_half(word, insn);
	insn->length = 4;
	if (available < 4)
		return -ENODATA;
	word |= (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
	return classify_word(word, insn);
}

int flowtap_riscv_block(struct flowtap_block *block, const uint8_t *bytes, size_t available)
{
	uint64_t limit = flowtap_block_max_size(block->address, block->stop);
	struct flowtap_riscv_insn insn;
	uint64_t offset = 0;
	int status;

	block->instructions = 0;
	do {
		status = flowtap_riscv_classify(bytes + offset, available - offset, &insn);
		if (status)
			return status;
		block->last = offset;
		block->instructions++;
		offset += insn.length;
	} while (insn.transfer == FLOWTAP_TRANSFER_NONE && offset < limit);
	if (block->stop && offset > block->stop - block->address)
		return -EILSEQ;
	block->size = offset;
	block->end = insn.transfer;
	block->conditional = insn.conditional;
	block->direct = insn.direct;
	block->target = insn.direct ? block->address + block->last + (int64_t)insn.offset : 0;
	return 0;
}
