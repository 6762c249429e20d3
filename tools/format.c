// SPDX-License-Identifier: GPL-2.0-only
#include "format.h"

#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int open_stf(struct format *format, struct output *output,
		    const struct decode_options *options, struct flowtap_blocks *blocks,
		    const char *about)
{
	const struct flowtap_zstf_options zstf = { .level = options->level };
	struct flowtap_stf_options wish = {
		.generator = 0xff,
		.generator_comment = "flowtap",
		.blocks = blocks,
		.zstf = strcmp(options->format, "zstf") ? NULL : &zstf,
	};
	unsigned int major = 0, minor = 0;
	char *comment;
	int error;

	if (asprintf(&comment, "flowtap " FLOWTAP_VERSION " decode\n%s", about) < 0)
		return -ENOMEM;
	if (sscanf(FLOWTAP_VERSION, "%u.%u", &major, &minor) == 2) {
		wish.version[0] = (uint8_t)major;
		wish.version[1] = (uint8_t)minor;
	}
	wish.comment = comment;
	error = flowtap_stf_new(output->fd, &wish, &format->stf);
	free(comment);
	if (!error && wish.zstf)
		output_keep(output);
	if (!error)
		format->sink = flowtap_stf_sink(format->stf);
	return error;
}

int format_open(struct format *format, struct output *output, const struct decode_options *options,
		struct flowtap_blocks *blocks, const char *comment)
{
	int error;

	if (strcmp(options->format, "flow"))
		return open_stf(format, output, options, blocks, comment);
	error = flowtap_text_new(output->fd, blocks, &format->text);
	if (!error)
		format->sink = flowtap_text_sink(format->text);
	return error;
}

int format_finish(struct format *format)
{
	return format->stf ? flowtap_stf_finish(format->stf) : flowtap_text_finish(format->text);
}

void format_free(struct format *format)
{
	flowtap_stf_free(format->stf);
	flowtap_text_free(format->text);
	*format = (struct format){ .sink = NULL };
}
