// SPDX-License-Identifier: GPL-2.0-only
/* Parses the command line of `flowtap decode`, and checks that its options fit together. */
#include "decode/decode.h"

#include "common/ete_config.h"
#include "common/format.h"
#include "common/input_file.h"
#include "common/tool.h"

#include <flowtap/frame.h>
#include <fcntl.h>
#include <getopt.h>
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
	"the raw bytes of an ETE; - is standard input.\n"
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
	"Raw bytes of an ETE:\n"
	"      --config KEY=VALUE,...\n"
	"                      the trace unit's registers: " ETE_CONFIG_KEYS "\n"
	"      --memory FILE@ADDRESS[,SPACE][,contextid=N][,vmid=N][,offset=N][,size=N]\n"
	"                      what was in memory; SPACE: EL1N, EL2, EL3, S, N, R ...; may come\n"
	"                      again, the first one counts; adds to a snapshot's\n"
	"      --elf FILE[@OFFSET][,SPACE][,contextid=N][,vmid=N]\n"
	"                      the same of an ELF file, loaded at its addresses plus OFFSET\n"
	"      --framed        the bytes are in CoreSight's frames, with or without frame syncs\n"
	"      --id N          which trace ID of them, if not that of traceidr\n"
	"\n"
	"The summary goes to standard output, to standard error if the trace goes there. OUT is\n"
	"written under another name (OUT.part) until it is whole. What was written stays there, to\n"
	"be read, if the command is interrupted or the disk is full; of the flow it is removed.\n"
	"\n"
	"Exit status: 0; 1 for an error; 2 for wrong usage; 3 if IN is damaged, what is good\n"
	"of it was decoded.\n";

enum {
	LONG_SYSROOT = 256, LONG_TID, LONG_JSON, LONG_CPU, LONG_CONFIG, LONG_MEMORY,
	LONG_ELF, LONG_FRAMED, LONG_ID, LONG_KEEP_FAILED, LONG_BLOCK_MEMORY, LONG_SPLIT,
};

static const struct option long_options[] = {
	FORMAT_OPTIONS,
	{ "output", required_argument, NULL, 'o' },
	{ "sysroot", required_argument, NULL, LONG_SYSROOT },
	{ "tid", required_argument, NULL, LONG_TID },
	{ "split", required_argument, NULL, LONG_SPLIT },
	{ "cpu", required_argument, NULL, LONG_CPU },
	{ "config", required_argument, NULL, LONG_CONFIG },
	{ "memory", required_argument, NULL, LONG_MEMORY },
	{ "elf", required_argument, NULL, LONG_ELF },
	{ "framed", no_argument, NULL, LONG_FRAMED },
	{ "id", required_argument, NULL, LONG_ID },
	{ "keep-failed-transactions", no_argument, NULL, LONG_KEEP_FAILED },
	{ "block-memory", required_argument, NULL, LONG_BLOCK_MEMORY },
	{ "quiet", no_argument, NULL, 'q' },
	{ "json", no_argument, NULL, LONG_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 }
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

/* FILE@ADDRESS,ITEM,...: text is changed and stays in use. */
static bool parse_image(struct decode_image *image, char *text)
{
	char *at = strrchr(text, '@'), *list = NULL, *item;
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

static int add_image(const char *command, struct decode_options *options, char *text, bool elf)
{
	struct decode_image image = { .elf = elf, .file.directory = -1 };
	struct decode_image *images;
	char whole[256];

	snprintf(whole, sizeof(whole), "%s", text);
	if (!parse_image(&image, text))
		return -1 - misused(command, elf ? "'%s' is not FILE[@OFFSET][,SPACE][,contextid=N]"
						   "[,vmid=N]" :
						   "'%s' is not FILE@ADDRESS[,SPACE][,contextid=N]"
						   "[,vmid=N][,offset=N][,size=N]", whole);
	images = realloc(options->images, (options->n_images + 1) * sizeof(images[0]));
	if (!images) {
		complain("no memory");
		return -1 - STATUS_ERROR;
	}
	options->images = images;
	images[options->n_images++] = image;
	return 0;
}

static bool parse_split(const char *text, enum decode_split *split)
{
	static const char *const names[] = {
		[SPLIT_THREAD] = "thread", [SPLIT_PROCESS] = "process", [SPLIT_CPU] = "cpu",
	};

	for (int i = SPLIT_THREAD; i <= SPLIT_CPU; i++) {
		if (strcmp(text, names[i]))
			continue;
		*split = i;
		return true;
	}
	return false;
}

static int take(const char *command, int option, struct decode_options *options)
{
	char names[128];
	uint64_t value;
	int status;

	switch (option) {
	case 'o':
		options->output = optarg;
		return 0;
	case LONG_SYSROOT:
		options->sysroot = optarg;
		return 0;
	case LONG_TID:
		if (!number_parse(optarg, 1, UINT32_MAX, &value))
			return -1 - misused(command, "'%s' is not a thread id", optarg);
		options->tid = (uint32_t)value;
		return 0;
	case LONG_SPLIT:
		if (!parse_split(optarg, &options->split))
			return -1 - misused(command, "'%s' is not thread, process or cpu", optarg);
		return 0;
	case LONG_CPU:
		options->cpu = optarg;
		return 0;
	case LONG_CONFIG:
		options->config = optarg;
		return 0;
	case LONG_MEMORY:
	case LONG_ELF:
		return add_image(command, options, optarg, option == LONG_ELF);
	case LONG_FRAMED:
		options->framed = true;
		return 0;
	case LONG_ID:
		if (!number_parse(optarg, FLOWTAP_FRAME_FIRST, FLOWTAP_FRAME_LAST, &value))
			return -1 - misused(command, "'%s' is not a trace ID from 0x1 to 0x6f",
					    optarg);
		options->id = (int)value;
		return 0;
	case LONG_KEEP_FAILED:
		options->keep_failed = true;
		return 0;
	case LONG_BLOCK_MEMORY:
		if (!number_parse_size(optarg, &options->block_memory) ||
		    options->block_memory > SIZE_MAX)
			return -1 - misused(command, "'%s' is not a size as 64M", optarg);
		return 0;
	case 'q':
		options->quiet = true;
		return 0;
	case LONG_JSON:
		options->json = true;
		return 0;
	case 'h':
		printf(help, format_names(names, sizeof(names), FORMAT_WRITES));
		return -1 - STATUS_OK;
	default:
		status = format_request_option(&options->format, command, option, optarg);
		return status ? -1 - status : 0;
	}
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
		kind = n > 0 ? format_of_bytes(begin, (size_t)n) : NULL;
		close(fd);
	}
	return kind ? decode_already_trace(input, kind) :
		      misused(command, "--to %s is missing",
			      format_names(names, sizeof(names), FORMAT_WRITES));
}

int decode_options_parse(int argc, char **argv, struct decode_options *options)
{
	int option, result;

	*options = (struct decode_options){ .id = -1, .format.command = "decode" };
	while ((option = getopt_long(argc, argv, "t:o:qh", long_options, NULL)) != -1) {
		result = take(argv[0], option, options);
		if (result)
			return result;
	}
	if (argc - optind != 1)
		return -1 - misused(argv[0], argc == optind ? "the file IN is missing" :
				    "one file IN at a time");
	if (!options->format.kind)
		return -1 - no_format(argv[0], argv[optind]);
	result = format_request_check(&options->format, argv[0]);
	if (result)
		return -1 - result;
	if (options->output && !*options->output)
		return -1 - misused(argv[0], "-o takes the name of a file");
	if (options->split && options->output && !strcmp(options->output, "-"))
		return -1 - misused(argv[0], "--split writes several files: name them with -o");
	if (options->id >= 0 && !options->framed)
		return -1 - misused(argv[0], "--id is for --framed");
	options->input = argv[optind];
	return 0;
}

void decode_options_free(struct decode_options *options)
{
	free(options->images);
	format_request_free(&options->format);
}
