/* SPDX-License-Identifier: GPL-2.0-only */
/* What `flowtap decode` is asked for. Why it does not call flowtap_input: see flowtap/input.h. */
#ifndef FLOWTAP_TOOLS_DECODE_DECODE_H
#define FLOWTAP_TOOLS_DECODE_DECODE_H

#include "common/format.h"
#include "common/format_request.h"
#include "common/raw_options.h"

#include <flowtap/memory.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --memory and --elf, in their order. */
struct decode_image {
	char *text;			/* as it was given, cut at what separates its parts */
	struct flowtap_memory_file file;
	bool elf;
};

/* An output for each of them. */
enum decode_split {
	SPLIT_NONE,
	SPLIT_THREAD,
	SPLIT_PROCESS,
	SPLIT_CPU,
};

struct decode_options {
	const char *input;
	struct format_request format;	/* what the trace becomes */
	const char *output;
	const char *sysroot;
	uint32_t tid;			/* 0: all */
	enum decode_split split;	/* of recordings of flowtap */
	bool quiet;
	bool json;
	/* Of Arm's traces. */
	const char *cpu;		/* a name or a number; NULL: all */
	const char *config;		/* KEY=VALUE,...: the registers of a raw trace */
	struct decode_image *images;
	size_t n_images;
	struct framing framing;		/* of a raw trace */
	int id;				/* which trace ID of it, -1: the configuration's */
	bool keep_failed;
	uint64_t block_memory;		/* bytes, 0: the library's default */
};

/*
 * Fills options, with defaults for what is not said; they are to be freed in any case. As
 * parse_options.
 */
int decode_options_parse(int argc, char **argv, struct decode_options *options);
/* Complains that the file is what decoding makes, and says what it is good for. STATUS_ERROR */
int decode_already_trace(const char *path, const struct format_kind *kind);
void decode_options_free(struct decode_options *options);

#endif /* FLOWTAP_TOOLS_DECODE_DECODE_H */
