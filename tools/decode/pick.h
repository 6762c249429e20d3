/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is asked for of a recording: one thread, one CPU. A sink that hands on no more than that, so
 * that what the decoder counts is of all, and what the next sink gets is of what was picked.
 */
#ifndef FLOWTAP_TOOLS_DECODE_PICK_H
#define FLOWTAP_TOOLS_DECODE_PICK_H

#include <flowtap/flow.h>
#include <stddef.h>

#define PICK_LISTED 16

/* Numbers as they were met, sorted; not all of them where they are many. */
struct pick_list {
	uint32_t numbers[PICK_LISTED];
	size_t n;
	bool more;
};

struct pick {
	struct flowtap_sink sink;	/* first: the decoder's */
	struct flowtap_sink *next;	/* set before the first element comes */
	uint32_t tid;			/* 0: any */
	uint32_t cpu;
	bool one_cpu;			/* only `cpu` */
	bool marks_others;		/* a gap where others were left out within a stream */
	bool other;			/* whose turn it is is left out */
	bool here;			/* what is picked came, since pick_begin */
	bool found;			/* at all */
	struct pick_list threads;	/* that there are, whether picked or not */
	struct pick_list cpus;
};

/* cpu: NULL any. */
void pick_init(struct pick *pick, struct flowtap_sink *next, uint32_t tid, const uint32_t *cpu);
/* Another stream begins: what comes before its first context is handed on, or not. */
void pick_begin(struct pick *pick, bool hand_on);
/* Whether anything is left out at all. */
bool pick_some(const struct pick *pick);
/* Whether this is picked, which was met; for records that do not come to the sink. */
bool pick_meet(struct pick *pick, uint32_t tid, uint32_t cpu);
void pick_add(struct pick_list *list, uint32_t number);
/* "WHAT: 0, 1", if there are any. */
void pick_advise(const struct pick_list *list, const char *what);
/* Complains that nothing of `input` was picked, and advises what there is. */
void pick_nothing(const struct pick *pick, const char *input);

#endif /* FLOWTAP_TOOLS_DECODE_PICK_H */
