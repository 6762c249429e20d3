// SPDX-License-Identifier: GPL-2.0-only
/*
 * prints [OPTION...] -- COMMAND: forks and executes COMMAND as `flowtap record` with these options
 * does, and records nothing: shows where what it prints goes. Its exit status.
 *
 * With --duration it is stopped after that time, as often as `flowtap record` does it.
 */
#include <unistd.h>

#include "../../tools/common/tool.h"
#include "../../tools/record/recorder.h"

int main(int argc, char **argv)
{
	struct record_options options;
	struct recorder recorder = {
		.options = &options,
		.workload = { .pidfd = -1, .go = -1, .report = -1 },
	};
	int status;

	if (options_parse(argc, argv, &options) != OPTIONS_TAKEN || recorder_fork_command(&recorder) ||
	    workload_start(&recorder.workload, options.command[0]))
		return STATUS_ERROR;
	if (!options.duration) {
		workload_reap(&recorder.workload, true);
		return workload_status(&recorder.workload);
	}
	usleep((useconds_t)(options.duration / 1000));
	workload_stop(&recorder.workload);
	status = workload_status(&recorder.workload);
	workload_stop(&recorder.workload);
	return status;
}
