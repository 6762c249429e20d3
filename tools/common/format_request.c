// SPDX-License-Identifier: GPL-2.0-only
/* Parses the options of formats, and refuses those that the chosen format has no use for. */
#include "common/format_request.h"

#include "common/format.h"
#include "common/tool.h"

#include <errno.h>
#include <flowtap/zstf.h>
#include <stdlib.h>
#include <string.h>

const char *option_format(const struct command_option *option, const char *name)
{
	static char names[128];
	const enum format_use use = (enum format_use)option->bits;
	const struct format_kind *kind = format_of_name(name);
	bool can = kind && (use == FORMAT_READS ? kind->read != NULL : kind->open != NULL);

	if (!can)
		return format_names(names, sizeof(names), use);
	*(const struct format_kind **)option->into = kind;
	return NULL;
}

const char *option_disassembler(const struct command_option *option, const char *name)
{
	int backend = flowtap_disasm_parse(name);

	if (backend < 0 || (uint64_t)backend > option->most)
		return option->wanted;
	*(enum flowtap_disasm_backend *)option->into = (enum flowtap_disasm_backend)backend;
	return NULL;
}

static const char *parse_dialect(const struct command_option *option, const char *name)
{
	enum flowtap_tarmac_dialect *dialect = option->into;

	for (int i = 0; i < FLOWTAP_TARMAC_DIALECTS; i++) {
		*dialect = (enum flowtap_tarmac_dialect)i;
		if (!strcmp(name, flowtap_tarmac_dialect_name(*dialect)))
			return NULL;
	}
	return option->wanted;
}

static const struct name times[] = {
	{ FLOWTAP_LINES_INDEX, "index" },
	{ FLOWTAP_LINES_CYCLES, "cycles" },
	{ FLOWTAP_LINES_TIME, "time" },
	{ 0, NULL }
};

const struct command_option *format_request_options(struct format_request *request)
{
	const struct command_option table[] = {
		OPTION('t', "to", required_argument, option_format, &request->kind,
		       .bits = FORMAT_WRITES),
		OPTION_NUMBER(0, "level", &request->level, 1, FLOWTAP_ZSTF_LEVEL_MAX,
			      "a level from 1 to 19", .first = &request->of_zstf),
		OPTION(0, "dialect", required_argument, parse_dialect, &request->dialect,
		       .wanted = "es, fvp or strict", .first = &request->of_tarmac),
		OPTION_CHOICE(0, "times", &request->times, times, "index, cycles or time",
			      .first = &request->of_text),
		OPTION_NUMBER(0, "frequency", &request->frequency, 1, 1000000000000,
			      "a frequency in Hz", .first = &request->of_text),
		OPTION_DISASSEMBLER(&request->disassembler, .first = &request->of_text),
		OPTION_FLAG(0, "synthetic-sp", &request->synthetic_sp, .first = &request->of_text),
		OPTION_FLAG(0, "untaken-as-skipped", &request->untaken_skipped,
			    .first = &request->of_text),
		OPTION_FLAG(0, "rv64", &request->rv64, .first = &request->of_tarmac),
		OPTION_FLAG(0, "modes", &request->modes, .first = &request->of_qemu4v),
		OPTION_FLAG(0, "cpu-names", &request->cpu_names, .first = &request->of_qemu4v),
		OPTION_SYMBOLS(&request->symbols_request, .first = &request->of_names),
		OPTION_FLAG(0, "no-symbols", &request->symbols_request.none,
			    .first = &request->of_names),
		OPTION_FLAG(0, "force", &request->force),
		OPTIONS_END};
	static struct command_option kept[sizeof(table) / sizeof(table[0])];

	return memcpy(kept, table, sizeof(table));
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

/* Whether the format has all that was asked for: 0, or an exit status after a complaint. */
static int check_given(const struct format_request *request, const char *command)
{
	const struct {
		const char *option, *kinds[3];
	} uses[] = {
		{ request->of_zstf, { "zstf" } },
		{ request->of_text, { "tarmac", "qemu4v" } },
		{ request->of_tarmac, { "tarmac" } },
		{ request->of_qemu4v, { "qemu4v" } },
		{ request->of_names, { "tarmac", "qemu4v", "calls" } },
	};
	const char *name = request->kind->name;

	for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++) {
		const char *const *kinds = uses[i].kinds;

		if (!uses[i].option || !strcmp(kinds[0], name) ||
		    (kinds[1] && !strcmp(kinds[1], name)) || (kinds[2] && !strcmp(kinds[2], name)))
			continue;
		return misused(command, "--%s is for --to %s%s%s%s%s", uses[i].option, kinds[0],
			       kinds[2] ? ", " : kinds[1] ? " and " : "", kinds[1] ? kinds[1] : "",
			       kinds[2] ? " and " : "", kinds[2] ? kinds[2] : "");
	}
	return 0;
}

int format_request_check(struct format_request *request, const char *command)
{
	int status = check_given(request, command);

	if (status)
		return status;
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
