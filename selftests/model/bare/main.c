// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What happens in a run: the machine is set up, the trace as the command line says, the work is
 * done, files and totals are written, power off. Options (bare.test has the combinations):
 *
 *	work=NAME where=PLACE n=N	what is executed, work.c
 *	cpus=N timer=TICKS		CPUs that do so, each with its own trace; their timer
 *	el=vhe|nvhe granule=4|16|64	see boot.c
 *	trace=0				no trace unit is used
 *	filter=N trcNAME=N ...		TRFCR, and registers of the trace unit, setup.c
 */
#include "trace.h"
#include "work.h"

static struct trace_setup setup;
static const u64 far[] = { 0, 0x10000, 0x30000, 0x1000000, 0x100000000, 0x1000000000,
			   0x400000000000 };

/* By way of memory: too far away for an address relative to this code. */
static const char *const volatile user_image_end = user_end;

static void map_user(void)
{
	u64 *low = mmu_root(0);
	u64 size = (u64)user_image_end - USER, from = physical(user_load);

	for (unsigned int i = 0; i < ARRAY_SIZE(far); i++)
		mmu_map(low, USER + far[i], from, size, ACCESS_CODE, true);
	mmu_map(low, USER_STACKS, STACK_MEMORY, CPUS * TASKS * USER_STACK, ACCESS_DATA, true);
	mmu_map(low, USER_RANDOM, RANDOM_CODE, CPUS * RANDOM_ROOM, ACCESS_CODE, true);
	dsb();
	isb();
}

static void tell(unsigned int index)
{
	const struct trace_totals *t = &trace_totals[index];
	const struct cpu *cpu = &cpus[index];

	print("cpu %u: ticks %lu calls %lu faults %lu spurious %lu\n", index, cpu->ticks, cpu->calls,
	      cpu->faults, cpu->spurious);
	print("trace %u: starts %lu drains %lu bytes %lu interrupts %lu spurious %lu full %lu wrapped %lu "
	      "triggered %lu faults %lu aborts %lu first %lx strayed %lu\n", index, t->starts, t->drains,
	      t->bytes, t->interrupts, t->spurious, t->full, t->wrapped, t->triggered, t->faults,
	      t->aborts, t->first_fault, t->strayed);
}

static void run(unsigned int index)
{
	gic_init_cpu(index);
	irq_enable();
	work_run(&setup, index);
	irq_disable();
	timer_start(0);
}

/* Both are entered from start.S, in the kernel half and on a stack of the CPU's own. */
void main(u64 index);

static void main_secondary(unsigned int index)
{
	cpu_init(index);
	cpus[index].state = CPU_UP;
	dsb();
	cpus[index].work(index);
	cpus[index].state = CPU_DONE;
	__asm__ volatile("dsb sy; sev");
	cpu_off();
}

void main(u64 index)
{
	unsigned int n;
	char out[200];

	if (index) {
		main_secondary(index);
		return;
	}
	cpu_init(0);
	gic_init();
	map_user();
	print("bare: %s, granule %u\n", boot.mode == MODE_EL1 ? "EL1" : boot.mode == MODE_VHE ? "VHE" :
	      "EL1 under EL2", 1U << boot.granule);
	if (option_number("stage2", 0))
		mmu_start_stage2();
	n = option_number("cpus", 1);
	if (n < 1 || n > CPUS)
		panic("cpus= is 1 to %d", CPUS);
	setup_from_options(&setup);
	if (work_traces() && !trace_probe())
		system_off();
	for (unsigned int i = 1; i < n; i++)
		cpu_start(i, run);
	run(0);
	for (unsigned int i = 1; i < n; i++)
		while (!cpu_is_off(i))
			__asm__ volatile("yield");
	option_copy("out", out, sizeof(out), "");
	if (*out && work_traces())
		trace_write_files(out);
	for (unsigned int i = 0; i < n; i++)
		tell(i);
	print("bare: done\n");
	system_off();
}
