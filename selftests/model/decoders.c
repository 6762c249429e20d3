// SPDX-License-Identifier: GPL-2.0-or-later
/* Feeds a decoder with what was stored, and tells the judge where it stands in the log. */
#include "decoders.h"

#include <errno.h>

struct feeding {
	const struct decoder *decoder;
	const struct history *history;
	struct judge *judge;
	struct flowtap_ete_config config;
	void *state;
	size_t sync;		/* the next one */
};

/* Field by field: what is between them may be anything. */
static bool same(const struct flowtap_ete_config *a, const struct flowtap_ete_config *b)
{
	return a->configr == b->configr && a->traceidr == b->traceidr && a->devarch == b->devarch &&
	       a->idr0 == b->idr0 && a->idr1 == b->idr1 && a->idr2 == b->idr2 &&
	       a->idr8 == b->idr8 && a->m_profile == b->m_profile;
}

/* The trace unit was set up anew: another decoder. */
static int configure(struct feeding *feeding, const struct flowtap_ete_config *config)
{
	if (feeding->state && same(&feeding->config, config))
		return 0;
	if (feeding->state) {
		int err = feeding->decoder->finish(feeding->state);

		feeding->decoder->free(feeding->state);
		feeding->state = NULL;
		if (err)
			return err;
		/* Nothing is missing: a new decoder knows as little as one that lost its place. */
		judge_break(feeding->judge, false);
		feeding->judge->counts.gaps--;
	}
	feeding->config = *config;
	feeding->judge->config = *config;
	feeding->state = feeding->decoder->new(feeding->judge, config);
	return feeding->state ? 0 : -EINVAL;
}

static int feed_run(struct feeding *feeding, const struct align_run *run)
{
	const struct history *history = feeding->history;
	uint64_t end = run->offset + run->n, at = run->offset, next;
	int err;

	while (feeding->sync < history->nsyncs && history->syncs[feeding->sync].offset < at)
		feeding->sync++;
	while (at < end) {
		next = end;
		if (feeding->sync < history->nsyncs) {
			const struct history_sync *sync = &history->syncs[feeding->sync];

			if (sync->offset == at) {
				err = configure(feeding, &sync->config);
				if (err)
					return err;
				judge_hint(feeding->judge, feeding->sync++);
				continue;
			}
			if (sync->offset < end)
				next = sync->offset;
		}
		/* Before the first A-sync nothing can be decoded. */
		err = feeding->state ? feeding->decoder->feed(feeding->state,
							      run->bytes + (at - run->offset),
							      next - at) : 0;
		if (err)
			return err;
		at = next;
	}
	return 0;
}

int decode(const struct decoder *decoder, const struct history *history,
	   const struct alignment *alignment, bool missing, struct judge *judge, uint8_t *covered)
{
	struct feeding feeding = { .decoder = decoder, .history = history, .judge = judge };
	int err = 0;

	judge_init(judge, history, decoder->name);
	judge->covered = covered;
	for (size_t i = 0; i < alignment->n && !err && !judge->failed; i++) {
		const struct align_run *run = &alignment->runs[i];

		if (!run->joined) {
			judge->closing = true;
			if (feeding.state)
				err = decoder->lose(feeding.state);
			judge->closing = false;
			judge_break(judge, run->lost ||
				    (run->missing && (missing || run->excused)));
		}
		if (!err)
			err = feed_run(&feeding, run);
	}
	judge->closing = !alignment->whole;
	if (feeding.state && !err)
		err = decoder->finish(feeding.state);
	if (feeding.state)
		decoder->free(feeding.state);
	if (!err)
		judge_end(judge, alignment->whole);
	return err;
}
