// SPDX-License-Identifier: GPL-2.0-only
/* Checks the configuration of the kernel against what the module depends on (Kconfig). */
#include "doctor/report.h"

void checks_kernel(struct report *report)
{
	static const struct {
		const char *name;
		bool good;		/* that it is on */
		bool riscv;		/* asked of RISC-V only */
		bool loading;		/* asked where the module is not there */
		const char *why;
	} options[] = {
		{ "MODULES", true, false, true, "the module cannot be loaded" },
		{ "PERF_EVENTS", true, false, false, "nothing can trigger samples" },
		{ "TRACEPOINTS", true, false, false, "tasks cannot be followed" },
		{ "HIGH_RES_TIMERS", true, false, false, "nothing can trigger samples by time" },
		{ "RISCV_PMU_SBI", true, true, false, "hardware events cannot trigger samples" },
		{ "PREEMPT_RT", false, false, true, "the module does not work with it" },
	};
	const struct machine *machine = &report->machine;

	report_add(report, GRADE_OK, "kernel", NULL, "Linux %s on %s", machine->name.release,
		   machine->name.machine);
	if (!machine->config) {
		report_add(report, GRADE_NOTE, "config", NULL,
			   "the kernel's configuration is not to be found (/proc/config.gz, "
			   "/boot, /lib/modules)");
		return;
	}
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		bool on = machine_config(machine, options[i].name) != 'n';

		if (on == options[i].good || (options[i].riscv && !machine_is_riscv(machine)) ||
		    (options[i].loading && machine->module_loaded))
			continue;
		report_add(report, GRADE_FAIL, "config",
			   on ? "boot a kernel without it (Debian's usual one)" :
				"boot a kernel with it (Debian's has it)",
			   "CONFIG_%s is %s: %s", options[i].name, on ? "on" : "off",
			   options[i].why);
	}
}
