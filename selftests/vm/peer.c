// SPDX-License-Identifier: GPL-2.0-only
/*
 * Others that a daemon deals with, in a guest whose busybox cannot be them:
 *
 *   peer hear PATH                 a service manager: prints what comes to the socket, a message a
 *                                  line after its time in milliseconds, newlines as blanks
 *   peer ask PATH TEXT             sends a line to the socket, prints the answer
 *   peer as UID GID[,GID...] CAPS COMMAND...
 *                                  executes it as that user with these capabilities (a mask in
 *                                  hexadecimal), as a service manager does: ambient
 *   peer filter FILE COMMAND...    executes it with no system calls but those of the file, by
 *                                  number: any other one kills
 *   peer forks N                   N processes that end at once, as fast as they come
 */
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failed(const char *what)
{
	fprintf(stderr, "peer: %s: %s\n", what, strerror(errno));
	return 1;
}

static struct sockaddr_un address_of(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	return address;
}

static int hear(const char *path)
{
	const struct sockaddr_un address = address_of(path);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct timespec now;
	char text[4096];
	ssize_t n;

	unlink(path);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) ||
	    chmod(path, 0666))
		return failed(path);
	while ((n = recv(fd, text, sizeof(text) - 1, 0)) >= 0) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		text[n] = 0;
		for (char *at = text; (at = strchr(at, '\n')); )
			*at = ' ';
		printf("%lld %s\n", 1000LL * now.tv_sec + now.tv_nsec / 1000000, text);
		fflush(stdout);
	}
	return failed(path);
}

static int ask(const char *path, const char *question)
{
	const struct sockaddr_un address = address_of(path);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char text[4096];
	ssize_t n;

	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return failed(path);
	n = snprintf(text, sizeof(text), "%s\n", question);
	if (write(fd, text, (size_t)n) != n)
		return failed(path);
	while ((n = read(fd, text, sizeof(text))) > 0)
		fwrite(text, 1, (size_t)n, stdout);
	return n ? failed(path) : 0;
}

static int as(char **argv)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const uint64_t caps = strtoull(argv[2], NULL, 16);
	const uid_t uid = (uid_t)atoi(argv[0]);
	struct __user_cap_data_struct data[2];
	size_t n = 0;
	gid_t groups[16];

	for (char *word, *rest = argv[1]; n < 16 && (word = strsep(&rest, ",")); )
		groups[n++] = (gid_t)atoi(word);
	prctl(PR_SET_KEEPCAPS, 1L, 0L, 0L, 0L);
	if (setgroups(n, groups) || setresgid(groups[0], groups[0], groups[0]) ||
	    setresuid(uid, uid, uid))
		return failed("cannot be that user");
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted = data[i].inheritable =
			(uint32_t)(caps >> 32 * i);
	if (syscall(SYS_capset, &header, data))
		return failed("cannot have these capabilities");
	for (long i = 0; i < 64; i++)
		if (caps >> i & 1 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0L, 0L))
			return failed("cannot hand them on");
	execvp(argv[3], argv + 3);
	return failed(argv[3]);
}

#ifdef __aarch64__
#define ARCH	AUDIT_ARCH_AARCH64
#else
#define ARCH	AUDIT_ARCH_RISCV64
#endif

static int filter(char **argv)
{
	static struct sock_filter program[4096] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog all = { .len = 4, .filter = program };
	FILE *file = fopen(argv[0], "re");
	unsigned int number;

	if (!file)
		return failed(argv[0]);
	while (all.len < 4000 && fscanf(file, "%u", &number) == 1) {
		program[all.len++] = (struct sock_filter)
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
		program[all.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	fclose(file);
	program[all.len++] = (struct sock_filter)
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all))
		return failed("cannot filter system calls");
	execvp(argv[1], argv + 1);
	return failed(argv[1]);
}

/* Some are on their way at any time. */
static int forks(long n)
{
	enum { TOGETHER = 32 };
	long running = 0;

	for (long i = 0; i < n; i++) {
		pid_t child;

		if (running == TOGETHER && waitpid(-1, NULL, 0) > 0)
			running--;
		child = fork();
		if (!child)
			_exit(0);
		if (child < 0)
			return failed("fork");
		running++;
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "hear"))
		return hear(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "ask"))
		return ask(argv[2], argv[3]);
	if (argc > 5 && !strcmp(argv[1], "as"))
		return as(argv + 2);
	if (argc > 3 && !strcmp(argv[1], "filter"))
		return filter(argv + 2);
	if (argc == 3 && !strcmp(argv[1], "forks"))
		return forks(atol(argv[2]));
	fprintf(stderr, "usage: peer hear PATH | ask PATH TEXT | as UID GIDS CAPS COMMAND... | "
		"filter FILE COMMAND... | forks N\n");
	return 2;
}
