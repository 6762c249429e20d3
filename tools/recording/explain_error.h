/* SPDX-License-Identifier: GPL-2.0-only */
/* Why a stream or a task cannot be had, in the words of the options that asked for it. */
#ifndef FLOWTAP_TOOLS_RECORDING_EXPLAIN_ERROR_H
#define FLOWTAP_TOOLS_RECORDING_EXPLAIN_ERROR_H

#include "recording/streams.h"

#include <sys/types.h>

/* What a CPU with a source cannot do of what is asked for; NULL: nothing. One clause, static. */
const char *explain_unsupported(const struct flowtap_query *query,
				const struct flowtap_configure *configure);
/* Why a CPU has no stream: as in --json, and for people. Static; NULL: it has one. */
const char *skip_name(const struct flowtap_session *session, size_t cpu);
const char *explain_skip(const struct flowtap_session *session, size_t cpu);
/* Why /proc is polled (flowtap_sideband_denied). A clause, static. */
const char *explain_polling(int error);
/* Complain, and say the fix: what flowtap_session_query returned for this source, or _open. */
void explain_query_problem(const struct flowtap_session_problem *problem, uint32_t want);
void explain_open_problem(const struct streams *streams,
			  const struct flowtap_session_problem *problem);
/* The same for _ENABLE and _DISABLE; another cause is explained elsewhere. */
void explain_switch_error(enum flowtap_session_cause cause, int error);
/* The same for a task that cannot be added. event: its name, NULL a timer. */
void explain_task_error(pid_t pid, const char *event, int error);

#endif /* FLOWTAP_TOOLS_RECORDING_EXPLAIN_ERROR_H */
