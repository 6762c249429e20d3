// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Holds the model's execution log against QEMU's own log of what it executed (-d exec,nochain,int
 * with one instruction a block), which no plugin has a part in. Where the model's log says that it
 * follows the execution, each instruction of QEMU's must be in it, and no other.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log_read.h"

#define CPUS 8
#define ANCHOR 48	/* so many instructions say where in QEMU's log a run begins */

static const char usage[] =
	"Usage: exec_check PREFIX CPUS <QEMU'S LOG\n"
	"PREFIX: the log of the model. QEMU's log: of\n"
	"  qemu-system-aarch64 -accel tcg,one-insn-per-tb=on -d exec,nochain,int -D FILE ...\n";

/* Addresses of instructions. */
struct path {
	uint64_t *list;
	size_t n;
	size_t capacity;
};

struct exception {
	unsigned int cpu;
	bool interrupt;
	bool fetch;
	uint64_t link;
};

static void add(struct path *path, uint64_t address)
{
	if (path->n == path->capacity) {
		path->capacity = path->capacity ? 2 * path->capacity : 1 << 16;
		path->list = realloc(path->list, path->capacity * sizeof(*path->list));
		if (!path->list)
			abort();
	}
	path->list[path->n++] = address;
}

static bool take_back(struct path *path, uint64_t address)
{
	if (!path->n || path->list[path->n - 1] != address)
		return false;
	path->n--;
	return true;
}

/* It is not said of which CPU; most likely of the one that was told of last. */
static void stopped(struct path *paths, unsigned int last, uint64_t address)
{
	bool done = take_back(&paths[last], address);

	for (unsigned int cpu = 0; !done && cpu < CPUS; cpu++)
		done = take_back(&paths[cpu], address);
}

/* The text after an exception's first line. */
static void read_exception(struct path *paths, struct exception *exception, const char *line)
{
	unsigned int class, cpu;
	char name[64];

	if (sscanf(line, "Taking exception %*u [%63[^]]] on CPU %u", name, &cpu) == 2) {
		exception->cpu = cpu < CPUS ? cpu : 0;
		exception->interrupt = strstr(name, "IRQ") || strstr(name, "FIQ");
		exception->fetch = false;
	} else if (sscanf(line, "...with ESR 0x%x/", &class) == 1) {
		/* The fetch of an instruction that has been executed before, and led to itself. */
		exception->fetch = class == 0x20 || class == 0x21;
	} else if (sscanf(line, "...with ELR 0x%" SCNx64, &exception->link) == 1) {
		if (!exception->interrupt && !exception->fetch)
			take_back(&paths[exception->cpu], exception->link);
	}
}

/* Blocks that QEMU entered and left at once, and instructions that failed, are not executed. */
static void read_qemu(FILE *file, struct path *paths)
{
	static const char stop[] = "Stopped execution of TB chain before %*s [%" SCNx64;
	struct exception exception = { 0 };
	char line[512];
	unsigned int cpu, last = 0;
	uint64_t pc;

	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Trace %u: %*s [%*[^/]/%" SCNx64 "/", &cpu, &pc) == 2) {
			last = cpu < CPUS ? cpu : 0;
			add(&paths[last], pc);
		} else if (sscanf(line, stop, &pc) == 1) {
			stopped(paths, last, pc);
		} else {
			read_exception(paths, &exception, line);
		}
	}
}

static size_t find(const struct path *path, size_t from, const uint64_t *run, size_t n)
{
	if (n > ANCHOR)
		n = ANCHOR;
	for (; from + n <= path->n; from++) {
		if (!memcmp(path->list + from, run, n * sizeof(*run)))
			break;
	}
	return from;
}

/* One run of the model's log; *at: where in QEMU's log the one before ended. */
static bool check_run(const struct path *qemu, size_t *at, const struct path *run, unsigned int cpu)
{
	size_t from = find(qemu, *at, run->list, run->n);

	if (!run->n)
		return true;
	for (size_t i = 0; i < run->n; i++) {
		if (from + i < qemu->n && qemu->list[from + i] == run->list[i])
			continue;
		printf("CPU %u: instruction %zu of a run that begins at 0x%" PRIx64 ": the model's "
		       "log says 0x%" PRIx64 ", QEMU's 0x%" PRIx64 "\n", cpu, i, run->list[0],
		       run->list[i], from + i < qemu->n ? qemu->list[from + i] : 0);
		return false;
	}
	*at = from + run->n;
	return true;
}

static int check(const char *prefix, unsigned int cpu, const struct log_pieces *pieces,
		 const struct path *qemu)
{
	static struct log_reader reader;
	struct path run = { 0 };
	uint64_t levels = 0, total = 0;
	struct log_bytes events;
	struct log_item item;
	size_t at = 0, runs = 0;
	char path[4096];
	bool good = true;
	int err;

	snprintf(path, sizeof(path), "%s.%u", prefix, cpu);
	err = log_map(path, &events);
	if (err || log_reader_init(&reader, events, pieces)) {
		printf("%s: %s\n", path, err ? strerror(-err) : reader.error);
		return 2;
	}
	while (good && (err = log_read(&reader, &item)) > 0) {
		bool ends = item.kind == LOG_TRACING || item.kind == LOG_RESET;

		if (item.kind == LOG_TRACING)
			levels = item.fields[1];
		/* What executes elsewhere is not logged. */
		if (item.kind == LOG_EXCEPTION)
			ends = !(levels >> item.fields[4] & 1);
		if (item.kind == LOG_RETURN)
			ends = !(levels >> item.fields[0] & 1);
		for (uint32_t i = 0; item.kind == LOG_BLOCK && i < item.block.n; i++)
			add(&run, item.block.address + 4 * (uint64_t)i);
		if (!ends)
			continue;
		good = check_run(qemu, &at, &run, cpu);
		runs += run.n > 0;
		total += run.n;
		run.n = 0;
	}
	if (good && err) {
		printf("%s: %s\n", path, err == -ENODATA ? "it has no end" : reader.error);
		good = false;
	}
	good = good && check_run(qemu, &at, &run, cpu);
	total += run.n;
	if (good)
		printf("CPU %u: %" PRIu64 " instructions in %zu runs are those of QEMU, of %zu\n",
		       cpu, total, runs + (run.n > 0), qemu->n);
	free(run.list);
	log_unmap(&events);
	return good ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct path paths[CPUS] = { 0 };
	struct log_pieces pieces;
	struct log_bytes code;
	char path[4096], error[160];
	int status = 0;
	long cpus;

	if (argc != 3 || (cpus = strtol(argv[2], NULL, 10)) < 1 || cpus > CPUS) {
		fputs(usage, stderr);
		return 2;
	}
	snprintf(path, sizeof(path), "%s.code", argv[1]);
	read_qemu(stdin, paths);
	if (log_map(path, &code) || log_pieces_read(&pieces, code, error)) {
		fprintf(stderr, "exec_check: %s cannot be read\n", path);
		return 2;
	}
	for (long cpu = 0; cpu < cpus; cpu++)
		status |= check(argv[1], cpu, &pieces, &paths[cpu]);
	for (int i = 0; i < CPUS; i++)
		free(paths[i].list);
	log_pieces_free(&pieces);
	log_unmap(&code);
	return status;
}
