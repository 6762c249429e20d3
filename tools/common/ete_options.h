/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The options of `flowtap record` that only a trace unit has (FLOWTAP_SOURCE_ETE): its registers
 * (DDI 0487, TRCCONFIGR and others) and its AUX area.
 */
#ifndef FLOWTAP_TOOLS_COMMON_ETE_OPTIONS_H
#define FLOWTAP_TOOLS_COMMON_ETE_OPTIONS_H

#include "common/parse_options.h"

#include <flowtap/session.h>
#include <linux/flowtap.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Of a strobe's times, as the driver takes them. */
#define STROBE_NS_MIN	100000ULL
#define STROBE_NS_MAX	60000000000ULL

/* What was asked for beside what is in struct flowtap_ete_configure. */
struct ete_request {
	uint64_t on;		/* bits of TRCCONFIGR that were asked for */
	uint64_t off;		/* of those that are on by default: not these */
	bool context;		/* the context identifier, in whichever bits the kernel's EL has it */
	const char *given;	/* the first of these options that was; NULL: none */
	bool aux_given;
	struct flowtap_ete_configure ete;
	uint32_t aux_pages;
};

/* The defaults. */
void ete_options_init(struct ete_request *request);
/* A table for OPTIONS_OF, into request. Good until it is asked for again. */
const struct command_option *ete_options(struct ete_request *request);
void ete_options_help(FILE *file);

/*
 * Fills configure->ete and aux_pages: what was asked for, and of the defaults what all of
 * `settable` has. context: where the kernel runs at EL2 its PIDs are in CONTEXTIDR_EL2, which the
 * unit gives in place of the VMID. False: --vmid and --context were both asked for there.
 */
bool ete_options_fit(const struct ete_request *request, uint64_t settable, uint32_t exception_level,
		     struct flowtap_configure *configure);
/* LACK_TRACE, _RANGES or _CYCLES of a trace unit, as a clause. */
const char *ete_options_lack(enum flowtap_session_lack lack, uint64_t bits);

#endif /* FLOWTAP_TOOLS_COMMON_ETE_OPTIONS_H */
