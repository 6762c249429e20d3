// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that files that are mapped are saved once by their build-id, where decoding finds them;
 * that what is another file by then, or gone, or has no room, is told and not saved; and that they
 * go with the last segment that may name them.
 */
#include "images.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <flowtap/bundle.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"
#include "support/kselftest_harness.h"
#include "support/tinyelf.h"
#include "idle.h"
#include "logged.h"

#define STEP_US 2000
#define PATIENCE (PATIENCE_US / STEP_US)

/* A file that its owner lets grow whenever something of it was copied, so many times; -1: none. */
static int growing = -1;
static unsigned int grown;
static uint64_t copied;			/* bytes */

/* Stands in for libc's: the thread that saves writes to a `.part`. */
ssize_t write(int fd, const void *bytes, size_t size)
{
	char link[64], path[256] = "";
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = growing < 0 ? 0 : readlink(link, path, sizeof(path) - 1);
	if (n > 5 && !strcmp(path + n - 5, ".part")) {
		copied += size;
		if (grown && syscall(SYS_write, growing, "more", 4) == 4)
			grown--;
	}
	return syscall(SYS_write, fd, bytes, size);
}

FIXTURE(images)
{
	char directory[64];
	struct images *images;
	struct images_figures figures;
	struct logged logged;
};

FIXTURE_SETUP(images)
{
	strcpy(self->directory, "/tmp/flowtap-images-XXXXXX");
	ASSERT_TRUE(mkdtemp(self->directory));
	ASSERT_EQ(0, images_open(self->directory, 0, 0, 1, &self->images));
	logged_open(&self->logged);
}

FIXTURE_TEARDOWN(images)
{
	images_close(self->images);
	logged_close(&self->logged);
	folder_remove(self->directory);
}

/* A file with the build-id ab, then 19 times the seed. */
static void make_file(const FIXTURE_DATA(images) *self, const char *name, uint8_t seed)
{
	uint8_t bytes[TINY_ROOM];
	size_t size = tiny_make(bytes, seed);
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", self->directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
}

static struct flowtap_mapping mapping_of(const char *path, uint8_t seed)
{
	struct flowtap_mapping mapping = {
		.start = 0x10000, .size = 0x1000, .pid = (uint32_t)getpid(), .executable = true,
		.build_id_size = 20, .path = path, .file_offset = TINY_CODE_OFFSET,
	};

	tiny_build_id(mapping.build_id, seed);
	return mapping;
}

static void map(FIXTURE_DATA(images) *self, const char *name, uint8_t seed)
{
	struct flowtap_mapping mapping;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", self->directory, name);
	mapping = mapping_of(path, seed);
	if (images_mapped(self->images, &mapping))
		abort();
}

static unsigned int count(const char *text, const char *what)
{
	unsigned int n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* Until nothing waits. */
static bool finish_work(FIXTURE_DATA(images) *self, uint64_t oldest)
{
	for (int i = 0; i < PATIENCE; i++) {
		images_step(self->images, oldest);
		images_measure(self->images, &self->figures);
		if (!self->figures.waiting)
			return true;
		usleep(STEP_US);
	}
	return false;
}

static const char *path_of(const FIXTURE_DATA(images) *self, uint8_t seed, const char *after)
{
	const struct flowtap_mapping mapping = mapping_of("", seed);
	static char path[256];
	char inner[64];

	images_path(inner, mapping.build_id, mapping.build_id_size);
	snprintf(path, sizeof(path), "%s/%s%s", self->directory, inner, after);
	return path;
}

static bool is_saved(const FIXTURE_DATA(images) *self, uint8_t seed)
{
	return !access(path_of(self, seed, ""), F_OK);
}

TEST_F(images, a_file_is_saved_once_where_its_build_id_says)
{
	char other[256];
	struct stat stat_of;

	make_file(self, "a", 0x11);
	map(self, "a", 0x11);
	map(self, "a", 0x11);
	ASSERT_TRUE(finish_work(self, 1));
	EXPECT_EQ(1, self->figures.saved);
	EXPECT_EQ(1, self->figures.files);
	EXPECT_EQ(0, self->figures.missing);
	snprintf(other, sizeof(other), "%s/images/ab/11111111111111111111111111111111111111",
		 self->directory);
	ASSERT_EQ(0, stat(other, &stat_of));
	EXPECT_EQ((uint64_t)stat_of.st_blocks * 512, self->figures.bytes);
	EXPECT_EQ(0, stat_of.st_mode & 07);
	snprintf(other, sizeof(other), "cmp -s %s/a %s", self->directory, path_of(self, 0x11, ""));
	EXPECT_EQ(0, system(other));
	EXPECT_NE(0, access(path_of(self, 0x11, ".part"), F_OK));
	/* Not again, even if it is mapped for another segment. */
	images_segment(self->images, 2);
	map(self, "a", 0x11);
	ASSERT_TRUE(finish_work(self, 1));
	EXPECT_EQ(1, self->figures.saved);
}

TEST_F(images, decoding_finds_it_when_the_file_is_gone)
{
	const struct flowtap_code *code;
	struct flowtap_mapping mapping;
	struct flowtap_address_map *found;
	char path[256], images[256];

	make_file(self, "a", 0x11);
	map(self, "a", 0x11);
	ASSERT_TRUE(finish_work(self, 1));
	/* An update put another one there. */
	make_file(self, "a", 0x22);
	snprintf(path, sizeof(path), "%s/a", self->directory);
	snprintf(images, sizeof(images), "%s/" IMAGES, self->directory);
	mapping = mapping_of(path, 0x11);
	found = flowtap_address_map_new(NULL);
	ASSERT_EQ(0, flowtap_address_map_images(found, images));
	ASSERT_EQ(0, flowtap_address_map_add(found, &mapping));
	code = flowtap_address_map_find(found, mapping.pid, 5, mapping.start);
	ASSERT_TRUE(code && code->bytes);
	for (size_t i = 0; i < 16; i++)
		EXPECT_EQ(tiny_code(0x11, i), code->bytes[i]);
	flowtap_address_map_free(found);
}

TEST_F(images, what_is_another_file_or_none_is_told_and_not_saved)
{
	make_file(self, "other", 0x22);
	map(self, "other", 0x11);
	map(self, "gone", 0x33);
	map(self, "images", 0x44);
	ASSERT_TRUE(finish_work(self, 1));
	EXPECT_EQ(3, self->figures.missing);
	EXPECT_EQ(3, count(logged_since(&self->logged), "level=warning event=image-missing why=\""));
	EXPECT_EQ(1, count(self->logged.text, "/other"));
	EXPECT_EQ(1, count(self->logged.text, "/gone"));
	EXPECT_EQ(1, count(self->logged.text, "/images"));
	EXPECT_EQ(0, self->figures.saved + self->figures.files + self->figures.bytes);
	EXPECT_FALSE(is_saved(self, 0x11));
	EXPECT_FALSE(is_saved(self, 0x22));
	/* It is tried again for another segment, and counted once. */
	make_file(self, "gone", 0x33);
	map(self, "gone", 0x33);
	ASSERT_TRUE(finish_work(self, 1));
	EXPECT_FALSE(is_saved(self, 0x33));
	images_segment(self->images, 2);
	map(self, "other", 0x11);
	map(self, "gone", 0x33);
	ASSERT_TRUE(finish_work(self, 1));
	EXPECT_TRUE(is_saved(self, 0x33));
	EXPECT_EQ(3, self->figures.missing);
	EXPECT_EQ(1, self->figures.saved);
	EXPECT_STREQ("", logged_since(&self->logged));
}

TEST_F(images, a_file_that_was_deleted_is_saved_if_another_has_its_name_and_build_id)
{
	make_file(self, "a", 0x11);
	map(self, "a (deleted)", 0x11);
	ASSERT_TRUE(finish_work(self, 1));
	EXPECT_TRUE(is_saved(self, 0x11));
}

TEST_F(images, what_is_no_file_or_has_no_build_id_is_left_alone)
{
	struct flowtap_mapping mapping = mapping_of("[vdso]", 0x11);
	static char path[2 * IMAGES_PATH];

	images_mapped(self->images, &mapping);
	mapping.path = "//anon";
	images_mapped(self->images, &mapping);
	mapping.path = "/bin/sh";
	mapping.build_id_size = 0;
	images_mapped(self->images, &mapping);
	mapping.build_id_size = 1;
	images_mapped(self->images, &mapping);
	mapping.build_id_size = 21;
	images_mapped(self->images, &mapping);
	mapping.build_id_size = 20;
	mapping.executable = false;
	images_mapped(self->images, &mapping);
	mapping.executable = true;
	memset(path, '/', sizeof(path) - 1);
	path[1] = 'x';
	mapping.path = path;
	images_mapped(self->images, &mapping);
	images_measure(self->images, &self->figures);
	EXPECT_EQ(0, self->figures.waiting + self->figures.missing);
}

TEST_F(images, no_more_is_saved_than_there_may_be)
{
	make_file(self, "a", 0x11);
	make_file(self, "b", 0x22);
	map(self, "a", 0x11);
	ASSERT_TRUE(finish_work(self, 1));
	images_limit(self->images, self->figures.bytes + 1, 0);
	map(self, "b", 0x22);
	ASSERT_TRUE(finish_work(self, 1));
	EXPECT_EQ(1, self->figures.missing);
	EXPECT_FALSE(is_saved(self, 0x22));
	EXPECT_NE(0, access(path_of(self, 0x22, ".part"), F_OK));
	/* Nor where others are to find room. */
	images_limit(self->images, 0, UINT64_MAX / 2);
	images_segment(self->images, 2);
	map(self, "b", 0x22);
	ASSERT_TRUE(finish_work(self, 1));
	EXPECT_FALSE(is_saved(self, 0x22));
	images_limit(self->images, 0, 0);
	images_segment(self->images, 3);
	map(self, "b", 0x22);
	ASSERT_TRUE(finish_work(self, 1));
	EXPECT_TRUE(is_saved(self, 0x22));
}

/* Else who maps it would fill the disk: all that was looked at is its size of before. */
TEST_F(images, no_more_is_copied_of_a_file_that_grows)
{
	struct stat before;
	char path[256];

	make_file(self, "a", 0x11);
	snprintf(path, sizeof(path), "%s/a", self->directory);
	growing = open(path, O_WRONLY | O_APPEND);
	ASSERT_LE(0, growing);
	ASSERT_EQ(0, fstat(growing, &before));
	grown = 100;
	map(self, "a", 0x11);
	ASSERT_TRUE(finish_work(self, 1));
	close(growing);
	growing = -1;
	EXPECT_EQ(before.st_size, copied);
	EXPECT_EQ(99, grown);
	EXPECT_FALSE(is_saved(self, 0x11));
	EXPECT_TRUE(strstr(logged_since(&self->logged), "/a changed while it was copied\""));
}

/*
 * With a hole that is as large as half of the room that there is, and more than what is to stay
 * free.
 */
TEST_F(images, what_others_are_to_find_free_is_free_afterwards)
{
	struct statvfs disk;
	char path[256];
	uint64_t capacity, size;

	ASSERT_EQ(0, statvfs(self->directory, &disk));
	capacity = (uint64_t)disk.f_bavail * disk.f_frsize;
	size = capacity / 2 < FLOWTAP_BUNDLE_FILE_MAX ? capacity / 2 : FLOWTAP_BUNDLE_FILE_MAX;
	make_file(self, "a", 0x11);
	snprintf(path, sizeof(path), "%s/a", self->directory);
	ASSERT_EQ(0, truncate(path, (off_t)size));
	images_limit(self->images, 0, capacity - size / 2);
	map(self, "a", 0x11);
	ASSERT_TRUE(finish_work(self, 1));
	ASSERT_EQ(0, statvfs(self->directory, &disk));
	if ((uint64_t)disk.f_bavail * disk.f_frsize > capacity + size / 4)
		SKIP(return, "somebody else made much room meanwhile");
	EXPECT_EQ(1, self->figures.missing);
	EXPECT_FALSE(is_saved(self, 0x11));
	EXPECT_TRUE(strstr(logged_since(&self->logged), "there is no room for its "));
}

TEST_F(images, what_was_left_half_done_is_done_anew)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/" IMAGES, self->directory);
	ASSERT_EQ(0, mkdir(path, 0700));
	strcat(path, "/ab");
	ASSERT_EQ(0, mkdir(path, 0700));
	close(open(path_of(self, 0x11, ".part"), O_CREAT | O_WRONLY, 0600));
	make_file(self, "a", 0x11);
	map(self, "a", 0x11);
	ASSERT_TRUE(finish_work(self, 1));
	EXPECT_TRUE(is_saved(self, 0x11));
}

/* In a container it is another one than ours. */
TEST_F(images, a_path_is_one_of_the_process_that_mapped_it)
{
	struct flowtap_mapping mapping = mapping_of("/inside", 0x11);
	int ready[2], go[2];
	char byte;
	pid_t child;

	ASSERT_EQ(0, pipe(ready) | pipe(go));
	make_file(self, "inside", 0x11);
	child = fork();
	if (!child) {
		close(go[1]);
		byte = !chroot(self->directory);
		if (write(ready[1], &byte, 1) == 1)
			_exit(read(go[0], &byte, 1) != 0);
		_exit(1);
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	if (byte) {
		mapping.pid = (uint32_t)child;
		images_mapped(self->images, &mapping);
		EXPECT_TRUE(finish_work(self, 1));
		EXPECT_TRUE(is_saved(self, 0x11));
	}
	close(go[1]);
	waitpid(child, NULL, 0);
	close(go[0]);
	close(ready[0]);
	close(ready[1]);
	if (!byte)
		SKIP(return, "a process cannot have another root here");
}

TEST_F(images, they_go_with_the_last_segment_that_may_name_them)
{
	make_file(self, "a", 0x11);
	make_file(self, "b", 0x22);
	map(self, "a", 0x11);
	map(self, "b", 0x22);
	ASSERT_TRUE(finish_work(self, 1));
	images_segment(self->images, 2);
	map(self, "b", 0x22);
	ASSERT_TRUE(finish_work(self, 1));
	EXPECT_TRUE(is_saved(self, 0x11));
	ASSERT_TRUE(finish_work(self, 2));
	EXPECT_FALSE(is_saved(self, 0x11));
	EXPECT_TRUE(is_saved(self, 0x22));
	EXPECT_EQ(1, self->figures.files);
	/* Once it is wanted again it is saved again. */
	images_segment(self->images, 3);
	map(self, "a", 0x11);
	ASSERT_TRUE(finish_work(self, 3));
	EXPECT_TRUE(is_saved(self, 0x11));
	EXPECT_FALSE(is_saved(self, 0x22));
	EXPECT_EQ(3, self->figures.saved);
}

TEST_F(images, what_an_earlier_daemon_saved_counts_and_halves_go)
{
	char path[256];
	int fd;

	make_file(self, "a", 0x11);
	map(self, "a", 0x11);
	ASSERT_TRUE(finish_work(self, 1));
	images_close(self->images);
	self->images = NULL;
	fd = open(path_of(self, 0x22, ".part"), O_CREAT | O_WRONLY, 0600);
	ASSERT_LE(0, fd);
	close(fd);
	/* Others' files stay, and do not count; nor does what is none. */
	ASSERT_EQ(0, symlink("/bin/sh", path_of(self, 0x33, "")));
	snprintf(path, sizeof(path), "%s/" IMAGES "/ab/notes", self->directory);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	ASSERT_EQ(0, images_open(self->directory, 0, 0, 7, &self->images));
	EXPECT_NE(0, access(path_of(self, 0x22, ".part"), F_OK));
	EXPECT_EQ(0, access(path, F_OK));
	images_measure(self->images, &self->figures);
	EXPECT_EQ(1, self->figures.files);
	EXPECT_LT(0, self->figures.bytes);
	/* It may be of any segment up to the newest that was there. */
	images_segment(self->images, 8);
	ASSERT_TRUE(finish_work(self, 7));
	EXPECT_TRUE(is_saved(self, 0x11));
	ASSERT_TRUE(finish_work(self, 8));
	EXPECT_FALSE(is_saved(self, 0x11));
	EXPECT_EQ(0, self->figures.bytes);
}

static int idle_threads(void)
{
	DIR *directory = opendir("/proc/self/task");
	const struct dirent *entry;
	int n = 0;

	while ((entry = readdir(directory)))
		n += entry->d_name[0] != '.' &&
		     sched_getscheduler(atoi(entry->d_name)) == SCHED_IDLE;
	closedir(directory);
	return n;
}

TEST_F(images, more_than_a_pipe_holds_is_saved_by_an_idle_thread)
{
	char name[32];

	want_idle();
	EXPECT_EQ(0, idle_threads());
	make_file(self, "a", 0x11);
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "%s", i ? "a" : "gone");
		struct flowtap_mapping mapping;
		char path[256];

		snprintf(path, sizeof(path), "%s/%s", self->directory, name);
		mapping = mapping_of(path, 0x55);
		memcpy(mapping.build_id + 4, &i, sizeof(i));
		images_mapped(self->images, &mapping);
	}
	map(self, "a", 0x11);
	images_measure(self->images, &self->figures);
	EXPECT_EQ(2001, self->figures.waiting);
	ASSERT_TRUE(finish_work(self, 1));
	EXPECT_EQ(1, idle_threads());
	EXPECT_EQ(2000, self->figures.missing);
	EXPECT_EQ(1, self->figures.saved);
	/* Of the first ones, and the last of these says so. */
	EXPECT_EQ(20, count(logged_since(&self->logged), " event=image-missing why=\""));
	EXPECT_EQ(1, count(self->logged.text, " further="));
	EXPECT_STREQ(" further=counted\n", strstr(self->logged.text, " further="));
	EXPECT_LT(0, self->figures.cpu);
}

/* Its answer is to find it. */
TEST_F(images, what_was_asked_for_stays_until_that_is_answered)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/gone", self->directory);
	for (int i = 0; i < 3000; i++) {
		struct flowtap_mapping mapping = mapping_of(path, 0x55);

		memcpy(mapping.build_id + 4, &i, sizeof(i));
		images_mapped(self->images, &mapping);
	}
	images_step(self->images, 1);
	images_segment(self->images, 2);
	ASSERT_TRUE(finish_work(self, 2));
	EXPECT_EQ(3000, self->figures.missing);
}

TEST_F(images, it_ends_whatever_waits)
{
	char path[256];

	for (int i = 0; i < 3000; i++) {
		struct flowtap_mapping mapping;

		snprintf(path, sizeof(path), "%s/gone", self->directory);
		mapping = mapping_of(path, 0x55);
		memcpy(mapping.build_id + 4, &i, sizeof(i));
		images_mapped(self->images, &mapping);
	}
	images_step(self->images, 1);
	images_close(self->images);
	self->images = NULL;
}

TEST_F(images, a_folder_that_cannot_be_used_says_why)
{
	struct images *other;

	EXPECT_EQ(-ENOENT, images_open("/nonexistent/folder", 0, 0, 1, &other));
	EXPECT_EQ(-ENOTDIR, images_open("/dev/null", 0, 0, 1, &other));
}

TEST_HARNESS_MAIN
