// SPDX-License-Identifier: GPL-2.0-only
/*
 * prints [OPTION...] -- COMMAND: forks and executes COMMAND as `flowtap record` with these options
 * does, and records nothing: shows where what it prints goes. Its exit status.
 */
#include "../../tools/common/tool.h"
#include "../../tools/record/recorder.h"

int main(int argc, char **argv)
{
	struct record_options options;
	struct recorder recorder = {
		.options = &options,
		.workload = { .pidfd = -1, .go = -1, .report = -1 },
	};

	if (options_parse(argc, argv, &options) != OPTIONS_TAKEN || recorder_fork_command(&recorder) ||
	    workload_start(&recorder.workload, options.command[0]))
		return STATUS_ERROR;
	workload_reap(&recorder.workload, true);
	return workload_status(&recorder.workload);
}
