// SPDX-License-Identifier: GPL-2.0-only
/* flowtap dump: what is in a file. */
#include "dump.h"

#include "input.h"
#include "perf.h"
#include "tool.h"

#include <errno.h>
#include <flowtap/archive.h>
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

int dump_command(int argc, char **argv)
{
	static const struct option options[] = {
		{ "blocks", no_argument, NULL, 'b' },
		{ "hex", no_argument, NULL, 'x' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	bool contents = true, hex = false;
	int option, status, fd;

	while ((option = getopt_long(argc, argv, "bxh", options, NULL)) != -1) {
		switch (option) {
		case 'b':
			contents = false;
			break;
		case 'x':
			hex = true;
			break;
		case 'h':
			fputs(help, stdout);
			return STATUS_OK;
		default:
			return usage_hint(argv[0]);
		}
	}
	if (argc - optind != 1)
		return misused(argv[0],
			       argc == optind ? "the FILE is missing" : "one FILE at a time");
	fd = input_open(argv[optind]);
	if (fd < 0)
		return STATUS_ERROR;
	status = dump(fd, input_name(argv[optind]), contents, hex);
	close(fd);
	return status;
}
