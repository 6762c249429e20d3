/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sees to it that the streams record whom flowtapd.conf(5) chooses, and never the daemon itself and
 * its children. In the kernel, as far as that goes:
 *
 *	kernel	BPF programs choose, and have the module add and remove tasks: nothing is missed
 *	stop	BPF programs choose and stop the new task; the daemon adds it and lets it continue
 *	poll	/proc is looked at several times a second: what is not there at a look is missed
 *	none	there is nothing to choose
 */
#ifndef FLOWTAP_DAEMON_CHOICE_H
#define FLOWTAP_DAEMON_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "../tools/recording/streams.h"
#include "conf.h"

enum choice_method { CHOICE_NONE, CHOICE_KERNEL, CHOICE_STOP, CHOICE_POLL };

struct choice_figures {
	enum choice_method method;
	const char *why;		/* it is not CHOICE_KERNEL; NULL: it is, or nothing to choose */
	const char *fix;
	uint64_t missed;		/* processes that could not be added or removed in time */
	uint64_t stops;
};

struct choice;

/* "none", "kernel", "stop", "poll" */
const char *choice_method_name(enum choice_method method);
/* What the mode cannot do, for people; NULL: nothing. */
const char *choice_method_lacks(enum choice_method method);

/*
 * Loads programs where there is something to choose: as long as capabilities are there. The conf is
 * borrowed, the module loaded. Environment: FLOWTAP_CHOICE, the first mode to try, by name. 0 and
 * *choice, -ENOMEM, -EINVAL: that is no mode.
 */
int choice_open(const struct conf *conf, struct choice **choice);
/*
 * Of streams that were just opened, and are not enabled: from now on their sets have whom they are
 * to have. Borrowed until choice_end. 0 or -errno after a complaint: then everybody or nobody would
 * be recorded.
 */
int choice_begin(struct choice *choice, struct streams *streams);
void choice_end(struct choice *choice);
/* The conf has other rules, with rules_wide and rules_any as before. */
void choice_change(struct choice *choice);
/* A descriptor that is readable when choice_serve is to be called; -1: there is none. */
int choice_fd(const struct choice *choice);
/* Does what there is to do. To be called several times a second. */
void choice_serve(struct choice *choice, uint64_t now);
void choice_measure(const struct choice *choice, struct choice_figures *figures);
/* Nobody stays stopped. */
void choice_close(struct choice *choice);

#endif /* FLOWTAP_DAEMON_CHOICE_H */
