// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that nothing that anybody does at any moment gets the module into trouble: threads of many
 * kinds (the table in threads.h) act at random on a busy machine and are killed in the middle. It
 * has no say in what they get; afterwards the module goes and memory is back. What the kernel had
 * to report is looked for by who boots the guest.
 *
 * FLOWTAP_STRESS_SECONDS: how long (60). FLOWTAP_SEED: the same beginnings, not the same order.
 */
#include "support/kselftest_harness.h"
#include "threads.h"

#define PID_MAX "/proc/sys/kernel/pid_max"

struct cast {
	pid_t pid;
	uint64_t until;
};

static void start(struct cast *one, unsigned int number, unsigned int generation, unsigned int base)
{
	unsigned int life = number < THREAD_KINDS ? thread_kinds[number].mean_life_ms : 5000;

	one->until = life ? now_ns() + dice(2 * life) * MS : ~0ULL;
	one->pid = fork();
	if (one->pid) {
		/* Here and there, whoever is first. */
		setpgid(one->pid, one->pid);
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	seed = base + 1000 * generation + number;
	if (number >= THREAD_KINDS)
		be_traced(number - THREAD_KINDS);
	thread_kinds[number].act();
	_exit(0);
}

/* Those that ended by themselves; 4 means that this machine is nothing for them. */
static void bury(struct cast *cast)
{
	unsigned int i;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (i = 0; i < THREAD_KINDS + WORKERS; i++)
			if (cast[i].pid == pid)
				cast[i] = (struct cast){
					.until = WIFEXITED(status) && WEXITSTATUS(status) == 4 ?
						 ~0ULL : 0,
				};
}

/* How many came and went. Their children's children are ours when they are gone. */
static unsigned int act_all(unsigned int base, uint64_t until)
{
	struct cast cast[THREAD_KINDS + WORKERS] = { 0 };
	unsigned int i, generation = 0;
	uint64_t half = now_ns() + (until - now_ns()) / 2;

	seed = base;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	while (now_ns() < until) {
		/* Now and then all at once: only then the module can go. Once it has to. */
		bool all = !dice(300) || (!shared->unloads && now_ns() > half);
		uint64_t unloads = shared->unloads;

		for (i = 0; i < THREAD_KINDS; i++)
			if (all && thread_kinds[i].mean_life_ms && cast[i].pid)
				kill(-cast[i].pid, SIGKILL);
		for (i = 0; i < (all ? 300 : 1) && shared->unloads == unloads; i++)
			usleep(10000);
		bury(cast);
		for (i = 0; i < THREAD_KINDS + WORKERS; i++) {
			if (now_ns() < cast[i].until)
				continue;
			if (cast[i].pid)
				kill(-cast[i].pid, SIGKILL);
			start(&cast[i], i, generation++, base);
		}
	}
	for (i = 0; i < THREAD_KINDS + WORKERS; i++)
		if (cast[i].pid)
			kill(-cast[i].pid, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	return generation;
}

/* --- What is left. --- */

static const char meminfo[] = "/proc/meminfo", slabinfo[] = "/proc/slabinfo";

static const struct resource {
	const char *file;
	const char *name;
	long tolerance;			/* KiB, or objects */
} resources[] = {
	{ meminfo, "VmallocUsed:", 1024 },
	{ slabinfo, "kmalloc-128 ", 4000 },
	{ meminfo, "Percpu:", 1024 },
	{ slabinfo, "task_struct ", 200 },
	{ slabinfo, "perf_event ", 200 },
	{ slabinfo, "pid ", 400 },
};

#define RESOURCES (sizeof(resources) / sizeof(resources[0]))

static long in_use(const struct resource *resource)
{
	FILE *file = fopen(resource->file, "re");
	char line[512];
	long value = 0;

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, resource->name, strlen(resource->name)))
			sscanf(line + strlen(resource->name), "%ld", &value);
	if (file)
		fclose(file);
	return value;
}

/* KASAN does, to see who uses it still: as much as a thirty-second of memory. */
static bool keeps_what_is_freed(void)
{
	char line[256];
	FILE *file = fopen("/proc/kallsyms", "re");
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, " kasan_quarantine_put\n");
	if (file)
		fclose(file);
	return found;
}

/* The module goes: what it holds then, and how much there is of the rest. */
static bool unload_and_measure(long *used)
{
	bool gone;
	unsigned int i;

	write_file(CPU1, "1");
	gone = WAIT_FOR(!unload() || access("/sys/module/flowtap", F_OK));
	write_file("/proc/sys/vm/drop_caches", "3");
	/* What is freed by RCU is on its way. */
	sleep_ms(500);
	for (i = 0; i < RESOURCES; i++)
		used[i] = in_use(&resources[i]);
	return gone;
}

static unsigned int from_environment(const char *name, unsigned int otherwise)
{
	const char *given = getenv(name);

	return given ? strtoul(given, NULL, 0) : otherwise;
}

static bool io_uring_there(void)
{
	struct io_uring uring;

	if (io_uring_queue_init(8, &uring, 0))
		return false;
	io_uring_queue_exit(&uring);
	return true;
}

FIXTURE(stress)
{
};

FIXTURE_SETUP(stress)
{
	if (!getenv("FLOWTAP_MODULE") || geteuid())
		SKIP(return, "FLOWTAP_MODULE is not set, or not root");
}

FIXTURE_TEARDOWN(stress)
{
}

/* As long as it takes: whoever boots the guest has a limit. */
TEST_F_TIMEOUT(stress, everybody_at_random, 36000)
{
	unsigned int base = from_environment("FLOWTAP_SEED", 1), i, lives;
	unsigned int ms = 1000 * from_environment("FLOWTAP_STRESS_SECONDS", 60);
	long before[RESOURCES], after[RESOURCES];
	bool idles = false;

	TH_LOG("FLOWTAP_SEED=%u FLOWTAP_STRESS_SECONDS=%u", base, ms / 1000);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	ASSERT_NE(MAP_FAILED, shared);
	ASSERT_EQ(0, copy_self(SUID, 04755));
	other_driver_load();
	/* Numbers come again soon; and perf is to stop who interrupts all the time. */
	write_file(PID_MAX, "1500");
	write_file("/proc/sys/kernel/perf_event_paranoid", "1");
	write_file("/proc/sys/kernel/perf_cpu_time_max_percent", "25");
	write_file("/proc/sys/kernel/perf_event_max_sample_rate", "2000");
	/* First for what the kernel keeps once it has it, then to look at. */
	for (i = 0; i < 2; i++) {
		/* What idle states left there while the module was away. */
		other_driver("own 0 0");
		other_driver("own 1 0");
		load("soft=1");
		ASSERT_EQ(0, chmod(DEVICE, 0666));
		idles = source_there(FLOWTAP_SOURCE_CTR) && !access(OTHER_DRIVER, F_OK);
		lives = act_all(base + i, now_ns() + (i ? ms - ms / 4 : ms / 4) * MS);
		ASSERT_TRUE(unload_and_measure(i ? after : before));
	}
	EXPECT_LT(THREAD_KINDS + WORKERS, lives);
	TH_LOG("%u actors, %llu streams, %llu tasks, %llu bytes, %llu ring writes, %llu unloads, "
	       "a CPU offline %llu times, registers lost %llu times", lives,
	       (unsigned long long)shared->streams, (unsigned long long)shared->added,
	       (unsigned long long)shared->bytes,
	       (unsigned long long)shared->writes, (unsigned long long)shared->unloads,
	       (unsigned long long)shared->offline, (unsigned long long)shared->lost);
	EXPECT_LT(0, shared->streams);
	EXPECT_LT(0, shared->bytes + shared->added);
	EXPECT_LT(0, shared->unloads);
	/* Where they can. */
	if (io_uring_there())
		EXPECT_LT(0, shared->writes);
	if (!access(CPU1, W_OK))
		EXPECT_LT(0, shared->offline);
	if (idles)
		EXPECT_LT(0, shared->lost);
	for (i = 0; i < RESOURCES; i++)
		if (resources[i].file == meminfo || !keeps_what_is_freed())
			EXPECT_GE(resources[i].tolerance, after[i] - before[i])
				TH_LOG("%s %ld, now %ld", resources[i].name, before[i], after[i]);
	write_file(PID_MAX, "32768");
	unlink(SUID);
	other_driver("own 0 0");
	other_driver("own 1 0");
	EXPECT_EQ(0, load("soft=1"));
	other_driver_unload();
}

TEST_HARNESS_MAIN
