// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the STF checker finds each rule broken, where it is, and takes what is right; and that
 * the library's check finds what is wrong for every reader.
 */
#include "checked.h"
#include "stfcheck/stfcheck.h"
#include "support/hex.h"
#include "support/words.h"

#include <zstd.h>

#include "support/kselftest_harness.h"

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

TEST_HARNESS_MAIN
