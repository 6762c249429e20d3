// SPDX-License-Identifier: GPL-2.0-only
/* flowtap: the command people type. */
#include "common/tool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int help_command(int argc, char **argv);
static int version_command(int argc, char **argv);

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *line;
} commands[] = {
	{ "record", record_command, "record the control flow of a command or a process" },
	{ "decode", decode_command, "turn a recording into a trace, for simulators or as text" },
	{ "convert", convert_command, "write a trace in another format" },
	{ "diff", diff_command, "show where two traces part" },
	{ "stat", stat_command, "count what is in a trace" },
	{ "dump", dump_command, "print what is in a recording or a trace" },
	{ "check", check_command, "say whether a recording or a trace is whole and right" },
	{ "doctor", doctor_command, "say what this machine has, what is missing and the fix" },
	{ "list", list_command, "show sources, their capabilities and events" },
	{ "ctl", ctl_command, "ask a flowtapd that records all day" },
	{ "help", help_command, "explain a command" },
	{ "version", version_command, "print the version" },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void usage(FILE *file)
{
	fputs("usage: flowtap COMMAND [OPTION...]\n\n", file);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(file, "  %-8s %s\n", commands[i].name, commands[i].line);
	fputs("\n"
	      "decode also takes what others recorded of Arm processors with ETE: Arm snapshots, the\n"
	      "perf.data of `perf record -e cs_etm//`, raw bytes.\n"
	      "\n"
	      "flowtap COMMAND --help explains one of them, `man flowtap` everything.\n"
	      "\n"
	      "  flowtap record -- gzip -k FILE                   records a command\n"
	      "  flowtap decode flowtap.ftap --to stf -o gzip.stf makes an STF trace of it\n",
	      file);
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

/* Letters to change, insert or take away (Levenshtein); both shorter than 16. */
static size_t distance(const char *one, const char *other)
{
	size_t row[17], length = strlen(other);

	for (size_t j = 0; j <= length; j++)
		row[j] = j;
	for (size_t i = 1; one[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= length; j++) {
			size_t best = diagonal + (one[i - 1] != other[j - 1]);

			diagonal = row[j];
			best = best < row[j] + 1 ? best : row[j] + 1;
			row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
		}
	}
	return row[length];
}

static int unknown(const char *name)
{
	const struct command *near = NULL;
	size_t least = 3;

	for (size_t i = 0; i < COMMANDS && strlen(name) < 16; i++) {
		size_t d = distance(name, commands[i].name);

		if (d < least && d < strlen(commands[i].name) - 1) {
			least = d;
			near = &commands[i];
		}
	}
	fputs("flowtap: there is no command '", stderr);
	print_plain(stderr, name, strlen(name));
	fputs("'", stderr);
	if (near)
		fprintf(stderr, "; did you mean '%s'?", near->name);
	fputs("\n  flowtap --help shows what there is\n", stderr);
	return STATUS_USAGE;
}

static int run(const struct command *command, int argc, char **argv)
{
	char name[32];

	/* getopt begins its messages with argv[0]. */
	snprintf(name, sizeof(name), "flowtap %s", command->name);
	argv[0] = name;
	return command->run(argc, argv);
}

static int help_command(int argc, char **argv)
{
	const struct command *command;
	char option[] = "--help";
	char *arguments[] = { NULL, option, NULL };

	if (argc < 2 || !strcmp(argv[1], "--help")) {
		usage(stdout);
		return STATUS_OK;
	}
	command = find(argv[1]);
	if (!command)
		return unknown(argv[1]);
	return run(command, 2, arguments);
}

static int version_command(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	puts("flowtap " FLOWTAP_VERSION);
	return STATUS_OK;
}

/*
 * No file that is opened gets the number of one that the caller has closed: messages would be written
 * into it. Reading and writing these fails as if they were closed, and a recorded command has none.
 */
static void occupy_closed(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
			return;
}

int main(int argc, char **argv)
{
	const struct command *command;
	int status;

	occupy_closed();
	if (argc < 2) {
		usage(stderr);
		return STATUS_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		command = find("help");
	else if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		command = find("version");
	else
		command = find(argv[1]);
	if (!command)
		return unknown(argv[1]);
	status = run(command, argc - 1, argv + 1);
	/* Else a status says also that what was good was printed; record's may be its command's. */
	if (output_failed() &&
	    (!status || (command->run != record_command &&
			 (status == STATUS_DAMAGED || status == STATUS_NOTHING))))
		return STATUS_ERROR;
	return status;
}
