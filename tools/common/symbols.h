/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the names of branches' targets come from: files that were named with --symbols, and what a
 * recording knows of its own.
 */
#ifndef FLOWTAP_TOOLS_COMMON_SYMBOLS_H
#define FLOWTAP_TOOLS_COMMON_SYMBOLS_H

#include "common/parse_options.h"

#include <flowtap/profile.h>
#include <flowtap/symbol.h>
#include <stdbool.h>
#include <stdint.h>

#define SYMBOLS_FILES 64

/* What was asked for. */
struct symbols_request {
	bool none;			/* --no-symbols */
	unsigned int n;
	const char *files[SYMBOLS_FILES];	/* FILE[@OFFSET] each */
};

struct symbols {
	bool off;
	struct flowtap_symbol_files *files;	/* NULL: none were named */
	struct flowtap_profile *profile;	/* what is asked where they know nothing; NULL: nothing */
};

#define SYMBOLS_HELP \
	"      --symbols FILE[@OFFSET]\n" \
	"                      names of functions, of an ELF file loaded OFFSET above its addresses;\n" \
	"                      may come again\n" \
	"      --no-symbols    branches without the names of what they lead to\n"

/* A row of a table of options: --symbols, into a struct symbols_request. */
#define OPTION_SYMBOLS(request, ...) \
	OPTION(0, "symbols", required_argument, option_symbols, request, __VA_ARGS__)
const char *option_symbols(const struct command_option *option, const char *file);

/* Reads all files. 0, or an exit status after a complaint; symbols_free has to come in any case. */
int symbols_open(struct symbols *symbols, const struct symbols_request *request,
		 const char *command);
/* For flowtap_disasm_options.symbol; symbols: a struct symbols. */
const char *symbols_find(void *symbols, uint64_t address, uint64_t *offset);
/* The file that is at `address`, where a recording knows it, or NULL. */
const char *symbols_object(void *symbols, uint64_t address);
void symbols_free(struct symbols *symbols);

#endif /* FLOWTAP_TOOLS_COMMON_SYMBOLS_H */
