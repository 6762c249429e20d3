/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between judge.c and judge_gaps.c. */
#ifndef FLOWTAP_SELFTESTS_MODEL_JUDGE_INTERNAL_H
#define FLOWTAP_SELFTESTS_MODEL_JUDGE_INTERNAL_H

#include "judge.h"

#define LLU(n) ((unsigned long long)(n))

enum { SAID_INSTRUCTIONS, SAID_EXCEPTION, SAID_RETURN, SAID_CONTEXT, SAID_TRACE_ON, SAID_SIDE };

/* Exception types of ETE (K10.5, Exception element). */
enum {
	EXCEPTION_RESET = 0,
	EXCEPTION_DEBUG_HALT = 1,
	EXCEPTION_CALL = 2,
	EXCEPTION_TRAP = 3,
	EXCEPTION_SERROR = 4,
	EXCEPTION_INST_DEBUG = 6,
	EXCEPTION_DATA_DEBUG = 7,
	EXCEPTION_ALIGNMENT = 10,
	EXCEPTION_INST_FAULT = 11,
	EXCEPTION_DATA_FAULT = 12,
	EXCEPTION_IRQ = 14,
	EXCEPTION_FIQ = 15,
};

/* The first difference is kept. False. */
bool judge_fail(struct judge *judge, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Over the event at the place. */
void judge_pass(struct judge *judge);
void judge_run(struct judge *judge);
bool judge_run_has(const struct judge *judge, const struct history_place *from);
/* What the decoder said, now that the place is known. */
void judge_do(struct judge *judge, const struct judge_said *said);
/*
 * After a Trace On: goes to where trace went on. Everything before it that had to be traced is a
 * difference, but for the tail before a stop.
 */
bool judge_resume(struct judge *judge, uint64_t address, bool exception);
/* What was said while lost is held against the log, where it fits best; the first place of several. */
void judge_flush(struct judge *judge);
/* Whether all that was said while lost fits at several places. */
bool judge_is_ambiguous(const struct judge *judge);

#endif
