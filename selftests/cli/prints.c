// SPDX-License-Identifier: GPL-2.0-only
/*
 * prints [OPTION...] -- COMMAND: forks and executes COMMAND as `flowtap record` with these options
 * does, and records nothing: shows where what it prints goes. Its exit status.
 */
#include "../../tools/common/tool.h"
#include "../../tools/record/recording.h"

int main(int argc, char **argv)
{
	struct record_options options;
	struct recording recording = {
		.options = &options,
		.workload = { .pidfd = -1, .go = -1, .report = -1 },
	};

	if (options_parse(argc, argv, &options) != OPTIONS_TAKEN || recording_fork_command(&recording) ||
	    workload_start(&recording.workload, options.command[0]))
		return STATUS_ERROR;
	workload_reap(&recording.workload, true);
	return workload_status(&recording.workload);
}
