// SPDX-License-Identifier: GPL-2.0-or-later
/* Recordings of a few tasks on two CPUs, and the logs of what they executed. */
#include "recording_scene.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "pe.h"

#define OFFSET	7000000		/* ns = ticks + OFFSET */
#define CODE	0x40000
#define AROUND	20000		/* ns: longer than clocks may differ */

struct scene oracle;

static struct log_set *set;
static struct log logs[2];
static uint64_t ticks = 1000000, streams[2];
static uint32_t code;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(oracle.lines[oracle.n++], sizeof(oracle.lines[0]), format, ap);
	va_end(ap);
}

static uint64_t tick(void)
{
	return ticks += AROUND;
}

static void tell_time(unsigned int cpu)
{
	LOG(&logs[cpu], LOG_TIME, tick());
}

/* Blocks `from` to `to` - 1 of the code. */
static void execute(unsigned int cpu, unsigned int from, unsigned int to, bool told)
{
	for (unsigned int i = from; i < to; i++) {
		const uint64_t address = CODE + 4 * SCENE_BLOCK * i;
		struct pe_block block = {
			.address = address, .n = SCENE_BLOCK, .branch = PE_DIRECT, .taken = i % 3 == 1,
			.code = code, .first = SCENE_BLOCK * i, .next = address + 4 * SCENE_BLOCK,
		};

		log_block(&logs[cpu], &block);
		if (told)
			say("range %" PRIx64 " %" PRIx64 " %d A64 %c", address,
			    address + 4 * SCENE_BLOCK, SCENE_BLOCK, block.taken ? 'E' : 'N');
	}
}

static void leave(unsigned int cpu, uint32_t tid, uint64_t entered, unsigned int n,
		  unsigned int untraced, bool told)
{
	const uint64_t at = CODE + 4 * SCENE_BLOCK * n;

	LOG(&logs[cpu], LOG_STAY, tid, entered, tick(), untraced);
	LOG(&logs[cpu], LOG_EXCEPTION, PE_IRQ, 0, at, 0xffff000000000480, 1);
	if (told)
		say("exception 14 %" PRIx64, at);
}

static void enter(unsigned int cpu, uint64_t *entered)
{
	*entered = tick();
	LOG(&logs[cpu], LOG_RETURN, 0);
}

static void traces(unsigned int cpu, enum log_tracing what, unsigned int els)
{
	LOG(&logs[cpu], LOG_TRACING, what, els, 1);
	tell_time(cpu);
}

static void put_aux(unsigned int cpu, uint32_t tid, uint64_t since, bool full)
{
	oracle.records[oracle.nrecords++].aux = (struct flowtap_record_aux){
		.header = { .type = FLOWTAP_RECORD_AUX, .size = sizeof(struct flowtap_record_aux) },
		.time = tick() + OFFSET, .counter = ticks, .cpu = cpu, .pid = 10, .tid = tid,
		.since = since + OFFSET, .flags = full ? FLOWTAP_AUX_TRUNCATED : 0,
	};
}

static void put_gap(unsigned int cpu, uint32_t tid, uint32_t cause, uint64_t since)
{
	oracle.records[oracle.nrecords++].gap = (struct flowtap_record_gap){
		.header = { .type = FLOWTAP_RECORD_GAP, .size = sizeof(struct flowtap_record_gap) },
		.time = tick() + OFFSET, .since = since + OFFSET, .cpu = cpu, .pid = 10,
		.tid = tid, .cause = cause, .size = FLOWTAP_UNKNOWN,
	};
	say("gap %s since=" SCENE_TIME " until=" SCENE_TIME " size=unknown",
	    cause == FLOWTAP_CAUSE_HARDWARE ? "hardware" : "ring_full",
	    SCENE_SECONDS(since + OFFSET), SCENE_SECONDS(ticks + OFFSET));
}

/* A task comes to a CPU, is traced, and goes. lost: of the end, bytes were lost. */
static void piece(unsigned int cpu, uint32_t tid, unsigned int n, bool first, bool lost)
{
	uint64_t since = tick(), entered;

	LOG(&logs[cpu], LOG_CONTEXT, tid, 0);
	traces(cpu, LOG_TRACED, 1);
	if (first)
		say("context A64 EL0 nonsecure 64 pid=10 tid=%u cpu=%u", tid, cpu);
	if (first)
		say("gap start");
	say("session");
	say("time " SCENE_TIME, SCENE_SECONDS(since + OFFSET));
	say("context A64 EL0 nonsecure 64 pid=10 tid=%u cpu=%u", tid, cpu);
	say("trace_on");
	enter(cpu, &entered);
	LOG(&logs[cpu], LOG_SYNC, streams[cpu]);
	LOG(&logs[cpu], LOG_TIMESTAMP, tick());
	say("timestamp %012" PRIx64, ticks);
	execute(cpu, 0, n, true);
	log_stored(&logs[cpu], "0123456789", 10, 0x1000);
	streams[cpu] += 10;
	leave(cpu, tid, entered, n, 0, true);
	if (lost) {
		enter(cpu, &entered);
		execute(cpu, 0, n, false);
		LOG(&logs[cpu], LOG_LOST, 6, streams[cpu], LOG_LOSS_STOPPED);
		streams[cpu] += 6;
		tell_time(cpu);
		leave(cpu, tid, entered, n, 0, false);
	}
	traces(cpu, LOG_PROHIBITED, 0);
	put_aux(cpu, tid, since, lost);
	traces(cpu, LOG_DISABLED, 0);
	if (lost)
		put_gap(cpu, tid, FLOWTAP_CAUSE_HARDWARE, since);
}

static void stay(unsigned int cpu, uint32_t tid, unsigned int n)
{
	uint64_t entered;

	enter(cpu, &entered);
	execute(cpu, 0, n, false);
	leave(cpu, tid, entered, n, 0, false);
}

static void store(unsigned int cpu)
{
	log_stored(&logs[cpu], "0123456789", 10, 0x1000);
	streams[cpu] += 10;
}

static void say_context(unsigned int cpu, uint32_t tid)
{
	say("context A64 EL0 nonsecure 64 pid=10 tid=%u cpu=%u", tid, cpu);
}

/*
 * A piece in which the trace unit overflows. `told` blocks of the first stay are committed by then,
 * where none is not even the context; so many whole stays are not, and two blocks of another.
 */
static void overflowing(unsigned int cpu, uint32_t tid, unsigned int told, unsigned int stays,
			bool first)
{
	const uint64_t since = tick();
	uint64_t entered;

	LOG(&logs[cpu], LOG_CONTEXT, tid, 0);
	traces(cpu, LOG_TRACED, 1);
	if (first) {
		say_context(cpu, tid);
		say("gap start");
	}
	say("session");
	say("time " SCENE_TIME, SCENE_SECONDS(since + OFFSET));
	if (told) {
		say_context(cpu, tid);
		say("trace_on");
	}
	enter(cpu, &entered);
	LOG(&logs[cpu], LOG_SYNC, streams[cpu]);
	LOG(&logs[cpu], LOG_TIMESTAMP, tick());
	say("timestamp %012" PRIx64, ticks);
	execute(cpu, 0, told, true);
	execute(cpu, told, SCENE_STAY, false);
	leave(cpu, tid, entered, SCENE_STAY, 0, false);
	while (stays--)
		stay(cpu, tid, SCENE_WAITS);
	enter(cpu, &entered);
	execute(cpu, 0, 2, false);
	store(cpu);
	log_event(&logs[cpu], LOG_OVERFLOW, 0, NULL);
	say("gap overflow");
	say("trace_on");
	say_context(cpu, tid);
	LOG(&logs[cpu], LOG_SYNC, streams[cpu]);
	execute(cpu, 2, 2 + SCENE_STAY, true);
	store(cpu);
	leave(cpu, tid, entered, 2 + SCENE_STAY, 0, true);
	traces(cpu, LOG_PROHIBITED, 0);
	put_aux(cpu, tid, since, false);
	traces(cpu, LOG_DISABLED, 0);
}

static void untraced(unsigned int cpu, uint32_t tid)
{
	uint64_t since = tick(), entered = tick();

	leave(cpu, tid, entered, 4, 99, false);
	say("context A64 EL0 nonsecure 64 pid=10 tid=%u cpu=%u", tid, cpu);
	put_gap(cpu, tid, FLOWTAP_CAUSE_RING_FULL, since);
}

static void fork_task(uint32_t parent, uint32_t child, bool thread)
{
	oracle.forks[oracle.nforks++] = (struct flowtap_archive_task){
		.time = tick() + OFFSET, .event = FLOWTAP_TASK_FORK, .pid = thread ? parent : child,
		.tid = child, .parent_pid = parent, .parent_tid = parent,
	};
}

static void swap_forks(unsigned int a, unsigned int b)
{
	const struct flowtap_archive_task one = oracle.forks[a];

	oracle.forks[a] = oracle.forks[b];
	oracle.forks[b] = one;
}

/* It executes, and nobody traces it. */
static void alone(unsigned int cpu, uint32_t tid)
{
	uint64_t entered = tick();

	leave(cpu, tid, entered, 4, 55, false);
}

static void begin(const char *prefix)
{
	uint32_t opcodes[SCENE_BLOCK * 16];

	memset(&oracle, 0, sizeof(oracle));
	memset(streams, 0, sizeof(streams));
	for (unsigned int i = 0; i < SCENE_BLOCK * 16; i++)
		opcodes[i] = i % SCENE_BLOCK == SCENE_BLOCK - 1 ? 0x54000020 : 0xd503201f;
	set = log_open(prefix);
	code = set ? log_code(set, CODE, opcodes, SCENE_BLOCK * 16) : 0;
	if (!set || log_init(&logs[0], set, 0) || log_init(&logs[1], set, 1)) {
		printf("Bail out! no log can be made\n");
		exit(1);
	}
}

static void put_clock(void)
{
	oracle.records[oracle.nrecords++].clock = (struct flowtap_record_clock){
		.header = { .type = FLOWTAP_RECORD_CLOCK, .size = sizeof(struct flowtap_record_clock) },
		.time = tick() + OFFSET, .counter = ticks,
	};
}

static void finish(void)
{
	log_finish(&logs[0]);
	log_finish(&logs[1]);
	if (log_close(set)) {
		printf("Bail out! the log cannot be written\n");
		exit(1);
	}
}

void scene_make(const char *prefix)
{
	begin(prefix);
	/* Before the recording: nobody's loss. */
	leave(0, 10, 1000, 3, 12345, false);
	put_clock();
	oracle.inherit = true;
	fork_task(10, 20, false);
	piece(0, 10, 4, true, false);
	fork_task(10, 11, true);
	piece(1, 11, 5, true, false);
	piece(0, 10, 6, false, true);
	piece(0, 11, 7, false, false);
	piece(1, 10, 3, false, false);
	untraced(1, 10);
	piece(1, 10, 8, false, false);
	piece(1, 11, 5, false, true);
	/* Events come by CPU, not by time. */
	fork_task(11, SCENE_CHILD, false);
	untraced(0, SCENE_CHILD);
	fork_task(SCENE_CHILD, SCENE_THREAD, true);
	swap_forks(oracle.nforks - 2, oracle.nforks - 1);
	untraced(1, SCENE_THREAD);
	/* Of one before it was traced, of one that is not traced, of nobody's. */
	fork_task(99, 21, false);
	alone(1, 20);
	alone(1, 21);
	alone(1, 99);
	piece(0, 11, 6, false, false);
	finish();
}

void scene_make_overflows(const char *prefix, unsigned int stays)
{
	begin(prefix);
	put_clock();
	piece(0, 10, SCENE_STAY, true, false);
	/* All of the first stay but the exception, a part of it, nothing at all. */
	overflowing(0, 10, SCENE_STAY, stays, false);
	overflowing(0, 10, 2, stays, false);
	overflowing(1, 11, 0, stays, true);
	overflowing(1, 11, 0, stays, false);
	finish();
}
