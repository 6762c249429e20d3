/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kmod/event.c is compiled into the program, with a perf that makes events and keeps what it is told,
 * and one group whose set has up to TASKS members.
 */
#ifndef FLOWTAP_SELFTESTS_UNIT_KMOD_EVENT_DRIVER_H
#define FLOWTAP_SELFTESTS_UNIT_KMOD_EVENT_DRIVER_H

#include <linux/perf_event.h>
#include <stdlib.h>

#include "support/kselftest_harness.h"

#include "kernel.h"

#include <linux/flowtap.h>

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define TASKS	4
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- What it takes from the kernel. --- */

#define LIST_HEAD(name)		struct list_head name = { &name, &name }
#define READ_ONCE(variable)	(variable)
#define WRITE_ONCE(variable, value) ((variable) = (value))
#define cmpxchg(pointer, before, value)	((void)(*(pointer) == (before) && (*(pointer) = (value))))
#define GFP_KERNEL_ACCOUNT	0
#define IS_ERR(pointer)		((unsigned long)(pointer) > -4096UL)
#define PTR_ERR(pointer)	((int)(long)(pointer))
#define ERR_PTR(error)		((void *)(long)(error))
#define WARN_ON_ONCE(condition)	(warned += !!(condition))
#define in_nmi()		(nmi)
#define local_irq_save(flags)	((void)((flags) = irqs_off++))
#define local_irq_restore(flags) ((void)(irqs_off = (flags)))
#define lockdep_assert_irqs_disabled()	((void)(warned += !irqs_off))
#define lockdep_assert_held(lock)	((void)(lock))
#define raw_spin_lock_irqsave(lock, flags)	((void)((flags) = ++*(lock)))
#define raw_spin_unlock_irqrestore(lock, flags)	((void)(flags), --*(lock))
#define rcu_read_lock()		((void)rcu_held++)
#define rcu_read_unlock()	((void)rcu_held--)
#define cond_resched()
#define list_for_each_entry_safe(entry, following, head, member)				\
	for (entry = container_of((head)->next, __typeof__(*entry), member),			\
	     following = container_of(entry->member.next, __typeof__(*entry), member);		\
	     &entry->member != (head);								\
	     entry = following,									\
	     following = container_of(following->member.next, __typeof__(*entry), member))

struct rcu_head {
	int none;
};

static unsigned int warned, irqs_off, allocated;
static int rcu_held;
static bool nmi, no_memory, without_rcu;

static void *kzalloc(size_t size, unsigned int gfp)
{
	allocated += !no_memory;
	return no_memory ? NULL : calloc(1, size);
}

#define kfree(pointer)		(allocated--, free(pointer))
#define kfree_rcu(pointer, rcu)	kfree(pointer)

static bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static void list_add(struct list_head *entry, struct list_head *head)
{
	list_add_tail(entry, head->next);
}

static void list_move(struct list_head *entry, struct list_head *head)
{
	list_del_rcu(entry);
	list_add(entry, head);
}

/* --- perf --- */

struct perf_sample_data;
struct perf_event;
typedef void (*perf_overflow_handler_t)(struct perf_event *perf, struct perf_sample_data *data,
					struct pt_regs *regs);

#define PERF_EVENT_STATE_EXIT	(-3)

struct perf_event {
	struct perf_event_attr attr;
	struct {
		u64 interrupts;
	} hw;
	int state;
	int cpu;
	struct task_struct *task;
	struct list_head child_list, event_entry;
	perf_overflow_handler_t overflow_handler;
	void *overflow_handler_context;
};

struct perf_event_context {
	int lock;
	struct list_head event_list;
};

/* The task's own: event.c sees no more of a task. */
struct seen_task {
	struct perf_event_context *perf_event_ctxp;
};

#define task_struct seen_task

static struct {
	int error;			/* of the next ones */
	unsigned int made, alive, turned;
} perf_host;

static struct perf_event *perf_event_create_kernel_counter(struct perf_event_attr *attr, int cpu,
							   struct seen_task *task,
							   perf_overflow_handler_t handler,
							   void *context)
{
	struct perf_event *perf;

	if (perf_host.error)
		return ERR_PTR(perf_host.error);
	perf = calloc(1, sizeof(*perf));
	perf->attr = *attr;
	perf->cpu = cpu;
	perf->task = (void *)task;
	perf->overflow_handler = handler;
	perf->overflow_handler_context = context;
	list_init(&perf->child_list);
	list_init(&perf->event_entry);
	if (task && task->perf_event_ctxp)
		list_add_tail(&perf->event_entry, &task->perf_event_ctxp->event_list);
	perf_host.made++;
	perf_host.alive++;
	return perf;
}

static void perf_event_release_kernel(struct perf_event *perf)
{
	list_del_rcu(&perf->event_entry);
	perf_host.alive--;
	free(perf);
}

static void perf_event_enable(struct perf_event *perf)
{
	perf->attr.disabled = 0;
	perf_host.turned++;
}

static void perf_event_disable(struct perf_event *perf)
{
	perf->attr.disabled = 1;
	perf_host.turned++;
}

/* --- In place of kmod's own: one group, whose set has up to TASKS members. --- */

#define FLOWTAP_KMOD_CURSOR_H
#define FLOWTAP_KMOD_GAP_H
#define FLOWTAP_KMOD_HOLDER_H
#define FLOWTAP_KMOD_MACHINE_H
#define FLOWTAP_KMOD_STREAM_H

struct flowtap_event;

struct flowtap_member {
	struct seen_task *task;		/* NULL: there is none */
	struct flowtap_event *event;
	bool uncounted;
};

struct flowtap_set {
	int lock;
	struct flowtap_member members[TASKS];
};

struct flowtap_group {
	int lock;
	struct flowtap_set set;
	struct list_head events;
	u32 n_events, look_at_events;
	struct flowtap_configure configure;
	bool exec_pending;
	bool open, enabled;
};

struct flowtap_stream {
	struct flowtap_group *group;
	struct perf_event *event;
	bool enabled;
	u32 cpu;
};

struct flowtap_cursor {
	u32 n;
	struct seen_task *found[2];
};

static bool harmless, by_nmi;
#define machine_config_is_harmless()	(harmless)
#define machine_overflows_are_nmis()	(by_nmi)
#define group_is_enabled(group)		((group)->enabled)
#define group_is_open(group)		((group)->open)
#define group_counts(group)		(!!((group)->configure.triggers & FLOWTAP_TRIGGER_OVERFLOW))

static struct {
	unsigned int samples, throttled, gaps;
	bool irqs_on, no_stream;
	u32 trigger, cause;
} core;

static void holder_trigger(struct flowtap_group *group, u32 trigger, struct pt_regs *regs)
{
	core.samples++;
	core.trigger = trigger;
	core.irqs_on |= !irqs_off;
}

static void holder_throttled(struct flowtap_group *group)
{
	core.throttled++;
	core.irqs_on |= !irqs_off;
}

static bool gap_write(struct flowtap_group *group, struct seen_task *task, u64 since, u32 cause)
{
	core.gaps += !core.no_stream;
	core.cause = cause;
	without_rcu |= !rcu_held;
	return !core.no_stream;
}

static struct flowtap_member *set_find(struct flowtap_set *set, const struct seen_task *task)
{
	without_rcu |= !rcu_held;
	for (unsigned int i = 0; i < TASKS; i++)
		if (task && set->members[i].task == task)
			return &set->members[i];
	return NULL;
}

static void set_each(struct flowtap_set *set, void (*each)(struct flowtap_member *, void *),
		     void *context)
{
	for (unsigned int i = 0; i < TASKS; i++)
		if (set->members[i].task)
			each(&set->members[i], context);
}

/* The last one found is where it goes on. */
static u32 cursor_members(struct flowtap_cursor *cursor, struct flowtap_set *set,
			  bool (*wanted)(const struct flowtap_member *member))
{
	unsigned int i = 0;

	while (cursor->n && set->members[i++].task != cursor->found[cursor->n - 1])
		;
	for (cursor->n = 0; i < TASKS && cursor->n < COUNT(cursor->found); i++)
		if (set->members[i].task && wanted(&set->members[i]))
			cursor->found[cursor->n++] = set->members[i].task;
	return cursor->n;
}

#include "../../../kmod/event.c"

#endif /* FLOWTAP_SELFTESTS_UNIT_KMOD_EVENT_DRIVER_H */
