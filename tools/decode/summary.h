/* SPDX-License-Identifier: GPL-2.0-only */
/* What was decoded, as people and programs read it. */
#ifndef FLOWTAP_TOOLS_DECODE_SUMMARY_H
#define FLOWTAP_TOOLS_DECODE_SUMMARY_H

#include "decode/pick.h"
#include "decode/split.h"
#include "decode/trigger.h"

#include <flowtap/aux.h>
#include <flowtap/ctr.h>
#include <flowtap/profile.h>
#include <flowtap/replay.h>
#include <stdio.h>

struct summary {
	const char *input;
	const char *output;		/* "-": standard output; NULL: nothing was written */
	const char *format;
	uint64_t output_bytes;
	const char *sysroot;		/* or NULL */
	const char *info;		/* KEY=VALUE lines of the archive, "" none */
	uint32_t cpus;			/* that were recorded */
	uint64_t period;
	uint64_t executed;		/* instructions, about; 0 unknown; of samples */
	const struct flowtap_replay_counts *replay;
	const struct flowtap_ctr_counts *ctr;	/* one of them */
	const struct flowtap_aux_counts *aux;	/* of what was picked */
	const struct pick *pick;
	const struct flowtap_profile *profile;
	const struct split *split;	/* or NULL */
	const struct left_out *left_out;
	const struct triggers *triggers;
	struct flowtap_blocks *blocks;
};

void summary_print(FILE *file, const struct summary *summary);
void summary_json(FILE *file, const struct summary *summary);

#endif /* FLOWTAP_TOOLS_DECODE_SUMMARY_H */
