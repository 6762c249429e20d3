// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parses event names by tables of perf's words: plain events, caches with an operation, and raw
 * numbers.
 */
#include "common/event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HARDWARE(name, alias, id, period) \
	{ name, alias, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##id, period }
#define SOFTWARE(name, alias, id, period) \
	{ name, alias, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##id, period }

static const struct event events[] = {
	HARDWARE("instructions", NULL, INSTRUCTIONS, 1000000),
	HARDWARE("cycles", "cpu-cycles", CPU_CYCLES, 1000000),
	HARDWARE("branches", "branch-instructions", BRANCH_INSTRUCTIONS, 200000),
	HARDWARE("branch-misses", NULL, BRANCH_MISSES, 10000),
	HARDWARE("cache-references", NULL, CACHE_REFERENCES, 100000),
	HARDWARE("cache-misses", NULL, CACHE_MISSES, 10000),
	HARDWARE("bus-cycles", NULL, BUS_CYCLES, 100000),
	HARDWARE("stalled-cycles-frontend", NULL, STALLED_CYCLES_FRONTEND, 100000),
	HARDWARE("stalled-cycles-backend", NULL, STALLED_CYCLES_BACKEND, 100000),
	HARDWARE("ref-cycles", NULL, REF_CPU_CYCLES, 1000000),
	SOFTWARE("cpu-clock", NULL, CPU_CLOCK, 1000000),
	SOFTWARE("task-clock", NULL, TASK_CLOCK, 1000000),
	SOFTWARE("page-faults", "faults", PAGE_FAULTS, 1),
	SOFTWARE("minor-faults", NULL, PAGE_FAULTS_MIN, 1),
	SOFTWARE("major-faults", NULL, PAGE_FAULTS_MAJ, 1),
	SOFTWARE("context-switches", "cs", CONTEXT_SWITCHES, 1),
	SOFTWARE("cpu-migrations", "migrations", CPU_MIGRATIONS, 1),
	SOFTWARE("alignment-faults", NULL, ALIGNMENT_FAULTS, 1),
	SOFTWARE("emulation-faults", NULL, EMULATION_FAULTS, 1),
};

struct word {
	const char *text;
	uint64_t value;
};

static const struct word caches[] = {
	{ "L1-dcache", PERF_COUNT_HW_CACHE_L1D },
	{ "L1-icache", PERF_COUNT_HW_CACHE_L1I },
	{ "LLC", PERF_COUNT_HW_CACHE_LL },
	{ "dTLB", PERF_COUNT_HW_CACHE_DTLB },
	{ "iTLB", PERF_COUNT_HW_CACHE_ITLB },
	{ "branch", PERF_COUNT_HW_CACHE_BPU },
	{ "node", PERF_COUNT_HW_CACHE_NODE },
	{ NULL, 0 }
};

#define OPERATION(op, result)                                                                      \
	(PERF_COUNT_HW_CACHE_OP_##op << 8 | PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static const struct word operations[] = {
	{ "-loads", OPERATION(READ, ACCESS) },
	{ "-load-misses", OPERATION(READ, MISS) },
	{ "-stores", OPERATION(WRITE, ACCESS) },
	{ "-store-misses", OPERATION(WRITE, MISS) },
	{ "-prefetches", OPERATION(PREFETCH, ACCESS) },
	{ "-prefetch-misses", OPERATION(PREFETCH, MISS) },
	{ NULL, 0 }
};

const struct event *event_table(size_t *n)
{
	*n = sizeof(events) / sizeof(events[0]);
	return events;
}

static bool parse_cache(const char *text, size_t size, struct event *event)
{
	for (const struct word *cache = caches; cache->text; cache++) {
		size_t length = strlen(cache->text);

		if (size <= length || strncmp(text, cache->text, length))
			continue;
		for (const struct word *operation = operations; operation->text; operation++) {
			if (strlen(operation->text) != size - length ||
			    strncmp(text + length, operation->text, size - length))
				continue;
			event->type = PERF_TYPE_HW_CACHE;
			event->config = cache->value | operation->value;
			event->period = 100000;
			return true;
		}
	}
	return false;
}

static bool parse_raw(const char *text, size_t size, struct event *event)
{
	char *end;

	if (size < 2 || size > 17 || text[0] != 'r' || !strchr("0123456789abcdefABCDEF", text[1]))
		return false;
	event->config = strtoull(text + 1, &end, 16);
	event->type = PERF_TYPE_RAW;
	event->period = 100000;
	return end == text + size;
}

const char *event_unit(const char *name, size_t size)
{
	static const char ending[] = "-clock";
	const size_t length = sizeof(ending) - 1;

	size = size > 2 && !memcmp(name + size - 2, ":u", 2) ? size - 2 : size;
	return size > length && !memcmp(name + size - length, ending, length) ? "ns of " : "";
}

bool event_parse(const char *text, struct event *event)
{
	size_t size = strlen(text);

	if (size > 2 && !strcmp(text + size - 2, ":u"))
		size -= 2;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		const char *names[] = { events[i].name, events[i].alias };

		for (int n = 0; n < 2; n++) {
			if (!names[n] || strlen(names[n]) != size || strncmp(names[n], text, size))
				continue;
			*event = events[i];
			return true;
		}
	}
	memset(event, 0, sizeof(*event));
	event->name = text;
	return parse_cache(text, size, event) || parse_raw(text, size, event);
}

int event_probe(const struct event *event, uint64_t period)
{
	struct perf_event_attr attr = {
		.type = event->type,
		.size = sizeof(attr),
		.config = event->config,
		.sample_period = period,
		.sample_type = period ? PERF_SAMPLE_IP : 0,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	close((int)fd);
	return 0;
}
