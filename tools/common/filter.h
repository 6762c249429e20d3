/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which transfers are recorded: what --filter says, and the bits of sctrctl that make it so
 * (Smctr 2.1, 6.2). A set of types has bit 1 << enum flowtap_transfer_type for each.
 */
#ifndef FLOWTAP_TOOLS_COMMON_FILTER_H
#define FLOWTAP_TOOLS_COMMON_FILTER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What CTR records by default: all but branches that are not taken. */
uint32_t filter_default(void);
/*
 * A comma list of types and groups: what is recorded and nothing else; each with ^ or - before it:
 * what is not, of what is there so far (if it comes first, of the default). A type is spelled as
 * decode's summary does, with - for a blank, or shorter. False, and the word in `unknown` (of 32
 * bytes; "," an empty one): there is none of that name; "": nothing is left to record.
 */
bool filter_parse(const char *text, uint32_t *types, char *unknown);
/* The bits 47:32 of sctrctl. */
uint64_t filter_control(uint32_t types);
/* The types that have one of these bits: those that a CPU lets one set (ctr.settable). */
uint32_t filter_types(uint64_t control);
/* Whether instructions between the transfers can be known: every taken one is recorded. */
bool filter_keeps_blocks(uint32_t types);
/* Exceptions and interrupts out of user mode are recorded both or neither (6.1.2). */
bool filter_splits_traps(uint32_t types);
bool filter_has_traps(uint32_t types);
/* "direct_call, function_return" */
void filter_print(FILE *file, uint32_t types);
/* The words for help: two columns, 8 blanks before each. */
void filter_help(FILE *file);

#endif /* FLOWTAP_TOOLS_COMMON_FILTER_H */
