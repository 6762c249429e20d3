// SPDX-License-Identifier: GPL-2.0-only
/* Shows what the CTR decoder says of losses, of malformed records, and beside the blocks. */
#include "unit/ctr/fixture.h"

/* --- Losses. --- */

TEST_F(ctr, a_loss_is_a_gap_of_its_lowest_cause_that_names_the_others)
{
	first(self);
	for (unsigned int cause = 0; cause < FLOWTAP_CAUSE_MAX; cause++) {
		begin(self)->loss = 1U << cause;
		EXPECT_FLOW({ ITEM_GAP, cause, 0, 0 });
		EXPECT_STREQ(self->log.detail, "");
		EXPECT_EQ(self->log.gap.since, self->time - 10);
		EXPECT_EQ(self->log.gap.until, self->time);
		EXPECT_EQ(self->log.gap.size, UINT64_MAX);
	}
	begin(self)->loss = 1U << FLOWTAP_CAUSE_WRAPPED | 1U << FLOWTAP_CAUSE_RING_FULL |
			    1U << FLOWTAP_CAUSE_HARDWARE;
	EXPECT_FLOW(GAP(WRAPPED));
	EXPECT_STREQ(self->log.detail, "also ring_full, hardware");
	begin(self)->loss = 1U << 31;
	EXPECT_FLOW(GAP(HARDWARE));
	EXPECT_NE(strstr(self->log.detail, "0x80000000"), NULL);
}

TEST_F(ctr, only_the_next_number_is_contiguous)
{
	begin(self);
	EXPECT_FLOW(GAP(START));
	begin(self);
	EXPECT_FLOW(GAP(TRAP));
	self->sequence += 5;
	begin(self);
	EXPECT_FLOW(GAP(RING_FULL));
	EXPECT_STREQ(self->log.detail, "sequence 8 follows 2");
	self->sequence -= 2;
	begin(self);
	EXPECT_FLOW(GAP(BAD_RECORD));
	begin(self)->depth = 1;
	entry(self, JR_RA, MAIN, RET);
	EXPECT_FLOW(GAP(WRAPPED), INSN(JR_RA), END(1, MAIN));
	begin(self)->tid = 0;			/* some task that is not visible */
	EXPECT_FLOW(GAP(START));
	begin(self)->tid = 0;
	EXPECT_FLOW(GAP(START));
}

TEST_F(ctr, the_sequence_of_a_cpu_is_not_that_of_its_tasks)
{
	begin(self)->header.misc = FLOWTAP_MISC_CPU_WIDE;
	EXPECT_FLOW(GAP(START));
	begin(self)->header.misc = FLOWTAP_MISC_CPU_WIDE;
	self->s.head.tid = 7;			/* another task, the next sample of the CPU */
	EXPECT_FLOW(GAP(TRAP));
	EXPECT_EQ(self->log.gap.since, self->time - 10);
	begin(self)->header.misc = FLOWTAP_MISC_CPU_WIDE;
	self->s.head.tid = 0;			/* also of the idle task */
	EXPECT_FLOW(GAP(TRAP));
	begin(self)->header.misc = FLOWTAP_MISC_CPU_WIDE;
	self->s.head.cpu = 4;			/* another CPU counts for itself */
	EXPECT_FLOW(GAP(START));
	begin(self)->header.misc = FLOWTAP_MISC_CPU_WIDE;
	EXPECT_FLOW(GAP(RING_FULL));
	begin(self)->header.misc = FLOWTAP_MISC_CPU_WIDE;
	self->s.head.control |= S;
	EXPECT_FLOW(GAP(RECORDER));
	begin(self)->cpu = 2;			/* a task's: number 2 is no CPU here */
	EXPECT_FLOW(GAP(START));
	begin(self)->cpu = 9;
	EXPECT_FLOW(GAP(TRAP));
}

TEST_F(ctr, as_many_tasks_are_known_as_there_is_room_for)
{
	unsigned int contiguous = 0;

	for (uint32_t tid = 1; tid <= 100000; tid++) {
		begin(self)->tid = tid;
		self->s.head.sequence = 1;
		decode(self);
	}
	for (uint32_t tid = 100000; tid; tid--) {
		begin(self)->tid = tid;
		self->s.head.sequence = 2;
		decode(self);
		contiguous += self->log.gap.reason == FLOWTAP_GAP_TRAP;
		if (tid > 100000 - 12000) {	/* the newest are, about 3 in each of 4096 sets */
			ASSERT_EQ(self->log.gap.reason, FLOWTAP_GAP_TRAP);
		}
	}
	EXPECT_GT(contiguous, 4 * 4096U * 3 / 4);
	EXPECT_LE(contiguous, 4 * 4096U);
}

TEST_F(ctr, gap_and_lost_records_are_gaps)
{
	struct flowtap_record_gap gap = {
		.header = { FLOWTAP_RECORD_GAP, FLOWTAP_MISC_ESTIMATE, sizeof(gap) },
		.time = 500, .since = 400, .size = 77, .pid = 4, .tid = 5, .cpu = 6,
	};
	struct flowtap_record_lost lost = {
		.header = { FLOWTAP_RECORD_LOST, 0, sizeof(lost) },
		.time = 700, .since = 600, .records = 3, .bytes = 999,
	};

	for (gap.cause = 0; gap.cause < FLOWTAP_CAUSE_MAX; gap.cause++) {
		ASSERT_EQ(flowtap_ctr_decode(self->ctr, &gap.header, sizeof(gap)), 0);
		EXPECT_EQ((uint32_t)self->log.gap.reason, gap.cause);
		EXPECT_EQ(self->log.gap.since, 400U);
		EXPECT_EQ(self->log.gap.until, 500U);
		EXPECT_EQ(self->log.gap.size, 77U);
		EXPECT_EQ(flowtap_ctr_counts(self->ctr)->gaps[gap.cause], 1U);
		EXPECT_STREQ(self->log.detail, "an estimate");
	}
	EXPECT_EQ(self->log.items.list[0].kind, ITEM_CONTEXT);
	EXPECT_EQ(self->log.items.list[0].b, 5U);
	ASSERT_EQ(flowtap_ctr_decode(self->ctr, &gap.header, sizeof(gap)), 0);
	EXPECT_EQ(self->log.gap.reason, FLOWTAP_GAP_BAD_RECORD);
	ASSERT_EQ(flowtap_ctr_decode(self->ctr, &lost.header, sizeof(lost)), 0);
	EXPECT_EQ(self->log.gap.reason, FLOWTAP_GAP_RING_FULL);
	EXPECT_EQ(self->log.gap.since, 600U);
	EXPECT_EQ(self->log.gap.until, 700U);
	EXPECT_EQ(self->log.gap.size, 999U);
	EXPECT_NE(strstr(self->log.detail, "3 records"), NULL);
	lost.header.size = gap.header.size = 16;
	gap.cause = FLOWTAP_CAUSE_SWITCH;
	EXPECT_EQ(flowtap_ctr_decode(self->ctr, &lost.header, 16), 0);
	EXPECT_EQ(self->log.gap.reason, FLOWTAP_GAP_BAD_RECORD);
	EXPECT_EQ(flowtap_ctr_decode(self->ctr, &gap.header, 16), 0);
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->bad_records, 3U);
}

/* --- Records that are not well formed. --- */

TEST_F(ctr, records_cut_anywhere_are_bad_and_nothing_beyond_is_read)
{
	begin(self);
	entry(self, JR_RA, MAIN, RET);
	decode(self);
	for (size_t size = 0; size < self->s.head.header.size; size++) {
		size_t capacity = (size + 7) & ~7UL;
		uint8_t *copy = malloc(capacity + 1);
		struct flowtap_record *record = (void *)(copy + capacity - size);

		/* Up against the end, so that the sanitizer sees what is read beyond. */
		memcpy(record, &self->s, size);
		if (capacity == size || size >= sizeof(*record)) {
			record = (void *)copy;
			memmove(record, &self->s, size);
		}
		self->log.items.n = 0;
		EXPECT_EQ(flowtap_ctr_decode(self->ctr, record, size), 0);
		ASSERT_EQ(self->log.items.n, 1U);
		EXPECT_EQ(self->log.items.list[0].kind, ITEM_GAP);
		EXPECT_EQ(self->log.gap.reason, FLOWTAP_GAP_BAD_RECORD);
		if (size >= sizeof(*record)) {
			record->size = size;
			EXPECT_EQ(flowtap_ctr_decode(self->ctr, record, size), 0);
			EXPECT_EQ(self->log.gap.reason, FLOWTAP_GAP_BAD_RECORD);
		}
		free(copy);
	}
}

TEST_F(ctr, numbers_that_contradict_each_other_are_bad)
{
	first(self);
	begin(self);
	for (int i = 0; i < 17; i++)
		entry(self, JR_RA, MAIN, RET);
	EXPECT_FLOW(GAP(BAD_RECORD));			/* 17 of 16 */
	EXPECT_STREQ(self->log.detail, "17 entries from a buffer of 16");
	begin(self)->depth = 1000;
	for (int i = 0; i < 256; i++)
		entry(self, JR_RA, MAIN, RET);
	ASSERT_EQ(decode(self), 0);
	EXPECT_EQ(self->log.gap.reason, FLOWTAP_GAP_IMPOSSIBLE);
	self->s.head.nr = 257;
	EXPECT_FLOW(GAP(BAD_RECORD));			/* more than any CTR has */
	begin(self);
	entry(self, JR_RA, MAIN, RET);
	self->s.head.header.size = sizeof(self->s.head);
	self->log.items.n = 0;
	EXPECT_EQ(flowtap_ctr_decode(self->ctr, &self->s.head.header, sizeof(self->s)), 0);
	EXPECT_EQ(self->log.gap.reason, FLOWTAP_GAP_BAD_RECORD);
	EXPECT_EQ(self->log.items.n, 1U);
	self->s.head.header.size = sizeof(self->s.head) + 2 * sizeof(self->s.entries[0]);
	self->log.items.n = 0;
	EXPECT_EQ(flowtap_ctr_decode(self->ctr, &self->s.head.header, sizeof(self->s)), 0);
	EXPECT_EQ(self->log.gap.reason, FLOWTAP_GAP_BAD_RECORD);
	EXPECT_EQ(self->log.items.n, 1U);
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->bad_records, 4U);
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->samples, 2U);
}

TEST_F(ctr, bad_entries_are_told_and_what_follows_begins_anew)
{
	static const unsigned int types[] = { 6, 7, RET };

	first(self);
	for (int i = 0; i < 3; i++) {
		begin(self);
		entry(self, JR_RA, FUNCTION, RET);
		entry(self, RETURN, MAIN, types[i])->source ^= i == 2;
		entry(self, BEQ, JOIN, TAKEN);
		EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), GAP(BAD_RECORD), INSN(BEQ),
			    END(1, JOIN));
	}
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->bad_records, 3U);
}

TEST_F(ctr, other_records_are_passed_over)
{
	static const uint32_t types[] = { 0, FLOWTAP_RECORD_SWITCH, FLOWTAP_RECORD_CLOCK,
					  FLOWTAP_RECORD_AUX, FLOWTAP_RECORD_ITRACE_START, 99 };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct flowtap_record_aux record = { .header = { types[i], 0, sizeof(record) } };

		EXPECT_EQ(flowtap_ctr_decode(self->ctr, &record.header, sizeof(record)), 0);
	}
	EXPECT_EQ(self->log.items.n, 0U);
	for (uint16_t size = 0; size < 8; size++) {
		struct flowtap_record record = { FLOWTAP_RECORD_SWITCH, 0, size };

		EXPECT_EQ(flowtap_ctr_decode(self->ctr, &record, sizeof(record)), 0);
		EXPECT_EQ(self->log.gap.reason, FLOWTAP_GAP_BAD_RECORD);
		EXPECT_EQ(self->log.items.n, size + 1U);
	}
}

/* --- The rest. --- */

TEST_F(ctr, the_context_is_told_when_it_changes_and_the_time_always)
{
	static const struct {
		uint32_t pid, tid, cpu;
		bool told;
	} samples[] = {
		{ 1, 2, 3, true }, { 1, 2, 3, false }, { 1, 2, 4, true }, { 1, 5, 4, true },
		{ 6, 5, 4, true }, { 6, 5, 4, false }, { 0, 0, 0, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		struct flowtap_record_sample *head = begin(self);
		const struct item *item = self->log.items.list;

		head->pid = samples[i].pid;
		head->tid = samples[i].tid;
		head->cpu = samples[i].cpu;
		ASSERT_EQ(decode(self), 0);
		item = self->log.items.list;
		if (samples[i].told) {
			EXPECT_EQ(item->kind, ITEM_CONTEXT);
			EXPECT_EQ(item->a, samples[i].pid);
			EXPECT_EQ(item->b, samples[i].tid);
			EXPECT_EQ(item->c, samples[i].cpu);
			item++;
		}
		EXPECT_EQ(item->kind, ITEM_TIME);
		EXPECT_EQ(item->a, self->time);
		EXPECT_EQ(self->log.items.n, 2U + samples[i].told);
	}
}

TEST_F(ctr, table_11_cycles_and_their_saturation)
{
	static const struct {
		unsigned int cce_bits;
		uint64_t max;
	} lines[] = { { 0, 4095 }, { 1, 8191 }, { 2, 32764 }, { 3, 524224 }, { 4, 134201344 } };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		uint64_t bits = 0x0fff0000 | (((1ULL << lines[i].cce_bits) - 1) << 28);

		EXPECT_EQ(flowtap_ctr_cycles(bits), lines[i].max);
		EXPECT_TRUE(flowtap_ctr_cycles_saturated(bits, bits | 0x800f));
		EXPECT_FALSE(flowtap_ctr_cycles_saturated(bits - 0x10000, bits | 0x800f));
		EXPECT_EQ(flowtap_ctr_cycles_saturated(bits, UINT64_MAX), lines[i].cce_bits == 4);
	}
	EXPECT_EQ(flowtap_ctr_cycles(0x00008000), 0U);
	EXPECT_EQ(flowtap_ctr_cycles(0x10008000), 4096U);
	EXPECT_EQ(flowtap_ctr_cycles(0x20018000), 8194U);
	EXPECT_EQ(flowtap_ctr_cycles(0xffffffff00008000), 0U);
	EXPECT_FALSE(flowtap_ctr_cycles_saturated(UINT64_MAX, 0xf));
}

TEST_F(ctr, cycles_are_told_where_they_are_valid_and_as_the_cpu_counts_them)
{
	first(self);
	flowtap_ctr_set_data_bits(self->ctr, 3, 0x1fff800f);
	flowtap_ctr_set_data_bits(self->ctr, UINT32_MAX, 0);
	begin(self);
	entry(self, JR_RA, FUNCTION, RET)->data |= 0x1fff8000;
	entry(self, RETURN, MAIN, RET)->data |= 0x10000000;
	entry(self, BEQ, 0, INT)->data |= 0x00058000;
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), { ITEM_CYCLES, 8191, true, 0 },
		    INSN(FUNCTION), INSN(FUNCTION_2), INSN(RETURN), END(1, MAIN),
		    INSN(MAIN), INTERRUPT(BEQ), { ITEM_CYCLES, 5, false, 0 });
	begin(self)->cpu = 4;
	entry(self, JR_RA, FUNCTION, RET)->data |= 0x1fff8000;
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), { ITEM_CYCLES, 8191, false, 0 });
	begin(self)->cpu = UINT32_MAX;
	entry(self, JR_RA, FUNCTION, RET)->data |= 0xffff8000;
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), { ITEM_CYCLES, 134201344, true, 0 });
}

TEST_F(ctr, whatever_the_sink_refuses_stops_the_decoder)
{
	struct flowtap_record_gap gap = {
		.header = { FLOWTAP_RECORD_GAP, 0, sizeof(gap) }, .cause = 1, .tid = 9,
	};
	int calls = 0, status;

	for (int after = 0;; after++) {
		begin(self);
		entry(self, JR_RA, MAIN, RET);
		entry(self, CALL, FUNCTION, DCALL)->data |= 0x00018000;
		entry(self, FUNCTION, 0, INT);
		entry(self, RETURN, FUNCTION, RET);
		at_ip(self, RETURN);
		self->log.fail_after = after;
		status = decode(self);
		self->log.fail_after = -1;
		if (!status)
			break;
		EXPECT_EQ(status, -5);
		calls++;
	}
	/* The context at first; then time, gap, 1 + 3 blocks, cycles, exception, gap, 2 blocks. */
	EXPECT_EQ(calls, 11);
	self->log.fail_after = 0;
	EXPECT_EQ(flowtap_ctr_decode(self->ctr, &gap.header, sizeof(gap)), -5);
	EXPECT_EQ(flowtap_ctr_decode(self->ctr, &gap.header, 3), -5);
}

TEST(gap_reasons_have_the_names_of_the_grammar)
{
	EXPECT_STREQ(flowtap_gap_name(FLOWTAP_GAP_START), "start");
	EXPECT_STREQ(flowtap_gap_name(FLOWTAP_GAP_HARDWARE), "hardware");
	EXPECT_STREQ(flowtap_gap_name(FLOWTAP_GAP_NO_IMAGE), "no_image");
	EXPECT_STREQ(flowtap_gap_name(FLOWTAP_GAP_FILTERED), "filtered");
	EXPECT_STREQ(flowtap_gap_name(FLOWTAP_GAP_REASONS), "unknown");
	for (int reason = 0; reason < FLOWTAP_GAP_REASONS; reason++)
		EXPECT_NE(flowtap_gap_name(reason), NULL);
}

TEST_HARNESS_MAIN
