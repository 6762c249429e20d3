/* SPDX-License-Identifier: GPL-2.0-only */
/* A drain by each method, over made rings into a file, and the reading of that file. */
#ifndef FLOWTAP_SELFTESTS_UNIT_CAPTURE_DRAIN_FIXTURE_H
#define FLOWTAP_SELFTESTS_UNIT_CAPTURE_DRAIN_FIXTURE_H

#include <errno.h>
#include <flowtap/drain.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/drain_method.h"
#include "support/kselftest_harness.h"
#include "support/made_ring.h"

/* What an archive holds of one stream. */
struct content {
	uint64_t records;
	uint64_t bytes;
	unsigned int blocks;
	bool wrong;			/* a record is not the one after its predecessor */
};

struct reading {
	int opened;
	struct content cpu[RINGS];
	unsigned int damages;
	uint64_t bad_bytes;
	bool ended;
};

static void read_records(struct content *content, const struct flowtap_archive_block *block)
{
	const struct flowtap_record *record;
	size_t offset = 0;

	for (; !flowtap_record_at(block->payload, block->size, offset, &record);
	     offset += record->size)
		content->wrong |= !is_record(record, content->records++);
	content->wrong |= offset != block->size;
	content->bytes += block->size;
	content->blocks++;
}

static struct reading read_archive(int fd, off_t start)
{
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	struct reading reading = { 0 };
	int got;

	lseek(fd, start, SEEK_SET);
	reading.opened = flowtap_archive_open(fd, &reader);
	if (reading.opened)
		return reading;
	while ((got = flowtap_archive_next(reader, &block))) {
		reading.damages += got < 0;
		if (got > 0 && block.type == FLOWTAP_ARCHIVE_RING && block.cpu < RINGS)
			read_records(&reading.cpu[block.cpu], &block);
		reading.ended |= got > 0 && block.type == FLOWTAP_ARCHIVE_END;
	}
	flowtap_archive_error(reader, &reading.bad_bytes);
	flowtap_archive_reader_free(reader);
	return reading;
}

FIXTURE(drain)
{
	int fd;
	struct flowtap_archive_writer *writer;
	struct flowtap_drain *drain;
	struct made made[RINGS];
	int number[RINGS];
};

FIXTURE_VARIANT(drain)
{
	enum flowtap_drain_method method;
};

FIXTURE_VARIANT_ADD(drain, fixed) { .method = FLOWTAP_DRAIN_FIXED };
FIXTURE_VARIANT_ADD(drain, uring) { .method = FLOWTAP_DRAIN_URING };
FIXTURE_VARIANT_ADD(drain, poll) { .method = FLOWTAP_DRAIN_POLL };

FIXTURE_SETUP(drain)
{
	signal(SIGXFSZ, SIG_IGN);
	self->fd = memfd_create("archive", MFD_CLOEXEC);
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(drain)
{
	flowtap_drain_close(self->drain);
	flowtap_archive_writer_free(self->writer);
	for (int i = 0; i < RINGS; i++)
		if (self->made[i].ring)
			unmake(&self->made[i]);
	close(self->fd);
}

/* A drain of `rings` rings with `size` bytes of data each, into self->fd. */
#define OPEN(rings, data_size, wanted)							\
	do {										\
		struct flowtap_drain_options options_ = { wanted, rings };		\
											\
		ASSERT_EQ(flowtap_archive_create(self->fd, &self->writer), 0);		\
		ASSERT_EQ(flowtap_drain_open(&options_, self->writer, &self->drain), 0); \
		for (unsigned int i_ = 0; i_ < rings; i_++) {				\
			ASSERT_TRUE(make(&self->made[i_], data_size));			\
			self->number[i_] = flowtap_drain_add(self->drain, self->made[i_].fd, \
							     &self->made[i_].reader, i_); \
			ASSERT_GE(self->number[i_], 0);					\
		}									\
	} while (0)
#define OPEN_METHOD(rings, data_size)							\
	do {										\
		OPEN(rings, data_size, variant->method);				\
		if (flowtap_drain_method(self->drain) != variant->method)		\
			SKIP(return, "%s cannot be had here",				\
			     flowtap_drain_method_name(variant->method));		\
	} while (0)

/* Drains until each ring's producer has written `count` records. */
static int run(struct flowtap_drain *drain, struct made *made, unsigned int rings, uint64_t count)
{
	uint64_t moved, total = 0, wanted = 0, ticks;
	pthread_t threads[RINGS];
	int err = 0, flushed;

	for (unsigned int i = 0; i < rings; i++) {
		made[i].count = count;
		wanted += bytes_of(made[i].written, made[i].written + count);
		pthread_create(&threads[i], NULL, producer, &made[i]);
	}
	while (err >= 0 && total < wanted) {
		err = flowtap_drain_wait(drain, 1000);
		for (unsigned int i = 0; i < rings; i++)
			(void)!read(made[i].fd, &ticks, sizeof(ticks));
		if (err >= 0)
			err = flowtap_drain_collect(drain, &moved);
		total += moved;
	}
	for (unsigned int i = 0; i < rings; i++) {
		if (err < 0)
			__atomic_store_n(&made[i].stop, true, __ATOMIC_RELAXED);
		pthread_join(threads[i], NULL);
	}
	/* Also after an error: what is on its way arrives. */
	flushed = flowtap_drain_flush(drain);
	return err < 0 ? err : flushed;
}

#define EXPECT_ALL(reading, rings, n)							\
	do {										\
		EXPECT_EQ((reading).opened, 0);						\
		EXPECT_EQ((reading).damages, 0);					\
		for (unsigned int i_ = 0; i_ < rings; i_++) {				\
			EXPECT_FALSE((reading).cpu[i_].wrong);				\
			EXPECT_EQ((reading).cpu[i_].records, n);			\
			EXPECT_EQ(self->made[i_].ring->data_tail,			\
				  self->made[i_].ring->data_head);			\
		}									\
	} while (0)

#endif /* FLOWTAP_SELFTESTS_UNIT_CAPTURE_DRAIN_FIXTURE_H */
