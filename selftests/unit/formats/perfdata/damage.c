// SPDX-License-Identifier: GPL-2.0-only
/* Shows which perf.data files are refused, and that what is wrong with others is told. */
#include "unit/formats/perfdata/fixture.h"

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

TEST(a_recording_that_was_killed_is_read_to_its_end)
{
	struct perffile file;
	struct opened opened;
	uint64_t end;

	small(&file, false);
	perffile_finish(&file);
	/* No size, and nothing after the records. */
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
	EXPECT_EQ(34, opened.ranges[0].size);
	EXPECT_EQ(0, opened.ranges[1].size);
	EXPECT_EQ(6, opened.ranges[1].missing);
	EXPECT_EQ(0, opened.ranges[2].size);
	EXPECT_EQ(24, opened.ranges[2].missing);
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

static int only_perfs(void *argument, const struct flowtap_perfdata_record *record)
{
	(void)argument;
	return record->type < 32768 ? 0 : 1;
}

/* Its size is 0x50010, of which the upper half is in misc: more than is read at once. */
TEST(a_record_of_simpleperf_itself_is_stepped_over)
{
	static uint8_t text[0x50010 - 8];
	struct perffile file;
	struct opened opened;

	memset(text, 'x', sizeof(text));
	small(&file, false);
	perffile_begin(&file, 32768 + 3, 5);
	perffile_put(&file, text, sizeof(text));
	perffile_end(&file);
	perffile_comm(&file, 1, 3, false, "y");
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(0, opened.damages);
	EXPECT_EQ(1, flowtap_perfdata_pid(opened.perfdata, 3, 1));
	EXPECT_EQ(0, flowtap_perfdata_walk(opened.perfdata, only_perfs, NULL));
	EXPECT_EQ(2, opened.n);
	done(&opened);
	/* One that the file has not all of. */
	small(&file, false);
	perffile_begin(&file, 32768 + 3, 6);
	perffile_put(&file, text, sizeof(text));
	perffile_end(&file);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(1, opened.damages);
	EXPECT_STREQ("the file ends within a record", opened.damage);
	done(&opened);
}

/* The version of the directory format: 1 with --threads, 0 where one file has all records. */
TEST(of_a_directory_with_several_files_the_others_are_missed)
{
	for (uint64_t version = 0; version < 2; version++) {
		struct perffile file;
		struct opened opened;

		small(&file, false);
		perffile_feature(&file, 24, &version, sizeof(version));
		/* Numbers rise: instead of the index of AUXTRACE records, which nobody needs. */
		for (unsigned int n = file.n_features; n < PERFFILE_FEATURES; n++)
			perffile_feature(&file, 24 + n, "", 0);
		finish(&file, &opened);
		ASSERT_EQ(0, opened.err);
		EXPECT_EQ(version, opened.damages);
		if (version)
			EXPECT_NE(NULL, strstr(opened.damage, "record without --threads"));
		EXPECT_EQ(2, opened.n);
		done(&opened);
	}
}

/* Of which nothing tells whether there are other files: that is not said. */
TEST(a_directorys_section_outside_of_the_file_is_what_is_damaged)
{
	const uint64_t version = 0;
	struct perffile file;
	struct opened opened;
	uint64_t data[2];

	small(&file, false);
	perffile_feature(&file, 24, &version, sizeof(version));
	for (unsigned int n = file.n_features; n < PERFFILE_FEATURES; n++)
		perffile_feature(&file, 24 + n, "", 0);
	perffile_finish(&file);
	/* Where the records end the features begin, with offset and size of the first. */
	memcpy(data, file.bytes + 40, sizeof(data));
	perffile_set(&file, data[0] + data[1], file.size + 1);
	open_bytes(&opened, file.bytes, file.size);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(1, opened.damages);
	EXPECT_STREQ("a feature section outside of the file", opened.damage);
	free(file.bytes);
	done(&opened);
}

/* Each attribute says where its ids are: that may be the same place, which takes no more time. */
TEST(ids_that_attributes_share_are_read_up_to_a_limit)
{
	enum { EACH = 1 << 19, SHARED = 64 };
	const uint64_t none[2] = { 0 };
	struct perffile file;
	struct opened opened;
	uint64_t at, attrs, section[2];
	uint8_t attr[64];

	small(&file, false);
	perffile_finish(&file);
	memcpy(&attrs, file.bytes + 24, sizeof(attrs));
	memcpy(attr, file.bytes + attrs, sizeof(attr));
	section[0] = file.size;
	section[1] = EACH * sizeof(uint64_t);
	for (uint64_t id = 1; id <= EACH; id++)
		perffile_u64(&file, id);
	at = file.size;
	for (int i = 0; i < SHARED; i++) {
		perffile_put(&file, attr, sizeof(attr));
		perffile_put(&file, i < 2 ? section : none, sizeof(section));
	}
	perffile_set(&file, 16, sizeof(attr) + sizeof(section));
	perffile_set(&file, 24, at);
	perffile_set(&file, 32, SHARED * (sizeof(attr) + sizeof(section)));
	open_bytes(&opened, file.bytes, file.size);
	EXPECT_EQ(0, opened.err);
	EXPECT_EQ(0, opened.damages);
	done(&opened);
	/* One id more than there may be. */
	section[1] = sizeof(uint64_t);
	memcpy(file.bytes + file.size - sizeof(section), section, sizeof(section));
	open_bytes(&opened, file.bytes, file.size);
	EXPECT_EQ(0, opened.err);
	EXPECT_EQ(1, opened.damages);
	EXPECT_STREQ("too many attributes or ids", opened.damage);
	EXPECT_EQ(2, opened.n);
	done(&opened);
	free(file.bytes);
}

/* Sizes, offsets and counts that lie: every 8 bytes of the file, with each of some values. */
TEST(lies_about_sizes_do_no_harm)
{
	static const uint64_t values[] = {
		0, 1, 7, 0xffff, 0x10000, 0x7fffffff, 0xffffffff, 1ULL << 32, 1ULL << 63,
		UINT64_MAX, UINT64_MAX - 7,
	};
	struct flowtap_address_map *map;
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
				map = flowtap_address_map_new(NULL);
				flowtap_perfdata_fill(opened.perfdata, map);
				flowtap_address_map_free(map);
				for (size_t s = 0; s < opened.n; s++)
					flowtap_perfdata_read(opened.perfdata, &opened.ranges[s],
							      0, buffer, sizeof(buffer), &got);
			}
			done(&opened);
		}
		perffile_set(&file, at, before);
	}
	EXPECT_LT(100, opened_well);
	free(file.bytes);
}

/* A damaged offset: what it says to be in the midst of others' bytes is not taken instead of them. */
TEST(trace_bytes_within_others_are_told)
{
	uint8_t trace[256] = { 0 };
	struct perffile file;
	struct opened opened;

	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 1, false, 1, units);
	file.time = 1;
	perffile_aux(&file, 0, 256, RAW);
	file.time = 2;
	perffile_aux(&file, 256, 64, RAW);
	perffile_auxtrace(&file, 0, 0, NONE, 0, trace, 256);
	perffile_auxtrace(&file, 96, 0, NONE, 0, trace, 64);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(1, opened.damages);
	EXPECT_STREQ("trace bytes within those of another AUXTRACE record", opened.damage);
	ASSERT_EQ(2, opened.n);
	EXPECT_EQ(256, opened.ranges[0].size);
	EXPECT_EQ(0, opened.ranges[1].size);
	EXPECT_EQ(64, opened.info->aux_missing);
	done(&opened);
}

TEST(each_cut_is_survived)
{
	struct perffile file;
	struct opened opened;

	small(&file, false);
	perffile_string(&file, 4, "6.12.1");
	perffile_finish(&file);
	/* Last is the index of AUXTRACE records, which is not needed: that it is cut is told as well. */
	for (size_t size = 0; size < file.size; size++) {
		open_bytes(&opened, file.bytes, size);
		if (!opened.err)
			EXPECT_NE(0, opened.damages);
		done(&opened);
	}
	free(file.bytes);
}

TEST_HARNESS_MAIN
