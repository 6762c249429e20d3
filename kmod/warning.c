// SPDX-License-Identifier: GPL-2.0-only
/* Prints warnings from an interrupt of their own, where no lock of the scheduler is held. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/irq_work.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/smp.h>

#include "warning.h"

struct flowtap_warning {
	struct irq_work work;
	bool busy, stopped;
	u64 status, pointer, size;
};

static DEFINE_PER_CPU(struct flowtap_warning, warnings);

/* On the CPU that warned, with interrupts off: nothing is added meanwhile. */
static void print(struct irq_work *work)
{
	struct flowtap_warning *warning = container_of(work, struct flowtap_warning, work);

	if (warning->busy)
		pr_warn_ratelimited("the trace unit of CPU %d does not become idle\n",
				    smp_processor_id());
	if (warning->stopped)
		pr_warn_ratelimited("the trace buffer of CPU %d stopped: TRBSR_EL1 %#llx, write pointer at %#llx of %#llx\n",
				    smp_processor_id(), warning->status, warning->pointer,
				    warning->size);
	warning->busy = warning->stopped = false;
}

void warning_init(void)
{
	u32 cpu;

	for_each_possible_cpu(cpu)
		init_irq_work(&per_cpu(warnings, cpu).work, print);
}

void warning_exit(void)
{
	u32 cpu;

	for_each_possible_cpu(cpu)
		irq_work_sync(&per_cpu(warnings, cpu).work);
}

void warning_unit_busy(void)
{
	struct flowtap_warning *warning = this_cpu_ptr(&warnings);

	warning->busy = true;
	irq_work_queue(&warning->work);
}

void warning_buffer_stopped(u64 status, u64 pointer, u64 size)
{
	struct flowtap_warning *warning = this_cpu_ptr(&warnings);

	warning->stopped = true;
	warning->status = status;
	warning->pointer = pointer;
	warning->size = size;
	irq_work_queue(&warning->work);
}
