/* SPDX-License-Identifier: GPL-2.0-only */
/* What flowtap_ete makes of a stream, instruction by instruction, as an oracle to compare. */
#ifndef FLOWTAP_SELFTESTS_ETE_DECODED_H
#define FLOWTAP_SELFTESTS_ETE_DECODED_H

#include <flowtap/ete.h>

#include "program.h"
#include "oracle.h"

struct decoded {
	struct flowtap_sink sink;
	const struct program *program;
	struct flowtap_blocks *blocks;
	struct flowtap_ete *ete;
	struct oracle oracle;
	uint32_t context;	/* of oracle; UINT32_MAX none */
	uint64_t modified;	/* ticks at which group 2 comes; 0: never */
	bool now_modified;
	bool contextid;		/* the trace has it */
	struct flowtap_ete_counts counts;
	uint64_t gap_size;	/* of the first gap */
	unsigned int gaps;
	char detail[200];	/* of the last gap */
};

/*
 * Ready to be fed through `ete`. -errno of flowtap_ete_new. options may be NULL.
 */
int decoded_new(struct decoded *decoded, const struct flowtap_ete_config *config,
		const struct flowtap_ete_options *options, const struct program *program,
		uint64_t modified);
void decoded_free(struct decoded *decoded);
/* Feeds bytes in pieces of random sizes. */
int decoded_feed(struct decoded *decoded, const uint8_t *bytes, size_t size, struct rng *rng);

#endif
