/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Any input, decoded: a recording of flowtap, packed or not, a perf.data, an Arm snapshot
 * directory, or the bytes of a trace unit. Which one it is shows by itself. This program prints its
 * flow:
 *
 *	#include <flowtap/input.h>
 *	#include <flowtap/text.h>
 *	#include <stdio.h>
 *	#include <string.h>
 *
 *	static void note(struct flowtap_input *input, const char *text)
 *	{
 *		fprintf(stderr, "%s: %s\n", input->path, text);
 *	}
 *
 *	int main(int argc, char **argv)
 *	{
 *		struct flowtap_input input = { .note = note };
 *		struct flowtap_text *text;
 *		int error;
 *
 *		if (argc != 3 || flowtap_text_new(1, NULL, &text))
 *			return 2;
 *		input.path = argv[1];
 *		input.sysroot = argv[2];
 *		input.sink = flowtap_text_sink(text);
 *		error = flowtap_input(&input);
 *		if (!error)
 *			error = flowtap_text_finish(text);
 *		flowtap_text_free(text);
 *		if (error)
 *			note(&input, strerror(-error));
 *		fprintf(stderr, "%llu instructions\n", (unsigned long long)input.instructions);
 *		return error ? 1 : 0;
 *	}
 *
 * recording.h, perfdata.h, trace_session.h and snapshot.h have what is under it, for who needs more
 * of one kind: one CPU or thread, several outputs, progress.
 *
 * `flowtap decode` is such a program, and calls those: it opens an output for each CPU, thread or
 * process when the input has named it, decodes one CPU of several, shows how far it is, and its
 * summary has counts of the decoders that no sink sees. None of that fits one sink and one call.
 * What both print of an input is the same (selftests/cli/example.test). flowtapd has no decoder in
 * it: it runs that command in a process of its own, whose memory, time and crashes are not the
 * recording's.
 */
#ifndef FLOWTAP_INPUT_H
#define FLOWTAP_INPUT_H

#include <flowtap/ete.h>
#include <flowtap/flow.h>
#include <flowtap/memory.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum flowtap_input_kind {
	FLOWTAP_INPUT_ARCHIVE,		/* ftap(5) */
	FLOWTAP_INPUT_PERFDATA,
	FLOWTAP_INPUT_SNAPSHOT,
	FLOWTAP_INPUT_RAW,		/* what is nothing else: bytes of one trace unit */
};

struct flowtap_input {
	/* Set by the caller; zeros below. What is pointed to is borrowed during the call. */
	const char *path;		/* of a file, a pipe or a directory */
	struct flowtap_sink *sink;
	const char *sysroot;		/* archive, perf.data: where mapped files are; NULL: / */
	const struct flowtap_ete_options *ete;	/* may be NULL */
	size_t block_memory;		/* bytes of a cache of blocks, 0: its default */
	/*
	 * Of raw bytes: the trace unit's registers, without which they are not decoded, and whether
	 * they are in CoreSight's frames, with the trace ID of traceidr, of a DSTREAM probe's file.
	 */
	const struct flowtap_ete_config *config;
	bool framed;
	bool dstream;
	/* May be NULL. Raw bytes, snapshots: adds code that is not in the input. Below 0 stops. */
	int (*images)(struct flowtap_input *input, struct flowtap_memory *memory);
	/* May be NULL. A line for people: damage, what is left out, why there is an error. */
	void (*note)(struct flowtap_input *input, const char *text);
	void *argument;			/* the caller's own */

	/* Out, current during the calls. */
	enum flowtap_input_kind kind;
	uint64_t instructions;		/* that went to the sink, in blocks */
	uint64_t blocks;
	uint64_t gaps[FLOWTAP_GAP_REASONS];
	uint64_t damages;		/* of the file; records, packets and frames that are gaps */
};

/*
 * Decodes all of it to the sink. Of a perf.data CPUs come by time, of a snapshot one after the
 * other. 0, whatever the damage; -errno of opening or reading; -EBADMSG, -EPROTONOSUPPORT: an
 * archive or perf.data that nothing can be made of; -ENODATA: a perf.data or snapshot without a
 * trace of an ETE or ETMv4; -EINVAL: a directory that is no snapshot; -ENOEXEC: raw bytes, and config is
 * NULL; -ENODEV: a device that has no end, or a trace unit as flowtap_ete_unsupported; -EPROTOTYPE: as
 * flowtap_recording_decode; -EFBIG, -EOVERFLOW: as flowtap_unpack; what the sink or images returned
 * below 0; -ENOMEM.
 */
int flowtap_input(struct flowtap_input *input);

/* --- What comes by a pipe. --- */

#define FLOWTAP_INPUT_LOOK 65536U

struct flowtap_input_copy {
	/* Set by the caller. May be NULL: more bytes have come. */
	void (*progress)(struct flowtap_input_copy *copy);
	void *argument;			/* the caller's own */

	/* Out, current during the calls. */
	uint64_t bytes;			/* that came */
	int failed;			/* -errno that reading ended with, 0: at the end of the pipe */
};

/*
 * Copies what comes from fd, to its end, to a file of flowtap_input_temporary: that, at its
 * beginning and the caller's to close. What may have no end is refused: -EBADMSG: it begins with
 * FLOWTAP_INPUT_LOOK zeros, as nothing does that is read here; -ENODEV: it is a device that has as
 * many bytes; -errno of the temporary file; -ENOMEM. An error of reading is in copy->failed only:
 * what came before it is kept.
 */
int flowtap_input_keep(int fd, struct flowtap_input_copy *copy);
/*
 * A file without a name, in $TMPDIR, else /var/tmp, /tmp: open for reading and writing. The fd or
 * -errno.
 */
int flowtap_input_temporary(void);

/* --- What an input is. --- */

/*
 * Of a file, by its first bytes: any but SNAPSHOT. fd's offset is kept; it can be sought in.
 */
enum flowtap_input_kind flowtap_input_look(int fd);
/*
 * The directory of a snapshot by a path: of itself, where it is a directory and none of perf's, or
 * of the snapshot.ini in it. To be freed; NULL: it is none, or no memory.
 */
char *flowtap_input_snapshot(const char *path);
/* Whether the path is a directory that perf record made (--kcore), with a perf.data in it. */
bool flowtap_input_is_perf_directory(const char *path);
/* Opens its perf.data for reading: the fd or -ENOENT. */
int flowtap_input_open_perf(const char *path);
/*
 * Opens the copy of the kernel's memory beside a perf.data (path: the directory, or "data" in it).
 * The fd or -ENOENT.
 */
int flowtap_input_open_kcore(const char *path);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_INPUT_H */
