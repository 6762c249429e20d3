// SPDX-License-Identifier: GPL-2.0-only
/* flowtap check: whether files are what they should be. */
#include "common/input_file.h"
#include "common/json.h"
#include "common/parse_options.h"
#include "common/progress.h"
#include "common/tool.h"

#include <errno.h>
#include <flowtap/check.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define PROBLEMS_SHOWN 10

static const char help[] =
	"usage: flowtap check [OPTION...] FILE...\n"
	"\n"
	"Checks archives (.ftap) and traces (.stf, .zstf, Tarmac, QEMU4V; those of text and .stf\n"
	"also packed by gzip) against all that their formats say, and what their readers take:\n"
	"checksums, records, counts, sequence numbers; the order of records, opcodes, targets,\n"
	"the PC; chunks and index; lines and times. What a file is its first bytes say. FILE - is\n"
	"standard input.\n"
	"\n"
	"  -a, --all    every problem, not only the first 10 of each file\n"
	"  -q, --quiet  problems only\n"
	"      --json   one line of JSON for each file\n"
	"  -h, --help   this text\n"
	"\n"
	"Each problem has its offset in the file (of what is compressed: in the uncompressed\n"
	"trace) and of text its line. What an archive reports as lost is no problem. A remark is\n"
	"what a known tool does not take of a file without problems: it leaves the exit status.\n"
	"\n"
	"Exit status: 0 all files are good; 1 there are problems, or a file cannot be read; 2 for\n"
	"wrong usage.\n";

struct checking {
	const char *path;
	const char *packing;	/* by what it is packed that is not read; NULL */
	struct json json;
	uint64_t shown;
	uint64_t limit;
	bool as_json;
	bool quiet;
	struct progress progress;
};

static void show(struct checking *checking, const struct flowtap_check_problem *problem,
		 const char *what)
{
	if (checking->as_json) {
		json_open(&checking->json, NULL, '{');
		json_number(&checking->json, "offset", problem->offset);
		json_bool(&checking->json, "uncompressed", problem->unpacked);
		if (problem->line)
			json_number(&checking->json, "line", problem->line);
		json_string(&checking->json, "reason", problem->reason);
		json_close(&checking->json, '}');
		return;
	}
	progress_hide(&checking->progress);
	print_plain(stdout, checking->path, strlen(checking->path));
	if (problem->line)
		printf(": line %" PRIu64, problem->line);
	printf(": offset %" PRIu64 "%s: %s%s\n", problem->offset,
	       problem->unpacked ? " (uncompressed)" : "", what, problem->reason);
}

static void handle_problem(struct flowtap_check *check, const struct flowtap_check_problem *problem)
{
	struct checking *checking = check->argument;

	if (checking->shown == checking->limit)
		return;
	checking->shown++;
	show(checking, problem, "");
}

static void open_remarks(struct checking *checking)
{
	json_close(&checking->json, ']');
	json_open(&checking->json, "remarks", '[');
}

static void handle_remark(struct flowtap_check *check, const struct flowtap_check_problem *remark)
{
	struct checking *checking = check->argument;

	if (checking->quiet && !checking->as_json)
		return;
	if (checking->as_json && check->remarks == 1)
		open_remarks(checking);
	show(checking, remark, "remark: ");
}

static void show_progress(struct flowtap_check *check, uint64_t done, uint64_t size)
{
	struct checking *checking = check->argument;

	progress_show(&checking->progress, done, size, "bytes");
}

static const char *format_name(const struct flowtap_check *check)
{
	static const char *const names[] = {
		[FLOWTAP_CHECK_UNKNOWN] = "unknown",
		[FLOWTAP_CHECK_ARCHIVE] = "ftap",
		[FLOWTAP_CHECK_STF] = "stf",
		[FLOWTAP_CHECK_ZSTF] = "zstf",
		[FLOWTAP_CHECK_TARMAC] = "tarmac",
		[FLOWTAP_CHECK_QEMU4V] = "qemu4v",
	};

	return names[check->format];
}

static const char *error_text(const struct checking *checking, int error)
{
	switch (-error) {
	case ENODATA:
		return "the file is empty";
	case EBADMSG:
		return checking->packing ? checking->packing :
		       "neither a flowtap archive nor a trace that is known (stf, zstf, tarmac, qemu4v)";
	case EPROTONOSUPPORT:
		return "an archive of another version of flowtap";
	default:
		return strerror(-error);
	}
}

static bool is_text(const struct flowtap_check *check)
{
	return check->format == FLOWTAP_CHECK_TARMAC || check->format == FLOWTAP_CHECK_QEMU4V;
}

static void print_counts(const struct flowtap_check *check)
{
	char one[32], other[32];

	if (check->format == FLOWTAP_CHECK_ARCHIVE && check->aux_records && !check->samples)
		printf("%s AUX record%s with %s byte%s", number_group(check->aux_records, one),
		       plural(check->aux_records), number_group(check->aux_bytes, other),
		       plural(check->aux_bytes));
	else if (check->format == FLOWTAP_CHECK_ARCHIVE)
		printf("%s sample%s with %s transfer%s", number_group(check->samples, one),
		       plural(check->samples), number_group(check->entries, other),
		       plural(check->entries));
	else
		printf("%s instruction%s in %s %s%s", number_group(check->instructions, one),
		       plural(check->instructions), number_group(check->records, other),
		       is_text(check) ? "line" : "record", plural(check->records));
	if (check->format == FLOWTAP_CHECK_ZSTF)
		printf(", %s chunk%s", number_group(check->chunks, one), plural(check->chunks));
	if (check->lost_records)
		printf(", %s record%s lost", number_group(check->lost_records, one),
		       plural(check->lost_records));
}

static void print_verdict(const struct checking *checking, const struct flowtap_check *check,
			  int error)
{
	char group[32];

	if (error) {
		complain("'%s': %s", checking->path, error_text(checking, error));
		return;
	}
	if (check->problems > checking->shown)
		printf("  and %s more; --all shows them\n",
		       number_group(check->problems - checking->shown, group));
	if (checking->quiet)
		return;
	print_plain(stdout, checking->path, strlen(checking->path));
	if (check->problems)
		printf(": %s problem%s: ", number_group(check->problems, group),
		       plural(check->problems));
	else
		printf(": good: ");
	print_counts(check);
	putchar('\n');
}

static void close_json(struct checking *checking, const struct flowtap_check *check, int error)
{
	struct json *json = &checking->json;

	if (!check->remarks)
		open_remarks(checking);
	json_close(json, ']');
	json_string(json, "error", error ? error_text(checking, error) : NULL);
	json_string(json, "format", format_name(check));
	json_bool(json, "good", !error && !check->problems);
	json_number(json, "problem_count", check->problems);
	json_number(json, "bytes", check->size);
	json_number(json, "records", check->records);
	if (check->format == FLOWTAP_CHECK_ARCHIVE) {
		json_number(json, "blocks", check->blocks);
		json_number(json, "samples", check->samples);
		json_number(json, "transfers", check->entries);
		json_number(json, "aux_records", check->aux_records);
		json_number(json, "aux_bytes", check->aux_bytes);
		json_number(json, "lost_records", check->lost_records);
	} else {
		json_number(json, "instructions", check->instructions);
		json_number(json, "chunks", check->chunks);
	}
	json_close(json, '}');
}

/* That the packing is damaged is one problem: stderr has it and how many damages, the JSON this. */
static void show_unpacked(struct checking *checking)
{
	const struct flowtap_unpacked *unpacked = input_unpacked();
	const struct flowtap_check_problem problem = {
		.offset = unpacked->offset, .reason = unpacked->reason,
	};

	if (checking->as_json)
		show(checking, &problem, "");
	checking->shown++;
}

/* Whether it is good. */
static bool check_one(struct checking *checking, const char *path)
{
	struct flowtap_check check = {
		.problem = handle_problem,
		.remark = handle_remark,
		.progress = show_progress,
		.argument = checking,
	};
	int fd = input_open(path, checking->quiet), error;
	bool damaged;

	checking->path = input_name(path);
	checking->shown = 0;
	if (checking->as_json) {
		checking->json = (struct json){ .file = stdout, .flat = true };
		json_open(&checking->json, NULL, '{');
		json_string(&checking->json, "file", checking->path);
		json_open(&checking->json, "problems", '[');
	}
	/* input_open has complained. */
	damaged = input_unpacked()->damages;
	if (damaged)
		show_unpacked(checking);
	progress_begin(&checking->progress);
	error = fd < 0 ? fd : flowtap_check_file(&check, fd);
	if (fd >= 0 && error == -EBADMSG && !check.size)
		error = -ENODATA;
	checking->packing = fd >= 0 ? input_packing(fd, true) : NULL;
	check.problems += damaged;
	progress_end(&checking->progress);
	if (checking->as_json)
		close_json(checking, &check, error);
	else if (fd >= 0)
		print_verdict(checking, &check, error);
	if (fd >= 0)
		close(fd);
	return !error && !check.problems;
}

int check_command(int argc, char **argv)
{
	struct checking checking = { .quiet = false };
	bool all = false;
	const struct command_option options[] = {
		OPTION_FLAG('a', "all", &all),
		OPTION_FLAG('q', "quiet", &checking.quiet),
		OPTION_FLAG(0, "json", &checking.as_json),
		OPTION_HELP(help),
		OPERANDS("FILE")
	};
	int status = parse_options(argc, argv, options);

	if (status != OPTIONS_TAKEN)
		return status;
	status = STATUS_OK;
	checking.limit = all ? UINT64_MAX : PROBLEMS_SHOWN;
	checking.progress.doing = checking.quiet ? NULL : "checking";
	for (; optind < argc; optind++)
		if (!check_one(&checking, argv[optind]))
			status = STATUS_ERROR;
	return status;
}
