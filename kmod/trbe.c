// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds the trace buffers' interrupt, enables the buffer for a window of the AUX area, and
 * collects what it stored (DDI 0487 K10.5.10, K10.5.11).
 *
 * The host's unit tests run this file on a model of the registers.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#ifdef __KERNEL__
#include <linux/acpi.h>
#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_irq.h>
#include <linux/percpu.h>
#include <linux/platform_device.h>
#include <asm/barrier.h>
#include <asm/cpufeature.h>
#include <asm/cputype.h>
#include <asm/mmu.h>
#endif

#include "aux.h"
#include "compat.h"
#include "source.h"
#include "trbe.h"
#include "trbe_registers.h"
#include "trbe_usable.h"
#include "trbe_window.h"
#include "warning.h"

#define IGNORE		0x70			/* ETE's Ignore packet */
#define NODES	8	/* kinds of CPUs, each with an interrupt of its own */
#define ACPI_DEVICE	"arm,trbe"		/* made by the kernel from the MADT */

static char *watermark = "trigger";
module_param(watermark, charp, 0444);
MODULE_PARM_DESC(watermark, "how the trace buffer interrupts before it is full: trigger (it goes on collecting) or limit (it stops) (trigger)");

struct trbe {
	int irq;			/* 0: none */
	bool listening;			/* its interrupt is enabled here */
	u32 align;			/* bytes */
	u32 errata;			/* TRBE_ */
	u64 idr;
	struct trbe_window window;	/* while it is enabled */
	u64 limitr;			/* as it was written */
};

static DEFINE_PER_CPU(struct trbe, trbes);

static struct {
	int irq;
	int error;
	struct cpumask cpus;		/* whose it is */
} lines[NODES];

static unsigned int n_lines;

static irqreturn_t interrupt(int irq, void *unused)
{
	/*
	 * Whoever stopped the buffer since has taken what there was: nothing is left to do for an
	 * interrupt that was on its way then.
	 */
	if (read_sysreg_s(TRBSR) & SR_IRQ)
		source_full();
	/* Nobody's: it would come for ever. */
	if (read_sysreg_s(TRBSR) & SR_IRQ && !(read_sysreg_s(TRBLIMITR) & LIMITR_E)) {
		write_sysreg_s(0, TRBSR);
		isb();
	}
	return IRQ_HANDLED;
}

/* The CPUs whose buffers' interrupt this is. */
static void add_line(int irq, const struct cpumask *cpus)
{
	u32 cpu;

	if (irq <= 0 || n_lines == NODES)
		return;
	lines[n_lines].irq = irq;
	cpumask_copy(&lines[n_lines].cpus, cpus);
	lines[n_lines].error = flowtap_request_percpu_irq(irq, interrupt, &lines[n_lines].cpus,
							  &trbes);
	if (lines[n_lines].error == -EBUSY)
		pr_err("interrupt %d of the trace buffer has an owner: the driver coresight_trbe, if it is loaded (rmmod coresight_trbe; one that is built in must be used through perf)\n",
		       irq);
	else if (lines[n_lines].error)
		pr_err("interrupt %d of the trace buffer: error %d\n", irq,
		       lines[n_lines].error);
	for_each_cpu(cpu, cpus)
		per_cpu(trbes, cpu).irq = irq;
	n_lines++;
}

/* Tried in unit tests only: no machine here boots so and has a trace buffer. */
static void find_in_acpi(void)
{
	struct device *device = bus_find_device_by_name(&platform_bus_type, NULL, ACPI_DEVICE);

	if (!device)
		return;
	add_line(platform_get_irq(to_platform_device(device), 0), cpu_possible_mask);
	put_device(device);
}

void trbe_init(void)
{
	struct device_node *node;
	struct cpumask *cpus;
	int irq;

	if (!acpi_disabled) {
		find_in_acpi();
		return;
	}
	cpus = kzalloc(cpumask_size(), GFP_KERNEL);
	if (!cpus)
		return;
	for_each_compatible_node(node, NULL, "arm,trace-buffer-extension") {
		if (!of_device_is_available(node))
			continue;
		irq = irq_of_parse_and_map(node, 0);
		flowtap_percpu_irq_cpus(node, irq, cpus);
		add_line(irq, cpus);
	}
	kfree(cpus);
}

void trbe_exit(void)
{
	u32 cpu;

	while (n_lines) {
		n_lines--;
		if (!lines[n_lines].error)
			free_percpu_irq(lines[n_lines].irq, &trbes);
	}
	for_each_possible_cpu(cpu)
		per_cpu(trbes, cpu).irq = 0;
}

/* Whether the interrupt is ours. */
static u32 listen(struct trbe *trbe)
{
	unsigned int i;

	for (i = 0; i < n_lines; i++) {
		if (lines[i].irq != trbe->irq ||
		    !cpumask_test_cpu(smp_processor_id(), &lines[i].cpus))
			continue;
		if (lines[i].error)
			return lines[i].error == -EBUSY ? FLOWTAP_REASON_OWNED :
							  FLOWTAP_REASON_UNUSABLE;
		if (!trbe->listening)
			enable_percpu_irq(trbe->irq, IRQ_TYPE_NONE);
		trbe->listening = true;
		return FLOWTAP_REASON_NONE;
	}
	pr_info("no device tree node or ACPI table names an interrupt of CPU %d's trace buffer\n",
		smp_processor_id());
	return FLOWTAP_REASON_ABSENT;
}

u32 trbe_online(void)
{
	struct trbe *trbe = this_cpu_ptr(&trbes);
	const u64 idr = read_sysreg_s(TRBIDR);
	const struct trbe_cpu cpu = {
		.idr = idr,
		.limitr = idr & IDR_P ? 0 : read_sysreg_s(TRBLIMITR),
		.errata = trbe_errata(read_cpuid_id(), this_cpu_has_cap),
		.hidden = arm64_kernel_unmapped_at_el0(),
		.kvm_faults = flowtap_kvm_faults(),
	};
	const char *why;
	u32 reason = trbe_usable(&cpu, &why);

	trbe->idr = cpu.idr;
	if (reason != FLOWTAP_REASON_NONE) {
		pr_err("the trace buffer of CPU %d cannot be used: %s\n",
		       smp_processor_id(), why);
		return reason;
	}
	trbe->align = trbe_alignment(cpu.idr);
	trbe->errata = cpu.errata;
	write_sysreg_s(0, TRBSR);
	isb();
	return listen(trbe);
}

void trbe_offline(void)
{
	struct trbe *trbe = this_cpu_ptr(&trbes);

	if (trbe->listening)
		disable_percpu_irq(trbe->irq);
	trbe->listening = false;
}

void trbe_recover(void)
{
	/* Its content is UNKNOWN after a reset, the interrupt's cause as well. */
	write_sysreg_s(0, TRBSR);
	isb();
}

u64 trbe_idr(void)
{
	return this_cpu_ptr(&trbes)->idr;
}

/*
 * K10.5.11: the trigger counter keeps collecting, the limit stops. None of the errata that we know
 * touches the counter; they make what happens at the limit worse.
 */
static bool by_limit(void)
{
	return !strcmp(watermark, "limit");
}

static bool find_window(struct trbe *trbe, const struct flowtap_aux *aux, bool spare)
{
	const struct trbe_area area = {
		.size = aux->size,
		.head = aux->head,
		.tail = aux_tail(aux),
		.watermark = aux->watermark,
		.page = PAGE_SIZE,
		.align = trbe->align,
		.errata = trbe->errata,
		.by_limit = by_limit(),
		.overwrite = aux->overwrite,
	};

	if (!spare)
		return trbe_window(&area, &trbe->window);
	trbe_spare(&area, &trbe->window);
	return true;
}

int trbe_enable(struct flowtap_aux *aux, bool spare)
{
	struct trbe *trbe = this_cpu_ptr(&trbes);
	const struct trbe_window *window = &trbe->window;
	const u64 base = (u64)aux->bytes;
	u64 mode;

	if (read_sysreg_s(TRBLIMITR) & LIMITR_E)
		return -EBUSY;
	if (!find_window(trbe, aux, spare))
		return -ENOSPC;
	flowtap_trbe_begins();
	/*
	 * All but E, then a CSE (K10.5.10: "other than TRBLIMITR_EL1"). TRG 1: the counter counts.
	 */
	write_sysreg_s(window->trigger ? SR_TRG : 0, TRBSR);
	write_sysreg_s(base + window->base, TRBBASER);
	write_sysreg_s(base + window->start, TRBPTR);
	write_sysreg_s(window->trigger, TRBTRG);
	isb();
	mode = window->circular ? LIMITR_CIRCULAR : LIMITR_FILL;
	mode |= window->trigger ? LIMITR_TRIGGER_IRQ : LIMITR_TRIGGER_IGNORE;
	/*
	 * In the switch hook TTBR0_EL1 and the ASID are still those of the task that leaves. The
	 * area is mapped by TTBR1_EL1 for every ASID: its translation does not change (SYKCND).
	 */
	trbe->limitr = (base + window->limit) | mode | LIMITR_E;
	write_sysreg_s(trbe->limitr, TRBLIMITR);
	isb();
	if (trbe->errata & TRBE_ENABLES_LATE)
		isb();
	return 0;
}

static void fill(struct flowtap_aux *aux, u64 from, u64 size)
{
	u64 at = from & (aux->size - 1), first = min(size, aux->size - at);

	memset(aux->bytes + at, IGNORE, first);
	memset(aux->bytes, IGNORE, size - first);
}

void trbe_disable(struct flowtap_aux *aux, struct flowtap_collected *collected)
{
	struct trbe *trbe = this_cpu_ptr(&trbes);
	u64 limitr, status, pointer;
	enum trbe_end end = TRBE_WRONG;
	bool ours;

	/* Nobody else may have used it meanwhile: then nobody knows whose bytes there are. */
	limitr = read_sysreg_s(TRBLIMITR);
	collected->collision |= limitr != trbe->limitr;
	if (limitr != trbe->limitr && limitr & LIMITR_E) {
		/* It is another's now, and goes on. */
		flowtap_trbe_ends();
		collected->fault = true;
		return;
	}
	ours = read_sysreg_s(TRBBASER) == (u64)aux->bytes + trbe->window.base;
	/* K10.5.10, steps 5 to 7. */
	write_sysreg_s(0, TRBLIMITR);
	if (trbe->errata & TRBE_DRAINS_TWICE) {
		tsb_csync();
		dsb(nsh);
	}
	dsb(nsh);
	isb();
	status = read_sysreg_s(TRBSR);
	pointer = read_sysreg_s(TRBPTR) - (u64)aux->bytes;
	/* The interrupt's cause, in case that it is on its way. */
	write_sysreg_s(0, TRBSR);
	isb();
	flowtap_trbe_ends();
	if (ours)
		end = trbe_outcome(&trbe->window, status, pointer, &collected->size,
				   &collected->wrapped);
	collected->collision |= !ours;
	collected->full = end == TRBE_FULL;
	collected->fault = end >= TRBE_FAULT || collected->collision;
	collected->skipped = trbe->window.pad;
	/* Gone round, what was skipped may have been written since. */
	if (collected->size && !collected->wrapped)
		fill(aux, aux->head, collected->skipped);
	if (collected->fault)
		warning_buffer_stopped(status, pointer, aux->size);
}
