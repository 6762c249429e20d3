// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what has the rings saved: who asks, each process that crashes, what is probed; and that
 * what saves nothing is told with its reason.
 */
#include <errno.h>
#include <string.h>

#include "../../tools/common/tool.h"
#include "crash.h"
#include "run.h"
#include "support/kselftest_harness.h"
#include "logged.h"

/* Instead of those that need a machine with the module, or rights. */
static int trigger_error, crash_fd, crash_error;
static unsigned int opened, triggered, n_crashes;
static struct flowtap_archive_trigger last;
static char last_text[32];

int collect_trigger(struct collect *collect, const struct flowtap_archive_trigger *trigger,
		    const char *text)
{
	(void)collect;
	if (trigger_error)
		return trigger_error;
	triggered++;
	last = *trigger;
	snprintf(last_text, sizeof(last_text), "%s", text);
	return 0;
}

int crash_open(void)
{
	opened++;
	return crash_fd;
}

int crash_next(int fd, struct crash *crash)
{
	(void)fd;
	if (!n_crashes)
		return crash_error;
	*crash = (struct crash){ .time = 1000 + n_crashes, .address = 0x4000, .pid = 70 + n_crashes,
				 .tid = 80 + n_crashes };
	n_crashes--;
	return 1;
}

static int probes_error, item_error, probes_made, watched[2];
static unsigned int n_probes, n_watched, closed;

int probes_open(const struct conf *conf,
		void (*failed)(void *argument, const char *item, int error), void *argument,
		struct probes **probes)
{
	if (item_error)
		failed(argument, conf->uprobes.items[0], item_error);
	*probes = probes_error || !conf->uprobes.n ? NULL : (struct probes *)&probes_made;
	return probes_error;
}

int probes_fd(const struct probes *probes)
{
	return probes == (const struct probes *)&probes_made ? 9 : -1;
}

/* Each of them once, then that three were missed. */
uint64_t probes_serve(struct probes *probes,
		      void (*event)(void *argument, const struct probe_event *event,
				    uint32_t cause, const char *text), void *argument)
{
	const struct probe_event reached = { .time = 1, .address = 0x5000, .pid = 31, .tid = 32 };

	(void)probes;
	if (!n_probes)
		return 3;
	for (; n_probes; n_probes--)
		event(argument, &reached, FLOWTAP_ARCHIVE_CAUSE_LATENCY, "/bin/x:f 1ms took=2.000 ms");
	return 0;
}

void probes_close(struct probes *probes)
{
	closed += probes == (struct probes *)&probes_made;
}

int collect_watch(struct collect *collect, int fd)
{
	(void)collect;
	watched[n_watched++ % 2] = fd;
	return 0;
}

FIXTURE(triggers)
{
	struct run run;
	struct logged logged;
};

FIXTURE_SETUP(triggers)
{
	self->run = (struct run){
		.path = "/etc/conf", .conf = { .overwrite = true, .crash = true },
		.state = RUN_RECORDING, .crashes = 3,
	};
	logged_open(&self->logged);
	log_take_messages(true);
}

FIXTURE_TEARDOWN(triggers)
{
	log_take_messages(false);
	logged_close(&self->logged);
}

TEST_F(triggers, what_triggers_is_in_the_archive_which_is_kept)
{
	const struct flowtap_archive_trigger trigger = {
		.time = 5, .address = 6, .pid = 7, .tid = 8, .cause = FLOWTAP_ARCHIVE_CAUSE_CRASH,
	};

	EXPECT_EQ(0, run_trigger(&self->run, &trigger, "text"));
	EXPECT_EQ(1, triggered);
	EXPECT_EQ(0, memcmp(&trigger, &last, sizeof(last)));
	EXPECT_STREQ("text", last_text);
	EXPECT_TRUE(self->run.save);
	EXPECT_STREQ("level=notice event=trigger cause=crash by=text pid=7 tid=8\n",
		     logged_since(&self->logged));
	/* One that fails takes nothing from one that did not. */
	trigger_error = -EIO;
	EXPECT_EQ(-EIO, run_trigger(&self->run, &trigger, ""));
	EXPECT_TRUE(self->run.save);
	self->run.save = false;
	EXPECT_EQ(-EIO, run_trigger(&self->run, &trigger, ""));
	EXPECT_FALSE(self->run.save);
	EXPECT_STREQ("", logged_since(&self->logged));
}

TEST_F(triggers, where_nothing_can_be_saved_that_is_the_answer)
{
	static const enum run_state states[] = { RUN_STOPPED, RUN_FULL, RUN_LENT };
	const struct flowtap_archive_trigger trigger = { .cause = FLOWTAP_ARCHIVE_CAUSE_ASKED };

	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		self->run.state = states[i];
		EXPECT_EQ(-EAGAIN, run_trigger(&self->run, &trigger, ""));
	}
	/* It is to record again, and has not begun its segment. */
	self->run.state = RUN_RECORDING;
	self->run.collect.paused = 1;
	EXPECT_EQ(-EAGAIN, run_trigger(&self->run, &trigger, ""));
	self->run.conf.overwrite = false;
	EXPECT_EQ(-EINVAL, run_trigger(&self->run, &trigger, ""));
	EXPECT_EQ(0, triggered);
	EXPECT_FALSE(self->run.save);
}

TEST_F(triggers, a_signal_saves_or_says_why_not)
{
	const uint64_t before = number_now();

	run_save(&self->run, "SIGUSR2");
	EXPECT_EQ(1, triggered);
	EXPECT_EQ(FLOWTAP_ARCHIVE_CAUSE_ASKED, last.cause);
	EXPECT_STREQ("SIGUSR2", last_text);
	EXPECT_LE(before, last.time);
	EXPECT_GE(number_now(), last.time);
	logged_since(&self->logged);
	self->run.state = RUN_STOPPED;
	run_save(&self->run, "SIGUSR2");
	EXPECT_STREQ("level=error event=message text=\"nothing was saved: nothing is being recorded\"\n",
		     logged_since(&self->logged));
	self->run.state = RUN_RECORDING;
	trigger_error = -ENOSPC;
	run_save(&self->run, "SIGUSR2");
	EXPECT_STREQ("level=error event=message text=\"nothing was saved: No space left on device\"\n",
		     logged_since(&self->logged));
	self->run.conf.overwrite = false;
	run_save(&self->run, "SIGUSR2");
	EXPECT_TRUE(strstr(logged_since(&self->logged),
			   "SIGUSR2 saves what rings have that overwrite: overwrite = yes is not in "));
}

TEST_F(triggers, crashes_are_listened_for_where_they_are_to_save)
{
	static const struct {
		int error;
		const char *why;
	} cases[] = {
		{ -EPERM, "permission denied" },
		{ -EPROTONOSUPPORT, "this kernel has no CONFIG_PROC_EVENTS" },
		{ -EMFILE, "Too many open files" },
	};
	char wanted[256];

	self->run.crashes = -1;
	self->run.conf.crash = false;
	run_open_triggers(&self->run);
	self->run.conf = (struct conf){ .crash = true };
	run_open_triggers(&self->run);
	EXPECT_EQ(0, opened);
	EXPECT_EQ(-1, self->run.crashes);
	EXPECT_EQ(NULL, self->run.probes);
	self->run.conf.overwrite = true;
	crash_fd = 5;
	run_open_triggers(&self->run);
	EXPECT_EQ(5, self->run.crashes);
	EXPECT_STREQ("", logged_since(&self->logged));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		crash_fd = cases[i].error;
		run_open_triggers(&self->run);
		EXPECT_EQ(-1, self->run.crashes);
		snprintf(wanted, sizeof(wanted),
			 "level=error event=message text=\"crashes save nothing: %s\"\n", cases[i].why);
		EXPECT_STREQ(wanted, logged_since(&self->logged));
	}
}

TEST_F(triggers, each_crash_that_waits_saves)
{
	n_crashes = 3;
	run_take_triggers(&self->run);
	EXPECT_EQ(3, triggered);
	EXPECT_EQ(FLOWTAP_ARCHIVE_CAUSE_CRASH, last.cause);
	EXPECT_EQ(1001, last.time);
	EXPECT_EQ(0x4000, last.address);
	EXPECT_EQ(71, last.pid);
	EXPECT_EQ(81, last.tid);
	EXPECT_STREQ("", last_text);
	EXPECT_TRUE(strstr(logged_since(&self->logged), "event=trigger cause=crash pid=73 tid=83\n"));
	n_crashes = 1;
	self->run.state = RUN_FULL;
	run_take_triggers(&self->run);
	EXPECT_STREQ("level=error event=message text=\"the crash of process 71 was not saved: nothing is "
		     "being recorded\"\n", logged_since(&self->logged));
	self->run.state = RUN_RECORDING;
	n_crashes = 1;
	crash_error = -ENOBUFS;
	run_take_triggers(&self->run);
	EXPECT_EQ(4, triggered);
	EXPECT_TRUE(strstr(logged_since(&self->logged), "crashes came faster than they could be taken"));
	/* Nobody listens. */
	self->run.crashes = -1;
	n_crashes = 1;
	run_take_triggers(&self->run);
	EXPECT_EQ(4, triggered);
	EXPECT_STREQ("", logged_since(&self->logged));
}

/* A program that crashes again and again. */
TEST_F(triggers, crashes_after_one_that_saved_are_counted_only)
{
	self->run.conf.pause = 3600000000000ULL;
	n_crashes = 3;
	run_take_triggers(&self->run);
	EXPECT_EQ(1, triggered);
	EXPECT_STREQ("level=notice event=trigger cause=crash pid=73 tid=83\n", logged_since(&self->logged));
	/* As if that hour were over. */
	self->run.crash_silent = 0;
	n_crashes = 1;
	run_take_triggers(&self->run);
	EXPECT_EQ(2, triggered);
	EXPECT_STREQ("level=notice event=trigger cause=crash pid=71 tid=81\n"
		     "level=warning event=crashes-passed count=2 why=\"others were saved, or could not "
		     "be, just before\"\n", logged_since(&self->logged));
}

TEST_F(triggers, crashes_that_cannot_be_saved_are_one_line_a_minute)
{
	self->run.state = RUN_STOPPED;
	n_crashes = 3;
	run_take_triggers(&self->run);
	EXPECT_STREQ("level=error event=message text=\"the crash of process 73 was not saved: nothing is "
		     "being recorded\"\n", logged_since(&self->logged));
	/* One that can be is not left out for them. */
	self->run.state = RUN_RECORDING;
	n_crashes = 1;
	run_take_triggers(&self->run);
	EXPECT_EQ(1, triggered);
	EXPECT_TRUE(strstr(logged_since(&self->logged), "event=crashes-passed count=2 "));
}

TEST_F(triggers, what_is_probed_saves)
{
	const uint64_t before = number_now();
	char *items[] = { "/bin/x:f" };

	self->run.conf.crash = false;
	self->run.conf.uprobes = (struct conf_list){ items, 1 };
	self->run.crashes = -1;
	run_open_triggers(&self->run);
	EXPECT_EQ(0, run_watch_triggers(&self->run));
	EXPECT_EQ(1, n_watched);
	EXPECT_EQ(9, watched[0]);
	n_probes = 2;
	run_take_triggers(&self->run);
	EXPECT_EQ(2, triggered);
	EXPECT_EQ(FLOWTAP_ARCHIVE_CAUSE_LATENCY, last.cause);
	EXPECT_EQ(0x5000, last.address);
	EXPECT_EQ(31, last.pid);
	EXPECT_EQ(32, last.tid);
	/* As long ago as the machine runs, but for a nanosecond. */
	EXPECT_GT(before, last.time);
	EXPECT_TRUE(strstr(logged_since(&self->logged), "event=trigger cause=latency by=\"/bin/x:f 1ms "
			   "took=2.000 ms\" pid=31 tid=32\n"));
	run_take_triggers(&self->run);
	EXPECT_TRUE(strstr(logged_since(&self->logged), "reached faster than that could be taken"));
	/* At most once a minute. */
	run_take_triggers(&self->run);
	EXPECT_STREQ("", logged_since(&self->logged));
	n_probes = 3;
	self->run.state = RUN_STOPPED;
	run_take_triggers(&self->run);
	EXPECT_STREQ("level=error event=message text=\"'/bin/x:f 1ms took=2.000 ms' of process 31 was not "
		     "saved: nothing is being recorded\"\n",
		     logged_since(&self->logged));
	/* As if that minute were over. */
	self->run.probes_reported = 0;
	n_probes = 1;
	run_take_triggers(&self->run);
	EXPECT_TRUE(strstr(logged_since(&self->logged), "recorded; 2 before it were not either"));
	run_close_triggers(&self->run);
	EXPECT_EQ(1, closed);
}

/* Each is said once a minute: crashes are no reason to be silent about functions. */
TEST_F(triggers, what_was_missed_is_said_of_crashes_and_of_what_is_probed)
{
	char *items[] = { "/bin/x:f" };

	self->run.conf.uprobes = (struct conf_list){ items, 1 };
	crash_fd = 3;
	run_open_triggers(&self->run);
	EXPECT_EQ(0, run_watch_triggers(&self->run));
	crash_error = -ENOBUFS;
	run_take_triggers(&self->run);
	EXPECT_STREQ("level=error event=message text=\"crashes came faster than they could be taken: some "
		     "saved nothing\"\nlevel=error event=message text=\"functions and tracepoints were "
		     "reached faster than that could be taken: some saved nothing\"\n",
		     logged_since(&self->logged));
	run_take_triggers(&self->run);
	EXPECT_STREQ("", logged_since(&self->logged));
}

TEST_F(triggers, what_cannot_be_probed_is_told)
{
	char *items[] = { "/bin/x:f" };

	self->run.conf.crash = false;
	self->run.conf.uprobes = (struct conf_list){ items, 1 };
	item_error = -ENOENT;
	run_open_triggers(&self->run);
	EXPECT_TRUE(strstr(logged_since(&self->logged),
			   "'/bin/x:f' saves nothing: there is no such file, function or tracepoint"));
	EXPECT_TRUE(strstr(self->logged.text, "correct it in '/etc/conf'"));
	item_error = -EACCES;
	run_open_triggers(&self->run);
	EXPECT_TRUE(strstr(logged_since(&self->logged), "'/bin/x:f' saves nothing: Permission denied"));
	item_error = 0;
	probes_error = -EPERM;
	run_open_triggers(&self->run);
	EXPECT_TRUE(strstr(logged_since(&self->logged),
			   "the kernel does not take the programs: Operation not permitted"));
}

TEST_HARNESS_MAIN
