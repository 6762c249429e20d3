/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the Arm files of kmod/ take from the kernel beside kernel.h: the device tree, interrupts of
 * each CPU's own, and what they call of other files. One CPU, number 0.
 */
#ifndef FLOWTAP_SELFTESTS_UNIT_KMOD_KERNEL_ARM64_H
#define FLOWTAP_SELFTESTS_UNIT_KMOD_KERNEL_ARM64_H

#include <stdint.h>
#include <stdlib.h>

#include "kernel.h"

/* Headers that the host's programs take, too, make their u64 of this: here it is kernel.h's. */
#define uint64_t	__u64

#define CONFIG_ARM64	1
#define PAGE_SIZE	4096
#define WARN_ON_ONCE(condition)	(host.wrong += !!(condition))
#define DIV_ROUND_UP(n, by)	(((n) + (by) - 1) / (by))
#define __ffs(word)		((unsigned int)__builtin_ctzl(word))
#define pr_info(...)		pr_err(__VA_ARGS__)
#define kzalloc(size, flags)	calloc(1, size)
#define kfree(pointer)		free(pointer)
#define task_active_pid_ns(task) ((void)(task), host.pid_ns)
#define init_pid_ns		host.first_pid_ns

struct pid_namespace {
	int unused;
};

struct device_node {
	struct device_node *next;
	bool unavailable;
	int irq;			/* of a buffer */
	unsigned long cpus;		/* whose it is */
	struct device_node *cpu;	/* of a unit, NULL: none */
	int id;				/* of a CPU */
	int references;
};

struct cpumask {
	unsigned long bits;
};

static struct host {
	struct device_node *units, *buffers;
	bool acpi, acpi_units;		/* firmware describes by ACPI; trace units */
	struct device *acpi_buffer;
	struct pid_namespace first_pid_ns, *pid_ns;
	int request_error;		/* of interrupts of these CPUs */
	unsigned long request_error_cpus;
	bool kpti, kvm_faults;
	u32 midr;
	u64 capabilities;		/* bit n: the CPU has number n */
	/* What came to pass. */
	unsigned int requested, freed, enabled, disabled;	/* interrupts */
	int told_kvm;			/* that the buffer is enabled, less that it is not */
	unsigned int full;		/* source_full() */
	unsigned int busy, stopped;	/* warnings */
	int warns;			/* that warnings have begun, less that they have ended */
	unsigned int wrong;		/* what must not be */
} host;

/* --- The device tree. --- */

static inline struct device_node *host_nodes(const char *compatible)
{
	if (!strcmp(compatible, "arm,embedded-trace-extension"))
		return host.units;
	return !strcmp(compatible, "arm,trace-buffer-extension") ? host.buffers : NULL;
}

static inline struct device_node *of_take(struct device_node *node)
{
	if (node)
		node->references++;
	return node;
}

#define for_each_compatible_node(node, type, name) \
	for ((node) = host_nodes(name); (node); (node) = (node)->next)
#define of_device_is_available(node)		(!(node)->unavailable)
#define of_parse_phandle(node, name, index)	of_take((node)->cpu)
#define of_cpu_node_to_id(node)			((node)->id)
#define of_node_put(node)			((void)((node) && (node)->references--))
#define irq_of_parse_and_map(node, index)	((node)->irq)

/* --- ACPI. --- */

/* The trace buffers' platform device, with as many references as are held. */
struct device {
	int irq, references;
};

static inline struct device *host_device(const char *name)
{
	if (!host.acpi_buffer || strcmp(name, "arm,trbe"))
		return NULL;
	host.acpi_buffer->references++;
	return host.acpi_buffer;
}

#define acpi_disabled				(!host.acpi)
#define acpi_dev_present(hid, uid, hrv)		(host.acpi_units && !strcmp(hid, "ARMHC500"))
#define to_platform_device(device)		(device)
#define platform_get_irq(device, index)		((device)->irq)
#define bus_find_device_by_name(bus, from, name) host_device(name)
#define put_device(device)			((void)((device)->references--))

/* --- CPUs. --- */

static const struct cpumask cpu_possible[] = { { 1 } };

#define cpu_possible_mask		(&cpu_possible[0])
#define cpumask_size()			sizeof(struct cpumask)
#define cpumask_copy(to, from)		((void)(*(to) = *(from)))
#define cpumask_test_cpu(cpu, mask)	((mask)->bits >> (cpu) & 1)
#define for_each_cpu(cpu, mask)		for ((cpu) = 0; (cpu) < 1; (cpu)++) if ((mask)->bits & 1)
#define for_each_possible_cpu(cpu)	for_each_cpu(cpu, cpu_possible_mask)
#define read_cpuid_id()			(host.midr)
#define arm64_kernel_unmapped_at_el0()	(host.kpti)

/* Numbers of capabilities are anything. */
enum {
	ARM64_WORKAROUND_2064142,
	ARM64_WORKAROUND_2038923,
	ARM64_WORKAROUND_1902691,
	ARM64_WORKAROUND_TRBE_WRITE_OUT_OF_RANGE,
	ARM64_WORKAROUND_TRBE_OVERWRITE_FILL_MODE,
};

static inline bool this_cpu_has_cap(unsigned int capability)
{
	return host.capabilities >> capability & 1;
}

static inline const void *memchr_inv(const void *bytes, int byte, size_t size)
{
	const u8 *at = bytes;

	for (; size; size--, at++)
		if (*at != (u8)byte)
			return at;
	return NULL;
}

/* --- Interrupts, and in place of kmod/compat.h. --- */

#define FLOWTAP_KMOD_COMPAT_H

typedef int irqreturn_t;
typedef irqreturn_t (*irq_handler_t)(int irq, void *data);

#define IRQ_HANDLED			1
#define IRQ_TYPE_NONE			0
#define enable_percpu_irq(irq, type)	((void)(host.enabled++))
#define disable_percpu_irq(irq)		((void)(host.disabled++))
#define free_percpu_irq(irq, data)	((void)(host.freed++))
#define flowtap_kvm_faults()		(host.kvm_faults)
#define flowtap_trbe_begins()		((void)(host.told_kvm++))
#define flowtap_trbe_ends()		((void)(host.told_kvm--))
#define flowtap_percpu_irq_cpus(node, irq, cpus) ((void)((cpus)->bits = (node)->cpus))

static inline int flowtap_request_percpu_irq(int irq, irq_handler_t handler,
					     const struct cpumask *cpus, void *data)
{
	const int error = cpus->bits & host.request_error_cpus ? host.request_error : 0;

	host.requested += !error;
	return error;
}

/* --- Other files of kmod/. --- */

#define FLOWTAP_KMOD_AUX_H

struct flowtap_aux {
	u8 *bytes;
	u64 size, head, tail;
	u32 watermark;
	bool overwrite;
};

#define aux_tail(aux)	((aux)->tail)

void source_full(void)
{
	host.full++;
}

void warning_init(void)
{
	host.warns++;
}

void warning_exit(void)
{
	host.warns--;
}

void warning_unit_busy(void)
{
	host.busy++;
}

void warning_buffer_stopped(u64 status, u64 pointer, u64 size)
{
	host.stopped++;
}

#endif /* FLOWTAP_SELFTESTS_UNIT_KMOD_KERNEL_ARM64_H */
