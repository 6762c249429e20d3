// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that ETE's bytes come into the AUX area through TRBE (arm64 on the model of both, or on a
 * machine that has them): whose they are, and that nobody can disturb it.
 */
#include <sched.h>
#include <sys/syscall.h>

#include "support/kselftest_harness.h"
#include "ete.h"
#include "worker.h"

#define TS FLOWTAP_TRCCONFIGR_TS
#define CID FLOWTAP_TRCCONFIGR_CID

TEST_F(ete, query_tells_the_hardware)
{
	const struct flowtap_ete_caps *caps = &self->query.ete;

	EXPECT_EQ(0x47705a13, caps->trcdevarch & 0xfff0ffff);
	EXPECT_NE(0, caps->trcidr[1]);
	EXPECT_GE(11, caps->trbidr & 15);
	EXPECT_EQ(0, caps->trbidr & 16);
	EXPECT_NE(0, caps->counter_frequency);
	EXPECT_TRUE(caps->exception_level == 1 || caps->exception_level == 2);
	EXPECT_GE(4, caps->address_ranges);
	EXPECT_EQ(0, caps->settable & ~0x98d8ULL);
	EXPECT_EQ(FLOWTAP_MODE_USER | FLOWTAP_MODE_KERNEL, self->query.modes);
	EXPECT_EQ(FLOWTAP_TRIGGER_SNAPSHOT | FLOWTAP_TRIGGER_SWITCH, self->query.triggers);
	EXPECT_TRUE(self->query.sources & 1 << FLOWTAP_SOURCE_ETE);
}

TEST_F(ete, what_cannot_be_configured)
{
	struct flowtap_configure good = self->configure, configure;
	int n;

#define REFUSED(error, change) do {						\
	configure = good;							\
	change;									\
	n = aux_open(&self->aux, &configure);					\
	EXPECT_EQ(-(error), n) TH_LOG(#change);					\
	aux_close(&self->aux);							\
} while (0)
	REFUSED(0, (void)0);
	REFUSED(EINVAL, configure.aux_pages = 0);
	REFUSED(EINVAL, configure.aux_pages = 1);
	REFUSED(EINVAL, configure.aux_pages = 3);
	REFUSED(EINVAL, configure.aux_pages = 1 << 17);
	REFUSED(EINVAL, configure.aux_watermark = 64 * 4096 + 1);
	REFUSED(EINVAL, configure.ctr.depth = 16);
	REFUSED(EINVAL, configure.ete.flags = 1);
	REFUSED(EINVAL, configure.ete.reserved = 1);
	REFUSED(EINVAL, configure.ete.config = 1);
	REFUSED(EINVAL, configure.ete.config = 1ULL << 32);
	REFUSED(EINVAL, configure.ete.sync_period = 7);
	REFUSED(EINVAL, configure.ete.sync_period = 21);
	REFUSED(EINVAL, configure.ete.cycle_threshold = 100);
	REFUSED(EINVAL, configure.ete.address_ranges = 5);
	REFUSED(EINVAL, configure.ete.address_ranges = 1);
	REFUSED(EINVAL, configure.ete.address_end[0] = 4);
	REFUSED(EINVAL, configure.ete.strobe_on_ns = 1000000);
	REFUSED(EINVAL, (configure.ete.strobe_on_ns = 1, configure.ete.strobe_off_ns = 1));
	REFUSED(EOPNOTSUPP, (configure.triggers = FLOWTAP_TRIGGER_TIMER,
			     configure.timer_ns = 1000000));
#undef REFUSED
}

/* Which of TRCCONFIGR's bits are the caller's. */
TEST_F(ete, bits_that_are_settable)
{
	uint64_t bit;

	for (bit = 1; bit; bit <<= 1) {
		int error;

		self->configure.ete.config = bit;
		error = aux_open(&self->aux, &self->configure);
		EXPECT_TRUE(bit & self->query.ete.settable ? !error :
			    error == -EINVAL || error == -EOPNOTSUPP)
			TH_LOG("config %#llx: %d", (unsigned long long)bit, error);
		aux_close(&self->aux);
	}
}

TEST_F(ete, contexts_are_not_for_pid_namespaces)
{
	int status, error;
	pid_t pid;

	if (!(self->query.ete.settable & CID))
		SKIP(return, "no context is traced here");
	self->configure.ete.config = CID;
	if (unshare(CLONE_NEWPID))
		SKIP(return, "no PID namespaces here");
	pid = fork();
	if (!pid) {
		error = aux_open(&self->aux, &self->configure);
		_exit(error == -EACCES ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(ete, a_child_is_traced_in_user_mode)
{
	struct worker worker = start_worker(0, 10000);
	int n;

	self->configure.aux_pages = 512;
	ASSERT_EQ(0, trace(&self->aux, &self->configure, worker.pid));
	for (n = 0; n < 5; n++) {
		ASSERT_TRUE(turn(&worker));
		aux_take(&self->aux);
	}
	end_worker(&worker);
	EXPECT_TRUE(WAIT_FOR(poll_now(&self->aux.stream) & POLLHUP));
	aux_take(&self->aux);
	EXPECT_EQ(NULL, self->aux.wrong) TH_LOG("%s", self->aux.wrong);
	EXPECT_NE(0, self->aux.records);
	EXPECT_LT(5 * 10000, self->aux.bytes);
	EXPECT_EQ(0, self->aux.others);
	EXPECT_TRUE(nothing_lost(&self->aux));
	EXPECT_EQ(1, self->aux.starts);
	EXPECT_EQ(1, self->aux.clocks);
	EXPECT_EQ(self->aux.bytes, stats(&self->aux.stream).aux_bytes);
}

TEST_F(ete, the_kernel_is_traced_as_well)
{
	struct worker worker = start_worker(0, 1000);
	uint64_t user, both;
	int n;

	self->configure.aux_pages = 4096;
	ASSERT_EQ(0, trace(&self->aux, &self->configure, worker.pid));
	for (n = 0; n < 5; n++)
		ASSERT_TRUE(turn(&worker));
	disable(&self->aux.stream);
	aux_take(&self->aux);
	user = self->aux.bytes;
	aux_close(&self->aux);
	self->configure.modes |= FLOWTAP_MODE_KERNEL;
	self->configure.ete.config = self->query.ete.settable & TS;
	ASSERT_EQ(0, trace(&self->aux, &self->configure, worker.pid));
	for (n = 0; n < 5; n++)
		ASSERT_TRUE(turn(&worker));
	disable(&self->aux.stream);
	end_worker(&worker);
	aux_take(&self->aux);
	both = self->aux.bytes;
	EXPECT_EQ(NULL, self->aux.wrong) TH_LOG("%s", self->aux.wrong);
	EXPECT_TRUE(nothing_lost(&self->aux));
	EXPECT_LT(user, both);
}

TEST_F(ete, a_cpu_is_traced_whoever_runs)
{
	struct worker one = start_worker(0, 1000), other = start_worker(0, 1000);
	int n;

	self->configure.flags |= FLOWTAP_CPU_WIDE;
	ASSERT_EQ(0, aux_open(&self->aux, &self->configure));
	ASSERT_EQ(0, enable(&self->aux.stream));
	for (n = 0; n < 5; n++) {
		ASSERT_TRUE(turn(&one));
		ASSERT_TRUE(turn(&other));
	}
	disable(&self->aux.stream);
	end_worker(&one);
	end_worker(&other);
	self->aux.tid = one.pid;
	aux_take(&self->aux);
	EXPECT_EQ(NULL, self->aux.wrong) TH_LOG("%s", self->aux.wrong);
	EXPECT_LE(10, self->aux.records);
	EXPECT_LE(5, self->aux.others);
	EXPECT_LE(5, self->aux.records - self->aux.others);
	EXPECT_LE(20, self->aux.switches);
	EXPECT_TRUE(nothing_lost(&self->aux));
}

static int lock(int fd, short type, bool wait, unsigned int from, unsigned int n)
{
	struct flock range = { .l_type = type, .l_whence = SEEK_SET, .l_start = from, .l_len = n };

	return fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &range);
}

/* How often it has gone to sleep: when that is counted it is on its way off the CPU. */
static unsigned long sleeps_of(pid_t pid)
{
	char path[64], line[256];
	unsigned long sleeps = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "voluntary_ctxt_switches: %lu", &sleeps) == 1)
			break;
	if (file)
		fclose(file);
	return sleeps;
}

/*
 * Whoever waits for two locks and is let have one waits for the other without leaving the kernel.
 * That costs nothing, full or not; what it executes at last does, and is counted.
 */
TEST_F(ete, who_stays_in_the_kernel_loses_nothing)
{
	char path[] = "/tmp/flowtap.XXXXXX";
	int fds[3] = { mkstemp(path), open(path, O_RDWR), open(path, O_RDWR) };
	struct flowtap_stats figures;
	unsigned long sleeps;
	unsigned int n;
	uint64_t i;
	pid_t pid;

	unlink(path);
	ASSERT_EQ(0, lock(fds[0], F_WRLCK, false, 0, 1));
	pid = fork_pinned(cpus_online() > 1 ? 1 : 0);
	if (!pid) {
		lock(fds[2], F_WRLCK, true, 0, 2);
		for (;;)
			pause();
	}
	ASSERT_TRUE(WAIT_FOR(state_of(pid) == 'S' && sleeps_of(pid)));
	self->configure = tracing(cpus_online() > 1 ? 1 : 0, 2);
	ASSERT_EQ(0, trace(&self->aux, &self->configure, pid));
	self->aux.keep = true;
	self->aux.stream.ring->aux_tail = self->aux.stream.ring->aux_head - 8192;
	for (n = 0; n < 20; n++) {
		sleeps = sleeps_of(pid);
		ASSERT_EQ(0, lock(fds[!(n & 1)], F_WRLCK, false, !(n & 1), 1));
		ASSERT_EQ(0, lock(fds[n & 1], F_UNLCK, false, n & 1, 1));
		ASSERT_TRUE(WAIT_FOR(sleeps_of(pid) > sleeps));
	}
	EXPECT_LE(20, stats(&self->aux.stream).switches);
	aux_take(&self->aux);
	EXPECT_EQ(NULL, self->aux.wrong) TH_LOG("%s", self->aux.wrong);
	EXPECT_EQ(0, all_gaps(&self->aux));
	EXPECT_EQ(0, stats(&self->aux.stream).losses[FLOWTAP_CAUSE_RING_FULL]);
	EXPECT_EQ(0, stats(&self->aux.stream).lost_bytes);
	sleeps = sleeps_of(pid);
	ASSERT_EQ(0, lock(fds[n & 1], F_UNLCK, false, n & 1, 1));
	ASSERT_TRUE(WAIT_FOR(sleeps_of(pid) > sleeps));
	disable(&self->aux.stream);
	figures = stats(&self->aux.stream);
	aux_take(&self->aux);
	EXPECT_EQ(NULL, self->aux.wrong) TH_LOG("%s", self->aux.wrong);
	EXPECT_LE(1, all_gaps(&self->aux));
	if (!getenv("FLOWTAP_ADVERSE")) {
		EXPECT_NE(0, self->aux.gap_bytes);
		EXPECT_EQ(0, self->aux.unsized);
		EXPECT_EQ(figures.lost_bytes, self->aux.gap_bytes);
	}
	EXPECT_EQ(0, self->aux.records);
	for (i = 0; i < self->aux.size; i++)
		if (self->aux.area[i])
			break;
	EXPECT_EQ(self->aux.size, i);
	end(pid);
	for (n = 0; n < 3; n++)
		close(fds[n]);
}

TEST_F(ete, a_snapshot_has_what_there_is)
{
	uint64_t bytes = 0;
	pid_t pid;

	if (cpus_online() < 2)
		SKIP(return, "who asks for it would be on the CPU");
	pid = spinner(1);
	self->configure = tracing(1, 16);
	self->configure.flush_ms = ~0U;
	pin(0, 0);
	ASSERT_EQ(0, trace(&self->aux, &self->configure, pid));
	EXPECT_TRUE(WAIT_FOR((bytes += snapshot(&self->aux.stream)) > 100));
	aux_take(&self->aux);
	EXPECT_EQ(NULL, self->aux.wrong) TH_LOG("%s", self->aux.wrong);
	/* Interrupts may have brought more. */
	EXPECT_LE(bytes, self->aux.bytes);
	end(pid);
}

TEST_F(ete, a_strobe_rests)
{
	pid_t pid = spinner(cpus_online() > 1 ? 1 : 0);

	self->configure = tracing(cpus_online() > 1 ? 1 : 0, 1024);
	self->configure.ete.strobe_on_ns = 2 * MS;
	self->configure.ete.strobe_off_ns = 20 * MS;
	pin(0, 0);
	ASSERT_EQ(0, trace(&self->aux, &self->configure, pid));
	EXPECT_TRUE(WAIT_FOR((aux_take(&self->aux), self->aux.records > 5)));
	EXPECT_EQ(NULL, self->aux.wrong) TH_LOG("%s", self->aux.wrong);
	EXPECT_TRUE(self->aux.losses & 1 << FLOWTAP_CAUSE_STROBE);
	end(pid);
}

TEST_F(ete, an_address_range_is_traced_alone)
{
	struct worker worker;
	uint64_t all, range;
	int n;

	if (!self->query.ete.address_ranges)
		SKIP(return, "no address comparators here");
	worker = start_worker(0, 10000);
	ASSERT_EQ(0, trace(&self->aux, &self->configure, worker.pid));
	for (n = 0; n < 3; n++)
		ASSERT_TRUE(turn(&worker));
	disable(&self->aux.stream);
	aux_take(&self->aux);
	all = self->aux.bytes;
	aux_close(&self->aux);
	/* Where nothing is executed. */
	self->configure.ete.address_ranges = 1;
	self->configure.ete.address_start[0] = 0x1000;
	self->configure.ete.address_end[0] = 0x1004;
	ASSERT_EQ(0, trace(&self->aux, &self->configure, worker.pid));
	for (n = 0; n < 3; n++)
		ASSERT_TRUE(turn(&worker));
	disable(&self->aux.stream);
	aux_take(&self->aux);
	range = self->aux.bytes;
	EXPECT_EQ(NULL, self->aux.wrong) TH_LOG("%s", self->aux.wrong);
	EXPECT_LT(2 * range, all);
	end_worker(&worker);
}

/* Close, kill, unmap, disable, while bytes come and interrupts are served. */
TEST_F(ete, everything_ends_at_any_moment)
{
	const unsigned int cpu = cpus_online() > 1 ? 1 : 0;
	unsigned int n;

	pin(0, 0);
	for (n = 0; n < 24; n++) {
		pid_t pid = spinner(cpu);

		self->configure = tracing(cpu, 2 << n % 3);
		if (n % 2)
			self->configure.modes |= FLOWTAP_MODE_KERNEL;
		ASSERT_EQ(0, trace(&self->aux, &self->configure, pid));
		usleep(n * 997 % 7000);
		aux_take(&self->aux);
		switch (n % 4) {
		case 0:
			munmap(self->aux.area, self->aux.size);
			self->aux.area = NULL;
			break;
		case 1:
			disable(&self->aux.stream);
			enable(&self->aux.stream);
			break;
		case 2:
			kill(pid, SIGKILL);
			break;
		}
		aux_close(&self->aux);
		end(pid);
		ASSERT_EQ(NULL, self->aux.wrong) TH_LOG("%s", self->aux.wrong);
	}
}

/* The kernel runs there on its way, user programs do not. */
TEST_F(ete, a_cpu_goes_and_comes_back)
{
	struct worker worker;
	bool kernel;
	int n;

	if (cpus_online() < 2 || write_file("/sys/devices/system/cpu/cpu1/online", "1"))
		SKIP(return, "no CPU here can go");
	for (n = 0; n < 4; n++) {
		kernel = n % 2;
		self->configure = tracing(1, 4096);
		self->configure.flags |= FLOWTAP_CPU_WIDE;
		if (kernel)
			self->configure.modes |= FLOWTAP_MODE_KERNEL;
		ASSERT_EQ(0, aux_open(&self->aux, &self->configure));
		ASSERT_EQ(0, enable(&self->aux.stream));
		ASSERT_EQ(0, write_file("/sys/devices/system/cpu/cpu1/online", "0"));
		ASSERT_EQ(0, write_file("/sys/devices/system/cpu/cpu1/online", "1"));
		worker = start_worker(1, 1000);
		ASSERT_TRUE(turn(&worker));
		/*
		 * Who is waited for may still be on its way off the CPU, its last piece unwritten.
		 */
		ASSERT_EQ(0, disable(&self->aux.stream));
		end_worker(&worker);
		aux_take(&self->aux);
		ASSERT_EQ(NULL, self->aux.wrong) TH_LOG("%s", self->aux.wrong);
		EXPECT_NE(0, self->aux.records);
		EXPECT_EQ(kernel, self->aux.gaps[FLOWTAP_CAUSE_OFFLINE]);
		EXPECT_EQ(kernel, self->aux.losses >> FLOWTAP_CAUSE_OFFLINE & 1);
		aux_close(&self->aux);
	}
}

/* The gap ends where its stream is disabled, though nobody is left on the CPU to write that. */
TEST_F(ete, a_displaced_task_has_its_gap_where_its_cpu_went)
{
	struct aux wide;
	pid_t pid;

	if (cpus_online() < 2 || write_file("/sys/devices/system/cpu/cpu1/online", "1"))
		SKIP(return, "no CPU here can go");
	pin(0, 0);
	pid = spinner(1);
	self->configure = tracing(1, 4096);
	ASSERT_EQ(0, trace(&self->aux, &self->configure, pid));
	self->configure.flags |= FLOWTAP_CPU_WIDE;
	ASSERT_EQ(0, aux_open(&wide, &self->configure));
	ASSERT_EQ(0, enable(&wide.stream));
	ASSERT_TRUE(WAIT_FOR(stats(&self->aux.stream).losses[FLOWTAP_CAUSE_DISPLACED]));
	ASSERT_EQ(0, write_file("/sys/devices/system/cpu/cpu1/online", "0"));
	ASSERT_EQ(0, disable(&self->aux.stream));
	ASSERT_EQ(0, write_file("/sys/devices/system/cpu/cpu1/online", "1"));
	aux_take(&self->aux);
	EXPECT_EQ(NULL, self->aux.wrong) TH_LOG("%s", self->aux.wrong);
	EXPECT_EQ(1, self->aux.gaps[FLOWTAP_CAUSE_DISPLACED]);
	aux_close(&wide);
	end(pid);
}

TEST_HARNESS_MAIN
