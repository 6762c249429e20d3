// SPDX-License-Identifier: GPL-2.0-only
/* Shows which calls are counted, for which function, and what is said where that is not known. */
#include <flowtap/arm.h>
#include <flowtap/calls.h>

#include "support/sink.h"

#include <errno.h>
#include <fcntl.h>

#include "support/kselftest_harness.h"

#define FIRST	0x1000U
#define SECOND	0x2000U
#define NAMED	0x4000U		/* by whoever made the file */

static const char *made_name;

static const char *symbol(void *argument, uint64_t address, uint64_t *offset)
{
	*offset = address & 0xfff;
	switch (address & ~0xfffULL) {
	case FIRST:
		return "first";
	case SECOND:
		return "second";
	case NAMED:
		return made_name;
	default:
		return NULL;
	}
}

static const char *object(void *argument, uint64_t address)
{
	return (address & ~0xfffULL) == FIRST ? "/lib/seven" : NULL;
}

/* A block of A64 at an address that ends with that class. */
static struct flowtap_block block_at(uint64_t address, uint32_t key, uint8_t end)
{
	return (struct flowtap_block){
		.address = address, .key = key, .size = 4, .instructions = 1, .end = end,
		.isa = FLOWTAP_ISA_A64, .link = end == FLOWTAP_ARM_CALL,
	};
}

FIXTURE(calls)
{
	struct output output;
	struct flowtap_calls *calls;
	struct flowtap_sink *sink;
	struct flowtap_block call, first, second, bare;
};

FIXTURE_SETUP(calls)
{
	const struct flowtap_calls_options options = { .symbol = symbol, .object = object };

	self->output = output_new();
	ASSERT_EQ(0, flowtap_calls_new(self->output.fd, &options, &self->calls));
	self->sink = flowtap_calls_sink(self->calls);
	self->call = block_at(0x100, 7, FLOWTAP_ARM_CALL);
	self->first = block_at(FIRST, 7, FLOWTAP_ARM_RETURN);
	self->second = block_at(SECOND, 8, FLOWTAP_ARM_RETURN);
	self->bare = block_at(0x3000, 9, FLOWTAP_ARM_RETURN);
}

FIXTURE_TEARDOWN(calls)
{
	flowtap_calls_free(self->calls);
	output_free(&self->output);
}

#define CALL(target) EXPECT_EQ(0, sink_block(self->sink, &self->call, true, target))
#define RUN(block) EXPECT_EQ(0, sink_block(self->sink, &self->block, true, 0x104))
#define EXPECT_LINES(want) do {									\
	EXPECT_EQ(0, flowtap_calls_finish(self->calls));					\
	output_read(&self->output);								\
	EXPECT_STREQ("# calls function object\n" want, (const char *)self->output.bytes);	\
} while (0)

TEST_F(calls, are_counted_by_what_is_called)
{
	for (int i = 0; i < 3; i++) {
		CALL(SECOND);
		RUN(second);
	}
	CALL(FIRST);
	RUN(first);
	CALL(0x3000);
	RUN(bare);
	EXPECT_LINES("3 second -\n1 first /lib/seven\n1 0x3000 -\n");
}

/* What is no call, or a call that was not executed. */
TEST_F(calls, are_no_jumps_and_not_those_that_were_not_taken)
{
	EXPECT_EQ(0, sink_block(self->sink, &self->first, true, SECOND));
	RUN(second);
	EXPECT_EQ(0, sink_block(self->sink, &self->call, false, 0x104));
	RUN(first);
	EXPECT_LINES("");
}

TEST_F(calls, of_risc_v_are_those_that_smctr_calls_so)
{
	for (int end = 0; end < 16; end++) {
		self->call.isa = FLOWTAP_ISA_RV64;
		self->call.link = false;
		self->call.end = end;
		CALL(FIRST);
		RUN(first);
	}
	EXPECT_LINES("2 first /lib/seven\n");
}

/* One function at other addresses, and called in its midst. */
TEST_F(calls, of_one_function_are_in_one_line)
{
	struct flowtap_block later = block_at(FIRST + 8, 7, FLOWTAP_ARM_RETURN);

	CALL(FIRST);
	RUN(first);
	CALL(FIRST + 8);
	EXPECT_EQ(0, sink_block(self->sink, &later, true, 0));
	EXPECT_LINES("2 first /lib/seven\n");
}

TEST_F(calls, into_a_gap_count_by_their_address)
{
	CALL(FIRST);
	sink_gap(self->sink, FLOWTAP_GAP_NO_CODE);
	RUN(second);
	CALL(FIRST);
	RUN(first);
	EXPECT_LINES("2 first /lib/seven\n");
}

/* Names are asked for where the flow is, and that is in another process already. */
TEST_F(calls, before_another_process_have_no_name)
{
	sink_context(self->sink, 1, 1, 0, 0);
	CALL(FIRST);
	sink_context(self->sink, 1, 2, 0, 0);
	CALL(FIRST);
	sink_context(self->sink, 2, 2, 0, 0);
	RUN(first);
	EXPECT_LINES("1 first /lib/seven\n1 0x1000 -\n");
}

TEST_F(calls, to_nobody_knows_where_have_a_line_of_their_own)
{
	CALL(0);
	sink_gap(self->sink, FLOWTAP_GAP_NO_ADDRESS);
	CALL(0);
	RUN(first);
	CALL(FIRST);
	RUN(first);
	CALL(0);
	EXPECT_LINES("1 first /lib/seven\n3 (unknown) -\n");
}

/* A trap on the first instruction, and what is only noted between. */
TEST_F(calls, count_once_whatever_comes_between)
{
	CALL(FIRST);
	sink_element(self->sink, (struct flowtap_element){
		.kind = FLOWTAP_ELEMENT_TIME, .time = 5 });
	RUN(first);
	CALL(FIRST);
	sink_exception(self->sink, 1, FIRST);
	RUN(second);
	RUN(first);
	EXPECT_LINES("2 first /lib/seven\n");
}

TEST_F(calls, the_last_one_counts)
{
	CALL(SECOND);
	EXPECT_LINES("1 second -\n");
}

TEST_F(calls, of_a_name_that_does_something_to_a_terminal_have_what_is_before_that)
{
	struct flowtap_block named = block_at(NAMED, 9, FLOWTAP_ARM_RETURN);

	made_name = "caf\xc3\xa9\xc2\x9b" "2J";
	CALL(NAMED);
	EXPECT_EQ(0, sink_block(self->sink, &named, true, 0x104));
	EXPECT_LINES("1 caf\xc3\xa9 -\n");
}

TEST_F(calls, of_too_many_functions_are_others)
{
	struct flowtap_block callee = block_at(0, 7, FLOWTAP_ARM_RETURN);

	for (uint64_t i = 0; i < FLOWTAP_CALLS_MAX + 5ULL; i++) {
		callee.address = 0x10000 + 4 * i;
		CALL(callee.address);
		memset(callee.render, 0, sizeof(callee.render));
		EXPECT_EQ(0, sink_block(self->sink, &callee, true, 0x104));
	}
	EXPECT_EQ(0, flowtap_calls_finish(self->calls));
	output_read(&self->output);
	EXPECT_STREQ("\n5 (others) -\n",
		     (const char *)self->output.bytes + self->output.size - 14);
}

TEST_F(calls, where_no_block_came_nothing_is_written)
{
	const struct flowtap_element gap = { .kind = FLOWTAP_ELEMENT_GAP };

	EXPECT_EQ(0, self->sink->element(self->sink, &gap));
	EXPECT_EQ(-ENODATA, flowtap_calls_finish(self->calls));
	output_read(&self->output);
	EXPECT_EQ(0, self->output.size);
}

TEST(an_error_of_write_is_told)
{
	const struct flowtap_calls_options options = { .symbol = NULL };
	const struct flowtap_block block = block_at(0x100, 7, FLOWTAP_ARM_RETURN);
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct flowtap_calls *calls;

	ASSERT_EQ(0, flowtap_calls_new(fd, &options, &calls));
	EXPECT_EQ(0, sink_block(flowtap_calls_sink(calls), &block, false, 0));
	EXPECT_EQ(-ENOSPC, flowtap_calls_finish(calls));
	flowtap_calls_free(calls);
	close(fd);
}

TEST_HARNESS_MAIN
