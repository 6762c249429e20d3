// SPDX-License-Identifier: GPL-2.0-only
/* Shows which blocks the CTR decoder takes for proven by records, and why not where it does not. */
#include "unit/ctr/fixture.h"

/* --- What is proven. --- */

TEST_F(ctr, straight_lines_are_told_with_the_branches_that_were_not_taken)
{
	first(self);
	begin(self);
	entry(self, JR_RA, MAIN, RET);
	entry(self, CALL, FUNCTION, DCALL);
	entry(self, RETURN, AFTER_CALL, RET);
	at_ip(self, ECALL);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, MAIN),
		    INSN(MAIN), INSN(BEQ), END(0, AFTER_BEQ), INSN(AFTER_BEQ), INSN(BNEZ),
		    END(0, CALL), INSN(CALL), END(1, FUNCTION),
		    INSN(FUNCTION), INSN(FUNCTION_2), INSN(RETURN), END(1, AFTER_CALL),
		    INSN(AFTER_CALL), INSN(JOIN));
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->transfers[RET], 2U);
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->transfers[DCALL], 1U);
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->instructions, 11U);
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->blocks, 6U);
}

TEST_F(ctr, table_7_an_external_trap_ends_what_is_known)
{
	first(self);
	begin(self);
	entry(self, BEQ, JOIN, TAKEN);
	entry(self, ECALL, 0, EXC);
	entry(self, JR_RA, MAIN, RET);
	entry(self, AFTER_BEQ, 0, INT);
	entry(self, CALL, 0, EXC);
	at_ip(self, CALL);
	EXPECT_FLOW(GAP(TRAP), INSN(BEQ), END(1, JOIN),
		    INSN(JOIN), INSN(ECALL), END(1, 0), EXCEPTION(ECALL, 8),
		    GAP(TRAP), INSN(JR_RA), END(1, MAIN),
		    INSN(MAIN), INSN(BEQ), END(0, AFTER_BEQ), INTERRUPT(AFTER_BEQ),
		    GAP(TRAP), EXCEPTION(CALL, -1));
	begin(self);				/* an exception at a return is no ecall */
	entry(self, JR_RA, FUNCTION, RET);
	entry(self, RETURN, 0, EXC);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), INSN(FUNCTION), INSN(FUNCTION_2),
		    EXCEPTION(RETURN, -1));
}

TEST_F(ctr, table_8_without_ste_only_the_transfers_themselves_are_certain)
{
	first(self);
	begin(self)->control &= ~STE;
	entry(self, JR_RA, MAIN, RET);
	entry(self, CALL, FUNCTION, DCALL);
	at_ip(self, FUNCTION_2);
	EXPECT_FLOW(GAP(TRAP), TRANSFER(JR_RA, MAIN, RET), INSN(JR_RA), END(1, MAIN),
		    TRANSFER(CALL, FUNCTION, DCALL), GAP(TRAP), INSN(CALL), END(1, FUNCTION));
	begin(self)->control |= BPFRZ;		/* breakpoints are not recorded then (6.5) */
	entry(self, JR_RA, MAIN, RET);
	entry(self, CALL, FUNCTION, DCALL);
	EXPECT_FLOW(GAP(TRAP), TRANSFER(JR_RA, MAIN, RET), INSN(JR_RA), END(1, MAIN),
		    TRANSFER(CALL, FUNCTION, DCALL), GAP(TRAP), INSN(CALL), END(1, FUNCTION));
}

TEST_F(ctr, each_taken_transfer_inhibit_makes_transfers_and_no_other_bit)
{
	first(self);
	for (int bit = 0; bit < 64; bit++) {
		bool none = bit == 2 || bit == 37 || (bit >= 40 && bit < 48) || bit >= 60;

		if (bit == 1 || bit == 7 || bit == 8 || bit == 11)
			continue;
		begin(self)->control |= 1ULL << bit;
		entry(self, JR_RA, FUNCTION, RET)->target |= 1;
		entry(self, RETURN, AFTER_CALL, RET);
		if (none)
			EXPECT_FLOW(GAP(TRAP), GAP(FILTERED), TRANSFER(JR_RA, FUNCTION, RET | 256),
				    TRANSFER(RETURN, AFTER_CALL, RET));
		else
			EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION),
				    { ITEM_MISPREDICTED, 0, 0, 0 }, INSN(FUNCTION),
				    INSN(FUNCTION_2), INSN(RETURN), END(1, AFTER_CALL));
	}
}

TEST_F(ctr, kernel_addresses_have_no_place_in_a_record_of_user_mode)
{
	first(self);
	map_kernel(self->map, 0xffffffff80000000, self->bytes, LAST + 2 - MAIN);
	begin(self);
	entry(self, JR_A0, 0xffffffff80000000, IJUMP);
	entry(self, 0xffffffff80000002, 0xffffffff80000010, TAKEN);
	entry(self, JR_A0, MAIN, IJUMP);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_A0), END(1, 0xffffffff80000000), GAP(IMPOSSIBLE),
		    INSN(JR_A0), END(1, MAIN));
	EXPECT_NE(strstr(self->log.detail, "in a mode that is not recorded"), NULL);
}

TEST_F(ctr, ras_emulation_makes_a_call_stack)
{
	first(self);
	begin(self)->control |= RASEMU;
	entry(self, CALL, FUNCTION, DCALL);
	entry(self, JR_A0, MAIN, ICALL)->source &= ~1ULL;
	entry(self, JR_RA, MAIN, ICALL);
	at_ip(self, BNEZ);
	EXPECT_FLOW(GAP(FILTERED), { ITEM_FRAME, BNEZ, 0, 3 }, { ITEM_FRAME, JR_RA, 1, 3 },
		    { ITEM_FRAME, CALL, 2, 3 });
	/* A call through a null pointer. */
	begin(self)->control |= RASEMU;
	entry(self, CALL, 0, ICALL);
	at_ip(self, 0);
	EXPECT_FLOW(GAP(FILTERED), { ITEM_FRAME, 0, 0, 2 }, { ITEM_FRAME, CALL, 1, 2 });
}

TEST_F(ctr, an_ecall_is_told_only_where_its_fetch_cannot_have_failed)
{
	/* A page that begins with an ecall, after one that ends with a nop; a jump over it. */
	uint8_t page[8192] = { 0 };
	struct rv_code code = { .bytes = page + 4090, .capacity = 100 };

	rv_put(&code, rv_c_jr(10));		/* 0x20ffa */
	rv_put(&code, RV_NOP);			/* 0x20ffc */
	rv_put(&code, RV_ECALL);		/* 0x21000 */
	rv_put(&code, rv_c_jr(10));		/* 0x21004 */
	rv_put(&code, RV_C_EBREAK);		/* 0x21006 */
	map_bytes(self->map, 0, 0x20000, "[page]", page, sizeof(page));
	first(self);
	begin(self);
	entry(self, JR_A0, 0x20ffc, IJUMP);
	entry(self, 0x21000, 0, EXC);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_A0), END(1, 0x20ffc), INSN(0x20ffc), EXCEPTION(0x21000, -1));
	begin(self);
	entry(self, 0x20ffa, 0x21000, IJUMP);
	entry(self, 0x21000, 0, EXC);
	EXPECT_FLOW(GAP(TRAP), INSN(0x20ffa), END(1, 0x21000), EXCEPTION(0x21000, -1));
	begin(self);
	entry(self, 0x21004, 0x21000, IJUMP);
	entry(self, 0x21000, 0, EXC);
	EXPECT_FLOW(GAP(TRAP), INSN(0x21004), END(1, 0x21000), INSN(0x21000), END(1, 0),
		    EXCEPTION(0x21000, 8));
	begin(self);
	entry(self, 0x21004, 0x21006, IJUMP);
	entry(self, 0x21006, 0, EXC);
	EXPECT_FLOW(GAP(TRAP), INSN(0x21004), END(1, 0x21006), INSN(0x21006), END(1, 0),
		    EXCEPTION(0x21006, 3));
	begin(self);				/* an interrupt before it is none of it */
	entry(self, 0x21004, 0x21000, IJUMP);
	entry(self, 0x21000, 0, INT);
	EXPECT_FLOW(GAP(TRAP), INSN(0x21004), END(1, 0x21000), INTERRUPT(0x21000));
}

TEST_F(ctr, without_types_the_code_says_what_they_are)
{
	first(self);
	begin(self);
	entry(self, JR_RA, MAIN, 0);
	entry(self, BEQ, JOIN, 0);
	entry(self, ECALL, 0, 0);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, MAIN), INSN(MAIN), INSN(BEQ), END(1, JOIN),
		    INSN(JOIN), EXCEPTION(ECALL, -1));
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->transfers[RET], 1U);
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->transfers[TAKEN], 1U);
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->transfers[0], 1U);
	begin(self)->control |= NTBREN;
	entry(self, JR_RA, MAIN, 0);
	entry(self, BEQ, AFTER_BEQ, 0);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, MAIN), INSN(MAIN), INSN(BEQ), END(0, AFTER_BEQ));
	begin(self);
	entry(self, JR_RA, MAIN, 0);
	entry(self, BEQ, AFTER_BEQ, 0);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, MAIN), GAP(IMPOSSIBLE));
}

/* --- What is not possible. --- */

/* From `target` to `source`, which leads on to MAIN; then one more that is fine. */
#define EXPECT_IMPOSSIBLE(target, source, type, where, words, ...) do {			\
	first(self);									\
	begin(self);									\
	entry(self, JR_A0, target, IJUMP);						\
	entry(self, source, MAIN, type);						\
	EXPECT_FLOW(GAP(TRAP), INSN(JR_A0), END(1, target), GAP(IMPOSSIBLE) __VA_ARGS__); \
	EXPECT_EQ(self->log.gap.address, (uint64_t)(where));				\
	EXPECT_NE(strstr(self->log.detail, words), NULL)				\
		TH_LOG("%s", self->log.detail);						\
} while (0)

TEST_F(ctr, an_unconditional_transfer_in_between_is_impossible)
{
	EXPECT_IMPOSSIBLE(AFTER_BEQ, RETURN, RET, CALL,
			  "direct_call at 0x1000a lies before 0x10020",
			  , INSN(RETURN), END(1, MAIN));
}

TEST_F(ctr, an_ecall_in_between_is_impossible)
{
	EXPECT_IMPOSSIBLE(JOIN, JR_RA, RET, JOIN, "exception at 0x10012 lies before 0x10018",
			  , INSN(JR_RA), END(1, MAIN));
}

TEST_F(ctr, a_source_after_is_impossible)
{
	EXPECT_IMPOSSIBLE(FUNCTION, JR_RA, RET, FUNCTION, "0x10018 lies before 0x1001a",
			  , INSN(JR_RA), END(1, MAIN));
}

TEST_F(ctr, a_source_that_is_no_transfer_is_impossible)
{
	EXPECT_IMPOSSIBLE(FUNCTION, FUNCTION_2, RET, FUNCTION_2,
			  "no transfer instruction at 0x1001c");
	EXPECT_IMPOSSIBLE(FUNCTION, FUNCTION_2 + 2, RET, FUNCTION_2 + 2, "0x1001e");
}

TEST_F(ctr, another_type_than_recorded_is_impossible)
{
	EXPECT_IMPOSSIBLE(FUNCTION, RETURN, IJUMP, RETURN,
			  "recorded indirect_jump at 0x10020, the code has function_return there");
	EXPECT_IMPOSSIBLE(JOIN, ECALL, RET, ECALL, "the code has exception");
}

TEST_F(ctr, what_no_program_can_transfer_by_is_impossible)
{
	uint8_t bytes[16] = { 0 };
	struct rv_code code = { .bytes = bytes, .capacity = sizeof(bytes) };

	rv_put(&code, RV_C_NOP);
	rv_put(&code, RV_SRET);
	map_bytes(self->map, 0, 0x70000, "[sret]", bytes, sizeof(bytes));
	EXPECT_IMPOSSIBLE(0x70000, 0x70002, XRET, 0x70002, "the code has trap_return");
	EXPECT_IMPOSSIBLE(0x70000, 0x70002, 0, 0x70002, "the code has trap_return");
	EXPECT_IMPOSSIBLE(JOIN, ECALL, 0, ECALL, "the code has exception");
}

TEST_F(ctr, another_target_than_the_code_has_is_impossible)
{
	EXPECT_IMPOSSIBLE(AFTER_BEQ, CALL, DCALL, CALL,
			  "target 0x10000 of the direct_call at 0x1000a, the code says 0x1001a");
	EXPECT_IMPOSSIBLE(MAIN, BEQ, TAKEN, BEQ, "the code says 0x10010");
	EXPECT_IMPOSSIBLE(MAIN, BEQ, NOT_TAKEN, BEQ, "the code says 0x10006");
}

TEST_F(ctr, unknown_instructions_in_between_are_impossible)
{
	EXPECT_IMPOSSIBLE(UNKNOWN, LAST, IJUMP, UNKNOWN, "no known instructions from 0x10028",
			  , INSN(LAST), END(1, MAIN));
}

TEST_F(ctr, a_branch_without_its_record_is_impossible_where_each_has_one)
{
	first(self);
	begin(self)->control |= NTBREN;
	entry(self, JR_RA, MAIN, RET);
	entry(self, BEQ, AFTER_BEQ, NOT_TAKEN);
	entry(self, CALL, FUNCTION, DCALL);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, MAIN), INSN(MAIN), INSN(BEQ), END(0, AFTER_BEQ),
		    GAP(IMPOSSIBLE), INSN(CALL), END(1, FUNCTION));
	EXPECT_NE(strstr(self->log.detail, "branch at 0x10008"), NULL);
}

TEST_F(ctr, after_a_contradiction_the_record_is_not_believed_either)
{
	first(self);
	begin(self);
	entry(self, RETURN, MAIN, IJUMP);	/* it is a return: whose code is this? */
	entry(self, BEQ, JOIN, TAKEN);
	EXPECT_FLOW(GAP(TRAP), GAP(IMPOSSIBLE), INSN(BEQ), END(1, JOIN));
	begin(self);
	entry(self, JR_RA, JOIN, RET);
	entry(self, JR_RA, FUNCTION, RET);	/* the way is impossible, the source is not */
	entry(self, RETURN, MAIN, RET);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, JOIN), GAP(IMPOSSIBLE), INSN(JR_RA),
		    END(1, FUNCTION), INSN(FUNCTION), INSN(FUNCTION_2), INSN(RETURN), END(1, MAIN));
}

TEST_F(ctr, a_way_to_a_trap_or_to_ip_must_be_possible_too)
{
	first(self);
	begin(self);
	entry(self, JR_RA, AFTER_BEQ, RET);
	entry(self, JOIN, 0, INT);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, AFTER_BEQ), GAP(IMPOSSIBLE), INTERRUPT(JOIN));
	begin(self);
	entry(self, JR_RA, FUNCTION, RET);
	at_ip(self, FUNCTION_2 + 2);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), GAP(IMPOSSIBLE));
	begin(self);
	entry(self, JR_RA, FUNCTION, RET);
	at_ip(self, JOIN);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), GAP(IMPOSSIBLE));
	EXPECT_STREQ(self->log.detail, "0x10010 lies before 0x1001a, where execution was");
	begin(self);
	entry(self, JR_RA, FUNCTION, RET);
	at_ip(self, JR_A0);			/* the return in between returned */
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), GAP(IMPOSSIBLE));
	begin(self);
	entry(self, JR_RA, FUNCTION, RET);
	at_ip(self, FUNCTION_2 + 1);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), GAP(BAD_RECORD));
}

TEST_F(ctr, the_way_to_ip_is_not_proven_where_recording_had_ended)
{
	first(self);
	begin(self)->trigger = FLOWTAP_TRIGGER_SNAPSHOT;
	entry(self, JR_RA, FUNCTION, RET);
	at_ip(self, FUNCTION_2);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), GAP(FROZEN));
	begin(self)->control &= ~LCOFIFRZ;
	entry(self, JR_RA, FUNCTION, RET);
	at_ip(self, FUNCTION_2);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), GAP(FROZEN));
	begin(self)->trigger = FLOWTAP_TRIGGER_SNAPSHOT;
	entry(self, JR_RA, FUNCTION, RET);
	entry(self, FUNCTION_2, 0, INT);
	at_ip(self, FUNCTION_2);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), INSN(FUNCTION),
		    INTERRUPT(FUNCTION_2));
	begin(self);				/* not from user mode: ip says nothing */
	entry(self, JR_RA, FUNCTION, RET);
	self->s.head.ip = FUNCTION_2;
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION));
}

TEST_F(ctr, straight_lines_have_a_limit)
{
	size_t n = 65537;
	struct rv_code code = { .capacity = 2 * (n + 1) };

	code.bytes = calloc(1, code.capacity);
	for (size_t i = 0; i < n; i++)
		rv_put(&code, rv_c_b(0, 8, 4));
	rv_put(&code, rv_c_jr(10));
	map_bytes(self->map, 0, 0x100000, "[long]", code.bytes, code.size);
	first(self);
	begin(self);
	entry(self, JR_A0, 0x100002, IJUMP);
	entry(self, 0x100000 + 2 * n, MAIN, IJUMP);
	ASSERT_EQ(decode(self), 0);
	EXPECT_EQ(self->log.blocks, 1 + 65536 + 1U);
	begin(self);
	entry(self, JR_A0, 0x100000, IJUMP);
	entry(self, 0x100000 + 2 * n, MAIN, IJUMP);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_A0), END(1, 0x100000), GAP(IMPOSSIBLE),
		    INSN(0x100000 + 2 * n), END(1, MAIN));
	free(code.bytes);
}

/* Blocks without a branch have many instructions, and what sinks say of each is kept. */
TEST_F(ctr, straight_lines_have_a_limit_of_code_too)
{
	const uint64_t start = 0x100000 - 2, end = 0x100000 + (1 << 20);
	struct rv_code code = { .capacity = end - start + 2 };

	code.bytes = calloc(1, code.capacity);
	while (code.size < end - start)
		rv_put(&code, RV_C_NOP);
	rv_put(&code, rv_c_jr(10));
	map_bytes(self->map, 0, start, "[long]", code.bytes, code.size);
	first(self);
	begin(self);
	entry(self, JR_A0, start + 2, IJUMP);
	entry(self, end, MAIN, IJUMP);
	ASSERT_EQ(decode(self), 0);
	EXPECT_EQ(self->log.blocks, 1 + 64 + 1U);
	begin(self);
	entry(self, JR_A0, start, IJUMP);
	entry(self, end, MAIN, IJUMP);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_A0), END(1, start), GAP(IMPOSSIBLE), INSN(end),
		    END(1, MAIN));
	free(code.bytes);
}

/* --- Where there is no code. --- */

TEST_F(ctr, what_is_not_mapped_is_no_image_and_its_record_is_believed)
{
	first(self);
	begin(self);
	entry(self, JR_A0, 0x90000, IJUMP);
	entry(self, 0x90010, FUNCTION, IJUMP);
	entry(self, RETURN, AFTER_CALL, RET);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_A0), END(1, 0x90000), GAP(NO_IMAGE), INSN(FUNCTION),
		    INSN(FUNCTION_2), INSN(RETURN), END(1, AFTER_CALL));
	EXPECT_EQ(self->log.gap.address, 0x90000U);
	EXPECT_NE(strstr(self->log.detail, "0x90000"), NULL);
	begin(self);
	entry(self, 0x90010, FUNCTION, IJUMP);
	entry(self, RETURN, AFTER_CALL, RET);
	EXPECT_FLOW(GAP(TRAP), GAP(NO_IMAGE), INSN(FUNCTION), INSN(FUNCTION_2), INSN(RETURN),
		    END(1, AFTER_CALL));
}

TEST_F(ctr, a_missing_file_is_no_code_and_says_why)
{
	struct flowtap_mapping mapping = {
		.start = 0x80000, .size = 0x1000, .pid = 1, .executable = true,
		.path = "/nowhere/at/all",
	};

	ASSERT_EQ(flowtap_address_map_add(self->map, &mapping), 0);
	first(self);
	begin(self);
	entry(self, 0x80010, MAIN, IJUMP);
	EXPECT_FLOW(GAP(TRAP), GAP(NO_CODE));
	EXPECT_NE(strstr(self->log.detail, "/nowhere/at/all"), NULL);
	EXPECT_EQ(self->log.gap.address, 0x80010U);
}

TEST_F(ctr, a_straight_line_goes_on_in_the_next_mapping)
{
	/* The end of MAIN's text is unknown code and a jump; after it: */
	uint8_t nops[8] = { 0x01, 0, 0x01, 0, 0x01, 0, 0x13, 0 };
	uint8_t rest[8] = { 0x01, 0, 0x02, 0x85 };

	map_bytes(self->map, 0, 0x40000, "[a]", nops, 6);
	map_bytes(self->map, 0, 0x40006, "[b]", rest, 4);
	map_bytes(self->map, 0, 0x50000, "[c]", nops, 8);
	first(self);
	begin(self);
	entry(self, JR_A0, 0x40002, IJUMP);
	entry(self, 0x40008, MAIN, IJUMP);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_A0), END(1, 0x40002), INSN(0x40002), INSN(0x40004),
		    INSN(0x40006), INSN(0x40008), END(1, MAIN));
	begin(self);				/* nothing follows this one, and the last is cut */
	entry(self, JR_A0, 0x50002, IJUMP);
	entry(self, 0x50010, MAIN, IJUMP);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_A0), END(1, 0x50002), GAP(NO_CODE));
}

TEST_F(ctr, code_that_was_replaced_since_the_last_sample_proves_nothing)
{
	uint8_t other[4] = { 0x01, 0, 0x02, 0x85 };	/* nop, c.jr a0 */

	first(self);					/* at 1010 */
	map_bytes(self->map, 1015, MAIN, "[other]", other, 4);
	map_bytes(self->map, 1015, 0x40000, "[new]", other, 4);
	begin(self);					/* 1020: may be from before 1015 */
	entry(self, 0x10002, 0x40000, IJUMP);
	entry(self, 0x40002, MAIN, IJUMP);
	EXPECT_FLOW(GAP(TRAP), GAP(NO_CODE), INSN(0x40000), INSN(0x40002), END(1, MAIN));
	EXPECT_NE(strstr(self->log.detail, "mapped anew"), NULL);
	begin(self);
	entry(self, 0x10002, 0x40000, IJUMP);
	EXPECT_FLOW(GAP(TRAP), INSN(0x10002), END(1, 0x40000));
}

TEST_F(ctr, code_mapped_after_an_exec_proves_nothing_where_other_code_was_before)
{
	uint8_t other[4] = { 0x01, 0, 0x02, 0x85 };	/* nop, c.jr a0 */

	first(self);					/* at 1010 */
	ASSERT_EQ(flowtap_address_map_exec(self->map, 1, 1013), 0);
	map_bytes(self->map, 1015, MAIN, "[other]", other, 4);
	map_bytes(self->map, 1015, 0x40000, "[new]", other, 4);
	begin(self);					/* 1020 */
	entry(self, 0x10002, 0x40000, IJUMP);
	entry(self, 0x40002, 0x40000, IJUMP);
	EXPECT_FLOW(GAP(TRAP), GAP(NO_CODE), INSN(0x40000), INSN(0x40002), END(1, 0x40000));
	EXPECT_NE(strstr(self->log.detail, "mapped anew"), NULL);
}

TEST_F(ctr, code_of_a_process_that_was_forked_and_became_another_proves_nothing)
{
	uint8_t other[4] = { 0x01, 0, 0x02, 0x85 };	/* nop, c.jr a0 */
	struct flowtap_record_sample *sample;

	first(self);					/* at 1010 */
	ASSERT_EQ(flowtap_address_map_fork(self->map, 1, 7, 1012), 0);
	ASSERT_EQ(flowtap_address_map_exec(self->map, 7, 1013), 0);
	map_bytes_of(self->map, 7, 1015, MAIN, "[other]", other, 4);
	map_bytes_of(self->map, 7, 1015, 0x40000, "[new]", other, 4);
	sample = begin(self);				/* its first, at 1020 */
	sample->pid = sample->tid = 7;
	entry(self, 0x10002, 0x40000, IJUMP);		/* may be from before it became another */
	entry(self, 0x40002, 0x40000, IJUMP);
	EXPECT_FLOW(GAP(START), GAP(NO_CODE), INSN(0x40000), INSN(0x40002), END(1, 0x40000));
	EXPECT_NE(strstr(self->log.detail, "mapped anew"), NULL);
}

TEST_F(ctr, nor_does_code_where_a_program_in_between_had_other)
{
	uint8_t other[4] = { 0x01, 0, 0x02, 0x85 };
	struct flowtap_record_sample *sample;

	ASSERT_EQ(flowtap_address_map_fork(self->map, 1, 7, 900), 0);
	sample = begin(self);				/* 1010 */
	sample->pid = sample->tid = 7;
	ASSERT_EQ(decode(self), 0);
	ASSERT_EQ(flowtap_address_map_exec(self->map, 7, 1012), 0);
	map_bytes_of(self->map, 7, 1013, 0x40000, "[between]", other, 4);
	ASSERT_EQ(flowtap_address_map_exec(self->map, 7, 1015), 0);
	map_bytes_of(self->map, 7, 1016, 0x40000, "[new]", other, 4);
	map_bytes_of(self->map, 7, 1016, 0x50000, "[new, where nothing was]", other, 4);
	sample = begin(self);				/* 1020 */
	sample->pid = sample->tid = 7;
	entry(self, 0x40002, 0x50000, IJUMP);
	entry(self, 0x50002, 0x50000, IJUMP);
	EXPECT_FLOW(GAP(TRAP), GAP(NO_CODE), INSN(0x50000), INSN(0x50002), END(1, 0x50000));
}

TEST_F(ctr, time_that_went_back_is_no_proof_either)
{
	uint8_t other[4] = { 0x01, 0, 0x02, 0x85 };

	map_bytes(self->map, 1015, MAIN, "[other]", other, 4);
	begin(self)->time = 5000;
	ASSERT_EQ(decode(self), 0);
	begin(self);					/* 1020 */
	entry(self, 0x10002, 0x40000, IJUMP);
	EXPECT_FLOW(GAP(TRAP), GAP(NO_CODE));
}

TEST_F(ctr, what_is_left_of_a_mapping_is_the_same_code)
{
	struct flowtap_mapping data = { .time = 1015, .start = UNKNOWN, .size = 0x1000, .pid = 1 };

	first(self);					/* at 1010 */
	ASSERT_EQ(flowtap_address_map_add(self->map, &data), 0);
	begin(self);					/* 1020 */
	entry(self, JR_RA, FUNCTION, RET);
	entry(self, RETURN, UNKNOWN, RET);
	entry(self, UNKNOWN, MAIN, IJUMP);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), INSN(FUNCTION), INSN(FUNCTION_2),
		    INSN(RETURN), END(1, UNKNOWN), GAP(NO_IMAGE));
}

TEST_HARNESS_MAIN
