// SPDX-License-Identifier: GPL-2.0-only
/* flowtapd: records continuously. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tools/common/parse_options.h"
#include "../tools/common/tool.h"
#include "child.h"
#include "log.h"
#include "run.h"

#define CONF_PATH "/etc/flowtap/flowtapd.conf"

static const char help[] =
	"usage: flowtapd [OPTION...]\n"
	"Records what the machine executes, continuously, into segments: archives that `flowtap decode`\n"
	"takes. It stays in the foreground; SIGTERM and SIGINT end it, SIGHUP reads the configuration\n"
	"again, SIGUSR1 begins another segment, SIGUSR2 saves rings that overwrite.\n"
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
	int written;

	if (conf_load(path, &conf, &error)) {
		complain("%s", error ? error : "no memory");
		free(error);
		return STATUS_USAGE;
	}
	written = conf_print(&conf, STDOUT_FILENO);
	if (written)
		complain_stdout(written);
	conf_free(&conf);
	return written ? STATUS_ERROR : STATUS_OK;
}

int main(int argc, char **argv)
{
	const char *path = CONF_PATH;
	bool check = false;
	const struct command_option options[] = {
		OPTION_STRING('c', "config", &path),
		OPTION_FLAG(0, "check-config", &check),
		OPTION_TEXT('V', "version", "flowtapd " FLOWTAP_VERSION "\n"),
		OPTION_HELP(help),
		OPERANDS_NONE
	};
	static char name[] = "flowtapd";
	static struct run run;
	int status;

	message_program(name);
	if (argc > 1 && !strcmp(argv[1], CHILD_OPTION))
		return child_main(argc - 1, argv + 1);
	argv[0] = name;
	status = parse_options(argc, argv, options);
	if (status != OPTIONS_TAKEN)
		return status;
	if (check)
		return check_config(path);
	log_open(STDERR_FILENO);
	status = run_open(&run, path);
	if (!status)
		status = run_loop(&run);
	run_close(&run);
	return status;
}
