/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What the files of the decoder of AUX records share.
 *
 *	aux_records.c	records: whose they are, what was lost before them
 *	aux_describe.c	what a CPU's trace unit is, and how it was set up
 *	aux_unit.c	a CPU's trace unit: its bytes, from stream to stream
 *	aux_clock.c	from the trace's timestamps to the clock
 *	aux_tasks.c	what is to be known of each task's record before
 */
#ifndef FLOWTAP_LIBUAPI_ETE_AUX_INTERNAL_H
#define FLOWTAP_LIBUAPI_ETE_AUX_INTERNAL_H

#include <flowtap/aux.h>

#include "ete/span.h"
#include "ete/unit_blocks.h"

/* What the driver sets besides flowtap_ete_configure.config (kmod/ete.c). */
#define AUX_CONFIGR_RES1 1U
#define AUX_TRACE_ID 0x10

#define AUX_CHUNK (64U << 10)		/* bytes that are read at once */

/* Functions return 0; what the sink or options.read returned below 0; -ENOMEM. */

/* --- aux_clock.c --- */

struct aux_pair {
	uint64_t counter;
	uint64_t time;		/* 0: none */
};

struct aux_clock {
	struct aux_pair before;
	struct aux_pair last;
	uint64_t frequency;	/* Hz, 0 unknown */
};

/* Read together; in the order of time. */
void aux_clock_add(struct aux_clock *clock, uint64_t counter, uint64_t time);
/* False: nobody knows. */
bool aux_clock_time(const struct aux_clock *clock, uint64_t ticks, uint64_t *time);

/* --- aux_tasks.c --- */

/* More was lost after the record: the bytes may end anywhere. */
#define AUX_CUT (FLOWTAP_AUX_TRUNCATED | FLOWTAP_AUX_PARTIAL | FLOWTAP_AUX_COLLISION)

/* Of a task, or (AUX_TASK_CPU and its number) of all that a CPU-wide stream records. */
struct aux_task {
	uint64_t key;		/* 0: free; a tid, or AUX_TASK_CPU and a CPU */
	uint64_t heard;		/* when the last AUX or GAP record ended: the oldest gives way */
	uint64_t time;		/* when the last AUX record ended; 0: there was none */
	uint64_t sequence;
	uint32_t reported;	/* causes that GAP records have named since */
	bool seen;		/* there was an AUX record */
	bool cut;		/* it says that more was lost; nothing else does yet */
	/* Of that record. */
	uint32_t pid;
	uint32_t tid;
	uint32_t cpu;
	uint64_t since;
};

#define AUX_TASK_CPU	(1ULL << 32)
#define AUX_TASK_SETS	4096
#define AUX_TASK_WAYS	4
/* The causes that explain AUX_CUT. */
#define AUX_CUT_CAUSES (1U << FLOWTAP_CAUSE_HARDWARE | 1U << FLOWTAP_CAUSE_RING_FULL)

struct aux_tasks {
	struct aux_task sets[AUX_TASK_SETS][AUX_TASK_WAYS];
	struct aux_task nobody;
};

/*
 * The one of that key; of a new one all but the key is 0. Of those that share a set the one that
 * was heard of the longest ago gives way: *gone then, else its key is 0. 0 is any task that is not
 * visible: always new.
 */
struct aux_task *aux_tasks_get(struct aux_tasks *tasks, uint64_t key, struct aux_task *gone);

/* --- aux_unit.c --- */

struct aux_unit {
	struct flowtap_sink sink;	/* first: the decoder's */
	struct flowtap_aux *aux;
	uint32_t cpu;
	bool has_query;
	bool has_configure;
	struct flowtap_ete_caps caps;
	uint32_t modes;
	bool overwrite;
	struct flowtap_ete_config config;
	struct flowtap_ete *ete;	/* NULL: not made yet, or it cannot be */
	struct aux_clock clock;
	/* The stream that is decoded; it ends when another begins, or its task has others. */
	bool open;
	uint32_t pid;
	uint32_t tid;
	uint64_t key;
	struct flowtap_context context;	/* the decoder's last one */
	bool has_context;
	bool cut;		/* the record says that what came next was lost */
	bool quiet;		/* another gap covers what is missing at the end */
	uint64_t offset;	/* where the bytes end that were read; they had their record */
	/* Of the record. */
	struct ete_span span;
	struct ete_ahead *ahead;	/* from the first record on in which its process maps something */
	bool fed;			/* the decoder has had bytes of the record */
	/* Records that did not fit into the ring; their gap is not emitted yet. */
	struct flowtap_record_lost lost;
	bool has_lost;
};

/* Made at the first call; NULL: no memory. cpu is below FLOWTAP_AUX_CPUS. */
struct aux_unit *aux_unit_of(struct flowtap_aux *aux, uint32_t cpu);
void aux_unit_free(struct aux_unit *unit);
/* Makes the decoder; -EINVAL: this one cannot be decoded. */
int aux_unit_prepare(struct aux_unit *unit);
/* The bytes of a record. continues: they follow those of the record before. */
int aux_unit_decode(struct aux_unit *unit, const struct flowtap_record_aux *record, bool continues);
/* The stream ends. quiet: another gap covers what its end lacks. */
int aux_unit_close(struct aux_unit *unit, bool quiet);

/* --- aux_records.c --- */

struct flowtap_aux {
	struct flowtap_aux_options options;
	struct flowtap_ete_options ete;
	struct flowtap_aux_counts counts;
	struct flowtap_context context;		/* the last that the sink got */
	bool has_context;
	struct aux_unit *units[FLOWTAP_AUX_CPUS];
	struct aux_tasks tasks;
	uint8_t bytes[AUX_CHUNK];
};

/* To the sink; gaps are counted. */
int aux_send(struct flowtap_aux *aux, const struct flowtap_element *element);
int aux_gap(struct flowtap_aux *aux, const struct flowtap_gap *gap);

#endif /* FLOWTAP_LIBUAPI_ETE_AUX_INTERNAL_H */
