// SPDX-License-Identifier: GPL-2.0-only
/* flowtap decode: from an archive to a trace. */
#include "decoding.h"
#include "input.h"
#include "summary.h"
#include "tool.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
	"usage: flowtap decode IN --to stf|zstf|flow [OPTION...]\n"
	"\n"
	"Makes a trace of an archive: an STF file for simulators, plain or compressed, or the\n"
	"flow as text. IN - is standard input.\n"
	"\n"
	"  -t, --to FORMAT     stf, zstf (compressed, in chunks with an index) or flow\n"
	"  -o, --output OUT    the file (IN with its ending changed), - for standard output\n"
	"      --sysroot DIR   where the recorded machine's files are, found by path or build-id\n"
	"      --tid TID       only this thread\n"
	"      --level N       of compression, 1 (fast) to 19 (small); 3\n"
	"  -q, --quiet         no summary and no progress\n"
	"      --json          the summary as JSON\n"
	"  -h, --help          this text\n"
	"\n"
	"The summary goes to standard output, to standard error if the trace goes there. OUT is\n"
	"written under another name (OUT.part) until it is whole; a .zstf that is interrupted stays\n"
	"there and can be read up to its last whole chunk.\n"
	"\n"
	"Exit status: 0; 1 for an error; 2 for wrong usage; 3 if IN is damaged, what is good\n"
	"of it was decoded.\n";

static int parse(int argc, char **argv, struct decode_options *options)
{
	enum { LONG_SYSROOT = 256, LONG_TID, LONG_LEVEL, LONG_JSON };
	static const struct option long_options[] = {
		{ "to", required_argument, NULL, 't' },
		{ "output", required_argument, NULL, 'o' },
		{ "sysroot", required_argument, NULL, LONG_SYSROOT },
		{ "tid", required_argument, NULL, LONG_TID },
		{ "level", required_argument, NULL, LONG_LEVEL },
		{ "quiet", no_argument, NULL, 'q' },
		{ "json", no_argument, NULL, LONG_JSON },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	uint64_t value;
	int option;

	while ((option = getopt_long(argc, argv, "t:o:qh", long_options, NULL)) != -1) {
		switch (option) {
		case 't':
			if (strcmp(optarg, "stf") && strcmp(optarg, "zstf") &&
			    strcmp(optarg, "flow"))
				return -1 - misused(argv[0], "'%s' is not stf, zstf or flow",
						    optarg);
			options->format = optarg;
			break;
		case 'o':
			options->output = optarg;
			break;
		case LONG_SYSROOT:
			options->sysroot = optarg;
			break;
		case LONG_TID:
			if (!number_parse(optarg, 1, UINT32_MAX, &value))
				return -1 - misused(argv[0], "'%s' is not a thread id", optarg);
			options->tid = (uint32_t)value;
			break;
		case LONG_LEVEL:
			if (!number_parse(optarg, 1, FLOWTAP_ZSTF_LEVEL_MAX, &value))
				return -1 - misused(argv[0], "'%s' is not a level from 1 to %d",
						    optarg, FLOWTAP_ZSTF_LEVEL_MAX);
			options->level = (int)value;
			break;
		case 'q':
			options->quiet = true;
			break;
		case LONG_JSON:
			options->json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return -1 - STATUS_OK;
		default:
			return -1 - usage_hint(argv[0]);
		}
	}
	if (argc - optind != 1)
		return -1 - misused(argv[0], argc == optind ? "the file IN is missing" :
				    "one file IN at a time");
	if (!options->format)
		return -1 - misused(argv[0], "--to stf, zstf or flow is missing");
	if (options->level && strcmp(options->format, "zstf"))
		return -1 - misused(argv[0], "--level is for --to zstf");
	if (options->output && !*options->output)
		return -1 - misused(argv[0], "-o takes the name of a file");
	options->input = argv[optind];
	return 0;
}

/* "dir/name.ftap" -> "name.stf", here. malloc'ed. */
static char *default_output(const struct decode_options *options)
{
	const char *name = strrchr(options->input, '/');
	const char *end;
	char *output;

	if (!strcmp(options->input, "-"))
		return strdup("-");
	name = name ? name + 1 : options->input;
	end = strrchr(name, '.');
	if (asprintf(&output, "%.*s.%s", end && end != name ? (int)(end - name) : (int)strlen(name),
		     name, options->format) < 0)
		return NULL;
	return output;
}

static bool same_file(int input, const char *path)
{
	struct stat one, other;

	return !fstat(input, &one) && !stat(path, &other) && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

static int check_paths(const struct decode_options *options, int input)
{
	struct stat stat_of;

	if (options->sysroot && (stat(options->sysroot, &stat_of) || !S_ISDIR(stat_of.st_mode))) {
		complain("--sysroot '%s' is no directory", options->sysroot);
		return -ENOTDIR;
	}
	if (strcmp(options->output, "-") && same_file(input, options->output)) {
		complain("'%s' is the input", options->output);
		return -EINVAL;
	}
	if (!strcmp(options->format, "zstf") &&
	    (!strcmp(options->output, "-") ||
	     (!stat(options->output, &stat_of) && !S_ISREG(stat_of.st_mode)))) {
		complain("a .zstf can only be written to a file: its index is written last");
		advise("name a file with -o, or pipe --to stf into zstd");
		return -ESPIPE;
	}
	if (!strcmp(options->output, "-") && !strcmp(options->format, "stf") &&
	    isatty(STDOUT_FILENO)) {
		complain("STF is not for a terminal");
		advise("pipe it on or name a file with -o");
		return -EINVAL;
	}
	return 0;
}

static int decode_problem(const struct decoding *decoding, int error)
{
	const char *input = input_name(decoding->options->input);

	switch (-error) {
	case EBADMSG:
		complain("'%s' is no flowtap archive", input);
		break;
	case EPROTONOSUPPORT:
		complain("'%s' is an archive of another version of flowtap", input);
		break;
	case ENODATA:
		complain("no instruction could be reconstructed, so there is no STF");
		if (!decoding->options->sysroot)
			advise("on another machine than the recorded one --sysroot is needed");
		break;
	case ENOMEM:
		complain("no memory");
		break;
	default:
		complain("cannot decode '%s' to '%s': %s", input, decoding->options->output,
			 strerror(-error));
	}
	return error;
}

static void summarise(const struct decoding *decoding, const char *output, uint64_t bytes)
{
	const struct decode_options *options = decoding->options;
	FILE *file = strcmp(options->output, "-") ? stdout : stderr;
	struct summary summary = {
		.input = input_name(options->input),
		.output = output,
		.format = options->format,
		.output_bytes = bytes,
		.sysroot = options->sysroot,
		.info = decoding->info ? decoding->info : "",
		.cpus = decoding->cpus,
		.period = decoding->period,
		.replay = &decoding->replay.counts,
		.ctr = flowtap_ctr_counts(decoding->ctr),
		.tap = &decoding->tap,
		.blocks = decoding->blocks,
	};

	if (options->json)
		summary_json(file, &summary);
	else if (!options->quiet)
		summary_print(file, &summary);
}

static int decode(struct decoding *decoding, int input)
{
	const struct decode_options *options = decoding->options;
	uint64_t bytes = 0;
	int error, written;

	error = decoding_run(decoding, input);
	if (error) {
		decode_problem(decoding, error);
		/* Why there is nothing is in the gaps. */
		if (error == -ENODATA)
			summarise(decoding, NULL, 0);
		output_discard(&decoding->output);
		return STATUS_ERROR;
	}
	if (decoding->output.created)
		bytes = (uint64_t)input_size(decoding->output.fd);
	else if (decoding->stf)
		bytes = flowtap_stf_counts(decoding->stf)->bytes;
	written = output_commit(&decoding->output);
	summarise(decoding, written ? NULL : options->output, bytes);
	if (written)
		return STATUS_ERROR;
	return decoding->replay.counts.damages || flowtap_ctr_counts(decoding->ctr)->bad_records ?
		STATUS_DAMAGED : STATUS_OK;
}

int decode_command(int argc, char **argv)
{
	struct decode_options options = { .tid = 0 };
	struct decoding decoding = { .options = &options };
	char *name = NULL;
	int input, status = parse(argc, argv, &options);

	if (status)
		return -1 - status;
	input = input_open(options.input);
	if (input < 0)
		return STATUS_ERROR;
	if (!options.output)
		options.output = name = default_output(&options);
	status = STATUS_ERROR;
	if (!options.output)
		complain("no memory");
	else if (!check_paths(&options, input) && !decoding_init(&decoding, &options) &&
		 !output_open_part(&decoding.output, options.output))
		status = decode(&decoding, input);
	decoding_free(&decoding);
	close(input);
	free(name);
	return status;
}
