// SPDX-License-Identifier: GPL-2.0-only
/* Shows what is asked of the device, and that a CPU that somebody is leaving is waited for. */
#include <stdlib.h>
#include <sys/wait.h>

#include "support/kselftest_harness.h"
#include "support/fake_device.h"

TEST(each_cpu_is_asked_for_the_source_that_is_wanted)
{
	struct flowtap_query *queries = NULL;
	size_t n = 0;

	fake_reset(3, FLOWTAP_SOURCE_CTR);
	fake.queries[1].source = FLOWTAP_SOURCE_SOFT;
	ASSERT_EQ(flowtap_device_query(FLOWTAP_SOURCE_SOFT, &queries, &n), 0);
	ASSERT_EQ(n, 3);
	for (uint32_t cpu = 0; cpu < 3; cpu++) {
		EXPECT_EQ(queries[cpu].cpu, cpu);
		EXPECT_EQ(queries[cpu].source, cpu == 1 ? FLOWTAP_SOURCE_SOFT : FLOWTAP_SOURCE_NONE);
	}
	free(queries);
}

TEST(a_number_that_is_no_cpu_is_offline)
{
	struct flowtap_query *queries = NULL;
	size_t n = 0;

	/* There are numbers up to 5, and no CPU beyond FAKE_CPUS. */
	fake_reset(6, FLOWTAP_SOURCE_CTR);
	ASSERT_EQ(flowtap_device_query(0, &queries, &n), 0);
	ASSERT_EQ(n, 6);
	EXPECT_EQ(queries[FAKE_CPUS - 1].source, FLOWTAP_SOURCE_CTR);
	EXPECT_EQ(queries[FAKE_CPUS].source, FLOWTAP_SOURCE_NONE);
	EXPECT_EQ(queries[FAKE_CPUS].reason, FLOWTAP_REASON_OFFLINE);
	EXPECT_EQ(queries[5].cpu, 5);
	free(queries);
}

TEST(without_a_device_nothing_is_given)
{
	struct flowtap_query *queries = NULL;
	size_t n = 0;

	fake_reset(1, FLOWTAP_SOURCE_CTR);
	fake.no_device = -ENOENT;
	EXPECT_EQ(flowtap_device_query(0, &queries, &n), -ENOENT);
	fake.no_device = 0;
	fake.cpus = 0;
	EXPECT_EQ(flowtap_device_query(0, &queries, &n), -EPROTO);
	fake.cpus = 8193;
	EXPECT_EQ(flowtap_device_query(0, &queries, &n), -EPROTO);
	EXPECT_EQ(queries, NULL);
	EXPECT_EQ(n, 0);
}

/* Refused twice: tried three times if the holder goes, else once. */
static int configure(int refusal, uint32_t holder)
{
	struct flowtap_configure request = { .source = FLOWTAP_SOURCE_CTR, .ring_pages = 1 };
	int fd, error;

	fake_reset(1, FLOWTAP_SOURCE_CTR);
	fake.queries[0].holder_pid = holder;
	fake.refusal[0] = refusal;
	fake.refusals = 2;
	fd = flowtap_device_open();
	error = flowtap_device_configure(fd, &request);
	close(fd);
	return error;
}

TEST(a_holder_that_is_going_is_waited_for)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	EXPECT_EQ(configure(-EBUSY, (uint32_t)pid), 0);
	EXPECT_EQ(fake.configures, 3);
	EXPECT_EQ(configure(-EBUSY, 0), 0);
	EXPECT_EQ(fake.configures, 3);
}

TEST(one_that_stays_is_not)
{
	EXPECT_EQ(configure(-EBUSY, (uint32_t)getpid()), -EBUSY);
	EXPECT_EQ(fake.configures, 1);
	EXPECT_EQ(configure(-EACCES, 0), -EACCES);
	EXPECT_EQ(fake.configures, 1);
}

TEST_HARNESS_MAIN
