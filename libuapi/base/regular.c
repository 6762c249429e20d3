// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Looks at what a path led to, and opens that. */
#include "base/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int flowtap_open_regular(int path_fd)
{
	char link[32];
	struct stat status;
	int fd;

	if (fstat(path_fd, &status)) {
		fd = -errno;
	} else if (!S_ISREG(status.st_mode)) {
		fd = -ENOEXEC;
	} else {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
		/* Its owner may have a lease on it: opening would wait until that is broken. */
		fd = open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
	}
	close(path_fd);
	return fd;
}
