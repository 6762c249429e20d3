// SPDX-License-Identifier: GPL-2.0-only
#include "decode.h"

#include "ete_config.h"
#include "tool.h"

#include <flowtap/frame.h>
#include <flowtap/zstf.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"usage: flowtap decode IN --to stf|zstf|flow [OPTION...]\n"
	"\n"
	"Makes a trace of IN: an STF file for simulators, plain or compressed, or the flow as\n"
	"text.\n"
	"IN is a recording (.ftap), an Arm snapshot directory, a perf.data with cs_etm traces, or\n"
	"the raw bytes of an ETE; - is standard input.\n"
	"\n"
	"  -t, --to FORMAT     stf, zstf (compressed, in chunks with an index) or flow\n"
	"  -o, --output OUT    the file (IN with its ending changed), - for standard output\n"
	"      --sysroot DIR   where the recorded machine's files are, found by path or build-id\n"
	"      --tid TID       only this thread\n"
	"      --cpu CPU       of an Arm trace only this CPU, by name or number; without it each\n"
	"                      CPU of several has a file of its own, OUT with the CPU in its name\n"
	"      --level N       of compression, 1 (fast) to 19 (small); 3\n"
	"      --block-memory SIZE\n"
	"                      for the cache of decoded blocks, with K, M or G; 256M\n"
	"      --keep-failed-transactions\n"
	"                      of an Arm trace: their instructions come out as well\n"
	"  -q, --quiet         no summary and no progress\n"
	"      --json          the summary as JSON\n"
	"  -h, --help          this text\n"
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
	"written under another name (OUT.part) until it is whole; a .zstf that is interrupted\n"
	"stays there and can be read up to its last whole chunk.\n"
	"\n"
	"Exit status: 0; 1 for an error; 2 for wrong usage; 3 if IN is damaged, what is good\n"
	"of it was decoded.\n";

enum {
	LONG_SYSROOT = 256, LONG_TID, LONG_LEVEL, LONG_JSON, LONG_CPU, LONG_CONFIG, LONG_MEMORY,
	LONG_ELF, LONG_FRAMED, LONG_ID, LONG_KEEP_FAILED, LONG_BLOCK_MEMORY,
};

static const struct option long_options[] = {
	{ "to", required_argument, NULL, 't' },
	{ "output", required_argument, NULL, 'o' },
	{ "sysroot", required_argument, NULL, LONG_SYSROOT },
	{ "tid", required_argument, NULL, LONG_TID },
	{ "level", required_argument, NULL, LONG_LEVEL },
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

/* "64M" -> bytes. */
static bool parse_size(const char *text, uint64_t *value)
{
	static const char units[] = "KMG";
	char digits[24];
	size_t size = strlen(text), shift = 0;
	const char *unit = size ? strchr(units, text[size - 1]) : NULL;

	if (unit && *unit) {
		shift = 10 * (size_t)(unit - units + 1);
		size--;
	}
	if (!size || size >= sizeof(digits))
		return false;
	memcpy(digits, text, size);
	digits[size] = 0;
	if (!number_parse(digits, 1, UINT64_MAX >> shift, value))
		return false;
	*value <<= shift;
	return true;
}

/* One of what may stand behind an image's address; item is changed. */
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

static int take(const char *command, int option, struct decode_options *options)
{
	uint64_t value;

	switch (option) {
	case 't':
		if (strcmp(optarg, "stf") && strcmp(optarg, "zstf") && strcmp(optarg, "flow"))
			return -1 - misused(command, "'%s' is not stf, zstf or flow", optarg);
		options->format = optarg;
		return 0;
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
	case LONG_LEVEL:
		if (!number_parse(optarg, 1, FLOWTAP_ZSTF_LEVEL_MAX, &value))
			return -1 - misused(command, "'%s' is not a level from 1 to %d", optarg,
					    FLOWTAP_ZSTF_LEVEL_MAX);
		options->level = (int)value;
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
		if (!parse_size(optarg, &options->block_memory) ||
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
		fputs(help, stdout);
		return -1 - STATUS_OK;
	default:
		return -1 - usage_hint(command);
	}
}

int decode_options_parse(int argc, char **argv, struct decode_options *options)
{
	int option, result;

	*options = (struct decode_options){ .id = -1 };
	while ((option = getopt_long(argc, argv, "t:o:qh", long_options, NULL)) != -1) {
		result = take(argv[0], option, options);
		if (result)
			return result;
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
	if (options->id >= 0 && !options->framed)
		return -1 - misused(argv[0], "--id is for --framed");
	options->input = argv[optind];
	return 0;
}

void decode_options_free(struct decode_options *options)
{
	free(options->images);
}
