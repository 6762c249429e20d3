// SPDX-License-Identifier: GPL-2.0-only
/* Opens a stream on each CPU, and all of them again with smaller rings where memory is short. */
#include "record/streams.h"

#include "common/device.h"
#include "common/names.h"
#include "common/tool.h"
#include "record/descriptors.h"
#include "record/fit.h"
#include "record/explain_error.h"

#include <errno.h>
#include <flowtap/session.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define RING_PAGES_MIN 8
#define AUX_PAGES_MIN 8

#define GONE 1			/* the CPU went offline */
#define TOO_MUCH 2		/* memory: all over again with less */

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

/* Since it was asked what it has. */
static bool is_gone(const struct stream *stream)
{
	struct flowtap_query query = {
		.cpu = stream->configure.cpu,
		.want = stream->configure.source,
	};

	return !ioctl(stream->fd, FLOWTAP_IOC_QUERY, &query) && !has_source(&query);
}

/*
 * What was not asked for by number may be less, the greater one first: a trace's records are few,
 * they take no more than its bytes. False: it is the least.
 */
static bool shrink(const struct record_options *options, struct flowtap_configure *configure)
{
	uint32_t *const ring = &configure->ring_pages, *const aux = &configure->aux_pages;
	bool less_ring = *ring > RING_PAGES_MIN && !options->pages_given;
	bool less_aux = *aux > AUX_PAGES_MIN && !options->ete.aux_given;

	if (less_aux && (!less_ring || *aux > *ring))
		*aux /= 2;
	else if (less_ring)
		*ring /= 2;
	else
		return false;
	return true;
}

/* 0 or -errno. */
static int map(struct stream *stream)
{
	const struct flowtap_configure *configure = &stream->configure;
	int error = flowtap_reader_map(&stream->reader, stream->fd, configure->ring_pages,
				       configure->flags);

	if (!error && configure->aux_pages)
		error = flowtap_reader_map_aux(&stream->reader, stream->fd, configure->aux_pages);
	if (error)
		complain("CPU %u: cannot map the ring: %s", configure->cpu, strerror(-error));
	return error;
}

/* 0, GONE, TOO_MUCH (and `common` is less) or -errno. */
static int open_stream(struct streams *streams, struct stream *stream,
		       const struct record_options *options, struct flowtap_configure *common)
{
	char fix[256];
	int error;

	stream->fd = flowtap_device_open();
	if (stream->fd < 0) {
		complain("%s", device_open_problem(stream->fd, fix, sizeof(fix)));
		advise("%s", fix);
		return stream->fd;
	}
	error = flowtap_device_configure(stream->fd, &stream->configure);
	if (error == -ENODEV && is_gone(stream))
		return GONE;
	if ((error == -EPERM || error == -ENOMEM) && shrink(options, common))
		return TOO_MUCH;
	if (!error)
		return map(stream);
	explain_configure_error(stream, streams->event, error);
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
	/* One for all; soft only where there is nothing else. */
	for (size_t cpu = 0; cpu < streams->cpus; cpu++)
		if (has_source(&streams->queries[cpu]) &&
		    (!streams->source || streams->source == FLOWTAP_SOURCE_SOFT))
			streams->source = streams->queries[cpu].source;
	return streams->source ? 0 : no_source(streams, want);
}

/* The CPU's stream gets what is asked for, or the CPU a reason why it has none. */
static bool choose(struct streams *streams, const struct record_options *options,
		   const struct flowtap_configure *common, size_t cpu)
{
	const struct flowtap_query *query = &streams->queries[cpu];
	struct skip *skip = &streams->skips[cpu];

	if (!options_cpu(options, cpu)) {
		*skip = (struct skip){ "not_asked_for", "not asked for" };
	} else if (!has_source(query)) {
		*skip = (struct skip){ name_of(reason_names, query->reason),
				       device_reason(query) };
	} else if (query->source != streams->source) {
		*skip = (struct skip){ "other_source", "it has another source (--source)" };
	} else {
		skip->text = explain_unsupported(query, common);
		skip->name = skip->text ? "unsupported" : NULL;
	}
	return !skip->text;
}

/* Nobody can do what is asked for, or it was asked of CPUs that are none. */
static int nobody(const struct streams *streams)
{
	for (size_t cpu = 0; cpu < streams->cpus; cpu++) {
		if (!strcmp(streams->skips[cpu].name, "not_asked_for"))
			continue;
		complain("CPU %zu cannot be recorded: %s", cpu, streams->skips[cpu].text);
		advise("`flowtap list` shows what each CPU can do");
		return -EOPNOTSUPP;
	}
	complain("this machine has no such CPU: they are 0 to %zu", streams->cpus - 1);
	return -EINVAL;
}

static int prepare(struct streams *streams, const struct record_options *options,
		   struct flowtap_configure *common)
{
	int error = query(streams, common->source);

	if (!error)
		error = fit_options(streams, options, common);
	if (error)
		return error;
	streams->wide = common->flags & FLOWTAP_CPU_WIDE;
	streams->grouped = !streams->wide || common->flags & FLOWTAP_EXCLUDE;
	streams->all = calloc(streams->cpus, sizeof(*streams->all));
	streams->skips = calloc(streams->cpus, sizeof(*streams->skips));
	if (streams->all && streams->skips)
		return 0;
	complain("no memory");
	return -ENOMEM;
}

/* A stream on each CPU that can. 0, TOO_MUCH (and `common` is less) or -errno. */
static int open_all(struct streams *streams, const struct record_options *options,
		    struct flowtap_configure *common)
{
	for (size_t cpu = 0; cpu < streams->cpus; cpu++) {
		struct stream *stream = &streams->all[streams->n];
		int error;

		if (!choose(streams, options, common, cpu))
			continue;
		*stream = (struct stream){
			.query = streams->queries[cpu],
			.configure = *common,
		};
		stream->configure.cpu = (uint32_t)cpu;
		stream->configure.source = streams->source;
		if (streams->n && streams->grouped) {
			stream->configure.flags |= FLOWTAP_GROUP;
			stream->configure.group_fd = (uint32_t)streams->all[0].fd;
		}
		streams->n++;
		error = open_stream(streams, stream, options, common);
		if (error != GONE && error)
			return error;
		if (error == GONE) {
			streams->n--;
			close(stream->fd);
			streams->skips[cpu] = (struct skip){ "offline", "it went offline" };
		}
	}
	return 0;
}

static void close_all(struct streams *streams)
{
	for (size_t i = 0; i < streams->n; i++) {
		if (streams->all[i].reader.ring)
			flowtap_reader_unmap(&streams->all[i].reader);
		if (streams->all[i].fd >= 0)
			close(streams->all[i].fd);
	}
	streams->n = 0;
}

int streams_open(struct streams *streams, const struct record_options *options)
{
	struct flowtap_configure common = options->configure;
	int error = prepare(streams, options, &common);

	if (error)
		return error;
	descriptors_raise();
	/* All have rings of one size. */
	while ((error = open_all(streams, options, &common)) == TOO_MUCH)
		close_all(streams);
	if (!error && !streams->n)
		error = nobody(streams);
	return error;
}

int streams_change(struct streams *streams, pid_t pid, bool thread, bool add)
{
	struct flowtap_task task = {
		.pid = (uint32_t)pid,
		.flags = thread ? FLOWTAP_TASK_THREAD : 0,
	};

	return ioctl(streams->all[0].fd, add ? FLOWTAP_IOC_ADD_TASK : FLOWTAP_IOC_REMOVE_TASK,
		     &task) ? -errno : 0;
}

int streams_add(struct streams *streams, pid_t pid)
{
	int error = streams_change(streams, pid, false, true);

	if (error)
		explain_task_error(pid, streams->event, error);
	return error;
}

/* All of them: one group, or each by itself. */
static int switch_all(struct streams *streams, unsigned long command)
{
	struct flowtap_enable enable = { .flags = streams->wide ? 0 : FLOWTAP_ENABLE_GROUP };
	size_t n = streams->wide ? streams->n : 1;

	for (size_t i = 0; i < n; i++)
		if (ioctl(streams->all[i].fd, command, &enable))
			return -errno;
	return 0;
}

int streams_enable(struct streams *streams)
{
	int error = switch_all(streams, FLOWTAP_IOC_ENABLE);

	if (error)
		complain("cannot start recording: %s", strerror(-error));
	return error;
}

int streams_disable(struct streams *streams)
{
	int error = switch_all(streams, FLOWTAP_IOC_DISABLE);

	if (error)
		complain("cannot stop recording: %s", strerror(-error));
	return error;
}

int streams_snapshot(const struct streams *streams)
{
	int error = 0;

	for (size_t i = 0; i < streams->n; i++) {
		struct flowtap_snapshot snapshot = { 0 };

		if (ioctl(streams->all[i].fd, FLOWTAP_IOC_SNAPSHOT, &snapshot) && !error)
			error = -errno;
	}
	if (error)
		complain("cannot take what the hardware has: %s", strerror(-error));
	return error;
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

/*
 * By FLOWTAP_DRAIN. Else a block is one request: into the page cache, where we write, registered
 * memory gains nothing, and one that is killed between two requests leaves half a block.
 * False: there is no such method.
 */
static bool choose_method(enum flowtap_drain_method *method)
{
	const char *wanted = getenv("FLOWTAP_DRAIN");

	*method = FLOWTAP_DRAIN_URING;
	if (!wanted)
		return true;
	for (*method = FLOWTAP_DRAIN_FIXED; *method < FLOWTAP_DRAIN_METHODS; ++*method)
		if (!strcmp(wanted, flowtap_drain_method_name(*method)))
			return true;
	return false;
}

int streams_begin(struct streams *streams, struct flowtap_archive_writer *writer)
{
	struct flowtap_drain_options options = { .streams = (unsigned int)streams->n };
	int error;

	if (!choose_method(&options.method)) {
		complain("FLOWTAP_DRAIN is '%s'", getenv("FLOWTAP_DRAIN"));
		advise("it can be io_uring-fixed, io_uring or poll; or unset it");
		return -EINVAL;
	}
	error = flowtap_drain_open(&options, writer, &streams->drain);
	for (size_t i = 0; i < streams->n && !error; i++) {
		struct stream *stream = &streams->all[i];

		stream->number = flowtap_drain_add(streams->drain, stream->fd, &stream->reader,
						   stream->configure.cpu);
		if (stream->number < 0)
			error = stream->number;
	}
	if (error)
		complain("cannot drain the rings: %s", strerror(-error));
	return error;
}

static void check_rings(struct streams *streams)
{
	for (size_t i = 0; i < streams->n && !streams->contradicts; i++) {
		if (!flowtap_drain_error(streams->drain, streams->all[i].number))
			continue;
		complain("CPU %u: its ring contradicts itself and is not read any more",
			 streams->all[i].configure.cpu);
		advise("are module and command of one version?");
		streams->contradicts = true;
	}
}

int streams_drain(struct streams *streams)
{
	uint64_t moved;
	int error = flowtap_drain_take(streams->drain, &moved);

	check_rings(streams);
	return error;
}

int streams_settle(struct streams *streams)
{
	int error = flowtap_drain_settle(streams->drain);

	/* A full ring had no space for the record of its last loss. */
	if (!error)
		error = streams_disable(streams);
	if (!error)
		error = flowtap_drain_settle(streams->drain);
	check_rings(streams);
	return error;
}

bool streams_whole(const struct streams *streams)
{
	return !streams->contradicts;
}

int streams_copy(struct streams *streams, bool running)
{
	/* The trace buffer writes its area with no regard to readers. */
	bool stop = running && streams->source == FLOWTAP_SOURCE_ETE;
	int error = stop ? streams_disable(streams) : 0;

	for (size_t i = 0; i < streams->n && !error; i++) {
		const struct stream *stream = &streams->all[i];
		uint64_t moved, dropped;

		error = flowtap_drain_snapshot(streams->drain, stream->number, &moved, &dropped);
		if (error != -EPROTO && error != -EAGAIN)
			continue;
		complain("CPU %u: its ring cannot be read: %s", stream->configure.cpu,
			 error == -EPROTO ? "it contradicts itself" :
			 "it is overwritten faster than it is copied");
		streams->contradicts |= error == -EPROTO;
		error = 0;
	}
	if (stop && streams_enable(streams) && !error)
		error = -EIO;
	return error;
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
		sum->aux_bytes += one.aux_bytes;
		sum->interrupts += one.interrupts;
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
	flowtap_drain_close(streams->drain);
	close_all(streams);
	free(streams->all);
	free(streams->skips);
	free(streams->queries);
	memset(streams, 0, sizeof(*streams));
}
