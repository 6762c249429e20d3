// SPDX-License-Identifier: GPL-2.0-only
/*
 * A chain of exec: the program executes itself, one less each time, and every third time through
 * the other build of it (exec_other, the same source at other addresses; exec_static_other, with
 * other code at the addresses of exec_static).
 */
#include <libgen.h>
#include <limits.h>
#include <unistd.h>

#include "workload.h"

#ifndef NAME
#define NAME "exec"
#endif
#ifdef OTHER
static const char me[] = NAME "_other", other[] = NAME;
#else
static const char me[] = NAME, other[] = NAME "_other";
#endif

static __attribute__((noinline)) uint64_t work(uint64_t state)
{
	uint64_t sum = 0;

	for (int i = 0; i < 2000; i++)
		sum ^= mix(&state) + sizeof(me);
	return sum;
}

int main(int argc, char **argv)
{
	unsigned long amount = begin(argc, argv, 20);
	uint64_t sum = work(amount);
	char path[PATH_MAX + 16], left[24];

	if (!amount)
		return end("exec", 1, sum);
	strncpy(path, argv[0], PATH_MAX - 1);
	path[PATH_MAX - 1] = 0;
	dirname(path);
	strcat(path, "/");
	strcat(path, amount % 3 ? me : other);
	snprintf(left, sizeof(left), "%lu", amount - 1);
	execl(path, path, left, NULL);
	perror(path);
	return 1;
}
