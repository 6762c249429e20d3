// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what a reload of the configuration changes, for all who work by it, and that what it does not
 * change is told.
 */
#include "run_fixture.h"

#include "rules.h"

static void write_conf(char path[128], const char *directory, const char *text)
{
	FILE *file;

	snprintf(path, 128, "%s/conf", directory);
	file = fopen(path, "w");
	if (!file)
		abort();
	fputs(text, file);
	fclose(file);
}

TEST_F(run, another_budget_is_told_to_what_looks_for_processes)
{
	char path[128];

	write_conf(path, self->directory, "[budget]\ncpu = 7%\n");
	run.path = path;
	run.reload = true;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(70000, fake.limited);
}

/* Else each reload would be several seconds of many times the budget. */
TEST_F(run, a_reload_records_no_more_than_before)
{
	char path[128];

	write_conf(path, self->directory, "[budget]\ncpu = 7%\n");
	run.path = path;
	run.reload = true;
	run.governor.share = 100000;
	run.governor.debt = 5;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(70000, run.governor.cpu_budget);
	EXPECT_EQ(100000, run.governor.share);
	EXPECT_EQ(5, run.governor.debt);
}

/* As --check-config prints it. */
static void print(const struct conf *conf, char text[8192])
{
	FILE *file = tmpfile();

	if (!file || conf_print(conf, fileno(file)))
		abort();
	rewind(file);
	text[fread(text, 1, 8191, file)] = 0;
	fclose(file);
}

/* Each key of flowtapd.conf(5) that a reload can change, with another value. */
TEST_F(run, what_a_reload_can_change_holds_from_then_on)
{
	static char read[8192], holds[8192];
	char path[128], *error;
	struct conf conf;

	conf_free(&run.conf);
	write_conf(path, self->directory, "[tasks]\ncgroup = /a\ncommand = a\n");
	ASSERT_EQ(0, conf_load(path, &run.conf, &error));
	print(&run.conf, holds);
	write_conf(path, self->directory, "[record]\non_time = 3ms\non_period = 7ms\n"
		   "[tasks]\ncgroup = /b\ncommand = b\nexclude_cgroup = /c\nexclude_command = c\n"
		   "[budget]\ncpu = 7%\nloss = 5%\nleast = 3%\n"
		   "[segments]\nsize = 2M\ntime = 2min\nquota = 5M\nfree = 1\ncompress = no\n"
		   "[decode]\nformat = tarmac\nwaiting = 3\n");
	ASSERT_EQ(0, conf_load(path, &conf, &error));
	print(&conf, read);
	EXPECT_STRNE(read, holds);
	run.path = path;
	run.reload = true;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	print(&run.conf, holds);
	EXPECT_STREQ(read, holds);
	/* Who works by them has been told. */
	EXPECT_EQ(70000, run.governor.cpu_budget);
	EXPECT_EQ(50000, run.governor.loss_budget);
	EXPECT_EQ(30000, run.governor.least);
	EXPECT_TRUE(store_fits(run.store, 5 << 20));
	EXPECT_FALSE(store_fits(run.store, (5 << 20) + 1));
	EXPECT_FALSE(run.after.options.pack);
	EXPECT_STREQ("tarmac", run.after.options.format);
	EXPECT_EQ(3, run.after.options.waiting);
	EXPECT_EQ((5 << 20) / 4, run.after.options.most);
	conf_free(&conf);
}

/* Also where one key alone is wrong. */
TEST_F(run, what_is_wrong_in_a_reload_changes_nothing)
{
	static char before[8192], holds[8192];
	struct logged logged;
	char path[128];

	print(&run.conf, before);
	write_conf(path, self->directory, "[budget]\ncpu = 7%\n[segments]\nquota = 1M\n");
	run.path = path;
	run.reload = true;
	logged_open(&logged);
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_TRUE(strstr(logged_since(&logged), "what was before holds"));
	logged_close(&logged);
	print(&run.conf, holds);
	EXPECT_STREQ(before, holds);
	EXPECT_EQ(0, fake.limited);
}

TEST_F(run, what_a_reload_cannot_change_is_told)
{
	struct logged logged;
	char path[128];

	write_conf(path, self->directory, "[budget]\nmemory = 32M\n[segments]\ncompress = no\n");
	run.path = path;
	run.reload = true;
	logged_open(&logged);
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_STREQ("level=error event=message text=\"[budget] memory: as it was: such a change holds when "
		     "flowtapd is started again\"\n", logged_since(&logged));
	logged_close(&logged);
	EXPECT_EQ(64U << 20, run.conf.memory);
}

/* Else everybody would be chosen: the process is not, before flowtapd is started again. */
TEST_F(run, a_process_does_not_take_the_place_of_all_that_chose)
{
	struct logged logged;
	char path[128], *error;

	conf_free(&run.conf);
	write_conf(path, self->directory, "[tasks]\ncommand = a\n");
	ASSERT_EQ(0, conf_load(path, &run.conf, &error));
	write_conf(path, self->directory, "[tasks]\npid = 1\n");
	run.path = path;
	run.reload = true;
	logged_open(&logged);
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_TRUE(strstr(logged_since(&logged), "[tasks] is as it was: such a change holds when "
			   "flowtapd is started again"));
	logged_close(&logged);
	EXPECT_EQ(1, run.conf.commands.n);
	EXPECT_FALSE(rules_wide(&run.conf));
}

/* The one that was named at the start goes on being chosen, and so do others beside it. */
TEST_F(run, beside_a_process_that_holds_a_reload_names_others)
{
	char path[128], *error;

	conf_free(&run.conf);
	write_conf(path, self->directory, "[tasks]\npid = 1\n");
	ASSERT_EQ(0, conf_load(path, &run.conf, &error));
	write_conf(path, self->directory, "[tasks]\nexclude_command = a\n");
	run.path = path;
	run.reload = true;
	EXPECT_EQ(STATUS_OK, run_loop(&run));
	EXPECT_EQ(1, run.conf.pids.n);
	EXPECT_EQ(1, run.conf.not_commands.n);
	EXPECT_FALSE(rules_wide(&run.conf));
}

TEST_HARNESS_MAIN
