/* SPDX-License-Identifier: GPL-2.0-only */
/* What a recording is: what is said when it begins, the live line, and the summary at its end. */
#ifndef FLOWTAP_TOOLS_RECORD_RECORD_SUMMARY_H
#define FLOWTAP_TOOLS_RECORD_RECORD_SUMMARY_H

#include "recording/streams.h"

#include <stdbool.h>
#include <stdint.h>

struct record_summary {
	const char *path;
	uint64_t bytes;			/* of the archive */
	uint64_t nanoseconds;
	uint64_t sideband_lost;
	bool sideband_polled;
	const char *drain;		/* how the rings were emptied */
	int status;			/* of the command */
	bool command;
};

/* Who is recorded, on how many CPUs, and when. */
void record_summary_begin(const struct streams *streams, const struct record_options *options);
/* One line that is written over again and again; on a terminal only. */
void record_summary_live(const struct streams *streams, const struct record_summary *summary);
void record_summary_live_end(void);
void record_summary_print(const struct streams *streams, const struct record_summary *summary);
/* One line of JSON on stdout. */
void record_summary_json(const struct streams *streams, const struct record_summary *summary);

#endif /* FLOWTAP_TOOLS_RECORD_RECORD_SUMMARY_H */
