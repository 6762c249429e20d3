/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Traces that are lines of text, one per instruction: what the writers of Tarmac (tarmac.h) and of
 * QEMU4V (qemu4v.h) have in common, and the readers of both.
 */
#ifndef FLOWTAP_LINES_H
#define FLOWTAP_LINES_H

#include <flowtap/flow.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct flowtap_blocks;

/*
 * Where the times of lines come from. Every instruction and every event that is no part of one has
 * a time of its own, and times ascend strictly: one that is given and already past does not count,
 * and between two that are given they are counted on by 1.
 */
enum flowtap_lines_time {
	FLOWTAP_LINES_INDEX,	/* counted from 1, unit clk */
	FLOWTAP_LINES_CYCLES,	/* the sum of cycle counts, unit clk */
	FLOWTAP_LINES_TIME,	/* the trace's time since `since`, unit ps */
	FLOWTAP_LINES_TIMES
};

struct flowtap_lines_options {
	enum flowtap_lines_time time;
	/* Nanoseconds that count as 0; 0: the first time that is given. */
	uint64_t since;
	/*
	 * Ticks a second of what FLOWTAP_ELEMENT_TIMESTAMP holds; 0: not known, they do not count.
	 */
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
	uint64_t cut;		/* lines that would have been too long */
};

/* --- Readers. --- */

struct flowtap_read;

/*
 * Reads Tarmac, of any dialect and of Arm's models, gem5 and RTL simulators, from fd (borrowed,
 * read to its end; a file or pipe, or gzip of it) as read.h says. What is executed, in which mode
 * and state, becomes blocks and contexts; BR, EXC, E, CCFAIL and IS say how branches and
 * exceptions went. Handed on are also, as flowtap's own lines have them: gaps, trace_on, q_range,
 * transfers, call stacks, transactions, events, instrumentation, and pid, tid, vmid, contextid.
 * Not handed on, as no line holds them: sessions, markers, what was mispredicted.
 *
 * Times that go on by more than 1 become TIME where their unit is one of time, else CYCLES, where
 * a block ends. A line that is not known, and an instruction that is none, is a problem and a gap
 * (BAD_RECORD). ISA O is RV64 where the file says so, or by its opcodes. An exception's number is
 * that of ETE, where the line tells that much: 14 IRQ, 15 FIQ, 4 SError, 2 after SVC, HVC, SMC;
 * else -1. Of the M profile thread mode is EL0 and handler mode EL3. Up to 256 CPUs may be in one
 * file; where they take turns, the last branch of each waits until its lines go on and say where it
 * went.
 *
 * 0: it was read, see read->problems; -ENOMEM; -errno of read; what the sink returned below 0.
 */
int flowtap_tarmac_read(struct flowtap_read *read, int fd);
/* Whether a file that begins like this (4096 bytes are enough; gzip is looked into) is Tarmac. */
bool flowtap_tarmac_is(const char *begin, size_t size);

/*
 * Reads QEMU4V as flowtap_tarmac_read does Tarmac. A number of an instruction that was left out
 * becomes a gap. ISA A with addresses of more than 8 digits is RV64 or A64, by opcodes. A
 * mode without a state is Nonsecure. CPUs are those that one program ran on: all stays in the order
 * of lines, and where another CPU follows on a branch nothing is known of where it went.
 */
int flowtap_qemu4v_read(struct flowtap_read *read, int fd);
/* Whether a file that begins like this is QEMU4V; one with cpu_names is Tarmac. */
bool flowtap_qemu4v_is(const char *begin, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_LINES_H */
