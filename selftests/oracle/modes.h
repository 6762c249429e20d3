/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * More made-up runs, each of one sample or two, in order or with one thing wrong: the kernel is
 * recorded as well, a type is filtered out, call stacks, a history that is put aside and back.
 *
 * The program is synthetic log.h's. Where the kernel is recorded its ecall leads to
 *
 *	00 handler: c.nop
 *	02          jal ra, leaf
 *	06          sret
 *	0a leaf:    c.nop
 *	0c          ret
 *	0e resume:  sret
 */
#ifndef FLOWTAP_SELFTESTS_ORACLE_MODES_H
#define FLOWTAP_SELFTESTS_ORACLE_MODES_H

#include <stdint.h>

#include "synthetic_log.h"

enum modes {
	BOTH,			/* S and U */
	FILTERED,		/* U without function returns */
	STACK,			/* RASEMU */
	HISTORY,		/* U, put aside and back between two samples */
	THAWED,			/* S and U; another's overflow froze it, its trap was put in */
	BOTH_WRONG,		/* from here on something is wrong: */
	/* in the archive */
	KERNEL_MISSING = BOTH_WRONG, /* a transfer of the kernel */
	KERNEL_TARGET,
	TRAP_TARGET,
	RETURN_SOURCE,
	FILTERED_TYPE,		/* an entry that is filtered out is there */
	FILTERED_OTHER,		/* one that is not, is not there */
	FRAME_WRONG,
	FRAME_MISSING,
	FRAME_STALE,		/* a call that has returned */
	HISTORY_SHORT,		/* the sample has only what came after */
	/* in the log, that is, the driver or the hardware did otherwise than it should */
	KERNEL_LOG_MORE,	/* a call more in the kernel */
	KERNEL_LOG_OPCODE,
	KERNEL_LOG_PAUSED,	/* the kernel was not recorded for a while */
	FILTER_LOG_CONTROL,	/* the filter was not in sctrctl */
	THAW_LOG_ELSEWHERE,	/* the trap that was put in is not where it was */
	HISTORY_LOG_ALTERED,	/* not what had been taken was put back */
	HISTORY_LOG_NOT_BACK,	/* nothing was, though no loss is told */
	HISTORY_LOG_OTHER,	/* it was put back for another task */
	MODES
};

extern const char *const modes_names[MODES];

/* As synthetic_log_make; synthetic_log_remove removes it. */
void modes_make(struct synthetic_log *synthetic, enum modes modes);

#endif /* FLOWTAP_SELFTESTS_ORACLE_MODES_H */
