// SPDX-License-Identifier: GPL-2.0-only
#include <linux/irqflags.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "request.h"
#include "tasks.h"

struct flowtap_request {
	struct list_head link;		/* in tasks->requests, under its lock */
	struct task_struct *task;	/* referenced */
	bool add;
};

/* What waits for this process is overtaken: it is to end as is asked for last. */
static void amend(struct tasks *tasks, struct task_struct *task, bool add)
{
	struct flowtap_request *request;
	unsigned long flags;

	raw_spin_lock_irqsave(&tasks->lock, flags);
	list_for_each_entry(request, &tasks->requests, link)
		if (same_thread_group(request->task, task))
			WRITE_ONCE(request->add, add);
	raw_spin_unlock_irqrestore(&tasks->lock, flags);
}

static int queue(struct tasks *tasks, struct task_struct *task, bool add)
{
	struct flowtap_request *request = kmalloc(sizeof(*request), GFP_NOWAIT | __GFP_NOWARN);
	unsigned long flags;
	int error = 0;

	if (!request)
		return -ENOMEM;
	*request = (struct flowtap_request){ .task = task, .add = add };
	raw_spin_lock_irqsave(&tasks->lock, flags);
	if (tasks->n_requests < REQUESTS_MAX) {
		get_task_struct(task);
		list_add_tail(&request->link, &tasks->requests);
		tasks->n_requests++;
	} else {
		error = -ENOSPC;
	}
	raw_spin_unlock_irqrestore(&tasks->lock, flags);
	if (error)
		kfree(request);
	else
		tasks_work(tasks);
	return error;
}

/* It has not run yet: nothing has to be stopped or started. */
static bool is_new(const struct task_struct *task)
{
	return READ_ONCE(task->__state) & TASK_NEW;
}

int request_change(struct tasks *tasks, struct task_struct *task, bool add)
{
	if (task->flags & PF_KTHREAD)
		return -EINVAL;
	/* A last record is told of by an IPI, which asks for interrupts. */
	if (irqs_disabled() || (task != current && !is_new(task)))
		return queue(tasks, task, add);
	amend(tasks, task, add);
	return add ? tasks_add_here(tasks, task) : tasks_remove_here(tasks, task);
}

static struct flowtap_request *first(struct tasks *tasks, bool *add)
{
	struct flowtap_request *request;
	unsigned long flags;

	raw_spin_lock_irqsave(&tasks->lock, flags);
	request = list_first_entry_or_null(&tasks->requests, struct flowtap_request, link);
	if (request)
		*add = request->add;
	raw_spin_unlock_irqrestore(&tasks->lock, flags);
	return request;
}

/* False: it was amended in the meantime. */
static bool finish(struct tasks *tasks, struct flowtap_request *request, bool added)
{
	unsigned long flags;
	bool done;

	raw_spin_lock_irqsave(&tasks->lock, flags);
	done = request->add == added;
	if (done) {
		list_del(&request->link);
		tasks->n_requests--;
	}
	raw_spin_unlock_irqrestore(&tasks->lock, flags);
	if (!done)
		return false;
	put_task_struct(request->task);
	kfree(request);
	return true;
}

void request_serve(struct tasks *tasks)
{
	struct flowtap_request *request;
	bool add;

	while ((request = first(tasks, &add))) {
		/* It may have ended, or have been there already. */
		if (add)
			tasks_add_process(tasks, request->task, &request->add);
		else
			tasks_remove_process(tasks, request->task, &request->add);
		finish(tasks, request, add);
	}
}

void request_drop(struct tasks *tasks)
{
	struct flowtap_request *request, *next;

	list_for_each_entry_safe(request, next, &tasks->requests, link) {
		put_task_struct(request->task);
		kfree(request);
	}
}
