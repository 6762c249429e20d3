// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what of an M profile's exceptions is no change of the flow, or has no address of code:
 * values that return (EXC_RETURN, FNC_RETURN), tail-chaining, lazy floating-point state, lockup,
 * debug halt.
 */
#include "part_fixture.h"

/* Alignment Sync, Trace Info, Trace On, Target Address with Context: T32 of EL0, at 0x1000 on */
#define START(address) 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 0, 4,	\
	0x83, (address) >> 1 & 0x7f, (address) >> 8, 0, 0, 0x20
#define LONG(address) 0x9b, (address) >> 1 & 0x7f, (address) >> 8, 0, 0
#define TAIL_CHAINED 0x9b, 0x7f, 0xff, 0xff, 0xff	/* the address 0xfffffffe */
#define FNC_RETURN 0x9b, 0x7f, 0xff, 0xff, 0xfe		/* 0xfefffffe */
#define LOCKED_UP 0x9b, 0x7f, 0xff, 0xff, 0xef		/* 0xeffffffe */
#define SAME 0x90					/* the last address again */
#define EXCEPTION(type) 0x06, (type) << 1 | 0x01	/* E 0b01: the return address follows */
#define EXCEPTION_AT(type) 0x06, (type) << 1 | 0x40	/* E 0b10: ... which is the target, too */
#define RETURN 0x07
#define FUNCTION_RETURN 0x05
#define BRANCH_FUTURE_FLUSH 0x00, 0x07
#define COMMIT(n) 0x2d, n
#define CANCEL(n) 0x2e, n
#define E 0xf7

#define LINES "trace_on\ncontext T32 EL0 nonsecure 32\n"
#define CALL "range 1000 1004 1 T32 E\n"
#define LOOP "range 1004 1006 1 T32 E\n"
#define HANDLER "range 1080 1082 1 T32 E\n"
#define CALLED "range 1100 1102 1 T32 E\n"

#define ARMV7_M 0x40		/* versions of their ETMv4 */
#define ARMV8_1_M 0x45

FIXTURE(m_profile)
{
	struct part part;
};

/* Of a trace unit with a return stack; so many P0 elements may be speculative. */
static void begin(struct part *part, uint32_t version, uint32_t speculative)
{
	const struct flowtap_ete_config config = {
		.devarch = 0x47754a13, .idr1 = 0x4100f000 | version << 4, .configr = 1 << 12,
		.idr8 = speculative, .m_profile = true,
	};
	static const struct {
		uint16_t address, opcode;
	} program[] = {
		{ 0x1000, 0xf000 }, { 0x1002, 0xf87e },	/* bl 0x1100 */
		{ 0x1004, 0xe7fe },			/* b 0x1004 */
		{ 0x1040, 0xbf00 }, { 0x1042, 0xbf00 }, { 0x1044, 0xe7fc },	/* ... b 0x1040 */
		{ 0x1080, 0x4770 },			/* bx lr, a handler */
		{ 0x1100, 0x4770 },			/* bx lr */
	};

	part_begin(part, &config, NULL);
	for (size_t i = 0; i < sizeof(program) / sizeof(program[0]); i++)
		memcpy((uint8_t *)part->words + (program[i].address - CODE), &program[i].opcode,
		       sizeof(program[i].opcode));
}

FIXTURE_SETUP(m_profile)
{
	begin(&self->part, ARMV8_1_M, 0);
}

FIXTURE_TEARDOWN(m_profile)
{
	part_end(&self->part);
}

#define EXPECT_DECODED(want, ...) do {							\
	static const uint8_t bytes_[] = { __VA_ARGS__ };				\
	EXPECT_EQ(0, flowtap_ete_decode(self->part.ete, bytes_, sizeof(bytes_)));	\
	EXPECT_EQ(0, flowtap_ete_finish(self->part.ete));				\
	EXPECT_STREQ(LINES want, part_flow(&self->part));				\
} while (0)

TEST_F(m_profile, a_flush_of_branch_futures_changes_nothing)
{
	EXPECT_DECODED(CALL CALLED LOOP, START(0x1000), BRANCH_FUTURE_FLUSH, E, BRANCH_FUTURE_FLUSH, E,
		       BRANCH_FUTURE_FLUSH, LONG(0x1004), E);
}

TEST_F(m_profile, nor_does_one_before_the_trace_begins)
{
	EXPECT_DECODED(CALL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, BRANCH_FUTURE_FLUSH, 1, 0, 4, 0x83,
		       0x00, 0x10, 0, 0, 0x20, E);
}

/* It has the address of its handler too, where E is 0b10: of no context yet. */
TEST_F(m_profile, a_trace_that_begins_with_a_reset_lacks_nothing)
{
	static const uint8_t sync[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 0, 4 };
	static const uint8_t resets[][7] = {
		{ EXCEPTION(1), LONG(0x1080) }, { EXCEPTION_AT(1), LONG(0x1080) },
	};
	static const uint8_t rest[] = { 0x83, 0x40, 0x10, 0, 0, 0x20, E };

	for (size_t i = 0; i < 2; i++) {
		part_end(&self->part);
		begin(&self->part, ARMV8_1_M, 0);
		EXPECT_EQ(0, flowtap_ete_decode(self->part.ete, sync, sizeof(sync)));
		EXPECT_EQ(0, flowtap_ete_decode(self->part.ete, resets[i], sizeof(resets[i])));
		EXPECT_EQ(0, flowtap_ete_decode(self->part.ete, rest, sizeof(rest)));
		EXPECT_EQ(0, flowtap_ete_finish(self->part.ete));
		EXPECT_STREQ("trace_on\nexception 1 0\ncontext T32 EL0 nonsecure 32\n" HANDLER,
			     part_flow(&self->part));
	}
}

/* --- Tail-chaining. The return stack has 0x1004 all the while. --- */

#define BEFORE CALL "exception 15 1100\n" HANDLER "eret\nexception 16 0\n"
#define AFTER HANDLER "eret\n" CALLED LOOP

TEST_F(m_profile, a_tail_chained_exception_has_no_return_address)
{
	EXPECT_DECODED(BEFORE AFTER, START(0x1000), E, EXCEPTION(15), LONG(0x1100), LONG(0x1080), E,
		       RETURN, EXCEPTION(16), TAIL_CHAINED, LONG(0x1080), E, RETURN, LONG(0x1100),
		       E, E);
}

TEST_F(m_profile, the_value_that_returns_is_told_as_an_address)
{
	EXPECT_DECODED(BEFORE AFTER, START(0x1000), E, EXCEPTION(15), LONG(0x1100), LONG(0x1080), E,
		       RETURN, TAIL_CHAINED, EXCEPTION(16), SAME, LONG(0x1080), E, RETURN,
		       LONG(0x1100), E, E);
}

TEST_F(m_profile, the_exception_has_the_value_as_the_target)
{
	EXPECT_DECODED(BEFORE AFTER, START(0x1000), E, EXCEPTION(15), LONG(0x1100), LONG(0x1080), E,
		       RETURN, EXCEPTION_AT(16), TAIL_CHAINED, LONG(0x1080), E, RETURN,
		       LONG(0x1100), E, E);
}

/* No way leads from the handler to it: none has to. */
TEST_F(m_profile, it_is_none_either_where_an_address_is_known)
{
	EXPECT_DECODED(CALL "exception 15 1100\nexception 16 0\n" AFTER, START(0x1000), E,
		       EXCEPTION(15), LONG(0x1100), LONG(0x1080), EXCEPTION(16), TAIL_CHAINED,
		       LONG(0x1080), E, RETURN, LONG(0x1100), E, E);
}

TEST_F(m_profile, nothing_is_executed_at_the_value)
{
	EXPECT_DECODED(HANDLER "eret\ngap no_address detail=an exception return has no address in "
		       "the trace\n", START(0x1080), E, RETURN, TAIL_CHAINED, E);
	EXPECT_EQ(1, self->part.looked_up);
}

/* However many bytes come at once: with so many after them, atoms and addresses take no queue. */
#define IGNORED_8 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70
#define IGNORED_48 IGNORED_8, IGNORED_8, IGNORED_8, IGNORED_8, IGNORED_8, IGNORED_8

TEST_F(m_profile, nor_where_no_return_is_told)
{
	EXPECT_DECODED(HANDLER "gap no_address detail=an exception return has no address in the "
		       "trace\n", START(0x1080), E, TAIL_CHAINED, E, IGNORED_48);
	EXPECT_EQ(1, self->part.looked_up);
}

TEST_F(m_profile, a_function_returns_to_the_address_after_the_value)
{
	EXPECT_DECODED(CALLED HANDLER, START(0x1100), E, FNC_RETURN, FUNCTION_RETURN, LONG(0x1080),
		       E);
	EXPECT_EQ(1, self->part.looked_up);
}

/* --- What sinks hear. --- */

static uint64_t handler_went_to;

static int take_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		      uint64_t target)
{
	(void)sink;
	(void)taken;
	if (block->address == 0x1080)
		handler_went_to = target;
	return 0;
}

static int take_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	(void)sink;
	(void)element;
	return 0;
}

#define EXPECT_HANDLER_WENT_TO(address, ...) do {					\
	static const uint8_t bytes_[] = { __VA_ARGS__ };				\
	struct flowtap_sink sink_ = { .block = take_block, .element = take_element };	\
	handler_went_to = 1;								\
	self->part.ete->sink = &sink_;							\
	EXPECT_EQ(0, flowtap_ete_decode(self->part.ete, bytes_, sizeof(bytes_)));	\
	EXPECT_EQ(0, flowtap_ete_finish(self->part.ete));				\
	EXPECT_EQ(address, handler_went_to);						\
} while (0)

TEST_F(m_profile, the_value_is_no_target)
{
	EXPECT_HANDLER_WENT_TO(0, START(0x1080), E, RETURN, EXCEPTION_AT(16), TAIL_CHAINED);
}

TEST_F(m_profile, nor_is_it_where_more_bytes_follow)
{
	EXPECT_HANDLER_WENT_TO(0, START(0x1080), E, TAIL_CHAINED, E, IGNORED_48);
}

/* The return is a P0 element, and committed as the branch is: both wait for the address. */
TEST_F(m_profile, a_return_is_committed_before_its_address_comes)
{
	part_end(&self->part);
	begin(&self->part, ARMV7_M, 8);
	EXPECT_HANDLER_WENT_TO(0x1100, START(0x1080), E, RETURN, COMMIT(2), LONG(0x1100), E,
			       COMMIT(1));
}

TEST_F(m_profile, a_function_return_is_committed_before_its_address_comes)
{
	part_end(&self->part);
	begin(&self->part, ARMV8_1_M, 8);
	EXPECT_HANDLER_WENT_TO(0x1100, START(0x1080), E, COMMIT(1), FUNCTION_RETURN, COMMIT(1),
			       LONG(0x1100), E, COMMIT(1));
}

/* Of Armv8-M it is none: each Commit is of the branches alone. */
TEST_F(m_profile, an_exception_return_of_armv8_is_not_committed)
{
	part_end(&self->part);
	begin(&self->part, ARMV8_1_M, 8);
	EXPECT_DECODED(HANDLER "eret\n" CALLED LOOP, START(0x1080), E, RETURN, LONG(0x1100), E,
		       COMMIT(2), LONG(0x1004), E, COMMIT(1));
}

/* The branch is not, where only it was committed. */
TEST_F(m_profile, a_return_is_cancelled_after_its_branch_was_committed)
{
	part_end(&self->part);
	begin(&self->part, ARMV7_M, 8);
	EXPECT_DECODED(HANDLER CALLED, START(0x1080), E, RETURN, COMMIT(1), CANCEL(1), LONG(0x1100),
		       E, COMMIT(1));
}

/* Whatever waits: what comes after a return is asked for the branch before it only. */
TEST_F(m_profile, the_work_for_returns_is_linear)
{
	static const uint8_t start[] = { START(0x1080), E };
	enum { RETURNS = 20000 };
	static uint8_t bytes[RETURNS];
	const uint64_t *looked_at;

	part_end(&self->part);
	begin(&self->part, ARMV8_1_M, FLOWTAP_ETE_SPECULATION_MAX);
	looked_at = &self->part.ete->looked_at;
	memset(bytes, RETURN, sizeof(bytes));
	EXPECT_EQ(0, flowtap_ete_decode(self->part.ete, start, sizeof(start)));
	EXPECT_EQ(0, flowtap_ete_decode(self->part.ete, bytes, sizeof(bytes)));
	EXPECT_EQ(0, flowtap_ete_finish(self->part.ete));
	EXPECT_GE(2 * RETURNS, *looked_at);
}

/* --- Lazy floating-point state: pushed before the instruction that needs the registers. --- */

TEST_F(m_profile, the_flow_goes_on_after_a_lazy_push)
{
	EXPECT_DECODED("range 1040 1042 1 T32 E\nexception 25 1042\nrange 1042 1046 2 T32 E\n",
		       START(0x1040), EXCEPTION(25), LONG(0x1042), E);
}

TEST_F(m_profile, an_address_after_a_lazy_push_counts)
{
	EXPECT_DECODED("range 1040 1042 1 T32 E\nexception 25 1042\n" HANDLER,
		       START(0x1040), EXCEPTION(25), LONG(0x1042), LONG(0x1080), E);
}

TEST_F(m_profile, a_lazy_push_faults)
{
	EXPECT_DECODED("range 1040 1042 1 T32 E\nexception 25 1042\nexception 5 1042\n" HANDLER,
		       START(0x1040), EXCEPTION(25), LONG(0x1042), EXCEPTION(5), SAME, LONG(0x1080),
		       E);
}

TEST_F(m_profile, a_lazy_push_leaves_the_return_stack_alone)
{
	EXPECT_DECODED(CALL "exception 25 1100\n" CALLED LOOP, START(0x1000), E, EXCEPTION(25),
		       LONG(0x1100), E, E);
}

/* --- Debug halt, whose number is that of an ETE's failed transaction. --- */

TEST_F(m_profile, a_debug_halt_ends_no_transaction)
{
	EXPECT_DECODED("exception 24 1042\n" HANDLER, START(0x1040), EXCEPTION_AT(24), LONG(0x1042),
		       LONG(0x1080), E);
}

/* --- Lockup: nothing is executed. --- */

TEST_F(m_profile, an_exception_ends_a_lockup)
{
	EXPECT_DECODED("range 1040 1042 1 T32 E\nexception 26 1042\nexception 2 effffffe\n" HANDLER,
		       START(0x1040), EXCEPTION(26), LONG(0x1042), EXCEPTION(2), LOCKED_UP,
		       LONG(0x1080), E);
}

TEST_F(m_profile, the_address_of_a_lockup_is_told)
{
	EXPECT_DECODED("range 1040 1042 1 T32 E\nexception 26 1042\nexception 2 effffffe\n" HANDLER,
		       START(0x1040), EXCEPTION(26), LONG(0x1042), LOCKED_UP, EXCEPTION(2), SAME,
		       LONG(0x1080), E);
}

TEST_F(m_profile, an_atom_after_a_lockup_is_of_no_address)
{
	EXPECT_DECODED("range 1040 1042 1 T32 E\nexception 26 1042\ngap no_address detail=no "
		       "address after a lockup\n", START(0x1040), EXCEPTION(26), LONG(0x1042), E);
}

TEST_HARNESS_MAIN
