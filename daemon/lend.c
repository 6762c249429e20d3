// SPDX-License-Identifier: GPL-2.0-only
/* Closes the streams for a borrower, and opens them again when its connection has closed. */
#include "lend.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../tools/common/device_report.h"
#include "../tools/common/tool.h"
#include "log.h"
#include "run.h"

#define SECOND 1000000000ULL
#define RETRY (10 * SECOND)
/* Whoever is killed closes its connection before its streams, or after them. */
#define CLOSING (10 * SECOND)
#define LOOK (SECOND / 10)

/* What it calls itself; anything may be there. */
static void comm_of(pid_t pid, char comm[64])
{
	char path[64];
	FILE *file;

	comm[0] = 0;
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "re");
	if (file && fgets(comm, 64, file))
		comm[strcspn(comm, "\n")] = 0;
	if (file)
		fclose(file);
}

static bool holds(pid_t pid)
{
	struct flowtap_query *queries = NULL;
	bool found = false;
	size_t n = 0;

	if (device_query(0, &queries, &n))
		return false;
	for (size_t i = 0; i < n && !found; i++)
		found = queries[i].holder_pid == (uint32_t)pid;
	free(queries);
	return found;
}

/* An io_uring that had requests for a file lets go of it a moment after it was closed. */
static void wait_closed(void)
{
	const struct timespec moment = { .tv_nsec = 5000000 };
	const uint64_t deadline = number_now() + CLOSING;

	while (holds(getpid()) && number_now() < deadline)
		nanosleep(&moment, NULL);
}

static void let_go(struct run *run, const char *why)
{
	run_end_segment(run, why);
	run_keep_figures(run);
	choice_end(run->choice);
	collect_close(&run->collect);
	wait_closed();
	run->lease = (struct lease){ .before = run->state, .since = number_now() };
	run->state = RUN_LENT;
	run->rotate = false;
}

int lend(struct run *run, const struct server_peer *peer)
{
	struct log_line line;
	char comm[64];

	if (run->state == RUN_LENT)
		return -EBUSY;
	if (!peer->pid)
		return -ESRCH;
	let_go(run, "lent");
	run->lease.pid = peer->pid;
	run->lease.uid = peer->uid;
	comm_of(peer->pid, comm);
	log_begin(&line, LEVEL_WARNING, "lent");
	log_number(&line, "pid", (uint64_t)peer->pid);
	log_text(&line, "comm", comm);
	log_number(&line, "uid", peer->uid);
	log_end(&line);
	return 0;
}

void lend_returned(struct run *run, const struct server_peer *peer)
{
	if (run->state != RUN_LENT || run->lease.returned || run->lease.pid != peer->pid)
		return;
	run->lease.returned = run->lease.retry = number_now();
}

/* How long nothing was open. What is only opened again takes no longer than that. */
static uint64_t closed_for(const struct lease *lease, uint64_t now)
{
	return (lease->pid ? now : number_now()) - lease->since;
}

/* What the next archive lacks. */
static void report_gap(struct run *run, uint64_t now)
{
	const uint64_t ns = closed_for(&run->lease, now);
	char *gap = run->collect.gap, whom[32];

	snprintf(whom, sizeof(whom), "to PID %d", run->lease.pid);
	snprintf(gap, sizeof(run->collect.gap), "%s=%llu.%03llu s%s%s\n",
		 run->lease.pid ? "lent" : "reopened", (unsigned long long)(ns / SECOND),
		 (unsigned long long)(ns / 1000000 % 1000), run->lease.pid ? " " : ": ",
		 run->lease.pid ? whom : run->lease.why);
}

/* 0 or -errno: everything is closed again. */
static int take_back(struct run *run, uint64_t now)
{
	int error = run_open_device(run);

	if (!error) {
		report_gap(run, now);
		error = run_begin_segment(run);
	}
	if (error) {
		choice_end(run->choice);
		collect_close(&run->collect);
		if (store_current(run->store))
			store_drop(run->store);
	}
	return error;
}

void lend_serve(struct run *run, uint64_t now)
{
	struct lease *lease = &run->lease;
	struct log_line line;
	int error;

	if (!lease->returned || now < lease->retry)
		return;
	if (lease->pid && now - lease->returned < CLOSING && holds(lease->pid)) {
		lease->retry = now + LOOK;
		return;
	}
	error = take_back(run, now);
	if (error) {
		log_begin(&line, LEVEL_ERROR, "not-taken-back");
		log_text(&line, "why", strerror(-error));
		log_time(&line, "retry", RETRY);
		log_end(&line);
		lease->retry = now + RETRY;
		return;
	}
	run->state = lease->before;
	if (run->full_since)
		run_full_over(run);
	if (lease->pid) {
		log_begin(&line, LEVEL_NOTICE, "taken-back");
		log_number(&line, "pid", (uint64_t)lease->pid);
		log_time(&line, "lent", closed_for(lease, now));
	} else {
		log_begin(&line, LEVEL_NOTICE, "reopened");
		log_time(&line, "closed", closed_for(lease, now));
		log_text(&line, "why", lease->why);
	}
	log_text(&line, "state", run_state_name(run->state));
	log_end(&line);
}

void lend_reopen(struct run *run, const char *word, const char *why)
{
	let_go(run, word);
	run->lease.why = why;
	run->lease.returned = run->lease.retry = number_now();
	lend_serve(run, run->lease.retry);
}
