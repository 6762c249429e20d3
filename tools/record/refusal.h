/* SPDX-License-Identifier: GPL-2.0-only */
/* Why a stream or a task cannot be had, in the words of the options that asked for it. */
#ifndef REFUSAL_H
#define REFUSAL_H

#include "record/streams.h"

#include <sys/types.h>

/* What a CPU with a source cannot do of what is asked for; NULL: nothing. One clause, static. */
const char *refusal_unable(const struct flowtap_query *query,
			   const struct flowtap_configure *configure);
/* Complains about what CONFIGURE returned, and says the fix. event: its name, NULL a timer. */
void refusal_configure(const struct stream *stream, const char *event, int error);
/* The same for ADD_TASK. */
void refusal_task(pid_t pid, const char *event, int error);

#endif /* REFUSAL_H */
