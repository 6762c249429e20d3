// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Describes Tarmac's dialects to the common line writer: columns, modes and names of each. */
#include <flowtap/tarmac.h>

#include "formats/lines/internal.h"

#include <errno.h>
#include <stdlib.h>

static const char *const names[] = {
	[FLOWTAP_TARMAC_ES] = "es",
	[FLOWTAP_TARMAC_FVP] = "fvp",
	[FLOWTAP_TARMAC_STRICT] = "strict",
};

/* AArch32's by the exception level: which of the modes of EL1 it is, no trace says. */
static const char *const narrow_modes[] = { "usr", "svc", "hyp", "mon" };

const char *flowtap_tarmac_dialect_name(enum flowtap_tarmac_dialect dialect)
{
	return (unsigned int)dialect < FLOWTAP_TARMAC_DIALECTS ? names[dialect] : NULL;
}

/* The stack pointer in use is not known either: above EL0 it is mostly the level's own. */
static void write_level(struct flowtap_line *line, const char *prefix, unsigned int mode)
{
	flowtap_line_string(line, prefix);
	flowtap_lines_letter(line, "0123"[mode & 3]);
	flowtap_line_string(line, mode ? "h" : "t");
}

static void write_security(struct flowtap_line *line, unsigned int security, const char *nonsecure,
			   const char *secure)
{
	static const char *const others[] = {
		[FLOWTAP_REALM] = "_realm", [FLOWTAP_ROOT] = "_root",
	};

	if (security == FLOWTAP_NONSECURE)
		flowtap_line_string(line, nonsecure);
	else if (security == FLOWTAP_SECURE)
		flowtap_line_string(line, secure);
	else
		flowtap_line_string(line, others[security & 3]);
}

static void write_mode(struct flowtap_line *line, const struct flowtap_context *context,
		       unsigned int isa, const char *secure)
{
	if (isa_is_wide(isa))
		write_level(line, "el", context->mode);
	else
		flowtap_line_string(line, narrow_modes[context->mode & 3]);
	write_security(line, context->security, "_ns", secure);
}

static void es_mode(struct flowtap_line *line, const struct flowtap_context *context,
		    unsigned int isa)
{
	write_mode(line, context, isa, "_s");
}

/* Tarmac 2.3.1: in Secure state nothing is displayed. */
static void strict_mode(struct flowtap_line *line, const struct flowtap_context *context,
			unsigned int isa)
{
	write_mode(line, context, isa, "");
}

static void fvp_mode(struct flowtap_line *line, const struct flowtap_context *context,
		     unsigned int isa)
{
	if (!isa_is_wide(isa)) {
		write_mode(line, context, isa, "_s");
		return;
	}
	write_level(line, "EL", context->mode);
	write_security(line, context->security, "_n", "_s");
}

/* By ISA: RV64 as A64, A64, A32, T32. */
#define LETTERS	"OOAT"

static const struct lines_form forms[] = {
	[FLOWTAP_TARMAC_ES] = {
		.columns = true, .events = true, .mode = es_mode, .letters = LETTERS,
	},
	[FLOWTAP_TARMAC_FVP] = {
		.events = true, .mode = fvp_mode, .letters = LETTERS,
	},
	[FLOWTAP_TARMAC_STRICT] = {
		.columns = true, .events = true, .strict = true, .mode = strict_mode,
		.letters = LETTERS,
	},
};

struct flowtap_tarmac {
	struct lines lines;
};

int flowtap_tarmac_new(int fd, const struct flowtap_tarmac_options *options,
		       struct flowtap_tarmac **tarmac)
{
	struct flowtap_tarmac *new;
	struct lines_form form;
	int error;

	*tarmac = NULL;
	if ((unsigned int)options->dialect >= FLOWTAP_TARMAC_DIALECTS)
		return -EINVAL;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	form = forms[options->dialect];
	form.foreign = true;
	form.moded = true;
	form.riscv = options->riscv;
	error = flowtap_lines_init(&new->lines, fd, &form, &options->lines);
	if (error) {
		flowtap_tarmac_free(new);
		return error;
	}
	*tarmac = new;
	return 0;
}

struct flowtap_sink *flowtap_tarmac_sink(struct flowtap_tarmac *tarmac)
{
	return &tarmac->lines.sink;
}

const struct flowtap_lines_counts *flowtap_tarmac_counts(const struct flowtap_tarmac *tarmac)
{
	return flowtap_lines_counts(&((struct flowtap_tarmac *)tarmac)->lines);
}

int flowtap_tarmac_finish(struct flowtap_tarmac *tarmac)
{
	return flowtap_lines_finish(&tarmac->lines);
}

void flowtap_tarmac_free(struct flowtap_tarmac *tarmac)
{
	if (!tarmac)
		return;
	flowtap_lines_free(&tarmac->lines);
	free(tarmac);
}
