// SPDX-License-Identifier: GPL-2.0-only
/* Shows that an archive with its files decodes where there are none, and takes no wrong ones. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <flowtap/bundle.h>
#include <flowtap/replay.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "support/kselftest_harness.h"
#include "support/tinyelf.h"

#define AT 0x40000000ULL

FIXTURE(bundle)
{
	char root[64];
	char path[128];			/* a file with a build-id */
	struct flowtap_bundle *bundle;
	struct flowtap_archive_writer *writer;
	int fd;
	struct flowtap_address_map *map;
	struct flowtap_bundle_figures figures;
	char why[512];
	size_t damages;
	char reason[128];
};

static void write_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void write_tiny(const char *path, uint8_t seed)
{
	uint8_t bytes[TINY_ROOM];

	write_file(path, bytes, tiny_make(bytes, seed));
}

FIXTURE_SETUP(bundle)
{
	struct timespec now;
	struct stat status;

	strcpy(self->root, "/tmp/flowtap-bundle-XXXXXX");
	ASSERT_NE(mkdtemp(self->root), NULL);
	snprintf(self->path, sizeof(self->path), "%s/a", self->root);
	write_tiny(self->path, 1);
	/*
	 * File times are those of the kernel's tick: until the next one it would have been changed
	 * since.
	 */
	ASSERT_EQ(stat(self->path, &status), 0);
	do
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
	while (now.tv_sec < status.st_ctim.tv_sec ||
	       (now.tv_sec == status.st_ctim.tv_sec && now.tv_nsec <= status.st_ctim.tv_nsec));
	self->bundle = flowtap_bundle_new();
	ASSERT_NE(self->bundle, NULL);
	self->fd = memfd_create("archive", MFD_CLOEXEC);
	ASSERT_EQ(flowtap_archive_create(self->fd, &self->writer), 0);
	self->map = flowtap_address_map_new("/proc/self/nowhere");
}

FIXTURE_TEARDOWN(bundle)
{
	char command[96];

	flowtap_bundle_free(self->bundle);
	flowtap_archive_writer_free(self->writer);
	flowtap_address_map_free(self->map);
	close(self->fd);
	snprintf(command, sizeof(command), "rm -rf %s", self->root);
	if (system(command))
		abort();
}

static struct flowtap_mapping mapping_of(const char *path, int seed)
{
	struct flowtap_mapping mapping = {
		.start = AT,
		.size = 0x1000,
		.file_offset = TINY_CODE_OFFSET,
		.pid = (uint32_t)getpid(),
		.executable = true,
		.path = path,
	};

	if (seed >= 0) {
		mapping.build_id_size = 20;
		tiny_build_id(mapping.build_id, (uint8_t)seed);
	}
	return mapping;
}

static void left_out(void *argument, const char *why)
{
	FIXTURE_DATA(bundle) *self = argument;

	snprintf(self->why, sizeof(self->why), "%s", why);
}

static int bundle_write(FIXTURE_DATA(bundle) *self)
{
	return flowtap_bundle_write(self->bundle, self->writer, left_out, self, &self->figures);
}

static int on_record(struct flowtap_replay *replay, uint32_t cpu,
		     const struct flowtap_record *record, size_t size)
{
	return 0;
}

static void on_damage(struct flowtap_replay *replay, uint64_t offset, const char *reason,
		      uint64_t bytes)
{
	FIXTURE_DATA(bundle) *self = replay->argument;

	self->damages++;
	snprintf(self->reason, sizeof(self->reason), "%s", reason);
}

static int replay(FIXTURE_DATA(bundle) *self)
{
	struct flowtap_replay replay = {
		.record = on_record,
		.damage = on_damage,
		.argument = self,
	};
	int err = flowtap_archive_flush(self->writer);

	lseek(self->fd, 0, SEEK_SET);
	return err ? err : flowtap_replay(&replay, self->fd, self->map);
}

TEST_F(bundle, file_that_is_not_here_is_in_the_archive)
{
	struct flowtap_mapping mapping = mapping_of(self->path, 1);
	const struct flowtap_code *code;
	uint64_t offset;

	ASSERT_EQ(flowtap_bundle_add(self->bundle, &mapping), 0);
	ASSERT_EQ(flowtap_bundle_add(self->bundle, &mapping), 0);
	/* The same file by another name is stored once. */
	mapping.path = "/elsewhere/a";
	ASSERT_EQ(flowtap_bundle_add(self->bundle, &mapping), 0);
	ASSERT_EQ(bundle_write(self), 0);
	EXPECT_EQ(self->figures.files, 1);
	EXPECT_EQ(self->figures.left_out, 0);
	ASSERT_EQ(replay(self), 0);
	EXPECT_EQ(self->damages, 0);
	ASSERT_EQ(flowtap_address_map_add(self->map, &mapping), 0);
	code = flowtap_address_map_find(self->map, mapping.pid, 5, AT);
	ASSERT_NE(code, NULL);
	ASSERT_NE(code->bytes, NULL);
	EXPECT_EQ(code->bytes[3], tiny_code(1, 3));
	EXPECT_STREQ(flowtap_address_map_symbol(self->map, code, AT + 0x41, &offset), "nested");
}

TEST_F(bundle, file_of_many_parts)
{
	size_t size = (3 << 20) + 12345;
	uint8_t *bytes = malloc(size);
	struct flowtap_mapping mapping = mapping_of(self->path, 1);
	const struct flowtap_code *code;

	ASSERT_NE(bytes, NULL);
	memset(bytes, 0, size);
	tiny_make(bytes, 1);
	for (size_t i = 1 << 20; i < size; i++)
		bytes[i] = (uint8_t)(i * i >> 7);
	write_file(self->path, bytes, size);
	mapping.size = size & ~0xfffUL;
	mapping.file_offset = 0;
	ASSERT_EQ(flowtap_bundle_add(self->bundle, &mapping), 0);
	ASSERT_EQ(bundle_write(self), 0);
	EXPECT_EQ(self->figures.bytes, size);
	ASSERT_EQ(replay(self), 0);
	ASSERT_EQ(flowtap_address_map_add(self->map, &mapping), 0);
	code = flowtap_address_map_find(self->map, mapping.pid, 5, AT);
	ASSERT_NE(code, NULL);
	ASSERT_NE(code->bytes, NULL);
	ASSERT_EQ(code->end - code->start, mapping.size);
	EXPECT_EQ(memcmp(code->bytes, bytes, mapping.size), 0);
	free(bytes);
}

TEST_F(bundle, another_build_id_is_left_out)
{
	struct flowtap_mapping mapping = mapping_of(self->path, 2);

	ASSERT_EQ(flowtap_bundle_add(self->bundle, &mapping), 0);
	ASSERT_EQ(bundle_write(self), 0);
	EXPECT_EQ(self->figures.files, 0);
	EXPECT_EQ(self->figures.left_out, 1);
	EXPECT_NE(strstr(self->why, "build-id"), NULL);
}

TEST_F(bundle, without_a_build_id_it_must_not_have_changed)
{
	struct flowtap_mapping mapping = mapping_of(self->path, -1);

	ASSERT_EQ(flowtap_bundle_add(self->bundle, &mapping), 0);
	ASSERT_EQ(bundle_write(self), 0);
	EXPECT_EQ(self->figures.files, 1);
	ASSERT_EQ(chmod(self->path, 0600), 0);
	ASSERT_EQ(bundle_write(self), 0);
	EXPECT_EQ(self->figures.files, 0);
	EXPECT_NE(strstr(self->why, "changed since"), NULL);
	ASSERT_EQ(replay(self), 0);
	/* It is for mappings without a build-id only. */
	ASSERT_EQ(flowtap_address_map_add(self->map, &mapping), 0);
	EXPECT_NE(flowtap_address_map_find(self->map, mapping.pid, 5, AT)->bytes, NULL);
	mapping = mapping_of(self->path, 1);
	mapping.start += 0x10000;
	ASSERT_EQ(flowtap_address_map_add(self->map, &mapping), 0);
	EXPECT_EQ(flowtap_address_map_find(self->map, mapping.pid, 5, mapping.start)->bytes, NULL);
}

/* Two files of one name, both older than the recording. */
static void make_two(FIXTURE_DATA(bundle) *self, char path[128], char one[128], char two[128])
{
	const struct timespec pause = { 0, 20000000 };

	snprintf(one, 128, "%s/one", self->root);
	snprintf(two, 128, "%s/two", self->root);
	snprintf(path, 128, "%s/one/a", self->root);
	if (mkdir(one, 0700) || mkdir(two, 0700))
		abort();
	write_tiny(path, 1);
	snprintf(self->path, sizeof(self->path), "%s/two/a", self->root);
	write_tiny(self->path, 2);
	nanosleep(&pause, NULL);
	flowtap_bundle_free(self->bundle);
	self->bundle = flowtap_bundle_new();
}

static void exchange(const char *one, const char *two)
{
	if (renameat2(AT_FDCWD, one, AT_FDCWD, two, RENAME_EXCHANGE))
		abort();
}

/* As in two containers, each with an /app/server of its own. */
TEST_F(bundle, without_a_build_id_different_files_of_one_path_are_left_out)
{
	char path[128], one[128], two[128];
	struct flowtap_mapping mapping;

	make_two(self, path, one, two);
	mapping = mapping_of(path, -1);
	ASSERT_EQ(flowtap_bundle_add(self->bundle, &mapping), 0);
	ASSERT_EQ(flowtap_bundle_add(self->bundle, &mapping), 0);
	ASSERT_EQ(bundle_write(self), 0);
	EXPECT_EQ(self->figures.files, 1);
	exchange(one, two);
	ASSERT_EQ(flowtap_bundle_add(self->bundle, &mapping), 0);
	ASSERT_EQ(bundle_write(self), 0);
	EXPECT_EQ(self->figures.files, 0);
	EXPECT_EQ(self->figures.left_out, 1);
	EXPECT_NE(strstr(self->why, "more than one file had that path"), NULL);
}

TEST_F(bundle, nor_is_one_stored_that_is_another_by_now)
{
	char path[128], one[128], two[128];
	struct flowtap_mapping mapping;

	make_two(self, path, one, two);
	mapping = mapping_of(path, -1);
	ASSERT_EQ(flowtap_bundle_add(self->bundle, &mapping), 0);
	exchange(one, two);
	ASSERT_EQ(bundle_write(self), 0);
	EXPECT_EQ(self->figures.files, 0);
	EXPECT_NE(strstr(self->why, "more than one file had that path"), NULL);
}

TEST_F(bundle, what_is_no_file_is_passed_over)
{
	static const char *const names[] = { "[vdso]", "//anon", "", "/memfd:x (deleted)" };

	for (size_t i = 0; i < 4; i++) {
		struct flowtap_mapping mapping = mapping_of(names[i], -1);

		ASSERT_EQ(flowtap_bundle_add(self->bundle, &mapping), 0);
	}
	ASSERT_EQ(bundle_write(self), 0);
	EXPECT_EQ(self->figures.files + self->figures.left_out, 0);
}

/* A part of a file by hand: what the file is said to be, and what it is. */
static int put(struct flowtap_address_map *map, int seed, int claim, uint64_t offset, uint64_t size)
{
	uint8_t bytes[TINY_ROOM] = { 0 };
	struct flowtap_bundled part = {
		.path = "/a",
		.size = tiny_make(bytes, (uint8_t)seed),
		.offset = offset,
		.part_size = size,
		.build_id_size = 20,
	};

	tiny_build_id(part.build_id, (uint8_t)claim);
	if (!size)
		part.part_size = part.size - offset;
	return flowtap_address_map_add_file(map, &part, bytes + offset);
}

static bool has_code(struct flowtap_address_map *map, int seed)
{
	struct flowtap_mapping mapping = mapping_of("/a", seed);

	return !flowtap_address_map_add(map, &mapping) &&
	       flowtap_address_map_find(map, mapping.pid, 5, AT)->bytes;
}

TEST_F(bundle, claims_are_not_believed)
{
	/* Says that it has the build-id of another. */
	EXPECT_EQ(put(self->map, 1, 2, 0, 0), -EINVAL);
	EXPECT_FALSE(has_code(self->map, 2));
	/* A part is missing. */
	EXPECT_EQ(put(self->map, 3, 3, 0, 0x800), 0);
	EXPECT_EQ(put(self->map, 3, 3, 0x900, 0), -EINVAL);
	EXPECT_FALSE(has_code(self->map, 3));
	EXPECT_EQ(put(self->map, 4, 4, 0x100, 0), -EINVAL);
	EXPECT_FALSE(has_code(self->map, 4));
	EXPECT_EQ(put(self->map, 5, 5, 0, 0x800), 0);
	EXPECT_EQ(put(self->map, 5, 5, 0x800, 0), 0);
	EXPECT_EQ(put(self->map, 5, 5, 0, 0), -EINVAL);
	EXPECT_TRUE(has_code(self->map, 5));
}

TEST_F(bundle, frames_that_lie_are_damage)
{
	struct flowtap_archive_file block = {
		.size = 1 << 20,
		.part_size = 1 << 20,
		.compression = FLOWTAP_COMPRESSION_ZSTD,
		.stored_size = 16,
		.path_size = 2,
	};
	uint8_t rest[24] = "/a";

	for (int i = 0; i < 3; i++) {
		block.compression = (uint32_t)i;
		ASSERT_EQ(flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_FILE, 0, 0, &block,
						sizeof(block), rest, sizeof(rest)), 0);
	}
	ASSERT_EQ(replay(self), 0);
	EXPECT_EQ(self->damages, 3);
	EXPECT_NE(strstr(self->reason, "contradicts"), NULL);
}

TEST_HARNESS_MAIN
