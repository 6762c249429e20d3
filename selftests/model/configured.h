/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What configured.c reads: what the guest left of a configuration, and the model's log. */
#ifndef FLOWTAP_SELFTESTS_MODEL_CONFIGURED_H
#define FLOWTAP_SELFTESTS_MODEL_CONFIGURED_H

#include <flowtap/ete.h>
#include <flowtap/address_map.h>

#include "log_read.h"

/* An AUX record. */
struct record {
	uint64_t since;
	uint64_t time;
	uint64_t counter;
	uint64_t size;
	uint64_t offset;	/* in the trace */
	uint32_t flags;
	uint32_t loss;
	uint32_t tid;
};

#define RANGES 4

/* One directory. */
struct facts {
	char name[64];
	uint32_t trcidr[14];
	uint32_t trcdevarch;
	uint64_t frequency;
	uint32_t level;
	uint64_t config;
	unsigned int number;	/* of the streams on this CPU, from 1: the caller's */
	uint64_t programmed;	/* TRCCONFIGR, as the log has it */
	uint32_t sync;
	uint32_t threshold;	/* in effect: with the default, and what the hardware has at least */
	uint32_t modes;
	uint32_t tid;
	uint64_t strobe_on, strobe_off;
	uint64_t start[RANGES], end[RANGES];
	unsigned int ranges;
	bool returned;		/* returns go to where there is trace as well */
	uint64_t gaps;		/* GAP records */
	struct record *records;
	size_t n;
	unsigned int cpu;
	struct log_bytes trace;
	uint64_t size;		/* of it */
	char error[200];
};

/* 0 or a negative errno with a line in error. */
int facts_read(struct facts *facts, const char *directory);
void facts_free(struct facts *facts);
struct flowtap_ete_config facts_config(const struct facts *facts);

/* Instructions in user mode while the trace unit was enabled for this stream. */
struct log_counts {
	uint64_t inside;	/* of the ranges; without any: all */
	uint64_t outside;
};

/* Code that the thread executed, in pages. */
struct code {
	struct code_page *pages;	/* sorted */
	size_t n;
};

/* Of facts->number. 0 or a negative errno with a line in facts->error; the code is to be freed. */
int log_count(struct log_counts *counts, struct code *code, const char *prefix,
	      struct facts *facts);
void code_free(struct code *code);
const struct flowtap_code *code_find(const struct code *code, uint64_t address);

#endif
