/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who holds this CPU's source. A CPU has a list of streams, oldest first; when a task comes onto
 * the CPU the first enabled stream whose set has it gets the source, until the task leaves. A
 * CPU-wide stream, of which there is one at most, stands at the head of the list.
 */
#ifndef FLOWTAP_HOLDER_H
#define FLOWTAP_HOLDER_H

#include <linux/types.h>

struct flowtap_member;
struct flowtap_query;
struct source_user;
struct group;
struct pt_regs;
struct stream;
struct task_struct;

/* What happens to a CPU, for source_init. */
extern const struct source_user holder_source_user;

int holder_init(void);
void holder_exit(void);

/* May sleep. -EBUSY: a second CPU-wide stream. */
int holder_attach(struct stream *stream);
/*
 * The CPU does not find the stream any more, also if somebody enables it. Who was about to give it the
 * source may do so yet: it is to let go now, and once more after a grace period.
 */
void holder_detach(struct stream *stream);
/* The stream holds its CPU's source. On any CPU. */
bool holder_is(const struct stream *stream);

/* Below: on this CPU, interrupts off or preemption disabled, from hooks. */

/* The stream is of this CPU: the current task may be the stream's now, or not any more. */
void holder_reconsider(struct stream *stream);
/* The same: takes a sample, if the stream holds the source; how many entries it has. */
u32 holder_snapshot(struct stream *stream);
/* The same: it holds the source no more. */
void holder_let_go(struct stream *stream);
void holder_trigger(struct group *group, u32 trigger, struct pt_regs *regs);
/* perf stops the event of the current task for a while. */
void holder_throttled(struct group *group);
void holder_switch(struct task_struct *previous, struct task_struct *next);
/* The current task is no longer traced by this set (it ends, or executed a set-uid program). */
void holder_task_gone(struct group *group, struct flowtap_member *member, u32 cause);
/*
 * The current task executed another program: who called whom before is of no interest, and no AUX
 * record has both of them.
 */
void holder_executed(void);
/* The current task may be traced from now on, or not any more by who excludes it. */
void holder_task_here(void);
void holder_interrupt_done(void);
/* The timer of a stream with an AUX area. */
void holder_tick(struct stream *stream);
/* The stream that holds a CPU's source, for queries: its owner's pid in our namespace, name. */
void holder_query(u32 cpu, struct flowtap_query *query);

#endif /* FLOWTAP_HOLDER_H */
