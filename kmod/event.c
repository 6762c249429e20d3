// SPDX-License-Identifier: GPL-2.0-only
#include <linux/perf_event.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "holder.h"
#include "event.h"
#include "stream.h"

/* As in kernel/events/core.c: of a perf event that is stopped until the next tick. */
#define MAX_INTERRUPTS	(~0ULL)

struct event {
	struct list_head link;
	struct perf_event *perf;
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
	/* Bit 0 turns what is excluded into the guests' modes. */
	if (IS_ENABLED(CONFIG_RISCV) && (configure->event_config1 || configure->event_config2))
		return -EOPNOTSUPP;
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
	/*
	 * perf ignores a software event then until the next tick. (RISC-V's driver goes on counting
	 * whatever perf says.)
	 */
	if (perf->hw.interrupts == MAX_INTERRUPTS && perf->attr.type == PERF_TYPE_SOFTWARE)
		holder_throttled(perf->overflow_handler_context);
	local_irq_restore(flags);
}

static void release(struct event *event)
{
	list_del(&event->link);
	perf_event_release_kernel(event->perf);
	kfree(event);
}

/* perf lets go of an event when its task ends. What children inherited from it goes on. */
static bool ended(const struct event *event)
{
	return READ_ONCE(event->perf->state) <= PERF_EVENT_STATE_EXIT;
}

/* A set may live for long: events of tasks that ended go here. */
static void tidy(struct tasks *tasks)
{
	struct event *event, *next;

	list_for_each_entry_safe(event, next, &tasks->events, link)
		if (ended(event) && list_empty(&event->perf->child_list))
			release(event);
}

/*
 * The task has an event of this set: made for it, or inherited from whoever had one, in the set or
 * not. Contexts may change places between tasks at a switch, so it is asked for again under lock;
 * perf frees them by RCU, though 6.12 does not mark them so.
 */
bool event_counts(const struct tasks *tasks, struct task_struct *task)
{
	struct perf_event_context *context;
	struct perf_event *perf;
	unsigned long flags;
	bool found = false;

	rcu_read_lock();
again:
	context = READ_ONCE(task->perf_event_ctxp);
	if (context) {
		raw_spin_lock_irqsave(&context->lock, flags);
		if (context != READ_ONCE(task->perf_event_ctxp)) {
			raw_spin_unlock_irqrestore(&context->lock, flags);
			goto again;
		}
		list_for_each_entry(perf, &context->event_list, event_entry)
			found |= perf->overflow_handler == overflow &&
				 perf->overflow_handler_context == tasks;
		raw_spin_unlock_irqrestore(&context->lock, flags);
	}
	rcu_read_unlock();
	return found;
}

static struct perf_event_attr attributes(const struct flowtap_configure *configure)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = configure->event_type,
		.config = configure->event_config,
		.config1 = configure->event_config1,
		.config2 = configure->event_config2,
		.sample_period = configure->period,
		.exclude_user = !(configure->modes & FLOWTAP_MODE_USER),
		.exclude_kernel = !(configure->modes & FLOWTAP_MODE_KERNEL),
		.exclude_hv = 1,
		.exclude_idle = 1,
		/* Nothing is recorded there. */
		.exclude_guest = 1,
	};
}

int event_add(struct tasks *tasks, struct task_struct *task)
{
	const struct flowtap_configure *configure = &tasks->configure;
	struct perf_event_attr attr = attributes(configure);
	struct event *event;

	lockdep_assert_held(&tasks->group_lock);
	attr.inherit = 1;
	/* perf makes the events of new threads, and of children where they are wanted. */
	attr.inherit_thread = !(configure->flags & FLOWTAP_INHERIT);
	tidy(tasks);
	if (event_counts(tasks, task))
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
	list_add(&event->link, &tasks->events);
	return 0;
}

void event_release(struct tasks *tasks)
{
	struct event *event, *next;

	list_for_each_entry_safe(event, next, &tasks->events, link)
		release(event);
}

void event_close_cpu(struct stream *stream)
{
	lockdep_assert_held(&stream->tasks->group_lock);
	if (stream->event)
		perf_event_release_kernel(stream->event);
	stream->event = NULL;
}

int event_open_cpu(struct stream *stream)
{
	struct perf_event_attr attr = attributes(&stream->tasks->configure);
	struct perf_event *event;

	lockdep_assert_held(&stream->tasks->group_lock);
	event_close_cpu(stream);
	attr.disabled = !READ_ONCE(stream->enabled);
	event = perf_event_create_kernel_counter(&attr, stream->cpu, NULL, overflow,
						 stream->tasks);
	if (IS_ERR(event))
		return PTR_ERR(event);
	stream->event = event;
	return 0;
}
