/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of the module share: streams, their rings, and what is in them. */
#ifndef FLOWTAP_SELFTESTS_KERNEL_STREAM_H
#define FLOWTAP_SELFTESTS_KERNEL_STREAM_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <linux/flowtap.h>

#define DEVICE "/dev/flowtap"
#define MS 1000000ULL

struct stream {
	int fd;
	struct flowtap_ring *ring;	/* NULL: not mapped */
	uint8_t *data;
	size_t length;			/* of the mapping */
	/* A copy of the record that was taken last. */
	union {
		struct flowtap_record header;
		struct flowtap_record_sample sample;
		struct flowtap_record_gap gap;
		struct flowtap_record_lost lost;
		uint8_t bytes[65536];
	} record;
};

static inline uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static inline void sleep_ms(unsigned int ms)
{
	usleep(ms * 1000);
}

static inline int open_device(void)
{
	return open(DEVICE, O_RDWR | O_CLOEXEC);
}

/* Waits for it, a minute at most; whether it came. The machine may be very busy. */
#define WAIT_FOR(condition) ({							\
	uint64_t until_ = now_ns() + 60000 * MS;				\
										\
	while (!(condition) && now_ns() < until_)				\
		sleep_ms(2);							\
	(condition);								\
})

/* 0 or -errno, for any of the commands. */
static inline int command(int fd, unsigned long number, void *argument)
{
	return ioctl(fd, number, argument) < 0 ? -errno : 0;
}

/* What CPU 0 has of that source. False: it has no such source. */
static inline bool query_source(unsigned int source, struct flowtap_query *query)
{
	int fd = open_device(), error;

	*query = (struct flowtap_query){ .want = source };
	error = command(fd, FLOWTAP_IOC_QUERY, query);
	close(fd);
	return !error && query->source == source;
}

static inline bool source_there(unsigned int source)
{
	struct flowtap_query query;

	return query_source(source, &query);
}

static inline int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		error = -errno;
	close(fd);
	return error;
}

/* An emulated machine is slow enough for perf to stop an event: not while it is tested. */
static inline void unthrottle(void)
{
	write_file("/proc/sys/kernel/perf_cpu_time_max_percent", "100");
	write_file("/proc/sys/kernel/perf_event_max_sample_rate", "100000");
	write_file("/proc/sys/kernel/perf_cpu_time_max_percent", "0");
}

/* A stream of the source on a CPU that gives samples only on request. */
static inline struct flowtap_configure plain(unsigned int source, unsigned int cpu)
{
	return (struct flowtap_configure){
		.source = source,
		.cpu = cpu,
		.modes = FLOWTAP_MODE_USER,
		.triggers = FLOWTAP_TRIGGER_SNAPSHOT,
		.ring_pages = 16,
		.ctr.depth = 16,
	};
}

/* The soft source, a sample every timer_ns while a traced task runs. */
static inline struct flowtap_configure ticking(unsigned int cpu, uint64_t timer_ns)
{
	struct flowtap_configure configure = plain(FLOWTAP_SOURCE_SOFT, cpu);

	configure.triggers |= FLOWTAP_TRIGGER_TIMER;
	configure.timer_ns = timer_ns;
	return configure;
}

static inline int stream_map(struct stream *stream, unsigned int pages)
{
	long page = sysconf(_SC_PAGESIZE);

	stream->length = (pages + 1) * page;
	stream->ring = mmap(NULL, stream->length, PROT_READ | PROT_WRITE, MAP_SHARED,
			    stream->fd, 0);
	if (stream->ring == MAP_FAILED) {
		stream->ring = NULL;
		return -errno;
	}
	stream->data = (uint8_t *)stream->ring + stream->ring->data_offset;
	return 0;
}

static inline void stream_close(struct stream *stream)
{
	if (stream->ring)
		munmap(stream->ring, stream->length);
	if (stream->fd >= 0)
		close(stream->fd);
	stream->ring = NULL;
	stream->fd = -1;
}

/* Opened, configured and mapped: 0 or -errno. */
static inline int stream_open(struct stream *stream, const struct flowtap_configure *configure)
{
	int error;

	memset(stream, 0, sizeof(*stream));
	stream->fd = open_device();
	if (stream->fd < 0)
		return -errno;
	error = command(stream->fd, FLOWTAP_IOC_CONFIGURE, (void *)configure);
	if (!error)
		error = stream_map(stream, configure->ring_pages);
	if (error)
		stream_close(stream);
	return error;
}

/* Number of threads or -errno. */
static inline int add_task(const struct stream *stream, uint32_t pid, uint32_t flags)
{
	struct flowtap_task task = { .pid = pid, .flags = flags };
	int error = command(stream->fd, FLOWTAP_IOC_ADD_TASK, &task);

	return error ?: (int)task.threads;
}

static inline int remove_task(const struct stream *stream, uint32_t pid, uint32_t flags)
{
	struct flowtap_task task = { .pid = pid, .flags = flags };
	int error = command(stream->fd, FLOWTAP_IOC_REMOVE_TASK, &task);

	return error ?: (int)task.threads;
}

static inline int enable(const struct stream *stream)
{
	struct flowtap_enable enable = { 0 };

	return command(stream->fd, FLOWTAP_IOC_ENABLE, &enable);
}

static inline int disable(const struct stream *stream)
{
	struct flowtap_enable enable = { 0 };

	return command(stream->fd, FLOWTAP_IOC_DISABLE, &enable);
}

/* Entries of the sample or -errno. */
static inline int snapshot(const struct stream *stream)
{
	struct flowtap_snapshot snapshot = { 0 };
	int error = command(stream->fd, FLOWTAP_IOC_SNAPSHOT, &snapshot);

	return error ?: (int)snapshot.entries;
}

static inline struct flowtap_stats stats(const struct stream *stream)
{
	struct flowtap_stats stats;

	if (ioctl(stream->fd, FLOWTAP_IOC_STATS, &stats) < 0)
		memset(&stats, 0xff, sizeof(stats));
	return stats;
}

/* What poll says now. */
static inline int poll_now(const struct stream *stream)
{
	struct pollfd poll_fd = { .fd = stream->fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) < 0 ? -errno : poll_fd.revents;
}

/* poll's events; 0 when there are none within ms. */
static inline int poll_for(const struct stream *stream, int ms)
{
	struct pollfd poll_fd = { .fd = stream->fd, .events = POLLIN };

	return poll(&poll_fd, 1, ms) < 0 ? -errno : poll_fd.revents;
}

/* 1: the next record is in stream->record; 0: none; -EPROTO: what is there is no record. */
static inline int stream_next(struct stream *stream)
{
	struct flowtap_ring *ring = stream->ring;
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->data_tail, size = ring->data_size, i;
	struct flowtap_record header;

	if (head == tail)
		return 0;
	if (head - tail > size || head - tail < sizeof(header) || tail % 8)
		return -EPROTO;
	memcpy(&header, stream->data + (tail & (size - 1)), sizeof(header));
	if (header.size < sizeof(header) || header.size % 8 || header.size > head - tail)
		return -EPROTO;
	for (i = 0; i < header.size; i++)
		stream->record.bytes[i] = stream->data[(tail + i) & (size - 1)];
	__atomic_store_n(&ring->data_tail, tail + header.size, __ATOMIC_RELEASE);
	return 1;
}

/* The next sample, others passed over; waits up to ms for it. 1, 0 or -EPROTO. */
static inline int stream_next_sample(struct stream *stream, unsigned int ms)
{
	uint64_t until = now_ns() + ms * MS;
	int got;

	do {
		while ((got = stream_next(stream)) == 1)
			if (stream->record.header.type == FLOWTAP_RECORD_SAMPLE)
				return 1;
		if (got < 0)
			return got;
		sleep_ms(5);
	} while (now_ns() < until);
	return 0;
}

static inline const struct flowtap_entry *entries_of(const struct stream *stream)
{
	return (const void *)(&stream->record.sample + 1);
}

/* The soft source's pattern (kmod/soft.c), followed drain by drain. */
struct pattern {
	uint32_t depth;
	uint64_t drains;
	uint64_t n;			/* of the next transfer */
};

/* One drain: how many entries it gives. */
static inline uint32_t pattern_drain(struct pattern *pattern, uint64_t *first)
{
	uint32_t nr = pattern->drains++ % (pattern->depth + 1);

	if (nr == pattern->depth)
		pattern->n += pattern->depth;
	*first = pattern->n;
	pattern->n += nr;
	return nr;
}

/* The sample in stream->record is what the next drain gives, to the last bit. */
static inline bool pattern_equal(struct pattern *pattern, const struct stream *stream)
{
	const struct flowtap_record_sample *sample = &stream->record.sample;
	const struct flowtap_entry *entry = entries_of(stream);
	uint64_t n;
	uint32_t nr = pattern_drain(pattern, &n), i;

	if (sample->nr != nr || sample->depth != pattern->depth ||
	    sample->header.size != sizeof(*sample) + nr * sizeof(*entry))
		return false;
	for (i = 0; i < nr; i++, n++)
		if (entry[i].source != ((0x10000 + 8 * n) | 1) ||
		    entry[i].target != 0x10004 + 8 * n ||
		    entry[i].data != ((n % 4096) << 16 | 1 << 15 | n % 16))
			return false;
	return true;
}

#endif /* FLOWTAP_SELFTESTS_KERNEL_STREAM_H */
