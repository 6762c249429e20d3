// SPDX-License-Identifier: GPL-2.0-only
/* A tree of processes by fork, and some by vfork, each of which does part of the work. */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

static uint64_t *shared;

static uint64_t work(uint64_t item)
{
	uint64_t state = item, sum = 0;

	for (int i = 0; i < 500; i++)
		sum += mix(&state) >> 40;
	return sum;
}

/* Each of 2^depth leaves adds its own. */
static int grow(int depth, uint64_t item)
{
	int right = 1, status;
	pid_t child;

	if (!depth) {
		__atomic_add_fetch(shared, work(item), __ATOMIC_RELAXED);
		return 1;
	}
	child = fork();
	if (child < 0)
		return 0;
	if (!child)
		_exit(!grow(depth - 1, 2 * item + 1));
	right = grow(depth - 1, 2 * item);
	return waitpid(child, &status, 0) == child && !status && right;
}

static int quick(void)
{
	pid_t child = vfork();
	int status;

	if (!child)
		_exit(9);
	return waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 9;
}

int main(int argc, char **argv)
{
	unsigned long amount = begin(argc, argv, 5);
	uint64_t want = 0;
	int right = 1;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (unsigned long i = 1; i <= amount && right; i++) {
		right = grow(3, i) && quick();
		for (uint64_t leaf = 8 * i; leaf < 8 * i + 8; leaf++)
			want += work(leaf);
	}
	return end("forks", right && *shared == want, *shared);
}
