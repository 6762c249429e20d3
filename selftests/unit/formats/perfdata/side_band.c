// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that what a perf.data says of mappings, tasks and build-ids goes into the map. A mapping
 * with no file says why, and with that its path.
 */
#include "unit/formats/perfdata/fixture.h"

static const char *mapped(struct flowtap_address_map *map, uint32_t pid, uint64_t time,
			  uint64_t address)
{
	const struct flowtap_code *code = flowtap_address_map_find(map, pid, time, address);

	return code ? code->path : "nothing";
}

TEST(mappings_forks_and_execs_go_into_the_map)
{
	struct flowtap_address_map *map = flowtap_address_map_new("/proc/self/nowhere");
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
	flowtap_address_map_free(map);
	done(&opened);
}

/* perf record --per-thread without -T: no record has a time, and they follow one another all the same. */
TEST(without_times_a_mapping_does_not_replace_what_was_before_it_since_ever)
{
	struct flowtap_address_map *map = flowtap_address_map_new("/proc/self/nowhere");
	const uint64_t type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID;
	struct perffile file;
	struct opened opened;

	perffile_start(&file, false, type, type);
	perffile_info(&file, 1, false, 3, units);
	perffile_mmap2(&file, 10, 10, 0x1000, 0x2000, 0, PROT_READ | PROT_EXEC, NULL, "/bin/a");
	perffile_mmap2(&file, 10, 10, 0x1000, 0x2000, 0, PROT_READ | PROT_EXEC, NULL, "/bin/b");
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(0, flowtap_perfdata_fill(opened.perfdata, map));
	EXPECT_STREQ("/bin/a", mapped(map, 10, 2, 0x1000));
	EXPECT_STREQ("/bin/b", mapped(map, 10, UINT64_MAX - 1, 0x1000));
	flowtap_address_map_free(map);
	done(&opened);
}

/* --- Build-ids. Files have none of their own: why they are not taken says which was wanted. --- */

#define FILES 3

static void make_files(char root[], struct flowtap_address_map **map)
{
	char path[64];

	if (!mkdtemp(root))
		abort();
	snprintf(path, sizeof(path), "%s/bin", root);
	mkdir(path, 0755);
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/bin/%c", root, 'a' + i);
		close(open(path, O_WRONLY | O_CREAT, 0644));
	}
	*map = flowtap_address_map_new(root);
}

static void remove_files(const char *root, struct flowtap_address_map *map)
{
	char path[64];

	flowtap_address_map_free(map);
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/bin/%c", root, 'a' + i);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/bin", root);
	rmdir(path);
	rmdir(root);
}

/* An entry of the list: so many bytes of one value. */
struct listed {
	struct perf_event_header header;
	uint32_t pid;
	uint8_t id[24];
	char path[28];
};

static struct listed listed(uint16_t misc, const char *path, uint8_t value, uint8_t size)
{
	struct listed entry = { { 0, misc, sizeof(entry) }, 1, { 0 }, "" };

	_Static_assert(sizeof(entry) == 64, "a record of the list");
	strcpy(entry.path, path);
	memset(entry.id, value, size);
	if (misc & 0x8000)
		entry.id[20] = size;
	return entry;
}

/* "" where the mapping is not there. */
static const char *why(struct flowtap_address_map *map, uint64_t address)
{
	const struct flowtap_code *code = flowtap_address_map_find(map, 1, 5000, address);

	return code && code->missing ? code->missing : "";
}

TEST(a_mapping_has_its_build_id)
{
	struct listed entry = listed(PERF_RECORD_MISC_USER | 0x8000, "/bin/b", 0x99, 20);
	uint8_t id[20] = { 0x11, 0x22 };
	char root[] = "/tmp/perfdata-XXXXXX";
	struct flowtap_address_map *map;
	struct perffile file;
	struct opened opened;

	make_files(root, &map);
	small(&file, false);
	perffile_mmap2(&file, 1, 1, 0x1000, 0x1000, 0, PROT_EXEC, id, "/bin/a");
	perffile_mmap2(&file, 1, 1, 0x2000, 0x1000, 0, PROT_EXEC, NULL, "/bin/b");
	perffile_feature(&file, 2, &entry, sizeof(entry));
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(0, flowtap_perfdata_fill(opened.perfdata, map));
	EXPECT_NE(NULL, strstr(why(map, 0x1000), "recorded build-id is 1122000000"));
	EXPECT_NE(NULL, strstr(why(map, 0x2000), "recorded build-id is 99999999"));
	done(&opened);
	remove_files(root, map);
}

/* Files are then taken by name, whatever is in them: that is told, once for all of them. */
TEST(build_ids_that_cannot_be_used_are_told_and_the_others_hold)
{
	struct listed list[] = {
		listed(PERF_RECORD_MISC_USER, "/bin/a", 0x11, 20),
		listed(PERF_RECORD_MISC_USER, "/bin/b", 0x22, 20),
		listed(PERF_RECORD_MISC_USER, "/bin/b", 0x33, 20),
		listed(PERF_RECORD_MISC_USER, "/bin/c", 0x44, 20),
	};
	char root[] = "/tmp/perfdata-XXXXXX";
	struct flowtap_address_map *map;
	struct perffile file;
	struct opened opened;

	/* Their paths have no end. */
	memset(list[1].path, 'b', sizeof(list[1].path));
	memset(list[2].path, 'b', sizeof(list[2].path));
	make_files(root, &map);
	small(&file, false);
	perffile_mmap2(&file, 1, 1, 0x1000, 0x1000, 0, PROT_EXEC, NULL, "/bin/a");
	perffile_mmap2(&file, 1, 1, 0x3000, 0x1000, 0, PROT_EXEC, NULL, "/bin/c");
	perffile_feature(&file, 2, list, sizeof(list));
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(1, opened.damages);
	EXPECT_NE(NULL, strstr(opened.damage, "build-ids that cannot be used"));
	ASSERT_EQ(0, flowtap_perfdata_fill(opened.perfdata, map));
	EXPECT_NE(NULL, strstr(why(map, 0x1000), "recorded build-id is 1111"));
	EXPECT_NE(NULL, strstr(why(map, 0x3000), "recorded build-id is 4444"));
	done(&opened);
	remove_files(root, map);
}

/* One that is longer than any path is passed over by what it says. */
TEST(a_build_id_that_is_too_long_is_told)
{
	struct {
		struct listed first;
		struct perf_event_header header;
		uint8_t rest[4992];
		struct listed last;
	} list = {
		.first = listed(PERF_RECORD_MISC_USER, "/bin/a", 0x11, 20),
		.header = { 0, PERF_RECORD_MISC_USER, 5000 },
		.last = listed(PERF_RECORD_MISC_USER, "/bin/c", 0x44, 20),
	};
	char root[] = "/tmp/perfdata-XXXXXX";
	struct flowtap_address_map *map;
	struct perffile file;
	struct opened opened;

	make_files(root, &map);
	small(&file, false);
	perffile_mmap2(&file, 1, 1, 0x3000, 0x1000, 0, PROT_EXEC, NULL, "/bin/c");
	perffile_feature(&file, 2, &list, sizeof(list));
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(1, opened.damages);
	ASSERT_EQ(0, flowtap_perfdata_fill(opened.perfdata, map));
	EXPECT_NE(NULL, strstr(why(map, 0x3000), "recorded build-id is 4444"));
	done(&opened);
	remove_files(root, map);
}

/* perf before 5.11 gives each 20 bytes. */
TEST(a_shorter_build_id_is_no_longer_for_its_padding)
{
	static const uint8_t sizes[FILES] = { 8, 16, 20 };
	struct listed list[FILES];
	char root[] = "/tmp/perfdata-XXXXXX";
	struct flowtap_address_map *map;
	struct perffile file;
	struct opened opened;

	make_files(root, &map);
	small(&file, false);
	for (int i = 0; i < FILES; i++) {
		char path[] = { '/', 'b', 'i', 'n', '/', (char)('a' + i), 0 };

		list[i] = listed(PERF_RECORD_MISC_USER, path, 0x77, sizes[i]);
		perffile_mmap2(&file, 1, 1, 0x1000 * (i + 1), 0x1000, 0, PROT_EXEC, NULL, path);
	}
	perffile_feature(&file, 2, list, sizeof(list));
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(0, flowtap_perfdata_fill(opened.perfdata, map));
	for (int i = 0; i < FILES; i++) {
		const char *line = why(map, 0x1000 * (i + 1)), *last = strrchr(line, ' ');

		ASSERT_NE(NULL, last) TH_LOG("%d: '%s'", i, line);
		EXPECT_EQ(2 * sizes[i], strlen(last + 1)) TH_LOG("%d: '%s'", i, line);
	}
	done(&opened);
	remove_files(root, map);
}

TEST(a_path_of_several_files_is_none_of_them)
{
	const struct listed list[] = {
		listed(PERF_RECORD_MISC_USER, "/bin/a", 0x11, 20),
		listed(PERF_RECORD_MISC_USER, "/bin/a", 0x22, 20),
		listed(PERF_RECORD_MISC_USER, "/bin/b", 0x33, 20),
		listed(PERF_RECORD_MISC_USER, "/bin/b", 0x33, 20),
		listed(PERF_RECORD_MISC_GUEST_USER, "/bin/c", 0x44, 20),
		listed(PERF_RECORD_MISC_USER, "/bin/c", 0x55, 20),
	};
	char root[] = "/tmp/perfdata-XXXXXX";
	struct flowtap_address_map *map;
	struct perffile file;
	struct opened opened;
	uint8_t id[20] = { 0x66 };

	make_files(root, &map);
	small(&file, false);
	perffile_mmap2(&file, 1, 1, 0x1000, 0x1000, 0, PROT_EXEC, NULL, "/bin/a");
	perffile_mmap2(&file, 1, 1, 0x2000, 0x1000, 0, PROT_EXEC, NULL, "/bin/b");
	perffile_mmap2(&file, 1, 1, 0x3000, 0x1000, 0, PROT_EXEC, NULL, "/bin/c");
	perffile_mmap2(&file, 1, 1, 0x4000, 0x1000, 0, PROT_EXEC, id, "/bin/a");
	perffile_feature(&file, 2, list, sizeof(list));
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	ASSERT_EQ(0, flowtap_perfdata_fill(opened.perfdata, map));
	EXPECT_NE(NULL, strstr(why(map, 0x1000), "several files had this path"));
	EXPECT_NE(NULL, strstr(why(map, 0x2000), "recorded build-id is 3333"));
	EXPECT_NE(NULL, strstr(why(map, 0x3000), "recorded build-id is 5555"));
	EXPECT_NE(NULL, strstr(why(map, 0x4000), "recorded build-id is 6600"));
	done(&opened);
	remove_files(root, map);
}

TEST_HARNESS_MAIN
