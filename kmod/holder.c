// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gives each CPU's source to a stream, takes it away at a switch, and passes triggers on to the
 * stream that holds it.
 */
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <asm/irq_regs.h>

#include "displace.h"
#include "holder.h"
#include "holder_state.h"
#include "sample.h"
#include "timer.h"

DEFINE_PER_CPU(struct flowtap_cpu, holder_cpus);

/* `running`: it has been on the CPU for a while, which nothing recorded and no switch shows. */
static bool missed_some(const struct flowtap_stream *stream, const struct flowtap_member *member,
			bool running)
{
	/* Whoever stopped a CPU-wide stream has recorded why. */
	if (!member->ran || stream_is_wide(stream) || member->displaced_since)
		return false;
	return running || set_member_ran(member);
}

/* Samples under another number are a sequence of their own: nothing goes on from the one before. */
void holder_update_number(const struct flowtap_stream *stream, struct flowtap_member *member)
{
	if (stream_is_wide(stream) || stream->source->collector || !set_member_renamed(member))
		return;
	member->loss |= 1U << FLOWTAP_CAUSE_START;
	member->nr = 0;
	member->since = ktime_get_raw_fast_ns();
}

static void hold(struct flowtap_cpu *cpu, struct flowtap_stream *stream,
		 struct flowtap_member *member, bool running)
{
	u32 disables = READ_ONCE(stream->group->disables);

	holder_update_number(stream, member);
	WRITE_ONCE(cpu->holder, stream);
	cpu->member = member;
	/*
	 * A thread that was reaped has no numbers any more when it leaves the CPU for the last
	 * time.
	 */
	if (stream_is_wide(stream))
		stream_name_recorded(stream, member->task);
	if (missed_some(stream, member, running)) {
		sample_add_loss(stream, member, !running && member->disables == disables ?
				 FLOWTAP_CAUSE_NO_STREAM : FLOWTAP_CAUSE_DISABLED);
		member->nr = 0;
	}
	member->ran = false;
	member->disables = disables;
	if (!member->since)
		member->since = ktime_get_raw_fast_ns();
	stream->output.stats.switches++;
	if (stream->source->collector)
		piece_begin(stream, member);
	else
		sample_start(stream, member);
	if (stream->timer_ns)
		timer_start_in(&stream->timer, stream->timer_left);
}

/* What is left of the interval is for the next time: time slices may be shorter than it. */
static void stop_timer(struct flowtap_stream *stream)
{
	s64 left = ktime_to_ns(hrtimer_get_expires(&stream->timer)) - ktime_get_mono_fast_ns();

	hrtimer_try_to_cancel(&stream->timer);
	stream->timer_left = clamp_t(s64, left, 1, stream->timer_ns);
}

/*
 * With S the buffer ends within this module, and what comes after the next start begins there:
 * put together they would look like one path.
 */
static bool flushes(const struct flowtap_stream *stream)
{
	return stream->triggers & FLOWTAP_TRIGGER_SWITCH || stream_is_wide(stream) ||
	       stream->recording.modes & FLOWTAP_MODE_KERNEL;
}

/* Entries become a sample, are kept, or are lost by this cause. */
static void release_entries(struct flowtap_cpu *cpu, enum flowtap_leaving leaving, u32 cause)
{
	struct flowtap_stream *stream = cpu->holder;
	struct flowtap_member *member = cpu->member;
	bool flush = leaving != LEAVING_AT_ONCE && flushes(stream);
	bool keep = leaving == LEAVING_FOR_NOW && member->capacity &&
		    (stream->recording.stacks || !flush);
	/* A sample takes nothing off a call stack: it is lost where it is wanted again. */
	bool lose =
		stream->recording.stacks ? leaving != LEAVING_FOR_EVER && !keep : !flush && !keep;
	bool frozen = !flush && stream->source->pause(&stream->recording);

	if (flush)
		sample_write(stream, member, FLOWTAP_TRIGGER_SWITCH, NULL, cpu->scratch);
	if (keep)
		sample_keep(stream, member, frozen, cpu->scratch);
	if ((stream->source->stop(&stream->recording) || frozen || leaving == LEAVING_AT_ONCE) &&
	    lose)
		sample_add_loss(stream, member, cause);
}

/* Nobody holds the source then. cause: of the loss, if something is dropped. */
void holder_leave(struct flowtap_cpu *cpu, enum flowtap_leaving leaving, u32 cause)
{
	struct flowtap_stream *stream = cpu->holder;
	struct flowtap_member *member = cpu->member;

	if (!stream->source->collector) {
		release_entries(cpu, leaving, cause);
	} else {
		/* All that was recorded is written; a loss is what comes until the next time. */
		piece_end(stream, member);
		/* Whether a task runs while its stream is disabled is seen when it is back. */
		if (leaving == LEAVING_AT_ONCE &&
		    (cause != FLOWTAP_CAUSE_DISABLED || stream_is_wide(stream)))
			sample_add_loss(stream, member, cause);
	}
	/* The path to sleep and back is the kernel's. */
	if (cause == FLOWTAP_CAUSE_OFFLINE && stream->recording.modes & FLOWTAP_MODE_KERNEL)
		sample_add_loss(stream, member, cause);
	if (stream->timer_ns)
		stop_timer(stream);
	set_member_left(member);
	stream->named = NULL;
	WRITE_ONCE(cpu->holder, NULL);
	cpu->member = NULL;
}

/* Under RCU. Only of a CPU-wide stream. */
static bool excludes(const struct flowtap_stream *stream, const struct task_struct *task)
{
	return group_excludes(stream->group) && set_find(&stream->group->set, task);
}

/* Once, until something is recorded again. */
static void add_excluded(struct flowtap_stream *stream)
{
	if (!(stream->everyone.loss & 1U << FLOWTAP_CAUSE_EXCLUDED))
		sample_add_loss(stream, &stream->everyone, FLOWTAP_CAUSE_EXCLUDED);
}

/* NULL: it is not to be recorded. */
static struct flowtap_member *member_of(struct flowtap_stream *stream, struct task_struct *task)
{
	if (!stream_is_wide(stream))
		return set_find(&stream->group->set, task);
	if (excludes(stream, task)) {
		add_excluded(stream);
		return NULL;
	}
	stream->everyone.task = task;
	return &stream->everyone;
}

/*
 * `task` is on this CPU now: the first stream that wants it gets the source, others a loss. A
 * CPU-wide stream is the first in the list.
 */
void holder_claim(struct flowtap_cpu *cpu, struct task_struct *task, bool running)
{
	struct flowtap_stream *stream;
	struct flowtap_member *member;

	if (!cpu->sources || cpu->asleep)
		return;
	rcu_read_lock();
	list_for_each_entry_rcu(stream, &cpu->streams, cpu_link) {
		if (!READ_ONCE(stream->enabled) || stream == cpu->holder)
			continue;
		if (!(cpu->sources & 1ULL << stream->source->id))
			continue;
		member = member_of(stream, task);
		if (!member)
			continue;
		if (cpu->holder)
			displace(stream, member);
		else
			hold(cpu, stream, member, running);
	}
	rcu_read_unlock();
}

/* Streams came or went, or the current task's: one may get the source, others are displaced. */
void holder_claim_for_current(struct flowtap_cpu *cpu)
{
	bool held = cpu->holder;

	holder_claim(cpu, current, true);
	if (!held)
		holder_resume(cpu);
}

/*
 * A CPU-wide stream that was disabled while its CPU went from task to task: the interrupt that ends
 * it is on its way, and finds no holder.
 */
static noinline void add_disabled(struct flowtap_stream *stream)
{
	if (stream_is_wide(stream) && !READ_ONCE(stream->enabled))
		sample_add_loss(stream, &stream->everyone, FLOWTAP_CAUSE_DISABLED);
}

void holder_switch(struct task_struct *previous, struct task_struct *next)
{
	struct flowtap_cpu *cpu = this_cpu_ptr(&holder_cpus);
	struct flowtap_stream *before = cpu->holder;

	if (before)
		holder_leave(cpu, LEAVING_FOR_NOW, FLOWTAP_CAUSE_SWITCH);
	if (!list_empty(&cpu->streams))
		holder_claim(cpu, next, false);
	holder_resume(cpu);
	if (before && unlikely(cpu->holder != before))
		add_disabled(before);
}

u32 holder_write_now(struct flowtap_cpu *cpu, u32 trigger, struct pt_regs *regs)
{
	if (cpu->holder->source->collector)
		return piece_write(cpu->holder, cpu->member);
	return sample_write(cpu->holder, cpu->member, trigger, regs, cpu->scratch);
}

/* An overflow may come late, when the program has left the modes that are recorded. */
static bool skidded(const struct flowtap_stream *stream, u32 trigger, struct pt_regs *regs)
{
	if (trigger != FLOWTAP_TRIGGER_OVERFLOW)
		return false;
	return !(stream->recording.modes &
		 (user_mode(regs) ? FLOWTAP_MODE_USER : FLOWTAP_MODE_KERNEL));
}

void notrace holder_trigger(struct flowtap_group *group, u32 trigger, struct pt_regs *regs)
{
	struct flowtap_cpu *cpu = this_cpu_ptr(&holder_cpus);
	struct flowtap_stream *stream = cpu->holder;
	struct flowtap_member *member;

	if (!stream)
		return;
	if (stream->group == group && cpu->member->task == current) {
		if (skidded(stream, trigger, regs)) {
			/* Its entries are kept for the next trigger. */
			stream->output.stats.losses[FLOWTAP_CAUSE_SKID]++;
			return;
		}
		holder_write_now(cpu, trigger, regs);
		stream->source->resume(&stream->recording);
		return;
	}
	rcu_read_lock();
	list_for_each_entry_rcu(stream, &cpu->streams, cpu_link) {
		if (stream->group != group || stream_is_wide(stream) ||
		    !READ_ONCE(stream->enabled))
			continue;
		member = set_find(&group->set, current);
		/* One that ran has just been released: the event counted the switch itself. */
		if (member && !member->ran)
			displace(stream, member);
	}
	rcu_read_unlock();
}

void holder_throttled(struct flowtap_group *group)
{
	struct flowtap_cpu *cpu = this_cpu_ptr(&holder_cpus);
	struct flowtap_stream *stream = cpu->holder;

	if (!stream || stream->group != group)
		return;
	stream->output.stats.losses[FLOWTAP_CAUSE_THROTTLED]++;
	stream_write_gap(stream, cpu->member->task, ktime_get_raw_fast_ns(),
			 FLOWTAP_CAUSE_THROTTLED);
}

/* A probe itself: each call costs a frame, at every interrupt. */
void notrace holder_interrupt_done(void *data, int irq, struct irqaction *action, int result)
{
	long stopping = (long)data;
	struct flowtap_stream *stream;

	if (stopping && irq != stopping)
		return;
	stream = this_cpu_read(holder_cpus.holder);
	if (stream && stream->source->thaw)
		stream->source->thaw(&stream->recording);
}

void holder_tick(struct flowtap_stream *stream)
{
	struct flowtap_cpu *cpu = this_cpu_ptr(&holder_cpus);

	if (cpu->holder != stream)
		return;
	piece_tick(stream, cpu->member);
	holder_resume(cpu);
}

/*
 * A CPU-wide stream was enabled, or who runs is its again: whoever has the source has it no more.
 * Or it has it, and is not to any more.
 */
static void enforce_wide_stream(struct flowtap_cpu *cpu)
{
	struct flowtap_stream *wide;
	bool wanted;

	rcu_read_lock();
	wide = holder_wide_of(cpu);
	wanted = wide && READ_ONCE(wide->enabled) && !excludes(wide, current);
	if (cpu->holder && wanted && cpu->holder != wide)
		holder_leave(cpu, LEAVING_AT_ONCE, FLOWTAP_CAUSE_DISPLACED);
	else if (wide && cpu->holder == wide && !wanted)
		holder_leave(cpu, LEAVING_FOR_NOW, FLOWTAP_CAUSE_EXCLUDED);
	rcu_read_unlock();
}

void holder_task_here(void)
{
	unsigned long flags;
	struct flowtap_cpu *cpu;

	holder_assert_on_this_cpu();
	local_irq_save(flags);
	cpu = this_cpu_ptr(&holder_cpus);
	if (!list_empty(&cpu->streams)) {
		enforce_wide_stream(cpu);
		holder_claim_for_current(cpu);
	}
	local_irq_restore(flags);
}

/* Interrupts off, and nobody else writes the ring. */
static void write_rest(struct flowtap_stream *stream)
{
	if (READ_ONCE(stream->enabled))
		return;
	displace_end_all(stream);
	output_write_lost(&stream->output);
}

void holder_reconsider(struct flowtap_stream *stream)
{
	struct flowtap_cpu *cpu = this_cpu_ptr(&holder_cpus);

	if (cpu->holder == stream && !READ_ONCE(stream->enabled))
		holder_leave(cpu, LEAVING_AT_ONCE, FLOWTAP_CAUSE_DISABLED);
	else if (cpu->holder == stream && smp_load_acquire(&cpu->member->gone))
		holder_leave(cpu, cpu->member->ended ? LEAVING_FOR_EVER : LEAVING_AT_ONCE,
			FLOWTAP_CAUSE_DISABLED);
	write_rest(stream);
	enforce_wide_stream(cpu);
	holder_claim_for_current(cpu);
}

void holder_write_rest(struct flowtap_stream *stream)
{
	unsigned long flags;

	local_irq_save(flags);
	write_rest(stream);
	local_irq_restore(flags);
}

bool holder_is(const struct flowtap_stream *stream)
{
	return READ_ONCE(per_cpu(holder_cpus, stream->cpu).holder) == stream;
}

u32 holder_snapshot(struct flowtap_stream *stream)
{
	struct flowtap_cpu *cpu = this_cpu_ptr(&holder_cpus);
	u32 entries;

	if (cpu->holder != stream)
		return 0;
	entries = holder_write_now(cpu, FLOWTAP_TRIGGER_SNAPSHOT, get_irq_regs());
	holder_resume(cpu);
	return entries;
}

void holder_release(struct flowtap_stream *stream)
{
	struct flowtap_cpu *cpu = this_cpu_ptr(&holder_cpus);

	if (cpu->holder == stream)
		holder_leave(cpu, LEAVING_AT_ONCE, FLOWTAP_CAUSE_DISABLED);
	holder_claim_for_current(cpu);
}
