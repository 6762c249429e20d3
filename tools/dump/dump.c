// SPDX-License-Identifier: GPL-2.0-only
/* flowtap dump: what is in a file. */
#include "dump/dump.h"

#include "common/format.h"
#include "common/input_file.h"
#include "common/parse_options.h"
#include "common/raw_options.h"
#include "common/tool.h"
#include "dump/listing.h"
#include "dump/packets.h"

#include <errno.h>
#include <flowtap/archive.h>
#include <flowtap/disasm.h>
#include <flowtap/perfdata.h>
#include <flowtap/zstf.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"usage: flowtap dump [OPTION...] FILE\n"
	"\n"
	"Prints what is in an archive (.ftap: blocks and records), an STF file (.stf, .zstf:\n"
	"records) or a perf.data with cs_etm traces (records), each with its offset; or of any\n"
	"trace that can be read the instructions. FILE - is standard input.\n"
	"\n"
	"  -b, --blocks   of an archive the blocks only, not what is in them; of a perf.data the\n"
	"                 trace units and regions of trace only\n"
	"  -x, --hex      of STF the bytes of each record as well\n"
	"  -q, --quiet    no progress\n"
	"  -h, --help     this text\n"
	"\n"
	"Of a trace:\n"
	"  -i, --instructions\n"
	"                 each instruction that was executed, with its text and where a branch that\n"
	"                 was taken went; contexts, gaps, exceptions, times between them\n"
	"      --disassembler NAME\n"
	"                 auto, llvm, capstone or none\n"
	"      --symbols FILE[@OFFSET]\n"
	"                 names of functions, of an ELF file loaded OFFSET above its addresses; may\n"
	"                 come again\n"
	"      --skip N   not the first N instructions; those of a .zstf are not even read\n"
	"      --count N  not more than N instructions\n"
	"      --json     the same, one line of JSON for each\n"
	"\n"
	"Of an Arm snapshot directory or the raw bytes of an ETE or ETMv4:\n"
	"  -p, --packets  its packets (K10.5.2), each with its offset and its bytes\n"
	"      --config KEY=VALUE,...\n"
	"                 of raw bytes, the registers of the trace unit where they are not 0:\n"
	"                 " ETE_CONFIG_KEYS ";\n"
	"                 devarch=0x47704a13: an ETMv4; profile=m: of the M profile\n"
	"      --framed[=dstream]\n"
	"                 raw bytes are in CoreSight's frames, with or without frame syncs;\n"
	"                 dstream: and --dstream\n"
	"      --dstream  they are in a DSTREAM probe's file, whose blocks have footers\n"
	"      --id N     which trace ID of them, if not that of traceidr\n"
	"      --cpu CPU  of a snapshot only this CPU, by name or number\n"
	"\n"
	"Exit status: 0; 1 for an error; 2 for wrong usage; 3 if the file is damaged, what is\n"
	"good of it was printed.\n";

struct dumping {
	struct packets_options packets;
	struct listing_request listing;
	bool blocks;			/* only */
	bool hex;
	bool quiet;
	bool is_packets;
	bool instructions;
	/* The first option given of them; NULL: none. */
	const char *of_packets, *of_listing;
};

/* Whether the file has what the options are about: 0, or an exit status after a complaint. */
static int check_file(const char *command, const struct dumping *dumping, const char *path,
		      bool has_blocks, bool has_bytes)
{
	if (dumping->blocks && !has_blocks)
		return misused(command, "--blocks is for an archive or a perf.data, which '%s' is not",
			       path);
	if (dumping->hex && !has_bytes)
		return misused(command, "--hex is for STF (.stf, .zstf), which '%s' is not", path);
	return 0;
}

static bool begins(const char *begin, size_t size, const char *magic)
{
	return !memcmp(begin, magic, size < 4 ? size : 4);
}

static int dump(const char *command, int fd, const char *given, const struct dumping *dumping)
{
	const char *path = input_name(given);
	const struct format_kind *kind;
	char begin[4096];
	ssize_t n = pread(fd, begin, sizeof(begin), 0);
	size_t size = (size_t)n;
	bool stf, zstf, archive, perf;
	struct dump_progress progress;
	const char *packing;
	int status;

	if (n <= 0) {
		complain("'%s': %s", path, n ? strerror(errno) : "the file is empty");
		return STATUS_ERROR;
	}
	archive = begin[0] == FLOWTAP_ARCHIVE_MAGIC[0];
	stf = begins(begin, size, "\1STF");
	zstf = begins(begin, size, FLOWTAP_ZSTF_MAGIC);
	perf = n >= 8 && flowtap_perfdata_is(begin, 8);
	status = check_file(command, dumping, path, archive || perf, stf || zstf);
	if (status)
		return status;
	dump_progress_begin(&progress, fd, dumping->quiet);
	if (archive)
		return dump_archive(fd, path, !dumping->blocks, &progress);
	if (stf)
		return dump_stf(fd, path, dumping->hex, &progress);
	if (zstf)
		return dump_zstf(fd, path, dumping->hex, &progress);
	if (perf)
		return dump_perfdata(fd, path, !dumping->blocks, &progress);
	/* Of what has no records of its own. */
	kind = format_of_bytes(begin, size);
	if (kind && kind->read)
		return listing_dump(command, given, fd, &dumping->listing);
	complain("'%s' is neither a flowtap archive, a perf.data nor a trace", path);
	packing = input_packing(fd, true);
	if (packing)
		advise("it is %s", packing);
	return STATUS_ERROR;
}

static bool is_listing(const struct dumping *dumping)
{
	return dumping->instructions || dumping->of_listing;
}

/* Whether they go together: 0, or an exit status after a complaint. */
static int check(const char *command, const struct dumping *dumping)
{
	if (dumping->of_packets && !dumping->is_packets)
		return misused(command, 
			       "--config, --framed, --dstream, --id and --cpu are for --packets");
	if (dumping->is_packets && (dumping->blocks || dumping->hex))
		return misused(command, "--blocks and --hex are not for --packets");
	if (is_listing(dumping) && (dumping->blocks || dumping->hex || dumping->is_packets))
		return misused(command,
			       "--blocks, --hex and --packets are not for --instructions (--json, "
			       "--skip, --count, --disassembler, --symbols)");
	return 0;
}

static int parse(int argc, char **argv, struct dumping *dumping)
{
	struct packets_options *packets = &dumping->packets;
	struct listing_request *listing = &dumping->listing;
	const struct command_option options[] = {
		OPTION_FLAG('b', "blocks", &dumping->blocks),
		OPTION_FLAG('x', "hex", &dumping->hex),
		OPTION_FLAG('q', "quiet", &dumping->quiet),
		OPTION_FLAG('p', "packets", &dumping->is_packets),
		OPTION_FLAG('i', "instructions", &dumping->instructions),
		OPTION_DISASSEMBLER(&listing->disassembler, .first = &dumping->of_listing),
		OPTION_SYMBOLS(&listing->symbols, .first = &dumping->of_listing),
		OPTIONS_PART(&listing->part, .first = &dumping->of_listing),
		OPTION_FLAG(0, "json", &listing->json, .first = &dumping->of_listing),
		OPTION_STRING(0, "config", &packets->config, .first = &dumping->of_packets),
		OPTIONS_FRAMING(&packets->framing, .first = &dumping->of_packets),
		OPTION_TRACE_ID(&packets->id, .first = &dumping->of_packets),
		OPTION_STRING(0, "cpu", &packets->cpu, .first = &dumping->of_packets),
		OPTION_HELP(help),
		OPERAND("FILE")
	};

	return parse_options(argc, argv, options);
}

int dump_command(int argc, char **argv)
{
	struct dumping dumping = { .packets = { .id = -1 } };
	int status = parse(argc, argv, &dumping), fd;

	if (status != OPTIONS_TAKEN)
		return status;
	status = check(argv[0], &dumping);
	if (status)
		return status;
	dumping.packets.path = argv[optind];
	dumping.packets.quiet = dumping.listing.quiet = dumping.quiet;
	if (dumping.is_packets)
		return packets_dump(&dumping.packets);
	if (is_listing(&dumping))
		return listing_dump(argv[0], argv[optind], -1, &dumping.listing);
	fd = input_open(argv[optind], dumping.quiet);
	if (fd < 0)
		return STATUS_ERROR;
	status = dump(argv[0], fd, argv[optind], &dumping);
	close(fd);
	return status == STATUS_OK && input_unpacked()->damages ? STATUS_DAMAGED : status;
}
