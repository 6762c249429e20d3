// SPDX-License-Identifier: GPL-2.0-only
#include "input.h"

#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *input_name(const char *path)
{
	return strcmp(path, "-") ? path : "standard input";
}

off_t input_size(int fd)
{
	struct stat stat_of;

	return fstat(fd, &stat_of) || !S_ISREG(stat_of.st_mode) ? 0 : stat_of.st_size;
}

static int copy(int from, int to)
{
	static char buffer[1 << 16];
	ssize_t n;

	while ((n = read(from, buffer, sizeof(buffer)))) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		for (ssize_t done = 0, one; done < n; done += one) {
			one = write(to, buffer + done, (size_t)(n - done));
			if (one < 0)
				return -errno;
		}
	}
	return lseek(to, 0, SEEK_SET) < 0 ? -errno : 0;
}

static int keep(int pipe)
{
	const char *directory = getenv("TMPDIR");
	int fd, error;

	directory = directory && *directory ? directory : "/var/tmp";
	fd = open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd < 0)
		fd = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	error = copy(pipe, fd);
	if (error) {
		close(fd);
		return error;
	}
	return fd;
}

int input_open(const char *path)
{
	struct stat stat_of;
	int fd, kept;

	if (strcmp(path, "-"))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	else
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (fd < 0 || fstat(fd, &stat_of)) {
		complain("cannot open '%s': %s", input_name(path), strerror(errno));
		return -errno;
	}
	if (S_ISDIR(stat_of.st_mode)) {
		complain("'%s' is a directory", path);
		close(fd);
		return -EISDIR;
	}
	if (S_ISREG(stat_of.st_mode))
		return fd;
	kept = keep(fd);
	if (kept < 0)
		complain("cannot keep what comes from '%s': %s", input_name(path), strerror(-kept));
	close(fd);
	return kept;
}
