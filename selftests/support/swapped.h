/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file whose path is a pipe's once it has been looked at, as a hostile owner of its directory would
 * have it: fstat of the program that includes this, once for each swapped_make, changes the two.
 */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_SWAPPED_H
#define FLOWTAP_SELFTESTS_SUPPORT_SWAPPED_H

#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct swapped {
	char directory[32];
	char path[48];			/* of the file in it */
	int at;				/* the directory */
	bool waits;			/* for the first look */
};

static struct swapped *swapped_now;

static inline void swapped_make(struct swapped *swapped, const void *bytes, size_t size)
{
	int fd;

	strcpy(swapped->directory, "/tmp/swapped.XXXXXX");
	if (!mkdtemp(swapped->directory))
		abort();
	snprintf(swapped->path, sizeof(swapped->path), "%s/file", swapped->directory);
	swapped->at = open(swapped->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = open(swapped->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (write(fd, bytes, size) != (ssize_t)size || mkfifoat(swapped->at, "pipe", 0600))
		abort();
	close(fd);
	swapped->waits = true;
	swapped_now = swapped;
}

static inline void swapped_remove(struct swapped *swapped)
{
	swapped_now = NULL;
	unlinkat(swapped->at, "file", 0);
	unlinkat(swapped->at, "pipe", 0);
	close(swapped->at);
	rmdir(swapped->directory);
}

int fstat(int fd, struct stat *status)
{
	int result = (int)syscall(SYS_newfstatat, fd, "", status, AT_EMPTY_PATH);
	struct swapped *swapped = swapped_now;

	if (swapped && swapped->waits) {
		swapped->waits = false;
		if (renameat2(swapped->at, "file", swapped->at, "pipe", RENAME_EXCHANGE))
			abort();
	}
	return result;
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_SWAPPED_H */
