// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Chooses between perf's events and looks at /proc, and takes both when a recording starts. */
#include <flowtap/sideband.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/mounts.h"
#include "capture/perf_events.h"
#include "capture/proc_scan.h"
#include "capture/sideband_write.h"

struct flowtap_sideband {
	struct flowtap_sideband_options options;
	pid_t *pids;			/* of the options: the caller's are read once */
	struct flowtap_sideband_sink out;
	struct flowtap_perf *perf;	/* NULL: /proc is polled */
	struct flowtap_proc_scan *scan;
	int denied;			/* -errno: why there are no events */
	uint64_t lost;
	uint64_t reported;		/* of them, those that are in `missing`, or were */
	uint64_t missing;		/* that the next archive is to report, with a new roster */
	uint64_t dropped;		/* by rosters before this one */
};

/* What says that there can be no events here; anything else is an error of its own. */
static bool denied(int err)
{
	return err == -EACCES || err == -EPERM || err == -ENOSYS || err == -ENOENT ||
	       err == -EOPNOTSUPP || err == -EMFILE || err == -ENFILE || err == -ENODEV ||
	       err == -EINVAL;
}

static struct flowtap_proc_scan *new_scan(const struct flowtap_sideband_options *options)
{
	struct flowtap_proc_scan *scan = flowtap_proc_scan_new(options->pids, options->n_pids,
							       options->inherit);

	if (scan)
		flowtap_proc_scan_limit(scan, options->poll_share);
	return scan;
}

static int open_parts(struct flowtap_sideband *sideband)
{
	const struct flowtap_sideband_options *options = &sideband->options;
	int err;

	sideband->scan = new_scan(options);
	sideband->out.mounts = flowtap_mounts_new();
	if (options->keep)
		sideband->out.roster = flowtap_roster_new(options->keep);
	if (!sideband->scan || !sideband->out.mounts || (options->keep && !sideband->out.roster))
		return -ENOMEM;
	if (options->poll)
		return 0;
	err = flowtap_perf_open(options->pids, options->n_pids, options->inherit, &sideband->perf);
	if (!denied(err))
		return err;
	sideband->denied = err;
	return 0;
}

int flowtap_sideband_open(const struct flowtap_sideband_options *options,
			  struct flowtap_sideband **out)
{
	struct flowtap_sideband *sideband = calloc(1, sizeof(*sideband));
	int saved = errno, err;

	if (!sideband)
		return -ENOMEM;
	sideband->options = *options;
	sideband->pids = malloc((options->n_pids + 1) * sizeof(sideband->pids[0]));
	if (!sideband->pids) {
		free(sideband);
		return -ENOMEM;
	}
	if (options->n_pids)
		memcpy(sideband->pids, options->pids, options->n_pids * sizeof(sideband->pids[0]));
	sideband->options.pids = sideband->pids;
	sideband->out = (struct flowtap_sideband_sink){
		.mapped = options->mapped,
		.argument = options->argument,
	};
	err = open_parts(sideband);
	errno = saved;
	if (err) {
		flowtap_sideband_free(sideband);
		return err;
	}
	*out = sideband;
	return 0;
}

/* Events first: what happens during the scan is in both, and nothing in none. */
int flowtap_sideband_start(struct flowtap_sideband *sideband, struct flowtap_archive_writer *writer)
{
	int saved = errno, err = 0;

	sideband->out.writer = writer;
	if (sideband->perf)
		err = flowtap_perf_enable(sideband->perf);
	if (!err)
		err = flowtap_proc_scan_vdso(&sideband->out);
	/* What a child that has not executed has mapped is our own and of no use. */
	if (!err)
		err = flowtap_proc_scan_start(sideband->scan, &sideband->out,
					      sideband->options.stopped);
	errno = saved;
	return err;
}

int flowtap_sideband_fds(const struct flowtap_sideband *sideband, int *fds, int n)
{
	return sideband->perf ? flowtap_perf_fds(sideband->perf, fds, n) : 0;
}

static int drain(struct flowtap_sideband *sideband, bool at_once)
{
	int saved = errno, err;

	if (sideband->perf && at_once)
		err = flowtap_perf_drain_all(sideband->perf, &sideband->out, &sideband->lost);
	else if (sideband->perf)
		err = flowtap_perf_drain(sideband->perf, &sideband->out, &sideband->lost);
	else if (!sideband->out.writer)
		err = 0;	/* it is read anew for the next archive */
	else
		err = flowtap_proc_scan_again(sideband->scan, &sideband->out, at_once);
	errno = saved;
	return err;
}

int flowtap_sideband_drain(struct flowtap_sideband *sideband)
{
	return drain(sideband, false);
}

int flowtap_sideband_look(struct flowtap_sideband *sideband)
{
	return drain(sideband, true);
}

int flowtap_sideband_denied(const struct flowtap_sideband *sideband)
{
	return sideband->denied;
}

void flowtap_sideband_advance(struct flowtap_sideband *sideband, uint64_t time)
{
	if (sideband->out.roster)
		flowtap_roster_advance(sideband->out.roster, time);
}

/*
 * What polling has seen says nothing of who has gone, and a roster that had no space, or of which
 * an event was lost, lacks something: all of it is looked at again.
 */
static int scan_anew(struct flowtap_sideband *sideband, uint64_t missing)
{
	struct flowtap_roster *roster = flowtap_roster_new(sideband->options.keep);
	struct flowtap_proc_scan *scan = new_scan(&sideband->options);
	int saved = errno, err;

	if (!roster || !scan) {
		flowtap_roster_free(roster);
		flowtap_proc_scan_free(scan);
		return -ENOMEM;
	}
	sideband->dropped += flowtap_roster_dropped(sideband->out.roster);
	flowtap_roster_free(sideband->out.roster);
	flowtap_proc_scan_free(sideband->scan);
	sideband->out.roster = roster;
	sideband->scan = scan;
	sideband->reported = sideband->lost;
	sideband->missing = missing;
	err = flowtap_proc_scan_vdso(&sideband->out);
	if (!err)
		err = flowtap_proc_scan_start(scan, &sideband->out, false);
	errno = saved;
	return err;
}

/* What the looking again cannot know: who was there before it. */
static int report_missing(const struct flowtap_sideband *sideband, uint64_t missing)
{
	return missing ? flowtap_archive_write(sideband->out.writer, FLOWTAP_ARCHIVE_LOST, 0, 0,
					       &missing, sizeof(missing), NULL, 0) : 0;
}

/* Where it fails, the next archive is not taken to be whole either. */
static int begin_anew(struct flowtap_sideband *sideband, uint64_t missing)
{
	int err = scan_anew(sideband, missing);

	if (!err && sideband->perf)
		err = report_missing(sideband, missing);
	if (!err)
		sideband->missing = 0;
	return err;
}

int flowtap_sideband_switch(struct flowtap_sideband *sideband,
			    struct flowtap_archive_writer *writer)
{
	uint64_t missing;
	int err;

	if (!sideband->out.roster)
		return -EINVAL;
	/* What was lost while there was no archive: only then does this find anything. */
	sideband->out.writer = NULL;
	err = writer && sideband->perf ? drain(sideband, true) : 0;
	sideband->out.writer = writer;
	if (!writer || err)
		return err;
	missing = sideband->missing + flowtap_roster_dropped(sideband->out.roster) +
		  sideband->lost - sideband->reported;
	if (!sideband->perf || missing)
		return begin_anew(sideband, missing);
	err = flowtap_roster_write(sideband->out.roster, writer);
	if (!err && sideband->out.mapped)
		err = flowtap_roster_mappings(sideband->out.roster, sideband->out.mapped,
					      sideband->out.argument);
	return err;
}

/* Also of the scans that begin anew later. */
void flowtap_sideband_limit(struct flowtap_sideband *sideband, uint32_t poll_share)
{
	sideband->options.poll_share = poll_share;
	flowtap_proc_scan_limit(sideband->scan, poll_share);
}

bool flowtap_sideband_polled(const struct flowtap_sideband *sideband)
{
	return !sideband->perf;
}

uint64_t flowtap_sideband_lost(const struct flowtap_sideband *sideband)
{
	const struct flowtap_roster *roster = sideband->out.roster;

	return sideband->lost + sideband->dropped + (roster ? flowtap_roster_dropped(roster) : 0);
}

void flowtap_sideband_free(struct flowtap_sideband *sideband)
{
	if (!sideband)
		return;
	if (sideband->perf)
		flowtap_perf_close(sideband->perf);
	flowtap_proc_scan_free(sideband->scan);
	flowtap_roster_free(sideband->out.roster);
	flowtap_mounts_free(sideband->out.mounts);
	free(sideband->pids);
	free(sideband);
}
