/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Builds the flow from the lines of an execution trace: readers of such formats say which
 * instruction came, where a branch went, which exception was taken; the builder finds out what that
 * means for what is before it.
 *
 * The last instruction of each CPU is held back until it is known how it ended.
 */
#ifndef FLOWTAP_LIBUAPI_FORMATS_LINES_FLOW_BUILDER_H
#define FLOWTAP_LIBUAPI_FORMATS_LINES_FLOW_BUILDER_H

#include <flowtap/learned.h>
#include <flowtap/read.h>

#include "formats/lines/line_instruction.h"

#define BUILDER_CPUS 256U
#define BUILDER_HELD 8U

/* What there is of one CPU. */
struct builder_cpu {
	bool held;		/* `last` was not handed on yet */
	struct line_instruction last;
	bool sent;		/* what was handed on may still be said to be taken */
	bool next_known;
	uint64_t next;		/* where it goes on after what was handed on */
	bool context_known;
	bool context_waits;	/* it is new, and comes before what is next */
	struct flowtap_context context;
	bool excepted;		/* an exception waits for what comes next: */
	struct flowtap_exception exception;
	unsigned int n_held;		/* so do these, which say nothing of where it goes on */
	struct flowtap_element held_elements[BUILDER_HELD];
	bool timed;
	uint64_t time;		/* of the last line, in its unit */
	uint64_t base;		/* the last one that was sent */
	bool time_waits;	/* it is sent where a block ends */
	bool time_counts;	/* cycles */
	uint64_t nanoseconds;
};

struct flow_builder {
	struct flowtap_read *read;
	struct flowtap_sink *sink;		/* where elements go */
	struct builder_cpu *cpu;		/* the one that lines are of */
	struct builder_cpu *cpus[BUILDER_CPUS];
	bool in_order;			/* of lines, rather than to wait for where a CPU goes on */
	bool several;			/* CPUs: contexts say which */
	bool resumed;			/* another CPU than before: its context comes first */
	bool run;			/* blocks are not complete: no element may come */
};

/* 0 or -ENOMEM. */
int builder_begin(struct flow_builder *builder, struct flowtap_read *read);
/* What the reader returns that ended with `status`. */
int builder_end(struct flow_builder *builder, int status);

/* Lines that follow are of this CPU. 0; -EINVAL: its number is too high; -ENOMEM; the sink's. */
int builder_switch(struct flow_builder *builder, uint32_t cpu);

/*
 * The line's time: nanoseconds if that is its unit, else it counts cycles. To be called before what
 * the line says.
 */
void builder_time(struct flow_builder *builder, uint64_t time, bool counts, uint64_t nanoseconds);

/* The time of the line is an index, and no time: also where it left some out. */
void builder_index(struct flow_builder *builder);

/*
 * The instruction was executed in that mode and state. 0; -EILSEQ: the bytes are none; -EINVAL: the
 * address cannot be; -ENOMEM; the sink's.
 */
int builder_instruction(struct flow_builder *builder, const struct line_instruction *instruction, uint8_t mode,
		     uint8_t security);
/*
 * Who executes what comes: the whole context, of which instructions have their own instruction set,
 * mode and state. 0; the sink's, -ENOMEM.
 */
int builder_owner(struct flow_builder *builder, const struct flowtap_context *context);
/*
 * The last instruction transferred to here; after an exception: its handler. False: there is none,
 * or it cannot have gone there, nor does it go on there anyway.
 */
bool builder_branch(struct flow_builder *builder, uint64_t target);

struct line_exception {
	int number;		/* of ETE; -1 not known */
	bool exact;		/* that is said, not concluded */
	bool interrupt;		/* not by an instruction */
	bool own;		/* by the last instruction, */
	bool faults;		/* ... which did not complete, if it is no call */
	bool undefined;		/* ... which is no call, whatever its opcode */
	bool nowhere;		/* nothing is known of where it was taken */
	bool m_profile;		/* the number is the M profile's */
	bool has_address;
	uint64_t address;	/* of the instruction that did not complete; else where it returns */
};

/* 0, -ENOMEM, the sink's. */
int builder_exception(struct flow_builder *builder, const struct line_exception *exception);
/* Any other element; the flow need not go on after a gap. 0, -ENOMEM, the sink's. */
int builder_element(struct flow_builder *builder, const struct flowtap_element *element);
/* The end. */
int builder_finish(struct flow_builder *builder);

#endif /* FLOWTAP_LIBUAPI_FORMATS_LINES_FLOW_BUILDER_H */
