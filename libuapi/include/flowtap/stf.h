/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Simple Trace Format: a sink that writes it. Spelling as real readers accept it (README, Formats). */
#ifndef FLOWTAP_STF_H
#define FLOWTAP_STF_H

#include <flowtap/flow.h>

struct flowtap_blocks;
struct flowtap_stf;

struct flowtap_stf_options {
	const char *comment;		/* goes into the header, or NULL */
	uint8_t generator;		/* TRACE_INFO; 0xFF: none of those that are assigned */
	uint8_t version[3];		/* of the generator */
	const char *generator_comment;
	struct flowtap_blocks *blocks;	/* charged for renderings; may be NULL */
};

struct flowtap_stf_counts {
	uint64_t instructions;
	uint64_t bytes;
	uint64_t gaps;			/* FORCE_PC after the first */
};

/*
 * Writes to fd (not closed, not seeked), buffered. The header is written with the first block,
 * whose address its FORCE_PC is. 0 and *stf; -ENOMEM; -errno of write.
 */
int flowtap_stf_new(int fd, const struct flowtap_stf_options *options, struct flowtap_stf **stf);
struct flowtap_sink *flowtap_stf_sink(struct flowtap_stf *stf);
const struct flowtap_stf_counts *flowtap_stf_counts(const struct flowtap_stf *stf);
/* Writes what is buffered. A trace without any instruction is -ENODATA: no STF can say that. */
int flowtap_stf_finish(struct flowtap_stf *stf);
void flowtap_stf_free(struct flowtap_stf *stf);

#endif /* FLOWTAP_STF_H */
