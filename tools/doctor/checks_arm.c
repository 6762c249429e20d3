// SPDX-License-Identifier: GPL-2.0-only
/* What flowtap doctor looks at on Arm: ETE and TRBE, before the module and without it. */
#include "common/arm_machine.h"
#include "doctor/report.h"

#include <stdio.h>

static const char no_hardware[] =
	"a CPU with ETE and TRBE (Armv9), and firmware whose device tree names both for the kernel; "
	"QEMU has neither, flowtap's model for tests adds them (make model); for tests of the "
	"module without: modprobe flowtap soft=1 and record --source soft";

static void check_tree(struct report *report, const struct arm_machine *arm)
{
	if (arm->unit && arm->buffer)
		report_add(report, GRADE_OK, "cpu", NULL,
			   "the device tree names trace units (ETE) and a trace buffer (TRBE)");
	else if (report->source)
		report_add(report, GRADE_OK, "cpu", NULL, "it has a trace unit (ETE)");
	else if (!arm->tree)
		report_add(report, GRADE_NOTE, "cpu", NULL,
			   "ACPI describes this machine, not a device tree: only the module finds "
			   "out whether it has ETE and TRBE");
	else
		report_add(report, GRADE_FAIL, "cpu", no_hardware, "the device tree has no node %s",
			   arm->unit ? "arm,trace-buffer-extension" :
			   arm->buffer ? "arm,embedded-trace-extension" :
			   "arm,embedded-trace-extension and no arm,trace-buffer-extension");
}

static void check_kpti(struct report *report, const struct arm_machine *arm)
{
	if (arm->kpti)
		report_add(report, GRADE_FAIL, "kpti",
			   "kpti=off on the kernel's command line (only on a CPU that Meltdown "
			   "does not concern)",
			   "the kernel is not mapped while user programs run (KPTI): the trace "
			   "buffer could not be written");
}

/* They take the trace buffer's interrupt, so that the module finds it busy. */
static void check_drivers(struct report *report)
{
	bool built_in;
	const char *drivers = arm_machine_drivers(&built_in);
	char fix[128];

	if (!drivers || report->source)
		return;
	snprintf(fix, sizeof(fix), "as root: rmmod %s; modprobe flowtap", drivers);
	if (built_in)
		report_add(report, GRADE_FAIL, "owner",
			   "perf record -e cs_etm//u, and flowtap decode perf.data; or a kernel "
			   "that has them as modules",
			   "the kernel's own drivers have the trace hardware, and are built in: %s",
			   drivers);
	else
		report_add(report, GRADE_FAIL, "owner", fix,
			   "the kernel's own drivers have the trace hardware: %s", drivers);
}

void checks_arm(struct report *report)
{
	struct arm_machine arm;

	arm_machine_read(&arm);
	check_tree(report, &arm);
	check_kpti(report, &arm);
	check_drivers(report);
}
