// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the drain takes all that the kernel has written, by every method, and that nothing is
 * left behind when whoever drains is killed while io_uring has pages of the ring.
 */
#include <flowtap/drain.h>
#include <liburing.h>
#include <sys/resource.h>

#include "loss_log.h"
#include "stream.h"
#include "support/kselftest_harness.h"
#include "task.h"

#define ARCHIVE "/tmp/drain.ftap"
#define CPUS 2
#define LINES 64

struct line {				/* a stream's way into the archive */
	struct stream stream;
	struct flowtap_reader reader;
	struct pattern pattern;
	struct loss_log loss_log;
	bool astray;			/* a record is not what the source's pattern has next */
	pid_t task;
	int number;
};

struct lines {
	struct line line[LINES];
	unsigned int n;
	int fd;
	struct flowtap_archive_writer *writer;
	struct flowtap_drain *drain;
};

/* A stream on the CPU whose task never rests, drained into the archive. */
static int add_line(struct lines *lines, const struct flowtap_configure *configure)
{
	unsigned int number = lines->n;
	struct line *line = &lines->line[number];
	int error = stream_open(&line->stream, configure);

	if (error)
		return error;
	lines->n++;
	line->pattern.depth = 16;
	line->task = spinner((int)configure->cpu);
	/* As others, also where we are not. */
	setpriority(PRIO_PROCESS, (id_t)line->task, 0);
	error = flowtap_reader_attach(&line->reader, line->stream.ring, line->stream.length);
	if (!error && add_task(&line->stream, line->task, 0) != 1)
		error = -ECHILD;
	if (error)
		return error;
	line->number = flowtap_drain_add(lines->drain, line->stream.fd, &line->reader, number);
	return line->number < 0 ? line->number : 0;
}

/* In turns on each CPU. */
static int open_many(struct lines *lines, enum flowtap_drain_method method, unsigned int pages,
		     uint64_t timer_ns, int streams)
{
	struct flowtap_drain_options options = { method, LINES };
	int cpus = cpus_online() < CPUS ? cpus_online() : CPUS, error;

	lines->fd = open(ARCHIVE, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	error = lines->fd < 0 ? -errno : flowtap_archive_create(lines->fd, &lines->writer);
	if (!error)
		error = flowtap_drain_open(&options, lines->writer, &lines->drain);
	for (int i = 0; i < (streams ? streams : cpus) && !error; i++) {
		struct flowtap_configure configure = ticking(i % cpus, timer_ns);

		configure.ring_pages = pages;
		error = add_line(lines, &configure);
	}
	return error;
}

/* One on each CPU. */
static int open_lines(struct lines *lines, enum flowtap_drain_method method, unsigned int pages,
		      uint64_t timer_ns)
{
	return open_many(lines, method, pages, timer_ns, 0);
}

static int switch_lines(struct lines *lines, int (*change)(const struct stream *))
{
	int error = 0;

	for (unsigned int i = 0; i < lines->n && !error; i++)
		error = change(&lines->line[i].stream);
	return error;
}

static void close_lines(struct lines *lines)
{
	flowtap_drain_close(lines->drain);
	flowtap_archive_writer_free(lines->writer);
	for (unsigned int i = 0; i < lines->n; i++) {
		end(lines->line[i].task);
		stream_close(&lines->line[i].stream);
	}
	close(lines->fd);
	unlink(ARCHIVE);
}

/* For so long; idle_ms are slept between two looks. */
static int run(struct lines *lines, unsigned int ms, unsigned int idle_ms)
{
	uint64_t until = now_ns() + ms * MS, moved;
	int error = 0;

	while (error >= 0 && now_ns() < until) {
		error = flowtap_drain_wait(lines->drain, 20);
		if (error >= 0)
			error = flowtap_drain_collect(lines->drain, &moved);
		sleep_ms(idle_ms);
	}
	return error < 0 ? error : 0;
}

static uint64_t untold(const struct lines *lines)
{
	uint64_t records = 0;

	for (unsigned int i = 0; i < lines->n; i++)
		records += lines->line[i].stream.ring->lost_records;
	return records;
}

/* Records of the stream that has the fewest. */
static uint64_t fewest(const struct lines *lines)
{
	uint64_t least = UINT64_MAX;

	for (unsigned int i = 0; i < lines->n; i++) {
		uint64_t records = stats(&lines->line[i].stream).records;

		least = records < least ? records : least;
	}
	return least;
}

/* The records of a block. False: they are not whole. */
static bool see_block(struct line *line, const struct flowtap_archive_block *block)
{
	const struct flowtap_record *record;
	size_t offset = 0;

	for (; !flowtap_record_at(block->payload, block->size, offset, &record);
	     offset += record->size) {
		memcpy(line->stream.record.bytes, record, record->size);
		line->astray |= !loss_log_add(&line->stream, &line->pattern, &line->loss_log);
	}
	return offset == block->size;
}

/* Reads the archive; how often it was damaged. */
static unsigned int read_archive(struct lines *lines)
{
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	unsigned int wrong = 0;
	int got;

	lseek(lines->fd, 0, SEEK_SET);
	if (flowtap_archive_open(lines->fd, &reader))
		return 1;
	while ((got = flowtap_archive_next(reader, &block)))
		wrong += got < 0 || block.type != FLOWTAP_ARCHIVE_RING || block.cpu >= lines->n ||
			 !see_block(&lines->line[block.cpu], &block);
	flowtap_archive_reader_free(reader);
	return wrong;
}

FIXTURE(drain)
{
	struct lines lines;
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
	if (!source_there(FLOWTAP_SOURCE_SOFT))
		SKIP(return, "the soft source is not there: load the module with soft=1");
}

FIXTURE_TEARDOWN(drain)
{
	close_lines(&self->lines);
}

/* What the kernel says it wrote is in the archive. */
#define EXPECT_WHOLE(lines)								\
	do {										\
		EXPECT_EQ(0, read_archive(lines));					\
		for (unsigned int i_ = 0; i_ < (lines)->n; i_++) {			\
			const struct line *line_ = &(lines)->line[i_];			\
			struct flowtap_stats stats_ = stats(&line_->stream);		\
											\
			EXPECT_EQ(stats_.records, line_->loss_log.records);		\
			EXPECT_EQ(stats_.bytes, line_->loss_log.bytes);			\
			EXPECT_EQ(stats_.bytes, line_->stream.ring->data_tail);		\
			EXPECT_LT(3, line_->loss_log.records);				\
		}									\
	} while (0)

/* And what it says it lost is told there, so that each trigger is one or the other. */
#define EXPECT_EXACT(lines)								\
	do {										\
		EXPECT_WHOLE(lines);							\
		for (unsigned int i_ = 0; i_ < (lines)->n; i_++) {			\
			const struct line *line_ = &(lines)->line[i_];			\
			struct flowtap_stats stats_ = stats(&line_->stream);		\
											\
			EXPECT_FALSE(line_->astray);					\
			EXPECT_EQ(stats_.samples, line_->loss_log.samples);		\
			EXPECT_EQ(stats_.entries, line_->loss_log.entries);		\
			EXPECT_EQ(stats_.lost_records, line_->loss_log.lost_records);	\
			EXPECT_EQ(stats_.lost_bytes, line_->loss_log.lost_bytes);	\
			EXPECT_EQ(stats_.triggers,					\
				  line_->loss_log.samples + line_->loss_log.lost_records);\
		}									\
	} while (0)

/*
 * Ends it. Losses at the end are told when the streams are enabled and disabled with room; without
 * tasks there are no new ones meanwhile.
 */
static int finish(struct lines *lines)
{
	int error = switch_lines(lines, disable);

	/* All at once: the others would take the CPU from who ends. */
	for (unsigned int i = 0; i < lines->n; i++)
		kill(lines->line[i].task, SIGKILL);
	for (unsigned int i = 0; i < lines->n; i++)
		end(lines->line[i].task);
	error = error ?: flowtap_drain_flush(lines->drain);
	error = error ?: switch_lines(lines, enable);
	error = error ?: switch_lines(lines, disable);
	return error ?: flowtap_drain_flush(lines->drain);
}

TEST_F(drain, at_full_speed_nothing_is_lost_untold)
{
	struct lines *lines = &self->lines;

	ASSERT_EQ(0, open_lines(lines, variant->method, 64, 20000));
	/* The ring's pages can be pinned, and written to by io_uring, here and on all kernels. */
	EXPECT_EQ(variant->method, flowtap_drain_method(lines->drain));
	ASSERT_EQ(0, switch_lines(lines, enable));
	ASSERT_EQ(0, run(lines, 2000, 0));
	ASSERT_EQ(0, finish(lines));
	EXPECT_EXACT(lines);
}

TEST_F(drain, a_slow_drain_loses_exactly_what_is_told)
{
	struct lines *lines = &self->lines;
	unsigned int round;

	ASSERT_EQ(0, open_lines(lines, variant->method, 4, 20000));
	ASSERT_EQ(0, switch_lines(lines, enable));
	for (round = 0; round < 5; round++)
		ASSERT_EQ(0, run(lines, 100, 30));
	/* How often a task is sampled hangs on who else runs: nothing is drained until it is enough. */
	ASSERT_TRUE(WAIT_FOR(untold(lines) >= 100));
	ASSERT_EQ(0, run(lines, 100, 30));
	ASSERT_EQ(0, finish(lines));
	EXPECT_EXACT(lines);
}

TEST_F(drain, the_end_of_the_tasks_is_told)
{
	struct lines *lines = &self->lines;
	unsigned int events = 0;
	uint64_t moved;

	ASSERT_EQ(0, open_lines(lines, variant->method, 64, 1000000));
	ASSERT_EQ(0, switch_lines(lines, enable));
	ASSERT_EQ(0, run(lines, 100, 0));
	for (unsigned int i = 0; i < lines->n; i++) {
		EXPECT_EQ(0, flowtap_drain_events(lines->drain, lines->line[i].number) & POLLHUP);
		end(lines->line[i].task);
		for (int tries = 0; tries < 100 && !(events & POLLHUP); tries++) {
			flowtap_drain_wait(lines->drain, 100);
			flowtap_drain_collect(lines->drain, &moved);
			events = flowtap_drain_events(lines->drain, lines->line[i].number);
		}
		EXPECT_EQ(POLLHUP, events & POLLHUP);
		events = 0;
	}
	ASSERT_EQ(0, flowtap_drain_flush(lines->drain));
	EXPECT_WHOLE(lines);
}

/* A short write is told and continued, here until nothing more can be written. */
TEST_F(drain, where_the_file_ends_the_tail_stays)
{
	struct rlimit limit = { 100001, RLIM_INFINITY };
	struct lines *lines = &self->lines;
	uint64_t archived = 0, released = 0;
	int error = 0;

	signal(SIGXFSZ, SIG_IGN);
	ASSERT_EQ(0, open_lines(lines, variant->method, 64, 50000));
	ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &limit));
	ASSERT_EQ(0, switch_lines(lines, enable));
	for (unsigned int round = 0; round < 600 && !error; round++)
		error = run(lines, 100, 0);
	EXPECT_EQ(-EFBIG, error);
	ASSERT_EQ(0, switch_lines(lines, disable));
	EXPECT_EQ(-EFBIG, flowtap_drain_flush(lines->drain));
	/* What a failed write of copies left is cut off. */
	EXPECT_GE(100001, lseek(lines->fd, 0, SEEK_END));
	EXPECT_GE(1, read_archive(lines));
	/* What is there is the reader's no more, and nothing else. */
	for (unsigned int i = 0; i < lines->n; i++) {
		EXPECT_FALSE(lines->line[i].astray);
		archived += lines->line[i].loss_log.bytes;
		released += lines->line[i].stream.ring->data_tail;
	}
	EXPECT_EQ(archived, released);
	EXPECT_LT(20000, archived);
}

static int users_of_module(void)
{
	char text[16] = { 0 };
	int fd = open("/sys/module/flowtap/refcnt", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '-';
	close(fd);
	return atoi(text);
}

/* At once: the hardware may be wanted by somebody else, and what is locked counts as its user's. */
TEST_F(drain, what_was_drained_is_free_when_it_is_closed)
{
	int users = users_of_module();

	for (unsigned int round = 0; round < 5; round++) {
		ASSERT_EQ(0, open_lines(&self->lines, variant->method, 64, 1000000));
		ASSERT_EQ(0, switch_lines(&self->lines, enable));
		ASSERT_EQ(0, run(&self->lines, 50, 0));
		close_lines(&self->lines);
		EXPECT_EQ(users, users_of_module()) TH_LOG("round %u", round);
		self->lines = (struct lines){ .fd = -1 };
	}
}

/* Killed with writes on their way and pages pinned: all is given back. */
TEST_F(drain, one_that_is_killed_leaves_nothing_behind)
{
	struct flowtap_configure configure = plain(FLOWTAP_SOURCE_SOFT, 0);
	int users = users_of_module();

	for (unsigned int round = 0; round < 12; round++) {
		pid_t pid = fork();

		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (!open_lines(&self->lines, variant->method, 64, 20000) &&
			    !switch_lines(&self->lines, enable))
				run(&self->lines, 60000, 0);
			_exit(1);
		}
		sleep_ms(150 + round * 37 % 200);
		/* Not by itself. */
		EXPECT_EQ(SIGKILL, end(pid));
	}
	EXPECT_TRUE(WAIT_FOR(users_of_module() == users)) TH_LOG("%d users", users_of_module());
	/* The source is free. */
	ASSERT_EQ(0, stream_open(&self->lines.line[0].stream, &configure));
	stream_close(&self->lines.line[0].stream);
}

FIXTURE(many)
{
	struct lines lines;
};

FIXTURE_SETUP(many)
{
	if (!source_there(FLOWTAP_SOURCE_SOFT))
		SKIP(return, "the soft source is not there: load the module with soft=1");
}

FIXTURE_TEARDOWN(many)
{
	close_lines(&self->lines);
}

TEST_F(many, sixty_four_streams_are_taken_by_one_thread)
{
	struct lines *lines = &self->lines;

	/* Else it waits for all of its tasks each time. */
	ASSERT_EQ(0, setpriority(PRIO_PROCESS, 0, -20));
	ASSERT_EQ(0, open_many(lines, FLOWTAP_DRAIN_FIXED, 4, 500000, LINES));
	EXPECT_EQ(FLOWTAP_DRAIN_FIXED, flowtap_drain_method(lines->drain));
	ASSERT_EQ(0, switch_lines(lines, enable));
	/* Whoever comes onto the CPU rarely, too. */
	for (unsigned int round = 0; round < 100 && fewest(lines) < 8; round++)
		ASSERT_EQ(0, run(lines, 200, 0));
	ASSERT_EQ(0, finish(lines));
	EXPECT_EXACT(lines);
}

FIXTURE(pinned)
{
	struct stream stream;
	struct io_uring uring;
	uint8_t *before;
	int fd;
};

/* A ring with something in it, registered with io_uring. */
FIXTURE_SETUP(pinned)
{
	struct flowtap_configure configure = ticking(0, 100000);
	struct iovec buffer;
	pid_t task;

	if (!source_there(FLOWTAP_SOURCE_SOFT))
		SKIP(return, "the soft source is not there: load the module with soft=1");
	ASSERT_EQ(0, stream_open(&self->stream, &configure));
	task = spinner(0);
	ASSERT_EQ(1, add_task(&self->stream, task, 0));
	ASSERT_EQ(0, enable(&self->stream));
	ASSERT_TRUE(WAIT_FOR(self->stream.ring->data_head > 16384));
	ASSERT_EQ(0, disable(&self->stream));
	end(task);
	ASSERT_EQ(0, io_uring_queue_init(8, &self->uring, 0));
	buffer = (struct iovec){ self->stream.data, self->stream.ring->data_size };
	ASSERT_EQ(0, io_uring_register_buffers(&self->uring, &buffer, 1));
	self->before = malloc(16384);
	memcpy(self->before, self->stream.data, 16384);
	self->fd = open(ARCHIVE, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

FIXTURE_TEARDOWN(pinned)
{
	stream_close(&self->stream);
	free(self->before);
	close(self->fd);
	unlink(ARCHIVE);
}

TEST_F(pinned, pages_outlive_map_and_stream)
{
	const uint8_t *data = self->stream.data;
	struct io_uring_cqe *cqe;
	uint8_t *copy = malloc(16384);

	stream_close(&self->stream);
	sleep_ms(50);
	io_uring_prep_write_fixed(io_uring_get_sqe(&self->uring), self->fd, data, 16384, 0, 0);
	ASSERT_EQ(1, io_uring_submit_and_wait(&self->uring, 1));
	ASSERT_EQ(0, io_uring_peek_cqe(&self->uring, &cqe));
	EXPECT_EQ(16384, cqe->res);
	EXPECT_EQ(16384, pread(self->fd, copy, 16384, 0));
	EXPECT_EQ(0, memcmp(copy, self->before, 16384));
	io_uring_queue_exit(&self->uring);
	free(copy);
}

/* Written, unmapped, closed and given up in one breath, many times. */
TEST_F(pinned, unmapped_while_it_is_written)
{
	for (unsigned int i = 0; i < 8; i++)
		io_uring_prep_write_fixed(io_uring_get_sqe(&self->uring), self->fd,
					  self->stream.data, self->stream.ring->data_size,
					  i * self->stream.ring->data_size, 0);
	ASSERT_EQ(8, io_uring_submit(&self->uring));
	stream_close(&self->stream);
	io_uring_queue_exit(&self->uring);
}

/* A poll that waits holds the stream; without it the stream goes. */
TEST_F(pinned, a_poll_on_its_way_ends_with_its_ring)
{
	int users = users_of_module();

	io_uring_prep_poll_multishot(io_uring_get_sqe(&self->uring), self->stream.fd, POLLIN);
	ASSERT_EQ(1, io_uring_submit(&self->uring));
	stream_close(&self->stream);
	sleep_ms(20);
	EXPECT_EQ(users, users_of_module());
	io_uring_queue_exit(&self->uring);
	EXPECT_TRUE(WAIT_FOR(users_of_module() == users - 1));
}

TEST_HARNESS_MAIN
