// SPDX-License-Identifier: GPL-2.0-only
/* Shows that the STF checker reads traces of others and by hand, and finds each rule broken. */
#include "checked.h"
#include "stfcheck/sample.h"
#include "stfcheck/stfcheck.h"
#include "support/hex.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "support/kselftest_harness.h"

#define CORPUS "../shared/corpus/stf/"

static void put_words(uint8_t *to, const uint64_t *words, size_t n)
{
	memcpy(to, words, n * sizeof(*words));
}

static bool there(const char *path)
{
	return !access(path, R_OK);
}

/* minimal20.layout.txt in numbers. */
struct layout {
	struct {
		unsigned long offset;
		unsigned int size;
		char name[32];
	} records[64];
	struct {
		unsigned long pc;
		unsigned int opcode;
	} insns[32];
	unsigned int n_records, n_insns, read_records, read_insns, wrong;
};

static void read_layout(struct layout *layout, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[256], *at;
	unsigned int n;

	memset(layout, 0, sizeof(*layout));
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx +%u", &layout->records[layout->n_records].offset,
			   &layout->records[layout->n_records].size) == 2)
			continue;
		sscanf(line, " STF_%31s", layout->records[layout->n_records++].name);
		at = strchr(line, '@');
		if (at && strchr(line, '#')) {
			sscanf(at, "@%lx", &layout->insns[layout->n_insns].pc);
			sscanf(line, " STF_INST_%u %x", &n,
			       &layout->insns[layout->n_insns++].opcode);
		}
	}
	if (file)
		fclose(file);
}

static void compare_record(void *argument, uint64_t offset, uint8_t descriptor,
			   const uint8_t *payload, size_t size)
{
	struct layout *layout = argument;
	unsigned int n = layout->read_records++;

	(void)payload;
	if (n >= layout->n_records || layout->records[n].offset != offset ||
	    layout->records[n].size != size + 1 ||
	    strcmp(layout->records[n].name, stfcheck_name(descriptor)))
		layout->wrong++;
}

static int compare_insn(void *argument, const struct stfcheck_insn *insn)
{
	struct layout *layout = argument;
	unsigned int n = layout->read_insns++;

	if (n >= layout->n_insns || layout->insns[n].pc != insn->pc ||
	    layout->insns[n].opcode != insn->opcode)
		layout->wrong++;
	return 0;
}

TEST(reads_minimal20_as_its_layout_says)
{
	static struct layout layout;
	struct stfcheck check = { .insn = compare_insn, .record = compare_record,
				  .argument = &layout };
	uint8_t *bytes;
	size_t size;

	if (!there(CORPUS "minimal20.stf"))
		SKIP(return, CORPUS " is not there");
	read_layout(&layout, CORPUS "minimal20.layout.txt");
	ASSERT_EQ(20, layout.n_insns);
	ASSERT_EQ(0, stfcheck_load(CORPUS "minimal20.stf", &bytes, &size));
	EXPECT_EQ(0, stfcheck_run(&check, bytes, size));
	EXPECT_STREQ("", check.reason);
	EXPECT_EQ(size, check.offset);
	EXPECT_EQ(layout.n_records, layout.read_records);
	EXPECT_EQ(20, layout.read_insns);
	EXPECT_EQ(0, layout.wrong);
	EXPECT_EQ(20, check.counts.instructions);
	EXPECT_EQ(12, check.counts.modes[0]);
	EXPECT_EQ(8, check.counts.modes[1]);
	EXPECT_EQ(4, check.counts.taken);
	EXPECT_EQ(1, check.counts.not_taken);
	EXPECT_EQ(1, check.counts.interrupts);
	EXPECT_EQ(0, check.counts.traps);
	EXPECT_EQ(4, check.counts.mode_changes);
	EXPECT_EQ(0, check.counts.forced);
	free(bytes);
}

TEST(reads_a_bare_metal_trace_of_another_tool)
{
	struct stfcheck check = { 0 };
	uint8_t *bytes;
	size_t size;

	if (!there(CORPUS "bmi_pmp.bare.stf"))
		SKIP(return, CORPUS " is not there");
	ASSERT_EQ(0, stfcheck_load(CORPUS "bmi_pmp.bare.stf", &bytes, &size));
	EXPECT_EQ(0, stfcheck_run(&check, bytes, size));
	EXPECT_STREQ("", check.reason);
	EXPECT_EQ(size, check.offset);
	EXPECT_EQ(36, check.counts.instructions);
	EXPECT_EQ(36, check.counts.records[0x3c]);
	EXPECT_EQ(2, check.counts.taken);
	free(bytes);
}

/* FNV-1a over what was executed. */
static int add_insn(void *argument, const struct stfcheck_insn *insn)
{
	uint64_t *hash = argument;

	*hash = (*hash ^ insn->pc) * 0x100000001b3;
	*hash = (*hash ^ insn->opcode) * 0x100000001b3;
	return 0;
}

/* The same program was traced twice, with and without its memory accesses. */
TEST(reads_the_same_instructions_in_two_compressed_traces_of_one_program)
{
	static const char *const paths[] = { CORPUS "dhrystone.zstf",
					     CORPUS "dhrystone_opt1.zstf" };
	uint64_t hash[2] = { 0 };

	if (!there(paths[0]))
		SKIP(return, CORPUS " is not there");
	for (int i = 0; i < 2; i++) {
		struct stfcheck check = { .insn = add_insn, .argument = &hash[i] };
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		struct stfcheck_file file;

		ASSERT_EQ(0, stfcheck_open(fd, &file));
		close(fd);
		EXPECT_EQ(3, file.chunks);
		EXPECT_EQ(100000, file.markers);
		EXPECT_EQ(0, stfcheck_run_file(&check, &file));
		EXPECT_STREQ("", check.reason);
		EXPECT_STREQ("", file.reason);
		EXPECT_EQ(287020, check.counts.instructions);
		stfcheck_close(&file);
	}
	EXPECT_EQ(hash[0], hash[1]);
}

TEST(reads_every_record_there_is)
{
	struct stfcheck check = { 0 };

	EXPECT_EQ(0, stfcheck_run(&check, sample_all, sizeof(sample_all)));
	EXPECT_STREQ("", check.reason);
	for (int i = 0; i < 256; i++)
		EXPECT_EQ(!!stfcheck_name(i), !!check.counts.records[i]);
	EXPECT_EQ(9, check.counts.instructions);
	EXPECT_EQ(7, check.counts.modes[0]);
	EXPECT_EQ(2, check.counts.modes[1]);
	EXPECT_EQ(3, check.counts.taken);
	EXPECT_EQ(1, check.counts.not_taken);
	EXPECT_EQ(1, check.counts.traps);
	EXPECT_EQ(1, check.counts.interrupts);
	EXPECT_EQ(1, check.counts.forced);
}

TEST(reads_traces_of_arm)
{
	struct stfcheck check = { 0 };

	EXPECT_EQ(0, stfcheck_run(&check, sample_arm, sizeof(sample_arm)));
	EXPECT_STREQ("", check.reason);
	EXPECT_EQ(2, check.isa);
	EXPECT_EQ(3, check.counts.instructions);
}

struct step {
	uint64_t pc;
	uint64_t target;
	uint32_t opcode;
	uint32_t tid;
	bool taken, forced;
};

static const struct step user_steps[] = {
	{ 0x10000, 0, 0x00500513, 100, false, false },
	{ 0x10004, 0x10000, 0xfeb51ee3, 100, true, false },
	{ 0x10000, 0, 0x00500513, 100, false, false },
	{ 0x10004, 0, 0xfeb51ee3, 100, false, false },
	{ 0x10008, 0, 0x00000073, 100, false, false },
	{ 0x1000c, 0, 0x4585, 100, false, true },
	{ 0x20000, 0x1000c, 0x8082, 101, true, true },
	{ 0x1000c, 0, 0x0001, 101, false, false },
};

static int compare_step(void *argument, const struct stfcheck_insn *insn)
{
	const struct step *step = &user_steps[insn->index];
	unsigned int *wrong = argument;

	*wrong += insn->index >= sizeof(user_steps) / sizeof(user_steps[0]) ||
		  insn->pc != step->pc || insn->opcode != step->opcode ||
		  insn->target != step->target || insn->taken != step->taken ||
		  insn->forced != step->forced || insn->tid != step->tid || insn->mode != 0 ||
		  insn->pid != 100;
	return 0;
}

TEST(tells_each_instruction_with_its_place_target_and_thread)
{
	unsigned int wrong = 0;
	struct stfcheck check = { .strict = true, .insn = compare_step, .argument = &wrong };

	EXPECT_EQ(0, stfcheck_run(&check, sample_user, sizeof(sample_user)));
	EXPECT_STREQ("", check.reason);
	EXPECT_EQ(8, check.counts.instructions);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(2, check.counts.forced);
}

static int stop_at_third(void *argument, const struct stfcheck_insn *insn)
{
	(void)argument;
	return insn->index == 2 ? 7 : 0;
}

TEST(stops_where_its_caller_wants)
{
	struct stfcheck check = { .insn = stop_at_third };

	EXPECT_EQ(7, stfcheck_run(&check, sample_user, sizeof(sample_user)));
	EXPECT_EQ(3, check.counts.instructions);
}

/* RISC-V, RV64, EVENT64, PROCESS_ID, first PC 0x10000. 75 bytes. */
#define BEGIN	"01 535446 02 01000000 05000000 03 01000000 41 "
#define ISA	"04 0100 "
#define IEM	"05 0200 "
#define INFO	"06 ff 000000 0000 "
#define FEATURE	"07 2804080000000000 "
#define PID	"08 01000000 02000000 03000000 "
#define PC	"09 0000010000000000 "
#define END	"13 "
#define HEADER	BEGIN ISA IEM INFO FEATURE PID PC END
#define MODE_U	"64 0000000000000040 01 0000000000000000 "
#define MODE_S	"64 0000000000000040 01 0100000000000000 "
#define NOP	"f0 13000000 "
#define CNOP	"f1 0100 "
#define START	HEADER PID MODE_U
#define WHY	"03 01000000 41 "
#define TO_10100 "1f 0001010000000000 "
#define FAULT	"64 0d00000000000000 00 "
#define SRET	"f0 73002010 "
#define ECALL	"f0 73000000 "
#define KPC	"09 00000080ffffffff "
#define KHEADER	BEGIN ISA IEM INFO FEATURE PID KPC END
#define KSTART	KHEADER PID MODE_S
#define CALL	"64 0800000000000000 01 ffffffffffffffff "
#define BREAK	"64 0300000000000000 01 00000080ffffffff "
#define HANDLER	"65 00000080ffffffff "
#define PC_HANDLER "65 0000010000000000 "

struct rule {
	const char *trace;
	const char *rest;	/* from the offending record on */
	const char *reason;	/* how it begins */
	bool strict;
	int error;
};

#define BREAKS(trace, rest, reason) { trace, rest, reason, false, -EBADMSG }
#define BREAKS_OURS(trace, rest, reason) { trace, rest, reason, true, -EBADMSG }
#define CUT(trace, rest, reason) { trace, rest, reason, false, -ENODATA }
#define CUT_OURS(trace, rest, reason) { trace, rest, reason, true, -ENODATA }

/* The comment "after the next instruction". */
#define AFTER "03 1a000000 616674657220746865206e65787420696e737472756374696f6e "

static const struct rule rules[] = {
	CUT("", BEGIN ISA, "ends within the header"),
	BREAKS("", "02 01000000 05000000", "does not begin with IDENTIFIER"),
	BREAKS("", "01 535447", "no STF"),
	BREAKS("01 535446 ", "03 00000000", "COMMENT before VERSION"),
	BREAKS("01 535446 ", ISA, "ISA before VERSION"),
	BREAKS("01 535446 ", "02 01000000 01000000", "version 1.1"),
	BREAKS("01 535446 ", "02 02000000 00000000", "version 2.0"),
	BREAKS_OURS("01 535446 ", "02 01000000 04000000", "version 1.4, ours"),
	BREAKS(BEGIN, "01 535446", "a second IDENTIFIER"),
	BREAKS(BEGIN ISA, ISA, "a second ISA"),
	BREAKS(BEGIN, "04 0300", "ISA 3"),
	BREAKS(BEGIN, IEM, "INST_IEM before ISA"),
	BREAKS(BEGIN, "05 0000", "INST_IEM before ISA"),
	BREAKS(BEGIN ISA, "05 0300", "INST_IEM 3"),
	BREAKS(BEGIN ISA IEM, "06 00 000000 0000", "generator 0"),
	BREAKS(BEGIN ISA IEM FEATURE, FEATURE, "a second TRACE_INFO_FEATURE"),
	BREAKS_OURS(BEGIN ISA IEM, "07 2904080000000000", "feature PHYSICAL"),
	BREAKS(BEGIN ISA IEM INFO FEATURE PC, PC, "a second FORCE_PC in the header"),
	BREAKS(BEGIN ISA IEM INFO FEATURE, "09 0100010000000000", "FORCE_PC 0x10001 is odd"),
	BREAKS(BEGIN ISA INFO FEATURE PC, END, "header without INST_IEM"),
	BREAKS(BEGIN ISA IEM FEATURE PC, END, "header without TRACE_INFO"),
	BREAKS(BEGIN ISA IEM INFO PC, END, "header without TRACE_INFO_FEATURE"),
	BREAKS(BEGIN ISA IEM INFO FEATURE, END, "header without FORCE_PC"),
	BREAKS_OURS(BEGIN ISA IEM INFO FEATURE PC, END, "header without COMMENT or PROCESS"),
	BREAKS_OURS(BEGIN ISA IEM FEATURE, INFO, "TRACE_INFO after TRACE_INFO_FEATURE"),
	BREAKS(BEGIN ISA "05 0100 " INFO FEATURE PC, END, "feature RV64 contradicts"),
	BREAKS(BEGIN ISA IEM INFO "07 0804080000000000 " PC, END, "feature RV64 contradicts"),
	BREAKS(BEGIN ISA IEM, "0a 3f000000", "vector length 63"),
	BREAKS(BEGIN ISA IEM, NOP, "INST_32 in the header"),
	BREAKS(START, ISA, "ISA after END_HEADER"),
	BREAKS(START, END, "END_HEADER after END_HEADER"),
	BREAKS(START, "00", "descriptor 0"),
	BREAKS(START NOP, "ff", "descriptor 0xff"),
	BREAKS(START NOP, "14", "descriptor 0x14"),
	BREAKS(START, "28 0100 13 00000000", "vector register without VLEN"),
	BREAKS(START, "fa 0000000000000000 0000000000000000 0000 01", "transaction of an unknown"),
	BREAKS(START NOP TO_10100, TO_10100, "a second INST_PC_TARGET"),
	BREAKS(START NOP, "1f 0100010000000000", "INST_PC_TARGET 0x10001 is odd"),
	BREAKS(START, "1f 0000010000000000", "INST_PC_TARGET after EVENT"),
	BREAKS(START NOP "3c 0000000000000000 0800 0000 01 ", TO_10100,
	       "INST_PC_TARGET after INST_MEM"),
	BREAKS(START NOP, "3d 0000000000000000", "INST_MEM_CONTENT without"),
	BREAKS(START NOP, "3f 0000000000000000", "BUS_MASTER_CONTENT without"),
	BREAKS(START NOP, "65 0000010000000000", "EVENT_PC_TARGET without EVENT"),
	BREAKS(START NOP FAULT "65 0000010000000000 ", "65 0000010000000000",
	       "a second EVENT_PC_TARGET"),
	BREAKS(START NOP, "64 0100000000000040 01 0000000000000000", "event 0x40000000000000"),
	BREAKS(START NOP, "64 0000000000000040 00", "MODE_CHANGE with 0 fields"),
	BREAKS(START NOP, "64 0000000000000040 01 0400000000000000",
	       "MODE_CHANGE with 1 fields or"),
	BREAKS_OURS(BEGIN ISA IEM INFO "07 2004080000000000 " PID PC END PID, MODE_U,
		    "EVENT without its"),
	BREAKS_OURS(BEGIN ISA IEM INFO "07 2800080000000000 ", PID, "PROCESS_ID_EXT without its"),
	BREAKS(START, "f0 01000000", "opcode 0x1 in a record of 4"),
	BREAKS(START, "f0 1f000000", "opcode 0x1f in a record of 4"),
	BREAKS(START, "f0 ffffffff", "opcode 0xffffffff in a record of 4"),
	BREAKS(START, "f1 1300", "opcode 0x13 in a record of 2"),
	BREAKS(START, "f1 0000", "opcode 0 in a record of 2"),
	BREAKS(START NOP TO_10100, NOP, "INST_PC_TARGET on 0x13"),
	BREAKS(START NOP TO_10100, "f0 73000000", "INST_PC_TARGET on 0x73"),
	BREAKS(START NOP TO_10100, "f0 e31eb5fe",
	       "INST_PC_TARGET 0x10100, but 0xfeb51ee3 at 0x10004 goes to 0x10000"),
	BREAKS(START NOP TO_10100, "f1 11a0", "INST_PC_TARGET 0x10100, but 0xa011"),
	BREAKS(START NOP, "f0 ef00e000", "unconditional jump 0xe000ef without"),
	BREAKS(START NOP, "f1 8280", "unconditional jump 0x8082 without"),
	BREAKS(START NOP, "f0 67800000", "unconditional jump 0x8067 without"),
	BREAKS_OURS(HEADER PID, NOP, "no MODE_CHANGE or PROCESS_ID_EXT before"),
	BREAKS_OURS(HEADER MODE_U, NOP, "no MODE_CHANGE or PROCESS_ID_EXT before"),
	BREAKS(HEADER PID MODE_S NOP MODE_U, NOP, "a switch to user mode on 0x13"),
	BREAKS(HEADER PID MODE_S NOP FAULT MODE_U, NOP, "a switch to user mode on 0x13"),
	BREAKS(START NOP MODE_S, NOP, "a switch to mode 1 without a trap"),
	BREAKS(HEADER PID MODE_S SRET, NOP, "no FORCE_PC after an instruction that went nobody"),
	BREAKS_OURS(START "f0 73000000 ", NOP, "no FORCE_PC after an instruction that went nobody"),
	BREAKS_OURS(START NOP PC, NOP, "FORCE_PC, and nothing says why"),
	BREAKS_OURS(START NOP WHY PC, PC, "two FORCE_PC"),
	BREAKS(START NOP, "09 0100010000000000", "FORCE_PC 0x10001 is odd"),
	BREAKS_OURS(HEADER PID MODE_S, NOP, "mode 1 at 0x10000"),
	BREAKS_OURS(KHEADER PID MODE_U, NOP, "mode 0 at 0xffffffff80000000"),
	BREAKS_OURS(KHEADER PID TO_10100 MODE_U, SRET, "mode 255 at 0xffffffff80000000"),
	BREAKS_OURS(KSTART NOP TO_10100 SRET, NOP, "mode 1 at 0x10100"),
	BREAKS_OURS(START NOP WHY KPC TO_10100 MODE_U, SRET, "mode 0 at 0xffffffff80000000"),
	BREAKS_OURS(START CALL HANDLER ECALL, NOP, "mode 0 at 0xffffffff80000000"),
	BREAKS_OURS(START CALL HANDLER MODE_S, NOP, "exception 8 on 0x13"),
	BREAKS_OURS(START BREAK HANDLER MODE_S, ECALL, "exception 3 on 0x73"),
	BREAKS_OURS(KSTART CALL HANDLER, ECALL, "exception 8 on 0x73"),
	BREAKS_OURS(START CALL MODE_S, ECALL, "a trap without a handler"),
	BREAKS_OURS(START CALL PC_HANDLER MODE_S, ECALL, "a trap without a handler"),
	BREAKS_OURS(START, "64 0800000000000000 00", "a trap with 0 fields"),
	BREAKS_OURS(START CALL, CALL, "two traps"),
	BREAKS_OURS(START MODE_U, "65 0001010000000000", "EVENT_PC_TARGET without a trap"),
	BREAKS_OURS(HEADER PID MODE_U, "29 0100", "INST_READY_REG, which ours never has"),
	BREAKS(KSTART NOP WHY PC MODE_U, NOP, "a switch to user mode on 0x13"),
	BREAKS(START NOP MODE_U, NOP, "a switch to user mode on 0x13"),
	BREAKS(KSTART MODE_U, MODE_S, "three changes of mode"),
	BREAKS(START NOP TO_10100 MODE_S MODE_U, SRET, "a switch to mode 1 without FORCE_PC"),
	CUT_OURS(HEADER, "", "ends before the first instruction"),
	CUT_OURS(START NOP WHY, "", "ends with a comment"),
	CUT(START NOP AFTER WHY, "", "ends within the records"),
	CUT(START NOP TO_10100, "", "ends within the records"),
	CUT(START NOP PID, "", "ends within the records"),
	CUT(START NOP PC, "", "ends within the records"),
	CUT(START NOP, "f0 1300", "INST_32 is truncated"),
	CUT(START NOP, "03 04000000 414243", "COMMENT is truncated"),
	CUT(START NOP, "03 ffffffff 41", "COMMENT is truncated"),
	CUT(START NOP, "03 0000", "COMMENT is truncated"),
	CUT(START NOP, "64 0000", "EVENT is truncated"),
	CUT(START NOP, "64 0100000000000000 ff 00", "EVENT is truncated"),
	CUT(START NOP, "32 0000", "PAGE_TABLE_WALK is truncated"),
};

TEST(names_the_rule_that_is_broken_and_where)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct rule *rule = &rules[i];
		struct stfcheck check = { .strict = rule->strict };
		struct hex trace = { .size = 0 };
		size_t offset;

		hex_add(&trace, rule->trace);
		offset = trace.size;
		hex_add(&trace, rule->rest);
		if (strstr(rule->reason, "ends"))
			offset = trace.size;
		EXPECT_EQ(rule->error, stfcheck_run(&check, trace.bytes, trace.size));
		EXPECT_EQ(0, strncmp(check.reason, rule->reason, strlen(rule->reason)))
			TH_LOG("rule %zu wants \"%s\", got \"%s\"", i, rule->reason, check.reason);
		EXPECT_EQ(offset, check.offset)
			TH_LOG("rule %zu: %s", i, rule->reason);
	}
}

/*
 * Rows that flowtap_check_file takes: ISAs that flowtap does not write, and of the changes of mode
 * in one group of records all but the last, whose order no text of STF rules.
 */
static const char *const otherwise[] = {
	"ISA 3", "three changes of mode", "a switch to mode 1 without FORCE_PC",
};

static bool is_otherwise(const char *reason)
{
	for (size_t i = 0; i < sizeof(otherwise) / sizeof(otherwise[0]); i++)
		if (!strcmp(otherwise[i], reason))
			return true;
	return false;
}

/* What is wrong for every reader, not only for ours. */
TEST(the_library_s_check_finds_each_of_these_where_it_is)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct rule *rule = &rules[i];
		struct hex trace = { .size = 0 };
		struct flowtap_check check;
		size_t offset;
		int error;

		if (rule->strict || rule->error == -ENODATA)
			continue;
		hex_add(&trace, rule->trace);
		offset = trace.size;
		hex_add(&trace, rule->rest);
		error = check_bytes(&check, trace.bytes, trace.size);
		/* Of no format at all. */
		if (error == -EBADMSG && memcmp(trace.bytes, "\1STF", 4))
			continue;
		EXPECT_EQ(0, error);
		EXPECT_EQ(!is_otherwise(rule->reason), check.problems && first.offset == offset)
			TH_LOG("rule %zu: \"%s\" at %zu is \"%s\" at %llu", i, rule->reason,
			       offset, first.reason, (unsigned long long)first.offset);
	}
}

/* Whether an address may be odd is only known then. */
TEST(a_force_pc_is_looked_at_when_the_isa_is_known)
{
	struct hex trace = { .size = 0 };
	struct flowtap_check check;
	size_t offset;

	hex_add(&trace, BEGIN "09 0100010000000000 ");
	offset = trace.size;
	hex_add(&trace, ISA IEM INFO FEATURE END NOP);
	EXPECT_EQ(0, check_bytes(&check, trace.bytes, trace.size));
	EXPECT_EQ(1, check.problems);
	EXPECT_EQ(offset, first.offset);
	EXPECT_STREQ("FORCE_PC 0x10001 is odd", first.reason);
}

/* The same in a .zstf, whose first bytes say nothing of its records. */
TEST(the_library_s_check_looks_at_the_identifier_of_a_compressed_trace)
{
	struct hex trace = { .size = 0 };
	uint8_t file[4096] = "ZSTF";
	struct flowtap_check check;
	size_t size = 20;

	hex_add(&trace, START NOP);
	for (int wrong = 0; wrong < 2; wrong++) {
		trace.bytes[3] ^= wrong;
		size = 20 + ZSTD_compress(file + 20, sizeof(file) - 20, trace.bytes, trace.size, 1);
		put_words(file + 4, (uint64_t[]){ 4, size }, 2);
		put_words(file + size, (uint64_t[]){ 1, 20, 0, trace.size }, 4);
		EXPECT_EQ(0, check_bytes(&check, file, size + 32));
		EXPECT_EQ(wrong, check.problems) TH_LOG("%s", first.reason);
		EXPECT_STREQ(wrong ? "the identifier is not STF" : "", first.reason);
	}
}

#define MODE_M	"64 0000000000000040 01 0300000000000000 "
#define ARM	BEGIN "04 0200 05 0000 " INFO "07 0804080000000000 " PID PC END
#define CONTEXT_A64 "03 #'context A64 EL0 nonsecure 64' "
#define CONTEXT_T32 "03 #'context T32 EL0 nonsecure 32' "

/* Chunks of two instructions each, of which the second is damaged. */
static size_t make_damaged(uint8_t *file, size_t capacity, const char *const chunks[3])
{
	uint64_t index[10] = { 3 }, *entry = index + 1;
	size_t size = 20;

	memcpy(file, "ZSTF", 4);
	for (uint64_t i = 0; i < 3; i++, entry += 3) {
		struct hex trace = { .size = 0 };

		hex_add(&trace, chunks[i]);
		put_words((uint8_t *)entry, (uint64_t[]){ size, i ? 0x10008 : 0, trace.size }, 3);
		size += ZSTD_compress(file + size, capacity - size, trace.bytes, trace.size, 1);
	}
	file[index[4]] ^= 1;
	put_words(file + 4, (uint64_t[]){ 2, size }, 2);
	put_words(file + size, index, 10);
	return size + sizeof(index);
}

/* Of what is missing nothing is said, nor of what it may have said. */
TEST(the_library_s_check_knows_no_encoding_or_mode_after_a_damaged_chunk)
{
	static const struct {
		const char *chunks[3];
		unsigned int problems;
	} cases[] = {
		{ { ARM CONTEXT_A64 "f0 1f2003d5 f0 1f2003d5", CONTEXT_T32 "f1 00bf f1 00bf",
		    "f1 00bf f1 00bf" }, 1 },
		{ { ARM CONTEXT_A64 "f0 1f2003d5 f0 1f2003d5", CONTEXT_T32 "f1 00bf f1 00bf",
		    CONTEXT_A64 "f1 00bf f1 00bf" }, 3 },
		{ { START NOP NOP, NOP NOP, MODE_S NOP NOP }, 1 },
		{ { START NOP NOP, NOP NOP, MODE_S NOP MODE_M NOP }, 2 },
		{ { HEADER PID MODE_S NOP NOP, NOP NOP, MODE_U NOP NOP }, 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t file[4096];
		struct flowtap_check check;

		EXPECT_EQ(0, check_bytes(&check, file, make_damaged(file, sizeof(file),
								    cases[i].chunks)));
		EXPECT_EQ(cases[i].problems, check.problems) TH_LOG("%zu: %s", i, first.reason);
	}
}

/* The comment "context RV64 EL0 mode=U". */
#define USER "03 17000000 636f6e74657874205256363420454c30206d6f64653d55 "

/* What looks alike and is right, by strict rules and without. */
static const char *const right_ours[] = {
	START NOP,
	START AFTER WHY NOP,
	KSTART AFTER USER NOP,
	START NOP WHY PC NOP,
	START NOP PID PC NOP,
	HEADER PID TO_10100 MODE_U "f0 6f000010 ",
	START "f0 73000000 " WHY PC NOP,
	KSTART NOP TO_10100 MODE_U SRET NOP,
	KSTART NOP WHY USER PC NOP,
	KSTART NOP USER WHY PC CALL HANDLER MODE_S ECALL NOP,
	KHEADER PID TO_10100 MODE_S MODE_U SRET NOP,
	START NOP WHY KPC TO_10100 MODE_S MODE_U SRET NOP,
	START NOP WHY KPC MODE_S MODE_S SRET WHY KPC NOP,
	START CALL HANDLER MODE_S ECALL NOP,
	START NOP WHY KPC MODE_S NOP WHY USER PC CALL HANDLER MODE_S ECALL NOP,
	KSTART BREAK HANDLER "f1 0290 " NOP,
	KSTART ECALL NOP,
	KSTART "64 0900000000000000 01 ffffffffffffffff " HANDLER ECALL NOP,
};

static const char *const right_of_others[] = {
	START "f0 73000000 " NOP,
	START NOP FAULT "f0 6f000010 ",
	START NOP FAULT MODE_S NOP,
	HEADER PID MODE_S SRET PC NOP,
	HEADER NOP,
	HEADER,
};

static int run_hex(struct stfcheck *check, const char *hex)
{
	struct hex trace = { .size = 0 };

	hex_add(&trace, hex);
	return stfcheck_run(check, trace.bytes, trace.size);
}

TEST(takes_what_is_right)
{
	struct stfcheck ours = { .strict = true }, others = { .strict = false };

	for (size_t i = 0; i < sizeof(right_ours) / sizeof(right_ours[0]); i++) {
		EXPECT_EQ(0, run_hex(&ours, right_ours[i]))
			TH_LOG("%s: %s", right_ours[i], ours.reason);
	}
	for (size_t i = 0; i < sizeof(right_of_others) / sizeof(right_of_others[0]); i++) {
		EXPECT_EQ(0, run_hex(&others, right_of_others[i]))
			TH_LOG("%s: %s", right_of_others[i], others.reason);
	}
}

/* In memory of exactly that size, so that a byte read beyond is found. */
static int run_exactly(struct stfcheck *check, const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	int error;

	memcpy(copy, bytes, size);
	error = stfcheck_run(check, size ? copy : copy + 1, size);
	free(copy);
	return error;
}

static void note_boundary(void *argument, uint64_t offset, uint8_t descriptor,
			  const uint8_t *payload, size_t size)
{
	bool *boundaries = argument;
	uint64_t end = offset + 1 + size;

	(void)payload;
	/* A comment is to come before the last one. */
	boundaries[end] = descriptor == 0xf0 || descriptor == 0xf1;
}

TEST(reports_a_trace_cut_anywhere_but_between_instructions)
{
	static bool boundaries[sizeof(sample_user) + 1];
	struct stfcheck whole = { .strict = true, .record = note_boundary,
				  .argument = boundaries };
	unsigned int legal = 0;

	ASSERT_EQ(0, stfcheck_run(&whole, sample_user, sizeof(sample_user)));
	for (size_t size = 0; size < sizeof(sample_user); size++) {
		struct stfcheck check = { .strict = true };
		int error = run_exactly(&check, sample_user, size);

		legal += boundaries[size];
		EXPECT_EQ(boundaries[size] ? 0 : -ENODATA, error)
			TH_LOG("cut at %zu: %s", size, check.reason);
		EXPECT_LE(check.offset, size);
	}
	EXPECT_EQ(7, legal);
}

TEST(survives_every_cut_of_every_record)
{
	unsigned int cut = 0;

	for (size_t size = 0; size < sizeof(sample_all); size++) {
		struct stfcheck check = { 0 };

		cut += run_exactly(&check, sample_all, size) == -ENODATA;
	}
	EXPECT_LT(600, cut);
}

TEST(survives_every_flipped_bit)
{
	uint8_t bytes[sizeof(sample_all)];
	unsigned int found = 0;

	for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
		struct stfcheck check = { .strict = bit & 1 };
		int error;

		memcpy(bytes, sample_all, sizeof(bytes));
		bytes[bit / 8] ^= 1 << bit % 8;
		error = run_exactly(&check, bytes, sizeof(bytes));
		found += error < 0;
		EXPECT_EQ(error < 0, check.reason[0] != '\0');
	}
	EXPECT_LT(1000, found);
}

#define MARKERS 4	/* sample_user has twice as many */
#define ZSTF_SIZE 1024

static int find_half(void *argument, const struct stfcheck_insn *insn)
{
	if (insn->index + 1 == MARKERS)
		memcpy(argument, &insn->offset, sizeof(insn->offset));
	return 0;
}

/* sample_user in two chunks, the second one from 0x10008 on. */
static size_t make_zstf(uint8_t *file)
{
	size_t half, size = 20, first, packed;
	uint64_t offset = 0;
	struct stfcheck check = { .insn = find_half, .argument = &offset };

	stfcheck_run(&check, sample_user, sizeof(sample_user));
	half = offset + 5;
	memcpy(file, "ZSTF", 4);
	packed = ZSTD_compress(file + size, ZSTF_SIZE - size, sample_user, half, 1);
	first = size;
	size += packed;
	packed = ZSTD_compress(file + size, ZSTF_SIZE - size, sample_user + half,
			       sizeof(sample_user) - half, 1);
	put_words(file + 4, (uint64_t[]){ MARKERS, size + packed }, 2);
	put_words(file + size + packed,
		  (uint64_t[]){ 2, first, 0, half, size, 0x10008, sizeof(sample_user) - half }, 7);
	return size + packed + 56;
}

static int open_bytes(const uint8_t *bytes, size_t size, struct stfcheck_file *file)
{
	int fd = memfd_create("zstf", MFD_CLOEXEC), error;

	error = write(fd, bytes, size) == (ssize_t)size ? stfcheck_open(fd, file) : -EIO;
	close(fd);
	return error;
}

/* What comes of a file: 0 or the first error. */
static int check_zstf(const uint8_t *bytes, size_t size)
{
	struct stfcheck check = { .strict = true };
	struct stfcheck_file file;
	int error = open_bytes(bytes, size, &file);

	if (error)
		return error;
	error = stfcheck_run_file(&check, &file);
	if (!error && file.slack)
		error = -EXFULL;
	stfcheck_close(&file);
	return error;
}

TEST(unpacks_chunks)
{
	uint8_t bytes[ZSTF_SIZE];
	size_t size = make_zstf(bytes);
	struct stfcheck check = { .strict = true };
	struct stfcheck_file file;

	ASSERT_EQ(0, open_bytes(bytes, size, &file));
	ASSERT_EQ(sizeof(sample_user), file.size);
	EXPECT_EQ(0, memcmp(file.bytes, sample_user, file.size));
	EXPECT_EQ(2, file.chunks);
	EXPECT_EQ(0, file.slack);
	EXPECT_EQ(0, stfcheck_run_file(&check, &file));
	EXPECT_EQ(8, check.counts.instructions);
	EXPECT_STREQ("", file.reason);
	stfcheck_close(&file);
	ASSERT_EQ(0, open_bytes(bytes, 19, &file));	/* no ZSTF: whatever it is */
	EXPECT_EQ(19, file.size);
	stfcheck_close(&file);
}

TEST(refuses_chunks_that_are_damaged_cut_or_elsewhere)
{
	uint8_t bytes[ZSTF_SIZE], damaged[ZSTF_SIZE];
	size_t size = make_zstf(bytes), silent = 0;

	for (size_t cut = 20; cut < size; cut++)
		EXPECT_EQ(-EBADMSG, check_zstf(bytes, cut));
	for (size_t bit = 8 * 4; bit < 8 * size; bit++) {
		memcpy(damaged, bytes, size);
		damaged[bit / 8] ^= 1 << bit % 8;
		silent += !check_zstf(damaged, size);
	}
	/* These frames have no checksum: data bits can change that no rule is about. */
	EXPECT_LT(silent, 8 * size / 4);
	for (size_t at = size - 56; at < size; at++) {
		memcpy(damaged, bytes, size);
		damaged[at] ^= 1;
		EXPECT_GT(0, check_zstf(damaged, size)) TH_LOG("byte %zu of the index", at);
	}
	for (size_t at = 4; at < 20; at++) {
		memcpy(damaged, bytes, size);
		damaged[at] ^= 1;
		EXPECT_GT(0, check_zstf(damaged, size)) TH_LOG("byte %zu", at);
	}
}

TEST_HARNESS_MAIN
