// SPDX-License-Identifier: GPL-2.0-only
#include <linux/perf_event.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "holder.h"
#include "event.h"
#include "tasks.h"

struct event {
	struct list_head link;
	struct perf_event *perf;
	struct task_struct *task;	/* referenced: the pointer stays unique */
};

int event_check(const struct flowtap_configure *configure)
{
	if (!(configure->triggers & FLOWTAP_TRIGGER_OVERFLOW))
		return configure->period || configure->event_type || configure->event_config ||
		       configure->event_config1 || configure->event_config2 ? -EINVAL : 0;
	switch (configure->event_type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_SOFTWARE:
	case PERF_TYPE_HW_CACHE:
	case PERF_TYPE_RAW:
		break;
	default:
		return -EINVAL;
	}
	/* Their overflows are NMIs there: only the soft source could use them. */
	if (IS_ENABLED(CONFIG_X86) && configure->event_type != PERF_TYPE_SOFTWARE)
		return -EOPNOTSUPP;
	/* perf takes the sign bit for a negative period. */
	if (configure->period < EVENT_PERIOD_MIN || configure->period >> 63)
		return -EINVAL;
	return 0;
}

static void overflow(struct perf_event *perf, struct perf_sample_data *data, struct pt_regs *regs)
{
	unsigned long flags;

	/*
	 * The ring has one writer: this CPU with interrupts off, which an NMI does not respect
	 * (no RISC-V counter has one; x86 refuses, see event_check).
	 */
	if (WARN_ON_ONCE(in_nmi()))
		return;
	/* Software events (a page fault, say) count with interrupts on. */
	local_irq_save(flags);
	holder_trigger(perf->overflow_handler_context, FLOWTAP_TRIGGER_OVERFLOW, regs);
	local_irq_restore(flags);
}

static void release(struct event *event)
{
	list_del(&event->link);
	perf_event_release_kernel(event->perf);
	put_task_struct(event->task);
	kfree(event);
}

/* perf lets go of an event when its task ends. What children inherited from it goes on. */
static bool ended(const struct event *event)
{
	return READ_ONCE(event->perf->state) <= PERF_EVENT_STATE_EXIT;
}

/*
 * A set may live for long and tasks be added to it, taken out and added again: events of those
 * that ended go here. True: `task` has its event from an earlier time.
 */
static bool tidy(struct tasks *tasks, const struct task_struct *task)
{
	struct event *event, *next;
	bool found = false;

	list_for_each_entry_safe(event, next, &tasks->events, link) {
		if (!ended(event))
			found |= event->task == task;
		else if (list_empty(&event->perf->child_list))
			release(event);
	}
	return found;
}

int event_add(struct tasks *tasks, struct task_struct *task)
{
	const struct flowtap_configure *configure = &tasks->configure;
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = configure->event_type,
		.config = configure->event_config,
		.config1 = configure->event_config1,
		.config2 = configure->event_config2,
		.sample_period = configure->period,
		.exclude_kernel = !(configure->modes & FLOWTAP_MODE_KERNEL),
		.exclude_hv = 1,
		.exclude_idle = 1,
		.inherit = 1,
		/* perf makes the events of new threads, and of children where they are wanted. */
		.inherit_thread = !(configure->flags & FLOWTAP_INHERIT),
	};
	struct event *event;

	lockdep_assert_held(&tasks->group_lock);
	if (tidy(tasks, task))
		return 0;
	event = kzalloc(sizeof(*event), GFP_KERNEL_ACCOUNT);
	if (!event)
		return -ENOMEM;
	event->perf = perf_event_create_kernel_counter(&attr, -1, task, overflow, tasks);
	if (IS_ERR(event->perf)) {
		int error = PTR_ERR(event->perf);

		kfree(event);
		return error;
	}
	event->task = get_task_struct(task);
	list_add(&event->link, &tasks->events);
	return 0;
}

void event_release(struct tasks *tasks)
{
	struct event *event, *next;

	list_for_each_entry_safe(event, next, &tasks->events, link)
		release(event);
}
