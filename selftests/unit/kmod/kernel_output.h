/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What kmod/output.c, ring.c and aux.c take from the kernel beside kernel.h: memory, a reader that
 * is never asleep, timers that never expire, and other CPUs that do something at any moment.
 */
#ifndef FLOWTAP_SELFTESTS_UNIT_KMOD_KERNEL_OUTPUT_H
#define FLOWTAP_SELFTESTS_UNIT_KMOD_KERNEL_OUTPUT_H

#include <stdlib.h>
#include <sys/epoll.h>

#include "kernel.h"

#define PAGE_SIZE	4096
#define PAGE_SHIFT	12
#define NSEC_PER_SEC	1000000000LL
#define NSEC_PER_MSEC	1000000LL
#define CLOCK_MONOTONIC			1
#define HRTIMER_MODE_ABS_PINNED_HARD	0

/* What other CPUs do at any moment: called whenever memory is looked at that they share. */
static __attribute__((unused)) void (*meanwhile)(void);

static inline void others_go_on(void)
{
	if (meanwhile)
		meanwhile();
}

#define READ_ONCE(variable)							\
({										\
	__auto_type __value = (variable);					\
										\
	others_go_on();								\
	__value;								\
})
#define smp_store_release(pointer, value) (*(pointer) = (value), others_go_on())

#define WRITE_ONCE(variable, value)	((variable) = (value))
#define smp_mb()			others_go_on()
#define smp_wmb()			((void)0)
#define min_t(type, a, b)		min((type)(a), (type)(b))

typedef struct {
	int value;
} atomic_t;

static inline int atomic_read(const atomic_t *atomic)
{
	return atomic->value;
}

static inline void atomic_inc(atomic_t *atomic)
{
	atomic->value++;
}

static inline int atomic_xchg(atomic_t *atomic, int value)
{
	int before = atomic->value;

	atomic->value = value;
	return before;
}

#define xchg(pointer, value)							\
({										\
	__typeof__(*(pointer)) __before = *(pointer);				\
										\
	*(pointer) = (value);							\
	__before;								\
})
#define cmpxchg(pointer, before, value)	\
	((void)(*(pointer) == (before) ? *(pointer) = (value) : 0))

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags, vm_pgoff;
};

#define VM_WRITE	0x2
#define VM_EXEC		0x4
#define VM_SHARED	0x8
#define VM_MAYWRITE	0x20
#define VM_MAYEXEC	0x40
#define VM_DONTCOPY	0x20000
#define VM_DONTEXPAND	0x40000
#define VM_DONTDUMP	0x4000000

static inline void vm_flags_mod(struct vm_area_struct *vma, unsigned long set, unsigned long clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}

static inline int remap_vmalloc_range(struct vm_area_struct *vma, void *pages, unsigned long offset)
{
	return 0;
}

static inline void *vmalloc_user(size_t size)
{
	return calloc(1, size);
}

static inline void vfree(void *pages)
{
	free(pages);
}

enum hrtimer_restart { HRTIMER_NORESTART };

struct hrtimer {
	bool queued;
	u64 ns;				/* as it was started last */
};

static inline void hrtimer_setup(struct hrtimer *timer,
			  enum hrtimer_restart (*function)(struct hrtimer *timer), int clock,
			  int mode)
{
	timer->queued = false;
}

static inline bool hrtimer_is_queued(const struct hrtimer *timer)
{
	return timer->queued;
}

static inline void hrtimer_cancel(struct hrtimer *timer)
{
	timer->queued = false;
}

#define hrtimer_try_to_cancel(timer)	hrtimer_cancel(timer)

static inline void timer_start_in(struct hrtimer *timer, u64 ns)
{
	timer->queued = true;
	timer->ns = ns;
}

struct irq_work {
	unsigned int queued;
};

#define init_irq_work(work, function)	((void)(work), (void)(function))
#define irq_work_sync(work)		((void)(work))
#define irq_work_queue(work)		((void)(work)->queued++)

typedef int wait_queue_head_t;

#define init_waitqueue_head(head)	(*(head) = 0)
#define wake_up_interruptible(head)	(++*(head))

struct pid_namespace {
	int none;
};

#define get_pid_ns(namespace)		(namespace)
#define put_pid_ns(namespace)		((void)(namespace))
#define task_active_pid_ns(task)	((struct pid_namespace *)(task))
#define __task_pid_nr_ns(task, type, namespace)	((task)->flags)

#endif /* FLOWTAP_SELFTESTS_UNIT_KMOD_KERNEL_OUTPUT_H */
