// SPDX-License-Identifier: GPL-2.0-only
/*
 * What draining costs the kernel, by io_uring and by poll and write, under the same load:
 *
 *	device	streams of the soft source with samples of up to 256 transfers (in a guest only)
 *	much	a ring of 512 KiB whose reader is woken for each quarter
 *	little	8 rings with 2 KiB each at a time, as what is flushed ten times a second
 *
 * Instructions in kernel mode, and in another run those in user mode (most of them for the blocks'
 * checksums), are counted where the machine counts them (a guest with -icount counts exactly; one
 * counter at a time), else CPU time is taken. Only the drain's own process and its io_uring workers
 * count, not who writes the rings. The archive is in memory (/tmp).
 */
#include <errno.h>
#include <fcntl.h>
#include <flowtap/drain.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kernel/stream.h"
#include "kernel/task.h"
#include "support/made_ring.h"

#define RING (512U << 10)
#define SAMPLE (sizeof(struct flowtap_record_sample) + 256 * sizeof(struct flowtap_entry))
#define MUCH (64U << 20)
#define LITTLE 300			/* rounds */
#define LITTLE_BYTES 2048U
#define DEVICE_BYTES (8U << 20)

static const char *const modes[] = { "kernel", "user" };
static unsigned int mode;

/* Of this process and of threads that it gets. -1: the machine does not count them. */
static int open_counter(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_user = mode == 0,
		.exclude_kernel = mode == 1,
		.exclude_hv = 1,
		.inherit = 1,
		.inherit_thread = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static const char *unit;

/* Instructions or nanoseconds in the mode so far. */
static uint64_t cost_now(int counter)
{
	const struct timeval *time;
	struct rusage usage;
	uint64_t value;

	if (counter >= 0 && read(counter, &value, sizeof(value)) == sizeof(value) && value) {
		unit = "instructions";
		return value;
	}
	getrusage(RUSAGE_SELF, &usage);
	unit = "ns";
	time = mode ? &usage.ru_utime : &usage.ru_stime;
	return (uint64_t)time->tv_sec * 1000000000U + (uint64_t)time->tv_usec * 1000;
}

struct bench {
	const char *load;
	int fd;
	struct flowtap_archive_writer *writer;
	struct flowtap_drain *drain;
	unsigned int waits;
};

static void check(int error, const char *what)
{
	if (error >= 0)
		return;
	fprintf(stderr, "drain: %s: %s\n", what, strerror(-error));
	exit(1);
}

static void open_bench(struct bench *bench, enum flowtap_drain_method method, unsigned int streams)
{
	struct flowtap_drain_options options = { method, streams };

	bench->fd = open("/tmp/bench.ftap", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	check(bench->fd < 0 ? -errno : 0, "/tmp/bench.ftap");
	check(flowtap_archive_create(bench->fd, &bench->writer), "archive");
	check(flowtap_drain_open(&options, bench->writer, &bench->drain), "drain");
}

/* What has been written is not to fill the memory. */
static void forget(struct bench *bench)
{
	flowtap_drain_close(bench->drain);
	flowtap_archive_writer_free(bench->writer);
	close(bench->fd);
	unlink("/tmp/bench.ftap");
}

static double (*results)[2];		/* by method and mode; shared with who measures */

static void report(const struct bench *bench, enum flowtap_drain_method method, uint64_t cost,
		   uint64_t bytes, uint64_t records)
{
	enum flowtap_drain_method had = flowtap_drain_method(bench->drain);

	if (had != method) {
		printf("%-8s %-15s cannot be had here\n", bench->load,
		       flowtap_drain_method_name(method));
		results[method][mode] = 0;
		return;
	}
	results[method][mode] = (double)cost / (double)bytes;
	printf("%-8s %-15s %8.3f %s %s a byte, %8.1f a record of %.0f bytes, %u waits\n",
	       bench->load, flowtap_drain_method_name(method), results[method][mode], modes[mode], unit,
	       (double)cost / (double)records, (double)bytes / (double)records, bench->waits);
}

static void wait_and_take(struct bench *bench, struct made *made, unsigned int rings,
			  uint64_t *total)
{
	uint64_t moved, ticks;

	check(flowtap_drain_wait(bench->drain, 1000), "wait");
	bench->waits++;
	/*
	 * An eventfd must be read to fall silent, unlike a stream. Only poll needs it; all do it.
	 */
	for (unsigned int i = 0; i < rings; i++)
		(void)!read(made[i].fd, &ticks, sizeof(ticks));
	check(flowtap_drain_collect(bench->drain, &moved), "take");
	for (unsigned int i = 0; i < rings; i++)
		check(flowtap_drain_error(bench->drain, made[i].number), "ring");
	*total += moved;
}

/* Whole records of `bytes` together at the ring's head. */
static void put_records(struct made *made, uint64_t bytes)
{
	uint64_t head = made->ring->data_head, end = head + bytes;

	while (head < end) {
		uint64_t size = end - head < 32768 ? end - head : 32768;
		struct flowtap_record *record = (void *)(made->data + (head & (made->size - 1)));

		*record = (struct flowtap_record){ .size = (uint16_t)size };
		head += size;
	}
	__atomic_store_n(&made->ring->data_head, end, __ATOMIC_RELEASE);
}

/* Fills each ring by `step` bytes at a time when there is room, or when it was emptied. */
static void fill_rings(struct made *made, unsigned int rings, uint64_t step, uint64_t bytes)
{
	uint64_t capacity = rings > 1 ? step : made[0].size;

	for (uint64_t at = 0; at < bytes; at += step) {
		for (unsigned int i = 0; i < rings; i++) {
			const struct flowtap_ring *ring = made[i].ring;

			while (ring->data_head + step -
				       __atomic_load_n(&ring->data_tail, __ATOMIC_ACQUIRE) >
			       capacity)
				sched_yield();
			put_records(&made[i], step);
		}
		for (unsigned int i = 0; i < rings; i++)
			kick(&made[i]);
	}
}

static void bench_made(const char *load, enum flowtap_drain_method method, int counter,
		       unsigned int rings, uint64_t step, uint64_t bytes)
{
	struct bench bench = { .load = load };
	struct made made[RINGS];
	uint64_t cost, total = 0;
	pid_t writer;

	open_bench(&bench, method, rings);
	for (unsigned int i = 0; i < rings; i++) {
		if (!make(&made[i], RING))
			check(-ENOMEM, "ring");
		made[i].number = flowtap_drain_add(bench.drain, made[i].fd, &made[i].reader, i);
		check(made[i].number, "add");
	}
	fflush(stdout);
	writer = fork_pinned(-1);
	if (!writer) {
		fill_rings(made, rings, step, bytes);
		_exit(0);
	}
	cost = cost_now(counter);
	while (total < bytes * rings)
		wait_and_take(&bench, made, rings, &total);
	check(flowtap_drain_flush(bench.drain), "flush");
	cost = cost_now(counter) - cost;
	waitpid(writer, NULL, 0);
	report(&bench, method, cost, total, total / SAMPLE);
	forget(&bench);
	for (unsigned int i = 0; i < rings; i++)
		unmake(&made[i]);
}

static void bench_device(enum flowtap_drain_method method, int counter)
{
	struct flowtap_configure configure = ticking(0, 200000);
	struct bench bench = { .load = "device" };
	struct flowtap_reader reader;
	static struct stream stream;
	uint64_t cost, total = 0, moved;
	pid_t task = spinner(0);

	configure.ctr.depth = 256;
	configure.ring_pages = RING / 4096;
	open_bench(&bench, method, 1);
	check(stream_open(&stream, &configure), "stream");
	check(flowtap_reader_attach(&reader, stream.ring, stream.length), "ring");
	check(flowtap_drain_add(bench.drain, stream.fd, &reader, 0), "add");
	check(add_task(&stream, (uint32_t)task, 0), "task");
	check(enable(&stream), "enable");
	cost = cost_now(counter);
	while (total < DEVICE_BYTES) {
		check(flowtap_drain_wait(bench.drain, 1000), "wait");
		bench.waits++;
		check(flowtap_drain_collect(bench.drain, &moved), "take");
		total += moved;
	}
	check(flowtap_drain_flush(bench.drain), "flush");
	cost = cost_now(counter) - cost;
	check(disable(&stream), "disable");
	report(&bench, method, cost, stats(&stream).bytes, stats(&stream).records);
	if (stats(&stream).lost_records)
		printf("%-8s %-15s lost %llu records\n", bench.load,
		       flowtap_drain_method_name(method),
		       (unsigned long long)stats(&stream).lost_records);
	forget(&bench);
	stream_close(&stream);
	end(task);
}

static void compare(const char *load)
{
	const double *poll = results[FLOWTAP_DRAIN_POLL];

	for (int method = FLOWTAP_DRAIN_FIXED; method < FLOWTAP_DRAIN_POLL; method++) {
		const double *it = results[method];

		if (it[0] > 0 && poll[0] > 0)
			printf("%-8s %-15s %8.2f times what poll costs the kernel, %.2f times in all\n", load,
			       flowtap_drain_method_name((enum flowtap_drain_method)method),
			       it[0] / poll[0], (it[0] + it[1]) / (poll[0] + poll[1]));
	}
}

typedef void run_load(enum flowtap_drain_method method, int counter);

/* In a process of its own: io_uring's workers stay for a while, and count for who made them. */
static void measure_one(run_load *run, enum flowtap_drain_method method)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	check(pid < 0 ? -errno : 0, "fork");
	if (!pid) {
		run(method, open_counter());
		exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		exit(1);
}

/* Each method by each mode's counter. */
static void measure(const char *load, run_load *run)
{
	for (mode = 0; mode < 2; mode++)
		for (enum flowtap_drain_method method = 0; method < FLOWTAP_DRAIN_METHODS; method++)
			measure_one(run, method);
	compare(load);
}

static void bench_much(enum flowtap_drain_method method, int counter)
{
	bench_made("much", method, counter, 1, RING / 4, MUCH);
}

static void bench_little(enum flowtap_drain_method method, int counter)
{
	bench_made("little", method, counter, RINGS, LITTLE_BYTES, LITTLE * LITTLE_BYTES);
}

int main(void)
{
	results = mmap(NULL, FLOWTAP_DRAIN_METHODS * sizeof(*results), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(results == MAP_FAILED ? -errno : 0, "memory");
	if (!access(DEVICE, R_OK | W_OK) && source_there(FLOWTAP_SOURCE_SOFT))
		measure("device", bench_device);
	measure("much", bench_much);
	measure("little", bench_little);
	return 0;
}
