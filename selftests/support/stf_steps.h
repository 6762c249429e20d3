/* SPDX-License-Identifier: GPL-2.0-only */
/* A flow by hand, step by step, for the writer of STF. */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_STF_STEPS_H
#define FLOWTAP_SELFTESTS_SUPPORT_STF_STEPS_H

#include <flowtap/stf.h>

#include "support/madestf.h"

#define CODE(...) .bytes = (const uint8_t[]){ __VA_ARGS__ }
#define WORD(word) \
	(word) & 0xff, (word) >> 8 & 0xff, (word) >> 16 & 0xff, (word) >> 24 & 0xff

/* One step of a flow: a block, or an element. */
struct step {
	const struct flowtap_block *block;
	bool taken;
	uint64_t target;
	struct flowtap_element element;
};

#define IS(which, is_taken, to) { .block = &(which), .taken = is_taken, .target = to }
#define ELEMENT(which, ...) { .element = { .kind = FLOWTAP_ELEMENT_ ## which, ## __VA_ARGS__ } }
#define MODE(which, level) \
	ELEMENT(CONTEXT, .context = { .isa = FLOWTAP_ISA_ ## which, .mode = level, \
				   .width = FLOWTAP_ISA_ ## which == FLOWTAP_ISA_A64 ? 64 : 32 })
#define GAP(why) ELEMENT(GAP, .gap = { .reason = FLOWTAP_GAP_ ## why, .size = UINT64_MAX })

/* All of it, to its end. */
static inline int feed(struct flowtap_stf *writer, const struct step *steps, size_t n)
{
	struct flowtap_sink *sink = flowtap_stf_sink(writer);
	int error = 0;

	for (size_t i = 0; i < n && !error; i++) {
		struct flowtap_block block;

		if (!steps[i].block) {
			error = sink->element(sink, &steps[i].element);
			continue;
		}
		block = *steps[i].block;
		error = sink->block(sink, &block, steps[i].taken, steps[i].target);
		blocks_unrender(&block, 1);
	}
	return error ? error : flowtap_stf_finish(writer);
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_STF_STEPS_H */
