/* SPDX-License-Identifier: GPL-2.0-only */
/* perf events by the names that perf gives them. */
#ifndef FLOWTAP_TOOLS_COMMON_EVENT_H
#define FLOWTAP_TOOLS_COMMON_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event {
	const char *name;
	const char *alias;	/* or NULL */
	uint32_t type;		/* PERF_TYPE_ */
	uint64_t config;
	uint64_t period;	/* that suits it: some hundred samples a second of a busy CPU */
};

/* The named ones, the default first; *n of them. */
const struct event *event_table(size_t *n);
/*
 * NAME, ALIAS, a cache event as perf spells it (L1-dcache-load-misses, LLC-stores ...) or rHEX for
 * a raw one, each optionally followed by ":u". false where there is none of that name.
 */
bool event_parse(const char *text, struct event *event);
/* What it counts where that is not itself: "ns of " before cpu-clock and task-clock, else "". */
const char *event_unit(const char *name, size_t size);
/* Whether perf would count it for this process in user mode: 0 or -errno of perf_event_open. */
int event_probe(const struct event *event, uint64_t period);

#endif /* FLOWTAP_TOOLS_COMMON_EVENT_H */
