// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose functions daemon_probes.guest has probed. probed [FUNCTION MS]...: calls before(), and the
 * function after it: slow() sleeps so long, reached() keeps the CPU for a while, in the kernel, so
 * that nothing it executes follows. Then it sleeps: its CPU goes to somebody else.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <time.h>

static int null, zero;

static void take(long ms)
{
	const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

__attribute__((noinline, noclone)) void before(void)
{
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline, noclone)) void reached(void)
{
	(void)!sendfile(null, zero, NULL, 512 << 20);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline, noclone)) void slow(long ms)
{
	take(ms);
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	null = open("/dev/null", O_WRONLY);
	zero = open("/dev/zero", O_RDONLY);
	for (int i = 1; i + 1 < argc; i += 2) {
		before();
		if (strcmp(argv[i], "slow"))
			reached();
		else
			slow(atol(argv[i + 1]));
		take(100);
	}
	return 0;
}
