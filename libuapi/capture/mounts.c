// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Lists the devices of /proc/self/mountinfo that are not FUSE's, anew whenever it changes. */
#include "capture/mounts.h"

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vector.h"

#define LIST "/proc/self/mountinfo"

struct flowtap_mounts {
	int changes;			/* LIST, as poll() says when it has changed */
	uint64_t *devices;		/* that answer, sorted */
	size_t n;
	bool read;
};

static uint64_t device_of(uint32_t major, uint32_t minor)
{
	return (uint64_t)major << 32 | minor;
}

static int compare(const void *one, const void *other)
{
	const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

/* One line (proc_pid_mountinfo(5)): what is in a field has no space. False: it is FUSE's. */
static bool parse(const char *line, uint64_t *device)
{
	const char *type = strstr(line, " - ");
	uint32_t major, minor;

	if (!type || sscanf(line, "%*u %*u %u:%u ", &major, &minor) != 2)
		return false;
	*device = device_of(major, minor);
	return strncmp(type + 3, "fuse", 4) != 0;
}

static void add(struct flowtap_mounts *mounts, uint64_t device)
{
	if (!FLOWTAP_GROW(mounts->devices, mounts->n))
		mounts->devices[mounts->n++] = device;
}

static void add_device(struct flowtap_mounts *mounts, int at, const char *path)
{
	struct statx status;

	if (!statx(at, path, AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status))
		add(mounts, device_of(status.stx_dev_major, status.stx_dev_minor));
}

/* No file system that is mounted has it. */
static void add_memory(struct flowtap_mounts *mounts, unsigned int flags)
{
	int fd = memfd_create("", MFD_CLOEXEC | flags);

	if (fd < 0)
		return;
	add_device(mounts, fd, "");
	close(fd);
}

static void forget(struct flowtap_mounts *mounts)
{
	free(mounts->devices);
	mounts->devices = NULL;
	mounts->n = 0;
}

static void read_list(struct flowtap_mounts *mounts)
{
	FILE *file = fopen(LIST, "re");
	char *line = NULL;
	size_t capacity = 0;
	uint64_t device;

	forget(mounts);
	while (file && getline(&line, &capacity, file) > 0)
		if (parse(line, &device))
			add(mounts, device);
	free(line);
	if (file)
		fclose(file);
	/* The list lacks it where that is a folder (chroot). */
	add_device(mounts, AT_FDCWD, "/");
	add_memory(mounts, 0);
	add_memory(mounts, MFD_HUGETLB);
	if (mounts->n)
		qsort(mounts->devices, mounts->n, sizeof(mounts->devices[0]), compare);
	mounts->read = true;
}

struct flowtap_mounts *flowtap_mounts_new(void)
{
	struct flowtap_mounts *mounts = calloc(1, sizeof(*mounts));

	if (mounts)
		mounts->changes = open(LIST, O_RDONLY | O_CLOEXEC);
	return mounts;
}

bool flowtap_mounts_answer(struct flowtap_mounts *mounts, uint32_t major, uint32_t minor)
{
	struct pollfd changed = { .fd = mounts ? mounts->changes : -1, .events = POLLPRI };
	const uint64_t device = device_of(major, minor);

	if (!mounts)
		return false;
	/* A change after the poll is in the list too, and then read once more. */
	if (poll(&changed, 1, 0) > 0 || !mounts->read)
		read_list(mounts);
	return mounts->n && bsearch(&device, mounts->devices, mounts->n, sizeof(device), compare);
}

void flowtap_mounts_free(struct flowtap_mounts *mounts)
{
	if (!mounts)
		return;
	if (mounts->changes >= 0)
		close(mounts->changes);
	forget(mounts);
	free(mounts);
}
