/* SPDX-License-Identifier: GPL-2.0-only */
/* What is asked for of a format: the options that decode and convert share. */
#ifndef FORMAT_REQUEST_H
#define FORMAT_REQUEST_H

#include "common/symbols.h"

#include <flowtap/disasm.h>
#include <flowtap/tarmac.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

struct format_kind;

struct format_request {
	const struct format_kind *kind;
	const char *command;		/* "decode": for comments in the file */
	uint32_t given;			/* 1 << (option - FORMAT_OPTION_FIRST) */
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
	bool force;			/* what stands under the name of the output is replaced */
	struct symbols_request symbols_request;
	struct flowtap_disasm *disasm;	/* after format_request_check, of formats with text */
	struct symbols *symbols;	/* likewise of those with names: what they ask for them */
};

enum {
	FORMAT_OPTION_FIRST = 512,
	FORMAT_OPTION_LEVEL = FORMAT_OPTION_FIRST,
	FORMAT_OPTION_DIALECT,
	FORMAT_OPTION_TIMES,
	FORMAT_OPTION_FREQUENCY,
	FORMAT_OPTION_DISASSEMBLER,
	FORMAT_OPTION_SYNTHETIC_SP,
	FORMAT_OPTION_SKIPPED,
	FORMAT_OPTION_RV64,
	FORMAT_OPTION_MODES,
	FORMAT_OPTION_CPU_NAMES,
	FORMAT_OPTION_SYMBOLS,
	FORMAT_OPTION_NO_SYMBOLS,
	FORMAT_OPTION_FORCE,		/* of each */
};

/* Of a getopt table; -t is --to. */
#define FORMAT_OPTIONS \
	{ "to", required_argument, NULL, 't' }, \
	{ "level", required_argument, NULL, FORMAT_OPTION_LEVEL }, \
	{ "dialect", required_argument, NULL, FORMAT_OPTION_DIALECT }, \
	{ "times", required_argument, NULL, FORMAT_OPTION_TIMES }, \
	{ "frequency", required_argument, NULL, FORMAT_OPTION_FREQUENCY }, \
	{ "disassembler", required_argument, NULL, FORMAT_OPTION_DISASSEMBLER }, \
	{ "synthetic-sp", no_argument, NULL, FORMAT_OPTION_SYNTHETIC_SP }, \
	{ "untaken-as-skipped", no_argument, NULL, FORMAT_OPTION_SKIPPED }, \
	{ "rv64", no_argument, NULL, FORMAT_OPTION_RV64 }, \
	{ "modes", no_argument, NULL, FORMAT_OPTION_MODES }, \
	{ "cpu-names", no_argument, NULL, FORMAT_OPTION_CPU_NAMES }, \
	{ "symbols", required_argument, NULL, FORMAT_OPTION_SYMBOLS }, \
	{ "no-symbols", no_argument, NULL, FORMAT_OPTION_NO_SYMBOLS }, \
	{ "force", no_argument, NULL, FORMAT_OPTION_FORCE }

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

/* Takes one of these options. 0, or an exit status after a complaint; also if it is none of them. */
int format_request_option(struct format_request *request, const char *command, int option,
			  const char *argument);
/*
 * When all are known: whether they go together with the format; opens the disassembler. Likewise.
 */
int format_request_check(struct format_request *request, const char *command);
void format_request_free(struct format_request *request);

#endif /* FORMAT_REQUEST_H */
