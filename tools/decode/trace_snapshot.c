// SPDX-License-Identifier: GPL-2.0-only
/* From an Arm snapshot directory to a trace of each CPU in it. */
#include "decode/trace.h"

#include "common/raw_options.h"
#include "common/tool.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTES_SHOWN 20

struct notes {
	const char *directory;
	unsigned int n;			/* different ones so far */
	bool last_shown;
	char last[512];
	char texts[NOTES_SHOWN][512];
};

struct work {
	struct trace_decoding *decoding;
	struct flowtap_snapshot *snapshot;
	const struct flowtap_snapshot_source *sources;
	size_t n;
	struct trace_output output;
	struct flowtap_snapshot_sessions sessions;
};

/*
 * Shows each once: a dump that is not there is missed by each CPU. Also with --quiet: the whole trace
 * of a CPU may be left out.
 */
static void handle_note(void *argument, const char *text)
{
	struct notes *notes = argument;

	snprintf(notes->last, sizeof(notes->last), "%s", text);
	notes->last_shown = false;
	for (unsigned int i = 0; i < notes->n && i < NOTES_SHOWN; i++) {
		if (strcmp(text, notes->texts[i]))
			continue;
		notes->last_shown = true;
		return;
	}
	if (notes->n > NOTES_SHOWN)
		return;
	if (notes->n++ == NOTES_SHOWN) {
		advise("and so on: what else is left out is not told");
		return;
	}
	memcpy(notes->texts[notes->n - 1], notes->last, sizeof(notes->last));
	complain("%s: %s", notes->directory, text);
	notes->last_shown = true;
}

/* Why it cannot be read: the last one says it, by what those before it say. */
static void show_reason(struct notes *notes)
{
	if (*notes->last && !notes->last_shown)
		complain("%s: %s", notes->directory, notes->last);
}

static bool is_asked_for(const struct work *work, const struct flowtap_snapshot_source *source)
{
	return cpu_is_asked_for(work->decoding->options->cpu, source->core, source->name,
				source->core_number);
}

static bool wanted(const struct work *work, const struct flowtap_snapshot_source *source)
{
	return is_asked_for(work, source) && !flowtap_ete_unsupported(&source->config);
}

/* The others are decoded all the same. */
static void report_unsupported(const struct work *work)
{
	for (size_t i = 0; i < work->n; i++) {
		const struct flowtap_snapshot_source *source = &work->sources[i];

		if (!is_asked_for(work, source) || !flowtap_ete_unsupported(&source->config))
			continue;
		trace_complain_unsupported(&source->config, source->name);
		work->decoding->undecoded++;
	}
}

static bool is_same_cpu(const struct work *work, size_t a, size_t b)
{
	return !strcmp(work->sources[a].core, work->sources[b].core);
}

/* CPUs without a source that can be decoded: the summary names them. */
static int add_unsupported(const struct work *work)
{
	for (size_t i = 0, end; i < work->n; i = end) {
		const struct flowtap_snapshot_source *source = &work->sources[i];
		bool asked = false, decoded = false;
		struct trace_cpu *cpu;

		for (end = i; end < work->n && is_same_cpu(work, i, end); end++) {
			asked |= is_asked_for(work, &work->sources[end]);
			decoded |= wanted(work, &work->sources[end]);
		}
		if (!asked || decoded)
			continue;
		cpu = trace_add_cpu(work->decoding, source->core, source->core_number);
		if (!cpu)
			return trace_problem(work->decoding, "", -ENOMEM);
		cpu->unsupported = true;
	}
	return 0;
}

/* The first source of each CPU that is wanted stands for it. */
static bool is_first(const struct work *work, size_t index)
{
	for (size_t i = index; i && is_same_cpu(work, i - 1, index); i--)
		if (wanted(work, &work->sources[i - 1]))
			return false;
	return wanted(work, &work->sources[index]);
}

static size_t count_cpus(const struct work *work)
{
	size_t n = 0;

	for (size_t i = 0; i < work->n; i++)
		n += is_first(work, i);
	return n;
}

static void add_expected(const struct work *work)
{
	for (size_t i = 0; i < work->n; i++) {
		struct stat status;
		int fd;

		if (!wanted(work, &work->sources[i]))
			continue;
		fd = flowtap_snapshot_open_buffer(work->snapshot, work->sources[i].buffer);
		if (fd < 0)
			continue;
		if (!fstat(fd, &status))
			work->decoding->expected += (uint64_t)status.st_size;
		close(fd);
	}
}

static int add_images(struct flowtap_snapshot_sessions *sessions, struct flowtap_memory *memory)
{
	return trace_add_images(sessions->session.argument, memory);
}

static int decode_source(struct work *work, const struct flowtap_snapshot_source *source)
{
	struct trace_decoding *decoding = work->decoding;
	struct flowtap_snapshot_sessions *sessions = &work->sessions;
	int error = trace_session_init(decoding, &work->output, &source->config,
				       &sessions->session);

	if (error)
		return error;
	error = flowtap_snapshot_session(sessions, source);
	switch (sessions->step) {
	case FLOWTAP_SNAPSHOT_MEMORY:
		return trace_problem(decoding, source->name, error);
	case FLOWTAP_SNAPSHOT_IMAGES:
		return error;		/* a complaint said so */
	case FLOWTAP_SNAPSHOT_BUFFER:
		complain("cannot open '%s' of the snapshot: %s", source->buffer->file,
			 error == -ENOEXEC ? "not a regular file" : strerror(-error));
		return error;
	case FLOWTAP_SNAPSHOT_SESSION:
		break;
	}
	return trace_session_done(decoding, &work->output, &sessions->session,
				  source->buffer->file, true, error);
}

/* All sessions of one CPU. */
static int decode_cpu(struct work *work, size_t first)
{
	const struct flowtap_snapshot_source *source = &work->sources[first];
	struct trace_decoding *decoding = work->decoding;
	char comment[512];
	int error, input;

	snprintf(comment, sizeof(comment), "input=%.200s\ncpu=%.100s\ncore=%.100s\n",
		 decoding->options->input, source->core, source->core_type);
	if (!trace_add_cpu(decoding, source->core, source->core_number))
		return trace_problem(decoding, "", -ENOMEM);
	input = flowtap_snapshot_open_buffer(work->snapshot, source->buffer);
	error = trace_output_open(decoding, &work->output, source->core, &source->config, input,
				  comment);
	if (input >= 0)
		close(input);
	for (size_t i = first; i < work->n && is_same_cpu(work, i, first) && !error; i++)
		if (wanted(work, &work->sources[i]))
			error = decode_source(work, &work->sources[i]);
	return error;
}

/* What came since `before` has bytes of a trace unit, and gaps: the CPU did something. */
static bool has_lost(const struct trace_decoding *decoding, const struct flowtap_ete_counts *before)
{
	return decoding->counts.bytes != before->bytes &&
	       memcmp(decoding->counts.gaps, before->gaps, sizeof(before->gaps));
}

/* Nothing of any CPU was there. */
static bool all_empty(const struct trace_decoding *decoding)
{
	return decoding->sessions && decoding->empty == decoding->sessions;
}

static int decode(struct work *work)
{
	struct trace_decoding *decoding = work->decoding;
	bool one = !strcmp(decoding->options->output, "-");
	size_t n = count_cpus(work), without = 0;
	struct flowtap_ete_counts before;
	int error = add_unsupported(work);

	decoding->several = n > 1;
	add_expected(work);
	for (size_t i = 0; i < work->n && !error; i++) {
		if (!is_first(work, i))
			continue;
		before = decoding->counts;
		error = decode_cpu(work, i);
		if (!error && n == 1 && all_empty(decoding))
			error = -ENOENT;
		/* On standard output one follows the other. */
		if (!one)
			error = trace_output_close(decoding, &work->output, error);
		/* A CPU that did nothing has no STF; the others have theirs. */
		if (error == -ENODATA && ++without < n) {
			decoding->undecoded += has_lost(decoding, &before);
			error = 0;
		}
	}
	error = trace_output_close(decoding, &work->output, error);
	return !error && all_empty(decoding) ? -ENOENT : error;
}

static void list_cpus(const struct work *work)
{
	char list[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < work->n && used < sizeof(list) - 80; i++)
		if (!i || !is_same_cpu(work, i - 1, i))
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%.60s",
						 used ? ", " : "", work->sources[i].core);
	complain("'%s' has no CPU '%s'", work->decoding->options->input,
		 work->decoding->options->cpu);
	advise("it has %s", list);
}

/* A directory is a snapshot for decode, though not for who looks for what flowtapd has collected. */
static void advise_directory(const char *directory)
{
	char ini[PATH_MAX];
	struct stat status;

	if (!stat(directory, &status) && S_ISDIR(status.st_mode) &&
	    snprintf(ini, sizeof(ini), "%s/snapshot.ini", directory) < (int)sizeof(ini) &&
	    access(ini, F_OK))
		advise("a directory is an Arm snapshot with a snapshot.ini; of what flowtapd collects "
		       "name a file in it that ends in .ftap or .ftap.zst");
}

int trace_snapshot(const struct decode_options *options)
{
	struct notes notes = { .directory = options->input };
	const struct flowtap_snapshot_options request = { .note = handle_note, .argument = &notes };
	struct trace_decoding decoding;
	struct work work = { .decoding = &decoding, .output.file.fd = -1 };
	int error, status = STATUS_ERROR;

	trace_init(&decoding, options, "snapshot");
	error = flowtap_snapshot_open(options->input, &request, &work.snapshot);
	if (error) {
		show_reason(&notes);
		complain("'%s' cannot be decoded as a snapshot", options->input);
		advise_directory(options->input);
		return STATUS_ERROR;
	}
	work.sources = flowtap_snapshot_sources(work.snapshot, &work.n);
	work.sessions.snapshot = work.snapshot;
	work.sessions.images = add_images;
	report_unsupported(&work);
	if (!count_cpus(&work)) {
		if (!decoding.undecoded)
			list_cpus(&work);
	} else {
		error = decode(&work);
		flowtap_snapshot_sessions_end(&work.sessions);
		decoding.code_bytes = work.sessions.code_bytes;
		status = trace_finish(&decoding, error);
	}
	flowtap_snapshot_close(work.snapshot);
	trace_free(&decoding);
	return status;
}
