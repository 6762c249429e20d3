// SPDX-License-Identifier: GPL-2.0-only
/* flowtap diff: where two traces part. */
#include "common/parse_options.h"
#include "common/tool.h"
#include "common/tracefile.h"
#include "diff/difference.h"
#include "diff/steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"usage: flowtap diff [OPTION...] A B\n"
	"\n"
	"Compares what was executed in two traces, in whatever formats they are, and shows the\n"
	"first difference with what was before it and what comes after it in each. One of them\n"
	"may be - for standard input.\n"
	"\n"
	"  -U, --context N       N instructions before and after it; 5\n"
	"      --ignore WHAT,... gaps, contexts (process, CPU, mode) and exceptions: what is said\n"
	"                        of these; or all: only instructions are compared\n"
	"      --disassembler NAME\n"
	"                        auto, llvm, capstone or none\n"
	"  -q, --quiet           only the exit status, and what is damaged\n"
	"      --json            the result as JSON\n"
	"  -h, --help            this text\n"
	"\n"
	"Instructions are equal if address, opcode and instruction set are. Gaps by their reason,\n"
	"contexts and exceptions are compared as far as both formats can hold them; times and\n"
	"cycles are not.\n"
	"\n"
	"Exit status: 0 the same; 1 different; 2 trouble: wrong usage, a file cannot be read, or is\n"
	"damaged and up to there the same (what is shown then is the damage).\n";

/* As diff(1). */
enum { DIFF_SAME = 0, DIFF_DIFFERENT = 1, DIFF_TROUBLE = 2 };

static const struct {
	const char *name;
	uint64_t holds;
} ignorable[] = {
	{ "gaps", FORMAT_HOLDS(GAP) },
	{ "contexts", FORMAT_HOLDS(CONTEXT) },
	{ "exceptions", FORMAT_HOLDS(EXCEPTION) },
	{ "all", FORMAT_HOLDS(GAP) | FORMAT_HOLDS(CONTEXT) | FORMAT_HOLDS(EXCEPTION) },
};

static const char *parse_ignored(const struct command_option *option, const char *list)
{
	uint64_t *ignored = option->into;

	while (*list) {
		size_t size = strcspn(list, ","), i = 0;

		while (i < sizeof(ignorable) / sizeof(ignorable[0]) &&
		       (strncmp(list, ignorable[i].name, size) || ignorable[i].name[size]))
			i++;
		if (i == sizeof(ignorable) / sizeof(ignorable[0]))
			return option->wanted;
		*ignored |= ignorable[i].holds;
		list += size;
		if (*list == ',' && !*++list)
			return option->wanted;
	}
	return NULL;
}

static bool same(const struct step *a, const struct step *b)
{
	if (a->kind != b->kind)
		return false;
	switch ((enum step_kind)a->kind) {
	case STEP_INSTRUCTION:
		return a->address == b->address && a->opcode == b->opcode && a->size == b->size &&
		       a->isa == b->isa;
	case STEP_CONTEXT:
		return step_same_context(&a->context, &b->context);
	case STEP_GAP:
		return a->gap.reason == b->gap.reason;
	case STEP_EXCEPTION:
		return a->exception.number == b->exception.number &&
		       a->exception.interrupt == b->exception.interrupt &&
		       a->exception.address == b->exception.address;
	}
	return false;
}

/* Up to where they are the same. 0, or the error of one of the readers: *failed's. */
static int compare(struct steps *steps, struct difference *difference, int *failed)
{
	for (;;) {
		const struct step *a = steps_next(&steps[0]), *b = steps_next(&steps[1]);

		/* Of who has come to its end: the other one may be read further than is compared. */
		*failed = !a && steps[0].error ? 0 : 1;
		if ((!a && steps[0].error) || (!b && steps[1].error))
			return steps[*failed].error;
		if (!a && !b)
			return 0;
		if (!a || !b || !same(a, b)) {
			difference->found = true;
			difference->unknown = steps_damaged(&steps[0], a) || steps_damaged(&steps[1], b);
			difference_add(difference, 0, a);
			difference_add(difference, 1, b);
			return 0;
		}
		difference_before(difference, a);
	}
}

/* What follows it. */
static void follow(struct steps *steps, struct difference *difference)
{
	for (int i = 0; i < 2; i++)
		while (!difference->ended[i] && difference->n[i] <= difference->context)
			difference_add(difference, i, steps_next(&steps[i]));
}

/* Both are open. */
static int diff(struct difference *difference, struct tracefile *files, uint64_t ignored)
{
	uint64_t holds = files[0].kind->holds & files[1].kind->holds & ~ignored;
	struct steps steps[2];
	int error = steps_begin(&steps[0], &files[0], holds), other, status, failed = 0;

	other = steps_begin(&steps[1], &files[1], holds);
	error = error ? error : other;
	if (!error)
		error = compare(steps, difference, &failed);
	if (!error && difference->found)
		follow(steps, difference);
	if (error)
		tracefile_complain(&files[failed], error);
	status = error || difference->unknown ? DIFF_TROUBLE :
		 difference->found ? DIFF_DIFFERENT : DIFF_SAME;
	steps_end(&steps[0]);
	steps_end(&steps[1]);
	if (!status && (tracefile_status(&files[0]) || tracefile_status(&files[1])))
		status = DIFF_TROUBLE;
	difference->unknown = status == DIFF_TROUBLE;
	return status;
}

/* The instructions may be the same all the same: how to see that. */
static void suggest(const struct difference *difference)
{
	static const char *const names[] = {
		[STEP_CONTEXT] = "contexts", [STEP_GAP] = "gaps", [STEP_EXCEPTION] = "exceptions",
	};
	const char *what = NULL;

	for (int i = 0; i < 2; i++) {
		const char *name = difference->n[i] ? names[difference->after[i][0].kind] : NULL;

		if (name)
			what = what && what != name ? "all" : name;
	}
	if (what)
		advise("with --ignore %s it goes on to where else they part", what);
}

static int run(struct difference *difference, char **paths, uint64_t ignored)
{
	struct tracefile files[2];
	int status = DIFF_TROUBLE;

	if (tracefile_open(&files[0], paths[0], -1, NULL, difference->quiet))
		return status;
	if (!tracefile_open(&files[1], paths[1], -1, NULL, difference->quiet)) {
		files[0].progress.doing = difference->quiet ? NULL : "comparing";
		difference->files = files;
		status = diff(difference, files, ignored);
		if (difference->json)
			difference_json(difference);
		else if (!difference->quiet && difference->found)
			difference_print(difference);
		if (!difference->json && !difference->quiet && difference->found)
			suggest(difference);
		tracefile_close(&files[1]);
	}
	tracefile_close(&files[0]);
	return status;
}

int diff_command(int argc, char **argv)
{
	struct difference difference = { .context = 5 };
	enum flowtap_disasm_backend disassembler = FLOWTAP_DISASM_AUTO;
	uint64_t ignored = 0;
	const struct command_option options[] = {
		OPTION_NUMBER('U', "context", &difference.context, 0, DIFFERENCE_CONTEXT_MAX,
			      "a number up to 100000"),
		OPTION(0, "ignore", required_argument, parse_ignored, &ignored,
		       .wanted = "gaps, contexts, exceptions or all, or several with commas"),
		OPTION_DISASSEMBLER(&disassembler),
		OPTION_FLAG('q', "quiet", &difference.quiet),
		OPTION_FLAG(0, "json", &difference.json),
		OPTION_HELP(help),
		OPERANDS_ANY};
	int status = parse_options(argc, argv, options);

	if (status != OPTIONS_TAKEN)
		return status;
	if (argc - optind != 2)
		return misused(argv[0], "two files are compared: A and B");
	if (!strcmp(argv[optind], "-") && !strcmp(argv[optind + 1], "-"))
		return misused(argv[0], "only one of them can be standard input");
	status = difference_init(&difference, disassembler);
	if (!status)
		status = run(&difference, argv + optind, ignored);
	difference_free(&difference);
	return output_failed() ? DIFF_TROUBLE : status;
}
