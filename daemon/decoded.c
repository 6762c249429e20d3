// SPDX-License-Identifier: GPL-2.0-only
/*
 * Creates, finishes, measures and removes the directories of decoded traces; each is complete
 * once it is renamed.
 */
#include "decoded.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART ".part"
#define PATH 320

static void path_of(char path[PATH], const char *name, bool part)
{
	snprintf(path, PATH, DECODED "/%.255s%s", name, part ? PART : "");
}

/* Links are not followed: not that of a directory either. */
static int open_directory(int directory, const char *path)
{
	int fd = openat(directory, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Each name in it, until `visit` says otherwise; it takes the fd. 0; -errno; what visit returns. */
static int each(int fd, int (*visit)(int fd, const char *name, void *argument), void *argument)
{
	DIR *stream = fdopendir(fd);
	const struct dirent *entry;
	unsigned int n = 0;
	int error = 0;

	if (!stream) {
		error = -errno;
		close(fd);
		return error;
	}
	while (!error && n++ < DECODED_FILES_MAX && (errno = 0, entry = readdir(stream)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			error = visit(dirfd(stream), entry->d_name, argument);
	closedir(stream);
	return error;
}

static int count_file(int fd, const char *name, void *argument)
{
	uint64_t *bytes = argument;
	struct stat stat;

	if (!fstatat(fd, name, &stat, AT_SYMLINK_NOFOLLOW))
		*bytes += (uint64_t)stat.st_blocks * 512;
	return 0;
}

bool decoded_is(int directory, const char *name, bool part, uint64_t *bytes)
{
	char path[PATH];
	int fd;

	*bytes = 0;
	path_of(path, name, part);
	fd = open_directory(directory, path);
	if (fd < 0)
		return false;
	each(fd, count_file, bytes);
	return true;
}

static int remove_file(int fd, const char *name, void *argument)
{
	(void)argument;
	return unlinkat(fd, name, 0) && errno != ENOENT ? -errno : 0;
}

static int remove_path(int directory, const char *path)
{
	int fd = open_directory(directory, path), error;

	if (fd == -ENOENT)
		return 0;
	error = fd < 0 ? fd : each(fd, remove_file, NULL);
	if (!error && unlinkat(directory, path, AT_REMOVEDIR))
		error = -errno;
	return error;
}

int decoded_remove(int directory, const char *name, bool part)
{
	char path[PATH];

	path_of(path, name, part);
	return remove_path(directory, path);
}

int decoded_begin(int directory, const char *name)
{
	char path[PATH];
	int error;

	path_of(path, name, true);
	if (mkdirat(directory, DECODED, 0750) && errno != EEXIST)
		return -errno;
	error = remove_path(directory, path);
	if (error)
		return error;
	return mkdirat(directory, path, 0750) ? -errno : open_directory(directory, path);
}

int decoded_write(int directory, const char *name, const char *file, const char *text)
{
	const size_t size = strlen(text);
	char path[PATH];
	ssize_t written;
	int fd, to, error = 0;

	path_of(path, name, true);
	fd = open_directory(directory, path);
	if (fd < 0)
		return fd;
	to = openat(fd, file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640);
	written = to < 0 ? -1 : write(to, text, size);
	if (written < 0)
		error = -errno;
	else if ((size_t)written < size)
		error = -ENOSPC;	/* it took what there was space for, and errno says nothing */
	if (to >= 0)
		close(to);
	close(fd);
	return error;
}

static bool is_part(const char *name)
{
	size_t size = strlen(name), end = strlen(PART);

	return size > end && !strcmp(name + size - end, PART);
}

static int drop_part(int fd, const char *name, void *argument)
{
	(void)argument;
	if (is_part(name))
		unlinkat(fd, name, 0);
	return 0;
}

void decoded_drop_parts(int directory, const char *name)
{
	char path[PATH];
	int fd;

	path_of(path, name, true);
	fd = open_directory(directory, path);
	if (fd >= 0)
		each(fd, drop_part, NULL);
}

static int sync_file(int fd, const char *name, void *argument)
{
	int file = openat(fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), error;
	const mode_t *mode = argument;

	if (file < 0)
		return -errno;
	/*
	 * `flowtap decode` makes a trace its owner's alone; here it is of the group, as segments
	 * are.
	 */
	error = fchmod(file, *mode) || fsync(file) ? -errno : 0;
	close(file);
	return error;
}

int decoded_sync(int directory, const char *name)
{
	mode_t mask = umask(0), mode = 0640 & ~mask;
	char path[PATH];
	int fd, error;

	umask(mask);
	path_of(path, name, true);
	fd = open_directory(directory, path);
	error = fd < 0 ? fd : each(fd, sync_file, &mode);
	if (error)
		return error;
	fd = open_directory(directory, path);
	error = fd < 0 ? fd : fsync(fd) ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return error;
}

int decoded_finish(int directory, const char *name)
{
	char part[PATH], path[PATH];

	path_of(part, name, true);
	path_of(path, name, false);
	return renameat(directory, part, directory, path) ? -errno : 0;
}

struct cleaning {
	bool (*mine)(void *argument, const char *name);
	bool (*keep)(void *argument, const char *name);
	void *argument;
};

static int clean_one(int fd, const char *name, void *argument)
{
	const struct cleaning *cleaning = argument;
	const bool part = is_part(name);
	char whole[PATH];

	snprintf(whole, sizeof(whole), "%.255s", name);
	if (part)
		whole[strlen(whole) - strlen(PART)] = 0;
	if (cleaning->mine(cleaning->argument, whole) &&
	    (part || !cleaning->keep(cleaning->argument, whole)))
		remove_path(fd, name);
	return 0;
}

void decoded_clean(int directory, bool (*mine)(void *argument, const char *name),
		   bool (*keep)(void *argument, const char *name), void *argument)
{
	struct cleaning cleaning = { mine, keep, argument };
	int fd = open_directory(directory, DECODED);

	if (fd >= 0)
		each(fd, clean_one, &cleaning);
}
