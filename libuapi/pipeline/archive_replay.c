// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Replays an archive in two passes: blocks and the side band first, then the records of all rings
 * in order of time.
 */
#include <flowtap/replay.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/read_at.h"
#include "base/vector.h"
#include "formats/archive/aux_index.h"
#include "formats/archive/merge.h"
#include "pipeline/archive_code.h"
#include "pipeline/seekable.h"

/* One block of the side band. */
struct event {
	uint64_t time;
	uint64_t offset;	/* of the payload, in the file */
	uint32_t size;
	uint32_t type;
};

struct pass {
	struct flowtap_replay *replay;
	struct flowtap_address_map *map;
	int fd;			/* a regular file */
	uint64_t base;		/* where the archive begins in it */
	struct flowtap_merge *merge;
	struct flowtap_aux_index aux;
	uint64_t at;		/* in the file: the record that was handed on */
	struct event *events;
	size_t n_events;
	uint8_t *payload;	/* of one event */
	size_t payload_capacity;
	struct flowtap_payload_codec stored;
};

static void damaged(struct pass *pass, uint64_t offset, const char *reason, uint64_t bytes)
{
	pass->replay->counts.damages++;
	pass->replay->counts.bad_bytes += bytes;
	if (pass->replay->damage)
		pass->replay->damage(pass->replay, offset, reason, bytes);
}

/* What is missing may have been of the side band: nobody knows whose it was. */
static void set_lossy(struct pass *pass)
{
	if (pass->map)
		flowtap_address_map_set_lossy(pass->map);
}

/* First pass: everything but records, and where those are. */

static int add_event(struct pass *pass, const struct flowtap_archive_block *block)
{
	/*
	 * Their structures begin with the time (a file's with its size, which counts among its own
	 * parts only). Shorter ones are reported when they are applied.
	 */
	uint64_t time = 0;

	if (!pass->map)
		return 0;
	if (FLOWTAP_GROW(pass->events, pass->n_events))
		return -ENOMEM;
	if (block->size >= sizeof(time))
		memcpy(&time, block->payload, sizeof(time));
	pass->events[pass->n_events++] = (struct event) {
		.time = time,
		.offset = pass->base + block->offset + sizeof(struct flowtap_archive_block_header),
		.size = (uint32_t)block->size,
		.type = block->type,
	};
	return 0;
}

static int add_ring(struct pass *pass, const struct flowtap_archive_block *block)
{
	uint64_t offset = block->offset + sizeof(struct flowtap_archive_block_header);
	int err;

	err = flowtap_merge_add(pass->merge, block->cpu, pass->base + offset,
				(uint32_t)block->size);
	if (err != -E2BIG)
		return err;
	damaged(pass, block->offset, "records of more CPUs than there can be", block->size);
	return 0;
}

static int add_aux(struct pass *pass, const struct flowtap_archive_block *block)
{
	uint64_t position = pass->base + block->offset +
			    sizeof(struct flowtap_archive_block_header);
	uint64_t offset;
	int err = -EBADMSG;

	if (block->size >= sizeof(offset)) {
		memcpy(&offset, block->payload, sizeof(offset));
		err = flowtap_aux_index_add(&pass->aux, block->cpu, offset,
					    block->size - sizeof(offset),
					    position + sizeof(offset));
	}
	if (!err || err == -ENOMEM)
		return err;
	damaged(pass, block->offset, err == -E2BIG ? "AUX areas of more CPUs than there can be" :
		"an AUX block without a sensible offset", block->size);
	return 0;
}

static int handle_block(struct pass *pass, const struct flowtap_archive_block *block)
{
	struct flowtap_replay *replay = pass->replay;
	uint64_t lost;
	int err = 0;

	replay->counts.blocks++;
	switch (block->type) {
	case FLOWTAP_ARCHIVE_RING:
		return add_ring(pass, block);
	case FLOWTAP_ARCHIVE_AUX:
		err = add_aux(pass, block);
		break;
	case FLOWTAP_ARCHIVE_CONFIGURE:
		flowtap_aux_index_restart(&pass->aux, block->cpu);
		break;
	case FLOWTAP_ARCHIVE_MAPPING:
	case FLOWTAP_ARCHIVE_BYTES:
		replay->counts.mappings++;
		err = add_event(pass, block);
		break;
	case FLOWTAP_ARCHIVE_TASK:
	case FLOWTAP_ARCHIVE_KERNEL:
	case FLOWTAP_ARCHIVE_SYMBOLS:
	case FLOWTAP_ARCHIVE_FILE:
		err = add_event(pass, block);
		break;
	case FLOWTAP_ARCHIVE_LOST:
		if (block->size >= sizeof(lost)) {
			memcpy(&lost, block->payload, sizeof(lost));
			replay->counts.sideband_lost += lost;
			if (lost)
				set_lossy(pass);
		}
		break;
	case FLOWTAP_ARCHIVE_END:
		replay->counts.finalised = true;
		break;
	}
	if (!err && replay->block)
		err = replay->block(replay, block);
	return err < 0 ? err : 0;
}

static int first_pass(struct pass *pass, struct flowtap_archive_reader *reader)
{
	const struct flowtap_archive_damage *damage;
	struct flowtap_archive_block block;
	int got, err;

	for (;;) {
		got = flowtap_archive_next(reader, &block);
		if (got == 0 || got == -ENOMEM)
			return got;
		if (got > 0) {
			err = handle_block(pass, &block);
			if (err)
				return err;
		} else {
			damage = flowtap_archive_damage(reader);
			damaged(pass, damage->offset, damage->reason, damage->bytes);
			set_lossy(pass);
			/* An error of read: what came before it is still good. */
			if (got != -EBADMSG && got != -ENODATA)
				return 0;
		}
	}
}

/* The side band, into the map. */

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int read_payload(struct pass *pass, const struct event *event)
{
	if (event->size > pass->payload_capacity) {
		uint8_t *payload = realloc(pass->payload, event->size);

		if (!payload)
			return -ENOMEM;
		pass->payload = payload;
		pass->payload_capacity = event->size;
	}
	return flowtap_read_all_at(pass->fd, pass->payload, event->size, event->offset, -EIO) ?
	       -EIO : 0;
}

static int apply_task(struct pass *pass, const struct event *event)
{
	struct flowtap_archive_task task;
	int err;

	if (event->size < sizeof(task))
		return -EINVAL;
	memcpy(&task, pass->payload, sizeof(task));
	err = flowtap_address_map_thread(pass->map, task.pid, task.tid, task.time);
	if (err)
		return err;
	switch (task.event) {
	case FLOWTAP_TASK_FORK:
		return flowtap_address_map_fork(pass->map, task.parent_pid, task.pid, task.time);
	case FLOWTAP_TASK_EXEC:
		return flowtap_address_map_exec(pass->map, task.pid, task.time);
	}
	return 0;
}

static int apply_mapping(struct pass *pass, const struct event *event)
{
	struct flowtap_archive_mapping from;
	struct flowtap_mapping mapping;
	const uint8_t *bytes;
	char path[PATH_MAX];
	uint64_t skip;

	if (event->size < sizeof(from))
		return -EINVAL;
	memcpy(&from, pass->payload, sizeof(from));
	if (from.path_size >= sizeof(path) || from.path_size > event->size - sizeof(from) ||
	    from.build_id_size > FLOWTAP_BUILD_ID_MAX)
		return -EINVAL;
	memcpy(path, pass->payload + sizeof(from), from.path_size);
	path[from.path_size] = 0;
	mapping = (struct flowtap_mapping) {
		.time = from.time,
		.start = from.start,
		.size = from.size,
		.file_offset = from.file_offset,
		.pid = from.pid,
		.executable = from.executable,
		.build_id_size = (uint8_t)from.build_id_size,
		.path = path,
	};
	memcpy(mapping.build_id, from.build_id, sizeof(mapping.build_id));
	if (event->type == FLOWTAP_ARCHIVE_MAPPING)
		return flowtap_address_map_add(pass->map, &mapping);
	skip = (sizeof(from) + from.path_size + 8) & ~7ULL;
	if (skip > event->size || event->size - skip != from.size)
		return -EINVAL;
	bytes = pass->payload + skip;
	if (!from.pid)
		return flowtap_address_map_add_shared(pass->map, path, bytes, from.size);
	return flowtap_address_map_add_bytes(pass->map, &mapping, bytes);
}

static int apply(struct pass *pass, const struct event *event)
{
	int err = read_payload(pass, event);

	if (err)
		return err;
	switch (event->type) {
	case FLOWTAP_ARCHIVE_TASK:
		return apply_task(pass, event);
	case FLOWTAP_ARCHIVE_KERNEL:
	case FLOWTAP_ARCHIVE_SYMBOLS:
	case FLOWTAP_ARCHIVE_FILE:
		return flowtap_replay_code(pass->map, event->type, pass->payload, event->size,
					   &pass->stored);
	default:
		return apply_mapping(pass, event);
	}
}

static int apply_events(struct pass *pass)
{
	if (pass->n_events)
		qsort(pass->events, pass->n_events, sizeof(pass->events[0]), by_time);
	for (size_t i = 0; i < pass->n_events; i++) {
		const struct event *event = &pass->events[i];
		int err = apply(pass, event);

		if (err == -ENOMEM)
			return err;
		if (!err)
			continue;
		set_lossy(pass);
		damaged(pass, event->offset - pass->base -
			sizeof(struct flowtap_archive_block_header),
			err == -EFBIG ? "more code bytes than can be held" :
			err == -EIO ? "a block that cannot be read again" :
			"a block of the side band that contradicts itself", event->size);
	}
	free(pass->events);
	pass->events = NULL;
	return 0;
}

/* Second pass: the records. */

static int second_pass(struct pass *pass)
{
	struct flowtap_replay *replay = pass->replay;
	struct flowtap_merge_result result;
	int got;

	while ((got = flowtap_merge_next(pass->merge, &result))) {
		uint64_t time;
		int err;

		if (got == -EBADMSG) {
			damaged(pass, result.offset - pass->base, result.reason, result.bytes);
			continue;
		}
		if (got < 0)
			return got;
		memcpy(&time, result.record + 1, sizeof(time));
		if (!replay->counts.records || time < replay->counts.first_time)
			replay->counts.first_time = time;
		if (time > replay->counts.last_time)
			replay->counts.last_time = time;
		replay->counts.records++;
		pass->at = result.offset;
		err = replay->record(replay, result.cpu, result.record, result.record->size);
		if (err < 0)
			return err;
	}
	return 0;
}

long flowtap_replay_aux(struct flowtap_replay *replay, uint32_t cpu, uint64_t offset, void *buffer,
			size_t size)
{
	const struct pass *pass = replay->pass;
	struct flowtap_aux_piece piece;
	int saved = errno, err = 0;
	size_t done = 0;

	if (size > LONG_MAX)
		size = LONG_MAX;
	while (!err && done < size && offset + done >= offset &&
	       flowtap_aux_index_find(&pass->aux, cpu, pass->at, offset + done, &piece) &&
	       piece.offset == offset + done) {
		size_t n = piece.size < size - done ? piece.size : size - done;

		err = flowtap_read_all_at(pass->fd, (uint8_t *)buffer + done, n, piece.position,
					  -EIO);
		done += n;
	}
	errno = saved;
	return err ? err : (long)done;
}

uint64_t flowtap_replay_aux_next(struct flowtap_replay *replay, uint32_t cpu, uint64_t offset)
{
	const struct pass *pass = replay->pass;
	struct flowtap_aux_piece piece;

	if (!flowtap_aux_index_find(&pass->aux, cpu, pass->at, offset, &piece))
		return UINT64_MAX;
	return piece.offset;
}

static int run(struct pass *pass)
{
	struct flowtap_archive_reader *reader;
	int err = flowtap_archive_open(pass->fd, &reader);

	if (err)
		return err;
	err = first_pass(pass, reader);
	flowtap_archive_reader_free(reader);
	if (!err)
		err = apply_events(pass);
	return err ? err : second_pass(pass);
}

int flowtap_replay(struct flowtap_replay *replay, int fd, struct flowtap_address_map *map)
{
	struct pass pass = { .replay = replay, .map = map };
	int saved = errno, err;

	memset(&replay->counts, 0, sizeof(replay->counts));
	replay->pass = &pass;
	pass.fd = flowtap_seekable(fd, &pass.base);
	err = pass.fd < 0 ? pass.fd : 0;
	if (!err) {
		pass.merge = flowtap_merge_new(pass.fd);
		err = pass.merge ? run(&pass) : -ENOMEM;
	}
	replay->pass = NULL;
	flowtap_merge_free(pass.merge);
	flowtap_aux_index_free(&pass.aux);
	free(pass.events);
	free(pass.payload);
	free(pass.stored.buffer);
	if (pass.fd >= 0 && pass.fd != fd)
		close(pass.fd);
	errno = saved;
	return err;
}
