/* SPDX-License-Identifier: GPL-2.0-only */
/* Random flows as the writer makes STF of them, and copies of STF. */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_MADESTF_H
#define FLOWTAP_SELFTESTS_SUPPORT_MADESTF_H

#include <flowtap/stf.h>
#include <flowtap/stf_copy.h>
#include <flowtap/zstf.h>

#include "support/madeflow.h"

/*
 * So many blocks of a seed, the same each time, and after the last one so many gaps, each of
 * another size; zstf: NULL, not packed. To be freed by output_free.
 */
static inline struct output made_stf_gaps(uint64_t seed, bool arm, unsigned int blocks,
					  unsigned int gaps,
					  const struct flowtap_zstf_options *zstf)
{
	const struct flowtap_stf_options options = { .generator = 0xff, .zstf = zstf };
	struct flowtap_element gap = {
		.kind = FLOWTAP_ELEMENT_GAP, .gap = { .reason = FLOWTAP_GAP_RING_FULL },
	};
	struct madeflow *made = malloc(sizeof(*made));
	struct output output = output_new();
	struct flowtap_sink *sink;
	struct flowtap_stf *stf;

	if (!made || flowtap_stf_new(output.fd, &options, &stf))
		abort();
	sink = flowtap_stf_sink(stf);
	made_begin(made, seed, arm, sink);
	if (made_run(made, blocks))
		abort();
	while (gap.gap.size++ < gaps)
		if (sink->element(sink, &gap))
			abort();
	if (flowtap_stf_finish(stf))
		abort();
	flowtap_stf_free(stf);
	made_end(made);
	free(made);
	output_read(&output);
	return output;
}

static inline struct output made_stf(uint64_t seed, bool arm, unsigned int blocks,
				     const struct flowtap_zstf_options *zstf)
{
	return made_stf_gaps(seed, arm, blocks, 0, zstf);
}

/* A copy of the file, record by record. markers: of a chunk, 0: not compressed. */
static inline struct output copy_of(int fd, uint64_t markers, struct flowtap_stf_copy *copy,
				    int *status)
{
	const struct flowtap_zstf_options zstf = { .markers = markers, .level = 1 };
	struct output output = output_new();

	*copy = (struct flowtap_stf_copy){ .zstf = markers ? &zstf : NULL };
	lseek(fd, 0, SEEK_SET);
	*status = flowtap_stf_copy(copy, fd, output.fd);
	output_read(&output);
	return output;
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_MADESTF_H */
