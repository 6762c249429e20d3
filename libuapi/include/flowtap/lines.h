/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the writers of traces that are lines of text, one per instruction, have in common. */
#ifndef FLOWTAP_LINES_H
#define FLOWTAP_LINES_H

#include <flowtap/flow.h>

#ifdef __cplusplus
extern "C" {
#endif

struct flowtap_blocks;

/*
 * Where the times of lines come from. Every instruction and every event that is no part of one has
 * a time of its own, and times ascend strictly: one that is told and already past does not count,
 * and between two that are told they are counted on by 1.
 */
enum flowtap_lines_time {
	FLOWTAP_LINES_INDEX,	/* counted from 1, unit clk */
	FLOWTAP_LINES_CYCLES,	/* the sum of cycle counts, unit clk */
	FLOWTAP_LINES_TIME,	/* the trace's time since `since`, unit ps */
	FLOWTAP_LINES_TIMES
};

struct flowtap_lines_options {
	enum flowtap_lines_time time;
	/* Nanoseconds that count as 0; 0: the first time that is told. */
	uint64_t since;
	/* Ticks a second of what FLOWTAP_ELEMENT_TIMESTAMP tells; 0: not known, they do not count. */
	uint64_t frequency;
	/*
	 * Writes stack pointers that nobody recorded: they begin at 0x7fff0000, go down by 16 with
	 * each call and up again with its return, for each mode by itself; a gap or another thread
	 * lets them begin anew. Readers that draw call trees need them where functions call
	 * themselves.
	 */
	bool synthetic_sp;
	/*
	 * IS also for branches of A64 and RV64 that were not taken, as Arm's models write A64's;
	 * else only for instructions that failed their condition.
	 */
	bool untaken_skipped;
	/*
	 * The text of an instruction: as flowtap_disasm_text (disasm.h). Called when a block is
	 * rendered, once for each of its instructions. Of what it writes the first line up to 120
	 * bytes counts, and is not taken if it does not begin with a letter, digit, `.` or `<`.
	 * NULL: `.inst 0xd503201f`.
	 */
	size_t (*disassemble)(void *argument, enum flowtap_isa isa, uint8_t it, uint64_t address,
			      const uint8_t *bytes, size_t size, char *text, size_t capacity);
	void *argument;
	struct flowtap_blocks *blocks;	/* charged for renderings; may be NULL */
};

struct flowtap_lines_counts {
	uint64_t instructions;
	uint64_t bytes;		/* handed to write so far; all after finish */
	uint64_t gaps;		/* gap elements */
	uint64_t breaks;	/* where the flow is not continuous, and no gap element said why */
	uint64_t exceptions;	/* exception elements */
	uint64_t skipped;	/* transfers, call stacks and Q elements: no instructions known */
	uint64_t unsaid;	/* elements that the format has no line for, of all kinds */
};

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_LINES_H */
