// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks what FLOWTAP_IOC_CONFIGURE asks for, builds the stream from its parts, and takes it
 * apart when it is closed.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/file.h>
#include <linux/log2.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <asm/irq_regs.h>

#include "compat.h"
#include "event.h"
#include "group.h"
#include "holder.h"
#include "holder_cpu.h"
#include "hooks.h"
#include "remote.h"
#include "stream.h"

#define RING_PAGES_MAX	(1U << 16)
#define TIMER_NS_MIN	10000

#define MODES_KNOWN	(FLOWTAP_MODE_USER | FLOWTAP_MODE_KERNEL)
#define TRIGGERS_KNOWN	(FLOWTAP_TRIGGER_SNAPSHOT | FLOWTAP_TRIGGER_OVERFLOW | \
			 FLOWTAP_TRIGGER_TIMER | FLOWTAP_TRIGGER_SWITCH)

/* A CPU-wide stream traces no tasks that could end, enable it or be followed. */
static bool flags_agree(u32 flags)
{
	if (!(flags & FLOWTAP_CPU_WIDE))
		return !(flags & FLOWTAP_EXCLUDE);
	if (flags & (FLOWTAP_ENABLE_ON_EXEC | FLOWTAP_ENDLESS))
		return false;
	return flags & FLOWTAP_EXCLUDE || !(flags & FLOWTAP_INHERIT);
}

/* The structure is well formed: every field known, in range, and not contradicting another. */
static int check_form(const struct flowtap_configure *configure)
{
	u64 size = (u64)configure->ring_pages << PAGE_SHIFT;

	if (configure->source == FLOWTAP_SOURCE_NONE || configure->source > FLOWTAP_SOURCE_ETE)
		return -EINVAL;
	if (configure->flags & ~FLAGS_SUPPORTED || configure->modes & ~MODES_KNOWN ||
	    configure->triggers & ~TRIGGERS_KNOWN || !configure->modes)
		return -EINVAL;
	if (memchr_inv(configure->reserved, 0, sizeof(configure->reserved)))
		return -EINVAL;
	if (!(configure->flags & FLOWTAP_GROUP) && configure->group_fd)
		return -EINVAL;
	if (!flags_agree(configure->flags))
		return -EINVAL;
	if (!is_power_of_2(configure->ring_pages) || configure->ring_pages > RING_PAGES_MAX ||
	    configure->watermark > size)
		return -EINVAL;
	if (!!configure->timer_ns != !!(configure->triggers & FLOWTAP_TRIGGER_TIMER))
		return -EINVAL;
	if (configure->timer_ns && (configure->timer_ns < TIMER_NS_MIN ||
				    configure->timer_ns > NSEC_PER_SEC))
		return -EINVAL;
	if (configure->source != FLOWTAP_SOURCE_ETE &&
	    (configure->aux_pages || configure->aux_watermark ||
	     memchr_inv(&configure->ete, 0, sizeof(configure->ete))))
		return -EINVAL;
	return event_check(configure);
}

static bool aux_is_sound(const struct flowtap_configure *configure)
{
	u64 size = (u64)configure->aux_pages << PAGE_SHIFT;

	return is_power_of_2(configure->aux_pages) && configure->aux_pages >= 2 &&
	       configure->aux_pages <= RING_PAGES_MAX && configure->aux_watermark <= size;
}

/* What this module and this source do not do, and what the caller may not see. */
static int check_support(const struct flowtap_configure *configure,
			 const struct flowtap_source *source)
{
	if (source->collector && !aux_is_sound(configure))
		return -EINVAL;
	if (configure->modes & ~source->modes ||
	    configure->triggers & ~source->triggers)
		return -EOPNOTSUPP;
	if (configure->flags & FLOWTAP_CPU_WIDE && !perfmon_capable())
		return -EACCES;
	if (configure->modes & FLOWTAP_MODE_KERNEL)
		return flowtap_allow_kernel();
	return 0;
}

/* A record with as many entries as the hardware has must fit, or nothing ever would. */
static bool ring_too_small(const struct flowtap_stream *stream,
			   const struct flowtap_configure *configure)
{
	u64 most = sizeof(struct flowtap_record_sample) + sizeof(struct flowtap_record_lost) +
		   stream->recording.depth * sizeof(struct flowtap_entry);

	return ((u64)configure->ring_pages << PAGE_SHIFT) < most;
}

/* The members of a group agree in everything that the leader's events and hooks decide. */
static bool same_group(const struct flowtap_configure *a, const struct flowtap_configure *b)
{
	return a->ctr.control == b->ctr.control && a->ctr.flags == b->ctr.flags &&
	       !memcmp(&a->ete, &b->ete, sizeof(a->ete)) &&
	       a->source == b->source && a->modes == b->modes && a->triggers == b->triggers &&
	       a->event_type == b->event_type && a->event_config == b->event_config &&
	       a->event_config1 == b->event_config1 && a->event_config2 == b->event_config2 &&
	       a->period == b->period && a->timer_ns == b->timer_ns &&
	       (a->flags | FLOWTAP_GROUP) == (b->flags | FLOWTAP_GROUP);
}

static struct workqueue_struct *teardowns;

static enum hrtimer_restart trigger(struct hrtimer *timer)
{
	struct flowtap_stream *stream = container_of(timer, struct flowtap_stream, timer);

	/* A CPU that goes offline hands its timers to another one: not ours any more. */
	if (smp_processor_id() != stream->cpu)
		return HRTIMER_NORESTART;
	holder_trigger(stream->group, FLOWTAP_TRIGGER_TIMER, get_irq_regs());
	hrtimer_forward_now(timer, ns_to_ktime(stream->timer_ns));
	return HRTIMER_RESTART;
}

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct flowtap_stream *stream = container_of(timer, struct flowtap_stream, tick);

	if (smp_processor_id() == stream->cpu)
		holder_tick(stream);
	return HRTIMER_NORESTART;
}

/* Again, when its CPU is back. */
static void reopen(struct work_struct *work)
{
	struct flowtap_stream *stream = container_of(work, struct flowtap_stream, reopen);
	int error;

	mutex_lock(&stream->group->lock);
	error = stream->closing ? 0 : event_open_cpu(stream);
	mutex_unlock(&stream->group->lock);
	/* -ENODEV: it has gone again. */
	if (error && error != -ENODEV)
		pr_warn("no event on CPU %u any more: error %d\n", stream->cpu, error);
}

/* With samples at switches nothing is left to be kept, but for call stacks. */
static bool keeps_histories(const struct flowtap_stream *stream)
{
	return stream->source->restores && !stream_is_wide(stream) &&
	       (stream->recording.stacks || !(stream->triggers & FLOWTAP_TRIGGER_SWITCH)) &&
	       !(stream->recording.modes & FLOWTAP_MODE_KERNEL);
}

/* The leader's set, or a new one. */
static int find_set(struct flowtap_stream *stream, const struct flowtap_configure *configure,
		    struct flowtap_stream *leader)
{
	struct flowtap_group *group;

	if (!leader) {
		group = group_new(configure, keeps_histories(stream) ? stream->recording.depth : 0,
				  group_serve);
		if (IS_ERR(group))
			return PTR_ERR(group);
		stream->group = group;
		stream->group->pieces = stream->source->collector;
	} else {
		if (!same_group(configure, &leader->group->configure))
			return -EINVAL;
		stream->group = leader->group;
		group_get(stream->group);
	}
	return 0;
}

/* From here on the group's other streams, and the set's group, act on it. */
static int publish(struct flowtap_stream *stream)
{
	struct flowtap_stream *other;
	int error = 0;

	mutex_lock(&stream->group->lock);
	list_for_each_entry(other, &stream->group->streams, group_link)
		if (other->cpu == stream->cpu && !other->closing)
			error = -EEXIST;
	if (!error)
		list_add_tail_rcu(&stream->group_link, &stream->group->streams);
	mutex_unlock(&stream->group->lock);
	return error;
}

static void set_up(struct flowtap_stream *stream, const struct flowtap_configure *configure)
{
	static atomic64_t ids;

	INIT_LIST_HEAD(&stream->group_link);
	INIT_LIST_HEAD(&stream->cpu_link);
	stream->recording.id = atomic64_inc_return(&ids);
	stream->cpu = configure->cpu;
	stream->flags = configure->flags;
	stream->recording.modes = configure->modes;
	stream->triggers = configure->triggers;
	stream->timer_ns = configure->timer_ns;
	stream->timer_left = configure->timer_ns;
	output_init(&stream->output, configure);
	stream->recording.aux = &stream->output.aux;
	stream->everyone.loss = 1U << FLOWTAP_CAUSE_START;
	stream->owner = get_pid(task_tgid(current));
	get_task_comm(stream->owner_name, current);
	INIT_WORK(&stream->reopen, reopen);
	hrtimer_setup(&stream->tick, tick, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	hrtimer_setup(&stream->timer, trigger, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
}

/* That of a CPU-wide stream; a set of tasks has its own. */
static int open_event(struct flowtap_stream *stream)
{
	int error;

	if (!stream_is_wide(stream) || !(stream->triggers & FLOWTAP_TRIGGER_OVERFLOW))
		return 0;
	mutex_lock(&stream->group->lock);
	error = event_open_cpu(stream);
	mutex_unlock(&stream->group->lock);
	return error;
}

/* All that a stream has for itself, and its set. */
static int prepare(struct flowtap_stream *stream, const struct flowtap_configure *configure,
		   struct flowtap_stream *leader)
{
	int error = stream->source->configure(&stream->recording, configure);

	if (error)
		return error;
	if (ring_too_small(stream, configure))
		return -EINVAL;
	error = charge_pages(&stream->charge, output_pages(configure), configure->cpu) ?:
		output_allocate(&stream->output, configure) ?: hooks_get();
	if (error)
		return error;
	stream->hooked = true;
	error = find_set(stream, configure, leader) ?: holder_attach(stream);
	if (error)
		return error;
	stream->attached = true;
	return open_event(stream) ?: publish(stream);
}

static struct flowtap_stream *create(const struct flowtap_configure *configure,
				     struct flowtap_stream *leader)
{
	const struct flowtap_source *source;
	struct flowtap_stream *stream;
	u32 reason;
	int error;

	error = check_form(configure);
	if (error)
		return ERR_PTR(error);
	if (configure->cpu >= nr_cpu_ids || !cpu_possible(configure->cpu))
		return ERR_PTR(-EINVAL);
	source = source_find(configure->source, configure->cpu, &reason);
	if (!source)
		return ERR_PTR(reason == FLOWTAP_REASON_OWNED ? -EBUSY : -ENODEV);
	error = check_support(configure, source);
	if (error)
		return ERR_PTR(error);

	stream = kzalloc(sizeof(*stream), GFP_KERNEL_ACCOUNT);
	if (!stream)
		return ERR_PTR(-ENOMEM);
	stream->source = source;
	set_up(stream, configure);
	error = prepare(stream, configure, leader);
	if (error) {
		stream_close(stream);
		return ERR_PTR(error);
	}
	return stream;
}

struct flowtap_stream *stream_new(const struct flowtap_configure *configure,
				  struct flowtap_stream *leader)
{
	struct flowtap_stream *stream = create(configure, leader);

	/* There may be space when what the user has closed is gone. */
	if ((stream == ERR_PTR(-EMFILE) || stream == ERR_PTR(-EPERM)) && charge_wait())
		stream = create(configure, leader);
	return stream;
}

/* Of whatever there is of it: nobody knows it any more, nor its set if it was the last. */
static void discard(struct flowtap_stream *stream)
{
	if (stream->last)
		group_free(stream->group);
	if (stream->hooked)
		hooks_put();
	put_pid(stream->owner);
	output_free(&stream->output);
	charge_return(&stream->charge);
	kfree(stream);
}

static void discard_later(struct work_struct *work)
{
	discard(container_of(to_rcu_work(work), struct flowtap_stream, teardown));
}

/*
 * No CPU finds it any more. Only here is it off its CPU for sure, and only then may it leave the
 * group: who takes a task out of the set asks the group's streams to release its member before
 * that is freed.
 */
static void leave_group(struct work_struct *work)
{
	struct flowtap_stream *stream = container_of(to_rcu_work(work), struct flowtap_stream,
						     teardown);

	remote_release(stream);
	cancel_work_sync(&stream->reopen);
	hrtimer_cancel(&stream->timer);
	hrtimer_cancel(&stream->tick);
	if (!list_empty(&stream->group_link)) {
		mutex_lock(&stream->group->lock);
		list_del_rcu(&stream->group_link);
		mutex_unlock(&stream->group->lock);
	}
	stream->last = group_put(stream->group);
	INIT_RCU_WORK(&stream->teardown, discard_later);
	queue_rcu_work(teardowns, &stream->teardown);
}

void stream_close(struct flowtap_stream *stream)
{
	/* The first thing that others can find it by. */
	if (!stream->group) {
		discard(stream);
		return;
	}
	charge_closing(&stream->charge);
	mutex_lock(&stream->group->lock);
	WRITE_ONCE(stream->closing, true);
	WRITE_ONCE(stream->enabled, false);
	event_close_cpu(stream);
	event_sync(stream->group);
	if (!group_is_open(stream->group))
		group_drop_key(stream->group);
	mutex_unlock(&stream->group->lock);
	if (stream->attached) {
		holder_detach(stream);
		remote_release(stream);
	}
	INIT_RCU_WORK(&stream->teardown, leave_group);
	queue_rcu_work(teardowns, &stream->teardown);
}

int stream_init(void)
{
	teardowns = alloc_workqueue("flowtap", WQ_UNBOUND, 0);
	return teardowns ? 0 : -ENOMEM;
}

void stream_exit(void)
{
	/* The first of a stream's two works queues the second. */
	rcu_barrier();
	flush_workqueue(teardowns);
	rcu_barrier();
	destroy_workqueue(teardowns);
}

void stream_stats(struct flowtap_stream *stream, struct flowtap_stats *stats)
{
	output_stats(&stream->output, stats);
	/* Each sample has one, written or lost; an AUX record may have none. */
	if (!stream->source->collector)
		stats->triggers = stats->samples + stats->lost_samples;
	stats->tasks = READ_ONCE(stream->group->set.count);
	stats->enabled_ns = stream->enabled_ns;
	if (READ_ONCE(stream->enabled))
		stats->enabled_ns += ktime_get_raw_fast_ns() - READ_ONCE(stream->enabled_since);
}

__poll_t stream_poll(struct flowtap_stream *stream)
{
	bool ended = group_ended(stream->group);

	/* Nothing more may come: whatever waits is worth waking for. */
	return (ended ? EPOLLHUP : 0) |
	       output_poll(&stream->output, ended || !READ_ONCE(stream->enabled));
}
