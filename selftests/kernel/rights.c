// SPDX-License-Identifier: GPL-2.0-only
/* Shows what a caller without rights can do: exactly what flowtap.h says under Rights. */
#include <grp.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "capability.h"
#include "other_driver.h"
#include "stream.h"
#include "support/kselftest_harness.h"
#include "task.h"

#define USER 1000
#define OTHER 1001
#define SUID "/tmp/suid"

FIXTURE(rights)
{
	struct flowtap_configure configure;
	mode_t mode;
};

FIXTURE_SETUP(rights)
{
	struct stat status;

	if (!source_there(FLOWTAP_SOURCE_SOFT))
		SKIP(return, "the soft source is not there: load the module with soft=1");
	if (geteuid())
		SKIP(return, "not root");
	ASSERT_EQ(0, stat(DEVICE, &status));
	self->mode = status.st_mode & 0777;
	ASSERT_EQ(0, chmod(DEVICE, 0666));
	self->configure = ticking(0, 1000000);
}

/* The test may no longer be root. */
FIXTURE_TEARDOWN_PARENT(rights)
{
	if (self->mode)
		chmod(DEVICE, self->mode);
}

/* All ids, as a login does; the process can be traced as if it had been executed by that user. */
static int become(uid_t uid)
{
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		return -errno;
	return prctl(PR_SET_DUMPABLE, 1) ? -errno : 0;
}

static pid_t spinner_of(uid_t uid)
{
	pid_t pid = fork_pinned(0);

	if (!pid) {
		if (become(uid))
			_exit(1);
		/* Changing ids forgot it. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		spin();
	}
	sleep_ms(50);
	return pid;
}

/* What ADD_TASK says, with a stream that is opened for it. */
static int try_add(const struct flowtap_configure *configure, pid_t pid)
{
	struct stream stream;
	int error = stream_open(&stream, configure);

	if (error)
		return error;
	error = add_task(&stream, pid, 0);
	stream_close(&stream);
	return error;
}

TEST_F(rights, the_device_is_not_for_everybody)
{
	ASSERT_EQ(0, chmod(DEVICE, self->mode));
	EXPECT_EQ(0660, self->mode);
	ASSERT_EQ(0, become(USER));
	EXPECT_EQ(-1, open_device());
	EXPECT_EQ(EACCES, errno);
}

TEST_F(rights, a_user_traces_what_is_his)
{
	pid_t own = spinner_of(USER), other = spinner_of(OTHER), root = spinner(0);
	struct stream stream;

	ASSERT_EQ(0, become(USER));
	EXPECT_EQ(1, try_add(&self->configure, own));
	EXPECT_EQ(1, try_add(&self->configure, getpid()));
	EXPECT_EQ(-EPERM, try_add(&self->configure, other));
	EXPECT_EQ(-EPERM, try_add(&self->configure, root));
	EXPECT_EQ(-EPERM, try_add(&self->configure, 1));
	ASSERT_EQ(0, stream_open(&stream, &self->configure));
	ASSERT_EQ(1, add_task(&stream, own, 0));
	ASSERT_EQ(0, enable(&stream));
	EXPECT_EQ(1, stream_next_sample(&stream, 5000));
	EXPECT_EQ(own, stream.record.sample.tid);
	stream_close(&stream);
}

TEST_F(rights, a_process_that_is_not_dumpable_is_nobodys)
{
	pid_t pid = fork_pinned(0);

	if (!pid) {
		become(USER);
		prctl(PR_SET_DUMPABLE, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		spin();
	}
	sleep_ms(50);
	EXPECT_EQ(1, try_add(&self->configure, pid));
	ASSERT_EQ(0, become(USER));
	EXPECT_EQ(-EPERM, try_add(&self->configure, pid));
}

TEST_F(rights, one_different_id_is_enough)
{
	static const struct { uid_t real, effective, saved; gid_t group; } ids[] = {
		{ OTHER, USER, USER, USER }, { USER, OTHER, USER, USER }, { USER, USER, OTHER, USER },
		{ USER, USER, USER, OTHER }, { 0, USER, USER, USER },
	};
	pid_t pids[5];
	unsigned int i;

	for (i = 0; i < 5; i++) {
		pids[i] = fork_pinned(0);
		if (!pids[i]) {
			if (setgroups(0, NULL) || setresgid(USER, ids[i].group, USER) ||
			    setresuid(ids[i].real, ids[i].effective, ids[i].saved))
				_exit(1);
			prctl(PR_SET_DUMPABLE, 1);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			spin();
		}
	}
	sleep_ms(100);
	ASSERT_EQ(0, become(USER));
	for (i = 0; i < 5; i++)
		EXPECT_EQ(-EPERM, try_add(&self->configure, pids[i])) TH_LOG("ids %u", i);
}

TEST_F(rights, root_needs_the_capability_for_others)
{
	pid_t other = spinner_of(OTHER), own = spinner(0);

	EXPECT_EQ(1, try_add(&self->configure, other));
	drop(CAP_SYS_PTRACE);
	EXPECT_EQ(-EPERM, try_add(&self->configure, other));
	/* As ptrace: it may do what we may not any more. */
	EXPECT_EQ(-EPERM, try_add(&self->configure, own));
	own = spinner(0);
	EXPECT_EQ(1, try_add(&self->configure, own));
}

TEST_F(rights, kernel_mode_and_whole_cpus_are_refused)
{
	ASSERT_EQ(0, become(USER));
	self->configure.modes = FLOWTAP_MODE_USER | FLOWTAP_MODE_KERNEL;
	EXPECT_EQ(-EACCES, try_add(&self->configure, getpid()));
	self->configure.modes = FLOWTAP_MODE_USER;
	self->configure.flags = FLOWTAP_CPU_WIDE;
	EXPECT_EQ(-EACCES, try_add(&self->configure, getpid()));
}

/* A child of the user that executes the set-uid program when told. */
static pid_t suid_executor(volatile bool *go)
{
	pid_t pid = fork_pinned(0);

	if (!pid) {
		become(USER);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (!*go)
			;
		execl(SUID, SUID, ROLE_SPIN, NULL);
		_exit(1);
	}
	sleep_ms(50);
	return pid;
}

TEST_F(rights, a_users_tracing_ends_at_a_set_uid_program)
{
	volatile bool *go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				 -1, 0);
	struct stream stream;
	uint64_t triggers;
	bool told = false;
	pid_t pid;

	ASSERT_EQ(0, copy_self(SUID, 04755));
	pid = suid_executor(go);
	ASSERT_EQ(0, become(USER));
	ASSERT_EQ(0, stream_open(&stream, &self->configure));
	ASSERT_EQ(1, add_task(&stream, pid, 0));
	ASSERT_EQ(0, enable(&stream));
	ASSERT_EQ(1, stream_next_sample(&stream, 5000));
	*go = true;
	sleep_ms(500);
	EXPECT_EQ(POLLHUP, poll_now(&stream) & POLLHUP);
	EXPECT_EQ(0, stats(&stream).tasks);
	triggers = stats(&stream).triggers;
	sleep_ms(100);
	EXPECT_EQ(triggers, stats(&stream).triggers);
	while (stream_next(&stream) == 1)
		told |= stream.record.header.type == FLOWTAP_RECORD_GAP &&
			stream.record.gap.cause == FLOWTAP_CAUSE_EXEC &&
			stream.record.gap.tid == pid;
	EXPECT_TRUE(told);
	EXPECT_EQ(-EPERM, add_task(&stream, pid, 0));
	stream_close(&stream);
}

TEST_F(rights, roots_tracing_goes_on_in_a_set_uid_program)
{
	volatile bool *go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				 -1, 0);
	struct stream stream;
	uint64_t triggers;
	pid_t pid;

	ASSERT_EQ(0, copy_self(SUID, 04755));
	pid = suid_executor(go);
	ASSERT_EQ(0, stream_open(&stream, &self->configure));
	ASSERT_EQ(1, add_task(&stream, pid, 0));
	ASSERT_EQ(0, enable(&stream));
	*go = true;
	sleep_ms(500);
	EXPECT_EQ(1, stats(&stream).tasks);
	triggers = stats(&stream).triggers;
	sleep_ms(100);
	EXPECT_LT(triggers, stats(&stream).triggers);
	stream_close(&stream);
	/* PDEATHSIG does not last over a set-uid exec. */
	end(pid);
}

TEST_F(rights, a_user_namespace_gives_no_rights_outside)
{
	pid_t own = spinner_of(USER), other = spinner_of(OTHER);
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		if (become(USER))
			_exit(1);
		if (unshare(CLONE_NEWUSER))
			_exit(4);
		/* All capabilities in there, and the same kuid; but they live outside. */
		if (try_add(&self->configure, own) != -EPERM)
			_exit(2);
		if (try_add(&self->configure, other) != -EPERM)
			_exit(3);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (WEXITSTATUS(status) == 4)
		SKIP(return, "no user namespaces");
	EXPECT_EQ(0, WEXITSTATUS(status));
	end(own);
	end(other);
}

static unsigned int mlock_kb(void)
{
	char text[32] = { 0 };
	int fd = open("/sys/module/flowtap/parameters/mlock_kb", O_RDONLY);
	ssize_t got = read(fd, text, sizeof(text) - 1);

	close(fd);
	return got > 0 ? strtoul(text, NULL, 10) : 0;
}

/* KiB that /proc/self/status counts as pinned: what perf's rings are, too. */
static unsigned int locked_kb(void)
{
	char line[256];
	unsigned int kb = 0;
	FILE *file = fopen("/proc/self/status", "r");

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "VmPin: %u", &kb);
	if (file)
		fclose(file);
	return kb;
}

TEST_F(rights, rings_are_charged_and_given_back)
{
	struct rlimit limit = { 64 << 10, 64 << 10 };
	unsigned int free_kb = mlock_kb() * cpus_online(), round;
	struct stream *many = calloc(64, sizeof(*many));

	ASSERT_LT(0, free_kb);
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
	ASSERT_EQ(0, become(USER));
	/* Twice as much as is free and allowed together. */
	self->configure.ring_pages = 1;
	while (self->configure.ring_pages * 4 < 2 * (free_kb + 64))
		self->configure.ring_pages *= 2;
	EXPECT_EQ(-EPERM, stream_open(&many[0], &self->configure));
	EXPECT_EQ(0, locked_kb());
	/* 256 KiB each: what is free takes one or more, the next are charged. */
	self->configure.ring_pages = 64;
	for (round = 0; round < 20; round++) {
		unsigned int n = 0;

		while (n < 64 && !stream_open(&many[n], &self->configure))
			n++;
		EXPECT_EQ((free_kb + 64) / (65 * 4), n) TH_LOG("round %u", round);
		EXPECT_GE(64, locked_kb());
		while (n--)
			stream_close(&many[n]);
		/*
		 * Freed some grace periods later; the next round waits for that without being told.
		 */
		if (round % 2)
			EXPECT_TRUE(WAIT_FOR(!locked_kb()));
	}
	free(many);
}

/* A thread of the caller's may keep his mappings as long as it likes, and all users' are counted. */
TEST_F(rights, rings_are_charged_while_somebody_keeps_the_mappings)
{
	int fd, error = other_driver_load();

	if (error)
		SKIP(return, "no other_driver.ko, or nothing here that it plays: %s", strerror(-error));
	self->configure.ring_pages = 1;
	while (self->configure.ring_pages * 4 < 2 * mlock_kb() * cpus_online())
		self->configure.ring_pages *= 2;
	fd = open_device();
	ASSERT_EQ(0, mlockall(MCL_CURRENT));
	ASSERT_EQ(0, other_driver("mappings 1"));
	error = command(fd, FLOWTAP_IOC_CONFIGURE, &self->configure);
	close(fd);
	EXPECT_EQ(0, other_driver("mappings 0"));
	EXPECT_EQ(0, error);
	munlockall();
	other_driver_unload();
}

/* A process that executes a program until other_driver is told "program 0". */
static pid_t kept_executing(void)
{
	int go[2];
	pid_t pid;
	char byte;

	if (pipe(go))
		return -1;
	pid = fork_pinned(0);
	if (!pid) {
		other_driver("program 1");
		if (write(go[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	if (pid > 0 && read(go[0], &byte, 1) != 1)
		pid = -1;
	close(go[0]);
	close(go[1]);
	return pid;
}

/* A file system of his own may keep a process's exec for as long as it likes. */
TEST_F(rights, nobody_else_waits_for_who_executes_a_program)
{
	struct stream stream;
	pid_t pid, adder;
	int error = other_driver_load(), status;

	if (error)
		SKIP(return, "no other_driver.ko, or nothing here that it plays: %s", strerror(-error));
	pid = kept_executing();
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, stream_open(&stream, &self->configure));
	adder = fork_pinned(-1);
	if (!adder)
		_exit(add_task(&stream, pid, 0) != 1);
	sleep_ms(200);
	EXPECT_EQ(0, waitpid(adder, &status, WNOHANG));
	EXPECT_EQ(0, enable(&stream));
	EXPECT_EQ(0, disable(&stream));
	/* It has been kept until now. */
	EXPECT_EQ(0, other_driver("program 0"));
	EXPECT_EQ(adder, waitpid(adder, &status, 0));
	EXPECT_EQ(0, status);
	stream_close(&stream);
	end(pid);
	other_driver_unload();
}

/* Nor does he wait for somebody who may not trace him. */
TEST_F(rights, who_executes_a_program_is_refused_to_others_at_once)
{
	int error = other_driver_load(), status;
	pid_t pid, adder;

	if (error)
		SKIP(return, "no other_driver.ko, or nothing here that it plays: %s", strerror(-error));
	pid = kept_executing();
	ASSERT_LT(0, pid);
	adder = fork_pinned(-1);
	if (!adder) {
		/* It would wait until he is through. */
		alarm(10);
		_exit(become(USER) || try_add(&self->configure, pid) != -EPERM);
	}
	EXPECT_EQ(adder, waitpid(adder, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, other_driver("program 0"));
	end(pid);
	other_driver_unload();
}

TEST_F(rights, what_is_free_is_free_once_for_each_user)
{
	struct rlimit limit = { 0, 0 };
	unsigned int free_kb = mlock_kb() * cpus_online();
	struct stream stream;
	pid_t other;
	int status;

	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
	self->configure.ring_pages = 1;
	while ((self->configure.ring_pages * 2 + 1) * 4 <= free_kb)
		self->configure.ring_pages *= 2;
	other = fork();
	if (!other) {
		become(OTHER);
		_exit(-stream_open(&stream, &self->configure) ?: (sleep_ms(300), 0));
	}
	ASSERT_EQ(0, become(USER));
	sleep_ms(50);
	EXPECT_EQ(0, stream_open(&stream, &self->configure));
	/* A second process of the same user has what is left. */
	if (!fork()) {
		struct stream second;

		_exit(-stream_open(&second, &self->configure));
	}
	waitpid(-1, &status, 0);
	if (!WEXITSTATUS(status))
		waitpid(-1, &status, 0);
	EXPECT_EQ(EPERM, WEXITSTATUS(status));
	stream_close(&stream);
}

static void *wait_for_the_end(void *argument)
{
	for (;;)
		pause();
	return argument;
}

/* A process of so many threads, all of them there, however long a kernel that checks itself takes. */
static pid_t crowd(unsigned int threads)
{
	volatile unsigned int *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork_pinned(0);
	pthread_attr_t attributes;
	pthread_t thread;

	if (!pid) {
		pthread_attr_init(&attributes);
		pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
		while (++*made < threads)
			if (pthread_create(&thread, &attributes, wait_for_the_end, NULL))
				_exit(1);
		wait_for_the_end(NULL);
	}
	for (unsigned int before = 0; before < threads; before = *made)
		if (!WAIT_FOR(*made > before))
			return -1;
	return pid;
}

#define SETS 64
#define TASKS 131072

/* As many streams on the CPU as there may be, and one: what the last says. */
static int open_all(struct stream *many, const struct flowtap_configure *configure)
{
	unsigned int n;
	int error;

	for (n = 0; n <= SETS; n++) {
		error = stream_open(&many[n], configure);
		if (error && n < SETS)
			return -n;
	}
	return error;
}

TEST_F(rights, streams_sets_and_tasks_are_limited_for_each_user)
{
	const int threads = TASKS / SETS + 1;
	struct stream many[SETS + 1], other;
	unsigned int n;
	pid_t pid;

	self->configure = plain(FLOWTAP_SOURCE_SOFT, 0);
	self->configure.ring_pages = 1;
	/* Not for whom perf lets look at CPUs. */
	EXPECT_EQ(0, open_all(many, &self->configure));
	for (n = 0; n <= SETS; n++)
		stream_close(&many[n]);

	ASSERT_EQ(0, become(USER));
	/* It must not have the streams open. */
	pid = crowd(threads);
	ASSERT_LT(0, pid);
	ASSERT_EQ(-EMFILE, open_all(many, &self->configure));
	/* On another CPU it is one set too many. */
	self->configure.cpu = cpus_online() - 1;
	EXPECT_EQ(-EMFILE, stream_open(&other, &self->configure));
	stream_close(&many[0]);
	EXPECT_EQ(0, stream_open(&other, &self->configure));
	stream_close(&other);
	self->configure.cpu = 0;
	ASSERT_EQ(0, stream_open(&many[0], &self->configure));

	for (n = 0; n < SETS - 1; n++)
		ASSERT_EQ(threads, add_task(&many[n], pid, 0));
	/* There is room for all but SETS of them; what is in the set stays there. */
	EXPECT_EQ(-ENOSPC, add_task(&many[n], pid, 0));
	EXPECT_EQ(threads - SETS, stats(&many[n]).tasks);
	EXPECT_EQ(threads, remove_task(&many[0], pid, 0));
	EXPECT_EQ(SETS, add_task(&many[n], pid, 0));
	stream_close(&many[1]);
	EXPECT_EQ(threads, add_task(&many[0], pid, 0));
	end(pid);
	EXPECT_TRUE(WAIT_FOR(stats(&many[n]).tasks == 0));
	for (n = 0; n < SETS; n++)
		stream_close(&many[n]);
}

/* One of the many users of a namespace of USER's: what a stream of his says; 100: no namespace. */
static int open_in_namespace(const struct flowtap_configure *configure, int ready, int mapped)
{
	struct stream stream;
	char byte;
	int error;

	if (become(USER) || unshare(CLONE_NEWUSER))
		return 100;
	if (write(ready, "", 1) != 1 || read(mapped, &byte, 1) != 1 || setresuid(5, 5, 5))
		return 101;
	error = stream_open(&stream, configure);
	return error ? -error : 0;
}

static int map_users(pid_t pid)
{
	static const char map[] = "0 200000 1000\n";
	char path[64];
	int fd, n;

	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : (int)write(fd, map, sizeof(map) - 1);
	close(fd);
	return n == sizeof(map) - 1 ? 0 : -1;
}

/* With them there would be as many limits as its owner has subordinate users. */
TEST_F(rights, users_of_a_namespace_are_charged_to_its_owner)
{
	struct stream many[SETS + 1];
	int ready[2], mapped[2], status;
	pid_t pid;
	char byte;

	self->configure = plain(FLOWTAP_SOURCE_SOFT, 0);
	self->configure.ring_pages = 1;
	ASSERT_EQ(0, pipe(ready) || pipe(mapped));
	pid = fork();
	if (!pid)
		_exit(open_in_namespace(&self->configure, ready[1], mapped[0]));
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		SKIP(return, "no user namespaces here");
	ASSERT_EQ(0, map_users(pid));
	ASSERT_EQ(0, become(USER));
	ASSERT_EQ(-EMFILE, open_all(many, &self->configure));
	ASSERT_EQ(1, write(mapped[1], "", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(EMFILE, WEXITSTATUS(status));
	for (unsigned int n = 0; n < SETS; n++)
		stream_close(&many[n]);
}

TEST_HARNESS_MAIN
