// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares the kernel's list of CPUs that are online with the streams that are open, and opens
 * them again when a CPU has come back.
 */
#include "cpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/common/tool.h"
#include "events.h"
#include "lend.h"
#include "run.h"

#define ONLINE "/sys/devices/system/cpu/online"
#define EVERY 10000000000ULL

bool cpus_has(const char *list, unsigned int cpu)
{
	unsigned int first, last;
	int n;

	while (sscanf(list, "%u%n", &first, &n) == 1) {
		list += n;
		last = first;
		if (sscanf(list, "-%u%n", &last, &n) == 1)
			list += n;
		if (cpu >= first && cpu <= last)
			return true;
		if (*list != ',')
			break;
		list++;
	}
	return false;
}

/* False: it cannot be known. */
static bool read_online(char list[CPUS_TEXT])
{
	FILE *file = fopen(ONLINE, "re");
	bool got = file && fgets(list, CPUS_TEXT, file);

	if (file)
		fclose(file);
	if (got)
		list[strcspn(list, "\n")] = 0;
	return got;
}

void cpus_begin(struct run *run)
{
	if (!read_online(run->cpus.online))
		run->cpus.online[0] = 0;
	run->cpus.unopened = false;
}

/* It was not there when the streams were opened, or has gone since. */
static bool is_missing(const struct run *run, unsigned int cpu)
{
	const struct flowtap_session *session = &run->collect.streams.session;
	const enum flowtap_session_skip skip = session->skips[cpu];

	return !cpus_has(run->cpus.online, cpu) || skip == FLOWTAP_SESSION_WENT_OFFLINE ||
	       (skip == FLOWTAP_SESSION_NO_SOURCE &&
		session->queries[cpu].reason == FLOWTAP_REASON_OFFLINE);
}

/* The module has seen it come, and with that perf has as well. */
static bool is_ready(const struct flowtap_query *query)
{
	return query->source || query->reason != FLOWTAP_REASON_OFFLINE;
}

/* It went and came since the streams were opened: a low-power state is none of that. */
static bool was_away(const struct run *run, const struct flowtap_query *query)
{
	return query->onlines != run->collect.streams.session.queries[query->cpu].onlines;
}

/* What is open is better than nothing. */
static void keep_open(struct run *run)
{
	complain("a CPU came online, and the device cannot be opened again: what is mapped there is not known");
	advise("let flowtapd's user open /dev/flowtap (udev: 60-flowtap.rules), and start flowtapd again");
	cpus_begin(run);
	run->cpus.unopened = true;
}

static void reopen(struct run *run, uint64_t now, const char *word, const char *why)
{
	run->cpus.again = now + EVERY;
	lend_reopen(run, word, why);
}

/* It is not read any more, which was complained about. */
static void look_at_rings(struct run *run, uint64_t now)
{
	if (!streams_whole(&run->collect.streams) && run_may_open_device(run))
		reopen(run, now, "ring", "a ring contradicted itself");
}

void cpus_look(struct run *run)
{
	const struct flowtap_session *session = &run->collect.streams.session;
	bool came = false, went = false, waits = false;
	const uint64_t now = number_now();
	struct flowtap_query query;
	char online[CPUS_TEXT];

	if (!run->cpus.online[0] || !read_online(online))
		return;
	for (unsigned int cpu = 0; cpu < session->cpus; cpu++) {
		bool known = !flowtap_session_query_cpu(session, cpu, &query);

		if (!cpus_has(online, cpu))
			went |= cpus_has(run->cpus.online, cpu);
		else if (run->cpus.unopened)
			continue;
		else if (known && was_away(run, &query))
			came = true;
		else if (!is_missing(run, cpu))
			continue;
		else if (known && is_ready(&query))
			came = true;
		else
			waits = true;
	}
	/* It is seen later. */
	if (came && now < run->cpus.again)
		return;
	if (went || came)
		event_cpus(run->cpus.online, online);
	if (came && run_may_open_device(run))
		reopen(run, now, "cpus", "a CPU came online");
	else if (came)
		keep_open(run);
	else if ((went || run->cpus.unopened) && !waits)
		snprintf(run->cpus.online, sizeof(run->cpus.online), "%s", online);
	if (!came && now >= run->cpus.again)
		look_at_rings(run, now);
}
