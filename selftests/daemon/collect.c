// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that what the rings of 64 CPUs have goes into one archive after the other, each record into
 * one of them, and how that is told. The device is this program's; streams, session and drain are
 * what they are elsewhere.
 */
#include "collect.h"

#include <errno.h>
#include <fcntl.h>
#include <flowtap/archive.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "events.h"
#include "run.h"
#include "support/drain_method.h"
#include "support/kselftest_harness.h"
#include "support/lost_events.h"
#include "logged.h"

#define CPUS 64

/* A stream as the module would make it: a file, whose first page is the ring's. */
static struct made {
	int fd;				/* -1: none */
	bool enabled;
	struct flowtap_configure configure;
	struct flowtap_ring *ring;	/* NULL: not configured */
	struct flowtap_stats stats;
} streams[CPUS + 4];

static struct made *made_of(int fd)
{
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++)
		if (streams[i].fd == fd)
			return &streams[i];
	return NULL;
}

/* --- Instead of libc's, for the device. --- */

static int open_made(void)
{
	struct made *made = made_of(-1);

	if (!made) {
		errno = EMFILE;
		return -1;
	}
	*made = (struct made){ .fd = memfd_create("stream", MFD_CLOEXEC) };
	return made->fd;
}

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list arguments;

	va_start(arguments, flags);
	if (flags & (O_CREAT | O_TMPFILE))
		mode = va_arg(arguments, mode_t);
	va_end(arguments);
	return strcmp(path, FLOWTAP_DEVICE) ? (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode) :
					      open_made();
}

int close(int fd)
{
	struct made *made = fd < 0 ? NULL : made_of(fd);

	if (made && made->ring)
		munmap(made->ring, (size_t)sysconf(_SC_PAGESIZE) + made->ring->data_size);
	if (made)
		made->fd = -1;
	return (int)syscall(SYS_close, fd);
}

static int query(struct flowtap_query *query)
{
	const uint32_t cpu = query->cpu, want = query->want;

	if (cpu >= CPUS)
		return EINVAL;
	*query = (struct flowtap_query){
		.abi = FLOWTAP_ABI,
		.source = FLOWTAP_SOURCE_CTR,
		.sources = 1ULL << FLOWTAP_SOURCE_CTR,
		.cpu = cpu,
		.cpus = CPUS,
		.want = want,
		.modes = FLOWTAP_MODE_USER | FLOWTAP_MODE_KERNEL,
		.flags = FLOWTAP_INHERIT | FLOWTAP_CPU_WIDE | FLOWTAP_OVERWRITE | FLOWTAP_EXCLUDE |
			 FLOWTAP_ENDLESS,
		.triggers = FLOWTAP_TRIGGER_SWITCH | FLOWTAP_TRIGGER_TIMER |
			    FLOWTAP_TRIGGER_OVERFLOW,
		.ctr = { .depths = 3, .depth_max = 32 },
	};
	return 0;
}

static int configure(struct made *made, const struct flowtap_configure *configure)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = configure->ring_pages * page;

	made->configure = *configure;
	if (ftruncate(made->fd, (off_t)(page + size)))
		return errno;
	made->ring = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, made->fd, 0);
	if (made->ring == MAP_FAILED)
		return ENOMEM;
	made->ring->abi = FLOWTAP_ABI;
	made->ring->data_offset = page;
	made->ring->data_size = size;
	return 0;
}

/* Of one stream, or of its group. */
static void enable(struct made *made, const struct flowtap_enable *enable, bool on)
{
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++)
		if (&streams[i] == made || enable->flags & FLOWTAP_ENABLE_GROUP)
			streams[i].enabled = on;
}

static int call(struct made *made, unsigned long command, void *argument)
{
	switch (command) {
	case FLOWTAP_IOC_QUERY:
		return query(argument);
	case FLOWTAP_IOC_CONFIGURE:
		return configure(made, argument);
	case FLOWTAP_IOC_ENABLE:
	case FLOWTAP_IOC_DISABLE:
		enable(made, argument, command == FLOWTAP_IOC_ENABLE);
		return 0;
	case FLOWTAP_IOC_STATS:
		*(struct flowtap_stats *)argument = made->stats;
		return 0;
	default:
		return ENOTTY;
	}
}

int ioctl(int fd, unsigned long command, ...)
{
	struct made *made = made_of(fd);
	va_list arguments;
	void *argument;

	va_start(arguments, command);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	if (!made)
		return (int)syscall(SYS_ioctl, fd, command, argument);
	errno = call(made, command, argument);
	return errno ? -1 : 0;
}

/* --- --- */

FIXTURE(collect)
{
	struct run run;
	struct logged logged;
	int files[2];
};

FIXTURE_VARIANT(collect)
{
	const char *drain;
	enum flowtap_drain_method method;
};

FIXTURE_VARIANT_ADD(collect, uring) { .drain = "io_uring", .method = FLOWTAP_DRAIN_URING };
FIXTURE_VARIANT_ADD(collect, poll) { .drain = "poll", .method = FLOWTAP_DRAIN_POLL };

FIXTURE_SETUP(collect)
{
	struct conf *conf = &self->run.conf;

	self->run = (struct run){ .signals = -1 };
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++)
		streams[i].fd = -1;
	ASSERT_EQ(0, setenv("FLOWTAP_DRAIN", variant->drain, 1));
	ASSERT_EQ(0, conf_default(conf));
	conf->source = CONF_SOURCE_CTR;
	conf->modes = CONF_MODES_USER;
	conf->ring_size = 64 << 10;
	for (size_t i = 0; i < 2; i++) {
		self->files[i] = memfd_create("archive", MFD_CLOEXEC);
		ASSERT_LE(0, self->files[i]);
	}
	logged_open(&self->logged);
}

FIXTURE_TEARDOWN(collect)
{
	collect_close(&self->run.collect);
	conf_free(&self->run.conf);
	logged_close(&self->logged);
	close(self->files[0]);
	close(self->files[1]);
}

static struct made *stream_of(FIXTURE_DATA(collect) *self, size_t cpu)
{
	return made_of(self->run.collect.streams.session.streams[cpu].fd);
}

/* So many records of a CPU, of 16 bytes each. */
static void put(struct made *made, unsigned int n)
{
	const struct flowtap_record record = { .type = FLOWTAP_RECORD_SWITCH, .size = 16 };
	struct flowtap_ring *ring = made->ring;

	for (; n; n--) {
		memcpy((uint8_t *)ring + ring->data_offset + ring->data_head % ring->data_size,
		       &record, sizeof(record));
		ring->data_head += record.size;
		made->stats.records++;
		made->stats.bytes += record.size;
	}
}

/* What an archive has of each CPU. False: something in it is damaged. */
static bool count(int fd, unsigned int records[CPUS], unsigned int *begun, bool *ended)
{
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	int got;

	memset(records, 0, CPUS * sizeof(records[0]));
	*begun = 0;
	*ended = false;
	lseek(fd, 0, SEEK_SET);
	if (flowtap_archive_open(fd, &reader))
		return false;
	while ((got = flowtap_archive_next(reader, &block)) > 0) {
		if (block.type == FLOWTAP_ARCHIVE_RING && block.cpu < CPUS)
			records[block.cpu] += block.size / 16;
		*begun += block.type == FLOWTAP_ARCHIVE_BEGUN;
		*ended |= block.type == FLOWTAP_ARCHIVE_END;
	}
	flowtap_archive_reader_free(reader);
	return !got;
}

static void begin(struct __test_metadata *_metadata, FIXTURE_DATA(collect) *self)
{
	struct collect *collect = &self->run.collect;

	ASSERT_EQ(0, collect_open(collect, &self->run.conf));
	ASSERT_EQ(CPUS, collect->streams.session.n);
	ASSERT_EQ(0, collect_prepare(collect, self->files[0]));
	ASSERT_EQ(0, collect_begin(collect));
}

TEST_F(collect, each_record_of_sixty_four_cpus_is_in_one_archive)
{
	struct collect *collect = &self->run.collect;
	unsigned int records[CPUS], begun;
	bool ended;

	if (variant->method != unregistered(variant->method))
		SKIP(return, "%s cannot be had here", variant->drain);
	begin(_metadata, self);
	EXPECT_EQ(0, collect_switch_on(collect, true));
	for (size_t cpu = 0; cpu < CPUS; cpu++) {
		EXPECT_TRUE(stream_of(self, cpu)->enabled);
		EXPECT_EQ(cpu, stream_of(self, cpu)->configure.cpu);
		put(stream_of(self, cpu), (unsigned int)cpu + 1);
	}
	EXPECT_EQ(0, collect_take(collect));
	/* What comes after that is in the same one as well. */
	for (size_t cpu = 0; cpu < CPUS; cpu++)
		put(stream_of(self, cpu), 1000);
	ASSERT_EQ(0, collect_prepare(collect, self->files[1]));
	ASSERT_EQ(0, collect_begin(collect));
	EXPECT_EQ(CPUS * (CPUS + 1) / 2 + CPUS * 1000, collect->records);
	EXPECT_EQ(0, collect->lost);
	ASSERT_TRUE(count(self->files[0], records, &begun, &ended));
	EXPECT_TRUE(ended);
	EXPECT_EQ(0, begun);
	for (size_t cpu = 0; cpu < CPUS; cpu++)
		EXPECT_EQ(cpu + 1001, records[cpu]);
	EXPECT_EQ(CPUS, collect_measure(collect));
	for (size_t cpu = 0; cpu < CPUS; cpu++) {
		EXPECT_EQ(cpu, collect->cpus[cpu].cpu);
		EXPECT_EQ(cpu + 1001, collect->cpus[cpu].records);
		EXPECT_EQ(16 * (cpu + 1001), collect->cpus[cpu].bytes);
		/* Nothing is recorded until that is wanted. */
		EXPECT_FALSE(stream_of(self, cpu)->enabled);
		put(stream_of(self, cpu), CPUS - (unsigned int)cpu);
	}
	EXPECT_EQ(0, collect_end(collect));
	EXPECT_EQ(CPUS * (CPUS + 1) / 2, collect->records);
	ASSERT_TRUE(count(self->files[1], records, &begun, &ended));
	EXPECT_TRUE(ended);
	EXPECT_EQ(CPUS, begun);
	for (size_t cpu = 0; cpu < CPUS; cpu++)
		EXPECT_EQ(CPUS - cpu, records[cpu]);
}

/* Of one that was prepared and is not begun nothing is written anywhere. */
TEST_F(collect, what_is_prepared_changes_nothing_yet)
{
	struct collect *collect = &self->run.collect;
	unsigned int records[CPUS], begun;
	bool ended;

	begin(_metadata, self);
	put(stream_of(self, 7), 3);
	ASSERT_EQ(0, collect_prepare(collect, self->files[1]));
	put(stream_of(self, 7), 3);
	EXPECT_EQ(0, collect_end(collect));
	EXPECT_EQ(0, lseek(self->files[1], 0, SEEK_END));
	ASSERT_TRUE(count(self->files[0], records, &begun, &ended));
	EXPECT_TRUE(ended);
	EXPECT_EQ(6, records[7]);
}

/* What perf had no room for, and tells of only where that is asked. */
static uint64_t lost_in(int fd)
{
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	uint64_t lost, all = 0;

	lseek(fd, 0, SEEK_SET);
	if (flowtap_archive_open(fd, &reader))
		return UINT64_MAX;
	while (flowtap_archive_next(reader, &block) > 0)
		if (block.type == FLOWTAP_ARCHIVE_LOST) {
			memcpy(&lost, block.payload, sizeof(lost));
			all += lost;
		}
	flowtap_archive_reader_free(reader);
	return all;
}

TEST_F(collect, what_perf_lost_at_the_end_of_an_archive_is_told_by_it)
{
	struct collect *collect = &self->run.collect;

	begin(_metadata, self);
	EXPECT_EQ(0, collect_switch_on(collect, true));
	EXPECT_EQ(0, collect_take(collect));
	untold = 2;
	ASSERT_EQ(0, collect_prepare(collect, self->files[1]));
	ASSERT_EQ(0, collect_begin(collect));
	EXPECT_EQ(2, lost_in(self->files[0]));
	ASSERT_EQ(0, collect_take(collect));
	untold = 3;
	ASSERT_EQ(0, collect_end(collect));
	/* The second begins with what its map of memory lacks. */
	EXPECT_EQ(2 + 3, lost_in(self->files[1]));
	EXPECT_EQ(5, flowtap_sideband_lost(collect->sideband));
}

TEST_F(collect, how_rings_are_emptied_is_told)
{
	const enum flowtap_drain_method method = unregistered(variant->method);
	char line[128];

	begin(_metadata, self);
	event_drain(&self->run);
	if (method == FLOWTAP_DRAIN_POLL)
		snprintf(line, sizeof(line), "level=warning event=drain method=poll instead_of=io_uring "
			 "cpus=%u\n", CPUS);
	else
		snprintf(line, sizeof(line), "level=info event=drain method=io_uring cpus=%u\n", CPUS);
	EXPECT_STREQ(line, logged_since(&self->logged));
}

TEST_HARNESS_MAIN
