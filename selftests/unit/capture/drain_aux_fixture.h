/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A drain by each method, over made rings with AUX areas into a file, and the reading of that file.
 */
#ifndef FLOWTAP_SELFTESTS_UNIT_CAPTURE_DRAIN_AUX_FIXTURE_H
#define FLOWTAP_SELFTESTS_UNIT_CAPTURE_DRAIN_AUX_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <flowtap/drain.h>
#include <signal.h>

#include "support/drain_method.h"
#include "support/kselftest_harness.h"
#include "support/made_aux.h"

#define STREAMS 2
#define KILO 1024U
#define MEGA (1024U * KILO)

struct reading {
	struct aux_content *cpu[STREAMS];
	unsigned int damages;
};

static inline struct reading read_archive(int fd, off_t start)
{
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	struct reading reading = { 0 };
	int got;

	for (int i = 0; i < STREAMS; i++)
		reading.cpu[i] = calloc(1, sizeof(*reading.cpu[i]));
	lseek(fd, start, SEEK_SET);
	if (flowtap_archive_open(fd, &reader)) {
		reading.damages = 1000;
		return reading;
	}
	while ((got = flowtap_archive_next(reader, &block))) {
		reading.damages += got < 0;
		if (got < 0 || block.cpu >= STREAMS)
			continue;
		if (block.type == FLOWTAP_ARCHIVE_AUX)
			aux_keep(reading.cpu[block.cpu], &block);
		else if (block.type == FLOWTAP_ARCHIVE_RING)
			aux_see(reading.cpu[block.cpu], &block);
	}
	flowtap_archive_reader_free(reader);
	return reading;
}

static inline void forget(struct reading *reading)
{
	for (int i = 0; i < STREAMS; i++) {
		for (size_t j = 0; j < reading->cpu[i]->n; j++)
			free(reading->cpu[i]->pieces[j].bytes);
		free(reading->cpu[i]);
	}
}

FIXTURE(aux)
{
	int fd;
	struct flowtap_archive_writer *writer;
	struct flowtap_drain *drain;
	struct made_aux made[STREAMS];
	int number[STREAMS];
	struct reading reading;
};

FIXTURE_VARIANT(aux)
{
	enum flowtap_drain_method method;
};

FIXTURE_VARIANT_ADD(aux, fixed) { .method = FLOWTAP_DRAIN_FIXED };
FIXTURE_VARIANT_ADD(aux, uring) { .method = FLOWTAP_DRAIN_URING };
FIXTURE_VARIANT_ADD(aux, poll) { .method = FLOWTAP_DRAIN_POLL };

FIXTURE_SETUP(aux)
{
	self->fd = memfd_create("archive", MFD_CLOEXEC);
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(aux)
{
	flowtap_drain_close(self->drain);
	flowtap_archive_writer_free(self->writer);
	for (int i = 0; i < STREAMS; i++)
		unmake_aux(&self->made[i]);
	if (self->reading.cpu[0])
		forget(&self->reading);
	close(self->fd);
}

#define OPEN(ring, area)								\
	do {										\
		struct flowtap_drain_options options_ = { variant->method, STREAMS };	\
											\
		ASSERT_EQ(flowtap_archive_create(self->fd, &self->writer), 0);		\
		ASSERT_EQ(flowtap_drain_open(&options_, self->writer, &self->drain), 0); \
		for (unsigned int i_ = 0; i_ < STREAMS; i_++) {				\
			ASSERT_TRUE(make_aux(&self->made[i_], ring, area));		\
			self->made[i_].cpu = i_;					\
			self->number[i_] =						\
				flowtap_drain_add(self->drain, self->made[i_].made.fd,	\
						  &self->made[i_].made.reader, i_);	\
			ASSERT_GE(self->number[i_], 0);					\
		}									\
	} while (0)
#define OPEN_METHOD(ring, area)								\
	do {										\
		OPEN(ring, area);							\
		if (flowtap_drain_method(self->drain) != variant->method)		\
			SKIP(return, "%s cannot be had here",				\
			     flowtap_drain_method_name(variant->method));		\
	} while (0)
#define READ()										\
	do {										\
		if (self->reading.cpu[0])						\
			forget(&self->reading);						\
		self->reading = read_archive(self->fd, 0);				\
	} while (0)
/* Every record and all its bytes, and that the tails say so. */
#define EXPECT_WHOLE(i)									\
	do {										\
		const struct flowtap_ring *ring_ = self->made[i].made.ring;		\
		const struct aux_content *content_ = self->reading.cpu[i];		\
											\
		EXPECT_EQ(self->reading.damages, 0);					\
		EXPECT_EQ(content_->records, self->made[i].records);			\
		EXPECT_EQ(content_->skipped, 0);					\
		EXPECT_EQ(content_->missing, 0);					\
		EXPECT_EQ(content_->wrong, 0);						\
		EXPECT_EQ(ring_->data_tail, ring_->data_head);				\
		EXPECT_EQ(ring_->aux_tail, ring_->aux_head);				\
	} while (0)

#endif /* FLOWTAP_SELFTESTS_UNIT_CAPTURE_DRAIN_AUX_FIXTURE_H */
