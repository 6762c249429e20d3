/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* From CTR samples to the flow. */
#ifndef FLOWTAP_CTR_H
#define FLOWTAP_CTR_H

#include <flowtap/block.h>
#include <flowtap/flow.h>
#include <flowtap/image.h>
#include <linux/flowtap.h>

struct flowtap_ctr;

struct flowtap_ctr_counts {
	uint64_t samples;
	uint64_t entries;
	uint64_t instructions;		/* sent to the sink in blocks */
	uint64_t blocks;
	uint64_t transfers[16];		/* entries by ctrdata.TYPE, or by the code where TYPE is 0 */
	uint64_t gaps[FLOWTAP_GAP_REASONS];
	uint64_t bad_records;
};

/*
 * Borrows map, blocks (made with flowtap_riscv_block) and sink until flowtap_ctr_free.
 * NULL: no memory.
 */
struct flowtap_ctr *flowtap_ctr_new(struct flowtap_map *map, struct flowtap_blocks *blocks,
				    struct flowtap_sink *sink);
void flowtap_ctr_free(struct flowtap_ctr *ctr);

/*
 * One FLOWTAP_RECORD_SAMPLE, GAP or LOST of any stream; other types are passed over. Samples of
 * one task must come in the order of their sequence. size: bytes that are there; a record that
 * does not fit, or contradicts itself, becomes a gap. 0, or what the sink returned.
 */
int flowtap_ctr_decode(struct flowtap_ctr *ctr, const struct flowtap_record *record, size_t size);

const struct flowtap_ctr_counts *flowtap_ctr_counts(const struct flowtap_ctr *ctr);

/* ctrdata.CC in cycles (Smctr 6.3). */
uint64_t flowtap_ctr_cycles(uint64_t data);
/*
 * Whether CC has reached the greatest value: the count is then a lower bound. supported: the
 * writable ctrdata bits (flowtap_ctr_caps.data), as CCE may have fewer than 4 bits.
 */
bool flowtap_ctr_cycles_saturated(uint64_t data, uint64_t supported);

/* Writable ctrdata bits of the CPU the samples come from, for saturation; default all. */
void flowtap_ctr_set_data_bits(struct flowtap_ctr *ctr, uint32_t cpu, uint64_t supported);

#endif /* FLOWTAP_CTR_H */
