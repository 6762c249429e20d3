// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that instructions become the text that traces want, by each library that is there, and that
 * GNU objdump says the same of real code; whatever the bytes and the room, it is a text.
 *
 * FLOWTAP_SEED=N tries other random bytes.
 */
#include <flowtap/arm.h>
#include <flowtap/disasm.h>
#include <flowtap/riscv.h>

#include "support/kselftest_harness.h"
#include "support/random.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ADDRESS 0x210800

static const struct {
	enum flowtap_isa isa;
	uint32_t opcode;	/* T32 as in memory: the second halfword above the first */
	const char *llvm;
	const char *capstone;	/* NULL: the same */
	const char *none;
} lines[] = {
	{ FLOWTAP_ISA_A64, 0xd2800060, "MOV      x0, #0x3", NULL, ".inst 0xd2800060" },
	{ FLOWTAP_ISA_A64, 0x94000006, "BL       210818", NULL, ".inst 0x94000006" },
	{ FLOWTAP_ISA_A64, 0xa9bf7bfd, "STP      x29, x30, [sp, #-16]!", NULL, ".inst 0xa9bf7bfd" },
	{ FLOWTAP_ISA_A64, 0xb4000060, "CBZ      x0, 21080c", NULL, ".inst 0xb4000060" },
	{ FLOWTAP_ISA_A64, 0xd1000400, "SUB      x0, x0, #0x1", NULL, ".inst 0xd1000400" },
	{ FLOWTAP_ISA_A64, 0xa8c17bfd, "LDP      x29, x30, [sp], #16", NULL, ".inst 0xa8c17bfd" },
	{ FLOWTAP_ISA_A64, 0xd65f03c0, "RET", NULL, ".inst 0xd65f03c0" },
	{ FLOWTAP_ISA_A64, 0x10000080, "ADR      x0, 210810", NULL, ".inst 0x10000080" },
	{ FLOWTAP_ISA_A64, 0xb0000000, "ADRP     x0, 211000", NULL, ".inst 0xb0000000" },
	{ FLOWTAP_ISA_A64, 0x58000040, "LDR      x0, 210808", NULL, ".inst 0x58000040" },
	{ FLOWTAP_ISA_A64, 0x54ffffe1, "B.NE     2107fc", NULL, ".inst 0x54ffffe1" },
	{ FLOWTAP_ISA_A64, 0x36180040, "TBZ      w0, #3, 210808", NULL, ".inst 0x36180040" },
	{ FLOWTAP_ISA_A64, 0xd503201f, "NOP", NULL, ".inst 0xd503201f" },
	{ FLOWTAP_ISA_A64, 0x92800000, "MOV      x0, #0xffffffffffffffff", NULL, ".inst 0x92800000" },
	{ FLOWTAP_ISA_A64, 0xf2a24680, "MOVK     x0, #0x1234, lsl #16", NULL, ".inst 0xf2a24680" },
	{ FLOWTAP_ISA_A64, 0x53077c00, "LSR      w0, w0, #7", NULL, ".inst 0x53077c00" },
	{ FLOWTAP_ISA_A64, 0xffffffff, ".inst 0xffffffff", NULL, ".inst 0xffffffff" },
	{ FLOWTAP_ISA_A32, 0xeb000000, "BL       {pc}+8 ; 0x210808", NULL, ".inst 0xeb000000" },
	{ FLOWTAP_ISA_A32, 0xe12fff1e, "BX       lr", NULL, ".inst 0xe12fff1e" },
	{ FLOWTAP_ISA_A32, 0xe320f000, "NOP", NULL, ".inst 0xe320f000" },
	{ FLOWTAP_ISA_A32, 0xe59ff038, "LDR      pc, {pc}+0x40 ; 0x210840", NULL, ".inst 0xe59ff038" },
	{ FLOWTAP_ISA_A32, 0x1afffff0, "BNE      {pc}-0x38 ; 0x2107c8", NULL, ".inst 0x1afffff0" },
	{ FLOWTAP_ISA_A32, 0xe350001a, "CMP      r0, #0x1a", NULL, ".inst 0xe350001a" },
	{ FLOWTAP_ISA_T32, 0xf801f000, "BL       {pc}+6 ; 0x210806", NULL, ".inst 0xf000f801" },
	{ FLOWTAP_ISA_T32, 0x4770, "BX       lr", NULL, ".inst 0x4770" },
	{ FLOWTAP_ISA_T32, 0x4801, "LDR      r0, {pc}+8 ; 0x210808", NULL, ".inst 0x4801" },
	{ FLOWTAP_ISA_T32, 0xbd10, "POP      {r4, pc}", NULL, ".inst 0xbd10" },
	{ FLOWTAP_ISA_RV64, 0x450d, "li a0,3", "c.li a0,3", ".2byte 0x450d" },
	{ FLOWTAP_ISA_RV64, 0x006000ef, "jal 210806", NULL, ".4byte 0x6000ef" },
	{ FLOWTAP_ISA_RV64, 0x1141, "addi sp,sp,-16", "c.addi sp,-16", ".2byte 0x1141" },
	{ FLOWTAP_ISA_RV64, 0xe406, "sd ra,8(sp)", "c.sdsp ra,8(sp)", ".2byte 0xe406" },
	{ FLOWTAP_ISA_RV64, 0xc501, "beqz a0,210808", "c.beqz a0,210808", ".2byte 0xc501" },
	{ FLOWTAP_ISA_RV64, 0x8082, "ret", "c.jr ra", ".2byte 0x8082" },
	{ FLOWTAP_ISA_RV64, 0x00000517, "auipc a0,0x0", NULL, ".4byte 0x517" },
	{ FLOWTAP_ISA_RV64, 0x00b50463, "beq a0,a1,210808", NULL, ".4byte 0xb50463" },
	{ FLOWTAP_ISA_RV64, 0x20b52533, "sh1add a0,a0,a1", ".4byte 0x20b52533", ".4byte 0x20b52533" },
	{ FLOWTAP_ISA_RV64, 0x0d007057, "vsetvli zero,zero,e32,m1,ta,ma", ".4byte 0xd007057",
	  ".4byte 0xd007057" },
};

static size_t size_of(enum flowtap_isa isa, uint32_t opcode)
{
	if (isa == FLOWTAP_ISA_RV64)
		return (opcode & 3) == 3 ? 4 : 2;
	return isa != FLOWTAP_ISA_T32 || (opcode & 0xffff) >= 0xe800 ? 4 : 2;
}

static const char *text_of(struct flowtap_disasm *disasm, enum flowtap_isa isa, uint8_t it,
			   uint32_t opcode, char text[FLOWTAP_DISASM_CAPACITY])
{
	uint8_t bytes[4];

	memcpy(bytes, &opcode, 4);
	flowtap_disasm_text(disasm, isa, it, ADDRESS, bytes, size_of(isa, opcode), text,
			    FLOWTAP_DISASM_CAPACITY);
	return text;
}

/* NULL: that library is not there. */
static struct flowtap_disasm *open_backend(enum flowtap_disasm_backend backend,
					   enum flowtap_disasm_style style)
{
	const struct flowtap_disasm_options options = { .backend = backend, .style = style };
	struct flowtap_disasm *disasm = NULL;
	int status = flowtap_disasm_new(&options, &disasm);

	if (status && status != -ENOPKG)
		abort();
	return disasm;
}

static void check_lines(struct __test_metadata *_metadata, enum flowtap_disasm_backend backend)
{
	struct flowtap_disasm *disasm = open_backend(backend, FLOWTAP_DISASM_TARMAC);
	char text[FLOWTAP_DISASM_CAPACITY];

	if (!disasm)
		SKIP(return, "%s", flowtap_disasm_missing(backend));
	ksft_print_msg("%s\n", flowtap_disasm_version(disasm));
	EXPECT_EQ(backend, flowtap_disasm_backend(disasm));
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const char *want = backend == FLOWTAP_DISASM_NONE ? lines[i].none :
				   backend == FLOWTAP_DISASM_CAPSTONE && lines[i].capstone ?
				   lines[i].capstone : lines[i].llvm;

		EXPECT_STREQ(want, text_of(disasm, lines[i].isa, 0, lines[i].opcode, text));
	}
	/* Within an IT block, whatever came before; and after it. */
	if (backend != FLOWTAP_DISASM_NONE) {
		EXPECT_STREQ("IT       eq", text_of(disasm, FLOWTAP_ISA_T32, 0, 0xbf08, text));
		EXPECT_STREQ("MOVS     r0, #0x1", text_of(disasm, FLOWTAP_ISA_T32, 0, 0x2001, text));
		EXPECT_STREQ("MOVEQ    r0, #0x1",
			     text_of(disasm, FLOWTAP_ISA_T32, 0x08, 0x2001, text));
		EXPECT_STREQ("MOVNE    r0, #0x1",
			     text_of(disasm, FLOWTAP_ISA_T32, 0x18, 0x2001, text));
		EXPECT_STREQ("MOVS     r0, #0x1", text_of(disasm, FLOWTAP_ISA_T32, 0, 0x2001, text));
	}
	flowtap_disasm_free(disasm);
}

TEST(what_llvm_says)
{
	check_lines(_metadata, FLOWTAP_DISASM_LLVM);
}

TEST(what_capstone_says)
{
	check_lines(_metadata, FLOWTAP_DISASM_CAPSTONE);
}

TEST(without_a_library_there_are_opcodes)
{
	check_lines(_metadata, FLOWTAP_DISASM_NONE);
}

static const char *symbol(void *argument, uint64_t address, uint64_t *offset)
{
	*offset = address & 0xf;
	return address < 0x210900 ? argument : NULL;
}

TEST(symbols_are_named_where_branches_go)
{
	struct flowtap_disasm_options options = {
		.backend = FLOWTAP_DISASM_LLVM, .symbol = symbol, .argument = "main",
	};
	char text[FLOWTAP_DISASM_CAPACITY], name[600];
	struct flowtap_disasm *disasm;

	if (flowtap_disasm_new(&options, &disasm))
		SKIP(return, "%s", flowtap_disasm_missing(options.backend));
	EXPECT_STREQ("BL       210818 ; main+0x8",
		     text_of(disasm, FLOWTAP_ISA_A64, 0, 0x94000006, text));
	EXPECT_STREQ("BL       {pc}+0x10 ; 0x210810 main",
		     text_of(disasm, FLOWTAP_ISA_A32, 0, 0xeb000002, text));
	EXPECT_STREQ("jal 210806 <main+0x6>",
		     text_of(disasm, FLOWTAP_ISA_RV64, 0, 0x006000ef, text));
	EXPECT_STREQ("ADR      x0, 210810", text_of(disasm, FLOWTAP_ISA_A64, 0, 0x10000080, text));
	EXPECT_STREQ("B        220800", text_of(disasm, FLOWTAP_ISA_A64, 0, 0x14004000, text));
	flowtap_disasm_free(disasm);
	/* Names are whatever a file says. */
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memcpy(name, "a\nb\x80", 4);
	options.argument = name;
	options.style = FLOWTAP_DISASM_PLAIN;
	ASSERT_EQ(0, flowtap_disasm_new(&options, &disasm));
	text_of(disasm, FLOWTAP_ISA_A64, 0, 0x94000006, text);
	EXPECT_EQ(0, strncmp(text, "bl 210818 <a?b?xxx", 18));
	EXPECT_LT(strlen(text), 160);
	flowtap_disasm_free(disasm);
}

TEST(libraries_are_chosen_by_name)
{
	struct flowtap_disasm_options options = { 0 };
	struct flowtap_disasm *disasm;

	for (int b = 0; b < FLOWTAP_DISASM_BACKENDS; b++)
		EXPECT_EQ(b, flowtap_disasm_parse(flowtap_disasm_name(b)));
	EXPECT_EQ(-EINVAL, flowtap_disasm_parse("objdump"));
	EXPECT_EQ(NULL, flowtap_disasm_name(FLOWTAP_DISASM_BACKENDS));
	EXPECT_NE(NULL, strstr(flowtap_disasm_missing(FLOWTAP_DISASM_LLVM), "install libllvm"));
	EXPECT_NE(NULL, strstr(flowtap_disasm_missing(FLOWTAP_DISASM_CAPSTONE), "install libcapstone"));
	ASSERT_EQ(0, flowtap_disasm_new(&options, &disasm));
	EXPECT_NE(FLOWTAP_DISASM_AUTO, flowtap_disasm_backend(disasm));
	flowtap_disasm_free(disasm);
	flowtap_disasm_free(NULL);
	options.backend = FLOWTAP_DISASM_BACKENDS;
	EXPECT_EQ(-EINVAL, flowtap_disasm_new(&options, &disasm));
	options.backend = FLOWTAP_DISASM_NONE;
	options.style = FLOWTAP_DISASM_PLAIN + 1;
	EXPECT_EQ(-EINVAL, flowtap_disasm_new(&options, &disasm));
}

/* A capstone that says it is that old, and knows one instruction. */
static const char fake[] =
	"#include <stdlib.h>\n#include <string.h>\n"
	"unsigned int cs_version(int *a, int *b) { *a = MAJOR; *b = 0; return 0; }\n"
	"int cs_open(int a, int b, size_t *c) { *c = 1; return 0; }\n"
	"int cs_close(size_t *c) { return 0; }\n"
	"void cs_free(void *a, size_t n) { free(a); }\n"
	"size_t cs_disasm(size_t h, const void *c, size_t s, unsigned long a, size_t n, char **i) {\n"
	"*i = calloc(1, 248); memcpy(*i + 16, \"\\4\", 1); strcpy(*i + 42, \"nop\"); return 1; }\n";

/* The test itself, with that library in the way: whether it passes. */
static bool with_fake(const char *directory, int major)
{
	char command[1024], exe[256] = "";
	FILE *compiler;

	snprintf(command, sizeof(command),
		 "gcc -w -xc -DMAJOR=%d -shared -fPIC -o %s/libcapstone.so.5 - && "
		 "ln -sf libcapstone.so.5 %s/libcapstone.so.6 && "
		 "ln -sf libcapstone.so.5 %s/libcapstone.so", major, directory, directory, directory);
	compiler = popen(command, "w");
	if (!compiler || fwrite(fake, sizeof(fake) - 1, 1, compiler) != 1 || pclose(compiler) ||
	    readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return false;
	snprintf(command, sizeof(command),
		 "LD_LIBRARY_PATH=%s FLOWTAP_FAKE=%d %s -t capstone_4_is_refused >/dev/null 2>&1",
		 directory, major, exe);
	return system(command) == 0;
}

TEST(capstone_4_is_refused)
{
	char directory[] = "/tmp/flowtap-disasm-XXXXXX", command[64];
	const char *major = getenv("FLOWTAP_FAKE");
	struct flowtap_disasm *disasm;

	if (major) {
		disasm = open_backend(FLOWTAP_DISASM_CAPSTONE, FLOWTAP_DISASM_PLAIN);
		EXPECT_EQ(*major >= '5', disasm != NULL);
		if (disasm)
			EXPECT_STREQ("capstone 5.0", flowtap_disasm_version(disasm));
		flowtap_disasm_free(disasm);
		return;
	}
	if (system("gcc --version >/dev/null 2>&1") || !mkdtemp(directory))
		SKIP(return, "no gcc");
	EXPECT_TRUE(with_fake(directory, 4));
	EXPECT_TRUE(with_fake(directory, 5));
	snprintf(command, sizeof(command), "rm -r %s", directory);
	EXPECT_EQ(0, system(command));
}

/* --- Against objdump. --- */

struct counts {
	unsigned int lines, same, unknown, targets, wrong;
};

static bool is_direct(enum flowtap_isa isa, uint64_t address, const uint8_t *bytes)
{
	struct flowtap_riscv_insn riscv;
	struct flowtap_arm_insn arm;

	if (isa == FLOWTAP_ISA_RV64)
		return !flowtap_riscv_classify(bytes, 4, &riscv) && riscv.direct;
	return !flowtap_arm_classify(isa, address, 0, bytes, 4, &arm) && arm.direct &&
	       arm.kind <= FLOWTAP_ARM_CALL;
}

/* "   10:\tmnemonic\toperands" */
static bool take_line(struct flowtap_disasm *disasm, enum flowtap_isa isa, char *line,
		      struct counts *counts)
{
	char *opcode, *mnemonic, *operands, *save, text[FLOWTAP_DISASM_CAPACITY], *end;
	unsigned long long address, target = 0;
	uint32_t value;
	size_t size;

	address = strtoull(line, &end, 16);
	if (*end != ':' || !(opcode = strtok_r(end + 1, "\t", &save)))
		return false;
	mnemonic = strtok_r(NULL, "\t\n ", &save);
	operands = strtok_r(NULL, "\n", &save);
	value = (uint32_t)strtoul(opcode, &end, 16);
	size = (size_t)(end - opcode - strspn(opcode, " ")) / 2;
	if (!mnemonic || (size != 2 && size != 4) || *mnemonic == '.')
		return false;
	flowtap_disasm_text(disasm, isa, 0, address, (uint8_t *)&value, size, text, sizeof(text));
	counts->lines++;
	if (*text == '.') {
		counts->unknown++;
		return true;
	}
	size = strcspn(text, " ");
	counts->same += size == strlen(mnemonic) && !memcmp(text, mnemonic, size);
	if (!operands || !is_direct(isa, address, (uint8_t *)&value))
		return true;
	/* `b.eq 0x4003d0  // b.none`, `beqz a0,0x14` */
	for (end = operands; (operands = strstr(end, "0x")); end = operands + 2)
		target = strtoull(operands, NULL, 16);
	end = text + strlen(text);
	while (end > text && isxdigit((unsigned char)end[-1]))
		end--;
	if (strtoull(end, NULL, 16) != target && counts->wrong++ < 10)
		ksft_print_msg("%llx: %s %llx: %s\n", address, mnemonic, target, text);
	counts->targets++;
	return true;
}

static void against_objdump(struct __test_metadata *_metadata, enum flowtap_isa isa,
			    const char *arch)
{
	struct flowtap_disasm *disasm = open_backend(FLOWTAP_DISASM_LLVM, FLOWTAP_DISASM_PLAIN);
	struct counts counts = { 0 };
	char command[256], line[1024];
	FILE *pipe;

	if (!disasm)
		SKIP(return, "%s", flowtap_disasm_missing(FLOWTAP_DISASM_LLVM));
	snprintf(command, sizeof(command),
		 "%s-linux-gnu-objdump -d -j .text /opt/flowtap/%s/usr/bin/busybox 2>/dev/null | "
		 "head -n 60000", isa == FLOWTAP_ISA_A64 ? "aarch64" : "riscv64", arch);
	pipe = popen(command, "r");
	while (pipe && fgets(line, sizeof(line), pipe))
		take_line(disasm, isa, line, &counts);
	if (pipe)
		pclose(pipe);
	flowtap_disasm_free(disasm);
	if (!counts.lines)
		SKIP(return, "no objdump or no busybox of %s", arch);
	ksft_print_msg("%u instructions, %u of the same name, %u not known, %u targets\n",
		       counts.lines, counts.same, counts.unknown, counts.targets);
	EXPECT_GT(counts.lines, 10000);
	EXPECT_EQ(0, counts.wrong);
	EXPECT_GT(counts.targets, counts.lines / 20);
	EXPECT_EQ(0, counts.unknown);
	/* Aliases differ. */
	EXPECT_GT(counts.same, counts.lines / 100 * 97);
}

TEST(objdump_says_the_same_of_a64)
{
	against_objdump(_metadata, FLOWTAP_ISA_A64, "arm64");
}

TEST(objdump_says_the_same_of_rv64)
{
	against_objdump(_metadata, FLOWTAP_ISA_RV64, "riscv64");
}

/* --- Any bytes. --- */

static uint64_t state;

static uint32_t next_random(void)
{
	return random_u32(&state);
}

TEST(any_bytes_in_any_room_are_a_text)
{
	const char *seed = getenv("FLOWTAP_SEED");
	unsigned int known[FLOWTAP_DISASM_BACKENDS] = { 0 };

	state = seed ? strtoull(seed, NULL, 0) | 1 : 0x9e3779b97f4a7c15;
	ksft_print_msg("FLOWTAP_SEED=%#llx\n", (unsigned long long)state);
	for (int b = FLOWTAP_DISASM_LLVM; b < FLOWTAP_DISASM_BACKENDS; b++) {
		struct flowtap_disasm *disasm = open_backend(b, b & 1 ? FLOWTAP_DISASM_TARMAC :
							     FLOWTAP_DISASM_PLAIN);

		for (int i = 0; i < 40000 && disasm; i++) {
			enum flowtap_isa isa = next_random() % 4;
			uint32_t value = next_random();
			size_t size = i % 16 ? size_of(isa, value) : next_random() % 30;
			size_t capacity = i % 4 ? FLOWTAP_DISASM_CAPACITY : 1 + next_random() % 40;
			size_t length;
			/* Of exactly their size: a byte beyond is found. */
			uint8_t *bytes = calloc(1, size ? size : 1);
			char *text = malloc(capacity);

			for (size_t k = 0; k < size; k++)
				bytes[k] = (uint8_t)(k < 4 ? value >> 8 * k : next_random());
			length = flowtap_disasm_text(disasm, isa, (uint8_t)next_random(),
						     (uint64_t)next_random() << 32 | next_random(),
						     bytes, size, text, capacity);
			ASSERT_LT(length, capacity);
			ASSERT_EQ(length, strlen(text));
			ASSERT_TRUE(length || capacity == 1);
			ASSERT_TRUE(!length || isalnum((unsigned char)*text) || *text == '.' ||
				    *text == '<');
			for (size_t k = 0; k < length; k++)
				ASSERT_TRUE(isprint((unsigned char)text[k]));
			known[b] += *text != '.';
			free(bytes);
			free(text);
		}
		if (disasm)
			EXPECT_TRUE(b == FLOWTAP_DISASM_NONE ? known[b] < 40000 / 8 :
				    known[b] > 10000);
		flowtap_disasm_free(disasm);
	}
	ksft_print_msg("of 40000 LLVM knew %u, capstone %u\n", known[FLOWTAP_DISASM_LLVM],
		       known[FLOWTAP_DISASM_CAPSTONE]);
}

TEST_HARNESS_MAIN
