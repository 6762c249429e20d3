// SPDX-License-Identifier: GPL-2.0-only
/* Shows what holds after one thing or two, of which random processes (roster.c) seldom have any. */
#include "capture/roster.h"

#include <flowtap/address_map.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/kselftest_harness.h"
#include "unit/capture/roster_archive.h"

static void tell_mapping(struct flowtap_roster *roster, uint64_t time, uint32_t pid, uint64_t start,
			 uint64_t size, bool executable, const char *path)
{
	const struct flowtap_archive_mapping mapping = {
		.time = time, .start = start, .size = size, .pid = pid, .executable = executable,
		.path_size = (uint32_t)strlen(path),
	};

	flowtap_roster_add(roster, FLOWTAP_ARCHIVE_MAPPING, 0, time, &mapping, sizeof(mapping),
			   path, strlen(path));
}

static void tell_task(struct flowtap_roster *roster, uint64_t time, uint32_t event, uint32_t pid,
		      uint32_t tid, uint32_t parent, const char *comm)
{
	struct flowtap_archive_task task = {
		.time = time, .event = event, .pid = pid, .tid = tid, .parent_pid = parent,
		.comm_size = (uint32_t)strlen(comm),
	};

	memcpy(task.comm, comm, strlen(comm));
	flowtap_roster_add(roster, FLOWTAP_ARCHIVE_TASK, 0, time, &task, sizeof(task), NULL, 0);
}

/* "PID START PATH " of each. */
static int list_mapping(void *argument, const struct flowtap_mapping *mapping)
{
	char *text = argument;

	sprintf(text + strlen(text), "%u %llx+%llx %s ", mapping->pid,
		(unsigned long long)mapping->start, (unsigned long long)mapping->size, mapping->path);
	return 0;
}

static const char *list(const struct flowtap_roster *roster)
{
	static char text[8192];

	text[0] = 0;
	if (flowtap_roster_mappings(roster, list_mapping, text))
		abort();
	return text;
}

struct counted {
	uint32_t pid;
	unsigned int own, others;
};

static int count_mapping(void *argument, const struct flowtap_mapping *mapping)
{
	struct counted *counted = argument;

	*(mapping->pid == counted->pid ? &counted->own : &counted->others) += 1;
	return 0;
}

TEST(data_over_code_leaves_neither)
{
	struct flowtap_roster *roster = flowtap_roster_new(1 << 20);

	tell_mapping(roster, 1, 7, 0x1000, 0x3000, true, "/code");
	tell_mapping(roster, 1, 7, 0x1800, 0, true, "/nothing");
	tell_mapping(roster, 2, 7, 0x2000, 0x1000, false, "/data");
	flowtap_roster_advance(roster, 2);
	EXPECT_STREQ("7 1000+1000 /code 7 3000+1000 /code ", list(roster));
	flowtap_roster_free(roster);
}

static int take_id(void *argument, const struct flowtap_mapping *mapping)
{
	*(struct flowtap_mapping *)argument = *mapping;
	return 0;
}

TEST(a_mapping_keeps_its_build_id)
{
	for (uint32_t size = 0; size <= 24; size++) {
		struct flowtap_roster *roster = flowtap_roster_new(1 << 20);
		struct flowtap_archive_mapping head = {
			.start = 0x1000, .size = 0x1000, .pid = 7, .executable = 1, .path_size = 2,
			.build_id_size = size,
		};
		struct flowtap_mapping told = { 0 };

		memset(head.build_id, 0xab, size);
		flowtap_roster_add(roster, FLOWTAP_ARCHIVE_MAPPING, 0, 1, &head, sizeof(head), "/a",
				   2);
		/* In the log, and when it holds. */
		for (int i = 0; i < 2; i++) {
			ASSERT_EQ(0, flowtap_roster_mappings(roster, take_id, &told));
			EXPECT_EQ(size <= FLOWTAP_BUILD_ID_MAX ? size : 0, told.build_id_size);
			EXPECT_EQ(0, memcmp(head.build_id, told.build_id, told.build_id_size));
			flowtap_roster_advance(roster, 1);
		}
		flowtap_roster_free(roster);
	}
}

/* Who ended was not told of: side band is lost, too. */
TEST(a_number_that_is_used_again_is_another_process)
{
	struct flowtap_roster *roster = flowtap_roster_new(1 << 20);

	tell_mapping(roster, 1, 7, 0x1000, 0x1000, true, "/parent");
	tell_mapping(roster, 1, 8, 0x5000, 0x1000, true, "/old");
	tell_task(roster, 2, FLOWTAP_TASK_FORK, 8, 8, 7, "");
	flowtap_roster_advance(roster, 2);
	EXPECT_STREQ("7 1000+1000 /parent 8 1000+1000 /parent ", list(roster));
	flowtap_roster_free(roster);
}

/* What is kept is written from a buffer of a fixed size. */
TEST(a_path_is_as_long_as_a_path_can_be)
{
	static char path[8192];

	for (size_t size = 4090; size <= 4100; size++) {
		struct flowtap_roster *roster = flowtap_roster_new(1 << 20);
		FILE *file = tmpfile();

		ASSERT_TRUE(roster && file);
		memset(path, 'x', size);
		path[size] = 0;
		tell_mapping(roster, 1, 7, 0x1000, 0x1000, true, path);
		flowtap_roster_advance(roster, 1);
		EXPECT_EQ(0, write_roster(roster, file));
		EXPECT_EQ(size <= 4096, strlen(list(roster)) > 4000);
		fclose(file);
		flowtap_roster_free(roster);
	}
}

/* As a reader of the archive finds them: "PID TID PARENT NAME ". */
static const char *list_tasks(const struct flowtap_roster *roster)
{
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	static char text[4096];
	FILE *file = tmpfile();

	text[0] = 0;
	if (!file || write_roster(roster, file) || lseek(fileno(file), 0, SEEK_SET) ||
	    flowtap_archive_open(fileno(file), &reader))
		abort();
	while (flowtap_archive_next(reader, &block) > 0) {
		const struct flowtap_archive_task *task = block.payload;

		if (block.type == FLOWTAP_ARCHIVE_TASK)
			sprintf(text + strlen(text), "%u %u %u %.*s ", task->pid, task->tid,
				task->parent_pid, (int)task->comm_size, (const char *)task->comm);
	}
	flowtap_archive_reader_free(reader);
	fclose(file);
	return text;
}

TEST(threads_keep_their_parents_and_names)
{
	struct flowtap_roster *roster = flowtap_roster_new(1 << 20);

	tell_task(roster, 1, FLOWTAP_TASK_FORK, 8, 8, 7, "");
	tell_task(roster, 2, FLOWTAP_TASK_FORK, 8, 9, 8, "");
	tell_task(roster, 3, FLOWTAP_TASK_COMM, 8, 9, 0, "worker");
	tell_task(roster, 4, FLOWTAP_TASK_COMM, 8, 8, 0, "sixteen letters!");
	flowtap_roster_advance(roster, 4);
	EXPECT_STREQ("8 8 7 sixteen letters! 8 9 7 worker ", list_tasks(roster));
	tell_task(roster, 5, FLOWTAP_TASK_EXIT, 8, 8, 0, "");
	flowtap_roster_advance(roster, 5);
	EXPECT_STREQ("8 9 7 worker ", list_tasks(roster));
	tell_task(roster, 6, FLOWTAP_TASK_EXEC, 8, 8, 0, "new");
	flowtap_roster_advance(roster, 6);
	EXPECT_STREQ("8 8 7 new ", list_tasks(roster));
	tell_task(roster, 7, FLOWTAP_TASK_EXIT, 8, 8, 0, "");
	flowtap_roster_advance(roster, 7);
	EXPECT_STREQ("", list_tasks(roster));
	EXPECT_EQ(0, flowtap_roster_dropped(roster));
	flowtap_roster_free(roster);
}

/*
 * Nothing says what is unmapped: one that maps anew again and again does not take what is for others,
 * and in time that grows with it.
 */
TEST(who_maps_without_end_is_not_kept_whole_and_others_are)
{
	struct flowtap_roster *roster = flowtap_roster_new(24 << 20);
	const unsigned int most = 8192;
	struct counted counted = { .pid = 7 };

	ASSERT_NE(NULL, roster);
	for (unsigned int i = 0; i < 40000; i++) {
		tell_mapping(roster, 1, 7, 0x1000ULL * (i + 1), 0x1000, true, "/grows");
		if (i % 1000 == 0)
			flowtap_roster_advance(roster, 1);
	}
	tell_mapping(roster, 1, 8, 0x1000, 0x1000, true, "/other");
	flowtap_roster_advance(roster, 1);
	ASSERT_EQ(0, flowtap_roster_mappings(roster, count_mapping, &counted));
	EXPECT_EQ(most, counted.own);
	EXPECT_EQ(1, counted.others);
	EXPECT_EQ(40000 - most, flowtap_roster_dropped(roster));
	/* What it forks has all that is known of it; a new program of it has room again. */
	tell_task(roster, 2, FLOWTAP_TASK_FORK, 9, 9, 7, "");
	tell_task(roster, 2, FLOWTAP_TASK_EXEC, 7, 7, 0, "new");
	tell_mapping(roster, 3, 7, 0x1000, 0x1000, true, "/new");
	flowtap_roster_advance(roster, 3);
	counted = (struct counted){ .pid = 9 };
	ASSERT_EQ(0, flowtap_roster_mappings(roster, count_mapping, &counted));
	EXPECT_EQ(most, counted.own);
	EXPECT_EQ(2, counted.others);
	flowtap_roster_free(roster);
}

/* Nor with long paths. */
TEST(who_has_long_paths_takes_a_share_only)
{
	struct flowtap_roster *roster = flowtap_roster_new(1 << 20);
	struct counted counted = { .pid = 7 };
	char path[4000];

	ASSERT_NE(NULL, roster);
	for (unsigned int i = 0; i < 300; i++) {
		memset(path, 'x', sizeof(path) - 1);
		snprintf(path, 5, "/%03u", i);
		path[4] = 'x';
		path[sizeof(path) - 1] = 0;
		tell_mapping(roster, 1, 7, 0x1000ULL * (i + 1), 0x1000, true, path);
		flowtap_roster_advance(roster, 1);
	}
	ASSERT_EQ(0, flowtap_roster_mappings(roster, count_mapping, &counted));
	EXPECT_EQ((1 << 18) / (3999 + 96), counted.own);
	EXPECT_GT(1 << 19, flowtap_roster_size(roster));
	flowtap_roster_free(roster);
}

/* The memory of a process of its own, of which a part was mapped over; and its builder's number. */
TEST(code_of_one_process_keeps_its_place_when_it_is_cut)
{
	struct flowtap_roster *roster = flowtap_roster_new(1 << 20);
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	struct {
		struct flowtap_archive_mapping head;
		char path[8];
		uint8_t code[0x300];
	} made = { .head = { .time = 1, .start = 0x1000, .size = 0x300, .file_offset = 0x7000,
			     .pid = 7, .executable = 1, .path_size = 6 }, .path = "//anon" };
	uint64_t seen = 0;
	FILE *file = tmpfile();

	ASSERT_TRUE(roster && file);
	for (size_t i = 0; i < sizeof(made.code); i++)
		made.code[i] = (uint8_t)(i / 3);
	flowtap_roster_add(roster, FLOWTAP_ARCHIVE_BYTES, 0, 1, &made, sizeof(made), NULL, 0);
	tell_mapping(roster, 2, 7, 0x1100, 0x80, true, "/over");
	flowtap_roster_advance(roster, 2);
	/* It has no file. */
	EXPECT_STREQ("7 1100+80 /over ", list(roster));
	ASSERT_EQ(0, write_roster(roster, file));
	ASSERT_EQ(0, lseek(fileno(file), 0, SEEK_SET));
	ASSERT_EQ(0, flowtap_archive_open(fileno(file), &reader));
	while (flowtap_archive_next(reader, &block) > 0) {
		struct flowtap_archive_mapping head;

		if (block.type != FLOWTAP_ARCHIVE_BYTES)
			continue;
		memcpy(&head, block.payload, sizeof(head));
		ASSERT_EQ(offsetof(typeof(made), code) + head.size, block.size);
		EXPECT_EQ(0, memcmp(made.code + (head.start - 0x1000),
				    (const uint8_t *)block.payload + offsetof(typeof(made), code),
				    head.size));
		seen += head.size;
	}
	EXPECT_EQ(0x280, seen);
	flowtap_archive_reader_free(reader);
	fclose(file);
	flowtap_roster_free(roster);
}

TEST_HARNESS_MAIN
