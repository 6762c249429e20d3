/* SPDX-License-Identifier: GPL-2.0-only */
/* Why a stream or a task cannot be had, in the words of the options that asked for it. */
#ifndef EXPLAIN_ERROR_H
#define EXPLAIN_ERROR_H

#include "record/streams.h"

#include <sys/types.h>

/* What a CPU with a source cannot do of what is asked for; NULL: nothing. One clause, static. */
const char *explain_unsupported(const struct flowtap_query *query,
				const struct flowtap_configure *configure);
/* Complains about what CONFIGURE returned, and says the fix. event: its name, NULL a timer. */
void explain_configure_error(const struct stream *stream, const char *event, int error);
/* The same for ADD_TASK. */
void explain_task_error(pid_t pid, const char *event, int error);

#endif /* EXPLAIN_ERROR_H */
