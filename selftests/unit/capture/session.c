// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows which CPUs get a stream, with which rings and in which group, and what is said of a
 * refusal.
 */
#include <stdlib.h>

#include "support/kselftest_harness.h"
#include "support/fake_device.h"

FIXTURE(session)
{
	struct flowtap_session session;
	struct flowtap_session_problem problem;
	struct flowtap_session_request request;
};

FIXTURE_SETUP(session)
{
	fake_reset(3, FLOWTAP_SOURCE_CTR);
	self->request = (struct flowtap_session_request){
		.configure = { .modes = FLOWTAP_MODE_USER, .ring_pages = 32 },
	};
}

FIXTURE_TEARDOWN(session)
{
	flowtap_session_close(&self->session);
	EXPECT_EQ(self->session.n, 0);
	fake_reset(0, 0);
}

static int open_all(struct __test_metadata *_metadata, FIXTURE_DATA(session) *self)
{
	EXPECT_EQ(flowtap_session_query(&self->session, 0, &self->problem), 0);
	return flowtap_session_open(&self->session, &self->request, &self->problem);
}

TEST_F(session, each_cpu_has_a_stream_in_the_group_of_the_first)
{
	ASSERT_EQ(open_all(_metadata, self), 0);
	ASSERT_EQ(self->session.n, 3);
	EXPECT_EQ(self->session.source, FLOWTAP_SOURCE_CTR);
	EXPECT_FALSE(self->session.wide);
	for (uint32_t cpu = 0; cpu < 3; cpu++) {
		const struct flowtap_session_stream *stream = &self->session.streams[cpu];
		const struct flowtap_configure *got = &fake_of(stream->fd)->configure;

		EXPECT_EQ(self->session.skips[cpu], FLOWTAP_SESSION_HAS_STREAM);
		EXPECT_EQ(got->cpu, cpu);
		EXPECT_EQ(got->source, FLOWTAP_SOURCE_CTR);
		EXPECT_EQ(got->flags, cpu ? FLOWTAP_GROUP : 0);
		if (cpu)
			EXPECT_EQ(got->group_fd, self->session.streams[0].fd);
		EXPECT_EQ(stream->reader.size, 32 * sysconf(_SC_PAGESIZE));
	}
}

TEST_F(session, streams_of_whole_cpus_are_no_group_unless_they_exclude_tasks)
{
	self->request.configure.flags = FLOWTAP_CPU_WIDE;
	ASSERT_EQ(open_all(_metadata, self), 0);
	EXPECT_EQ(self->session.streams[1].configure.flags, FLOWTAP_CPU_WIDE);
	EXPECT_EQ(flowtap_session_enable(&self->session), 0);
	for (size_t i = 0; i < 3; i++)
		EXPECT_EQ(fake_of(self->session.streams[i].fd)->enables, 1);
	flowtap_session_close(&self->session);

	self->request.configure.flags |= FLOWTAP_EXCLUDE;
	ASSERT_EQ(open_all(_metadata, self), 0);
	EXPECT_EQ(self->session.streams[1].configure.flags,
		  FLOWTAP_CPU_WIDE | FLOWTAP_EXCLUDE | FLOWTAP_GROUP);
}

TEST_F(session, a_group_is_switched_by_its_first_stream)
{
	ASSERT_EQ(open_all(_metadata, self), 0);
	EXPECT_EQ(flowtap_session_enable(&self->session), 0);
	for (size_t i = 0; i < 3; i++) {
		EXPECT_EQ(fake_of(self->session.streams[i].fd)->enables, !i);
		EXPECT_TRUE(fake_of(self->session.streams[i].fd)->enabled);
	}
	EXPECT_EQ(flowtap_session_disable(&self->session), 0);
	EXPECT_FALSE(fake_of(self->session.streams[2].fd)->enabled);
	fake.enable_error = -EIO;
	EXPECT_EQ(flowtap_session_enable(&self->session), -EIO);
	EXPECT_EQ(flowtap_session_disable(&self->session), -EIO);
}

TEST_F(session, hardware_comes_before_soft)
{
	fake.queries[0].source = FLOWTAP_SOURCE_SOFT;
	fake.queries[2].source = FLOWTAP_SOURCE_NONE;
	ASSERT_EQ(open_all(_metadata, self), 0);
	EXPECT_EQ(self->session.source, FLOWTAP_SOURCE_CTR);
	EXPECT_EQ(self->session.n, 1);
	EXPECT_EQ(self->session.skips[0], FLOWTAP_SESSION_OTHER_SOURCE);
	EXPECT_EQ(self->session.skips[1], FLOWTAP_SESSION_HAS_STREAM);
	EXPECT_EQ(self->session.skips[2], FLOWTAP_SESSION_NO_SOURCE);
}

TEST_F(session, only_cpus_that_are_asked_for_and_can)
{
	const uint64_t cpus[] = { 6 };

	self->request.cpus = cpus;
	self->request.cpus_max = 64;
	fake.queries[2].modes = FLOWTAP_MODE_KERNEL;
	ASSERT_EQ(open_all(_metadata, self), 0);
	EXPECT_EQ(self->session.n, 1);
	EXPECT_EQ(self->session.streams[0].configure.cpu, 1);
	EXPECT_EQ(self->session.skips[0], FLOWTAP_SESSION_NOT_ASKED);
	EXPECT_EQ(self->session.skips[2], FLOWTAP_SESSION_UNABLE);
}

TEST_F(session, where_nobody_can_the_first_that_was_asked_for_is_named)
{
	const uint64_t cpus[] = { 6 }, beyond[] = { 8 };

	self->request.cpus = cpus;
	self->request.cpus_max = 64;
	self->request.configure.modes = 1U << 31;
	EXPECT_EQ(open_all(_metadata, self), -EOPNOTSUPP);
	EXPECT_EQ(self->problem.cause, FLOWTAP_SESSION_NONE_ABLE);
	EXPECT_EQ(self->problem.cpu, 1);
	flowtap_session_close(&self->session);

	self->request.cpus = beyond;
	EXPECT_EQ(open_all(_metadata, self), -EINVAL);
	EXPECT_EQ(self->problem.cause, FLOWTAP_SESSION_NO_SUCH_CPU);
}

TEST_F(session, without_device_or_source_the_query_says_so)
{
	fake_reset(2, FLOWTAP_SOURCE_NONE);
	EXPECT_EQ(flowtap_session_query(&self->session, 0, &self->problem), -ENODEV);
	EXPECT_EQ(self->problem.cause, FLOWTAP_SESSION_NO_SOURCES);
	EXPECT_EQ(self->problem.query.reason, FLOWTAP_REASON_ABSENT);
	flowtap_session_close(&self->session);

	fake.no_device = -EACCES;
	EXPECT_EQ(flowtap_session_query(&self->session, 0, &self->problem), -EACCES);
	EXPECT_EQ(self->problem.cause, FLOWTAP_SESSION_DEVICE);
	EXPECT_EQ(self->problem.error, -EACCES);
}

TEST_F(session, all_rings_shrink_together_where_memory_is_short)
{
	fake.most_pages = 10;
	ASSERT_EQ(open_all(_metadata, self), 0);
	ASSERT_EQ(self->session.n, 3);
	for (size_t i = 0; i < 3; i++)
		EXPECT_EQ(self->session.streams[i].configure.ring_pages, 8);
}

TEST_F(session, the_greater_of_ring_and_aux_area_shrinks_first)
{
	for (uint32_t cpu = 0; cpu < 3; cpu++)
		fake.queries[cpu].source = FLOWTAP_SOURCE_ETE;
	self->request.configure.aux_pages = 64;
	fake.most_pages = 48;
	ASSERT_EQ(open_all(_metadata, self), 0);
	/* 64 and 32, then 32 and 32, of which the ring is halved. */
	EXPECT_EQ(self->session.streams[2].configure.aux_pages, 32);
	EXPECT_EQ(self->session.streams[2].configure.ring_pages, 16);
	EXPECT_EQ(self->session.streams[2].reader.aux_size, 32 * sysconf(_SC_PAGESIZE));
	flowtap_session_close(&self->session);

	self->request.aux_fixed = true;
	fake.most_pages = 72;
	ASSERT_EQ(open_all(_metadata, self), 0);
	EXPECT_EQ(self->session.streams[0].configure.aux_pages, 64);
	EXPECT_EQ(self->session.streams[0].configure.ring_pages, 8);
}

TEST_F(session, rings_that_are_fixed_do_not_shrink)
{
	self->request.ring_fixed = true;
	fake.most_pages = 10;
	EXPECT_EQ(open_all(_metadata, self), -EPERM);
	EXPECT_EQ(self->problem.cause, FLOWTAP_SESSION_LOCKED_MEMORY);
	EXPECT_EQ(self->problem.configure.ring_pages, 32);
}

TEST_F(session, nor_below_the_least)
{
	fake.most_pages = 7;
	EXPECT_EQ(open_all(_metadata, self), -EPERM);
	EXPECT_EQ(self->problem.cause, FLOWTAP_SESSION_LOCKED_MEMORY);
	EXPECT_EQ(self->problem.configure.ring_pages, 8);
}

TEST_F(session, a_cpu_that_goes_meanwhile_is_left_out)
{
	fake.gone = 1U << 0;
	ASSERT_EQ(open_all(_metadata, self), 0);
	EXPECT_EQ(self->session.n, 2);
	EXPECT_EQ(self->session.skips[0], FLOWTAP_SESSION_WENT_OFFLINE);
	/* The group's first is the first that is there. */
	EXPECT_EQ(self->session.streams[0].configure.cpu, 1);
	EXPECT_EQ(self->session.streams[0].configure.flags, 0);
	EXPECT_EQ(self->session.streams[1].configure.group_fd, self->session.streams[0].fd);
}

static const struct refusal {
	int error;
	enum flowtap_session_cause samples, traces;
} refusals[] = {
	{ -EINVAL, FLOWTAP_SESSION_RING_SMALL, FLOWTAP_SESSION_REFUSED },
	{ -EBUSY, FLOWTAP_SESSION_HELD, FLOWTAP_SESSION_HELD },
	{ -EACCES, FLOWTAP_SESSION_DENIED, FLOWTAP_SESSION_DENIED },
	{ -EPERM, FLOWTAP_SESSION_LOCKED_MEMORY, FLOWTAP_SESSION_LOCKED_MEMORY },
	{ -ENOMEM, FLOWTAP_SESSION_KERNEL_MEMORY, FLOWTAP_SESSION_KERNEL_MEMORY },
	{ -ENOENT, FLOWTAP_SESSION_NO_EVENT, FLOWTAP_SESSION_NO_EVENT },
	{ -ENODEV, FLOWTAP_SESSION_NO_EVENT, FLOWTAP_SESSION_REFUSED },
	{ -EOPNOTSUPP, FLOWTAP_SESSION_NO_EVENT, FLOWTAP_SESSION_REFUSED },
	{ -EIO, FLOWTAP_SESSION_CONFIGURE, FLOWTAP_SESSION_CONFIGURE },
};

static enum flowtap_session_cause refuse(struct __test_metadata *_metadata,
					 FIXTURE_DATA(session) *self, uint32_t source, int error)
{
	fake_reset(3, source);
	fake.queries[1].holder_pid = (uint32_t)getpid();
	fake.refusal[1] = error;
	EXPECT_EQ(open_all(_metadata, self), error);
	EXPECT_EQ(self->problem.error, error);
	EXPECT_EQ(self->problem.cpu, 1);
	EXPECT_EQ(self->problem.configure.cpu, 1);
	flowtap_session_close(&self->session);
	return self->problem.cause;
}

TEST_F(session, a_refusal_has_a_cause_by_its_source)
{
	self->request.ring_fixed = true;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		EXPECT_EQ(refuse(_metadata, self, FLOWTAP_SOURCE_CTR, refusals[i].error),
			  refusals[i].samples);
		EXPECT_EQ(refuse(_metadata, self, FLOWTAP_SOURCE_ETE, refusals[i].error),
			  refusals[i].traces);
	}
}

TEST_F(session, who_holds_a_cpu_is_asked_when_it_is_refused)
{
	EXPECT_EQ(refuse(_metadata, self, FLOWTAP_SOURCE_CTR, -EBUSY), FLOWTAP_SESSION_HELD);
	EXPECT_EQ(self->problem.query.holder_pid, getpid());
}

TEST_F(session, identifiers_of_tasks_are_denied_on_their_own)
{
	self->request.configure.ete.config = 1ULL << 6;
	fake_reset(3, FLOWTAP_SOURCE_ETE);
	for (uint32_t cpu = 0; cpu < 3; cpu++)
		fake.queries[cpu].ete.settable = 1ULL << 6;
	fake.refusal[0] = -EACCES;
	EXPECT_EQ(open_all(_metadata, self), -EACCES);
	EXPECT_EQ(self->problem.cause, FLOWTAP_SESSION_DENIED_CONTEXT);
	flowtap_session_close(&self->session);

	/* Rights come first for what takes rights. */
	self->request.configure.flags = FLOWTAP_CPU_WIDE;
	EXPECT_EQ(open_all(_metadata, self), -EACCES);
	EXPECT_EQ(self->problem.cause, FLOWTAP_SESSION_DENIED);
}

TEST_F(session, a_ring_that_contradicts_its_configuration_is_not_mapped)
{
	self->request.configure.ring_pages = 3;
	EXPECT_EQ(open_all(_metadata, self), -EPROTO);
	EXPECT_EQ(self->problem.cause, FLOWTAP_SESSION_MAP);
	EXPECT_EQ(self->problem.cpu, 0);
}

TEST_F(session, tasks_are_the_first_streams)
{
	ASSERT_EQ(open_all(_metadata, self), 0);
	EXPECT_EQ(flowtap_session_add_task(&self->session, 42, FLOWTAP_TASK_THREAD), 0);
	EXPECT_EQ(fake.added[0].pid, 42);
	EXPECT_EQ(fake.added[0].flags, FLOWTAP_TASK_THREAD);
	EXPECT_EQ(flowtap_session_remove_task(&self->session, 43, 0), 0);
	EXPECT_EQ(fake.removed[0].pid, 43);
	EXPECT_EQ(fake.removed[0].flags, 0);
	fake.task_error = -ESRCH;
	EXPECT_EQ(flowtap_session_add_task(&self->session, 42, 0), -ESRCH);
	EXPECT_EQ(flowtap_session_remove_task(&self->session, 42, 0), -ESRCH);
}

TEST_F(session, every_stream_takes_a_snapshot_also_after_one_that_failed)
{
	ASSERT_EQ(open_all(_metadata, self), 0);
	fake.snapshot_error = -EIO;
	EXPECT_EQ(flowtap_session_snapshot(&self->session), -EIO);
	for (size_t i = 0; i < 3; i++)
		EXPECT_EQ(fake_of(self->session.streams[i].fd)->snapshots, 1);
}

TEST_F(session, a_cpu_is_asked_anew_what_it_has_and_who_holds_it)
{
	struct flowtap_query query;

	ASSERT_EQ(open_all(_metadata, self), 0);
	fake.queries[2].holder_pid = 42;
	EXPECT_EQ(flowtap_session_query_cpu(&self->session, 2, &query), 0);
	EXPECT_EQ(query.cpu, 2);
	EXPECT_EQ(query.holder_pid, 42);
	EXPECT_EQ(self->session.queries[2].holder_pid, 0);
	EXPECT_EQ(flowtap_session_query_cpu(&self->session, FAKE_CPUS, &query), -EINVAL);
	EXPECT_EQ(query.holder_pid, 0);
}

TEST_F(session, the_key_is_that_of_the_set_of_tasks)
{
	uint64_t key = 7;

	ASSERT_EQ(open_all(_metadata, self), 0);
	EXPECT_EQ(flowtap_session_key(&self->session, &key), -EPERM);
	EXPECT_EQ(key, 7);
	fake.key = 9;
	EXPECT_EQ(flowtap_session_key(&self->session, &key), 0);
	EXPECT_EQ(key, 9);
}

TEST_F(session, figures_are_added_up_but_the_high_water)
{
	struct flowtap_stats sum;

	ASSERT_EQ(open_all(_metadata, self), 0);
	for (uint64_t i = 0; i < 3; i++)
		fake_of(self->session.streams[i].fd)->stats = (struct flowtap_stats){
			.samples = 1 + i,
			.lost_bytes = 10,
			.losses = { [FLOWTAP_CAUSE_OFFLINE] = i },
			.high_water = i == 1 ? 7 : 5,
		};
	EXPECT_EQ(flowtap_session_stats(&self->session.streams[1], &sum), 0);
	EXPECT_EQ(sum.samples, 2);
	flowtap_session_sum(&self->session, &sum);
	EXPECT_EQ(sum.samples, 6);
	EXPECT_EQ(sum.lost_bytes, 30);
	EXPECT_EQ(sum.losses[FLOWTAP_CAUSE_OFFLINE], 3);
	EXPECT_EQ(sum.high_water, 7);
}

TEST_HARNESS_MAIN
