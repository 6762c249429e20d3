// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows who holds a CPU's source when several want it: one CPU-wide stream before all others, of
 * streams with tasks the older one, and nobody without rights in anybody's way.
 */
#include <grp.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "traced.h"

#define USER 1000
#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

FIXTURE(wide)
{
	struct stream stream;
	struct stream other;
	struct flowtap_configure configure;	/* a CPU-wide stream */
	struct flowtap_configure tasks;		/* one with tasks */
};

FIXTURE_VARIANT(wide)
{
	unsigned int source;
};

FIXTURE_VARIANT_ADD(wide, soft)
{
	.source = FLOWTAP_SOURCE_SOFT,
};

FIXTURE_VARIANT_ADD(wide, ctr)
{
	.source = FLOWTAP_SOURCE_CTR,
};

static struct flowtap_query query_cpu(unsigned int source, unsigned int cpu)
{
	struct flowtap_query query = { .want = source, .cpu = cpu };
	int fd = open_device();

	if (command(fd, FLOWTAP_IOC_QUERY, &query))
		memset(&query, 0, sizeof(query));
	close(fd);
	return query;
}

FIXTURE_SETUP(wide)
{
	struct flowtap_query query = query_cpu(variant->source, 0);

	self->stream.fd = -1;
	self->other.fd = -1;
	if (!query.source)
		SKIP(return, "source %u is not on this machine", variant->source);
	if (!(query.flags & FLOWTAP_CPU_WIDE))
		SKIP(return, "this module has no CPU-wide streams");
	unthrottle();
	self->tasks = plain(variant->source, 0);
	self->tasks.ring_pages = 256;
	self->tasks.triggers = FLOWTAP_TRIGGER_TIMER | FLOWTAP_TRIGGER_SWITCH;
	self->tasks.timer_ns = 1000000;
	self->configure = self->tasks;
	self->configure.flags = FLOWTAP_CPU_WIDE;
	/* All is about CPU 0; where there is another, we look from there. */
	ASSERT_EQ(0, pin(0, cpus_online() > 1));
}

FIXTURE_TEARDOWN(wide)
{
	stream_close(&self->stream);
	stream_close(&self->other);
}

TEST_F(wide, there_is_one_on_a_cpu_and_who_it_is_is_told)
{
	struct flowtap_query query;
	int status, round;
	pid_t pid;

	for (round = 0; round < 2; round++) {
		ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
		if (round)
			ASSERT_EQ(0, enable(&self->stream));
		EXPECT_EQ(-EBUSY, stream_open(&self->other, &self->configure));
		query = query_cpu(variant->source, 0);
		EXPECT_EQ(getpid(), query.holder_pid);
		EXPECT_STREQ("streams", (char *)query.holder_comm);
		/* For another process as well: it is not about who asks. */
		pid = fork();
		if (!pid) {
			prctl(PR_SET_NAME, "another");
			query = query_cpu(variant->source, 0);
			_exit(stream_open(&self->other, &self->configure) == -EBUSY &&
			      query.holder_pid == getppid() &&
			      !strcmp((char *)query.holder_comm, "streams") ? 0 : 1);
		}
		waitpid(pid, &status, 0);
		EXPECT_EQ(0, status);
		stream_close(&self->stream);
		/* Free again. */
		EXPECT_EQ(0, stream_open(&self->other, &self->configure));
		stream_close(&self->other);
	}
	EXPECT_EQ(0, query_cpu(variant->source, 0).holder_pid);
}

TEST_F(wide, each_cpu_has_its_own)
{
	if (cpus_online() < 2)
		SKIP(return, "one CPU");
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(0, enable(&self->stream));
	self->configure.cpu = 1;
	ASSERT_EQ(0, stream_open(&self->other, &self->configure));
	ASSERT_EQ(0, enable(&self->other));
	EXPECT_EQ(1, stream_next_sample(&self->stream, 5000));
	EXPECT_EQ(0, self->stream.record.sample.cpu);
	EXPECT_EQ(1, stream_next_sample(&self->other, 5000));
	EXPECT_EQ(1, self->other.record.sample.cpu);
}

TEST_F(wide, it_takes_no_tasks)
{
	static const uint32_t flags[] = { FLOWTAP_INHERIT, FLOWTAP_ENABLE_ON_EXEC };
	struct flowtap_configure configure;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		configure = self->configure;
		configure.flags |= flags[i];
		EXPECT_EQ(-EINVAL, stream_open(&self->stream, &configure)) TH_LOG("%#x", flags[i]);
		stream_close(&self->stream);
	}
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	EXPECT_EQ(-EINVAL, add_task(&self->stream, getpid(), 0));
	EXPECT_GT(0, remove_task(&self->stream, getpid(), 0));
	/* No last task has ended: nobody is to hang up. */
	EXPECT_EQ(0, poll_now(&self->stream) & POLLHUP);
}

TEST_F(wide, every_sample_is_one_tasks_and_the_sequence_is_the_cpus)
{
	const struct flowtap_record_sample *sample = &self->stream.record.sample;
	pid_t tids[2] = { spinner(0), spinner(0) };
	unsigned int seen[2] = { 0 }, i, n, switched = 0;
	uint64_t sequence = 0;

	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(0, enable(&self->stream));
	for (n = 0; n < 20000 && (seen[0] < 6 || seen[1] < 6 || switched < 6); n++) {
		ASSERT_EQ(1, stream_next_sample(&self->stream, 10000));
		EXPECT_NE(0, sample->header.misc & FLOWTAP_MISC_CPU_WIDE);
		if (sequence)
			EXPECT_EQ(!sample->loss, sample->sequence == sequence + 1);
		EXPECT_LT(sequence, sample->sequence);
		sequence = sample->sequence;
		switched += sample->trigger == FLOWTAP_TRIGGER_SWITCH;
		for (i = 0; i < 2; i++)
			seen[i] += sample->tid == tids[i] && sample->pid == tids[i];
	}
	EXPECT_LT(5, seen[0]);
	EXPECT_LT(5, seen[1]);
	EXPECT_LT(5, switched);
	end(tids[0]);
	end(tids[1]);
}

static void *end_at_once(void *unused)
{
	return NULL;
}

/* A process on CPU 0 that makes one thread after another, which end before any timer. */
static pid_t thread_maker(void)
{
	pid_t pid = fork_pinned(0);
	pthread_t thread;

	if (pid)
		return pid;
	for (;;)
		if (!pthread_create(&thread, NULL, end_at_once, NULL))
			pthread_join(thread, NULL);
}

/*
 * A thread that has ended is reaped before it leaves its CPU for the last time: it has no numbers
 * then.
 */
TEST_F(wide, the_last_sample_of_a_thread_has_its_number)
{
	const struct flowtap_record_sample *sample = &self->stream.record.sample;
	pid_t maker = thread_maker(), last = 0;
	unsigned int threads = 0, n;

	self->configure.triggers = FLOWTAP_TRIGGER_SWITCH;
	self->configure.timer_ns = 0;
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(0, enable(&self->stream));
	for (n = 0; n < 20000 && threads < 50; n++) {
		ASSERT_EQ(1, stream_next_sample(&self->stream, 10000));
		/*
		 * What soft has of the idle task, and of who comes back after it was reaped, has 0.
		 */
		if (variant->source == FLOWTAP_SOURCE_CTR)
			ASSERT_NE(0, sample->tid) TH_LOG("sample %u", n);
		if (sample->pid != maker || sample->tid == maker || sample->tid == last)
			continue;
		last = sample->tid;
		threads++;
	}
	EXPECT_EQ(50, threads);
	end(maker);
}

/* DISPLACED has been told, in a record of its own or with a sample. */
static bool displacement_told(struct stream *stream)
{
	bool told = false;

	while (stream_next(stream) == 1) {
		if (stream->record.header.type == FLOWTAP_RECORD_GAP)
			told |= stream->record.gap.cause == FLOWTAP_CAUSE_DISPLACED;
		if (stream->record.header.type == FLOWTAP_RECORD_SAMPLE)
			told |= stream->record.sample.loss >> FLOWTAP_CAUSE_DISPLACED & 1;
	}
	return told;
}

TEST_F(wide, while_it_is_enabled_the_streams_of_tasks_have_gaps)
{
	struct flowtap_stats before;
	uint64_t displacements = 0;
	unsigned int round;
	pid_t tid = spinner(0);

	ASSERT_EQ(0, stream_open(&self->other, &self->tasks));
	ASSERT_EQ(1, add_task(&self->other, tid, 0));
	ASSERT_EQ(0, enable(&self->other));
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	for (round = 0; round < 6; round++) {
		/* Configured, not enabled: it is in nobody's way. */
		ASSERT_EQ(1, stream_next_sample(&self->other, 5000));
		ASSERT_EQ(0, enable(&self->stream));
		displacement_told(&self->other);
		before = stats(&self->other);
		/* Long enough for the task to be on the CPU meanwhile. */
		ASSERT_TRUE(WAIT_FOR(stats(&self->other).losses[FLOWTAP_CAUSE_DISPLACED] >
				     displacements));
		displacements = stats(&self->other).losses[FLOWTAP_CAUSE_DISPLACED];
		ASSERT_TRUE(WAIT_FOR(stats(&self->stream).samples > 10 * (round + 1)));
		EXPECT_EQ(before.samples, stats(&self->other).samples);
		if (round < 5) {
			ASSERT_EQ(0, disable(&self->stream));
		} else {
			stream_close(&self->stream);
		}
		ASSERT_TRUE(WAIT_FOR(stats(&self->other).samples > before.samples));
		EXPECT_LT(0, stats(&self->other).losses[FLOWTAP_CAUSE_DISPLACED]);
		EXPECT_TRUE(displacement_told(&self->other)) TH_LOG("round %u", round);
	}
	end(tid);
}

TEST_F(wide, who_is_configured_later_waits)
{
	pid_t tid = spinner(0);

	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(0, enable(&self->stream));
	/* Displacement is no reason to refuse a stream with tasks. */
	ASSERT_EQ(0, stream_open(&self->other, &self->tasks));
	ASSERT_EQ(1, add_task(&self->other, tid, 0));
	ASSERT_EQ(0, enable(&self->other));
	ASSERT_TRUE(WAIT_FOR(stats(&self->stream).samples > 20));
	EXPECT_EQ(0, stats(&self->other).samples);
	EXPECT_EQ(0, snapshot(&self->other));
	stream_close(&self->stream);
	EXPECT_EQ(1, stream_next_sample(&self->other, 5000));
	EXPECT_NE(0, self->other.record.sample.loss);
	end(tid);
}

/* It had a stream all the time: another one had the CPU. */
TEST_F(wide, who_ends_displaced_was_not_without_a_stream)
{
	pid_t tid = spinner(0);
	unsigned int causes = 0;

	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(0, enable(&self->stream));
	ASSERT_EQ(0, stream_open(&self->other, &self->tasks));
	ASSERT_EQ(1, add_task(&self->other, tid, 0));
	ASSERT_EQ(0, enable(&self->other));
	ASSERT_TRUE(WAIT_FOR(stats(&self->other).losses[FLOWTAP_CAUSE_DISPLACED]));
	end(tid);
	ASSERT_TRUE(WAIT_FOR(!stats(&self->other).tasks));
	while (stream_next(&self->other) == 1)
		if (self->other.record.header.type == FLOWTAP_RECORD_GAP)
			causes |= 1U << self->other.record.gap.cause;
	EXPECT_TRUE(causes & 1U << FLOWTAP_CAUSE_DISPLACED);
	EXPECT_FALSE(causes & 1U << FLOWTAP_CAUSE_NO_STREAM);
}

/* A stack that was not kept up in between is another one. */
TEST_F(wide, call_stacks_after_a_time_without_tracing_have_a_loss)
{
	const struct flowtap_record_sample *sample = &self->stream.record.sample;
	const uint64_t stacks = 1 << 7;		/* sctrctl.RASEMU */
	unsigned int round;
	uint64_t last;

	if (!(query_cpu(variant->source, 0).ctr.settable & stacks))
		SKIP(return, "no RAS emulation here");
	self->configure.ctr.control = stacks;
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(0, enable(&self->stream));
	for (round = 0; round < 5; round++) {
		ASSERT_EQ(1, stream_next_sample(&self->stream, 5000));
		ASSERT_EQ(0, disable(&self->stream));
		do {
			last = sample->sequence;
		} while (stream_next_sample(&self->stream, 0) == 1);
		ASSERT_EQ(0, enable(&self->stream));
		ASSERT_EQ(1, stream_next_sample(&self->stream, 5000));
		EXPECT_NE(0, sample->loss & 1 << FLOWTAP_CAUSE_DISABLED);
		EXPECT_LT(last + 1, sample->sequence);
	}
}

static pid_t yielder(int cpu)
{
	pid_t pid = fork_pinned(cpu);

	while (!pid)
		sched_yield();
	return pid;
}

/* The CPU may go from task to task between the command and its interrupt. */
TEST_F(wide, so_have_those_that_were_disabled_at_a_task_switch)
{
	const struct flowtap_record_sample *sample = &self->stream.record.sample;
	const uint64_t stacks = 1 << 7;		/* sctrctl.RASEMU */
	pid_t tasks[2];
	unsigned int round;
	uint64_t last = 0;

	if (!(query_cpu(variant->source, 0).ctr.settable & stacks))
		SKIP(return, "no RAS emulation here");
	tasks[0] = yielder(0);
	tasks[1] = yielder(0);
	self->configure.ctr.control = stacks;
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	for (round = 0; round < 100; round++) {
		ASSERT_EQ(0, enable(&self->stream));
		ASSERT_EQ(1, stream_next_sample(&self->stream, 5000));
		if (round) {
			EXPECT_NE(0, sample->loss & 1 << FLOWTAP_CAUSE_DISABLED);
			EXPECT_LT(last + 1, sample->sequence);
		}
		ASSERT_EQ(0, disable(&self->stream));
		do {
			last = sample->sequence;
		} while (stream_next_sample(&self->stream, 0) == 1);
	}
	end(tasks[0]);
	end(tasks[1]);
}

TEST_F(wide, a_killed_holder_lets_go)
{
	unsigned int round;

	for (round = 0; round < 10; round++) {
		pid_t holder = fork();

		if (!holder) {
			if (stream_open(&self->stream, &self->configure) || enable(&self->stream))
				_exit(1);
			spin();
		}
		ASSERT_TRUE(WAIT_FOR(query_cpu(variant->source, 0).holder_pid == holder));
		EXPECT_TRUE(WIFSIGNALED(end(holder)));
		EXPECT_EQ(0, stream_open(&self->other, &self->configure));
		stream_close(&self->other);
	}
}

TEST_F(wide, the_holder_is_not_told_to_who_cannot_see_him)
{
	int status;
	pid_t pid;

	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(0, enable(&self->stream));
	pid = fork();
	if (!pid) {
		struct flowtap_query query;

		if (unshare(CLONE_NEWPID))
			_exit(2);
		pid = fork();
		if (pid) {
			waitpid(pid, &status, 0);
			_exit(WEXITSTATUS(status));
		}
		query = query_cpu(variant->source, 0);
		_exit(!query.source || query.holder_pid || query.holder_comm[0]);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, WEXITSTATUS(status));
}

static bool become_user(void)
{
	return !setgroups(0, NULL) && !setresgid(USER, USER, USER) && !setresuid(USER, USER, USER);
}

TEST_F(wide, who_has_no_rights_is_in_nobodys_way)
{
	pid_t tid = spinner(0), user;
	int status, ready[2];
	char byte;

	if (geteuid())
		SKIP(return, "not root");
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, chmod(DEVICE, 0666));
	user = fork();
	if (!user) {
		struct stream own;
		struct flowtap_enable enable_group = { .flags = FLOWTAP_ENABLE_GROUP };

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!become_user() || prctl(PR_SET_DUMPABLE, 1))
			_exit(2);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (stream_open(&own, &self->configure) != -EACCES)
			_exit(3);
		/* The oldest stream of this CPU, for ever enabled. */
		if (stream_open(&own, &self->tasks) || add_task(&own, getpid(), 0) != 1)
			_exit(4);
		pin(0, 0);
		if (command(own.fd, FLOWTAP_IOC_ENABLE, &enable_group))
			_exit(5);
		if (write(ready[1], "", 1) != 1)
			_exit(6);
		for (;;)
			snapshot(&own);
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	ASSERT_EQ(0, chmod(DEVICE, 0660));
	/* Neither a CPU-wide stream minds him, nor one with tasks of its own. */
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(0, enable(&self->stream));
	ASSERT_EQ(1, stream_next_sample(&self->stream, 5000));
	stream_close(&self->stream);
	ASSERT_EQ(0, stream_open(&self->other, &self->tasks));
	ASSERT_EQ(1, add_task(&self->other, tid, 0));
	ASSERT_EQ(0, enable(&self->other));
	EXPECT_EQ(1, stream_next_sample(&self->other, 5000));
	EXPECT_EQ(tid, self->other.record.sample.tid);
	EXPECT_EQ(0, waitpid(user, &status, WNOHANG)) TH_LOG("exit %d", WEXITSTATUS(status));
	end(user);
	end(tid);
}

/* What perf's rule for kernel addresses says is what we say. */
TEST(kernel_mode_is_for_whom_perf_lets_see_kernel_addresses)
{
	static const struct { const char *paranoid; bool user; int error; } cases[] = {
		{ "2", true, -EACCES }, { "1", true, 0 }, { "2", false, 0 },
	};
	struct flowtap_configure configure = plain(FLOWTAP_SOURCE_CTR, 0);
	char before[16] = { 0 };
	unsigned int i;
	int status, fd;

	if (!(query_cpu(FLOWTAP_SOURCE_CTR, 0).modes & FLOWTAP_MODE_KERNEL) || geteuid())
		SKIP(return, "no kernel mode here, or not root");
	fd = open(PARANOID, O_RDONLY);
	ASSERT_LT(0, read(fd, before, sizeof(before) - 1));
	close(fd);
	ASSERT_EQ(0, chmod(DEVICE, 0666));
	configure.modes = FLOWTAP_MODE_USER | FLOWTAP_MODE_KERNEL;
	for (i = 0; i < 3; i++) {
		struct stream stream;
		pid_t pid;

		ASSERT_EQ(0, write_file(PARANOID, cases[i].paranoid));
		pid = fork();
		if (!pid) {
			if (cases[i].user && !become_user())
				_exit(2);
			_exit(stream_open(&stream, &configure) != cases[i].error);
		}
		waitpid(pid, &status, 0);
		EXPECT_EQ(0, status) TH_LOG("case %u", i);
	}
	write_file(PARANOID, before);
	chmod(DEVICE, 0660);
}

/* Thirty-two groups, each with a task of its own and a stream on each of two CPUs at most. */
#define GROUPS 32
TEST_F_TIMEOUT(tasks, sixty_four_streams_in_groups_all_get_their_turn, 600)
{
	struct stream *streams = calloc(2 * GROUPS, sizeof(*streams));
	unsigned int cpus = cpus_online() > 1 ? 2 : 1, order[2 * GROUPS], i, n, seed = 1;
	pid_t tids[GROUPS];

	self->configure.triggers |= FLOWTAP_TRIGGER_SWITCH;
	self->configure.ring_pages = 16;
	for (i = 0; i < GROUPS; i++) {
		struct flowtap_enable group = { .flags = FLOWTAP_ENABLE_GROUP };

		tids[i] = spinner(-1);
		/* We want to get on as well. */
		setpriority(PRIO_PROCESS, tids[i], 10);
		for (n = 0; n < 2; n++) {
			struct stream *stream = &streams[2 * i + n];
			struct flowtap_configure configure = self->configure;

			if (n && cpus > 1) {
				configure.cpu = 1;
				configure.flags |= FLOWTAP_GROUP;
				configure.group_fd = streams[2 * i].fd;
			}
			ASSERT_EQ(0, stream_open(stream, &configure));
			order[2 * i + n] = 2 * i + n;
		}
		ASSERT_EQ(1, add_task(&streams[2 * i], tids[i], 0));
		ASSERT_EQ(0, command(streams[2 * i].fd, FLOWTAP_IOC_ENABLE, &group));
		pin(tids[i], i % cpus);
	}
	/* Nobody stands in another's way: each has a task that no other has. */
	for (i = 0; i < GROUPS; i++) {
		struct stream *stream = &streams[2 * i + (cpus > 1 && i % 2)];

		EXPECT_EQ(1, stream_next_sample(stream, 20000)) TH_LOG("group %u", i);
		EXPECT_EQ(tids[i], stream->record.sample.tid);
		EXPECT_EQ(0, stats(stream).losses[FLOWTAP_CAUSE_DISPLACED]);
	}
	/* They go in no order, others go on. */
	for (i = 2 * GROUPS - 1; i; i--) {
		unsigned int other = rand_r(&seed) % (i + 1), keep = order[i];

		order[i] = order[other];
		order[other] = keep;
	}
	for (i = 0; i < GROUPS; i++)
		stream_close(&streams[order[i]]);
	/* All at once: the others would take the CPU from who ends. */
	for (i = 0; i < GROUPS; i++)
		kill(tids[i], SIGKILL);
	for (i = 0; i < GROUPS; i++)
		EXPECT_TRUE(WIFSIGNALED(end(tids[i])));
	for (i = GROUPS; i < 2 * GROUPS; i++)
		stream_close(&streams[order[i]]);
	free(streams);
}

TEST_HARNESS_MAIN
