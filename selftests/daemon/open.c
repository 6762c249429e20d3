// SPDX-License-Identifier: GPL-2.0-only
/* Shows what of whoever starts flowtapd does not become its own. */
#include "run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../tools/common/tool.h"
#include "support/kselftest_harness.h"

/* A shell's `trap '' CHLD` goes through exec: wait then knows of no child. */
TEST(who_ignored_children_does_not_make_it_ignore_its_own)
{
	static const char text[] = "[service]\nuser = no-such-user-of-flowtap\n";
	char path[] = "/tmp/flowtap-open-XXXXXX";
	static struct run run;
	struct sigaction action;
	int fd = mkstemp(path);

	ASSERT_LE(0, fd);
	ASSERT_EQ((ssize_t)sizeof(text) - 1, write(fd, text, sizeof(text) - 1));
	close(fd);
	signal(SIGCHLD, SIG_IGN);
	/* It comes no further than to that. */
	EXPECT_EQ(STATUS_ERROR, run_open(&run, path));
	run_close(&run);
	ASSERT_EQ(0, sigaction(SIGCHLD, NULL, &action));
	EXPECT_EQ(SIG_DFL, action.sa_handler);
	unlink(path);
}

TEST_HARNESS_MAIN
