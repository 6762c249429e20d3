/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What files of kmod/ take from the kernel, for programs into which they are compiled: one CPU,
 * whose clock is counted.
 */
#ifndef FLOWTAP_SELFTESTS_UNIT_KMOD_KERNEL_H
#define FLOWTAP_SELFTESTS_UNIT_KMOD_KERNEL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <linux/types.h>

#include "list.h"

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define GENMASK(high, low)	((~0UL >> (63 - (high))) & (~0UL << (low)))
#define GENMASK_ULL(high, low)	((~0ULL >> (63 - (high))) & (~0ULL << (low)))
#define FIELD_GET(mask, value)	(((value) & (mask)) / ((mask) & -(mask)))

#define notrace
#define noinline		__attribute__((noinline))
#define unlikely(condition)	(condition)
#define min(a, b)		((a) < (b) ? (a) : (b))
#define ilog2(n)		(31 - __builtin_clz(n))
#define is_power_of_2(n)	((n) && !((n) & ((n) - 1)))
#define rounddown_pow_of_two(n)	(1U << ilog2(n))

/* Of this CPU or any: there is one. */
#define DEFINE_PER_CPU(type, name)	type name
#define this_cpu_ptr(pointer)		(pointer)
#define per_cpu(name, cpu)		(*((void)(cpu), &(name)))
#define smp_processor_id()		0

#define module_param(name, type, mode)	extern int module_param_of_no_module
#define MODULE_PARM_DESC(name, text)	extern int module_param_of_no_module
#define IS_ENABLED(option)		(option)

/* What the kernel's log got last. */
static __attribute__((unused)) char said[512];
#define pr_err(...)			((void)snprintf(said, sizeof(said), __VA_ARGS__))

static u64 clock_ns;

static inline u64 ktime_get_raw_fast_ns(void)
{
	return ++clock_ns;
}

struct pt_regs {
	unsigned long pc;
	bool user;
};

/* What the interrupt that is served has interrupted; NULL: none is. */
static __attribute__((unused)) struct pt_regs *irq_regs;

#define user_mode(regs)			((regs)->user)
#define instruction_pointer(regs)	((regs)->pc)
#define get_irq_regs()			(irq_regs)

#define PF_VCPU			0x1
#define PF_EXITING		0x4

struct signal_struct {
	struct list_head thread_head;
};

struct task_struct {
	unsigned int flags;
	struct mm_struct *mm;
	struct signal_struct *signal;
	struct list_head thread_node;
};

static __attribute__((unused)) struct task_struct *current = &(struct task_struct){ 0 };

#endif /* FLOWTAP_SELFTESTS_UNIT_KMOD_KERNEL_H */
