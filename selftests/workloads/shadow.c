// SPDX-License-Identifier: GPL-2.0-only
/*
 * A chain of exec in which each program executes at addresses where the one before had other code:
 * without randomisation the stack's limit alone says where the loader comes to, and before the exec
 * another file is mapped there.
 */
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <unistd.h>

#include "workload.h"

#define MIB (1UL << 20)

/* Which limits programs have that have so much to do. */
static rlim_t limit_of(unsigned long amount)
{
	return (amount % 2 ? 192 : 256) * MIB;
}

static int become(char **argv, unsigned long amount)
{
	struct rlimit limit = { limit_of(amount), RLIM_INFINITY };
	char left[24];

	if (setrlimit(RLIMIT_STACK, &limit))
		return 1;
	snprintf(left, sizeof(left), "%lu", amount);
	execl(argv[0], argv[0], left, NULL);
	perror(argv[0]);
	return 1;
}

int main(int argc, char **argv)
{
	unsigned long amount = begin(argc, argv, 10);
	char *loader = (char *)getauxval(AT_BASE), *next;
	int fd = open("/bin/busybox", O_RDONLY | O_CLOEXEC);

	if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE)) {
		personality(ADDR_NO_RANDOMIZE);
		return become(argv, amount);
	}
	if (!amount)
		return end("shadow", 1, 0);
	next = loader + limit_of(amount) - limit_of(amount - 1);
	if (mmap(next - MIB / 2, MIB, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd,
		 0) == MAP_FAILED)
		return end("shadow", 0, 0);
	return become(argv, amount - 1);
}
