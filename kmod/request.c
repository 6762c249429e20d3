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
	bool waits;			/* for the next round */
	u32 tries;
};

/* Under the set's lock. */
static void amend(struct flowtap_group *group, struct task_struct *task, bool add)
{
	struct flowtap_request *request;

	list_for_each_entry(request, &group->requests, link)
		if (same_thread_group(request->task, task))
			WRITE_ONCE(request->add, add);
}

void request_amend(struct flowtap_group *group, struct task_struct *task, bool add)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&group->set.lock, flags);
	amend(group, task, add);
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
		/* One that is put off is served after this. */
		amend(group, task, add);
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

/* Those that are put off are at the end, but for those that have come since. */
static struct flowtap_request *first(struct flowtap_group *group, bool *add)
{
	struct flowtap_request *request, *found = NULL;
	unsigned long flags;

	raw_spin_lock_irqsave(&group->set.lock, flags);
	list_for_each_entry(request, &group->requests, link)
		if (!request->waits) {
			*add = request->add;
			found = request;
			break;
		}
	raw_spin_unlock_irqrestore(&group->set.lock, flags);
	return found;
}

static void put_off(struct flowtap_group *group, struct flowtap_request *request)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&group->set.lock, flags);
	request->waits = true;
	request->tries++;
	list_move_tail(&request->link, &group->requests);
	raw_spin_unlock_irqrestore(&group->set.lock, flags);
}

static void begin_round(struct flowtap_group *group)
{
	struct flowtap_request *request;
	unsigned long flags;

	raw_spin_lock_irqsave(&group->set.lock, flags);
	list_for_each_entry(request, &group->requests, link)
		request->waits = false;
	raw_spin_unlock_irqrestore(&group->set.lock, flags);
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

bool request_serve(struct flowtap_group *group,
		   bool (*serve)(struct flowtap_group *group, struct task_struct *task, bool add,
				 const bool *asked, bool last))
{
	struct flowtap_request *request;
	bool add, some = false;

	begin_round(group);
	while ((request = first(group, &add))) {
		if (serve(group, request->task, add, &request->add,
			  request->tries >= REQUEST_TRIES)) {
			finish(group, request, add);
		} else {
			put_off(group, request);
			some = true;
		}
	}
	return some;
}

void request_drop(struct flowtap_group *group)
{
	struct flowtap_request *request, *next;

	list_for_each_entry_safe(request, next, &group->requests, link) {
		put_task_struct(request->task);
		kfree(request);
	}
}
