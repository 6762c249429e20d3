/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* From CTR samples to the flow. */
#ifndef FLOWTAP_CTR_H
#define FLOWTAP_CTR_H

#include <flowtap/block.h>
#include <flowtap/flow.h>
#include <flowtap/address_map.h>
#include <linux/flowtap.h>

#ifdef __cplusplus
extern "C" {
#endif

struct flowtap_ctr;

struct flowtap_ctr_counts {
	uint64_t samples;
	uint64_t entries;
	uint64_t instructions;		/* sent to the sink in blocks */
	uint64_t blocks;
	uint64_t transfers[16];		/* entries by ctrdata.TYPE; if that is 0, by the code */
	uint64_t gaps[FLOWTAP_GAP_REASONS];
	uint64_t bad_records;		/* or entries, or values in them */
};

/*
 * Borrows map, blocks (made with flowtap_riscv_block) and sink until flowtap_ctr_free. The decoder
 * takes about 450 KiB, and up to 512 KiB more for long straight lines; it trims blocks every
 * few entries. A straight line of more than 65536 blocks or 1 MiB of code is a gap IMPOSSIBLE.
 * NULL: no memory.
 */
struct flowtap_ctr *flowtap_ctr_new(struct flowtap_address_map *map, struct flowtap_blocks *blocks,
				    struct flowtap_sink *sink);
void flowtap_ctr_free(struct flowtap_ctr *ctr);

/*
 * One FLOWTAP_RECORD_SAMPLE, GAP or LOST of any stream, aligned to 8; other types are passed
 * over. Samples of one task (FLOWTAP_MISC_CPU_WIDE: of one CPU) must come in the order of their
 * sequence. size: bytes that are there; a record that does not fit, or contradicts itself, becomes a
 * gap. 0; what the sink returned below 0; -ENOMEM.
 *
 * What a sample becomes, in this order: `context` if it changed, `time`, a `gap` (the lowest cause
 * of its loss; where it is contiguous `trap`, as the trigger of the sample before was a trap, with
 * S mode `recorder`, before a call stack `filtered`), then each entry: the blocks on the straight
 * line that leads to it, its own, `exception` for a trap, `eret` for a trap return, `context` where
 * that changed the mode, `mispredicted` and `cycles` where MISP and CCV are set; at last the blocks
 * up to ip. Every block sent was executed. Where that is not certain a gap says why, and the flow
 * begins anew with the next entry's own instruction: of user mode only, after each trap (gap
 * `trap`). Samples that cannot be blocks (RASEMU, inhibited transfer types, no STE) become
 * `callstack` or `transfer`; ctr/sample.c says when, ctr/entry.c how modes change.
 */
int flowtap_ctr_decode(struct flowtap_ctr *ctr, const struct flowtap_record *record, size_t size);

/* What was decoded so far. Owned by ctr. */
const struct flowtap_ctr_counts *flowtap_ctr_counts(const struct flowtap_ctr *ctr);

/* ctrdata.CC in cycles (Smctr 6.3). */
uint64_t flowtap_ctr_cycles(uint64_t data);
/*
 * Whether CC has reached the greatest value: the count is then a lower bound. supported: the
 * writable ctrdata bits (flowtap_ctr_caps.data), as CCE may have fewer than 4 bits.
 */
bool flowtap_ctr_cycles_saturated(uint64_t data, uint64_t supported);

/* Writable ctrdata bits of the CPU, for saturation; default, and of CPUs from 8192 on: all. */
void flowtap_ctr_set_data_bits(struct flowtap_ctr *ctr, uint32_t cpu, uint64_t supported);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_CTR_H */
