// SPDX-License-Identifier: GPL-2.0-only
/* Shows that a perf.data file is read as perf writes it, and that what is wrong with it is told. */
#include <errno.h>
#include <fcntl.h>
#include <flowtap/perfdata.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "unit/perffile.h"

#define NONE FLOWTAP_PERFDATA_NONE
#define RAW 0x100

struct opened {
	int fd;
	struct flowtap_perfdata *perfdata;
	const struct flowtap_perfdata_info *info;
	const struct flowtap_perfdata_stretch *stretches;
	size_t n;
	const char *reason;
	int err;
	int damages;
	uint64_t damage_at;
	char damage[128];
};

static void on_damage(void *argument, uint64_t offset, const char *reason)
{
	struct opened *opened = argument;

	opened->damages++;
	opened->damage_at = offset;
	snprintf(opened->damage, sizeof(opened->damage), "%s", reason);
}

/* In memory of exactly that size, and closed by done(). */
static void open_bytes(struct opened *opened, const void *bytes, size_t size)
{
	*opened = (struct opened) { .fd = memfd_create("perf.data", MFD_CLOEXEC) };
	if (opened->fd < 0 || write(opened->fd, bytes, size) != (ssize_t)size)
		abort();
	opened->err = flowtap_perfdata_open(opened->fd, on_damage, opened, &opened->perfdata,
					    &opened->reason);
	if (opened->err)
		return;
	opened->info = flowtap_perfdata_info(opened->perfdata);
	opened->stretches = flowtap_perfdata_stretches(opened->perfdata, &opened->n);
}

static void done(struct opened *opened)
{
	flowtap_perfdata_close(opened->perfdata);
	close(opened->fd);
}

static const struct perffile_unit units[] = {
	{
		.magic = PERFFILE_ETE, .cpu = 0, .configr = 0x18c1, .traceidr = 0x10,
		.idr0 = 0x28000ea1, .idr1 = 0x4100fff3, .idr2 = 0x20001088, .idr8 = 7,
		.authstatus = 0xcc, .devarch = 0x47705a13, .ts_source = 1,
	},
	{
		.magic = PERFFILE_ETE, .cpu = 5, .configr = 0x841, .traceidr = 0x12,
		.idr0 = 0x28000ea2, .idr1 = 0x4100fff4, .idr2 = 0x20001089, .idr8 = 8,
		.authstatus = 0xcd, .devarch = 0x47715a13, .ts_source = (uint64_t)-1,
	},
	{
		.magic = PERFFILE_ETMV4, .cpu = 6, .configr = 0x841, .traceidr = 0x14,
		.idr0 = 1, .idr1 = 2, .idr2 = 3, .idr8 = 4, .authstatus = 5, .ts_source = 3,
	},
};

/* One buffer of CPU 0 with two AUX records, in the usual layout. */
static void small(struct perffile *file, bool pipe)
{
	uint8_t trace[64];

	for (int i = 0; i < 64; i++)
		trace[i] = (uint8_t)(i + 1);
	perffile_start(file, pipe, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(file, 1, false, 3, units);
	file->time = 1000;
	perffile_aux(file, 0, 40, RAW);
	file->time = 2000;
	perffile_aux(file, 40, 24, RAW | FLOWTAP_PERFDATA_TRUNCATED);
	perffile_auxtrace(file, 0, 0, NONE, 0, trace, 64);
}

static void finish(struct perffile *file, struct opened *opened)
{
	perffile_finish(file);
	open_bytes(opened, file->bytes, file->size);
	free(file->bytes);
}

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
		EXPECT_EQ(units[i].devarch, cpu->config.devarch);
		EXPECT_EQ((int64_t)units[i].ts_source, cpu->ts_source);
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

TEST(aux_records_become_stretches)
{
	struct perffile file;
	struct opened opened;
	uint8_t bytes[64];
	size_t got;

	small(&file, false);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(2, opened.n);
	EXPECT_EQ(1000, opened.stretches[0].time);
	EXPECT_EQ(40, opened.stretches[0].size);
	EXPECT_EQ(RAW, opened.stretches[0].flags);
	EXPECT_EQ(0, opened.stretches[0].cpu);
	EXPECT_EQ(NONE, opened.stretches[0].tid);
	EXPECT_EQ(0, opened.stretches[0].missing);
	EXPECT_EQ(24, opened.stretches[1].size);
	EXPECT_EQ(RAW | FLOWTAP_PERFDATA_TRUNCATED, opened.stretches[1].flags);
	ASSERT_EQ(0, flowtap_perfdata_read(opened.perfdata, &opened.stretches[1], 4, bytes,
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
	EXPECT_EQ(2000, opened.stretches[1].time);
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
	/* Up to 8 nothing is said; 16 bytes between the two are not in the file; nor is the end. */
	perffile_aux(&file, 8, 56, RAW);
	file.time = 2;
	perffile_aux(&file, 64, 24, RAW | FLOWTAP_PERFDATA_COLLISION);
	file.time = 3;
	perffile_aux(&file, 120, 0, RAW | FLOWTAP_PERFDATA_TRUNCATED);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(4, opened.n);
	EXPECT_EQ(24, opened.stretches[0].size);
	EXPECT_EQ(8, opened.stretches[0].missing);
	EXPECT_FALSE(opened.stretches[0].continues);
	EXPECT_EQ(16, opened.stretches[1].size);
	EXPECT_EQ(16, opened.stretches[1].missing);
	EXPECT_FALSE(opened.stretches[1].continues);
	EXPECT_EQ(24, opened.stretches[2].size);
	EXPECT_EQ(0, opened.stretches[2].missing);
	EXPECT_EQ(0, opened.stretches[3].size);
	EXPECT_EQ(32, opened.stretches[3].missing);
	EXPECT_EQ(RAW | FLOWTAP_PERFDATA_TRUNCATED, opened.stretches[3].flags);
	EXPECT_EQ(56, opened.info->aux_missing);
	done(&opened);
}

TEST(a_stretch_in_two_auxtrace_records_continues)
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
	EXPECT_EQ(RAW, opened.stretches[0].flags);
	EXPECT_EQ(RAW | FLOWTAP_PERFDATA_TRUNCATED, opened.stretches[1].flags);
	EXPECT_TRUE(opened.stretches[1].continues);
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
		EXPECT_EQ(10 * (i + 1), opened.stretches[i].time);
		EXPECT_EQ(i % 2 ? 5 : 0, opened.stretches[i].cpu);
		EXPECT_EQ(i % 2 ? RAW : 0, opened.stretches[i].flags);
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
	EXPECT_EQ(71, opened.stretches[0].tid);
	EXPECT_EQ(5, opened.stretches[0].cpu);
	EXPECT_EQ(8, opened.stretches[0].size);
	EXPECT_EQ(72, opened.stretches[1].tid);
	EXPECT_EQ(0, opened.stretches[1].cpu);
	EXPECT_EQ(24, opened.stretches[1].size);
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
	EXPECT_EQ(40, opened.stretches[0].size);
	EXPECT_EQ(24, opened.stretches[1].size);
	EXPECT_TRUE(opened.stretches[1].continues);
	EXPECT_EQ(40, opened.stretches[2].size);
	EXPECT_FALSE(opened.stretches[2].continues);
	EXPECT_EQ(64, opened.stretches[3].size);
	EXPECT_EQ(16, opened.stretches[3].missing);
	EXPECT_EQ(16, opened.info->aux_missing);
	done(&opened);
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
	EXPECT_EQ(5, opened.stretches[0].size);
	EXPECT_EQ(3, opened.stretches[1].size);
	ASSERT_EQ(0, flowtap_perfdata_read(opened.perfdata, &opened.stretches[1], 0, bytes, 8,
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
	EXPECT_EQ(77, opened.stretches[0].time);
	EXPECT_EQ(0, opened.stretches[0].cpu);
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

/* --- The side band, in the map. A mapping with no file says why, and with that its path. --- */

static const char *mapped(struct flowtap_map *map, uint32_t pid, uint64_t time, uint64_t address)
{
	const struct flowtap_code *code = flowtap_map_find(map, pid, time, address);

	return code ? code->path : "nothing";
}

TEST(mappings_forks_and_execs_go_into_the_map)
{
	struct flowtap_map *map = flowtap_map_new("/proc/self/nowhere");
	struct perffile file;
	struct opened opened;

	small(&file, false);
	file.time = 300;	/* late in the file, early in time: not in order */
	perffile_comm(&file, 20, 20, true, "new");
	perffile_mmap2(&file, 20, 20, 0x1000, 0x1000, 0, PROT_READ | PROT_EXEC, NULL, "/bin/new");
	file.time = 200;
	perffile_task(&file, PERF_RECORD_FORK, 0, 20, 10, 20, 10);
	file.time = 0;
	perffile_task(&file, PERF_RECORD_FORK, PERF_RECORD_MISC_FORK_EXEC, 30, 10, 30, 10);
	perffile_mmap2(&file, 10, 10, 0x1000, 0x2000, 0, PROT_READ | PROT_EXEC, NULL, "/bin/a");
	perffile_mmap(&file, PERF_RECORD_MISC_USER, 30, 30, 0x5000, 0x1000, 0, "/bin/old");
	perffile_mmap(&file, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA, 30, 30, 0x7000,
		      0x1000, 0, "/bin/data");
	perffile_mmap(&file, PERF_RECORD_MISC_GUEST_USER, 30, 30, 0x8000, 0x1000, 0, "/bin/guest");
	file.time = 400;
	perffile_mmap2(&file, 10, 10, 0x2000, 0x1000, 0, PROT_READ, NULL, "/bin/a");
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(0, flowtap_perfdata_fill(opened.perfdata, map));
	EXPECT_EQ(0, opened.damages);
	EXPECT_STREQ("/bin/a", mapped(map, 10, 100, 0x2000));
	EXPECT_STREQ("nothing", mapped(map, 10, 400, 0x2000));
	EXPECT_STREQ("nothing", mapped(map, 20, 199, 0x1000));
	EXPECT_STREQ("/bin/a", mapped(map, 20, 200, 0x2000));
	EXPECT_STREQ("/bin/new", mapped(map, 20, 300, 0x1000));
	EXPECT_STREQ("nothing", mapped(map, 20, 300, 0x2000));
	EXPECT_STREQ("nothing", mapped(map, 30, 100, 0x1000));
	EXPECT_STREQ("/bin/old", mapped(map, 30, 100, 0x5000));
	EXPECT_STREQ("nothing", mapped(map, 30, 100, 0x7000));
	EXPECT_STREQ("nothing", mapped(map, 30, 100, 0x8000));
	flowtap_map_free(map);
	done(&opened);
}

/* The map names the build-id it wants: of the record, else of the file's list. */
TEST(a_mapping_has_its_build_id)
{
	struct flowtap_map *map = flowtap_map_new("/proc/self/nowhere");
	struct {
		struct perf_event_header header;
		uint32_t pid;
		uint8_t id[24];
		char path[28];
	} entry = { { 0, PERF_RECORD_MISC_USER | 0x8000, sizeof(entry) }, 1, { 0 }, "/bin/b" };
	uint8_t id[20] = { 0x11, 0x22 };
	char root[] = "/tmp/perfdata-XXXXXX", path[64];
	const struct flowtap_code *code;
	struct perffile file;
	struct opened opened;

	/* Files without a build-id of their own: why they are not taken says which was wanted. */
	ASSERT_NE(NULL, mkdtemp(root));
	snprintf(path, sizeof(path), "%s/bin", root);
	mkdir(path, 0755);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/bin/%c", root, 'a' + i);
		close(open(path, O_WRONLY | O_CREAT, 0644));
	}
	flowtap_map_free(map);
	map = flowtap_map_new(root);
	_Static_assert(sizeof(entry) == 64, "a record of the list");
	memset(entry.id, 0x99, 20);
	entry.id[20] = 20;
	small(&file, false);
	perffile_mmap2(&file, 1, 1, 0x1000, 0x1000, 0, PROT_EXEC, id, "/bin/a");
	perffile_mmap2(&file, 1, 1, 0x2000, 0x1000, 0, PROT_EXEC, NULL, "/bin/b");
	perffile_feature(&file, 2, &entry, sizeof(entry));
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(0, flowtap_perfdata_fill(opened.perfdata, map));
	code = flowtap_map_find(map, 1, 5000, 0x1000);
	ASSERT_NE(NULL, code);
	EXPECT_NE(NULL, strstr(code->missing, "recorded build-id is 1122000000"));
	code = flowtap_map_find(map, 1, 5000, 0x2000);
	ASSERT_NE(NULL, code);
	EXPECT_NE(NULL, strstr(code->missing, "recorded build-id is 99999999"));
	flowtap_map_free(map);
	done(&opened);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/bin/%c", root, 'a' + i);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/bin", root);
	rmdir(path);
	rmdir(root);
}

/* --- What is refused, and what is damaged. --- */

TEST(other_files_are_refused_with_a_reason)
{
	static const struct {
		const char *bytes;
		size_t size;
		int err;
		const char *reason;
	} table[] = {
		{ "", 0, -EBADMSG, "does not begin" },
		{ "PERFILE2", 8, -EBADMSG, "does not begin" },
		{ "2ELIFREP\0\0\0\0\0\0\0\x68", 16, -EPROTONOSUPPORT, "big-endian" },
		{ "PERFFILE\x68\0\0\0\0\0\0\0", 16, -EPROTONOSUPPORT, "before Linux 3.1" },
		{ "PERFILE2\x68\0\0\0\0\0\0\0", 16, -EBADMSG, "size that none has" },
		{ "PERFILE2\x10\0\0\0\0\0\0\0", 16, -ENODATA, "no trace" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct opened opened;

		open_bytes(&opened, table[i].bytes, table[i].size);
		EXPECT_EQ(table[i].err, opened.err);
		ASSERT_NE(NULL, opened.reason);
		EXPECT_NE(NULL, strstr(opened.reason, table[i].reason))
			TH_LOG("%zu: %s", i, opened.reason);
		done(&opened);
	}
}

TEST(compressed_records_are_refused)
{
	struct perffile file;
	struct opened opened;

	small(&file, false);
	perffile_values(&file, 81, 0, 1, (uint64_t[]) { 0 });
	finish(&file, &opened);
	EXPECT_EQ(-EPROTONOSUPPORT, opened.err);
	EXPECT_NE(NULL, strstr(opened.reason, "compressed"));
	done(&opened);
}

TEST(a_recording_that_was_killed_is_read_to_its_end)
{
	struct perffile file;
	struct opened opened;
	uint64_t end;

	small(&file, false);
	perffile_finish(&file);
	/* No size, and nothing behind the records. */
	memcpy(&end, file.bytes + 48, 8);
	perffile_set(&file, 48, 0);
	perffile_set(&file, 72, 0);
	open_bytes(&opened, file.bytes, file.data + end);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(2, opened.n);
	EXPECT_EQ(1, opened.damages);
	free(file.bytes);
	done(&opened);
}

TEST(a_file_cut_within_trace_bytes_has_what_is_there)
{
	struct perffile file;
	struct opened opened;
	size_t at;

	small(&file, false);
	at = file.size;
	perffile_finish(&file);
	open_bytes(&opened, file.bytes, at - 30);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(3, opened.n);
	EXPECT_EQ(34, opened.stretches[0].size);
	EXPECT_EQ(0, opened.stretches[1].size);
	EXPECT_EQ(6, opened.stretches[1].missing);
	EXPECT_EQ(0, opened.stretches[2].size);
	EXPECT_EQ(24, opened.stretches[2].missing);
	EXPECT_EQ(6 + 24, opened.info->aux_missing);
	EXPECT_EQ(2, opened.damages);
	free(file.bytes);
	done(&opened);
}

TEST(a_record_of_no_size_ends_the_reading)
{
	struct perffile file;
	struct opened opened;
	size_t at;

	small(&file, false);
	at = file.size;
	perffile_comm(&file, 1, 2, false, "x");
	memset(file.bytes + at + 6, 0, 2);
	perffile_comm(&file, 1, 3, false, "y");
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(1, opened.damages);
	EXPECT_EQ(at, opened.damage_at);
	EXPECT_EQ(0, flowtap_perfdata_pid(opened.perfdata, 3, 1));
	EXPECT_EQ(2, opened.n);
	done(&opened);
}

/* Sizes, offsets and counts that lie: every 8 bytes of the file, with each of some values. */
TEST(lies_about_sizes_do_no_harm)
{
	static const uint64_t values[] = {
		0, 1, 7, 0xffff, 0x10000, 0x7fffffff, 0xffffffff, 1ULL << 32, 1ULL << 63,
		UINT64_MAX, UINT64_MAX - 7,
	};
	struct flowtap_map *map;
	struct perffile file;
	struct opened opened;
	int opened_well = 0;
	uint8_t buffer[64];
	size_t got;

	small(&file, false);
	perffile_mmap2(&file, 1, 1, 0x1000, 0x1000, 0, PROT_EXEC, NULL, "/bin/b");
	perffile_string(&file, 4, "6.12.1");
	perffile_finish(&file);
	for (size_t at = 8; at + 8 <= file.size; at += 8) {
		uint64_t before;

		memcpy(&before, file.bytes + at, 8);
		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			perffile_set(&file, at, values[i]);
			open_bytes(&opened, file.bytes, file.size);
			if (!opened.err) {
				opened_well++;
				map = flowtap_map_new(NULL);
				flowtap_perfdata_fill(opened.perfdata, map);
				flowtap_map_free(map);
				for (size_t s = 0; s < opened.n; s++)
					flowtap_perfdata_read(opened.perfdata, &opened.stretches[s],
							      0, buffer, sizeof(buffer), &got);
			}
			done(&opened);
		}
		perffile_set(&file, at, before);
	}
	EXPECT_LT(100, opened_well);
	free(file.bytes);
}

TEST(each_cut_is_survived)
{
	struct perffile file;
	struct opened opened;

	small(&file, false);
	perffile_string(&file, 4, "6.12.1");
	perffile_finish(&file);
	/* The index of AUXTRACE records, which is last, is not needed. */
	for (size_t size = 0; size < file.size - 8 * (1 + 2 * file.index[0]); size++) {
		open_bytes(&opened, file.bytes, size);
		if (!opened.err)
			EXPECT_NE(0, opened.damages);
		done(&opened);
	}
	free(file.bytes);
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

TEST_HARNESS_MAIN
