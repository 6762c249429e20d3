/* SPDX-License-Identifier: GPL-2.0-only */
/* A sink in front of a format's: counts what comes, also what the format cannot hold. */
#ifndef FLOWTAP_TOOLS_COMMON_LEFT_OUT_H
#define FLOWTAP_TOOLS_COMMON_LEFT_OUT_H

#include "common/json.h"

#include <flowtap/flow.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define LEFT_OUT_KINDS 32

struct format_kind;
struct format_request;

struct left_out {
	struct flowtap_sink sink;	/* first */
	struct flowtap_sink *next;
	const struct format_kind *kind;	/* NULL: nothing came */
	uint64_t holds;			/* what it holds (format.h), with the options that are given */
	uint64_t elements[LEFT_OUT_KINDS];	/* all that came, by enum flowtap_element_kind */
	uint64_t tasks;			/* changes of what contexts say that it cannot hold */
	uint64_t cpus;
	uint64_t ids;
	uint64_t modes;
	uint64_t securities;
	uint64_t cut;			/* lines of which the end is left out */
	uint64_t jumps;			/* left out, for their targets are not known */
	uint64_t mixed;			/* changes to another thread on another CPU */
	struct flowtap_context context;
	uint64_t instructions;
	uint64_t blocks;
	uint64_t gaps[FLOWTAP_GAP_REASONS];
};

void left_out_init(struct left_out *left_out, const struct format_request *request,
		   struct flowtap_sink *next);
/* Adds what another one of the same kind counted; sum may be all zeros. */
void left_out_add(struct left_out *sum, const struct left_out *more);
/* Whether anything was left out. */
bool left_out_some(const struct left_out *left_out);
/* A line for each kind of what was; the same under a heading, or nothing. */
void left_out_print(FILE *file, const struct left_out *left_out);
void left_out_summary(FILE *file, const struct left_out *left_out);
/* The same as an object "left_out". */
void left_out_json(struct json *json, const struct left_out *left_out);
/*
 * Complains if the request asks for times that `input` lacks, or if readers of the format will take
 * several CPUs for one.
 */
void left_out_complain(const struct left_out *left_out, const struct format_request *request,
		       const char *input);

#endif /* FLOWTAP_TOOLS_COMMON_LEFT_OUT_H */
