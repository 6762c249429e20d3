/* SPDX-License-Identifier: GPL-2.0-only */
/* What a recording has so far: the live line, and the summary at its end. */
#ifndef TALLY_H
#define TALLY_H

#include "record/streams.h"

#include <stdbool.h>
#include <stdint.h>

struct tally {
	const char *path;
	uint64_t bytes;			/* of the archive */
	uint64_t nanoseconds;
	uint64_t sideband_lost;
	bool sideband_polled;
	const char *drain;		/* how the rings were emptied */
	int status;			/* of the command */
	bool command;
};

/* One line that is written over again and again; on a terminal only. */
void tally_live(const struct streams *streams, const struct tally *tally);
void tally_live_end(void);
void tally_print(const struct streams *streams, const struct tally *tally);
/* One line of JSON on stdout. */
void tally_json(const struct streams *streams, const struct tally *tally);

#endif /* TALLY_H */
