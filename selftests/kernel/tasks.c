// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows who is traced: threads and children as they come; whoever is removed, executes or ends no
 * more.
 */
#include <pthread.h>

#include "traced.h"

/* A process of three threads: two from the start, one more when told. */
struct crew {
	volatile pid_t tids[3];
	volatile bool more;
	volatile bool less;		/* the main thread ends */
};

static void *work(void *argument)
{
	*(volatile pid_t *)argument = gettid();
	spin();
	return NULL;
}

static struct crew *make_crew(pid_t *pid)
{
	struct crew *crew = mmap(NULL, sizeof(*crew), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	*pid = fork_pinned(0);
	if (!*pid) {
		crew->tids[0] = getpid();
		pthread_create(&thread, NULL, work, (void *)&crew->tids[1]);
		while (!crew->more)
			if (crew->less)
				pthread_exit(NULL);
		pthread_create(&thread, NULL, work, (void *)&crew->tids[2]);
		spin();
	}
	while (!crew->tids[1])
		sleep_ms(1);
	return crew;
}

TEST_F(tasks, threads_there_and_threads_to_come_are_traced)
{
	struct crew *crew;
	pid_t pid;

	crew = make_crew(&pid);
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(2, add_task(&self->stream, pid, 0));
	ASSERT_EQ(2, stats(&self->stream).tasks);
	ASSERT_EQ(0, enable(&self->stream));
	EXPECT_TRUE(sample_comes(&self->stream, crew->tids[0]));
	EXPECT_TRUE(sample_comes(&self->stream, crew->tids[1]));
	crew->more = true;
	while (!crew->tids[2])
		sleep_ms(1);
	EXPECT_TRUE(sample_comes(&self->stream, crew->tids[2]));
	EXPECT_EQ(pid, found.pid);
	EXPECT_EQ(3, stats(&self->stream).tasks);
	EXPECT_EQ(3, remove_task(&self->stream, pid, 0));
	EXPECT_EQ(0, stats(&self->stream).tasks);
	end(pid);
}

/*
 * It does not run when it is removed: what it has recorded since its last sample is kept, but by the soft
 * source. That may be nothing, once, where we were woken by the sample itself.
 */
TEST_F(tasks, who_is_removed_leaves_a_gap_for_what_no_sample_has)
{
	const unsigned int cause = variant->source == FLOWTAP_SOURCE_SOFT ?
		FLOWTAP_CAUSE_SWITCH : FLOWTAP_CAUSE_DISABLED;
	pid_t pid = spinner(0);
	unsigned int causes = 0;
	uint64_t last;

	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(0, enable(&self->stream));
	for (int round = 0; round < 20 && !(causes & 1U << cause); round++) {
		ASSERT_EQ(1, add_task(&self->stream, pid, 0));
		ASSERT_TRUE(sample_comes(&self->stream, pid));
		last = found.time;
		/* Time in which it runs; a timer ends it, not a sample. */
		sleep_ms(2);
		ASSERT_EQ(1, remove_task(&self->stream, pid, 0));
		while (stream_next(&self->stream) == 1) {
			const struct flowtap_record_gap *gap = &self->stream.record.gap;

			if (gap->header.type == FLOWTAP_RECORD_SAMPLE)
				last = self->stream.record.sample.time;
			if (gap->header.type != FLOWTAP_RECORD_GAP)
				continue;
			EXPECT_EQ(pid, (pid_t)gap->tid);
			EXPECT_EQ(last, gap->since);
			causes |= 1U << gap->cause;
		}
	}
	EXPECT_TRUE(causes & 1U << cause);
	end(pid);
}

TEST_F(tasks, one_thread_alone)
{
	struct crew *crew;
	pid_t pid;

	crew = make_crew(&pid);
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	/* A thread's number is no process's. */
	EXPECT_EQ(-ESRCH, add_task(&self->stream, crew->tids[1], 0));
	ASSERT_EQ(1, add_task(&self->stream, crew->tids[1], FLOWTAP_TASK_THREAD));
	ASSERT_EQ(0, enable(&self->stream));
	EXPECT_TRUE(sample_comes(&self->stream, crew->tids[1]));
	sleep_ms(100);
	EXPECT_EQ(0, samples_of(&self->stream, crew->tids[0]));
	end(pid);
}

TEST_F(tasks, a_process_whose_main_thread_has_ended)
{
	struct crew *crew;
	pid_t pid;

	crew = make_crew(&pid);
	crew->less = true;
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_TRUE(WAIT_FOR(state_of(pid) == 'Z'));
	ASSERT_EQ(1, add_task(&self->stream, pid, 0));
	ASSERT_EQ(0, enable(&self->stream));
	EXPECT_TRUE(sample_comes(&self->stream, crew->tids[1]));
	EXPECT_EQ(pid, found.pid);
	end(pid);
}

/* A process that forks a child after a while; its pid in *child. */
static pid_t forker(volatile pid_t *child, volatile bool *go)
{
	pid_t pid = fork_pinned(0);

	if (!pid) {
		while (!*go)
			;
		*child = spinner(0);
		spin();
	}
	return pid;
}

TEST_F(tasks, children_are_traced_where_that_is_asked_for)
{
	struct { volatile pid_t child; volatile bool go; } *shared;
	unsigned int inherit;
	pid_t pid;

	for (inherit = 0; inherit < 2; inherit++) {
		shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		self->configure.flags = inherit ? FLOWTAP_INHERIT : 0;
		pid = forker(&shared->child, &shared->go);
		ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
		ASSERT_EQ(1, add_task(&self->stream, pid, 0));
		ASSERT_EQ(0, enable(&self->stream));
		shared->go = true;
		while (!shared->child)
			sleep_ms(1);
		if (inherit) {
			EXPECT_TRUE(sample_comes(&self->stream, shared->child));
			EXPECT_EQ(shared->child, found.pid);
			EXPECT_EQ(2, stats(&self->stream).tasks);
		} else {
			sleep_ms(100);
			EXPECT_EQ(0, samples_of(&self->stream, shared->child));
			EXPECT_EQ(1, stats(&self->stream).tasks);
		}
		kill(shared->child, SIGKILL);
		end(pid);
		stream_close(&self->stream);
	}
}

TEST_F(tasks, who_is_removed_is_not_traced)
{
	pid_t one = spinner(0), other = spinner(0);

	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(1, add_task(&self->stream, one, 0));
	ASSERT_EQ(1, add_task(&self->stream, other, 0));
	ASSERT_EQ(0, enable(&self->stream));
	EXPECT_TRUE(sample_comes(&self->stream, one));
	EXPECT_EQ(1, remove_task(&self->stream, one, 0));
	samples_of(&self->stream, one);
	EXPECT_TRUE(sample_comes(&self->stream, other));
	sleep_ms(50);
	EXPECT_EQ(0, samples_of(&self->stream, one));
	/* Again: it begins anew, with a loss. */
	EXPECT_EQ(1, add_task(&self->stream, one, 0));
	EXPECT_TRUE(sample_comes(&self->stream, one));
	end(one);
	end(other);
}

/* A child that waits to be told, then executes the program that argument names. */
static pid_t executor(volatile bool *go, char *const argument)
{
	pid_t pid = fork_pinned(0);

	if (!pid) {
		while (!*go)
			;
		execl("/proc/self/exe", "executed", argument, NULL);
		_exit(1);
	}
	return pid;
}

TEST_F(tasks, tracing_goes_on_over_exec)
{
	volatile bool *go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				 -1, 0);
	pid_t pid = executor(go, ROLE_SPIN);

	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(1, add_task(&self->stream, pid, 0));
	ASSERT_EQ(0, enable(&self->stream));
	EXPECT_TRUE(sample_comes(&self->stream, pid));
	*go = true;
	sleep_ms(200);
	samples_of(&self->stream, pid);
	EXPECT_TRUE(sample_comes(&self->stream, pid));
	EXPECT_EQ(1, stats(&self->stream).tasks);
	end(pid);
}

TEST_F(tasks, enable_on_exec_begins_at_exec)
{
	volatile bool *go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				 -1, 0);
	pid_t pid = executor(go, ROLE_SPIN), other = executor(go, ROLE_SPIN);

	self->configure.flags = FLOWTAP_ENABLE_ON_EXEC;
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(1, add_task(&self->stream, pid, 0));
	sleep_ms(100);
	EXPECT_EQ(0, stats(&self->stream).triggers);
	EXPECT_EQ(0, stats(&self->stream).enabled_ns);
	*go = true;
	EXPECT_TRUE(sample_comes(&self->stream, pid));
	EXPECT_LT(0, stats(&self->stream).enabled_ns);
	EXPECT_EQ(0, samples_of(&self->stream, other));
	end(pid);
	end(other);
}

static void *execute(void *go)
{
	((volatile bool *)go)[1] = true;
	while (!*(volatile bool *)go)
		;
	execl("/proc/self/exe", "executed", ROLE_SPIN, NULL);
	return NULL;
}

TEST_F(tasks, a_thread_that_executes_stays_traced_as_the_process)
{
	volatile bool *go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				 -1, 0);
	pid_t pid = fork_pinned(0);
	pthread_t thread;

	if (!pid) {
		pthread_create(&thread, NULL, execute, (void *)go);
		spin();
	}
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_TRUE(WAIT_FOR(go[1]));
	ASSERT_EQ(2, add_task(&self->stream, pid, 0));
	ASSERT_EQ(0, enable(&self->stream));
	*go = true;
	sleep_ms(300);
	samples_of(&self->stream, pid);
	EXPECT_TRUE(sample_comes(&self->stream, pid));
	EXPECT_EQ(1, stats(&self->stream).tasks);
	EXPECT_EQ(0, poll_now(&self->stream) & POLLHUP);
	end(pid);
}

/* A process whose second thread executes ROLE_SPIN when told, which then writes to the pipe. */
struct renamed {
	volatile bool go;
	volatile pid_t tid;		/* the thread's own number */
	char pipe[12];
};

static void *execute_renamed(void *argument)
{
	struct renamed *renamed = argument;

	renamed->tid = gettid();
	while (!renamed->go)
		;
	execl("/proc/self/exe", "executed", ROLE_SPIN, renamed->pipe, NULL);
	return NULL;
}

TEST_F(tasks, a_thread_that_executes_has_the_process_number_from_there_on)
{
	struct renamed *renamed = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int old = 0, new = 0, last = 0;
	bool begun = false;
	uint64_t executed, samples;
	pthread_t thread;
	int both[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(both));
	snprintf(renamed->pipe, sizeof(renamed->pipe), "%d", both[1]);
	pid = fork_pinned(0);
	if (!pid) {
		pthread_create(&thread, NULL, execute_renamed, renamed);
		pause();
	}
	ASSERT_TRUE(WAIT_FOR(renamed->tid));
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(2, add_task(&self->stream, pid, 0));
	ASSERT_EQ(0, enable(&self->stream));
	EXPECT_TRUE(sample_comes(&self->stream, renamed->tid));
	renamed->go = true;
	/* Nobody else on its CPU: it is not named anew because it came back to it. */
	ASSERT_EQ(sizeof(executed), read(both[0], &executed, sizeof(executed)));
	samples = stats(&self->stream).samples;
	ASSERT_TRUE(WAIT_FOR(stats(&self->stream).samples > samples + 3));
	ASSERT_EQ(0, disable(&self->stream));
	while (stream_next(&self->stream) == 1) {
		const struct flowtap_record_sample *sample = &self->stream.record.sample;
		const struct flowtap_record_gap *gap = &self->stream.record.gap;

		if (gap->header.type == FLOWTAP_RECORD_GAP && gap->tid == (uint32_t)renamed->tid) {
			/* What it executed last, which no sample will have. */
			last += gap->cause == FLOWTAP_CAUSE_SWITCH;
		}
		if (sample->header.type != FLOWTAP_RECORD_SAMPLE)
			continue;
		/* A sequence of its own: the first thread's, which has ended, does not go on. */
		if (last && sample->tid == (uint32_t)pid)
			begun |= sample->loss & 1U << FLOWTAP_CAUSE_START;
		if (sample->time < executed)
			continue;
		EXPECT_TRUE(begun);
		EXPECT_EQ(pid, sample->pid);
		old += sample->tid == (uint32_t)renamed->tid;
		new += sample->tid == (uint32_t)pid;
	}
	EXPECT_EQ(1, last);
	EXPECT_EQ(0, old);
	EXPECT_LT(0, new);
	end(pid);
	close(both[0]);
	close(both[1]);
	munmap(renamed, 4096);
}

TEST_F(tasks, a_killed_process_leaves_nothing)
{
	struct crew *crew;
	pid_t pid;

	crew = make_crew(&pid);
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(2, add_task(&self->stream, pid, 0));
	ASSERT_EQ(0, enable(&self->stream));
	EXPECT_TRUE(sample_comes(&self->stream, crew->tids[0]));
	end(pid);
	EXPECT_EQ(POLLHUP, poll_for(&self->stream, 10000) & POLLHUP);
	EXPECT_EQ(0, stats(&self->stream).tasks);
	EXPECT_EQ(-ESRCH, add_task(&self->stream, pid, 0));
	/* The set can be used again. */
	pid = spinner(0);
	EXPECT_EQ(1, add_task(&self->stream, pid, 0));
	EXPECT_TRUE(sample_comes(&self->stream, pid));
	EXPECT_EQ(0, poll_now(&self->stream) & POLLHUP);
	end(pid);
}

/*
 * The tracer is process 1 of a PID namespace of its own. Its child is 2 there; the test's other
 * process, which it cannot name, comes by the stream of a group.
 */
TEST_F(tasks, pids_are_as_in_the_namespace_of_who_configured)
{
	pid_t outside = spinner(0), tracer;
	int status, pair[2];

	ASSERT_EQ(0, pipe(pair));
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	tracer = fork();
	if (!tracer) {
		struct stream inner;
		pid_t init, child;

		if (unshare(CLONE_NEWPID))
			_exit(10);
		init = fork();
		if (init) {
			waitpid(init, &status, 0);
			_exit(WEXITSTATUS(status));
		}
		child = spinner(0);
		if (stream_open(&inner, &self->configure))
			_exit(11);
		if (add_task(&inner, outside, 0) != -ESRCH)
			_exit(12);
		if (add_task(&inner, child, 0) != 1 || enable(&inner))
			_exit(13);
		if (!sample_comes(&inner, child) || found.pid != child)
			_exit(14);
		/* This one was configured outside, where the child has another number. */
		if (add_task(&self->stream, child, 0) != 1)
			_exit(15);
		end(child);
		_exit(child == 2 ? 0 : 16);
	}
	waitpid(tracer, &status, 0);
	EXPECT_EQ(0, WEXITSTATUS(status));
	end(outside);
}

TEST_F(tasks, a_task_that_is_not_visible_has_number_0)
{
	pid_t outside = spinner(0), tracer;
	int status;

	/* The stream is configured inside; the one who adds tasks is outside. */
	self->stream.fd = open_device();
	tracer = fork();
	if (!tracer) {
		pid_t init;

		if (unshare(CLONE_NEWPID))
			_exit(10);
		init = fork();
		if (!init)
			_exit(-command(self->stream.fd, FLOWTAP_IOC_CONFIGURE, &self->configure));
		waitpid(init, &status, 0);
		_exit(WEXITSTATUS(status));
	}
	waitpid(tracer, &status, 0);
	ASSERT_EQ(0, WEXITSTATUS(status));
	ASSERT_EQ(0, stream_map(&self->stream, self->configure.ring_pages));
	ASSERT_EQ(1, add_task(&self->stream, outside, 0));
	ASSERT_EQ(0, enable(&self->stream));
	EXPECT_TRUE(sample_comes(&self->stream, 0));
	EXPECT_EQ(0, found.pid);
	EXPECT_EQ(0, samples_of(&self->stream, outside));
	end(outside);
}

TEST_HARNESS_MAIN
