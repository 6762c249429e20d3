// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Describes QEMU4V as a dialect of the common line writer: columns, modes and names. */
#include <flowtap/qemu4v.h>

#include "formats/lines/internal.h"

#include <errno.h>
#include <stdlib.h>

/* As its only known producer has it, whoever executes. */
static void fixed_mode(struct flowtap_line *line, const struct flowtap_context *context,
		       unsigned int isa)
{
	(void)context;
	(void)isa;
	flowtap_line_string(line, "svc_ns");
}

/* The format has no words for a hypervisor, Realm and Root. */
static void write_mode(struct flowtap_line *line, const struct flowtap_context *context,
		       unsigned int isa)
{
	static const char *const modes[] = { "usr", "svc", "svc", "mon" };
	bool secure = context->security == FLOWTAP_SECURE || context->security == FLOWTAP_ROOT;

	(void)isa;
	flowtap_line_string(line, modes[context->mode & 3]);
	flowtap_line_string(line, secure ? "_s" : "_ns");
}

struct flowtap_qemu4v {
	struct lines lines;
};

int flowtap_qemu4v_new(int fd, const struct flowtap_qemu4v_options *options,
		       struct flowtap_qemu4v **qemu4v)
{
	const struct lines_form form = {
		.events = options->cpu_names,
		.lower = true,
		.moded = options->modes,
		.riscv = true,
		.cpu_names = options->cpu_names,
		.cpu_numbers = true,
		.mode = options->modes ? write_mode : fixed_mode,
		/* By ISA: RV64, A64, A32, T32; with the names of CPUs it is Tarmac. */
		.letters = { options->cpu_names ? 'O' : 'A', options->cpu_names ? 'O' : 'A', 'A', 'T' },
	};
	struct flowtap_qemu4v *new = calloc(1, sizeof(*new));
	int error;

	*qemu4v = NULL;
	if (!new)
		return -ENOMEM;
	error = flowtap_lines_init(&new->lines, fd, &form, &options->lines);
	if (error) {
		flowtap_qemu4v_free(new);
		return error;
	}
	*qemu4v = new;
	return 0;
}

struct flowtap_sink *flowtap_qemu4v_sink(struct flowtap_qemu4v *qemu4v)
{
	return &qemu4v->lines.sink;
}

const struct flowtap_lines_counts *flowtap_qemu4v_counts(const struct flowtap_qemu4v *qemu4v)
{
	return flowtap_lines_counts(&((struct flowtap_qemu4v *)qemu4v)->lines);
}

int flowtap_qemu4v_finish(struct flowtap_qemu4v *qemu4v)
{
	return flowtap_lines_finish(&qemu4v->lines);
}

void flowtap_qemu4v_free(struct flowtap_qemu4v *qemu4v)
{
	if (!qemu4v)
		return;
	flowtap_lines_free(&qemu4v->lines);
	free(qemu4v);
}
