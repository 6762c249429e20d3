// SPDX-License-Identifier: GPL-2.0-only
/* flowtap convert: a trace in another format. */
#include "common/gaps.h"
#include "common/input_file.h"
#include "common/json.h"
#include "common/left_out.h"
#include "common/output_file.h"
#include "common/tool.h"
#include "common/tracefile.h"

#include <errno.h>
#include <flowtap/learned.h>
#include <flowtap/stf.h>
#include <flowtap/stf_copy.h>
#include <string.h>
#include <unistd.h>

/* For printf, with the names of the formats that are read, and of those that are written. */
static const char help[] =
	"usage: flowtap convert IN OUT [OPTION...]\n"
	"\n"
	"Writes the trace IN in another format. IN is any that can be read, also packed by gzip;\n"
	"its first bytes say which. The format of OUT is the ending of its name, or --to. - is\n"
	"standard input or output.\n"
	"\n"
	"  -f, --from FORMAT   what IN is, whatever it begins with: %s\n"
	"  -t, --to FORMAT     what OUT becomes: %s\n"
	"      --force         replace OUT if there is such a file\n"
	"      --rewrite       from STF to STF: as flowtap writes it, instead of each record as it is\n"
	"      --skip N        not the first N instructions; those of a .zstf are not even read\n"
	"      --count N       not more than N instructions; with either STF is rewritten\n"
	"  -q, --quiet         no summary and no progress\n"
	"      --json          the summary as JSON\n"
	"  -h, --help          this text\n"
	"\n"
	"Options of formats:\n"
	FORMAT_HELP
	"\n"
	"What IN holds and OUT's format cannot is left out, counted, and told once, in the\n"
	"summary: on standard output, on standard error if the trace goes there. OUT is written\n"
	"under another name (OUT.part) until it is whole. What was written stays there, to be read,\n"
	"if the command is interrupted or the disk is full; of the flow it is removed.\n"
	"\n"
	"Exit status: 0; 1 for an error; 2 for wrong usage; 3 if IN is damaged, what is good of\n"
	"it was converted.\n";

struct converting {
	struct tracefile in;
	struct output output;
	struct format format;
	struct format_request request;
	const struct format_kind *from;
	const char *path;		/* of OUT */
	uint64_t bytes;			/* of it */
	struct flowtap_stf_copy copy;	/* if it copies */
	struct tracefile_part part;
	bool rewrite;
	bool quiet;
	bool json;
};

/* From STF to STF: its records. */
static bool copies(const struct converting *converting)
{
	return converting->in.kind->read == flowtap_stf_read &&
	       converting->request.kind->read == flowtap_stf_read && !converting->rewrite &&
	       !converting->part.skip && !converting->part.count;
}

static void summary_text(FILE *file, const struct converting *converting)
{
	const struct left_out *left_out = &converting->format.left_out;
	const char *input = input_name(converting->in.path);
	char number[32], blocks[32];

	print_plain(file, input, strlen(input));
	fprintf(file, ": %s\n  instructions  %s, in %s block%s\n", converting->in.kind->title,
		number_group(left_out->instructions, number),
		number_group(left_out->blocks, blocks), plural(left_out->blocks));
	gaps_print(file, left_out->gaps, NULL);
	if (copies(converting)) {
		fprintf(file, "  records       %s, each as it was%s\n",
			number_group(converting->copy.records, number),
			converting->copy.damaged ? "; others were left out" : "");
	} else {
		if (left_out_some(left_out) || tracefile_some_extra(&converting->in))
			fputs("  left out\n", file);
		left_out_print(file, left_out);
		tracefile_print_extra(file, &converting->in);
	}
	fputs("  written       ", file);
	if (converting->bytes)
		fprintf(file, "%s of ", number_bytes(converting->bytes, number));
	fprintf(file, "%s to ", converting->request.kind->name);
	if (strcmp(converting->path, "-"))
		print_plain(file, converting->path, strlen(converting->path));
	else
		fputs("standard output", file);
	fputc('\n', file);
}

static void summary_json(FILE *file, const struct converting *converting)
{
	struct json json = { .file = file };

	json_open(&json, NULL, '{');
	json_string(&json, "input", input_name(converting->in.path));
	json_string(&json, "input_format", converting->in.kind->name);
	json_string(&json, "output", converting->path);
	json_string(&json, "format", converting->request.kind->name);
	json_number(&json, "output_bytes", converting->bytes);
	json_number(&json, "instructions", converting->format.left_out.instructions);
	json_number(&json, "blocks", converting->format.left_out.blocks);
	gaps_json(&json, converting->format.left_out.gaps, NULL);
	left_out_json(&json, &converting->format.left_out);
	if (copies(converting))
		json_number(&json, "records_copied", converting->copy.records);
	tracefile_json(&json, &converting->in);
	json_close(&json, '}');
}

static void summarise(const struct converting *converting)
{
	FILE *file = strcmp(converting->path, "-") ? stdout : stderr;

	if (converting->json)
		summary_json(file, converting);
	else if (!converting->quiet)
		summary_text(file, converting);
}

static int problem(const struct converting *converting, int error)
{
	if (tracefile_reported(&converting->in, error))
		return error;
	switch (-error) {
	case ENODATA:
		complain("'%s' has no instruction, so there is no %s",
			 input_name(converting->in.path), converting->request.kind->title);
		break;
	case ENOMEM:
		complain("no memory");
		break;
	case EBADMSG:
	case ERANGE:
		tracefile_complain(&converting->in, error);
		break;
	case EOPNOTSUPP:
		format_complain_isa(converting->request.kind, input_name(converting->in.path));
		break;
	default:
		complain("cannot convert '%s' to '%s': %s", input_name(converting->in.path),
			 converting->path, strerror(-error));
		advise_write(error);
	}
	return error;
}

/* --- From STF to STF. --- */

static void show_progress(struct flowtap_stf_copy *copy, uint64_t done, uint64_t size)
{
	struct tracefile *in = copy->argument;

	progress_show(&in->progress, done, size, "bytes");
}

/* Read for what it is and what is wrong with it first. 0 or -errno. */
static int copy_stf(struct converting *converting)
{
	const struct flowtap_zstf_options zstf = { .level = converting->request.level };
	struct tracefile *in = &converting->in;
	int error;

	left_out_init(&converting->format.left_out, &converting->request,
		      flowtap_sink_nowhere());
	in->progress.doing = converting->quiet ? NULL : "reading";
	error = tracefile_read(in, &converting->format.left_out.sink);
	if (error)
		return error;
	if (lseek(in->fd, 0, SEEK_SET) < 0)
		return -errno;
	in->progress.doing = converting->quiet ? NULL : "copying";
	converting->copy = (struct flowtap_stf_copy){
		.zstf = converting->request.kind->seeks ? &zstf : NULL,
		.progress = show_progress,
		.argument = in,
	};
	output_keep(&converting->output);
	progress_begin(&in->progress);
	error = flowtap_stf_copy(&converting->copy, in->fd, converting->output.fd);
	progress_end(&in->progress);
	if (!error && converting->copy.damaged && !in->read.problems) {
		complain("'%s': a record of more than %u MiB was left out", input_name(in->path),
			 FLOWTAP_STF_COPY_LONGEST >> 20);
		in->read.problems++;
	}
	return error;
}

/* --- From any format to any. --- */

static int write_flow(struct converting *converting)
{
	char comment[4200];
	int error;

	snprintf(comment, sizeof(comment), "input=%.4096s\n", converting->in.path);
	error = format_open(&converting->format, &converting->output, &converting->request,
			    flowtap_learned_blocks(converting->in.learned), comment);
	if (error)
		return error;
	converting->in.part = converting->part;
	converting->in.progress.doing = format_progress(converting->request.kind, converting->path,
							converting->quiet, "converting");
	error = tracefile_read(&converting->in, converting->format.sink);
	return error ? error : format_finish(&converting->format);
}

/* Each trace of the format has a mode. */
static bool makes_modes(const struct converting *converting)
{
	const struct left_out *left_out = &converting->format.left_out;

	return !copies(converting) && converting->in.read.mode_unknown && left_out->blocks &&
	       left_out->holds & FORMAT_HOLDS_MODE;
}

/* From an open IN to an open OUT. 0 or -errno after a complaint. */
static int convert(struct converting *converting)
{
	int error = copies(converting) ? copy_stf(converting) : write_flow(converting);

	if (error)
		return problem(converting, error);
	left_out_complain(&converting->format.left_out, &converting->request,
			  input_name(converting->in.path));
	if (makes_modes(converting))
		complain("'%s' says nothing of modes: those in '%s' are made up",
			 input_name(converting->in.path), converting->path);
	converting->bytes = converting->output.created ?
		(uint64_t)input_size(converting->output.fd) :
		copies(converting) ? converting->copy.bytes : format_bytes(&converting->format);
	return 0;
}

static int run(struct converting *converting, const char *path)
{
	int status = STATUS_ERROR, error;

	if (tracefile_open(&converting->in, path, -1, converting->from, converting->quiet))
		return status;
	if (converting->rewrite && (converting->in.kind->read != flowtap_stf_read ||
				    converting->request.kind->read != flowtap_stf_read)) {
		status = misused("flowtap convert", "--rewrite is for STF that becomes STF");
		goto close;
	}
	if (format_check_path(converting->request.kind, converting->path, converting->in.fd, path) ||
	    output_open_part(&converting->output, converting->path, converting->request.force))
		goto close;
	error = convert(converting);
	if (error) {
		format_free(&converting->format);
		output_discard(&converting->output, error);
	} else if (!output_commit(&converting->output)) {
		summarise(converting);
		status = tracefile_status(&converting->in);
	}
	format_free(&converting->format);
close:
	tracefile_close(&converting->in);
	return status;
}

static int choose_format(struct converting *converting, const char *command)
{
	char names[128];

	if (!converting->request.kind)
		converting->request.kind = format_of_path(converting->path);
	if (converting->request.kind && converting->request.kind->open)
		return 0;
	return misused(command, "the name '%s' says no format: --to %s", converting->path,
		       format_names(names, sizeof(names), FORMAT_WRITES));
}

static const char *print_help(const struct command_option *option, const char *text)
{
	char from[128], to[128];

	(void)option, (void)text;
	printf(help, format_names(from, sizeof(from), FORMAT_READS),
	       format_names(to, sizeof(to), FORMAT_WRITES));
	return option_done;
}

int convert_command(int argc, char **argv)
{
	struct converting converting = { .request = { .command = "convert" } };
	const struct command_option options[] = {
		OPTION('f', "from", required_argument, option_format, &converting.from,
		       .bits = FORMAT_READS),
		OPTIONS_OF(format_request_options(&converting.request)),
		OPTION_FLAG(0, "rewrite", &converting.rewrite),
		OPTIONS_PART(&converting.part),
		OPTION_FLAG('q', "quiet", &converting.quiet),
		OPTION_FLAG(0, "json", &converting.json),
		OPTION('h', "help", no_argument, print_help, NULL),
		OPERANDS_ANY
	};
	int status = parse_options(argc, argv, options);

	if (status != OPTIONS_TAKEN)
		return status;
	if (argc - optind != 2)
		return misused(argv[0], argc == optind ? "the files IN and OUT are missing" :
			       argc - optind == 1 ? "the file OUT is missing" :
			       "one file IN and one file OUT at a time");
	converting.path = argv[optind + 1];
	status = choose_format(&converting, argv[0]);
	converting.path = output_path(converting.path);
	if (!status)
		status = format_request_check(&converting.request, argv[0]);
	if (!status)
		status = run(&converting, argv[optind]);
	format_request_free(&converting.request);
	return status;
}
