/* SPDX-License-Identifier: GPL-2.0-only */
/* A recorder: what was asked for, where it comes from, and the archive it goes into. */
#ifndef FLOWTAP_TOOLS_RECORD_RECORDER_H
#define FLOWTAP_TOOLS_RECORD_RECORDER_H

#include "common/control.h"
#include "common/output_file.h"
#include "record/bundle_files.h"
#include "record/cgroup.h"
#include "record/recorder_watch.h"
#include "record/workload.h"
#include "recording/kernel_recorder.h"
#include "recording/options.h"
#include "recording/streams.h"

#include <flowtap/archive.h>
#include <flowtap/sideband.h>
#include <stdbool.h>
#include <stdint.h>

struct recorder {
	const struct record_options *options;
	struct streams streams;
	struct cgroup cgroup;
	struct workload workload;
	struct workload anchor;		/* a child that sleeps (record.c) */
	struct output output;
	struct flowtap_archive_writer *writer;
	struct flowtap_sideband *sideband;
	struct flowtap_kernel_follower kernel;
	struct flowtap_bundle *bundle;	/* NULL: not wanted */
	struct watch watch;
	struct control lender;		/* what flowtapd lent is its again when this is closed */
	uint64_t began;
	bool failed;			/* the archive cannot be written any more */
};

/* Each returns 0 or -errno, after a complaint. */

/*
 * The command, which waits. Where the archive goes to standard output, its own goes to standard
 * error.
 */
int recorder_fork_command(struct recorder *recorder);
/* The file, with what is known before the first sample in it. */
int recorder_open_archive(struct recorder *recorder);
/* For the mappings of the processes, of the workload that waits, or of all. */
int recorder_open_sideband(struct recorder *recorder);
/* Follows them from here on, with what there is already. */
int recorder_start_sideband(struct recorder *recorder);
/* The kernel's text, where kernel mode is recorded. */
int recorder_open_kernel(struct recorder *recorder);
/* What waits goes into the file; rings that overwrite are left alone. */
int recorder_drain(struct recorder *recorder);
/* Side band only: what the command has mapped now. */
int recorder_look(struct recorder *recorder);
/* What rings that overwrite hold now and did not the last time. */
int recorder_snapshot(struct recorder *recorder);
/* After DISABLE: what is left, the figures and the mark that nothing is missing. */
int recorder_finalise(struct recorder *recorder);

#endif /* FLOWTAP_TOOLS_RECORD_RECORDER_H */
