// SPDX-License-Identifier: GPL-2.0-only
/* Shows that what comes by a pipe is kept as it came, and that what may have no end is refused. */
#include <errno.h>
#include <fcntl.h>
#include <flowtap/input.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pipeline/seekable.h"
#include "support/kselftest_harness.h"

FIXTURE(seekable)
{
	struct flowtap_input_copy copy;
	uint64_t calls, last;		/* of progress */
};

static void count(struct flowtap_input_copy *copy)
{
	FIXTURE_DATA(seekable) *self = copy->argument;

	self->calls++;
	self->last = copy->bytes;
}

FIXTURE_SETUP(seekable)
{
	/* What is not refused though it has no end ends here, and not when the disk is full. */
	const struct rlimit limit = { 64 << 20, 64 << 20 };

	signal(SIGXFSZ, SIG_IGN);
	ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &limit));
	memset(self, 0, sizeof(*self));
	self->copy.progress = count;
	self->copy.argument = self;
}

FIXTURE_TEARDOWN(seekable)
{
}

/* A pipe by which these bytes come, some at a time; another process writes them. */
static int pipe_with(const uint8_t *bytes, size_t size)
{
	int ends[2];

	if (pipe(ends))
		abort();
	switch (fork()) {
	case -1:
		abort();
	case 0:
		close(ends[0]);
		for (size_t at = 0, n; at < size; at += n) {
			n = size - at < 1000 ? size - at : 1000;
			if (write(ends[1], bytes + at, n) != (ssize_t)n)
				_exit(1);
		}
		_exit(0);
	}
	close(ends[1]);
	return ends[0];
}

static int keep_bytes(FIXTURE_DATA(seekable) *self, const uint8_t *bytes, size_t size)
{
	int from = pipe_with(bytes, size), fd = flowtap_input_keep(from, &self->copy);

	close(from);
	wait(NULL);
	return fd;
}

TEST_F(seekable, what_comes_is_kept_from_its_first_byte_to_its_last)
{
	const size_t size = 3 * FLOWTAP_INPUT_LOOK + 17;
	uint8_t *bytes = malloc(size), *read_back = malloc(size + 1);
	int fd;

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(i * 7 + (i >> 8));
	fd = keep_bytes(self, bytes, size);
	ASSERT_LE(0, fd);
	EXPECT_EQ((ssize_t)size, read(fd, read_back, size + 1));
	EXPECT_EQ(0, memcmp(bytes, read_back, size));
	EXPECT_EQ(size, self->copy.bytes);
	EXPECT_EQ(0, self->copy.failed);
	EXPECT_EQ(4, self->calls);
	EXPECT_EQ(size, self->last);
	close(fd);
	free(bytes);
	free(read_back);
}

TEST_F(seekable, as_many_bytes_as_are_looked_at_and_none_are_kept)
{
	uint8_t *bytes = calloc(FLOWTAP_INPUT_LOOK, 1);
	struct stat status;
	int fd;

	bytes[FLOWTAP_INPUT_LOOK - 1] = 1;
	fd = keep_bytes(self, bytes, FLOWTAP_INPUT_LOOK);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, fstat(fd, &status));
	EXPECT_EQ(FLOWTAP_INPUT_LOOK, status.st_size);
	close(fd);
	fd = keep_bytes(self, bytes, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, fstat(fd, &status));
	EXPECT_EQ(0, status.st_size);
	EXPECT_EQ(0, self->copy.bytes);
	close(fd);
	free(bytes);
}

TEST_F(seekable, zeros_are_refused_if_they_may_go_on)
{
	uint8_t *bytes = calloc(FLOWTAP_INPUT_LOOK, 1);
	int fd;

	EXPECT_EQ(-EBADMSG, keep_bytes(self, bytes, FLOWTAP_INPUT_LOOK));
	fd = keep_bytes(self, bytes, FLOWTAP_INPUT_LOOK - 1);
	EXPECT_LE(0, fd);
	close(fd);
	free(bytes);
}

TEST_F(seekable, a_device_that_goes_on_is_refused_and_one_that_ends_is_not)
{
	int from = open("/dev/urandom", O_RDONLY), fd;

	EXPECT_EQ(-ENODEV, flowtap_input_keep(from, &self->copy));
	close(from);
	from = open("/dev/null", O_RDONLY);
	fd = flowtap_input_keep(from, &self->copy);
	EXPECT_LE(0, fd);
	close(from);
	close(fd);
}

TEST_F(seekable, an_error_of_reading_is_said_and_what_came_is_kept)
{
	int from = open("/", O_RDONLY | O_DIRECTORY), fd = flowtap_input_keep(from, &self->copy);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EISDIR, self->copy.failed);
	EXPECT_EQ(0, self->copy.bytes);
	close(from);
	close(fd);
}

TEST_F(seekable, a_file_is_read_where_it_stands)
{
	int file = flowtap_input_temporary(), from;
	uint64_t base = 1;

	ASSERT_LE(0, file);
	ASSERT_EQ(5, write(file, "12345", 5));
	ASSERT_EQ(2, lseek(file, 2, SEEK_SET));
	EXPECT_EQ(file, flowtap_seekable(file, &base));
	EXPECT_EQ(2, base);
	close(file);
	from = pipe_with((const uint8_t *)"12345", 5);
	file = flowtap_seekable(from, &base);
	EXPECT_NE(from, file);
	EXPECT_EQ(0, base);
	EXPECT_EQ(0, lseek(file, 0, SEEK_CUR));
	close(file);
	close(from);
	wait(NULL);
}

TEST_F(seekable, a_temporary_file_has_no_name)
{
	char directory[] = "/tmp/flowtap-seekable-XXXXXX";
	int fd;

	ASSERT_NE(NULL, mkdtemp(directory));
	ASSERT_EQ(0, setenv("TMPDIR", directory, 1));
	fd = flowtap_input_temporary();
	EXPECT_LE(0, fd);
	close(fd);
	/* Else it is not empty. */
	EXPECT_EQ(0, rmdir(directory));
	unsetenv("TMPDIR");
}

TEST_HARNESS_MAIN
