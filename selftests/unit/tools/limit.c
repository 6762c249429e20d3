// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that a test which would wait for ever fails by its name when its time is over, with what it
 * has started, whatever signals whoever started the program has blocked.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

#define INNER "FLOWTAP_TEST_INNER"

FIXTURE(limit)
{
	char output[4096];		/* of this program, started again */
};

FIXTURE_SETUP(limit)
{
}

FIXTURE_TEARDOWN(limit)
{
}

/* In the program that was started again: waits for a child that waits, and neither takes SIGTERM. */
TEST_F_TIMEOUT(limit, waits_for_ever_where_it_is_asked_to, 1)
{
	if (!getenv(INNER))
		return;
	signal(SIGTERM, SIG_IGN);
	fork();
	for (;;)
		pause();
}

/* With each signal blocked: never returns. */
static void run_inner(int output)
{
	char *words[] = { "limit", "-r", "limit.waits_for_ever_where_it_is_asked_to", NULL };
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	setenv(INNER, "1", 1);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	close(output);
	execv("/proc/self/exe", words);
	_exit(127);
}

/* The pipe is at its end when nobody has it any more: also the child's child is gone. */
TEST_F(limit, what_waits_for_ever_fails_by_its_name)
{
	size_t size = 0;
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	ASSERT_EQ(0, pipe(fds));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(fds[0]);
		run_inner(fds[1]);
	}
	close(fds[1]);
	while ((n = read(fds[0], self->output + size, sizeof(self->output) - 1 - size)) > 0)
		size += (size_t)n;
	close(fds[0]);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(1, WEXITSTATUS(status));
	EXPECT_TRUE(strstr(self->output, "terminated by timeout"));
	EXPECT_TRUE(strstr(self->output, "not ok 1 limit.waits_for_ever_where_it_is_asked_to"));
}

TEST_HARNESS_MAIN
