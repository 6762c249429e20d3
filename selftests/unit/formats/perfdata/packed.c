// SPDX-License-Identifier: GPL-2.0-only
/* Shows that what perf record -z packed is found, and what is wrong with it told. */
#include "fixture.h"

#include "support/perffile_pack.h"

struct seen {
	uint32_t types[64];
	uint64_t times[64];
	bool packed[64];
	size_t n;
};

static int see(void *argument, const struct flowtap_perfdata_record *record)
{
	struct seen *seen = argument;

	if (seen->n == 64)
		return -E2BIG;
	seen->types[seen->n] = record->type;
	seen->packed[seen->n] = record->packed;
	seen->times[seen->n++] = record->time;
	return 0;
}

/* Tasks, mappings, switches, AUX records between perf's own, so that there are several runs. */
static void busy(struct perffile *file)
{
	uint8_t trace[64] = { 1 };

	perffile_start(file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(file, 1, false, 3, units);
	for (uint32_t i = 0; i < 8; i++) {
		file->time = 1000 * (i + 1);
		file->pid = file->tid = 100 + i;
		perffile_comm(file, 100 + i, 100 + i, true, "task");
		perffile_mmap2(file, 100 + i, 100 + i, 0x400000, 0x1000, 0, PROT_READ | PROT_EXEC,
			       NULL, "/bin/true");
		perffile_aux(file, 8 * i, 8, RAW);
		if (i % 3 == 2)
			perffile_values(file, 68, 0, 0, NULL);
	}
	perffile_auxtrace(file, 0, 0, NONE, 0, trace, 64);
	perffile_task(file, PERF_RECORD_FORK, 0, 200, 100, 200, 100);
}

TEST(packed_records_are_those_that_were_packed)
{
	static const struct {
		bool second;
		size_t piece;
	} methods[] = { { false, 60000 }, { false, 1 }, { false, 37 }, { true, 60000 }, { true, 5 } };
	struct seen plain = { .n = 0 };
	struct perffile file;
	struct opened opened;

	busy(&file);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(0, flowtap_perfdata_walk(opened.perfdata, see, &plain));
	ASSERT_EQ(8, opened.n);
	done(&opened);
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		struct seen seen = { .n = 0 };
		size_t at = 0, packed = 0;

		busy(&file);
		perffile_pack(&file, methods[i].second, methods[i].piece);
		finish(&file, &opened);
		ASSERT_EQ(0, opened.err);
		EXPECT_EQ(0, opened.damages)
			TH_LOG("%s", opened.damage);
		ASSERT_EQ(8, opened.n);
		for (size_t r = 0; r < 8; r++)
			EXPECT_EQ(1000 * (r + 1), opened.ranges[r].time);
		/* One byte a record: too many for what is seen. */
		if (flowtap_perfdata_walk(opened.perfdata, see, &seen) == 0) {
			for (size_t r = 0; r < seen.n; r++) {
				if (seen.types[r] == PERFFILE_COMPRESSED ||
				    seen.types[r] == PERFFILE_COMPRESSED2)
					continue;
				EXPECT_EQ(plain.types[at], seen.types[r]);
				EXPECT_EQ(plain.times[at], seen.times[r]);
				EXPECT_EQ(plain.types[at++] < 64, seen.packed[r]);
				packed += seen.packed[r];
			}
			EXPECT_EQ(plain.n, at);
			EXPECT_EQ(25, packed);
		}
		done(&opened);
	}
}

TEST(what_is_packed_is_in_the_map)
{
	struct flowtap_address_map *map = flowtap_address_map_new("/");
	struct perffile file;
	struct opened opened;

	busy(&file);
	perffile_pack(&file, false, 100);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(0, flowtap_perfdata_fill(opened.perfdata, map));
	EXPECT_EQ(0, opened.damages);
	EXPECT_FALSE(flowtap_address_map_is_lossy(map));
	EXPECT_EQ(103, flowtap_perfdata_pid(opened.perfdata, 103, 9000));
	EXPECT_NE(NULL, flowtap_address_map_find(map, 103, 9000, 0x400000));
	EXPECT_EQ(NULL, flowtap_address_map_find(map, 103, 0x800000, 9000));
	flowtap_address_map_free(map);
	done(&opened);
}

/* --- Damage --- */

/* The first packed record of a file that is otherwise good. */
static uint8_t *first_packed(struct perffile *file)
{
	struct perf_event_header header;
	size_t at = file->data;

	for (;;) {
		memcpy(&header, file->bytes + at, sizeof(header));
		if (header.type == PERFFILE_COMPRESSED || header.type == PERFFILE_COMPRESSED2)
			return file->bytes + at;
		at += header.size;
	}
}

/* Mappings may be in what is lost: nothing that needs all of them is taken for sure. */
static bool is_lossy(const struct opened *opened)
{
	struct flowtap_address_map *map = flowtap_address_map_new("/");
	bool lossy = !flowtap_perfdata_fill(opened->perfdata, map) &&
		     flowtap_address_map_is_lossy(map);

	flowtap_address_map_free(map);
	return lossy;
}

TEST(what_zstd_cannot_unpack_is_told_once)
{
	struct perffile file;
	struct opened opened;

	busy(&file);
	perffile_pack(&file, false, 40);
	memset(first_packed(&file) + 8, 0xff, 16);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(1, opened.damages);
	EXPECT_STREQ("packed records that zstd cannot unpack", opened.damage);
	EXPECT_TRUE(is_lossy(&opened));
	/* What is not packed is used all the same. */
	EXPECT_EQ(64, opened.info->aux_bytes);
	done(&opened);
}

TEST(a_file_that_is_cut_may_lack_mappings)
{
	struct perffile file;
	struct opened opened;

	busy(&file);
	perffile_finish(&file);
	/* Within the record that is last, or within the trace bytes before it. */
	for (size_t cut = 4; cut <= 44; cut += 40) {
		open_bytes(&opened, file.bytes, file.last + 20 - cut);
		EXPECT_EQ(0, opened.err);
		EXPECT_EQ(2, opened.damages);
		EXPECT_TRUE(is_lossy(&opened));
		done(&opened);
	}
	free(file.bytes);
	/* Records that a ring dropped, if not a BPF program did. */
	for (int i = 0; i < 3; i++) {
		small(&file, false);
		perffile_values(&file, PERF_RECORD_LOST_SAMPLES, i == 1 ? 0x8000 : 0, 1,
				(uint64_t[]){ i < 2 });
		finish(&file, &opened);
		ASSERT_EQ(0, opened.err);
		EXPECT_EQ(!i, is_lossy(&opened)) TH_LOG("%d", i);
		done(&opened);
	}
	/* A pipe has no size that says it. */
	small(&file, true);
	open_bytes(&opened, file.bytes, file.size);
	EXPECT_FALSE(is_lossy(&opened));
	done(&opened);
	perffile_comm(&file, 1, 1, true, "cut");
	open_bytes(&opened, file.bytes, file.size - 4);
	free(file.bytes);
	EXPECT_STREQ("the file ends within a record", opened.damage);
	EXPECT_TRUE(is_lossy(&opened));
	done(&opened);
}

TEST(a_size_that_cannot_be_is_told)
{
	struct perffile file;
	struct opened opened;
	uint64_t size = 1000;

	busy(&file);
	perffile_pack(&file, true, 40);
	memcpy(first_packed(&file) + 8, &size, sizeof(size));
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(1, opened.damages);
	EXPECT_STREQ("a packed record that contradicts itself", opened.damage);
	done(&opened);
}

static void pack(struct perffile *file, const void *bytes, size_t size)
{
	struct perffile_packer packer = { ZSTD_createCStream(), false, 60000 };

	perffile_pack_some(file, &packer, bytes, size);
	ZSTD_freeCStream(packer.stream);
}

TEST(records_that_cannot_be_are_told)
{
	static const struct {
		struct perf_event_header header;
		const char *why;
	} cases[] = {
		{ { .type = PERF_RECORD_COMM, .size = 7 }, "a record of no size among packed ones" },
		{ { .type = PERF_RECORD_COMM, .size = 0 }, "a record of no size among packed ones" },
		{ { .type = PERF_RECORD_COMM, .size = 9 }, "the packed records end within one" },
		{ { .type = 71, .size = 8 }, "a record of perf itself among packed ones" },
		{ { .type = PERFFILE_COMPRESSED, .size = 8 },
		  "a record of perf itself among packed ones" },
	};
	struct opened opened;
	struct perffile file;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		small(&file, false);
		pack(&file, &cases[i].header, sizeof(cases[i].header));
		finish(&file, &opened);
		EXPECT_EQ(0, opened.err);
		EXPECT_EQ(1, opened.damages);
		EXPECT_STREQ(cases[i].why, opened.damage);
		/* The records of perf itself are whole, and of no use there. */
		EXPECT_EQ(i < 3, is_lossy(&opened));
		EXPECT_EQ(2, opened.n);
		done(&opened);
	}
}

/* 128 MiB of records of 8 bytes, which mean nothing: some thousand bytes of zstd. */
TEST(a_bomb_ends_early)
{
	const size_t size = 1 << 27;
	struct perf_event_header *headers = malloc(size);
	struct opened opened;
	struct perffile file;

	for (size_t i = 0; i < size / sizeof(*headers); i++)
		headers[i] = (struct perf_event_header){ .type = 5, .size = sizeof(*headers) };
	small(&file, false);
	pack(&file, headers, size);
	finish(&file, &opened);
	free(headers);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(1, opened.damages);
	EXPECT_STREQ("packed records that unpack to more than 4096 times their size", opened.damage);
	EXPECT_LT(1000000, opened.info->records);
	EXPECT_GT(size / sizeof(*headers), opened.info->records);
	done(&opened);
}

/* Mappings of which each takes 60000 bytes, 100 of them packed. */
TEST(more_than_there_is_room_for_is_left_out)
{
	static uint8_t record[60000];
	const struct perf_event_header header = {
		.type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER, .size = sizeof(record),
	};
	const uint32_t protection = PROT_READ | PROT_EXEC, pid = 7;
	const uint64_t page = 0x1000;
	struct perffile_packer packer = { ZSTD_createCStream(), false, 60000 };
	struct flowtap_address_map *map = flowtap_address_map_new("/");
	struct opened opened;
	struct perffile file;
	uint32_t random = 1;

	memcpy(record, &header, sizeof(header));
	memcpy(record + 8, &pid, sizeof(pid));
	memcpy(record + 12, &pid, sizeof(pid));
	memcpy(record + 16, &page, sizeof(page));
	memcpy(record + 24, &page, sizeof(page));
	memcpy(record + 64, &protection, sizeof(protection));
	strcpy((char *)record + 72, "/bin/true");
	small(&file, false);
	for (int i = 0; i < 5200; i++) {
		/* After the path, so that they are not too much alike. */
		for (int at = 88; at < 152; at++)
			record[at] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
		perffile_pack_some(&file, &packer, record, sizeof(record));
	}
	ZSTD_freeCStream(packer.stream);
	perffile_mmap2(&file, 8, 8, page, page, 0, protection, NULL, "/bin/true");
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(1, opened.damages);
	EXPECT_STREQ("packed records that take too much memory: some are left out", opened.damage);
	EXPECT_EQ(2, opened.n);
	/* What came before it, and what is not packed, is used. */
	ASSERT_EQ(0, flowtap_perfdata_fill(opened.perfdata, map));
	EXPECT_TRUE(flowtap_address_map_is_lossy(map));
	EXPECT_NE(NULL, flowtap_address_map_find(map, 7, 9000, page));
	EXPECT_NE(NULL, flowtap_address_map_find(map, 8, 9000, page));
	flowtap_address_map_free(map);
	done(&opened);
}

TEST_HARNESS_MAIN
