/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recording of tasks on two CPUs as the driver makes it, of random programs:
 *
 *	aux_tasks.c	what the tasks execute, when and where
 *	aux_records.c	which records that becomes, and what is lost on the way
 *	aux_flow.c	what the decoder makes of it, sorted by task
 *	aux.c		whether that is what was executed and lost
 */
#ifndef FLOWTAP_SELFTESTS_ETE_AUX_H
#define FLOWTAP_SELFTESTS_ETE_AUX_H

#include <flowtap/aux.h>
#include <stdbool.h>
#include <stdint.h>

#include "decoded.h"
#include "scenario.h"

#define CPUS 2
#define TASKS 3
#define PIECES 16
#define ITEMS (PIECES * 8)
#define GAPS 64
#define TICK 1000U		/* ns */
#define ANY UINT64_MAX

enum what {
	INTACT,
	CUT,		/* the hardware lost its end */
	HOLE,		/* bytes in its middle are not in the recording */
	DROPPED,	/* its record found no room */
	VANISHED,	/* its record is not in the recording */
};

/* What one task executed on one CPU, without a stop. */
struct piece {
	struct encoder encoder;
	struct oracle oracle;
	struct decoded got;
	enum what what;
	uint64_t since, time;
	uint64_t offset;	/* in the CPU's area */
	size_t from, to;	/* CUT, HOLE: bytes that are lost */
	unsigned int task, cpu;
};

/* A loss, from one time to another; since ANY: nobody knows when. */
struct loss {
	enum flowtap_gap_reason reason;
	uint64_t since, until;
};

struct task {
	uint32_t pid, tid;
	uint64_t clock;
	uint64_t sequence;	/* as the kernel counts */
	uint64_t ended;		/* when the last record that came ended; 0: none came */
	uint32_t loss;		/* as the next record will say */
	uint32_t told;
	bool missing;		/* a record before the next one vanished */
	uint64_t cut;		/* when a record began whose end was lost, which nothing tells yet */
	uint64_t since[FLOWTAP_CAUSE_MAX];	/* when what is in loss began */
	uint8_t group;
	struct loss expected[GAPS];
	struct flowtap_gap got[GAPS];
	char details[GAPS][80];
	size_t n_expected, n_got;
	struct piece *sessions[PIECES];	/* that come */
	size_t n_sessions, reached;
};

struct item {
	uint64_t time;
	unsigned int cpu, index;
	union {
		struct flowtap_record header;
		struct flowtap_record_aux aux;
		struct flowtap_record_gap gap;
		struct flowtap_record_lost lost;
	} record;
};

struct recording {
	struct flowtap_sink sink;
	struct rng rng;
	struct scenario scenario;
	struct program *program;
	struct flowtap_address_map *map;
	struct flowtap_blocks *blocks;
	struct piece pieces[PIECES];
	struct task tasks[TASKS];
	struct item items[ITEMS];
	size_t n_items;
	uint64_t clocks[CPUS], heads[CPUS];
	struct flowtap_record_lost lost[CPUS];	/* not told yet */
	unsigned int nobodys, nobodys_expected;
	bool kernel;
	bool foreign;				/* something came to nobody, or to too many */
	uint32_t tid;				/* whose turn it is in the flow */
};

/* --- aux_tasks.c --- */

void recording_set_up(struct recording *recording, uint64_t seed, unsigned int has);
/* What the tasks execute becomes records. */
void recording_make(struct recording *recording, uint64_t seed, bool losses);
void recording_tear_down(struct recording *recording);

/* --- aux_records.c --- */

/* What is to be told of a task. */
void recording_expect(struct task *task, enum flowtap_gap_reason reason, uint64_t since,
		      uint64_t until);
/* What happens to a task while it is not recorded. */
void recording_pass_time(struct recording *recording, struct task *task, unsigned int cpu);
/* The records of what was executed, by what becomes of it. */
void recording_put(struct recording *recording, struct piece *piece);

/* --- aux_flow.c --- */

/* The sink. */
int recording_take_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
			 uint64_t target);
int recording_take_element(struct flowtap_sink *sink, const struct flowtap_element *element);
/* All its records, in the order of time. 0 or what the decoder returned. */
int recording_decode(struct recording *recording);

#endif /* FLOWTAP_SELFTESTS_ETE_AUX_H */
