// SPDX-License-Identifier: GPL-2.0-only
/* Shows which bytes each AUX record is of, and which are missing or nobody's. */
#include "formats/perfdata/internal.h"
#include "unit/formats/perfdata/fixture.h"

TEST(aux_records_become_ranges)
{
	struct perffile file;
	struct opened opened;
	uint8_t bytes[64];
	size_t got;

	small(&file, false);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(2, opened.n);
	EXPECT_EQ(1000, opened.ranges[0].time);
	EXPECT_EQ(40, opened.ranges[0].size);
	EXPECT_EQ(RAW, opened.ranges[0].flags);
	EXPECT_EQ(0, opened.ranges[0].cpu);
	EXPECT_EQ(NONE, opened.ranges[0].tid);
	EXPECT_EQ(0, opened.ranges[0].missing);
	EXPECT_EQ(24, opened.ranges[1].size);
	EXPECT_EQ(RAW | FLOWTAP_PERFDATA_TRUNCATED, opened.ranges[1].flags);
	ASSERT_EQ(0, flowtap_perfdata_read(opened.perfdata, &opened.ranges[1], 4, bytes,
					   sizeof(bytes), &got));
	ASSERT_EQ(20, got);
	EXPECT_EQ(45, bytes[0]);
	EXPECT_EQ(64, bytes[19]);
	EXPECT_EQ(64, opened.info->aux_bytes);
	EXPECT_EQ(0, opened.info->aux_missing);
	done(&opened);
}

TEST(bytes_that_are_not_there_are_missing)
{
	struct perffile file;
	struct opened opened;
	uint8_t trace[64] = { 0 };

	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 1, false, 1, units);
	file.time = 1;
	perffile_auxtrace(&file, 0, 0, NONE, 0, trace, 32);
	perffile_auxtrace(&file, 48, 0, NONE, 0, trace, 64);
	/*
	 * Up to 8 nothing is said, nor between 88 and 112; 16 bytes between the two are not in the
	 * file, and from 112 on nothing is.
	 */
	perffile_aux(&file, 8, 56, RAW);
	file.time = 2;
	perffile_aux(&file, 64, 24, RAW | FLOWTAP_PERFDATA_COLLISION);
	file.time = 3;
	perffile_aux(&file, 120, 0, RAW | FLOWTAP_PERFDATA_TRUNCATED);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(4, opened.n);
	EXPECT_EQ(24, opened.ranges[0].size);
	EXPECT_EQ(0, opened.ranges[0].missing);
	EXPECT_EQ(8, opened.ranges[0].unnamed);
	EXPECT_FALSE(opened.ranges[0].continues);
	EXPECT_EQ(16, opened.ranges[1].size);
	EXPECT_EQ(16, opened.ranges[1].missing);
	EXPECT_FALSE(opened.ranges[1].continues);
	EXPECT_EQ(24, opened.ranges[2].size);
	EXPECT_EQ(0, opened.ranges[2].missing);
	EXPECT_EQ(0, opened.ranges[3].size);
	EXPECT_EQ(8, opened.ranges[3].missing);
	EXPECT_EQ(24, opened.ranges[3].unnamed);
	EXPECT_EQ(RAW | FLOWTAP_PERFDATA_TRUNCATED, opened.ranges[3].flags);
	EXPECT_EQ(24, opened.info->aux_missing);
	EXPECT_EQ(32, opened.info->aux_unnamed);
	done(&opened);
}

/* perf record --switch-output: the buffer's offsets go on, what was before is in the other file. */
TEST(a_later_file_begins_where_the_one_before_it_ended)
{
	const uint8_t trace[64] = { 0 };
	struct perffile file;
	struct opened opened;

	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 1, false, 3, units);
	file.time = 1000;
	perffile_aux(&file, 0x40000, 40, RAW);
	file.time = 2000;
	perffile_aux(&file, 0x40028, 24, RAW);
	perffile_auxtrace(&file, 0x40000, 0, NONE, 0, trace, sizeof(trace));
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(2, opened.n);
	EXPECT_EQ(40, opened.ranges[0].size);
	EXPECT_EQ(0, opened.ranges[0].missing);
	EXPECT_EQ(24, opened.ranges[1].size);
	EXPECT_EQ(0, opened.info->aux_missing);
	EXPECT_EQ(0, opened.info->aux_unnamed);
	EXPECT_EQ(0, opened.damages);
	done(&opened);
}

TEST(a_range_in_two_auxtrace_records_continues)
{
	struct perffile file;
	struct opened opened;
	uint8_t trace[64] = { 0 };

	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 1, false, 1, units);
	perffile_auxtrace(&file, 0, 0, NONE, 0, trace, 32);
	perffile_auxtrace(&file, 32, 0, NONE, 0, trace, 64);
	perffile_aux(&file, 0, 96, RAW | FLOWTAP_PERFDATA_TRUNCATED);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(2, opened.n);
	EXPECT_EQ(RAW, opened.ranges[0].flags);
	EXPECT_EQ(RAW | FLOWTAP_PERFDATA_TRUNCATED, opened.ranges[1].flags);
	EXPECT_TRUE(opened.ranges[1].continues);
	done(&opened);
}

TEST(cpus_are_merged_by_time)
{
	struct perffile file;
	struct opened opened;
	uint8_t trace[64] = { 0 };

	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 1, false, 2, units);
	file.cpu = 5;
	file.time = 20;
	perffile_aux(&file, 0, 8, RAW);
	file.time = 40;
	perffile_aux(&file, 8, 8, RAW);
	file.cpu = 0;
	file.time = 10;
	perffile_aux(&file, 0, 16, 0);
	file.time = 30;
	perffile_aux(&file, 16, 16, 0);
	perffile_auxtrace(&file, 0, 0, NONE, 0, trace, 32);
	perffile_auxtrace(&file, 0, 1, NONE, 5, trace, 16);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(4, opened.n);
	for (int i = 0; i < 4; i++) {
		EXPECT_EQ(10 * (i + 1), opened.ranges[i].time);
		EXPECT_EQ(i % 2 ? 5 : 0, opened.ranges[i].cpu);
		EXPECT_EQ(i % 2 ? RAW : 0, opened.ranges[i].flags);
	}
	done(&opened);
}

TEST(a_threads_buffer_is_told_by_its_tid)
{
	struct perffile file;
	struct opened opened;
	uint8_t trace[64] = { 0 };

	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 1, false, 2, units);
	file.pid = 70;
	file.tid = 71;
	file.cpu = 5;
	file.time = 1;
	perffile_aux(&file, 0, 8, RAW);
	file.tid = 72;
	file.cpu = 0;
	file.time = 2;
	perffile_aux(&file, 0, 24, RAW);
	perffile_auxtrace(&file, 0, 0, 71, NONE, trace, 8);
	perffile_auxtrace(&file, 0, 1, 72, NONE, trace, 24);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(2, opened.n);
	EXPECT_EQ(71, opened.ranges[0].tid);
	EXPECT_EQ(5, opened.ranges[0].cpu);
	EXPECT_EQ(8, opened.ranges[0].size);
	EXPECT_EQ(72, opened.ranges[1].tid);
	EXPECT_EQ(0, opened.ranges[1].cpu);
	EXPECT_EQ(24, opened.ranges[1].size);
	done(&opened);
}

TEST(a_snapshot_ends_where_its_aux_record_says)
{
	struct perffile file;
	struct opened opened;
	uint8_t trace[64] = { 0 };
	uint64_t flags = RAW | FLOWTAP_PERFDATA_OVERWRITE;

	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 1, true, 1, units);
	/*
	 * 64 bytes of buffer, 100 were collected; then 40 more: 24 of those before are told again;
	 * then 80, of which 16 were written over.
	 */
	file.time = 1;
	perffile_aux(&file, 100, 100, flags);
	perffile_auxtrace(&file, 36, 0, NONE, 0, trace, 64);
	file.time = 2;
	perffile_aux(&file, 140, 64, flags);
	perffile_auxtrace(&file, 76, 0, NONE, 0, trace, 64);
	file.time = 3;
	perffile_aux(&file, 220, 200, flags);
	perffile_auxtrace(&file, 156, 0, NONE, 0, trace, 64);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(4, opened.n);
	EXPECT_EQ(40, opened.ranges[0].size);
	EXPECT_EQ(24, opened.ranges[1].size);
	EXPECT_TRUE(opened.ranges[1].continues);
	EXPECT_EQ(40, opened.ranges[2].size);
	EXPECT_FALSE(opened.ranges[2].continues);
	EXPECT_EQ(64, opened.ranges[3].size);
	EXPECT_EQ(16, opened.ranges[3].missing);
	EXPECT_EQ(16, opened.info->aux_missing);
	done(&opened);
}

/* It named the place where the head was, which is the end. */
TEST(a_snapshot_of_perf_before_5_3_is_all_that_its_buffer_had)
{
	uint64_t flags = FLOWTAP_PERFDATA_OVERWRITE;
	struct perffile file;
	struct opened opened;
	uint8_t trace[64] = { 0 };

	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 1, true, 1, units);
	/* 48 bytes more: 16 of those before are told again. */
	file.time = 1;
	perffile_aux(&file, 96, 64, flags);
	perffile_auxtrace(&file, 96, 0, NONE, 0, trace, 64);
	file.time = 2;
	perffile_aux(&file, 144, 64, flags);
	perffile_auxtrace(&file, 144, 0, NONE, 0, trace, 64);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(2, opened.n);
	EXPECT_EQ(48, opened.ranges[0].size);
	EXPECT_EQ(1, opened.ranges[0].time);
	EXPECT_EQ(64, opened.ranges[1].size);
	EXPECT_EQ(2, opened.ranges[1].time);
	EXPECT_EQ(0, opened.info->aux_missing);
	EXPECT_EQ(0, opened.info->aux_unnamed);
	done(&opened);
}

/* perf record -S100: as many bytes before the head, wherever a frame begins. */
TEST(a_snapshot_that_is_cut_within_a_frame_begins_with_the_next_one)
{
	struct perffile file;
	struct opened opened;
	uint8_t trace[104], byte;
	size_t got;

	for (size_t i = 0; i < sizeof(trace); i++)
		trace[i] = (uint8_t)i;
	for (uint64_t raw = 0; raw <= RAW; raw += RAW) {
		perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
		perffile_info(&file, 1, true, 1, units);
		perffile_aux(&file, 4096, 4096, FLOWTAP_PERFDATA_OVERWRITE | raw);
		perffile_auxtrace(&file, 4096 - 100, 0, NONE, 0, trace, sizeof(trace));
		finish(&file, &opened);
		ASSERT_EQ(0, opened.err);
		ASSERT_EQ(1, opened.n);
		EXPECT_EQ(raw ? 100 : 96, opened.ranges[0].size);
		EXPECT_EQ(raw ? 0 : 4, opened.ranges[0].missing);
		EXPECT_EQ(0, opened.ranges[0].unnamed);
		ASSERT_EQ(0, flowtap_perfdata_read(opened.perfdata, &opened.ranges[0], 0, &byte, 1,
						   &got));
		EXPECT_EQ(raw ? 0 : 4, byte);
		done(&opened);
	}
}

/* perf pads to a multiple of 8; the buffer's offsets do not know of that. */
TEST(padding_is_no_trace)
{
	uint8_t first[8] = { 1, 2, 3, 4, 5 }, second[8] = { 6, 7, 8 }, bytes[8];
	struct perffile file;
	struct opened opened;
	size_t got;

	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 1, false, 1, units);
	perffile_aux(&file, 0, 5, RAW);
	perffile_auxtrace(&file, 0, 0, NONE, 0, first, 8);
	perffile_aux(&file, 5, 3, RAW);
	perffile_auxtrace(&file, 5, 0, NONE, 0, second, 8);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(2, opened.n);
	EXPECT_EQ(5, opened.ranges[0].size);
	EXPECT_EQ(3, opened.ranges[1].size);
	ASSERT_EQ(0, flowtap_perfdata_read(opened.perfdata, &opened.ranges[1], 0, bytes, 8,
					   &got));
	ASSERT_EQ(3, got);
	EXPECT_EQ(0, memcmp(bytes, second, 3));
	EXPECT_EQ(0, opened.info->aux_missing);
	done(&opened);
}

/* Nothing says whose the bytes are. */
TEST(records_without_a_cpu_are_of_the_only_buffer_or_of_none)
{
	const uint64_t type = PERFFILE_ANY & ~(uint64_t)PERF_SAMPLE_CPU;
	const uint8_t trace[32] = { 0 };

	for (int buffers = 1; buffers <= 2; buffers++) {
		struct perffile file;
		struct opened opened;
		uint64_t bytes = 0;

		perffile_start(&file, false, type, type);
		perffile_info(&file, 1, false, 3, units);
		file.time = 1000;
		perffile_aux(&file, 0, sizeof(trace), RAW);
		perffile_auxtrace(&file, 0, 0, NONE, 5, trace, sizeof(trace));
		if (buffers > 1)
			perffile_auxtrace(&file, 0, 1, NONE, 6, trace, sizeof(trace));
		finish(&file, &opened);
		ASSERT_EQ(0, opened.err);
		for (size_t i = 0; i < opened.n; i++)
			bytes += opened.ranges[i].size;
		EXPECT_EQ(buffers > 1 ? 0 : sizeof(trace), bytes);
		EXPECT_EQ(buffers > 1 ? 2 * sizeof(trace) : 0, opened.info->aux_unnamed);
		done(&opened);
	}
}

TEST_HARNESS_MAIN
