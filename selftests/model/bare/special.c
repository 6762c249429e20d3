// SPDX-License-Identifier: GPL-2.0-or-later
/* Work that does more with the trace than begin and end it. */
#include "work.h"

#define FRAME 4096UL
#define NOWHERE 0x60000000UL	/* no memory, no device */

static u64 rounds(u64 otherwise)
{
	return option_number("n", otherwise);
}

/* The trace is begun and ended n times around the inner work. */
static void sessions(const struct trace_setup *setup, unsigned int cpu)
{
	for (u64 i = 0; i < rounds(5); i++) {
		trace_start(setup);
		work_inner(cpu);
		trace_stop();
	}
}

/* Prohibited and allowed again while the trace unit stays enabled. */
static void pauses(const struct trace_setup *setup, unsigned int cpu)
{
	trace_start(setup);
	for (u64 i = 0; i < rounds(5); i++) {
		work_inner(cpu);
		trace_pause();
		work_inner(cpu);
		trace_resume();
	}
	trace_stop();
}

/* No interrupt; the buffer is looked at between the rounds. */
static void polled(const struct trace_setup *setup, unsigned int cpu)
{
	struct trace_setup own = *setup;

	own.keep_masked = true;
	trace_start(&own);
	for (u64 i = 0; i < rounds(5); i++) {
		work_inner(cpu);
		trace_poll();
	}
	trace_stop();
}

/*
 * A page of the buffer, at `at=` bytes, is not as it should be when trace reaches it:
 * fault=unmapped, readonly, flag, abort (no memory there), table (APTable), and under a hypervisor
 * stage2 and stage2-readonly. The handler mends it, and tracing goes on.
 */
static u64 fault_page(unsigned int cpu)
{
	u64 granule = 1UL << boot.granule;

	return (TRACE_WINDOW + cpu * TRACE_WINDOW_CPU + option_number("at", 0x4000)) & ~(granule - 1);
}

static u64 fault_memory(unsigned int cpu)
{
	return TRACE_MEMORY + cpu * TRACE_ROOM + (fault_page(cpu) & (TRACE_WINDOW_CPU - 1));
}

static bool mend(unsigned int cpu, u64 status, u64 address)
{
	u64 page = fault_page(cpu), granule = 1UL << boot.granule;

	print("fault: status %lx at page + %lx\n", status, address - page);
	if (option_is("fault", "table"))
		mmu_table_read_only(page, false);
	else if (option_is("fault", "stage2") || option_is("fault", "stage2-readonly"))
		mmu_change_stage2(fault_memory(cpu), granule, ACCESS_STAGE2);
	else
		mmu_change(page, fault_memory(cpu), granule, ACCESS_KERNEL);
	return option_number("mend", 1);
}

static void faults(const struct trace_setup *setup, unsigned int cpu)
{
	struct trace_setup own = *setup;
	u64 page = fault_page(cpu), granule = 1UL << boot.granule;

	if (option_is("fault", "unmapped"))
		mmu_change(page, 0, granule, ACCESS_NONE);
	else if (option_is("fault", "readonly"))
		mmu_change(page, fault_memory(cpu), granule, ACCESS_READ_ONLY);
	else if (option_is("fault", "flag"))
		mmu_change(page, fault_memory(cpu), granule, ACCESS_NO_FLAG);
	else if (option_is("fault", "abort"))
		mmu_change(page, NOWHERE, granule, ACCESS_KERNEL);
	else if (option_is("fault", "size"))
		mmu_change(page, 1UL << 41, granule, ACCESS_KERNEL);
	else if (option_is("fault", "table"))
		mmu_table_read_only(page, true);
	else if (option_is("fault", "stage2"))
		mmu_change_stage2(fault_memory(cpu), granule, ACCESS_NONE);
	else if (option_is("fault", "stage2-readonly"))
		mmu_change_stage2(fault_memory(cpu), granule, ACCESS_STAGE2_READ_ONLY);
	else
		panic("fault= is not known");
	own.fault = mend;
	trace_start(&own);
	work_inner(cpu);
	trace_stop();
}

static void want(bool is, const char *what)
{
	if (!is)
		panic("%s", what);
	print("seen: %s\n", what);
}

/*
 * The buffer is full while the PPI is masked: its level is TRBSR.IRQ, whatever is done to the GIC.
 */
static void level(const struct trace_setup *setup, unsigned int cpu)
{
	struct trace_setup own = *setup;
	u64 before;

	want(!gic_pending(cpu, PPI_TRACE), "not pending before");
	own.keep_masked = true;
	own.size = 2 * FRAME;
	trace_start(&own);
	for (int i = 0; i < 100 && !(READ(trbsr_el1) & STATUS_IRQ); i++)
		work_inner(cpu);
	trace_pause();
	isb();
	want(READ(trbsr_el1) & STATUS_IRQ, "TRBSR.IRQ when full");
	want(gic_pending(cpu, PPI_TRACE), "pending when full");
	gic_clear(cpu, PPI_TRACE);
	want(gic_pending(cpu, PPI_TRACE), "pending after ICPENDR: it is a level");
	before = trace_totals[cpu].interrupts;
	trace_keep_status(3);
	gic_enable(cpu, PPI_TRACE, true);
	for (int i = 0; i < 1000 && trace_totals[cpu].interrupts < before + 3; i++)
		isb();
	want(trace_totals[cpu].interrupts == before + 3, "taken again while the level is high");
	want(gic_pending(cpu, PPI_TRACE), "pending still");
	trace_stop();
	want(!gic_pending(cpu, PPI_TRACE), "not pending after TRBSR.IRQ was cleared");
	/* Software may set it, too. */
	WRITE(trbsr_el1, STATUS_IRQ);
	isb();
	want(gic_pending(cpu, PPI_TRACE), "pending after software set TRBSR.IRQ");
	WRITE(trbsr_el1, 0);
	isb();
	want(!gic_pending(cpu, PPI_TRACE), "not pending after software cleared it");
}

/* What a CPU that was just switched on must find; K10.5, D25 (resets to). */
static void check_reset(unsigned int cpu)
{
	print("cpu %u: prgctlr %lx trblimitr %lx trfcr %lx oslsr %lx trbsr %lx\n", cpu, READ(trcprgctlr),
	      READ(trblimitr_el1), READ(trfcr_el1), READ(oslsr_el1), READ(trbsr_el1));
	want(!(READ(trcprgctlr) & 1), "TRCPRGCTLR.EN is 0 after reset");
	want(!(READ(trblimitr_el1) & LIMIT_E), "TRBLIMITR.E is 0 after reset");
	want(!(READ(trfcr_el1) & 3), "TRFCR prohibits after reset");
	want(!gic_pending(cpu, PPI_TRACE), "no interrupt after reset");
}

static const struct trace_setup *hotplug_setup;

static void plugged(unsigned int cpu)
{
	gic_init_cpu(cpu);
	check_reset(cpu);
	irq_enable();
	trace_start(hotplug_setup);
	work_inner(cpu);
	trace_stop();
	irq_disable();
	/* Leave something after that a reset has to take away. Not enabled: that would be wrong. */
	WRITE(trblimitr_el1, TRACE_WINDOW | LIMIT_CIRCULAR);
	isb();
}

/* CPU 1 is switched on and off n times, tracing each time, while CPU 0 traces. */
static void hotplug(const struct trace_setup *setup, unsigned int cpu)
{
	hotplug_setup = setup;
	trace_start(setup);
	for (u64 i = 0; i < rounds(3); i++) {
		cpu_start(1, plugged);
		work_inner(cpu);
		while (!cpu_is_off(1))
			__asm__ volatile("yield");
	}
	trace_stop();
}

/* Code at EL2 (MODE_NVHE), with TRFCR_EL2 as filter2= says; the kernel's goes on being traced. */
static void hyper(const struct trace_setup *setup, unsigned int cpu)
{
	trace_start(setup);
	hypercall(HYPER_TRFCR, option_number("filter2", FILTER_E1 | FILTER_CX | FILTER_TS));
	hypercall(HYPER_CONTEXTIDR, 0xabcd);
	for (u64 i = 0; i < rounds(10); i++) {
		if (hypercall(HYPER_LOOP, 5 + i) == 0)
			panic("the hypervisor counts nothing");
		work_inner(cpu);
	}
	hypercall(HYPER_TRFCR, 0);
	trace_stop();
}

/* CONTEXTIDR_EL1, and at EL2 CONTEXTIDR_EL2, change while traced. */
static void contexts(const struct trace_setup *setup, unsigned int cpu)
{
	trace_start(setup);
	for (u64 i = 0; i < rounds(10); i++) {
		WRITE(contextidr_el1, 0xc0de0000 + i % 3);
		isb();
		work_inner(cpu);
	}
	trace_stop();
}

/* Every register of the trace unit is written, with ones and zeros where it has bits, and read. */
static void registers(const struct trace_setup *setup, unsigned int cpu)
{
	static const u64 patterns[] = { ~0UL, 0, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa };
	unsigned int n = 0;

	WRITE(oslar_el1, 0);
	isb();
	for (enum trace_register which = 0; which < TRACE_WRITABLES; which++) {
		u64 ones = 0, zeros = ~0UL;

		if (!trace_has(which))
			continue;
		for (unsigned int i = 0; i < ARRAY_SIZE(patterns); i++) {
			u64 value;

			trace_write(which, patterns[i]);
			isb();
			value = trace_read(which);
			if (value & ~patterns[i] & ones & ~zeros)
				panic("%s: %lx reads as %lx", trace_register_names[which],
				      patterns[i], value);
			ones |= value;
			zeros &= value;
		}
		print("%s: bits %lx, always 1 %lx\n", trace_register_names[which], ones & ~zeros, zeros);
		trace_write(which, 0);
		n++;
	}
	isb();
	for (enum trace_register which = TRACE_WRITABLES; which < TRACE_REGISTERS; which++, n++)
		print("%s: %lx\n", trace_register_names[which], trace_read(which));
	WRITE(trcclaimset, 3);
	want((READ(trcclaimclr) & 3) == 3, "claim tags are set");
	WRITE(trcclaimclr, 1);
	want((READ(trcclaimclr) & 3) == 2, "one claim tag is cleared");
	WRITE(trcclaimclr, 2);
	WRITE(oslar_el1, 1);
	isb();
	want(READ(oslsr_el1) & 2, "the OS lock is set");
	want(READ(trcoslsr) & 2, "TRCOSLSR tells so");
	WRITE(oslar_el1, 0);
	isb();
	want(!(READ(oslsr_el1) & 2), "the OS lock is clear");
	print("registers: %u\n", n);
	trace_start(setup);
	work_inner(cpu);
	trace_stop();
}

const struct special specials[] = {
	{ "sessions", sessions },
	{ "pauses", pauses },
	{ "polled", polled },
	{ "faults", faults },
	{ "level", level },
	{ "hotplug", hotplug },
	{ "hyper", hyper },
	{ "contexts", contexts },
	{ "registers", registers },
	{ }
};
