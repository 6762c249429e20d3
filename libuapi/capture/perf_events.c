// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Opens the dummy events of processes or CPUs, maps a ring for each CPU, and hands each ring's
 * records to perf_records.c.
 */
#include "capture/perf_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/vector.h"
#include "capture/clock.h"
#include "capture/perf_records.h"
#include "capture/procfs.h"

#define RING_BYTES (256U << 10)		/* of each CPU; less where memory may not be locked */
#define WATERMARK(size) ((size) / 4)	/* so much waits before we are woken */
#define ROUNDS 8			/* of looking for threads that started meanwhile */

struct ring {
	int fd;
	uint32_t cpu;
	struct perf_event_mmap_page *page;
	size_t mapped;
	const uint8_t *data;
	uint64_t size;
};

struct flowtap_perf {
	struct perf_event_attr attr;
	uint32_t *cpus;		/* that are online */
	size_t n_cpus;
	struct ring *rings;
	size_t n_rings;
	int *fds;		/* of all events */
	size_t n_fds;
	uint32_t *threads;	/* that have events */
	size_t n_threads;
	uint8_t *copy;		/* of a record that wraps */
	struct flowtap_perf_losses losses;
};

static void set_attr(struct perf_event_attr *attr, bool one, bool inherit)
{
	*attr = (struct perf_event_attr) {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(*attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = FLOWTAP_PERF_SAMPLE_TYPE,
		.read_format = PERF_FORMAT_LOST,
		.sample_id_all = 1,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.build_id = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC_RAW,
		.watermark = 1,
		.wakeup_watermark = WATERMARK(RING_BYTES),
		.inherit = one,
		.inherit_thread = one && !inherit,
	};
}

static int open_event(const struct perf_event_attr *attr, pid_t tid, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/*
 * Does without what older kernels do not have: build_id is of 5.12, inherit_thread of 5.13,
 * PERF_FORMAT_LOST of 6.0.
 */
static int open_oldest(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	int fd = open_event(attr, tid, cpu);

	if (fd == -EINVAL && attr->read_format) {
		attr->read_format = 0;
		fd = open_event(attr, tid, cpu);
	}
	if (fd == -EINVAL && attr->inherit_thread) {
		attr->inherit_thread = 0;
		fd = open_event(attr, tid, cpu);
	}
	if (fd == -EINVAL && attr->build_id) {
		attr->build_id = 0;
		fd = open_event(attr, tid, cpu);
	}
	return fd;
}

static int map_ring(struct ring *ring)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = RING_BYTES < page ? page : RING_BYTES;
	void *mapping;

	do {
		mapping = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
		if (mapping != MAP_FAILED)
			break;
		if (errno != EPERM && errno != ENOMEM)
			return -errno;
		size /= 2;
	} while (size >= page);
	if (mapping == MAP_FAILED)
		return -errno;
	ring->page = mapping;
	ring->mapped = page + size;
	ring->data = (const uint8_t *)mapping + page;
	ring->size = size;
	return 0;
}

static struct ring *find_ring(struct flowtap_perf *perf, uint32_t cpu)
{
	for (size_t i = 0; i < perf->n_rings; i++)
		if (perf->rings[i].cpu == cpu)
			return &perf->rings[i];
	return NULL;
}

/* 1: it is smaller than `attr` has it, which is mended: another event is to be opened for it. */
static int check_watermark(struct flowtap_perf *perf, struct ring *ring)
{
	const uint32_t watermark = (uint32_t)WATERMARK(ring->size);

	if (perf->attr.wakeup_watermark <= watermark)
		return 0;
	perf->attr.wakeup_watermark = watermark;
	munmap(ring->page, ring->mapped);
	return 1;
}

/* The event gives its records to its CPU's ring: the first one's own. 1 as above. */
static int attach(struct flowtap_perf *perf, int fd, uint32_t cpu)
{
	struct ring *ring = find_ring(perf, cpu);
	int err;

	if (ring)
		return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) ? -errno : 0;
	if (FLOWTAP_GROW(perf->rings, perf->n_rings))
		return -ENOMEM;
	ring = &perf->rings[perf->n_rings];
	*ring = (struct ring) { .fd = fd, .cpu = cpu };
	err = map_ring(ring);
	if (!err)
		err = check_watermark(perf, ring);
	if (!err)
		perf->n_rings++;
	return err;
}

/* -ENODEV: the CPU is offline; -ESRCH: no such thread. */
static int add_event(struct flowtap_perf *perf, pid_t tid, uint32_t cpu)
{
	int fd, err;

	if (FLOWTAP_GROW(perf->fds, perf->n_fds))
		return -ENOMEM;
	do {
		fd = open_oldest(&perf->attr, tid, (int)cpu);
		if (fd < 0)
			return fd;
		err = attach(perf, fd, cpu);
		if (err)
			close(fd);
	} while (err > 0);
	if (!err)
		perf->fds[perf->n_fds++] = fd;
	return err;
}

/* On each CPU that is online. */
static int add_everywhere(struct flowtap_perf *perf, pid_t tid)
{
	for (size_t i = 0; i < perf->n_cpus; i++) {
		int err = add_event(perf, tid, perf->cpus[i]);

		/* It went offline meanwhile. */
		if (err && err != -ENODEV)
			return err;
	}
	return perf->n_rings ? 0 : -ENODEV;
}

/* Visits a thread: 0, or -errno. A thread that has ended meanwhile needs no event. */
static int add_thread(void *argument, uint32_t tid)
{
	struct flowtap_perf *perf = argument;
	int err;

	for (size_t i = 0; i < perf->n_threads; i++)
		if (perf->threads[i] == tid)
			return 0;
	err = add_everywhere(perf, (pid_t)tid);
	if (err)
		return err == -ESRCH ? 0 : err;
	if (FLOWTAP_GROW(perf->threads, perf->n_threads))
		return -ENOMEM;
	perf->threads[perf->n_threads++] = tid;
	return 0;
}

/*
 * Events are a thread's and what it starts from then on: a thread started by one that has no event
 * yet is found by looking again. (One that is found and has inherited as well reports things twice,
 * which does no harm.)
 */
static int add_process(struct flowtap_perf *perf, uint32_t pid)
{
	size_t before;
	int err, rounds = 0;

	do {
		before = perf->n_threads;
		err = flowtap_proc_each_thread(pid, add_thread, perf);
		if (err)
			return err;
	} while (perf->n_threads != before && ++rounds < ROUNDS);
	return perf->n_threads ? 0 : -ESRCH;
}

int flowtap_perf_open(const pid_t *pids, size_t n, bool inherit, struct flowtap_perf **out)
{
	struct flowtap_perf *perf = calloc(1, sizeof(*perf));
	int err = -ENOMEM;

	if (!perf)
		return err;
	set_attr(&perf->attr, n, inherit);
	perf->copy = malloc(1U << 16);
	if (perf->copy)
		err = flowtap_proc_online(&perf->cpus, &perf->n_cpus);
	if (!err && !n)
		err = add_everywhere(perf, -1);
	for (size_t i = 0; i < n && !err; i++)
		err = add_process(perf, (uint32_t)pids[i]);
	if (err) {
		flowtap_perf_close(perf);
		return err;
	}
	*out = perf;
	return 0;
}

int flowtap_perf_enable(struct flowtap_perf *perf)
{
	for (size_t i = 0; i < perf->n_fds; i++)
		if (ioctl(perf->fds[i], PERF_EVENT_IOC_ENABLE, 0))
			return -errno;
	return 0;
}

int flowtap_perf_fds(const struct flowtap_perf *perf, int *fds, int n)
{
	for (size_t i = 0; i < perf->n_rings && (int)i < n; i++)
		fds[i] = perf->rings[i].fd;
	return (int)perf->n_rings;
}

/* Bytes [at, at + size) of the ring, in one piece. */
static const void *contiguous(const struct ring *ring, uint64_t at, size_t size, uint8_t *copy)
{
	size_t begin = at & (ring->size - 1), first = ring->size - begin;

	if (size <= first)
		return ring->data + begin;
	memcpy(copy, ring->data + begin, first);
	memcpy(copy + first, ring->data, size - first);
	return copy;
}

static int drain_ring(struct flowtap_perf *perf, struct ring *ring,
		      const struct flowtap_sideband_sink *out)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	int err = 0;

	while (!err && head - tail >= sizeof(struct perf_event_header)) {
		/* A header is aligned to 8 and never wraps. */
		const struct perf_event_header *header = contiguous(ring, tail, sizeof(*header),
								    perf->copy);
		size_t size = header->size;

		if (size < sizeof(*header) || size > head - tail || size > ring->size)
			break;
		err = flowtap_perf_record(contiguous(ring, tail, size, perf->copy), size, ring->cpu,
					  out, &perf->losses);
		tail += size;
	}
	/* What cannot be understood is not looked at again. */
	__atomic_store_n(&ring->page->data_tail, err ? tail : head, __ATOMIC_RELEASE);
	return err;
}

int flowtap_perf_drain(struct flowtap_perf *perf, const struct flowtap_sideband_sink *out,
		       uint64_t *lost)
{
	const uint64_t before = perf->losses.count;
	int err = 0;

	for (size_t i = 0; i < perf->n_rings && !err; i++)
		err = drain_ring(perf, &perf->rings[i], out);
	*lost += perf->losses.count - before;
	return err;
}

/* perf writes a LOST record when the next record has room in the ring, which may never be. */
int flowtap_perf_drain_all(struct flowtap_perf *perf, const struct flowtap_sideband_sink *out,
			   uint64_t *lost)
{
	struct {
		uint64_t value;
		uint64_t lost;		/* what inherited events lost is counted here too */
	} read_in;
	int err = flowtap_perf_drain(perf, out, lost);
	uint64_t total = 0, more;

	for (size_t i = 0; i < perf->n_fds && perf->attr.read_format; i++)
		if (read(perf->fds[i], &read_in, sizeof(read_in)) == (ssize_t)sizeof(read_in))
			total += read_in.lost;
	if (err || total <= perf->losses.count)
		return err;
	more = total - perf->losses.count;
	perf->losses.count += more;
	perf->losses.ahead += more;
	*lost += more;
	return flowtap_sideband_write_lost(out, more, clock_now(), 0);
}

void flowtap_perf_close(struct flowtap_perf *perf)
{
	for (size_t i = 0; i < perf->n_rings; i++)
		munmap(perf->rings[i].page, perf->rings[i].mapped);
	for (size_t i = 0; i < perf->n_fds; i++)
		close(perf->fds[i]);
	free(perf->cpus);
	free(perf->rings);
	free(perf->fds);
	free(perf->threads);
	free(perf->copy);
	free(perf);
}
