// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows, a test for each rule that readers of STF are known to enforce, that the writer does not
 * break it: on random flows of RISC-V and Arm, with traps, gaps, threads and modes. The records are
 * taken apart by stfcheck, which shares no code with the writer; what the rules say is looked at
 * here, and that the flows had what they are about.
 *
 * Elsewhere: that stfcheck and `flowtap check` name each rule that is broken, stfcheck.c, stf_arm.c
 * and check.c of unit/check; chunks of .zstf (exactly as many opcodes as asked for, start_pc, an
 * index after each chunk, whoever dies when), unit/formats/zstf/writer.c; where branches of each
 * kind lead, instruction by instruction, stream.c, arm.c and reader.c here.
 *
 * FLOWTAP_SEED sets which flows.
 */
#include <flowtap/stf.h>

#include "stfcheck/records.h"
#include "stfcheck/stfcheck.h"
#include "support/madeflow.h"

#include "support/kselftest_harness.h"

#define FLOWS	16U		/* half of them Arm's */
#define BLOCKS	600U
#define CAPACITY	(1U << 16)
#define CHANGE	(1ULL << 62)	/* of the mode, as EVENTs of 64 bits have it */

struct record {
	uint8_t descriptor;
	const uint8_t *payload;
	size_t size;
};

FIXTURE(rules)
{
	struct output output[FLOWS];
	struct record *records[FLOWS];
	size_t n[FLOWS];
	size_t body[FLOWS];		/* the first one after END_HEADER */
	struct stfcheck check[FLOWS];
	struct flowtap_stf_counts counts[FLOWS];
};

struct list {
	struct record *records;
	size_t n;
};

static void take(void *argument, uint64_t offset, uint8_t descriptor, const uint8_t *payload,
		 size_t size)
{
	struct list *list = argument;

	(void)offset;
	if (list->n == CAPACITY)
		abort();
	list->records[list->n++] = (struct record){ descriptor, payload, size };
}

static uint64_t number(const uint8_t *bytes, unsigned int size)
{
	uint64_t value = 0;

	while (size--)
		value = value << 8 | bytes[size];
	return value;
}

static bool is_arm(unsigned int flow)
{
	return flow & 1;
}

static int write_flow(struct output *output, uint64_t seed, bool arm,
		      struct flowtap_stf_counts *counts)
{
	const struct flowtap_stf_options options = { .generator = 0xff };
	struct madeflow *made = malloc(sizeof(*made));
	struct flowtap_stf *stf;
	int error = flowtap_stf_new(output->fd, &options, &stf);

	if (error)
		return error;
	made_begin(made, seed, arm, flowtap_stf_sink(stf));
	error = made_run(made, BLOCKS);
	if (!error)
		error = flowtap_stf_finish(stf);
	*counts = *flowtap_stf_counts(stf);
	flowtap_stf_free(stf);
	made_end(made);
	free(made);
	output_read(output);
	return error;
}

FIXTURE_SETUP(rules)
{
	const char *seed = getenv("FLOWTAP_SEED");

	for (unsigned int i = 0; i < FLOWS; i++) {
		struct list list = { .records = calloc(CAPACITY, sizeof(*list.records)) };
		struct stfcheck *check = &self->check[i];

		self->output[i] = output_new();
		ASSERT_EQ(0, write_flow(&self->output[i], (seed ? strtoull(seed, NULL, 0) : 1) + i,
					is_arm(i), &self->counts[i]));
		*check = (struct stfcheck){ .record = take, .argument = &list };
		EXPECT_EQ(0, stfcheck_run(check, self->output[i].bytes, self->output[i].size))
			TH_LOG("flow %u: %s at %llu", i, check->reason,
			       (unsigned long long)check->offset);
		self->records[i] = list.records;
		self->n[i] = list.n;
		while (self->body[i] < list.n &&
		       list.records[self->body[i]++].descriptor != RECORD_END_HEADER)
			;
	}
}

FIXTURE_TEARDOWN(rules)
{
	for (unsigned int i = 0; i < FLOWS; i++) {
		free(self->records[i]);
		output_free(&self->output[i]);
	}
}

#define FOR_FLOWS for (unsigned int i = 0; i < FLOWS; i++)
#define FOR_HEADER for (const struct record *record = self->records[i]; \
			record < self->records[i] + self->body[i]; record++)
#define FOR_BODY for (const struct record *record = self->records[i] + self->body[i]; \
		      record < self->records[i] + self->n[i]; record++)

static bool is_opcode(const struct record *record)
{
	return record->descriptor == RECORD_INST_32 || record->descriptor == RECORD_INST_16;
}

/* The opcode that ends this record's group; what stands after the last one has none. */
static const struct record *opcode_of(const struct record *record, const struct record *end)
{
	while (record < end && !is_opcode(record))
		record++;
	return record < end ? record : NULL;
}

static bool is_xret(const struct record *opcode)
{
	uint64_t value = number(opcode->payload, (unsigned int)opcode->size);

	return opcode->descriptor == RECORD_INST_32 &&
	       (value == 0x10200073 || value == 0x30200073);
}

static bool is_change(const struct record *record)
{
	return record->descriptor == RECORD_EVENT && number(record->payload, 8) == CHANGE;
}

/* 1 */
TEST_F(rules, there_is_no_reserve_end_and_the_end_of_the_file_is_that_of_the_trace)
{
	FOR_FLOWS {
		const struct record *last = &self->records[i][self->n[i] - 1];

		FOR_BODY
			EXPECT_NE(0xff, record->descriptor);
		EXPECT_EQ(self->output[i].bytes + self->output[i].size, last->payload + last->size);
		EXPECT_TRUE(is_opcode(last) || last->descriptor == RECORD_COMMENT);
	}
}

/* 2, 6 */
TEST_F(rules, there_are_no_private_records_and_no_isa_extended)
{
	static const uint8_t header[] = { 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x13 };
	static const uint8_t body[] = { 0x03, 0x08, 0x09, 0x1f, 0x64, 0x65, 0xf0, 0xf1 };
	bool had[256] = { false };

	FOR_FLOWS {
		FOR_HEADER
			EXPECT_NE(NULL, memchr(header, record->descriptor, sizeof(header)));
		FOR_BODY {
			EXPECT_NE(NULL, memchr(body, record->descriptor, sizeof(body)));
			had[record->descriptor] = true;
		}
	}
	for (size_t i = 0; i < sizeof(body); i++) {
		EXPECT_TRUE(had[body[i]])
			TH_LOG("no flow had %#x", body[i]);
	}
}

/* 3. With the bit turned the same bytes are no trace. */
TEST_F(rules, events_are_as_wide_as_the_feature_says)
{
	uint64_t events = 0;

	FOR_FLOWS {
		struct stfcheck check = { .strict = false };

		EXPECT_NE(0, self->check[i].features & 1 << 19);
		FOR_BODY {
			if (record->descriptor != RECORD_EVENT)
				continue;
			events++;
			EXPECT_EQ(8U + 1 + 8 * record->payload[8], record->size);
		}
		FOR_HEADER {
			if (record->descriptor == RECORD_FEATURE)
				((uint8_t *)record->payload)[2] ^= 1 << 3;
		}
		EXPECT_NE(0, stfcheck_run(&check, self->output[i].bytes, self->output[i].size));
	}
	EXPECT_GT(events, FLOWS);
}

/* 4 */
TEST_F(rules, the_process_is_said_in_the_header_and_again_after_it)
{
	FOR_FLOWS {
		const struct record *end = self->records[i] + self->n[i];
		const struct record *first = opcode_of(self->records[i] + self->body[i], end);
		const struct record *header = NULL, *again = NULL;

		FOR_HEADER
			header = record->descriptor == RECORD_PROCESS ? record : header;
		FOR_BODY {
			if (record < first && record->descriptor == RECORD_PROCESS)
				again = record;
		}
		ASSERT_NE(NULL, header);
		ASSERT_NE(NULL, again);
		EXPECT_EQ(12, again->size);
		EXPECT_EQ(0, memcmp(header->payload, again->payload, 12));
	}
}

/* 5, and that the feature RV64 says what INST_IEM does. */
TEST_F(rules, isa_encoding_and_rv64_agree)
{
	FOR_FLOWS {
		EXPECT_EQ(is_arm(i) ? 2 : 1, self->check[i].isa);
		EXPECT_EQ(is_arm(i) ? 0 : 2, self->check[i].iem);
		EXPECT_EQ(!is_arm(i), !!(self->check[i].features & 1 << 5));
	}
}

/* 7 */
TEST_F(rules, an_xret_has_a_target_and_a_change_of_mode_not_an_event_target)
{
	uint64_t whole = 0;

	FOR_FLOWS {
		const struct record *begin = self->records[i] + self->body[i];

		FOR_BODY {
			bool target = false, change = false;

			if (!is_opcode(record))
				continue;
			for (; begin < record; begin++) {
				target |= begin->descriptor == RECORD_PC_TARGET;
				change |= is_change(begin);
				if (!is_arm(i) && is_xret(record)) {
					EXPECT_NE(RECORD_EVENT_PC_TARGET, begin->descriptor);
					EXPECT_TRUE(begin->descriptor != RECORD_EVENT ||
						    is_change(begin));
				}
			}
			begin = record + 1;
			whole += !is_arm(i) && is_xret(record) && target && change;
		}
	}
	EXPECT_GT(whole, 10);
}

/* 8 */
TEST_F(rules, features_are_those_that_are_used)
{
	FOR_FLOWS
		EXPECT_EQ(1 << 3 | 1 << 10 | 1 << 19 | (is_arm(i) ? 0 : 1 << 5),
			  self->check[i].features);
}

/* 9 */
TEST_F(rules, the_generator_is_one_that_every_reader_takes)
{
	FOR_FLOWS {
		FOR_HEADER {
			if (record->descriptor == RECORD_TRACE_INFO)
				EXPECT_EQ(0xff, record->payload[0]);
		}
	}
}

TEST_F(rules, the_header_has_each_record_once_and_in_the_usual_order)
{
	static const uint8_t order[] = { 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x13 };

	FOR_FLOWS {
		size_t at = 0, comments = 0;

		FOR_HEADER {
			/* What was said before the first block. */
			if (record->descriptor == RECORD_COMMENT && comments++)
				continue;
			ASSERT_LT(at, sizeof(order));
			EXPECT_EQ(order[at++], record->descriptor);
		}
		EXPECT_EQ(sizeof(order), at);
		EXPECT_EQ(1, self->check[i].version[0]);
		EXPECT_EQ(5, self->check[i].version[1]);
	}
}

/* But for what may stand anywhere, and the change of mode after a trap. */
TEST_F(rules, records_of_a_group_ascend)
{
	uint64_t pairs = 0;

	FOR_FLOWS {
		uint8_t last = 0;

		FOR_BODY {
			uint8_t descriptor = record->descriptor;

			if (descriptor <= RECORD_FORCE_PC)
				continue;
			pairs += last && descriptor > last;
			EXPECT_TRUE(descriptor >= last || (last == RECORD_EVENT_PC_TARGET &&
							   is_change(record)));
			last = is_opcode(record) ? 0 : descriptor;
		}
	}
	EXPECT_GT(pairs, 1000);
}

TEST_F(rules, a_trap_is_event_target_and_change_of_mode_in_one_group)
{
	uint64_t traps = 0, changes = 0;

	FOR_FLOWS {
		const struct record *end = self->records[i] + self->n[i];

		FOR_BODY {
			const struct record *next = record + 1;

			if (record->descriptor != RECORD_EVENT || is_change(record))
				continue;
			EXPECT_FALSE(is_arm(i));
			traps++;
			EXPECT_EQ(1, record->payload[8]);
			ASSERT_LT(next + 1, end);
			EXPECT_EQ(RECORD_EVENT_PC_TARGET, next->descriptor);
			changes += is_change(++next);
			next += is_change(next);
			EXPECT_TRUE(is_opcode(next));
		}
	}
	EXPECT_GT(traps, 5);
	EXPECT_GT(changes, 0);
}

TEST_F(rules, a_mode_is_said_before_the_first_instruction)
{
	FOR_FLOWS {
		const struct record *end = self->records[i] + self->n[i];
		const struct record *first = opcode_of(self->records[i] + self->body[i], end);
		bool said = false;

		FOR_BODY
			said |= record < first && is_change(record);
		EXPECT_TRUE(said);
	}
}

/* stf_check: SWITCH_USR. It looks at RISC-V only, and stops at Arm's. */
TEST_F(rules, a_switch_to_user_mode_stands_with_an_xret_or_at_the_begin)
{
	uint64_t to_user = 0, told = 0;

	FOR_FLOWS {
		const struct record *end = self->records[i] + self->n[i];
		const struct record *first = opcode_of(self->records[i] + self->body[i], end);

		FOR_BODY {
			static const char mode[] = " mode=U";

			if (is_arm(i) || record < first)
				continue;
			told += record->descriptor == RECORD_COMMENT && record->size > 20 &&
				!memcmp(record->payload + record->size - 7, mode, 7);
			if (!is_change(record) || record->payload[9])
				continue;
			to_user++;
			EXPECT_TRUE(is_xret(opcode_of(record, end)));
		}
	}
	EXPECT_GT(to_user, 5);
	EXPECT_GT(told, 5);
}

TEST_F(rules, addresses_of_riscv_are_even)
{
	uint64_t addresses = 0;

	FOR_FLOWS {
		FOR_BODY {
			if (is_arm(i) || (record->descriptor != RECORD_FORCE_PC &&
					  record->descriptor != RECORD_PC_TARGET &&
					  record->descriptor != RECORD_EVENT_PC_TARGET))
				continue;
			addresses++;
			EXPECT_EQ(0, record->payload[0] & 1);
		}
	}
	EXPECT_GT(addresses, 1000);
}

/* A gap, or another thread, is why; nothing else leads elsewhere. */
TEST_F(rules, each_forced_pc_is_explained)
{
	FOR_FLOWS {
		bool explained = false;
		uint64_t forced = 0;

		FOR_BODY {
			explained |= record->descriptor == RECORD_COMMENT ||
				     record->descriptor == RECORD_PROCESS;
			if (record->descriptor == RECORD_FORCE_PC) {
				EXPECT_TRUE(explained);
				forced++;
			}
			if (is_opcode(record))
				explained = false;
		}
		EXPECT_EQ(self->counts[i].forced, forced);
		EXPECT_GT(forced, 5);
	}
}

/*
 * Each gap is a comment with its reason, and of what was not told there is no opcode: there are as
 * many as instructions in the blocks that came.
 */
TEST_F(rules, a_gap_is_a_comment_and_no_placeholder)
{
	static const char unexplained[] = "gap unexplained";

	FOR_FLOWS {
		const struct record *end = self->records[i] + self->n[i];
		uint64_t gaps = 0, opcodes = 0;

		for (const struct record *record = self->records[i]; record < end; record++) {
			bool gap = record->descriptor == RECORD_COMMENT && record->size > 11 &&
				   (!memcmp(record->payload + 4, "gap ", 4) ||
				    !memcmp(record->payload + 4, "no_image", 8));

			gaps += gap && (record->size != 4 + sizeof(unexplained) - 1 ||
					memcmp(record->payload + 4, unexplained, record->size - 4));
			opcodes += is_opcode(record);
		}
		EXPECT_EQ(self->counts[i].gaps, gaps);
		EXPECT_GT(gaps, 5);
		EXPECT_EQ(self->counts[i].instructions, opcodes);
	}
}

TEST_HARNESS_MAIN
