/* SPDX-License-Identifier: GPL-2.0-only */
/* Who may trace whom. */
#ifndef FLOWTAP_KMOD_RIGHTS_H
#define FLOWTAP_KMOD_RIGHTS_H

#include <linux/types.h>

struct task_struct;

/**
 * rights_over() - whether the current task may trace another one
 * @task: the other one. The answer is for as long as its exec_update_lock is held.
 *
 * Context: process context.
 * Return: it may: all its ids are equal to the task's, it has the task's capabilities and user
 * namespace, and the task is dumpable; or it has CAP_SYS_PTRACE there.
 */
bool rights_over(struct task_struct *task);

/**
 * rights_conceal() - whether a program is not for its own user to look into
 * @task: the current task, which has just executed it.
 * @secure: bprm->secureexec.
 *
 * Context: the exec hook, preemption disabled.
 * Return: it is a set-uid program, or one that the user may execute but not read.
 */
bool rights_conceal(struct task_struct *task, bool secure);

#endif /* FLOWTAP_KMOD_RIGHTS_H */
