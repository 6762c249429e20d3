/* SPDX-License-Identifier: GPL-2.0-only */
/* A decoding: what was asked for, and everything around the recording that is decoded. */
#ifndef FLOWTAP_TOOLS_DECODE_DECODING_H
#define FLOWTAP_TOOLS_DECODE_DECODING_H

#include "common/format.h"
#include "common/output_file.h"
#include "common/progress.h"
#include "decode/decode.h"
#include "decode/pick.h"
#include "decode/split.h"
#include "decode/trigger.h"

#include <flowtap/profile.h>
#include <flowtap/recording.h>
#include <stdbool.h>
#include <stdint.h>

struct decoding {
	const struct decode_options *options;
	struct output output;
	struct flowtap_address_map *map;
	struct flowtap_profile profile;
	struct triggers triggers;
	struct pick pick;		/* before the profile */
	struct flowtap_aux_counts picked;	/* of what was, where not all is */
	struct flowtap_ctr_counts picked_ctr;
	struct flowtap_recording recording;
	struct flowtap_ete_options ete;
	struct format_request request;	/* of the options, with what the recording says */
	struct format format;		/* with --split the split */
	struct split split;
	char *info;
	uint64_t period;
	uint32_t cpus;			/* configured */
	uint64_t lost_samples;		/* as the archive says at its end */
	uint64_t expected;		/* records, as the archive says at its end; 0 unknown */
	struct progress progress;
};

/* 0 or -ENOMEM, after a complaint. options is borrowed. */
int decoding_init(struct decoding *decoding, const struct decode_options *options);
/*
 * From the archive to decoding->output, which is open. 0 or -errno of whoever failed; -EPROTOTYPE:
 * it was recorded from sources that no one flow can have; -ENOENT: nothing of what was asked for is
 * in it.
 */
int decoding_run(struct decoding *decoding, int input);
/* Counts of what was asked for; NULL: it is no trace of ETEs. */
const struct flowtap_aux_counts *decoding_aux_counts(struct decoding *decoding);
/* ... NULL: it is one. */
const struct flowtap_ctr_counts *decoding_ctr_counts(const struct decoding *decoding);
/*
 * About how many instructions were executed while it was recorded, by those of which samples were
 * taken: the period of the samples that an event of instructions triggered. 0: unknown.
 */
uint64_t decoding_executed(const struct decoding *decoding);
/* Records of which not all could be decoded as they are. */
uint64_t decoding_bad_records(const struct decoding *decoding);
void decoding_free(struct decoding *decoding);

#endif /* FLOWTAP_TOOLS_DECODE_DECODING_H */
