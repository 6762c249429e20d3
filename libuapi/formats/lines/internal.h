/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Traces as lines of text, one per instruction: what the writers of Tarmac and QEMU4V share.
 *
 * A line of an instruction is its time, (in rows) words and the instruction's number, and a tail
 * that is made once for each block. What is between instructions is put together in a
 * struct flowtap_line when it is needed.
 */
#ifndef FLOWTAP_LIBUAPI_FORMATS_LINES_INTERNAL_H
#define FLOWTAP_LIBUAPI_FORMATS_LINES_INTERNAL_H

#include <flowtap/block.h>
#include <flowtap/lines.h>

#include "base/counter.h"
#include "base/write_buffer.h"
#include "flow/flow_line.h"
#include "isa/block_end.h"

/* What other lines take at most: gem5's reader has space for 256. */
#define LINES_MAX	240U
#define LINES_TEXT_MAX	120U	/* of a disassembly */
#define LINES_HEAD_MAX	80U	/* before a tail: two numbers and the words around them */
#define LINES_INDENT	"                    "
#define LINES_COLUMNS	11U	/* of a time */
#define LINES_STACKS	64U

/* How a format spells things. Columns: as Tarmac's ES; else rows, each with a time of its own. */
struct lines_form {
	bool columns;
	bool strict;		/* columns: asynchronous events have a line of their own */
	bool events;		/* there are E lines */
	bool lower;		/* registers in lower case, RISC-V's by their own names */
	bool moded;		/* it matters who executes */
	bool riscv;		/* may be written */
	bool foreign;		/* and if it may, that is said before any came */
	bool cpu_names;		/* "cpu0" in each line */
	bool cpu_numbers;	/* "0" in lines of instructions */
	/* Mode and security state of that context, for code of isa: at most 12 bytes. */
	void (*mode)(struct flowtap_line *line, const struct flowtap_context *context,
		     unsigned int isa);
	char letters[FLOWTAP_ISA_T32 + 2];	/* by ISA */
};

/* Words that are in many lines. */
struct lines_words {
	char text[32];
	uint32_t size;
};

enum {
	LINES_HEADER = 1 << 0,		/* nothing is written yet */
	LINES_BRANCH = 1 << 1,		/* `branch` waits for what comes next */
	LINES_EXCEPTION = 1 << 2,	/* `exception`, likewise */
	LINES_BREAK = 1 << 3,		/* the flow is not continuous here */
	LINES_SP = 1 << 4,		/* a stack pointer follows the next instruction */
	LINES_NOTE = 1 << 5,		/* another context may have to be written */
	LINES_LATER = 1 << 6,		/* what has a time next is not before `least` */
};

/* A taken branch whose target, or the target's ISA, only what comes next can show. */
struct lines_branch {
	uint64_t target;	/* 0: not known, or 0 */
	uint8_t isa;		/* of the branch */
	bool moved;		/* it returned from an exception, and a context came */
	bool returns;
};

struct lines_exception {
	struct flowtap_exception exception;
	struct flowtap_context from;
	bool placed;		/* that context was told, or instructions of it */
	bool moved;		/* a context came since */
	bool own;		/* the last instruction that was written took it */
	bool unwritten;		/* what is written does not say that the flow was there */
};

struct lines_sp {
	uint32_t depth;
	uint32_t stacks;		/* exceptions that did not return yet */
	uint32_t saved[LINES_STACKS];	/* `depth` at each */
};

struct lines {
	struct flowtap_sink sink;
	struct flowtap_counter time;
	struct flowtap_counter id;	/* of the last instruction; rows */
	uint64_t pc;			/* where the flow goes on */
	uint64_t fell;			/* where it would without the last branch, or pc */
	uint32_t pending;		/* LINES_ */
	uint32_t print;			/* that of flowtap_render.mark in renderings that fit */
	struct flowtap_slot slot;
	struct lines_words words;	/* rows: between time and id */
	struct lines_words event_words;	/* between time and what is no instruction */
	uint8_t isa;			/* of the last block */
	bool explained;			/* the flow may go on elsewhere: that was written */
	bool ended;			/* the last line is of the last instruction */
	bool has_since;
	bool knows_isa;			/* `context.isa` is known */
	bool trapped;			/* the last instruction was RISC-V's ecall or ebreak, */
	uint64_t trap;			/* at this address */
	struct lines_form form;
	struct flowtap_write_buffer out;
	struct flowtap_lines_counts counts;
	struct flowtap_lines_options options;
	uint64_t since;			/* ns */
	uint64_t least;
	uint64_t cycles;
	struct flowtap_context context;
	struct flowtap_context written_context;
	struct lines_branch branch;
	struct lines_exception exception;
	struct lines_sp sp;
};

static inline bool isa_is_wide(unsigned int isa)
{
	return isa == FLOWTAP_ISA_A64 || isa == FLOWTAP_ISA_RV64;
}

/* --- writer.c: the sink --- */

/* Zeroed memory becomes a sink. 0; -EINVAL: options out of range; -ENOMEM. */
int flowtap_lines_init(struct lines *lines, int fd, const struct lines_form *form,
		       const struct flowtap_lines_options *options);
int flowtap_lines_finish(struct lines *lines);
const struct flowtap_lines_counts *flowtap_lines_counts(struct lines *lines);
void flowtap_lines_free(struct lines *lines);

/* --- element.c: what is no block --- */

int flowtap_lines_element(struct lines *lines, const struct flowtap_element *element);
/* What waited for this block, and that it is elsewhere if nobody said so. */
void flowtap_lines_begin_block(struct lines *lines, const struct flowtap_block *block);
/* Writes what waited for a block: there will be none. */
void flowtap_lines_flush(struct lines *lines);
/* The same where the flow does not go on as it was written: rows need a BR to say what was. */
void flowtap_lines_end_flow(struct lines *lines);
/* Renderings fit a context, words a CPU: to be called when one is another. */
void flowtap_lines_set_print(struct lines *lines);
void flowtap_lines_set_words(struct lines *lines);

/* --- put.c: lines that are no instructions --- */

void flowtap_lines_letter(struct flowtap_line *line, char letter);
/* The low `digits` digits. */
void flowtap_lines_hex(struct flowtap_line *line, unsigned int digits, uint64_t value);
/* An address as wide as in code of isa, or as it is. */
void flowtap_lines_address(struct flowtap_line *line, unsigned int isa, uint64_t address);
/* What a reader has to know before the first line, unless it is there. */
void flowtap_lines_head(struct lines *lines);
/* Time goes on to what was given. */
void flowtap_lines_catch_up(struct lines *lines);
/* Begins a line. own: with a time of its own; else it belongs to what was written before. */
void flowtap_lines_begin(struct lines *lines, struct flowtap_line *line, char text[LINES_MAX + 1],
			 bool own);
/* Ends and writes it. */
void flowtap_lines_end(struct lines *lines, struct flowtap_line *line, char text[LINES_MAX + 1]);
/* `E DebugEvent_NAME WORDS`, words not terminated. */
void flowtap_lines_event(struct lines *lines, const char *name, const char *words, size_t size,
			 bool own);
/* The line of a branch. */
void flowtap_lines_write_branch(struct lines *lines, unsigned int isa, uint64_t target);
/* The stack pointer as it would be if every call took 16 bytes. */
void flowtap_lines_write_sp(struct lines *lines, unsigned int isa);

/* --- exception.c --- */

/* Writes the exception that waits; target: the handler, in code of isa, if that is known. */
void flowtap_lines_write_exception(struct lines *lines, unsigned int isa, bool known,
				   uint64_t target);

#endif /* FLOWTAP_LIBUAPI_FORMATS_LINES_INTERNAL_H */
