// SPDX-License-Identifier: GPL-2.0-only
#include "streams.h"

#include "device.h"
#include "names.h"
#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGES_MIN 8

static bool has_source(const struct flowtap_query *query)
{
	return query->source != FLOWTAP_SOURCE_NONE;
}

static int no_source(const struct streams *streams, uint32_t want)
{
	const struct flowtap_query *first = &streams->queries[0];

	if (want) {
		complain("no CPU of this machine has the source %s", name_of(source_names, want));
		if (want == FLOWTAP_SOURCE_SOFT)
			advise("the module has it only if it was loaded with soft=1");
		else
			advise("`flowtap list` shows what there is");
		return -ENODEV;
	}
	complain("no CPU of this machine has a source of control flow: %s", device_reason(first));
	if (first->sources & 1U << FLOWTAP_SOURCE_SOFT)
		advise("--source soft records synthetic transfers, for tests");
	advise("`flowtap doctor` says what is missing and how to get it");
	return -ENODEV;
}

/* What CONFIGURE refused, in the words of the options that asked for it. */
static void configure_problem(const struct streams *streams, const struct stream *stream, int error)
{
	const struct flowtap_configure *configure = &stream->configure;
	struct flowtap_query query = { .cpu = configure->cpu };

	switch (-error) {
	case EINVAL:
		complain("CPU %u: the stream is refused: is a ring of %u pages too small for "
			 "samples of %u transfers?",
			 configure->cpu, configure->ring_pages,
			 configure->ctr.depth ? configure->ctr.depth : stream->query.ctr.depth_max);
		advise("take a greater --ring-pages or a smaller --depth");
		break;
	case EBUSY:
		if (ioctl(stream->fd, FLOWTAP_IOC_QUERY, &query) || !query.holder_comm[0])
			complain("CPU %u: someone else holds its source", configure->cpu);
		else
			complain("CPU %u: its source is held by '%.16s' (PID %u)", configure->cpu,
				 (const char *)query.holder_comm, query.holder_pid);
		advise("end that recording first");
		break;
	case EPERM:
	case EACCES:
		complain("CPU %u: a ring of %u pages may not be locked into memory", configure->cpu,
			 configure->ring_pages);
		advise("take a smaller --ring-pages, raise `ulimit -l`, or the module's mlock_kb");
		break;
	case ENOMEM:
		complain("CPU %u: no memory for a ring of %u pages", configure->cpu,
			 configure->ring_pages);
		advise("take a smaller --ring-pages");
		break;
	case EOPNOTSUPP:
		complain("CPU %u: the source cannot do that (event %s, depth %u)", configure->cpu,
			 streams->event, configure->ctr.depth);
		advise("`flowtap list` shows depths and events");
		break;
	case ENOENT:
	case ENODEV:
		complain("CPU %u: the event %s does not exist here", configure->cpu,
			 streams->event);
		advise("`flowtap list` shows which do");
		break;
	default:
		complain("CPU %u: cannot configure a stream: %s", configure->cpu, strerror(-error));
		advise("`flowtap list` shows what the source can do");
	}
}

static int configure(struct stream *stream, bool shrink)
{
	while (ioctl(stream->fd, FLOWTAP_IOC_CONFIGURE, &stream->configure)) {
		bool memory = errno == EPERM || errno == EACCES || errno == ENOMEM;

		if (!shrink || !memory || stream->configure.ring_pages <= PAGES_MIN)
			return -errno;
		stream->configure.ring_pages /= 2;
	}
	return 0;
}

static int open_stream(struct streams *streams, struct stream *stream, bool shrink)
{
	char fix[256];
	int error;

	stream->fd = device_open();
	if (stream->fd < 0) {
		complain("%s", device_open_problem(stream->fd, fix, sizeof(fix)));
		advise("%s", fix);
		return stream->fd;
	}
	error = configure(stream, shrink);
	if (error) {
		configure_problem(streams, stream, error);
		return error;
	}
	error = flowtap_reader_map(&stream->reader, stream->fd, stream->configure.ring_pages);
	if (error)
		complain("CPU %u: cannot map the ring: %s", stream->configure.cpu,
			 strerror(-error));
	return error;
}

static int query(struct streams *streams, uint32_t want)
{
	char fix[256];
	int error = device_query(want, &streams->queries, &streams->cpus);

	if (error) {
		complain("%s", device_open_problem(error, fix, sizeof(fix)));
		advise("%s", fix);
		return error;
	}
	for (size_t cpu = 0; cpu < streams->cpus; cpu++)
		if (has_source(&streams->queries[cpu]))
			return 0;
	return no_source(streams, want);
}

/* One period for all streams, at least what each of their sources asks for. */
static int choose_period(const struct streams *streams, struct flowtap_configure *configure,
			 uint64_t fallback)
{
	uint64_t least = 0, wanted = configure->period;

	for (size_t cpu = 0; cpu < streams->cpus; cpu++)
		if (has_source(&streams->queries[cpu]) && streams->queries[cpu].period_min > least)
			least = streams->queries[cpu].period_min;
	if (wanted && wanted < least) {
		complain("a period of %" PRIu64
			 " is too small: the source asks for at least %" PRIu64,
			 wanted, least);
		advise("-c %" PRIu64 " or more", least);
		return -EINVAL;
	}
	if (!wanted)
		configure->period = fallback > least ? fallback : least;
	return 0;
}

int streams_open(struct streams *streams, const struct flowtap_configure *wish, uint64_t fallback,
		 bool shrink)
{
	struct flowtap_configure common = *wish;
	int error = query(streams, wish->source);

	if (!error)
		error = choose_period(streams, &common, fallback);
	if (error)
		return error;
	streams->all = calloc(streams->cpus, sizeof(*streams->all));
	if (!streams->all) {
		complain("no memory");
		return -ENOMEM;
	}
	for (size_t cpu = 0; cpu < streams->cpus; cpu++) {
		struct stream *stream = &streams->all[streams->n];

		if (!has_source(&streams->queries[cpu]))
			continue;
		stream->query = streams->queries[cpu];
		stream->configure = common;
		stream->configure.cpu = (uint32_t)cpu;
		stream->configure.source = stream->query.source;
		if (streams->n) {
			stream->configure.flags |= FLOWTAP_GROUP;
			stream->configure.group_fd = (uint32_t)streams->all[0].fd;
		}
		streams->n++;
		error = open_stream(streams, stream, shrink);
		if (error)
			return error;
		/* The next ones need not try again what this one did not get. */
		common.ring_pages = stream->configure.ring_pages;
	}
	return 0;
}

int streams_add(struct streams *streams, pid_t pid)
{
	struct flowtap_task task = { .pid = (uint32_t)pid };
	int error;

	if (!ioctl(streams->all[0].fd, FLOWTAP_IOC_ADD_TASK, &task))
		return 0;
	error = -errno;
	switch (-error) {
	case ESRCH:
		complain("there is no process %d", pid);
		break;
	case EPERM:
	case EACCES:
		complain("you may not trace process %d", pid);
		advise("it must be yours in all its user and group ids, and dumpable (not "
		       "set-uid); root may trace any");
		break;
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		complain("the event %s cannot be counted for a process here", streams->event);
		advise("`flowtap list` shows which events can; -e cpu-clock needs no hardware");
		break;
	case EBUSY:
		complain("all counters for the event %s are taken", streams->event);
		advise("end the other user (perf?), or take another event with -e");
		break;
	default:
		complain("cannot trace process %d: %s", pid, strerror(-error));
	}
	return error;
}

int streams_enable(struct streams *streams)
{
	struct flowtap_enable enable = { .flags = FLOWTAP_ENABLE_GROUP };

	if (!ioctl(streams->all[0].fd, FLOWTAP_IOC_ENABLE, &enable))
		return 0;
	complain("cannot start recording: %s", strerror(errno));
	return -errno;
}

int streams_disable(struct streams *streams)
{
	struct flowtap_enable enable = { .flags = FLOWTAP_ENABLE_GROUP };

	if (!ioctl(streams->all[0].fd, FLOWTAP_IOC_DISABLE, &enable))
		return 0;
	complain("cannot stop recording: %s", strerror(errno));
	return -errno;
}

int streams_describe(const struct streams *streams, struct flowtap_archive_writer *writer)
{
	int error = 0;

	for (size_t cpu = 0; cpu < streams->cpus && !error; cpu++)
		error = flowtap_archive_write(writer, FLOWTAP_ARCHIVE_QUERY, (uint32_t)cpu,
					      number_now(), &streams->queries[cpu],
					      sizeof(*streams->queries), NULL, 0);
	for (size_t i = 0; i < streams->n && !error; i++) {
		const struct flowtap_configure *configure = &streams->all[i].configure;

		error = flowtap_archive_write(writer, FLOWTAP_ARCHIVE_CONFIGURE, configure->cpu,
					      number_now(), configure, sizeof(*configure), NULL, 0);
	}
	return error;
}

int streams_drain(struct streams *streams, struct flowtap_archive_writer *writer, uint64_t *moved)
{
	*moved = 0;
	for (size_t i = 0; i < streams->n; i++) {
		struct stream *stream = &streams->all[i];
		struct flowtap_stretch part[2];
		uint64_t head;
		int error = flowtap_reader_peek(&stream->reader, part, &head);

		if (error)
			return error;
		if (!part[0].size)
			continue;
		error = flowtap_archive_write(writer, FLOWTAP_ARCHIVE_RING, stream->configure.cpu,
					      number_now(), part[0].bytes, part[0].size,
					      part[1].bytes, part[1].size);
		if (error)
			return error;
		flowtap_reader_advance(&stream->reader, head);
		*moved += part[0].size + part[1].size;
	}
	return 0;
}

void streams_sum(const struct streams *streams, struct flowtap_stats *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (size_t i = 0; i < streams->n; i++) {
		struct flowtap_stats one;

		if (ioctl(streams->all[i].fd, FLOWTAP_IOC_STATS, &one))
			continue;
		sum->samples += one.samples;
		sum->entries += one.entries;
		sum->records += one.records;
		sum->bytes += one.bytes;
		sum->lost_samples += one.lost_samples;
		sum->lost_entries += one.lost_entries;
		sum->lost_records += one.lost_records;
		sum->lost_bytes += one.lost_bytes;
		for (size_t cause = 0; cause < sizeof(sum->losses) / sizeof(sum->losses[0]);
		     cause++)
			sum->losses[cause] += one.losses[cause];
		sum->triggers += one.triggers;
		sum->switches += one.switches;
		sum->wakeups += one.wakeups;
		if (one.high_water > sum->high_water)
			sum->high_water = one.high_water;
	}
}

int streams_conclude(const struct streams *streams, struct flowtap_archive_writer *writer)
{
	for (size_t i = 0; i < streams->n; i++) {
		const struct stream *stream = &streams->all[i];
		struct flowtap_stats stats;
		int error;

		if (ioctl(stream->fd, FLOWTAP_IOC_STATS, &stats))
			continue;
		error = flowtap_archive_write(writer, FLOWTAP_ARCHIVE_STATS, stream->configure.cpu,
					      number_now(), &stats, sizeof(stats), NULL, 0);
		if (error)
			return error;
	}
	return 0;
}

void streams_close(struct streams *streams)
{
	for (size_t i = 0; i < streams->n; i++) {
		if (streams->all[i].reader.ring)
			flowtap_reader_unmap(&streams->all[i].reader);
		if (streams->all[i].fd >= 0)
			close(streams->all[i].fd);
	}
	free(streams->all);
	free(streams->queries);
	memset(streams, 0, sizeof(*streams));
}
