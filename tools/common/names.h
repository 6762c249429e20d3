/* SPDX-License-Identifier: GPL-2.0-only */
/* The names of the ABI's numbers and bits, as list, doctor and dump print them. */
#ifndef FLOWTAP_TOOLS_COMMON_NAMES_H
#define FLOWTAP_TOOLS_COMMON_NAMES_H

#include "common/json.h"

#include <stdint.h>
#include <stdio.h>

/* Ends with a NULL name. In a table of bits value is the mask, else the number. */
struct name {
	uint64_t value;
	const char *name;
};

extern const struct name source_names[];
extern const struct name reason_names[];
extern const struct name mode_bits[];
extern const struct name flag_bits[];
extern const struct name trigger_bits[];
extern const struct name control_bits[];	/* sctrctl (Smctr 2.1) */
extern const struct name data_bits[];		/* ctrdata (Smctr 3.3) */
extern const struct name target_bits[];		/* ctrtarget (Smctr 3.2) */
extern const struct name config_bits[];		/* TRCCONFIGR, what the ABI lets one set */
extern const struct name block_names[];		/* FLOWTAP_ARCHIVE_ */
extern const struct name trigger_cause_names[];	/* FLOWTAP_ARCHIVE_CAUSE_ */
extern const struct name record_names[];	/* FLOWTAP_RECORD_ */
extern const struct name task_names[];		/* FLOWTAP_TASK_ events */
extern const struct name compression_names[];	/* FLOWTAP_COMPRESSION_ */
extern const struct name kernel_bits[];		/* FLOWTAP_KERNEL_ */
extern const struct name event_type_names[];	/* PERF_TYPE_ */

/* "reserved" where the table has none. */
const char *name_of(const struct name *table, uint64_t value);
/* Names of the bits that are set, between separators; the rest in hexadecimal; "none" for 0. */
void print_bits(FILE *file, const struct name *table, uint64_t bits, const char *separator);
/* The same as an array of strings. */
void json_bits(struct json *json, const char *key, const struct name *table, uint64_t bits);
/* The name of a FLOWTAP_CAUSE_, also of one that is not known. */
const char *cause_name(uint32_t cause);
/* What a cause, or any enum flowtap_gap_reason, means: a line for people. */
const char *cause_meaning(uint32_t cause);

#endif /* FLOWTAP_TOOLS_COMMON_NAMES_H */
