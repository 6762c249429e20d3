// SPDX-License-Identifier: GPL-2.0-only
/*
 * minutes COMMAND [OPTION...] FILE...: `flowtap COMMAND` by a clock that is a minute later each time
 * it is read, so that what it says once a minute is said at once. Its exit status.
 */
#include <string.h>

#include "../../tools/common/tool.h"

#define MINUTE 60000000000ULL

uint64_t __wrap_number_now(void);

/* The linker puts it in front of number_now (cli.mk). */
uint64_t __wrap_number_now(void)
{
	static uint64_t now;

	return now += MINUTE;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "flowtap check", check_command }, { "flowtap convert", convert_command },
	{ "flowtap decode", decode_command }, { "flowtap diff", diff_command },
	{ "flowtap dump", dump_command }, { "flowtap stat", stat_command },
};

int main(int argc, char **argv)
{
	int status = STATUS_USAGE;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]) && argc > 1; i++) {
		char name[32];

		if (strcmp(commands[i].name + strlen("flowtap "), argv[1]))
			continue;
		snprintf(name, sizeof(name), "%s", commands[i].name);
		argv[1] = name;
		status = commands[i].run(argc - 1, argv + 1);
		break;
	}
	return output_failed() && !status ? STATUS_ERROR : status;
}
