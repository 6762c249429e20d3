/* SPDX-License-Identifier: GPL-2.0-only */
/* A decoding: what was asked for, and everything between the archive and the trace. */
#ifndef DECODING_H
#define DECODING_H

#include "decode.h"
#include "format.h"
#include "output.h"
#include "tap.h"

#include <flowtap/ctr.h>
#include <flowtap/replay.h>
#include <stdbool.h>
#include <stdint.h>

struct decoding {
	const struct decode_options *options;
	struct output output;
	struct flowtap_map *map;
	struct flowtap_blocks *blocks;
	struct tap tap;
	struct flowtap_ctr *ctr;
	struct format format;		/* from the first record on */
	struct flowtap_replay replay;
	char *info;
	uint64_t period;
	uint32_t cpus;
	uint64_t expected;		/* records, as the archive says at its end; 0 unknown */
	bool progress;
	uint64_t shown;
};

/* 0 or -ENOMEM, after a complaint. options is borrowed. */
int decoding_init(struct decoding *decoding, const struct decode_options *options);
/* From the archive to decoding->output, which is open. 0 or -errno of whoever failed. */
int decoding_run(struct decoding *decoding, int input);
void decoding_free(struct decoding *decoding);

#endif /* DECODING_H */
