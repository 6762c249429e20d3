// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that something long says how far it is: on a terminal in one line that is drawn again,
 * elsewhere (a log) by a line a minute. The clock is the test's.
 */
#include "../../../tools/common/progress.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

#define SECOND 1000000000ULL

static uint64_t now;

/* What tools/common/tool.h declares; the real ones read the clock and group digits. */
uint64_t number_now(void);
const char *number_group(uint64_t value, char *buffer);

uint64_t number_now(void)
{
	return now;
}

const char *number_group(uint64_t value, char *buffer)
{
	sprintf(buffer, "%" PRIu64, value);
	return buffer;
}

FIXTURE(progress)
{
	struct progress progress;
	int kept, there;
	char text[4096];
};

/* What comes to standard error goes to `there`. */
static void divert(FIXTURE_DATA(progress) *self, int to)
{
	fflush(stderr);
	self->kept = dup(STDERR_FILENO);
	self->there = to;
	dup2(to, STDERR_FILENO);
}

static void restore(FIXTURE_DATA(progress) *self)
{
	fflush(stderr);
	dup2(self->kept, STDERR_FILENO);
	close(self->kept);
}

FIXTURE_SETUP(progress)
{
	now = 1000 * SECOND;
	self->progress = (struct progress){ .doing = "reading" };
}

FIXTURE_TEARDOWN(progress)
{
}

static const char *file_text(FIXTURE_DATA(progress) *self, FILE *file)
{
	ssize_t n = pread(fileno(file), self->text, sizeof(self->text) - 1, 0);

	self->text[n > 0 ? n : 0] = 0;
	return self->text;
}

TEST_F(progress, elsewhere_it_is_a_line_a_minute)
{
	FILE *file = tmpfile();

	ASSERT_NE(NULL, file);
	divert(self, fileno(file));
	/* 150 s, in tenths. */
	for (unsigned int i = 0; i <= 1500; i++, now += SECOND / 10)
		progress_show(&self->progress, i, 0, "bytes");
	progress_end(&self->progress);
	restore(self);
	EXPECT_STREQ("flowtap: reading, 600 bytes\nflowtap: reading, 1200 bytes\n",
		     file_text(self, file));
	fclose(file);
}

TEST_F(progress, of_a_known_size_it_is_a_share)
{
	FILE *file = tmpfile();

	ASSERT_NE(NULL, file);
	divert(self, fileno(file));
	for (unsigned int i = 0; i <= 100; i++, now += SECOND)
		progress_show(&self->progress, i, 240, "bytes");
	restore(self);
	EXPECT_STREQ("flowtap: reading  25%\n", file_text(self, file));
	fclose(file);
}

TEST_F(progress, what_is_said_in_between_does_not_put_it_off)
{
	FILE *file = tmpfile();

	ASSERT_NE(NULL, file);
	divert(self, fileno(file));
	/* A complaint in each of 150 s. */
	for (unsigned int i = 0; i <= 150; i++, now += SECOND) {
		progress_show(&self->progress, i, 0, "bytes");
		progress_hide(&self->progress);
	}
	progress_end(&self->progress);
	restore(self);
	EXPECT_STREQ("flowtap: reading, 60 bytes\nflowtap: reading, 120 bytes\n",
		     file_text(self, file));
	fclose(file);
}

TEST_F(progress, it_is_shown_as_soon_as_the_minute_since_its_begin_is_over)
{
	FILE *file = tmpfile();

	ASSERT_NE(NULL, file);
	divert(self, fileno(file));
	progress_begin(&self->progress);
	now += 61 * SECOND;
	progress_show(&self->progress, 7, 0, "bytes");
	progress_end(&self->progress);
	/* Of what nothing is to be shown nothing begins. */
	self->progress.doing = NULL;
	progress_begin(&self->progress);
	EXPECT_EQ(0, self->progress.shown);
	restore(self);
	EXPECT_STREQ("flowtap: reading, 7 bytes\n", file_text(self, file));
	fclose(file);
}

TEST_F(progress, what_is_short_or_quiet_says_nothing)
{
	FILE *file = tmpfile();

	ASSERT_NE(NULL, file);
	divert(self, fileno(file));
	for (unsigned int i = 0; i < 59; i++, now += SECOND)
		progress_show(&self->progress, i, 0, "bytes");
	progress_end(&self->progress);
	/* Something else begins, and does not take the time of the first. */
	for (unsigned int i = 0; i < 59; i++, now += SECOND)
		progress_show(&self->progress, i, 0, "bytes");
	progress_end(&self->progress);
	self->progress.doing = NULL;
	for (unsigned int i = 0; i < 600; i++, now += SECOND)
		progress_show(&self->progress, i, 0, "bytes");
	progress_end(&self->progress);
	restore(self);
	EXPECT_STREQ("", file_text(self, file));
	fclose(file);
}

TEST_F(progress, on_a_terminal_a_line_is_drawn_again_and_taken_away)
{
	char drawn[256];
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
	struct termios raw;
	size_t n = 0;

	ASSERT_LE(0, master);
	ASSERT_EQ(0, grantpt(master));
	ASSERT_EQ(0, unlockpt(master));
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	ASSERT_LE(0, slave);
	ASSERT_EQ(0, tcgetattr(slave, &raw));
	cfmakeraw(&raw);
	ASSERT_EQ(0, tcsetattr(slave, TCSANOW, &raw));
	divert(self, slave);
	/* 0.5 s. */
	for (unsigned int i = 0; i <= 5; i++, now += SECOND / 10)
		progress_show(&self->progress, i, 10, "bytes");
	/* A complaint comes here. */
	progress_hide(&self->progress);
	progress_show(&self->progress, 6, 10, "bytes");
	progress_end(&self->progress);
	restore(self);
	/*
	 * What a terminal is given reaches its other side in pieces, in its own time: read to the
	 * end.
	 */
	close(slave);
	for (ssize_t got = 1; got > 0 && n < sizeof(self->text) - 1; n += got > 0 ? (size_t)got : 0)
		got = read(master, self->text + n, sizeof(self->text) - 1 - n);
	close(master);
	self->text[n] = 0;
	snprintf(drawn, sizeof(drawn), "\rreading  20%% \rreading  40%% \r%50s\r\rreading  60%% \r%50s\r",
		 "", "");
	EXPECT_STREQ(drawn, self->text);
}

TEST_HARNESS_MAIN
