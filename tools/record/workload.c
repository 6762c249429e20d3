// SPDX-License-Identifier: GPL-2.0-only
/*
 * Forks a child that waits on a pipe and then executes the command; a second pipe reports a
 * failed exec.
 */
#include "record/workload.h"

#include "common/tool.h"
#include "recording/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 2000

static int exec_status(const char *name, int error)
{
	complain("cannot execute '%s': %s", name,
		 error == ENOENT ? "no such command" : strerror(error));
	if (error == ENOENT && !strchr(name, '/'))
		advise("it is not in PATH; give its path if it is elsewhere");
	else if (error == ENOEXEC)
		advise("it is no program of this machine, or a script without #!");
	return error == ENOENT || error == ENOTDIR ? STATUS_NOT_FOUND : STATUS_CANNOT_EXECUTE;
}

/* What workload_check said yes to, and the kernel no. */
static int late_status(const char *name, int error)
{
	if (error == ENOENT) {
		complain("cannot execute '%s': its interpreter or loader is not there", name);
		return STATUS_CANNOT_EXECUTE;
	}
	return exec_status(name, error);
}

/* 0 if it can be executed, else errno. */
static int probe(const char *path)
{
	struct stat stat_of;

	if (stat(path, &stat_of))
		return errno;
	if (S_ISDIR(stat_of.st_mode))
		return EISDIR;
	return access(path, X_OK) ? errno : 0;
}

int workload_check(const char *name)
{
	const char *path = getenv("PATH");
	int error = ENOENT;

	if (strchr(name, '/')) {
		error = probe(name);
		return error ? exec_status(name, error) : 0;
	}
	path = path ? path : "/usr/local/bin:/usr/bin:/bin";
	while (*name) {
		size_t length = strcspn(path, ":");
		char full[PATH_MAX];
		int one;

		if (length)
			snprintf(full, sizeof(full), "%.*s/%s", (int)length, path, name);
		else
			snprintf(full, sizeof(full), "%s", name);
		one = probe(full);
		if (!one)
			return 0;
		/* Like execvp: the first reason that is not absence counts. */
		if (one == EACCES && error == ENOENT)
			error = one;
		if (!path[length])
			break;
		path += length + 1;
	}
	return exec_status(name, error);
}

static void child(const struct workload *workload, int go, int report, char **arguments,
		  const sigset_t *mask)
{
	ssize_t n;
	char byte;

	/* Should flowtap be killed before it says go. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	do
		n = read(go, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(STATUS_ERROR);
	prctl(PR_SET_PDEATHSIG, 0);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	descriptors_restore();
	if (!workload->to_stderr || dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		execvp(arguments[0], arguments);
	n = write(report, &errno, sizeof(errno));
	_exit(n == (ssize_t)sizeof(errno) ? STATUS_CANNOT_EXECUTE : STATUS_ERROR);
}

int workload_fork(struct workload *workload, char **arguments, const sigset_t *mask)
{
	int go[2], report[2];

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(report, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return -errno;
	}
	fflush(NULL);
	workload->pid = fork();
	if (!workload->pid) {
		close(go[1]);
		child(workload, go[0], report[1], arguments, mask);
	}
	close(go[0]);
	close(report[1]);
	workload->go = go[1];
	workload->report = report[0];
	if (workload->pid < 0) {
		workload->pid = 0;
		return -errno;
	}
	workload->pidfd = (int)syscall(SYS_pidfd_open, workload->pid, 0);
	return workload->pidfd < 0 ? -errno : 0;
}

int workload_start(struct workload *workload, const char *name)
{
	int error = 0;
	ssize_t n = write(workload->go, "", 1);

	if (n == 1)
		n = read(workload->report, &error, sizeof(error));
	close(workload->go);
	close(workload->report);
	workload->go = workload->report = -1;
	if (!n)
		return 0;
	workload_reap(workload, true);
	if (n == (ssize_t)sizeof(error))
		return late_status(name, error);
	complain("the process of '%s' is gone", name);
	return STATUS_ERROR;
}

bool workload_reap(struct workload *workload, bool block)
{
	pid_t pid;

	if (!workload->pid)
		return true;
	do
		pid = waitpid(workload->pid, &workload->wait_status, block ? 0 : WNOHANG);
	while (pid < 0 && errno == EINTR);
	if (!pid)
		return false;
	workload->pid = 0;
	return true;
}

bool workload_ends(struct workload *workload)
{
	if (workload->pid)
		poll(&(struct pollfd){ .fd = workload->pidfd, .events = POLLIN }, 1, PATIENCE_MS);
	return workload_reap(workload, false);
}

int workload_status(const struct workload *workload)
{
	if (workload->left)
		return STATUS_ERROR;
	if (WIFSIGNALED(workload->wait_status))
		return 128 + WTERMSIG(workload->wait_status);
	return WEXITSTATUS(workload->wait_status);
}

bool workload_stop(struct workload *workload)
{
	if (workload->go > 0) {
		close(workload->go);	/* not executed yet: it leaves by itself */
		workload->go = -1;
	}
	if (workload->left || workload_reap(workload, false))
		return workload->left;
	kill(workload->pid, SIGTERM);
	workload->left = !workload_ends(workload);
	if (workload->left)
		complain("process %d does not end on SIGTERM and is left running", workload->pid);
	return true;
}
