// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps each CPU's list of streams, and takes the source from its holder where the CPU goes, or
 * sleeps, and gives it back when it is back.
 */
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "holder_cpu.h"
#include "holder_state.h"
#include "sample.h"

static DEFINE_MUTEX(cpus_lock);

int holder_attach(struct flowtap_stream *stream)
{
	struct flowtap_cpu *cpu = per_cpu_ptr(&holder_cpus, stream->cpu);
	int error = 0;

	mutex_lock(&cpus_lock);
	if (!stream_is_wide(stream))
		list_add_tail_rcu(&stream->cpu_link, &cpu->streams);
	else if (holder_wide_of(cpu))
		error = -EBUSY;
	else
		list_add_rcu(&stream->cpu_link, &cpu->streams);
	mutex_unlock(&cpus_lock);
	return error;
}

void holder_detach(struct flowtap_stream *stream)
{
	mutex_lock(&cpus_lock);
	list_del_rcu(&stream->cpu_link);
	mutex_unlock(&cpus_lock);
}

/* No user program runs on a CPU that is on its way: what was recorded until then is written. */
static bool records_offline_loss(const struct flowtap_stream *stream)
{
	return !stream->source->collector || stream->recording.modes & FLOWTAP_MODE_KERNEL;
}

static void on_cpu_online(u64 sources)
{
	struct flowtap_cpu *cpu = this_cpu_ptr(&holder_cpus);
	struct flowtap_stream *stream;

	cpu->sources = sources;
	cpu->asleep = false;
	WRITE_ONCE(cpu->onlines, cpu->onlines + 1);
	rcu_read_lock();
	stream = holder_wide_of(cpu);
	if (stream && READ_ONCE(stream->enabled) && stream->everyone.ran &&
	    records_offline_loss(stream)) {
		sample_add_loss(stream, &stream->everyone, FLOWTAP_CAUSE_OFFLINE);
		stream_write_gap(stream, current, stream->everyone.since, FLOWTAP_CAUSE_OFFLINE);
	}
	/* perf has released its event when the CPU went offline. */
	if (stream && stream->triggers & FLOWTAP_TRIGGER_OVERFLOW)
		schedule_work(&stream->reopen);
	rcu_read_unlock();
}

static void on_cpu_offline(void)
{
	struct flowtap_cpu *cpu = this_cpu_ptr(&holder_cpus);

	cpu->sources = 0;
	if (cpu->holder)
		holder_leave(cpu, LEAVING_FOR_NOW, FLOWTAP_CAUSE_OFFLINE);
}

static void on_pm_enter(void)
{
	struct flowtap_cpu *cpu = this_cpu_ptr(&holder_cpus);

	cpu->asleep = true;
	if (cpu->holder)
		holder_leave(cpu, LEAVING_FOR_NOW, FLOWTAP_CAUSE_OFFLINE);
}

static void on_pm_exit(void)
{
	struct flowtap_cpu *cpu = this_cpu_ptr(&holder_cpus);

	cpu->asleep = false;
	if (!cpu->holder) {
		holder_claim(cpu, current, false);
		holder_resume(cpu);
	}
}

/* The AUX area of this CPU's source has reached the watermark, or is full. */
static void full(void)
{
	struct flowtap_cpu *cpu = this_cpu_ptr(&holder_cpus);
	struct flowtap_stream *stream = cpu->holder;

	if (!stream || !stream->source->collector)
		return;
	piece_interrupted(stream, cpu->member);
	holder_resume(cpu);
}

const struct flowtap_source_user holder_source_user = {
	.cpu_online = on_cpu_online,
	.cpu_offline = on_cpu_offline,
	.pm_enter = on_pm_enter,
	.pm_exit = on_pm_exit,
	.full = full,
};

void holder_query(u32 cpu, struct flowtap_query *query)
{
	struct flowtap_cpu *state = &per_cpu(holder_cpus, cpu);
	struct flowtap_stream *stream;

	rcu_read_lock();
	stream = holder_wide_of(state) ?: READ_ONCE(state->holder);
	if (stream) {
		query->holder_pid = pid_vnr(stream->owner);
		/* Whose number is not to be seen has no name either. */
		if (query->holder_pid)
			memcpy(query->holder_comm, stream->owner_name,
			       sizeof(query->holder_comm));
	}
	rcu_read_unlock();
}

u64 holder_onlines(u32 cpu)
{
	return READ_ONCE(per_cpu(holder_cpus, cpu).onlines);
}

int holder_init(void)
{
	u32 cpu;

	for_each_possible_cpu(cpu) {
		struct flowtap_cpu *this = &per_cpu(holder_cpus, cpu);

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
		kfree(per_cpu(holder_cpus, cpu).scratch);
}
