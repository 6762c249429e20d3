/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a stream's CPU is asked from others. May sleep, or not: interrupts on; done when it returns.
 */
#ifndef FLOWTAP_REMOTE_H
#define FLOWTAP_REMOTE_H

#include <linux/types.h>

struct stream;
struct task_struct;

/*
 * Whether the stream's CPU has to be asked about a task, or about any of the set, after who is recorded
 * has changed: nobody's CPU is interrupted where none of them can be.
 */
bool remote_may_have(const struct stream *stream, const struct task_struct *task);
bool remote_may_have_any(struct stream *stream);

/* The task there may be the stream's now, or not any more. */
void remote_reconsider(struct stream *stream);
/* Takes a sample of the task there; how many entries it has. */
u32 remote_snapshot(struct stream *stream);
/* The CPU does not use it any more. */
void remote_let_go(struct stream *stream);

#endif /* FLOWTAP_REMOTE_H */
