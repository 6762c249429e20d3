// SPDX-License-Identifier: GPL-2.0-only
/* Shows that a list of CPUs, as sysfs has it, is read as it is meant, and nonsense as no CPU. */
#include "cpus.h"

#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lend.h"
#include "run.h"
#include "support/kselftest_harness.h"

#define SECOND 1000000000ULL
#define CPUS 1024

/* Instead of those that need a machine with the module. */
static uint64_t now, onlines;
static bool may_open;
static unsigned int reopened, told;
static const char *word;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (clock != CLOCK_MONOTONIC_RAW)
		return (int)syscall(SYS_clock_gettime, clock, time);
	*time = (struct timespec){ (time_t)(now / SECOND), (long)(now % SECOND) };
	return 0;
}

bool run_may_open_device(const struct run *run)
{
	return may_open;
}

/* QUERY is all that is asked for. */
int ioctl(int fd, unsigned long number, ...)
{
	struct flowtap_query *query;
	va_list list;

	va_start(list, number);
	query = va_arg(list, struct flowtap_query *);
	va_end(list);
	query->source = FLOWTAP_SOURCE_CTR;
	query->onlines = onlines;
	return 0;
}

static void open_session(struct run *run)
{
	run->collect.streams.contradicts = false;
	for (size_t i = 0; i < CPUS; i++)
		run->collect.streams.session.queries[i].onlines = onlines;
	cpus_begin(run);
}

void lend_reopen(struct run *run, const char *because, const char *why)
{
	reopened++;
	word = because;
	open_session(run);
}

void event_cpus(const char *before, const char *online)
{
	told++;
}

/* A run on a machine of CPU 0, which has come online once; of no stream. */
static struct run *made(struct metrics_cpu *cpu)
{
	static enum flowtap_session_skip skips[CPUS];
	static struct flowtap_query queries[CPUS];
	static struct flowtap_session_stream streams[1];
	static struct run run;

	memset(&run, 0, sizeof(run));
	run.figures.cpus = cpu;
	run.figures.n_cpus = 1;
	run.collect.streams.session.queries = queries;
	run.collect.streams.session.skips = skips;
	run.collect.streams.session.streams = streams;
	run.collect.streams.session.cpus = 1;
	now = 1000 * SECOND;
	onlines = 1;
	may_open = true;
	reopened = told = 0;
	open_session(&run);
	return &run;
}

TEST(a_list_has_its_cpus_and_no_others)
{
	EXPECT_TRUE(cpus_has("0", 0));
	EXPECT_FALSE(cpus_has("0", 1));
	EXPECT_TRUE(cpus_has("0-3,5,8-9", 3));
	EXPECT_FALSE(cpus_has("0-3,5,8-9", 4));
	EXPECT_TRUE(cpus_has("0-3,5,8-9", 5));
	EXPECT_FALSE(cpus_has("0-3,5,8-9", 7));
	EXPECT_TRUE(cpus_has("0-3,5,8-9", 9));
	EXPECT_FALSE(cpus_has("0-3,5,8-9", 10));
	EXPECT_FALSE(cpus_has("10", 1));
}

TEST(nonsense_has_none)
{
	static const char *const lists[] = { "", ",", "-", "a", "2-1", ",1", " " };

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		EXPECT_FALSE(cpus_has(lists[i], 1));
}

TEST(a_cpu_that_comes_again_and_again_costs_a_segment_each_ten_seconds)
{
	struct metrics_cpu cpu = { 0 };
	struct run *run = made(&cpu);

	if (!run->cpus.online[0])
		SKIP(return, "it is not known here which CPUs are online");
	cpus_look(run);
	EXPECT_EQ(0, reopened);
	for (int i = 0; i < 21; i++) {
		onlines++;
		cpus_look(run);
		now += SECOND;
	}
	/* The first time at once. */
	EXPECT_EQ(3, reopened);
	EXPECT_EQ(3, told);
	EXPECT_STREQ("cpus", word);
	/* And none is forgotten. */
	onlines++;
	cpus_look(run);
	EXPECT_EQ(3, reopened);
	now += 9 * SECOND;
	cpus_look(run);
	EXPECT_EQ(4, reopened);
	now += 10 * SECOND;
	cpus_look(run);
	EXPECT_EQ(4, reopened);
}

/* Its loss is that of a CPU that is offline; perf keeps its events there. */
TEST(a_low_power_state_is_no_reason)
{
	struct metrics_cpu cpu = { 0 };
	struct run *run = made(&cpu);

	for (int i = 0; i < 20; i++) {
		cpu.losses[FLOWTAP_CAUSE_OFFLINE]++;
		cpus_look(run);
		now += SECOND;
	}
	EXPECT_EQ(0, reopened);
	EXPECT_EQ(0, told);
}

TEST(that_it_cannot_be_opened_is_complained_about_once)
{
	struct metrics_cpu cpu = { 0 };
	struct run *run = made(&cpu);

	if (!run->cpus.online[0])
		SKIP(return, "it is not known here which CPUs are online");
	may_open = false;
	for (int i = 0; i < 20; i++) {
		onlines += i < 2;
		cpus_look(run);
		now += 10 * SECOND;
	}
	EXPECT_EQ(1, told);
	EXPECT_EQ(0, reopened);
	/* One that goes is told of for all that, once. */
	strcpy(run->cpus.online, "0-1023");
	run->collect.streams.session.cpus = CPUS;
	for (int i = 0; i < 3; i++)
		cpus_look(run);
	EXPECT_EQ(2, told);
}

/* Else its CPU would not be recorded until somebody starts it again. */
TEST(a_ring_that_contradicts_itself_is_opened_again)
{
	struct metrics_cpu cpu = { 0 };
	struct run *run = made(&cpu);

	if (!run->cpus.online[0])
		SKIP(return, "it is not known here which CPUs are online");
	may_open = false;
	run->collect.streams.contradicts = true;
	cpus_look(run);
	EXPECT_EQ(0, reopened);
	may_open = true;
	cpus_look(run);
	EXPECT_EQ(1, reopened);
	EXPECT_STREQ("ring", word);
	EXPECT_EQ(0, told);
	now += 9 * SECOND;
	run->collect.streams.contradicts = true;
	cpus_look(run);
	EXPECT_EQ(1, reopened);
	now += SECOND;
	cpus_look(run);
	EXPECT_EQ(2, reopened);
}

TEST_HARNESS_MAIN
