// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what becomes of files that cannot be finished: an archive stays and no other process may take
 * its name while it is written; of parts that stay when a signal comes each has something to read.
 * Whether the disk takes what was written is the test's.
 */
#include "../../../tools/common/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <flowtap/archive.h>
#include <flowtap/zstf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

static int sync_error;	/* what the disk says */

int fsync(int fd)
{
	(void)fd;
	errno = sync_error;
	return sync_error ? -1 : 0;
}

FIXTURE(output)
{
	char directory[32];
	struct output output;
};

FIXTURE_SETUP(output)
{
	strcpy(self->directory, "/tmp/output.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->directory));
	ASSERT_EQ(0, chdir(self->directory));
	sync_error = 0;
}

FIXTURE_TEARDOWN(output)
{
	char command[64];

	ASSERT_EQ(0, chdir("/"));
	snprintf(command, sizeof(command), "rm -r %s", self->directory);
	ASSERT_EQ(0, system(command));
}

/* -1: there is no such file. */
static int size_of(const char *path)
{
	struct stat stat_of;

	return lstat(path, &stat_of) ? -1 : (int)stat_of.st_size;
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

static void fill(const struct output *output, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (write(output->fd, "x", 1) != 1)
			abort();
}

TEST_F(output, an_archive_that_the_disk_does_not_take_stays)
{
	ASSERT_EQ(0, output_open_archive(&self->output, "a.ftap", false));
	fill(&self->output, 9);
	sync_error = EIO;
	EXPECT_EQ(-EIO, output_commit(&self->output));
	EXPECT_EQ(9, size_of("a.ftap"));
}

TEST_F(output, a_part_that_the_disk_does_not_take_stays_where_it_can_be_read)
{
	sync_error = EIO;
	ASSERT_EQ(0, output_open_part(&self->output, "a.flow", false));
	fill(&self->output, 100);
	EXPECT_EQ(-EIO, output_commit(&self->output));
	EXPECT_EQ(-1, size_of("a.flow.part"));
	ASSERT_EQ(0, output_open_part(&self->output, "a.stf", false));
	output_keep(&self->output);
	fill(&self->output, 100);
	EXPECT_EQ(-EIO, output_commit(&self->output));
	EXPECT_EQ(100, size_of("a.stf.part"));
	EXPECT_EQ(-1, size_of("a.stf"));
}

TEST_F(output, what_another_process_writes_is_left_to_it)
{
	struct output first;

	put("a.ftap", FLOWTAP_ARCHIVE_MAGIC "old");
	ASSERT_EQ(0, output_open_archive(&first, "a.ftap", false));
	EXPECT_EQ((int)strlen(FLOWTAP_ARCHIVE_MAGIC "old"), size_of("a.ftap.old"));
	/* Before anything is in it, and after that. */
	for (int round = 0; round < 2; round++) {
		for (int force = 0; force < 2; force++) {
			EXPECT_EQ(-EWOULDBLOCK, output_open_archive(&self->output, "a.ftap", force));
			EXPECT_EQ(round * 9, size_of("a.ftap"));
			EXPECT_EQ((int)strlen(FLOWTAP_ARCHIVE_MAGIC "old"), size_of("a.ftap.old"));
		}
		if (!round && write(first.fd, FLOWTAP_ARCHIVE_MAGIC "x", 9) != 9)
			abort();
	}
	ASSERT_EQ(0, output_commit(&first));
	ASSERT_EQ(0, output_open_archive(&self->output, "a.ftap", false));
	EXPECT_EQ(9, size_of("a.ftap.old"));
	EXPECT_EQ(0, size_of("a.ftap"));
	ASSERT_EQ(0, output_commit(&self->output));
}

TEST_F(output, what_took_the_name_of_an_archive_meanwhile_is_not_removed)
{
	ASSERT_EQ(0, output_open_archive(&self->output, "a.ftap", false));
	ASSERT_EQ(0, rename("a.ftap", "b.ftap"));
	put("a.ftap", "another");
	output_discard(&self->output, 0);
	EXPECT_EQ(7, size_of("a.ftap"));
	EXPECT_EQ(0, size_of("b.ftap"));
	/* Nor by what had it before. */
	put("d.ftap", FLOWTAP_ARCHIVE_MAGIC);
	ASSERT_EQ(0, output_open_archive(&self->output, "d.ftap", false));
	ASSERT_EQ(0, unlink("d.ftap"));
	put("d.ftap", "another");
	output_discard(&self->output, 0);
	EXPECT_EQ(7, size_of("d.ftap"));
	EXPECT_EQ(8, size_of("d.ftap.old"));
	ASSERT_EQ(0, output_open_archive(&self->output, "c.ftap", false));
	output_discard(&self->output, 0);
	EXPECT_EQ(-1, size_of("c.ftap"));
}

TEST_F(output, a_link_to_nothing_is_written_through)
{
	ASSERT_EQ(0, symlink("target", "a.ftap"));
	ASSERT_EQ(0, output_open_archive(&self->output, "a.ftap", false));
	fill(&self->output, 5);
	EXPECT_EQ(5, size_of("target"));
	output_discard(&self->output, 0);
	EXPECT_EQ(-1, size_of("target"));
	EXPECT_EQ((int)strlen("target"), size_of("a.ftap"));
}

/* Three parts when the signal comes; what was said. */
static size_t end_by(int number, char *said, size_t capacity)
{
	int pipes[2], status;
	size_t n = 0;
	pid_t pid;

	if (pipe(pipes))
		abort();
	pid = fork();
	if (!pid) {
		struct output head, whole, flow, gone;

		dup2(pipes[1], STDERR_FILENO);
		signal(number, SIG_DFL);
		if (output_open_part(&gone, "gone.stf", false))
			_exit(1);
		output_keep(&gone);
		if (output_open_part(&head, "head.zstf", false) ||
		    output_open_part(&whole, "whole.zstf", false) || output_commit(&gone) ||
		    output_open_part(&flow, "a.flow", false))
			_exit(1);
		output_keep(&head);
		output_keep(&whole);
		fill(&head, FLOWTAP_ZSTF_HEAD);
		fill(&whole, FLOWTAP_ZSTF_HEAD + 1);
		fill(&flow, 100);
		raise(number);
		_exit(1);
	}
	close(pipes[1]);
	for (ssize_t got; n < capacity - 1 && (got = read(pipes[0], said + n, capacity - 1 - n)) > 0;)
		n += (size_t)got;
	said[n] = 0;
	close(pipes[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) ||
	    WTERMSIG(status) != number)
		abort();
	return n;
}

TEST_F(output, of_parts_those_stay_that_have_something_to_read)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	char said[400];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		ASSERT_LT(0, end_by(numbers[i], said, sizeof(said)));
		EXPECT_NE(NULL, strstr(said, "stays under the name OUT.part"));
		/* Once, whatever the number of them. */
		EXPECT_EQ(NULL, strstr(strstr(said, "stays") + 1, "stays"));
		EXPECT_EQ(-1, size_of("head.zstf.part"));
		EXPECT_EQ(-1, size_of("a.flow.part"));
		EXPECT_EQ(FLOWTAP_ZSTF_HEAD + 1, size_of("whole.zstf.part"));
		EXPECT_EQ(0, size_of("gone.stf"));
		ASSERT_EQ(0, unlink("whole.zstf.part") | unlink("gone.stf"));
	}
}

TEST_HARNESS_MAIN
