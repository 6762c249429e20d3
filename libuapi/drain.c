// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Streams, and the blocks made of what waits in them. */
#include "drain_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "archive_place.h"

#define COPIED (8U << 10)	/* up to here a copy costs less than writes of its own */
#define STREAMS_MAX 65536U

const char *flowtap_drain_method_name(enum flowtap_drain_method method)
{
	static const char *const names[FLOWTAP_DRAIN_METHODS] = {
		[FLOWTAP_DRAIN_FIXED] = "io_uring-fixed",
		[FLOWTAP_DRAIN_URING] = "io_uring",
		[FLOWTAP_DRAIN_POLL] = "poll",
	};

	return (unsigned int)method < FLOWTAP_DRAIN_METHODS ? names[method] : NULL;
}

static int make_headers(struct flowtap_drain *drain)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = (size_t)drain->streams * DRAIN_FLIGHTS * sizeof(*drain->headers);

	drain->headers = aligned_alloc(page, (size + page - 1) & ~(page - 1));
	return drain->headers ? 0 : -ENOMEM;
}

int flowtap_drain_open(const struct flowtap_drain_options *options,
		       struct flowtap_archive_writer *writer, struct flowtap_drain **out)
{
	struct flowtap_drain *drain;
	int saved = errno;

	if ((unsigned int)options->method >= FLOWTAP_DRAIN_METHODS || !options->streams ||
	    options->streams > STREAMS_MAX)
		return -EINVAL;
	drain = calloc(1, sizeof(*drain));
	if (!drain)
		return -ENOMEM;
	drain->writer = writer;
	drain->streams = options->streams;
	drain->stream = calloc(drain->streams, sizeof(*drain->stream));
	if (!drain->stream || make_headers(drain)) {
		flowtap_drain_close(drain);
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < drain->streams; i++)
		drain->stream[i].number = -1;
	if (options->method != FLOWTAP_DRAIN_POLL && flowtap_archive_placeable(writer))
		drain->uring = !drain_uring_open(drain, options->method == FLOWTAP_DRAIN_FIXED);
	errno = saved;
	*out = drain;
	return 0;
}

int flowtap_drain_add(struct flowtap_drain *drain, int fd, struct flowtap_reader *reader,
		      uint32_t cpu)
{
	struct drain_stream *stream = NULL;
	unsigned int i;
	int number;

	for (i = 0; i < drain->streams && !stream; i++)
		if (drain->stream[i].number < 0)
			stream = &drain->stream[i];
	if (!stream)
		return -ENOSPC;
	i = (unsigned int)(stream - drain->stream);
	number = flowtap_drain_watch(drain, fd, POLLIN);
	if (number < 0)
		return number;
	*stream = (struct drain_stream) {
		.number = number,
		.cpu = cpu,
		.reader = reader,
		.buffer = -1,
		.sent = __atomic_load_n(&reader->ring->data_tail, __ATOMIC_RELAXED),
	};
	drain->watch[number].stream = (int)i;
	if (!reader->overwrite)
		stream->buffer = drain_uring_register(drain, i);
	return number;
}

static bool known(const struct flowtap_drain *drain, int number)
{
	return number >= 0 && number < drain->watches && drain->watch[number].used;
}

static struct drain_stream *stream_of(const struct flowtap_drain *drain, int number)
{
	if (!known(drain, number) || drain->watch[number].stream < 0)
		return NULL;
	return &drain->stream[drain->watch[number].stream];
}

enum flowtap_drain_method flowtap_drain_method(const struct flowtap_drain *drain)
{
	if (!drain->uring)
		return FLOWTAP_DRAIN_POLL;
	if (!drain->headers_fixed)
		return FLOWTAP_DRAIN_URING;
	for (unsigned int i = 0; i < drain->streams; i++) {
		const struct drain_stream *stream = &drain->stream[i];

		if (stream->number >= 0 && !stream->reader->overwrite && stream->buffer < 0)
			return FLOWTAP_DRAIN_URING;
	}
	return FLOWTAP_DRAIN_FIXED;
}

void drain_fail(struct flowtap_drain *drain, int error)
{
	if (!drain->failed)
		drain->failed = error;
	flowtap_archive_fail(drain->writer, error);
}

/* The tail goes over the blocks that are in the file, none of those before them missing. */
static void land(struct drain_stream *stream)
{
	const struct drain_flight *last = NULL;

	while (stream->n && !stream->flights[stream->first].pending) {
		last = &stream->flights[stream->first];
		stream->first = (stream->first + 1) % DRAIN_FLIGHTS;
		stream->n--;
	}
	if (last)
		flowtap_reader_advance(stream->reader, last->end);
}

/* Goes on by so many bytes; how many there were too many. */
static size_t go_on(struct drain_flight *flight, size_t bytes)
{
	while (flight->next < flight->n) {
		struct iovec *piece = &flight->pieces[flight->next];
		size_t n = bytes < piece->iov_len ? bytes : piece->iov_len;

		piece->iov_base = (uint8_t *)piece->iov_base + n;
		piece->iov_len -= n;
		flight->offset += n;
		bytes -= n;
		if (piece->iov_len)
			break;
		flight->next++;
	}
	return bytes;
}

void drain_written(struct flowtap_drain *drain, unsigned int index, unsigned int number,
		   unsigned int piece, int result)
{
	struct drain_stream *stream = &drain->stream[index];
	struct drain_flight *flight = &stream->flights[number];
	int err = result;

	while (flight->next < piece && flight->next < flight->n)
		go_on(flight, flight->pieces[flight->next].iov_len);
	if (result >= 0)
		err = !result || go_on(flight, (size_t)result) ? -EIO : 0;
	else if (result == -EINTR || result == -EAGAIN)
		err = 0;
	if (!err && flight->next < flight->n)
		err = drain_uring_write(drain, index, number);
	if (err) {
		drain_fail(drain, err);
		return;
	}
	flight->pending = flight->next < flight->n;
	land(stream);
}

/* Whole records of at most `most` bytes: 1 if there were more, else 0. -EPROTO: they are none. */
static int cut(struct flowtap_stretch part[2], size_t most)
{
	size_t at = 0;

	if (part[0].size + part[1].size <= most)
		return 0;
	for (;;) {
		const struct flowtap_stretch *in = at < part[0].size ? &part[0] : &part[1];
		size_t offset = at < part[0].size ? at : at - part[0].size;
		const struct flowtap_record *record =
			(const void *)((const uint8_t *)in->bytes + offset);
		size_t size = record->size;

		/* Its header never wraps: all is aligned to 8. */
		if (size < sizeof(*record) || size % 8)
			return -EPROTO;
		if (at + size > most)
			break;
		at += size;
	}
	part[1].size = at > part[0].size ? at - part[0].size : 0;
	part[0].size -= at < part[0].size ? part[0].size - at : 0;
	return 1;
}

/* What waits beyond what has been taken. 0 or -EPROTO, then and for ever. */
static int waiting(struct drain_stream *stream, struct flowtap_stretch part[2])
{
	uint64_t tail = __atomic_load_n(&stream->reader->ring->data_tail, __ATOMIC_RELAXED), head;

	if (!stream->error)
		stream->error = flowtap_reader_peek_from(stream->reader, stream->sent, part, &head);
	if (!stream->error && head - tail > stream->reader->size)
		stream->error = -EPROTO;
	return stream->error;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

/* Into the archive's buffer, or by it into the file. */
static int copy_block(struct flowtap_drain *drain, struct drain_stream *stream,
		      struct drain_flight *flight, const struct flowtap_stretch part[2])
{
	int err = flowtap_archive_write(drain->writer, FLOWTAP_ARCHIVE_RING, stream->cpu, now(),
					part[0].bytes, part[0].size, part[1].bytes, part[1].size);

	*flight = (struct drain_flight){
		.end = flight->end,
		.pending = true,
		.copied = flowtap_archive_size(drain->writer),
	};
	return err;
}

static int place_block(struct flowtap_drain *drain, struct drain_stream *stream,
		       struct drain_flight *flight, const struct flowtap_stretch part[2])
{
	unsigned int index = (unsigned int)(stream - drain->stream);
	unsigned int number = (unsigned int)(flight - stream->flights);
	struct flowtap_archive_block_header *header =
		&drain->headers[index * DRAIN_FLIGHTS + number];
	int err;

	*flight = (struct drain_flight){
		.end = flight->end,
		.pending = true,
		.n = part[1].size ? 3 : 2,
		.pieces = {
			{ header, sizeof(*header) },
			{ (void *)part[0].bytes, part[0].size },
			{ (void *)part[1].bytes, part[1].size },
		},
	};
	err = flowtap_archive_place(drain->writer, FLOWTAP_ARCHIVE_RING, stream->cpu, now(),
				    part[0].bytes, part[0].size, part[1].bytes, part[1].size,
				    header, &flight->offset);
	return err ? err : drain_uring_write(drain, index, number);
}

/* Of a full ring a quarter at a time, so that the writer has room again early. */
static size_t block_size(const struct drain_stream *stream)
{
	uint64_t size = stream->reader->size / 4;

	if (size < FLOWTAP_RECORD_MAX)
		return FLOWTAP_RECORD_MAX;
	return size < FLOWTAP_ARCHIVE_BLOCK_MAX ? size : FLOWTAP_ARCHIVE_BLOCK_MAX;
}

/*
 * A block of what waits, if it is `little` or else if it is much; or a `rest`, whatever it is.
 * *moved grows by its bytes. True: there is a rest.
 */
static bool take_block(struct flowtap_drain *drain, struct drain_stream *stream, bool little,
		       bool rest, uint64_t *moved)
{
	struct flowtap_stretch part[2];
	struct drain_flight *flight;
	size_t size;
	int err, more;

	stream->blocked = false;
	if (drain->failed || waiting(stream, part))
		return false;
	size = part[0].size + part[1].size;
	if (!size || (drain->uring && !rest && little != (size <= COPIED)))
		return false;
	if (stream->n == DRAIN_FLIGHTS) {
		stream->blocked = true;
		return false;
	}
	more = cut(part, block_size(stream));
	if (more < 0) {
		stream->error = more;
		return false;
	}
	size = part[0].size + part[1].size;
	flight = &stream->flights[(stream->first + stream->n) % DRAIN_FLIGHTS];
	flight->end = stream->sent + size;
	err = little ? copy_block(drain, stream, flight, part)
		     : place_block(drain, stream, flight, part);
	if (err) {
		drain_fail(drain, err);
		return false;
	}
	stream->n++;
	stream->sent += size;
	*moved += size;
	return more;
}

static bool taken_from(const struct drain_stream *stream)
{
	return stream->number >= 0 && !stream->reader->overwrite;
}

static uint64_t take_all(struct flowtap_drain *drain, bool little)
{
	uint64_t moved = 0;

	for (unsigned int i = 0; i < drain->streams; i++) {
		struct drain_stream *stream = &drain->stream[i];
		bool rest = false;

		if (!taken_from(stream))
			continue;
		do
			rest = take_block(drain, stream, little, rest, &moved);
		while (rest);
	}
	return moved;
}

/* What was copied is in the file, or some of it, if that has no room for more. */
static void land_copies(struct flowtap_drain *drain)
{
	const uint64_t written = flowtap_archive_written(drain->writer);

	for (unsigned int i = 0; i < drain->streams; i++) {
		struct drain_stream *stream = &drain->stream[i];

		for (unsigned int j = 0; j < stream->n; j++) {
			struct drain_flight *flight =
				&stream->flights[(stream->first + j) % DRAIN_FLIGHTS];

			if (flight->copied && flight->copied <= written)
				flight->pending = false;
		}
		land(stream);
	}
}

int flowtap_drain_take(struct flowtap_drain *drain, uint64_t *moved)
{
	int err;

	/* The little first: one flush takes it all, before anything else gets its place. */
	*moved = take_all(drain, true);
	err = flowtap_archive_flush(drain->writer);
	if (err)
		drain_fail(drain, err);
	land_copies(drain);
	if (drain->uring)
		*moved += take_all(drain, false);
	return drain->failed;
}

bool drain_ready(struct flowtap_drain *drain)
{
	for (unsigned int i = 0; i < drain->streams; i++) {
		struct drain_stream *stream = &drain->stream[i];
		struct flowtap_stretch part[2];

		if (!taken_from(stream) || stream->n == DRAIN_FLIGHTS)
			continue;
		if (stream->blocked)
			return true;
		if (!waiting(stream, part) && part[0].size + part[1].size >= stream->reader->size / 4)
			return true;
	}
	return false;
}

/* Returns when nothing is on its way any more. */
static void wait_for_writes(struct flowtap_drain *drain)
{
	while (drain->uring && drain->in_flight) {
		int err = drain_uring_turn(drain, -1);

		if (err < 0 && err != -EINTR) {
			drain_fail(drain, err);
			return;
		}
	}
}

static bool any_blocked(const struct flowtap_drain *drain)
{
	for (unsigned int i = 0; i < drain->streams; i++)
		if (taken_from(&drain->stream[i]) && drain->stream[i].blocked)
			return true;
	return false;
}

int flowtap_drain_settle(struct flowtap_drain *drain)
{
	uint64_t moved;
	int err, saved = errno;

	do {
		err = flowtap_drain_take(drain, &moved);
		wait_for_writes(drain);
		err = err ? err : drain->failed;
	} while (!err && any_blocked(drain));
	if (!err) {
		err = flowtap_archive_settle(drain->writer);
		if (err)
			drain_fail(drain, err);
	}
	errno = saved;
	return err;
}

int flowtap_drain_error(const struct flowtap_drain *drain, int number)
{
	const struct drain_stream *stream = stream_of(drain, number);

	return stream ? stream->error : 0;
}

static int write_copy(struct flowtap_drain *drain, const struct drain_stream *stream,
		      const struct flowtap_stretch *records)
{
	size_t done = 0;
	int err = 0;

	while (!err && done < records->size) {
		struct flowtap_stretch part[2] = {
			{ (const uint8_t *)records->bytes + done, records->size - done }, { NULL, 0 }
		};

		err = cut(part, block_size(stream));
		if (err >= 0)
			err = flowtap_archive_write(drain->writer, FLOWTAP_ARCHIVE_RING,
						    stream->cpu, now(), part[0].bytes,
						    part[0].size, NULL, 0);
		done += part[0].size;
	}
	return err;
}

int flowtap_drain_snapshot(struct flowtap_drain *drain, int number, uint64_t *moved,
			   uint64_t *dropped)
{
	struct drain_stream *stream = stream_of(drain, number);
	struct flowtap_stretch records;
	uint64_t head, fresh;
	void *buffer;
	int err;

	if (!stream)
		return -EINVAL;
	buffer = malloc(stream->reader->size);
	if (!buffer)
		return -ENOMEM;
	err = flowtap_reader_copy(stream->reader, buffer, &records, &head, dropped);
	if (!err) {
		fresh = head - stream->sent;
		fresh = fresh < records.size ? fresh : records.size;
		records.bytes = (const uint8_t *)records.bytes + (records.size - fresh);
		records.size = fresh;
		err = write_copy(drain, stream, &records);
	}
	if (!err) {
		stream->sent = head;
		*moved = records.size;
	}
	free(buffer);
	return err;
}

int flowtap_drain_remove(struct flowtap_drain *drain, int number)
{
	struct drain_stream *stream = stream_of(drain, number);
	int saved = errno;

	if (!known(drain, number))
		return -EINVAL;
	wait_for_writes(drain);
	if (stream) {
		drain_uring_unregister(drain, (unsigned int)(stream - drain->stream));
		memset(stream, 0, sizeof(*stream));
		stream->number = -1;
	}
	drain_uring_forget(drain, number);
	drain->watch[number].used = false;
	drain->watch[number].generation++;
	drain->poll[number].fd = -1;
	errno = saved;
	return drain->failed;
}

int flowtap_drain_switch(struct flowtap_drain *drain, struct flowtap_archive_writer *writer)
{
	if (drain->in_flight)
		return -EBUSY;
	if (drain->uring && !flowtap_archive_placeable(writer))
		return -EINVAL;
	/* Blocks that did not get there are made again. */
	for (unsigned int i = 0; i < drain->streams; i++) {
		struct drain_stream *stream = &drain->stream[i];

		if (!taken_from(stream) || !stream->n)
			continue;
		stream->n = 0;
		stream->sent = __atomic_load_n(&stream->reader->ring->data_tail, __ATOMIC_RELAXED);
	}
	drain->failed = 0;
	drain->writer = writer;
	return 0;
}

void flowtap_drain_close(struct flowtap_drain *drain)
{
	int saved = errno;

	if (!drain)
		return;
	wait_for_writes(drain);
	if (drain->uring)
		drain_uring_close(drain);
	free(drain->stream);
	free(drain->headers);
	free(drain->watch);
	free(drain->poll);
	free(drain);
	errno = saved;
}
