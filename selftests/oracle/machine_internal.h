/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the machine share. int: 0; -ENOMEM; -EBADMSG and machine->why. */
#ifndef FLOWTAP_SELFTESTS_ORACLE_MACHINE_INTERNAL_H
#define FLOWTAP_SELFTESTS_ORACLE_MACHINE_INTERNAL_H

#include "machine.h"

/* machine_run.c */

/* Whether what is executed in `mode` now is recorded. */
bool run_recorded(const struct machine_hart *hart, enum privilege mode);
int run_append(struct machine_hart *hart, struct step step);
/* The step appended last is of user mode: the window is the hart's task's. */
void run_own(struct machine *machine, struct machine_hart *hart);
/*
 * A transfer was made. optional: a trap that freezes recording; again: it was frozen before.
 * *recorded: it is an entry now.
 */
int run_transfer(struct machine *machine, struct machine_hart *hart,
		 const struct transfer *transfer, bool optional, bool again, bool *recorded);
/* What follows the last instruction is known. */
int run_complete(struct machine *machine, struct machine_hart *hart, uint64_t next);
/* The last instruction was told but did not complete: it raised an exception. */
void run_undo(struct machine *machine, struct machine_hart *hart);
/* ORACLE_RUN. */
int run_event(struct machine *machine, struct machine_hart *hart, const struct oracle_event *event);

/* machine_entries.c */

/* The task with that pointer, made if there is none. */
int task_find(struct machine *machine, uint64_t pointer, uint32_t *task);
/* Fills hart->drain; the entries have been read. */
void machine_drain(struct machine *machine, struct machine_hart *hart);
/* FROZEN is about to be cleared: did software add the trap that set it? */
void entries_thaw(struct machine_hart *hart);
/* Who the hart's task is is certain: entries that were put in must be what it had. */
int entries_bind(struct machine *machine, struct machine_hart *hart);
/* SCTRCLR. */
int entries_clear(struct machine *machine, struct machine_hart *hart);

#endif /* FLOWTAP_SELFTESTS_ORACLE_MACHINE_INTERNAL_H */
