// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opens an output for each CPU, and adds up what was decoded into it: counts, missing code, what
 * went wrong.
 */
#include "decode/trace.h"

#include "common/grow.h"
#include "common/input_file.h"
#include "common/raw_options.h"
#include "common/tool.h"
#include "decode/trace_summary.h"

#include <errno.h>
#include <flowtap/arm.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096

void trace_init(struct trace_decoding *decoding, const struct decode_options *options,
		const char *kind)
{
	*decoding = (struct trace_decoding){
		.options = options,
		.kind = kind,
		.began = number_now(),
		.progress.doing = format_progress(options->format.kind, options->output,
						  options->quiet, "decoding"),
		.ete.keep_failed_transactions = options->keep_failed,
	};
}

void trace_free(struct trace_decoding *decoding)
{
	for (size_t i = 0; i < decoding->n_cpus; i++) {
		free(decoding->cpus[i].name);
		free(decoding->cpus[i].output);
	}
	free(decoding->cpus);
}

void trace_progress(struct trace_decoding *decoding, uint64_t bytes)
{
	decoding->read += bytes;
	progress_show(&decoding->progress, decoding->read, decoding->expected, "bytes");
}

struct trace_cpu *trace_add_cpu(struct trace_decoding *decoding, const char *name, uint32_t number)
{
	char *copy = strdup(name);
	struct trace_cpu *cpu;

	if (!copy || GROW_BY_ONE(decoding->cpus, decoding->n_cpus)) {
		free(copy);
		return NULL;
	}
	cpu = &decoding->cpus[decoding->n_cpus++];
	*cpu = (struct trace_cpu){ .name = copy, .number = number };
	return cpu;
}

void trace_add_counts(struct trace_decoding *decoding, const struct flowtap_ete_counts *counts)
{
	struct flowtap_ete_counts *sum = &decoding->counts;

	sum->bytes += counts->bytes;
	sum->packets += counts->packets;
	sum->atoms += counts->atoms;
	sum->instructions += counts->instructions;
	sum->blocks += counts->blocks;
	sum->inferred += counts->inferred;
	sum->cancelled += counts->cancelled;
	sum->failed += counts->failed;
	sum->exceptions += counts->exceptions;
	sum->timestamps += counts->timestamps;
	sum->cycles += counts->cycles;
	sum->syncs += counts->syncs;
	sum->unresolved += counts->unresolved;
	sum->bad_packets += counts->bad_packets;
	for (unsigned int reason = 0; reason < FLOWTAP_GAP_REASONS; reason++)
		sum->gaps[reason] += counts->gaps[reason];
	if (decoding->n_cpus)
		decoding->cpus[decoding->n_cpus - 1].instructions += counts->instructions;
}

static void add_missing(struct trace_decoding *decoding, uint64_t address)
{
	uint64_t page = address & ~(uint64_t)(PAGE - 1);

	for (size_t i = 0; i < decoding->n_missing; i++) {
		if (decoding->missing[i].page != page)
			continue;
		decoding->missing[i].looks++;
		return;
	}
	if (decoding->n_missing == TRACE_MISSING_MAX)
		decoding->more_missing = true;
	else
		decoding->missing[decoding->n_missing++] =
			(struct trace_missing){ .page = page, .looks = 1 };
}

bool trace_wants(const struct trace_decoding *decoding, const char *name, uint32_t number)
{
	return cpu_is_asked_for(decoding->options->cpu, name, NULL, number);
}

int trace_problem(const struct trace_decoding *decoding, const char *output, int error)
{
	const char *input = input_name(decoding->options->input);

	switch (-error) {
	case ENODATA:
		if (strcmp(output, "-"))
			complain("no instruction could be reconstructed, so there is no '%s'",
				 output);
		else
			complain("no instruction could be reconstructed");
		if (!strcmp(decoding->kind, "perf.data"))
			advise("the summary says of which files there is no code: --sysroot DIR is "
			       "where else to look");
		else if (decoding->n_missing)
			advise("there is no code at 0x%" PRIx64 ": --memory FILE@ADDRESS or --elf "
			       "FILE adds some", decoding->missing[0].page);
		else
			advise("flowtap dump --packets shows what is in the trace");
		break;
	case ENOMEM:
		complain("no memory");
		break;
	case EOPNOTSUPP:
		format_complain_isa(decoding->options->format.kind, input);
		break;
	default:
		complain("cannot decode '%s' to '%s': %s", input, output, strerror(-error));
		advise_write(error);
	}
	return error;
}

/* --- Output --- */

static bool is_taken(const struct trace_decoding *decoding, const char *path)
{
	for (size_t i = 0; i < decoding->n_cpus; i++)
		if (decoding->cpus[i].output && !strcmp(decoding->cpus[i].output, path))
			return true;
	return false;
}

/*
 * "dir/name.stf" -> "dir/name.cpu_0.stf", or "dir/name.cpu_0-2.stf" where an earlier CPU has that:
 * different names can become one here. malloc'ed.
 */
static char *path_of(const struct trace_decoding *decoding, const char *cpu)
{
	const char *path = decoding->options->output, *name, *end;
	char safe[64], number[16] = "", *made;
	size_t size = 0;

	if (!decoding->several || !strcmp(path, "-"))
		return strdup(path);
	/* A name out of a file must not lead elsewhere. */
	for (; cpu[size] && size < sizeof(safe) - 1; size++)
		safe[size] = cpu[size] == '/' || (unsigned char)cpu[size] < ' ' ? '_' : cpu[size];
	safe[size] = 0;
	name = strrchr(path, '/');
	name = name ? name + 1 : path;
	end = strrchr(name, '.');
	if (!end || end == name)
		end = name + strlen(name);
	for (unsigned int n = 2;; n++) {
		if (asprintf(&made, "%.*s.%s%s%s", (int)(end - path), path, safe, number, end) < 0)
			return NULL;
		if (!is_taken(decoding, made))
			return made;
		free(made);
		snprintf(number, sizeof(number), "-%u", n);
	}
}

static int check_path(const struct trace_decoding *decoding, const char *path, int input)
{
	const struct format_kind *kind = decoding->options->format.kind;
	int error = format_check_path(kind, path, input, decoding->options->input);

	if (!error && decoding->several && strcmp(path, "-"))
		error = output_check_beside(decoding->options->output);

	if (error || strcmp(path, "-") || !kind->one_cpu || !decoding->several)
		return error;
	complain("%s has one CPU in a file, and there are several", kind->title);
	advise("choose one with --cpu, or name a file with -o");
	return -EINVAL;
}

int trace_output_open(struct trace_decoding *decoding, struct trace_output *output,
		      const char *cpu, const struct flowtap_ete_config *config, int input,
		      const char *comment)
{
	struct format_request request = decoding->options->format;
	int error;

	if (output->open)
		return 0;
	/* All of these are Arm's: no gap at the begin leaves open whether code of RISC-V follows. */
	request.rv64 = false;
	*output = (struct trace_output){ .file.fd = -1 };
	output->path = path_of(decoding, cpu);
	output->blocks = flowtap_trace_session_blocks(config, decoding->options->block_memory);
	if (!output->path || !output->blocks) {
		error = trace_problem(decoding, "", -ENOMEM);
		goto err_free;
	}
	error = check_path(decoding, output->path, input);
	if (!error)
		error = output_open_part(&output->file, output->path,
					 decoding->options->format.force);
	if (error)
		goto err_free;
	error = format_open(&output->format, &output->file, &request, output->blocks, comment);
	if (error) {
		trace_problem(decoding, output->path, error);
		goto err_discard;
	}
	output->open = true;
	return 0;

err_discard:
	output_discard(&output->file, error);
err_free:
	format_free(&output->format);
	flowtap_blocks_free(output->blocks);
	free(output->path);
	*output = (struct trace_output){ .file.fd = -1 };
	return error;
}

static void count_block(const struct flowtap_block *block, void *argument)
{
	struct trace_decoding *decoding = argument;

	/* One that was evicted may have come again, and what stands for it may be many. */
	decoding->evicted |= !block->bytes;
	decoding->distinct++;
}

/*
 * The CPU's line of the summary says where its trace is. Standard output is closed with the last
 * CPU and has the traces of all; the size, if it is known, is that of all together.
 */
static void add_output(struct trace_decoding *decoding, const struct trace_output *output,
		       uint64_t bytes)
{
	bool all = !strcmp(output->path, "-");

	for (size_t i = 0; i < decoding->n_cpus; i++) {
		struct trace_cpu *cpu = &decoding->cpus[i];
		bool last = i == decoding->n_cpus - 1;

		if (cpu->unsupported || cpu->output || (!last && !all))
			continue;
		cpu->output = strdup(output->path);
		cpu->bytes = last ? bytes : 0;
	}
}

int trace_output_close(struct trace_decoding *decoding, struct trace_output *output, int error)
{
	uint64_t bytes = 0;

	if (!output->open)
		return error;
	progress_hide(&decoding->progress);
	if (!error) {
		error = format_finish(&output->format);
		if (error)
			trace_problem(decoding, output->path, error);
	}
	flowtap_blocks_visit(output->blocks, count_block, decoding);
	if (error) {
		format_free(&output->format);
		output_discard(&output->file, error);
	} else {
		if (output->file.created)
			bytes = (uint64_t)input_size(output->file.fd);
		else
			bytes = format_bytes(&output->format);
		left_out_add(&decoding->left_out, &output->format.left_out);
		error = output_commit(&output->file);
		if (!error)
			add_output(decoding, output, bytes);
	}
	format_free(&output->format);
	flowtap_blocks_free(output->blocks);
	free(output->path);
	*output = (struct trace_output){ .file.fd = -1 };
	return error;
}

/* --- Sessions --- */

static void on_progress(struct flowtap_trace_session *session, size_t bytes)
{
	trace_progress(session->argument, bytes);
}

static void on_missing(struct flowtap_trace_session *session, uint64_t address)
{
	add_missing(session->argument, address);
}

int trace_session_init(struct trace_decoding *decoding, const struct trace_output *output,
		       const struct flowtap_ete_config *config,
		       struct flowtap_trace_session *session)
{
	/* Several trace units can have one output, and need not cut code into the same blocks. */
	session->wfx = flowtap_ete_wfx_is_p0(config);
	session->blocks = flowtap_blocks_of(output->blocks, session->wfx ? flowtap_arm_block_wfx :
					    flowtap_arm_block, decoding->options->block_memory);
	session->ete = &decoding->ete;
	session->sink = output->format.sink;
	session->has_cpu = decoding->several;
	session->progress = on_progress;
	session->missing = on_missing;
	session->argument = decoding;
	return session->blocks ? 0 : trace_problem(decoding, output->path, -ENOMEM);
}

void trace_complain_unsupported(const struct flowtap_ete_config *config, const char *name)
{
	complain("'%s': such a trace is not decoded: %s", name, flowtap_ete_unsupported(config));
	advise("its registers: TRCCONFIGR 0x%x, TRCDEVARCH 0x%x, TRCIDR2 0x%x, TRCIDR8 0x%x",
	       config->configr, config->devarch, config->idr2, config->idr8);
}

/* What only sessions can return; or what any decoding can. */
static int session_problem(const struct trace_decoding *decoding, const char *output,
			   const struct flowtap_trace_session *session, const char *name, int error)
{
	if (error == -ENODEV && flowtap_ete_unsupported(&session->config)) {
		trace_complain_unsupported(&session->config, name);
		return error;
	}
	return trace_problem(decoding, output, error);
}

int trace_session_done(struct trace_decoding *decoding, const struct trace_output *output,
		       const struct flowtap_trace_session *session, const char *name, bool may_be_empty,
		       int error)
{
	bool empty = !error && flowtap_trace_session_is_empty(session);

	trace_add_counts(decoding, &session->counts);
	decoding->frame_damages += session->damages;
	decoding->sessions++;
	decoding->empty += empty;
	if (error || empty)
		progress_hide(&decoding->progress);
	if (error)
		return session_problem(decoding, output->path, session, name, error);
	if (!empty)
		return 0;
	complain_no_source(name, session->id, session->ids);
	return may_be_empty ? 0 : -ENOENT;
}

/* --- Images --- */

int trace_add_images(const struct trace_decoding *decoding, struct flowtap_memory *memory)
{
	const struct decode_options *options = decoding->options;

	for (size_t i = 0; i < options->n_images; i++) {
		const struct decode_image *image = &options->images[i];
		const char *option = image->elf ? "--elf" : "--memory", *why;
		int error = image->elf ? flowtap_memory_add_elf(memory, &image->file) :
					 flowtap_memory_add(memory, &image->file);

		if (error > 0)
			complain("%s '%s': the file ends before that", option, image->file.path);
		if (error >= 0)
			continue;
		why = error == -ENOEXEC ? "is no regular file" :
		      error == -EBADMSG ? "is no ELF file" :
		      error == -ENOTSUP ? "is of another machine: no code of Arm" :
		      error == -ENODATA ? "has nothing to load" :
		      error == -ERANGE ? "has nothing there, or goes beyond the end of memory" :
		      error == -E2BIG ? "is one image too many" : strerror(-error);
		complain("%s '%s': %s", option, image->file.path, why);
		if (error == -EBADMSG)
			advise("--memory %s@ADDRESS takes it as it is", image->file.path);
		return error;
	}
	return 0;
}

/* --- The end --- */

int trace_finish(struct trace_decoding *decoding, int error)
{
	const struct decode_options *options = decoding->options;
	FILE *file = strcmp(options->output, "-") ? stdout : stderr;

	progress_end(&decoding->progress);
	/* Why there is nothing is in the gaps. */
	if (!error || error == -ENODATA) {
		if (options->json)
			trace_summary_json(file, decoding);
		else if (!options->quiet)
			trace_summary_print(file, decoding);
	}
	if (error)
		return STATUS_ERROR;
	left_out_complain(&decoding->left_out, &options->format, input_name(options->input));
	return decoding->counts.bad_packets || decoding->frame_damages || decoding->undecoded ?
	       STATUS_DAMAGED : STATUS_OK;
}
