// SPDX-License-Identifier: GPL-2.0-only
/* Shows that a perf.data file is read as perf writes it. */
#include "formats/perfdata/internal.h"
#include "unit/formats/perfdata/fixture.h"

TEST(a_pipe_is_read_as_a_file)
{
	struct perffile file;
	struct opened opened;

	small(&file, true);
	perffile_string(&file, 4, "6.12.1");
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_TRUE(opened.info->pipe);
	EXPECT_STREQ("6.12.1", opened.info->release);
	ASSERT_EQ(2, opened.n);
	EXPECT_EQ(2000, opened.ranges[1].time);
	EXPECT_EQ(0, opened.damages);
	done(&opened);
}

TEST(features_say_where_it_was_recorded)
{
	static const char *const words[] = { "perf", "record", "ls" };
	uint8_t command[4 + 3 * 68] = { 3 };
	struct perffile file;
	struct opened opened;

	for (int i = 0; i < 3; i++) {
		command[4 + 68 * i] = 64;
		strcpy((char *)command + 8 + 68 * i, words[i]);
	}
	small(&file, false);
	perffile_string(&file, 3, "board");
	perffile_string(&file, 4, "6.12.1");
	perffile_string(&file, 5, "6.12");
	perffile_string(&file, 6, "aarch64");
	perffile_feature(&file, 11, command, sizeof(command));
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_STREQ("board", opened.info->hostname);
	EXPECT_STREQ("6.12.1", opened.info->release);
	EXPECT_STREQ("6.12", opened.info->version);
	EXPECT_STREQ("aarch64", opened.info->arch);
	EXPECT_STREQ("perf record ls", opened.info->command);
	done(&opened);
}

static int count(void *argument, const struct flowtap_perfdata_record *record)
{
	uint64_t *seen = argument;

	seen[record->type & 127]++;
	if (record->type == PERF_RECORD_COMM) {
		seen[127] = record->time;
		return strcmp((const char *)record->bytes + 16, "name") ? -1 : 0;
	}
	return record->type == PERF_RECORD_EXIT ? 5 : 0;
}

/* The dummy event has no CPU in its ids, the trace's has. */
TEST(sample_ids_of_different_layouts)
{
	uint64_t seen[128] = { 0 };
	struct perffile file;
	struct opened opened;

	perffile_start(&file, false, PERFFILE_ANY,
		       PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
	perffile_info(&file, 1, false, 1, units);
	file.time = 77;
	perffile_comm(&file, 40, 41, false, "name");
	perffile_aux(&file, 0, 8, RAW);
	perffile_auxtrace(&file, 0, 0, NONE, 0, units, 8);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(1, opened.n);
	EXPECT_EQ(77, opened.ranges[0].time);
	EXPECT_EQ(0, opened.ranges[0].cpu);
	EXPECT_EQ(0, flowtap_perfdata_walk(opened.perfdata, count, seen));
	EXPECT_EQ(77, seen[127]);
	EXPECT_EQ(40, flowtap_perfdata_pid(opened.perfdata, 41, 100));
	EXPECT_EQ(0, flowtap_perfdata_pid(opened.perfdata, 40, 100));
	done(&opened);
}

TEST(a_thread_number_is_used_again)
{
	struct perffile file;
	struct opened opened;

	small(&file, false);
	file.time = 10;
	perffile_task(&file, PERF_RECORD_FORK, 0, 30, 30, 31, 30);
	file.time = 20;
	perffile_task(&file, PERF_RECORD_FORK, 0, 50, 50, 31, 50);
	perffile_comm(&file, 50, 31, false, "new");
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(30, flowtap_perfdata_pid(opened.perfdata, 31, 5));
	EXPECT_EQ(30, flowtap_perfdata_pid(opened.perfdata, 31, 19));
	EXPECT_EQ(50, flowtap_perfdata_pid(opened.perfdata, 31, 20));
	EXPECT_EQ(0, flowtap_perfdata_pid(opened.perfdata, 32, 20));
	done(&opened);
}

TEST(switches_say_who_ran)
{
	struct perffile file;
	struct opened opened;

	small(&file, false);
	file.cpu = 1;
	file.time = 10;
	file.tid = 7;
	perffile_values(&file, PERF_RECORD_ITRACE_START, 0, 1, (uint64_t[]) { 7ULL << 32 | 7 });
	file.time = 20;
	perffile_values(&file, PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT, 1,
			(uint64_t[]) { 9ULL << 32 | 8 });
	file.tid = 9;
	file.time = 21;
	perffile_values(&file, PERF_RECORD_SWITCH_CPU_WIDE, 0, 1, (uint64_t[]) { 7ULL << 32 | 7 });
	file.time = 30;
	perffile_values(&file, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, 0, NULL);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(NONE, flowtap_perfdata_ran(opened.perfdata, 1, 9));
	EXPECT_EQ(7, flowtap_perfdata_ran(opened.perfdata, 1, 19));
	EXPECT_EQ(9, flowtap_perfdata_ran(opened.perfdata, 1, 20));
	EXPECT_EQ(9, flowtap_perfdata_ran(opened.perfdata, 1, 29));
	EXPECT_EQ(NONE, flowtap_perfdata_ran(opened.perfdata, 1, 30));
	EXPECT_EQ(NONE, flowtap_perfdata_ran(opened.perfdata, 0, 20));
	EXPECT_EQ(8, flowtap_perfdata_pid(opened.perfdata, 9, 20));
	done(&opened);
}

TEST(ticks_become_time)
{
	uint64_t conv[6] = { 10, 1 << 12, 5000, 0, 0, 1 };
	struct perffile file;
	struct opened opened;
	uint64_t time = 0;

	small(&file, false);
	perffile_values(&file, 79, 0, 3, conv);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_TRUE(flowtap_perfdata_time(opened.perfdata, 1023, &time));
	EXPECT_EQ(5000 + 1023 * 4, time);
	EXPECT_TRUE(flowtap_perfdata_time(opened.perfdata, (1ULL << 60) + 3, &time));
	EXPECT_EQ(5000 + (1ULL << 62) + 12, time);
	done(&opened);

	/* A counter of 20 bits that was at 0xabc00010. */
	small(&file, false);
	conv[3] = 0xabc00010;
	conv[4] = 0xfffff;
	conv[5] = 1 | 1 << 8;
	perffile_values(&file, 79, 0, 6, conv);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_TRUE(flowtap_perfdata_time(opened.perfdata, 0x20, &time));
	EXPECT_EQ(5000 + 0xabc00020ULL * 4, time);
	done(&opened);

	small(&file, false);
	finish(&file, &opened);
	EXPECT_FALSE(flowtap_perfdata_time(opened.perfdata, 1, &time));
	done(&opened);
}

/* perf record -k: the records have the times of a clock that is not the counter's. */
TEST(ticks_are_no_time_of_another_clock)
{
	struct perffile file;
	struct opened opened;
	uint64_t time;

	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_clocked(&file);
	perffile_info(&file, 1, false, 1, units);
	perffile_values(&file, 79, 0, 3, (uint64_t[]) { 0, 1, 0 });
	perffile_auxtrace(&file, 0, 0, NONE, 0, "trace", 5);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_TRUE(opened.info->clocked);
	EXPECT_FALSE(flowtap_perfdata_has_time(opened.perfdata));
	EXPECT_FALSE(flowtap_perfdata_time(opened.perfdata, 1, &time));
	done(&opened);
}

TEST(losses_and_throttling_are_counted)
{
	struct perffile file;
	struct opened opened;

	small(&file, false);
	perffile_values(&file, PERF_RECORD_LOST, 0, 2, (uint64_t[]) { 100, 3 });
	perffile_values(&file, PERF_RECORD_LOST, 0, 2, (uint64_t[]) { 100, 4 });
	perffile_values(&file, PERF_RECORD_THROTTLE, 0, 3, (uint64_t[]) { 1, 2, 3 });
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(7, opened.info->lost);
	EXPECT_EQ(1, opened.info->throttled);
	done(&opened);
}

TEST(a_walk_visits_each_record_in_the_order_of_the_file)
{
	struct perffile file;
	struct opened opened;
	uint64_t seen[128] = { 0 };

	small(&file, false);
	file.time = 4711;
	perffile_comm(&file, 1, 1, false, "name");
	perffile_task(&file, PERF_RECORD_EXIT, 0, 1, 1, 1, 1);
	perffile_task(&file, PERF_RECORD_FORK, 0, 1, 1, 1, 1);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(5, flowtap_perfdata_walk(opened.perfdata, count, seen));
	EXPECT_EQ(1, seen[70]);
	EXPECT_EQ(1, seen[71]);
	EXPECT_EQ(2, seen[PERF_RECORD_AUX]);
	EXPECT_EQ(1, seen[PERF_RECORD_COMM]);
	EXPECT_EQ(0, seen[PERF_RECORD_FORK]);
	EXPECT_EQ(4711, seen[127]);
	EXPECT_STREQ("MMAP2", flowtap_perfdata_record_name(10));
	EXPECT_EQ(NULL, flowtap_perfdata_record_name(1000));
	done(&opened);
}

static int end_it(void *argument, const struct flowtap_perfdata_record *record)
{
	(void)record;
	return *(int *)argument;
}

TEST(what_ends_a_walk_is_returned)
{
	int results[] = { 1, -ENODATA, 7 };
	struct perffile file;
	struct opened opened;

	small(&file, false);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
		EXPECT_EQ(results[i],
			  flowtap_perfdata_walk(opened.perfdata, end_it, &results[i]));
	done(&opened);
}

TEST_HARNESS_MAIN
