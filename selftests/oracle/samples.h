/* SPDX-License-Identifier: GPL-2.0-only */
/* The samples of one or more archives, each with the flow that the library makes of it. */
#ifndef FLOWTAP_SELFTESTS_ORACLE_SAMPLES_H
#define FLOWTAP_SELFTESTS_ORACLE_SAMPLES_H

#include <flowtap/address_map.h>
#include <linux/flowtap.h>

#include "flow.h"

struct archive {
	struct archive *next;
	const char *path;
	struct flowtap_address_map *map;
	struct flowtap_blocks *blocks;
	struct flow flow;		/* of all samples */
	uint64_t forbid_from, forbid_to; /* in: no address of a sample may be in [from, to) */
	bool whole;			/* in: nothing that its tasks did may be missing */
	/* out, by check_run */
	uint64_t run;			/* samples that were contiguous, at most */
	uint64_t samples;
	uint64_t types[16];		/* entries by type, where they are true */
	uint64_t tasks;
	uint64_t reconstructed;
	uint64_t mismatches;
};

struct sample {
	struct flowtap_record_sample *record;	/* a copy, with its entries */
	struct archive *archive;
	size_t number;			/* in the archive */
	uint32_t cpu;			/* whose ring it was in */
	size_t first, n;		/* items of the archive's flow */
	struct flowtap_context context;	/* after it was decoded */
};

static inline const struct flowtap_entry *sample_entries(const struct sample *sample)
{
	return (const struct flowtap_entry *)(sample->record + 1);
}

struct samples {
	struct sample *list;		/* by ring and time, see samples_sort */
	size_t n, capacity;
	struct archive *archives;
	uint64_t told;			/* samples and lost samples by the archives' statistics */
	uint64_t lost;
	uint64_t gaps[FLOWTAP_GAP_REASONS];
	uint64_t bytes;			/* of the samples' records */
	uint64_t depths[16];		/* samples by the binary logarithm of their depth */
	uint64_t triggers[4];		/* by the bit of their trigger */
};

/*
 * Reads and decodes an archive; sysroot as in flowtap_address_map_new. 0; below 0 with *why: a line
 * for people, static. An archive that is damaged, was not finalised or whose statistics differ from
 * what is in it is an error too.
 */
int samples_add(struct samples *samples, const char *path, const char *sysroot, const char **why);
/* By CPU, then time. */
void samples_sort(struct samples *samples);
void samples_free(struct samples *samples);

#endif /* FLOWTAP_SELFTESTS_ORACLE_SAMPLES_H */
