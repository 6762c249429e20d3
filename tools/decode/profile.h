/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sink between decoder and format that hands everything on and keeps the accounts: who executed
 * how much, in which code, and which files were missing.
 */
#ifndef PROFILE_H
#define PROFILE_H

#include "decode/pieces.h"

#include <flowtap/block.h>
#include <flowtap/flow.h>
#include <flowtap/image.h>
#include <stddef.h>
#include <stdint.h>

#define PROFILE_MISSING_MAX 32

struct profile_process {
	uint32_t pid;
	uint64_t instructions;
	char comm[17];
};

struct profile_missing {
	const char *path;	/* of the map */
	const char *reason;
	uint64_t gaps;
};

/*
 * Where a sample was triggered, by an event or by time: each stands for as much of it as the period
 * says. Those at task switches and those that were asked for stand for nothing but themselves.
 */
struct profile_hit {
	const struct flowtap_code *code;	/* NULL: nothing is known to be there */
	uint64_t address;
};

/* Samples by what triggered them. */
struct profile_samples {
	uint64_t event;
	uint64_t timer;
	uint64_t nowhere;		/* of these two: it came in a mode that is not recorded */
	uint64_t switches;
	uint64_t asked;
};

struct profile {
	struct flowtap_sink sink;	/* first: the decoder's */
	struct flowtap_sink *next;	/* set before the first element comes */
	struct flowtap_map *map;
	uint64_t time;			/* of the flow */
	uint32_t pid;
	struct profile_process *process; /* of pid, NULL: not looked up yet */
	void *processes;		/* tree (search.h) */
	const struct flowtap_code **codes; /* by key */
	uint32_t n_codes;
	struct profile_samples samples;
	struct profile_hit *hits;	/* those by event or timer, but for `nowhere` */
	size_t n_hits;
	size_t hits_capacity;
	struct profile_missing missing[PROFILE_MISSING_MAX];
	size_t n_missing;
	uint64_t instructions;
	uint64_t blocks;
	struct pieces pieces;		/* of the flow as it comes, whosoever's it is */
	uint64_t gaps[FLOWTAP_GAP_REASONS];
	uint64_t gap_ns[FLOWTAP_GAP_REASONS];	/* of those with an interval */
};

void profile_init(struct profile *profile, struct flowtap_map *map);
void profile_free(struct profile *profile);
/* The name of a process, from the side band. 0 or -ENOMEM. */
int profile_set_name(struct profile *profile, uint32_t pid, const char *comm, size_t size);
/* A sample was triggered there, by an event or by time. 0 or -ENOMEM. */
int profile_add_hit(struct profile *profile, uint32_t pid, uint64_t time, uint64_t address);
/* The processes that executed anything, the busiest first; malloc'ed, of pointers. NULL: none. */
const struct profile_process **profile_processes(const struct profile *profile, size_t *n);
/*
 * The function at `address` in the process and at the time that the flow is at, and *offset from its
 * start; NULL. profile: a struct profile (struct symbols).
 */
const char *profile_symbol(void *profile, uint64_t address, uint64_t *offset);
/* The code that blocks with this key are of, or NULL. */
const struct flowtap_code *profile_code(const struct profile *profile, uint32_t key);

#endif /* PROFILE_H */
