/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A recording of flowtap, decoded: an archive's records (replay.h) through the decoder that they
 * need, of CTR (ctr.h) or of ETE (aux.h), to a sink. Which one it is CONFIGURE blocks say, else the
 * first record.
 */
#ifndef FLOWTAP_RECORDING_H
#define FLOWTAP_RECORDING_H

#include <flowtap/aux.h>
#include <flowtap/block.h>
#include <flowtap/ctr.h>
#include <flowtap/replay.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A CPU that was recorded: what it has, and what was asked of it. */
struct flowtap_recording_cpu {
	uint32_t cpu;
	bool queried;			/* query is known; what the archive has less of it is 0 */
	bool configured;
	struct flowtap_query query;
	struct flowtap_configure configure;
};

struct flowtap_hash_table;

struct flowtap_recording {
	/* Set by the caller; zeros below. What is pointed to is borrowed until it is freed. */
	struct flowtap_address_map *map;	/* filled by the archive's side band */
	struct flowtap_sink *sink;	/* `begin` may set it */
	const struct flowtap_ete_options *ete;	/* may be NULL */
	size_t block_memory;		/* bytes of the cache, 0: flowtap_blocks_new's default */
	/*
	 * Each may be NULL; below 0 stops. begin: once, before the first record, or at the end
	 * where there is none: all CPUs are known, ete_trace and blocks are set. block: not for QUERY
	 * and CONFIGURE of more CPUs than there can be, which are damage. record: in place of
	 * flowtap_recording_record, which it calls for those that are to be decoded.
	 */
	int (*begin)(struct flowtap_recording *recording);
	int (*block)(struct flowtap_recording *recording,
		     const struct flowtap_archive_block *block);
	int (*record)(struct flowtap_recording *recording, uint32_t cpu,
		      const struct flowtap_record *record, size_t size);
	/* May be NULL. As in struct flowtap_replay. */
	void (*damage)(struct flowtap_recording *recording, uint64_t offset, const char *reason,
		       uint64_t bytes);
	/* May be NULL. ETE: the flow has come to this time. */
	void (*time)(struct flowtap_recording *recording, uint64_t time);
	void *argument;			/* the caller's own */

	/* Current, for the caller to read; owned by the recording. */
	struct flowtap_replay replay;	/* its counts */
	bool ete_trace;			/* records are of ETEs: aux decodes them, else ctr */
	struct flowtap_blocks *blocks;
	struct flowtap_ctr *ctr;	/* one of them, once it has begun; NULL */
	struct flowtap_aux *aux;
	struct flowtap_recording_cpu *cpus;	/* in the order of the archive */
	size_t n_cpus;

	/* The library's own. */
	struct flowtap_hash_table *by_cpu;	/* indexes of cpus; NULL: there are none */
};

/*
 * Decodes an archive, read as flowtap_replay does, to the sink. 0, whatever the damage (see
 * replay.counts); what flowtap_replay returns; -EPROTOTYPE: it was recorded of ETEs and of another
 * source, and no flow can have both; what the sink or a callback returned below 0; -ENOMEM.
 */
int flowtap_recording_decode(struct flowtap_recording *recording, int fd);
/* During `record` only: decodes a record. 0, or below as above. */
int flowtap_recording_record(struct flowtap_recording *recording, uint32_t cpu,
			     const struct flowtap_record *record, size_t size);
/* Frees what it owns. The sink is no more used, what it has of blocks is gone. */
void flowtap_recording_free(struct flowtap_recording *recording);

/* NULL: nothing is known of that CPU. */
const struct flowtap_recording_cpu *
flowtap_recording_cpu(const struct flowtap_recording *recording, uint32_t cpu);

/*
 * What flowtapd saved beside the archive of that path, in images/, is looked at for files of the
 * map (flowtap_address_map_images). 0, also where there is none; -ENOMEM.
 */
int flowtap_recording_images(struct flowtap_address_map *map, const char *path);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_RECORDING_H */
