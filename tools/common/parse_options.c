// SPDX-License-Identifier: GPL-2.0-only
/* Makes getopt_long's two tables of the one a command has, and words what can be wrong. */
#include "common/parse_options.h"

#include "common/tool.h"

#include <assert.h>
#include <string.h>

#define LONG 256	/* what getopt gives for a row without a letter: this and its number */

const char option_done[] = "", option_failed[] = "";

struct reading {
	const struct command_option *rows[OPTIONS_MAX];
	size_t n;
	struct option names[OPTIONS_MAX + 1];
	char letters[3 * OPTIONS_MAX + 2];
};

/* By bytes, as the integers of the ABI have types of their own. */
static const char *store(const struct command_option *option, uint64_t value)
{
	uint32_t narrow = (uint32_t)value;
	bool wide = option->size == sizeof(value);

	memcpy(option->into, wide ? (void *)&value : &narrow, wide ? sizeof(value) : sizeof(narrow));
	return NULL;
}

static uint64_t load(const struct command_option *option)
{
	uint32_t narrow;
	uint64_t value;
	bool wide = option->size == sizeof(value);

	memcpy(wide ? (void *)&value : &narrow, option->into, wide ? sizeof(value) : sizeof(narrow));
	return wide ? value : narrow;
}

const char *option_flag(const struct command_option *option, const char *text)
{
	(void)text;
	*(bool *)option->into = true;
	return NULL;
}

const char *option_bits(const struct command_option *option, const char *text)
{
	(void)text;
	return store(option, load(option) | option->bits);
}

const char *option_no_bits(const struct command_option *option, const char *text)
{
	(void)text;
	return store(option, load(option) & ~option->bits);
}

const char *option_string(const struct command_option *option, const char *text)
{
	*(const char **)option->into = text;
	return *text ? NULL : option->wanted;
}

const char *option_number(const struct command_option *option, const char *text)
{
	uint64_t value;

	return number_parse(text, option->least, option->most, &value) ? store(option, value) :
									 option->wanted;
}

const char *option_choice(const struct command_option *option, const char *text)
{
	for (const struct name *choice = option->choices; choice->name; choice++)
		if (!strcmp(text, choice->name))
			return store(option, choice->value);
	return option->wanted;
}

const char *option_text(const struct command_option *option, const char *text)
{
	(void)text;
	fputs(option->wanted, stdout);
	return option_done;
}

static void add(struct reading *reading, const struct command_option *row)
{
	static const char *const colons[] = {
		[no_argument] = "", [required_argument] = ":", [optional_argument] = "::",
	};
	int value = row->letter ? row->letter : LONG + (int)reading->n;

	assert(reading->n < OPTIONS_MAX);
	if (row->letter)
		sprintf(reading->letters + strlen(reading->letters), "%c%s", row->letter,
			colons[row->argument]);
	reading->names[reading->n] = (struct option){ row->name, row->argument, NULL, value };
	reading->rows[reading->n++] = row;
}

/* Returns the last row. */
static const struct command_option *add_all(struct reading *reading,
					    const struct command_option *row)
{
	for (; row->name || row->more; row++)
		if (row->more)
			add_all(reading, row->more);
		else
			add(reading, row);
	return row;
}

/* given: as getopt said. OPTIONS_TAKEN or an exit status. */
static int take(const struct reading *reading, const char *command, int given)
{
	const struct command_option *option;
	const char *wanted;
	size_t i = 0;

	while (i < reading->n && reading->names[i].val != given)
		i++;
	if (i == reading->n)
		return usage_hint(command);
	option = reading->rows[i];
	if (option->first && !*option->first)
		*option->first = option->name;
	wanted = option->take(option, optarg);
	if (!wanted)
		return OPTIONS_TAKEN;
	if (wanted == option_done || wanted == option_failed)
		return wanted == option_done ? STATUS_OK : STATUS_ERROR;
	return misused(command, "'%s' is not %s", optarg, wanted);
}

/* Likewise. */
static int count_operands(int argc, char **argv, const struct command_option *last)
{
	uint64_t n = (uint64_t)(argc - optind);

	if (n < last->least)
		return misused(argv[0], "the %s is missing", last->wanted);
	if (n <= last->most)
		return OPTIONS_TAKEN;
	return last->most ? misused(argv[0], "one %s at a time", last->wanted) :
			    misused(argv[0], "takes no argument, not '%s'", argv[optind]);
}

int parse_options(int argc, char **argv, const struct command_option *table)
{
	struct reading reading = { .letters = "+" };
	const struct command_option *last = add_all(&reading, table);
	/* With the + first getopt stops at the first operand. */
	const char *letters = reading.letters + (last->letter != '+');
	int given, status = OPTIONS_TAKEN;

	/* Not where an earlier command line ended. */
	optind = 0;
	while (status == OPTIONS_TAKEN &&
	       (given = getopt_long(argc, argv, letters, reading.names, NULL)) != -1)
		status = take(&reading, argv[0], given);
	return status == OPTIONS_TAKEN ? count_operands(argc, argv, last) : status;
}
