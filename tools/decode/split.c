// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opens a part for each new number in a context, and sends blocks and elements to the part of the
 * current context.
 */
#include "decode/split.h"

#include "common/grow.h"
#include "common/input_file.h"
#include "common/tool.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static uint32_t number_of(const struct split *split, const struct flowtap_context *context)
{
	switch (split->options->split) {
	case SPLIT_THREAD:
		return context->tid;
	case SPLIT_PROCESS:
		return context->pid;
	default:
		return context->cpu;
	}
}

/* "dir/name.stf" -> "dir/name.tid7.stf". malloc'ed. */
static char *path_of(const struct split *split, uint32_t number)
{
	static const char *const what[] = {
		[SPLIT_THREAD] = "tid", [SPLIT_PROCESS] = "pid", [SPLIT_CPU] = "cpu",
	};
	const char *path = split->options->output, *name = strrchr(path, '/'), *end;
	char *made;

	name = name ? name + 1 : path;
	end = strrchr(name, '.');
	if (!end || end == name)
		end = name + strlen(name);
	if (asprintf(&made, "%.*s.%s%u%s", (int)(end - path), path, what[split->options->split],
		     number, end) < 0)
		return NULL;
	return made;
}

static int compare(const void *one, const void *other)
{
	const struct split_part *a = one, *b = other;

	return a->number < b->number ? -1 : a->number > b->number;
}

/* As many files as the system lets us have open at once. */
static void allow_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static struct split_part *new_part(struct split *split, uint32_t number)
{
	struct split_part *part = calloc(1, sizeof(*part));

	if (part)
		part->path = path_of(split, number);
	if (!part || !part->path || GROW_BY_ONE(split->list, split->n))
		goto err_free;
	part->number = number;
	part->output.fd = -1;
	if (!tsearch(part, &split->parts, compare))
		goto err_free;
	split->list[split->n++] = part;
	return part;

err_free:
	if (part)
		free(part->path);
	free(part);
	return NULL;
}

static int open_part(struct split *split, uint32_t number)
{
	struct split_part *part;
	int error;

	if (split->n == SPLIT_MAX) {
		complain("more than %u outputs: --tid or --cpu chooses one", SPLIT_MAX);
		return -ECANCELED;
	}
	part = new_part(split, number);
	if (!part)
		return -ENOMEM;
	split->part = part;
	error = output_open_part(&part->output, part->path, split->options->format.force);
	/* A complaint said why. */
	if (error)
		return -ECANCELED;
	return format_open(&part->format, &part->output, split->request, split->blocks,
			   split->comment);
}

/* The part of the context, which has got the context. */
static int find_part(struct split *split)
{
	const struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_CONTEXT, .context = split->context,
	};
	struct split_part wanted = { .number = number_of(split, &split->context) };
	struct split_part **found = tfind(&wanted, &split->parts, compare);
	int error = 0;

	if (found)
		split->part = *found;
	else
		error = open_part(split, wanted.number);
	if (error || !split->has_context)
		return error;
	return split->part->format.sink->element(split->part->format.sink, &element);
}

static int handle_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
			uint64_t target)
{
	struct split *split = (struct split *)sink;
	int error = split->part ? 0 : find_part(split);

	if (error)
		return error;
	split->part->instructions += block->instructions;
	return split->part->format.sink->block(split->part->format.sink, block, taken, target);
}

static int handle_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct split *split = (struct split *)sink;
	int error = 0;

	if (element->kind == FLOWTAP_ELEMENT_CONTEXT) {
		bool other = number_of(split, &element->context) !=
			     number_of(split, &split->context);

		split->context = element->context;
		split->has_context = true;
		if (other || !split->part) {
			split->part = NULL;
			return 0;
		}
	} else if (!split->part) {
		error = find_part(split);
	}
	return error ? error : split->part->format.sink->element(split->part->format.sink, element);
}

void split_init(struct split *split, const struct decode_options *options,
		const struct format_request *request, struct flowtap_blocks *blocks,
		const char *comment)
{
	*split = (struct split){
		.sink = { .block = handle_block, .element = handle_element },
		.options = options,
		.request = request,
		.blocks = blocks,
		.comment = comment,
	};
	allow_files();
}

static int finish_part(struct split *split, struct split_part *part)
{
	int error = format_finish(&part->format);

	if (error) {
		format_free(&part->format);
		output_discard(&part->output, error);
		return error;
	}
	if (part->output.created)
		part->bytes = (uint64_t)input_size(part->output.fd);
	left_out_add(&split->left_out, &part->format.left_out);
	error = output_commit(&part->output);
	part->written = !error;
	/* A complaint said why. */
	return error ? -ECANCELED : 0;
}

int split_finish(struct split *split)
{
	size_t written = 0;
	int first = 0;

	/* Those after one that cannot be finished are whole as well. */
	for (size_t i = 0; i < split->n; i++) {
		int error = finish_part(split, split->list[i]);

		written += !error;
		if (!first && error != -ENODATA)
			first = error;
	}
	return first || written ? first : -ENODATA;
}

static void free_part(void *argument)
{
	struct split_part *part = argument;

	format_free(&part->format);
	free(part->path);
	free(part);
}

void split_free(struct split *split)
{
	/* Those that are whole stay. */
	for (size_t i = 0; i < split->n; i++) {
		format_free(&split->list[i]->format);
		if (split->list[i]->output.fd >= 0)
			output_discard(&split->list[i]->output, split->error);
	}
	tdestroy(split->parts, free_part);
	free(split->list);
	*split = (struct split){ .parts = NULL };
}
