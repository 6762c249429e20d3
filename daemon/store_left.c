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

#include "../tools/common/grow.h"

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

/* It ends there. 0 or -errno. */
static int cut_after(int fd, uint64_t end, uint64_t *cut)
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
	return 0;
}

/* Where the last whole block ends. 0; 1: there is none; -errno. */
static int find_end(int fd, uint64_t *end)
{
	int error = last_block_end(fd, end);

	return error ? error : *end <= sizeof(struct flowtap_archive_header);
}

int store_mend(int fd, uint64_t *cut, int *unsynced)
{
	uint64_t end;
	int error = find_end(fd, &end);

	*unsynced = 0;
	if (error)
		return error;
	*unsynced = cut_after(fd, end, cut);
	if (!*unsynced && fsync(fd))
		*unsynced = -errno;
	return *unsynced;
}

/*
 * A sync that failed for whoever wrote it fails for nobody else: what is read here may be in memory
 * alone, and the kernel takes it as written.
 */
int store_mend_left(int fd, uint64_t *cut)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };
	struct stat stat;
	uint64_t end = 0, at = 0;
	int error = fstat(fd, &stat) ? -errno : find_end(fd, &end);

	if (!error)
		error = cut_after(fd, end, cut);
	if (error)
		return error;
	do
		error = store_write_again(fd, &at);
	while (error == -EINPROGRESS);
	/* That is when it ended, as far as is known. */
	times[1] = stat.st_mtim;
	if (!error)
		futimens(fd, times);
	return error;
}

/* --- What was left. --- */

struct finishing {
	struct store_left *left;
	uint64_t bytes;			/* that are finished at once */
};

/* It has the name that it deserves. 0 or -errno: it is as it was. */
static int rename_left(struct store *store, const char *name, int mended, struct store_left *left)
{
	char part[STORE_NAME], to[STORE_NAME];

	store_with(part, name, STORE_PART);
	store_with(to, name, mended ? STORE_BAD : "");
	if (renameat(store->directory, part, store->directory, to))
		return -errno;
	if (mended)
		left->bad++;
	else
		left->finished++;
	return 0;
}

/* Later, and not here. 0; -E2BIG; -ENOMEM. */
static int let_wait(struct store *store, const char *name, uint64_t number, const struct stat *stat,
		    struct store_left *left)
{
	const uint64_t bytes = store_disk_size(stat);
	struct left_part *part;
	int error = store->n_waiting == STORE_SEGMENTS_MAX ? -E2BIG :
		    GROW_BY_ONE(store->waiting, store->n_waiting);

	if (error)
		return error;
	part = &store->waiting[store->n_waiting++];
	*part = (struct left_part){ .number = number, .bytes = bytes,
				    .size = (uint64_t)stat->st_size };
	store_with(part->name, name, "");
	store->waiting_bytes += bytes;
	left->waiting++;
	left->waiting_bytes += part->size;
	return 0;
}

static int mend_or_wait(struct store *store, int fd, const char *name, uint64_t number,
			struct finishing *finishing)
{
	struct stat stat;
	int mended;

	if (fstat(fd, &stat))
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return -EINVAL;
	if ((uint64_t)stat.st_size > finishing->bytes)
		return let_wait(store, name, number, &stat, finishing->left);
	finishing->bytes -= (uint64_t)stat.st_size;
	mended = store_mend_left(fd, &finishing->left->cut);
	/* A file system that copies what is written has no space for that. */
	if (mended == -ENOSPC || mended == -EDQUOT)
		return let_wait(store, name, number, &stat, finishing->left);
	return mended < 0 ? mended : rename_left(store, name, mended, finishing->left);
}

static void finish_left(struct store *store, const char *path, uint64_t number,
			struct finishing *finishing)
{
	int fd = openat(store->directory, path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char name[STORE_NAME];

	store_with(name, path, "");
	name[strlen(path) - strlen(STORE_PART)] = 0;
	if (fd < 0 || mend_or_wait(store, fd, name, number, finishing))
		finishing->left->failed++;
	if (fd >= 0)
		close(fd);
}

const char *store_waiting(const struct store *store, uint64_t now)
{
	const struct left_part *next = NULL;

	for (size_t i = 0; i < store->n_waiting; i++) {
		const struct left_part *part = &store->waiting[i];

		if (now >= part->retry && (!next || part->retry < next->retry))
			next = part;
	}
	return next ? next->name : NULL;
}

struct left_part *store_left_by_name(const struct store *store, const char *name)
{
	for (size_t i = 0; i < store->n_waiting; i++)
		if (!strcmp(store->waiting[i].name, name))
			return &store->waiting[i];
	return NULL;
}

bool store_waits(const struct store *store, const char *name)
{
	return store_left_by_name(store, name);
}

static void forget_left(struct store *store, struct left_part *part)
{
	store->waiting_bytes -= part->bytes;
	memmove(part, part + 1,
		(size_t)(store->waiting + --store->n_waiting - part) * sizeof(*part));
}

bool store_delete_left(struct store *store)
{
	const uint64_t available = store_available(store);
	char path[STORE_NAME];

	for (size_t i = 0; i < store->n_waiting; i++) {
		store_with(path, store->waiting[i].name, STORE_PART);
		if (unlinkat(store->directory, path, 0) && errno != ENOENT)
			continue;
		store_freed(store, store->waiting[i].bytes, available);
		forget_left(store, &store->waiting[i]);
		return true;
	}
	return false;
}

/* It was mended, and has its name: it is a segment as the others are. */
static int count_left(struct store *store, const struct left_part *part, const struct stat *stat)
{
	struct store_segment segment = {
		.number = part->number,
		.bytes = store_disk_size(stat),
		.ended = stat->st_mtime > 0 ? (uint64_t)stat->st_mtime : 0,
	};
	int error;

	store_with(segment.name, part->name, "");
	error = store_insert(store, &segment);
	if (error)
		return error;
	/* A line that is missing is the next start's. */
	index_keep(&store->index, segment.name);
	index_write(&store->index);
	return 0;
}

int store_mended(struct store *store, int mended, struct store_left *left)
{
	struct left_part *part = store_left_by_name(store, store->working);
	const bool working = store->work == STORE_MENDING;
	char path[STORE_NAME];
	struct stat stat;
	int error;

	*left = (struct store_left){ 0 };
	if (!working)
		return -EINVAL;
	store->work = STORE_IDLE;
	if (!part)
		return -ENOENT;
	store_with(path, part->name, STORE_PART);
	if (fstatat(store->directory, path, &stat, AT_SYMLINK_NOFOLLOW)) {
		error = -errno;
		if (error == -ENOENT)
			forget_left(store, part);
		return error;
	}
	if (mended < 0)
		return 0;
	error = rename_left(store, part->name, mended, left);
	if (error)
		return error;
	store_sync(store);
	if (!mended && part->size > (uint64_t)stat.st_size)
		left->cut = part->size - (uint64_t)stat.st_size;
	/* Without memory for it the next start counts it. */
	if (!mended)
		count_left(store, part, &stat);
	forget_left(store, part);
	return 0;
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
	struct finishing *finishing = argument;
	struct store_left *left = finishing->left;
	uint64_t number;

	if (store_is_name(name, STORE_PART, &number)) {
		finish_left(store, name, number, finishing);
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

static int by_left_number(const void *one, const void *other)
{
	const struct left_part *a = one, *b = other;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return strcmp(a->name, b->name);
}

int store_read_folder(struct store *store, struct store_left *left)
{
	struct finishing finishing = { left, STORE_LEFT_PIECE };
	int error = each(store, visit_left, &finishing);

	if (!error && (left->finished || left->bad || left->packing))
		error = store_sync(store);
	if (!error)
		error = each(store, visit_segment, NULL);
	if (error)
		return error;
	if (store->n)
		qsort(store->segments, store->n, sizeof(store->segments[0]), by_number);
	if (store->n_waiting)
		qsort(store->waiting, store->n_waiting, sizeof(store->waiting[0]), by_left_number);
	decoded_clean(store->directory, is_decoded_name, is_there, store);
	for (size_t i = 0; i < store->n && !error; i++)
		error = index_keep(&store->index, store->segments[i].name);
	return error;
}
