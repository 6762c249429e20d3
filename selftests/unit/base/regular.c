// SPDX-License-Identifier: GPL-2.0-only
/* Shows that what was looked at is opened, whatever has its path by then, and nothing but files. */
#include "base/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

FIXTURE(regular)
{
	char directory[32];
	int at;
};

FIXTURE_SETUP(regular)
{
	int fd;

	strcpy(self->directory, "/tmp/regular.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->directory));
	self->at = open(self->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = openat(self->at, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ASSERT_EQ(4, write(fd, "file", 4));
	close(fd);
	ASSERT_EQ(0, mkfifoat(self->at, "pipe", 0600));
}

FIXTURE_TEARDOWN(regular)
{
	unlinkat(self->at, "file", 0);
	unlinkat(self->at, "pipe", 0);
	close(self->at);
	rmdir(self->directory);
}

/* Whatever comes of it, the descriptor of the path is closed. */
static int reopen(int path)
{
	int fd = flowtap_open_regular(path);

	return fcntl(path, F_GETFD) == -1 ? fd : -EBUSY;
}

TEST_F(regular, what_was_looked_at_is_opened_and_not_what_took_its_place)
{
	int path = openat(self->at, "file", O_PATH | O_CLOEXEC), fd;
	char bytes[8];

	ASSERT_EQ(0, renameat(self->at, "pipe", self->at, "file"));
	fd = reopen(path);
	ASSERT_LE(0, fd);
	ASSERT_EQ(4, read(fd, bytes, sizeof(bytes)));
	ASSERT_EQ(0, memcmp("file", bytes, 4));
	ASSERT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	close(fd);
}

/* Opening this one for reading would wait for a writer. */
TEST_F(regular, pipes_directories_and_devices_are_none)
{
	ASSERT_EQ(-ENOEXEC, reopen(openat(self->at, "pipe", O_PATH | O_CLOEXEC)));
	ASSERT_EQ(-ENOEXEC, reopen(openat(self->at, ".", O_PATH | O_CLOEXEC)));
	ASSERT_EQ(-ENOEXEC, reopen(open("/dev/zero", O_PATH | O_CLOEXEC)));
}

/* The kernel gives its holder 45 s, and any user can have one on a file of his own. */
TEST_F(regular, a_lease_is_not_waited_for)
{
	int held = openat(self->at, "file", O_RDONLY | O_CLOEXEC), fd;

	ASSERT_NE(SIG_ERR, signal(SIGIO, SIG_IGN));
	ASSERT_EQ(0, fcntl(held, F_SETLEASE, F_WRLCK));
	alarm(5);
	fd = reopen(openat(self->at, "file", O_PATH | O_CLOEXEC));
	alarm(0);
	ASSERT_EQ(-EAGAIN, fd);
	close(held);
	fd = reopen(openat(self->at, "file", O_PATH | O_CLOEXEC));
	ASSERT_LE(0, fd);
	close(fd);
}

TEST_HARNESS_MAIN
