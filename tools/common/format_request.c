// SPDX-License-Identifier: GPL-2.0-only
/* Parses the options of formats, and refuses those that the chosen format has no use for. */
#include "common/format_request.h"

#include "common/format.h"
#include "common/tool.h"

#include <errno.h>
#include <flowtap/zstf.h>
#include <stdlib.h>
#include <string.h>

/* Which formats have a use for which option, and what. */
static const struct {
	const char *name;
	const char *kinds[3];
} uses[] = {
	[FORMAT_OPTION_LEVEL - FORMAT_OPTION_FIRST] = { "--level", { "zstf" } },
	[FORMAT_OPTION_DIALECT - FORMAT_OPTION_FIRST] = { "--dialect", { "tarmac" } },
	[FORMAT_OPTION_TIMES - FORMAT_OPTION_FIRST] = { "--times", { "tarmac", "qemu4v" } },
	[FORMAT_OPTION_FREQUENCY - FORMAT_OPTION_FIRST] = { "--frequency", { "tarmac", "qemu4v" } },
	[FORMAT_OPTION_DISASSEMBLER - FORMAT_OPTION_FIRST] = { "--disassembler", { "tarmac", "qemu4v" } },
	[FORMAT_OPTION_SYNTHETIC_SP - FORMAT_OPTION_FIRST] = { "--synthetic-sp", { "tarmac", "qemu4v" } },
	[FORMAT_OPTION_SKIPPED - FORMAT_OPTION_FIRST] = { "--untaken-as-skipped", { "tarmac", "qemu4v" } },
	[FORMAT_OPTION_RV64 - FORMAT_OPTION_FIRST] = { "--rv64", { "tarmac" } },
	[FORMAT_OPTION_MODES - FORMAT_OPTION_FIRST] = { "--modes", { "qemu4v" } },
	[FORMAT_OPTION_CPU_NAMES - FORMAT_OPTION_FIRST] = { "--cpu-names", { "qemu4v" } },
	[FORMAT_OPTION_SYMBOLS - FORMAT_OPTION_FIRST] = { "--symbols", { "tarmac", "qemu4v", "calls" } },
	[FORMAT_OPTION_NO_SYMBOLS - FORMAT_OPTION_FIRST] = { "--no-symbols", { "tarmac", "qemu4v", "calls" } },
};

#define USES (sizeof(uses) / sizeof(uses[0]))

static int take_format(struct format_request *request, const char *command, const char *name)
{
	char names[128];

	request->kind = format_of_name(name);
	if (request->kind && request->kind->open)
		return 0;
	return misused(command, "'%s' is not %s", name,
		       format_names(names, sizeof(names), FORMAT_WRITES));
}

static int take_level(struct format_request *request, const char *command, const char *argument)
{
	uint64_t value;

	if (!number_parse(argument, 1, FLOWTAP_ZSTF_LEVEL_MAX, &value))
		return misused(command, "'%s' is not a level from 1 to %d", argument,
			       FLOWTAP_ZSTF_LEVEL_MAX);
	request->level = (int)value;
	return 0;
}

static int take_dialect(struct format_request *request, const char *command, const char *argument)
{
	for (int dialect = 0; dialect < FLOWTAP_TARMAC_DIALECTS; dialect++) {
		request->dialect = (enum flowtap_tarmac_dialect)dialect;
		if (!strcmp(argument, flowtap_tarmac_dialect_name(request->dialect)))
			return 0;
	}
	return misused(command, "'%s' is not es, fvp or strict", argument);
}

static int take_times(struct format_request *request, const char *command, const char *argument)
{
	static const char *const names[FLOWTAP_LINES_TIMES] = {
		[FLOWTAP_LINES_INDEX] = "index",
		[FLOWTAP_LINES_CYCLES] = "cycles",
		[FLOWTAP_LINES_TIME] = "time",
	};

	for (int time = 0; time < FLOWTAP_LINES_TIMES; time++) {
		request->times = (enum flowtap_lines_time)time;
		if (!strcmp(argument, names[time]))
			return 0;
	}
	return misused(command, "'%s' is not index, cycles or time", argument);
}

static int take_frequency(struct format_request *request, const char *command, const char *argument)
{
	if (number_parse(argument, 1, 1000000000000, &request->frequency))
		return 0;
	return misused(command, "'%s' is not a frequency in Hz", argument);
}

static int take_disassembler(struct format_request *request, const char *command,
			     const char *argument)
{
	int backend = flowtap_disasm_parse(argument);

	if (backend < 0)
		return misused(command, "'%s' is not auto, llvm, capstone or none", argument);
	request->disassembler = (enum flowtap_disasm_backend)backend;
	return 0;
}

int format_request_option(struct format_request *request, const char *command, int option,
			  const char *argument)
{
	if (option >= FORMAT_OPTION_FIRST)
		request->given |= 1U << (option - FORMAT_OPTION_FIRST);
	switch (option) {
	case 't':
		return take_format(request, command, argument);
	case FORMAT_OPTION_LEVEL:
		return take_level(request, command, argument);
	case FORMAT_OPTION_DIALECT:
		return take_dialect(request, command, argument);
	case FORMAT_OPTION_TIMES:
		return take_times(request, command, argument);
	case FORMAT_OPTION_FREQUENCY:
		return take_frequency(request, command, argument);
	case FORMAT_OPTION_DISASSEMBLER:
		return take_disassembler(request, command, argument);
	case FORMAT_OPTION_SYNTHETIC_SP:
		request->synthetic_sp = true;
		return 0;
	case FORMAT_OPTION_SKIPPED:
		request->untaken_skipped = true;
		return 0;
	case FORMAT_OPTION_RV64:
		request->rv64 = true;
		return 0;
	case FORMAT_OPTION_MODES:
		request->modes = true;
		return 0;
	case FORMAT_OPTION_CPU_NAMES:
		request->cpu_names = true;
		return 0;
	case FORMAT_OPTION_SYMBOLS:
		return symbols_option(&request->symbols_request, command, argument);
	case FORMAT_OPTION_NO_SYMBOLS:
		request->symbols_request.none = true;
		return 0;
	case FORMAT_OPTION_FORCE:
		request->force = true;
		return 0;
	default:
		return usage_hint(command);
	}
}

/* Apart, as requests are copied. 0, or an exit status after a complaint. */
static int open_symbols(struct format_request *request, const char *command)
{
	request->symbols = calloc(1, sizeof(*request->symbols));
	if (request->symbols)
		return symbols_open(request->symbols, &request->symbols_request, command);
	complain("no memory");
	return STATUS_ERROR;
}

static int open_disasm(struct format_request *request)
{
	const struct flowtap_disasm_options options = {
		.backend = request->disassembler,
		.style = request->kind->disasm_style,
		.symbol = symbols_find, .argument = request->symbols,
	};
	int error = flowtap_disasm_new(&options, &request->disasm);

	if (!error)
		return 0;
	complain("%s", error == -ENOPKG ? flowtap_disasm_missing(request->disassembler) :
					  strerror(-error));
	return STATUS_ERROR;
}

int format_request_check(struct format_request *request, const char *command)
{
	const char *name = request->kind->name;
	int status;

	for (size_t i = 0; i < USES; i++) {
		const char *const *kinds = uses[i].kinds;

		if (!(request->given & 1U << i) || !strcmp(kinds[0], name) ||
		    (kinds[1] && !strcmp(kinds[1], name)) || (kinds[2] && !strcmp(kinds[2], name)))
			continue;
		return misused(command, "%s is for --to %s%s%s%s%s", uses[i].name, kinds[0],
			       kinds[2] ? ", " : kinds[1] ? " and " : "", kinds[1] ? kinds[1] : "",
			       kinds[2] ? " and " : "", kinds[2] ? kinds[2] : "");
	}
	if (request->frequency && request->times != FLOWTAP_LINES_TIME)
		return misused(command, "--frequency is for --times time");
	if (!request->kind->names)
		return 0;
	status = open_symbols(request, command);
	if (!status && request->kind->text)
		status = open_disasm(request);
	if (status)
		format_request_free(request);
	return status;
}

void format_request_free(struct format_request *request)
{
	flowtap_disasm_free(request->disasm);
	request->disasm = NULL;
	if (request->symbols)
		symbols_free(request->symbols);
	free(request->symbols);
	request->symbols = NULL;
}
