// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that code which cannot have done what the trace says becomes a gap, with nothing of it
 * before: branches that lead elsewhere, or are always taken, or take an exception. And that what
 * only looks like that does not.
 */
#include "part_fixture.h"

#define NOP 0xd503201f
#define B(offset) (0x14000000 | ((offset) / 4 & 0x3ffffff))
#define B_EQ(offset) (0x54000000 | ((offset) / 4 & 0x7ffff) << 5)
#define BL(offset) (0x94000000 | ((offset) / 4 & 0x3ffffff))
#define RET 0xd65f03c0
#define ERET 0xd69f03e0
#define RETURN_STACK (1U << 12)

/* Alignment Sync, Trace Info, Trace On */
#define SYNC 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 0, 4
/* Context EL1 non-secure A64, Target Address 0x1000 */
#define START SYNC, 0x81, 0x31, 0x9a, 0, 8, 0, 0
#define LINES "trace_on\n" A64
/* T32 of EL0 at an address from 0x1000 on; a long address there */
#define START_T32(address) SYNC, 0x83, (address) >> 1 & 0x7f, (address) >> 8, 0, 0, 0x20
#define LONG_T32(address) 0x9b, (address) >> 1 & 0x7f, (address) >> 8, 0, 0
#define LINES_T32 "trace_on\ncontext T32 EL0 nonsecure 32\n"
#define SHORT(address) 0x95, (address) >> 2 & 0x7f	/* of A64, up to 0x11fc */
#define IRQ 0x06, 0x1d					/* Exception of type 14, E 0b01 */
#define E 0xf7
#define N 0xf6

FIXTURE(contradiction)
{
	struct part part;
	struct flowtap_ete_config config;
};

FIXTURE_SETUP(contradiction)
{
}

FIXTURE_TEARDOWN(contradiction)
{
	part_end(&self->part);
}

/* From an address on, instructions of two bytes. */
static void put_t32(struct part *part, uint64_t address, const uint16_t *opcodes, size_t n)
{
	memcpy((uint8_t *)part->words + (address - CODE), opcodes, n * sizeof(*opcodes));
}

#define BEGIN() part_begin(&self->part, &self->config, NULL)

#define WORD(address) self->part.words[((address) - CODE) / 4]

#define T32(address, ...) do {								\
	static const uint16_t opcodes_[] = { __VA_ARGS__ };				\
	put_t32(&self->part, address, opcodes_, sizeof(opcodes_) / sizeof(*opcodes_));	\
} while (0)

#define ADD(...) do {									\
	static const uint8_t bytes_[] = { __VA_ARGS__ };				\
	EXPECT_EQ(0, flowtap_ete_decode(self->part.ete, bytes_, sizeof(bytes_)));	\
} while (0)

#define DECODE(...) do {								\
	ADD(__VA_ARGS__);								\
	EXPECT_EQ(0, flowtap_ete_finish(self->part.ete));				\
} while (0)

#define EXPECT_FLOW(want) EXPECT_STREQ(want, part_flow(&self->part))

/* --- Addresses. --- */

TEST_F(contradiction, a_direct_branch_leads_to_its_target_only)
{
	BEGIN();
	WORD(0x1000) = B(0x100);
	WORD(0x1080) = B(0);
	DECODE(START, E, SHORT(0x1080), E);
	EXPECT_FLOW(LINES "gap impossible address=1000 detail=from the branch at 0x1000 the trace "
		    "continues at 0x1080, not at 0x1100\nrange 1080 1084 1 A64 E\n");
}

TEST_F(contradiction, the_address_of_the_target_agrees)
{
	BEGIN();
	WORD(0x1000) = B(0x100);
	WORD(0x1100) = B_EQ(0);
	DECODE(START, E, SHORT(0x1100), N, SHORT(0x1104), E);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\nrange 1100 1104 1 A64 N\n"
		    "range 1104 1108 1 A64 E\nno_image 1108\n");
}

TEST_F(contradiction, a_branch_that_was_not_taken_leads_to_the_next_instruction_only)
{
	BEGIN();
	WORD(0x1080) = B(0);
	DECODE(START, N, SHORT(0x1080), E);
	EXPECT_FLOW(LINES "gap impossible address=1000 detail=from the branch at 0x1000 the trace "
		    "continues at 0x1080, not at 0x1004\nrange 1080 1084 1 A64 E\n");
}

/* The same by the queue. */
TEST_F(contradiction, nor_does_a_branch_that_was_speculative)
{
	self->config.idr8 = 4;
	BEGIN();
	WORD(0x1000) = B(0x100);
	WORD(0x1080) = B(0);
	DECODE(START, E, SHORT(0x1080), E, 0x2d, 2);
	EXPECT_FLOW(LINES "gap impossible address=1000 detail=from the branch at 0x1000 the trace "
		    "continues at 0x1080, not at 0x1100\nrange 1080 1084 1 A64 E\n");
}

/* It is where the transaction began. */
TEST_F(contradiction, after_a_failed_transaction_an_address_says_nothing_of_a_branch)
{
	const struct flowtap_ete_options options = { .keep_failed_transactions = true };

	self->config.idr0 = 1U << 30;
	part_begin(&self->part, &self->config, &options);
	DECODE(START, 0x0a, E, 0x06, 0x31, 0x70, 0x9a, 0, 8, 0, 0, N);
	EXPECT_FLOW(LINES "transaction start\nrange 1000 1004 1 A64 E\ntransaction fail\n"
		    "range 1000 1004 1 A64 N\n");
}

/* --- Branches that are always taken. --- */

/* Erratum 2019409. */
TEST_F(contradiction, an_indirect_branch_to_the_next_instruction_may_be_n)
{
	BEGIN();
	WORD(0x1000) = RET;
	WORD(0x1004) = B(0);
	DECODE(START, N, SHORT(0x1004), E);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\nrange 1004 1008 1 A64 E\n");
}

TEST_F(contradiction, elsewhere_it_may_not)
{
	BEGIN();
	WORD(0x1000) = RET;
	WORD(0x1080) = B(0);
	DECODE(START, N, SHORT(0x1080), E);
	EXPECT_FLOW(LINES "gap impossible address=1000 detail=the return at 0x1000 was not taken\n"
		    "range 1080 1084 1 A64 E\n");
}

/* A recording may end between the two. */
TEST_F(contradiction, at_the_end_nobody_knows_which_it_is)
{
	BEGIN();
	WORD(0x1000) = RET;
	WORD(0x1004) = B(0);
	DECODE(START, N);
	DECODE(START, N, N);
	EXPECT_FLOW(LINES "gap no_address address=1000 detail=the return at 0x1000 was not taken, "
		    "or its address is missing\n" LINES
		    "gap impossible address=1000 detail=the return at 0x1000 was not taken\n");
}

TEST_F(contradiction, no_way_leads_past_a_return_of_t32)
{
	BEGIN();
	T32(0x1040, 0xe006, 0xbf00);			/* b 0x1050 */
	T32(0x104c, 0xbf00, 0xbf00, 0x2000, 0x4770, 0x2000, 0x2000);	/* bx lr at 0x1052 */
	DECODE(START_T32(0x1040), E, IRQ, LONG_T32(0x1056));
	EXPECT_FLOW(LINES_T32 "range 1040 1042 1 T32 E\ngap impossible address=1052 detail=the "
		    "return at 0x1052 was not taken\nexception 14 1056\n");
}

TEST_F(contradiction, in_an_it_block_that_began_before_one_does)
{
	BEGIN();
	/* itt eq, moveq, bxeq lr, b . */
	T32(0x1040, 0xbf04, 0x2000, 0x4770, 0xe7fe);
	DECODE(START_T32(0x1042), N, E);
	EXPECT_FLOW(LINES_T32 "range 1042 1046 2 T32 N\nrange 1046 1048 1 T32 E\n");
}

TEST_F(contradiction, an_it_block_that_ended_before_makes_none_conditional)
{
	BEGIN();
	/* it eq, moveq, movs, bx lr, b . */
	T32(0x1040, 0xbf08, 0x2000, 0x2000, 0x4770, 0xe7fe);
	DECODE(START_T32(0x1044), N, LONG_T32(0x1048), E);
	EXPECT_FLOW(LINES_T32 "range 1044 1048 2 T32 E\nrange 1048 104a 1 T32 E\n");
	EXPECT_EQ(0, self->part.ete->counts.gaps[FLOWTAP_GAP_IMPOSSIBLE]);
	DECODE(START_T32(0x1044), N, LONG_T32(0x1050));
	EXPECT_EQ(1, self->part.ete->counts.gaps[FLOWTAP_GAP_IMPOSSIBLE]);
}

/* --- UDF. --- */

TEST_F(contradiction, an_atom_does_not_pass_an_undefined_instruction)
{
	BEGIN();
	WORD(0x1000) = NOP;
	WORD(0x1004) = 0;
	WORD(0x1008) = B(0);
	DECODE(START, E, SHORT(0x1008), E);
	EXPECT_FLOW(LINES "gap impossible address=1004 detail=the undefined instruction at 0x1004 "
		    "was passed\nrange 1008 100c 1 A64 E\n");
}

TEST_F(contradiction, nor_does_an_exception_after_it)
{
	BEGIN();
	WORD(0x1000) = NOP;
	WORD(0x1004) = 0x1234;
	WORD(0x1008) = NOP;
	DECODE(START, IRQ, SHORT(0x100c));
	EXPECT_FLOW(LINES "gap impossible address=1004 detail=the undefined instruction at 0x1004 "
		    "was passed\nexception 14 100c\n");
}

TEST_F(contradiction, its_own_exception_is_before_it)
{
	BEGIN();
	WORD(0x1000) = NOP;
	WORD(0x1004) = 0;
	DECODE(START, 0x06, 0x07, SHORT(0x1004));
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\nexception 3 1004\n");
}

TEST_F(contradiction, a_q_element_does_not_pass_it_either)
{
	self->config.idr0 = 3U << 15;
	self->config.configr = 3U << 13;
	BEGIN();
	WORD(0x1000) = NOP;
	WORD(0x1004) = 0;
	WORD(0x1008) = B(0);
	DECODE(START, 0xac, 2, SHORT(0x1008), E);
	EXPECT_FLOW(LINES "q_range 1000 1008 2\nrange 1008 100c 1 A64 E\n");
}

/* --- Nothing before the whole way is proven. --- */

/* An ETE may leave out what was not taken, an ETMv4 has an atom of each. */
TEST_F(contradiction, an_exception_does_not_pass_a_branch_without_an_atom)
{
	BEGIN();
	WORD(0x1000) = WORD(0x1008) = NOP;
	WORD(0x1004) = B_EQ(0x20);
	DECODE(START, IRQ, SHORT(0x100c), SHORT(0x1000));
	EXPECT_STREQ(LINES "range 1000 100c 3 A64 E\nexception 14 100c\n", part_flow(&self->part));
	part_end(&self->part);
	self->config.devarch = FLOWTAP_ETM4_DEVARCH;
	BEGIN();
	WORD(0x1000) = WORD(0x1008) = NOP;
	WORD(0x1004) = B_EQ(0x20);
	DECODE(START, IRQ, SHORT(0x100c), SHORT(0x1000));
	EXPECT_STREQ(LINES "gap impossible address=1004 detail=the branch at 0x1004 has no "
		     "atom\nexception 14 100c\n", part_flow(&self->part));
}

/* The trace begins with it, whatever is known of what was before. */
TEST_F(contradiction, a_reset_comes_after_nothing)
{
	BEGIN();
	WORD(0x1000) = B(0x10);
	DECODE(SYNC, 0x06, 0x01, 0x70, 0x81, 0x31, 0x9a, 0, 8, 0, 0, E);
	EXPECT_STREQ("trace_on\nexception 0 0\n" A64 "range 1000 1004 1 A64 E\n",
		     part_flow(&self->part));
}

TEST_F(contradiction, an_exception_that_cannot_be_reached_has_no_way)
{
	BEGIN();
	WORD(0x1004) = RET;
	DECODE(START, IRQ, SHORT(0x100c));
	EXPECT_FLOW(LINES "gap impossible address=1004 detail=the return at 0x1004 was not taken\n"
		    "exception 14 100c\n");
}

TEST_F(contradiction, a_source_address_that_cannot_be_reached_has_no_way)
{
	BEGIN();
	WORD(0x1004) = RET;
	WORD(0x1008) = B(0);
	DECODE(START, 0xb4, 0x02, E);
	EXPECT_FLOW(LINES "gap impossible address=1004 detail=the return at 0x1004 was not taken\n"
		    "range 1008 100c 1 A64 E\nrange 1008 100c 1 A64 E\n");
}

TEST_F(contradiction, where_there_is_no_code_what_came_before_was_executed)
{
	BEGIN();
	WORD(0x1000) = B(0x100);
	WORD(0x1100) = B_EQ(0);
	DECODE(START, E, IRQ, 0x95, 0xc8, 0x08 /* 0x1120 */);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\nrange 1100 1108 2 A64 E\n"
		    "no_image 1108\nexception 14 1120\n");
}

/* --- Exceptions. --- */

TEST_F(contradiction, an_exception_is_not_before_what_was_executed_last)
{
	BEGIN();
	WORD(0x1000) = B(0x100);
	DECODE(START, E, IRQ, SHORT(0x1080));
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\ngap impossible address=1100 detail=an "
		    "exception at 0x1080, which is before 0x1100\nexception 14 1080\n");
}

/* K10.5.5.6: the addresses begin anew. */
TEST_F(contradiction, at_the_top_of_memory_it_may_be)
{
	BEGIN();
	/* A32 at 0xfffffffc; an exception at 0 */
	DECODE(SYNC, 0x82, 0x7f, 0x7f, 0xff, 0xff, 0x21, IRQ, 0x9a, 0, 0, 0, 0);
	EXPECT_FLOW("trace_on\ncontext A32 EL1 nonsecure 32\nexception 14 0\n");
}

TEST_F(contradiction, after_a_q_element_it_may_be)
{
	self->config.idr0 = 3U << 15;
	self->config.configr = 3U << 13;
	BEGIN();
	/* Q of two instructions, which leads to 0x1008 */
	DECODE(START, 0xac, 2, SHORT(0x1008), IRQ, SHORT(0x1004));
	EXPECT_FLOW(LINES "q_range 1000 1008 2\nexception 14 1004\n");
}

/* The branch at 0x1008 leads to itself. */
TEST_F(contradiction, where_something_was_executed_after_the_q_element_it_may_not)
{
	self->config.idr0 = 3U << 15;
	self->config.configr = 3U << 13;
	BEGIN();
	WORD(0x1008) = B(0);
	DECODE(START, 0xac, 2, SHORT(0x1008), E, IRQ, SHORT(0x1004));
	EXPECT_FLOW(LINES "q_range 1000 1008 2\nrange 1008 100c 1 A64 E\ngap impossible "
		    "address=1008 detail=an exception at 0x1004, which is before 0x1008\n"
		    "exception 14 1004\n");
}

/* Nor where something was that cannot be read: it is a gap, and the address comes again. */
TEST_F(contradiction, nor_where_a_gap_was)
{
	self->config.idr0 = 3U << 15;
	self->config.configr = 3U << 13;
	BEGIN();
	WORD(0x1008) = 0;
	DECODE(START, 0xac, 2, SHORT(0x1008), E, SHORT(0x1008), IRQ, SHORT(0x1004));
	EXPECT_FLOW(LINES "q_range 1000 1008 2\ngap impossible address=1008 detail=the undefined "
		    "instruction at 0x1008 was passed\ngap impossible address=1008 detail=an "
		    "exception at 0x1004, which is before 0x1008\nexception 14 1004\n");
}

/* The next trace begins at the address that the Q element led to; it has no Trace On. */
TEST_F(contradiction, nor_in_the_next_session)
{
	self->config.idr0 = 3U << 15;
	self->config.configr = 3U << 13;
	BEGIN();
	DECODE(START, 0xac, 2, SHORT(0x1008));
	DECODE(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 0, 0x81, 0x31, 0x9a, 2, 8, 0, 0, IRQ,
	       SHORT(0x1004));
	EXPECT_FLOW(LINES "q_range 1000 1008 2\n" A64 "gap impossible address=1008 detail=an "
		    "exception at 0x1004, which is before 0x1008\nexception 14 1004\n");
}

/* --- What the return stack has. --- */

/* A call of 0x1040, which calls 0x1100, which returns; a handler at 0x1080. */
static void put_calls(struct part *part)
{
	const struct { uint32_t address, opcode; } calls[] = {
		{ 0x1000, BL(0x40) }, { 0x1004, B(0) }, { 0x1040, BL(0xc0) }, { 0x1044, RET },
		{ 0x1080, ERET }, { 0x1100, RET },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		part->words[(calls[i].address - CODE) / 4] = calls[i].opcode;
}

/* An exception came where the inner call returned to. */
#define RETURNED LINES "range 1000 1004 1 A64 E\nrange 1040 1044 1 A64 E\n"			\
	"range 1100 1104 1 A64 E\nexception 14 1044\nrange 1080 1084 1 A64 E\neret\n"	\
	"range 1044 1048 1 A64 E\nrange 1004 1008 1 A64 E\n"

/* Erratum 1185472: E 0b10, though the trace unit has found the address on its return stack. */
TEST_F(contradiction, an_exception_that_tells_the_top_of_the_return_stack_takes_it_off)
{
	self->config.configr = RETURN_STACK;
	BEGIN();
	put_calls(&self->part);
	DECODE(START, E, E, E, 0x06, 0x5c, SHORT(0x1044), SHORT(0x1080), E, SHORT(0x1044), E, E);
	EXPECT_FLOW(RETURNED);
}

/* A recording was cut after the return: what came then ends the same branch. */
TEST_F(contradiction, it_takes_it_off_after_a_flush_as_well)
{
	self->config.configr = RETURN_STACK;
	BEGIN();
	put_calls(&self->part);
	ADD(START, E, E, E);
	EXPECT_EQ(0, flowtap_ete_flush(self->part.ete));
	DECODE(0x06, 0x5c, SHORT(0x1044), SHORT(0x1080), E, SHORT(0x1044), E, E);
	EXPECT_FLOW(RETURNED);
}

/* No trace unit takes the address of an exception return from its stack. */
TEST_F(contradiction, after_an_exception_return_it_stays)
{
	self->config.configr = RETURN_STACK;
	BEGIN();
	WORD(0x1000) = BL(0x100);
	WORD(0x1004) = B(0);
	WORD(0x1080) = ERET;
	WORD(0x1100) = ERET;
	WORD(0x1040) = RET;
	ADD(START, E, E);
	EXPECT_EQ(0, flowtap_ete_flush(self->part.ete));
	DECODE(0x06, 0x5c, SHORT(0x1004), SHORT(0x1080), E, SHORT(0x1040), E, E);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\nrange 1100 1104 1 A64 E\neret\n"
		    "exception 14 1004\nrange 1080 1084 1 A64 E\neret\n"
		    "range 1040 1044 1 A64 E\nrange 1004 1008 1 A64 E\n");
}

/* An address of its own: the trace unit has not found it. */
TEST_F(contradiction, one_that_was_told_before_it_stays)
{
	self->config.configr = RETURN_STACK;
	BEGIN();
	WORD(0x1000) = BL(0x100);
	WORD(0x1004) = RET;
	WORD(0x1080) = ERET;
	WORD(0x1100) = RET;
	DECODE(START, E, E, SHORT(0x1004), 0x06, 0x5c, SHORT(0x1004), SHORT(0x1080), E,
	       SHORT(0x1100), E, E);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\nrange 1100 1104 1 A64 E\nexception 14 1004\n"
		    "range 1080 1084 1 A64 E\neret\nrange 1100 1104 1 A64 E\n"
		    "range 1004 1008 1 A64 E\n");
}

/*
 * E 0b10 tells an address with a failed transaction or a reset (ExceptionPacket(), K10.5.2.13.1): it
 * is of the transaction, and goes with it. What is executed next is where that began.
 */
TEST_F(contradiction, the_address_of_a_failed_transaction_fails_with_it)
{
	BEGIN();
	WORD(0x1000) = B_EQ(0x80);
	DECODE(START, 0x0a, E, 0x06, 0x70, SHORT(0x1104), N);
	EXPECT_FLOW(LINES "transaction start\ntransaction fail\nrange 1000 1004 1 A64 N\n");
}

TEST_F(contradiction, a_reset_with_an_address_ends_a_transaction)
{
	BEGIN();
	WORD(0x1000) = B_EQ(0x80);
	DECODE(START, 0x0a, E, 0x06, 0x40, SHORT(0x1104), SHORT(0x1000), N);
	EXPECT_FLOW(LINES "transaction start\ntransaction fail\nexception 0 0\n"
		    "range 1000 1004 1 A64 N\n");
}

static const struct flowtap_ete_config m_profile = {
	.devarch = 0x47754a13, .idr1 = 0x4100f450, .configr = RETURN_STACK, .m_profile = true,
};

/* OpenCSD's issue 88: the exception return has led nowhere yet. */
TEST_F(contradiction, an_exception_right_after_an_exception_return_takes_nothing_off_the_stack)
{
	self->config = m_profile;
	BEGIN();
	T32(0x1000, 0xf000, 0xf87e, 0xe7fe);		/* bl 0x1100, b . */
	T32(0x1080, 0x4770);				/* bx lr */
	T32(0x1100, 0x4770);
	/* types 15 and 16, both at 0x1100 */
	DECODE(START_T32(0x1000), E, 0x06, 0x1f, LONG_T32(0x1100), LONG_T32(0x1080), E, 0x07,
	       0x06, 0x21, LONG_T32(0x1100), LONG_T32(0x1080), E, 0x07, LONG_T32(0x1100), E, E);
	EXPECT_FLOW(LINES_T32 "range 1000 1004 1 T32 E\nexception 15 1100\n"
		    "range 1080 1082 1 T32 E\neret\nexception 16 1100\n"
		    "range 1080 1082 1 T32 E\neret\nrange 1100 1102 1 T32 E\n"
		    "range 1004 1006 1 T32 E\n");
}

TEST_F(contradiction, an_exception_return_without_an_address_is_a_gap)
{
	self->config = m_profile;
	BEGIN();
	T32(0x1000, 0xf000, 0xf87e, 0xe7fe);
	T32(0x1100, 0x4770);
	DECODE(START_T32(0x1000), E, E, 0x07, E);
	EXPECT_FLOW(LINES_T32 "range 1000 1004 1 T32 E\nrange 1100 1102 1 T32 E\neret\n"
		    "gap no_address detail=an exception return has no address in the trace\n");
}

/* Of other profiles it is an indirect branch like others: its target can be the return stack's. */
TEST_F(contradiction, an_exception_return_of_an_a_profile_leads_to_what_the_stack_has)
{
	self->config = (struct flowtap_ete_config){ .devarch = 0x47754a13, .configr = RETURN_STACK };
	BEGIN();
	WORD(0x1000) = BL(0x100);
	WORD(0x1004) = B(0);
	WORD(0x1100) = ERET;
	DECODE(START, E, E, 0x07, E);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\nrange 1100 1104 1 A64 E\neret\n"
		    "range 1004 1008 1 A64 E\n");
}

/* Which of the two the sub-ISA is says nothing in A64. */
TEST_F(contradiction, an_address_of_a64_is_one_by_either_packet)
{
	BEGIN();
	WORD(0x1000) = B(0x100);
	WORD(0x1100) = B(0);
	DECODE(START, E, 0x96, 0x80, 0x11, E);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\nrange 1100 1104 1 A64 E\n");
}

/* No address comes with it: direct branches have led from T32 to A32, on a way that is known. */
TEST_F(contradiction, a_context_has_the_instruction_set_that_branches_led_to)
{
	BEGIN();
	T32(0x1000, 0xf000, 0xe83e);			/* blx 0x1080 */
	WORD(0x1080) = 0xea000000;			/* b 0x1088 */
	WORD(0x1088) = 0xfaffffdc;			/* blx 0x1000 */
	DECODE(START_T32(0x1000), E, E, E, E, 0x81, 0x21, E, E, 0x81, 0x20, E);
	EXPECT_FLOW(LINES_T32 "range 1000 1004 1 T32 E\nrange 1080 1084 1 A32 E\nrange 1088 108c 1 A32 E\n"
		    "range 1000 1004 1 T32 E\ncontext A32 EL1 nonsecure 32\n"
		    "range 1080 1084 1 A32 E\nrange 1088 108c 1 A32 E\n"
		    "context T32 EL0 nonsecure 32\nrange 1000 1004 1 T32 E\n");
}

TEST_HARNESS_MAIN
