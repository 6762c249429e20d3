// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Copies what comes by a pipe to a temporary file without a name. */
#include "pipeline/seekable.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int flowtap_temporary(void)
{
	const char *const directories[] = { secure_getenv("TMPDIR"), "/var/tmp", "/tmp" };
	int fd = -ENOENT;

	for (size_t i = 0; i < 3 && fd < 0; i++) {
		char name[PATH_MAX];

		if (!directories[i] || strlen(directories[i]) > sizeof(name) - 32)
			continue;
		strcpy(name, directories[i]);
		fd = open(name, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (fd < 0) {
			strcat(name, "/flowtap-XXXXXX");
			fd = mkostemp(name, O_CLOEXEC);
			if (fd >= 0)
				unlink(name);
		}
		if (fd < 0)
			fd = -errno;
	}
	return fd;
}

static int copy_all(int from, int to)
{
	size_t capacity = 1U << 16;
	uint8_t *buffer = malloc(capacity);
	int err = buffer ? 0 : -ENOMEM;

	while (!err) {
		ssize_t n = read(from, buffer, capacity), done = 0;

		if (n < 0 && errno == EINTR)
			continue;
		/* An error is where the archive ends: what came before it is good. */
		if (n <= 0)
			break;
		while (done < n && !err) {
			ssize_t written = write(to, buffer + done, (size_t)(n - done));

			if (written < 0 && errno != EINTR)
				err = -errno;
			else if (written > 0)
				done += written;
		}
	}
	free(buffer);
	return err;
}

int flowtap_seekable(int fd, uint64_t *base)
{
	struct stat status;
	off_t at;
	int copy, err;

	if (fstat(fd, &status))
		return -errno;
	at = S_ISREG(status.st_mode) ? lseek(fd, 0, SEEK_CUR) : -1;
	*base = at < 0 ? 0 : (uint64_t)at;
	if (at >= 0)
		return fd;
	copy = flowtap_temporary();
	if (copy < 0)
		return copy;
	err = copy_all(fd, copy);
	if (!err && lseek(copy, 0, SEEK_SET) < 0)
		err = -errno;
	if (err) {
		close(copy);
		return err;
	}
	return copy;
}
