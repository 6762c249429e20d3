// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that one table makes a command line: each kind of option is taken, what is wrong is refused
 * with one line that says why and one that points at --help, and what stands after is counted.
 */
#include "../../../tools/common/parse_options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../../tools/common/tool.h"
#include "support/kselftest_harness.h"

#define ARGUMENTS 16

static const struct name colours[] = { { 3, "red" }, { 5, "green" }, { 0, NULL } };

FIXTURE(command)
{
	bool quiet, quick;
	const char *output, *level, *of_colour, *more, *operand;
	uint32_t bits;
	uint64_t count;
	int colour;
	char said[512];			/* on standard output and standard error, the last time */
};

FIXTURE_SETUP(command)
{
	self->bits = 0xf0;
	self->count = 7;
	self->level = "not given";
}

FIXTURE_TEARDOWN(command)
{
}

static const char *take_level(const struct command_option *option, const char *text)
{
	*(const char **)option->into = text;
	return text && !strcmp(text, "none") ? option_failed : NULL;
}

#define SELF FIXTURE_DATA(command)

/* The words after the command's name, by its table with `last` as the last row. */
static int parse(SELF *self, const char *words, struct command_option last)
{
	const struct command_option more[] = {
		OPTION_STRING(0, "more", &self->more),
		OPTIONS_END
	};
	const struct command_option table[] = {
		OPTION_FLAG('q', "quiet", &self->quiet),
		OPTION_FLAG(0, "quick", &self->quick),
		OPTION_STRING('o', "output", &self->output, .wanted = "the name of a file"),
		OPTION_NUMBER('n', "count", &self->count, 2, 300, "a number from 2 to 300"),
		OPTIONS_OF(more),
		OPTION_CHOICE(0, "colour", &self->colour, colours, "red or green",
			      .first = &self->of_colour),
		OPTION_BITS(0, "bits", &self->bits, 3, .first = &self->of_colour),
		OPTION_NO_BITS(0, "no-bits", &self->bits, 0x30),
		OPTION('l', "level", optional_argument, take_level, &self->level),
		OPTION_HELP("usage: x\n"),
		last
	};
	static char text[256];
	static char *argv[ARGUMENTS];
	char program[] = "flowtap x", *rest = text;
	int argc = 1, kept[2] = { dup(1), dup(2) }, status;
	FILE *file = tmpfile();

	argv[0] = program;
	snprintf(text, sizeof(text), "%s", words);
	for (char *word; (word = strsep(&rest, " ")) && argc < ARGUMENTS - 1;)
		argv[argc++] = word;
	argv[argc] = NULL;
	dup2(fileno(file), 1);
	dup2(fileno(file), 2);
	status = parse_options(argc, argv, table);
	fflush(stdout);
	dup2(kept[0], 1);
	dup2(kept[1], 2);
	close(kept[0]);
	close(kept[1]);
	memset(self->said, 0, sizeof(self->said));
	rewind(file);
	(void)!fread(self->said, 1, sizeof(self->said) - 1, file);
	fclose(file);
	self->operand = argv[optind];
	return status;
}

#define ANY ((struct command_option)OPERANDS_ANY)
#define NONE ((struct command_option)OPERANDS_NONE)
#define ONE ((struct command_option)OPERAND("FILE"))
#define SOME ((struct command_option)OPERANDS("FILE"))
#define PROGRAM ((struct command_option)OPERANDS_PROGRAM)
#define HINT "  flowtap x --help shows what there is\n"

TEST_F(command, every_kind_is_taken)
{
	ASSERT_EQ(OPTIONS_TAKEN, parse(self, "-qo a --count=0x10 --colour green --bits --no-bits "
					     "--quick -l3 --more b", NONE));
	EXPECT_TRUE(self->quiet && self->quick);
	EXPECT_STREQ("a", self->output);
	EXPECT_EQ(16, self->count);
	EXPECT_EQ(5, self->colour);
	EXPECT_EQ(0xc3, self->bits);
	EXPECT_STREQ("3", self->level);
	EXPECT_STREQ("b", self->more);
	EXPECT_STREQ("", self->said);
}

TEST_F(command, what_is_not_given_stays)
{
	ASSERT_EQ(OPTIONS_TAKEN, parse(self, "--quiet", NONE));
	EXPECT_FALSE(self->quick);
	EXPECT_EQ(7, self->count);
	EXPECT_EQ(0xf0, self->bits);
	EXPECT_STREQ("not given", self->level);
}

TEST_F(command, an_argument_may_be_optional)
{
	ASSERT_EQ(OPTIONS_TAKEN, parse(self, "--level 3", ONE));
	EXPECT_TRUE(!self->level);
	EXPECT_STREQ("3", self->operand);
}

TEST_F(command, an_unknown_option_is_refused)
{
	EXPECT_EQ(STATUS_USAGE, parse(self, "--nonsense", NONE));
	EXPECT_STREQ("flowtap x: unrecognized option '--nonsense'\n" HINT, self->said);
	EXPECT_EQ(STATUS_USAGE, parse(self, "-x", NONE));
	EXPECT_STREQ("flowtap x: invalid option -- 'x'\n" HINT, self->said);
}

TEST_F(command, a_missing_value_is_refused)
{
	EXPECT_EQ(STATUS_USAGE, parse(self, "--count", NONE));
	EXPECT_STREQ("flowtap x: option '--count' requires an argument\n" HINT, self->said);
	EXPECT_EQ(STATUS_USAGE, parse(self, "--quiet=3", NONE));
	EXPECT_STREQ("flowtap x: option '--quiet' doesn't allow an argument\n" HINT, self->said);
}

TEST_F(command, a_value_that_is_wrong_is_refused)
{
	static const char *const wrong[][2] = {
		{ "-n 1", "'1' is not a number from 2 to 300" },
		{ "-n 301", "'301' is not a number from 2 to 300" },
		{ "--count 3x", "'3x' is not a number from 2 to 300" },
		{ "--count=", "'' is not a number from 2 to 300" },
		{ "--colour blue", "'blue' is not red or green" },
		{ "--output=", "'' is not the name of a file" },
	};
	char line[128];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		EXPECT_EQ(STATUS_USAGE, parse(self, wrong[i][0], NONE));
		snprintf(line, sizeof(line), "flowtap x: %s\n" HINT, wrong[i][1]);
		EXPECT_STREQ(line, self->said);
	}
	EXPECT_EQ(7, self->count);
}

TEST_F(command, long_names_may_be_cut_short)
{
	ASSERT_EQ(OPTIONS_TAKEN, parse(self, "--quie --cou 9", NONE));
	EXPECT_TRUE(self->quiet);
	EXPECT_EQ(9, self->count);
	EXPECT_EQ(STATUS_USAGE, parse(self, "--qui", NONE));
	EXPECT_STREQ("flowtap x: option '--qui' is ambiguous; possibilities: '--quiet' '--quick'\n"
		     HINT, self->said);
}

TEST_F(command, the_last_one_stands)
{
	ASSERT_EQ(OPTIONS_TAKEN, parse(self, "-n 3 -o a --count 4 --output b", NONE));
	EXPECT_EQ(4, self->count);
	EXPECT_STREQ("b", self->output);
}

TEST_F(command, the_first_of_a_group_is_kept)
{
	ASSERT_EQ(OPTIONS_TAKEN, parse(self, "-q", NONE));
	EXPECT_TRUE(!self->of_colour);
	ASSERT_EQ(OPTIONS_TAKEN, parse(self, "--bits --colour red", NONE));
	EXPECT_STREQ("bits", self->of_colour);
}

TEST_F(command, help_ends_it)
{
	EXPECT_EQ(STATUS_OK, parse(self, "-n 3 --help --nonsense", NONE));
	EXPECT_STREQ("usage: x\n", self->said);
	EXPECT_EQ(3, self->count);
	EXPECT_EQ(STATUS_OK, parse(self, "-h", ONE));
	EXPECT_STREQ("usage: x\n", self->said);
}

TEST_F(command, a_failure_ends_it)
{
	EXPECT_EQ(STATUS_ERROR, parse(self, "--level=none -q", NONE));
	EXPECT_FALSE(self->quiet);
	EXPECT_STREQ("", self->said);
}

TEST_F(command, operands_are_counted)
{
	EXPECT_EQ(STATUS_USAGE, parse(self, "-q a", NONE));
	EXPECT_STREQ("flowtap x: takes no argument, not 'a'\n" HINT, self->said);
	EXPECT_EQ(STATUS_USAGE, parse(self, "-q", ONE));
	EXPECT_STREQ("flowtap x: the FILE is missing\n" HINT, self->said);
	EXPECT_EQ(STATUS_USAGE, parse(self, "a b", ONE));
	EXPECT_STREQ("flowtap x: one FILE at a time\n" HINT, self->said);
	EXPECT_EQ(STATUS_USAGE, parse(self, "-q", SOME));
	EXPECT_STREQ("flowtap x: the FILE is missing\n" HINT, self->said);
	EXPECT_EQ(OPTIONS_TAKEN, parse(self, "a", ONE));
	EXPECT_EQ(OPTIONS_TAKEN, parse(self, "a b", SOME));
	EXPECT_EQ(OPTIONS_TAKEN, parse(self, "-q", ANY));
	EXPECT_EQ(OPTIONS_TAKEN, parse(self, "a b c", ANY));
}

TEST_F(command, operands_and_options_mix)
{
	ASSERT_EQ(OPTIONS_TAKEN, parse(self, "a -q", ONE));
	EXPECT_TRUE(self->quiet);
	EXPECT_STREQ("a", self->operand);
}

TEST_F(command, two_dashes_end_the_options)
{
	ASSERT_EQ(OPTIONS_TAKEN, parse(self, "-q -- --quick", ONE));
	EXPECT_TRUE(self->quiet);
	EXPECT_FALSE(self->quick);
	EXPECT_STREQ("--quick", self->operand);
}

TEST_F(command, a_program_has_options_of_its_own)
{
	ASSERT_EQ(OPTIONS_TAKEN, parse(self, "--quick true -q", PROGRAM));
	EXPECT_TRUE(self->quick);
	EXPECT_FALSE(self->quiet);
	EXPECT_STREQ("true", self->operand);
}

TEST_HARNESS_MAIN
