/* SPDX-License-Identifier: GPL-2.0-only */
/* What flowtap doctor examines: the machine, the device, and what was found so far. */
#ifndef PATIENT_H
#define PATIENT_H

#include "common/json.h"
#include "doctor/machine.h"

#include <linux/flowtap.h>
#include <stdbool.h>
#include <stddef.h>

/* FAIL: recording does not work because of it. WARN: it works less well. NOTE: good to know. */
enum grade { GRADE_OK, GRADE_NOTE, GRADE_WARN, GRADE_FAIL };

struct patient {
	struct machine machine;
	struct flowtap_query *queries;
	size_t cpus;
	int device;			/* 0 or -errno of opening and asking */
	bool source;			/* some CPU has one: patient_source */
	unsigned int failures;
	struct json *json;		/* NULL: text */
};

/* Whether record takes what the CPU offers, and that is what it really does. */
bool patient_source(const struct flowtap_query *query);
/* Says what a check found. fix: what to do, NULL where there is nothing to do. */
void report(struct patient *patient, enum grade grade, const char *name, const char *fix,
	    const char *format, ...) __attribute__((format(printf, 5, 6)));

/* abilities.c: what the first CPU with a source can do of what record can be asked for. */
void abilities_check(struct patient *patient);
/* checks_arm.c: ETE and TRBE. */
void checks_arm(struct patient *patient);
/* checks.c: all of them, in the order in which one thing needs the other. */
void checks_run(struct patient *patient);

#endif /* PATIENT_H */
