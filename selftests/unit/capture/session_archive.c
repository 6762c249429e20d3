// SPDX-License-Identifier: GPL-2.0-only
/* Shows what a session writes into an archive: what its streams are, hold and counted. */
#include <stdlib.h>

#include "support/kselftest_harness.h"
#include "support/fake_device.h"

#define CPUS 2

FIXTURE(archive)
{
	struct flowtap_session session;
	struct flowtap_session_problem problem;
	struct flowtap_archive_writer *writer;
	int fd;
	/* What unread was called with. */
	unsigned int unread;
	uint32_t unread_cpu;
	int unread_error;
};

FIXTURE_SETUP(archive)
{
	self->fd = memfd_create("archive", MFD_CLOEXEC);
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(flowtap_archive_create(self->fd, &self->writer), 0);
}

FIXTURE_TEARDOWN(archive)
{
	flowtap_session_close(&self->session);
	flowtap_archive_writer_free(self->writer);
	fake_reset(0, 0);
	close(self->fd);
}

/* Streams of this source; not drained yet. */
static void open_streams(struct __test_metadata *_metadata, FIXTURE_DATA(archive) *self,
			 uint32_t source, uint32_t flags)
{
	const struct flowtap_session_request request = {
		.configure = { .modes = FLOWTAP_MODE_USER, .ring_pages = 1, .flags = flags },
	};

	fake_reset(CPUS, source);
	ASSERT_EQ(flowtap_session_query(&self->session, 0, &self->problem), 0);
	ASSERT_EQ(flowtap_session_open(&self->session, &request, &self->problem), 0);
}

static struct flowtap_ring *ring_of(FIXTURE_DATA(archive) *self, size_t cpu)
{
	return fake_of(self->session.streams[cpu].fd)->ring;
}

/* One record of 16 bytes. */
static void put(struct flowtap_ring *ring)
{
	const struct flowtap_record record = { .type = FLOWTAP_RECORD_SWITCH, .size = 16 };

	memcpy((uint8_t *)ring + ring->data_offset + ring->data_head, &record, sizeof(record));
	__atomic_store_n(&ring->data_head, ring->data_head + 16, __ATOMIC_RELEASE);
}

static void note_unread(void *argument, const struct flowtap_session_stream *stream, int error)
{
	FIXTURE_DATA(archive) *self = argument;

	self->unread++;
	self->unread_cpu = stream->configure.cpu;
	self->unread_error = error;
}

static int copy(FIXTURE_DATA(archive) *self, bool running)
{
	return flowtap_session_copy(&self->session, running, note_unread, self, &self->problem);
}

/* Blocks of a type, of this CPU; and the bytes in them. */
static unsigned int count(struct __test_metadata *_metadata, FIXTURE_DATA(archive) *self, uint32_t type,
			  uint32_t cpu, uint64_t *bytes)
{
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	unsigned int n = 0;

	*bytes = 0;
	EXPECT_EQ(flowtap_archive_flush(self->writer), 0);
	lseek(self->fd, 0, SEEK_SET);
	ASSERT_EQ(flowtap_archive_open(self->fd, &reader), 0)
		return 0;
	while (flowtap_archive_next(reader, &block) > 0)
		if (block.type == type && block.cpu == cpu) {
			n++;
			*bytes += block.size;
		}
	flowtap_archive_reader_free(reader);
	lseek(self->fd, 0, SEEK_END);
	return n;
}

TEST_F(archive, begins_with_what_each_cpu_can_do_and_each_stream_is)
{
	uint64_t bytes;

	open_streams(_metadata, self, FLOWTAP_SOURCE_CTR, 0);
	ASSERT_EQ(flowtap_session_describe(&self->session, self->writer), 0);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		EXPECT_EQ(count(_metadata, self, FLOWTAP_ARCHIVE_QUERY, cpu, &bytes), 1);
		EXPECT_EQ(bytes, sizeof(struct flowtap_query));
		EXPECT_EQ(count(_metadata, self, FLOWTAP_ARCHIVE_CONFIGURE, cpu, &bytes), 1);
		EXPECT_EQ(bytes, sizeof(struct flowtap_configure));
	}
}

TEST_F(archive, has_what_was_in_the_rings_when_it_is_flushed)
{
	uint64_t bytes;

	open_streams(_metadata, self, FLOWTAP_SOURCE_CTR, 0);
	ASSERT_EQ(flowtap_session_begin(&self->session, FLOWTAP_DRAIN_POLL, self->writer), 0);
	ASSERT_EQ(flowtap_session_enable(&self->session), 0);
	put(ring_of(self, 1));
	EXPECT_EQ(flowtap_session_drain(&self->session), 0);
	put(ring_of(self, 0));
	put(ring_of(self, 0));
	EXPECT_EQ(flowtap_session_flush(&self->session, &self->problem), 0);
	EXPECT_EQ(self->problem.cause, FLOWTAP_SESSION_NO_PROBLEM);
	EXPECT_FALSE(fake_of(self->session.streams[1].fd)->enabled);
	EXPECT_GE(count(_metadata, self, FLOWTAP_ARCHIVE_RING, 0, &bytes), 1);
	EXPECT_EQ(bytes, 32);
	EXPECT_EQ(count(_metadata, self, FLOWTAP_ARCHIVE_RING, 1, &bytes), 1);
	EXPECT_EQ(bytes, 16);
	EXPECT_EQ(flowtap_session_contradicting(&self->session), NULL);
}

TEST_F(archive, informs_of_the_machine_and_of_what_else_is_said)
{
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	const char *text;

	ASSERT_EQ(flowtap_session_inform(self->writer, "all=1\nwhy=test\n"), 0);
	ASSERT_EQ(flowtap_archive_flush(self->writer), 0);
	lseek(self->fd, 0, SEEK_SET);
	ASSERT_EQ(flowtap_archive_open(self->fd, &reader), 0);
	ASSERT_EQ(flowtap_archive_next(reader, &block), 1);
	EXPECT_EQ(block.type, FLOWTAP_ARCHIVE_INFO);
	text = (const char *)block.payload;
	EXPECT_EQ(memcmp(text, "flowtap=" FLOWTAP_VERSION "\nhost=", 14 + strlen(FLOWTAP_VERSION)), 0);
	EXPECT_NE(memmem(text, block.size, "\nkernel=", 8), NULL);
	EXPECT_NE(memmem(text, block.size, "\narch=", 6), NULL);
	EXPECT_NE(memmem(text, block.size, "\npage=", 6), NULL);
	EXPECT_NE(memmem(text, block.size, "\nbegan=", 7), NULL);
	EXPECT_EQ(memcmp(text + block.size - 16, "\nall=1\nwhy=test\n", 16), 0);
	flowtap_archive_reader_free(reader);
}

TEST_F(archive, what_is_informed_of_is_cut_where_it_is_long)
{
	char *more = malloc((2U << 20) + 1);
	uint64_t bytes;

	ASSERT_NE(more, NULL);
	memset(more, 'x', 2U << 20);
	more[2U << 20] = 0;
	EXPECT_EQ(flowtap_session_inform(self->writer, more), 0);
	EXPECT_EQ(count(_metadata, self, FLOWTAP_ARCHIVE_INFO, 0, &bytes), 1);
	EXPECT_EQ(bytes, 1U << 20);
	free(more);
}

TEST_F(archive, the_drain_waits_for_each_descriptor_of_the_side_band)
{
	const pid_t pid = getpid();
	const struct flowtap_sideband_options options = { .pids = &pid, .n_pids = 1 };
	struct flowtap_sideband *sideband;
	int n;

	open_streams(_metadata, self, FLOWTAP_SOURCE_CTR, 0);
	ASSERT_EQ(flowtap_session_begin(&self->session, FLOWTAP_DRAIN_POLL, self->writer), 0);
	ASSERT_EQ(flowtap_sideband_open(&options, &sideband), 0);
	n = flowtap_sideband_fds(sideband, NULL, 0);
	EXPECT_EQ(flowtap_session_watch_sideband(&self->session, sideband), 0);
	/* Numbers are given one after the other. */
	EXPECT_EQ(flowtap_drain_watch(self->session.drain, self->fd, 0), CPUS + n);
	flowtap_session_close(&self->session);
	flowtap_sideband_free(sideband);
}

TEST_F(archive, ends_with_what_each_stream_counted_and_the_mark_that_it_is_whole)
{
	uint64_t bytes;

	open_streams(_metadata, self, FLOWTAP_SOURCE_CTR, 0);
	ASSERT_EQ(flowtap_session_conclude(&self->session, self->writer), 0);
	EXPECT_EQ(count(_metadata, self, FLOWTAP_ARCHIVE_END, 0, &bytes), 1);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		EXPECT_EQ(count(_metadata, self, FLOWTAP_ARCHIVE_STATS, cpu, &bytes), 1);
		EXPECT_EQ(bytes, sizeof(struct flowtap_stats));
	}
}

TEST_F(archive, is_flushed_only_if_recording_can_be_stopped)
{
	open_streams(_metadata, self, FLOWTAP_SOURCE_CTR, 0);
	ASSERT_EQ(flowtap_session_begin(&self->session, FLOWTAP_DRAIN_POLL, self->writer), 0);
	fake.enable_error = -EIO;
	EXPECT_EQ(flowtap_session_flush(&self->session, &self->problem), -EIO);
	EXPECT_EQ(self->problem.cause, FLOWTAP_SESSION_DISABLE);
	EXPECT_EQ(self->problem.error, -EIO);
}

TEST_F(archive, a_ring_that_contradicts_itself_is_named_and_others_are_read)
{
	uint64_t bytes;

	open_streams(_metadata, self, FLOWTAP_SOURCE_CTR, 0);
	ASSERT_EQ(flowtap_session_begin(&self->session, FLOWTAP_DRAIN_POLL, self->writer), 0);
	ring_of(self, 0)->data_head = 1ULL << 40;
	put(ring_of(self, 1));
	EXPECT_EQ(flowtap_session_drain(&self->session), 0);
	EXPECT_EQ(flowtap_session_contradicting(&self->session), &self->session.streams[0]);
	EXPECT_EQ(flowtap_session_flush(&self->session, &self->problem), 0);
	EXPECT_EQ(count(_metadata, self, FLOWTAP_ARCHIVE_RING, 1, &bytes), 1);
}

TEST_F(archive, rings_that_overwrite_are_copied_while_they_run)
{
	uint64_t bytes;

	open_streams(_metadata, self, FLOWTAP_SOURCE_CTR, FLOWTAP_OVERWRITE);
	ASSERT_EQ(flowtap_session_begin(&self->session, FLOWTAP_DRAIN_POLL, self->writer), 0);
	ASSERT_EQ(flowtap_session_enable(&self->session), 0);
	put(ring_of(self, 0));
	EXPECT_EQ(copy(self, true), 0);
	EXPECT_EQ(fake_of(self->session.streams[0].fd)->disables, 0);
	EXPECT_EQ(self->unread, 0);
	EXPECT_EQ(count(_metadata, self, FLOWTAP_ARCHIVE_RING, 0, &bytes), 1);
	EXPECT_EQ(bytes, 16);
}

TEST_F(archive, those_of_a_trace_unit_while_they_are_off)
{
	open_streams(_metadata, self, FLOWTAP_SOURCE_ETE, FLOWTAP_OVERWRITE);
	ASSERT_EQ(flowtap_session_begin(&self->session, FLOWTAP_DRAIN_POLL, self->writer), 0);
	EXPECT_EQ(copy(self, true), 0);
	EXPECT_EQ(fake_of(self->session.streams[0].fd)->disables, 1);
	EXPECT_EQ(fake_of(self->session.streams[0].fd)->enables, 1);
	EXPECT_TRUE(fake_of(self->session.streams[1].fd)->enabled);
	EXPECT_EQ(copy(self, false), 0);
	EXPECT_EQ(fake_of(self->session.streams[0].fd)->disables, 1);

	fake.enable_error = -EIO;
	EXPECT_EQ(copy(self, true), -EIO);
	EXPECT_EQ(self->problem.cause, FLOWTAP_SESSION_ENABLE);
	EXPECT_EQ(copy(self, false), 0);
	EXPECT_EQ(self->problem.cause, FLOWTAP_SESSION_NO_PROBLEM);
}

TEST_F(archive, a_ring_that_cannot_be_copied_is_told_and_others_are)
{
	uint64_t bytes;

	open_streams(_metadata, self, FLOWTAP_SOURCE_CTR, FLOWTAP_OVERWRITE);
	ASSERT_EQ(flowtap_session_begin(&self->session, FLOWTAP_DRAIN_POLL, self->writer), 0);
	/* No record ends there. */
	ring_of(self, 0)->data_head = 4;
	put(ring_of(self, 1));
	EXPECT_EQ(copy(self, true), 0);
	EXPECT_EQ(self->unread, 1);
	EXPECT_EQ(self->unread_cpu, 0);
	EXPECT_EQ(self->unread_error, -EPROTO);
	EXPECT_EQ(count(_metadata, self, FLOWTAP_ARCHIVE_RING, 1, &bytes), 1);

	/* What was loaded as its end is overwritten by now, each time. */
	ring_of(self, 0)->data_head = 0;
	ring_of(self, 0)->data_oldest = 64;
	EXPECT_EQ(copy(self, true), 0);
	EXPECT_EQ(self->unread, 2);
	EXPECT_EQ(self->unread_error, -EAGAIN);
}

TEST_F(archive, has_ended_when_the_last_stream_has_hung_up)
{
	int pipes[CPUS][2];

	open_streams(_metadata, self, FLOWTAP_SOURCE_CTR, 0);
	/* What is polled becomes a pipe; the ring stays mapped. */
	for (size_t i = 0; i < CPUS; i++) {
		ASSERT_EQ(pipe(pipes[i]), 0);
		ASSERT_EQ(dup2(pipes[i][0], self->session.streams[i].fd), self->session.streams[i].fd);
		close(pipes[i][0]);
	}
	ASSERT_EQ(flowtap_session_begin(&self->session, FLOWTAP_DRAIN_POLL, self->writer), 0);
	EXPECT_FALSE(flowtap_session_ended(&self->session));
	close(pipes[1][1]);
	EXPECT_EQ(flowtap_drain_wait(self->session.drain, 1000), 1);
	EXPECT_FALSE(flowtap_session_ended(&self->session));
	EXPECT_TRUE(self->session.streams[1].ended);
	close(pipes[0][1]);
	EXPECT_EQ(flowtap_drain_wait(self->session.drain, 1000), 1);
	EXPECT_TRUE(flowtap_session_ended(&self->session));
}

TEST_HARNESS_MAIN
