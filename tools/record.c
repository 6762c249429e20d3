// SPDX-License-Identifier: GPL-2.0-only
/* flowtap record: from the rings and the side band into an archive. */
#include "device.h"
#include "recording.h"
#include "tally.h"
#include "tool.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"usage: flowtap record [OPTION...] [--] COMMAND [ARGUMENT...]\n"
	"       flowtap record [OPTION...] -p PID\n"
	"\n"
	"Records the control transfers of a command, or of a process that runs already, with its\n"
	"threads and what it forks, until it ends or SIGINT (Ctrl-C) comes.\n"
	"\n"
	"  -p, --pid PID        the process to attach to\n"
	"  -e, --event EVENT    what triggers samples (instructions); `flowtap list` shows events\n"
	"  -c, --count PERIOD   events per sample (depends on the event: 1000000 instructions)\n"
	"  -o, --output FILE    the archive (flowtap.ftap), - for standard output; an archive of\n"
	"                       that name becomes FILE.old\n"
	"      --force          replace FILE even if it is no archive\n"
	"      --depth N        transfers per sample, 16 to 256 (the most the CPU has)\n"
	"      --on-switch      also a sample when a task leaves the CPU\n"
	"      --duration S     stop after S seconds; a command still running gets SIGTERM\n"
	"      --ring-pages N   pages of each CPU's ring, a power of two (128)\n"
	"      --no-inherit     not what the process forks\n"
	"      --source NAME    ctr, ete or soft (what the CPU has)\n"
	"  -q, --quiet          no live line and no summary\n"
	"      --json           the summary as one line of JSON on standard output, at the end\n"
	"  -h, --help           this text\n"
	"\n"
	"Exit status: the command's, 126 or 127 where it cannot be executed or found; with -p 0;\n"
	"1 for an error, 2 for wrong usage.\n";

enum {
	LONG_DEPTH = 256,
	LONG_DURATION,
	LONG_PAGES,
	LONG_NO_INHERIT,
	LONG_SWITCH,
	LONG_SOURCE,
	LONG_JSON,
	LONG_FORCE,
};

static const struct option long_options[] = {
	{ "pid", required_argument, NULL, 'p' },
	{ "event", required_argument, NULL, 'e' },
	{ "count", required_argument, NULL, 'c' },
	{ "output", required_argument, NULL, 'o' },
	{ "depth", required_argument, NULL, LONG_DEPTH },
	{ "duration", required_argument, NULL, LONG_DURATION },
	{ "ring-pages", required_argument, NULL, LONG_PAGES },
	{ "no-inherit", no_argument, NULL, LONG_NO_INHERIT },
	{ "on-switch", no_argument, NULL, LONG_SWITCH },
	{ "source", required_argument, NULL, LONG_SOURCE },
	{ "force", no_argument, NULL, LONG_FORCE },
	{ "quiet", no_argument, NULL, 'q' },
	{ "json", no_argument, NULL, LONG_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 }
};

static bool power_of_two(uint64_t value)
{
	return value && !(value & (value - 1));
}

static bool parse_pages(struct record_options *options, const char *text)
{
	uint64_t most = FLOWTAP_ARCHIVE_BLOCK_MAX / (uint64_t)sysconf(_SC_PAGESIZE), value;

	if (!number_parse(text, 1, most, &value) || !power_of_two(value))
		return false;
	options->configure.ring_pages = (uint32_t)value;
	options->pages_given = true;
	return true;
}

static bool parse_source(struct record_options *options, const char *text)
{
	static const struct {
		const char *name;
		uint32_t source;
	} sources[] = { { "ctr", FLOWTAP_SOURCE_CTR },
			{ "ete", FLOWTAP_SOURCE_ETE },
			{ "soft", FLOWTAP_SOURCE_SOFT } };

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		if (strcmp(text, sources[i].name))
			continue;
		options->configure.source = sources[i].source;
		return true;
	}
	return false;
}

/* One option; the name of what its argument should have been, or NULL when all is well. */
static const char *take_option(struct record_options *options, int option, const char *text)
{
	struct flowtap_configure *configure = &options->configure;
	uint64_t value;

	switch (option) {
	case 'p':
		if (!number_parse(text, 1, INT32_MAX, &value))
			return "a process id";
		options->pid = (pid_t)value;
		return NULL;
	case 'e':
		return event_parse(text, &options->event) ? NULL :
			"the name of an event (`flowtap list` shows them)";
	case 'c':
		return number_parse(text, 1, INT64_MAX, &value) ? configure->period = value, NULL :
			"a number of events";
	case 'o':
		options->path = text;
		return *text ? NULL : "the name of a file";
	case LONG_DEPTH:
		if (!number_parse(text, 16, 256, &value) || !power_of_two(value))
			return "16, 32, 64, 128 or 256";
		configure->ctr.depth = (uint32_t)value;
		return NULL;
	case LONG_DURATION:
		return number_parse_seconds(text, &options->duration) ? NULL : "a time in seconds";
	case LONG_PAGES:
		return parse_pages(options, text) ? NULL : "a power of two, 16 MiB at the most";
	case LONG_SOURCE:
		return parse_source(options, text) ? NULL : "ctr, ete or soft";
	case LONG_NO_INHERIT:
		configure->flags &= ~FLOWTAP_INHERIT;
		return NULL;
	case LONG_SWITCH:
		configure->triggers |= FLOWTAP_TRIGGER_SWITCH;
		return NULL;
	case LONG_FORCE:
		options->force = true;
		return NULL;
	case 'q':
		options->quiet = true;
		return NULL;
	default:
		options->json = true;
		return NULL;
	}
}

/* 0, or below: done with STATUS -(1 + result). */
static int parse(int argc, char **argv, struct record_options *options)
{
	int option;

	/* +: what follows the command's name is the command's. */
	while ((option = getopt_long(argc, argv, "+p:e:c:o:qh", long_options, NULL)) != -1) {
		const char *wanted;

		if (option == 'h') {
			fputs(help, stdout);
			return -1 - STATUS_OK;
		}
		if (option == '?')
			return -1 - usage_hint(argv[0]);
		wanted = take_option(options, option, optarg);
		if (wanted)
			return -1 - misused(argv[0], "'%s' is not %s", optarg, wanted);
	}
	if (optind < argc)
		options->command = argv + optind;
	if (options->pid && options->command)
		return -1 - misused(argv[0], "either -p or a command, not both");
	if (!options->pid && !options->command)
		return -1 - misused(argv[0], "a command or -p PID is missing");
	if (options->json && !strcmp(options->path, "-"))
		return -1 - misused(argv[0], "--json and -o - both want standard output");
	options->configure.event_type = options->event.type;
	options->configure.event_config = options->event.config;
	if (options->command)
		options->configure.flags |= FLOWTAP_ENABLE_ON_EXEC;
	return 0;
}

static struct tally tally_of(const struct recording *recording)
{
	return (struct tally){
		.path = recording->output.path,
		.bytes = flowtap_archive_size(recording->writer),
		.nanoseconds = number_now() - recording->began,
		.sideband_lost = flowtap_sideband_lost(recording->sideband),
		.sideband_polled = flowtap_sideband_polled(recording->sideband),
	};
}

static void announce(const struct recording *recording)
{
	const struct record_options *options = recording->options;
	const struct stream *first = &recording->streams.all[0];
	char period[32];

	if (options->quiet)
		return;
	number_group(first->configure.period, period);
	complain("recording on %zu CPU%s, a sample every %s %s; Ctrl-C ends it",
		 recording->streams.n, recording->streams.n == 1 ? "" : "s", period,
		 options->event.name);
	if (first->configure.source == FLOWTAP_SOURCE_SOFT)
		advise("the source is soft: the transfers are made up, for tests of flowtap");
	for (size_t cpu = 0; cpu < recording->streams.cpus; cpu++)
		if (recording->streams.queries[cpu].source == FLOWTAP_SOURCE_NONE)
			advise("not CPU %zu: %s", cpu,
			       device_reason(&recording->streams.queries[cpu]));
	if (first->configure.ring_pages < options->configure.ring_pages)
		advise("with rings of %u pages: more may not be locked (ulimit -l)",
		       first->configure.ring_pages);
	if (flowtap_sideband_polled(recording->sideband))
		advise("perf_event_paranoid denies side-band events: what is mapped for a moment "
		       "only will be missed");
}

/* Everything until the first transfer can be recorded. 0 or an exit status. */
static int prepare(struct recording *recording)
{
	const struct record_options *options = recording->options;
	struct streams *streams = &recording->streams;
	int error = streams_open(streams, &options->configure, options->event.period,
				 !options->pages_given);

	if (!error && options->command) {
		error = workload_fork(&recording->workload, options->command,
				      &recording->watch.mask);
		if (error)
			complain("cannot fork: %s", strerror(-error));
	}
	if (!error)
		error = streams_add(streams, options->pid ? options->pid : recording->workload.pid);
	if (!error)
		error = recording_open_archive(recording);
	if (!error)
		error = recording_open_sideband(recording);
	if (!error)
		error = watch_open(&recording->watch, streams, recording->sideband,
				   recording->workload.pid ? recording->workload.pidfd : -1,
				   options->duration);
	return error ? STATUS_ERROR : 0;
}

static int start(struct recording *recording)
{
	const struct record_options *options = recording->options;

	recording->began = number_now();
	announce(recording);
	if (options->command)
		return workload_start(&recording->workload, options->command[0]);
	return streams_enable(&recording->streams) ? STATUS_ERROR : 0;
}

static int run(struct recording *recording)
{
	bool live = !recording->options->quiet && isatty(STDERR_FILENO);
	bool polled = flowtap_sideband_polled(recording->sideband);
	uint64_t shown = 0;
	int error;

	while (!watch_wait(&recording->watch, live || polled)) {
		error = recording_drain(recording);
		if (error)
			return error;
		if (live && number_now() - shown > 200000000) {
			struct tally tally = tally_of(recording);

			tally_live(&recording->streams, &tally);
			shown = number_now();
		}
	}
	return 0;
}

static int conclude(struct recording *recording)
{
	const struct record_options *options = recording->options;
	int error, status = STATUS_OK;
	struct tally tally;

	tally_live_end();
	error = streams_disable(&recording->streams);
	tally = tally_of(recording);
	/* From here on a further signal ends us at once; what is in the file stays good. */
	watch_release(&recording->watch);
	error = recording_finalise(recording) ? -EIO : error;
	tally.bytes = flowtap_archive_size(recording->writer);
	error = output_commit(&recording->output) ? -EIO : error;
	if (options->command) {
		bool stopped = workload_stop(&recording->workload);

		/* One that we stopped after --duration did not fail. */
		status = stopped && recording->watch.elapsed ? STATUS_OK :
				workload_status(&recording->workload);
	}
	tally.command = options->command;
	tally.status = status;
	if (!options->quiet)
		tally_print(&recording->streams, &tally);
	if (options->json)
		tally_json(&recording->streams, &tally);
	return error ? STATUS_ERROR : status;
}

static void clean_up(struct recording *recording)
{
	workload_stop(&recording->workload);
	watch_close(&recording->watch);
	flowtap_sideband_free(recording->sideband);
	flowtap_archive_writer_free(recording->writer);
	streams_close(&recording->streams);
}

int record_command(int argc, char **argv)
{
	struct record_options options = {
		.path = "flowtap.ftap",
		.configure = {
			.flags = FLOWTAP_INHERIT,
			.modes = FLOWTAP_MODE_USER,
			.triggers = FLOWTAP_TRIGGER_OVERFLOW,
			.ring_pages = STREAMS_PAGES,
		},
	};
	struct recording recording = {
		.options = &options,
		.output = { .fd = -1 },
		.workload = { .pidfd = -1, .go = -1, .report = -1 },
	};
	int status;

	event_parse("instructions", &options.event);
	status = parse(argc, argv, &options);
	if (status)
		return -1 - status;
	status = options.command ? workload_check(options.command[0]) : 0;
	if (status)
		return status;
	recording.streams.event = options.event.name;
	signal(SIGPIPE, SIG_IGN);
	watch_block(&recording.watch);

	status = prepare(&recording);
	if (!status)
		status = start(&recording);
	if (status) {
		output_discard(&recording.output);
		clean_up(&recording);
		return status;
	}
	status = run(&recording) ? STATUS_ERROR : 0;
	status = conclude(&recording) ?: status;
	clean_up(&recording);
	return status;
}
