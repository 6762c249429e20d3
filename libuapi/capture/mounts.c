// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Lists the devices of /proc/self/mountinfo that are not FUSE's, anew whenever it changes, and walks
 * to files on these.
 */
#include "capture/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
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

struct mount {
	uint64_t id;
	uint64_t device;
	const char *type;		/* of its file system, and what follows in the line */
};

/* One line (proc_pid_mountinfo(5)): what is in a field has no space. */
static bool parse(const char *line, struct mount *mount)
{
	uint32_t major, minor;

	mount->type = strstr(line, " - ");
	if (!mount->type ||
	    sscanf(line, "%" SCNu64 " %*u %u:%u ", &mount->id, &major, &minor) != 3)
		return false;
	mount->type += 3;
	mount->device = device_of(major, minor);
	return true;
}

static bool is_of(const struct mount *mount, const char *type)
{
	return !strncmp(mount->type, type, strlen(type));
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
	struct mount mount;

	forget(mounts);
	while (file && getline(&line, &capacity, file) > 0)
		if (parse(line, &mount) && !is_of(&mount, "fuse"))
			add(mounts, mount.device);
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

/* --- Walking. --- */

/* A mount by its number, which no other has while we hold a file of it, as that process sees it. */
static bool find_mount(uint32_t pid, uint64_t id, struct mount *mount, char **line)
{
	size_t capacity = 0;
	bool found = false;
	char name[64];
	FILE *file;

	snprintf(name, sizeof(name), pid ? "/proc/%u/mountinfo" : LIST, pid);
	file = fopen(name, "re");
	while (file && !found && getline(line, &capacity, file) > 0)
		found = parse(*line, mount) && mount->id == id;
	if (file)
		fclose(file);
	return found;
}

/* What is asked next on fd is answered. The kernel knows the mount; its file system is not asked. */
static bool answers(struct flowtap_mounts *mounts, uint32_t pid, int fd)
{
	struct mount mount;
	struct statx status;
	char *line = NULL;
	bool good = false;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MNT_ID, &status))
		return false;
	/* The root of what we are in may be no mount's (chroot): it has a device. */
	if (flowtap_mounts_answer(mounts, status.stx_dev_major, status.stx_dev_minor))
		return true;
	if (!(status.stx_mask & STATX_MNT_ID))
		return false;
	/* A file system may number its parts otherwise (btrfs, overlay). */
	if (find_mount(pid, status.stx_mnt_id, &mount, &line))
		good = is_of(&mount, "tmpfs ") ||
		       flowtap_mounts_answer(mounts, (uint32_t)(mount.device >> 32),
					     (uint32_t)mount.device);
	free(line);
	return good;
}

/* The next name of a path, which *path goes after. 0; 1: there is none; -errno. */
static int next_name(const char **path, char name[NAME_MAX + 1])
{
	size_t size;

	*path += strspn(*path, "/");
	size = strcspn(*path, "/");
	if (!size)
		return 1;
	if (size > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, *path, size);
	name[size] = 0;
	*path += size;
	return strcmp(name, ".") && strcmp(name, "..") ? 0 : -EINVAL;
}

/* What has the name in the folder, which is closed: its fd or -errno. */
static int step(struct flowtap_mounts *mounts, uint32_t pid, int folder, const char *name)
{
	int fd = -EXDEV;

	if (answers(mounts, pid, folder)) {
		fd = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
	}
	close(folder);
	return fd;
}

int flowtap_mounts_walk(struct flowtap_mounts *mounts, uint32_t pid, const char *path)
{
	char name[NAME_MAX + 1], root[64] = "/";
	int fd, result = 0;

	if (pid)
		snprintf(root, sizeof(root), "/proc/%u/root", pid);
	fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (fd >= 0 && !(result = next_name(&path, name)))
		fd = step(mounts, pid, fd, name);
	if (fd < 0)
		return fd;
	if (result > 0)
		result = answers(mounts, pid, fd) ? 0 : -EXDEV;
	if (result)
		close(fd);
	return result ? result : fd;
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
