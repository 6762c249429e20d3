// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that instruction lengths, transfer classes and direct targets are right: line by line of
 * Smctr table 10, and against GNU objdump for every 16-bit encoding and a sample of 32-bit ones.
 */
#include <errno.h>
#include <flowtap/block.h>
#include <flowtap/riscv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/kselftest_harness.h"
#include "support/random.h"
#include "support/seed.h"
#include "support/rv64.h"

#define OBJDUMP "riscv64-linux-gnu-objdump"

#define EXC	FLOWTAP_TRANSFER_EXCEPTION
#define XRET	FLOWTAP_TRANSFER_TRAP_RETURN
#define TAKEN	FLOWTAP_TRANSFER_TAKEN
#define ICALL	FLOWTAP_TRANSFER_INDIRECT_CALL
#define DCALL	FLOWTAP_TRANSFER_DIRECT_CALL
#define IJUMP	FLOWTAP_TRANSFER_INDIRECT_JUMP
#define DJUMP	FLOWTAP_TRANSFER_DIRECT_JUMP
#define SWAP	FLOWTAP_TRANSFER_SWAP
#define RET	FLOWTAP_TRANSFER_RETURN
#define ILINK	FLOWTAP_TRANSFER_INDIRECT_LINK
#define DLINK	FLOWTAP_TRANSFER_DIRECT_LINK
#define NONE	FLOWTAP_TRANSFER_NONE

static int classify(uint32_t insn, struct flowtap_riscv_insn *out)
{
	uint8_t bytes[4] = { insn, insn >> 8, insn >> 16, insn >> 24 };

	return flowtap_riscv_classify(bytes, sizeof(bytes), out);
}

TEST(each_line_of_table_10_has_its_type)
{
	const struct {
		uint32_t insn;
		unsigned int length, transfer;
		int32_t offset;		/* 0: indirect */
		int cause;
	} lines[] = {
		/* Indirect call */
		{ rv_jalr(1, 10, 0), 4, ICALL, 0, -1 },
		{ rv_jalr(1, 1, 8), 4, ICALL, 0, -1 },
		{ rv_jalr(1, 0, 8), 4, ICALL, 0, -1 },
		{ rv_jalr(5, 10, 0), 4, ICALL, 0, -1 },
		{ rv_jalr(5, 5, -4), 4, ICALL, 0, -1 },
		{ rv_c_jalr(10), 2, ICALL, 0, -1 },
		{ rv_c_jalr(1), 2, ICALL, 0, -1 },
		/* Direct call */
		{ rv_jal(1, 2), 4, DCALL, 2, -1 },
		{ rv_jal(5, -0x100000), 4, DCALL, -0x100000, -1 },
		/* Indirect jump: C.JR where rs1 is not x1 or x5, against the slip in the text */
		{ rv_jalr(0, 10, 0), 4, IJUMP, 0, -1 },
		{ rv_jalr(0, 0, 0), 4, IJUMP, 0, -1 },
		{ rv_c_jr(6), 2, IJUMP, 0, -1 },
		{ rv_c_jr(31), 2, IJUMP, 0, -1 },
		/* Direct jump */
		{ rv_jal(0, 0xffffe), 4, DJUMP, 0xffffe, -1 },
		{ rv_jal(0, -2), 4, DJUMP, -2, -1 },
		{ rv_c_j(2046), 2, DJUMP, 2046, -1 },
		{ rv_c_j(-2048), 2, DJUMP, -2048, -1 },
		/* Co-routine swap */
		{ rv_jalr(1, 5, 0), 4, SWAP, 0, -1 },
		{ rv_jalr(5, 1, 0), 4, SWAP, 0, -1 },
		{ rv_c_jalr(5), 2, SWAP, 0, -1 },
		/* Function return */
		{ rv_jalr(0, 1, 0), 4, RET, 0, -1 },
		{ rv_jalr(0, 5, 0), 4, RET, 0, -1 },
		{ rv_jalr(7, 1, 0), 4, RET, 0, -1 },
		{ rv_jalr(31, 5, 0), 4, RET, 0, -1 },
		{ rv_c_jr(1), 2, RET, 0, -1 },
		{ rv_c_jr(5), 2, RET, 0, -1 },
		/* Other jumps with linkage */
		{ rv_jalr(2, 10, 0), 4, ILINK, 0, -1 },
		{ rv_jalr(31, 6, 0), 4, ILINK, 0, -1 },
		{ rv_jal(2, 4), 4, DLINK, 4, -1 },
		{ rv_jal(6, -4), 4, DLINK, -4, -1 },
		/* Branches */
		{ rv_b(RV_BEQ, 1, 5, -4096), 4, TAKEN, -4096, -1 },
		{ rv_b(RV_BGEU, 10, 0, 4094), 4, TAKEN, 4094, -1 },
		{ rv_c_b(0, 8, -256), 2, TAKEN, -256, -1 },
		{ rv_c_b(1, 15, 254), 2, TAKEN, 254, -1 },
		/* Traps by instruction */
		{ RV_ECALL, 4, EXC, 0, 8 },
		{ RV_EBREAK, 4, EXC, 0, 3 },
		{ RV_C_EBREAK, 2, EXC, 0, 3 },
		{ RV_SRET, 4, XRET, 0, -1 },
		{ RV_MRET, 4, XRET, 0, -1 },
		/* No transfer */
		{ RV_NOP, 4, NONE, 0, -1 },
		{ RV_C_NOP, 2, NONE, 0, -1 },
		{ rv_c_mv(1, 5), 2, NONE, 0, -1 },
		{ rv_c_add(5, 1), 2, NONE, 0, -1 },
		{ 0x10500073, 4, NONE, 0, -1 },			/* wfi */
		{ 0x12000073, 4, NONE, 0, -1 },			/* sfence.vma */
		{ 0x0000100f, 4, NONE, 0, -1 },			/* fence.i */
		{ 0xc00020f3, 4, NONE, 0, -1 },			/* rdcycle ra */
		{ 0xc0007073, 4, NONE, 0, -1 },			/* csrrci x0, cycle, 0 */
		{ 0x34001073, 4, NONE, 0, -1 },			/* csrrw x0, mscratch, x0 */
	};
	struct flowtap_riscv_insn insn;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		ASSERT_EQ(classify(lines[i].insn, &insn), 0)
			TH_LOG("insn %#x", lines[i].insn);
		EXPECT_EQ(insn.length, lines[i].length);
		EXPECT_EQ(insn.transfer, lines[i].transfer)
			TH_LOG("insn %#x", lines[i].insn);
		EXPECT_EQ(insn.conditional, lines[i].transfer == TAKEN);
		EXPECT_EQ(insn.direct, lines[i].offset != 0);
		EXPECT_EQ(insn.offset, lines[i].offset);
		EXPECT_EQ(insn.cause, lines[i].cause);
	}
}

TEST(what_may_be_a_branch_of_someone_else_has_no_class)
{
	static const uint32_t unknown[] = {
		0x00000000,	/* the illegal instruction */
		0x0000000b, 0x0000002b, 0x0000005b, 0x0000007b,	/* custom-0 to custom-3 */
		0x0000006b,	/* a reserved major opcode */
		0x00002063, 0x00003063,	/* BRANCH, funct3 2 and 3 */
		0x00001067,	/* JALR, funct3 1 */
		0x0000001f, 0x0000003f, 0x0000007f,	/* longer than 32 bits */
		0x8c000073,	/* SYSTEM left to vendors */
		0xc0001073,	/* unimp: csrrw x0, cycle, x0 */
		0xc000a0f3,	/* csrrs ra, cycle, ra */
		0xfff0d073,	/* csrrwi x0, 0xfff, 1 */
		0x8002,		/* c.jr x0 */
		0x2001,		/* c.addiw x0, where RV32 has c.jal */
		0x6101 & ~0x7c,	/* c.addi16sp 0 */
		0x8000 | 7 << 10,	/* quadrant 0, funct3 100, above Zcb */
	};
	struct flowtap_riscv_insn insn;

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		EXPECT_EQ(classify(unknown[i], &insn), -EILSEQ)
			TH_LOG("insn %#x", unknown[i]);
	}
}

TEST(nothing_is_read_beyond_what_is_there)
{
	uint8_t *bytes = malloc(3);
	struct flowtap_riscv_insn insn;

	bytes[0] = 0x13;
	bytes[1] = bytes[2] = 0;
	EXPECT_EQ(flowtap_riscv_classify(bytes, 0, &insn), -ENODATA);
	EXPECT_EQ(flowtap_riscv_classify(bytes, 1, &insn), -ENODATA);
	EXPECT_EQ(flowtap_riscv_classify(bytes, 2, &insn), -ENODATA);
	EXPECT_EQ(flowtap_riscv_classify(bytes, 3, &insn), -ENODATA);
	bytes[0] = 1;
	EXPECT_EQ(flowtap_riscv_classify(bytes, 2, &insn), 0);
	bytes = realloc(bytes, 1);
	EXPECT_EQ(flowtap_riscv_classify(bytes, 1, &insn), -ENODATA);
	free(bytes);
}

TEST(every_type_has_a_name)
{
	EXPECT_STREQ(flowtap_transfer_name(0), "unknown");
	EXPECT_STREQ(flowtap_transfer_name(6), "reserved");
	EXPECT_STREQ(flowtap_transfer_name(7), "reserved");
	EXPECT_STREQ(flowtap_transfer_name(9), "direct_call");
	EXPECT_STREQ(flowtap_transfer_name(13), "function_return");
	EXPECT_STREQ(flowtap_transfer_name(16), "ctr_write");
	EXPECT_STREQ(flowtap_transfer_name(17), "reserved");
	EXPECT_STREQ(flowtap_transfer_name(~0U), "reserved");
}

TEST(writes_to_sctrctl_and_sctrstatus_end_a_block_and_reads_do_not)
{
	static const struct {
		uint32_t csr, rs1, funct3;
		bool ends;
	} insns[] = {
		{ 0x14e, 0, 1, true }, { 0x14e, 8, 1, true }, { 0x14e, 0, 5, true },
		{ 0x14e, 8, 2, true }, { 0x14e, 8, 3, true }, { 0x14e, 8, 6, true },
		{ 0x14e, 8, 7, true }, { 0x14e, 0, 2, false }, { 0x14e, 0, 3, false },
		{ 0x14e, 0, 6, false }, { 0x14e, 0, 7, false }, { 0x14e, 8, 4, false },
		{ 0x14f, 0, 1, true }, { 0x14f, 8, 2, true }, { 0x14f, 0, 2, false },
		{ 0x14d, 8, 1, false }, { 0x150, 8, 1, false }, { 0x15f, 8, 1, false },
		{ 0x34e, 8, 1, false }, { 0x100, 8, 2, false },
	};
	struct flowtap_block block = { .address = 0x1000 };
	struct flowtap_riscv_insn insn;
	uint8_t bytes[16];
	struct rv_code code = { .bytes = bytes, .capacity = sizeof(bytes) };

	for (size_t i = 0; i < ARRAY_SIZE(insns); i++) {
		EXPECT_EQ(classify(insns[i].csr << 20 | insns[i].rs1 << 15 |
				   insns[i].funct3 << 12 | 5 << 7 | 0x73, &insn), 0);
		EXPECT_EQ(insn.transfer, insns[i].ends ? FLOWTAP_TRANSFER_RECORDING : NONE)
			TH_LOG("%#x %u %u", insns[i].csr, insns[i].rs1, insns[i].funct3);
		EXPECT_FALSE(insn.conditional || insn.direct);
	}
	rv_put(&code, RV_C_NOP);
	rv_put(&code, 0x14e51073);		/* csrw sctrctl, a0 */
	rv_put(&code, 0x8082);
	ASSERT_EQ(flowtap_riscv_block(&block, bytes, code.size), 0);
	EXPECT_EQ(block.end, FLOWTAP_TRANSFER_RECORDING);
	EXPECT_EQ(block.size, 6U);
	EXPECT_EQ(block.last, 2U);
}

/* What objdump says of one instruction. */
struct judged {
	uint64_t address;
	uint32_t insn;
	unsigned int length;
	bool known;
	unsigned int transfer;
	bool direct;
	uint64_t target;
};

/* x number of the n-th operand that is a register, -1 if it is none. */
static int operand(const char *text, int n)
{
	for (; n; n--) {
		text = strchr(text, ',');
		if (!text)
			return -1;
		text++;
	}
	return *text == 'x' ? atoi(text + 1) : -1;
}

static unsigned int jalr_type(int rd, int rs)
{
	bool rd_link = rd == 1 || rd == 5, rs_link = rs == 1 || rs == 5;

	if (rd_link && rs_link && rd != rs)
		return SWAP;
	if (rd_link)
		return ICALL;
	if (rs_link)
		return RET;
	return rd ? ILINK : IJUMP;
}

/* The last operand, an address. */
static void set_target(struct judged *judged, const char *operands)
{
	const char *last = strrchr(operands, ',');

	judged->direct = true;
	judged->target = strtoull(last ? last + 1 : operands, NULL, 16);
}

static void judge(struct judged *judged, const char *mnemonic, const char *operands)
{
	static const char *const branches[] = {
		"beq", "bne", "blt", "bge", "bltu", "bgeu", "c.beqz", "c.bnez",
	};
	static const char *const returns[] = { "sret", "mret", "mnret", "uret", "dret" };

	judged->known = mnemonic[0] != '.' && strcmp(mnemonic, "c.unimp");
	for (size_t i = 0; i < ARRAY_SIZE(branches); i++) {
		if (!strcmp(mnemonic, branches[i])) {
			judged->transfer = TAKEN;
			set_target(judged, operands);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(returns); i++)
		if (!strcmp(mnemonic, returns[i]))
			judged->transfer = XRET;
	if (!strcmp(mnemonic, "ecall") || !strcmp(mnemonic, "ebreak") ||
	    !strcmp(mnemonic, "c.ebreak"))
		judged->transfer = EXC;
	if (!strcmp(mnemonic, "jal") || !strcmp(mnemonic, "c.j")) {
		int rd = mnemonic[0] == 'c' ? 0 : operand(operands, 0);

		judged->transfer = rd == 1 || rd == 5 ? DCALL : rd ? DLINK : DJUMP;
		set_target(judged, operands);
	}
	if (!strcmp(mnemonic, "jalr")) {
		const char *base = strchr(operands, '(');

		judged->transfer = jalr_type(operand(operands, 0),
					     base ? operand(base + 1, 0) : operand(operands, 1));
	}
	if (!strcmp(mnemonic, "c.jr"))
		judged->transfer = jalr_type(0, operand(operands, 0));
	if (!strcmp(mnemonic, "c.jalr"))
		judged->transfer = jalr_type(1, operand(operands, 0));
}

/* Of an opcode: groups of hexadecimal digits up to a tab. */
static unsigned int bytes_of(const char *opcode)
{
	unsigned int digits = 0;

	for (; *opcode && *opcode != '\t'; opcode++)
		digits += *opcode != ' ';
	return digits / 2;
}

/* One line: "  address:<tab>opcode<spaces><tab>mnemonic<tab>operands" */
static bool parse(char *line, struct judged *judged)
{
	char *opcode = strchr(line, '\t'), *mnemonic, *operands;

	memset(judged, 0, sizeof(*judged));
	if (!opcode || opcode == line || opcode[-1] != ':')
		return false;
	judged->address = strtoull(line, NULL, 16);
	judged->length = bytes_of(++opcode);
	judged->insn = strtoul(opcode, NULL, 16);
	mnemonic = strchr(opcode, '\t');
	if (!mnemonic)
		return false;
	line[strcspn(line, "#\n")] = '\0';
	operands = strchr(++mnemonic, '\t');
	if (operands)
		*operands++ = '\0';
	judge(judged, mnemonic, operands ? operands : "");
	return true;
}

static FILE *disassemble(const uint8_t *bytes, size_t size, char *path)
{
	char command[256];
	int fd;

	strcpy(path, "/tmp/flowtap-riscv-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return NULL;
	if (write(fd, bytes, size) != (ssize_t)size) {
		close(fd);
		return NULL;
	}
	close(fd);
	snprintf(command, sizeof(command),
		 OBJDUMP " -D -z -b binary -m riscv:rv64 -M no-aliases,numeric %s", path);
	return popen(command, "r");
}

static bool have_objdump(void)
{
	return system(OBJDUMP " --version >/dev/null 2>&1") == 0;
}

/* Ratified extensions that objdump does not disassemble without being told: none transfers. */
static bool extension(uint32_t insn)
{
	uint32_t half = insn & 0xffff, rd = half >> 7 & 31;

	if ((half & 3) == 3)
		return false;
	if ((half & 0xe003) == 0x8000)			/* c.lbu, c.lhu, c.lh, c.sb, c.sh */
		return (half >> 10 & 7) < 3 || (half & 0x1c40) == 0x0c00;
	if ((half & 0xfc63) == 0x9c41)			/* c.mul */
		return true;
	if ((half & 0xfc63) == 0x9c61)			/* c.zext.b ... c.not */
		return (half >> 2 & 7) <= 5;
	return (half & 0xf07f) == 0x6001 && rd < 16 && rd & 1;	/* c.mop.1 ... c.mop.15 */
}

/* What is no claim of ours to know, so that unknown to objdump must be unknown to us. */
static bool must_be_unknown(uint32_t insn)
{
	static const uint8_t majors[] = { 2, 10, 22, 30, 26, 24, 25, 27 };

	if ((insn & 3) != 3)
		return !extension(insn);
	for (size_t i = 0; i < ARRAY_SIZE(majors); i++)
		if ((insn >> 2 & 31) == majors[i])
			return true;
	return false;
}

/* Known to objdump, but no longer or never in RV64GC: whoever meets them must not go on. */
static bool withdrawn(uint32_t insn)
{
	return insn == 0x6101 ||			/* c.addi16sp 0: reserved */
	       insn == 0x00200073 || insn == 0x20200073 ||	/* uret, hret */
	       insn == 0x7b200073 ||			/* dret: debug mode */
	       ((insn & 0xfff07fff) == 0x10400073 && insn != 0x10400073);	/* sfence.vm rs1 */
}

/* Never completes: a write to a CSR that is read-only. */
static bool writes_read_only(uint32_t insn)
{
	return (insn & 0x7f) == 0x73 && insn >> 30 == 3 && insn & 0x3000 &&
	       ((insn & 0x3000) == 0x1000 || insn & 0xf8000);
}

/* Compares and returns whether they agree. */
static bool agree(const struct judged *judged)
{
	struct flowtap_riscv_insn insn;
	int status = classify(judged->insn, &insn);

	if (judged->insn == 0x70200073)		/* mnret: older ones do not know it */
		return !status && insn.transfer == XRET;
	if (withdrawn(judged->insn) || writes_read_only(judged->insn))
		return status == -EILSEQ;
	if (!judged->known) {
		if (must_be_unknown(judged->insn))
			return status == -EILSEQ;
		return status == -EILSEQ || insn.transfer == NONE;
	}
	return !status && insn.length == judged->length && insn.transfer == judged->transfer &&
	       insn.conditional == (judged->transfer == TAKEN) && insn.direct == judged->direct &&
	       (!insn.direct || judged->address + (int64_t)insn.offset == judged->target);
}

struct outcome {
	size_t compared, known, transfers, wrong;
};

static struct outcome compare(const uint8_t *bytes, size_t size)
{
	struct outcome outcome = { 0 };
	struct judged judged;
	char path[64], line[512];
	FILE *lines = disassemble(bytes, size, path);

	while (lines && fgets(line, sizeof(line), lines)) {
		if (!parse(line, &judged))
			continue;
		outcome.compared++;
		outcome.known += judged.known;
		outcome.transfers += judged.transfer != NONE;
		if (!agree(&judged) && outcome.wrong++ < 10)
			ksft_print_msg("%#x at %#llx differs\n", judged.insn,
				       (unsigned long long)judged.address);
	}
	if (!lines || pclose(lines))
		outcome.wrong++;
	unlink(path);
	return outcome;
}

TEST(all_16_bit_encodings_are_what_objdump_says)
{
	static uint8_t bytes[2 * 0x10000];
	struct rv_code code = { .bytes = bytes, .capacity = sizeof(bytes) };
	struct outcome outcome;

	if (!have_objdump())
		SKIP(return, "no " OBJDUMP);
	for (uint32_t half = 0; half < 0x10000; half++)
		if ((half & 3) != 3)
			rv_put(&code, half);
	outcome = compare(bytes, code.size);
	EXPECT_EQ(outcome.compared, 3 * 0x4000);
	EXPECT_EQ(outcome.wrong, 0);
	/* c.j, c.beqz, c.bnez, c.jr, c.jalr, c.ebreak */
	EXPECT_EQ(outcome.transfers, 3 * 2048 + 2 * 31 + 1);
}

TEST(what_objdump_does_not_know_is_known_only_where_an_extension_has_it)
{
	struct flowtap_riscv_insn insn;
	size_t extensions = 0;

	for (uint32_t half = 0; half < 0x10000; half++) {
		if ((half & 3) == 3 || !extension(half))
			continue;
		extensions++;
		EXPECT_EQ(classify(half, &insn), 0)
			TH_LOG("%#x", half);
		EXPECT_EQ(insn.transfer, NONE);
	}
	EXPECT_EQ(extensions, 3 * 256 + 128 + 64 + 6 * 8 + 8);
}

static uint32_t next_random(void)
{
	static uint64_t state;

	state = state ? state : seeded(0x9e3779b97f4a7c15);
	return random_u32(&state);
}

/* All major opcodes, funct3, link registers and others, immediates at the edges and at random. */
static void put_structured(struct rv_code *code)
{
	static const uint8_t regs[] = { 0, 1, 2, 5, 6, 31 };
	static const uint16_t tops[] = {
		0, 1, 2, 0x00d, 0x102, 0x104, 0x105, 0x120, 0x302, 0x702, 0x7b2, 0x800, 0x8c0,
		0xc00, 0xfff, 0x555, 0xaaa,
	};

	for (uint32_t major = 0; major < 32; major++) {
		if ((major & 7) == 7)
			continue;
		for (uint32_t n = 0; n < 8 * ARRAY_SIZE(regs) * ARRAY_SIZE(regs); n++)
			for (size_t t = 0; t < ARRAY_SIZE(tops); t++)
				rv_put(code, (uint32_t)tops[t] << 20 |
					     regs[n / 8 % ARRAY_SIZE(regs)] << 15 | n % 8 << 12 |
					     regs[n / 8 / ARRAY_SIZE(regs)] << 7 | major << 2 | 3);
	}
	for (uint32_t funct12 = 0; funct12 < 4096; funct12++)
		rv_put(code, funct12 << 20 | 0x73);
	for (uint32_t n = 0; n < 60000; n++) {
		static const uint8_t direct[] = { 0x63, 0x6f, 0x67 };

		rv_put(code, (next_random() & ~0x7fU) | direct[n % 3]);
	}
}

TEST(a_sample_of_32_bit_encodings_is_what_objdump_says)
{
	size_t capacity = 1 << 20;
	struct rv_code code = { .bytes = malloc(capacity), .capacity = capacity };
	struct outcome outcome;

	if (!have_objdump())
		SKIP(return, "no " OBJDUMP);
	put_structured(&code);
	ASSERT_LT(code.size, capacity);
	outcome = compare(code.bytes, code.size);
	EXPECT_EQ(outcome.compared, code.size / 4);
	EXPECT_EQ(outcome.wrong, 0);
	EXPECT_GT(outcome.transfers, 40000);
	EXPECT_GT(outcome.known, 60000);
	free(code.bytes);
}

TEST(longer_encodings_are_as_long_for_objdump_and_unknown)
{
	/* 48, 64 and more bits; zeros follow, so that each stands alone. */
	static const uint16_t heads[] = { 0x001f, 0x005f, 0x003f, 0xffdf, 0x007f };
	uint8_t bytes[ARRAY_SIZE(heads) * 24] = { 0 };
	struct flowtap_riscv_insn insn;
	char path[64], line[512];
	struct judged judged;
	size_t longer = 0;
	FILE *lines;

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		bytes[24 * i] = heads[i];
		bytes[24 * i + 1] = heads[i] >> 8;
		EXPECT_EQ(flowtap_riscv_classify(bytes + 24 * i, 24, &insn), -EILSEQ);
	}
	if (!have_objdump())
		SKIP(return, "no " OBJDUMP);
	lines = disassemble(bytes, sizeof(bytes), path);
	while (lines && fgets(line, sizeof(line), lines))
		longer += parse(line, &judged) && judged.address % 24 == 0 && judged.length != 2 &&
			  judged.length != 4;
	EXPECT_EQ(longer, ARRAY_SIZE(heads));
	if (lines)
		pclose(lines);
	unlink(path);
}

TEST_HARNESS_MAIN
