/* SPDX-License-Identifier: GPL-2.0-only */
/* What a reader of text makes of it, as lines of the flow. */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_READ_TEXT_H
#define FLOWTAP_SELFTESTS_SUPPORT_READ_TEXT_H

#include <flowtap/learned.h>
#include <flowtap/qemu4v.h>
#include <flowtap/read.h>
#include <flowtap/tarmac.h>
#include <flowtap/text.h>
#include <fcntl.h>

#include "support/sink.h"

struct text_read {
	struct flowtap_read read;
	int status;
	struct output output;		/* the flow */
	char problems[2048];		/* LINE:REASON; ... */
};

static inline void text_read_problem(struct flowtap_read *read, uint64_t offset, uint64_t line,
				     const char *reason)
{
	struct text_read *text = read->argument;
	size_t length = strlen(text->problems);

	snprintf(text->problems + length, sizeof(text->problems) - length, "%llu:%s; ",
		 (unsigned long long)line, reason);
}

typedef int (*text_reader)(struct flowtap_read *read, int fd);

static inline void text_read_fd(struct text_read *text, text_reader reader, int fd)
{
	struct flowtap_learned *learned = flowtap_learned_new(0);
	struct flowtap_text *lines;

	memset(text, 0, sizeof(*text));
	text->output = output_new();
	if (!learned || flowtap_text_new(text->output.fd, flowtap_learned_blocks(learned), &lines))
		abort();
	text->read = (struct flowtap_read){
		.sink = flowtap_text_sink(lines), .learned = learned,
		.problem = text_read_problem, .argument = text,
	};
	text->status = reader(&text->read, fd);
	if (flowtap_text_finish(lines))
		abort();
	flowtap_text_free(lines);
	flowtap_learned_free(learned);
	output_read(&text->output);
}

static inline void text_read_bytes(struct text_read *text, text_reader reader, const void *bytes,
				   size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	text_read_fd(text, reader, fd);
	close(fd);
}

static inline void text_read_done(struct text_read *text)
{
	output_free(&text->output);
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_READ_TEXT_H */
