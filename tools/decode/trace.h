/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decoding of Arm's traces, from whatever they come in: what all of these inputs share. The
 * inputs: trace_snapshot.c, trace_raw.c, decode_perfdata.c.
 */
#ifndef FLOWTAP_TOOLS_DECODE_TRACE_H
#define FLOWTAP_TOOLS_DECODE_TRACE_H

#include "common/format.h"
#include "common/output_file.h"
#include "common/progress.h"
#include "decode/decode.h"

#include <flowtap/trace_session.h>

#define TRACE_MISSING_MAX 16

/* A page of which there was no code. */
struct trace_missing {
	uint64_t page;
	uint64_t looks;
};

/* One CPU that was decoded, and what became of it. */
struct trace_cpu {
	char *name;
	char *output;			/* "-": standard output; NULL: nothing was written */
	uint64_t bytes;			/* of the output, 0 unknown */
	uint64_t instructions;
	uint32_t number;
	bool unsupported;		/* none of its trace units can be decoded */
};

struct json;

struct trace_decoding {
	const struct decode_options *options;
	const char *kind;		/* of input, for the summary: "snapshot" ... */
	bool several;			/* CPUs: flow and names of outputs say which */
	/* Sums over all that was decoded. */
	struct flowtap_ete_counts counts;
	uint64_t sessions;
	uint64_t empty;			/* sessions in whose frames the source was not */
	uint64_t frame_damages;
	uint64_t undecoded;		/* traces, while others were decoded */
	uint64_t distinct;		/* blocks; not known where some were evicted */
	bool evicted;
	uint64_t code_bytes;		/* that were read */
	uint64_t began;			/* ns */
	struct trace_cpu *cpus;
	size_t n_cpus;
	struct trace_missing missing[TRACE_MISSING_MAX];
	size_t n_missing;
	bool more_missing;		/* than there is space for */
	/* NULL, or what replaces `missing` in the summary as JSON. */
	void (*json_lists)(struct json *json, const struct trace_decoding *decoding);
	struct left_out left_out;
	struct flowtap_ete_options ete;
	/* Progress. */
	uint64_t expected;		/* bytes to read, 0 unknown */
	uint64_t read;
	struct progress progress;
};

/* Where one CPU's trace goes, and what it is made with. All zeros: not open. */
struct trace_output {
	struct output file;
	struct format format;
	struct flowtap_blocks *blocks;	/* of the trace unit that it was opened for */
	char *path;
	bool open;
};

/* Each returns 0 or -errno after a complaint, unless another thing is said. */

/* options is borrowed. */
void trace_init(struct trace_decoding *decoding, const struct decode_options *options,
		const char *kind);
void trace_free(struct trace_decoding *decoding);

/*
 * Opens the output of the CPU of that name, whose trace unit has that config. input: what must not
 * be written over, -1 none. With several CPUs standard output is opened once, for all.
 */
int trace_output_open(struct trace_decoding *decoding, struct trace_output *output,
		      const char *cpu, const struct flowtap_ete_config *config, int input,
		      const char *comment);
/* error: how the decoding went; 0: finishes the file, else it is discarded. error, or a new one. */
int trace_output_close(struct trace_decoding *decoding, struct trace_output *output, int error);

/* Adds a CPU for the summary; NULL: no memory. Valid until the next one. */
struct trace_cpu *trace_add_cpu(struct trace_decoding *decoding, const char *name, uint32_t number);
/* Adds a decoder's counts to the sums. */
void trace_add_counts(struct trace_decoding *decoding, const struct flowtap_ete_counts *counts);
/* So many more bytes of the input are read. */
void trace_progress(struct trace_decoding *decoding, uint64_t bytes);

/* Complains about a trace unit of that name that cannot be decoded (flowtap_ete_unsupported). */
void trace_complain_unsupported(const struct flowtap_ete_config *config, const char *name);
/*
 * What sessions of trace units of that config that go to that output, which is open, have in
 * common; the rest is left as it is.
 */
int trace_session_init(struct trace_decoding *decoding, const struct trace_output *output,
		       const struct flowtap_ete_config *config,
		       struct flowtap_trace_session *session);
/*
 * Adds up a session that was decoded; error: what that returned. name: of its file. may_be_empty:
 * frames without its source are a message, but no error.
 */
int trace_session_done(struct trace_decoding *decoding, const struct trace_output *output,
		       const struct flowtap_trace_session *session, const char *name, bool may_be_empty,
		       int error);

/* Complains about what a decoder or a sink returned; returns it. */
int trace_problem(const struct trace_decoding *decoding, const char *output, int error);

/* --memory and --elf. */
int trace_add_images(const struct trace_decoding *decoding, struct flowtap_memory *memory);
/* Whether --cpu asks for this one, or there is no --cpu. */
bool trace_wants(const struct trace_decoding *decoding, const char *name, uint32_t number);

/* The inputs. Each returns an exit status. */
int trace_snapshot(const struct decode_options *options);
int trace_raw(const struct decode_options *options, int input);

/* The end of all of them: summary and exit status. */
int trace_finish(struct trace_decoding *decoding, int error);

#endif /* FLOWTAP_TOOLS_DECODE_TRACE_H */
