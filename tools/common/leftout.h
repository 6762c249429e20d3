/* SPDX-License-Identifier: GPL-2.0-only */
/* A sink in front of a format's: counts what comes, also what the format cannot hold. */
#ifndef LEFTOUT_H
#define LEFTOUT_H

#include "common/json.h"

#include <flowtap/flow.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define LEFTOUT_KINDS 32

struct format_kind;
struct format_request;

struct leftout {
	struct flowtap_sink sink;	/* first */
	struct flowtap_sink *next;
	const struct format_kind *kind;	/* NULL: nothing came */
	uint64_t holds;			/* what it holds (format.h), with the options that are given */
	uint64_t elements[LEFTOUT_KINDS];	/* all that came, by enum flowtap_element_kind */
	uint64_t tasks;			/* changes of what contexts say that it cannot hold */
	uint64_t cpus;
	uint64_t ids;
	struct flowtap_context context;
	uint64_t instructions;
	uint64_t blocks;
	uint64_t gaps[FLOWTAP_GAP_REASONS];
};

void leftout_init(struct leftout *leftout, const struct format_request *request,
		  struct flowtap_sink *next);
/* Adds what another one of the same kind counted; sum may be all zeros. */
void leftout_add(struct leftout *sum, const struct leftout *more);
/* Whether anything was left out. */
bool leftout_some(const struct leftout *leftout);
/* A line for each kind of what was; the same under a heading, or nothing. */
void leftout_print(FILE *file, const struct leftout *leftout);
void leftout_summary(FILE *file, const struct leftout *leftout);
/* The same as an object "left_out". */
void leftout_json(struct json *json, const struct leftout *leftout);
/* Complains if the request asks for times that `input` lacks. */
void leftout_complain(const struct leftout *leftout, const struct format_request *request,
		      const char *input);

#endif /* LEFTOUT_H */
