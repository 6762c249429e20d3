// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that an archive which begins in the middle, with what the roster has, says the same about
 * everything after that as one which has all from the begin: random processes fork, execute, map
 * over what they had, end, and have their numbers used again.
 */
#include "capture/roster.h"

#include <flowtap/address_map.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/kselftest_harness.h"
#include "unit/capture/roster_archive.h"

#define PIDS 12
#define EVENTS 400
#define PAGE 4096ULL

static uint32_t state;

static uint32_t random_below(uint32_t n)
{
	state = state * 1664525 + 1013904223;
	return (state >> 8) % n;
}

struct event {
	uint64_t time;
	uint32_t type;
	struct flowtap_archive_task task;
	struct flowtap_archive_mapping mapping;
	char path[32];
};

static struct event events[EVENTS];

/*
 * Threads of a process: bit 0 is the first, of the process's number; none: there is no such
 * process.
 */
static uint8_t threads[PIDS];
/* Which of them there were, from each event on. */
static uint8_t alive[EVENTS][PIDS];

static uint32_t any_process(bool living)
{
	uint32_t at = random_below(PIDS);

	for (int i = 0; i < PIDS && !threads[at] == living; i++)
		at = (at + 1) % PIDS;
	return at;
}

static uint32_t tid_of(uint32_t process, unsigned int thread)
{
	return thread ? 1000 + 10 * process + thread : 100 + process;
}

static void make_fork(struct flowtap_archive_task *task, uint32_t parent)
{
	const uint32_t child = any_process(false);

	task->event = FLOWTAP_TASK_FORK;
	task->parent_pid = task->parent_tid = 100 + parent;
	if (threads[child]) {
		unsigned int thread = 1 + random_below(7);

		task->pid = 100 + parent;
		task->tid = tid_of(parent, thread);
		threads[parent] |= 1 << thread;
		return;
	}
	task->pid = task->tid = 100 + child;
	threads[child] = 1;
}

static void make_exit(struct flowtap_archive_task *task, uint32_t process)
{
	unsigned int thread = random_below(8), living = 0;

	for (int i = 0; i < PIDS; i++)
		living += threads[i] != 0;
	while (!(threads[process] >> thread & 1))
		thread = (thread + 1) % 8;
	/* The last one of all stays. */
	if (living == 1 && threads[process] == 1 << thread) {
		task->event = FLOWTAP_TASK_COMM;
		return;
	}
	task->event = FLOWTAP_TASK_EXIT;
	task->tid = tid_of(process, thread);
	threads[process] &= ~(1 << thread);
}

/* Something that can happen now. */
static void make_event(struct event *event, uint64_t time)
{
	const uint32_t process = any_process(true);
	struct flowtap_archive_task *task = &event->task;

	*event = (struct event){ .time = time, .type = FLOWTAP_ARCHIVE_TASK };
	*task = (struct flowtap_archive_task){ .time = time, .pid = 100 + process,
					       .tid = 100 + process };
	switch (random_below(12)) {
	case 0:
	case 1:
		make_fork(task, process);
		break;
	case 2:
		task->event = FLOWTAP_TASK_EXEC;
		task->comm_size = 4;
		memcpy(task->comm, "name", 4);
		threads[process] = 1;
		break;
	case 3:
		task->event = FLOWTAP_TASK_COMM;
		threads[process] |= 1;
		break;
	case 4:
		make_exit(task, process);
		break;
	default:
		event->type = FLOWTAP_ARCHIVE_MAPPING;
		snprintf(event->path, sizeof(event->path), "/nowhere/%u", random_below(5));
		event->mapping = (struct flowtap_archive_mapping){
			.time = time,
			.start = PAGE * random_below(20),
			.size = PAGE * (1 + random_below(8)),
			.file_offset = PAGE * random_below(100),
			.pid = 100 + process,
			.executable = random_below(8) > 0,
			.path_size = (uint32_t)strlen(event->path),
		};
	}
}

static void make_events(void)
{
	memset(threads, 0, sizeof(threads));
	threads[0] = 1;
	make_event(&events[0], 1000);
	/* Told like a process that was there at the start. */
	events[0].type = FLOWTAP_ARCHIVE_TASK;
	events[0].task = (struct flowtap_archive_task){ .event = FLOWTAP_TASK_COMM, .time = 1000,
							.pid = 100, .tid = 100 };
	memset(threads, 0, sizeof(threads));
	threads[0] = 1;
	memcpy(alive[0], threads, sizeof(threads));
	for (int i = 1; i < EVENTS; i++) {
		make_event(&events[i], 1000 + 10 * i);
		memcpy(alive[i], threads, sizeof(threads));
	}
}

/* --- Into a map, as reading an archive does it. --- */

static int apply_task(struct flowtap_address_map *map, const struct flowtap_archive_task *task,
		      uint64_t time)
{
	int error = flowtap_address_map_thread(map, task->pid, task->tid, time);

	if (!error && task->event == FLOWTAP_TASK_FORK)
		error = flowtap_address_map_fork(map, task->parent_pid, task->pid, time);
	if (!error && task->event == FLOWTAP_TASK_EXEC)
		error = flowtap_address_map_exec(map, task->pid, time);
	return error;
}

static int apply_mapping(struct flowtap_address_map *map,
			 const struct flowtap_archive_mapping *from, const char *path)
{
	const struct flowtap_mapping mapping = {
		.time = from->time, .start = from->start, .size = from->size,
		.file_offset = from->file_offset, .pid = from->pid, .path = path,
		.executable = from->executable,
	};

	return flowtap_address_map_add(map, &mapping);
}

static int apply(struct flowtap_address_map *map, const struct event *event)
{
	return event->type == FLOWTAP_ARCHIVE_TASK ? apply_task(map, &event->task, event->time) :
						     apply_mapping(map, &event->mapping, event->path);
}

static int apply_archive(struct flowtap_address_map *map, int fd)
{
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	int error = lseek(fd, 0, SEEK_SET) || flowtap_archive_open(fd, &reader) ? -1 : 0;
	char path[64];

	while (!error && flowtap_archive_next(reader, &block) > 0) {
		if (block.type == FLOWTAP_ARCHIVE_TASK) {
			error = apply_task(map, block.payload, block.time);
		} else if (block.type == FLOWTAP_ARCHIVE_MAPPING) {
			const struct flowtap_archive_mapping *mapping = block.payload;

			snprintf(path, sizeof(path), "%.*s", (int)mapping->path_size,
				 (const char *)(mapping + 1));
			error = apply_mapping(map, mapping, path);
		}
	}
	flowtap_archive_reader_free(reader);
	return error;
}

static void tell(struct flowtap_roster *roster, const struct event *event)
{
	if (event->type == FLOWTAP_ARCHIVE_TASK)
		flowtap_roster_add(roster, event->type, 0, event->time, &event->task,
				   sizeof(event->task), NULL, 0);
	else
		flowtap_roster_add(roster, event->type, 0, event->time, &event->mapping,
				   sizeof(event->mapping), event->path, event->mapping.path_size);
}

/* --- What is told of mappings is what is written. --- */

struct sum {
	uint64_t n, sum;
};

/* In any order. */
static void add_to(struct sum *sum, uint64_t start, uint64_t size, uint64_t offset, uint32_t pid,
		   uint32_t executable, const char *path, size_t path_size)
{
	uint64_t mixed = start * 3 + size * 5 + offset * 7 + pid * 11 + executable * 13;

	for (size_t i = 0; i < path_size; i++)
		mixed = mixed * 31 + (uint8_t)path[i];
	sum->n++;
	sum->sum += mixed * mixed;
}

static int add_told(void *argument, const struct flowtap_mapping *mapping)
{
	add_to(argument, mapping->start, mapping->size, mapping->file_offset, mapping->pid,
	       mapping->executable, mapping->path, strlen(mapping->path));
	return 0;
}

static struct sum sum_of_archive(int fd)
{
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	struct sum sum = { 0 };

	if (lseek(fd, 0, SEEK_SET) || flowtap_archive_open(fd, &reader))
		return sum;
	while (flowtap_archive_next(reader, &block) > 0) {
		const struct flowtap_archive_mapping *mapping = block.payload;

		if (block.type == FLOWTAP_ARCHIVE_MAPPING)
			add_to(&sum, mapping->start, mapping->size, mapping->file_offset, mapping->pid,
			       mapping->executable, (const char *)(mapping + 1),
			       mapping->path_size);
	}
	flowtap_archive_reader_free(reader);
	return sum;
}

static int refuse(void *argument, const struct flowtap_mapping *mapping)
{
	++*(int *)argument;
	return -7;
}

/* --- Comparing. --- */

static bool same(struct flowtap_address_map *whole, struct flowtap_address_map *half, uint32_t pid,
		 uint64_t time, uint64_t address)
{
	const struct flowtap_code *a = flowtap_address_map_find(whole, pid, time, address);
	const struct flowtap_code *b = flowtap_address_map_find(half, pid, time, address);

	if (!a || !b)
		return !a == !b;
	return !strcmp(a->path, b->path) &&
	       address - a->start + a->file_offset == address - b->start + b->file_offset;
}

/* Of a process that is no more, or not yet, nobody asks. */
static bool is_there(uint32_t pid, uint64_t time)
{
	uint64_t event = (time - 1000) / 10;

	return alive[event < EVENTS ? event : EVENTS - 1][pid - 100];
}

TEST(an_archive_from_the_middle_says_what_one_from_the_begin_says)
{
	unsigned int compared = 0, mappings = 0;

	for (uint32_t seed = 1; seed <= 150; seed++) {
		struct sum written, said = { 0 };
		int calls = 0;
		struct flowtap_roster *roster = flowtap_roster_new(64 << 20);
		struct flowtap_address_map *whole = flowtap_address_map_new(NULL),
					   *half = flowtap_address_map_new(NULL);
		FILE *file = tmpfile();
		int advanced, told;

		state = seed;
		ASSERT_TRUE(roster && whole && half && file);
		make_events();
		for (int i = 0; i < EVENTS; i++)
			ASSERT_EQ(0, apply(whole, &events[i]));
		advanced = (int)random_below(EVENTS);
		told = advanced + (int)random_below(EVENTS - advanced);
		/* From several CPUs: not in the order of time. */
		for (int from = 0, to; from <= told; from = to) {
			to = from + 1 + (int)random_below(8);
			for (int i = to - 1; i >= from; i--)
				if (i <= told)
					tell(roster, &events[i]);
			if (to - 1 <= advanced)
				flowtap_roster_advance(roster, events[to - 1].time);
		}
		flowtap_roster_advance(roster, events[advanced].time);
		ASSERT_EQ(0, flowtap_roster_dropped(roster));
		ASSERT_EQ(0, write_roster(roster, file));
		written = sum_of_archive(fileno(file));
		ASSERT_EQ(0, flowtap_roster_mappings(roster, add_told, &said));
		ASSERT_EQ(written.n, said.n);
		ASSERT_EQ(written.sum, said.sum);
		mappings += written.n;
		ASSERT_EQ(written.n ? -7 : 0, flowtap_roster_mappings(roster, refuse, &calls));
		ASSERT_EQ(written.n ? 1 : 0, calls);
		ASSERT_EQ(0, apply_archive(half, fileno(file)));
		for (int i = told + 1; i < EVENTS; i++)
			ASSERT_EQ(0, apply(half, &events[i]));
		for (int i = 0; i < 3000; i++) {
			uint64_t time = events[advanced].time + random_below(10 * EVENTS);
			uint32_t pid = 100 + random_below(PIDS);
			uint64_t address = PAGE * random_below(30);

			if (!is_there(pid, time))
				continue;
			ASSERT_TRUE(same(whole, half, pid, time, address))
				TH_LOG("seed %u: pid %u, time %llu, address %llx, advanced %llu", seed,
				       pid, (unsigned long long)time, (unsigned long long)address,
				       (unsigned long long)events[advanced].time);
			compared++;
		}
		fclose(file);
		flowtap_address_map_free(whole);
		flowtap_address_map_free(half);
		flowtap_roster_free(roster);
	}
	EXPECT_LT(100000, compared);
	EXPECT_LT(1000, mappings);
}

TEST(what_has_ended_takes_no_room)
{
	struct flowtap_roster *roster = flowtap_roster_new(1 << 20);
	size_t most = 0;

	ASSERT_TRUE(roster);
	for (uint32_t i = 0; i < 20000; i++) {
		struct event fork = { .time = 10 * i, .type = FLOWTAP_ARCHIVE_TASK };
		struct event map = { .time = 10 * i + 1, .type = FLOWTAP_ARCHIVE_MAPPING };
		struct event exit = { .time = 10 * i + 2, .type = FLOWTAP_ARCHIVE_TASK };

		fork.task = (struct flowtap_archive_task){ .event = FLOWTAP_TASK_FORK, .pid = 2 + i,
							   .tid = 2 + i, .parent_pid = 1 };
		map.mapping = (struct flowtap_archive_mapping){ .start = PAGE, .size = PAGE,
								.executable = 1, .pid = 2 + i };
		exit.task = fork.task;
		exit.task.event = FLOWTAP_TASK_EXIT;
		tell(roster, &fork);
		tell(roster, &map);
		tell(roster, &exit);
		if (i % 100 == 0)
			flowtap_roster_advance(roster, 10 * i + 2);
		if (flowtap_roster_size(roster) > most)
			most = flowtap_roster_size(roster);
	}
	EXPECT_EQ(0, flowtap_roster_dropped(roster));
	EXPECT_GT(200000, most);
	flowtap_roster_advance(roster, UINT64_MAX);
	/* But the log's own room. */
	EXPECT_GT(50000, flowtap_roster_size(roster));
	flowtap_roster_free(roster);
}

TEST(what_does_not_fit_is_counted_and_told)
{
	struct flowtap_roster *roster = flowtap_roster_new(20000);
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	FILE *file = tmpfile();
	uint64_t lost = 0;

	ASSERT_TRUE(roster && file);
	state = 1;
	threads[0] = 1;
	for (int i = 0; i < 10000; i++) {
		struct event event;

		make_event(&event, 10 * i);
		event.task.pid += 100 * random_below(50);
		event.mapping.pid += 100 * random_below(50);
		tell(roster, &event);
		if (i % 10 == 0)
			flowtap_roster_advance(roster, event.time);
		ASSERT_GE(20000, flowtap_roster_size(roster));
	}
	EXPECT_LT(100, flowtap_roster_dropped(roster));
	ASSERT_EQ(0, write_roster(roster, file));
	ASSERT_EQ(0, lseek(fileno(file), 0, SEEK_SET));
	ASSERT_EQ(0, flowtap_archive_open(fileno(file), &reader));
	while (flowtap_archive_next(reader, &block) > 0)
		if (block.type == FLOWTAP_ARCHIVE_LOST)
			memcpy(&lost, block.payload, sizeof(lost));
	EXPECT_EQ(flowtap_roster_dropped(roster), lost);
	flowtap_archive_reader_free(reader);
	fclose(file);
	flowtap_roster_free(roster);
}

/* Blocks that no recorder writes. */
TEST(nonsense_does_no_harm)
{
	struct flowtap_roster *roster = flowtap_roster_new(1 << 20);
	uint8_t bytes[sizeof(struct flowtap_archive_mapping) + 8];

	ASSERT_TRUE(roster);
	state = 1;
	for (int i = 0; i < 20000; i++) {
		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = random_below(4) ? 0 : random_below(256);
		flowtap_roster_add(roster, 1 + random_below(14), 0, random_below(1000), bytes,
				   random_below(sizeof(bytes)), bytes, random_below(8));
		if (i % 100 == 0)
			flowtap_roster_advance(roster, random_below(2000));
	}
	flowtap_roster_free(roster);
}

TEST(code_without_a_file_comes_once)
{
	struct flowtap_roster *roster = flowtap_roster_new(1 << 20);
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	uint8_t head[sizeof(struct flowtap_archive_mapping) + 8] = { 0 };
	struct flowtap_archive_mapping mapping = { .size = 4, .path_size = 6 };
	FILE *file = tmpfile();
	unsigned int n = 0;

	ASSERT_TRUE(roster && file);
	memcpy(head, &mapping, sizeof(mapping));
	memcpy(head + sizeof(mapping), "[vdso]", 6);
	for (int i = 0; i < 5; i++)
		flowtap_roster_add(roster, FLOWTAP_ARCHIVE_BYTES, 0, 0, head, sizeof(head), "code",
				   4);
	ASSERT_EQ(0, write_roster(roster, file));
	ASSERT_EQ(0, lseek(fileno(file), 0, SEEK_SET));
	ASSERT_EQ(0, flowtap_archive_open(fileno(file), &reader));
	while (flowtap_archive_next(reader, &block) > 0) {
		n++;
		EXPECT_EQ(FLOWTAP_ARCHIVE_BYTES, block.type);
		EXPECT_EQ(sizeof(head) + 4, block.size);
		EXPECT_EQ(0, memcmp((const uint8_t *)block.payload + sizeof(head), "code", 4));
	}
	EXPECT_EQ(1, n);
	flowtap_archive_reader_free(reader);
	fclose(file);
	flowtap_roster_free(roster);
}

TEST_HARNESS_MAIN
