// SPDX-License-Identifier: GPL-2.0-only
/* flowtap decode: from an archive to a trace. */
#include "input.h"
#include "output.h"
#include "summary.h"
#include "tap.h"
#include "tool.h"

#include <errno.h>
#include <flowtap/ctr.h>
#include <flowtap/replay.h>
#include <flowtap/riscv.h>
#include <flowtap/stf.h>
#include <flowtap/text.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
	"usage: flowtap decode IN --to stf|flow [OPTION...]\n"
	"\n"
	"Makes a trace of an archive: an STF file for simulators, or the flow as text. IN - is\n"
	"standard input.\n"
	"\n"
	"  -t, --to FORMAT     stf or flow\n"
	"  -o, --output OUT    the file (IN with its ending changed), - for standard output\n"
	"      --sysroot DIR   where the recorded machine's files are, found by path or build-id\n"
	"      --tid TID       only this thread\n"
	"  -q, --quiet         no summary and no progress\n"
	"      --json          the summary as JSON\n"
	"  -h, --help          this text\n"
	"\n"
	"The summary goes to standard output, to standard error if the trace goes there. OUT is\n"
	"written under another name (OUT.part) until it is whole.\n"
	"\n"
	"Exit status: 0; 1 for an error; 2 for wrong usage; 3 if IN is damaged, what is good of it\n"
	"was decoded.\n";

#define DAMAGES_SHOWN 10
#define INFO_MAX (1U << 20)
/* Inputs above this size take long enough for a progress line. */
#define PROGRESS_BYTES (32 << 20)

struct options {
	const char *input;
	const char *format;
	const char *output;
	const char *sysroot;
	uint32_t tid;			/* 0: all */
	bool quiet;
	bool json;
};

struct decoding {
	const struct options *options;
	struct output output;
	struct flowtap_map *map;
	struct flowtap_blocks *blocks;
	struct tap tap;
	struct flowtap_ctr *ctr;
	struct flowtap_stf *stf;	/* one of them, from the first record on */
	struct flowtap_text *text;
	struct flowtap_replay replay;
	char *info;
	uint64_t period;
	uint32_t cpus;
	uint64_t expected;		/* records, as the archive says at its end; 0 unknown */
	bool progress;
	uint64_t shown;
};

/* --- The sink --- */

static char *stf_comment(const struct decoding *decoding)
{
	char *comment;

	/* The whole INFO: who recorded what, where and when. */
	if (asprintf(&comment, "flowtap " FLOWTAP_VERSION " decode\n%s",
		     decoding->info ? decoding->info : "") < 0)
		return NULL;
	return comment;
}

static int open_stf(struct decoding *decoding)
{
	struct flowtap_stf_options wish = {
		.generator = 0xff,
		.generator_comment = "flowtap",
		.blocks = decoding->blocks,
	};
	unsigned int major = 0, minor = 0;
	char *comment = stf_comment(decoding);
	int error;

	if (!comment)
		return -ENOMEM;
	if (sscanf(FLOWTAP_VERSION, "%u.%u", &major, &minor) == 2) {
		wish.version[0] = (uint8_t)major;
		wish.version[1] = (uint8_t)minor;
	}
	wish.comment = comment;
	error = flowtap_stf_new(decoding->output.fd, &wish, &decoding->stf);
	free(comment);
	if (!error)
		decoding->tap.next = flowtap_stf_sink(decoding->stf);
	return error;
}

/* Not before all that the header says is known: with the first record. */
static int open_sink(struct decoding *decoding)
{
	int error;

	if (decoding->tap.next)
		return 0;
	if (!strcmp(decoding->options->format, "stf"))
		return open_stf(decoding);
	error = flowtap_text_new(decoding->output.fd, decoding->blocks, &decoding->text);
	if (!error)
		decoding->tap.next = flowtap_text_sink(decoding->text);
	return error;
}

static int finish_sink(struct decoding *decoding)
{
	int error = open_sink(decoding);

	if (error)
		return error;
	return decoding->stf ? flowtap_stf_finish(decoding->stf) : flowtap_text_finish(decoding->text);
}

/* --- What comes out of the archive --- */

static int take_info(struct decoding *decoding, const struct flowtap_archive_block *block)
{
	size_t size = block->size < INFO_MAX ? block->size : INFO_MAX;

	if (decoding->info)
		return 0;
	decoding->info = malloc(size + 1);
	if (!decoding->info)
		return -ENOMEM;
	memcpy(decoding->info, block->payload, size);
	decoding->info[size] = 0;
	return 0;
}

static void take_query(struct decoding *decoding, const struct flowtap_archive_block *block)
{
	struct flowtap_query query = { .cpu = 0 };

	memcpy(&query, block->payload, block->size < sizeof(query) ? block->size : sizeof(query));
	if (query.source == FLOWTAP_SOURCE_CTR)
		flowtap_ctr_set_data_bits(decoding->ctr, block->cpu, query.ctr.data);
}

static void take_configure(struct decoding *decoding, const struct flowtap_archive_block *block)
{
	struct flowtap_configure configure = { .cpu = 0 };

	memcpy(&configure, block->payload,
	       block->size < sizeof(configure) ? block->size : sizeof(configure));
	decoding->period = configure.period;
	decoding->cpus++;
}

static int take_task(struct decoding *decoding, const struct flowtap_archive_block *block)
{
	struct flowtap_archive_task task;
	const char *comm = (const char *)task.comm;

	if (block->size < sizeof(task))
		return 0;
	memcpy(&task, block->payload, sizeof(task));
	/* A process is called as its first thread is. */
	if ((task.event != FLOWTAP_TASK_COMM && task.event != FLOWTAP_TASK_EXEC) || task.pid != task.tid)
		return 0;
	return tap_name(&decoding->tap, task.pid, comm, strnlen(comm, sizeof(task.comm)));
}

static int take_block(struct flowtap_replay *replay, const struct flowtap_archive_block *block)
{
	struct decoding *decoding = replay->argument;
	struct flowtap_stats stats = { .records = 0 };

	switch (block->type) {
	case FLOWTAP_ARCHIVE_INFO:
		return take_info(decoding, block);
	case FLOWTAP_ARCHIVE_QUERY:
		take_query(decoding, block);
		return 0;
	case FLOWTAP_ARCHIVE_CONFIGURE:
		take_configure(decoding, block);
		return 0;
	case FLOWTAP_ARCHIVE_TASK:
		return take_task(decoding, block);
	case FLOWTAP_ARCHIVE_STATS:
		memcpy(&stats, block->payload, block->size < sizeof(stats) ? block->size : sizeof(stats));
		decoding->expected += stats.records;
		return 0;
	default:
		return 0;
	}
}

static void take_damage(struct flowtap_replay *replay, uint64_t offset, const char *reason,
			uint64_t bytes)
{
	const struct decoding *decoding = replay->argument;

	if (replay->counts.damages > DAMAGES_SHOWN)
		return;
	complain("'%s': offset %" PRIu64 ": %s (%" PRIu64 " bytes)",
		 input_name(decoding->options->input), offset, reason, bytes);
	if (replay->counts.damages == DAMAGES_SHOWN)
		advise("and so on: further damage is only counted");
}

static void show_progress(struct decoding *decoding)
{
	uint64_t now = number_now(), records = decoding->replay.counts.records;

	if (now - decoding->shown < 200000000)
		return;
	decoding->shown = now;
	if (decoding->expected >= records)
		fprintf(stderr, "\rdecoding %3.0f%% ", 100.0 * (double)records / (double)decoding->expected);
	else
		fprintf(stderr, "\rdecoding, %" PRIu64 " records ", records);
}

/* Whose a sample or gap is; 0 for other records. */
static uint32_t tid_of(const struct flowtap_record *record, size_t size)
{
	if (record->type == FLOWTAP_RECORD_SAMPLE && size >= sizeof(struct flowtap_record_sample))
		return ((const struct flowtap_record_sample *)record)->tid;
	if (record->type == FLOWTAP_RECORD_GAP && size >= sizeof(struct flowtap_record_gap))
		return ((const struct flowtap_record_gap *)record)->tid;
	return 0;
}

static int take_record(struct flowtap_replay *replay, uint32_t cpu,
		       const struct flowtap_record *record, size_t size)
{
	struct decoding *decoding = replay->argument;
	uint32_t wanted = decoding->options->tid, tid = wanted ? tid_of(record, size) : 0;
	int error;

	(void)cpu;
	if (tid && tid != wanted)
		return 0;
	error = open_sink(decoding);
	if (error)
		return error;
	if (decoding->progress && replay->counts.records % 64 == 0)
		show_progress(decoding);
	return flowtap_ctr_decode(decoding->ctr, record, size);
}

/* --- The command --- */

static int parse(int argc, char **argv, struct options *options)
{
	enum { LONG_SYSROOT = 256, LONG_TID, LONG_JSON };
	static const struct option long_options[] = {
		{ "to", required_argument, NULL, 't' },
		{ "output", required_argument, NULL, 'o' },
		{ "sysroot", required_argument, NULL, LONG_SYSROOT },
		{ "tid", required_argument, NULL, LONG_TID },
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
			if (strcmp(optarg, "stf") && strcmp(optarg, "flow"))
				return -1 - misused(argv[0], "'%s' is not stf or flow", optarg);
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
		return -1 - misused(argv[0], "--to stf or --to flow is missing");
	if (options->output && !*options->output)
		return -1 - misused(argv[0], "-o takes the name of a file");
	options->input = argv[optind];
	return 0;
}

/* "dir/name.ftap" -> "name.stf", here. malloc'ed. */
static char *default_output(const struct options *options)
{
	const char *name = strrchr(options->input, '/');
	const char *end;
	char *output;

	if (!strcmp(options->input, "-"))
		return strdup("-");
	name = name ? name + 1 : options->input;
	end = strrchr(name, '.');
	if (asprintf(&output, "%.*s.%s", end && end != name ? (int)(end - name) : (int)strlen(name), name,
		     options->format) < 0)
		return NULL;
	return output;
}

static bool same_file(int input, const char *path)
{
	struct stat one, other;

	return !fstat(input, &one) && !stat(path, &other) && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

static int check_paths(const struct options *options, int input)
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
	if (!strcmp(options->output, "-") && !strcmp(options->format, "stf") && isatty(STDOUT_FILENO)) {
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

static int set_up(struct decoding *decoding)
{
	decoding->map = flowtap_map_new(decoding->options->sysroot);
	decoding->blocks = flowtap_blocks_new(flowtap_riscv_block, FLOWTAP_ISA_RV64, 0);
	tap_init(&decoding->tap, decoding->map);
	if (decoding->map && decoding->blocks)
		decoding->ctr = flowtap_ctr_new(decoding->map, decoding->blocks, &decoding->tap.sink);
	if (!decoding->ctr) {
		complain("no memory");
		return -ENOMEM;
	}
	decoding->replay = (struct flowtap_replay){
		.block = take_block,
		.damage = take_damage,
		.record = take_record,
		.argument = decoding,
	};
	return 0;
}

static void summarise(const struct decoding *decoding, const char *output, uint64_t bytes)
{
	const struct options *options = decoding->options;
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
	const struct options *options = decoding->options;
	uint64_t bytes = 0;
	int error, written;

	decoding->progress = !options->quiet && isatty(STDERR_FILENO) &&
			     input_size(input) > PROGRESS_BYTES;
	error = flowtap_replay(&decoding->replay, input, decoding->map);
	if (decoding->shown)
		fprintf(stderr, "\r%30s\r", "");
	if (!error)
		error = finish_sink(decoding);
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

static void clean_up(struct decoding *decoding)
{
	flowtap_stf_free(decoding->stf);
	flowtap_text_free(decoding->text);
	flowtap_ctr_free(decoding->ctr);
	tap_free(&decoding->tap);
	flowtap_blocks_free(decoding->blocks);
	flowtap_map_free(decoding->map);
	free(decoding->info);
}

int decode_command(int argc, char **argv)
{
	struct options options = { .tid = 0 };
	struct decoding decoding = { .options = &options, .output = { .fd = -1 } };
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
	else if (!check_paths(&options, input) && !set_up(&decoding) &&
		 !output_open_part(&decoding.output, options.output))
		status = decode(&decoding, input);
	clean_up(&decoding);
	close(input);
	free(name);
	return status;
}
