// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that file, mapping, process, CPU and module may go away at any moment. What it cannot see
 * is looked for in the kernel's log by who boots the guest. FLOWTAP_MODULE names flowtap.ko.
 */
#include <linux/membarrier.h>
#include <sys/syscall.h>

#include "stream.h"
#include "support/kselftest_harness.h"
#include "task.h"

FIXTURE(lifetime)
{
	struct flowtap_configure configure;
};

FIXTURE_SETUP(lifetime)
{
	if (!source_there(FLOWTAP_SOURCE_SOFT))
		SKIP(return, "the soft source is not there: load the module with soft=1");
	self->configure = ticking(0, 100000);
	self->configure.flags = FLOWTAP_INHERIT;
	self->configure.triggers |= FLOWTAP_TRIGGER_SWITCH;
}

FIXTURE_TEARDOWN(lifetime)
{
}

static int trace(struct stream *stream, const struct flowtap_configure *configure, pid_t pid)
{
	int error = stream_open(stream, configure);

	if (!error)
		error = add_task(stream, pid, 0);
	return error == 1 ? enable(stream) : error ?: -ECHILD;
}

TEST_F(lifetime, a_tracer_is_killed_with_everything_open)
{
	unsigned int round;
	pid_t task = spinner(0);

	for (round = 0; round < 20; round++) {
		pid_t tracer = fork();
		struct stream stream;

		if (!tracer) {
			if (trace(&stream, &self->configure, task))
				_exit(1);
			spin();
		}
		sleep_ms(10 + round);
		EXPECT_TRUE(WIFSIGNALED(end(tracer)));
	}
	EXPECT_TRUE(WIFSIGNALED(end(task)));
}

TEST_F(lifetime, a_stream_is_passed_on_and_its_first_owner_ends)
{
	struct stream stream;
	int fd = open_device(), status;
	pid_t task = spinner(0), owner = fork();

	if (!owner)
		_exit(-command(fd, FLOWTAP_IOC_CONFIGURE, &self->configure));
	waitpid(owner, &status, 0);
	ASSERT_EQ(0, status);
	stream = (struct stream){ .fd = fd };
	ASSERT_EQ(0, stream_map(&stream, self->configure.ring_pages));
	ASSERT_EQ(1, add_task(&stream, task, 0));
	ASSERT_EQ(0, enable(&stream));
	EXPECT_EQ(1, stream_next_sample(&stream, 5000));
	stream_close(&stream);
	end(task);
}

TEST_F(lifetime, the_leader_of_a_group_goes_first)
{
	struct flowtap_configure member = self->configure;
	struct stream leader, other;
	pid_t task;

	if (cpus_online() < 2)
		SKIP(return, "one CPU");
	task = spinner(1);
	ASSERT_EQ(0, stream_open(&leader, &self->configure));
	member.flags |= FLOWTAP_GROUP;
	member.group_fd = leader.fd;
	member.cpu = 1;
	ASSERT_EQ(0, stream_open(&other, &member));
	ASSERT_EQ(1, add_task(&leader, task, 0));
	stream_close(&leader);
	ASSERT_EQ(0, enable(&other));
	EXPECT_EQ(1, stream_next_sample(&other, 5000));
	EXPECT_EQ(task, other.record.sample.tid);
	stream_close(&other);
	end(task);
}

/* Disables and enables the whole group, over and over, until it is killed. */
static pid_t switcher(const struct stream *stream, volatile unsigned int *turns)
{
	struct flowtap_enable group = { .flags = FLOWTAP_ENABLE_GROUP };
	pid_t pid = fork_pinned(-1);

	if (pid)
		return pid;
	for (;; ++*turns)
		if (command(stream->fd, FLOWTAP_IOC_DISABLE, &group) ||
		    command(stream->fd, FLOWTAP_IOC_ENABLE, &group))
			_exit(1);
}

/*
 * What refuses it comes after it has joined: the group has a stream on that CPU, or somebody else's
 * CPU-wide one is there. Were it in the group by then it would be enabled, and freed.
 */
TEST_F(lifetime, nobody_finds_a_stream_that_is_refused)
{
	volatile unsigned int *turns = mmap(NULL, sizeof(*turns), PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct stream leader, obstacle = { .fd = -1 }, refused;
	struct flowtap_configure configure;
	unsigned int wide, round, before;
	pid_t task = spinner(0), peer;

	for (wide = 0; wide < (cpus_online() > 1 ? 2 : 1); wide++) {
		configure = self->configure;
		if (wide)
			configure.flags = FLOWTAP_CPU_WIDE;
		ASSERT_EQ(0, stream_open(&leader, &configure));
		if (wide)
			configure.cpu = 1;
		else
			ASSERT_EQ(1, add_task(&leader, task, 0));
		if (wide)
			ASSERT_EQ(0, stream_open(&obstacle, &configure));
		configure.flags |= FLOWTAP_GROUP;
		configure.group_fd = leader.fd;
		configure.ring_pages = 4;
		peer = switcher(&leader, turns);
		for (round = 0; round < 300; round++) {
			before = *turns;
			ASSERT_EQ(wide ? -EBUSY : -EEXIST, stream_open(&refused, &configure));
			ASSERT_TRUE(WAIT_FOR(*turns != before));
			/* Nobody else wanted the task. */
			while (stream_next(&leader) == 1)
				if (leader.record.header.type == FLOWTAP_RECORD_SAMPLE)
					EXPECT_EQ(0, leader.record.sample.loss &
						     1U << FLOWTAP_CAUSE_DISPLACED);
		}
		EXPECT_TRUE(WIFSIGNALED(end(peer)));
		ASSERT_EQ(0, enable(&leader));
		EXPECT_EQ(1, stream_next_sample(&leader, 5000));
		stream_close(&leader);
		stream_close(&obstacle);
	}
	end(task);
	munmap((void *)turns, sizeof(*turns));
}

TEST_F(lifetime, sixty_four_streams_of_one_task)
{
	struct stream *streams = calloc(64, sizeof(*streams));
	pid_t task = spinner(0);
	unsigned int i, n;

	self->configure.ring_pages = 4;
	for (i = 0; i < 64; i++) {
		self->configure.cpu = i % cpus_online();
		ASSERT_EQ(0, trace(&streams[i], &self->configure, task)) TH_LOG("stream %u", i);
	}
	/* The oldest one of the CPU holds it, then the next. */
	ASSERT_EQ(1, stream_next_sample(&streams[0], 5000));
	EXPECT_EQ(0, stats(&streams[cpus_online()]).samples);
	for (n = 0; n + cpus_online() < 64; n++)
		stream_close(&streams[n]);
	for (i = n; i < 64; i++)
		if (i % cpus_online() == 0)
			EXPECT_EQ(1, stream_next_sample(&streams[i], 5000));
	while (n < 64)
		stream_close(&streams[n++]);
	EXPECT_TRUE(WIFSIGNALED(end(task)));
	free(streams);
}

static uint64_t grace_period(void)
{
	uint64_t since = now_ns();

	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	return now_ns() - since;
}

/* The guest's time does not depend on the machine's: see --virtual-time. */
TEST_F(lifetime, closing_sixty_four_streams_waits_for_no_grace_period)
{
	struct stream *streams;
	uint64_t grace = 0, since, took;
	unsigned int i, round;
	pid_t task;

	/* Where there is one, a grace period is over at once, and the spinner has its time, too. */
	if (cpus_online() == 1)
		SKIP(return, "one CPU");
	if (getenv("FLOWTAP_REAL_TIME"))
		SKIP(return, "how long both take is the host's matter");
	/* 45 or 60 ms for each: as long as two grace periods. */
	if (getenv("FLOWTAP_KASAN") || !access("/proc/lockdep_stats", F_OK))
		SKIP(return, "KASAN and lockdep take longer than grace periods do");
	streams = calloc(64, sizeof(*streams));
	task = spinner(0);
	for (round = 0; round < 4; round++) {
		uint64_t one = grace_period();

		grace = one > grace ? one : grace;
	}
	self->configure.ring_pages = 4;
	for (i = 0; i < 64; i++) {
		self->configure.cpu = i % cpus_online();
		ASSERT_EQ(0, trace(&streams[i], &self->configure, task)) TH_LOG("stream %u", i);
	}
	since = now_ns();
	for (i = 0; i < 64; i++)
		stream_close(&streams[i]);
	took = now_ns() - since;
	TH_LOG("64 streams closed in %llu us, a grace period is %llu us",
	       (unsigned long long)took / 1000, (unsigned long long)grace / 1000);
	/* It were 128 of them; of the four that were measured none need be as long as others are. */
	EXPECT_GT(grace * 64, took);
	EXPECT_TRUE(WIFSIGNALED(end(task)));
	free(streams);
}

/* What a busy machine does, for a while. */
static void restless(unsigned int seed, uint64_t until)
{
	while (now_ns() < until) {
		pid_t child = fork();

		if (!child) {
			switch (rand_r(&seed) % 4) {
			case 0:
				execl("/proc/self/exe", "executed", ROLE_EXIT, NULL);
				_exit(1);
			case 1:
				usleep(rand_r(&seed) % 3000);
				_exit(0);
			case 2:
				kill(getpid(), SIGKILL);
				break;
			default:
				if (!fork())
					_exit(0);
				_exit(0);
			}
		}
		pin(child, rand_r(&seed) % cpus_online());
		if (rand_r(&seed) % 2)
			kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	_exit(0);
}

/* Opens, uses and closes streams in no order; any answer will do, no trace of it may stay. */
static void meddle(struct flowtap_configure configure, const pid_t *pids, unsigned int seed,
		   uint64_t until)
{
	static struct stream streams[6];
	unsigned int i;

	for (i = 0; i < 6; i++)
		streams[i].fd = -1;
	while (now_ns() < until) {
		struct stream *stream = &streams[rand_r(&seed) % 6];
		struct stream *leader = &streams[rand_r(&seed) % 6];
		pid_t pid = pids[rand_r(&seed) % 4];

		if (stream->fd < 0) {
			configure.cpu = rand_r(&seed) % cpus_online();
			configure.flags = rand_r(&seed) % 2 ? FLOWTAP_INHERIT : 0;
			if (leader->fd >= 0 && rand_r(&seed) % 2) {
				configure.flags = FLOWTAP_INHERIT | FLOWTAP_GROUP;
				configure.group_fd = leader->fd;
			} else {
				configure.group_fd = 0;
			}
			if (rand_r(&seed) % 8 == 0)
				configure.flags |= FLOWTAP_ENABLE_ON_EXEC;
			configure.ring_pages = 4 << rand_r(&seed) % 4;
			stream_open(stream, &configure);
			continue;
		}
		switch (rand_r(&seed) % 12) {
		case 0 ... 2:
			add_task(stream, pid, 0);
			break;
		case 3:
			remove_task(stream, pid, 0);
			break;
		case 4 ... 5:
			enable(stream);
			break;
		case 6:
			disable(stream);
			break;
		case 7:
			snapshot(stream);
			break;
		case 8:
			while (stream_next(stream) == 1)
				;
			break;
		case 9:
			stream->ring->data_tail = rand_r(&seed);
			break;
		case 10:
			stream_close(stream);
			break;
		case 11:
			/* The mapping alone keeps it. */
			close(stream->fd);
			munmap(stream->ring, stream->length);
			stream->fd = -1;
			break;
		}
		poll_now(stream);
	}
	/* The end of the process closes what is open. */
	_exit(0);
}

static void storm(struct flowtap_configure configure, unsigned int seed, unsigned int seconds)
{
	uint64_t until = now_ns() + seconds * 1000 * MS;
	pid_t pids[4], meddlers[3];
	unsigned int i;

	for (i = 0; i < 4; i++) {
		pids[i] = fork();
		if (!pids[i])
			restless(seed + i, until);
	}
	for (i = 0; i < 3; i++) {
		meddlers[i] = fork();
		if (!meddlers[i])
			meddle(configure, pids, seed + 100 + i, until);
	}
	for (i = 0; i < 3; i++)
		waitpid(meddlers[i], NULL, 0);
	for (i = 0; i < 4; i++)
		waitpid(pids[i], NULL, 0);
}

static unsigned int seed_of_today(void)
{
	const char *given = getenv("FLOWTAP_SEED");

	return given ? strtoul(given, NULL, 0) : 1;
}

TEST_F_TIMEOUT(lifetime, streams_come_and_go_at_random_over_restless_tasks, 600)
{
	unsigned int seed = seed_of_today();

	TH_LOG("FLOWTAP_SEED=%u", seed);
	storm(self->configure, seed, 10);
	EXPECT_TRUE(source_there(FLOWTAP_SOURCE_SOFT));
}

TEST_F_TIMEOUT(lifetime, streams_of_the_hardware_come_and_go_at_random, 600)
{
	struct flowtap_configure configure = plain(FLOWTAP_SOURCE_CTR, 0);
	unsigned int seed = seed_of_today();

	if (!source_there(FLOWTAP_SOURCE_CTR))
		SKIP(return, "no CTR here");
	TH_LOG("FLOWTAP_SEED=%u", seed);
	configure.triggers |= FLOWTAP_TRIGGER_OVERFLOW | FLOWTAP_TRIGGER_SWITCH;
	configure.event_config = 1;
	configure.period = 20000;
	storm(configure, seed, 10);
	EXPECT_TRUE(source_there(FLOWTAP_SOURCE_CTR));
}

#define CPU1 "/sys/devices/system/cpu/cpu1/online"

TEST_F(lifetime, a_cpu_goes_and_comes_back)
{
	struct flowtap_configure configure = self->configure;
	struct stream streams[2], late;
	struct flowtap_query query;
	unsigned int round;
	pid_t task;

	if (cpus_online() < 2 || access(CPU1, W_OK))
		SKIP(return, "no CPU that can go");
	task = spinner(-1);
	ASSERT_EQ(0, trace(&streams[0], &configure, task));
	configure.flags |= FLOWTAP_GROUP;
	configure.group_fd = streams[0].fd;
	configure.cpu = 1;
	ASSERT_EQ(0, stream_open(&streams[1], &configure));
	ASSERT_EQ(0, enable(&streams[1]));
	for (round = 0; round < 4; round++) {
		/* It is there when its CPU goes, and wanders by itself afterwards. */
		ASSERT_EQ(0, pin(task, 1));
		sleep_ms(20);
		ASSERT_EQ(0, write_file(CPU1, "0"));
		query = (struct flowtap_query){ .cpu = 1, .want = FLOWTAP_SOURCE_SOFT };
		ASSERT_EQ(0, command(streams[0].fd, FLOWTAP_IOC_QUERY, &query));
		EXPECT_EQ(FLOWTAP_SOURCE_NONE, query.source);
		EXPECT_EQ(FLOWTAP_REASON_OFFLINE, query.reason);
		configure.flags = 0;
		configure.group_fd = 0;
		EXPECT_EQ(-ENODEV, stream_open(&late, &configure));
		EXPECT_EQ(0, snapshot(&streams[1]));
		EXPECT_EQ(0, disable(&streams[1]));
		EXPECT_EQ(0, enable(&streams[1]));
		while (stream_next(&streams[0]) == 1)
			;
		EXPECT_EQ(1, stream_next_sample(&streams[0], 5000));
		ASSERT_EQ(0, write_file(CPU1, "1"));
		ASSERT_EQ(0, pin(task, 1));
		while (stream_next(&streams[1]) == 1)
			;
		EXPECT_EQ(1, stream_next_sample(&streams[1], 5000));
		EXPECT_EQ(1, streams[1].record.sample.cpu);
	}
	/* And one whose CPU is away when it is closed. */
	ASSERT_EQ(0, write_file(CPU1, "0"));
	stream_close(&streams[1]);
	stream_close(&streams[0]);
	ASSERT_EQ(0, write_file(CPU1, "1"));
	end(task);
}

/* 0 or -errno of finit_module, delete_module. */
static int load(const char *parameters)
{
	const char *path = getenv("FLOWTAP_MODULE");
	int fd = open(path ?: "", O_RDONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (syscall(SYS_finit_module, fd, parameters, 0))
		error = -errno;
	close(fd);
	return error;
}

static int unload(void)
{
	return syscall(SYS_delete_module, "flowtap", O_NONBLOCK) ? -errno : 0;
}

FIXTURE(module)
{
	bool hardware;
};

FIXTURE_SETUP(module)
{
	const char *path = getenv("FLOWTAP_MODULE");

	if (!path || geteuid())
		SKIP(return, "FLOWTAP_MODULE is not set, or not root");
	self->hardware = source_there(FLOWTAP_SOURCE_CTR);
	if (!access(DEVICE, F_OK))
		ASSERT_EQ(0, unload());
}

FIXTURE_TEARDOWN(module)
{
	/* As it was for the others. */
	if (access(DEVICE, F_OK))
		load("soft=1");
}

TEST_F(module, it_does_not_go_while_it_is_open)
{
	struct flowtap_configure configure = ticking(0, 1000000);
	struct stream stream;
	int fd;

	ASSERT_EQ(0, load("soft=1"));
	fd = open_device();
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EAGAIN, unload());
	close(fd);
	/* A mapping is as good as a file. */
	ASSERT_EQ(0, stream_open(&stream, &configure));
	close(stream.fd);
	EXPECT_EQ(-EAGAIN, unload());
	munmap(stream.ring, stream.length);
	EXPECT_EQ(0, unload());
	EXPECT_EQ(-1, open_device());
	EXPECT_EQ(ENOENT, errno);
}

TEST_F_TIMEOUT(module, it_comes_and_goes_many_times, 600)
{
	struct flowtap_configure configure = ticking(0, 100000);
	unsigned int round;

	configure.triggers |= FLOWTAP_TRIGGER_SWITCH;
	configure.flags = FLOWTAP_INHERIT;
	for (round = 0; round < 12; round++) {
		struct stream stream;
		pid_t task = spinner(0);

		ASSERT_EQ(0, load("soft=1")) TH_LOG("round %u", round);
		ASSERT_EQ(-EEXIST, load("soft=1"));
		ASSERT_EQ(0, trace(&stream, &configure, task));
		/*
		 * Its entries go by RCU, after the stream, after the module if that does not wait.
		 */
		if (round % 2)
			end(task);
		stream_close(&stream);
		ASSERT_EQ(0, unload()) TH_LOG("round %u", round);
		if (!(round % 2))
			end(task);
	}
}

TEST_F(module, bad_parameters)
{
	EXPECT_EQ(-EINVAL, load("soft=maybe"));
	EXPECT_EQ(-EINVAL, load("soft=1 mlock_kb=-x"));
	/* An unknown one is only told of. */
	EXPECT_EQ(0, load("soft=1 nonsense=1"));
	EXPECT_EQ(0, unload());
	EXPECT_EQ(0, load("soft=1 mlock_kb=0"));
	EXPECT_EQ(0, unload());
	EXPECT_EQ(0, load("soft=1 mlock_kb=4294967295"));
	EXPECT_EQ(0, unload());
}

TEST_F(module, the_soft_source_is_there_only_when_asked_for)
{
	struct flowtap_query query = { .want = FLOWTAP_SOURCE_SOFT };
	struct flowtap_configure configure = plain(FLOWTAP_SOURCE_SOFT, 0);
	struct stream stream;
	int fd;

	if (!self->hardware) {
		EXPECT_EQ(-ENODEV, load(""));
		EXPECT_EQ(-1, open_device());
		return;
	}
	ASSERT_EQ(0, load(""));
	fd = open_device();
	ASSERT_EQ(0, command(fd, FLOWTAP_IOC_QUERY, &query));
	EXPECT_EQ(FLOWTAP_SOURCE_NONE, query.source);
	EXPECT_EQ(1ULL << FLOWTAP_SOURCE_CTR, query.sources);
	EXPECT_EQ(-ENODEV, stream_open(&stream, &configure));
	query = (struct flowtap_query){ .want = 0 };
	ASSERT_EQ(0, command(fd, FLOWTAP_IOC_QUERY, &query));
	EXPECT_EQ(FLOWTAP_SOURCE_CTR, query.source);
	close(fd);
	ASSERT_EQ(0, unload());
}

TEST_HARNESS_MAIN
