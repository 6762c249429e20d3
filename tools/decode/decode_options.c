// SPDX-License-Identifier: GPL-2.0-only
/* Parses the command line of `flowtap decode`, and checks that its options fit together. */
#include "decode/decode.h"

#include "common/format.h"
#include "common/input_file.h"
#include "common/output_file.h"
#include "common/parse_options.h"
#include "common/raw_options.h"
#include "common/tool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For printf, with the names of the formats. */
static const char help[] =
	"usage: flowtap decode IN --to FORMAT [OPTION...]\n"
	"\n"
	"Makes a trace of IN: an STF file for simulators, plain or (zstf) compressed in chunks with\n"
	"an index; Tarmac or QEMU4V, text with a line for each instruction; the flow as text; or,\n"
	"of its calls, how many led to each function.\n"
	"IN is a recording (.ftap), an Arm snapshot directory, a perf.data with cs_etm traces, or\n"
	"the raw bytes of an ETE or ETMv4; - is standard input.\n"
	"\n"
	"  -t, --to FORMAT     %s\n"
	"  -o, --output OUT    the file (IN with its ending changed), - for standard output\n"
	"      --force         replace OUT if there is such a file\n"
	"      --sysroot DIR   where the recorded machine's files are, found by path or build-id\n"
	"                      (/); after that in the directory `images` beside IN\n"
	"      --tid TID       only this thread\n"
	"      --cpu CPU       of an Arm trace only this CPU, by name or number; without it each\n"
	"                      CPU of several has a file of its own, OUT with the CPU in its name\n"
	"                      (not of a .ftap: there all are one flow)\n"
	"      --split WHAT    of a .ftap a file for each thread, process or cpu: OUT with tid, pid\n"
	"                      or cpu and the number in its name\n"
	"      --block-memory SIZE\n"
	"                      for the cache of decoded blocks, with K, M or G; 256M\n"
	"      --keep-failed-transactions\n"
	"                      of an Arm trace: their instructions come out as well\n"
	"  -q, --quiet         no summary and no progress\n"
	"      --json          the summary as JSON\n"
	"  -h, --help          this text\n"
	"\n"
	"Options of formats:\n"
	FORMAT_HELP
	"\n"
	"Raw bytes of an ETE or ETMv4:\n"
	"      --config KEY=VALUE,...\n"
	"                      the trace unit's registers: " ETE_CONFIG_KEYS ";\n"
	"                      devarch=0x47704a13: an ETMv4; profile=m: of the M profile\n"
	"      --memory FILE@ADDRESS[,SPACE][,contextid=N][,vmid=N][,offset=N][,size=N]\n"
	"                      what was in memory; SPACE: EL1N, EL2, EL3, S, N, R ...; may come\n"
	"                      again, the first one counts; adds to a snapshot's\n"
	"      --elf FILE[@OFFSET][,SPACE][,contextid=N][,vmid=N]\n"
	"                      the same of an ELF file, loaded at its addresses plus OFFSET\n"
	"      --framed[=dstream]\n"
	"                      the bytes are in CoreSight's frames, with or without frame syncs;\n"
	"                      dstream: and --dstream\n"
	"      --dstream       they are in a DSTREAM probe's file, whose blocks have footers\n"
	"      --id N          which trace ID of them, if not that of traceidr\n"
	"\n"
	"The summary goes to standard output, to standard error if the trace goes there. OUT is\n"
	"written under another name (OUT.part) until it is whole. What was written stays there, to\n"
	"be read, if the command is interrupted or the disk is full; of the flow it is removed.\n"
	"\n"
	"Exit status: 0; 1 for an error; 2 for wrong usage; 3 if IN is damaged, or of a CPU in it\n"
	"nothing could be decoded, what is good of it was; 4 if nothing is wrong with IN, and\n"
	"nothing ran.\n";

static const struct name splits[] = {
	{ SPLIT_THREAD, "thread" },
	{ SPLIT_PROCESS, "process" },
	{ SPLIT_CPU, "cpu" },
	{ 0, NULL }
};

/* One of what may follow an image's address; item is changed. */
static bool parse_item(struct decode_image *image, char *item)
{
	struct flowtap_memory_filter *filter = &image->file.filter;
	char *value = strchr(item, '=');
	uint64_t number;

	if (!value) {
		uint8_t spaces = flowtap_memory_space(item);

		filter->spaces |= spaces;
		return spaces;
	}
	*value++ = 0;
	if (!number_parse(value, 0, UINT64_MAX, &number))
		return false;
	if (!strcmp(item, "contextid")) {
		filter->has_contextid = true;
		filter->contextid = number;
	} else if (!strcmp(item, "vmid") && number <= UINT32_MAX) {
		filter->has_vmid = true;
		filter->vmid = (uint32_t)number;
	} else if (!strcmp(item, "offset") && !image->elf) {
		image->file.offset = number;
	} else if (!strcmp(item, "size") && !image->elf && number) {
		image->file.size = number;
	} else {
		return false;
	}
	return true;
}

/* FILE@ADDRESS,ITEM,...: its text is cut into these. */
static bool parse_image(struct decode_image *image)
{
	char *text = image->text, *at = strrchr(text, '@'), *list = NULL, *item;
	bool address = at && at[1] >= '0' && at[1] <= '9';

	if (address) {
		*at++ = 0;
		list = strchr(at, ',');
		if (list)
			*list++ = 0;
		if (!number_parse(at, 0, UINT64_MAX, &image->file.address))
			return false;
	} else if (!image->elf) {
		return false;
	} else {
		list = strchr(text, ',');
		if (list)
			*list++ = 0;
	}
	image->file.path = text;
	while ((item = strsep(&list, ",")))
		if (!parse_item(image, item))
			return false;
	return *text;
}

static const char *add_image(const struct command_option *option, const char *text)
{
	struct decode_options *options = option->into;
	struct decode_image *images, *image;
	char *copy = strdup(text);

	images = reallocarray(options->images, options->n_images + 1, sizeof(images[0]));
	options->images = images ? images : options->images;
	if (!images || !copy) {
		free(copy);
		complain("no memory");
		return option_failed;
	}
	image = &images[options->n_images++];
	*image = (struct decode_image){
		.text = copy, .elf = option->bits, .file.directory = -1,
	};
	return parse_image(image) ? NULL : option->wanted;
}

static const char *parse_size(const struct command_option *option, const char *text)
{
	uint64_t *size = option->into;

	return number_parse_size(text, size) && *size <= SIZE_MAX ? NULL : "a size as 64M";
}

static const char *print_help(const struct command_option *option, const char *text)
{
	char names[128];

	(void)option, (void)text;
	printf(help, format_names(names, sizeof(names), FORMAT_WRITES));
	return option_done;
}

int decode_already_trace(const char *path, const struct format_kind *kind)
{
	const char *input = input_name(path);

	complain("'%s' is a trace (%s), nothing to be decoded", input, kind->title);
	advise("flowtap convert %s OUT writes it in another format", input);
	advise("flowtap dump, stat, diff and check read it as it is");
	return STATUS_ERROR;
}

/* To name a format helps only where there is something to be decoded. */
static int no_format(const char *command, const char *input)
{
	int fd = open(input, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const struct format_kind *kind = NULL;
	char begin[4096], names[128];
	ssize_t n;

	if (fd >= 0) {
		n = pread(fd, begin, sizeof(begin), 0);
		kind = n > 0 && !input_packing(fd, false) ? format_of_bytes(begin, (size_t)n) : NULL;
		close(fd);
	}
	return kind ? decode_already_trace(input, kind) :
		      misused(command, "--to %s is missing",
			      format_names(names, sizeof(names), FORMAT_WRITES));
}

static int parse(int argc, char **argv, struct decode_options *options)
{
	const struct command_option table[] = {
		OPTIONS_OF(format_request_options(&options->format)),
		OPTION_STRING('o', "output", &options->output, .wanted = "the name of a file"),
		OPTION_STRING(0, "sysroot", &options->sysroot),
		OPTION_NUMBER(0, "tid", &options->tid, 1, UINT32_MAX, "a thread id"),
		OPTION_CHOICE(0, "split", &options->split, splits, "thread, process or cpu"),
		OPTION_STRING(0, "cpu", &options->cpu),
		OPTION_STRING(0, "config", &options->config),
		OPTION(0, "memory", required_argument, add_image, options, .bits = false,
		       .wanted = "FILE@ADDRESS[,SPACE][,contextid=N][,vmid=N][,offset=N][,size=N]"),
		OPTION(0, "elf", required_argument, add_image, options, .bits = true,
		       .wanted = "FILE[@OFFSET][,SPACE][,contextid=N][,vmid=N]"),
		OPTIONS_FRAMING(&options->framing),
		OPTION_TRACE_ID(&options->id),
		OPTION_FLAG(0, "keep-failed-transactions", &options->keep_failed),
		OPTION(0, "block-memory", required_argument, parse_size, &options->block_memory),
		OPTION_FLAG('q', "quiet", &options->quiet),
		OPTION_FLAG(0, "json", &options->json),
		OPTION('h', "help", no_argument, print_help, NULL),
		OPERAND("file IN")};

	return parse_options(argc, argv, table);
}

int decode_options_parse(int argc, char **argv, struct decode_options *options)
{
	int status;

	*options = (struct decode_options){ .id = -1, .format.command = "decode" };
	status = parse(argc, argv, options);
	if (status != OPTIONS_TAKEN)
		return status;
	if (!options->format.kind)
		return no_format(argv[0], argv[optind]);
	status = format_request_check(&options->format, argv[0]);
	if (status)
		return status;
	options->input = argv[optind];
	if (options->output)
		options->output = output_path(options->output);
	if (options->split && !strcmp(options->output ?: options->input, "-"))
		return misused(argv[0], "--split writes several files: name them with -o");
	if (options->id >= 0 && !options->framing.framed)
		return misused(argv[0], "--id is for --framed");
	return OPTIONS_TAKEN;
}

void decode_options_free(struct decode_options *options)
{
	for (size_t i = 0; i < options->n_images; i++)
		free(options->images[i].text);
	free(options->images);
	format_request_free(&options->format);
}
