// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that a ring that overwrites has the newest records, whole and in order, at rest and while
 * it is written; that nobody can write to it; and that nothing is lost by a reader that is late.
 */
#include <flowtap/drain.h>
#include <liburing.h>

#include "stream.h"
#include "support/kselftest_harness.h"
#include "task.h"

#define PAGES 4

FIXTURE(overwrite)
{
	struct stream stream;
	struct flowtap_reader reader;
	uint8_t *buffer;
	pid_t task;
	size_t size;
};

FIXTURE_SETUP(overwrite)
{
	struct flowtap_configure configure = ticking(0, 50000);

	if (!source_there(FLOWTAP_SOURCE_SOFT))
		SKIP(return, "the soft source is not there: load the module with soft=1");
	configure.flags = FLOWTAP_OVERWRITE;
	configure.ring_pages = PAGES;
	configure.flush_ms = 1;
	self->size = PAGES * sysconf(_SC_PAGESIZE);
	self->buffer = malloc(self->size);
	self->task = spinner(0);
	self->stream.fd = open_device();
	ASSERT_LE(0, self->stream.fd);
	ASSERT_EQ(0, command(self->stream.fd, FLOWTAP_IOC_CONFIGURE, &configure));
	ASSERT_EQ(0, flowtap_reader_map(&self->reader, self->stream.fd, PAGES, configure.flags));
	ASSERT_EQ(1, add_task(&self->stream, self->task, 0));
}

FIXTURE_TEARDOWN(overwrite)
{
	end(self->task);
	flowtap_reader_unmap(&self->reader);
	stream_close(&self->stream);
	free(self->buffer);
}

/* Until the ring has been overwritten some times. */
#define RUN()										\
	do {										\
		ASSERT_EQ(0, enable(&self->stream));					\
		ASSERT_TRUE(WAIT_FOR(self->reader.ring->data_oldest > 3 * self->size));	\
	} while (0)

/*
 * Samples, each after its predecessor, with nothing between them but losses of the source's own.
 * How many; -1 where that is not so. *first: the first one's sequence.
 */
static int judge(const struct flowtap_buffer *records, uint64_t *first)
{
	const struct flowtap_record *record;
	uint64_t sequence = 0;
	size_t offset = 0;
	int n = 0;

	for (; !flowtap_record_at(records->bytes, records->size, offset, &record);
	     offset += record->size, n++) {
		const struct flowtap_record_sample *sample = (const void *)record;

		if (record->type != FLOWTAP_RECORD_SAMPLE ||
		    sample->loss & 1U << FLOWTAP_CAUSE_RING_FULL ||
		    record->size != sizeof(*sample) + sample->nr * sizeof(struct flowtap_entry) ||
		    (n && sample->sequence <= sequence) ||
		    (n && (sample->sequence == sequence + 1) != !sample->loss)) {
			printf("# record %d: type %u, size %u, sequence %llu after %llu, loss %x\n", n,
			       record->type, record->size, (unsigned long long)sample->sequence,
			       (unsigned long long)sequence, sample->loss);
			return -1;
		}
		sequence = sample->sequence;
		if (!n)
			*first = sequence;
	}
	return offset == records->size ? n : -1;
}

TEST_F(overwrite, it_holds_the_newest_records_to_the_last_bit)
{
	struct pattern pattern = { .depth = 16 };
	const struct flowtap_record *record;
	struct flowtap_buffer records;
	uint64_t head, dropped, first, total;
	struct flowtap_stats stats_now;
	size_t offset = 0;
	int n;

	RUN();
	ASSERT_EQ(0, disable(&self->stream));
	ASSERT_EQ(0, flowtap_reader_copy(&self->reader, self->buffer, &records, &head, &dropped));
	stats_now = stats(&self->stream);
	EXPECT_EQ(0, dropped);
	EXPECT_EQ(stats_now.bytes, head);
	EXPECT_EQ(0, stats_now.lost_records);
	EXPECT_EQ(0, self->reader.ring->lost_records);
	/* As many as there is room for. */
	EXPECT_LT(self->size - sizeof(struct flowtap_record_sample) -
		  16 * sizeof(struct flowtap_entry), records.size);
	n = judge(&records, &first);
	ASSERT_LT(20, n);
	/* All that were written before are passed over; those that are there are the next ones. */
	for (total = stats_now.records; total > (uint64_t)n; total--)
		pattern_drain(&pattern, &first);
	for (; !flowtap_record_at(records.bytes, records.size, offset, &record);
	     offset += record->size) {
		memcpy(self->stream.record.bytes, record, record->size);
		ASSERT_TRUE(pattern_equal(&pattern, &self->stream));
	}
}

TEST_F(overwrite, copies_are_whole_while_it_is_written)
{
	uint64_t head, before = 0, dropped, first, torn = 0;
	struct flowtap_buffer records;
	unsigned int round, none = 0;
	int n;

	RUN();
	for (round = 0; round < 300; round++) {
		ASSERT_EQ(0, flowtap_reader_copy(&self->reader, self->buffer, &records, &head,
						 &dropped));
		ASSERT_LE(before, head);
		n = judge(&records, &first);
		ASSERT_LE(0, n) TH_LOG("round %u", round);
		/* Who is kept from his CPU for that long finds nothing older than what is new. */
		ASSERT_TRUE(n || dropped) TH_LOG("round %u", round);
		none += !n;
		before = head;
		torn += dropped > 0;
		if (round % 10 == 0)
			sleep_ms(3);
	}
	EXPECT_GT(round / 2, none);
	TH_LOG("%llu of %u were overwritten meanwhile, %u of them to the last record",
	       (unsigned long long)torn, round, none);
}

TEST_F(overwrite, nobody_can_write_to_it)
{
	struct io_uring uring;
	struct iovec part = { (void *)self->reader.data, self->size };
	size_t length = self->reader.mapped;

	EXPECT_EQ(MAP_FAILED, mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED,
				   self->stream.fd, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, mprotect(self->reader.ring, length, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	/* What io_uring registers it may write to. */
	ASSERT_EQ(0, io_uring_queue_init(8, &uring, 0));
	EXPECT_EQ(-EFAULT, io_uring_register_buffers(&uring, &part, 1));
	io_uring_queue_exit(&uring);
}

TEST_F(overwrite, poll_waits_until_nothing_more_can_come)
{
	RUN();
	EXPECT_EQ(0, poll_for(&self->stream, 50));
	ASSERT_EQ(0, disable(&self->stream));
	EXPECT_EQ(POLLIN, poll_now(&self->stream));
	ASSERT_EQ(0, enable(&self->stream));
	EXPECT_EQ(0, poll_for(&self->stream, 20));
	end(self->task);
	EXPECT_EQ(POLLIN | POLLHUP, poll_for(&self->stream, 10000));
}

TEST_F(overwrite, snapshots_have_each_record_once)
{
	struct flowtap_drain_options options = { FLOWTAP_DRAIN_FIXED, 1 };
	struct flowtap_archive_writer *writer;
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	uint64_t moved, dropped, first, next = 0, archived = 0, total = 0;
	int fd = open("/tmp/overwrite.ftap", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), number, n;
	struct flowtap_drain *drain;

	ASSERT_EQ(0, flowtap_archive_create(fd, &writer));
	ASSERT_EQ(0, flowtap_drain_open(&options, writer, &drain));
	number = flowtap_drain_add(drain, self->stream.fd, &self->reader, 0);
	ASSERT_LE(0, number);
	RUN();
	for (unsigned int round = 0; round < 40; round++) {
		ASSERT_EQ(0, flowtap_drain_collect(drain, &moved));
		EXPECT_EQ(0, moved);
		ASSERT_EQ(0, flowtap_drain_snapshot(drain, number, &moved, &dropped));
		total += moved;
		sleep_ms(round % 4);
	}
	ASSERT_EQ(0, disable(&self->stream));
	ASSERT_EQ(0, flowtap_drain_snapshot(drain, number, &moved, &dropped));
	total += moved;
	ASSERT_EQ(0, flowtap_drain_snapshot(drain, number, &moved, &dropped));
	EXPECT_EQ(0, moved);
	ASSERT_EQ(0, flowtap_drain_flush(drain));
	flowtap_drain_close(drain);
	flowtap_archive_writer_free(writer);

	lseek(fd, 0, SEEK_SET);
	ASSERT_EQ(0, flowtap_archive_open(fd, &reader));
	while ((n = flowtap_archive_next(reader, &block)) > 0) {
		struct flowtap_buffer records = { block.payload, block.size };

		if (!block.size)
			continue;
		n = judge(&records, &first);
		ASSERT_LT(0, n);
		ASSERT_LT(next, first);
		next = first;
		archived += block.size;
	}
	EXPECT_EQ(0, n);
	EXPECT_EQ(total, archived);
	flowtap_archive_reader_free(reader);
	close(fd);
	unlink("/tmp/overwrite.ftap");
}

TEST_HARNESS_MAIN
