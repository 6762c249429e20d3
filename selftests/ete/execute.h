/* SPDX-License-Identifier: GPL-2.0-only */
/* A PE that executes a random program by chance, and tells a trace unit what it does. */
#ifndef FLOWTAP_SELFTESTS_ETE_EXECUTE_H
#define FLOWTAP_SELFTESTS_ETE_EXECUTE_H

#include "encoder.h"
#include "program.h"

/* Each but the first two: once in so many instructions (branches, for wrong, flip); 0: never. */
struct execute_options {
	uint64_t instructions;
	bool rme;		/* Realm and Root */
	uint32_t exception;
	uint32_t lazy_push;	/* of the M profile */
	uint32_t lockup;
	uint32_t event;
	uint32_t timestamp;
	uint32_t ite;
	uint32_t marker;
	uint32_t filter;	/* tracing pauses */
	uint32_t overflow;
	uint32_t discard;
	uint32_t reset;
	uint32_t q;
	uint32_t wrong;		/* goes down a wrong path */
	uint32_t flip;		/* mispredicted, found before anything else was executed */
	uint32_t fail;		/* of the instructions in a transaction */
	bool modify;		/* user code 0 becomes group 2 in the middle */
	/* As Linux has it: EL0 and EL1, Non-secure, one process, and the counter goes on. */
	bool as_linux;
	uint8_t group;		/* of user code, with as_linux */
	uint64_t ticks;		/* at the begin, with as_linux */
};

#define EXECUTE_CALLS	32
#define EXECUTE_NESTED	8

struct execute_pe {
	uint32_t at;
	uint32_t calls[EXECUTE_CALLS];
	unsigned int ncalls;
	bool transaction;
	unsigned int in_transaction;	/* instructions */
};

struct execute {
	struct execute_options options;
	const struct program *program;
	struct encoder *encoder;
	struct rng rng;
	struct execute_pe pe;
	struct execute_pe before;	/* the transaction */
	struct trace_context context;
	struct {
		uint32_t at;
		struct trace_context context;
	} saved[EXECUTE_NESTED];
	unsigned int nsaved;
	unsigned int wrong;		/* depth of wrong paths */
	uint32_t hidden;		/* instructions until tracing goes on */
	bool silent;			/* inside a Q element */
	bool function_returns;		/* the instruction being told does, of the M profile */
	uint64_t ticks;
	uint64_t modified;		/* ticks at which group 2 came; 0: it did not yet */
	uint64_t executed;
};

void execute_run(struct execute *execute, const struct execute_options *options,
		 const struct program *program, struct encoder *encoder, uint64_t seed);
/* Of user code. */
unsigned int execute_group(const struct program *program, uint64_t contextid, bool modified);

#endif
