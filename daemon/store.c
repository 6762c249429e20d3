// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names, begins, finishes and deletes segments, the oldest first when the quota or the free space
 * of the disk is exceeded.
 */
#include "store.h"

#include "decoded.h"
#include "store_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <flowtap/archive.h>
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

#define DIGITS 10
/* With those that are being written, or are not finished. */
#define SEGMENTS_KEPT (STORE_SEGMENTS_MAX - 2 * STORE_UNFINISHED)

/* --- Names. --- */

static void name_of(char name[STORE_NAME], uint64_t number, uint64_t time)
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

/* Space in the list for one more. 0; -ENOMEM. */
static int reserve_entry(struct store *store)
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
	int error = reserve_entry(store);

	if (!error)
		append(store, segment);
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
	unsigned int deleted;
	int error;

	*left = (struct store_left){ 0 };
	if (!store)
		return -ENOMEM;
	store->limits = *limits;
	store->index.fd = -1;
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
	store_make_space(store, 0, &deleted);
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

/* --- Writing one. --- */

int store_begin(struct store *store, uint64_t time)
{
	struct writing *writing = &store->writing[store->n_writing];
	char part[STORE_NAME];

	if (store->n_writing == 2)
		return -EBUSY;
	writing->segment = (struct store_segment){ .number = store->next };
	name_of(writing->segment.name, store->next, time);
	store_with(part, writing->segment.name, STORE_PART);
	writing->fd = openat(store->directory, part,
			     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (writing->fd < 0)
		return -errno;
	store->next++;
	store->n_writing++;
	return writing->fd;
}

static void end_oldest(struct store *store)
{
	close(store->writing[0].fd);
	store->writing[0] = store->writing[1];
	store->n_writing--;
}

/* One that could be finished only now is older than others. Its entry is reserved. */
static void add_in_order(struct store *store, const struct store_segment *segment)
{
	size_t i = store->n;

	append(store, segment);
	for (; i && store->segments[i - 1].number > segment->number; i--)
		store->segments[i] = store->segments[i - 1];
	store->segments[i] = *segment;
}

int store_insert(struct store *store, const struct store_segment *segment)
{
	int error = reserve_entry(store);

	if (!error)
		add_in_order(store, segment);
	return error;
}

/*
 * After a sync that failed the next one says nothing of what that was about: the kernel takes it as
 * written. So it is written again, a piece at a time: whoever calls has others to serve.
 */
int store_write_again(int fd, uint64_t *done)
{
	static char bytes[1 << 16];
	const uint64_t until = *done + STORE_PIECE;
	uint64_t at = *done;
	ssize_t n = 1;

	while (at < until && (n = pread(fd, bytes, sizeof(bytes), (off_t)at)) > 0) {
		const ssize_t written = pwrite(fd, bytes, (size_t)n, (off_t)at);

		if (written != n)
			return written < 0 ? -errno : -EIO;
		at += (uint64_t)n;
	}
	if (n < 0 || fsync(fd))
		return -errno;
	*done = at;
	return n ? -EINPROGRESS : 0;
}

/* Its bytes are on the disk. 0; 1: of a broken one, there are none; -EINPROGRESS; -errno. */
static int sync_part(struct store *store, struct unfinished *one, int fd)
{
	const bool later = one->sync;
	uint64_t cut = 0;
	int error;

	if (one->unsynced)
		error = store_write_again(fd, &one->rewritten);
	else if (later)
		error = syncer_ask(&one->sync);
	else
		error = syncer_begin(store->syncer, fd, &one->sync);
	if (error == -EINPROGRESS)
		return error;
	if (later && error)
		store->sync_error = error;
	one->unsynced = error;
	one->rewritten = 0;
	/* What cannot be read there is on the disk none the less: to write it again mends nothing. */
	if (!error && one->facts.broken)
		error = store_mend(fd, &cut, &one->unsynced);
	return error;
}

/*
 * Renames the `.part` that is open as fd over it. When its folder comes to the disk is not waited for
 * for ever: without that it is a `.part` again after the power has gone. 0; 1: there was nothing in
 * it, and it is gone; -EINPROGRESS; -errno: also -EBADMSG, which file systems say of a damaged disk.
 */
static int reserve_number(struct store *store, int fd, struct unfinished *one)
{
	struct store_segment *segment = &one->segment;
	const struct store_facts *facts = &one->facts;
	char part[STORE_NAME];
	struct stat stat;
	int error = sync_part(store, one, fd);

	store_with(part, segment->name, STORE_PART);
	if (error > 0 && unlinkat(store->directory, part, 0))
		error = -errno;
	if (!fstat(fd, &stat))
		segment->bytes = store_disk_size(&stat);
	else if (!error)
		error = -errno;
	/* What has its name counts, and goes when space is made. */
	if (!error)
		error = reserve_entry(store);
	if (!error && renameat(store->directory, part, store->directory, segment->name))
		error = -errno;
	if (error)
		return error;
	syncer_drop(&store->folder);
	syncer_begin(store->syncer, store->directory, &store->folder);
	segment->bytes = store_disk_size(&stat);
	segment->ended = facts->ended;
	store_with(store->finished, segment->name, "");
	add_in_order(store, segment);
	index_add(&store->index, segment->name, (uint64_t)stat.st_size, facts);
	return 0;
}

int store_finish(struct store *store, const struct store_facts *facts)
{
	struct unfinished one = { .segment = store->writing[0].segment, .facts = *facts };
	int error;

	if (!store->n_writing)
		return -ENOENT;
	error = reserve_number(store, store->writing[0].fd, &one);
	end_oldest(store);
	if (error < 0 && store->n_unfinished < STORE_UNFINISHED + 2)
		store->unfinished[store->n_unfinished++] = one;
	else
		syncer_drop(&one.sync);
	return error;
}

/* As reserve_number; -ENOENT: somebody has removed it. */
static int finish_again(struct store *store, struct unfinished *one)
{
	char part[STORE_NAME];
	int fd, error;

	store_with(part, one->segment.name, STORE_PART);
	fd = openat(store->directory, part, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	error = reserve_number(store, fd, one);
	close(fd);
	return error;
}

bool store_rewrites(const struct store *store)
{
	for (unsigned int i = 0; i < store->n_unfinished; i++)
		if (store->unfinished[i].rewritten)
			return true;
	return false;
}

static bool is_pending(const struct unfinished *one)
{
	return one->sync && !syncer_knows(one->sync);
}

bool store_synced(const struct store *store)
{
	for (unsigned int i = 0; i < store->n_unfinished; i++)
		if (store->unfinished[i].sync && !is_pending(&store->unfinished[i]))
			return true;
	return false;
}

int store_sync_error(struct store *store)
{
	const int error = store->sync_error;

	store->sync_error = 0;
	return error;
}

unsigned int store_unfinished(const struct store *store, bool syncing)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < store->n_unfinished; i++)
		n += !syncing || store->unfinished[i].sync;
	return n;
}

unsigned int store_unsynced(const struct store *store)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < store->n_unfinished; i++)
		n += store->unfinished[i].unsynced != 0;
	return n;
}

int store_retry(struct store *store, struct store_facts *facts)
{
	int error = 0;

	for (unsigned int i = 0; i < store->n_unfinished;) {
		struct unfinished *one = &store->unfinished[i];
		int now;

		/* The others would begin anew each time that one goes on. */
		if (!one->rewritten && store_rewrites(store)) {
			error = one->unsynced ? one->unsynced : error;
			i++;
			continue;
		}
		now = is_pending(one) ? -EINPROGRESS : finish_again(store, one);
		/* A piece is enough for one call. */
		if (now == -EINPROGRESS && !one->sync) {
			error = one->unsynced;
			break;
		}
		if (now < 0 && now != -ENOENT) {
			error = now;
			i++;
			continue;
		}
		*facts = one->facts;
		syncer_drop(&one->sync);
		memmove(one, one + 1, (--store->n_unfinished - i) * sizeof(*one));
		if (!now)
			return 1;
	}
	return store->n_unfinished < STORE_UNFINISHED ? 0 : error;
}

void store_drop(struct store *store)
{
	char part[STORE_NAME];

	if (!store->n_writing)
		return;
	store_with(part, store->writing[store->n_writing - 1].segment.name, STORE_PART);
	unlinkat(store->directory, part, 0);
	close(store->writing[--store->n_writing].fd);
}

void store_discard(struct store *store)
{
	char part[STORE_NAME];

	if (!store->n_writing)
		return;
	store_with(part, store->writing[0].segment.name, STORE_PART);
	unlinkat(store->directory, part, 0);
	end_oldest(store);
}

/* --- Space. --- */

bool store_fits(const struct store *store, uint64_t need)
{
	const struct store_limits *limits = &store->limits;
	struct statvfs disk;
	struct stat stat;
	uint64_t writing = store->work_bytes + store->waiting_bytes, available;

	for (unsigned int i = 0; i < store->n_writing; i++)
		writing += fstat(store->writing[i].fd, &stat) ? 0 : store_disk_size(&stat);
	for (unsigned int i = 0; i < store->n_unfinished; i++)
		writing += store->unfinished[i].segment.bytes;
	if (limits->quota && (store->bytes + writing > limits->quota ||
			      need > limits->quota - store->bytes - writing))
		return false;
	if (fstatvfs(store->directory, &disk))
		return true;
	available = (uint64_t)disk.f_bavail * disk.f_frsize;
	return available >= limits->free && need <= available - limits->free;
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

/* One that another has deleted is gone as well. */
static bool delete(struct store *store, struct store_segment *segment)
{
	int error = store_delete(store, segment);

	if (error) {
		keep_undeleted(store, segment, error);
		return false;
	}
	index_remove(&store->index, segment->name);
	store->bytes -= segment->bytes;
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
