/* SPDX-License-Identifier: GPL-2.0-only */
/* When the segment that is being written ends. */
#ifndef FLOWTAP_DAEMON_ROTATION_H
#define FLOWTAP_DAEMON_ROTATION_H

#include <stdbool.h>
#include <stdint.h>

struct rotation {
	bool save;			/* a trigger's segment is to be kept as it is */
	bool asked;
	uint64_t size, size_limit;	/* bytes */
	uint64_t first;			/* bytes that it began with: who was there, kernel's code */
	uint64_t age, age_limit;	/* ns */
};

/* Why it ends now: "trigger", "asked", "size" or "time"; NULL: it goes on. */
const char *rotation_due(const struct rotation *rotation);

#endif /* FLOWTAP_DAEMON_ROTATION_H */
