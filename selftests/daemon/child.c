// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the child takes what others leave, does what it was begun for and nothing else, and
 * goes with its parent.
 */
#include "after_fixture.h"

#include <linux/ioprio.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* What was brought to the disk goes into $WHERE/synced, a line each: as the child that it is as well. */
int fsync(int fd)
{
	char path[4096], link[64];
	ssize_t n;
	FILE *file;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n > 0 && getenv("WHERE")) {
		path[n] = 0;
		snprintf(link, sizeof(link), "%s/synced", getenv("WHERE"));
		file = fopen(link, "a");
		if (file) {
			fprintf(file, "%s\n", path);
			fclose(file);
		}
	}
	return (int)syscall(SYS_fsync, fd);
}

/* Or the raw one goes, and a machine that loses its power has neither. */
TEST_F(after, what_was_written_is_on_the_disk_before_it_has_its_name)
{
	self->options.pack = true;
	self->options.format = "stf";
	make_decoder(self, "echo trace >${out%.stf}.pid7.stf; echo '{}'");
	ASSERT_EQ(0, add_segment(self));
	after_init(&self->after, self->store, &self->options);
	ASSERT_TRUE(until(self, &self->after.packed, 1));
	EXPECT_TRUE(strstr(text_of(self, "synced"), "/" FIRST ".ftap.zst.part\n"));
	EXPECT_TRUE(strstr(text_of(self, "synced"), "/decoded/" FIRST ".part/trace.pid7.stf\n"));
	EXPECT_TRUE(strstr(text_of(self, "synced"), "/decoded/" FIRST ".part\n"));
}

TEST_F(after, what_a_child_left_is_written_anew)
{
	char path[256];
	FILE *file;

	self->options.pack = true;
	ASSERT_EQ(0, add_segment(self));
	snprintf(path, sizeof(path), "%s/" FIRST ".ftap.zst.part", self->directory);
	file = fopen(path, "w");
	ASSERT_TRUE(file);
	fputs("half", file);
	fclose(file);
	after_init(&self->after, self->store, &self->options);
	ASSERT_TRUE(until(self, &self->after.packed, 1));
	EXPECT_STREQ("", logged_since(&self->logged));
}

/* A set of signals that /proc/PID/status has: signal N is bit N - 1. */
static uint64_t signals_of(pid_t pid, const char *key)
{
	unsigned long long set = ~0ULL;
	char path[64], line[256];
	const size_t size = strlen(key);
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, size) && sscanf(line + size, ": %llx", &set) == 1)
			break;
	if (file)
		fclose(file);
	return set;
}

/* Within fork all are, and what was forked may run before that has returned. */
static bool until_none_blocked(pid_t pid)
{
	for (int i = 0; i < PATIENCE; i++) {
		if (!signals_of(pid, "SigBlk"))
			return true;
		usleep(STEP_US);
	}
	return false;
}

TEST_F(after, the_child_takes_what_others_leave)
{
	want_idle();
	self->options.format = "stf";
	make_decoder(self, "cut -d ' ' -f 41 /proc/$$/stat >$WHERE/policy; cat /proc/$$/oom_score_adj "
		     ">$WHERE/oom; ls -l /proc/$$/fd >$WHERE/fds; echo $TMPDIR >$WHERE/tmp\n" HOLD);
	ASSERT_EQ(0, add_segment(self));
	/* Neither this nor what is blocked goes to the child. */
	ASSERT_LE(0, dup2(STDERR_FILENO, 77));
	after_init(&self->after, self->store, &self->options);
	{
		sigset_t set;

		sigemptyset(&set);
		sigaddset(&set, SIGTERM);
		sigprocmask(SIG_BLOCK, &set, NULL);
		signal(SIGPIPE, SIG_IGN);
		ASSERT_TRUE(until_file(self, "begun", true));
		signal(SIGPIPE, SIG_DFL);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
	}
	EXPECT_EQ(SCHED_IDLE, atoi(text_of(self, "policy")));
	EXPECT_EQ(1000, atoi(text_of(self, "oom")));
	EXPECT_EQ(0, strncmp(self->directory, text_of(self, "tmp"), strlen(self->directory)));
	EXPECT_TRUE(strstr(text_of(self, "fds"), " 2 ->"));
	EXPECT_FALSE(strstr(text_of(self, "fds"), " 77 ->"));
	EXPECT_TRUE(until_none_blocked(self->after.child));
	/*
	 * But that a limit of file sizes is an error of write; the C library's own two are its
	 * affair.
	 */
	EXPECT_EQ(1ULL << (SIGXFSZ - 1), signals_of(self->after.child, "SigIgn") & ~(3ULL << 31));
	EXPECT_EQ(SCHED_IDLE, sched_getscheduler(self->after.child));
	EXPECT_EQ(19, getpriority(PRIO_PROCESS, (id_t)self->after.child));
	EXPECT_EQ(IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0),
		  syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, self->after.child));
}

/* It began when its parent was gone already, and somebody else has become its parent. */
TEST_F(after, a_child_of_another_parent_does_nothing)
{
	char parent[24], *words[] = { CHILD_OPTION, parent, "pack", self->directory, FIRST ".ftap", NULL };
	int status = -1;
	pid_t child;

	ASSERT_EQ(0, add_segment(self));
	child = fork();
	if (!child) {
		snprintf(parent, sizeof(parent), "%d", getpid());
		_exit(child_main(5, words));
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(CHILD_FAILED, WEXITSTATUS(status));
	EXPECT_FALSE(exists(self, FIRST ".ftap.zst.part"));
	/* Of its own parent it packs. */
	snprintf(parent, sizeof(parent), "%d", getpid());
	child = fork();
	if (!child)
		_exit(child_main(5, words));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(exists(self, FIRST ".ftap.zst.part"));
}

TEST_F(after, the_child_and_the_decoder_go_with_a_parent_that_is_killed)
{
	int status, n = 0;
	pid_t daemon;

	self->options.format = "stf";
	make_decoder(self, "echo x >$out\n" HOLD);
	ASSERT_EQ(0, add_segment(self));
	/* Orphans are ours. */
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	daemon = fork();
	if (!daemon) {
		after_init(&self->after, self->store, &self->options);
		until_file(self, "begun", true);
		kill(getpid(), SIGKILL);
	}
	while (waitpid(-1, &status, 0) > 0) {
		n += WIFSIGNALED(status);
	}
	/* The daemon, its child, the decoder; what sleeps in it ends by itself. */
	EXPECT_EQ(3, n);
	EXPECT_TRUE(exists(self, "decoded/" FIRST ".part/trace.stf"));
	store_close(self->store);
	ASSERT_EQ(0, store_open(self->directory, &any, &self->left, &self->store));
	EXPECT_FALSE(exists(self, "decoded/" FIRST ".part"));
	EXPECT_FALSE(exists(self, "decoded/" FIRST));
}

TEST(child_refuses_what_it_is_not_for)
{
	char parent[24], *words[][7] = {
		{ CHILD_OPTION, parent, "pack", "/tmp", NULL },
		{ CHILD_OPTION, "0", "pack", "/tmp", FIRST ".ftap", NULL },
		{ CHILD_OPTION, parent, "pack", "/tmp", "../etc/passwd", NULL },
		{ CHILD_OPTION, parent, "pack", "/tmp", FIRST ".ftap.zst", NULL },
		{ CHILD_OPTION, parent, "mend", "/tmp", FIRST ".ftap.part", NULL },
	};

	snprintf(parent, sizeof(parent), "%d", getppid());
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		int n = 0;

		while (words[i][n])
			n++;
		EXPECT_EQ(STATUS_USAGE, child_main(n, words[i]));
	}
}

int main(int argc, char **argv)
{
	return after_main(argc, argv);
}
