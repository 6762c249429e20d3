// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that hardware is lent once, with everything closed before, and taken back when its borrower
 * has let go of it, or long enough after he went; and that this is tried until it succeeds.
 */
#include "lend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../../tools/common/device_report.h"
#include "../../tools/common/tool.h"
#include "run.h"
#include "support/kselftest_harness.h"
#include "logged.h"

#define SECOND 1000000000ULL

/* Instead of those that need a machine with the module: what they were asked for, a letter each. */
static char calls[64];
static int open_error, begin_error;
static uint32_t holder;
static unsigned int holds;		/* so many looks find the holder */
static bool current;			/* a segment is being written */

static void call(char c)
{
	const char text[] = { c, 0 };

	if (strlen(calls) + 1 < sizeof(calls))
		strcat(calls, text);
}

int device_query(uint32_t want, struct flowtap_query **queries, size_t *n)
{
	(void)want;
	call('?');
	*queries = calloc(2, sizeof(**queries));
	*n = 2;
	if (holds && holds--)
		(*queries)[1].holder_pid = holder;
	return 0;
}

void run_end_segment(struct run *run, const char *why)
{
	(void)run;
	call(strcmp(why, "lent") ? '!' : 'e');
}

void run_full_over(struct run *run)
{
	run->full_since = 0;
	call('r');
}

void run_keep_figures(struct run *run)
{
	(void)run;
	call('k');
}

void choice_end(struct choice *choice)
{
	(void)choice;
	call('t');
}

void collect_close(struct collect *collect)
{
	(void)collect;
	call('c');
}

int run_open_device(struct run *run)
{
	(void)run;
	call('o');
	return open_error;
}

int run_begin_segment(struct run *run)
{
	(void)run;
	call('b');
	return begin_error;
}

const char *store_current(const struct store *store)
{
	(void)store;
	return current ? "segment" : NULL;
}

void store_drop(struct store *store)
{
	(void)store;
	call('d');
}

const char *run_state_name(enum run_state state)
{
	return state == RUN_STOPPED ? "stopped" : "recording";
}

/* What was called since. */
static const char *called(void)
{
	static char copy[sizeof(calls)];

	strcpy(copy, calls);
	calls[0] = 0;
	return copy;
}

FIXTURE(lend)
{
	struct run run;
	struct server_peer peer;
	struct logged logged;
};

FIXTURE_SETUP(lend)
{
	self->run = (struct run){ .state = RUN_RECORDING, .rotate = true };
	/* Of no process. */
	self->peer = (struct server_peer){ .known = true, .owner = true, .pid = 1 << 30, .uid = 1000 };
	logged_open(&self->logged);
}

FIXTURE_TEARDOWN(lend)
{
	logged_close(&self->logged);
}

TEST_F(lend, everything_is_closed_first)
{
	const uint64_t before = number_now();

	self->peer.pid = getpid();
	prctl(PR_SET_NAME, "borrower");
	EXPECT_EQ(0, lend(&self->run, &self->peer));
	/* What was counted is asked for while it is there. */
	EXPECT_STREQ("ektc?", called());
	EXPECT_EQ(RUN_LENT, self->run.state);
	EXPECT_EQ(getpid(), self->run.lease.pid);
	EXPECT_EQ(1000, self->run.lease.uid);
	EXPECT_EQ(RUN_RECORDING, self->run.lease.before);
	EXPECT_LE(before, self->run.lease.since);
	EXPECT_GE(number_now(), self->run.lease.since);
	EXPECT_EQ(0, self->run.lease.returned);
	EXPECT_FALSE(self->run.rotate);
	EXPECT_TRUE(strstr(logged_since(&self->logged), "level=warning event=lent pid="));
	EXPECT_TRUE(strstr(self->logged.text, " comm=borrower uid=1000\n"));
	/* And nobody else has it meanwhile. */
	EXPECT_EQ(-EBUSY, lend(&self->run, &self->peer));
	EXPECT_STREQ("", called());
	EXPECT_STREQ("", logged_since(&self->logged));
}

/* Of a process without a number nobody can say whether it has let go. */
TEST_F(lend, who_is_in_another_namespace_gets_nothing)
{
	self->peer.pid = 0;
	EXPECT_EQ(-ESRCH, lend(&self->run, &self->peer));
	EXPECT_STREQ("", called());
	EXPECT_EQ(RUN_RECORDING, self->run.state);
	EXPECT_STREQ("", logged_since(&self->logged));
}

TEST_F(lend, our_own_streams_are_gone_before_anybody_else_opens_any)
{
	holder = (uint32_t)getpid();
	holds = 3;
	self->run.state = RUN_STOPPED;
	EXPECT_EQ(0, lend(&self->run, &self->peer));
	EXPECT_STREQ("ektc????", called());
	EXPECT_EQ(RUN_STOPPED, self->run.lease.before);
}

TEST_F(lend, the_borrower_alone_gives_it_back)
{
	struct server_peer other = self->peer;
	uint64_t returned;

	other.pid--;
	lend_returned(&self->run, &self->peer);
	EXPECT_EQ(0, self->run.lease.returned);
	lend(&self->run, &self->peer);
	lend_returned(&self->run, &other);
	EXPECT_EQ(0, self->run.lease.returned);
	called();
	lend_serve(&self->run, number_now() + 1000 * SECOND);
	EXPECT_STREQ("", called());
	lend_returned(&self->run, &self->peer);
	returned = self->run.lease.returned;
	EXPECT_LT(0, returned);
	EXPECT_EQ(returned, self->run.lease.retry);
	/* Once. */
	lend_returned(&self->run, &self->peer);
	EXPECT_EQ(returned, self->run.lease.returned);
}

TEST_F(lend, a_segment_that_begins_means_that_there_is_room)
{
	self->run.state = RUN_FULL;
	self->run.full_since = 1;
	lend(&self->run, &self->peer);
	lend_returned(&self->run, &self->peer);
	called();
	lend_serve(&self->run, self->run.lease.returned + SECOND);
	EXPECT_STREQ("?obr", called());
}

TEST_F(lend, it_is_taken_back_when_the_borrower_has_let_go)
{
	uint64_t now;

	lend(&self->run, &self->peer);
	lend_returned(&self->run, &self->peer);
	now = self->run.lease.returned;
	self->run.lease.since = now - 12345 * SECOND / 1000 - 678901;
	called();
	logged_since(&self->logged);
	holder = (uint32_t)self->peer.pid;
	holds = 2;
	lend_serve(&self->run, now);
	EXPECT_STREQ("?", called());
	lend_serve(&self->run, now + SECOND / 10 - 1);
	EXPECT_STREQ("", called());
	lend_serve(&self->run, now + SECOND / 10);
	EXPECT_STREQ("?", called());
	EXPECT_EQ(RUN_LENT, self->run.state);
	EXPECT_STREQ("", logged_since(&self->logged));
	lend_serve(&self->run, now + SECOND / 5);
	EXPECT_STREQ("?ob", called());
	EXPECT_EQ(RUN_RECORDING, self->run.state);
	EXPECT_STREQ("lent=12.545 s to PID 1073741824\n", self->run.collect.gap);
	EXPECT_STREQ("level=notice event=taken-back pid=1073741824 lent=12.545s state=recording\n",
		     logged_since(&self->logged));
}

/* What he began may go on without him: who asks for the hardware then says why there is none. */
TEST_F(lend, who_does_not_let_go_is_not_waited_for_for_ever)
{
	uint64_t now;

	lend(&self->run, &self->peer);
	lend_returned(&self->run, &self->peer);
	now = self->run.lease.returned;
	called();
	holder = (uint32_t)self->peer.pid;
	holds = UINT32_MAX;
	lend_serve(&self->run, now + 10 * SECOND - 1);
	EXPECT_STREQ("?", called());
	lend_serve(&self->run, now + 11 * SECOND);
	EXPECT_STREQ("ob", called());
}

TEST_F(lend, what_fails_is_told_and_tried_again)
{
	uint64_t now;

	self->run.state = RUN_STOPPED;
	lend(&self->run, &self->peer);
	lend_returned(&self->run, &self->peer);
	now = self->run.lease.returned;
	called();
	logged_since(&self->logged);
	open_error = -EBUSY;
	lend_serve(&self->run, now);
	EXPECT_STREQ("?otc", called());
	EXPECT_EQ(RUN_LENT, self->run.state);
	EXPECT_STREQ("level=error event=not-taken-back why=\"Device or resource busy\" retry=10.000s\n",
		     logged_since(&self->logged));
	lend_serve(&self->run, now + 10 * SECOND - 1);
	EXPECT_STREQ("", called());
	/* A segment that was begun goes again. */
	open_error = 0;
	begin_error = -ENOSPC;
	current = true;
	lend_serve(&self->run, now += 10 * SECOND);
	EXPECT_STREQ("obtcd", called());
	current = false;
	lend_serve(&self->run, now += 10 * SECOND);
	EXPECT_STREQ("obtc", called());
	begin_error = 0;
	logged_since(&self->logged);
	lend_serve(&self->run, now += 10 * SECOND);
	EXPECT_STREQ("ob", called());
	EXPECT_EQ(RUN_STOPPED, self->run.state);
	EXPECT_TRUE(strstr(logged_since(&self->logged), " state=stopped\n"));
}

TEST_HARNESS_MAIN
