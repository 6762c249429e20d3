/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The decoders that a trace is held against the log with: each tells a judge what it makes of it.
 */
#ifndef FLOWTAP_SELFTESTS_MODEL_DECODERS_H
#define FLOWTAP_SELFTESTS_MODEL_DECODERS_H

#include "align.h"
#include "judge.h"

struct decoder {
	const char *name;
	const char *(*version)(void);
	/* NULL: this decoder refuses the configuration, or there is no memory. */
	void *(*new)(struct judge *judge, const struct flowtap_ete_config *config);
	/* 0 or a negative errno: the decoder has given up. */
	int (*feed)(void *state, const uint8_t *bytes, size_t n);
	/* Bytes are missing before those that follow. */
	int (*lose)(void *state);
	int (*finish)(void *state);
	void (*free)(void *state);
};

extern const struct decoder decoder_flowtap;
extern const struct decoder decoder_opencsd;

/*
 * Decodes all of an alignment. missing: stored bytes that are not in the dump are no difference;
 * without it they are none beside a piece of which software says that some are missing.
 * covered: NULL, or for each item of the history whether it was decoded.
 * What differs is in the judge, which is initialised here. 0; -EINVAL: no decoder for the
 * configuration; another -errno of the decoder.
 */
int decode(const struct decoder *decoder, const struct history *history,
	   const struct alignment *alignment, bool missing, struct judge *judge, uint8_t *covered);

#endif
