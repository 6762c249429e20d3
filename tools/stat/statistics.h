/* SPDX-License-Identifier: GPL-2.0-only */
/* A sink that counts what is in a trace: by kind of instruction, mode, thread, CPU; gaps, traps. */
#ifndef FLOWTAP_TOOLS_STAT_STATISTICS_H
#define FLOWTAP_TOOLS_STAT_STATISTICS_H

#include "common/isa.h"
#include "stat/mix.h"

#include <flowtap/block.h>
#include <flowtap/flow.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATISTICS_THREADS 65536U		/* those beyond are one */
#define STATISTICS_CPUS 1024U
#define STATISTICS_EXCEPTIONS 64		/* by number; others are one */
#define STATISTICS_MNEMONICS 8192U

struct flowtap_disasm;

struct statistics_thread {
	uint32_t pid;
	uint32_t tid;
	uint64_t instructions;
	uint64_t turns;			/* how often it came to be the one that runs */
};

struct statistics_mnemonic {
	uint64_t n;
	char name[24];
};

struct statistics_gap {
	uint64_t n;
	uint64_t ns;			/* of those with an interval */
	uint64_t size;			/* transfers or bytes, of those that say how many */
	uint64_t sized;			/* how many say it */
};

struct statistics {
	struct flowtap_sink sink;	/* first */
	struct flowtap_slot slot;	/* what each block adds is kept there */
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
	struct statistics_gap gaps[FLOWTAP_GAP_REASONS];
	uint64_t exceptions[STATISTICS_EXCEPTIONS];
	uint64_t other_exceptions;	/* their number is greater, or not known */
	uint64_t interrupts;
	uint64_t trace_on;
	uint64_t transfers;
	uint64_t first_time;		/* 0: there is none */
	uint64_t last_time;
	struct statistics_mnemonic *mnemonics;
	size_t n_mnemonics;
	uint64_t cpus[STATISTICS_CPUS];
	uint64_t other_cpus;

	/* Its own. */
	void *threads;			/* tree (search.h) */
	size_t n_threads;
	void *names;			/* the same, of mnemonics */
	struct statistics_thread *thread; /* of the context; NULL: not looked up */
	uint64_t *cpu;			/* likewise */
	struct flowtap_context context;
	bool has_context;
};

/* blocks and disasm are borrowed. 0 or -ENOMEM. */
int statistics_init(struct statistics *stats, struct flowtap_blocks *blocks,
		    struct flowtap_disasm *disasm);
void statistics_free(struct statistics *stats);
/* The threads that executed anything, the busiest first; malloc'ed, of pointers. NULL: none. */
const struct statistics_thread **statistics_threads(const struct statistics *stats, size_t *n);
/* The same of mnemonics: in place. */
void statistics_sort_mnemonics(struct statistics *stats);

#endif /* FLOWTAP_TOOLS_STAT_STATISTICS_H */
