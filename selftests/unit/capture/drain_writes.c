// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what the drain asks the kernel to write, and that a tail never advances over what is not
 * in the file, whatever becomes of the writes.
 *
 * The program stands between library and kernel: it can shorten writes, lose one, and counts them.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "support/made_aux.h"
#include "support/random.h"
#include "support/seed.h"
#include "unit/capture/drain_fixture.h"

static struct {
	bool shorten;
	unsigned int lose;		/* the nth write by io_uring, from 1 */
	unsigned int shortened;
	unsigned int entries;		/* writes by io_uring */
	unsigned int fixed;		/* of them from registered memory */
	unsigned int calls;		/* of writev and pwritev */
	unsigned int busy;		/* so many waits in which the kernel takes nothing */
	unsigned int refuse;		/* so many submissions of a full queue that it does not take */
	int grow;			/* a file whose limit is lifted when it is so large */
	off_t full;
} fault;

static uint64_t draw(void)
{
	static uint64_t state;

	state = state ? state : seeded(88172645463325252ULL);
	return random_next(&state);
}

/* The disk was full when something was written, and is not any more. */
static void lift_limit(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	struct stat stat_of;

	if (!fault.full || fstat(fault.grow, &stat_of) || stat_of.st_size < fault.full)
		return;
	setrlimit(RLIMIT_FSIZE, &limit);
	fault.full = 0;
}

/* What the kernel does to those that are linked to one that was short: they say nothing. */
static void cancel_linked(struct io_uring *ring, unsigned int first)
{
	bool linked = true;

	for (unsigned int i = first; linked && i != ring->sq.sqe_tail; i++) {
		struct io_uring_sqe *sqe = &ring->sq.sqes[i & ring->sq.ring_mask];

		linked = sqe->flags & IOSQE_IO_LINK;
		io_uring_prep_nop(sqe);
		sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
	}
}

static void shorten_entry(struct io_uring *ring, unsigned int i)
{
	static struct iovec parts[64];
	struct io_uring_sqe *sqe = &ring->sq.sqes[i & ring->sq.ring_mask];
	struct iovec *part = &parts[i % 64];

	if (sqe->opcode == IORING_OP_WRITEV) {
		*part = *(struct iovec *)(uintptr_t)sqe->addr;
		part->iov_len = 1 + draw() % part->iov_len;
		sqe->addr = (uintptr_t)part;
		sqe->len = 1;
	} else {
		sqe->len = 1 + (unsigned int)(draw() % sqe->len);
		if (sqe->flags & IOSQE_IO_LINK)
			cancel_linked(ring, i + 1);
		sqe->flags = 0;
	}
	fault.shortened++;
}

/* Entries that the kernel is about to be given. */
static void tamper(struct io_uring *ring)
{
	for (unsigned int i = ring->sq.sqe_head; i != ring->sq.sqe_tail; i++) {
		struct io_uring_sqe *sqe = &ring->sq.sqes[i & ring->sq.ring_mask];
		uint64_t name = sqe->user_data;

		if (sqe->opcode != IORING_OP_WRITEV && sqe->opcode != IORING_OP_WRITE_FIXED)
			continue;
		fault.fixed += sqe->opcode == IORING_OP_WRITE_FIXED;
		if (++fault.entries == fault.lose) {
			if (sqe->flags & IOSQE_IO_LINK)
				cancel_linked(ring, i + 1);
			io_uring_prep_nop(sqe);
			sqe->flags = 0;
			sqe->user_data = name;
		} else if (fault.shorten && draw() % 3 == 0) {
			shorten_entry(ring, i);
		}
	}
	lift_limit();
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int io_uring_submit(struct io_uring *ring)
{
	if (fault.refuse) {
		fault.refuse--;
		return fault.refuse % 2 ? -EAGAIN : -EBUSY;
	}
	tamper(ring);
	return REAL(io_uring_submit)(ring);
}

int io_uring_submit_and_get_events(struct io_uring *ring)
{
	tamper(ring);
	return REAL(io_uring_submit_and_get_events)(ring);
}

int io_uring_submit_and_wait_timeout(struct io_uring *ring, struct io_uring_cqe **cqe,
				     unsigned int n, struct __kernel_timespec *time, sigset_t *mask)
{
	if (fault.busy) {
		fault.busy--;
		return fault.busy % 2 ? -EAGAIN : -EBUSY;
	}
	tamper(ring);
	return REAL(io_uring_submit_and_wait_timeout)(ring, cqe, n, time, mask);
}

/* One part of it, and that not to its end. */
static struct iovec shortened(const struct iovec *parts)
{
	struct iovec part = parts[0];

	if (part.iov_len > 1) {
		part.iov_len = 1 + draw() % (part.iov_len - 1);
		fault.shortened++;
	}
	return part;
}

ssize_t writev(int fd, const struct iovec *parts, int n)
{
	struct iovec part;

	fault.calls++;
	lift_limit();
	if (!fault.shorten || draw() % 3)
		return REAL(writev)(fd, parts, n);
	part = shortened(parts);
	return REAL(writev)(fd, &part, 1);
}

ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t offset)
{
	struct iovec part;

	fault.calls++;
	lift_limit();
	if (!fault.shorten || draw() % 3)
		return REAL(pwritev)(fd, parts, n, offset);
	part = shortened(parts);
	return REAL(pwritev)(fd, &part, 1, offset);
}

TEST_F(drain, every_record_comes_once_and_whole)
{
	struct reading reading;

	OPEN_METHOD(2, 65536);
	ASSERT_EQ(run(self->drain, self->made, 2, 40000), 0);
	EXPECT_EQ(lseek(self->fd, 0, SEEK_CUR), lseek(self->fd, 0, SEEK_END));
	EXPECT_EQ(lseek(self->fd, 0, SEEK_CUR), flowtap_archive_size(self->writer));
	reading = read_archive(self->fd, 0);
	EXPECT_ALL(reading, 2, 40000);
	EXPECT_EQ(fault.entries > 20, variant->method != FLOWTAP_DRAIN_POLL);
	EXPECT_EQ(fault.entries == 0, variant->method == FLOWTAP_DRAIN_POLL);
	EXPECT_EQ(fault.fixed, variant->method == FLOWTAP_DRAIN_FIXED ? fault.entries : 0);
}

TEST_F(drain, short_writes_are_continued)
{
	struct reading reading;

	fault.shorten = true;
	OPEN_METHOD(2, 65536);
	ASSERT_EQ(run(self->drain, self->made, 2, 40000), 0);
	EXPECT_GT(fault.shortened, 30);
	reading = read_archive(self->fd, 0);
	EXPECT_ALL(reading, 2, 40000);
}

/* The kernel has no memory for a while: what is on its way is waited for nevertheless. */
TEST_F(drain, a_kernel_that_takes_nothing_now_is_asked_again)
{
	struct reading reading;

	OPEN_METHOD(2, 65536);
	produce(&self->made[0], 160);
	fault.busy = 5;
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	EXPECT_EQ(fault.busy, variant->method == FLOWTAP_DRAIN_POLL ? 5 : 0);
	fault.busy = 0;
	reading = read_archive(self->fd, 0);
	EXPECT_ALL(reading, 1, 160);
}

TEST_F(drain, a_kernel_that_takes_nothing_now_ends_no_waiting)
{
	struct reading reading;

	OPEN_METHOD(2, 65536);
	fault.busy = 2;
	/* Whether it is for ever, or not at all. */
	if (variant->method != FLOWTAP_DRAIN_POLL)
		EXPECT_EQ(0, flowtap_drain_wait(self->drain, -1));
	EXPECT_LE(0, flowtap_drain_wait(self->drain, 0));
	fault.busy = 0;
	produce(&self->made[0], 160);
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	reading = read_archive(self->fd, 0);
	EXPECT_ALL(reading, 1, 160);
}

/* More is to be written than its queue holds, when it takes none of that. */
TEST_F(drain, a_queue_that_the_kernel_does_not_take_now_is_handed_over_later)
{
	struct reading reading;
	uint64_t moved;

	OPEN_METHOD(RINGS, 1 << 18);
	fault.refuse = 5;
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < RINGS; i++)
			produce(&self->made[i], 100);
		ASSERT_EQ(flowtap_drain_collect(self->drain, &moved), 0);
	}
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	/* Its blocks take several entries each. */
	if (variant->method == FLOWTAP_DRAIN_FIXED)
		EXPECT_EQ(0, fault.refuse);
	fault.refuse = 0;
	reading = read_archive(self->fd, 0);
	EXPECT_ALL(reading, RINGS, 500);
}

/* Nor when it is to tell of more files than its queue holds. */
TEST_F(drain, what_cannot_be_waited_for_now_is_waited_for_later)
{
	int fds[100], numbers[100];

	OPEN_METHOD(1, 65536);
	for (int i = 0; i < 100; i++) {
		fds[i] = eventfd(i == 99, EFD_CLOEXEC);
		numbers[i] = flowtap_drain_watch(self->drain, fds[i], POLLIN);
		ASSERT_LE(0, numbers[i]);
	}
	fault.refuse = 1;
	EXPECT_LE(0, flowtap_drain_wait(self->drain, 0));
	fault.refuse = 0;
	EXPECT_EQ(1, flowtap_drain_wait(self->drain, -1));
	EXPECT_EQ(POLLIN, flowtap_drain_events(self->drain, numbers[99]));
	for (int i = 0; i < 100; i++)
		close(fds[i]);
}

/* And those that the kernel itself makes short, wherever in a block. */
TEST_F(drain, writes_that_the_kernel_shortens_are_continued)
{
	off_t end = 50 * 1000;

	for (unsigned int round = 0; round < 60; round++) {
		struct rlimit limit = { 0, RLIM_INFINITY };
		struct reading reading;

		fault.grow = self->fd;
		/*
		 * Also within the header of a block; never where a piece ends: that is no short
		 * write.
		 */
		limit.rlim_cur = round % 2 ? (rlim_t)end + round * 997 : (rlim_t)(end + 4 * round + 1);
		ASSERT_EQ(ftruncate(self->fd, 0), 0);
		lseek(self->fd, 0, SEEK_SET);
		OPEN_METHOD(1, 65536);
		produce(&self->made[0], 160);
		ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
		end = lseek(self->fd, 0, SEEK_CUR) - 40;
		if (round)
			fault.full = (off_t)limit.rlim_cur;
		if (round)
			ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
		/* One block at a time: one after the short one would be refused. */
		for (int i = 0; i < 5; i++) {
			produce(&self->made[0], 200);
			ASSERT_EQ(flowtap_drain_flush(self->drain), 0) TH_LOG("round %u", round);
		}
		EXPECT_EQ(fault.full, 0);
		reading = read_archive(self->fd, 0);
		EXPECT_ALL(reading, 1, 1160);
		flowtap_drain_close(self->drain);
		flowtap_archive_writer_free(self->writer);
		unmake(&self->made[0]);
		self->drain = NULL;
		self->writer = NULL;
	}
}

/* What was written so far is; from now on there is no room. */
static void fill_up(int fd, struct flowtap_archive_writer *writer)
{
	int full = open("/dev/full", O_RDWR);

	flowtap_archive_flush(writer);
	dup2(full, fd);
	close(full);
}

TEST_F(drain, a_full_disk_is_told_and_the_tail_stays)
{
	uint64_t moved;

	OPEN_METHOD(2, 65536);
	fill_up(self->fd, self->writer);
	/* Little of one, and much of the other. */
	produce(&self->made[0], 5);
	produce(&self->made[1], 200);
	EXPECT_EQ(flowtap_drain_flush(self->drain), -ENOSPC);
	EXPECT_EQ(self->made[0].ring->data_tail, 0);
	EXPECT_EQ(self->made[1].ring->data_tail, 0);
	EXPECT_EQ(flowtap_drain_wait(self->drain, 0), -ENOSPC);
	EXPECT_EQ(flowtap_drain_collect(self->drain, &moved), -ENOSPC);
	EXPECT_EQ(flowtap_archive_flush(self->writer), -ENOSPC);
}

TEST_F(drain, a_write_out_of_the_ring_that_finds_no_room)
{
	OPEN_METHOD(1, 65536);
	fill_up(self->fd, self->writer);
	produce(&self->made[0], 200);
	EXPECT_EQ(flowtap_drain_flush(self->drain), -ENOSPC);
	EXPECT_EQ(fault.entries, FLOWTAP_DRAIN_POLL - variant->method);
	EXPECT_EQ(self->made[0].ring->data_tail, 0);
	EXPECT_EQ(flowtap_archive_flush(self->writer), -ENOSPC);
}

TEST_F(drain, where_a_write_fails_what_went_before_is_good)
{
	struct rlimit limit = { 700001, RLIM_INFINITY };
	struct reading reading;

	OPEN_METHOD(2, 65536);
	ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	EXPECT_EQ(run(self->drain, self->made, 2, 40000), -EFBIG);
	limit.rlim_cur = RLIM_INFINITY;
	ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	/* Of a failed write of copies nothing is there. */
	EXPECT_LE(lseek(self->fd, 0, SEEK_END), 700001);
	reading = read_archive(self->fd, 0);
	EXPECT_LE(reading.damages, 1);
	EXPECT_LT(600000, reading.cpu[0].bytes + reading.cpu[1].bytes);
	for (int i = 0; i < 2; i++) {
		EXPECT_FALSE(reading.cpu[i].wrong);
		EXPECT_EQ(self->made[i].ring->data_tail, reading.cpu[i].bytes);
	}
}

/* Of what waits in two rings, several blocks each, some have room: their tails go on, no others. */
TEST_F(drain, what_had_room_is_not_told_again)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct rlimit limit = unlimited;
	uint64_t there = 0, moved;

	for (limit.rlim_cur = 100001; limit.rlim_cur < 1000000; limit.rlim_cur += 100000) {
		struct reading reading;

		ASSERT_EQ(ftruncate(self->fd, 0), 0);
		lseek(self->fd, 0, SEEK_SET);
		OPEN_METHOD(2, 1 << 20);
		produce(&self->made[0], 3000);
		produce(&self->made[1], 3000);
		ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
		flowtap_drain_collect(self->drain, &moved);
		EXPECT_EQ(flowtap_drain_flush(self->drain), -EFBIG);
		ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
		reading = read_archive(self->fd, 0);
		for (int i = 0; i < 2; i++)
			EXPECT_EQ(self->made[i].ring->data_tail, reading.cpu[i].bytes);
		there += reading.cpu[0].bytes;
		flowtap_drain_close(self->drain);
		flowtap_archive_writer_free(self->writer);
		unmake(&self->made[0]);
		unmake(&self->made[1]);
		self->drain = NULL;
		self->writer = NULL;
	}
	EXPECT_LT(0, there);
}

TEST_F(drain, a_lost_write_is_an_error_and_a_damage)
{
	struct reading reading;
	uint64_t moved;

	/* write does not lose any. */
	if (variant->method == FLOWTAP_DRAIN_POLL)
		return;
	OPEN_METHOD(2, 65536);
	produce(&self->made[0], 200);
	produce(&self->made[1], 200);
	fault.lose = variant->method == FLOWTAP_DRAIN_FIXED ? 2 : 1;	/* the first's payload */
	ASSERT_EQ(flowtap_drain_collect(self->drain, &moved), 0);
	EXPECT_EQ(flowtap_drain_flush(self->drain), -EIO);
	EXPECT_EQ(self->made[0].ring->data_tail, 0);
	EXPECT_EQ(self->made[1].ring->data_tail, self->made[1].ring->data_head);
	reading = read_archive(self->fd, 0);
	EXPECT_EQ(reading.damages, 1);
	EXPECT_EQ(reading.bad_bytes, 24 + self->made[0].ring->data_head);
	EXPECT_EQ(reading.cpu[0].records, 0);
	EXPECT_EQ(reading.cpu[1].records, 200);
	EXPECT_FALSE(reading.cpu[1].wrong);
}

TEST_F(drain, what_one_archive_did_not_take_goes_into_the_next)
{
	struct flowtap_archive_writer *next;
	int fd = memfd_create("next", MFD_CLOEXEC);
	struct reading reading;
	uint64_t moved;

	OPEN_METHOD(1, 65536);
	fill_up(self->fd, self->writer);
	produce(&self->made[0], 200);
	EXPECT_EQ(flowtap_drain_flush(self->drain), -ENOSPC);
	ASSERT_EQ(flowtap_archive_create(fd, &next), 0);
	ASSERT_EQ(flowtap_drain_switch(self->drain, next), 0);
	ASSERT_EQ(flowtap_drain_collect(self->drain, &moved), 0);
	EXPECT_EQ(moved, self->made[0].ring->data_head);
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	reading = read_archive(fd, 0);
	EXPECT_ALL(reading, 1, 200);
	flowtap_archive_writer_free(next);
	close(fd);
}

/*
 * What the stream recorded after a block that was lost is written, but comes once: with that block.
 */
TEST_F(drain, what_follows_a_lost_write_is_in_the_next_archive_only)
{
	int fd = memfd_create("next", MFD_CLOEXEC);

	/* write does not lose any. */
	if (variant->method == FLOWTAP_DRAIN_POLL)
		return;
	for (int little = 0; little < 2; little++) {
		const unsigned int more = little ? 10 : 200;
		struct flowtap_archive_writer *next;
		struct reading reading;
		uint64_t moved;

		ASSERT_EQ(ftruncate(self->fd, 0), 0);
		ASSERT_EQ(ftruncate(fd, 0), 0);
		lseek(self->fd, 0, SEEK_SET);
		lseek(fd, 0, SEEK_SET);
		OPEN_METHOD(2, 1 << 20);
		produce(&self->made[0], 200);
		fault.entries = 0;
		fault.lose = variant->method == FLOWTAP_DRAIN_FIXED ? 2 : 1;
		ASSERT_EQ(flowtap_drain_collect(self->drain, &moved), 0);
		produce(&self->made[0], more);
		produce(&self->made[1], 300);
		EXPECT_EQ(flowtap_drain_flush(self->drain), -EIO);
		EXPECT_EQ(self->made[0].ring->data_tail, 0);
		reading = read_archive(self->fd, 0);
		EXPECT_EQ(reading.cpu[0].records, 0) TH_LOG("%u", more);
		EXPECT_EQ(reading.cpu[1].records, 300);
		ASSERT_EQ(flowtap_archive_create(fd, &next), 0);
		ASSERT_EQ(flowtap_drain_switch(self->drain, next), 0);
		ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
		reading = read_archive(fd, 0);
		EXPECT_EQ(reading.damages, 0);
		EXPECT_EQ(reading.cpu[0].records, 200 + more);
		EXPECT_FALSE(reading.cpu[0].wrong);
		flowtap_drain_close(self->drain);
		flowtap_archive_writer_free(self->writer);
		flowtap_archive_writer_free(next);
		unmake(&self->made[0]);
		unmake(&self->made[1]);
		self->drain = NULL;
		self->writer = NULL;
	}
	close(fd);
}

TEST_F(drain, little_of_many_rings_is_one_write)
{
	struct reading reading;
	uint64_t moved;

	OPEN_METHOD(RINGS, 65536);
	for (int i = 0; i < RINGS; i++)
		produce(&self->made[i], 5);
	fault.calls = fault.entries = 0;
	ASSERT_EQ(flowtap_drain_collect(self->drain, &moved), 0);
	EXPECT_EQ(fault.calls, 1);
	EXPECT_EQ(fault.entries, 0);
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	reading = read_archive(self->fd, 0);
	EXPECT_ALL(reading, RINGS, 5);
}

/* A drain of one stream with an AUX area. */
#define OPEN_AUX(aux, ring, area)							\
	do {										\
		struct flowtap_drain_options options_ = { variant->method, 1 };		\
											\
		ASSERT_EQ(flowtap_archive_create(self->fd, &self->writer), 0);		\
		ASSERT_EQ(flowtap_drain_open(&options_, self->writer, &self->drain), 0); \
		ASSERT_TRUE(make_aux(aux, ring, area));					\
		self->number[0] = flowtap_drain_add(self->drain, (aux)->made.fd,		\
						    &(aux)->made.reader, 0);		\
		ASSERT_GE(self->number[0], 0);						\
		if (flowtap_drain_method(self->drain) != variant->method)		\
			SKIP(return, "%s cannot be had here",				\
			     flowtap_drain_method_name(variant->method));		\
	} while (0)

static struct aux_content *read_aux(int fd, unsigned int *damages)
{
	struct aux_content *content = calloc(1, sizeof(*content));
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	int got;

	*damages = 0;
	lseek(fd, 0, SEEK_SET);
	if (flowtap_archive_open(fd, &reader))
		abort();
	while ((got = flowtap_archive_next(reader, &block))) {
		*damages += got < 0;
		if (got > 0 && block.type == FLOWTAP_ARCHIVE_AUX)
			aux_keep(content, &block);
		else if (got > 0 && block.type == FLOWTAP_ARCHIVE_RING)
			aux_see(content, &block);
	}
	flowtap_archive_reader_free(reader);
	for (size_t i = 0; i < content->n; i++)
		free(content->pieces[i].bytes);
	return content;
}

TEST_F(drain, short_writes_of_aux_areas_are_continued)
{
	struct aux_content *content;
	unsigned int damages;
	struct made_aux aux;

	fault.shorten = true;
	OPEN_AUX(&aux, 16384, 262144);
	for (int i = 0; i < 60; i++) {
		ASSERT_TRUE(aux_produce(&aux, 6));
		ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	}
	EXPECT_GT(fault.shortened, 10);
	EXPECT_EQ(aux.made.ring->aux_tail, aux.made.ring->aux_head);
	content = read_aux(self->fd, &damages);
	EXPECT_EQ(damages, 0);
	EXPECT_EQ(content->records, 360);
	EXPECT_EQ(content->missing, 0);
	EXPECT_EQ(content->wrong, 0);
	free(content);
	flowtap_drain_close(self->drain);
	self->drain = NULL;
	unmake_aux(&aux);
}

/*
 * The nth write is lost: of the bytes' block header, bytes, zeros; of the records' header, records.
 */
TEST_F(drain, neither_tail_passes_a_write_that_was_lost)
{
	/* write does not lose any. */
	if (variant->method == FLOWTAP_DRAIN_POLL)
		return;
	for (unsigned int lose = 1; lose <= (variant->method == FLOWTAP_DRAIN_FIXED ? 5 : 2); lose++) {
		struct aux_content *content;
		uint64_t data_tail, moved;
		unsigned int damages;
		struct made_aux aux;

		ASSERT_EQ(ftruncate(self->fd, 0), 0);
		lseek(self->fd, 0, SEEK_SET);
		OPEN_AUX(&aux, 16384, 262144);
		aux_add(&aux, 0, 20001);
		ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
		data_tail = aux.made.ring->data_tail;
		aux_add(&aux, 3, 30001);
		aux_add(&aux, 0, 40001);
		fault.entries = 0;
		fault.lose = lose;
		ASSERT_EQ(flowtap_drain_collect(self->drain, &moved), 0);
		EXPECT_EQ(flowtap_drain_flush(self->drain), -EIO) TH_LOG("%u", lose);
		EXPECT_EQ(aux.made.ring->aux_tail, 20001) TH_LOG("%u", lose);
		EXPECT_EQ(aux.made.ring->data_tail, data_tail);
		content = read_aux(self->fd, &damages);
		EXPECT_EQ(damages, 1) TH_LOG("%u", lose);
		EXPECT_EQ(content->wrong, 0);
		free(content);
		flowtap_drain_close(self->drain);
		flowtap_archive_writer_free(self->writer);
		self->drain = NULL;
		self->writer = NULL;
		unmake_aux(&aux);
		fault.lose = 0;
	}
}

TEST_HARNESS_MAIN
