// SPDX-License-Identifier: GPL-2.0-or-later
/* Semihosting (ARM-software/abi-aa, semihosting): the command line, and files of the host. */
#include "bare.h"

enum { SYS_OPEN = 1, SYS_CLOSE = 2, SYS_WRITE = 5, SYS_GET_CMDLINE = 0x15 };
#define OPEN_WB 5

static u64 call(u64 operation, const u64 *arguments)
{
	register u64 x0 __asm__("x0") = operation;
	register const u64 *x1 __asm__("x1") = arguments;

	__asm__ volatile("hlt #0xf000" : "+r"(x0) : "r"(x1) : "memory");
	return x0;
}

void semihost_command_line(char *text, size_t capacity)
{
	u64 arguments[2] = { (u64)text, capacity };

	if (call(SYS_GET_CMDLINE, arguments))
		panic("no command line (-semihosting-config enable=on,target=native)");
}

void semihost_write_file(const char *path, const void *bytes, size_t n)
{
	u64 open[3] = { (u64)path, OPEN_WB, strlen(path) };
	int64_t file = call(SYS_OPEN, open);
	u64 write[3] = { file, (u64)bytes, n };
	u64 left;

	if (file < 0)
		panic("%s cannot be made", path);
	left = n ? call(SYS_WRITE, write) : 0;
	if (left)
		panic("%s: %lu of %lu bytes were not written", path, left, (u64)n);
	call(SYS_CLOSE, write);
}
