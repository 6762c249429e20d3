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

static uint64_t offline_losses(const struct run *run)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < run->figures.n_cpus; i++)
		sum += run->figures.cpus[i].losses[FLOWTAP_CAUSE_OFFLINE];
	return sum;
}

void cpus_begin(struct run *run)
{
	if (!read_online(run->cpus.online))
		run->cpus.online[0] = 0;
	run->cpus.losses = offline_losses(run);
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
static bool is_ready(const struct run *run, unsigned int cpu)
{
	struct flowtap_query query;

	return !flowtap_session_query_cpu(&run->collect.streams.session, cpu, &query) &&
	       (query.source || query.reason != FLOWTAP_REASON_OFFLINE);
}

/* What is open is better than nothing. */
static void keep_open(struct run *run)
{
	complain("a CPU came online, and the device cannot be opened again: what is mapped there is not known");
	advise("let flowtapd's user open /dev/flowtap (udev: 60-flowtap.rules), and start flowtapd again");
	cpus_begin(run);
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
	const uint64_t losses = offline_losses(run), now = number_now();
	/* One that went and came since the last time is seen by what it lost. */
	bool came = losses != run->cpus.losses, went = false, waits = false;
	char online[CPUS_TEXT];

	if (!run->cpus.online[0] || !read_online(online))
		return;
	for (unsigned int cpu = 0; cpu < run->collect.streams.session.cpus; cpu++) {
		if (!cpus_has(online, cpu))
			went |= cpus_has(run->cpus.online, cpu);
		else if (!is_missing(run, cpu))
			continue;
		else if (is_ready(run, cpu))
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
	else if (went && !waits)
		snprintf(run->cpus.online, sizeof(run->cpus.online), "%s", online);
	if (!came && now >= run->cpus.again)
		look_at_rings(run, now);
}
