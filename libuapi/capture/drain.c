// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Streams, and their positions. */
#include "capture/drain_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "formats/archive/reserve.h"

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

static int make_heads(struct flowtap_drain *drain)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = (size_t)drain->streams * DRAIN_FLIGHTS * sizeof(*drain->heads);

	drain->heads = aligned_alloc(page, (size + page - 1) & ~(page - 1));
	if (!drain->heads)
		return -ENOMEM;
	memset(drain->heads, 0, size);
	return 0;
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
	drain->heads_buffer = -1;
	drain->stream = calloc(drain->streams, sizeof(*drain->stream));
	if (!drain->stream || make_heads(drain)) {
		flowtap_drain_close(drain);
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < drain->streams; i++)
		drain->stream[i].number = -1;
	if (options->method != FLOWTAP_DRAIN_POLL && flowtap_archive_can_reserve(writer))
		drain->uring = !drain_uring_open(drain, options->method == FLOWTAP_DRAIN_FIXED);
	errno = saved;
	*out = drain;
	return 0;
}

/* Nothing is taken but what was before the tails. */
static void from_tails(struct drain_stream *stream)
{
	const struct flowtap_ring *ring = stream->reader->ring;

	stream->sent = __atomic_load_n(&ring->data_tail, __ATOMIC_RELAXED);
	stream->aux_end = __atomic_load_n(&ring->aux_tail, __ATOMIC_RELAXED);
	stream->aux_sent = stream->aux_end;
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
		.aux_buffer = -1,
		.most = UINT64_MAX,
	};
	from_tails(stream);
	drain->watch[number].stream = (int)i;
	if (!reader->overwrite)
		drain_uring_register(drain, i);
	return number;
}

static bool known(const struct flowtap_drain *drain, int number)
{
	return number >= 0 && number < drain->watches && drain->watch[number].used;
}

struct drain_stream *drain_stream_of(const struct flowtap_drain *drain, int number)
{
	if (!known(drain, number) || drain->watch[number].stream < 0)
		return NULL;
	return &drain->stream[drain->watch[number].stream];
}

enum flowtap_drain_method flowtap_drain_method(const struct flowtap_drain *drain)
{
	if (!drain->uring)
		return FLOWTAP_DRAIN_POLL;
	if (drain->heads_buffer < 0)
		return FLOWTAP_DRAIN_URING;
	for (unsigned int i = 0; i < drain->streams; i++) {
		const struct drain_stream *stream = &drain->stream[i];

		if (stream->number < 0 || stream->reader->overwrite)
			continue;
		if (stream->buffer < 0 || (stream->reader->aux && stream->aux_buffer < 0))
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

/* The tails go over the blocks that are in the file, none of those before them missing. */
static void land(struct drain_stream *stream)
{
	const struct drain_flight *last = NULL;

	while (stream->n && !stream->flights[stream->first].pending) {
		last = &stream->flights[stream->first];
		stream->first = (stream->first + 1) % DRAIN_FLIGHTS;
		stream->n--;
	}
	if (!last)
		return;
	if (stream->reader->aux)
		flowtap_reader_advance_aux(stream->reader, last->aux_end);
	flowtap_reader_advance(stream->reader, last->end);
}

/* Goes on by so many bytes; how many there were too many. */
static size_t advance(struct drain_flight *flight, size_t bytes)
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
		advance(flight, flight->pieces[flight->next].iov_len);
	if (result >= 0)
		err = !result || advance(flight, (size_t)result) ? -EIO : 0;
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

static uint64_t take_all(struct flowtap_drain *drain, bool little)
{
	uint64_t moved = 0;

	for (unsigned int i = 0; i < drain->streams; i++) {
		struct drain_stream *stream = &drain->stream[i];
		bool rest = false;

		if (!drain_takes(stream))
			continue;
		do
			rest = drain_take_block(drain, stream, little, rest, &moved);
		while (rest);
	}
	return moved;
}

/* What was copied is in the file, or some of it, if that has no space for more. */
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

int flowtap_drain_collect(struct flowtap_drain *drain, uint64_t *moved)
{
	int err;

	/* For both passes: what one has left the other may not be for. */
	for (unsigned int i = 0; i < drain->streams; i++)
		drain->stream[i].blocked = false;
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

/*
 * Returns when nothing is on its way any more: whoever gave up before would close a file that is
 * written to.
 */
static void wait_for_writes(struct flowtap_drain *drain)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	while (drain->uring && drain->in_flight) {
		int err = drain_uring_turn(drain, -1);

		if (drain_passes(err)) {
			nanosleep(&moment, NULL);
		} else if (err < 0 && err != -EINTR) {
			drain_fail(drain, err);
			return;
		}
	}
}

static bool any_blocked(const struct flowtap_drain *drain)
{
	for (unsigned int i = 0; i < drain->streams; i++)
		if (drain_takes(&drain->stream[i]) && drain->stream[i].blocked)
			return true;
	return false;
}

/* What no tail has passed is going to be written again: the archive is not to have it as well. */
static void withdraw_blocks(struct flowtap_drain *drain)
{
	for (unsigned int i = 0; i < drain->streams; i++) {
		struct drain_stream *stream = &drain->stream[i];

		for (unsigned int j = 0; j < stream->n; j++)
			flowtap_archive_withdraw(
				drain->writer,
				stream->flights[(stream->first + j) % DRAIN_FLIGHTS].begin);
	}
}

int flowtap_drain_flush(struct flowtap_drain *drain)
{
	uint64_t moved;
	int err, saved = errno;

	do {
		err = flowtap_drain_collect(drain, &moved);
		wait_for_writes(drain);
		err = err ? err : drain->failed;
	} while (!err && any_blocked(drain));
	if (!err) {
		err = flowtap_archive_seek_end(drain->writer);
		if (err)
			drain_fail(drain, err);
	}
	if (err && !drain->in_flight)
		withdraw_blocks(drain);
	errno = saved;
	return err;
}

int flowtap_drain_error(const struct flowtap_drain *drain, int number)
{
	const struct drain_stream *stream = drain_stream_of(drain, number);

	return stream ? stream->error : 0;
}

int flowtap_drain_remove(struct flowtap_drain *drain, int number)
{
	struct drain_stream *stream = drain_stream_of(drain, number);
	int saved = errno;

	if (!known(drain, number))
		return -EINVAL;
	wait_for_writes(drain);
	if (stream) {
		drain_uring_unregister(drain, (unsigned int)(stream - drain->stream));
		memset(stream, 0, sizeof(*stream));
		stream->number = -1;
	}
	drain_uring_remove(drain, number);
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
	if (drain->uring && !flowtap_archive_can_reserve(writer))
		return -EINVAL;
	/* Blocks that did not get there are made again. */
	for (unsigned int i = 0; i < drain->streams; i++) {
		struct drain_stream *stream = &drain->stream[i];

		/* Of a ring that overwrites the new archive has nothing yet. */
		if (stream->number >= 0 && stream->reader->overwrite)
			from_tails(stream);
		if (!drain_takes(stream) || !stream->n)
			continue;
		stream->n = 0;
		from_tails(stream);
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
	free(drain->heads);
	free(drain->watch);
	free(drain->poll);
	free(drain);
	errno = saved;
}
