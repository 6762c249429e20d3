// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that each event is one line that can be taken apart again, whatever stands in its values;
 * that the journal gets its levels, and others a time; and that messages become events.
 */
#include "log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../tools/common/tool.h"
#include "support/kselftest_harness.h"

FIXTURE(log)
{
	FILE *file;
	struct log_line line;
	char text[4 * LOG_LINE];
};

FIXTURE_SETUP(log)
{
	self->file = tmpfile();
	ASSERT_TRUE(self->file);
	unsetenv("JOURNAL_STREAM");
	log_open(fileno(self->file));
}

FIXTURE_TEARDOWN(log)
{
	log_take_messages(false);
	log_open(STDERR_FILENO);
	fclose(self->file);
}

/* All that was written so far. */
static char *written(FIXTURE_DATA(log) *self)
{
	ssize_t n = pread(fileno(self->file), self->text, sizeof(self->text) - 1, 0);

	self->text[n < 0 ? 0 : n] = 0;
	return self->text;
}

/* Where the time is taken off. */
static char *after_time(FIXTURE_DATA(log) *self)
{
	char *text = written(self);
	int n = 0;

	if (sscanf(text, "time=%*4d-%*2d-%*2dT%*2d:%*2d:%*2d.%*3dZ %n", &n) < 0 || !n)
		return text;
	return text + n;
}

static void be_journal(FIXTURE_DATA(log) *self, ino_t more)
{
	struct stat stat;
	char name[64];

	fstat(fileno(self->file), &stat);
	snprintf(name, sizeof(name), "%llu:%llu", (unsigned long long)stat.st_dev,
		 (unsigned long long)(stat.st_ino + more));
	setenv("JOURNAL_STREAM", name, 1);
	log_open(fileno(self->file));
}

TEST_F(log, an_event_is_a_line_of_keys_and_values)
{
	log_begin(&self->line, LEVEL_NOTICE, "segment-ended");
	log_text(&self->line, "name", "7-20261122T153000Z.ftap");
	log_number(&self->line, "bytes", UINT64_MAX);
	log_share(&self->line, "share", 123456);
	log_share(&self->line, "loss", 5);
	log_time(&self->line, "seconds", 61002000000ULL);
	log_text(&self->line, "nothing", NULL);
	log_text(&self->line, "empty", "");
	log_end(&self->line);
	EXPECT_STREQ("level=notice event=segment-ended name=7-20261122T153000Z.ftap "
		     "bytes=18446744073709551615 share=12.3456% loss=0.0005% seconds=61.002s "
		     "empty=\"\"\n", after_time(self));
}

TEST_F(log, there_is_a_time_where_nobody_else_has_it)
{
	log_begin(&self->line, LEVEL_ERROR, "x");
	log_end(&self->line);
	EXPECT_STREQ("level=error event=x\n", after_time(self));
	EXPECT_EQ(0, strncmp(self->text, "time=2", 6));
	EXPECT_EQ('Z', self->text[strlen("time=2026-11-22T15:30:00.123")]);
}

TEST_F(log, the_journal_has_the_time_and_wants_levels)
{
	be_journal(self, 0);
	log_begin(&self->line, LEVEL_WARNING, "loss");
	log_number(&self->line, "cpu", 3);
	log_end(&self->line);
	EXPECT_STREQ("<4>event=loss cpu=3\n", written(self));
}

TEST_F(log, another_stream_is_not_the_journal)
{
	static const char *const others[] = { "", "1", "1:", ":", "x:y", "1:2:3" };

	be_journal(self, 1);
	log_begin(&self->line, LEVEL_INFO, "x");
	log_end(&self->line);
	EXPECT_STREQ("level=info event=x\n", after_time(self));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		ASSERT_EQ(0, ftruncate(fileno(self->file), 0));
		rewind(self->file);
		setenv("JOURNAL_STREAM", others[i], 1);
		log_open(fileno(self->file));
		log_begin(&self->line, LEVEL_INFO, "x");
		log_end(&self->line);
		EXPECT_STREQ("level=info event=x\n", after_time(self));
	}
}

TEST_F(log, values_cannot_break_out_of_their_line)
{
	static const struct {
		const char *text, *wanted;
	} values[] = {
		{ "plain/Path_1.ftap", "v=plain/Path_1.ftap" },
		{ "two words", "v=\"two words\"" },
		{ "a=b", "v=\"a=b\"" },
		{ "\"", "v=\"\\\"\"" },
		{ "back\\slash", "v=\"back\\\\slash\"" },
		{ "line\nlevel=error event=end", "v=\"line\\x0alevel=error event=end\"" },
		{ "\033[31m\177", "v=\"\\x1b[31m\\x7f\"" },
		{ "\302\233m", "v=\"\\xc2\\x9bm\"" },
		{ "\303\251t\303\251", "v=\"\303\251t\303\251\"" },
		{ "\377\303", "v=\"\\xff\\xc3\"" },
	};
	char wanted[128];

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		ASSERT_EQ(0, ftruncate(fileno(self->file), 0));
		lseek(fileno(self->file), 0, SEEK_SET);
		log_begin(&self->line, LEVEL_INFO, "x");
		log_text(&self->line, "v", values[i].text);
		log_end(&self->line);
		snprintf(wanted, sizeof(wanted), "level=info event=x %s\n", values[i].wanted);
		EXPECT_STREQ(wanted, after_time(self));
	}
}

/* What does not fit is left out as a whole, and that is told; the line ends. */
TEST_F(log, a_line_has_its_limit)
{
	static char text[2 * LOG_LINE];
	size_t size;

	for (unsigned char c = 'x'; ; c = 1) {
		ASSERT_EQ(0, ftruncate(fileno(self->file), 0));
		lseek(fileno(self->file), 0, SEEK_SET);
		memset(text, c, sizeof(text) - 1);
		log_begin(&self->line, LEVEL_INFO, "x");
		log_number(&self->line, "first", 1);
		log_text(&self->line, "v", text);
		log_number(&self->line, "last", 1);
		log_end(&self->line);
		EXPECT_STREQ("level=info event=x first=1 cut=yes\n", after_time(self));
		if (c == 1)
			break;
	}
	/* Every length around it. */
	for (size = LOG_LINE - 200; size < LOG_LINE; size++) {
		char *end;

		ASSERT_EQ(0, ftruncate(fileno(self->file), 0));
		lseek(fileno(self->file), 0, SEEK_SET);
		memset(text, 'x', size);
		text[size] = 0;
		log_begin(&self->line, LEVEL_INFO, "x");
		log_text(&self->line, "v", text);
		log_end(&self->line);
		end = strstr(after_time(self), "event=x");
		ASSERT_TRUE(end && strlen(self->text) <= LOG_LINE);
		EXPECT_EQ(self->text + strlen(self->text) - 1, strchr(end, '\n'));
		EXPECT_TRUE(!strcmp(end, "event=x cut=yes\n") || strlen(end) == size + 11);
	}
}

TEST_F(log, messages_are_events)
{
	log_take_messages(true);
	complain("cannot use '%s': %s", "/a b", "it is not there");
	EXPECT_STREQ("level=error event=message text=\"cannot use '/a b': it is not there\"\n",
		     after_time(self));
	ASSERT_EQ(0, ftruncate(fileno(self->file), 0));
	lseek(fileno(self->file), 0, SEEK_SET);
	advise("make it");
	EXPECT_STREQ("level=notice event=advice text=\"make it\"\n", after_time(self));
}

TEST_HARNESS_MAIN
