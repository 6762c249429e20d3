// SPDX-License-Identifier: GPL-2.0-only
/* Shows that sets of tasks can be without end, and that a CPU-wide stream leaves out whom it is to. */
#include "excluded.h"
#include "traced.h"

/* --- Without end. --- */

TEST_F(tasks, an_endless_set_may_be_empty_and_get_tasks_again)
{
	pid_t pid = spinner(0);

	self->configure.flags |= FLOWTAP_ENDLESS;
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(0, enable(&self->stream));
	ASSERT_EQ(1, add_task(&self->stream, pid, 0));
	EXPECT_TRUE(sample_comes(&self->stream, pid));
	end(pid);
	EXPECT_TRUE(WAIT_FOR(stats(&self->stream).tasks == 0));
	EXPECT_EQ(0, poll_now(&self->stream) & POLLHUP);
	pid = spinner(0);
	ASSERT_EQ(1, add_task(&self->stream, pid, 0));
	EXPECT_TRUE(sample_comes(&self->stream, pid));
	ASSERT_EQ(1, remove_task(&self->stream, pid, 0));
	EXPECT_EQ(0, poll_now(&self->stream) & POLLHUP);
	end(pid);
}

/* --- Left out. --- */

TEST_F(tasks, a_cpu_wide_stream_takes_tasks_only_to_leave_them_out)
{
	self->configure.flags = FLOWTAP_CPU_WIDE;
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	EXPECT_EQ(-EINVAL, add_task(&self->stream, getpid(), 0));
	EXPECT_EQ(-EINVAL, remove_task(&self->stream, getpid(), 0));
}

/* A sample that waits says that it comes after an excluded task. */
static bool after_excluded(struct stream *stream)
{
	bool after = false;

	while (stream_next(stream) == 1)
		after |= stream->record.header.type == FLOWTAP_RECORD_SAMPLE &&
			 stream->record.sample.loss & 1 << FLOWTAP_CAUSE_EXCLUDED;
	return after;
}

TEST_F(tasks, who_is_excluded_leaves_nothing_and_what_follows_says_so)
{
	pid_t excluded = spinner(0), other = spinner(0);
	bool after = false;

	ASSERT_EQ(0, open_wide(&self->stream, &self->configure, 0));
	ASSERT_EQ(1, add_task(&self->stream, excluded, 0));
	EXPECT_EQ(0, add_task(&self->stream, excluded, 0));
	EXPECT_EQ(1, stats(&self->stream).tasks);
	ASSERT_EQ(0, enable(&self->stream));
	for (int i = 0; i < 20; i++) {
		sleep_ms(20);
		EXPECT_EQ(0, samples_of(&self->stream, excluded));
	}
	EXPECT_TRUE(sample_comes(&self->stream, other));
	EXPECT_TRUE(WAIT_FOR(stats(&self->stream).losses[FLOWTAP_CAUSE_EXCLUDED] > 0));
	EXPECT_TRUE(WAIT_FOR(after || (after = after_excluded(&self->stream))));
	/* While it runs: from now on, and not any more. */
	ASSERT_EQ(1, remove_task(&self->stream, excluded, 0));
	EXPECT_TRUE(sample_comes(&self->stream, excluded));
	end(other);
	ASSERT_EQ(1, add_task(&self->stream, excluded, 0));
	samples_of(&self->stream, 0);
	sleep_ms(100);
	EXPECT_EQ(0, samples_of(&self->stream, excluded));
	EXPECT_EQ(0, poll_now(&self->stream) & POLLHUP);
	end(excluded);
	EXPECT_TRUE(WAIT_FOR(stats(&self->stream).tasks == 0));
	EXPECT_EQ(0, poll_now(&self->stream) & POLLHUP);
}

TEST_F(tasks, who_traces_an_excluded_task_has_it_meanwhile)
{
	pid_t excluded = spinner(0), other = spinner(0);
	struct flowtap_configure configure = plain(variant->source, 0);
	struct stream mine;

	/* There may be one counter only, which the other stream has. */
	configure.triggers |= FLOWTAP_TRIGGER_SWITCH;
	configure.ring_pages = 256;
	ASSERT_EQ(0, stream_open(&mine, &configure));
	ASSERT_EQ(1, add_task(&mine, excluded, 0));
	ASSERT_EQ(1, add_task(&mine, other, 0));
	ASSERT_EQ(0, enable(&mine));
	ASSERT_EQ(0, open_wide(&self->stream, &self->configure, 0));
	ASSERT_EQ(1, add_task(&self->stream, excluded, 0));
	ASSERT_EQ(0, enable(&self->stream));
	while (stream_next(&mine) == 1)
		;
	EXPECT_TRUE(sample_comes(&mine, excluded));
	EXPECT_TRUE(sample_comes(&self->stream, other));
	while (stream_next(&mine) == 1)
		;
	sleep_ms(100);
	EXPECT_EQ(0, samples_of(&mine, other));
	/* It runs, and comes back to the CPU-wide stream. */
	ASSERT_EQ(1, remove_task(&self->stream, excluded, 0));
	EXPECT_TRUE(sample_comes(&self->stream, excluded));
	stream_close(&mine);
	end(excluded);
	end(other);
}

TEST_F(tasks, children_of_the_excluded_are_excluded_where_that_is_inherited)
{
	for (int inherit = 0; inherit < 2; inherit++) {
		int *go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		pid_t parent = fork_pinned(0);

		if (!parent) {
			while (!__atomic_load_n(&go[0], __ATOMIC_ACQUIRE))
				sleep_ms(1);
			go[1] = spinner(0);
			spin();
		}
		ASSERT_EQ(0, open_wide(&self->stream, &self->configure,
				       inherit ? FLOWTAP_INHERIT : 0));
		ASSERT_EQ(1, add_task(&self->stream, parent, 0));
		ASSERT_EQ(0, enable(&self->stream));
		__atomic_store_n(&go[0], 1, __ATOMIC_RELEASE);
		EXPECT_TRUE(WAIT_FOR(go[1]));
		if (inherit) {
			sleep_ms(200);
			EXPECT_EQ(0, samples_of(&self->stream, go[1]));
			EXPECT_EQ(2, stats(&self->stream).tasks);
		} else {
			EXPECT_TRUE(sample_comes(&self->stream, go[1]));
		}
		end(parent);
		kill(go[1], SIGKILL);
		stream_close(&self->stream);
	}
}

TEST_HARNESS_MAIN
