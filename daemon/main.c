// SPDX-License-Identifier: GPL-2.0-only
/* flowtapd: records continuously. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tools/common/tool.h"
#include "child.h"
#include "run.h"

#define CONF_PATH "/etc/flowtap/flowtapd.conf"

static const char help[] =
	"usage: flowtapd [OPTION...]\n"
	"Records what the machine executes, continuously, into segments: archives that `flowtap decode`\n"
	"takes. It stays in the foreground; SIGTERM and SIGINT end it, SIGHUP reads the configuration\n"
	"again, SIGUSR1 begins another segment.\n"
	"\n"
	"  -c, --config FILE    the configuration (" CONF_PATH ")\n"
	"      --check-config   reads it, prints all that holds, and ends\n"
	"  -V, --version        the version\n"
	"  -h, --help           this text\n"
	"\n"
	"Exit status: 0; 1 for an error; 2 for wrong usage or a configuration that is none.\n";

static int check_config(const char *path)
{
	struct conf conf;
	char *error;

	if (conf_load(path, &conf, &error)) {
		complain("%s", error ? error : "no memory");
		free(error);
		return STATUS_USAGE;
	}
	if (conf_print(&conf, STDOUT_FILENO)) {
		complain("cannot write to standard output");
		conf_free(&conf);
		return STATUS_ERROR;
	}
	conf_free(&conf);
	return STATUS_OK;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "check-config", no_argument, NULL, 'k' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *path = CONF_PATH;
	static struct run run;
	bool check = false;
	int option, status;

	message_program("flowtapd");
	if (argc > 1 && !strcmp(argv[1], CHILD_OPTION))
		return child_main(argc - 1, argv + 1);
	while ((option = getopt_long(argc, argv, "c:Vh", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			path = optarg;
			break;
		case 'k':
			check = true;
			break;
		case 'V':
			puts("flowtapd " FLOWTAP_VERSION);
			return STATUS_OK;
		case 'h':
			fputs(help, stdout);
			return STATUS_OK;
		default:
			return usage_hint("flowtapd");
		}
	}
	if (optind < argc)
		return misused("flowtapd", "'%s' is too much", argv[optind]);
	if (check)
		return check_config(path);
	status = run_open(&run, path);
	if (!status)
		status = run_loop(&run);
	run_close(&run);
	return status;
}
