/* SPDX-License-Identifier: GPL-2.0-only */
/* What is asked for of a format: the options that decode and convert share. */
#ifndef FLOWTAP_TOOLS_COMMON_FORMAT_REQUEST_H
#define FLOWTAP_TOOLS_COMMON_FORMAT_REQUEST_H

#include "common/parse_options.h"
#include "common/symbols.h"

#include <flowtap/disasm.h>
#include <flowtap/tarmac.h>
#include <stdbool.h>
#include <stdint.h>

struct format_kind;

struct format_request {
	const struct format_kind *kind;
	const char *command;		/* "decode": for comments in the file */
	/* The first option given that only these formats have; NULL: none. */
	const char *of_zstf, *of_text, *of_tarmac, *of_qemu4v, *of_names;
	int level;			/* of zstf, 0: the usual one */
	enum flowtap_tarmac_dialect dialect;
	enum flowtap_lines_time times;
	enum flowtap_disasm_backend disassembler;
	uint64_t frequency;		/* of the trace unit's timestamps, Hz; 0 unknown */
	uint64_t since;			/* ns that lines count from, 0: the first one there is */
	bool synthetic_sp;
	bool untaken_skipped;
	bool rv64;			/* Tarmac: RV64 as if it were A64 */
	bool modes;			/* QEMU4V */
	bool cpu_names;
	bool force;			/* what is under the name of the output is replaced */
	struct symbols_request symbols_request;
	struct flowtap_disasm *disasm;	/* after format_request_check, of formats with text */
	struct symbols *symbols;	/* likewise of those with names: what they ask for them */
};

#define FORMAT_HELP \
	"zstf:\n" \
	"      --level N       of compression, 1 (fast) to 19 (small); 1\n" \
	"tarmac, qemu4v, and calls for names:\n" \
	"      --times WHAT    index (counted from 1), cycles or time (of the trace, in ps); index\n" \
	"      --frequency HZ  of a trace unit's timestamps, for --times time\n" \
	"      --disassembler NAME\n" \
	"                      auto, llvm, capstone or none (opcodes only); auto\n" \
	SYMBOLS_HELP \
	"      --synthetic-sp  made-up stack pointers, for readers that draw call trees\n" \
	"      --untaken-as-skipped\n" \
	"                      branches that were not taken are IS, as Arm's models write them\n" \
	"tarmac:\n" \
	"      --dialect NAME  es, fvp (as Arm's models write it) or strict; es\n" \
	"      --rv64          code of RISC-V as if it were A64: Tarmac has none of its own\n" \
	"qemu4v:\n" \
	"      --modes         usr, svc and mon by who executes, not svc always\n" \
	"      --cpu-names     cpu0, not 0: tools for Tarmac read it then\n"

/*
 * A table for OPTIONS_OF: --to, --force and the options above, into request. Good until it is asked
 * for again.
 */
const struct command_option *format_request_options(struct format_request *request);
/*
 * When all are taken: whether they go together with the format; opens the disassembler. 0, or an
 * exit status after a complaint.
 */
int format_request_check(struct format_request *request, const char *command);
void format_request_free(struct format_request *request);

/* Into a const struct format_kind *; .bits: an enum format_use, which it has to be good for. */
const char *option_format(const struct command_option *option, const char *name);
/* A row of a table of options: into an enum flowtap_disasm_backend, .most being the last one. */
#define OPTION_DISASSEMBLER(backend, ...) \
	OPTION(0, "disassembler", required_argument, option_disassembler, backend, \
	       .most = FLOWTAP_DISASM_NONE, .wanted = "auto, llvm, capstone or none", __VA_ARGS__)
const char *option_disassembler(const struct command_option *option, const char *name);

#endif /* FLOWTAP_TOOLS_COMMON_FORMAT_REQUEST_H */
