/* SPDX-License-Identifier: GPL-2.0-only */
/* A sink that counts what is in a trace: by kind of instruction, mode, thread, CPU; gaps, traps. */
#ifndef CENSUS_H
#define CENSUS_H

#include "common/isa.h"
#include "stat/mix.h"

#include <flowtap/block.h>
#include <flowtap/flow.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CENSUS_THREADS 65536U		/* those beyond are one */
#define CENSUS_CPUS 1024U
#define CENSUS_EXCEPTIONS 64		/* by number; others are one */
#define CENSUS_MNEMONICS 8192U

struct flowtap_disasm;

struct census_thread {
	uint32_t pid;
	uint32_t tid;
	uint64_t instructions;
	uint64_t turns;			/* how often it came to be the one that runs */
};

struct census_mnemonic {
	uint64_t n;
	char name[24];
};

struct census_gap {
	uint64_t n;
	uint64_t ns;			/* of those with an interval */
	uint64_t size;			/* transfers or bytes, of those that say how many */
	uint64_t sized;			/* how many say it */
};

struct census {
	struct flowtap_sink sink;	/* first */
	struct flowtap_blocks *blocks;	/* charged for what is kept with them */
	struct flowtap_disasm *disasm;	/* NULL: no mnemonics */
	const bool *mode_unknown;	/* NULL, or whether contexts say nothing of modes (read.h) */

	uint64_t instructions;
	uint64_t executed;		/* blocks */
	uint64_t distinct;		/* that were met; again where the cache was emptied */
	uint64_t bytes;			/* of those */
	uint64_t mix[MIX_KINDS];
	uint64_t isas[ISAS];
	uint64_t modes[ISA_MODES];
	uint64_t no_mode;		/* instructions of which nothing says it */
	struct census_gap gaps[FLOWTAP_GAP_REASONS];
	uint64_t exceptions[CENSUS_EXCEPTIONS];
	uint64_t other_exceptions;	/* their number is greater, or not known */
	uint64_t interrupts;
	uint64_t trace_on;
	uint64_t transfers;
	uint64_t first_time;		/* 0: none is told */
	uint64_t last_time;
	struct census_mnemonic *mnemonics;
	size_t n_mnemonics;
	uint64_t cpus[CENSUS_CPUS];
	uint64_t other_cpus;

	/* Its own. */
	void *threads;			/* tree (search.h) */
	size_t n_threads;
	void *names;			/* the same, of mnemonics */
	struct census_thread *thread;	/* of the context; NULL: not looked up */
	uint64_t *cpu;			/* likewise */
	struct flowtap_context context;
	bool has_context;
};

/* blocks and disasm are borrowed. 0 or -ENOMEM. */
int census_init(struct census *census, struct flowtap_blocks *blocks,
		struct flowtap_disasm *disasm);
void census_free(struct census *census);
/* The threads that executed anything, the busiest first; malloc'ed, of pointers. NULL: none. */
const struct census_thread **census_threads(const struct census *census, size_t *n);
/* The same of mnemonics: in place. */
void census_sort_mnemonics(struct census *census);

#endif /* CENSUS_H */
