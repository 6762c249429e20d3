// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that a replay finds the bytes of each AUX record, and of no other stream, whatever the
 * archive lacks, and that records of one moment come in the order in which they happened.
 */
#include <errno.h>
#include <flowtap/replay.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cpus.h"
#include "support/kselftest_harness.h"

#define MANY 64

/* What a record's bytes were. */
struct seen {
	size_t n;
	struct {
		uint32_t type;
		uint32_t cpu;
		uint32_t tid;
		uint64_t sequence;
		long got;		/* of flowtap_replay_aux */
		uint64_t next;		/* of flowtap_replay_aux_next after them */
		uint8_t bytes[256];
	} record[MANY];
	size_t damages;
	long shorten;			/* the file, before the bytes are read; 0: not */
	int fd;
};

static void on_damage(struct flowtap_replay *replay, uint64_t offset, const char *reason,
		      uint64_t bytes)
{
	struct seen *seen = replay->argument;

	seen->damages++;
}

static int on_record(struct flowtap_replay *replay, uint32_t cpu,
		     const struct flowtap_record *record, size_t size)
{
	const struct flowtap_record_aux *aux = (const void *)record;
	struct seen *seen = replay->argument;

	if (seen->n == MANY)
		abort();
	seen->record[seen->n].type = record->type;
	seen->record[seen->n].cpu = cpu;
	if (seen->shorten && ftruncate(seen->fd, seen->shorten))
		abort();
	if (record->type == FLOWTAP_RECORD_AUX && size >= sizeof(*aux)) {
		uint64_t wanted = aux->size < 256 ? aux->size : 256;

		seen->record[seen->n].tid = aux->tid;
		seen->record[seen->n].sequence = aux->sequence;
		seen->record[seen->n].got = flowtap_replay_aux(replay, cpu, aux->offset,
							       seen->record[seen->n].bytes,
							       wanted);
		seen->record[seen->n].next =
			seen->record[seen->n].got < 0 ? 0 :
			flowtap_replay_aux_next(replay, cpu, aux->offset +
						(uint64_t)seen->record[seen->n].got);
	}
	seen->n++;
	return 0;
}

FIXTURE(replay)
{
	int fd;
	struct flowtap_archive_writer *writer;
	struct flowtap_replay replay;
	struct seen *seen;
	uint64_t time;
};

FIXTURE_SETUP(replay)
{
	self->fd = memfd_create("replay", MFD_CLOEXEC);
	ASSERT_EQ(flowtap_archive_create(self->fd, &self->writer), 0);
	self->seen = calloc(1, sizeof(*self->seen));
	ASSERT_NE(self->seen, NULL);
	self->seen->fd = self->fd;
	self->replay = (struct flowtap_replay) {
		.damage = on_damage,
		.record = on_record,
		.argument = self->seen,
	};
}

FIXTURE_TEARDOWN(replay)
{
	flowtap_archive_writer_free(self->writer);
	free(self->seen);
	close(self->fd);
}

#define RUN() (flowtap_archive_flush(self->writer), lseek(self->fd, 0, SEEK_SET), \
	       flowtap_replay(&self->replay, self->fd, NULL))
#define RECORD(i) self->seen->record[i]

/* `size` bytes from `offset` on, each its own offset and `salt` together. */
static void put_bytes(struct flowtap_archive_writer *writer, uint32_t cpu, uint64_t offset,
		      size_t size, uint8_t salt)
{
	uint8_t bytes[256];

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)((offset + i) ^ salt);
	flowtap_archive_write(writer, FLOWTAP_ARCHIVE_AUX, cpu, 0, &offset, sizeof(offset), bytes,
			      size);
}

static void put_aux(struct flowtap_archive_writer *writer, uint32_t cpu, uint64_t since,
		    uint64_t time, uint32_t tid, uint64_t sequence, uint64_t offset, uint64_t size)
{
	struct flowtap_record_aux record = {
		.header = { FLOWTAP_RECORD_AUX, 0, sizeof(record) },
		.time = time,
		.since = since,
		.offset = offset,
		.size = size,
		.tid = tid,
		.cpu = cpu,
		.sequence = sequence,
	};

	flowtap_archive_write(writer, FLOWTAP_ARCHIVE_RING, cpu, time, &record, sizeof(record), NULL,
			      0);
}

static void put_gap(struct flowtap_archive_writer *writer, uint32_t cpu, uint64_t since,
		    uint64_t time, uint32_t tid)
{
	struct flowtap_record_gap record = {
		.header = { FLOWTAP_RECORD_GAP, 0, sizeof(record) },
		.time = time,
		.since = since,
		.tid = tid,
		.cpu = cpu,
	};

	flowtap_archive_write(writer, FLOWTAP_ARCHIVE_RING, cpu, time, &record, sizeof(record), NULL,
			      0);
}

#define EXPECT_BYTES(i, offset, n, salt)						\
	do {										\
		EXPECT_EQ(RECORD(i).got, n);						\
		for (long j_ = 0; j_ < RECORD(i).got; j_++)				\
			EXPECT_EQ(RECORD(i).bytes[j_], (uint8_t)(((offset) + (uint64_t)j_) ^ (salt))); \
	} while (0)

TEST_F(replay, a_record_has_its_bytes_out_of_one_block_or_several)
{
	put_bytes(self->writer, 0, 1000, 100, 0);
	put_bytes(self->writer, 1, 1000, 100, 0x55);
	put_bytes(self->writer, 0, 1100, 50, 0);
	put_bytes(self->writer, 0, 1200, 50, 0);
	put_aux(self->writer, 0, 1, 2, 7, 1, 1000, 10);
	put_aux(self->writer, 0, 2, 3, 7, 2, 1010, 140);
	put_aux(self->writer, 0, 3, 4, 7, 3, 1200, 50);
	put_aux(self->writer, 1, 4, 5, 7, 4, 1020, 80);
	ASSERT_EQ(RUN(), 0);
	ASSERT_EQ(self->seen->n, 4);
	EXPECT_BYTES(0, 1000, 10, 0);
	EXPECT_BYTES(1, 1010, 140, 0);
	EXPECT_EQ(RECORD(1).next, 1200);
	EXPECT_BYTES(2, 1200, 50, 0);
	EXPECT_EQ(RECORD(2).next, UINT64_MAX);
	EXPECT_BYTES(3, 1020, 80, 0x55);
}

TEST_F(replay, what_an_archive_lacks_is_missing)
{
	put_bytes(self->writer, 0, 1100, 100, 0);
	put_aux(self->writer, 0, 1, 2, 7, 1, 1000, 200);	/* the beginning */
	put_aux(self->writer, 0, 2, 3, 7, 2, 1150, 100);	/* the end */
	put_aux(self->writer, 0, 3, 4, 7, 3, 1200, 10);		/* all */
	put_aux(self->writer, 0, 4, 5, 7, 4, UINT64_MAX - 5, 100);
	put_aux(self->writer, 2, 5, 6, 7, 5, 1100, 10);		/* no such CPU */
	ASSERT_EQ(RUN(), 0);
	ASSERT_EQ(self->seen->n, 5);
	EXPECT_EQ(RECORD(0).got, 0);
	EXPECT_EQ(RECORD(0).next, 1100);
	EXPECT_BYTES(1, 1150, 50, 0);
	EXPECT_EQ(RECORD(1).next, UINT64_MAX);
	EXPECT_EQ(RECORD(2).got, 0);
	EXPECT_EQ(RECORD(3).got, 0);
	EXPECT_EQ(RECORD(4).got, 0);
	EXPECT_EQ(RECORD(4).next, UINT64_MAX);
}

/* Each record takes those of its own stream. */
TEST_F(replay, streams_that_follow_each_other_count_from_0_each)
{
	struct flowtap_configure configure = { .cpu = 0 };

	for (int stream = 1; stream <= 3; stream++) {
		put_bytes(self->writer, 0, 0, 100, (uint8_t)stream);
		put_aux(self->writer, 0, 10 * stream, 10 * stream + 1, 7, stream, 0, 100);
	}
	/* What an archive lacks of a stream is not another's. */
	flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_CONFIGURE, 0, 0, &configure,
			      sizeof(configure), NULL, 0);
	put_bytes(self->writer, 0, 150, 100, 4);
	put_aux(self->writer, 0, 40, 41, 7, 4, 50, 100);
	put_aux(self->writer, 0, 41, 42, 7, 5, 150, 10);
	ASSERT_EQ(RUN(), 0);
	ASSERT_EQ(self->seen->n, 5);
	for (int stream = 1; stream <= 3; stream++)
		EXPECT_BYTES(stream - 1, 0, 100, stream);
	EXPECT_EQ(RECORD(3).got, 0);
	EXPECT_BYTES(4, 150, 10, 4);
}

TEST_F(replay, of_blocks_that_overlap_the_one_before_the_record_counts)
{
	put_bytes(self->writer, 0, 0, 100, 1);
	put_aux(self->writer, 0, 1, 2, 7, 1, 0, 100);
	put_bytes(self->writer, 0, 50, 100, 2);
	put_aux(self->writer, 0, 2, 3, 7, 2, 0, 100);
	put_aux(self->writer, 0, 3, 4, 7, 3, 50, 100);
	ASSERT_EQ(RUN(), 0);
	EXPECT_BYTES(0, 0, 100, 1);
	EXPECT_EQ(RECORD(1).got, 0);
	EXPECT_EQ(RECORD(1).next, 50);
	EXPECT_BYTES(2, 50, 100, 2);
}

TEST_F(replay, blocks_after_a_record_are_none_of_its)
{
	put_aux(self->writer, 0, 1, 2, 7, 1, 0, 100);
	put_bytes(self->writer, 0, 0, 100, 1);
	put_aux(self->writer, 0, 2, 3, 7, 2, 0, 100);
	ASSERT_EQ(RUN(), 0);
	EXPECT_EQ(RECORD(0).got, 0);
	EXPECT_BYTES(1, 0, 100, 1);
}

TEST_F(replay, blocks_that_make_no_sense_are_damage)
{
	uint64_t end = UINT64_MAX - 3;

	flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_AUX, 0, 0, &end, 7, NULL, 0);
	flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_AUX, 0, 0, NULL, 0, NULL, 0);
	flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_AUX, 0, 0, &end, 8, "abcd", 4);
	/* Up to the last byte that can be counted; and none, which is odd but harmless. */
	flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_AUX, 0, 0, &end, 8, "abc", 3);
	flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_AUX, 0, 0, &end, 8, NULL, 0);
	put_aux(self->writer, 0, 1, 2, 7, 1, end, 3);
	put_aux(self->writer, 0, 2, 3, 7, 2, end, 200);
	ASSERT_EQ(RUN(), 0);
	EXPECT_EQ(self->seen->damages, 3);
	EXPECT_EQ(RECORD(0).got, 3);
	EXPECT_EQ(RECORD(1).got, 3);
	EXPECT_EQ(RECORD(1).bytes[2], 'c');
	EXPECT_EQ(RECORD(1).next, UINT64_MAX);
}

TEST_F(replay, more_cpus_than_there_can_be_are_damage)
{
	for (uint32_t cpu = 0; cpu < FLOWTAP_CPUS_MAX + 1; cpu++)
		put_bytes(self->writer, cpu * 3, 0, 1, 0);
	put_aux(self->writer, 4095 * 3, 1, 2, 7, 1, 0, 1);
	ASSERT_EQ(RUN(), 0);
	EXPECT_EQ(self->seen->damages, 1);
	EXPECT_EQ(RECORD(0).got, 1);
}

TEST_F(replay, a_damaged_block_is_missing_and_the_others_are_there)
{
	put_bytes(self->writer, 0, 0, 100, 1);
	put_bytes(self->writer, 0, 100, 100, 1);
	put_bytes(self->writer, 0, 200, 100, 1);
	put_aux(self->writer, 0, 1, 2, 7, 1, 0, 256);
	flowtap_archive_flush(self->writer);
	/* Of the second: 16 and 136 bytes are before it, its header, offset. */
	ASSERT_EQ(pwrite(self->fd, "!", 1, 16 + 136 + 24 + 8 + 50), 1);
	ASSERT_EQ(RUN(), 0);
	EXPECT_EQ(self->seen->damages, 1);
	EXPECT_BYTES(0, 0, 100, 1);
	EXPECT_EQ(RECORD(0).next, 200);
}

TEST_F(replay, a_file_that_becomes_shorter_is_an_error)
{
	put_bytes(self->writer, 0, 0, 100, 1);
	put_aux(self->writer, 0, 1, 2, 7, 1, 0, 100);
	self->seen->shorten = 60;
	ASSERT_EQ(RUN(), 0);
	ASSERT_EQ(self->seen->n, 1);
	EXPECT_EQ(RECORD(0).got, -EIO);
}

/* Many, so that searches have something to search. */
TEST_F(replay, every_record_of_many_blocks)
{
	uint64_t at = 0;

	for (int i = 0; i < 2000; i++) {
		put_bytes(self->writer, 0, at, 1 + i % 37, 9);
		at += 1 + i % 37 + i % 3;
		if (i % 40 == 7)
			put_aux(self->writer, 0, i, i + 1, 7, 1 + i / 40, at - i % 3 - 1 - i % 37,
				1 + i % 37);
	}
	ASSERT_EQ(RUN(), 0);
	ASSERT_EQ(self->seen->n, 50);
	at = 0;
	for (int i = 0; i < 2000; i++) {
		if (i % 40 == 7)
			EXPECT_BYTES(i / 40, at, 1 + i % 37, 9);
		at += 1 + i % 37 + i % 3;
	}
}

TEST_F(replay, of_one_moment_a_task_comes_in_the_order_of_its_sequence)
{
	put_aux(self->writer, 1, 3, 5, 7, 1, 0, 1);
	put_aux(self->writer, 2, 5, 5, 7, 2, 0, 1);
	put_aux(self->writer, 0, 5, 5, 7, 3, 0, 1);
	put_aux(self->writer, 3, 5, 5, 7, 4, 0, 1);
	ASSERT_EQ(RUN(), 0);
	ASSERT_EQ(self->seen->n, 4);
	for (uint64_t i = 0; i < 4; i++)
		EXPECT_EQ(RECORD(i).sequence, i + 1);
}

TEST_F(replay, of_one_moment_a_gap_comes_before_what_follows_it)
{
	put_aux(self->writer, 0, 5, 5, 7, 3, 0, 1);
	put_gap(self->writer, 1, 4, 5, 7);
	put_aux(self->writer, 2, 3, 4, 7, 1, 0, 1);
	ASSERT_EQ(RUN(), 0);
	ASSERT_EQ(self->seen->n, 3);
	EXPECT_EQ(RECORD(0).sequence, 1);
	EXPECT_EQ(RECORD(1).type, FLOWTAP_RECORD_GAP);
	EXPECT_EQ(RECORD(2).sequence, 3);
}

TEST_F(replay, a_gap_of_no_time_comes_before_what_follows_it)
{
	put_aux(self->writer, 0, 5, 5, 7, 3, 0, 1);
	put_gap(self->writer, 1, 5, 5, 7);
	put_aux(self->writer, 2, 3, 5, 7, 1, 0, 1);
	ASSERT_EQ(RUN(), 0);
	ASSERT_EQ(self->seen->n, 3);
	EXPECT_EQ(RECORD(0).sequence, 1);
	EXPECT_EQ(RECORD(1).type, FLOWTAP_RECORD_GAP);
	EXPECT_EQ(RECORD(2).sequence, 3);
}

TEST_HARNESS_MAIN
