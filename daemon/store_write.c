// SPDX-License-Identifier: GPL-2.0-only
/*
 * Begins and finishes segments: one is a `.part` until the disk has taken it, and is tried again where
 * it cannot be finished.
 */
#include "store.h"

#include "store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- One that is written. --- */

int store_begin(struct store *store, uint64_t time)
{
	struct writing *writing = &store->writing[store->n_writing];
	char part[STORE_NAME];

	if (store->n_writing == 2)
		return -EBUSY;
	writing->segment = (struct store_segment){ .number = store->next };
	store_name(writing->segment.name, store->next, time);
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

/* --- Finishing. --- */

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
static int finish_part(struct store *store, int fd, struct unfinished *one)
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
		error = store_reserve(store);
	if (!error && renameat(store->directory, part, store->directory, segment->name))
		error = -errno;
	if (error)
		return error;
	syncer_drop(&store->folder);
	syncer_begin(store->syncer, store->directory, &store->folder);
	segment->bytes = store_disk_size(&stat);
	segment->ended = facts->ended;
	segment->ended_at = facts->ended_at;
	store_with(store->finished, segment->name, "");
	store_add_in_order(store, segment);
	index_add(&store->index, segment->name, (uint64_t)stat.st_size, facts);
	return 0;
}

int store_finish(struct store *store, const struct store_facts *facts)
{
	struct unfinished one = { .segment = store->writing[0].segment, .facts = *facts };
	int error;

	if (!store->n_writing)
		return -ENOENT;
	error = finish_part(store, store->writing[0].fd, &one);
	end_oldest(store);
	if (error < 0 && store->n_unfinished < STORE_UNFINISHED + 2)
		store->unfinished[store->n_unfinished++] = one;
	else
		syncer_drop(&one.sync);
	return error;
}

/* --- What is not finished yet. --- */

/* As finish_part; -ENOENT: somebody has removed it. */
static int finish_again(struct store *store, struct unfinished *one)
{
	char part[STORE_NAME];
	int fd, error;

	store_with(part, one->segment.name, STORE_PART);
	fd = openat(store->directory, part, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	error = finish_part(store, fd, one);
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
