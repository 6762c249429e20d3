// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what the golden files do not: which trace units are refused, that a sink's error stays,
 * that a gap goes through as it is given, how long things may wait and code may go on, and what
 * counts.
 */
#include <errno.h>
#include <flowtap/arm.h>
#include <flowtap/ete.h>
#include <flowtap/text.h>

#include "support/sink.h"

#include "support/kselftest_harness.h"

#define BASE 0x1000
#define WORDS (3 * 65536)
#define NOP 0xd503201f
#define B(offset) (0x14000000 | ((offset) / 4 & 0x3ffffff))
#define B_EQ(offset) (0x54000000 | ((offset) / 4 & 0x7ffff) << 5)
#define BL(offset) (0x94000000 | ((offset) / 4 & 0x3ffffff))
#define RET 0xd65f03c0
#define BR 0xd61f0060

/* Alignment Sync, Trace Info, Trace On, Context EL1 non-secure A64, Target Address 0x1000 */
#define START 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 0, 4, 0x81, 0x31, 0x9a, 0, 8, 0, 0
#define LINES "trace_on\ncontext A64 EL1 nonsecure 64\n"
#define E 0xf7
#define N 0xf6

FIXTURE(ete)
{
	struct flowtap_ete_config config;
	struct flowtap_ete_options options;
	struct flowtap_blocks *blocks;
	struct flowtap_text *text;
	struct flowtap_ete *ete;
	struct output output;
	struct flowtap_code code;
	uint32_t *words;
};

static const struct flowtap_code *find(void *argument, const struct flowtap_context *context,
				       uint64_t address)
{
	const struct flowtap_code *code = argument;

	(void)context;
	return address >= code->start && address < code->end ? code : NULL;
}

FIXTURE_SETUP(ete)
{
	self->words = malloc(WORDS * sizeof(*self->words));
	for (size_t i = 0; i < WORDS; i++)
		self->words[i] = NOP;
	self->code = (struct flowtap_code){
		.start = BASE,
		.end = BASE + WORDS * sizeof(*self->words),
		.bytes = (const uint8_t *)self->words,
		.key = 1,
	};
	self->blocks = flowtap_blocks_new(flowtap_arm_block, 0);
	self->output = output_new();
	ASSERT_EQ(0, flowtap_text_new(self->output.fd, self->blocks, &self->text));
}

FIXTURE_TEARDOWN(ete)
{
	flowtap_ete_free(self->ete);
	flowtap_text_free(self->text);
	flowtap_blocks_free(self->blocks);
	output_free(&self->output);
	free(self->words);
}

static int begin(FIXTURE_DATA(ete) *self, struct flowtap_sink *sink)
{
	const struct flowtap_ete_images images = { .find = find, .argument = &self->code };

	return flowtap_ete_new(&self->config, &self->options, &images, self->blocks, sink,
			       &self->ete);
}

#define DECODE(...) do {									\
	static const uint8_t bytes_[] = { __VA_ARGS__ };					\
	if (!self->ete)										\
		ASSERT_EQ(0, begin(self, flowtap_text_sink(self->text)));			\
	EXPECT_EQ(0, flowtap_ete_decode(self->ete, bytes_, sizeof(bytes_)));			\
} while (0)

#define EXPECT_FLOW(want) do {									\
	EXPECT_EQ(0, flowtap_ete_finish(self->ete));						\
	EXPECT_EQ(0, flowtap_text_finish(self->text));						\
	output_read(&self->output);								\
	EXPECT_STREQ(want, (const char *)self->output.bytes);					\
} while (0)

TEST_F(ete, trace_units_that_it_cannot_decode_are_refused)
{
	static const struct {
		uint32_t devarch, configr, idr2;
		const char *why;
	} cases[] = {
		{ 0x47700a63, 1, 0x1088, "TRCDEVARCH.ARCHID" },		/* an STM */
		{ 0x47705a13, 1, 0x0488, "TRCIDR2.VMIDSIZE" },		/* 8 bits: an ETMv4's */
		{ 0x47705a13, 1, 0x1028, "TRCIDR2.CIDSIZE" },
		{ 0x47724a13, 1, 0x0c88, "TRCIDR2.VMIDSIZE" },		/* 24 bits */
		{ 0x47724a13, 1, 0x0448, "TRCIDR2.CIDSIZE" },
		{ 0x47724a13, 3, 0x0488, "TRCCONFIGR.INSTP0" },
		{ 0x47724a13, 0x101, 0x0488, "TRCCONFIGR.COND" },
		{ 0x47724a13, 0x10001, 0x0488, "TRCCONFIGR.DA" },
		{ 0x47724a13, 0x20001, 0x0488, "TRCCONFIGR.DA, DV" },
		{ 0x47724a13, 1, 0x0488, NULL }, { 0x47724a13, 1, 0x0888, NULL },
		{ 0x47724a13, 1, 0x1088, NULL }, { 0x47724a13, 1, 0, NULL },
		{ 0x47705a13, 0x30107, 0, NULL },	/* bits that no ETE has */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why;

		self->config = (struct flowtap_ete_config){
			.devarch = cases[i].devarch,
			.configr = cases[i].configr,
			.idr2 = cases[i].idr2,
		};
		why = flowtap_ete_unsupported(&self->config);
		EXPECT_EQ(!cases[i].why, !why)
			TH_LOG("case %zu: %s", i, why ? why : "-");
		if (!why)
			continue;
		EXPECT_NE(NULL, strstr(why, cases[i].why))
			TH_LOG("%s", why);
		EXPECT_EQ(-EINVAL, begin(self, NULL));
		EXPECT_EQ(NULL, self->ete);
	}
	self->config = (struct flowtap_ete_config){ .devarch = 0x47705a13 };
	self->config.idr8 = FLOWTAP_ETE_SPECULATION_MAX + 1;
	EXPECT_NE(NULL, flowtap_ete_unsupported(&self->config));
	EXPECT_EQ(-EINVAL, begin(self, NULL));
	self->config.idr8--;
	EXPECT_EQ(0, begin(self, flowtap_text_sink(self->text)));
	self->config.idr2 = 1U << 31;
	EXPECT_TRUE(flowtap_ete_wfx_is_p0(&self->config));
}

static int refuse_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
			uint64_t target)
{
	(void)sink, (void)block, (void)taken, (void)target;
	return -EIO;
}

static int ignore(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	(void)sink, (void)element;
	return 0;
}

TEST_F(ete, an_error_of_the_sink_stops_it_for_good)
{
	static const uint8_t bytes[] = { START, E, E, E };
	struct flowtap_sink sink = { refuse_block, ignore };

	self->words[0] = B(0);
	ASSERT_EQ(0, begin(self, &sink));
	EXPECT_EQ(-EIO, flowtap_ete_decode(self->ete, bytes, sizeof(bytes)));
	EXPECT_EQ(-EIO, flowtap_ete_decode(self->ete, bytes, sizeof(bytes)));
	EXPECT_EQ(-EIO, flowtap_ete_finish(self->ete));
}

TEST_F(ete, a_mispredict_turns_round_the_last_atom_though_it_is_committed)
{
	self->words[0] = B_EQ(0x100);
	self->words[1] = B(-4);
	self->words[0x40] = RET;
	DECODE(START, E, 0x30, E, E, 0x30, 0x30);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 N\nrange 1004 1008 1 A64 E\n"
		    "range 1000 1004 1 A64 E\n");
}

TEST_F(ete, a_mispredicted_branch_takes_its_target_address_with_it)
{
	self->words[0] = B_EQ(0x100);
	self->words[1] = B(-4);
	/* Short Address 0x1100, of the way that was not taken */
	DECODE(START, E, 0x95, 0x40, 0x30, E);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 N\nrange 1004 1008 1 A64 E\n");
}

/* Where the first block went, and whether its branch was taken. */
static uint64_t first_target;
static bool first_taken;

static int keep_target(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		       uint64_t target)
{
	(void)sink;
	if (block->address == BASE) {
		first_target = target;
		first_taken = taken;
	}
	return 0;
}

/* Erratum 2019409: N, and the address of the instruction after it. */
TEST_F(ete, a_branch_that_has_no_condition_was_taken_though_it_is_n)
{
	static const uint8_t bytes[] = { START, N, 0x95, 0x01, E };
	struct flowtap_sink sink = { keep_target, ignore };

	self->words[0] = BR;
	self->words[1] = B(0);
	ASSERT_EQ(0, begin(self, &sink));
	EXPECT_EQ(0, flowtap_ete_decode(self->ete, bytes, sizeof(bytes)));
	EXPECT_EQ(0, flowtap_ete_finish(self->ete));
	EXPECT_TRUE(first_taken);
	EXPECT_EQ(BASE + 4, first_target);
}

/* The last one holds, whatever a Cycle Count between them claims to commit. */
TEST_F(ete, of_two_addresses_after_a_branch_it_is_the_same_one_in_pieces)
{
	static const uint8_t bytes[] = {
		START, E, 0x95, 0x40 /* 0x1100 */, 0x13, 0x95, 0x41 /* 0x1104 */,
		E, E, E, E, E, E, E, E, E, E, E, E, E, E, E, E, E, E, E, E, E, E, E, E, E, E, E, E,
	};
	struct flowtap_sink sink = { keep_target, ignore };

	self->words[0] = RET;
	self->words[0x41] = B(0);
	for (size_t piece = 1; piece <= sizeof(bytes); piece++) {
		first_target = 0;
		ASSERT_EQ(0, begin(self, &sink));
		for (size_t at = 0, n; at < sizeof(bytes); at += n) {
			n = piece < sizeof(bytes) - at ? piece : sizeof(bytes) - at;
			EXPECT_EQ(0, flowtap_ete_decode(self->ete, bytes + at, n));
		}
		EXPECT_EQ(0, flowtap_ete_finish(self->ete));
		EXPECT_EQ(BASE + 0x104, first_target)
			TH_LOG("pieces of %zu", piece);
		flowtap_ete_free(self->ete);
		self->ete = NULL;
	}
}

TEST_F(ete, a_gap_goes_through_as_it_is_and_what_is_skipped_after_it_is_no_other)
{
	const struct flowtap_gap gap = {
		.reason = FLOWTAP_GAP_WRAPPED,
		.size = 77,
		.detail = "told by another",
	};

	self->words[0] = B(0);
	DECODE(START, E);
	EXPECT_EQ(0, flowtap_ete_gap(self->ete, &gap));
	DECODE(E, E, 0x95, START, E);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\ngap wrapped size=77 detail=told by another\n"
		    LINES "range 1000 1004 1 A64 E\n");
	EXPECT_EQ(1, flowtap_ete_counts(self->ete)->gaps[FLOWTAP_GAP_WRAPPED]);
	EXPECT_EQ(0, flowtap_ete_counts(self->ete)->gaps[FLOWTAP_GAP_UNSYNCED]);
	EXPECT_EQ(2, flowtap_ete_counts(self->ete)->instructions);
}

/* 26 bytes before the gap, of which the last three are no whole packet; 23 before the 00 09. */
TEST_F(ete, a_gap_within_a_packet_leaves_offsets_after_it_right)
{
	const struct flowtap_gap gap = { .reason = FLOWTAP_GAP_WRAPPED, .size = 77 };

	self->words[0] = B(0);
	DECODE(START, E, 0x9a, 2, 8);
	EXPECT_EQ(0, flowtap_ete_gap(self->ete, &gap));
	DECODE(START, E, 0, 9);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\ngap wrapped size=77\n"
		    LINES "range 1000 1004 1 A64 E\n"
		    "gap bad_packet size=2 detail=offset 0x31: 00 09: an extension that is "
		    "reserved\n");
	EXPECT_EQ(51, flowtap_ete_counts(self->ete)->bytes);
}

TEST_F(ete, a_transaction_of_more_than_there_is_room_for_is_a_gap)
{
	self->options.transaction_capacity = 1;
	self->config.idr0 = 1U << 30;
	self->words[0] = B_EQ(0);
	/*
	 * atoms in packets with an event between them; the commit; an address, and the flow goes on
	 */
	DECODE(START, N, 0x0a, N, 0x71, N, 0x72, N, 0x0b, 0x9a, 0, 8, 0, 0, E);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 N\ntransaction start\n"
		    "gap unresolved detail=a transaction of more than 1 elements\n"
		    "event 2\ntransaction commit\nrange 1000 1004 1 A64 E\n");
}

TEST_F(ete, code_without_a_branch_does_not_go_on_for_ever)
{
	const struct flowtap_ete_counts *counts;

	DECODE(START, E, 0x9a, 0, 8, 0, 0);
	EXPECT_EQ(0, flowtap_ete_finish(self->ete));
	counts = flowtap_ete_counts(self->ete);
	EXPECT_EQ(1, counts->gaps[FLOWTAP_GAP_IMPOSSIBLE]);
	EXPECT_LE(counts->instructions, 65536 + 16384);
}

TEST_F(ete, a_branch_that_is_always_taken_cannot_be_told_not_to_be)
{
	self->words[0] = B(0x100);
	DECODE(START, N, E, 0x9a, 0, 8, 0, 0, E);
	EXPECT_FLOW(LINES "gap impossible address=1000 detail=the branch at 0x1000 was not taken\n"
		    "range 1000 1004 1 A64 E\n");
}

TEST_F(ete, returns_beyond_the_stack_wait_for_an_address)
{
	self->config.configr = 1U << 12;
	self->words[0] = BL(0x100);
	self->words[1] = BR;
	self->words[0x40] = RET;
	/* E: call; E: return; E: the branch after the call; then a return with nothing left */
	DECODE(START, E, E, E, 0x95, 0x40, E, E, 0x9a, 1, 8, 0, 0, E);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\nrange 1100 1104 1 A64 E\n"
		    "range 1004 1008 1 A64 E\nrange 1100 1104 1 A64 E\n"
		    "gap no_address detail=an indirect branch has no address in the trace, and the "
		    "return stack is empty\n"
		    "range 1004 1008 1 A64 E\n");
}

/* K10.5.5.9: from the next P0 element on. */
TEST_F(ete, a_trace_info_empties_the_return_stack)
{
	self->config.configr = 1U << 12;
	self->words[0] = BL(0x100);
	self->words[0x40] = RET;
	DECODE(START, E, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 0, E, E);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\nrange 1100 1104 1 A64 E\n"
		    "gap no_address detail=an indirect branch has no address in the trace, and the "
		    "return stack is empty\n");
}

TEST_F(ete, trace_on_empties_the_return_stack)
{
	self->config.configr = 1U << 12;
	self->words[0] = BL(0x100);
	self->words[0x40] = RET;
	/* Context as it was, Short Address 0x1100 */
	DECODE(START, E, 4, 0x80, 0x95, 0x40, E, E);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\ntrace_on\nrange 1100 1104 1 A64 E\n"
		    "gap no_address detail=an indirect branch has no address in the trace, and the "
		    "return stack is empty\n");
}

/* K10.5.5.10.1: nobody knows in which state the PE was where the trace went on. */
TEST_F(ete, after_trace_on_nothing_is_analyzed_before_a_context)
{
	self->words[0] = self->words[0x40] = B(0);
	DECODE(START, E, 4, 0x95, 0x40, E, 0x80, 0x95, 0x40, E);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\ntrace_on\n"
		    "gap no_address address=1100 detail=no context has come\n"
		    "range 1100 1104 1 A64 E\n");
}

/* Later contexts that lack them have the last ones, up to the next Trace Info (K10.5.2.6.2). */
TEST_F(ete, a_trace_info_forgets_vmid_and_contextid)
{
	self->words[0] = B(0);
	DECODE(START, 0x81, 0xf1, 1, 2, 0, 0, 3, 4, 0, 0, 0x81, 0x30,
	       0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 0, 0x81, 0x31, E);
	EXPECT_FLOW(LINES "context A64 EL1 nonsecure 64 vmid=201 contextid=403\n"
		    "context A64 EL0 nonsecure 64 vmid=201 contextid=403\n"
		    "context A64 EL1 nonsecure 64\nrange 1000 1004 1 A64 E\n");
}

/* RKPKFL: where the transaction began, also if its instructions come out. */
TEST_F(ete, after_a_failed_transaction_it_goes_on_where_it_began)
{
	self->options.keep_failed_transactions = true;
	self->config.idr0 = 1U << 30;
	for (size_t i = 0; i < 4; i++)
		self->words[i] = B_EQ(0);
	/* an Exception of type 24 without an address */
	DECODE(START, N, 0x0a, N, N, 0x06, 0x31, 0x70, N);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 N\ntransaction start\n"
		    "range 1004 1008 1 A64 N\nrange 1008 100c 1 A64 N\ntransaction fail\n"
		    "range 1004 1008 1 A64 N\n");
}

/* A call and a return in it, whether its instructions come out or not, are not on the return stack. */
TEST_F(ete, a_failed_transaction_leaves_the_return_stack_as_it_was)
{
	static const uint8_t bytes[] = {
		START, E, 0x0a, E, E, 0x06, 0x31, 0x70, N, E, E,
	};
	static const char *const want[] = {
		LINES "range 1000 1004 1 A64 E\ntransaction start\ntransaction fail\n"
		"range 1100 1104 1 A64 N\nrange 1104 1108 1 A64 E\nrange 1004 1008 1 A64 E\n",
		LINES "range 1000 1004 1 A64 E\ntransaction start\nrange 1100 1104 1 A64 E\n"
		"range 1140 1144 1 A64 E\ntransaction fail\n"
		"range 1100 1104 1 A64 N\nrange 1104 1108 1 A64 E\nrange 1004 1008 1 A64 E\n",
	};

	self->config.configr = 1U << 12;
	self->config.idr0 = 1U << 30;
	self->words[0] = BL(0x100);
	self->words[1] = B(0);
	self->words[0x40] = B_EQ(0x40);
	self->words[0x41] = self->words[0x61] = RET;
	self->words[0x50] = BL(0x44);
	for (int keep = 0; keep < 2; keep++) {
		flowtap_ete_free(self->ete);
		self->ete = NULL;
		flowtap_text_free(self->text);
		output_free(&self->output);
		self->output = output_new();
		ASSERT_EQ(0, flowtap_text_new(self->output.fd, self->blocks, &self->text));
		self->options.keep_failed_transactions = keep;
		ASSERT_EQ(0, begin(self, flowtap_text_sink(self->text)));
		EXPECT_EQ(0, flowtap_ete_decode(self->ete, bytes, sizeof(bytes)));
		EXPECT_FLOW(want[keep]);
	}
}

/* RKPKFL: what comes after it is where the transaction began, not where its last branch led. */
TEST_F(ete, the_last_branch_of_a_failed_transaction_leads_nowhere)
{
	static const uint8_t bytes[] = { START, 0x0a, E, 0x06, 0x31, 0x70, 0x9a, 1, 8, 0, 0, E };
	struct flowtap_sink sink = { keep_target, ignore };

	self->options.keep_failed_transactions = true;
	self->config.idr0 = 1U << 30;
	self->words[0] = RET;
	self->words[1] = B(0);
	first_target = 1;
	ASSERT_EQ(0, begin(self, &sink));
	EXPECT_EQ(0, flowtap_ete_decode(self->ete, bytes, sizeof(bytes)));
	EXPECT_EQ(0, flowtap_ete_finish(self->ete));
	EXPECT_EQ(0, first_target);
}

TEST_F(ete, an_overflow_after_a_discard_is_told_and_only_once)
{
	self->words[0] = B(0);
	DECODE(START, E, 0, 3, 0, 5, 0, 5, START, E, 0, 5, 0, 5);
	EXPECT_EQ(2, flowtap_ete_counts(self->ete)->gaps[FLOWTAP_GAP_OVERFLOW]);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\ngap overflow size=unknown\n"
		    LINES "range 1000 1004 1 A64 E\ngap overflow size=unknown\n");
}

/* K10.5.3.5: what is speculative goes; of what was committed the last atom is held, and comes. */
TEST_F(ete, what_was_committed_before_a_discard_comes_out)
{
	self->config.idr8 = 4;
	self->words[0] = BL(8);
	self->words[2] = RET;
	/* A Commit of two; the return's address, and an atom after it that is speculative. */
	DECODE(START, E, E, 0x2d, 2, 0x95, 1, E, 0, 3, START, E, 0x2d, 1);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\nrange 1008 100c 1 A64 E\n"
		    LINES "range 1000 1004 1 A64 E\n");
	EXPECT_EQ(1, flowtap_ete_counts(self->ete)->cancelled);
}

TEST_F(ete, an_overflow_before_the_first_trace_info_is_told)
{
	self->words[0] = B(0);
	DECODE(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 5, START, E);
	EXPECT_FLOW("gap overflow size=unknown\n" LINES "range 1000 1004 1 A64 E\n");
}

/* 0, 5: Overflow; 0x02, 0x81, 1: a Timestamp, which says nothing before a Trace Info. */
TEST_F(ete, what_is_skipped_after_an_overflow_is_no_other_gap)
{
	self->words[0] = B(0);
	DECODE(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 5, 2, 0x81, 1, E, START, E);
	EXPECT_FLOW("gap overflow size=unknown\n" LINES "range 1000 1004 1 A64 E\n");
}

TEST_F(ete, an_overflow_within_a_gap_is_part_of_it)
{
	const struct flowtap_gap gap = { .reason = FLOWTAP_GAP_WRAPPED, .size = 77 };

	self->words[0] = B(0);
	DECODE(START, E);
	EXPECT_EQ(0, flowtap_ete_gap(self->ete, &gap));
	DECODE(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 5, 2, 0x81, 1, START, E);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\ngap wrapped size=77\n"
		    LINES "range 1000 1004 1 A64 E\n");
}

/* The damaged packet is of two bytes, and the Timestamp after the Overflow of three. */
TEST_F(ete, damage_with_an_overflow_after_it_is_one_gap_of_its_whole_size)
{
	self->words[0] = B(0);
	DECODE(START, E, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 5, 2, 0x81, 1, START, E);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\ngap bad_packet size=5 detail=offset 0x17: 00 09: "
		    "an extension that is reserved\n" LINES "range 1000 1004 1 A64 E\n");
	EXPECT_EQ(0, flowtap_ete_counts(self->ete)->gaps[FLOWTAP_GAP_UNSYNCED]);
	EXPECT_EQ(0, flowtap_ete_counts(self->ete)->gaps[FLOWTAP_GAP_OVERFLOW]);
}

/* Without an address after it nobody knows which way a conditional branch in it went. */
TEST_F(ete, a_q_element_at_a_conditional_branch_is_not_made_out)
{
	self->config.idr0 = 3U << 15;
	self->config.configr = 3U << 13;
	self->words[0] = B_EQ(0x100);
	self->words[1] = B(0);
	/* Q with a count of 1, and an atom after it */
	DECODE(START, 0xac, 1, E, 0x95, 0, E);
	EXPECT_FLOW(LINES "q_range 1000 0 1\ngap no_address detail=a Q element has no address "
		    "after it\nrange 1000 1004 1 A64 E\n");
}

/* Nor where an indirect one led: what Q stands for the trace unit's return stack does not see. */
TEST_F(ete, a_q_element_at_a_return_is_not_made_out)
{
	self->config.idr0 = 3U << 15;
	self->config.configr = 3U << 13 | 1U << 12;
	self->words[0] = BL(0x100);
	self->words[1] = B(0);
	self->words[0x40] = RET;
	DECODE(START, E, 0xac, 1, E);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\nq_range 1100 0 1\ngap no_address detail=a Q "
		    "element has no address after it\n");
}

/* What is given up has a context that nobody cancelled: the next address is not in the one before. */
TEST_F(ete, what_waits_is_given_up_with_its_context)
{
	static uint8_t events[65536];

	self->config.idr8 = 1;
	self->words[0] = self->words[0x20] = B(0);
	memset(events, 0x71, sizeof(events));
	DECODE(START, E, 0x81, 0x30);
	EXPECT_EQ(0, flowtap_ete_decode(self->ete, events, sizeof(events)));
	EXPECT_EQ(1, flowtap_ete_counts(self->ete)->gaps[FLOWTAP_GAP_BAD_PACKET]);
	DECODE(0x95, 0x20, E, E, E);
	EXPECT_EQ(0, flowtap_ete_finish(self->ete));
	EXPECT_EQ(1, flowtap_ete_counts(self->ete)->gaps[FLOWTAP_GAP_NO_ADDRESS]);
	EXPECT_EQ(0, flowtap_ete_counts(self->ete)->instructions);
}

TEST_F(ete, what_is_speculative_at_the_end_is_counted_and_no_gap)
{
	self->config.idr8 = 4;
	self->words[0] = B(0);
	DECODE(START, E, E, E, 0x2d, 1);
	EXPECT_FLOW(LINES "range 1000 1004 1 A64 E\n");
	EXPECT_EQ(2, flowtap_ete_counts(self->ete)->unresolved);
	EXPECT_EQ(0, flowtap_ete_counts(self->ete)->gaps[FLOWTAP_GAP_UNRESOLVED]);
}

TEST_F(ete, no_more_waits_for_a_commit_than_there_is_room_for)
{
	static uint8_t events[65536];

	self->config.idr8 = 4;
	self->words[0] = B(0);
	memset(events, 0x71, sizeof(events));
	DECODE(START, E);
	EXPECT_EQ(0, flowtap_ete_decode(self->ete, events, sizeof(events)));
	EXPECT_EQ(1, flowtap_ete_counts(self->ete)->gaps[FLOWTAP_GAP_BAD_PACKET]);
}

TEST_HARNESS_MAIN
