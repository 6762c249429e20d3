// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows how full the rings of perf's events are when the recorder is woken, however little memory
 * may be locked, and that what they lost is told once. The kernel's side of it is the test's own.
 */
#include "capture/perf_events.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

#define FDS 4096

static size_t lockable;			/* bytes of a ring's data */
static uint32_t watermarks[FDS];	/* of the event of this fd; 0: it is another's */
static size_t sizes[FDS];		/* of its ring's data */
static struct perf_event_mmap_page *pages[FDS];
static uint64_t missed[FDS];		/* records that its ring had no room for */

/* perf_event_open. */
long syscall(long number, ...)
{
	const struct perf_event_attr *attr;
	va_list arguments;
	int fd;

	if (number != SYS_perf_event_open)
		abort();
	va_start(arguments, number);
	attr = va_arg(arguments, const struct perf_event_attr *);
	va_end(arguments);
	fd = memfd_create("event", MFD_CLOEXEC);
	if (fd < 0 || fd >= FDS || !attr->watermark)
		abort();
	watermarks[fd] = attr->wakeup_watermark;
	return fd;
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const int event = fd >= 0 && fd < FDS && watermarks[fd] ? fd : -1;
	void *mapping;

	if (event >= 0) {
		if (size - page > lockable) {
			errno = EPERM;
			return MAP_FAILED;
		}
		sizes[fd] = size - page;
		flags |= MAP_ANONYMOUS;
		fd = -1;
	}
	mapping = ((__typeof__(&mmap))dlsym(RTLD_NEXT, "mmap"))(address, size, protection, flags,
								fd, offset);
	if (event >= 0)
		pages[event] = mapping;
	return mapping;
}

ssize_t read(int fd, void *bytes, size_t size)
{
	if (fd < 0 || fd >= FDS || !watermarks[fd])
		return ((__typeof__(&read))dlsym(RTLD_NEXT, "read"))(fd, bytes, size);
	if (size < 16)
		abort();
	memcpy(bytes, (uint64_t[]){ 0, missed[fd] }, 16);
	return 16;
}

TEST(the_watermark_is_a_quarter_of_the_ring_that_there_is)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t cases[] = { 256 << 10, 128 << 10, 64 << 10, page };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct flowtap_perf *perf;
		int fds[FDS], n;

		lockable = cases[i];
		ASSERT_EQ(0, flowtap_perf_open(NULL, 0, false, &perf));
		n = flowtap_perf_fds(perf, fds, FDS);
		EXPECT_GE(n, 1);
		for (int k = 0; k < n; k++) {
			EXPECT_EQ(sizes[fds[k]], cases[i]);
			EXPECT_EQ(watermarks[fds[k]], cases[i] / 4);
		}
		flowtap_perf_close(perf);
	}
}

TEST(without_memory_there_are_no_events)
{
	struct flowtap_perf *perf;

	lockable = 0;
	EXPECT_EQ(-EPERM, flowtap_perf_open(NULL, 0, false, &perf));
}

/* --- What is lost. --- */

FIXTURE(losing)
{
	struct flowtap_perf *perf;
	struct flowtap_sideband_sink out;
	int archive;
	int event;			/* whose ring has no room */
	uint64_t lost;			/* as the drains say */
};

FIXTURE_SETUP(losing)
{
	int fds[FDS];

	lockable = 256 << 10;
	self->archive = memfd_create("archive", MFD_CLOEXEC);
	ASSERT_EQ(0, flowtap_archive_create(self->archive, &self->out.writer));
	ASSERT_EQ(0, flowtap_perf_open(NULL, 0, false, &self->perf));
	ASSERT_LE(1, flowtap_perf_fds(self->perf, fds, FDS));
	self->event = fds[0];
}

FIXTURE_TEARDOWN(losing)
{
	missed[self->event] = 0;
	flowtap_perf_close(self->perf);
	flowtap_archive_writer_free(self->out.writer);
	close(self->archive);
}

/* There is room again: perf tells, before the next record. */
static void tell(FIXTURE_DATA(losing) *self, uint64_t count)
{
	struct perf_event_mmap_page *page = pages[self->event];
	const struct {
		struct perf_event_header header;
		uint64_t id;
		uint64_t count;
		uint64_t sample_id[3];
	} record = {
		.header = { .type = PERF_RECORD_LOST, .size = sizeof(record) },
		.count = count,
	};

	memcpy((uint8_t *)page + sysconf(_SC_PAGESIZE) + page->data_head, &record, sizeof(record));
	page->data_head += sizeof(record);
}

/* What all LOST blocks of the archive say. */
static uint64_t told(FIXTURE_DATA(losing) *self)
{
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	uint64_t lost, sum = 0;

	if (flowtap_archive_flush(self->out.writer) || lseek(self->archive, 0, SEEK_SET) ||
	    flowtap_archive_open(self->archive, &reader))
		abort();
	while (flowtap_archive_next(reader, &block) > 0)
		if (block.type == FLOWTAP_ARCHIVE_LOST) {
			memcpy(&lost, block.payload, sizeof(lost));
			sum += lost;
		}
	flowtap_archive_reader_free(reader);
	return sum;
}

TEST_F(losing, what_no_record_tells_of_is_asked_for_at_the_end)
{
	missed[self->event] = 3;
	ASSERT_EQ(0, flowtap_perf_drain(self->perf, &self->out, &self->lost));
	EXPECT_EQ(0, self->lost);
	ASSERT_EQ(0, flowtap_perf_drain_all(self->perf, &self->out, &self->lost));
	EXPECT_EQ(3, self->lost);
	EXPECT_EQ(3, told(self));
	ASSERT_EQ(0, flowtap_perf_drain_all(self->perf, &self->out, &self->lost));
	EXPECT_EQ(3, self->lost);
	EXPECT_EQ(3, told(self));
}

TEST_F(losing, what_was_told_is_not_told_again_by_its_record)
{
	missed[self->event] = 3;
	ASSERT_EQ(0, flowtap_perf_drain_all(self->perf, &self->out, &self->lost));
	missed[self->event] = 5;
	tell(self, 5);
	ASSERT_EQ(0, flowtap_perf_drain(self->perf, &self->out, &self->lost));
	EXPECT_EQ(5, self->lost);
	EXPECT_EQ(5, told(self));
	missed[self->event] = 9;
	tell(self, 4);
	ASSERT_EQ(0, flowtap_perf_drain(self->perf, &self->out, &self->lost));
	EXPECT_EQ(9, self->lost);
	EXPECT_EQ(9, told(self));
}

TEST_HARNESS_MAIN
