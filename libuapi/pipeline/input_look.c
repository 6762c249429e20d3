// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Tells inputs apart, by their first bytes and by what is in a directory. */
#include <flowtap/input.h>

#include <errno.h>
#include <fcntl.h>
#include <flowtap/archive.h>
#include <flowtap/perfdata.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/read_at.h"

enum flowtap_input_kind flowtap_input_look(int fd)
{
	static const char archive[] = FLOWTAP_ARCHIVE_MAGIC;
	char begin[sizeof(archive) - 1];
	int err;
	size_t n = flowtap_read_at(fd, begin, sizeof(begin), 0, &err);

	if (n == sizeof(begin) && !memcmp(begin, archive, sizeof(begin)))
		return FLOWTAP_INPUT_ARCHIVE;
	return n && flowtap_perfdata_is(begin, n) ? FLOWTAP_INPUT_PERFDATA : FLOWTAP_INPUT_RAW;
}

/* A regular file DIRECTORY/name: the fd or -ENOENT. */
static int open_in(const char *directory, const char *name)
{
	int saved = errno;
	int at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = at < 0 ? -1 : openat(at, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (at >= 0)
		close(at);
	if (fd >= 0 && (fstat(fd, &status) || !S_ISREG(status.st_mode))) {
		close(fd);
		fd = -1;
	}
	errno = saved;
	return fd < 0 ? -ENOENT : fd;
}

int flowtap_input_open_perf(const char *path)
{
	return open_in(path, "data");
}

bool flowtap_input_is_perf_directory(const char *path)
{
	int fd = flowtap_input_open_perf(path);
	bool is = fd >= 0 && flowtap_input_look(fd) == FLOWTAP_INPUT_PERFDATA;

	if (fd >= 0)
		close(fd);
	return is;
}

int flowtap_input_open_kcore(const char *path)
{
	const char *slash = strrchr(path, '/');
	int fd = open_in(path, "kcore_dir/kcore");
	char *directory;

	if (fd < 0 && !strcmp(slash ? slash + 1 : path, "data")) {
		directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
		fd = directory ? open_in(directory, "kcore_dir/kcore") : -ENOENT;
		free(directory);
	}
	return fd;
}

static bool is_directory(const char *path)
{
	struct stat status;
	int saved = errno;
	bool is = !stat(path, &status) && S_ISDIR(status.st_mode);

	errno = saved;
	return is;
}

char *flowtap_input_snapshot(const char *path)
{
	static const char top[] = "snapshot.ini";
	size_t size = strlen(path);

	if (is_directory(path))
		return flowtap_input_is_perf_directory(path) ? NULL : strdup(path);
	if (size < sizeof(top) - 1 || strcmp(path + size - (sizeof(top) - 1), top))
		return NULL;
	size -= sizeof(top) - 1;
	if (!size)
		return strdup(".");
	return path[size - 1] == '/' ? strndup(path, size) : NULL;
}
