/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Instead of libuapi/capture/perf_events.c in the one program that includes it: perf has no event to
 * tell, but says how many it lost.
 */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_LOST_EVENTS_H
#define FLOWTAP_SELFTESTS_SUPPORT_LOST_EVENTS_H

#include "capture/perf_events.h"

static uint64_t losing;		/* at the next drain */
static char somebody;

int flowtap_perf_open(const pid_t *pids, size_t n, bool inherit, struct flowtap_perf **perf)
{
	(void)pids;
	(void)n;
	(void)inherit;
	*perf = (struct flowtap_perf *)&somebody;
	return 0;
}

int flowtap_perf_enable(struct flowtap_perf *perf)
{
	(void)perf;
	return 0;
}

int flowtap_perf_fds(const struct flowtap_perf *perf, int *fds, int n)
{
	(void)perf;
	(void)fds;
	(void)n;
	return 0;
}

int flowtap_perf_drain(struct flowtap_perf *perf, const struct flowtap_sideband_sink *out,
		       uint64_t *lost)
{
	const uint64_t count = losing;

	(void)perf;
	losing = 0;
	*lost += count;
	return count ? flowtap_sideband_write_lost(out, count, 1, 0) : 0;
}

static uint64_t untold;		/* lost as well, which nothing says but who asks */

int flowtap_perf_drain_all(struct flowtap_perf *perf, const struct flowtap_sideband_sink *out,
			   uint64_t *lost)
{
	losing += untold;
	untold = 0;
	return flowtap_perf_drain(perf, out, lost);
}

void flowtap_perf_close(struct flowtap_perf *perf)
{
	(void)perf;
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_LOST_EVENTS_H */
