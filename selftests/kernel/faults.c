// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that each allocation that the module makes may fail: the caller gets the errno for it,
 * nothing is left behind, and the same call goes well afterwards. Needs a kernel with fault
 * injection (CONFIG_FAILSLAB, CONFIG_FAIL_PAGE_ALLOC, CONFIG_FAULT_INJECTION_DEBUG_FS).
 *
 * Every step is done again and again: with its first allocation failing, then its second ..., until
 * it has no more than that. /proc/thread-self/fail-nth counts them, those of the kernel's own parts
 * on the way as well.
 */
#include <pthread.h>

#include "other_driver.h"
#include "stream.h"
#include "support/kselftest_harness.h"
#include "task.h"

#define FAIL_NTH "/proc/thread-self/fail-nth"
#define FAULTS "/sys/kernel/debug/"
/* Far more than any of the steps has. */
#define MOST 20000

FIXTURE(faults)
{
	struct flowtap_configure configure;
};

FIXTURE_SETUP(faults)
{
	if (!getenv("FLOWTAP_MODULE") || geteuid())
		SKIP(return, "FLOWTAP_MODULE is not set, or not root");
	if (access(FAIL_NTH, W_OK))
		SKIP(return, "this kernel has no fault injection");
	/* Also where the kernel could wait for memory: nearly everywhere. */
	if (write_file(FAULTS "failslab/ignore-gfp-wait", "N") ||
	    write_file(FAULTS "fail_page_alloc/ignore-gfp-wait", "N") ||
	    write_file(FAULTS "fail_page_alloc/ignore-gfp-highmem", "N") ||
	    write_file(FAULTS "fail_page_alloc/min-order", "0"))
		SKIP(return, "no failslab or fail_page_alloc in debugfs");
	write_file(FAULTS "failslab/verbose", "0");
	write_file(FAULTS "fail_page_alloc/verbose", "0");
	write_file(FAULTS "fail_usercopy/verbose", "0");
	if (access(DEVICE, F_OK))
		ASSERT_EQ(0, load("soft=1"));
	self->configure = ticking(0, 1000000);
	self->configure.ring_pages = 64;
}

FIXTURE_TEARDOWN(faults)
{
	if (access(DEVICE, F_OK))
		load("soft=1");
}

/*
 * The calling thread's. Opened beforehand, for opening has allocations of its own; and what is
 * armed may hit these calls as well.
 */
static int open_fail_nth(void)
{
	return open(FAIL_NTH, O_RDWR | O_CLOEXEC);
}

static bool arm(int fd, unsigned int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", n);
	return pwrite(fd, text, strlen(text), 0) > 0;
}

/* Whether the fault was injected since; no other will be. */
static bool disarm(int fd)
{
	char text[16] = { 0 };
	bool hit = pread(fd, text, sizeof(text) - 1, 0) > 0 && !strtoul(text, NULL, 10);

	while (!arm(fd, 0))
		;
	return hit;
}

static long number_in(const char *path, const char *name)
{
	char line[256];
	long value = -1;
	FILE *file = fopen(path, "re");

	while (file && value < 0 && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			sscanf(line + strlen(name), "%*[: \t]%ld", &value);
	if (file)
		fclose(file);
	return value;
}

static int references(void)
{
	char text[16] = { 0 };
	int fd = open("/sys/module/flowtap/refcnt", O_RDONLY | O_CLOEXEC);
	int count = read(fd, text, sizeof(text) - 1) > 0 ? atoi(text) : -1;

	close(fd);
	return count;
}

struct step {
	const char *name;
	/* The call whose allocations fail: 0 or more, or -errno. */
	int (*call)(struct step *step);
	/* Before and after each call, without faults; undo also where the call failed. */
	int (*prepare)(struct step *step);
	void (*undo)(struct step *step);
	/* Before undo: whether what was asked for has come about, or what is missing is told. */
	bool (*kept)(struct step *step);
	struct flowtap_configure configure;
	struct stream stream;
	struct stream other;
	pid_t pid;
	unsigned int told;		/* bit 0: of pid, bit 1: of *heir */
};

/* EFAULT: the copy from or to the caller failed. */
static bool right(int result)
{
	return result >= 0 || result == -ENOMEM || result == -EFAULT;
}

static void walk(struct __test_metadata *_metadata, struct step *step)
{
	unsigned int n, injected = 0, refused = 0;
	int fd = open_fail_nth(), result, again;
	bool hit = true;

	step->stream.fd = step->other.fd = -1;
	for (n = 1; hit && n < MOST; n++) {
		ASSERT_EQ(0, step->prepare ? step->prepare(step) : 0) TH_LOG("%s %u", step->name, n);
		ASSERT_TRUE(arm(fd, n));
		result = step->call(step);
		hit = disarm(fd);
		injected += hit;
		refused += result < 0;
		EXPECT_TRUE(right(result))
			TH_LOG("%s, allocation %u: %s", step->name, n, strerror(-result));
		/* At once, with what is there: nothing is half done. */
		again = result < 0 ? step->call(step) : 0;
		/* Removed already, only to tell how many was not possible. */
		if (result == -EFAULT && again == -ESRCH)
			again = 0;
		EXPECT_LE(0, again)
			TH_LOG("%s after allocation %u: %s", step->name, n, strerror(-again));
		if (step->kept)
			ASSERT_TRUE(step->kept(step)) TH_LOG("%s, allocation %u: told of %#x",
							     step->name, n, step->told);
		if (step->undo)
			step->undo(step);
	}
	close(fd);
	EXPECT_FALSE(hit);
	EXPECT_LT(0, injected) TH_LOG("%s", step->name);
	printf("# %s: %u allocations, %u told\n", step->name, injected, refused);
}

static int device(struct step *step)
{
	step->stream = (struct stream){ .fd = open_device() };
	return step->stream.fd < 0 ? -errno : 0;
}

static int configured(struct step *step)
{
	return device(step) ?: command(step->stream.fd, FLOWTAP_IOC_CONFIGURE, &step->configure);
}

static int mapped(struct step *step)
{
	return configured(step) ?: stream_map(&step->stream, step->configure.ring_pages);
}

static void close_all(struct step *step)
{
	stream_close(&step->stream);
	stream_close(&step->other);
	if (step->pid)
		end(step->pid);
	step->pid = 0;
}

static int do_query(struct step *step)
{
	struct flowtap_query query = { .want = step->configure.source };

	return command(step->stream.fd, FLOWTAP_IOC_QUERY, &query);
}

static int do_configure(struct step *step)
{
	return command(step->stream.fd, FLOWTAP_IOC_CONFIGURE, &step->configure);
}

static int do_map(struct step *step)
{
	return stream_map(&step->stream, step->configure.ring_pages);
}

static int with_leader(struct step *step)
{
	struct flowtap_configure leader = step->configure;

	step->other.fd = open_device();
	leader.cpu = 0;
	leader.flags &= ~FLOWTAP_GROUP;
	leader.group_fd = 0;
	step->configure.group_fd = step->other.fd;
	return command(step->other.fd, FLOWTAP_IOC_CONFIGURE, &leader) ?: device(step);
}

static void *nothing(void *unused)
{
	pause();
	return unused;
}

/* Three threads to be added. */
static int with_process(struct step *step)
{
	int ready[2];
	char byte;

	if (pipe(ready))
		return -errno;
	step->pid = fork_pinned(-1);
	if (!step->pid) {
		pthread_t threads[2];

		pthread_create(&threads[0], NULL, nothing, NULL);
		pthread_create(&threads[1], NULL, nothing, NULL);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		nothing(NULL);
	}
	if (read(ready[0], &byte, 1) != 1)
		return -EIO;
	close(ready[0]);
	close(ready[1]);
	return configured(step);
}

static int do_add(struct step *step)
{
	return add_task(&step->stream, step->pid, 0);
}

static int with_task(struct step *step)
{
	int error = with_process(step);

	if (!error)
		error = add_task(&step->stream, step->pid, 0);
	return error == 3 ? 0 : error ?: -ECHILD;
}

static int do_remove(struct step *step)
{
	return remove_task(&step->stream, step->pid, 0);
}

static int do_enable(struct step *step)
{
	return enable(&step->stream);
}

static int do_disable(struct step *step)
{
	return disable(&step->stream);
}

static volatile pid_t *heir;		/* -1: he is to be forked; then who he is */

/* Two that spin; the second has the first one's event by inheritance, and perf turns both at once. */
static int with_heir(struct step *step, bool enabled)
{
	int error;

	if (!heir)
		heir = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*heir = 0;
	step->told = 0;
	step->pid = fork_pinned(0);
	if (!step->pid) {
		while (!*heir)
			usleep(1000);
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			*heir = getpid();
		}
		spin();
	}
	error = mapped(step);
	if (error)
		return error;
	if (add_task(&step->stream, step->pid, 0) != 1)
		return -ECHILD;
	if (enabled)
		error = enable(&step->stream);
	*heir = -1;
	return WAIT_FOR(*heir > 0 && stats(&step->stream).tasks == 2) ? error : -ETIME;
}

static int with_heir_disabled(struct step *step)
{
	return with_heir(step, false);
}

static int with_heir_enabled(struct step *step)
{
	return with_heir(step, true);
}

/* What a record says: that its task is sampled, or that it cannot be. */
static pid_t told_of(const struct stream *stream)
{
	switch (stream->record.header.type) {
	case FLOWTAP_RECORD_SAMPLE:
		return stream->record.sample.tid;
	case FLOWTAP_RECORD_GAP:
		return stream->record.gap.cause == FLOWTAP_CAUSE_MEMORY ?
		       (pid_t)stream->record.gap.tid : 0;
	default:
		return 0;
	}
}

static bool both_told(struct step *step)
{
	while (stream_next(&step->stream) == 1) {
		pid_t tid = told_of(&step->stream);

		step->told |= (tid == step->pid) | (tid == *heir) << 1;
	}
	return step->told == 3;
}

static bool both_count(struct step *step)
{
	return WAIT_FOR(both_told(step));
}

/* Also later, when they are enabled again. */
static bool both_count_again(struct step *step)
{
	while (stream_next(&step->stream) == 1)
		;
	return !enable(&step->stream) && both_count(step);
}

static int do_snapshot(struct step *step)
{
	return snapshot(&step->stream);
}

static int do_stats(struct step *step)
{
	struct flowtap_stats stats;

	return command(step->stream.fd, FLOWTAP_IOC_STATS, &stats);
}

TEST_F_TIMEOUT(faults, every_command_fails_well_at_every_allocation, 600)
{
	struct step steps[] = {
		{ .name = "open", .call = device, .undo = close_all },
		{ .name = "QUERY", .call = do_query, .prepare = device, .undo = close_all },
		{ .name = "CONFIGURE", .call = do_configure, .prepare = device, .undo = close_all },
		{ .name = "mmap", .call = do_map, .prepare = configured, .undo = close_all },
		{ .name = "ADD_TASK", .call = do_add, .prepare = with_process, .undo = close_all },
		{ .name = "REMOVE_TASK", .call = do_remove, .prepare = with_task, .undo = close_all },
		{ .name = "ENABLE", .call = do_enable, .prepare = mapped, .undo = close_all },
		{ .name = "DISABLE", .call = do_disable, .prepare = mapped, .undo = close_all },
		{ .name = "SNAPSHOT", .call = do_snapshot, .prepare = mapped, .undo = close_all },
		{ .name = "STATS", .call = do_stats, .prepare = mapped, .undo = close_all },
	};
	unsigned int i, round;
	long before;

	/* Once for what the kernel keeps for ever, once to look at. */
	for (round = 0; round < 2; round++) {
		before = number_in("/proc/meminfo", "VmallocUsed");
		for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
			steps[i].configure = self->configure;
			walk(_metadata, &steps[i]);
			EXPECT_EQ(0, references()) TH_LOG("%s", steps[i].name);
			EXPECT_TRUE(WAIT_FOR(!number_in("/proc/self/status", "VmPin")));
		}
	}
	/* A ring is 260 KiB: four of them. What is closed goes some time later. */
	EXPECT_TRUE(WAIT_FOR(before + 1024 > number_in("/proc/meminfo", "VmallocUsed")));
	EXPECT_EQ(0, unload());
}

TEST_F_TIMEOUT(faults, every_kind_of_stream_fails_well_at_every_allocation, 600)
{
	struct step step = { 0 };
	unsigned int source, flags;

	for (source = FLOWTAP_SOURCE_SOFT; source <= FLOWTAP_SOURCE_CTR; source++) {
		if (!source_there(source))
			continue;
		for (flags = 0; flags <= FLOWTAP_CPU_WIDE; flags += FLOWTAP_CPU_WIDE) {
			struct flowtap_configure configure = plain(source, 0);

			configure.triggers |= FLOWTAP_TRIGGER_OVERFLOW;
			/* PERF_COUNT_SW_CPU_CLOCK and PERF_COUNT_HW_INSTRUCTIONS */
			configure.event_type = source == FLOWTAP_SOURCE_SOFT;
			configure.event_config = source == FLOWTAP_SOURCE_CTR;
			configure.period = 1000000;
			configure.flags = flags;
			step = (struct step){ .name = "CONFIGURE with an event", .call = do_configure,
					.prepare = device, .undo = close_all,
					.configure = configure };
			walk(_metadata, &step);
			if (flags)
				continue;
			step = (struct step){ .name = "ADD_TASK with an event", .call = do_add,
					.prepare = with_process, .undo = close_all,
					.configure = configure };
			walk(_metadata, &step);
			configure.flags = FLOWTAP_INHERIT;
			step = (struct step){ .name = "ENABLE with an event and a child",
					.call = do_enable, .prepare = with_heir_disabled,
					.kept = both_count, .undo = close_all,
					.configure = configure };
			walk(_metadata, &step);
			step = (struct step){ .name = "DISABLE with an event and a child",
					.call = do_disable, .prepare = with_heir_enabled,
					.kept = both_count_again, .undo = close_all,
					.configure = configure };
			walk(_metadata, &step);
		}
	}
	step = (struct step){ .name = "CONFIGURE in a group", .call = do_configure,
			.prepare = with_leader, .undo = close_all,
			.configure = self->configure };
	step.configure.flags = FLOWTAP_GROUP;
	step.configure.cpu = cpus_online() > 1;
	/* The leader's CPU again: not for lack of memory. */
	if (cpus_online() > 1)
		walk(_metadata, &step);
	step = (struct step){ .name = "CONFIGURE of a flight recorder", .call = do_configure,
			.prepare = device, .undo = close_all,
			.configure = self->configure };
	step.configure.flags = FLOWTAP_OVERWRITE;
	walk(_metadata, &step);
	EXPECT_EQ(0, references());
	EXPECT_EQ(0, unload());
}

/* The forking task is traced: what fails in the module's hook fails nobody's fork, but is told. */
TEST_F_TIMEOUT(faults, a_fork_that_cannot_be_followed_is_told, 300)
{
	struct stream stream;
	unsigned int n, told = 0, missed = 0, rounds = 0;
	int fd = open_fail_nth();
	bool hit = true;

	self->configure.flags = FLOWTAP_INHERIT;
	ASSERT_EQ(0, stream_open(&stream, &self->configure));
	ASSERT_EQ(1, add_task(&stream, getpid(), 0));
	ASSERT_EQ(0, enable(&stream));
	/* How many allocations come before the module's is not the same each time: it may be missed. */
	for (n = 1; (hit || !missed) && rounds < 20; n++) {
		bool followed, gap = false;
		pid_t child;

		if (!hit || n == MOST) {
			rounds++;
			n = 1;
		}

		/* Not fork(): what the library allocates around it is not what is to fail. */
		ASSERT_TRUE(arm(fd, n));
		child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (!child) {
			syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			for (;;)
				syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
		}
		hit = disarm(fd);
		if (child < 0)
			continue;
		followed = stats(&stream).tasks == 2;
		end(child);
		while (stream_next(&stream) == 1)
			gap |= stream.record.header.type == FLOWTAP_RECORD_GAP &&
			       stream.record.gap.cause == FLOWTAP_CAUSE_MEMORY &&
			       stream.record.gap.tid == child;
		EXPECT_EQ(!followed, gap) TH_LOG("allocation %u", n);
		missed += !followed;
		told += gap;
	}
	EXPECT_FALSE(hit);
	EXPECT_LT(0, missed);
	EXPECT_EQ(missed, told);
	stream_close(&stream);
	close(fd);
}

TEST_F_TIMEOUT(faults, the_module_loads_or_it_does_not, 600)
{
	int fd = open_fail_nth(), error;
	unsigned int n, refused = 0;
	bool hit = true;

	ASSERT_EQ(0, unload());
	for (n = 1; hit && n < MOST; n++) {
		ASSERT_TRUE(arm(fd, n));
		error = load("soft=1");
		hit = disarm(fd);
		if (error) {
			refused++;
			EXPECT_TRUE(right(error))
				TH_LOG("allocation %u: %s", n, strerror(-error));
			EXPECT_EQ(-1, access(DEVICE, F_OK));
			EXPECT_EQ(-1, access("/sys/module/flowtap/refcnt", F_OK));
			ASSERT_EQ(0, load("soft=1")) TH_LOG("after allocation %u", n);
		}
		EXPECT_TRUE(source_there(FLOWTAP_SOURCE_SOFT));
		ASSERT_EQ(0, unload()) TH_LOG("after allocation %u", n);
	}
	EXPECT_FALSE(hit);
	EXPECT_LT(10, refused);
	printf("# load: %u allocations, %u told\n", n - 2, refused);
	close(fd);
}

TEST_HARNESS_MAIN
