/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The accounts of a flow: a sink between the decoder and another one that hands everything on and
 * counts who executed how much, in which functions, how long it is without a gap, and which files
 * were missing. Reports and exports are made of it.
 */
#ifndef FLOWTAP_PROFILE_H
#define FLOWTAP_PROFILE_H

#include <flowtap/block.h>
#include <flowtap/flow.h>
#include <flowtap/address_map.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLOWTAP_PROFILE_MISSING_MAX 32

struct flowtap_profile_process {
	uint32_t pid;
	uint64_t instructions;
	char comm[17];			/* "": not known */
};

/* A file of which there is no code. */
struct flowtap_profile_missing {
	const char *path;		/* of the map */
	const char *reason;
	uint64_t gaps;
};

/*
 * Where a sample was triggered, by an event or by time: each stands for as much of it as the period
 * says. Those at task switches and those that were asked for stand for nothing but themselves.
 */
struct flowtap_profile_hit {
	const struct flowtap_code *code;	/* NULL: nothing is known to be there */
	uint64_t address;
};

/* Samples by what triggered them. */
struct flowtap_profile_samples {
	uint64_t event;
	uint64_t timer;
	uint64_t nowhere;		/* of these two: it came in a mode that is not recorded */
	uint64_t switches;
	uint64_t asked;
};

/*
 * The pieces of a flow that have no gap in them. The memory does not depend on how many there are.
 */
struct flowtap_profile_pieces {
	uint64_t n;			/* those with an instruction */
	uint64_t longest;		/* in instructions */
	uint64_t current;		/* of the one that has not ended */
	uint64_t *counts;		/* by length, in steps; NULL: none yet, or no memory */
};

/* What is not marked as set by the caller is for him to read. */
struct flowtap_profile {
	struct flowtap_sink sink;	/* first: the decoder's */
	struct flowtap_sink *next;	/* set by the caller before the first element comes */
	struct flowtap_address_map *map;
	uint64_t time;			/* of the flow, ns; may be set by the caller, too */
	uint32_t pid;
	struct flowtap_profile_process *process;	/* of pid, NULL: not looked up yet */
	void *processes;		/* a tree of all (search.h) */
	const struct flowtap_code **code_by_key;	/* of n_keys; NULL: not met yet */
	uint32_t n_keys;
	struct flowtap_profile_samples samples;	/* counted by the caller */
	struct flowtap_profile_hit *hits;	/* those by event or timer, but for `nowhere` */
	size_t n_hits;
	struct flowtap_profile_missing missing[FLOWTAP_PROFILE_MISSING_MAX];
	size_t n_missing;
	uint64_t instructions;
	uint64_t blocks;
	struct flowtap_profile_pieces pieces;	/* of the flow as it comes, whosoever's it is */
	uint64_t gaps[FLOWTAP_GAP_REASONS];
	uint64_t gap_ns[FLOWTAP_GAP_REASONS];	/* of those with an interval */
};

/* map: borrowed until it is freed; it says which code is at an address. */
void flowtap_profile_init(struct flowtap_profile *profile, struct flowtap_address_map *map);
void flowtap_profile_free(struct flowtap_profile *profile);

/* The name of a process, size bytes of it. 0 or -ENOMEM. */
int flowtap_profile_set_name(struct flowtap_profile *profile, uint32_t pid, const char *comm,
			     size_t size);
/* A sample was triggered there, by an event or by time. 0 or -ENOMEM. */
int flowtap_profile_add_hit(struct flowtap_profile *profile, uint32_t pid, uint64_t time,
			    uint64_t address);
/* The flow has ended, and so has its last piece. */
void flowtap_profile_end(struct flowtap_profile *profile);

/*
 * Half of the pieces are this long or shorter; from 1,024 on it may be up to 0.2 % too small. 0:
 * there are none, or there was no memory.
 */
uint64_t flowtap_profile_median(const struct flowtap_profile_pieces *pieces);

/* The processes that executed anything, the busiest first; to be freed, of pointers. NULL: none. */
const struct flowtap_profile_process **
flowtap_profile_processes(const struct flowtap_profile *profile, size_t *n);

/*
 * A function by how hot it is. Samples come at equal distances of the event, or of time, so the
 * share of samples is the share of that. Where there are none that do, instructions count. The
 * instructions reconstructed are not: the same number of transfers spans more of them where there
 * are fewer branches.
 */
struct flowtap_function {
	const char *name;		/* of the map; NULL: the file has no symbol for it */
	const char *path;		/* of the map; NULL: not known any more */
	uint64_t hits;			/* samples that an event or the time triggered in it */
	uint64_t instructions;		/* of it that were reconstructed */
};

/*
 * All that were hit or executed, the hottest first; to be freed. blocks: where the flow's are from.
 * NULL: none, or no memory; without memory some are missing.
 */
struct flowtap_function *flowtap_profile_functions(const struct flowtap_profile *profile,
						   struct flowtap_blocks *blocks, size_t *n);

/*
 * The function at `address` in the process and at the time that the flow is at, and *offset from
 * its start; NULL. profile: a struct flowtap_profile (flowtap_disasm_options.symbol).
 */
const char *flowtap_profile_symbol(void *profile, uint64_t address, uint64_t *offset);
/* The code that blocks with this key are of, or NULL. */
const struct flowtap_code *flowtap_profile_code(const struct flowtap_profile *profile, uint32_t key);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_PROFILE_H */
