/* SPDX-License-Identifier: GPL-2.0-only */
/* What a recording is asked for: by the command line of `flowtap record`, or by flowtapd. */
#ifndef FLOWTAP_TOOLS_RECORDING_OPTIONS_H
#define FLOWTAP_TOOLS_RECORDING_OPTIONS_H

#include "common/ete_options.h"
#include "common/event.h"

#include <linux/flowtap.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OPTIONS_PAGES 128	/* of a ring: what mlock_kb lets everybody have on each CPU */
#define OPTIONS_PIDS_MAX 256
#define OPTIONS_CPUS_MAX 8192	/* of base/cpus.h */

struct record_options {
	/* Whom: a command, processes, a cgroup, or all. With the last two a command is the time. */
	pid_t pids[OPTIONS_PIDS_MAX];
	size_t n_pids;
	char **command;
	const char *cgroup;
	bool all;
	bool cpus_given;
	uint64_t cpus[OPTIONS_CPUS_MAX / 64];	/* bit per CPU; all of them unless given */
	struct event event;		/* name NULL: a timer triggers */
	bool event_given;
	uint64_t frequency;		/* of the timer, 0: none */
	uint32_t types;			/* of transfers (common/filter.h) */
	const char *filter;		/* as it was typed, or NULL */
	struct flowtap_configure configure;	/* of sources that take samples; ETE's is in ete */
	struct ete_request ete;
	const char *samples_option;	/* the first one given that only those sources have, or NULL */
	const char *path;
	const char *borrow;		/* flowtapd's socket, NULL: nothing is borrowed */
	uint64_t duration;		/* ns, 0: none */
	bool pages_given;
	bool bundle;			/* the files that were mapped go into the archive */
	bool force;
	bool quiet;
	bool json;
};

/* The defaults: nobody to record yet. */
void options_init(struct record_options *options);
/*
 * Fills in what follows from the fields together: mode, triggers, event, flags. With no processes,
 * cgroup or command it is all that runs. Once, after the fields are set.
 */
void options_complete(struct record_options *options);
/*
 * Fills options, with defaults for what is not said, and completes them; strings are argv's. As
 * parse_options.
 */
int options_parse(int argc, char **argv, struct record_options *options);
/* The command is recorded, and not only the time for which something else is. */
bool options_trace_command(const struct record_options *options);
/* Nobody is woken where something has to be looked at: rings that overwrite, a cgroup's lists. */
bool options_want_looks(const struct record_options *options);
bool options_cpu(const struct record_options *options, size_t cpu);

#endif /* FLOWTAP_TOOLS_RECORDING_OPTIONS_H */
