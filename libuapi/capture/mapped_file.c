// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Opens the file that a process has mapped, past no file system of a user's. */
#include <flowtap/bundle.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/regular.h"
#include "capture/mounts.h"
#include "code/locate.h"

struct wanted {
	const struct flowtap_build_id *id;
	struct flowtap_mounts *mounts;
	char *why;
};

static int try(const struct wanted *wanted, uint32_t pid, const char *path)
{
	int fd = flowtap_mounts_walk(wanted->mounts, pid, path);

	if (fd == -EXDEV) {
		snprintf(wanted->why, FLOWTAP_WHY, "%.300s: on a file system that a user may serve",
			 path);
		return fd;
	}
	return flowtap_locate_check(fd < 0 ? fd : flowtap_open_regular(fd), path, wanted->id,
				    FLOWTAP_MACHINE_ANY, wanted->why);
}

/* As it was mapped, or where the kernel says that it is deleted what is there by now. */
static int try_both(const struct wanted *wanted, uint32_t pid, const char *path)
{
	char stripped[PATH_MAX];
	int fd = try(wanted, pid, path);

	if (fd == -ENOENT && wanted->id->size && flowtap_locate_deleted(path, stripped))
		fd = try(wanted, pid, stripped);
	return fd;
}

static int open_by(const struct wanted *wanted, uint32_t pid, const char *path)
{
	char unused[FLOWTAP_WHY];
	int fd = try_both(wanted, pid, path), by_id;

	if (fd < 0)
		fd = try_both(wanted, 0, path);
	if (fd >= 0)
		return fd;
	/* In the directories of files by build-id, which are the administrator's. */
	by_id = flowtap_locate_code(NULL, NULL, "", wanted->id, FLOWTAP_MACHINE_ANY, unused);
	return by_id >= 0 ? by_id : fd;
}

int flowtap_mapping_open(const struct flowtap_mapping *mapping, char why[FLOWTAP_WHY])
{
	struct flowtap_build_id id = { .size = mapping->build_id_size };
	struct wanted wanted = { .id = &id, .why = why };
	int saved = errno, fd;

	if (id.size > sizeof(id.bytes)) {
		snprintf(why, FLOWTAP_WHY, "%.300s: its build-id is too long", mapping->path);
		return -EINVAL;
	}
	memcpy(id.bytes, mapping->build_id, sizeof(id.bytes));
	wanted.mounts = flowtap_mounts_new();
	if (!wanted.mounts) {
		snprintf(why, FLOWTAP_WHY, "%.300s: no memory", mapping->path);
		return -ENOMEM;
	}
	fd = open_by(&wanted, mapping->pid, mapping->path);
	flowtap_mounts_free(wanted.mounts);
	errno = saved;
	return fd;
}
