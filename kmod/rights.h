/* SPDX-License-Identifier: GPL-2.0-only */
/* Who may trace whom. */
#ifndef FLOWTAP_RIGHTS_H
#define FLOWTAP_RIGHTS_H

#include <linux/types.h>

struct task_struct;

/* The current task may trace this one. The caller holds its exec_update_lock. */
bool rights_over(struct task_struct *task);
/* The program that the current task has just executed is not for its own user to look into. */
bool rights_conceal(struct task_struct *task, bool secure);

#endif /* FLOWTAP_RIGHTS_H */
