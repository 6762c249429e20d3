// SPDX-License-Identifier: GPL-2.0-only
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <asm/irq_regs.h>

#include "holder.h"
#include "stream.h"

struct cpu {
	struct list_head streams;	/* changed under cpus_lock, read under RCU */
	struct stream *holder;		/* belongs to the CPU, interrupts off */
	struct entry *entry;		/* the current task's, in holder->tasks */
	bool online;			/* its sources have been looked for */
	struct flowtap_entry *scratch;	/* FLOWTAP_DEPTH_MAX */
};

static DEFINE_PER_CPU(struct cpu, cpus);
static DEFINE_MUTEX(cpus_lock);

static u64 switches_of(const struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

static void note_loss(struct stream *stream, struct entry *entry, u32 cause)
{
	entry->loss |= 1U << cause;
	stream->stats.losses[cause]++;
}

/* All of the record but its entries. Any loss makes the sequence number jump. */
static void describe(struct stream *stream, struct entry *entry, u32 trigger, u32 nr,
		     struct pt_regs *regs, struct flowtap_record_sample *sample)
{
	struct task_struct *task = entry->task;

	if (nr == stream->depth)
		note_loss(stream, entry, FLOWTAP_CAUSE_WRAPPED);
	entry->sequence += entry->loss ? 2 : 1;
	*sample = (struct flowtap_record_sample){
		.header.type = FLOWTAP_RECORD_SAMPLE,
		.header.size = sizeof(*sample) + nr * sizeof(struct flowtap_entry),
		.time = ktime_get_raw_fast_ns(),
		.sequence = entry->sequence,
		.control = stream->control,
		.pid = __task_pid_nr_ns(task, PIDTYPE_TGID, stream->namespace),
		.tid = __task_pid_nr_ns(task, PIDTYPE_PID, stream->namespace),
		.cpu = stream->cpu,
		.trigger = trigger,
		.loss = entry->loss,
		.depth = stream->depth,
		.nr = nr,
	};
	if (regs && user_mode(regs)) {
		sample->header.misc = FLOWTAP_MISC_USER;
		sample->ip = instruction_pointer(regs);
	}
}

/* Empties the hardware into one record. The caller holds the source. */
static u32 take_sample(struct cpu *cpu, u32 trigger, struct pt_regs *regs)
{
	struct stream *stream = cpu->holder;
	struct entry *entry = cpu->entry;
	struct flowtap_record_sample sample;
	bool frozen = false;
	u32 nr;

	nr = stream->source->drain(stream, cpu->scratch, &frozen);
	describe(stream, entry, trigger, nr, regs, &sample);
	stream->stats.triggers++;
	if (stream_write(stream, sample.time, &sample, sizeof(sample),
			 cpu->scratch + stream->depth - nr, nr * sizeof(cpu->scratch[0]))) {
		entry->loss = 0;
		stream->stats.samples++;
		stream->stats.entries += nr;
	} else {
		stream->stats.lost_samples++;
		stream->stats.lost_entries += nr;
		note_loss(stream, entry, FLOWTAP_CAUSE_RING_FULL);
	}
	/* Our own counter's overflow freezes on purpose; anything else was somebody else's. */
	if (frozen && trigger != FLOWTAP_TRIGGER_OVERFLOW) {
		note_loss(stream, entry, FLOWTAP_CAUSE_FROZEN);
		stream_write_gap(stream, entry->task, entry->since, FLOWTAP_CAUSE_FROZEN);
	}
	entry->since = sample.time;
	return nr;
}

/* `running`: it has been on the CPU for a while, which nothing recorded and no switch tells. */
static void hold(struct cpu *cpu, struct stream *stream, struct entry *entry, bool running)
{
	cpu->holder = stream;
	cpu->entry = entry;
	if (entry->ran && (running || entry->switches != switches_of(entry->task)))
		note_loss(stream, entry,
			  !running && entry->disables == READ_ONCE(stream->tasks->disables) ?
			  FLOWTAP_CAUSE_NO_STREAM : FLOWTAP_CAUSE_DISABLED);
	entry->disables = READ_ONCE(stream->tasks->disables);
	if (!entry->since)
		entry->since = ktime_get_raw_fast_ns();
	stream->stats.switches++;
	stream->source->start(stream);
	if (stream->timer_ns)
		hrtimer_start(&stream->timer, ns_to_ktime(stream->timer_left),
			      HRTIMER_MODE_REL_PINNED_HARD);
}

/* What is left of the interval is for the next time: time slices may be shorter than it. */
static void stop_timer(struct stream *stream)
{
	s64 left = ktime_to_ns(hrtimer_get_remaining(&stream->timer));

	hrtimer_try_to_cancel(&stream->timer);
	stream->timer_left = clamp_t(s64, left, 1, stream->timer_ns);
}

/* The task's entries go to it (`flush`) or are dropped for `cause`; nobody holds the source then. */
static void release(struct cpu *cpu, bool flush, u32 cause)
{
	struct stream *stream = cpu->holder;
	struct entry *entry = cpu->entry;

	if (flush)
		take_sample(cpu, FLOWTAP_TRIGGER_SWITCH, NULL);
	if (stream->source->stop(stream) && !flush)
		note_loss(stream, entry, cause);
	if (stream->timer_ns)
		stop_timer(stream);
	entry->switches = switches_of(entry->task);
	entry->ran = true;
	cpu->holder = NULL;
	cpu->entry = NULL;
}

static void displace(struct stream *stream, struct entry *entry)
{
	note_loss(stream, entry, FLOWTAP_CAUSE_DISPLACED);
	/* What it runs from now on is accounted for. */
	entry->ran = false;
}

/* `task` is on this CPU now: the first stream that wants it gets the source, others a loss. */
static void claim(struct cpu *cpu, struct task_struct *task, bool running)
{
	struct stream *stream;
	struct entry *entry;

	if (!cpu->online)
		return;
	rcu_read_lock();
	list_for_each_entry_rcu(stream, &cpu->streams, cpu_link) {
		if (!READ_ONCE(stream->enabled) || stream == cpu->holder)
			continue;
		entry = tasks_find(stream->tasks, task);
		if (!entry)
			continue;
		if (cpu->holder)
			displace(stream, entry);
		else
			hold(cpu, stream, entry, running);
	}
	rcu_read_unlock();
}

void holder_switch(struct task_struct *previous, struct task_struct *next)
{
	struct cpu *cpu = this_cpu_ptr(&cpus);

	if (cpu->holder)
		release(cpu, cpu->holder->triggers & FLOWTAP_TRIGGER_SWITCH,
			FLOWTAP_CAUSE_SWITCH);
	if (!list_empty(&cpu->streams))
		claim(cpu, next, false);
}

void holder_trigger(struct tasks *tasks, u32 trigger, struct pt_regs *regs)
{
	struct cpu *cpu = this_cpu_ptr(&cpus);
	struct stream *stream;
	struct entry *entry;

	if (cpu->holder && cpu->holder->tasks == tasks && cpu->entry->task == current) {
		/* Late, after the program trapped: its entries stay for the next trigger. */
		if (trigger == FLOWTAP_TRIGGER_OVERFLOW && !user_mode(regs) &&
		    !(cpu->holder->modes & FLOWTAP_MODE_KERNEL))
			cpu->holder->stats.losses[FLOWTAP_CAUSE_SKID]++;
		else
			take_sample(cpu, trigger, regs);
		return;
	}
	if (!cpu->holder)
		return;
	rcu_read_lock();
	list_for_each_entry_rcu(stream, &cpu->streams, cpu_link) {
		if (stream->tasks != tasks || !READ_ONCE(stream->enabled))
			continue;
		entry = tasks_find(tasks, current);
		if (entry)
			displace(stream, entry);
	}
	rcu_read_unlock();
}

void holder_interrupt_done(void)
{
	struct cpu *cpu = this_cpu_ptr(&cpus);
	struct stream *stream = cpu->holder;
	struct pt_regs *regs = get_irq_regs();

	if (stream && stream->source->thaw)
		stream->source->thaw(stream, regs && user_mode(regs) ?
				     instruction_pointer(regs) : 0);
}

void holder_task_gone(struct tasks *tasks, struct entry *entry, u32 cause)
{
	struct stream *stream;
	unsigned long flags;
	struct cpu *cpu;

	local_irq_save(flags);
	cpu = this_cpu_ptr(&cpus);
	if (cpu->entry == entry)
		release(cpu, cpu->holder->triggers & FLOWTAP_TRIGGER_SWITCH, cause);
	/* No sample will follow to tell of what was lost at the end. */
	list_for_each_entry_rcu(stream, &cpu->streams, cpu_link, true)
		if (entry->loss && stream->tasks == tasks && READ_ONCE(stream->enabled))
			stream_write_gap(stream, entry->task, entry->since, cause);
	local_irq_restore(flags);
}

void holder_task_here(void)
{
	unsigned long flags;
	struct cpu *cpu;

	local_irq_save(flags);
	cpu = this_cpu_ptr(&cpus);
	if (!cpu->holder && !list_empty(&cpu->streams))
		claim(cpu, current, true);
	local_irq_restore(flags);
}

static void reconsider(void *argument)
{
	struct cpu *cpu = this_cpu_ptr(&cpus);
	struct stream *stream = argument;

	if (cpu->holder == stream && (!READ_ONCE(stream->enabled) || READ_ONCE(cpu->entry->gone)))
		release(cpu, false, FLOWTAP_CAUSE_DISABLED);
	if (!READ_ONCE(stream->enabled))
		ring_write_lost(&stream->ring, ktime_get_raw_fast_ns());
	if (!cpu->holder)
		claim(cpu, current, true);
}

void holder_reconsider(struct stream *stream)
{
	/* An offline CPU has nothing to be stopped: see holder_end. */
	smp_call_function_single(stream->cpu, reconsider, stream, 1);
}

struct snapshot {
	struct stream *stream;
	u32 entries;
};

static void snapshot(void *argument)
{
	struct cpu *cpu = this_cpu_ptr(&cpus);
	struct snapshot *request = argument;

	if (cpu->holder == request->stream)
		request->entries = take_sample(cpu, FLOWTAP_TRIGGER_SNAPSHOT, get_irq_regs());
}

u32 holder_snapshot(struct stream *stream)
{
	struct snapshot request = { .stream = stream };

	smp_call_function_single(stream->cpu, snapshot, &request, 1);
	return request.entries;
}

void holder_attach(struct stream *stream)
{
	mutex_lock(&cpus_lock);
	list_add_tail_rcu(&stream->cpu_link, &per_cpu(cpus, stream->cpu).streams);
	mutex_unlock(&cpus_lock);
}

static void let_go(void *argument)
{
	struct cpu *cpu = this_cpu_ptr(&cpus);

	if (cpu->holder == argument)
		release(cpu, false, FLOWTAP_CAUSE_DISABLED);
	if (!cpu->holder)
		claim(cpu, current, true);
}

void holder_detach(struct stream *stream)
{
	mutex_lock(&cpus_lock);
	list_del_rcu(&stream->cpu_link);
	mutex_unlock(&cpus_lock);
	/* Whether enabled or not: an exec may enable it at any time. */
	smp_call_function_single(stream->cpu, let_go, stream, 1);
	synchronize_rcu();
}

void holder_begin(void)
{
	this_cpu_ptr(&cpus)->online = true;
}

void holder_end(void)
{
	struct cpu *cpu = this_cpu_ptr(&cpus);

	cpu->online = false;
	if (cpu->holder)
		release(cpu, false, FLOWTAP_CAUSE_OFFLINE);
}

void holder_query(u32 cpu, struct flowtap_query *query)
{
	struct stream *stream;

	rcu_read_lock();
	stream = READ_ONCE(per_cpu(cpus, cpu).holder);
	if (stream) {
		query->holder_pid = pid_vnr(stream->owner);
		/* Whose number is not to be seen has no name either. */
		if (query->holder_pid)
			memcpy(query->holder_comm, stream->owner_name,
			       sizeof(query->holder_comm));
	}
	rcu_read_unlock();
}

int holder_init(void)
{
	u32 cpu;

	for_each_possible_cpu(cpu) {
		struct cpu *this = &per_cpu(cpus, cpu);

		INIT_LIST_HEAD(&this->streams);
		this->scratch = kcalloc_node(FLOWTAP_DEPTH_MAX, sizeof(this->scratch[0]),
					     GFP_KERNEL, cpu_to_node(cpu));
		if (!this->scratch) {
			holder_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

void holder_exit(void)
{
	u32 cpu;

	for_each_possible_cpu(cpu)
		kfree(per_cpu(cpus, cpu).scratch);
}
