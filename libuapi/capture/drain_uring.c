// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The drain's part that speaks with io_uring. */
#include "capture/drain_internal.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "formats/archive/reserve.h"

#define ENTRIES 64		/* more than that is submitted in several goes */
#define COMPLETIONS 256		/* beyond it the kernel allocates */
#define PATIENCE 1000		/* ms in which it may take nothing, with a block to be written */

/* user_data: of a write its stream, flight and piece; of a poll its number and generation. */
#define POLL (1ULL << 63)
#define NOBODY UINT64_MAX

static uint64_t name_write(unsigned int stream, unsigned int flight, unsigned int piece)
{
	return (uint64_t)stream << 16 | flight << 8 | piece;
}

static uint64_t name_poll(const struct flowtap_drain *drain, int number)
{
	return POLL | (uint64_t)(drain->watch[number].generation & 0x3fffffff) << 32 |
	       (uint32_t)number;
}

/* The fewer interruptions the better, but any kernel that has io_uring will do. */
static int open_ring(struct io_uring *ring)
{
	static const unsigned int wishes[] = {
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,	/* 6.1 */
		0,
	};
	int err = -ENOSYS;

	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		struct io_uring_params params = {
			.flags = IORING_SETUP_CQSIZE | wishes[i],
			.cq_entries = COMPLETIONS,
		};

		err = io_uring_queue_init_params(ENTRIES, ring, &params);
		if (err != -EINVAL)
			break;
	}
	/* 5.17: with it come multishot polls, waits with a time, and no dropped completions. */
	if (!err && !(ring->features & IORING_FEAT_CQE_SKIP)) {
		io_uring_queue_exit(ring);
		err = -ENOSYS;
	}
	return err;
}

/* Whether the buffer could be registered: it is pinned, and counts as locked memory. */
static bool update(struct flowtap_drain *drain, unsigned int slot, const void *bytes, size_t size)
{
	struct iovec buffer = { (void *)bytes, size };
	__u64 tag = 0;

	return drain->table && io_uring_register_buffers_update_tag(&drain->ring, slot, &buffer,
								    &tag, 1) == 1;
}

/* Slot 2n is stream n's ring, 2n + 1 its AUX area, and the last one the heads. */
static unsigned int slots(const struct flowtap_drain *drain)
{
	return 2 * drain->streams + 1;
}

int drain_uring_open(struct flowtap_drain *drain, bool fixed)
{
	size_t heads = (size_t)drain->streams * DRAIN_FLIGHTS * sizeof(*drain->heads);
	unsigned int last = slots(drain) - 1;
	int err = open_ring(&drain->ring);

	if (err)
		return err;
	drain->table = fixed && !io_uring_register_buffers_sparse(&drain->ring, slots(drain));
	drain->heads_buffer = update(drain, last, drain->heads, heads) ? (int)last : -1;
	return 0;
}

void drain_uring_close(struct flowtap_drain *drain)
{
	struct io_uring_sync_cancel_reg all = {
		.flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL,
		.timeout = { .tv_sec = 1 },
	};

	/*
	 * Else the streams are let go of later than we end, and what they lock is the user's still.
	 */
	io_uring_register_sync_cancel(&drain->ring, &all);
	io_uring_get_events(&drain->ring);
	io_uring_queue_exit(&drain->ring);
	drain->uring = false;
}

void drain_uring_register(struct flowtap_drain *drain, unsigned int number)
{
	struct drain_stream *stream = &drain->stream[number];
	const struct flowtap_reader *reader = stream->reader;
	unsigned int slot = 2 * number;
	int saved = errno;

	if (update(drain, slot, reader->data, reader->size))
		stream->buffer = (int)slot;
	if (reader->aux && update(drain, slot + 1, reader->aux, reader->aux_size))
		stream->aux_buffer = (int)slot + 1;
	errno = saved;
}

void drain_uring_unregister(struct flowtap_drain *drain, unsigned int number)
{
	const struct drain_stream *stream = &drain->stream[number];

	if (stream->buffer >= 0)
		update(drain, (unsigned int)stream->buffer, NULL, 0);
	if (stream->aux_buffer >= 0)
		update(drain, (unsigned int)stream->aux_buffer, NULL, 0);
}

/* So many free entries; what is queued is submitted if need be: links end there. 0 or -errno. */
static int try_entries(struct flowtap_drain *drain, unsigned int entries)
{
	int err = 0;

	if (io_uring_sq_space_left(&drain->ring) < entries)
		err = io_uring_submit(&drain->ring);
	if (io_uring_sq_space_left(&drain->ring) >= entries)
		return 0;
	return err < 0 ? err : -EBUSY;
}

static bool look(struct flowtap_drain *drain);

/* The same, and where the kernel takes nothing now it is asked again for a while. */
static int reserve_entries(struct flowtap_drain *drain, unsigned int entries)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	int err = try_entries(drain, entries);

	for (unsigned int tries = 0; drain_passes(err) && tries < PATIENCE; tries++) {
		/* What has ended gives its memory back, and makes space for further completions. */
		io_uring_get_events(&drain->ring);
		if (!drain->looking)
			look(drain);
		nanosleep(&moment, NULL);
		err = try_entries(drain, entries);
	}
	return err;
}

static int arm(struct flowtap_drain *drain, int number)
{
	const struct pollfd *poll = &drain->poll[number];
	int err = try_entries(drain, 1);
	struct io_uring_sqe *sqe;

	if (err)
		return err;
	sqe = io_uring_get_sqe(&drain->ring);
	/* It looks at the fd when it is armed: nothing is missed in between. */
	io_uring_prep_poll_multishot(sqe, poll->fd, (unsigned short)poll->events);
	io_uring_sqe_set_data64(sqe, name_poll(drain, number));
	drain->watch[number].armed = true;
	return 0;
}

void drain_uring_remove(struct flowtap_drain *drain, int number)
{
	struct io_uring_sqe *sqe;

	if (!drain->uring || !drain->watch[number].armed || reserve_entries(drain, 1))
		return;
	sqe = io_uring_get_sqe(&drain->ring);
	io_uring_prep_poll_remove(sqe, name_poll(drain, number));
	io_uring_sqe_set_data64(sqe, NOBODY);
	/* At once, and the file let go of: the caller is going to close the fd. */
	io_uring_submit_and_get_events(&drain->ring);
}

/*
 * From registered memory there is no request with several pieces (before 6.15): they are linked.
 * Only the last one reports success; one that fails or is short reports that and ends the others.
 */
static void queue_linked(struct flowtap_drain *drain, const struct drain_flight *flight,
			 uint64_t name)
{
	int fd = flowtap_archive_fd(drain->writer);
	uint64_t offset = flight->offset;

	for (unsigned int i = flight->next; i < flight->n; i++) {
		const struct iovec *piece = &flight->pieces[i];
		struct io_uring_sqe *sqe = io_uring_get_sqe(&drain->ring);

		io_uring_prep_write_fixed(sqe, fd, piece->iov_base, (unsigned int)piece->iov_len,
					  offset, flight->buffers[i]);
		io_uring_sqe_set_data64(sqe, name + i);
		if (i + 1 < flight->n)
			io_uring_sqe_set_flags(sqe, IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS);
		offset += piece->iov_len;
	}
}

static bool is_registered(const struct drain_flight *flight)
{
	for (unsigned int i = 0; i < flight->n; i++)
		if (flight->buffers[i] < 0)
			return false;
	return true;
}

int drain_uring_write(struct flowtap_drain *drain, unsigned int index, unsigned int number)
{
	const struct drain_flight *flight = &drain->stream[index].flights[number];
	uint64_t name = name_write(index, number, 0);
	struct io_uring_sqe *sqe;
	int err = reserve_entries(drain, flight->n - flight->next);

	if (err)
		return err;
	if (is_registered(flight)) {
		queue_linked(drain, flight, name);
	} else {
		sqe = io_uring_get_sqe(&drain->ring);
		io_uring_prep_writev(sqe, flowtap_archive_fd(drain->writer),
				     &flight->pieces[flight->next], flight->n - flight->next,
				     flight->offset);
		io_uring_sqe_set_data64(sqe, name + flight->next);
	}
	drain->in_flight++;
	return 0;
}

static void polled(struct flowtap_drain *drain, const struct io_uring_cqe *cqe)
{
	int number = (int)(cqe->user_data & 0xffffffff);

	/* One that was forgotten meanwhile, perhaps with another in its place. */
	if (!drain->watch[number].used || cqe->user_data != name_poll(drain, number))
		return;
	if (!(cqe->flags & IORING_CQE_F_MORE))
		drain->watch[number].armed = false;
	if (cqe->res >= 0)
		drain_saw(drain, number, (unsigned int)cqe->res);
	else if (cqe->res != -ECANCELED)
		drain_saw(drain, number, POLLNVAL);
}

static void completed(struct flowtap_drain *drain, const struct io_uring_cqe *cqe)
{
	uint64_t name = cqe->user_data;

	if (name == NOBODY)
		return;
	if (name & POLL) {
		polled(drain, cqe);
		return;
	}
	drain->in_flight--;
	drain_written(drain, (unsigned int)(name >> 16), name >> 8 & 0xff, name & 0xff, cqe->res);
}

static bool look(struct flowtap_drain *drain)
{
	struct io_uring_cqe *cqe;
	unsigned int head, n = 0;

	drain->looking = true;
	io_uring_for_each_cqe(&drain->ring, head, cqe) {
		const struct io_uring_cqe copy = *cqe;

		/* Its place is free for what comes of it. */
		io_uring_cq_advance(&drain->ring, 1);
		completed(drain, &copy);
		n++;
	}
	drain->looking = false;
	return n;
}

static int submit(struct flowtap_drain *drain, int64_t deadline)
{
	struct __kernel_timespec time;
	struct io_uring_cqe *cqe;
	struct timespec now;
	int64_t left;

	if (deadline < 0)
		return io_uring_submit_and_wait_timeout(&drain->ring, &cqe, 1, NULL, NULL);
	clock_gettime(CLOCK_MONOTONIC, &now);
	left = deadline - (now.tv_sec * 1000000000LL + now.tv_nsec);
	if (left <= 0)
		return io_uring_submit_and_get_events(&drain->ring);
	time = (struct __kernel_timespec) { left / 1000000000, left % 1000000000 };
	return io_uring_submit_and_wait_timeout(&drain->ring, &cqe, 1, &time, NULL);
}

int drain_uring_turn(struct flowtap_drain *drain, int64_t deadline)
{
	int err, later = 0;

	for (int i = 0; i < drain->watches && !later; i++) {
		if (!drain->watch[i].used || drain->watch[i].armed || drain->watch[i].dead)
			continue;
		later = arm(drain, i);
		if (later && !drain_passes(later))
			return later;
	}
	/* For what is not waited for there is no waiting. */
	err = submit(drain, later ? 0 : deadline);
	if (look(drain))
		return 1;
	/*
	 * The kernel has no memory now, or too much to report: there was something to look at then.
	 */
	return later ? later : err < 0 ? err : -ETIME;
}
