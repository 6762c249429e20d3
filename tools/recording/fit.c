// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completes the configuration from the queries of all CPUs: one period, and the options that
 * every trace unit has.
 */
#include "recording/fit.h"

#include "common/names.h"
#include "common/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* One period for all streams, at least what each of their sources asks for. */
static int choose_period(const struct streams *streams, struct flowtap_configure *configure,
			 uint64_t fallback)
{
	uint64_t least = 0, wanted = configure->period;

	for (size_t cpu = 0; cpu < streams->session.cpus; cpu++)
		if (streams->session.queries[cpu].period_min > least)
			least = streams->session.queries[cpu].period_min;
	if (wanted && wanted < least) {
		complain("a period of %" PRIu64
			 " is too small: the source asks for at least %" PRIu64,
			 wanted, least);
		advise("-c %" PRIu64 " or more", least);
		return -EINVAL;
	}
	if (!wanted)
		configure->period = fallback > least ? fallback : least;
	return 0;
}

/* An option that this source does not have. */
static int misplaced(const struct streams *streams, const char *option)
{
	bool traces = streams->session.source == FLOWTAP_SOURCE_ETE;

	complain(traces ? "--%s is for sources that take samples: the CPUs here have %s, which "
			  "traces all" :
			  "--%s is for traces (ete): the CPUs here have %s, which takes samples",
		 option, name_of(source_names, streams->session.source));
	advise("leave it out; `flowtap list` shows what the source can do");
	return -EOPNOTSUPP;
}

/* What the trace units are asked for: the same of all. */
static int fit_ete(const struct streams *streams, const struct record_options *options,
		   struct flowtap_configure *common)
{
	uint64_t settable = ~0ULL;
	uint32_t level = 0;

	for (size_t cpu = 0; cpu < streams->session.cpus; cpu++) {
		const struct flowtap_query *query = &streams->session.queries[cpu];

		if (query->source != FLOWTAP_SOURCE_ETE || !options_cpu(options, cpu))
			continue;
		settable &= query->ete.settable;
		level = query->ete.exception_level;
	}
	common->triggers &= FLOWTAP_TRIGGER_SWITCH;
	common->event_type = 0;
	common->event_config = common->period = common->timer_ns = 0;
	memset(&common->ctr, 0, sizeof(common->ctr));
	if (ete_options_fit(&options->ete, settable, level, common))
		return 0;
	complain("--context and --vmid cannot be had together here");
	advise("the kernel runs at EL2, where the context identifier takes the place of the virtual "
	       "machine's: leave one out");
	return -EOPNOTSUPP;
}

int fit_options(struct streams *streams, const struct record_options *options,
		struct flowtap_configure *common)
{
	bool traces = streams->session.source == FLOWTAP_SOURCE_ETE;
	const char *wrong = traces ? options->samples_option : options->ete.given;

	if (wrong)
		return misplaced(streams, wrong);
	if (traces)
		return fit_ete(streams, options, common);
	streams->event = options->event.name;
	return common->triggers & FLOWTAP_TRIGGER_OVERFLOW ?
		       choose_period(streams, common, options->event.period) : 0;
}

