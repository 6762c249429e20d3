/* SPDX-License-Identifier: GPL-2.0-only */
/* The formats of traces: what each can hold, who reads it, who writes it. */
#ifndef FLOWTAP_TOOLS_COMMON_FORMAT_H
#define FLOWTAP_TOOLS_COMMON_FORMAT_H

#include "common/format_request.h"
#include "common/left_out.h"
#include "common/output_file.h"

#include <flowtap/block.h>
#include <flowtap/read.h>

/*
 * What a format holds of a flow beside instructions: 1 << enum flowtap_element_kind, and of
 * contexts
 */
#define FORMAT_HOLDS(element)	(1ULL << FLOWTAP_ELEMENT_##element)
#define FORMAT_HOLDS_TASK	(1ULL << 32)	/* pid, tid */
#define FORMAT_HOLDS_CPU	(1ULL << 33)
#define FORMAT_HOLDS_MODE	(1ULL << 34)
#define FORMAT_HOLDS_SECURITY	(1ULL << 35)
#define FORMAT_HOLDS_IDS	(1ULL << 36)	/* VMID, CONTEXTIDR */
/* mode and security state also where no instruction is: of exceptions and gaps */
#define FORMAT_HOLDS_MODE_APART	(1ULL << 37)
#define FORMAT_HOLDS_ALL	(~0ULL)

struct format;

struct format_kind {
	const char *name;		/* of --to and --from, and the ending of files */
	const char *title;		/* in sentences */
	uint64_t holds;
	uint64_t holds_named;		/* with cpu_names as well */
	bool binary;			/* nothing for a terminal */
	bool seeks;			/* its end is written at its beginning: regular files only */
	bool one_cpu;			/* a file has one CPU's */
	bool one_stream;		/* its readers do not look at whose an instruction is */
	bool names;			/* of functions are in it */
	bool text;			/* with disassembly: */
	enum flowtap_disasm_style disasm_style;
	/*
	 * NULL: not written. Sets format->sink, and format->writer, which is for the next ones. 0
	 * or -errno.
	 */
	int (*open)(struct format *format, struct output *output,
		    const struct format_request *request,
		    struct flowtap_blocks *blocks, const char *comment);
	/* What is left. 0 or -errno. */
	int (*finish)(void *writer);
	/* That were written; NULL: it does not count them. */
	uint64_t (*bytes)(const void *writer);
	/* Lines of which the end is left out; NULL: there are none. */
	uint64_t (*cut)(const void *writer);
	/* Instructions that are left out, for their targets are not known; NULL: there are none. */
	uint64_t (*jumps)(const void *writer);
	void (*free)(void *writer);
	/* NULL: not read. */
	int (*read)(struct flowtap_read *read, int fd);
	/* Whether a file that begins so is one; NULL: never. */
	bool (*is)(const char *begin, size_t size);
};

/* Ends with a NULL name. */
extern const struct format_kind format_kinds[];

enum format_use {
	FORMAT_READS,
	FORMAT_WRITES,
};

/* NULL: there is none. */
const struct format_kind *format_of_name(const char *name);
/* By the ending of a file's name: ".stf.gz" is none that is written. */
const struct format_kind *format_of_path(const char *path);
/* By what is in the first 4 KiB. */
const struct format_kind *format_of_bytes(const char *begin, size_t size);
/* "stf, zstf or flow", cut to size; returns buffer. */
const char *format_names(char *buffer, size_t size, enum format_use use);

/*
 * Whether the format can be written to `path` ("-": standard output). 0 or -errno after a
 * complaint. What must not be written over: input, an open file, -1 none; and the one of the name
 * input_path ("-": none), of which input may be an unpacked copy.
 */
int format_check_path(const struct format_kind *kind, const char *path, int input,
		      const char *input_path);
/*
 * `doing` for struct progress while the format is written to `path`; NULL: nothing is shown, since
 * `quiet` is set or it would disturb text on standard output (progress_beside_text).
 */
const char *format_progress(const struct format_kind *kind, const char *path, bool quiet,
			    const char *doing);

/* Complains that the format cannot hold the code that is in `input`. */
void format_complain_isa(const struct format_kind *kind, const char *input);

struct format {
	const struct format_kind *kind;
	struct flowtap_sink *sink;	/* NULL: not open; it counts into left_out */
	struct left_out left_out;
	void *writer;			/* the library's, of this kind */
};

/*
 * Writes to output, which is open. The format stays where it is in memory. comment: lines about the
 * trace, for those formats that can hold them. blocks: where blocks come from. All zeros is one
 * that is not open. 0 or -errno.
 */
int format_open(struct format *format, struct output *output, const struct format_request *request,
		struct flowtap_blocks *blocks, const char *comment);
/* Writes what is left. 0 or -errno; -ENODATA: no instruction came: only the flow is written. */
int format_finish(struct format *format);
/* Bytes that were written, 0 unknown. */
uint64_t format_bytes(const struct format *format);
void format_free(struct format *format);

#endif /* FLOWTAP_TOOLS_COMMON_FORMAT_H */
