/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes that the tests trace. */
#ifndef FLOWTAP_SELFTESTS_KERNEL_TASK_H
#define FLOWTAP_SELFTESTS_KERNEL_TASK_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline int pin(pid_t pid, unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(pid, sizeof(set), &set);
}

static inline int cpus_online(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

/* Not to be made shorter: the tests want a task that stays on its CPU. */
static inline void spin(void)
{
	for (;;)
		asm volatile("" ::: "memory");
}

/* A child that dies with its parent; pinned where cpu >= 0. 0 in the child. */
static inline pid_t fork_pinned(int cpu)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* It may have died before that. */
		if (getppid() != parent)
			_exit(1);
		if (cpu >= 0)
			pin(0, cpu);
	}
	return pid;
}

static inline pid_t spinner(int cpu)
{
	pid_t pid = fork_pinned(cpu);

	if (!pid)
		spin();
	return pid;
}

/* What waitpid says of it. */
static inline int end(pid_t pid)
{
	int status = -1;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return status;
}

/* As /proc/PID/stat says. */
static inline char state_of(pid_t pid)
{
	char path[64], text[512] = { 0 }, *state;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	state = strrchr(text, ')');
	return state ? state[2] : 0;
}

/* Into a pipe: ns of the clock that records have. */
static inline bool write_now(int fd)
{
	struct timespec time;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	now = time.tv_sec * 1000000000ULL + time.tv_nsec;
	return write(fd, &now, sizeof(now)) == sizeof(now);
}

/*
 * A program that the tests execute is the test program itself: its first argument says what it
 * does instead, ROLE_SPIN's second one a pipe to which it writes when it begins.
 */
#define ROLE_SPIN "role=spin"
#define ROLE_EXIT "role=exit"

__attribute__((constructor, used)) static void play_role(int argc, char **argv, char **environment)
{
	if (argc < 2)
		return;
	if (!strcmp(argv[1], ROLE_EXIT))
		_exit(0);
	if (!strcmp(argv[1], ROLE_SPIN)) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (argc > 2)
			write_now(atoi(argv[2]));
		spin();
	}
}

/* This program, root's, e.g. as a set-uid one: 0 or -errno. */
static inline int copy_self(const char *path, mode_t mode)
{
	uint8_t block[65536];
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), out;
	ssize_t got;

	unlink(path);
	out = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	while ((got = read(in, block, sizeof(block))) > 0)
		if (write(out, block, got) != got)
			got = -1;
	close(in);
	if (got || fchown(out, 0, 0) || fchmod(out, mode)) {
		close(out);
		return -EIO;
	}
	return close(out) ? -errno : 0;
}

#endif /* FLOWTAP_SELFTESTS_KERNEL_TASK_H */
