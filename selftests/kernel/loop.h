/* SPDX-License-Identifier: GPL-2.0-only */
/* Tasks whose transfers are known, and what may be in a sample of CTR at all. riscv64 only. */
#ifndef FLOWTAP_SELFTESTS_KERNEL_LOOP_H
#define FLOWTAP_SELFTESTS_KERNEL_LOOP_H

#include <linux/perf_event.h>

#include "stream.h"
#include "task.h"

/* A task that counts for ever in code of 10 bytes: a place of its own, one jump a turn. */
#define LOOP_SIZE 4096
struct loop {
	pid_t pid;
	volatile uint64_t *count;
	uint64_t code;
};

asm(".pushsection .text\n"
    ".option push\n"
    ".option norvc\n"
    "count_for_ever:\n"
    "1:	addi	t0, t0, 1\n"
    "	sd	t0, 0(a0)\n"
    "	j	1b\n"
    "count_for_ever_end:\n"
    ".option pop\n"
    ".popsection");
extern const char count_for_ever[], count_for_ever_end[];

static inline struct loop start_loop(int cpu, uint64_t code)
{
	struct loop loop = { .code = code };

	loop.count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	loop.pid = fork_pinned(cpu);
	if (!loop.pid) {
		void *place = mmap((void *)code, LOOP_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (place != (void *)code)
			_exit(1);
		memcpy(place, count_for_ever, count_for_ever_end - count_for_ever);
		__builtin___clear_cache(place, place + LOOP_SIZE);
		((void (*)(volatile uint64_t *))place)(loop.count);
	}
	while (!*loop.count)
		sleep_ms(1);
	return loop;
}

static inline void end_loop(struct loop *loop)
{
	end(loop->pid);
	munmap((void *)loop->count, 4096);
}

/* PERF_COUNT_HW_INSTRUCTIONS in user mode. */
static inline struct flowtap_configure sampling(struct flowtap_configure configure, uint64_t period)
{
	configure.triggers |= FLOWTAP_TRIGGER_OVERFLOW;
	configure.event_type = PERF_TYPE_HARDWARE;
	configure.event_config = PERF_COUNT_HW_INSTRUCTIONS;
	configure.period = period;
	return configure;
}

static inline int trace(struct stream *stream, const struct flowtap_configure *configure, pid_t pid)
{
	int error = stream_open(stream, configure);

	if (!error)
		error = add_task(stream, pid, 0);
	return error == 1 ? enable(stream) : error ?: -ECHILD;
}

/* Smctr table 9; 6 and 7 are reserved. */
static inline bool type_legal(uint64_t data)
{
	return 1 << (data & 0xf) & (1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 0xff00);
}

static inline bool user_address(uint64_t address)
{
	return !(address >> 63);
}

/* Every entry is one that user code can have made. The first that is not: its number, else -1. */
static inline int bad_entry(const struct stream *stream)
{
	const struct flowtap_record_sample *sample = &stream->record.sample;
	const struct flowtap_entry *entry = entries_of(stream);
	unsigned int i;

	for (i = 0; i < sample->nr; i++) {
		unsigned int type = entry[i].data & 0xf;

		if (!(entry[i].source & 1) || !type_legal(entry[i].data) ||
		    !user_address(entry[i].source) || !user_address(entry[i].target) ||
		    entry[i].data >> 32)
			return i;
		/* A trap goes where we may not look; a return from it is not recorded without S. */
		if ((type == 1 || type == 2) && entry[i].target & ~1ULL)
			return i;
		if (type > 3 && (!(entry[i].source & ~1ULL) || !(entry[i].target & ~1ULL)))
			return i;
	}
	return -1;
}

/* All that it did is in the loop. */
static inline bool inside(const struct stream *stream, uint64_t code)
{
	const struct flowtap_entry *entry = entries_of(stream);
	uint64_t source, target;
	unsigned int i;

	for (i = 0; i < stream->record.sample.nr; i++) {
		source = entry[i].source & ~1ULL;
		target = entry[i].target & ~1ULL;
		if (source && source - code >= LOOP_SIZE)
			return false;
		if (target && target - code >= LOOP_SIZE)
			return false;
	}
	return true;
}

#endif /* FLOWTAP_SELFTESTS_KERNEL_LOOP_H */
