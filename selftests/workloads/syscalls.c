// SPDX-License-Identifier: GPL-2.0-only
/* System calls of many kinds: quick, failing, sleeping, restarted, and those the vdso answers. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

static int pipes(uint64_t *sum)
{
	char text[64] = "through the pipe", back[64];
	struct iovec parts[2] = { { text, 7 }, { text + 7, 9 } };
	struct pollfd event;
	int fd[2], right;

	if (pipe2(fd, O_CLOEXEC | O_NONBLOCK))
		return 0;
	right = read(fd[0], back, sizeof(back)) == -1 && errno == EAGAIN;
	right &= writev(fd[1], parts, 2) == 16;
	event = (struct pollfd){ fd[0], POLLIN, 0 };
	right &= poll(&event, 1, 1000) == 1;
	right &= read(fd[0], back, sizeof(back)) == 16 && !memcmp(text, back, 16);
	*sum += back[3];
	close(fd[0]);
	close(fd[1]);
	return right;
}

static int clocks(void)
{
	struct timespec a, b, nap = { 0, 50000 };

	for (int i = 0; i < 20; i++)
		clock_gettime(CLOCK_MONOTONIC, &a);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
	clock_gettime(CLOCK_MONOTONIC, &b);
	return b.tv_sec > a.tv_sec || b.tv_nsec > a.tv_nsec;
}

static int failures(void)
{
	struct stat st;

	return open("/no/such/file", O_RDONLY) == -1 && errno == ENOENT &&
	       close(12345) == -1 && errno == EBADF && stat("/proc/self/exe/x", &st) == -1 &&
	       errno == ENOTDIR && syscall(99999) == -1 && errno == ENOSYS;
}

static int events(void)
{
	uint64_t value = 5, back = 0;
	int fd = eventfd(0, EFD_CLOEXEC);
	int right = write(fd, &value, 8) == 8 && read(fd, &back, 8) == 8 && back == 5;

	close(fd);
	return right;
}

int main(int argc, char **argv)
{
	unsigned long amount = begin(argc, argv, 100);
	uint64_t sum = 0;
	int right = 1;

	for (unsigned long i = 0; i < amount && right; i++) {
		void *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);

		memset(page, i, 8192);
		sum += ((uint8_t *)page)[5000];
		munmap(page, 8192);
		right = pipes(&sum) && clocks() && failures() && events() &&
			syscall(SYS_getpid) == getpid() && !sched_yield();
	}
	return end("syscalls", right, sum);
}
