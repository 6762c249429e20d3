// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads of EL0 and EL1 by turns, and exceptions. */
#include "bare.h"
#include "trace.h"

enum { VECTOR_KERNEL_SYNC = 4, VECTOR_KERNEL_IRQ = 5, VECTOR_USER_SYNC = 8, VECTOR_USER_IRQ = 9 };
enum { EC_UNKNOWN = 0x00, EC_BTI = 0x0d, EC_SVC = 0x15, EC_DATA_LOWER = 0x24, EC_DATA_SAME = 0x25,
       EC_BRK = 0x3c };

#define SPSR_EL0 0x000
#define SPSR_EL1H 0x005
#define SPSR_EL2H 0x009
#define BRANCH_TO_SELF 0x14000000U

u64 (*task_work)(u64 argument);

static struct task tasks[CPUS][TASKS];
static u8 stacks[CPUS][TASKS][KERNEL_STACK] __attribute__((aligned(16)));
static u64 timer_ticks[CPUS];
static unsigned int self_ticks[CPUS];
extern void thread_end(void);
struct frame *exception(struct frame *frame, u64 vector);

void task_init(unsigned int cpu)
{
	memset(tasks[cpu], 0, sizeof(tasks[cpu]));
	for (unsigned int i = 0; i < TASKS; i++)
		tasks[cpu][i].stack = stacks[cpu][i];
	/* Task 0 is who called us. */
	tasks[cpu][0].alive = true;
	tasks[cpu][0].id = 0x100 + cpu;
	cpus[cpu].current = &tasks[cpu][0];
	WRITE(contextidr_el1, tasks[cpu][0].id);
	isb();
}

struct task *task_start(u64 entry, bool user, u64 argument, u32 id)
{
	struct cpu *cpu = this_cpu();
	unsigned int i = 1;
	struct task *task;
	struct frame *frame;

	while (i < TASKS && tasks[cpu->index][i].alive)
		i++;
	if (i == TASKS)
		panic("no more tasks");
	task = &tasks[cpu->index][i];
	frame = (struct frame *)(task->stack + KERNEL_STACK) - 1;
	memset(frame, 0, sizeof(*frame));
	frame->elr = entry;
	frame->x[0] = argument;
	frame->x[1] = boot.granule;
	if (user) {
		u64 number = cpu->index * TASKS + i;

		frame->sp = USER_STACKS + (number + 1) * USER_STACK;
		frame->spsr = SPSR_EL0;
		/* The code ends with SVC_EXIT; it is linked so. */
		frame->x[30] = USER;
		frame->x[26] = USER_LAZY;
	} else {
		frame->spsr = boot.mode == MODE_VHE ? SPSR_EL2H : SPSR_EL1H;
		frame->x[30] = (u64)thread_end;
	}
	task->frame = frame;
	task->id = id;
	task->user = user;
	task->result = 0;
	task->alive = true;
	return task;
}

void task_yield(void)
{
	__asm__ volatile("svc %0" : : "i"(SVC_YIELD) : "memory");
}

u64 task_run(void)
{
	struct cpu *cpu = this_cpu();
	u64 result = 0;

	for (unsigned int i = 1; i < TASKS; i++) {
		struct task *task = &tasks[cpu->index][i];

		while (*(volatile bool *)&task->alive)
			task_yield();
		if (task->frame)
			result = task->result;
	}
	return result;
}

static struct frame *schedule(struct frame *frame)
{
	struct cpu *cpu = this_cpu();
	struct task *list = tasks[cpu->index], *next = cpu->current;

	cpu->current->frame = frame;
	do
		next = next == &list[TASKS - 1] ? list : next + 1;
	while (!next->alive);
	if (next->id != cpu->current->id)
		WRITE(contextidr_el1, next->id);
	cpu->current = next;
	return next->frame;
}

static bool uses_hypervisor_timer(void)
{
	return boot.mode == MODE_VHE;
}

void timer_start(u64 ticks)
{
	unsigned int cpu = this_cpu()->index;

	timer_ticks[cpu] = ticks;
	WRITE(cntv_tval_el0, ticks);
	WRITE(cntv_ctl_el0, ticks ? 1 : 2);
	isb();
	gic_enable(cpu, uses_hypervisor_timer() ? PPI_HVTIMER : PPI_VTIMER, ticks);
}

/* A branch to itself ends only if somebody else ends it. */
static void leave_self(struct cpu *cpu, struct frame *frame)
{
	if (*(volatile u32 *)frame->elr != BRANCH_TO_SELF)
		return;
	if (++self_ticks[cpu->index] % 3 == 0)
		frame->elr += 4;
}

static struct frame *interrupt(struct frame *frame)
{
	struct cpu *cpu = this_cpu();
	u32 intid = gic_acknowledge();

	if (intid >= 1020) {
		cpu->spurious++;
		return frame;
	}
	if (intid == PPI_TRACE) {
		trace_interrupt();
	} else if (intid == PPI_VTIMER || intid == PPI_HVTIMER) {
		cpu->ticks++;
		WRITE(cntv_tval_el0, timer_ticks[cpu->index]);
		isb();
		leave_self(cpu, frame);
		frame = schedule(frame);
	} else {
		panic("interrupt %u", intid);
	}
	gic_end(intid);
	return frame;
}

/* A page of USER_LAZY, or of whatever the scenario took away: it is there from now on. */
static bool page_in(struct cpu *cpu, u64 address)
{
	u64 size = 1UL << boot.granule, offset = address - USER_LAZY;

	if (offset >= USER_LAZY_PAGES * size)
		return false;
	mmu_change(address & ~(size - 1), LAZY_MEMORY + (offset & ~(size - 1)), size, ACCESS_DATA);
	cpu->faults++;
	return true;
}

static struct frame *call(struct cpu *cpu, struct frame *frame, u32 number)
{
	cpu->calls++;
	switch (number) {
	case SVC_YIELD:
		return schedule(frame);
	case SVC_EXIT:
		cpu->current->result = frame->x[0];
		cpu->current->alive = false;
		return schedule(frame);
	case SVC_NOTHING:
		break;
	case SVC_NESTED: {
		/* The frame has ELR and SPSR, so another exception may come. */
		__asm__ volatile("svc %0" : : "i"(SVC_NOTHING) : "memory");
		irq_enable();
		__asm__ volatile("udf #1; brk #2" : : : "memory");
		irq_disable();
		break;
	}
	case SVC_WORK:
		frame->x[0] = task_work ? task_work(frame->x[0]) : 0;
		break;
	default:
		panic("svc #%u", number);
	}
	return frame;
}

struct frame *exception(struct frame *frame, u64 vector)
{
	struct cpu *cpu = this_cpu();
	u64 esr = READ(esr_el1), far = READ(far_el1);

	if (vector == VECTOR_KERNEL_IRQ || vector == VECTOR_USER_IRQ)
		return interrupt(frame);
	if (vector == VECTOR_KERNEL_SYNC || vector == VECTOR_USER_SYNC) {
		switch (esr >> 26 & 0x3f) {
		case EC_SVC:
			return call(cpu, frame, esr & 0xffff);
		case EC_UNKNOWN:
			/* UDF is asked for; any other is not. */
			if (*(volatile u32 *)frame->elr >> 16)
				break;
			/* fall through */
		case EC_BRK:
			frame->elr += 4;
			return frame;
		case EC_DATA_LOWER:
		case EC_DATA_SAME:
			if (page_in(cpu, far))
				return frame;
		}
	}
	panic("cpu %u: exception %lu at %lx, esr %lx far %lx sp %lx x30 %lx", cpu->index, vector,
	      frame->elr, esr, far, frame->sp, frame->x[30]);
}
