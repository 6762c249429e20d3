// SPDX-License-Identifier: GPL-2.0-only
/* flowtap decode: from a recording to a trace. What kind of recording it is shows by itself. */
#include "common/filter.h"
#include "common/input_file.h"
#include "common/tool.h"
#include "decode/decoding.h"
#include "decode/decode_perfdata.h"
#include "decode/summary.h"
#include "decode/trace.h"

#include <errno.h>
#include <flowtap/input.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>


/* "dir/name.ftap", "dir/name.ftap.zst" -> "name.stf", "dir/" -> "dir.stf", here. malloc'ed. */
static char *default_output(const struct decode_options *options, bool directory)
{
	const char *name, *end;
	char *output, *whole, *packed;

	if (!strcmp(options->input, "-"))
		return strdup("-");
	/* What . and .. are called. */
	whole = directory ? realpath(options->input, NULL) : strdup(options->input);
	if (!whole)
		return NULL;
	name = strrchr(whole, '/');
	name = name ? name + 1 : whole;
	packed = directory ? NULL : strstr(name, ".ftap.zst");
	if (packed && !packed[sizeof(".ftap.zst") - 1])
		packed[sizeof(".ftap") - 1] = 0;
	end = directory ? NULL : strrchr(name, '.');
	if (asprintf(&output, "%.*s.%s", end && end != name ? (int)(end - name) : (int)strlen(name),
		     name, options->format.kind->name) < 0)
		output = NULL;
	free(whole);
	return output;
}

static int check_paths(const struct decode_options *options, int input)
{
	struct stat stat_of;

	if (options->sysroot && (stat(options->sysroot, &stat_of) || !S_ISDIR(stat_of.st_mode))) {
		complain("--sysroot '%s' is no directory", options->sysroot);
		advise("it is the root of a copy of the recorded machine's files: with them below it "
		       "at the paths that they had there");
		return -ENOTDIR;
	}
	if (options->split && output_check_beside(options->output))
		return -EINVAL;
	return format_check_path(options->format.kind, options->output, input, options->input);
}

/*
 * The flow has no instruction, and nothing is wrong: no damage, no code that is not known,
 * nothing lost. What was recorded ends too soon, or is not what was asked for.
 */
static bool ran_nothing(const struct decoding *decoding)
{
	static const enum flowtap_gap_reason as_asked[] = {
		FLOWTAP_GAP_START, FLOWTAP_GAP_WRAPPED, FLOWTAP_GAP_SWITCH, FLOWTAP_GAP_DISABLED,
		FLOWTAP_GAP_STROBE, FLOWTAP_GAP_EXCLUDED, FLOWTAP_GAP_TRAP, FLOWTAP_GAP_FILTERED,
		FLOWTAP_GAP_RECORDER, FLOWTAP_GAP_GUEST, FLOWTAP_GAP_USER,
	};
	uint64_t others = 0;

	for (size_t i = 0; i < FLOWTAP_GAP_REASONS; i++)
		others += decoding->profile.gaps[i];
	for (size_t i = 0; i < sizeof(as_asked) / sizeof(as_asked[0]); i++)
		others -= decoding->profile.gaps[as_asked[i]];
	return !others && !decoding->recording.replay.counts.damages &&
	       !decoding_bad_records(decoding);
}

/* Without a sample, or a record of trace, there is nothing that could be wrong with the code. */
static void explain_empty(const struct decoding *decoding)
{
	const struct flowtap_replay_counts *counts = &decoding->recording.replay.counts;
	const char *what = decoding->recording.aux ? "trace" : "sample";

	if (counts->damages)
		advise("it is damaged, and no %s is left: an undamaged copy is needed", what);
	else if (!counts->finalised)
		advise("it ends before the first %s: the recording, or a copy of it, was cut off", what);
	else if (decoding->profile.gaps[FLOWTAP_GAP_NO_STREAM])
		advise("what was to be recorded ran on CPUs that were not (record -C says which are)");
	else if (decoding->profile.gaps[FLOWTAP_GAP_RING_FULL])
		advise("every %s was lost: a greater ring is needed (record --ring-pages)", what);
	else if (decoding->recording.aux)
		advise("it has no trace: what was to be recorded did not run meanwhile");
	else
		advise("it has no sample: what was recorded ended before the first one, which comes "
		       "earlier with a smaller period (record -c) and at the latest with record "
		       "--switch");
}

/* Of the samples of some CPU; the sctrctl that was asked for. */
static bool only_transfers(const struct decoding *decoding, bool *call_stacks)
{
	bool only = *call_stacks = false;

	for (size_t i = 0; i < decoding->recording.n_cpus; i++) {
		uint64_t control = decoding->recording.cpus[i].configure.ctr.control;

		*call_stacks |= control & FLOWTAP_SCTRCTL_RASEMU;
		only |= !filter_keeps_blocks(filter_default() ^ filter_types(control));
	}
	return only;
}

static void explain_missing(const struct decode_options *options)
{
	if (!options->sysroot)
		advise("on another machine than the recorded one --sysroot is needed");
	else
		advise("files whose code is missing must be below '%s', as they were recorded",
		       options->sysroot);
}

/* Why the flow has no instruction, and what to do about it. */
static void explain_why(const struct decoding *decoding)
{
	bool call_stacks, only = only_transfers(decoding, &call_stacks);
	const uint64_t *gaps = decoding->profile.gaps;

	if (decoding->recording.aux ? !flowtap_aux_counts(decoding->recording.aux)->records :
	    !decoding->recording.ctr || !decoding_ctr_counts(decoding)->samples)
		explain_empty(decoding);
	else if (call_stacks)
		advise("record --ras keeps call stacks, which --to flow shows: record without it");
	else if (only)
		advise("record --filter left out transfers that instructions follow from, --to flow "
		       "shows the others: record without it");
	else if (decoding->profile.n_missing)
		explain_missing(decoding->options);
	else if (gaps[FLOWTAP_GAP_NO_IMAGE])
		advise("it does not say what was mapped where it ran: damage, or side band that was "
		       "lost, took that");
	else if (gaps[FLOWTAP_GAP_FILTERED])
		advise("it has transfers of which instructions do not follow: --to flow shows them");
	else
		advise("nothing was executed between its gaps: the summary has their reasons");
}

static int decode_problem(const struct decoding *decoding, int error)
{
	const char *input = input_name(decoding->options->input);

	switch (-error) {
	case EBADMSG:
		complain("'%s' is no flowtap archive", input);
		break;
	case EPROTONOSUPPORT:
		complain("'%s' is an archive of another version of flowtap", input);
		break;
	case ENODATA:
		complain("no instruction could be reconstructed, so there is no %s",
			 decoding->options->format.kind->title);
		explain_why(decoding);
		break;
	case ENOENT:
		pick_nothing(&decoding->pick, input);
		if (!decoding->pick.cpus.n)
			explain_empty(decoding);
		break;
	case EOPNOTSUPP:
		format_complain_isa(decoding->options->format.kind, input);
		break;
	case ENOMEM:
		complain("no memory");
		break;
	case EPROTOTYPE:
		complain("'%s' was recorded of ETEs and of another source: no flow can have both",
			 input);
		break;
	case ECANCELED:
		break;			/* a complaint said so */
	default:
		complain("cannot decode '%s' to '%s': %s", input, decoding->options->output,
			 strerror(-error));
		advise_write(error);
	}
	return error;
}

static void summarise(struct decoding *decoding, const char *output, uint64_t bytes)
{
	const struct decode_options *options = decoding->options;
	FILE *file = strcmp(options->output, "-") ? stdout : stderr;
	struct summary summary = {
		.input = input_name(options->input),
		.output = output,
		.format = options->format.kind->name,
		.output_bytes = bytes,
		.sysroot = options->sysroot,
		.info = decoding->info ? decoding->info : "",
		.cpus = decoding->cpus,
		.period = decoding->period,
		.executed = decoding_executed(decoding),
		.replay = &decoding->recording.replay.counts,
		.ctr = decoding_ctr_counts(decoding),
		.aux = decoding_aux_counts(decoding),
		.pick = &decoding->pick,
		.profile = &decoding->profile,
		.triggers = &decoding->triggers,
		.split = options->split ? &decoding->split : NULL,
		.left_out = options->split ? &decoding->split.left_out : &decoding->format.left_out,
		.blocks = decoding->recording.blocks,
	};

	flowtap_profile_end(&decoding->profile);
	left_out_complain(summary.left_out, &options->format, summary.input);
	if (options->json)
		summary_json(file, &summary);
	else if (!options->quiet)
		summary_print(file, &summary);
}

static int decode(struct decoding *decoding, int input)
{
	const struct decode_options *options = decoding->options;
	uint64_t bytes = 0;
	int error, written;

	error = decoding_run(decoding, input);
	if (error) {
		decode_problem(decoding, error);
		/* Why there is nothing is in the gaps. */
		if (error == -ENODATA)
			summarise(decoding, NULL, 0);
		format_free(&decoding->format);
		decoding->split.error = error;
		output_discard(&decoding->output, error);
		return error == -ENODATA && ran_nothing(decoding) ? STATUS_NOTHING : STATUS_ERROR;
	}
	if (decoding->output.created)
		bytes = (uint64_t)input_size(decoding->output.fd);
	else
		bytes = format_bytes(&decoding->format);
	written = output_commit(&decoding->output);
	summarise(decoding, written ? NULL : options->output, bytes);
	if (written)
		return STATUS_ERROR;
	if (decoding->recording.replay.counts.damages || decoding_bad_records(decoding))
		return STATUS_DAMAGED;
	if (decoding->recording.replay.counts.finalised)
		return STATUS_OK;
	/* A cut between two blocks: nothing else reports it. */
	complain("'%s': the recording was not finalised: it was cut off, or the recorder was killed",
		 input_name(options->input));
	return STATUS_DAMAGED;
}

static int decode_archive(const struct decode_options *options, int input)
{
	struct decoding decoding = { .options = options };
	int status = STATUS_ERROR;

	if (!check_paths(options, input) && !decoding_init(&decoding, options) &&
	    (options->split || !output_open_part(&decoding.output, options->output,
						 options->format.force)))
		status = decode(&decoding, input);
	decoding_free(&decoding);
	return status;
}

static int unknown(const struct decode_options *options, int input)
{
	char begin[4096];
	ssize_t n = pread(input, begin, sizeof(begin), 0);
	const struct format_kind *kind = n > 0 ? format_of_bytes(begin, (size_t)n) : NULL;
	const char *packing = input_packing(input, !kind);

	if (kind && !packing)
		return decode_already_trace(options->input, kind);
	if (!n) {
		complain("'%s': the file is empty", input_name(options->input));
		return STATUS_ERROR;
	}
	complain("'%s' is no flowtap archive, perf.data or snapshot directory",
		 input_name(options->input));
	if (packing) {
		advise("it is %s", packing);
		return STATUS_ERROR;
	}
	advise("the raw bytes of an Arm ETE or ETMv4 need --config and --memory or --elf, for example:");
	advise("flowtap decode IN --to flow --config configr=0x1,traceidr=0x10,idr0=0x28000ea1,"
	       "idr2=0xc0001088 --elf vmlinux");
	return STATUS_ERROR;
}

/* Names options that this kind of input has no use for. */
static int check_options(const struct decode_options *options, enum flowtap_input_kind kind)
{
	bool images = kind == FLOWTAP_INPUT_SNAPSHOT || kind == FLOWTAP_INPUT_RAW;
	bool files = kind == FLOWTAP_INPUT_ARCHIVE || kind == FLOWTAP_INPUT_PERFDATA;
	const struct {
		bool given, good;
		const char *name, *what;
	} list[] = {
		{ options->config, kind == FLOWTAP_INPUT_RAW, "--config", "the raw bytes of an ETE" },
		{ options->framing.framed, kind == FLOWTAP_INPUT_RAW, "--framed", "the raw bytes of an ETE" },
		{ options->framing.dstream, kind == FLOWTAP_INPUT_RAW, "--dstream", "the raw bytes of an ETE" },
		{ options->n_images, images, "--memory or --elf", "snapshots and raw bytes" },
		{ options->cpu, kind != FLOWTAP_INPUT_RAW, "--cpu", "traces of several Arm CPUs" },
		{ options->keep_failed, true, "--keep-failed-transactions", "Arm's traces" },
		{ options->sysroot, files, "--sysroot", "recordings of flowtap and perf" },
		{ options->tid, files, "--tid", "recordings of flowtap and perf" },
		{ options->split, kind == FLOWTAP_INPUT_ARCHIVE, "--split", "recordings of flowtap" },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		if (!list[i].given || list[i].good)
			continue;
		complain("%s is for %s: '%s' is none", list[i].name, list[i].what,
			 input_name(options->input));
		return -EINVAL;
	}
	return 0;
}

static int decode_snapshot(const struct decode_options *options)
{
	return check_options(options, FLOWTAP_INPUT_SNAPSHOT) ? STATUS_USAGE :
								trace_snapshot(options);
}

static int decode_file(const struct decode_options *options)
{
	int input = input_open(options->input, options->quiet), status = STATUS_ERROR;
	enum flowtap_input_kind kind;

	if (input < 0)
		return STATUS_ERROR;
	kind = flowtap_input_look(input);
	/* What is nothing else is raw bytes only if that is said. */
	if (kind == FLOWTAP_INPUT_RAW && !options->config)
		status = unknown(options, input);
	else if (check_options(options, kind))
		status = STATUS_USAGE;
	else if (kind == FLOWTAP_INPUT_RAW)
		status = trace_raw(options, input);
	else if (kind == FLOWTAP_INPUT_PERFDATA)
		status = perf_decode(options, input);
	else
		status = decode_archive(options, input);
	close(input);
	if (input_unpacked()->damages && (status == STATUS_OK || status == STATUS_NOTHING))
		status = STATUS_DAMAGED;
	return status;
}

int decode_command(int argc, char **argv)
{
	struct decode_options options;
	char *name = NULL, *directory;
	int status = decode_options_parse(argc, argv, &options);
	bool is_directory;

	if (status != OPTIONS_TAKEN) {
		decode_options_free(&options);
		return status;
	}
	directory = flowtap_input_snapshot(options.input);
	if (directory)
		options.input = directory;
	is_directory = directory || flowtap_input_is_perf_directory(options.input);
	if (!options.output)
		options.output = name = default_output(&options, is_directory);
	status = STATUS_ERROR;
	if (!options.output)
		complain("cannot name the output of '%s': %s", options.input, strerror(errno));
	else
		status = directory ? decode_snapshot(&options) : decode_file(&options);
	free(name);
	free(directory);
	decode_options_free(&options);
	return status;
}
