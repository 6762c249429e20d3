/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The work that the bare guest's CPUs do while they are traced, and how the command line chooses
 * it.
 */
#ifndef FLOWTAP_SELFTESTS_MODEL_BARE_WORK_H
#define FLOWTAP_SELFTESTS_MODEL_BARE_WORK_H

#include "trace.h"

/* setup.c: the trace as the command line wants it. */
void setup_from_options(struct trace_setup *setup);

/* work.c: work= on this CPU, traced as setup says unless trace=0. */
void work_run(const struct trace_setup *setup, unsigned int cpu);
bool work_traces(void);

/* special.c: work that does more with the trace than begin and end it. */
struct special {
	const char *name;
	void (*run)(const struct trace_setup *setup, unsigned int cpu);
};

extern const struct special specials[];
/* The plain work of that name, and of the command line's `inner=`. */
void work_plain(const char *name, unsigned int cpu);
void work_inner(unsigned int cpu);

#endif
