// SPDX-License-Identifier: GPL-2.0-only
/*
 * Has the holder's functions called on the stream's CPU by an interrupt, where the stream may
 * have a task there.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "holder.h"
#include "remote.h"
#include "stream.h"

/*
 * The change before this: who comes onto the CPU from here on sees it. The scheduler chooses nobody
 * for a CPU where he is not allowed, and who was there before is held, or is about to be.
 */
static bool holds(const struct flowtap_stream *stream)
{
	smp_mb();
	return holder_is(stream);
}

bool remote_may_have(const struct flowtap_stream *stream, const struct task_struct *task)
{
	return holds(stream) || cpumask_test_cpu(stream->cpu, READ_ONCE(task->cpus_ptr)) ||
	       (task_cpu(task) == stream->cpu && READ_ONCE(task->__state) == TASK_RUNNING);
}

struct flowtap_question {
	struct flowtap_stream *stream;
	bool yes;
};

static void ask(struct flowtap_member *member, void *argument)
{
	struct flowtap_question *question = argument;

	question->yes |= remote_may_have(question->stream, member->task);
}

bool remote_may_have_any(struct flowtap_stream *stream)
{
	struct flowtap_question question = {
		.stream = stream,
		.yes = stream_is_wide(stream) || holds(stream),
	};

	if (!question.yes)
		set_each(&stream->group->set, ask, &question);
	return question.yes;
}

static void reconsider(void *stream)
{
	holder_reconsider(stream);
}

/* An offline CPU has nothing to be stopped (see on_cpu_offline()), and writes nothing itself. */
void remote_reconsider(struct flowtap_stream *stream)
{
	if (!smp_call_function_single(stream->cpu, reconsider, stream, 1))
		return;
	cpus_read_lock();
	if (smp_call_function_single(stream->cpu, reconsider, stream, 1))
		holder_write_rest(stream);
	cpus_read_unlock();
}

struct flowtap_snapshot_request {
	struct flowtap_stream *stream;
	u32 entries;
};

static void snapshot(void *argument)
{
	struct flowtap_snapshot_request *request = argument;

	request->entries = holder_snapshot(request->stream);
}

u32 remote_snapshot(struct flowtap_stream *stream)
{
	struct flowtap_snapshot_request request = { .stream = stream };

	/* Nobody else's task is interrupted for it. */
	if (holder_is(stream))
		smp_call_function_single(stream->cpu, snapshot, &request, 1);
	return request.entries;
}

static void release(void *stream)
{
	holder_release(stream);
}

void remote_release(struct flowtap_stream *stream)
{
	/* Nobody's CPU is interrupted for nothing. */
	if (holds(stream))
		smp_call_function_single(stream->cpu, release, stream, 1);
}
