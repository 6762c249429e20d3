// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes a task's last records when it ends or leaves its set, and begins anew where it gets another
 * number or executes another program.
 */
#include <linux/bitops.h>
#include <linux/irqflags.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

#include "gap.h"
#include "holder_state.h"
#include "holder_task.h"
#include "sample.h"

/* Causes that are no loss. */
#define AS_ASKED	(1U << FLOWTAP_CAUSE_START | 1U << FLOWTAP_CAUSE_STROBE | \
			 1U << FLOWTAP_CAUSE_EXCLUDED)

/* GAP records for what no sample and no AUX record will have any more. */
static void write_last_gaps(struct flowtap_group *group, struct flowtap_member *member, u32 cause)
{
	u32 known = member->gaps_written | AS_ASKED | 1U << FLOWTAP_CAUSE_DISPLACED;
	u32 causes = member->loss & ~known;
	u64 displaced = xchg(&member->displaced_since, 0);

	if (displaced)
		gap_write(group, member->task, displaced, FLOWTAP_CAUSE_DISPLACED);
	else if (!member->since && !member->displaced)
		/* No stream ever had it. */
		causes |= 1U << FLOWTAP_CAUSE_NO_STREAM;
	if (cause == FLOWTAP_CAUSE_EXEC && !(causes & 1U << cause))
		gap_write(group, member->task, ktime_get_raw_fast_ns(), cause);
	for (; causes; causes &= causes - 1)
		gap_write(group, member->task, member->since, __ffs(causes));
}

void holder_task_gone(struct flowtap_group *group, struct flowtap_member *member, u32 cause)
{
	unsigned long flags;
	struct flowtap_cpu *cpu;

	holder_assert_on_this_cpu();
	local_irq_save(flags);
	cpu = this_cpu_ptr(&holder_cpus);
	if (cpu->member == member)
		holder_leave(cpu, LEAVING_FOR_EVER, cause);
	else if (member->ran && !member->displaced_since)
		/* It has run since, where nothing recorded it. */
		member->loss |= 1U << FLOWTAP_CAUSE_NO_STREAM;
	local_irq_restore(flags);
	write_last_gaps(group, member, cause);
}

void holder_task_evicted(struct flowtap_group *group, struct flowtap_member *member)
{
	if (member->nr)
		member->loss |= 1U << FLOWTAP_CAUSE_DISABLED;
	/* One that never came onto a CPU has lost nothing. */
	if (member->since || READ_ONCE(member->displaced_since))
		write_last_gaps(group, member, FLOWTAP_CAUSE_DISABLED);
}

void holder_member_renames(struct flowtap_group *group, struct flowtap_member *member)
{
	unsigned long flags;

	holder_assert_on_this_cpu();
	/* Pieces are named when they begin. */
	if (group->pieces || this_cpu_read(holder_cpus.member) != member)
		return;
	holder_task_gone(group, member, FLOWTAP_CAUSE_SWITCH);
	local_irq_save(flags);
	member->ran = false;
	holder_claim_for_current(this_cpu_ptr(&holder_cpus));
	local_irq_restore(flags);
}

void holder_renames(void)
{
	unsigned long flags;
	struct flowtap_cpu *cpu;

	holder_assert_on_this_cpu();
	local_irq_save(flags);
	cpu = this_cpu_ptr(&holder_cpus);
	if (cpu->holder && stream_is_wide(cpu->holder) && !cpu->holder->source->collector) {
		holder_write_now(cpu, FLOWTAP_TRIGGER_SWITCH, NULL);
		holder_resume(cpu);
	}
	local_irq_restore(flags);
}

void holder_executed(void)
{
	unsigned long flags;
	struct flowtap_cpu *cpu;

	holder_assert_on_this_cpu();
	local_irq_save(flags);
	cpu = this_cpu_ptr(&holder_cpus);
	/* A thread that executes takes the first one's numbers. */
	if (cpu->holder) {
		stream_name_recorded(cpu->holder, current);
		holder_update_number(cpu->holder, cpu->member);
	}
	if (cpu->holder && cpu->holder->source->collector) {
		piece_executed(cpu->holder, cpu->member);
		holder_resume(cpu);
	} else if (cpu->holder && cpu->holder->recording.stacks) {
		sample_restart(cpu->holder, cpu->member);
		holder_resume(cpu);
	}
	local_irq_restore(flags);
}
