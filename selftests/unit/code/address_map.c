// SPDX-License-Identifier: GPL-2.0-only
/* Shows that the map knows which bytes stood where in which process when, or says why not. */
#include <errno.h>
#include <fcntl.h>
#include <flowtap/address_map.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "code/address_space.h"
#include "support/kselftest_harness.h"
#include "support/tinyelf.h"

#define AT 0x40000000ULL		/* where most tests map code */

/* A directory that is taken for the root. */
FIXTURE(image)
{
	char root[64];
	struct flowtap_address_map *map;
};

static void make_path(const char *root, const char *path)
{
	char name[256];

	snprintf(name, sizeof(name), "%s%s", root, path);
	for (char *slash = strchr(name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(name, 0755);
		*slash = '/';
	}
}

static void write_file(const char *root, const char *path, const void *bytes, size_t size)
{
	char name[256];
	int fd;

	make_path(root, path);
	snprintf(name, sizeof(name), "%s%s", root, path);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void write_tiny(const char *root, const char *path, uint8_t seed)
{
	uint8_t bytes[TINY_ROOM];

	write_file(root, path, bytes, tiny_make(bytes, seed));
}

FIXTURE_SETUP(image)
{
	strcpy(self->root, "/tmp/flowtap-image-XXXXXX");
	ASSERT_NE(mkdtemp(self->root), NULL);
	self->map = flowtap_address_map_new(self->root);
	ASSERT_NE(self->map, NULL);
	write_tiny(self->root, "/bin/a", 1);
	write_tiny(self->root, "/bin/b", 2);
}

FIXTURE_TEARDOWN(image)
{
	char command[96];

	flowtap_address_map_free(self->map);
	snprintf(command, sizeof(command), "rm -rf %s", self->root);
	if (system(command))
		abort();
}

static struct flowtap_mapping mapping_of(uint32_t pid, uint64_t time, uint64_t start, uint64_t size,
					 const char *path, int seed)
{
	struct flowtap_mapping mapping = {
		.time = time,
		.start = start,
		.size = size,
		.file_offset = TINY_CODE_OFFSET,
		.pid = pid,
		.executable = true,
		.path = path,
	};

	if (seed >= 0) {
		mapping.build_id_size = 20;
		tiny_build_id(mapping.build_id, (uint8_t)seed);
	}
	return mapping;
}

static int add(struct flowtap_address_map *map, uint32_t pid, uint64_t time, uint64_t start,
	       uint64_t size, const char *path, int seed)
{
	struct flowtap_mapping mapping = mapping_of(pid, time, start, size, path, seed);

	return flowtap_address_map_add(map, &mapping);
}

/* The code byte at an address, -1: no bytes, -2: nothing mapped. */
static int byte_at(struct flowtap_address_map *map, uint32_t pid, uint64_t time, uint64_t address)
{
	const struct flowtap_code *code = flowtap_address_map_find(map, pid, time, address);

	if (!code)
		return -2;
	if (address < code->start || address >= code->end || time < code->from ||
	    time >= code->until)
		abort();
	return code->bytes ? code->bytes[address - code->start] : -1;
}

/* Why there is no code there. */
static const char *missing_at(struct flowtap_address_map *map, uint64_t address)
{
	const struct flowtap_code *code = flowtap_address_map_find(map, 1, 5, address);

	return code && code->missing ? code->missing : "";
}

TEST_F(image, bytes_are_the_files)
{
	const struct flowtap_code *code;

	ASSERT_EQ(add(self->map, 1, 0, AT, 0x3000, "/bin/a", 1), 0);
	code = flowtap_address_map_find(self->map, 1, 5, AT + 0x123);
	ASSERT_NE(code, NULL);
	EXPECT_EQ(code->start, AT);
	EXPECT_EQ(code->end, AT + 0x1000);
	EXPECT_EQ(code->file_offset, TINY_CODE_OFFSET);
	EXPECT_STREQ(code->path, "/bin/a");
	EXPECT_EQ(code->missing, NULL);
	for (size_t i = 0; i < TINY_CODE_SIZE; i++)
		ASSERT_EQ(code->bytes[i], tiny_code(1, i));
	/* Zeros to the end of the page, then nothing. */
	for (size_t i = TINY_CODE_SIZE; i < 0x1000; i++)
		ASSERT_EQ(code->bytes[i], 0);
	code = flowtap_address_map_find(self->map, 1, 5, AT + 0x1000);
	ASSERT_NE(code, NULL);
	EXPECT_EQ(code->start, AT + 0x1000);
	EXPECT_EQ(code->end, AT + 0x3000);
	EXPECT_EQ(code->bytes, NULL);
	EXPECT_NE(strstr(code->missing, "ends before"), NULL);
	EXPECT_EQ(byte_at(self->map, 1, 5, AT - 1), -2);
	EXPECT_EQ(byte_at(self->map, 1, 5, AT + 0x3000), -2);
	EXPECT_EQ(byte_at(self->map, 2, 5, AT), -2);
}

TEST_F(image, other_build_id_is_refused_and_both_are_named)
{
	ASSERT_EQ(add(self->map, 1, 0, AT, 0x1000, "/bin/a", 7), 0);
	EXPECT_EQ(byte_at(self->map, 1, 5, AT), -1);
	EXPECT_NE(strstr(missing_at(self->map, AT), "/bin/a"), NULL);
	EXPECT_NE(strstr(missing_at(self->map, AT), "ab0101010101010101010101"), NULL);
	EXPECT_NE(strstr(missing_at(self->map, AT), "ab0707070707070707070707"), NULL);
}

/* By debuggers' custom, and in perf's cache. */
TEST_F(image, files_are_found_by_build_id)
{
	static const struct {
		const char *directory, *suffix;
	} customs[] = {
		{ "/usr/lib/debug/.build-id", "" }, { "/.build-id", "" },
		{ "/.build-id", "/elf" }, { "/.build-id", "/vdso" },
	};
	char path[128], name[39] = "";

	for (int i = 0; i < 4; i++) {
		uint64_t at = AT + (uint64_t)i * 0x10000;
		int seed = 0x11 * (i + 1);

		/* ab, then 19 times the seed in two digits of the same kind. */
		memset(name, '1' + i, 38);
		snprintf(path, sizeof(path), "%s/ab/%s%s", customs[i].directory, name,
			 customs[i].suffix);
		write_tiny(self->root, path, (uint8_t)seed);
		ASSERT_EQ(add(self->map, 1, 0, at, 0x1000, i % 2 ? "/bin/a" : "/gone", seed), 0);
		EXPECT_EQ(byte_at(self->map, 1, 5, at + 3), tiny_code((uint8_t)seed, 3));
	}
}

TEST_F(image, files_are_found_among_saved_images)
{
	char images[128], path[128] = "/saved/ab/";

	snprintf(images, sizeof(images), "%s/saved", self->root);
	memset(path + strlen(path), '5', 38);
	write_tiny(self->root, path, 0x55);
	/* Another one than its name says. */
	memset(path + strlen("/saved/ab/"), '6', 38);
	write_tiny(self->root, path, 0x77);
	ASSERT_EQ(flowtap_address_map_images(self->map, "/nonexistent"), 0);
	ASSERT_EQ(flowtap_address_map_images(self->map, images), 0);
	ASSERT_EQ(add(self->map, 1, 0, AT, 0x1000, "/gone", 0x55), 0);
	EXPECT_EQ(byte_at(self->map, 1, 5, AT + 3), tiny_code(0x55, 3));
	/* In place of one that is there and not the same any more. */
	ASSERT_EQ(add(self->map, 1, 0, AT + 0x10000, 0x1000, "/bin/a", 0x55), 0);
	EXPECT_EQ(byte_at(self->map, 1, 5, AT + 0x10003), tiny_code(0x55, 3));
	ASSERT_EQ(add(self->map, 1, 0, AT + 0x20000, 0x1000, "/bin/a", 0x66), 0);
	EXPECT_EQ(byte_at(self->map, 1, 5, AT + 0x20003), -1);
	EXPECT_NE(strstr(missing_at(self->map, AT + 0x20000), "/bin/a has build-id ab01"), NULL);
	/* Without a build-id nobody knows which. */
	ASSERT_EQ(add(self->map, 1, 0, AT + 0x30000, 0x1000, "/gone", -1), 0);
	EXPECT_EQ(byte_at(self->map, 1, 5, AT + 0x30003), -1);
}

TEST_F(image, deleted_files_need_their_build_id)
{
	ASSERT_EQ(add(self->map, 1, 0, AT, 0x1000, "/bin/a (deleted)", 1), 0);
	EXPECT_EQ(byte_at(self->map, 1, 5, AT), tiny_code(1, 0));
	ASSERT_EQ(add(self->map, 1, 0, AT + 0x10000, 0x1000, "/bin/a (deleted)", 3), 0);
	EXPECT_EQ(byte_at(self->map, 1, 5, AT + 0x10000), -1);
	ASSERT_EQ(add(self->map, 1, 0, AT + 0x20000, 0x1000, "/bin/a (deleted)", -1), 0);
	EXPECT_EQ(byte_at(self->map, 1, 5, AT + 0x20000), -1);
	EXPECT_NE(strstr(missing_at(self->map, AT + 0x20000), "build-id"), NULL);
}

TEST_F(image, missing_says_why)
{
	char name[128];

	ASSERT_EQ(add(self->map, 1, 0, AT, 0x1000, "/no/such", 1), 0);
	EXPECT_NE(strstr(missing_at(self->map, AT), "/no/such: No such file"), NULL);
	ASSERT_EQ(add(self->map, 1, 0, AT + 0x1000, 0x1000, "//anon", -1), 0);
	EXPECT_NE(strstr(missing_at(self->map, AT + 0x1000), "not a file"), NULL);
	ASSERT_EQ(add(self->map, 1, 0, AT + 0x2000, 0x1000, "/bin", -1), 0);
	EXPECT_NE(strstr(missing_at(self->map, AT + 0x2000), "not a regular file"), NULL);
	/* Opening one of these for reading would wait for ever. */
	snprintf(name, sizeof(name), "%s/pipe", self->root);
	ASSERT_EQ(mkfifo(name, 0600), 0);
	ASSERT_EQ(add(self->map, 1, 0, AT + 0x3000, 0x1000, "/pipe", -1), 0);
	EXPECT_NE(strstr(missing_at(self->map, AT + 0x3000), "not a regular file"), NULL);
}

TEST_F(image, paths_do_not_leave_the_sysroot)
{
	char outside[96], path[128], name[128];

	snprintf(outside, sizeof(outside), "%s-outside", self->root);
	write_tiny(outside, "/c", 3);
	snprintf(path, sizeof(path), "/../..%s/c", outside);
	ASSERT_EQ(add(self->map, 1, 0, AT, 0x1000, path, -1), 0);
	EXPECT_EQ(byte_at(self->map, 1, 5, AT), -1);
	/* An absolute link is one within the sysroot. */
	snprintf(name, sizeof(name), "%s/link", self->root);
	ASSERT_EQ(symlink("/bin", name), 0);
	ASSERT_EQ(add(self->map, 1, 0, AT + 0x1000, 0x1000, "/link/b", 2), 0);
	EXPECT_EQ(byte_at(self->map, 1, 5, AT + 0x1000), tiny_code(2, 0));
	snprintf(name, sizeof(name), "%s/c", outside);
	unlink(name);
	rmdir(outside);
}

TEST_F(image, file_that_shrinks_is_no_fault)
{
	char name[128];

	ASSERT_EQ(add(self->map, 1, 0, AT, 0x200, "/bin/a", 1), 0);
	ASSERT_EQ(add(self->map, 1, 0, AT + 0x10000, 0x400, "/bin/a", 1), 0);
	EXPECT_EQ(byte_at(self->map, 1, 5, AT + 0x1ff), tiny_code(1, 0x1ff));
	snprintf(name, sizeof(name), "%s/bin/a", self->root);
	ASSERT_EQ(truncate(name, 0), 0);
	EXPECT_EQ(byte_at(self->map, 1, 5, AT + 0x1ff), tiny_code(1, 0x1ff));
	EXPECT_EQ(byte_at(self->map, 1, 5, AT + 0x10000), -1);
	EXPECT_NE(missing_at(self->map, AT + 0x10000)[0], 0);
}

TEST_F(image, symbols)
{
	static const struct {
		uint32_t at;
		const char *name;
		uint64_t offset;
	} table[] = {
		{ 0, "first", 0 }, { 0x3f, "first", 0x3f }, { 0x40, "nested", 0 },
		{ 0x5f, "nested", 0x1f }, { 0x60, "first", 0x60 }, { 0xff, "first", 0xff },
		{ 0x100, NULL, 0 }, { 0x1ff, NULL, 0 }, { 0x200, "sizeless", 0 },
		{ 0x2ff, "sizeless", 0xff }, { 0x300, "alias", 0 }, { 0x37f, "alias", 0x7f },
		{ 0x380, NULL, 0 }, { 0x800, NULL, 0 },
	};
	const struct flowtap_code *code;

	ASSERT_EQ(add(self->map, 1, 0, AT, 0x1000, "/bin/a", 1), 0);
	code = flowtap_address_map_find(self->map, 1, 5, AT);
	ASSERT_NE(code, NULL);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint64_t offset = 99;
		const char *name =
			flowtap_address_map_symbol(self->map, code, AT + table[i].at, &offset);

		if (!table[i].name) {
			ASSERT_EQ(name, NULL);
			continue;
		}
		ASSERT_NE(name, NULL);
		ASSERT_STREQ(name, table[i].name);
		ASSERT_EQ(offset, table[i].offset);
	}
}

TEST_F(image, symbols_of_a_stripped_file_are_in_its_debug_file)
{
	static const char *const debug[] = {
		"/usr/lib/debug/.build-id/ab/05050505050505050505050505050505050505.debug",
		"/.build-id/ab/06060606060606060606060606060606060606/debug",
	};
	uint8_t bytes[TINY_ROOM];
	const struct flowtap_code *code;
	uint64_t offset;

	for (uint8_t i = 0; i < 2; i++) {
		uint64_t at = AT + i * 0x10000UL;
		size_t size = tiny_make(bytes, 5 + i);

		((struct tiny *)bytes)->header.e_shnum = 0;
		((struct tiny *)bytes)->header.e_shoff = 0;
		write_file(self->root, i ? "/bin/other" : "/bin/stripped", bytes, size);
		write_tiny(self->root, debug[i], 5 + i);
		ASSERT_EQ(add(self->map, 1, 0, at, 0x1000, i ? "/bin/other" : "/bin/stripped", 5 + i),
			  0);
		code = flowtap_address_map_find(self->map, 1, 5, at);
		ASSERT_NE(code, NULL);
		ASSERT_NE(flowtap_address_map_symbol(self->map, code, at + 0x41, &offset), NULL);
		EXPECT_STREQ(flowtap_address_map_symbol(self->map, code, at + 0x41, &offset),
			     "nested");
		EXPECT_EQ(offset, 1);
	}
}

TEST_F(image, mapping_over_another_leaves_what_stands_out)
{
	const struct flowtap_code *code;

	ASSERT_EQ(add(self->map, 1, 10, AT, 0x400, "/bin/a", 1), 0);
	ASSERT_EQ(add(self->map, 1, 20, AT + 0x100, 0x100, "/bin/b", 2), 0);
	EXPECT_EQ(byte_at(self->map, 1, 9, AT), -2);
	EXPECT_EQ(byte_at(self->map, 1, 19, AT + 0x180), tiny_code(1, 0x180));
	EXPECT_EQ(byte_at(self->map, 1, 20, AT + 0x180), tiny_code(2, 0x80));
	EXPECT_EQ(byte_at(self->map, 1, 20, AT + 0xff), tiny_code(1, 0xff));
	EXPECT_EQ(byte_at(self->map, 1, 20, AT + 0x200), tiny_code(1, 0x200));
	code = flowtap_address_map_find(self->map, 1, 15, AT);
	EXPECT_EQ(code->until, 20);
	EXPECT_EQ(code->end, AT + 0x400);
	code = flowtap_address_map_find(self->map, 1, 25, AT + 0x3ff);
	EXPECT_EQ(code->from, 20);
	EXPECT_EQ(code->start, AT + 0x200);
	EXPECT_EQ(code->file_offset, TINY_CODE_OFFSET + 0x200);
}

TEST_F(image, mapping_that_is_not_executable_ends_what_was_there)
{
	struct flowtap_mapping data = mapping_of(1, 20, AT, 0x200, "/bin/b", 2);

	data.executable = false;
	ASSERT_EQ(add(self->map, 1, 10, AT, 0x400, "/bin/a", 1), 0);
	ASSERT_EQ(flowtap_address_map_add(self->map, &data), 0);
	EXPECT_EQ(byte_at(self->map, 1, 15, AT), tiny_code(1, 0));
	EXPECT_EQ(byte_at(self->map, 1, 25, AT), -2);
	EXPECT_EQ(byte_at(self->map, 1, 25, AT + 0x200), tiny_code(1, 0x200));
}

/* Linux allows no process as many, unless it was told to. */
TEST_F(image, more_pieces_than_a_process_can_have_are_not_known)
{
	const uint64_t others = AT + 0x10000, far = AT + (1ULL << 32);
	struct flowtap_mapping gone = mapping_of(1, 9, others + 0x2000, 0x1000, "/bin/a", 1);

	ASSERT_EQ(add(self->map, 1, 0, AT, 0x3000, "/bin/a", 1), 0);
	for (uint64_t i = 1; i < FLOWTAP_ADDRESS_SPACE_LIVE; i++)
		ASSERT_EQ(add(self->map, 1, 0, others + (i - 1) * 0x2000, 0x1000, "/bin/a", 1), 0);
	/* Instead of one piece there would be three. */
	ASSERT_EQ(add(self->map, 1, 5, AT + 0x1000, 0x1000, "/bin/b", 2), 0);
	/* In the place of one. */
	ASSERT_EQ(add(self->map, 1, 7, others, 0x1000, "/bin/b", 2), 0);
	ASSERT_EQ(add(self->map, 1, 8, far, 0x1000, "/bin/b", 2), 0);
	gone.executable = false;
	ASSERT_EQ(flowtap_address_map_add(self->map, &gone), 0);
	ASSERT_EQ(add(self->map, 1, 10, far + 0x1000, 0x1000, "/bin/b", 2), 0);
	EXPECT_EQ(byte_at(self->map, 1, 4, AT + 0x1000), -1);
	EXPECT_EQ(byte_at(self->map, 1, 6, AT), tiny_code(1, 0));
	EXPECT_EQ(byte_at(self->map, 1, 6, AT + 0x1000), -2);
	EXPECT_EQ(byte_at(self->map, 1, 6, AT + 0x2000), -2);
	EXPECT_EQ(byte_at(self->map, 1, 6, others), tiny_code(1, 0));
	EXPECT_EQ(byte_at(self->map, 1, 11, others), tiny_code(2, 0));
	EXPECT_EQ(byte_at(self->map, 1, 11, far), -2);
	EXPECT_EQ(byte_at(self->map, 1, 11, far + 0x1000), tiny_code(2, 0));
}

TEST_F(image, fork_exec_and_exit)
{
	ASSERT_EQ(add(self->map, 1, 0, AT, 0x400, "/bin/a", 1), 0);
	ASSERT_EQ(flowtap_address_map_fork(self->map, 1, 2, 10), 0);
	ASSERT_EQ(flowtap_address_map_fork(self->map, 2, 2, 11), 0);
	/* What the parent does then is its own. */
	ASSERT_EQ(add(self->map, 1, 20, AT, 0x400, "/bin/b", 2), 0);
	EXPECT_EQ(byte_at(self->map, 2, 30, AT), tiny_code(1, 0));
	EXPECT_EQ(byte_at(self->map, 1, 30, AT), tiny_code(2, 0));
	EXPECT_EQ(byte_at(self->map, 2, 9, AT), -2);
	ASSERT_EQ(flowtap_address_map_exec(self->map, 2, 40), 0);
	EXPECT_EQ(byte_at(self->map, 2, 39, AT), tiny_code(1, 0));
	EXPECT_EQ(byte_at(self->map, 2, 41, AT), -2);
	ASSERT_EQ(add(self->map, 2, 42, AT, 0x400, "/bin/b", 2), 0);
	EXPECT_EQ(byte_at(self->map, 2, 42, AT), tiny_code(2, 0));
	ASSERT_EQ(flowtap_address_map_exit(self->map, 2, 60), 0);
	ASSERT_EQ(flowtap_address_map_exit(self->map, 2, 50), 0);
	EXPECT_EQ(byte_at(self->map, 2, 59, AT), tiny_code(2, 0));
	EXPECT_EQ(byte_at(self->map, 2, 60, AT), -2);
	/* The pid comes again. */
	ASSERT_EQ(flowtap_address_map_fork(self->map, 1, 2, 70), 0);
	EXPECT_EQ(byte_at(self->map, 2, 69, AT), -2);
	EXPECT_EQ(byte_at(self->map, 2, 70, AT + 5), tiny_code(2, 5));
}

TEST_F(image, late_news_are_sorted_in)
{
	ASSERT_EQ(add(self->map, 1, 50, AT, 0x400, "/bin/a", 1), 0);
	ASSERT_EQ(flowtap_address_map_fork(self->map, 1, 2, 100), 0);
	EXPECT_EQ(byte_at(self->map, 2, 100, AT), tiny_code(1, 0));
	/* Mapped before the fork, and told after it. */
	ASSERT_EQ(add(self->map, 1, 60, AT, 0x400, "/bin/b", 2), 0);
	EXPECT_EQ(byte_at(self->map, 1, 55, AT), tiny_code(1, 0));
	EXPECT_EQ(byte_at(self->map, 1, 60, AT), tiny_code(2, 0));
	EXPECT_EQ(byte_at(self->map, 2, 100, AT), tiny_code(2, 0));
	/* An exec that is told after the mappings that followed it. */
	ASSERT_EQ(add(self->map, 3, 10, AT, 0x400, "/bin/a", 1), 0);
	ASSERT_EQ(add(self->map, 3, 30, AT + 0x1000, 0x400, "/bin/b", 2), 0);
	ASSERT_EQ(flowtap_address_map_exec(self->map, 3, 20), 0);
	EXPECT_EQ(byte_at(self->map, 3, 15, AT), tiny_code(1, 0));
	EXPECT_EQ(byte_at(self->map, 3, 35, AT), -2);
	EXPECT_EQ(byte_at(self->map, 3, 35, AT + 0x1000), tiny_code(2, 0));
}

TEST_F(image, parents_of_each_other_are_no_endless_search)
{
	ASSERT_EQ(flowtap_address_map_fork(self->map, 1, 2, 10), 0);
	ASSERT_EQ(flowtap_address_map_fork(self->map, 2, 1, 10), 0);
	EXPECT_EQ(byte_at(self->map, 1, 10, AT), -2);
	EXPECT_EQ(byte_at(self->map, 2, 10, AT), -2);
}

/* Each of them has a copy: a long chain of many mappings would be work without end. */
TEST_F(image, of_very_many_forks_without_an_exec_the_last_inherit_nothing)
{
	for (uint32_t pid = 10; pid < 30000; pid++)
		ASSERT_EQ(flowtap_address_map_fork(self->map, pid, pid + 1, pid), 0);
	ASSERT_EQ(add(self->map, 10, 0, AT, 0x400, "/bin/a", 1), 0);
	EXPECT_EQ(byte_at(self->map, 30000, 30000, AT), -2);
	EXPECT_EQ(byte_at(self->map, 10 + 256, 30000, AT), tiny_code(1, 0));
	EXPECT_EQ(byte_at(self->map, 10 + 257, 30000, AT), -2);
	EXPECT_EQ(byte_at(self->map, 10 + 258, 30000, AT), -2);
	/* What they map themselves is theirs, and after an exec they can be inherited from. */
	ASSERT_EQ(add(self->map, 1000, 30000, AT, 0x400, "/bin/a", 1), 0);
	EXPECT_EQ(byte_at(self->map, 1000, 30000, AT), tiny_code(1, 0));
	ASSERT_EQ(flowtap_address_map_fork(self->map, 1000, 2, 30001), 0);
	EXPECT_EQ(byte_at(self->map, 2, 30001, AT), -2);
	ASSERT_EQ(flowtap_address_map_exec(self->map, 1000, 30002), 0);
	ASSERT_EQ(add(self->map, 1000, 30002, AT, 0x400, "/bin/a", 1), 0);
	ASSERT_EQ(flowtap_address_map_fork(self->map, 1000, 2, 30003), 0);
	EXPECT_EQ(byte_at(self->map, 2, 30003, AT), tiny_code(1, 0));
}

static uint32_t key_at(struct flowtap_address_map *map, uint32_t pid, uint64_t address)
{
	return flowtap_address_map_find(map, pid, 5, address)->key;
}

TEST_F(image, keys_are_shared_where_bytes_and_addresses_are)
{
	static const uint8_t bytes[64] = { 1, 2, 3 }, others[64] = { 1, 2, 4 };
	struct flowtap_mapping jit = mapping_of(4, 0, 0x1000, sizeof(bytes), "//anon", -1);

	ASSERT_EQ(add(self->map, 1, 0, AT, 0x400, "/bin/a", 1), 0);
	ASSERT_EQ(add(self->map, 2, 3, AT, 0x400, "/bin/a", 1), 0);
	ASSERT_EQ(add(self->map, 3, 0, AT + 0x1000, 0x400, "/bin/a", 1), 0);
	ASSERT_EQ(add(self->map, 4, 0, AT, 0x400, "/bin/b", 2), 0);
	EXPECT_EQ(key_at(self->map, 1, AT), key_at(self->map, 2, AT));
	EXPECT_NE(key_at(self->map, 1, AT), key_at(self->map, 3, AT + 0x1000));
	EXPECT_NE(key_at(self->map, 1, AT), key_at(self->map, 4, AT));
	ASSERT_EQ(flowtap_address_map_add_bytes(self->map, &jit, bytes), 0);
	jit.pid = 5;
	ASSERT_EQ(flowtap_address_map_add_bytes(self->map, &jit, bytes), 0);
	jit.pid = 6;
	ASSERT_EQ(flowtap_address_map_add_bytes(self->map, &jit, others), 0);
	EXPECT_EQ(key_at(self->map, 4, 0x1000), key_at(self->map, 5, 0x1000));
	EXPECT_NE(key_at(self->map, 4, 0x1000), key_at(self->map, 6, 0x1000));
	EXPECT_EQ(byte_at(self->map, 6, 5, 0x1002), 4);
	/* A part that was cut off ends elsewhere: its last block is another. */
	ASSERT_EQ(add(self->map, 7, 0, AT, 0x400, "/bin/a", 1), 0);
	ASSERT_EQ(add(self->map, 7, 1, AT + 0x200, 0x400, "/bin/b", 2), 0);
	EXPECT_NE(key_at(self->map, 7, AT), key_at(self->map, 1, AT));
}

TEST_F(image, vdso_is_shared_by_name)
{
	uint8_t bytes[TINY_ROOM] = { 0 };
	size_t size = tiny_make(bytes, 9);
	const struct flowtap_code *code;
	struct flowtap_mapping vdso = mapping_of(1, 0, AT, TINY_ROOM, "[vdso]", -1);
	uint64_t offset;

	vdso.file_offset = 0;
	ASSERT_EQ(flowtap_address_map_add(self->map, &vdso), 0);
	EXPECT_EQ(byte_at(self->map, 1, 5, AT), -1);
	ASSERT_EQ(flowtap_address_map_add_shared(self->map, "[vdso]", bytes, size), 0);
	EXPECT_EQ(byte_at(self->map, 1, 5, AT), 0x7f);
	EXPECT_EQ(byte_at(self->map, 1, 5, AT + TINY_CODE_OFFSET + 7), tiny_code(9, 7));
	EXPECT_EQ(byte_at(self->map, 1, 5, AT + size), -1);
	code = flowtap_address_map_find(self->map, 1, 5, AT);
	EXPECT_STREQ(
		flowtap_address_map_symbol(self->map, code, AT + TINY_CODE_OFFSET + 0x44, &offset),
		"nested");
}

TEST_F(image, impossible_mappings_are_refused)
{
	struct flowtap_mapping mapping = mapping_of(1, 0, AT, 0, "/bin/a", 1);

	EXPECT_EQ(flowtap_address_map_add(self->map, &mapping), -EINVAL);
	EXPECT_EQ(flowtap_address_map_add_bytes(self->map, &mapping, ""), -EINVAL);
	EXPECT_EQ(flowtap_address_map_add_shared(self->map, "[vdso]", "", 0), -EINVAL);
	mapping.size = UINT64_MAX - 10;
	EXPECT_EQ(flowtap_address_map_add(self->map, &mapping), -EINVAL);
	mapping.size = 0x1000;
	mapping.file_offset = UINT64_MAX;
	EXPECT_EQ(flowtap_address_map_add(self->map, &mapping), -EINVAL);
	mapping.file_offset = 0;
	mapping.build_id_size = 21;
	EXPECT_EQ(flowtap_address_map_add(self->map, &mapping), -EINVAL);
	/* A size that no file has costs no memory. */
	mapping.build_id_size = 0;
	mapping.start = 0;
	mapping.file_offset = TINY_CODE_OFFSET;
	mapping.size = 1ULL << 62;
	EXPECT_EQ(flowtap_address_map_add(self->map, &mapping), 0);
	EXPECT_EQ(byte_at(self->map, 1, 5, 0), tiny_code(1, 0));
	EXPECT_EQ(byte_at(self->map, 1, 5, 1ULL << 61), -1);
}

TEST_HARNESS_MAIN
