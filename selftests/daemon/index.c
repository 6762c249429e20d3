// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that what a segment costs of the index does not grow with the number of them, and that the
 * index is right whatever was done to its file, and wherever a machine without power left it.
 */
#include "store_fixture.h"

#include <sys/syscall.h>

#include "index.h"

static uint64_t written;	/* bytes, by all */
static int fsync_error;		/* of the next calls; 0: none */

ssize_t write(int fd, const void *bytes, size_t size)
{
	written += size;
	return syscall(SYS_write, fd, bytes, size);
}

/* Also what libc writes of a FILE. */
int fsync(int fd)
{
	struct stat status;

	if (!fstat(fd, &status) && S_ISREG(status.st_mode) && fsync_error) {
		errno = fsync_error;
		return -1;
	}
	return (int)syscall(SYS_fsync, fd);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	struct stat status;

	if (!fstatat(from_dir, from, &status, 0))
		written += (uint64_t)status.st_size;
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

FIXTURE(index)
{
	FIXTURE_DATA(store) in;		/* of which only the folder is used */
	int directory;
	struct index index;
};

FIXTURE_SETUP(index)
{
	strcpy(self->in.directory, "/tmp/flowtap-index-XXXXXX");
	ASSERT_TRUE(mkdtemp(self->in.directory));
	self->directory = open(self->in.directory, O_RDONLY | O_DIRECTORY);
	ASSERT_LE(0, self->directory);
	ASSERT_EQ(0, index_open(&self->index, self->directory));
	index_write(&self->index);
}

FIXTURE_TEARDOWN(index)
{
	index_close(&self->index);
	close(self->directory);
	folder_remove(self->in.directory);
}

static const char *name_of(char name[STORE_NAME], unsigned int number)
{
	snprintf(name, STORE_NAME, "%010u-20261122T120000Z.ftap", number);
	return name;
}

static void add(FIXTURE_DATA(index) *self, unsigned int number)
{
	const struct store_facts facts = { .began = TIME, .ended = TIME + 60, .records = number,
					   .why = "size" };
	char name[STORE_NAME];

	index_add(&self->index, name_of(name, number), 4112, &facts);
}

static void take(FIXTURE_DATA(index) *self, unsigned int number)
{
	char name[STORE_NAME];

	index_remove(&self->index, name_of(name, number));
	index_settle(&self->index);
}

static void pack(FIXTURE_DATA(index) *self, unsigned int number)
{
	char name[STORE_NAME];

	index_packed(&self->index, name_of(name, number), 99);
}

/* Its line has what it had, packed or not; NULL: it has no line, or more than one. */
static const char *line_of(const FIXTURE_DATA(index) *self, unsigned int number)
{
	const char *text = index_text(&self->in), *line;
	char name[STORE_NAME];

	line = strstr(text, name_of(name, number));
	return line && !strstr(line + 1, name) ? line : NULL;
}

static bool has(const FIXTURE_DATA(index) *self, unsigned int number, const char *packed)
{
	const char *line = line_of(self, number);
	char wanted[256];

	snprintf(wanted, sizeof(wanted), "%010u-20261122T120000Z.ftap\t2026-11-22T12:00:00Z\t"
		 "2026-11-22T12:01:00Z\t4112\t%s\t%u\t0\tsize\n", number, packed, number);
	return line && !strncmp(line, wanted, strlen(wanted));
}

/* As the next daemon does, which finds these segments. */
static int reopen_with(FIXTURE_DATA(index) *self, unsigned int first, unsigned int last)
{
	char name[STORE_NAME];
	int error;

	index_close(&self->index);
	error = index_open(&self->index, self->directory);
	for (unsigned int i = first; i <= last && !error; i++)
		error = index_keep(&self->index, name_of(name, i));
	index_write(&self->index);
	return error ? error : index_error(&self->index);
}

static void cut(const FIXTURE_DATA(index) *self, off_t bytes)
{
	char path[128];
	struct stat status;

	snprintf(path, sizeof(path), "%s/index", self->in.directory);
	if (stat(path, &status) || truncate(path, status.st_size - bytes))
		abort();
}

/* In a folder that is full each new one takes the place of the oldest, and is packed. */
TEST_F(index, what_a_segment_costs_does_not_grow_with_their_number)
{
	uint64_t few, many;

	written = 0;
	for (unsigned int i = 1; i <= 1000; i++)
		add(self, i);
	few = written / 1000;
	EXPECT_LT(0, few);
	written = 0;
	for (unsigned int i = 1001; i <= 5000; i++) {
		add(self, i);
		pack(self, i);
		take(self, i - 1000);
	}
	many = written / 4000;
	EXPECT_GT(8 * few, many);
	EXPECT_EQ(0, index_error(&self->index));
	/* What is in memory does not grow, either. */
	EXPECT_GE(4000, self->index.n);
	for (unsigned int i = 1; i <= 1000; i += 37)
		EXPECT_EQ(NULL, line_of(self, i));
	index_write(&self->index);
	EXPECT_EQ(1000, self->index.n);
}

TEST_F(index, each_segment_that_is_there_has_one_line)
{
	for (unsigned int i = 1; i <= 300; i++) {
		add(self, i);
		pack(self, i);
		if (i > 50)
			take(self, i - 50);
		ASSERT_TRUE(has(self, i, "99"));
		ASSERT_TRUE(i < 50 || has(self, i - 49, "99"));
		ASSERT_TRUE(i <= 50 || !line_of(self, i - 50));
	}
	ASSERT_EQ(0, reopen_with(self, 251, 300));
	for (unsigned int i = 251; i <= 300; i++)
		EXPECT_TRUE(has(self, i, "99"));
}

/* Wherever it was cut: the lines before are what they were, that one says no more than its name. */
TEST_F(index, a_last_line_that_is_half_there_is_none)
{
	for (off_t bytes = 1; bytes < 90; bytes += 8) {
		ASSERT_EQ(0, reopen_with(self, 1, 0));
		add(self, 1);
		add(self, 2);
		cut(self, bytes);
		ASSERT_EQ(0, reopen_with(self, 1, 2));
		EXPECT_TRUE(has(self, 1, "-"));
		EXPECT_TRUE(line_of(self, 2) && strstr(line_of(self, 2), "\tleft behind, whole"));
		/* And it goes on. */
		add(self, 3);
		EXPECT_TRUE(has(self, 3, "-"));
		EXPECT_TRUE(has(self, 1, "-"));
	}
}

/* Old ones still stand, where the power went before they were struck. */
TEST_F(index, of_several_lines_the_last_one_counts)
{
	static const char lines[] = FIRST ".ftap\told\n" FIRST ".ftap\tolder\n" FIRST ".ftap\tnew\n";
	const char *line;

	put_file(&self->in, "index", lines, sizeof(lines) - 1);
	ASSERT_EQ(0, reopen_with(self, 1, 1));
	line = line_of(self, 1);
	ASSERT_TRUE(line);
	EXPECT_STREQ(FIRST ".ftap\tnew\n", line);
}

/* Nothing that people wrote is overwritten in the middle; what is lacking comes again. */
TEST_F(index, a_file_that_people_changed_or_moved_is_written_anew)
{
	char from[128], to[128];

	add(self, 1);
	cut(self, 5);
	add(self, 2);
	EXPECT_TRUE(has(self, 1, "-") && has(self, 2, "-"));
	put_file(&self->in, "index", "x\n", 2);
	take(self, 1);
	EXPECT_TRUE(!line_of(self, 1) && has(self, 2, "-"));
	snprintf(from, sizeof(from), "%s/index", self->in.directory);
	snprintf(to, sizeof(to), "%s/mine", self->in.directory);
	ASSERT_EQ(0, rename(from, to));
	add(self, 3);
	EXPECT_TRUE(has(self, 2, "-") && has(self, 3, "-"));
	ASSERT_EQ(0, rename(to, from));
	pack(self, 3);
	EXPECT_TRUE(has(self, 2, "-") && has(self, 3, "99"));
}

/* Else its folder could not be mounted read-only, which is refused while a file is open for writing. */
TEST_F(index, nothing_keeps_the_file_open)
{
	const int next = dup(0);

	close(next);
	add(self, 1);
	pack(self, 1);
	take(self, 1);
	add(self, 2);
	EXPECT_EQ(next, dup(0));
	close(next);
}

TEST_F(index, what_the_disk_did_not_take_is_told_and_comes_later)
{
	add(self, 1);
	fsync_error = EIO;
	add(self, 2);
	EXPECT_EQ(-EIO, index_error(&self->index));
	EXPECT_EQ(0, index_error(&self->index));
	fsync_error = 0;
	add(self, 3);
	EXPECT_EQ(0, index_error(&self->index));
	for (unsigned int i = 1; i <= 3; i++)
		EXPECT_TRUE(has(self, i, "-"));
}

TEST_HARNESS_MAIN
