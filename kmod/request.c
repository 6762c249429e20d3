// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues a request under the set's lock, and amends it where its task is added or removed before
 * a worker serves it.
 */
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "group.h"
#include "request.h"

struct flowtap_request {
	struct list_head link;		/* in group->requests, under its lock */
	struct task_struct *task;	/* referenced */
	bool add;
};

void request_amend(struct flowtap_group *group, struct task_struct *task, bool add)
{
	struct flowtap_request *request;
	unsigned long flags;

	raw_spin_lock_irqsave(&group->set.lock, flags);
	list_for_each_entry(request, &group->requests, link)
		if (same_thread_group(request->task, task))
			WRITE_ONCE(request->add, add);
	raw_spin_unlock_irqrestore(&group->set.lock, flags);
}

int request_queue(struct flowtap_group *group, struct task_struct *task, bool add)
{
	struct flowtap_request *request = kmalloc(sizeof(*request), GFP_NOWAIT | __GFP_NOWARN);
	unsigned long flags;
	int error = 0;

	if (!request)
		return -ENOMEM;
	*request = (struct flowtap_request){ .task = task, .add = add };
	raw_spin_lock_irqsave(&group->set.lock, flags);
	if (group->n_requests < REQUESTS_MAX) {
		get_task_struct(task);
		list_add_tail(&request->link, &group->requests);
		group->n_requests++;
	} else {
		error = -ENOSPC;
	}
	raw_spin_unlock_irqrestore(&group->set.lock, flags);
	if (error)
		kfree(request);
	return error;
}

static struct flowtap_request *first(struct flowtap_group *group, bool *add)
{
	struct flowtap_request *request;
	unsigned long flags;

	raw_spin_lock_irqsave(&group->set.lock, flags);
	request = list_first_entry_or_null(&group->requests, struct flowtap_request, link);
	if (request)
		*add = request->add;
	raw_spin_unlock_irqrestore(&group->set.lock, flags);
	return request;
}

/* False: it was amended in the meantime. */
static bool finish(struct flowtap_group *group, struct flowtap_request *request, bool added)
{
	unsigned long flags;
	bool done;

	raw_spin_lock_irqsave(&group->set.lock, flags);
	done = request->add == added;
	if (done) {
		list_del(&request->link);
		group->n_requests--;
	}
	raw_spin_unlock_irqrestore(&group->set.lock, flags);
	if (!done)
		return false;
	put_task_struct(request->task);
	kfree(request);
	return true;
}

void request_serve(struct flowtap_group *group,
		   void (*serve)(struct flowtap_group *group, struct task_struct *task, bool add,
				 const bool *asked))
{
	struct flowtap_request *request;
	bool add;

	while ((request = first(group, &add))) {
		serve(group, request->task, add, &request->add);
		finish(group, request, add);
	}
}

void request_drop(struct flowtap_group *group)
{
	struct flowtap_request *request, *next;

	list_for_each_entry_safe(request, next, &group->requests, link) {
		put_task_struct(request->task);
		kfree(request);
	}
}
