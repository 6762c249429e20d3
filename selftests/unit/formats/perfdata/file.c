// SPDX-License-Identifier: GPL-2.0-only
/* Shows that a perf.data file is read as perf writes it. */
#include "formats/perfdata/internal.h"
#include "unit/formats/perfdata/fixture.h"

TEST(each_register_of_the_metadata_is_found)
{
	struct perffile file;
	struct opened opened;

	small(&file, false);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(1, opened.info->metadata);
	EXPECT_EQ(10, opened.info->pmu_type);
	EXPECT_FALSE(opened.info->snapshot);
	ASSERT_EQ(3, opened.info->n_cpus);
	for (int i = 0; i < 3; i++) {
		const struct flowtap_perfdata_cpu *cpu = &opened.info->cpus[i];

		EXPECT_EQ(units[i].cpu, cpu->cpu);
		EXPECT_EQ(i < 2, cpu->ete);
		EXPECT_EQ(units[i].configr, cpu->config.configr);
		EXPECT_EQ(units[i].traceidr, cpu->trace_id);
		EXPECT_EQ(units[i].idr0, cpu->config.idr0);
		EXPECT_EQ(units[i].idr1, cpu->config.idr1);
		EXPECT_EQ(units[i].idr2, cpu->config.idr2);
		EXPECT_EQ(units[i].idr8, cpu->config.idr8);
		EXPECT_EQ(units[i].authstatus, cpu->authstatus);
		EXPECT_EQ(i < 2 ? units[i].devarch : FLOWTAP_ETM4_DEVARCH, cpu->config.devarch);
		EXPECT_EQ((int64_t)units[i].ts_source, cpu->ts_source);
	}
	EXPECT_EQ(0, opened.damages);
	done(&opened);
}

/* Its blocks have no count of their parameters, and no source of timestamps. */
TEST(metadata_0_is_of_etmv4)
{
	struct perffile_unit two[2] = { units[2], units[2] };
	struct perffile file;
	struct opened opened;

	two[0].cpu = 2;
	two[1].configr = 0x41;
	two[1].traceidr = 0x16;
	two[1].idr2 = 0x488;
	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 0, false, 2, two);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(0, opened.info->metadata);
	EXPECT_EQ(0, opened.info->n_etmv3);
	ASSERT_EQ(2, opened.info->n_cpus);
	for (int i = 0; i < 2; i++) {
		const struct flowtap_perfdata_cpu *cpu = &opened.info->cpus[i];

		EXPECT_EQ(two[i].cpu, cpu->cpu);
		EXPECT_FALSE(cpu->ete);
		EXPECT_EQ(two[i].configr, cpu->config.configr);
		EXPECT_EQ(two[i].traceidr, cpu->trace_id);
		EXPECT_EQ(two[i].idr0, cpu->config.idr0);
		EXPECT_EQ(two[i].idr1, cpu->config.idr1);
		EXPECT_EQ(two[i].idr2, cpu->config.idr2);
		EXPECT_EQ(two[i].idr8, cpu->config.idr8);
		EXPECT_EQ(two[i].authstatus, cpu->authstatus);
		EXPECT_EQ(FLOWTAP_ETM4_DEVARCH, cpu->config.devarch);
		EXPECT_EQ(-1, cpu->ts_source);
	}
	EXPECT_EQ(0, opened.damages);
	done(&opened);
}

TEST(trace_ids_of_metadata_2_come_with_records)
{
	struct perffile_unit two[3] = { units[0], units[1], units[2] };
	struct perffile file;
	struct opened opened;

	/* Legacy values with the flag that says that they are not used. */
	two[0].traceidr |= 0x80000000;
	two[1].traceidr |= 0x80000000;
	two[2].traceidr |= 0x80000000;
	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 2, true, 3, two);
	file.cpu = 5;
	perffile_values(&file, 21, 0, 1, (uint64_t[]) { 0x01abcdef12345633ULL });
	file.cpu = 0;
	perffile_values(&file, 21, 0, 1, (uint64_t[]) { 0x2c });
	/* A version that means something else. */
	perffile_values(&file, 21, 0, 1, (uint64_t[]) { 0x1000000000000044ULL });
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(2, opened.info->metadata);
	EXPECT_TRUE(opened.info->snapshot);
	EXPECT_EQ(0x2c, opened.info->cpus[0].trace_id);
	EXPECT_EQ(0, opened.info->cpus[0].sink);
	EXPECT_EQ(0x33, opened.info->cpus[1].trace_id);
	EXPECT_EQ(0xef123456, opened.info->cpus[1].sink);
	EXPECT_EQ(0, opened.info->cpus[2].trace_id);
	EXPECT_EQ(1, opened.damages);
	done(&opened);
}

/* perf of 6.4 to 6.11 on a kernel that sends no such records. */
TEST(without_hw_id_records_trace_ids_are_those_of_the_metadata)
{
	struct perffile_unit two[3] = { units[0], units[1], units[2] };
	struct perffile file;
	struct opened opened;

	for (int i = 0; i < 3; i++)
		two[i].traceidr |= 0x80000000;
	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 2, false, 3, two);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(units[i].traceidr, opened.info->cpus[i].trace_id);
	EXPECT_EQ(0, opened.damages);
	done(&opened);
}

/* Before 6.3 it was made of the number of the CPU, of which there may be more than IDs. */
TEST(a_trace_id_that_two_cpus_have_is_neithers_unless_the_sink_tells)
{
	struct perffile_unit two[3] = { units[0], units[1], units[2] };
	struct perffile file;
	struct opened opened;

	two[1].traceidr = 0x10;
	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 1, false, 3, two);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	for (int i = 0; i < 3; i++) {
		const uint32_t collector = two[i].cpu;

		EXPECT_EQ(NULL, flowtap_perfdata_by_trace_id(opened.perfdata, collector, 0x10));
		EXPECT_EQ(&opened.info->cpus[2],
			  flowtap_perfdata_by_trace_id(opened.perfdata, collector, two[2].traceidr));
	}
	opened.perfdata->cpus.list[0].sink = 1;
	opened.perfdata->cpus.list[1].sink = 2;
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(&opened.info->cpus[i],
			  flowtap_perfdata_by_trace_id(opened.perfdata, two[i].cpu, 0x10));
	done(&opened);
}

/* perf before 6.3 with --per-thread on a kernel that sends them. */
TEST(a_hw_id_record_of_no_cpu_says_nothing_and_is_no_damage)
{
	struct perffile file;
	struct opened opened;

	perffile_start(&file, false, PERFFILE_ANY & ~(uint64_t)PERF_SAMPLE_CPU, PERFFILE_ANY);
	perffile_info(&file, 1, false, 3, units);
	perffile_values(&file, 21, 0, 1, (uint64_t[]) { 0x2c });
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(0x10, opened.info->cpus[0].trace_id);
	EXPECT_EQ(0, opened.damages);
	done(&opened);
}

TEST(older_and_newer_trace_units_are_told_from_none)
{
	struct perffile_unit etmv3 = { .magic = 0x3030303030303030ULL };
	struct perffile file;
	struct opened opened;

	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 1, false, 1, &etmv3);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(0, opened.info->n_cpus);
	EXPECT_EQ(1, opened.info->n_etmv3);
	done(&opened);

	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 3, false, 1, units);
	finish(&file, &opened);
	EXPECT_EQ(-EPROTONOSUPPORT, opened.err);
	ASSERT_NE(NULL, opened.reason);
	EXPECT_NE(NULL, strstr(opened.reason, "newer than version 2"));
	EXPECT_EQ(0, opened.damages);
	done(&opened);
}

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
