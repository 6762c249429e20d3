/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * From the records of streams with an AUX area (FLOWTAP_SOURCE_ETE) to the flow.
 *
 * Each FLOWTAP_RECORD_AUX names the bytes that one task left on one CPU, so a task that moves
 * between CPUs comes out as one flow in the order of time when records come in the order of theirs
 * (flowtap/replay.h sees to that).
 */
#ifndef FLOWTAP_AUX_H
#define FLOWTAP_AUX_H

#include <flowtap/block.h>
#include <flowtap/ete.h>
#include <flowtap/flow.h>
#include <flowtap/address_map.h>
#include <linux/flowtap.h>

#ifdef __cplusplus
extern "C" {
#endif

struct flowtap_aux;

/* CPUs are below this; records of others are gaps. */
#define FLOWTAP_AUX_CPUS 1024

struct flowtap_aux_options {
	struct flowtap_address_map *map;	/* borrowed, as all that follows */
	struct flowtap_blocks *blocks;	/* made with flowtap_arm_block or flowtap_arm_block_wfx */
	struct flowtap_sink *sink;
	const struct flowtap_ete_options *ete;	/* may be NULL */
	/*
	 * Bytes [offset, offset + size) of the CPU's AUX area, as struct flowtap_record_aux counts
	 * them. How many are there from `offset` on, at most size; fewer: the archive lacks the
	 * next one. Below 0: -errno, which flowtap_aux_decode returns.
	 */
	long (*read)(void *argument, uint32_t cpu, uint64_t offset, void *buffer, size_t size);
	/*
	 * The first offset from this one on of which the byte is there; UINT64_MAX: none. NULL:
	 * what comes after a byte that lacks is not looked for in the same record.
	 */
	uint64_t (*next)(void *argument, uint32_t cpu, uint64_t offset);
	/* May be NULL. The flow has come to this time: what was mapped then is what is executed. */
	void (*time)(void *argument, uint64_t time);
	void *argument;
};

struct flowtap_aux_counts {
	uint64_t records;		/* AUX */
	uint64_t bytes;			/* that they name, but for those missing */
	uint64_t missing;		/* not in the archive; those that gave way as asked, too */
	uint64_t gaps[FLOWTAP_GAP_REASONS];	/* sent to the sink, the decoders' own as well */
	uint64_t bad_records;		/* or records whose bytes the archive should have and lacks */
	struct flowtap_ete_counts ete;	/* of all CPUs; its gaps are in the ones above */
};

/*
 * Options are copied. 0 and *aux; -ENOMEM. Memory: 1.1 MiB, and a decoder (ete.h) for each CPU
 * that was configured, with 1.1 MiB more once a process there maps code; where WFE and WFI are
 * other than `blocks` has them another cache, of 64 MiB, for those CPUs (flowtap_blocks_of).
 */
int flowtap_aux_new(const struct flowtap_aux_options *options, struct flowtap_aux **aux);
void flowtap_aux_free(struct flowtap_aux *aux);

/* Whether WFE and WFI are P0 instructions on that CPU: which blocks options.blocks makes. */
bool flowtap_aux_wfx(const struct flowtap_query *query);

/*
 * What a CPU's trace unit is and how it was configured: both before the first record of the CPU.
 * size: bytes that are there, what is beyond is 0. 0; -EINVAL: it is no trace unit that can be
 * decoded, its records will be gaps; -ENOMEM.
 */
int flowtap_aux_query(struct flowtap_aux *aux, uint32_t cpu, const void *query, size_t size);
int flowtap_aux_configure(struct flowtap_aux *aux, uint32_t cpu, const void *configure, size_t size);

/*
 * One record of any type, aligned to 8, of which `size` bytes are there; those of a CPU in the
 * order of its ring. 0; what the sink or `read` returned below 0; -ENOMEM. What is wrong with a
 * record or its bytes becomes a gap.
 *
 * What an AUX record becomes, in this order: a `context` where pid, tid or cpu are not those of the
 * element before; the gaps that its `loss` has and no GAP record has had since the task's AUX
 * record before (since: the end of that one, until: this one's `since`); a gap where the sequence
 * shows that records are missing; where it is contiguous and the kernel is traced a gap `recorder`,
 * for the module's own code is not in the trace; a session, unless FLOWTAP_AUX_CONTINUES (or the
 * record it continues is missing); `time`, of its `since`; where it continues the context it goes
 * on in, whatever came before; then what flowtap_ete_decode makes of its bytes. At the end of each
 * record all goes to the sink that is not speculative. Bytes that the archive lacks are a gap with
 * their size: `wrapped` where the recording was to keep the newest only, else `bad_record`.
 * FLOWTAP_AUX_OVERWRITE is a gap `wrapped` at its begin.
 *
 * A GAP record becomes a gap with its interval, of the task and CPU that it names. FLOWTAP_AUX_
 * TRUNCATED, PARTIAL and COLLISION say nothing more than it: what of the last packet is missing is
 * that same loss. Only where no GAP record tells it, nor `loss` of the task's next record, there is
 * a gap `truncated`.
 *
 * LOST becomes a gap `ring_full` of nobody (a context with pid 0 and tid 0), as nobody knows whose
 * records were lost; each task that lost trace with them has its own. If the next GAP or AUX record
 * of the CPU tells of `ring_full`, they are one gap, the task's.
 *
 * Code is looked for as it was mapped when the trace came there: between the last timestamp (the
 * record's `since` where there is none) and the next one (the record's end), with 1 ms for how
 * exactly counter and clock are read together. Where something else was mapped at an address
 * meanwhile, the exceptions in the trace may tell which it is: of a process with one thread, right
 * after a timestamp and right before one. Else there is a gap `no_code`. A task's record ends where
 * it executes another program, so that its user mode is the program's of before.
 */
int flowtap_aux_decode(struct flowtap_aux *aux, uint32_t cpu, const struct flowtap_record *record,
		       size_t size);
/* The decoders end; what the last packets lacked becomes gaps. As decode. */
int flowtap_aux_finish(struct flowtap_aux *aux);

/* Current; owned by aux. */
const struct flowtap_aux_counts *flowtap_aux_counts(struct flowtap_aux *aux);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_AUX_H */
