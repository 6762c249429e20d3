/* SPDX-License-Identifier: GPL-2.0-only */
/* The report of flowtap doctor: the machine and the device it examines, and the findings so far. */
#ifndef FLOWTAP_TOOLS_DOCTOR_REPORT_H
#define FLOWTAP_TOOLS_DOCTOR_REPORT_H

#include "common/json.h"
#include "doctor/machine.h"

#include <linux/flowtap.h>
#include <stdbool.h>
#include <stddef.h>

/* FAIL: recording does not work because of it. WARN: it works less well. NOTE: good to know. */
enum grade { GRADE_OK, GRADE_NOTE, GRADE_WARN, GRADE_FAIL };

struct report {
	struct machine machine;
	struct flowtap_query *queries;
	size_t cpus;
	int device;			/* 0 or -errno of opening and asking */
	bool source;			/* some CPU has one: has_source */
	unsigned int failures;
	struct json *json;		/* NULL: text */
};

/* Whether record takes what the CPU offers, and that is what it really does. */
bool has_source(const struct flowtap_query *query);
/* Says what a check found. fix: what to do, NULL where there is nothing to do. */
void report_add(struct report *report, enum grade grade, const char *name, const char *fix,
		const char *format, ...) __attribute__((format(printf, 5, 6)));

/* capabilities.c: what the first CPU with a source can do of what record can be asked for. */
void capabilities_check(struct report *report);
/* checks_kernel.c: the kernel's configuration, where it is to be found. */
void checks_kernel(struct report *report);
/* checks_arm.c: ETE and TRBE. */
void checks_arm(struct report *report);
/* checks.c: all of them, in the order in which one thing needs the other. */
void checks_run(struct report *report);

#endif /* FLOWTAP_TOOLS_DOCTOR_REPORT_H */
