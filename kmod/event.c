// SPDX-License-Identifier: GPL-2.0-only
/*
 * Creates, enables and releases the perf events of tasks and CPUs; an overflow triggers a sample
 * on the CPU where it happens.
 *
 * The host's unit tests run this file with a perf of their own.
 */
#ifdef __KERNEL__
#include <linux/perf_event.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#endif

#include "cursor.h"
#include "gap.h"
#include "holder.h"
#include "event.h"
#include "machine.h"
#include "stream.h"

/* So many more than there were at the last look, and some have ended. */
#define EVENTS_LOOK	64

/* As in kernel/events/core.c: of a perf event that is stopped until the next tick. */
#define MAX_INTERRUPTS	(~0ULL)

/*
 * One that was made for a task. perf gives each of the task's children one like it: all of them are
 * the family of this, and go when it goes.
 */
struct flowtap_event {
	struct list_head link;		/* in group->events */
	struct perf_event *perf;
	struct flowtap_group *group;
	bool on;			/* it counts */
	bool armed;			/* it will, from the next exec of its task */
	bool dead;			/* on its way; set under group->set.lock */
	bool left; /* one of the family is not in the set any more; group->set.lock */
	struct rcu_head rcu;
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
	/* perf takes the sign bit for a negative period. */
	if (configure->period < EVENT_PERIOD_MIN || configure->period >> 63)
		return -EINVAL;
	if ((configure->event_config1 || configure->event_config2) && !machine_config_is_harmless())
		return -EOPNOTSUPP;
	if (machine_overflows_are_nmis() && configure->event_type != PERF_TYPE_SOFTWARE)
		return -EOPNOTSUPP;
	return 0;
}

static void trigger(struct flowtap_group *group, struct perf_event *perf, struct pt_regs *regs)
{
	unsigned long flags;

	/*
	 * The ring has one writer: this CPU with interrupts off, which an NMI does not respect
	 * (no RISC-V counter has one; for others see event_check).
	 */
	if (WARN_ON_ONCE(in_nmi()))
		return;
	/* Software events (a page fault, say) count with interrupts on. */
	local_irq_save(flags);
	holder_trigger(group, FLOWTAP_TRIGGER_OVERFLOW, regs);
	/*
	 * perf ignores a software event then until the next tick. (RISC-V's driver goes on counting
	 * whatever perf says.)
	 */
	if (perf->hw.interrupts == MAX_INTERRUPTS && perf->attr.type == PERF_TYPE_SOFTWARE)
		holder_throttled(group);
	local_irq_restore(flags);
}

static void notrace overflow(struct perf_event *perf, struct perf_sample_data *data,
			     struct pt_regs *regs)
{
	const struct flowtap_event *event = perf->overflow_handler_context;

	trigger(event->group, perf, regs);
}

/* Of a counter of the CPU's, in its interrupt. */
static void notrace overflow_hardware(struct perf_event *perf, struct perf_sample_data *data,
				      struct pt_regs *regs)
{
	const struct flowtap_event *event = perf->overflow_handler_context;

	lockdep_assert_irqs_disabled();
	if (!WARN_ON_ONCE(in_nmi()))
		holder_trigger(event->group, FLOWTAP_TRIGGER_OVERFLOW, regs);
}

static perf_overflow_handler_t handler_of(const struct flowtap_configure *configure)
{
	switch (configure->event_type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
	case PERF_TYPE_RAW:
		return overflow_hardware;
	default:
		return overflow;
	}
}

static void notrace overflow_cpu(struct perf_event *perf, struct perf_sample_data *data,
			 struct pt_regs *regs)
{
	trigger(perf->overflow_handler_context, perf, regs);
}

/*
 * Who forks hands on what it counts by then, which no hook of ours sees: the newborn is looked at,
 * and who has executed a program of somebody else's, off whom perf takes all events. Both are
 * nobody's but the current task's: its list is as long as it has made it.
 */
struct flowtap_event *event_of(const struct flowtap_group *group, struct task_struct *task)
{
	struct perf_event_context *context = READ_ONCE(task->perf_event_ctxp);
	const perf_overflow_handler_t handler = handler_of(&group->configure);
	struct flowtap_event *found = NULL;
	struct perf_event *perf;
	unsigned long flags;

	if (!context)
		return NULL;
	raw_spin_lock_irqsave(&context->lock, flags);
	list_for_each_entry(perf, &context->event_list, event_entry) {
		struct flowtap_event *event = perf->overflow_handler_context;

		if (perf->overflow_handler == handler && event->group == group && !event->dead)
			found = event;
	}
	raw_spin_unlock_irqrestore(&context->lock, flags);
	return found;
}

static bool has_heirs(const struct flowtap_event *event)
{
	return !list_empty(&event->perf->child_list);
}

void event_left(struct flowtap_event *event)
{
	event->left = true;
}

/*
 * perf has let it count, that of the task; of a family of several the others' do not. See turn()
 * about forks.
 */
void event_executed(struct flowtap_event *event)
{
	if (event->armed && !has_heirs(event))
		WRITE_ONCE(event->on, true);
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
		/* Arm's counters refuse it, RISC-V's do not read it. */
		.exclude_idle = configure->event_type == PERF_TYPE_SOFTWARE,
		/* Nothing is recorded there. */
		.exclude_guest = 1,
	};
}

static void mark_dead(struct flowtap_event *event, struct list_head *going)
{
	unsigned long flags;

	/* Who inherits it from here on is not taken for somebody who has it. */
	raw_spin_lock_irqsave(&event->group->set.lock, flags);
	WRITE_ONCE(event->dead, true);
	raw_spin_unlock_irqrestore(&event->group->set.lock, flags);
	list_move(&event->link, going);
}

/*
 * An exec may give it another one meanwhile. An event is freed after a grace period, by whoever made
 * sure that no member has it any more.
 */
static void drop_dead(struct flowtap_member *member, void *unused)
{
	struct flowtap_event *event = READ_ONCE(member->event);

	if (event && READ_ONCE(event->dead))
		cmpxchg(&member->event, event, NULL);
}

static void release(struct flowtap_group *group, struct list_head *going)
{
	struct flowtap_event *event, *next;

	if (list_empty(going))
		goto looked;
	list_for_each_entry(event, going, link)
		perf_event_release_kernel(event->perf);
	/*
	 * Whoever had one of them, by inheritance or not, has none any more. Members that come now
	 * get none that is dead: no lock is needed, with which interrupts would be off for long.
	 */
	set_each(&group->set, drop_dead, NULL);
	list_for_each_entry_safe(event, next, going, link) {
		group->n_events--;
		kfree_rcu(event, rcu);
	}
looked:
	group->look_at_events = 2 * group->n_events + EVENTS_LOOK;
}

/* perf lets go of an event when its task ends. What children inherited from it goes on. */
static bool ended(const struct flowtap_event *event)
{
	return READ_ONCE(event->perf->state) <= PERF_EVENT_STATE_EXIT;
}

static bool armed(const struct flowtap_group *group)
{
	return READ_ONCE(group->exec_pending);
}

/*
 * Lets it count, or no more. False: it has to be made anew, since perf does that to nobody who
 * inherited it. A fork is before this, and then its child is seen, or after it, and then its child
 * has this state: perf does both under the lock of the task's events.
 */
static bool turn(struct flowtap_event *event, bool on)
{
	if ((!on && event->armed != armed(event->group)) || has_heirs(event))
		return false;
	if (on)
		perf_event_enable(event->perf);
	else
		perf_event_disable(event->perf);
	WRITE_ONCE(event->on, on);
	return !has_heirs(event);
}

/* Nobody has it who should. */
static bool is_over(const struct flowtap_event *event)
{
	return event->left || (ended(event) && !has_heirs(event));
}

static bool as_it_should_be(struct flowtap_event *event, bool on)
{
	if (is_over(event))
		return false;
	if (READ_ONCE(event->on) == on && (on || event->armed == armed(event->group)))
		return true;
	return turn(event, on);
}

/*
 * Nobody looks at them when a task has ended: a collector that adds tasks for days, or a caller who
 * means harm, would keep an event, and with it the task, of each. The more there are the rarer.
 */
static void release_ended(struct flowtap_group *group)
{
	struct flowtap_event *event, *next;
	LIST_HEAD(going);

	if (group->n_events < group->look_at_events)
		return;
	list_for_each_entry_safe(event, next, &group->events, link)
		if (is_over(event))
			mark_dead(event, &going);
	release(group, &going);
}

/* Its member has none. -errno of perf. */
static int make(struct flowtap_group *group, struct task_struct *task)
{
	struct perf_event_attr attr = attributes(&group->configure);
	struct flowtap_event *event = kzalloc(sizeof(*event), GFP_KERNEL_ACCOUNT);
	struct flowtap_member *member;
	unsigned long flags;
	int error;

	if (!event)
		return -ENOMEM;
	event->group = group;
	event->on = group_is_enabled(group);
	event->armed = !event->on && armed(group);
	attr.disabled = !event->on;
	attr.enable_on_exec = event->armed;
	attr.inherit = 1;
	/* perf makes the events of new threads, and of children where they are wanted. */
	attr.inherit_thread = !(group->configure.flags & FLOWTAP_INHERIT);
	event->perf = perf_event_create_kernel_counter(&attr, -1, task,
						       handler_of(&group->configure), event);
	if (IS_ERR(event->perf)) {
		error = PTR_ERR(event->perf);
		kfree(event);
		return error;
	}
	list_add(&event->link, &group->events);
	group->n_events++;
	rcu_read_lock();
	raw_spin_lock_irqsave(&group->set.lock, flags);
	member = set_find(&group->set, task);
	if (member)
		WRITE_ONCE(member->event, event);
	else
		event->left = true;
	raw_spin_unlock_irqrestore(&group->set.lock, flags);
	rcu_read_unlock();
	return 0;
}

int event_add(struct flowtap_group *group, struct task_struct *task)
{
	lockdep_assert_held(&group->lock);
	release_ended(group);
	return make(group, task);
}

/* No event triggers for it. */
static bool lacks_event(const struct flowtap_member *member)
{
	return !READ_ONCE(member->event) && !member->uncounted;
}

/*
 * No event of this task ever triggers: a GAP record says so, and it is not tried again. Nobody can be
 * reported while nothing is enabled, and nothing is missed: whoever enables it tries again.
 */
static void give_up(struct flowtap_group *group, struct task_struct *task)
{
	struct flowtap_member *member;

	rcu_read_lock();
	if (gap_write(group, task, ktime_get_raw_fast_ns(), FLOWTAP_CAUSE_MEMORY)) {
		member = set_find(&group->set, task);
		if (member)
			member->uncounted = true;
	}
	rcu_read_unlock();
}

void event_sync(struct flowtap_group *group)
{
	struct flowtap_event *event, *next;
	bool on = group_is_enabled(group);
	struct flowtap_cursor cursor = {};
	LIST_HEAD(going);
	u32 n, i;
	int error;

	lockdep_assert_held(&group->lock);
	if (!group_counts(group))
		return;
	if (!group_is_open(group)) {
		event_release(group);
		return;
	}
	list_for_each_entry_safe(event, next, &group->events, link)
		if (!as_it_should_be(event, on))
			mark_dead(event, &going);
	release(group, &going);
	while ((n = cursor_members(&cursor, &group->set, lacks_event))) {
		for (i = 0; i < n; i++) {
			error = make(group, cursor.found[i]);
			if (error && error != -ESRCH)
				give_up(group, cursor.found[i]);
		}
		cond_resched();
	}
}

void event_release(struct flowtap_group *group)
{
	struct flowtap_event *event, *next;
	LIST_HEAD(going);

	list_for_each_entry_safe(event, next, &group->events, link)
		mark_dead(event, &going);
	release(group, &going);
}

void event_close_cpu(struct flowtap_stream *stream)
{
	lockdep_assert_held(&stream->group->lock);
	if (stream->event)
		perf_event_release_kernel(stream->event);
	stream->event = NULL;
}

int event_open_cpu(struct flowtap_stream *stream)
{
	struct perf_event_attr attr = attributes(&stream->group->configure);
	struct perf_event *event;

	lockdep_assert_held(&stream->group->lock);
	event_close_cpu(stream);
	attr.disabled = !READ_ONCE(stream->enabled);
	event = perf_event_create_kernel_counter(&attr, stream->cpu, NULL, overflow_cpu,
						 stream->group);
	if (IS_ERR(event))
		return PTR_ERR(event);
	stream->event = event;
	return 0;
}
