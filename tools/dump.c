// SPDX-License-Identifier: GPL-2.0-only
/* flowtap dump: what is in a file. */
#include "dump.h"

#include "ete_config.h"
#include "input.h"
#include "packets.h"
#include "perf.h"
#include "tool.h"

#include <errno.h>
#include <flowtap/archive.h>
#include <flowtap/frame.h>
#include <flowtap/perfdata.h>
#include <flowtap/zstf.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"usage: flowtap dump [OPTION...] FILE\n"
	"\n"
	"Prints what is in an archive (.ftap: blocks and records), an STF file (.stf, .zstf:\n"
	"records) or a perf.data with cs_etm traces (records), each with its offset. FILE - is\n"
	"standard input.\n"
	"\n"
	"  -b, --blocks   of an archive the blocks only, not what is in them; of a perf.data the\n"
	"                 trace units and stretches of trace only\n"
	"  -x, --hex      of STF the bytes of each record as well\n"
	"  -h, --help     this text\n"
	"\n"
	"Of an Arm snapshot directory or the raw bytes of an ETE:\n"
	"  -p, --packets  its packets (K10.5.2), each with its offset and its bytes\n"
	"      --config KEY=VALUE,...\n"
	"                 of raw bytes, the registers of the trace unit where they are not 0:\n"
	"                 " ETE_CONFIG_KEYS "\n"
	"      --framed   raw bytes are in CoreSight's frames, with or without frame syncs\n"
	"      --id N     which trace ID of them, if not that of traceidr\n"
	"      --cpu CPU  of a snapshot only this CPU, by name or number\n"
	"\n"
	"Exit status: 0; 1 for an error; 2 for wrong usage; 3 if the file is damaged, what is\n"
	"good of it was printed.\n";

/* The first byte says which it is: neither format's can begin the other's. */
static int dump(int fd, const char *path, bool contents, bool hex)
{
	unsigned char first, begin[8];
	ssize_t n = pread(fd, &first, 1, 0);

	if (n <= 0) {
		complain("'%s': %s", path, n ? strerror(errno) : "the file is empty");
		return STATUS_ERROR;
	}
	if (first == (unsigned char)FLOWTAP_ARCHIVE_MAGIC[0])
		return dump_archive(fd, path, contents);
	if (first == 1)
		return dump_stf(fd, path, hex);
	if (first == FLOWTAP_ZSTF_MAGIC[0])
		return dump_zstf(fd, path, hex);
	if (pread(fd, begin, sizeof(begin), 0) == sizeof(begin) &&
	    flowtap_perfdata_is(begin, sizeof(begin)))
		return perf_dump(fd, path, contents);
	complain("'%s' is neither a flowtap archive, a perf.data nor an STF trace", path);
	return STATUS_ERROR;
}

enum {
	LONG_CONFIG = 256, LONG_FRAMED, LONG_ID, LONG_CPU,
};

static const struct option long_options[] = {
	{ "blocks", no_argument, NULL, 'b' },
	{ "hex", no_argument, NULL, 'x' },
	{ "packets", no_argument, NULL, 'p' },
	{ "config", required_argument, NULL, LONG_CONFIG },
	{ "framed", no_argument, NULL, LONG_FRAMED },
	{ "id", required_argument, NULL, LONG_ID },
	{ "cpu", required_argument, NULL, LONG_CPU },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 }
};

/* An option of --packets; 0, or an exit status after a complaint. */
static int packets_option(const char *command, int option, struct packets_options *packets)
{
	uint64_t number;

	switch (option) {
	case LONG_CONFIG:
		packets->config = optarg;
		return 0;
	case LONG_FRAMED:
		packets->framed = true;
		return 0;
	case LONG_CPU:
		packets->cpu = optarg;
		return 0;
	case LONG_ID:
		if (!number_parse(optarg, FLOWTAP_FRAME_FIRST, FLOWTAP_FRAME_LAST, &number))
			return misused(command, "--id %s: a trace ID is 0x%x to 0x%x", optarg,
				       FLOWTAP_FRAME_FIRST, FLOWTAP_FRAME_LAST);
		packets->id = (int)number;
		return 0;
	default:
		return usage_hint(command);
	}
}

int dump_command(int argc, char **argv)
{
	struct packets_options packets = { .id = -1 };
	bool contents = true, hex = false, is_packets = false, of_packets = false;
	int option, status, fd;

	while ((option = getopt_long(argc, argv, "bxph", long_options, NULL)) != -1) {
		switch (option) {
		case 'b':
			contents = false;
			break;
		case 'x':
			hex = true;
			break;
		case 'p':
			is_packets = true;
			break;
		case 'h':
			fputs(help, stdout);
			return STATUS_OK;
		default:
			of_packets = true;
			status = packets_option(argv[0], option, &packets);
			if (status)
				return status;
		}
	}
	if (argc - optind != 1)
		return misused(argv[0],
			       argc == optind ? "the FILE is missing" : "one FILE at a time");
	if (of_packets && !is_packets)
		return misused(argv[0], "--config, --framed, --id and --cpu are for --packets");
	if (is_packets && (!contents || hex))
		return misused(argv[0], "--blocks and --hex are not for --packets");
	packets.path = argv[optind];
	if (is_packets)
		return packets_dump(&packets);
	fd = input_open(argv[optind]);
	if (fd == -EISDIR)
		advise("with --packets the packets of an Arm snapshot are shown");
	if (fd < 0)
		return STATUS_ERROR;
	status = dump(fd, input_name(argv[optind]), contents, hex);
	close(fd);
	return status;
}
