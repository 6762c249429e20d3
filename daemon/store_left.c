// SPDX-License-Identifier: GPL-2.0-only
/* The folder as an earlier daemon left it. */
#include "store_internal.h"

#include "decoded.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <flowtap/archive.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each damage of the archive is told once; what the disk says of itself is told for ever. */
static bool is_new(const struct flowtap_archive_reader *reader, uint64_t *damaged)
{
	const struct flowtap_archive_damage *damage = flowtap_archive_damage(reader);
	const bool new = damage && damage->offset != *damaged;

	if (new)
		*damaged = damage->offset;
	return new;
}

/* Where the last whole block ends; 0: it is no archive. -EBADMSG: the disk is damaged there. */
static int last_block_end(int fd, uint64_t *end)
{
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	uint64_t damaged = UINT64_MAX;
	char byte;
	int result;

	*end = 0;
	/* What the reader says of what is no archive the disk says of itself: asked before. */
	if (pread(fd, &byte, 1, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	result = flowtap_archive_open(fd, &reader);
	if (result == -EBADMSG || result == -EPROTONOSUPPORT)
		return 0;
	if (result)
		return result;
	*end = sizeof(struct flowtap_archive_header);
	while ((result = flowtap_archive_next(reader, &block))) {
		if (result > 0)
			*end = block.offset + sizeof(struct flowtap_archive_block_header) +
			       (block.size + 7) / 8 * 8;
		else if ((result != -EBADMSG && result != -ENODATA) || !is_new(reader, &damaged))
			break;
	}
	flowtap_archive_reader_free(reader);
	return result;
}

/* It ends there, and is on the disk. 0 or -errno. */
static int sync_up_to(int fd, uint64_t end, uint64_t *cut)
{
	struct stat stat;

	if (fstat(fd, &stat))
		return -errno;
	/* The last block's padding may be missing: it is whole without. */
	if ((uint64_t)stat.st_size > end) {
		if (ftruncate(fd, (off_t)end))
			return -errno;
		*cut += (uint64_t)stat.st_size - end;
	}
	return fsync(fd) ? -errno : 0;
}

int store_mend(int fd, uint64_t *cut, int *unsynced)
{
	uint64_t end;
	int error = last_block_end(fd, &end);

	*unsynced = 0;
	if (error)
		return error;
	if (end <= sizeof(struct flowtap_archive_header))
		return 1;
	*unsynced = sync_up_to(fd, end, cut);
	return *unsynced;
}

static void finish_left(struct store *store, const char *part, struct store_left *left)
{
	int fd = openat(store->directory, part, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char name[STORE_NAME], bad[STORE_NAME];
	int unsynced, error = fd < 0 ? -errno : store_mend(fd, &left->cut, &unsynced);

	if (fd >= 0)
		close(fd);
	store_with(name, part, "");
	name[strlen(part) - strlen(STORE_PART)] = 0;
	store_with(bad, name, STORE_BAD);
	if (error < 0)
		left->failed++;
	else if (renameat(store->directory, part, store->directory, error ? bad : name))
		left->failed++;
	else if (error)
		left->bad++;
	else
		left->finished++;
}

/* --- The folder as it is found. --- */

static int add_found(struct store *store, const char *path, uint64_t number, bool packed)
{
	struct store_segment segment = { .number = number, .packed = packed };
	struct stat stat;
	uint64_t decoded;
	char name[STORE_NAME];

	if (fstatat(store->directory, path, &stat, AT_SYMLINK_NOFOLLOW) || !S_ISREG(stat.st_mode))
		return 0;
	if (store->n == STORE_SEGMENTS_MAX)
		return -E2BIG;
	store_with(segment.name, path, "");
	if (packed)
		segment.name[strlen(path) - strlen(STORE_PACKED)] = 0;
	store_decoded_name(name, segment.name);
	segment.decoded = decoded_is(store->directory, name, false, &decoded);
	segment.bytes = store_disk_size(&stat) + decoded;
	segment.ended = stat.st_mtime > 0 ? (uint64_t)stat.st_mtime : 0;
	return store_add(store, &segment);
}

/* Any name that has a number keeps the next ones from having it. */
static int look(struct store *store, const char *name)
{
	static const char *const ends[] = { "", STORE_PACKED, STORE_PART, STORE_BAD };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		uint64_t number;

		if (!store_is_name(name, ends[i], &number))
			continue;
		if (number >= store->next)
			store->next = number + 1;
		return i < 2 ? add_found(store, name, number, i == 1) : 0;
	}
	return 0;
}

/* Each name of the folder. */
static int each(struct store *store, int (*visit)(struct store *, const char *, void *),
		void *argument)
{
	int fd = openat(store->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), error = 0;
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!directory) {
		error = -errno;
		if (fd >= 0)
			close(fd);
		return error;
	}
	while (!error && (errno = 0, entry = readdir(directory)))
		error = visit(store, entry->d_name, argument);
	if (!error)
		error = -errno;
	closedir(directory);
	return error;
}

/*
 * A packed file is whole from when it has its name, and the raw one goes after that: as long as
 * both are there the raw one counts, and is packed again.
 */
static void drop_packed(struct store *store, const char *name, struct store_left *left)
{
	char raw[STORE_NAME];
	struct stat stat;

	store_with(raw, name, "");
	raw[strlen(name) - strlen(STORE_PACKED)] = 0;
	if (fstatat(store->directory, raw, &stat, AT_SYMLINK_NOFOLLOW) || !S_ISREG(stat.st_mode))
		return;
	left->packing++;
	if (unlinkat(store->directory, name, 0))
		left->failed++;
}

static int visit_left(struct store *store, const char *name, void *argument)
{
	struct store_left *left = argument;
	uint64_t number;

	if (store_is_name(name, STORE_PART, &number)) {
		finish_left(store, name, left);
	} else if (store_is_name(name, STORE_PACKED, &number)) {
		drop_packed(store, name, left);
	} else if (store_is_name(name, STORE_PACKED_PART, &number)) {
		left->packing++;
		if (unlinkat(store->directory, name, 0))
			left->failed++;
	}
	return 0;
}

static int visit_segment(struct store *store, const char *name, void *argument)
{
	(void)argument;
	return look(store, name);
}

static bool is_decoded_name(void *argument, const char *name)
{
	char segment[STORE_NAME];
	uint64_t number;

	(void)argument;
	if (strlen(name) >= STORE_NAME - 10)
		return false;
	store_with(segment, name, ".ftap");
	return store_is_name(segment, "", &number);
}

static bool is_there(void *argument, const char *name)
{
	char segment[STORE_NAME];

	store_with(segment, name, ".ftap");
	return store_by_name(argument, segment);
}

static int by_number(const void *one, const void *other)
{
	const struct store_segment *a = one, *b = other;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return strcmp(a->name, b->name);
}

int store_read_folder(struct store *store, struct store_left *left)
{
	int error = each(store, visit_left, left);

	if (!error && (left->finished || left->bad || left->packing))
		error = store_sync(store);
	if (!error)
		error = each(store, visit_segment, NULL);
	if (error)
		return error;
	if (store->n)
		qsort(store->segments, store->n, sizeof(store->segments[0]), by_number);
	decoded_clean(store->directory, is_decoded_name, is_there, store);
	for (size_t i = 0; i < store->n && !error; i++)
		error = index_keep(&store->index, store->segments[i].name);
	return error;
}
