/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command line of a command: one table of its options, read by one loop.
 *
 *	bool json = false;
 *	const struct command_option options[] = {
 *		OPTION_FLAG(0, "json", &json),
 *		OPTION_HELP(help),
 *		OPERAND("FILE"),
 *	};
 *	int status = parse_options(argc, argv, options);
 *
 *	if (status != OPTIONS_TAKEN)
 *		return status;
 *
 * getopt_long does the work: options and operands mix, `--` ends options, long names may be cut
 * short as far as they are told apart. One that comes again counts again; the last one holds.
 */
#ifndef FLOWTAP_TOOLS_COMMON_PARSE_OPTIONS_H
#define FLOWTAP_TOOLS_COMMON_PARSE_OPTIONS_H

#include "common/names.h"

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A row of the table; the macros below make the usual ones. */
struct command_option {
	char letter;			/* of -x, 0: none */
	const char *name;		/* of --name */
	int argument;			/* no_argument, required_argument or optional_argument */
	/*
	 * Takes it; text: its argument, NULL if it has none. NULL: well. Else what the argument
	 * should have been, after "'TEXT' is not "; or one of the two below.
	 */
	const char *(*take)(const struct command_option *option, const char *text);
	/* The argument of take: */
	void *into;
	size_t size;			/* of a number there: 4 or 8 */
	uint64_t bits, least, most;
	const struct name *choices;
	const char *wanted;
	const char **first;		/* takes the name of the first one given of those that share it */
	const struct command_option *more;	/* a further table is here, all else is 0 */
};

/* What take may return: the command has done its work, or take has complained. */
extern const char option_done[], option_failed[];

/* Each may end with further members, as `.first = &of_samples`. */
#define OPTION(letter_, name_, argument_, take_, into_, ...) \
	{ .letter = letter_, .name = name_, .argument = argument_, .take = take_, .into = into_, \
	  __VA_ARGS__ }
/* A bool becomes true. */
#define OPTION_FLAG(letter, name, flag, ...) \
	OPTION(letter, name, no_argument, option_flag, flag, __VA_ARGS__)
/* Bits of an integer become 1, or 0. */
#define OPTION_BITS(letter, name, integer, bits_, ...) \
	OPTION(letter, name, no_argument, option_bits, integer, .size = sizeof(*(integer)), \
	       .bits = bits_, __VA_ARGS__)
#define OPTION_NO_BITS(letter, name, integer, bits_, ...) \
	OPTION(letter, name, no_argument, option_no_bits, integer, .size = sizeof(*(integer)), \
	       .bits = bits_, __VA_ARGS__)
/* The argument itself, borrowed from argv; with .wanted it cannot be empty. */
#define OPTION_STRING(letter, name, string, ...) \
	OPTION(letter, name, required_argument, option_string, string, __VA_ARGS__)
/* A number from least to most (number_parse), into an integer of 4 or 8 bytes. */
#define OPTION_NUMBER(letter, name, integer, least_, most_, wanted_, ...) \
	OPTION(letter, name, required_argument, option_number, integer, \
	       .size = sizeof(*(integer)), .least = least_, .most = most_, .wanted = wanted_, \
	       __VA_ARGS__)
/* The value of that name, into an integer or enum. */
#define OPTION_CHOICE(letter, name, integer, choices_, wanted_, ...) \
	OPTION(letter, name, required_argument, option_choice, integer, \
	       .size = sizeof(*(integer)), .choices = choices_, .wanted = wanted_, __VA_ARGS__)
/* Prints text and ends the command well. */
#define OPTION_TEXT(letter, name, text) \
	OPTION(letter, name, no_argument, option_text, NULL, .wanted = text)
#define OPTION_HELP(text) OPTION_TEXT('h', "help", text)
/* The rows of another table, which ends with the other one. */
#define OPTIONS_OF(table) { .more = table }
#define OPTIONS_END { .name = NULL }

/* The last row says what is after the options. Nothing: */
#define OPERANDS_NONE { .name = NULL }
/* One, or one and more; what: its name, as in "the FILE is missing". */
#define OPERAND(what) { .wanted = what, .least = 1, .most = 1 }
#define OPERANDS(what) { .wanted = what, .least = 1, .most = UINT64_MAX }
/* What the command counts itself. */
#define OPERANDS_ANY { .most = UINT64_MAX }
/* Another program's command line: what begins with - there is no option of ours. */
#define OPERANDS_PROGRAM { .letter = '+', .most = UINT64_MAX }

const char *option_flag(const struct command_option *option, const char *text);
const char *option_bits(const struct command_option *option, const char *text);
const char *option_no_bits(const struct command_option *option, const char *text);
const char *option_string(const struct command_option *option, const char *text);
const char *option_number(const struct command_option *option, const char *text);
const char *option_choice(const struct command_option *option, const char *text);
const char *option_text(const struct command_option *option, const char *text);

#define OPTIONS_MAX	64		/* rows, those of further tables included */
#define OPTIONS_TAKEN	(-1)

/*
 * Reads argv by the table; argv[0] is whom complaints begin with. OPTIONS_TAKEN: all is taken, and
 * what is after the options is argv[optind] up to argv[argc - 1], in its order. Else the
 * command is done with this exit status: STATUS_OK after the help, STATUS_USAGE after a complaint,
 * STATUS_ERROR after option_failed. What came before is taken even then.
 */
int parse_options(int argc, char **argv, const struct command_option *table);

#endif /* FLOWTAP_TOOLS_COMMON_PARSE_OPTIONS_H */
