// SPDX-License-Identifier: GPL-2.0-only
/* Parses the command line of `flowtap record`, and refuses options that exclude each other. */
#include "recording/options.h"

#include "common/control.h"
#include "common/filter.h"
#include "common/names.h"
#include "common/output_file.h"
#include "common/parse_options.h"
#include "common/tool.h"

#include <flowtap/archive.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FREQUENCY_MAX 100000	/* the module's least time is 10 us */

static const char help_targets[] =
	"usage: flowtap record [OPTION...] [--] COMMAND [ARGUMENT...]\n"
	"       flowtap record [OPTION...] -p PID[,PID...]\n"
	"       flowtap record [OPTION...] --cgroup PATH [[--] COMMAND [ARGUMENT...]]\n"
	"       flowtap record [OPTION...] -a [[--] COMMAND [ARGUMENT...]]\n"
	"\n"
	"Records the control flow of a command, of processes that run already, or of all that runs\n"
	"on the CPUs, until it ends or SIGINT (Ctrl-C) comes. RISC-V's CTR takes samples of control\n"
	"transfers, Arm's ETE traces every one.\n"
	"\n"
	"Whom:\n"
	"  -p, --pid PID,...    the processes to attach to\n"
	"      --cgroup PATH    the processes of a cgroup (v2) and those below it\n"
	"  -a, --all-cpus       all that runs on the CPUs; needs root or CAP_PERFMON\n"
	"  -C, --cpu LIST       only on these CPUs (0-3,8); alone: all that runs on them\n"
	"      --no-inherit     not what the processes fork\n"
	"  With -a or --cgroup the command is not what is recorded, but for how long.\n"
	"\n"
	"What:\n"
	"      --user           user mode (the default)\n"
	"      --kernel         kernel mode; with --user both\n"
	"      --source NAME    ctr, ete or soft (what the CPU has)\n"
	"      --borrow[=SOCKET]   while a flowtapd records all day: it lets go of the hardware for as\n"
	"                       long as this recording takes; needs root\n"
	"      --duration S     stop after S seconds; a command still running gets SIGTERM\n"
	"\n"
	"Where to:\n"
	"  -o, --output FILE    the archive (flowtap.ftap), - for standard output (what COMMAND\n"
	"                       prints there goes to standard error then); an archive of that\n"
	"                       name becomes FILE.old\n"
	"      --force          replace FILE even if it is no archive\n"
	"      --bundle         the programs and libraries, too: decodable anywhere by itself\n"
	"      --overwrite      flight recorder: the rings keep the newest; they are written at the\n"
	"                       end and at each SIGUSR2\n"
	"      --ring-pages N   pages of each CPU's ring, a power of two (128)\n"
	"  -q, --quiet          no live line and no summary\n"
	"      --json           the summary as one line of JSON on standard output, at the end\n"
	"  -h, --help           this text\n"
	"\n"
	"Of sources that take samples (ctr, soft):\n"
	"  -e, --event EVENT    what triggers samples (instructions); `flowtap list` shows events\n"
	"  -c, --count PERIOD   events per sample (depends on the event: 1000000 instructions)\n"
	"  -F, --freq N         N samples a second while a task runs, by a timer; no event\n"
	"      --switch         also a sample when a task leaves the CPU\n"
	"      --filter TYPES   these transfers only; each with ^ before it: all but these\n"
	"      --ras            call stacks instead of transfers (RASEMU); user mode only\n"
	"      --depth N        transfers per sample, 16 to 256 (the most the CPU has)\n"
	"      --freeze-on-breakpoint   a breakpoint stops recording until the next sample (BPFRZ)\n"
	"\n"
	"Of ete:\n";

static const char help_types[] =
	"\n"
	"TYPES is a comma list of what decode's summary names (direct_call, other_indirect_jump ...)\n"
	"and of:\n";

static const char help_rest[] =
	"Where a type of taken transfers is left out there are no blocks: decode gives transfers\n"
	"only, and no STF. Not-taken branches are recorded only if named.\n"
	"\n"
	"Exit status: the command's, 126 or 127 where it cannot be executed or found; without one 0;\n"
	"1 for an error, 2 for wrong usage.\n";

static const struct name sources[] = {
	{ FLOWTAP_SOURCE_CTR, "ctr" },
	{ FLOWTAP_SOURCE_ETE, "ete" },
	{ FLOWTAP_SOURCE_SOFT, "soft" },
	{ 0, NULL }
};

bool options_trace_command(const struct record_options *options)
{
	return options->command && !options->all && !options->cgroup;
}

bool options_want_looks(const struct record_options *options)
{
	return options->cgroup || options->configure.flags & FLOWTAP_OVERWRITE;
}

bool options_cpu(const struct record_options *options, size_t cpu)
{
	return !options->cpus_given ||
	       (cpu < OPTIONS_CPUS_MAX && options->cpus[cpu / 64] >> (cpu % 64) & 1);
}

static bool power_of_two(uint64_t value)
{
	return value && !(value & (value - 1));
}

static const char *parse_pages(const struct command_option *option, const char *text)
{
	struct record_options *options = option->into;
	uint64_t most = FLOWTAP_ARCHIVE_BLOCK_MAX / (uint64_t)sysconf(_SC_PAGESIZE), value;

	if (!number_parse(text, 1, most, &value) || !power_of_two(value))
		return "a power of two, 16 MiB at the most";
	options->configure.ring_pages = (uint32_t)value;
	options->pages_given = true;
	return NULL;
}

static const char *parse_event(const struct command_option *option, const char *text)
{
	struct record_options *options = option->into;

	options->event_given = true;
	return event_parse(text, &options->event) ? NULL : option->wanted;
}

static const char *parse_socket(const struct command_option *option, const char *text)
{
	*(const char **)option->into = text ? text : CONTROL_SOCKET;
	return text && !*text ? "the path of a socket" : NULL;
}

static const char *parse_depth(const struct command_option *option, const char *text)
{
	uint64_t value;

	if (!number_parse(text, 16, 256, &value) || !power_of_two(value))
		return "16, 32, 64, 128 or 256";
	*(uint32_t *)option->into = (uint32_t)value;
	return NULL;
}

static const char *parse_duration(const struct command_option *option, const char *text)
{
	return number_parse_seconds(text, option->into) ? NULL : "a time in seconds";
}

/* The part up to the next comma, as a number; false: it is none. */
static bool next_number(const char **text, const char *ends, uint64_t most, uint64_t *value)
{
	size_t size = strcspn(*text, ends);
	char digits[24];

	if (!size || size >= sizeof(digits))
		return false;
	memcpy(digits, *text, size);
	digits[size] = 0;
	*text += size;
	return number_parse(digits, 0, most, value);
}

static bool is_listed(const struct record_options *options, pid_t pid)
{
	for (size_t i = 0; i < options->n_pids; i++)
		if (options->pids[i] == pid)
			return true;
	return false;
}

static const char *parse_pids(const struct command_option *option, const char *text)
{
	struct record_options *options = option->into;
	uint64_t value;

	do {
		if (!next_number(&text, ",", INT32_MAX, &value) || !value)
			return "a process id, or several with commas";
		if (is_listed(options, (pid_t)value))
			continue;
		if (options->n_pids == OPTIONS_PIDS_MAX)
			return "a list of at most 256 processes (--cgroup takes more)";
		options->pids[options->n_pids++] = (pid_t)value;
	} while (*text++ == ',');
	return NULL;
}

static const char *parse_cpus(const struct command_option *option, const char *text)
{
	static const char wanted[] = "a list of CPUs (0-3,8)";
	struct record_options *options = option->into;
	uint64_t first, last;

	do {
		if (!next_number(&text, ",-", OPTIONS_CPUS_MAX - 1, &first))
			return wanted;
		last = first;
		if (*text == '-') {
			text++;
			if (!next_number(&text, ",", OPTIONS_CPUS_MAX - 1, &last) || last < first)
				return wanted;
		}
		for (; first <= last; first++)
			options->cpus[first / 64] |= 1ULL << (first % 64);
	} while (*text++ == ',');
	options->cpus_given = true;
	return NULL;
}

static const char *print_help(const struct command_option *option, const char *text)
{
	(void)option;
	(void)text;
	fputs(help_targets, stdout);
	ete_options_help(stdout);
	fputs(help_types, stdout);
	filter_help(stdout);
	fputs(help_rest, stdout);
	return option_done;
}

static int parse(int argc, char **argv, struct record_options *options)
{
	struct flowtap_configure *configure = &options->configure;
	const char **samples = &options->samples_option;
	const struct command_option table[] = {
		OPTION('p', "pid", required_argument, parse_pids, options),
		OPTION_STRING(0, "cgroup", &options->cgroup, .wanted = "the path of a cgroup"),
		OPTION_FLAG('a', "all-cpus", &options->all),
		OPTION('C', "cpu", required_argument, parse_cpus, options),
		OPTION_NO_BITS(0, "no-inherit", &configure->flags, FLOWTAP_INHERIT),
		OPTION_BITS(0, "user", &configure->modes, FLOWTAP_MODE_USER),
		OPTION_BITS(0, "kernel", &configure->modes, FLOWTAP_MODE_KERNEL),
		OPTION_STRING(0, "filter", &options->filter, .first = samples),
		OPTION_BITS(0, "ras", &configure->ctr.control, FLOWTAP_SCTRCTL_RASEMU,
			    .first = samples),
		OPTION(0, "depth", required_argument, parse_depth, &configure->ctr.depth,
		       .first = samples),
		OPTION_BITS(0, "freeze-on-breakpoint", &configure->ctr.control,
			    FLOWTAP_SCTRCTL_BPFRZ, .first = samples),
		OPTION_CHOICE(0, "source", &configure->source, sources, "ctr, ete or soft"),
		OPTION('e', "event", required_argument, parse_event, options, .first = samples,
		       .wanted = "the name of an event (`flowtap list` shows them)"),
		OPTION_NUMBER('c', "count", &configure->period, 1, INT64_MAX, "a number of events",
			      .first = samples),
		OPTION_NUMBER('F', "freq", &options->frequency, 1, FREQUENCY_MAX,
			      "a number of samples a second, 1 to 100000", .first = samples),
		OPTION_BITS(0, "switch", &configure->triggers, FLOWTAP_TRIGGER_SWITCH),
		OPTION(0, "duration", required_argument, parse_duration, &options->duration),
		OPTION_STRING('o', "output", &options->path, .wanted = "the name of a file"),
		OPTION_FLAG(0, "force", &options->force),
		OPTION_FLAG(0, "bundle", &options->bundle),
		OPTION(0, "borrow", optional_argument, parse_socket, &options->borrow),
		OPTION_BITS(0, "overwrite", &configure->flags, FLOWTAP_OVERWRITE),
		OPTION(0, "ring-pages", required_argument, parse_pages, options),
		OPTION_FLAG('q', "quiet", &options->quiet),
		OPTION_FLAG(0, "json", &options->json),
		OPTION('h', "help", no_argument, print_help, NULL),
		OPTIONS_OF(ete_options(&options->ete)),
		OPERANDS_PROGRAM};

	return parse_options(argc, argv, table);
}

/* What does not go together. NULL, or a complaint. */
static const char *conflict(const struct record_options *options)
{
	const struct flowtap_configure *configure = &options->configure;
	int targets = !!options->n_pids + !!options->cgroup + options->all;

	if (targets > 1)
		return "only one of -p, --cgroup and -a";
	if (options->n_pids && options->command)
		return "either -p or a command, not both";
	if (!targets && !options->command && !options->cpus_given)
		return "a command, -p PID, --cgroup PATH or -a is missing";
	if (options->cgroup && !(configure->flags & FLOWTAP_INHERIT))
		return "what is in the cgroup is recorded: no --no-inherit with it";
	if (!options->n_pids && (options->all || !options->command) &&
	    !(configure->flags & FLOWTAP_INHERIT))
		return "all that runs is recorded: no --no-inherit with it";
	if (options->frequency && (options->event_given || configure->period))
		return "either -F (a timer) or -e and -c (an event), not both";
	if (configure->ctr.control & FLOWTAP_SCTRCTL_RASEMU && configure->modes & FLOWTAP_MODE_KERNEL)
		return "--ras is for user mode only: in the kernel the recorder's own returns would "
		       "take calls off the stack";
	if (configure->ctr.control & FLOWTAP_SCTRCTL_RASEMU && options->filter)
		return "--ras records calls and returns and nothing else; no --filter with it";
	if (options->json && !strcmp(options->path, "-"))
		return "--json and -o - both want standard output";
	return NULL;
}

/* Each source has options of its own. 0 or an exit status. */
static int check_source(const char *command, const struct record_options *options)
{
	const char *samples = options->samples_option, *ete = options->ete.given;
	uint32_t source = options->configure.source;

	if (samples && ete)
		return misused(command, "--%s is for sources that take samples (ctr), --%s for ete: "
					"none has both", samples, ete);
	if (samples && source == FLOWTAP_SOURCE_ETE)
		return misused(command, "ete traces all and takes no samples: no --%s with it",
			       samples);
	if (ete && source != FLOWTAP_SOURCE_NONE && source != FLOWTAP_SOURCE_ETE)
		return misused(command, "--%s is for ete, not for %s", ete,
			       name_of(source_names, source));
	return 0;
}

static int parse_filter(const char *command, struct record_options *options)
{
	struct flowtap_configure *configure = &options->configure;
	char unknown[32];

	if (!filter_parse(options->filter, &options->types, unknown))
		return *unknown ? misused(command, "'%s' is no type of transfers", unknown)
				: misused(command, "--filter '%s' leaves nothing to record",
					  options->filter);
	configure->ctr.control |= filter_control(options->types);
	if (configure->modes & FLOWTAP_MODE_KERNEL)
		return 0;
	/* The traps out of user mode are switched by one bit for all (Smctr 6.1.2). */
	if (filter_splits_traps(options->types))
		return misused(command, "in user mode exceptions and interrupts are recorded both or "
					"neither: name both");
	if (!filter_has_traps(options->types))
		configure->ctr.flags |= FLOWTAP_CTR_NO_TRAPS;
	return 0;
}

void options_complete(struct record_options *options)
{
	struct flowtap_configure *configure = &options->configure;

	if (!options->n_pids && !options->cgroup && !options->command)
		options->all = true;
	if (!configure->modes)
		configure->modes = FLOWTAP_MODE_USER;
	if (options->all) {
		configure->flags |= FLOWTAP_CPU_WIDE;
		configure->flags &= ~FLOWTAP_INHERIT;
	}
	if (options_trace_command(options))
		configure->flags |= FLOWTAP_ENABLE_ON_EXEC;
	if (options->frequency) {
		options->event = (struct event){ .name = NULL };
		configure->triggers |= FLOWTAP_TRIGGER_TIMER;
		configure->timer_ns = 1000000000 / options->frequency;
		return;
	}
	configure->triggers |= FLOWTAP_TRIGGER_OVERFLOW;
	configure->event_type = options->event.type;
	configure->event_config = options->event.config;
}

void options_init(struct record_options *options)
{
	*options = (struct record_options){
		.path = "flowtap.ftap",
		.types = filter_default(),
		.configure = { .flags = FLOWTAP_INHERIT, .ring_pages = OPTIONS_PAGES },
	};
	event_parse("instructions", &options->event);
	ete_options_init(&options->ete);
}

int options_parse(int argc, char **argv, struct record_options *options)
{
	const char *problem;
	int status;

	options_init(options);
	status = parse(argc, argv, options);
	if (status != OPTIONS_TAKEN)
		return status;
	if (optind < argc)
		options->command = argv + optind;
	options->path = output_path(options->path);
	problem = conflict(options);
	if (problem)
		return misused(argv[0], "%s", problem);
	status = check_source(argv[0], options);
	if (status)
		return status;
	options_complete(options);
	if (options->filter)
		status = parse_filter(argv[0], options);
	return status ? status : OPTIONS_TAKEN;
}
