// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the map answers as a model does, page by page: many processes and times at random, told
 * in any order.
 */
#include <flowtap/address_map.h>
#include <stdlib.h>
#include <string.h>

#include "support/kselftest_harness.h"
#include "support/seed.h"

#define PIDS 4
#define PAGES 24
#define TIMES 120

struct event {
	uint64_t time;
	int kind;		/* 0 to 5 mapping, 6 not executable, 7 fork, 8 exec */
	uint32_t pid;
	uint32_t parent;
	uint64_t start;
	uint64_t pages;
	uint64_t offset;
	int object;
};

struct cell {
	int object;		/* 0 nothing */
	uint64_t offset;
};

static struct cell model[TIMES + 1][PIDS][PAGES];
static uint32_t random_state;

static uint32_t below(uint32_t limit)
{
	random_state = random_state * 1664525U + 1013904223U;
	return (random_state >> 8) % limit;
}

static void run_model(const struct event *event, uint64_t time)
{
	struct cell (*cells)[PAGES] = model[time];

	memcpy(cells, model[time ? time - 1 : 0], sizeof(model[0]));
	if (event->kind == 7 && event->pid != event->parent)
		memcpy(cells[event->pid], cells[event->parent], sizeof(cells[0]));
	if (event->kind == 8)
		memset(cells[event->pid], 0, sizeof(cells[0]));
	for (uint64_t i = 0; event->kind < 7 && i < event->pages; i++)
		cells[event->pid][event->start + i] = (struct cell) {
			event->kind < 6 ? event->object : 0, event->offset + i };
}

static struct event random_event(uint64_t time)
{
	struct event event = {
		.time = time,
		.kind = (int)below(9),
		.pid = below(PIDS),
		.parent = below(PIDS),
		.start = below(PAGES),
		.offset = below(4),
		.object = 1 + (int)below(3),
	};

	event.pages = 1 + below(PAGES - (uint32_t)event.start);
	return event;
}

static void tell(struct flowtap_address_map *map, const struct event *event)
{
	static const char *const paths[] = { "", "//one", "//two", "//three" };
	struct flowtap_mapping mapping = {
		.time = event->time,
		.start = event->start << 12,
		.size = event->pages << 12,
		.file_offset = event->offset << 12,
		.pid = event->pid,
		.executable = event->kind < 6,
		.path = paths[event->object],
	};
	int err;

	if (event->kind == 7)
		err = flowtap_address_map_fork(map, event->parent, event->pid, event->time);
	else if (event->kind == 8)
		err = flowtap_address_map_exec(map, event->pid, event->time);
	else
		err = flowtap_address_map_add(map, &mapping);
	if (err)
		abort();
}

/* Everything that an answer says holds at each of its pages and times. */
static bool holds(const struct flowtap_code *code, uint32_t pid)
{
	static const char *const paths[] = { "", "//one", "//two", "//three" };
	uint64_t until = code->until < TIMES + 1 ? code->until : TIMES + 1;

	for (uint64_t time = code->from; time < until; time++)
		for (uint64_t page = code->start >> 12; page < code->end >> 12; page++) {
			const struct cell *cell = &model[time][pid][page];
			uint64_t offset = (code->file_offset >> 12) + page - (code->start >> 12);

			if (!cell->object || strcmp(paths[cell->object], code->path) ||
			    cell->offset != offset)
				return false;
		}
	return true;
}

/* Nothing is there at `time`: when there is something, up to the last time. */
static bool check_next(struct flowtap_address_map *map, uint64_t time, uint32_t pid, uint64_t page)
{
	uint64_t next = flowtap_address_map_next(map, pid, time, page << 12 | 0x123);

	while (++time <= TIMES)
		if (model[time][pid][page].object)
			return next == time;
	return next > TIMES;
}

static bool check_model(struct flowtap_address_map *map)
{
	for (uint64_t time = 0; time <= TIMES; time++)
		for (uint32_t pid = 0; pid < PIDS; pid++)
			for (uint64_t page = 0; page < PAGES; page++) {
				const struct flowtap_code *code;

				code = flowtap_address_map_find(map, pid, time, page << 12 | 0x123);
				if (!code != !model[time][pid][page].object)
					return false;
				if (code && (time < code->from || time >= code->until ||
					     page < code->start >> 12 || page >= code->end >> 12 ||
					     !holds(code, pid)))
					return false;
				if (!code && !check_next(map, time, pid, page))
					return false;
			}
	return true;
}

TEST(any_order_of_events_gives_the_model)
{
	static struct event events[TIMES + 1];

	for (uint32_t seed = 0; seed < 40; seed++) {
		struct flowtap_address_map *map = flowtap_address_map_new("/proc/self/nowhere");
		/* None, some or all of the events come out of order. */
		uint32_t swaps = seed % 3 * 60;

		random_state = (uint32_t)seeded(seed);
		memset(model, 0, sizeof(model));
		for (uint64_t time = 1; time <= TIMES; time++) {
			events[time] = random_event(time);
			run_model(&events[time], time);
		}
		while (swaps--) {
			uint32_t a = 1 + below(TIMES), b = 1 + below(TIMES);
			struct event event = events[a];

			events[a] = events[b];
			events[b] = event;
		}
		for (int i = 1; i <= TIMES; i++) {
			tell(map, &events[i]);
			/* Answers in between must not spoil those that follow. */
			if (seed % 2)
				flowtap_address_map_find(map, below(PIDS), below(TIMES), 0x1000);
		}
		ASSERT_TRUE(check_model(map)) {
			TH_LOG("seed %u", seed);
		}
		flowtap_address_map_free(map);
	}
}

TEST_HARNESS_MAIN
