// SPDX-License-Identifier: GPL-2.0-only
/*
 * What `flowtap record` says without a recording.
 *
 *	says begin [OPTION...]	with these options, when it begins on one CPU
 *	says lost N		at the end, where N events of the side band were lost
 *	says looks [OPTION...]	with these options, whether it looks several times a second anyway
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/common/tool.h"
#include "../../tools/record/record_summary.h"

static int say_begin(int argc, char **argv)
{
	struct flowtap_session_stream stream = { 0 };
	struct streams streams = {
		.session = { .streams = &stream, .n = 1, .source = FLOWTAP_SOURCE_CTR },
	};
	struct record_options options;

	if (options_parse(argc, argv, &options) != OPTIONS_TAKEN)
		return STATUS_ERROR;
	stream.configure = options.configure;
	record_summary_begin(&streams, &options);
	return STATUS_OK;
}

static int say_lost(const char *n)
{
	const struct streams streams = { .session = { .source = FLOWTAP_SOURCE_CTR } };

	record_summary_print(&streams, &(struct record_summary){
		.path = "made.ftap", .sideband_lost = strtoull(n, NULL, 10),
	});
	return STATUS_OK;
}

static int say_looks(int argc, char **argv)
{
	struct record_options options;

	if (options_parse(argc, argv, &options) != OPTIONS_TAKEN)
		return STATUS_ERROR;
	puts(options_want_looks(&options) ? "yes" : "no");
	return STATUS_OK;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "begin"))
		return say_begin(argc - 1, argv + 1);
	if (argc > 2 && !strcmp(argv[1], "lost"))
		return say_lost(argv[2]);
	if (argc > 1 && !strcmp(argv[1], "looks"))
		return say_looks(argc - 1, argv + 1);
	return STATUS_USAGE;
}
