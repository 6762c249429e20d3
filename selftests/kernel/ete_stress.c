// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the recording of ETE may be stopped, started, displaced, unmapped, closed and killed
 * at any moment, its CPU and its module taken away: what is in the ring makes sense until then,
 * each loss in it has one GAP record, and the model of the hardware (who boots the guest looks) has
 * nothing to complain of. FLOWTAP_SEED: the same things are done, at moments of their own.
 * FLOWTAP_ETE_ROUNDS: how often (32).
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "support/kselftest_harness.h"
#include "worker.h"

#define CPU1 "/sys/devices/system/cpu/cpu1/online"
#define ROLE_AGAIN "role=again"
#define ACTIONS 8

static unsigned int state;

static unsigned int dice(unsigned int n)
{
	state = state * 1103515245 + 12345;
	return (state >> 16 & 0x7fff) % n;
}

static void wait_a_little(void)
{
	if (dice(4))
		usleep(dice(6000));
}

/* --- Those who are traced: for ever. --- */

static void *short_work(void *unused)
{
	work(100);
	return NULL;
}

static void fork_storm(void)
{
	pid_t pid = fork();

	if (!pid) {
		work(30);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void thread_storm(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, short_work, NULL))
		pthread_join(thread, NULL);
}

static void exec_storm(void)
{
	char *arguments[] = { "again", ROLE_AGAIN, NULL };

	work(100);
	execv("/proc/self/exe", arguments);
	_exit(1);
}

__attribute__((constructor, used)) static void play_again(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], ROLE_AGAIN))
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	exec_storm();
}

static void switch_often(void)
{
	work(20);
	usleep(50);
}

static void compute(void)
{
	work(2000);
}

static void (*const lives[])(void) = { compute, switch_often, fork_storm, thread_storm, exec_storm };
#define LIVES (sizeof(lives) / sizeof(lives[0]))

static pid_t be_traced(unsigned int cpu, unsigned int life)
{
	pid_t pid = fork_pinned(cpu);

	if (pid)
		return pid;
	for (;;)
		lives[life]();
}

/* --- Those who trace. --- */

static struct flowtap_configure any_configure(unsigned int cpu, bool wide)
{
	struct flowtap_configure configure = tracing(cpu, 2 << dice(4));

	configure.modes = 1 + dice(3);
	configure.flags = wide ? FLOWTAP_CPU_WIDE : dice(2) ? FLOWTAP_INHERIT : 0;
	configure.aux_watermark = dice(2) ? 0 : 256 << dice(5);
	configure.ring_pages = 1 << dice(6);
	configure.flush_ms = dice(3) ? 1 + dice(20) : ~0U;
	if (!dice(4)) {
		configure.ete.strobe_on_ns = (1 + dice(3)) * MS;
		configure.ete.strobe_off_ns = (1 + dice(3)) * MS;
	}
	return configure;
}

/* Another thread asks for this and that all the time. */
static volatile bool stopped;

static void *ask(void *argument)
{
	const struct stream *stream = argument;

	while (!stopped) {
		snapshot(stream);
		disable(stream);
		enable(stream);
		stats(stream);
	}
	return NULL;
}

static void act(struct aux *aux, pid_t target, unsigned int cpu)
{
	__u64 *tail = &aux->stream.ring->aux_tail, before;

	switch (dice(9)) {
	case 0:
		disable(&aux->stream);
		wait_a_little();
		enable(&aux->stream);
		break;
	case 1:
		snapshot(&aux->stream);
		break;
	case 2:
		remove_task(&aux->stream, target, 0);
		wait_a_little();
		add_task(&aux->stream, target, 0);
		break;
	case 3:
		pin(target, 1 - cpu);
		wait_a_little();
		pin(target, cpu);
		break;
	case 4:
		/* Never in range: what is believed to be taken is overwritten. */
		before = *tail;
		*tail = dice(2) ? ~0ULL : before + (1 << 24) + dice(1 << 15);
		wait_a_little();
		*tail = before;
		break;
	case 5:
		kill(target, SIGSTOP);
		wait_a_little();
		kill(target, SIGCONT);
		break;
	case 6:
		if (cpu == 1 && !dice(4)) {
			write_file(CPU1, "0");
			write_file(CPU1, "1");
			pin(target, cpu);
		}
		break;
	default:
		aux_take(aux);
	}
	wait_a_little();
}

/* A tracer's whole life; NULL, or what made no sense. */
static const char *trace_at_random(pid_t target, unsigned int cpu, bool wide, bool asked)
{
	const struct flowtap_configure configure = any_configure(cpu, wide);
	static struct aux aux;
	unsigned int n;
	pthread_t thread;
	int error;

	error = aux_open(&aux, &configure);
	/* Another one has the CPU, or has just taken it offline. */
	if ((error == -EBUSY && wide) || (error == -ENODEV && cpu == 1))
		return NULL;
	if (error)
		return strerror(-error);
	if (!wide)
		add_task(&aux.stream, target, 0);
	enable(&aux.stream);
	stopped = false;
	if (asked && pthread_create(&thread, NULL, ask, &aux.stream))
		return "no thread";
	for (n = 0; n < ACTIONS && !aux.wrong; n++)
		act(&aux, target, cpu);
	stopped = true;
	if (asked)
		pthread_join(thread, NULL);
	aux_take(&aux);
	if (dice(3))
		disable(&aux.stream);
	/* Pages first, or the file. */
	if (dice(2))
		aux_close(&aux);
	else
		close(aux.stream.fd);
	return aux.wrong;
}

/* In a process of its own, which may be killed. */
static pid_t tracer(pid_t target, unsigned int cpu, bool wide)
{
	const bool asked = !dice(3);
	const char *wrong;
	pid_t pid = fork();

	if (pid)
		return pid;
	state += getpid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(0, dice(4) ? 1 - cpu : cpu);
	wrong = trace_at_random(target, cpu, wide, asked);
	if (wrong)
		printf("# cpu %u%s: wrong: %s\n", cpu, wide ? ", CPU-wide" : "", wrong);
	fflush(stdout);
	_exit(!!wrong);
}

static unsigned int from_environment(const char *name, unsigned int otherwise)
{
	const char *given = getenv(name);

	return given ? strtoul(given, NULL, 0) : otherwise;
}

FIXTURE(stress)
{
	int module;
};

FIXTURE_SETUP(stress)
{
	self->module = -1;
	if (!source_there(FLOWTAP_SOURCE_ETE) || cpus_online() < 2 || geteuid())
		SKIP(return, "no ETE here, or one CPU, or not root");
	/* Tracers may be killed while they write. */
	unsetenv("FLOWTAP_DUMP");
	state = from_environment("FLOWTAP_SEED", now_ns() / 1000);
	TH_LOG("FLOWTAP_SEED=%u", state);
	pin(0, 0);
}

FIXTURE_TEARDOWN(stress)
{
	if (self->module >= 0)
		close(self->module);
}

TEST_F_TIMEOUT(stress, tracers_come_and_go, 3600)
{
	const unsigned int rounds = from_environment("FLOWTAP_ETE_ROUNDS", 32);
	unsigned int n, i, count, cpu, killed = 0;
	pid_t target, tracers[3];
	int status;

	for (n = 0; n < rounds; n++) {
		/* A tracer that was killed may have left it offline. */
		write_file(CPU1, "1");
		cpu = dice(2);
		target = be_traced(cpu, n % LIVES);
		count = 1 + dice(3);
		for (i = 0; i < count; i++)
			tracers[i] = tracer(target, cpu, i && !dice(2));
		wait_a_little();
		if (!dice(3)) {
			kill(tracers[dice(count)], SIGKILL);
			killed++;
		}
		if (!dice(3))
			kill(target, SIGKILL);
		for (i = 0; i < count; i++) {
			ASSERT_EQ(tracers[i], waitpid(tracers[i], &status, 0));
			EXPECT_TRUE(WIFSIGNALED(status) || !WEXITSTATUS(status))
				TH_LOG("round %u, tracer %u", n, i);
		}
		end(target);
		/* Children of a fork storm. */
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	write_file(CPU1, "1");
	TH_LOG("%u rounds, %u tracers killed", rounds, killed);
}

static int load(int module)
{
	return syscall(SYS_finit_module, module, "soft=1", 0) ? -errno : 0;
}

static int unload(void)
{
	return syscall(SYS_delete_module, "flowtap", O_NONBLOCK) ? -errno : 0;
}

TEST_F_TIMEOUT(stress, the_module_goes_when_nobody_has_it, 3600)
{
	const char *path = getenv("FLOWTAP_MODULE");
	static struct aux aux;
	unsigned int n, i, cpu;
	pid_t target;
	int error;

	if (!path)
		SKIP(return, "FLOWTAP_MODULE is not set");
	self->module = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, self->module);
	for (n = 0; n < 8; n++) {
		const struct flowtap_configure configure = tracing(cpu = n % 2, 2);

		target = be_traced(cpu, n % LIVES);
		ASSERT_EQ(0, trace(&aux, &configure, target));
		usleep(dice(5000));
		/* Who has it open has it, and is not disturbed. */
		EXPECT_EQ(-EAGAIN, unload());
		aux_take(&aux);
		EXPECT_EQ(NULL, aux.wrong) TH_LOG("%s", aux.wrong);
		if (n % 3 == 1)
			kill(target, SIGKILL);
		/* A mapping holds it as well. */
		close(aux.stream.fd);
		aux.stream.fd = -1;
		EXPECT_EQ(-EAGAIN, unload());
		aux_close(&aux);
		/* What a work queue or RCU still has goes by itself. */
		for (i = 0, error = -EAGAIN; i < 1000 && error == -EAGAIN; i++) {
			error = unload();
			if (error)
				usleep(2000);
		}
		EXPECT_EQ(0, error);
		EXPECT_EQ(0, load(self->module));
		end(target);
	}
}

TEST_HARNESS_MAIN
