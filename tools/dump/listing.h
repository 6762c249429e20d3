/* SPDX-License-Identifier: GPL-2.0-only */
/* A trace as a list of what was executed: a line for each instruction and whatever is between. */
#ifndef FLOWTAP_TOOLS_DUMP_LISTING_H
#define FLOWTAP_TOOLS_DUMP_LISTING_H

#include "common/symbols.h"
#include "common/tracefile.h"

#include <flowtap/disasm.h>
#include <stdbool.h>

struct listing_request {
	enum flowtap_disasm_backend disassembler;
	struct symbols_request symbols;
	bool json;
	bool quiet;			/* no progress */
	struct tracefile_part part;
};

/*
 * Of any trace that can be read. fd: it is open already, and stays so; below 0: it is not. Exit
 * status, after complaints.
 */
int listing_dump(const char *command, const char *path, int fd,
		 const struct listing_request *request);

#endif /* FLOWTAP_TOOLS_DUMP_LISTING_H */
