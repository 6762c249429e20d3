/* SPDX-License-Identifier: GPL-2.0-only */
/* A trace that a command reads: any format that has a reader, known by its first bytes. */
#ifndef FLOWTAP_TOOLS_COMMON_TRACEFILE_H
#define FLOWTAP_TOOLS_COMMON_TRACEFILE_H

#include "common/format.h"
#include "common/json.h"
#include "common/parse_options.h"
#include "common/progress.h"

#include <flowtap/flow.h>
#include <flowtap/read.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Instructions of it that are passed over, and how many are read then; 0: all. */
struct tracefile_part {
	uint64_t skip, count;
};

/* Rows of a command's table; more: further members of both. */
#define OPTIONS_PART(part, ...)								\
	OPTION_NUMBER(0, "skip", &(part)->skip, 0, UINT64_MAX, "a number of instructions",	\
		      __VA_ARGS__),							\
	OPTION_NUMBER(0, "count", &(part)->count, 1, UINT64_MAX,				\
		      "a number of instructions, 1 or more", __VA_ARGS__)

struct tracefile {
	const char *path;		/* as it was given */
	const struct format_kind *kind;
	bool kind_given;	/* by --from: its first bytes were not looked at */
	int fd;
	struct flowtap_learned *learned;	/* where its blocks live */
	struct flowtap_read read;	/* what there was, when it is read */
	struct progress progress;	/* of reading it; doing is the caller's to say */
	struct tracefile_part part;	/* the caller's, before it is read */
};

/*
 * fd: a descriptor of it that can be read twice (input_file.h), taken over also if it fails; below
 * 0: it is opened. from: a format to take it for, NULL what it begins as. path is borrowed; "-" is
 * standard input. quiet: no progress of copying what comes by a pipe. 0 or -errno after a
 * complaint: then there is nothing to close.
 */
int tracefile_open(struct tracefile *file, const char *path, int fd,
		   const struct format_kind *from, bool quiet);
/*
 * All of the part into the sink, once; complains of damage. 0; -errno of reading; -ERANGE: it ends
 * before the part; what the sink returned.
 */
int tracefile_read(struct tracefile *file, struct flowtap_sink *sink);
/* Whether a complaint named the error already, by offset and reason, as for damage. */
bool tracefile_reported(const struct tracefile *file, int error);
/* Complains of an error of tracefile_read that was not. */
void tracefile_complain(const struct tracefile *file, int error);
void tracefile_close(struct tracefile *file);

/* STATUS_OK, or STATUS_DAMAGED: as it was read. */
int tracefile_status(const struct tracefile *file);
/* Whether the file holds what no flow can, and lines about it. */
bool tracefile_some_extra(const struct tracefile *file);
void tracefile_print_extra(FILE *output, const struct tracefile *file);
/* "problem_count", "truncated" and the same as an object "extra". */
void tracefile_json(struct json *json, const struct tracefile *file);

#endif /* FLOWTAP_TOOLS_COMMON_TRACEFILE_H */
