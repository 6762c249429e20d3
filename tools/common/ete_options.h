/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The options of `flowtap record` that only a trace unit has (FLOWTAP_SOURCE_ETE): its registers
 * (DDI 0487, TRCCONFIGR and others) and its AUX area.
 */
#ifndef ETE_OPTIONS_H
#define ETE_OPTIONS_H

#include <flowtap/session.h>
#include <getopt.h>
#include <linux/flowtap.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ETE_OPTIONS_MAX 16
/* Of a strobe's times, as the driver takes them. */
#define STROBE_NS_MIN	100000ULL
#define STROBE_NS_MAX	60000000000ULL

/* What was asked for beside what is in struct flowtap_ete_configure. */
struct ete_request {
	uint64_t on;		/* bits of TRCCONFIGR that were asked for */
	uint64_t off;		/* of those that are on by default: not these */
	bool context;		/* the context identifier, in whichever bits the kernel's EL has it */
	bool aux_given;
	struct flowtap_ete_configure ete;
	uint32_t aux_pages;
};

/* The defaults. */
void ete_options_init(struct ete_request *request);
/* Appends rows to getopt's table: the first one's val is `first`, others count up. How many. */
size_t ete_options_list(struct option *table, int first);
const char *ete_options_name(size_t row);
/* Takes the row-th one; text NULL: none given. NULL, or what it should have been. */
const char *ete_options_take(struct ete_request *request, size_t row, const char *text);
void ete_options_help(FILE *file);

/*
 * Fills configure->ete and aux_pages: what was asked for, and of the defaults what all of `settable`
 * has. context: where the kernel runs at EL2 its PIDs are in CONTEXTIDR_EL2, which the unit gives
 * in place of the VMID. False: --vmid and --context were both asked for there.
 */
bool ete_options_fit(const struct ete_request *request, uint64_t settable, uint32_t exception_level,
		     struct flowtap_configure *configure);
/* LACK_TRACE, _RANGES or _CYCLES of a trace unit, as a clause. */
const char *ete_options_lack(enum flowtap_session_lack lack, uint64_t bits);

#endif /* ETE_OPTIONS_H */
