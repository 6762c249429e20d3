/* SPDX-License-Identifier: GPL-2.0-only */
/* What is written, and who has the source, where a traced task ends, gets another number or executes. */
#ifndef FLOWTAP_KMOD_HOLDER_TASK_H
#define FLOWTAP_KMOD_HOLDER_TASK_H

#include <linux/types.h>

struct flowtap_group;
struct flowtap_member;

/**
 * holder_task_evicted() - a set traces somebody else no more
 * @group: whose set.
 * @member: the task's, removed from the set, not released; no CPU has it.
 *
 * GAP records are written for what was not written yet.
 *
 * Context: process context, RCU.
 */
void holder_task_evicted(struct flowtap_group *group, struct flowtap_member *member);

/* --- On this CPU, preemption disabled. --- */

/**
 * holder_task_gone() - a set traces the current task no more
 * @group: whose set.
 * @member: the task's, removed from the set, not released; or about to get another number.
 * @cause: FLOWTAP_CAUSE_SWITCH: it ends, is removed or renamed; FLOWTAP_CAUSE_EXEC: it has executed a
 *	set-uid program.
 *
 * Its last record is written, and GAP records for what no record will have.
 *
 * Context: this CPU, preemption disabled, interrupts on, RCU.
 */
void holder_task_gone(struct flowtap_group *group, struct flowtap_member *member, u32 cause);

/**
 * holder_member_renames() - the current task is about to get another number
 * @group: whose set.
 * @member: the task's, in the set.
 *
 * What was recorded is written with the number that it has yet, a GAP record for what was lost.
 *
 * Context: this CPU, preemption disabled, interrupts on, RCU.
 */
void holder_member_renames(struct flowtap_group *group, struct flowtap_member *member);

/**
 * holder_renames() - the same for a CPU-wide stream of entries
 *
 * Context: this CPU, preemption disabled.
 */
void holder_renames(void);

/**
 * holder_executed() - the current task has executed another program
 *
 * Who called whom before is of no interest, and no AUX record has both programs.
 *
 * Context: this CPU, preemption disabled.
 */
void holder_executed(void);

#endif /* FLOWTAP_KMOD_HOLDER_TASK_H */
