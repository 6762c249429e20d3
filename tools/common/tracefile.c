// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recognises the format of a file, reads it with that format's reader, and counts and reports its
 * problems.
 */
#include "common/tracefile.h"

#include "common/damage.h"
#include "common/input_file.h"
#include "common/tool.h"

#include <errno.h>
#include <flowtap/learned.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static void handle_progress(struct flowtap_read *read, uint64_t done, uint64_t size)
{
	struct tracefile *file = read->argument;

	progress_show(&file->progress, done, size, "bytes");
}

static void handle_problem(struct flowtap_read *read, uint64_t offset, uint64_t line,
			   const char *reason)
{
	struct tracefile *file = read->argument;

	if (!damage_is_shown(read->problems))
		return;
	progress_hide(&file->progress);
	damage_complain(file->path, &(struct damage){
		.nth = read->problems, .line = line, .offset = offset, .reason = reason,
		.others = "flowtap check --all shows it",
	});
}

static int not_read(const char *path)
{
	char names[128];

	complain("'%s' is no trace that can be read", input_name(path));
	advise("what can be read is %s; flowtap decode makes one of a recording",
	       format_names(names, sizeof(names), FORMAT_READS));
	return -EBADMSG;
}

/* --from says what it is, and it is not. */
static void not_of_kind(const struct tracefile *file)
{
	complain("'%s' is no %s", input_name(file->path), file->kind->title);
	advise("without --from its first bytes say what it is");
}

static int find_kind(struct tracefile *file, const struct format_kind *from)
{
	char begin[4096];
	ssize_t n = pread(file->fd, begin, sizeof(begin), 0);
	const char *packing;

	if (n < 0) {
		complain("cannot read '%s': %s", input_name(file->path), strerror(errno));
		return -EIO;
	}
	if (!n) {
		complain("'%s': the file is empty", input_name(file->path));
		return -EBADMSG;
	}
	file->kind = from ? from : format_of_bytes(begin, (size_t)n);
	if (file->kind && file->kind->read)
		return 0;
	packing = input_packing(file->fd, true);
	if (!packing)
		return not_read(file->path);
	complain("'%s': %s", input_name(file->path), packing);
	return -EBADMSG;
}

int tracefile_open(struct tracefile *file, const char *path, int fd,
		   const struct format_kind *from, bool quiet)
{
	int error;

	*file = (struct tracefile){ .path = path, .fd = fd < 0 ? input_open(path, quiet) : fd,
				    .kind_given = from };
	if (file->fd < 0)
		return file->fd;
	error = find_kind(file, from);
	if (!error) {
		file->learned = flowtap_learned_new(0);
		if (!file->learned) {
			complain("no memory");
			error = -ENOMEM;
		}
	}
	if (error)
		tracefile_close(file);
	return error;
}

int tracefile_read(struct tracefile *file, struct flowtap_sink *sink)
{
	int error;

	file->read = (struct flowtap_read){
		.sink = sink,
		.learned = file->learned,
		.problem = handle_problem,
		.progress = handle_progress,
		.argument = file,
		.skip = file->part.skip,
		.count = file->part.count,
	};
	progress_begin(&file->progress);
	error = file->kind->read(&file->read, file->fd);
	progress_end(&file->progress);
	if (!error && file->part.skip && file->read.instructions <= file->part.skip)
		error = -ERANGE;
	return error;
}

bool tracefile_reported(const struct tracefile *file, int error)
{
	return (error == -EBADMSG || error == -EPROTONOSUPPORT) && file->read.problems;
}

void tracefile_complain(const struct tracefile *file, int error)
{
	char there[32], skip[32];

	if (error == -ENOMEM)
		complain("no memory");
	else if (error == -EBADMSG && !file->read.problems && file->kind_given)
		not_of_kind(file);
	else if (error == -EBADMSG && !file->read.problems)
		not_read(file->path);
	else if (error == -ERANGE)
		complain("'%s' has %s instruction%s: after %s there is none",
			 input_name(file->path), number_group(file->read.instructions, there),
			 plural(file->read.instructions), number_group(file->part.skip, skip));
	else if (!tracefile_reported(file, error))
		complain("cannot read '%s': %s", input_name(file->path), strerror(-error));
}

void tracefile_close(struct tracefile *file)
{
	flowtap_learned_free(file->learned);
	file->learned = NULL;
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

int tracefile_status(const struct tracefile *file)
{
	return file->read.problems || file->read.truncated ? STATUS_DAMAGED : STATUS_OK;
}

static const struct {
	const char *name, *text;
} extras[FLOWTAP_READ_EXTRAS] = {
	[FLOWTAP_READ_REGISTERS] = { "registers", "values of registers" },
	[FLOWTAP_READ_MEMORY] = { "memory", "memory accesses" },
	[FLOWTAP_READ_PAGE_TABLES] = { "page_tables", "page table walks" },
	[FLOWTAP_READ_COMMENTS] = { "comments", "comments that are no elements of a flow" },
	[FLOWTAP_READ_OTHER] = { "other", "records of other kinds" },
};

bool tracefile_some_extra(const struct tracefile *file)
{
	for (size_t i = 0; i < FLOWTAP_READ_EXTRAS; i++)
		if (file->read.extra[i])
			return true;
	return false;
}

void tracefile_print_extra(FILE *output, const struct tracefile *file)
{
	char number[32];

	for (size_t i = 0; i < FLOWTAP_READ_EXTRAS; i++)
		if (file->read.extra[i])
			fprintf(output, "    %14s  %s: no flow holds them\n",
				number_group(file->read.extra[i], number), extras[i].text);
}

void tracefile_json(struct json *json, const struct tracefile *file)
{
	json_number(json, "problem_count", file->read.problems);
	json_bool(json, "truncated", file->read.truncated);
	json_open(json, "extra", '{');
	for (size_t i = 0; i < FLOWTAP_READ_EXTRAS; i++)
		if (file->read.extra[i])
			json_number(json, extras[i].name, file->read.extra[i]);
	json_close(json, '}');
}
