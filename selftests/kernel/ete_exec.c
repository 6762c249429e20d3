// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that no AUX record has what a task executed before an exec and after it: the same address
 * is another instruction then.
 */
#include <pthread.h>

#include "support/kselftest_harness.h"
#include "worker.h"

#define EXECS 6
#define ROLE_EXECS "role=execs"

FIXTURE(exec)
{
	struct flowtap_configure configure;
	struct aux aux;
	int times;		/* a pipe: when each program ended, and when the next one began */
	int go;
	pid_t pid;
};

FIXTURE_VARIANT(exec)
{
	uint32_t flags;
	uint32_t modes;
	bool thread;		/* not the process's first one executes */
};

FIXTURE_VARIANT_ADD(exec, of_a_process)
{
	.modes = FLOWTAP_MODE_USER,
};

FIXTURE_VARIANT_ADD(exec, of_a_thread)
{
	.modes = FLOWTAP_MODE_USER,
	.thread = true,
};

FIXTURE_VARIANT_ADD(exec, with_the_kernel)
{
	.modes = FLOWTAP_MODE_USER | FLOWTAP_MODE_KERNEL,
};

FIXTURE_VARIANT_ADD(exec, on_a_cpu)
{
	.flags = FLOWTAP_CPU_WIDE,
	.modes = FLOWTAP_MODE_USER,
};

/* What each program is told: what to do, how often, by a thread or not, where to write to. */
struct program {
	char left[16];
	char thread[16];
	char times[16];
};

static void tell_time(const struct program *program)
{
	const uint64_t now = now_ns();

	if (write(atoi(program->times), &now, sizeof(now)) != sizeof(now))
		_exit(1);
}

static void *execute(void *argument)
{
	struct program *program = argument;
	char *arguments[] = { "exec", ROLE_EXECS, program->left, program->thread, program->times,
			      NULL };

	work(100);
	tell_time(program);
	execv("/proc/self/exe", arguments);
	_exit(1);
}

/* Executes itself as often as it was told to. */
static void run(struct program *program)
{
	const int left = atoi(program->left);
	pthread_t thread;

	if (!left)
		_exit(0);
	snprintf(program->left, sizeof(program->left), "%d", left - 1);
	if (!atoi(program->thread))
		execute(program);
	pthread_create(&thread, NULL, execute, program);
	pause();
}

__attribute__((constructor, used)) static void play(int argc, char **argv)
{
	static struct program program;

	if (argc < 5 || strcmp(argv[1], ROLE_EXECS))
		return;
	snprintf(program.left, sizeof(program.left), "%s", argv[2]);
	snprintf(program.thread, sizeof(program.thread), "%s", argv[3]);
	snprintf(program.times, sizeof(program.times), "%s", argv[4]);
	tell_time(&program);
	work(100);
	run(&program);
}

FIXTURE_SETUP(exec)
{
	static struct program program = { .left = "6" };
	int times[2], go[2];
	char byte;

	self->aux.stream.fd = -1;
	self->times = self->go = -1;
	/*
	 * Programs take the places of others: what reads the dump knows code by its address alone.
	 */
	unsetenv("FLOWTAP_DUMP");
	if (!source_there(FLOWTAP_SOURCE_ETE))
		SKIP(return, "no ETE here");
	/* Nobody reads meanwhile, and a kernel that checks itself executes much for an exec. */
	self->configure = tracing(0, 16384);
	self->configure.flags = variant->flags;
	self->configure.modes = variant->modes;
	/* Nothing but what is looked at here is to end a record. */
	self->configure.flush_ms = ~0U;
	ASSERT_EQ(0, pipe(times) || pipe(go));
	self->pid = fork_pinned(0);
	if (!self->pid) {
		snprintf(program.thread, sizeof(program.thread), "%d", variant->thread);
		snprintf(program.times, sizeof(program.times), "%d", times[1]);
		if (read(go[0], &byte, 1) == 1)
			run(&program);
		_exit(1);
	}
	close(times[1]);
	close(go[0]);
	self->times = times[0];
	self->go = go[1];
}

FIXTURE_TEARDOWN(exec)
{
	aux_close(&self->aux);
	close(self->times);
	close(self->go);
}

TEST_F(exec, ends_a_record)
{
	uint64_t times[2 * EXECS], before, after;
	struct aux *aux = &self->aux;
	unsigned int n, i;
	int status;

	ASSERT_EQ(0, aux_open(aux, &self->configure));
	if (!variant->flags)
		ASSERT_EQ(1, add_task(&aux->stream, self->pid, 0));
	ASSERT_EQ(0, enable(&aux->stream));
	ASSERT_EQ(1, write(self->go, "", 1));
	ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
	EXPECT_EQ(0, status);
	disable(&aux->stream);
	ASSERT_EQ(sizeof(times), read(self->times, times, sizeof(times)));
	aux_take(aux);
	EXPECT_EQ(NULL, aux->wrong) TH_LOG("%s", aux->wrong);
	EXPECT_TRUE(nothing_lost(aux)) TH_LOG("%u gaps, causes %#x", all_gaps(aux), aux->losses);
	ASSERT_GE(AUX_SEEN, aux->records);
	for (n = 0; n < EXECS; n++) {
		before = after = 0;
		for (i = 0; i < aux->records; i++) {
			if (aux->seen[i].pid != self->pid)
				continue;
			EXPECT_FALSE(aux->seen[i].since < times[2 * n] &&
				     aux->seen[i].time > times[2 * n + 1])
				TH_LOG("exec %u is in record %u", n, i);
			/* It went on at once, from the beginning and under the process's number. */
			before += aux->seen[i].time < times[2 * n + 1];
			if (aux->seen[i].since < times[2 * n] ||
			    aux->seen[i].since > times[2 * n + 1])
				continue;
			after++;
			if (aux->seen[i].time > times[2 * n + 1])
				EXPECT_EQ(self->pid, aux->seen[i].tid);
		}
		/* A record that hardware lost is not seen, and is told. */
		if (aux->gaps[FLOWTAP_CAUSE_HARDWARE])
			continue;
		EXPECT_NE(0, before) TH_LOG("exec %u", n);
		EXPECT_NE(0, after) TH_LOG("exec %u", n);
	}
	for (i = n = 0; i < aux->records; i++)
		n += aux->seen[i].pid == self->pid && aux->seen[i].tid != self->pid;
	EXPECT_TRUE(variant->thread ? n >= EXECS : !n);
}

TEST_HARNESS_MAIN
