// SPDX-License-Identifier: GPL-2.0-only
/*
 * dumps [OPTION...] FILE: `flowtap dump` by a clock that is a minute later each time it is read, so
 * that what it says once a minute is said at once. Its exit status.
 */
#include "../../tools/common/tool.h"

#define MINUTE 60000000000ULL

uint64_t __wrap_number_now(void);

/* The linker puts it in front of number_now (cli.mk). */
uint64_t __wrap_number_now(void)
{
	static uint64_t now;

	return now += MINUTE;
}

int main(int argc, char **argv)
{
	char name[] = "flowtap dump";
	int status;

	argv[0] = name;
	status = dump_command(argc, argv);
	return output_failed() && !status ? STATUS_ERROR : status;
}
