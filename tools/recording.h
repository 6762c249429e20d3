/* SPDX-License-Identifier: GPL-2.0-only */
/* A recording: what was asked for, where it comes from, and the archive it goes into. */
#ifndef RECORDING_H
#define RECORDING_H

#include "event.h"
#include "output.h"
#include "streams.h"
#include "watch.h"
#include "workload.h"

#include <flowtap/archive.h>
#include <flowtap/sideband.h>
#include <linux/flowtap.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct record_options {
	pid_t pid;
	char **command;
	struct event event;
	const char *path;
	struct flowtap_configure configure;
	uint64_t duration;		/* ns, 0: none */
	bool pages_given;
	bool force;
	bool quiet;
	bool json;
};

struct recording {
	const struct record_options *options;
	struct streams streams;
	struct workload workload;
	struct output output;
	struct flowtap_archive_writer *writer;
	struct flowtap_sideband *sideband;
	struct watch watch;
	uint64_t began;
	bool failed;			/* the archive cannot be written any more */
};

/* Each returns 0 or -errno, after a complaint. */

/* The file, with what is known before the first sample in it. */
int recording_open_archive(struct recording *recording);
/* Follows the mappings of the process, or of the workload that waits. */
int recording_open_sideband(struct recording *recording);
/* What waits goes into the file. */
int recording_drain(struct recording *recording);
/* After DISABLE: what is left, the figures and the mark that nothing is missing. */
int recording_finalise(struct recording *recording);

#endif /* RECORDING_H */
