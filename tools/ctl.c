// SPDX-License-Identifier: GPL-2.0-only
/* flowtap ctl: asks a flowtapd that runs. */
#include "common/control.h"
#include "common/names.h"
#include "common/parse_options.h"
#include "common/tool.h"

#include <errno.h>
#include <linux/flowtap.h>
#include <stdlib.h>
#include <string.h>

static const char help_begin[] =
	"usage: flowtap ctl COMMAND [OPTION...]\n"
	"\n"
	"Asks the flowtapd that runs on this machine.\n"
	"\n";

static const char help_end[] =
	"\n"
	"      --socket PATH    where it listens (" CONTROL_SOCKET ")\n"
	"      --json           its answer as it is, one line of JSON\n"
	"  -h, --help           this text\n"
	"\n"
	"status and stats are for members of the group of flowtapd.conf(5), the others for root\n"
	"and for the user that flowtapd runs as.\n"
	"\n"
	"Exit status: 0; 1 where nobody answers, or refuses; 2 for wrong usage.\n";

/* --- Values of the answer; whoever answers may leave them out. --- */

static uint64_t count_of(struct json_value object, const char *key)
{
	uint64_t count = 0;

	json_is_count(json_member(object, key), &count);
	return count;
}

static double number_in(struct json_value object, const char *key)
{
	double number = 0;

	json_is_number(json_member(object, key), &number);
	return number;
}

static void write_string(struct json_value object, const char *key)
{
	char text[4200];

	if (json_is_string(json_member(object, key), text, sizeof(text)))
		print_plain(stdout, text, strlen(text));
	else
		putchar('-');
}

/* Of an array, with commas. */
static void write_strings(struct json_value object, const char *key)
{
	const struct json_value array = json_member(object, key);
	struct json_value element = { .text = NULL };
	const char *before = "";
	char text[64];

	while ((element = json_next(array, element)).size) {
		if (!json_is_string(element, text, sizeof(text)))
			continue;
		fputs(before, stdout);
		print_plain(stdout, text, strlen(text));
		before = ",";
	}
	if (!*before)
		putchar('-');
}

static bool is_string(struct json_value object, const char *key, const char *wanted)
{
	char text[64];

	return json_is_string(json_member(object, key), text, sizeof(text)) &&
	       !strcmp(text, wanted);
}

static void write_bytes(struct json_value object, const char *key)
{
	char text[32];

	fputs(number_bytes(count_of(object, key), text), stdout);
}

static void write_count(struct json_value object, const char *key)
{
	char text[32];

	fputs(number_group(count_of(object, key), text), stdout);
}

/* "3.2 s", "12 min 5 s", "3 h 12 min", "4 d 3 h" */
static void write_seconds(double seconds)
{
	static const struct {
		uint64_t seconds;
		const char *name;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
	uint64_t whole = seconds >= 0 && seconds < 1e12 ? (uint64_t)seconds : 0;
	size_t i = 0;

	if (whole < 60) {
		printf("%.1f s", seconds);
		return;
	}
	while (whole < units[i].seconds)
		i++;
	printf("%llu %s %llu %s", (unsigned long long)(whole / units[i].seconds), units[i].name,
	       (unsigned long long)(whole % units[i].seconds / units[i + 1].seconds),
	       units[i + 1].name);
}

static void title(const char *name)
{
	printf("  %-14s", name);
}

/* --- Answers, for people. --- */

static void write_lease(struct json_value answer)
{
	if (!json_member(answer, "lent_pid").size)
		return;
	title("lent");
	printf("to PID %llu for ", (unsigned long long)count_of(answer, "lent_pid"));
	write_seconds(number_in(answer, "lent_seconds"));
	putchar('\n');
}

/* How tasks are chosen, where some are. */
static void write_choice(struct json_value answer)
{
	static const struct {
		const char *name, *text;
	} ways[] = {
		{ "kernel", "chosen in the kernel" },
		{ "stop", "chosen in the kernel, stopped until they are added" },
		{ "poll", "found in /proc" },
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (!is_string(answer, "tasks", ways[i].name))
			continue;
		title("tasks");
		printf("%s, ", ways[i].text);
		write_count(answer, "tasks_missed");
		fputs(" missed\n", stdout);
		if (!is_string(answer, "tasks", "kernel")) {
			title("");
			fputs("since ", stdout);
			write_string(answer, "tasks_why");
			fputs("; not done: ", stdout);
			write_string(answer, "tasks_lacking");
			putchar('\n');
		}
	}
}

static void put_into(struct json_value answer)
{
	char name[256];

	title("into");
	if (json_is_string(json_member(answer, "segment"), name, sizeof(name))) {
		print_plain(stdout, name, strlen(name));
		fputs(" (", stdout);
		write_bytes(answer, "segment_bytes");
		fputs(") in ", stdout);
	} else {
		fputs("no segment now; they are in ", stdout);
	}
	write_string(answer, "directory");
	putchar('\n');
}

static void write_share(struct json_value answer, const char *name, const char *key, const char *of,
			const char *budget)
{
	title(name);
	printf("%.2f %% of %s", 100 * number_in(answer, key), of);
	if (budget)
		printf(" (budget %.2f %%)", 100 * number_in(answer, budget));
	putchar('\n');
}

static void write_segments(struct json_value answer)
{
	title("segments");
	write_count(answer, "segments");
	fputs(" finished, ", stdout);
	write_count(answer, "segments_deleted");
	fputs(" deleted, ", stdout);
	write_bytes(answer, "segments_bytes");
	fputs(" on the disk\n", stdout);
	title("snapshots");
	write_count(answer, "snapshots");
	putchar('\n');
	title("decode");
	write_count(answer, "decode_waiting");
	fputs(count_of(answer, "decode_waiting") == 1 ? " waits" : " wait", stdout);
	if (count_of(answer, "decode_waiting")) {
		fputs(", the oldest for ", stdout);
		write_seconds(number_in(answer, "decode_lag_seconds"));
	}
	putchar('\n');
	title("side band");
	write_count(answer, "sideband_lost");
	fputs(" lost\n", stdout);
}

static void write_status(struct json_value answer)
{
	fputs("flowtapd ", stdout);
	write_string(answer, "version");
	printf(" (PID %llu): ", (unsigned long long)count_of(answer, "pid"));
	write_string(answer, "state");
	putchar('\n');
	write_lease(answer);
	title("records");
	write_strings(answer, "modes");
	fputs(" mode by ", stdout);
	write_string(answer, "source");
	fputs(", for ", stdout);
	write_seconds(number_in(answer, "seconds"));
	putchar('\n');
	write_choice(answer);
	put_into(answer);
	write_share(answer, "share", "share", "what is configured", NULL);
	write_share(answer, "duty", "duty", "the time", NULL);
	write_share(answer, "own CPU", "own_cpu", "one CPU", "cpu_budget");
	write_share(answer, "loss", "loss", "what came in the last second", "loss_budget");
	title("memory");
	write_bytes(answer, "resident_bytes");
	fputs(" (budget ", stdout);
	write_bytes(answer, "memory_budget_bytes");
	fputs(")\n", stdout);
	write_segments(answer);
	title("configuration");
	write_string(answer, "configuration");
	putchar('\n');
}

static void write_cpu(struct json_value cpu)
{
	char records[32], bytes[32], lost[32], gaps[32], high[32], size[32];
	uint64_t ring = count_of(cpu, "ring_bytes"), most = count_of(cpu, "high_water_bytes");

	printf("  %4llu %15s %12s %12s %10s %10s of %s (%.0f %%)\n",
	       (unsigned long long)count_of(cpu, "cpu"),
	       number_group(count_of(cpu, "records"), records),
	       number_bytes(count_of(cpu, "bytes"), bytes),
	       number_bytes(count_of(cpu, "lost_bytes"), lost),
	       number_group(count_of(cpu, "gap_count"), gaps), number_bytes(most, high),
	       number_bytes(ring, size), ring ? 100.0 * (double)most / (double)ring : 0);
}

static void write_causes(struct json_value cpu)
{
	const struct json_value gaps = json_member(cpu, "gaps");
	const struct json_value bytes = json_member(cpu, "gap_bytes");
	char times[32], size[32];

	for (uint32_t cause = 0; cause < FLOWTAP_CAUSE_MAX; cause++) {
		const char *name = cause_name(cause);
		uint64_t n = count_of(gaps, name), lost = count_of(bytes, name);

		if (!n && !lost)
			continue;
		printf("  %4llu %s: %s time%s, %s\n", (unsigned long long)count_of(cpu, "cpu"), name,
		       number_group(n, times), plural(n),
		       lost ? number_bytes(lost, size) : "of unknown size");
	}
}

static void write_stats(struct json_value answer)
{
	const struct json_value cpus = json_member(answer, "cpus");
	struct json_value cpu = { .text = NULL };
	bool heading = false;

	write_segments(answer);
	printf("  %4s %15s %12s %12s %10s %10s\n", "CPU", "records", "bytes", "lost", "gaps",
	       "most in the ring");
	while ((cpu = json_next(cpus, cpu)).size)
		write_cpu(cpu);
	while ((cpu = json_next(cpus, cpu)).size) {
		if (!heading && (count_of(cpu, "gap_count") || count_of(cpu, "lost_bytes"))) {
			puts("  gaps by CPU and cause");
			heading = true;
		}
		write_causes(cpu);
	}
}

static void write_state(struct json_value answer)
{
	write_string(answer, "state");
	if (is_string(answer, "state", "full"))
		fputs(": there is no room for segments; it begins by itself when there is", stdout);
	if (is_string(answer, "state", "lent"))
		fputs(": and stays stopped when what borrowed the hardware has ended", stdout);
	putchar('\n');
}

static void write_rotation(struct json_value answer)
{
	char name[256];

	if (!json_is_string(json_member(answer, "segment"), name, sizeof(name))) {
		puts("no segment is being written: none ends");
		return;
	}
	fputs("another segment begins after ", stdout);
	print_plain(stdout, name, strlen(name));
	putchar('\n');
}

static void write_snapshot(struct json_value answer)
{
	fputs("what the rings have is saved in ", stdout);
	write_string(answer, "segment");
	putchar('\n');
}

static void write_reload(struct json_value answer)
{
	fputs("reads ", stdout);
	write_string(answer, "configuration");
	puts(" again; its log says what holds");
}

/* --- Commands: as they are asked, and what comes back. --- */

static const struct {
	const char *name;
	const char *line;
	void (*put)(struct json_value answer);
} asks[] = {
	{"status", "what it records, where to, and what that costs", write_status},
	{"stats", "what came and what was lost, by CPU", write_stats},
	{"stop", "records nothing any more", write_state},
	{"start", "records again", write_state},
	{"rotate", "ends the segment and begins another one", write_rotation},
	{"snapshot", "saves what its rings have, where they overwrite", write_snapshot},
	{"reload", "reads its configuration again", write_reload},
};

#define ASKS (sizeof(asks) / sizeof(asks[0]))

static const char *print_help(const struct command_option *option, const char *text)
{
	(void)option;
	(void)text;
	fputs(help_begin, stdout);
	for (size_t i = 0; i < ASKS; i++)
		printf("  %-8s %s\n", asks[i].name, asks[i].line);
	fputs(help_end, stdout);
	return option_done;
}

/* It was checked, so that control characters can be in strings only. */
static void print_json(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		const unsigned char c = (unsigned char)text[i];

		if (c == 0x7f)
			fputs("\\u007f", stdout);
		else if (c == 0xc2 && i + 1 < size && (unsigned char)text[i + 1] < 0xa0)
			printf("\\u%04x", (unsigned char)text[++i]);
		else if (c != '\n' && c != '\r')
			putchar(c);
	}
	putchar('\n');
}

static int ask(const char *path, size_t which, bool json)
{
	struct control control;
	int error = control_open(&control, path);

	if (error)
		control_complain(&control, error);
	else
		error = control_ask(&control, asks[which].name, CONTROL_SECONDS, false);
	if (json && (!error || error == -EPERM))
		print_json(control.text, control.size);
	else if (!error)
		asks[which].put(control.answer);
	control_close(&control);
	return error ? STATUS_ERROR : STATUS_OK;
}

int ctl_command(int argc, char **argv)
{
	const char *path = CONTROL_SOCKET;
	bool json = false;
	const struct command_option options[] = {
		OPTION_STRING(0, "socket", &path),
		OPTION_FLAG(0, "json", &json),
		OPTION('h', "help", no_argument, print_help, NULL),
		OPERAND("COMMAND")
	};
	int status = parse_options(argc, argv, options);

	if (status != OPTIONS_TAKEN)
		return status;
	for (size_t i = 0; i < ASKS; i++)
		if (!strcmp(argv[optind], asks[i].name))
			return ask(path, i, json);
	return misused(argv[0], "'%s' is not status, stats, stop, start, rotate, snapshot or "
		       "reload", argv[optind]);
}
