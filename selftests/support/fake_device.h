/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A device in place of libuapi/capture/device.c: CPUs that have what a test says, and streams that
 * are files in memory with a ring. It notes what it is asked for.
 */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_FAKE_DEVICE_H
#define FLOWTAP_SELFTESTS_SUPPORT_FAKE_DEVICE_H

#include <errno.h>
#include <flowtap/session.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/device.h"

#define FAKE_CPUS 4
#define FAKE_CALLS 64

struct fake_stream {
	int fd;
	struct flowtap_configure configure;
	struct flowtap_ring *ring;	/* NULL: not configured */
	struct flowtap_stats stats;
	bool enabled;
	unsigned int enables, disables, snapshots;
};

static struct fake_device {
	int no_device;			/* -errno of opening, 0: it is there */
	uint32_t cpus;
	struct flowtap_query queries[FAKE_CPUS];
	uint32_t gone;			/* bits of CPUs without a source once one was opened */
	int refusal[FAKE_CPUS];		/* -errno of CONFIGURE */
	unsigned int refusals;		/* so often; then it succeeds. 0: always */
	uint32_t most_pages;		/* of ring and AUX area together: -EPERM above; 0: any */
	uint64_t key;			/* of the set of tasks; 0: -EPERM */
	int task_error, enable_error, snapshot_error;
	unsigned int configures;	/* that were asked for */
	struct fake_stream streams[FAKE_CALLS];
	unsigned int opened;
	struct flowtap_task added[FAKE_CALLS], removed[FAKE_CALLS];
	unsigned int adds, removes;
	uint32_t denied, crowding;	/* -EPERM and -ENOSPC for these processes; 0: none */
} fake;

static inline struct fake_stream *fake_of(int fd)
{
	/* A number that was closed is given again. */
	for (unsigned int i = fake.opened; i-- > 0;)
		if (fake.streams[i].fd == fd)
			return &fake.streams[i];
	return NULL;
}

int flowtap_device_open(void)
{
	struct fake_stream *stream = &fake.streams[fake.opened];

	if (fake.no_device)
		return fake.no_device;
	if (fake.opened == FAKE_CALLS)
		return -EMFILE;
	stream->fd = memfd_create("stream", MFD_CLOEXEC);
	fake.opened++;
	return stream->fd;
}

static inline int fake_query(const struct fake_stream *stream, struct flowtap_query *query)
{
	const uint32_t cpu = query->cpu, want = query->want;

	if (cpu >= FAKE_CPUS || (cpu && cpu >= fake.cpus))
		return -EINVAL;
	*query = fake.queries[cpu];
	query->cpu = cpu;
	query->want = want;
	query->cpus = fake.cpus;
	if ((want && query->source != want) || (stream->configure.ring_pages && fake.gone >> cpu & 1)) {
		query->source = FLOWTAP_SOURCE_NONE;
		query->reason = FLOWTAP_REASON_ABSENT;
	}
	return 0;
}

/* The control page and data, and the AUX area after. */
static inline int fake_make_ring(struct fake_stream *stream)
{
	const struct flowtap_configure *configure = &stream->configure;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t ring = (1 + configure->ring_pages) * page, aux = configure->aux_pages * page;

	if (ftruncate(stream->fd, (off_t)(ring + aux)))
		return -errno;
	stream->ring = mmap(NULL, ring, PROT_READ | PROT_WRITE, MAP_SHARED, stream->fd, 0);
	if (stream->ring == MAP_FAILED)
		return -errno;
	stream->ring->abi = FLOWTAP_ABI;
	stream->ring->data_offset = page;
	stream->ring->data_size = ring - page;
	stream->ring->aux_offset = aux ? ring : 0;
	stream->ring->aux_size = aux;
	if (configure->flags & FLOWTAP_OVERWRITE)
		stream->ring->flags = FLOWTAP_OVERWRITE;
	return 0;
}

static inline int fake_configure(struct fake_stream *stream, const struct flowtap_configure *configure)
{
	const int refusal = fake.refusal[configure->cpu % FAKE_CPUS];

	fake.configures++;
	stream->configure = *configure;
	if (fake.gone >> configure->cpu & 1)
		return -ENODEV;
	if (refusal && (!fake.refusals || fake.configures <= fake.refusals))
		return refusal;
	if (fake.most_pages && configure->ring_pages + configure->aux_pages > fake.most_pages)
		return -EPERM;
	return fake_make_ring(stream);
}

/* Of one stream, or of its group. */
static inline int fake_switch(struct fake_stream *stream, const struct flowtap_enable *enable, bool on)
{
	if (fake.enable_error)
		return fake.enable_error;
	stream->enables += on;
	stream->disables += !on;
	for (unsigned int i = 0; i < fake.opened; i++)
		if (&fake.streams[i] == stream || enable->flags & FLOWTAP_ENABLE_GROUP)
			fake.streams[i].enabled = on;
	return 0;
}

static inline int fake_add(const struct flowtap_task *task)
{
	fake.added[fake.adds++ % FAKE_CALLS] = *task;
	if (fake.denied && task->pid == fake.denied)
		return -EPERM;
	return fake.crowding && task->pid == fake.crowding ? -ENOSPC : fake.task_error;
}

int flowtap_device_call(int fd, unsigned long command, void *argument)
{
	struct fake_stream *stream = fake_of(fd);

	switch (stream ? command : 0) {
	case FLOWTAP_IOC_QUERY:
		return fake_query(stream, argument);
	case FLOWTAP_IOC_CONFIGURE:
		return fake_configure(stream, argument);
	case FLOWTAP_IOC_ADD_TASK:
		return fake_add(argument);
	case FLOWTAP_IOC_REMOVE_TASK:
		fake.removed[fake.removes++ % FAKE_CALLS] = *(struct flowtap_task *)argument;
		return fake.task_error;
	case FLOWTAP_IOC_ENABLE:
	case FLOWTAP_IOC_DISABLE:
		return fake_switch(stream, argument, command == FLOWTAP_IOC_ENABLE);
	case FLOWTAP_IOC_SNAPSHOT:
		stream->snapshots++;
		return fake.snapshot_error;
	case FLOWTAP_IOC_STATS:
		*(struct flowtap_stats *)argument = stream->stats;
		return 0;
	case FLOWTAP_IOC_KEY:
		((struct flowtap_key *)argument)->key = fake.key;
		return fake.key ? 0 : -EPERM;
	default:
		return -ENOTTY;
	}
}

/* CPUs that all have this source and can do whatever it can. */
static inline void fake_reset(uint32_t cpus, uint32_t source)
{
	for (unsigned int i = 0; i < fake.opened; i++)
		if (fake.streams[i].ring)
			munmap(fake.streams[i].ring, (1 + fake.streams[i].configure.ring_pages) *
			       (size_t)sysconf(_SC_PAGESIZE));
	memset(&fake, 0, sizeof(fake));
	fake.cpus = cpus;
	for (uint32_t cpu = 0; cpu < FAKE_CPUS; cpu++)
		fake.queries[cpu] = (struct flowtap_query){
			.abi = FLOWTAP_ABI,
			.source = source,
			.sources = 1ULL << source,
			.reason = source ? FLOWTAP_REASON_NONE : FLOWTAP_REASON_ABSENT,
			.modes = FLOWTAP_MODE_USER | FLOWTAP_MODE_KERNEL,
			.flags = FLOWTAP_INHERIT | FLOWTAP_CPU_WIDE | FLOWTAP_OVERWRITE |
				 FLOWTAP_EXCLUDE | FLOWTAP_ENDLESS,
			.triggers = FLOWTAP_TRIGGER_SWITCH | FLOWTAP_TRIGGER_TIMER,
			.ctr = { .depths = 3, .depth_max = 32 },
		};
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_FAKE_DEVICE_H */
