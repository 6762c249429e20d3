// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names, lists and deletes segments, the oldest first when the quota or the free space of the disk
 * is exceeded.
 */
#include "store.h"

#include "decoded.h"
#include "store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "../tools/common/grow.h"
#include "../tools/common/tool.h"

#define DIGITS 10
/* btrfs commits each 30 s. */
#define FREED_NS 60000000000ULL
/* With those that are being written, or are not finished. */
#define SEGMENTS_KEPT (STORE_SEGMENTS_MAX - 2 * STORE_UNFINISHED)

/* --- Names. --- */

void store_name(char name[STORE_NAME], uint64_t number, uint64_t time)
{
	time_t seconds = (time_t)time;
	struct tm tm;
	char date[32] = "00000000T000000Z";

	if (gmtime_r(&seconds, &tm) && tm.tm_year >= 0 && tm.tm_year < 8100)
		strftime(date, sizeof(date), "%Y%m%dT%H%M%SZ", &tm);
	snprintf(name, STORE_NAME, "%0*" PRIu64 "-%s.ftap", DIGITS, number, date);
}

static bool all_digits(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] < '0' || text[i] > '9')
			return false;
	return true;
}

bool store_is_name(const char *name, const char *suffix, uint64_t *number)
{
	size_t digits = strspn(name, "0123456789");
	const char *date = name + digits + 1;

	if (digits < DIGITS || digits > 18 || name[digits] != '-' || strlen(date) < 21 ||
	    !all_digits(date, 8) || date[8] != 'T' || !all_digits(date + 9, 6) ||
	    strncmp(date + 15, "Z.ftap", 6) || strcmp(date + 21, suffix))
		return false;
	*number = strtoull(name, NULL, 10);
	return true;
}

void store_with(char to[STORE_NAME], const char *name, const char *suffix)
{
	snprintf(to, STORE_NAME, "%.*s%s", STORE_NAME - 10, name, suffix);
}

void store_decoded_name(char to[STORE_NAME], const char *name)
{
	store_with(to, name, "");
	to[strlen(to) - strlen(".ftap")] = 0;
}

/* --- The list. --- */

int store_reserve(struct store *store)
{
	return GROW_BY_ONE(store->segments, store->n);
}

/* Its entry is reserved. */
static void append(struct store *store, const struct store_segment *segment)
{
	store->segments[store->n++] = *segment;
	store->bytes += segment->bytes;
}

int store_add(struct store *store, const struct store_segment *segment)
{
	int error = store_reserve(store);

	if (!error)
		append(store, segment);
	return error;
}

void store_add_in_order(struct store *store, const struct store_segment *segment)
{
	size_t i = store->n;

	append(store, segment);
	for (; i && store->segments[i - 1].number > segment->number; i--)
		store->segments[i] = store->segments[i - 1];
	store->segments[i] = *segment;
}

int store_insert(struct store *store, const struct store_segment *segment)
{
	int error = store_reserve(store);

	if (!error)
		store_add_in_order(store, segment);
	return error;
}

struct store_segment *store_by_name(struct store *store, const char *name)
{
	size_t first = 0, last = store->n, middle;
	uint64_t number;

	if (!store_is_name(name, "", &number))
		return NULL;
	while (first < last) {
		middle = first + (last - first) / 2;
		if (store->segments[middle].number < number)
			first = middle + 1;
		else
			last = middle;
	}
	/* Somebody may have given several the same number. */
	for (; first < store->n && store->segments[first].number == number; first++)
		if (!strcmp(store->segments[first].name, name))
			return &store->segments[first];
	return NULL;
}

const struct store_segment *store_finished(struct store *store)
{
	return store_by_name(store, store->finished);
}

const struct store_segment *store_find(struct store *store, const char *name)
{
	return store_by_name(store, name);
}

int store_sync(const struct store *store)
{
	return fsync(store->directory) ? -errno : 0;
}

uint64_t store_disk_size(const struct stat *stat)
{
	const uint64_t taken = (uint64_t)stat->st_blocks * 512, block = (uint64_t)stat->st_blksize;
	const uint64_t most = block ? ((uint64_t)stat->st_size + block - 1) / block * block : taken;

	return taken < most ? taken : most;
}

int store_open(const char *directory, const struct store_limits *limits, struct store_left *left,
	       struct store **result)
{
	struct store *store = calloc(1, sizeof(*store));
	int error;

	*left = (struct store_left){ 0 };
	if (!store)
		return -ENOMEM;
	store->limits = *limits;
	store->next = 1;
	store->most = SEGMENTS_KEPT;
	store->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = store->directory < 0 ? -errno : 0;
	if (!error && flock(store->directory, LOCK_EX | LOCK_NB))
		error = errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (!error)
		error = index_open(&store->index, store->directory);
	if (!error)
		error = store_read_folder(store, left);
	if (error) {
		store_close(store);
		return error;
	}
	/* That not all of the space can be had is for whoever wants to write to find out. */
	store_make_space(store, 0, &left->deleted);
	index_write(&store->index);
	*result = store;
	return 0;
}

void store_sync_by(struct store *store, struct syncer *syncer)
{
	store->syncer = store->index.syncer = syncer;
}

void store_limit(struct store *store, const struct store_limits *limits)
{
	store->limits = *limits;
}

/* --- Space. --- */

uint64_t store_available(const struct store *store)
{
	struct statvfs disk;

	return fstatvfs(store->directory, &disk) ? UINT64_MAX :
						   (uint64_t)disk.f_bavail * disk.f_frsize;
}

/* Of what was deleted, what the disk is still to give back. */
static uint64_t still_due(const struct store *store, uint64_t available)
{
	const struct freed *freed = &store->freed;
	const uint64_t rise = available > freed->available ? available - freed->available : 0;

	return freed->bytes > rise && number_now() < freed->until ? freed->bytes - rise : 0;
}

void store_freed(struct store *store, uint64_t bytes, uint64_t available)
{
	const uint64_t now = store_available(store), before = still_due(store, available);
	const uint64_t rise = now > available ? now - available : 0;

	/* At once, but for what others took in this moment. */
	if (rise >= bytes / 2)
		bytes = 0;
	store->freed = (struct freed){
		.bytes = before + bytes, .available = now, .until = number_now() + FREED_NS,
	};
}

bool store_fits(const struct store *store, uint64_t need)
{
	const struct store_limits *limits = &store->limits;
	struct stat stat;
	uint64_t writing = store->work_bytes + store->waiting_bytes, available;

	for (unsigned int i = 0; i < store->n_writing; i++)
		writing += fstat(store->writing[i].fd, &stat) ? 0 : store_disk_size(&stat);
	for (unsigned int i = 0; i < store->n_unfinished; i++)
		writing += store->unfinished[i].segment.bytes;
	if (limits->quota && (store->bytes + writing > limits->quota ||
			      need > limits->quota - store->bytes - writing))
		return false;
	available = store_available(store);
	if (available == UINT64_MAX)
		return true;
	/* Else each segment would go for what the first one is about to free. */
	available += still_due(store, available);
	return available >= limits->free && need <= available - limits->free;
}

void store_refused(struct store *store)
{
	store->freed.bytes = 0;
}

int store_delete(struct store *store, const struct store_segment *segment)
{
	char packed[STORE_NAME], decoded[STORE_NAME];

	store_with(packed, segment->name, STORE_PACKED);
	store_decoded_name(decoded, segment->name);
	if (unlinkat(store->directory, segment->name, 0) && errno != ENOENT)
		return -errno;
	if (unlinkat(store->directory, packed, 0) && errno != ENOENT)
		return -errno;
	return decoded_remove(store->directory, decoded, false);
}

/* What is left of it counts, and that it is there is reported once. */
static void keep_undeleted(struct store *store, struct store_segment *segment, int error)
{
	char packed[STORE_NAME], decoded[STORE_NAME];
	struct stat stat;
	uint64_t bytes;

	store_with(packed, segment->name, STORE_PACKED);
	store_decoded_name(decoded, segment->name);
	decoded_is(store->directory, decoded, false, &bytes);
	if (!fstatat(store->directory, segment->name, &stat, AT_SYMLINK_NOFOLLOW))
		bytes += store_disk_size(&stat);
	if (!fstatat(store->directory, packed, &stat, AT_SYMLINK_NOFOLLOW))
		bytes += store_disk_size(&stat);
	store->bytes = store->bytes - segment->bytes + bytes;
	segment->bytes = bytes;
	if (!segment->undeleted) {
		segment->undeleted = true;
		snprintf(store->undeleted, sizeof(store->undeleted), "%s", segment->name);
		store->undeleted_error = error;
	}
}

/* What deleting it frees: nothing where another has deleted it, or it has another name. */
static uint64_t frees(const struct store *store, const struct store_segment *segment)
{
	char packed[STORE_NAME];
	struct stat stat;

	store_with(packed, segment->name, STORE_PACKED);
	if (fstatat(store->directory, segment->name, &stat, AT_SYMLINK_NOFOLLOW) &&
	    fstatat(store->directory, packed, &stat, AT_SYMLINK_NOFOLLOW))
		return 0;
	return stat.st_nlink == 1 ? segment->bytes : 0;
}

/* One that another has deleted is gone as well. */
static bool delete(struct store *store, struct store_segment *segment)
{
	const uint64_t available = store_available(store), bytes = frees(store, segment);
	int error = store_delete(store, segment);

	if (error) {
		keep_undeleted(store, segment, error);
		return false;
	}
	index_remove(&store->index, segment->name);
	store->bytes -= segment->bytes;
	store_freed(store, bytes, available);
	return true;
}

int store_make_space(struct store *store, uint64_t need, unsigned int *deleted)
{
	size_t kept = 0, i;

	*deleted = 0;
	for (i = 0; i < store->n &&
		    (kept + store->n - i > store->most || !store_fits(store, need)); i++) {
		if (delete(store, &store->segments[i]))
			(*deleted)++;
		else
			store->segments[kept++] = store->segments[i];
	}
	if (*deleted) {
		memmove(store->segments + kept, store->segments + i,
			(store->n - i) * sizeof(store->segments[0]));
		store->n -= i - kept;
		index_settle(&store->index);
	}
	/* Else what was left would keep anything from being recorded until it is finished. */
	while (!store_fits(store, need) && store_delete_left(store))
		(*deleted)++;
	return store_fits(store, need) ? 0 : -ENOSPC;
}

unsigned int store_delete_oldest(struct store *store)
{
	for (size_t i = 0; i < store->n; i++) {
		if (!delete(store, &store->segments[i]))
			continue;
		store->n--;
		memmove(store->segments + i, store->segments + i + 1,
			(store->n - i) * sizeof(store->segments[0]));
		index_settle(&store->index);
		return 1;
	}
	return 0;
}

int store_undeleted(struct store *store, const char **name)
{
	int error = store->undeleted_error;

	store->undeleted_error = 0;
	*name = store->undeleted;
	return error;
}

bool store_drop_removed(struct store *store, const char *name)
{
	struct store_segment *segment = store_by_name(store, name);
	char packed[STORE_NAME];
	struct stat stat;

	store_with(packed, name, STORE_PACKED);
	if (!segment || !fstatat(store->directory, name, &stat, AT_SYMLINK_NOFOLLOW) ||
	    errno != ENOENT || !fstatat(store->directory, packed, &stat, AT_SYMLINK_NOFOLLOW) ||
	    errno != ENOENT || !delete(store, segment))
		return false;
	memmove(segment, segment + 1,
		(size_t)(store->segments + --store->n - segment) * sizeof(*segment));
	index_settle(&store->index);
	return true;
}

/* --- What there is. --- */

int store_index_error(struct store *store)
{
	return index_error(&store->index);
}

const struct store_segment *store_segments(const struct store *store, size_t *n)
{
	*n = store->n;
	return store->segments;
}

uint64_t store_number(const struct store *store)
{
	return store->next - 1;
}

uint64_t store_oldest(const struct store *store)
{
	uint64_t oldest = store_number(store);

	if (store->n && store->segments[0].number < oldest)
		oldest = store->segments[0].number;
	if (store->n_waiting && store->waiting[0].number < oldest)
		oldest = store->waiting[0].number;
	for (unsigned int i = 0; i < store->n_unfinished; i++)
		if (store->unfinished[i].segment.number < oldest)
			oldest = store->unfinished[i].segment.number;
	if (store->n_writing && store->writing[0].segment.number < oldest)
		oldest = store->writing[0].segment.number;
	return oldest;
}

uint64_t store_bytes(const struct store *store)
{
	return store->bytes;
}

const char *store_current(const struct store *store)
{
	return store->n_writing ? store->writing[store->n_writing - 1].segment.name : NULL;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	while (store->n_writing)
		close(store->writing[--store->n_writing].fd);
	while (store->n_unfinished)
		syncer_drop(&store->unfinished[--store->n_unfinished].sync);
	syncer_drop(&store->folder);
	index_close(&store->index);
	if (store->directory >= 0)
		close(store->directory);
	free(store->segments);
	free(store->waiting);
	free(store);
}
