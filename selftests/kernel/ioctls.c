// SPDX-License-Identifier: GPL-2.0-only
/* Shows that each wrong command, field and order of commands gets the errno that flowtap.h says. */
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/eventfd.h>

#include "stream.h"
#include "support/kselftest_harness.h"
#include "task.h"

FIXTURE(device)
{
	int fd;
	struct flowtap_configure configure;
};

FIXTURE_SETUP(device)
{
	if (!source_there(FLOWTAP_SOURCE_SOFT))
		SKIP(return, "the soft source is not there: load the module with soft=1");
	self->fd = open_device();
	ASSERT_LE(0, self->fd);
	self->configure = plain(FLOWTAP_SOURCE_SOFT, 0);
}

FIXTURE_TEARDOWN(device)
{
	close(self->fd);
}

static int configure(int fd, const struct flowtap_configure *configure)
{
	return command(fd, FLOWTAP_IOC_CONFIGURE, (void *)configure);
}

TEST_F(device, a_command_that_there_is_not_is_enotty)
{
	uint8_t argument[4096] = { 0 };

	EXPECT_EQ(-ENOTTY, command(self->fd, _IO(FLOWTAP_IOC_MAGIC, 9), argument));
	EXPECT_EQ(-ENOTTY, command(self->fd, _IOWR(FLOWTAP_IOC_MAGIC, 255, __u64), argument));
	EXPECT_EQ(-ENOTTY, command(self->fd, _IOWR('x', 0, struct flowtap_query), argument));
	EXPECT_EQ(-ENOTTY, command(self->fd, 0, argument));
	EXPECT_EQ(-ENOTTY, command(self->fd, ~0U, argument));
}

TEST_F(device, a_command_in_the_wrong_direction_is_enotty)
{
	struct flowtap_stats stats = { 0 };

	EXPECT_EQ(-ENOTTY, command(self->fd, _IOR(FLOWTAP_IOC_MAGIC, 1, struct flowtap_configure),
				   &self->configure));
	EXPECT_EQ(-ENOTTY, command(self->fd, _IOW(FLOWTAP_IOC_MAGIC, 7, struct flowtap_stats),
				   &stats));
	EXPECT_EQ(-ENOTTY, command(self->fd, _IO(FLOWTAP_IOC_MAGIC, 0), &stats));
}

TEST_F(device, a_shorter_structure_than_the_first_is_einval)
{
	uint8_t argument[4096] = { 0 };

	EXPECT_EQ(-EINVAL, command(self->fd, _IOC(_IOC_READ | _IOC_WRITE, FLOWTAP_IOC_MAGIC, 0,
						  sizeof(struct flowtap_query) - 8), argument));
	EXPECT_EQ(-EINVAL, command(self->fd, _IOC(_IOC_READ | _IOC_WRITE, FLOWTAP_IOC_MAGIC, 0, 0),
				   argument));
	EXPECT_EQ(-EINVAL, command(self->fd, _IOC(_IOC_WRITE, FLOWTAP_IOC_MAGIC, 1, 8), argument));
}

TEST_F(device, a_longer_structure_is_taken_if_its_tail_is_zero)
{
	struct { struct flowtap_configure configure; uint64_t more[4]; } longer = {
		.configure = self->configure,
	};
	struct { struct flowtap_stats stats; uint64_t more[4]; } stats;
	unsigned long number = _IOC(_IOC_WRITE, FLOWTAP_IOC_MAGIC, 1, sizeof(longer));

	longer.more[3] = 1ULL << 56;
	EXPECT_EQ(-E2BIG, command(self->fd, number, &longer));
	longer.more[3] = 0;
	EXPECT_EQ(0, command(self->fd, number, &longer));
	/* What the kernel does not know comes back as zeros. */
	memset(&stats, 0xff, sizeof(stats));
	EXPECT_EQ(0, command(self->fd, _IOC(_IOC_READ, FLOWTAP_IOC_MAGIC, 7, sizeof(stats)),
			     &stats));
	EXPECT_EQ(0, stats.more[0] | stats.more[1] | stats.more[2] | stats.more[3]);
	EXPECT_EQ(0, stats.stats.samples);
}

TEST_F(device, an_argument_that_cannot_be_reached_is_efault)
{
	long page = sysconf(_SC_PAGESIZE);
	uint8_t *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	struct flowtap_query *half = (void *)(two + page - 16);

	ASSERT_NE(MAP_FAILED, two);
	munmap(two + page, page);
	EXPECT_EQ(-EFAULT, command(self->fd, FLOWTAP_IOC_QUERY, NULL));
	EXPECT_EQ(-EFAULT, command(self->fd, FLOWTAP_IOC_QUERY, half));
	EXPECT_EQ(-EFAULT, command(self->fd, FLOWTAP_IOC_CONFIGURE, (void *)-4096L));
	EXPECT_EQ(0, configure(self->fd, &self->configure));
	EXPECT_EQ(-EFAULT, command(self->fd, FLOWTAP_IOC_STATS, NULL));
	/* Readable, not writable: the result cannot be given. */
	mprotect(two, page, PROT_READ);
	EXPECT_EQ(-EFAULT, command(self->fd, FLOWTAP_IOC_STATS, two));
	munmap(two, page);
}

TEST_F(device, nothing_but_query_goes_before_configure)
{
	struct flowtap_task task = { .pid = getpid() };
	struct flowtap_enable enable = { 0 };
	struct flowtap_snapshot snapshot = { 0 };
	struct flowtap_key key = { 0 };
	struct flowtap_stats stats;

	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_KEY, &key));
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_ADD_TASK, &task));
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_REMOVE_TASK, &task));
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_ENABLE, &enable));
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_DISABLE, &enable));
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_SNAPSHOT, &snapshot));
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_STATS, &stats));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0));
	EXPECT_EQ(EINVAL, errno);
}

/* What no machine of this architecture has. */
#ifdef __riscv
#define ELSEWHERE FLOWTAP_SOURCE_ETE
#else
#define ELSEWHERE FLOWTAP_SOURCE_CTR
#endif

TEST_F(device, query_tells_what_a_cpu_has)
{
	struct flowtap_query query = { .want = FLOWTAP_SOURCE_SOFT };

	ASSERT_EQ(0, command(self->fd, FLOWTAP_IOC_QUERY, &query));
	EXPECT_EQ(FLOWTAP_ABI, query.abi);
	EXPECT_EQ(FLOWTAP_SOURCE_SOFT, query.source);
	EXPECT_EQ(FLOWTAP_REASON_NONE, query.reason);
	EXPECT_LE(cpus_online(), query.cpus);
	EXPECT_NE(0, query.sources & 1 << FLOWTAP_SOURCE_SOFT);
	EXPECT_EQ(FLOWTAP_MODE_USER | FLOWTAP_MODE_KERNEL, query.modes);
	EXPECT_NE(0, query.triggers & FLOWTAP_TRIGGER_SNAPSHOT);
	EXPECT_EQ(0x1f, query.ctr.depths);
	EXPECT_EQ(256, query.ctr.depth_max);
	EXPECT_LE(1, query.onlines);

	query = (struct flowtap_query){ .want = ELSEWHERE };
	ASSERT_EQ(0, command(self->fd, FLOWTAP_IOC_QUERY, &query));
	EXPECT_EQ(FLOWTAP_SOURCE_NONE, query.source);
	EXPECT_EQ(FLOWTAP_REASON_ABSENT, query.reason);
	query = (struct flowtap_query){ .cpu = query.cpus };
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_QUERY, &query));
	query = (struct flowtap_query){ .cpu = ~0U };
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_QUERY, &query));
	/* What it answers is not asked: of a later version that may be. */
	query = (struct flowtap_query){ .abi = FLOWTAP_ABI };
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_QUERY, &query));
	query = (struct flowtap_query){ .ctr.depths = 1 };
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_QUERY, &query));
	query = (struct flowtap_query){ .onlines = 1 };
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_QUERY, &query));
	query = (struct flowtap_query){ .reserved[6] = 1 };
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_QUERY, &query));
	query = (struct flowtap_query){ .want = 4 };
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_QUERY, &query));
}

/* One field of a good configuration made bad; `also` is a trigger that the field needs. */
static const struct bad {
	const char *what;
	size_t offset;
	size_t size;
	uint64_t value;
	int error;
	uint32_t also;
} bad[] = {
#define FIELD(name) offsetof(struct flowtap_configure, name), \
		    sizeof(((struct flowtap_configure *)0)->name)
	{ "source none", FIELD(source), FLOWTAP_SOURCE_NONE, EINVAL, 0 },
	{ "source unknown", FIELD(source), 4, EINVAL, 0 },
	{ "source not here", FIELD(source), ELSEWHERE, ENODEV, 0 },
	{ "cpu out of range", FIELD(cpu), 1U << 20, EINVAL, 0 },
	{ "cpu far out of range", FIELD(cpu), ~0U, EINVAL, 0 },
	{ "flag unknown", FIELD(flags), 1U << 8, EINVAL, 0 },
	{ "flag unknown, high", FIELD(flags), 1U << 31, EINVAL, 0 },
	{ "CPU-wide with children", FIELD(flags), FLOWTAP_CPU_WIDE | FLOWTAP_INHERIT, EINVAL, 0 },
	{ "CPU-wide from an exec on", FIELD(flags), FLOWTAP_CPU_WIDE | FLOWTAP_ENABLE_ON_EXEC, EINVAL,
	  0 },
	{ "CPU-wide and endless", FIELD(flags), FLOWTAP_CPU_WIDE | FLOWTAP_ENDLESS, EINVAL, 0 },
	{ "CPU-wide with exclusions, from an exec on", FIELD(flags),
	  FLOWTAP_CPU_WIDE | FLOWTAP_EXCLUDE | FLOWTAP_ENABLE_ON_EXEC, EINVAL, 0 },
	{ "exclusions of what is not CPU-wide", FIELD(flags), FLOWTAP_EXCLUDE, EINVAL, 0 },
	{ "group_fd without the flag", FIELD(group_fd), 1, EINVAL, 0 },
	{ "no mode", FIELD(modes), 0, EINVAL, 0 },
	{ "mode unknown", FIELD(modes), 4 | FLOWTAP_MODE_USER, EINVAL, 0 },
	{ "trigger unknown", FIELD(triggers), 1U << 4, EINVAL, 0 },
	{ "no ring", FIELD(ring_pages), 0, EINVAL, 0 },
	{ "ring not a power of two", FIELD(ring_pages), 3, EINVAL, 0 },
	{ "ring huge", FIELD(ring_pages), 1U << 20, EINVAL, 0 },
	{ "ring overflows", FIELD(ring_pages), 1U << 31, EINVAL, 0 },
	{ "AUX pages without ETE", FIELD(aux_pages), 1, EINVAL, 0 },
	{ "watermark beyond the ring", FIELD(watermark), 16 * 4096 + 1, EINVAL, 0 },
	{ "event without trigger", FIELD(event_config), 1, EINVAL, 0 },
	{ "event type without trigger", FIELD(event_type), 4, EINVAL, 0 },
	{ "period without trigger", FIELD(period), 100000, EINVAL, 0 },
	{ "period 0", FIELD(period), 0, EINVAL, FLOWTAP_TRIGGER_OVERFLOW },
	{ "period below the least", FIELD(period), 999, EINVAL, FLOWTAP_TRIGGER_OVERFLOW },
	{ "period negative", FIELD(period), 1ULL << 63, EINVAL, FLOWTAP_TRIGGER_OVERFLOW },
	{ "event type tracepoint", FIELD(event_type), 2, EINVAL, FLOWTAP_TRIGGER_OVERFLOW },
	{ "event type breakpoint", FIELD(event_type), 5, EINVAL, FLOWTAP_TRIGGER_OVERFLOW },
	{ "event type dynamic", FIELD(event_type), 6, EINVAL, FLOWTAP_TRIGGER_OVERFLOW },
	{ "AUX watermark without ETE", FIELD(aux_watermark), 1, EINVAL, 0 },
	{ "timer without trigger", FIELD(timer_ns), 1000000, EINVAL, 0 },
	{ "timer 0", FIELD(timer_ns), 0, EINVAL, FLOWTAP_TRIGGER_TIMER },
	{ "timer too fast", FIELD(timer_ns), 9999, EINVAL, FLOWTAP_TRIGGER_TIMER },
	{ "timer too slow", FIELD(timer_ns), 1000000001, EINVAL, FLOWTAP_TRIGGER_TIMER },
	{ "control not settable", FIELD(ctr.control), 1ULL << 33, EOPNOTSUPP, 0 },
	{ "depth below the least", FIELD(ctr.depth), 8, EINVAL, 0 },
	{ "depth not a power of two", FIELD(ctr.depth), 24, EINVAL, 0 },
	{ "depth above the greatest", FIELD(ctr.depth), 512, EINVAL, 0 },
	{ "CTR flag not for this source", FIELD(ctr.flags), 1, EOPNOTSUPP, 0 },
	{ "CTR flag unknown", FIELD(ctr.flags), 4, EINVAL, 0 },
	{ "ETE config", FIELD(ete.config), 1, EINVAL, 0 },
	{ "ETE flags", FIELD(ete.flags), 1, EINVAL, 0 },
	{ "reserved", FIELD(reserved[0]), 1, EINVAL, 0 },
	{ "reserved, last", FIELD(reserved[7]), 1ULL << 63, EINVAL, 0 },
#undef FIELD
};

TEST_F(device, every_bad_field_of_configure_is_refused)
{
	const struct bad *bad_one;

	for (bad_one = bad; bad_one < bad + sizeof(bad) / sizeof(bad[0]); bad_one++) {
		struct flowtap_configure broken = self->configure;
		int fd = open_device();

		broken.triggers |= bad_one->also;
		if (bad_one->also & FLOWTAP_TRIGGER_OVERFLOW)
			broken.period = 100000;
		if (bad_one->also & FLOWTAP_TRIGGER_TIMER)
			broken.timer_ns = 1000000;
		/* Little endian: the low bytes come first. */
		memcpy((uint8_t *)&broken + bad_one->offset, &bad_one->value, bad_one->size);
		EXPECT_EQ(-bad_one->error, configure(fd, &broken))
			TH_LOG("%s", bad_one->what);
		/* And nothing of it is left. */
		EXPECT_EQ(0, configure(fd, &self->configure));
		close(fd);
	}
}

TEST_F(device, good_configurations_at_the_limits_are_taken)
{
	static const struct { uint32_t pages, watermark, flush, depth; uint64_t timer; } good[] = {
		{ 1, 1, 1, 16, 0 }, { 2, 8192, ~0U, 128, 1000000000 }, { 1024, 0, 0, 256, 10000 },
		{ 4, 0, ~0U - 1, 0, 0 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		int fd = open_device();

		self->configure.ring_pages = good[i].pages;
		self->configure.watermark = good[i].watermark;
		self->configure.flush_ms = good[i].flush;
		self->configure.ctr.depth = good[i].depth;
		self->configure.timer_ns = good[i].timer;
		self->configure.triggers = good[i].timer ? FLOWTAP_TRIGGER_TIMER : 0;
		EXPECT_EQ(0, configure(fd, &self->configure)) TH_LOG("configuration %u", i);
		close(fd);
	}
	/* 256 entries of 24 bytes do not fit into a page. */
	self->configure.ring_pages = 1;
	self->configure.ctr.depth = 256;
	EXPECT_EQ(-EINVAL, configure(self->fd, &self->configure));
}

static bool overflows_are_nmis(void)
{
	char line[4096] = { 0 };
	int fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, line, sizeof(line) - 1) < 0)
		line[0] = 0;
	close(fd);
	return strstr(line, "gicv3_pseudo_nmi=1");
}

/* An overflow writes to the ring, which has one writer: a CPU with interrupts off. */
TEST_F(device, counters_that_overflow_by_an_nmi_are_refused)
{
	static const uint32_t types[] = { PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_RAW };

	self->configure.triggers |= FLOWTAP_TRIGGER_OVERFLOW;
	self->configure.period = 100000;
	for (unsigned int i = 0; i < 3; i++) {
		int fd = open_device();

		self->configure.event_type = types[i];
		EXPECT_EQ(overflows_are_nmis() ? -EOPNOTSUPP : 0, configure(fd, &self->configure));
		close(fd);
	}
	/* What the kernel counts itself has no interrupt. */
	self->configure.event_type = PERF_TYPE_SOFTWARE;
	EXPECT_EQ(0, configure(self->fd, &self->configure));
}

TEST_F(device, configure_goes_once)
{
	EXPECT_EQ(0, configure(self->fd, &self->configure));
	EXPECT_EQ(-EBUSY, configure(self->fd, &self->configure));
}

TEST_F(device, a_group_needs_a_configured_stream_that_agrees)
{
	struct flowtap_configure member = self->configure;
	int leader = open_device(), other;

	member.flags = FLOWTAP_GROUP;
	member.group_fd = 1000;
	EXPECT_EQ(-EBADF, configure(self->fd, &member));
	member.group_fd = ~0U;
	EXPECT_EQ(-EBADF, configure(self->fd, &member));
	other = eventfd(0, 0);
	member.group_fd = other;
	EXPECT_EQ(-EINVAL, configure(self->fd, &member));
	close(other);
	member.group_fd = self->fd;
	EXPECT_EQ(-EINVAL, configure(self->fd, &member));
	member.group_fd = leader;
	EXPECT_EQ(-EINVAL, configure(self->fd, &member));

	self->configure.triggers |= FLOWTAP_TRIGGER_TIMER;
	self->configure.timer_ns = 1000000;
	ASSERT_EQ(0, configure(leader, &self->configure));
	EXPECT_EQ(-EINVAL, configure(self->fd, &member));
	member.triggers = self->configure.triggers;
	member.timer_ns = 2000000;
	EXPECT_EQ(-EINVAL, configure(self->fd, &member));
	member.timer_ns = self->configure.timer_ns;
	member.flags |= FLOWTAP_INHERIT;
	EXPECT_EQ(-EINVAL, configure(self->fd, &member));
	member.flags = FLOWTAP_GROUP;
	EXPECT_EQ(-EEXIST, configure(self->fd, &member));
	close(leader);
	if (cpus_online() < 2)
		return;
	leader = open_device();
	ASSERT_EQ(0, configure(leader, &self->configure));
	member.group_fd = leader;
	member.cpu = 1;
	EXPECT_EQ(0, configure(self->fd, &member));
	close(leader);
}

TEST_F(device, tasks_that_cannot_be_traced)
{
	struct stream stream = { .fd = self->fd };
	struct flowtap_task task = { .pid = getpid() };
	pid_t ended = fork();

	if (!ended)
		_exit(0);
	ASSERT_EQ(0, configure(self->fd, &self->configure));
	EXPECT_EQ(-ESRCH, add_task(&stream, 0, 0));
	EXPECT_EQ(-ESRCH, add_task(&stream, ~0U, 0));
	EXPECT_EQ(-ESRCH, add_task(&stream, 1U << 22, 0));
	/* kthreadd */
	EXPECT_EQ(-EINVAL, add_task(&stream, 2, 0));
	EXPECT_EQ(-EINVAL, add_task(&stream, 2, FLOWTAP_TASK_THREAD));
	/* Ended, not waited for. */
	siginfo_t info;

	waitid(P_PID, ended, &info, WEXITED | WNOWAIT);
	EXPECT_EQ(-ESRCH, add_task(&stream, ended, 0));
	waitpid(ended, NULL, 0);
	EXPECT_EQ(-ESRCH, add_task(&stream, ended, 0));
	EXPECT_EQ(-ESRCH, remove_task(&stream, getpid(), 0));
	EXPECT_EQ(-EINVAL, add_task(&stream, getpid(), 2));
	task.reserved = 1;
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_ADD_TASK, &task));
	EXPECT_EQ(1, add_task(&stream, getpid(), 0));
	EXPECT_EQ(0, add_task(&stream, getpid(), 0));
	EXPECT_EQ(1, remove_task(&stream, getpid(), FLOWTAP_TASK_THREAD));
	EXPECT_EQ(-ESRCH, remove_task(&stream, getpid(), FLOWTAP_TASK_THREAD));
}

TEST_F(device, unknown_bits_of_the_small_commands_are_einval)
{
	struct flowtap_snapshot snapshot = { .flags = 1 };
	struct flowtap_enable enable = { .flags = 2 };
	struct flowtap_key key = { .key = 1 };

	ASSERT_EQ(0, configure(self->fd, &self->configure));
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_ENABLE, &enable));
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_DISABLE, &enable));
	enable = (struct flowtap_enable){ .reserved = 1 };
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_ENABLE, &enable));
	enable = (struct flowtap_enable){ .flags = FLOWTAP_ENABLE_GROUP };
	EXPECT_EQ(0, command(self->fd, FLOWTAP_IOC_ENABLE, &enable));
	EXPECT_EQ(0, command(self->fd, FLOWTAP_IOC_ENABLE, &enable));
	EXPECT_EQ(0, command(self->fd, FLOWTAP_IOC_DISABLE, &enable));
	EXPECT_EQ(0, command(self->fd, FLOWTAP_IOC_DISABLE, &enable));
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_SNAPSHOT, &snapshot));
	snapshot = (struct flowtap_snapshot){ .reserved = 1 };
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_SNAPSHOT, &snapshot));
	/* What it answers is not asked. */
	snapshot = (struct flowtap_snapshot){ .entries = 1 };
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_SNAPSHOT, &snapshot));
	EXPECT_EQ(1, snapshot.entries);
	/* Also where the kernel has no BTF, and there are no keys. */
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_KEY, &key));
	key = (struct flowtap_key){ .flags = 1 };
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_KEY, &key));
	key = (struct flowtap_key){ .reserved = 1 };
	EXPECT_EQ(-EINVAL, command(self->fd, FLOWTAP_IOC_KEY, &key));
	snapshot = (struct flowtap_snapshot){ 0 };
	EXPECT_EQ(0, command(self->fd, FLOWTAP_IOC_SNAPSHOT, &snapshot));
	EXPECT_EQ(0, snapshot.entries);
}

TEST_F(device, reading_and_writing_the_file_is_not_offered)
{
	char byte = 0;

	EXPECT_EQ(-1, read(self->fd, &byte, 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(self->fd, &byte, 1));
	EXPECT_EQ(EINVAL, errno);
}

TEST_HARNESS_MAIN
