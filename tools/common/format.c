// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of formats: for each its name, how it is recognised, opened and read, and what it
 * holds.
 */
#include "common/format.h"

#include "common/progress.h"
#include "common/tool.h"

#include <errno.h>
#include <limits.h>
#include <flowtap/calls.h>
#include <flowtap/qemu4v.h>
#include <flowtap/stf.h>
#include <flowtap/tarmac.h>
#include <flowtap/text.h>
#include <flowtap/zstf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the table has of a writer of the library, after it was opened. */
#define WRITER(name)						\
	static int finish_##name(void *writer)			\
	{							\
		return flowtap_##name##_finish(writer);		\
	}							\
	static void free_##name(void *writer)			\
	{							\
		flowtap_##name##_free(writer);			\
	}
#define WRITER_THAT_COUNTS(name)				\
	WRITER(name)						\
	static uint64_t bytes_##name(const void *writer)	\
	{							\
		return flowtap_##name##_counts(writer)->bytes;	\
	}

#define WRITER_OF_LINES(name)					\
	WRITER_THAT_COUNTS(name)				\
	static uint64_t cut_##name(const void *writer)		\
	{							\
		return flowtap_##name##_counts(writer)->cut;	\
	}

/* --- STF --- */

WRITER_THAT_COUNTS(stf)

static uint64_t jumps_stf(const void *writer)
{
	return flowtap_stf_counts(writer)->jumps;
}

static int open_stf_as(struct format *format, struct output *output,
		       const struct format_request *request,
		       struct flowtap_blocks *blocks, const char *about,
		       const struct flowtap_zstf_options *zstf)
{
	struct flowtap_stf_options options = {
		.generator = 0xff,
		.generator_comment = "flowtap",
		.blocks = blocks,
		.zstf = zstf,
	};
	unsigned int major = 0, minor = 0;
	struct flowtap_stf *stf;
	char *comment;
	int error;

	if (asprintf(&comment, "flowtap " FLOWTAP_VERSION " %s\n%s", request->command, about) < 0)
		return -ENOMEM;
	if (sscanf(FLOWTAP_VERSION, "%u.%u", &major, &minor) == 2) {
		options.version[0] = (uint8_t)major;
		options.version[1] = (uint8_t)minor;
	}
	options.comment = comment;
	error = flowtap_stf_new(output->fd, &options, &stf);
	free(comment);
	if (error)
		return error;
	format->writer = stf;
	format->sink = flowtap_stf_sink(stf);
	return 0;
}

static int open_stf(struct format *format, struct output *output,
		    const struct format_request *request,
		    struct flowtap_blocks *blocks, const char *comment)
{
	return open_stf_as(format, output, request, blocks, comment, NULL);
}

static int open_zstf(struct format *format, struct output *output,
		     const struct format_request *request,
		     struct flowtap_blocks *blocks, const char *comment)
{
	const struct flowtap_zstf_options zstf = { .level = request->level };

	return open_stf_as(format, output, request, blocks, comment, &zstf);
}

static bool is_zstf(const char *begin, size_t size)
{
	return size >= 4 && !memcmp(begin, FLOWTAP_ZSTF_MAGIC, 4);
}

static bool is_stf(const char *begin, size_t size)
{
	return !is_zstf(begin, size) && !flowtap_tarmac_is(begin, size) &&
	       !flowtap_qemu4v_is(begin, size) && flowtap_stf_is(begin, size);
}

/* --- The flow --- */

WRITER(text)

static int open_flow(struct format *format, struct output *output,
		     const struct format_request *request,
		     struct flowtap_blocks *blocks, const char *comment)
{
	struct flowtap_text *text;
	int error = flowtap_text_new(output->fd, blocks, &text);

	(void)request;
	(void)comment;
	if (error)
		return error;
	format->writer = text;
	format->sink = flowtap_text_sink(text);
	return 0;
}

/* --- Lines with disassembly --- */

WRITER_OF_LINES(tarmac)
WRITER_OF_LINES(qemu4v)

static size_t disassemble(void *argument, enum flowtap_isa isa, uint8_t it, uint64_t address,
			  const uint8_t *bytes, size_t size, char *text, size_t capacity)
{
	return flowtap_disasm_text(argument, isa, it, address, bytes, size, text, capacity);
}

static struct flowtap_lines_options lines_of(const struct format_request *request,
					     struct flowtap_blocks *blocks)
{
	return (struct flowtap_lines_options){
		.time = request->times,
		.since = request->since,
		.frequency = request->frequency,
		.synthetic_sp = request->synthetic_sp,
		.untaken_skipped = request->untaken_skipped,
		.disassemble = disassemble,
		.argument = request->disasm,
		.blocks = blocks,
	};
}

static int open_tarmac(struct format *format, struct output *output,
		       const struct format_request *request, struct flowtap_blocks *blocks,
		       const char *comment)
{
	const struct flowtap_tarmac_options options = {
		.lines = lines_of(request, blocks),
		.dialect = request->dialect,
		.riscv = request->rv64,
	};
	struct flowtap_tarmac *tarmac;
	int error = flowtap_tarmac_new(output->fd, &options, &tarmac);

	(void)comment;
	if (error)
		return error;
	format->writer = tarmac;
	format->sink = flowtap_tarmac_sink(tarmac);
	return 0;
}

static int open_qemu4v(struct format *format, struct output *output,
		       const struct format_request *request, struct flowtap_blocks *blocks,
		       const char *comment)
{
	const struct flowtap_qemu4v_options options = {
		.lines = lines_of(request, blocks),
		.modes = request->modes,
		.cpu_names = request->cpu_names,
	};
	struct flowtap_qemu4v *qemu4v;
	int error = flowtap_qemu4v_new(output->fd, &options, &qemu4v);

	(void)comment;
	if (error)
		return error;
	format->writer = qemu4v;
	format->sink = flowtap_qemu4v_sink(qemu4v);
	return 0;
}

/* What is in gzip shows when that is unpacked. */
static bool is_tarmac(const char *begin, size_t size)
{
	return flowtap_tarmac_is(begin, size);
}

static bool is_qemu4v(const char *begin, size_t size)
{
	return flowtap_qemu4v_is(begin, size);
}

/* --- Counts of calls --- */

WRITER(calls)

static int open_calls(struct format *format, struct output *output,
		      const struct format_request *request, struct flowtap_blocks *blocks,
		      const char *comment)
{
	const struct flowtap_calls_options options = {
		.blocks = blocks, .symbol = symbols_find, .object = symbols_object,
		.argument = request->symbols,
	};
	struct flowtap_calls *calls;
	int error = flowtap_calls_new(output->fd, &options, &calls);

	(void)comment;
	if (error)
		return error;
	format->writer = calls;
	format->sink = flowtap_calls_sink(calls);
	return 0;
}

/* --- All of them --- */

/* What an element says is held and read back: stf.h, tarmac.h, qemu4v.h. */
#define CONTEXT_HOLDS (FORMAT_HOLDS(CONTEXT) | FORMAT_HOLDS_TASK | FORMAT_HOLDS_CPU | \
		       FORMAT_HOLDS_MODE | FORMAT_HOLDS_SECURITY | FORMAT_HOLDS_IDS)
#define LINE_HOLDS (FORMAT_HOLDS(EXCEPTION) | FORMAT_HOLDS(EXCEPTION_RETURN) | \
		    FORMAT_HOLDS(GAP) | FORMAT_HOLDS(TRANSFER) | FORMAT_HOLDS(CALLSTACK) | \
		    FORMAT_HOLDS(TRACE_ON) | FORMAT_HOLDS(Q) | FORMAT_HOLDS(TRANSACTION) | \
		    FORMAT_HOLDS(EVENT) | FORMAT_HOLDS(INSTRUMENTATION) | FORMAT_HOLDS(SESSION))
#define STF_HOLDS (CONTEXT_HOLDS | FORMAT_HOLDS_MODE_APART | LINE_HOLDS)
#define TARMAC_HOLDS (CONTEXT_HOLDS | LINE_HOLDS)
#define QEMU4V_HOLDS (FORMAT_HOLDS(CONTEXT) | FORMAT_HOLDS_CPU | FORMAT_HOLDS(EXCEPTION_RETURN))

/* What the library's writer and reader of that name bring. */
#define WRITES(name) .finish = finish_##name, .free = free_##name
#define COUNTS(name) WRITES(name), .bytes = bytes_##name
#define CUTS(name) COUNTS(name), .cut = cut_##name
#define JUMPS(name) COUNTS(name), .jumps = jumps_##name
#define READS(name) .read = flowtap_##name##_read

const struct format_kind format_kinds[] = {
	{
		.name = "stf", .title = "STF", .holds = STF_HOLDS, .binary = true, .one_cpu = true,
		.open = open_stf, JUMPS(stf), READS(stf), .is = is_stf,
	}, {
		.name = "zstf", .title = ".zstf", .holds = STF_HOLDS, .binary = true, .seeks = true,
		.one_cpu = true, .open = open_zstf, JUMPS(stf), READS(stf), .is = is_zstf,
	}, {
		.name = "tarmac", .title = "Tarmac", .holds = TARMAC_HOLDS, .names = true, .text = true,
		.one_stream = true,
		.disasm_style = FLOWTAP_DISASM_TARMAC, .open = open_tarmac, CUTS(tarmac),
		READS(tarmac), .is = is_tarmac,
	}, {
		.name = "qemu4v", .title = "QEMU4V", .holds = QEMU4V_HOLDS, .names = true, .text = true,
		.holds_named = LINE_HOLDS | FORMAT_HOLDS_TASK | FORMAT_HOLDS_IDS,
		.disasm_style = FLOWTAP_DISASM_PLAIN, .open = open_qemu4v, CUTS(qemu4v),
		READS(qemu4v), .is = is_qemu4v,
	}, {
		.name = "flow", .title = "flow", .holds = FORMAT_HOLDS_ALL, .open = open_flow,
		WRITES(text),
	}, {
		.name = "calls", .title = "count of calls", .names = true, .open = open_calls, WRITES(calls),
	},
	{ .name = NULL }
};

const struct format_kind *format_of_name(const char *name)
{
	for (const struct format_kind *kind = format_kinds; kind->name; kind++)
		if (!strcmp(name, kind->name))
			return kind;
	return NULL;
}

const struct format_kind *format_of_path(const char *path)
{
	const char *name = strrchr(path, '/'), *end;

	name = name ? name + 1 : path;
	end = strrchr(name, '.');
	return end && end != name ? format_of_name(end + 1) : NULL;
}

const struct format_kind *format_of_bytes(const char *begin, size_t size)
{
	for (const struct format_kind *kind = format_kinds; kind->name; kind++)
		if (kind->is && kind->is(begin, size))
			return kind;
	return NULL;
}

static bool used(const struct format_kind *kind, enum format_use use)
{
	return use == FORMAT_READS ? (bool)kind->read : (bool)kind->open;
}

const char *format_names(char *buffer, size_t size, enum format_use use)
{
	size_t left = 0, at = 0;

	for (const struct format_kind *kind = format_kinds; kind->name; kind++)
		left += used(kind, use);
	*buffer = 0;
	for (const struct format_kind *kind = format_kinds; kind->name && at < size; kind++) {
		if (!used(kind, use))
			continue;
		left--;
		at += (size_t)snprintf(buffer + at, size - at, "%s%s", kind->name,
				       left > 1 ? ", " : left ? " or " : "");
	}
	return buffer;
}

static bool same_file(const struct stat *one, const char *path)
{
	struct stat other;

	return !stat(path, &other) && one->st_dev == other.st_dev && one->st_ino == other.st_ino;
}

/* OUT, and OUT.part, which the writer empties, of where a link leads. */
static int check_input(const struct stat *input, const char *path)
{
	char part[PATH_MAX + sizeof(".part")], target[PATH_MAX];

	if (same_file(input, path)) {
		complain("'%s' is the input", path);
		advise("choose another name for the output");
		return -EINVAL;
	}
	if (snprintf(part, sizeof(part), "%s.part", realpath(path, target) ?: path) <
	    (int)sizeof(part) && same_file(input, part)) {
		complain("the input is '%s', under which name '%s' is written", part, path);
		advise("choose another name for the output, or rename the input");
		return -EINVAL;
	}
	return 0;
}

int format_check_path(const struct format_kind *kind, const char *path, int input,
		      const char *input_path)
{
	bool standard = !strcmp(path, "-");
	struct stat status;
	int error = 0;

	if (!standard && input >= 0 && !fstat(input, &status))
		error = check_input(&status, path);
	if (!error && !standard && strcmp(input_path, "-") && !stat(input_path, &status))
		error = check_input(&status, path);
	if (error)
		return error;
	if (kind->seeks && (standard || (!stat(path, &status) && !S_ISREG(status.st_mode)))) {
		complain("a .%s can only be written to a file: its index is written last",
			 kind->name);
		advise("name a file for it, or pipe --to stf into zstd");
		return -ESPIPE;
	}
	if (standard && kind->binary && isatty(STDOUT_FILENO)) {
		complain("%s is not for a terminal", kind->title);
		advise("pipe it on or name a file");
		return -EINVAL;
	}
	return 0;
}

const char *format_progress(const struct format_kind *kind, const char *path, bool quiet,
			    const char *doing)
{
	bool text = !kind->binary && !strcmp(path, "-");

	return quiet || (text && !progress_beside_text()) ? NULL : doing;
}

void format_complain_isa(const struct format_kind *kind, const char *input)
{
	complain("'%s': %s cannot hold code of this instruction set", input, kind->title);
	if (strcmp(kind->name, "tarmac"))
		advise("--to flow can");
	else
		advise("with --rv64 code of RISC-V is written as if it were A64");
}

int format_open(struct format *format, struct output *output, const struct format_request *request,
		struct flowtap_blocks *blocks, const char *comment)
{
	int error;

	*format = (struct format){ .kind = request->kind };
	error = request->kind->open(format, output, request, blocks, comment);
	if (error)
		return error;
	if (request->kind->read)
		output_keep(output);
	left_out_init(&format->left_out, request, format->sink);
	format->sink = &format->left_out.sink;
	return 0;
}

int format_finish(struct format *format)
{
	int error = format->kind->finish(format->writer);

	if (format->kind->cut)
		format->left_out.cut = format->kind->cut(format->writer);
	if (format->kind->jumps)
		format->left_out.jumps = format->kind->jumps(format->writer);
	return error;
}

uint64_t format_bytes(const struct format *format)
{
	return format->writer && format->kind->bytes ? format->kind->bytes(format->writer) : 0;
}

void format_free(struct format *format)
{
	if (format->writer)
		format->kind->free(format->writer);
	*format = (struct format){ .sink = NULL };
}
