/* SPDX-License-Identifier: GPL-2.0-only */
/* A file that is checked, and the first problem that was found. */
#ifndef FLOWTAP_SELFTESTS_UNIT_CHECK_CHECKED_H
#define FLOWTAP_SELFTESTS_UNIT_CHECK_CHECKED_H

#include <flowtap/check.h>

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct first {
	uint64_t offset;
	bool unpacked;
	char reason[200];
};

static inline void keep_first(struct flowtap_check *check, const struct flowtap_check_problem *problem)
{
	struct first *first = check->argument;

	if (check->problems > 1)
		return;
	first->offset = problem->offset;
	first->unpacked = problem->unpacked;
	snprintf(first->reason, sizeof(first->reason), "%s", problem->reason);
}

static struct first first;

static inline int check_fd(struct flowtap_check *check, int fd)
{
	*check = (struct flowtap_check){ .problem = keep_first, .argument = &first };
	memset(&first, 0, sizeof(first));
	return flowtap_check_file(check, fd);
}

static inline int check_bytes(struct flowtap_check *check, const void *bytes, size_t size)
{
	int fd = memfd_create("checked", MFD_CLOEXEC), error;

	error = write(fd, bytes, size) == (ssize_t)size ? check_fd(check, fd) : -EIO;
	close(fd);
	return error;
}

#endif /* FLOWTAP_SELFTESTS_UNIT_CHECK_CHECKED_H */
