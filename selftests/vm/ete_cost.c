// SPDX-License-Identifier: GPL-2.0-only
/*
 * What tracing with ETE costs, in a guest whose CPU counts instructions exactly: bits for each
 * instruction, instructions of the kernel for each interrupt and switch, bytes lost by the size of
 * the AUX area. selftests/vm/ete_figures boots it.
 */
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "kernel/aux.h"
#include "kernel/worker.h"

#define NUMBER(n) ((unsigned long long)(n))

static void need(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "ete_cost: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Instructions of the task and its children, or (pid -1) of CPU 0. */
static int open_counter(pid_t pid, bool user, bool kernel)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS, .exclude_user = !user,
		.exclude_kernel = !kernel, .inherit = pid > 0, .enable_on_exec = pid > 0,
		.disabled = pid > 0,
	};
	int fd = syscall(SYS_perf_event_open, &attr, pid, pid > 0 ? -1 : 0, -1, 0);

	need(fd >= 0, "no counter of instructions");
	return fd;
}

static uint64_t read_counter(int fd)
{
	uint64_t value = 0;

	need(read(fd, &value, sizeof(value)) == sizeof(value) && value, "the counter does not count");
	return value;
}

static void start(struct aux *aux, const struct flowtap_configure *configure, pid_t pid)
{
	errno = -aux_open(aux, configure);
	need(!errno, "configure");
	aux->tid = 0;
	errno = -(add_task(&aux->stream, pid, 0) < 0);
	need(!errno, "add task");
}

/* --- Bits for each instruction: a real program, from its exec to its end. --- */

static void bits(const char *name, const char *line, bool kernel)
{
	struct flowtap_configure configure = tracing(0, 4096);
	struct flowtap_stats got;
	struct aux aux;
	int go[2], counter;
	pid_t pid;
	char byte;

	configure.modes |= kernel ? FLOWTAP_MODE_KERNEL : 0;
	configure.flags = FLOWTAP_INHERIT | FLOWTAP_ENABLE_ON_EXEC;
	configure.flush_ms = ~0U;
	configure.ring_pages = 256;
	configure.ete.config = 1ULL << 11 | 1ULL << 12;
	need(!pipe(go), "pipe");
	pid = fork_pinned(0);
	if (!pid) {
		need(read(go[0], &byte, 1) == 1, "pipe");
		execl("/bin/sh", "sh", "-c", line, (char *)NULL);
		_exit(127);
	}
	start(&aux, &configure, pid);
	counter = open_counter(pid, true, kernel);
	need(write(go[1], "", 1) == 1, "pipe");
	waitpid(pid, NULL, 0);
	got = stats(&aux.stream);
	aux_take(&aux);
	printf("%-28s %-13s %12llu instructions %6.2f bits each%s\n", name,
	       kernel ? "user + kernel" : "user", NUMBER(read_counter(counter)),
	       8.0 * got.aux_bytes / read_counter(counter),
	       got.losses[FLOWTAP_CAUSE_HARDWARE] || got.losses[FLOWTAP_CAUSE_RING_FULL] ?
	       " (some lost)" : "");
	aux_close(&aux);
	close(counter);
}

/* --- The kernel's instructions while a worker takes its turns, traced and not. --- */

static uint64_t kernel_cost(struct worker *worker, unsigned int turns)
{
	int counter = open_counter(-1, false, true);
	uint64_t before = read_counter(counter);

	while (turns--)
		need(turn(worker), "the worker");
	before = read_counter(counter) - before;
	close(counter);
	return before;
}

static void cost(const char *name, unsigned long steps, unsigned int turns, uint32_t watermark)
{
	struct worker worker = start_worker(0, steps);
	struct flowtap_configure configure = tracing(0, 4096);
	struct flowtap_stats got;
	uint64_t without, with, events;
	struct aux aux;

	configure.flush_ms = ~0U;
	configure.ring_pages = 256;
	configure.aux_watermark = watermark;
	start(&aux, &configure, worker.pid);
	/* Both are warm then. */
	kernel_cost(&worker, 1);
	without = kernel_cost(&worker, turns);
	need(!enable(&aux.stream), "enable");
	kernel_cost(&worker, 1);
	got = stats(&aux.stream);
	events = watermark ? got.interrupts : got.switches;
	with = kernel_cost(&worker, turns);
	got = stats(&aux.stream);
	events = (watermark ? got.interrupts : got.switches) - events;
	printf("%-42s %8llu instructions of the kernel (%llu of them; %llu bytes)\n", name,
	       NUMBER(events ? (with - without) / events : 0), NUMBER(events),
	       NUMBER(got.aux_bytes));
	aux_close(&aux);
	end_worker(&worker);
}

/*
 * --- The same load, and a reader on the same CPU who comes each millisecond, as far as the
 * scheduler lets it. Each new begin of a trace adds some bytes, which hide as many lost ones. ---
 */

#define LOAD 400000UL

static uint64_t lost(uint32_t pages, uint64_t whole)
{
	struct worker worker = start_worker(0, LOAD);
	struct flowtap_configure configure = tracing(0, pages);
	struct pollfd done = { .events = POLLIN };
	struct flowtap_stats got;
	struct aux aux;

	configure.ring_pages = 256;
	start(&aux, &configure, worker.pid);
	need(!enable(&aux.stream), "enable");
	done.fd = worker.done;
	need(write(worker.go, "", 1) == 1, "the worker");
	while (!poll(&done, 1, 1))
		aux_take(&aux);
	disable(&aux.stream);
	aux_take(&aux);
	got = stats(&aux.stream);
	if (aux.wrong)
		printf("wrong: %s\n", aux.wrong);
	if (whole)
		printf("%10u KiB %12llu of %llu bytes lost (%5.1f%%), gaps: %u hardware, %u ring full; %llu interrupts\n",
		       pages * 4, NUMBER(whole > aux.bytes ? whole - aux.bytes : 0), NUMBER(whole),
		       whole > aux.bytes ? 100.0 * (whole - aux.bytes) / whole : 0,
		       aux.gaps[FLOWTAP_CAUSE_HARDWARE], aux.gaps[FLOWTAP_CAUSE_RING_FULL],
		       NUMBER(got.interrupts));
	whole = aux.bytes;
	aux_close(&aux);
	end_worker(&worker);
	return whole;
}

/*
 * --- The same by the kernel's own drivers, coresight-etm4x and coresight-trbe, through perf. ---
 */

static long read_number(const char *path, const char *format)
{
	FILE *file = fopen(path, "r");
	long value = -1;

	if (!file || fscanf(file, format, &value) != 1)
		value = -1;
	if (file)
		fclose(file);
	return value;
}

/* Interrupts of the trace buffer so far. */
static uint64_t peer_interrupts(void)
{
	FILE *file = fopen("/proc/interrupts", "r");
	unsigned long long count = 0;
	char line[512];

	need(file, "/proc/interrupts");
	while (fgets(line, sizeof(line), file))
		if (strstr(line, "trbe"))
			sscanf(line, " %*[^:]: %llu", &count);
	fclose(file);
	return count;
}

static void peer(const char *name, unsigned long steps, unsigned int turns, uint32_t watermark)
{
	struct worker worker = start_worker(0, steps);
	struct perf_event_attr attr = {
		.type = read_number("/sys/bus/event_source/devices/cs_etm/type", "%ld"),
		.size = sizeof(attr), .exclude_kernel = 1, .disabled = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME, .aux_watermark = watermark,
	};
	const size_t pages = 4096, data = 256;
	uint64_t without, with, events;
	struct perf_event_mmap_page *ring;
	int fd = syscall(SYS_perf_event_open, &attr, worker.pid, -1, -1, 0);

	need(fd >= 0, "no event of cs_etm");
	ring = mmap(NULL, (data + 1) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(ring != MAP_FAILED, "the ring");
	ring->aux_offset = (data + 1) * 4096;
	ring->aux_size = pages * 4096;
	need(mmap(NULL, ring->aux_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, ring->aux_offset) !=
	     MAP_FAILED, "the AUX area");
	kernel_cost(&worker, 1);
	without = kernel_cost(&worker, turns);
	need(!ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), "enable");
	kernel_cost(&worker, 1);
	events = peer_interrupts();
	with = kernel_cost(&worker, turns);
	events = watermark ? peer_interrupts() - events : turns;
	printf("%-42s %8llu instructions of the kernel (%llu of them; %llu bytes)\n", name,
	       NUMBER(events ? (with - without) / events : 0), NUMBER(events),
	       NUMBER(ring->aux_head));
	close(fd);
	end_worker(&worker);
}

int main(int argc, char **argv)
{
	static const char work[] = "head -c 200000 /bin/busybox | gzip | md5sum >/dev/null";
	static const char list[] = "ls -lR /etc /bin >/dev/null";
	uint64_t whole;
	uint32_t pages;

	setvbuf(stdout, NULL, _IOLBF, 0);
	pin(0, 0);
	if (argc > 1 && !strcmp(argv[1], "peer")) {
		peer("a switch of a traced task in and out", 10, 500, 0);
		peer("an interrupt of the trace buffer", 40000, 4, 4096);
		return 0;
	}
	if (argc < 2) {
		bits("head | gzip | md5sum", work, false);
		bits("head | gzip | md5sum", work, true);
		bits("ls -lR", list, false);
		bits("ls -lR", list, true);
		cost("a switch of a traced task in and out", 10, 500, 0);
		cost("an interrupt of the trace buffer", 40000, 4, 4096);
	}
	/* All of it fits. */
	whole = lost(4096, 0);
	for (pages = 2; pages <= 4096; pages *= 2)
		lost(pages, whole);
	return 0;
}
