// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows how full the rings of perf's events are when the recorder is woken, however little memory
 * may be locked. The kernel's side of it is the test's own.
 */
#include "capture/perf_events.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

#define FDS 4096

static size_t lockable;			/* bytes of a ring's data */
static uint32_t watermarks[FDS];	/* of the event of this fd; 0: it is another's */
static size_t sizes[FDS];		/* of its ring's data */

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

	if (fd >= 0 && fd < FDS && watermarks[fd]) {
		if (size - page > lockable) {
			errno = EPERM;
			return MAP_FAILED;
		}
		sizes[fd] = size - page;
		flags |= MAP_ANONYMOUS;
		fd = -1;
	}
	return ((__typeof__(&mmap))dlsym(RTLD_NEXT, "mmap"))(address, size, protection, flags, fd,
							     offset);
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

TEST_HARNESS_MAIN
