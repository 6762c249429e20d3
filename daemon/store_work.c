// SPDX-License-Identifier: GPL-2.0-only
/* Where the work on finished segments is written, and how it replaces them. */
#include "store_internal.h"

#include "decoded.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int store_work_begin(struct store *store, enum store_work work, const char *name)
{
	if (store->work)
		return -EBUSY;
	if (work == STORE_MENDING ? !store_waits(store, name) : !store_by_name(store, name))
		return -ENOENT;
	store->work = work;
	store->work_bytes = 0;
	snprintf(store->working, sizeof(store->working), "%s", name);
	return 0;
}

void store_postpone(struct store *store, const char *name, uint64_t retry)
{
	struct store_segment *segment = store_by_name(store, name);
	struct left_part *left = store_left_by_name(store, name);

	if (segment)
		segment->retry = retry;
	if (left)
		left->retry = retry;
}

uint64_t store_postponed(struct store *store, const char *name)
{
	const struct store_segment *segment = store_by_name(store, name);
	const struct left_part *left = store_left_by_name(store, name);

	return segment ? segment->retry : left ? left->retry : 0;
}

void store_resume(struct store *store)
{
	for (size_t i = 0; i < store->n; i++)
		store->segments[i].retry = 0;
	for (size_t i = 0; i < store->n_waiting; i++)
		store->waiting[i].retry = 0;
}

uint64_t store_work_look(struct store *store)
{
	char name[STORE_NAME];
	struct stat stat;

	store->work_bytes = 0;
	if (store->work == STORE_PACKING) {
		store_with(name, store->working, STORE_PACKED_PART);
		if (!fstatat(store->directory, name, &stat, AT_SYMLINK_NOFOLLOW))
			store->work_bytes = store_disk_size(&stat);
	} else if (store->work == STORE_DECODING) {
		store_decoded_name(name, store->working);
		decoded_is(store->directory, name, true, &store->work_bytes);
	}
	return store->work_bytes;
}

/* The packed one in place of the raw one. */
static int handle_packed(struct store *store, struct store_segment *segment)
{
	char part[STORE_NAME], packed[STORE_NAME];
	struct stat raw, stat;
	int error;

	store_with(part, segment->name, STORE_PACKED_PART);
	store_with(packed, segment->name, STORE_PACKED);
	if (fstatat(store->directory, segment->name, &raw, AT_SYMLINK_NOFOLLOW) ||
	    fstatat(store->directory, part, &stat, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (stat.st_size >= raw.st_size) {
		segment->loose = true;
		return -EFBIG;
	}
	if (renameat(store->directory, part, store->directory, packed))
		return -errno;
	error = store_sync(store);
	if (!error && unlinkat(store->directory, segment->name, 0) && errno != ENOENT)
		error = -errno;
	/* Then the raw one is there, and stays what counts. */
	if (error) {
		unlinkat(store->directory, packed, 0);
		return error;
	}
	segment->packed = true;
	segment->bytes += store_disk_size(&stat) - store_disk_size(&raw);
	store->bytes += store_disk_size(&stat) - store_disk_size(&raw);
	index_packed(&store->index, segment->name, (uint64_t)stat.st_size);
	return 0;
}

static int handle_decoded(struct store *store, struct store_segment *segment)
{
	char name[STORE_NAME];
	uint64_t bytes;
	int error;

	store_decoded_name(name, segment->name);
	error = decoded_finish(store->directory, name);
	if (error)
		return error;
	decoded_is(store->directory, name, false, &bytes);
	segment->decoded = true;
	segment->bytes += bytes;
	store->bytes += bytes;
	return 0;
}

int store_undecoded(struct store *store, const char *name, const char *result)
{
	struct store_segment *segment = store_by_name(store, name);
	char decoded[STORE_NAME];
	int fd, error;

	if (!segment)
		return -ENOENT;
	store_decoded_name(decoded, name);
	fd = decoded_begin(store->directory, decoded);
	error = fd < 0 ? fd : decoded_write(store->directory, decoded, DECODED_RESULT, result);
	if (fd >= 0)
		close(fd);
	if (!error)
		error = handle_decoded(store, segment);
	if (error)
		decoded_remove(store->directory, decoded, true);
	return error;
}

static void remove_work(const struct store *store, enum store_work work)
{
	char name[STORE_NAME];

	if (work == STORE_PACKING) {
		store_with(name, store->working, STORE_PACKED_PART);
		unlinkat(store->directory, name, 0);
	} else {
		store_decoded_name(name, store->working);
		decoded_remove(store->directory, name, true);
	}
}

int store_work_end(struct store *store, bool good)
{
	struct store_segment *segment = store_by_name(store, store->working);
	enum store_work work = store->work;
	int error;

	if (!work || work == STORE_MENDING)
		return -EINVAL;
	store->work = STORE_IDLE;
	store->work_bytes = 0;
	if (!segment)
		error = -ENOENT;
	else if (!good)
		error = 0;
	else
		error = work == STORE_PACKING ? handle_packed(store, segment)
					      : handle_decoded(store, segment);
	if (error || !good)
		remove_work(store, work);
	return error;
}
