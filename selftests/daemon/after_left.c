// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that what an earlier daemon left, and is too large to be finished at the start, is finished by
 * a child before anything else is done with segments, and is told; and that what keeps one from that
 * keeps no other from its turn.
 */
#include "after_fixture.h"

#define LARGE (STORE_LEFT_PIECE + 4096)

/* A `.part` of so many blocks, and zeros up to LARGE, found at the start. */
static int leave(FIXTURE_DATA(after) *self, const char *name, unsigned int blocks)
{
	static const uint8_t payload[1000] = { 1, 2, 3 };
	struct flowtap_archive_writer *writer = NULL;
	char path[256];
	int fd, error = 0;

	snprintf(path, sizeof(path), "%s/%s.ftap.part", self->directory, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		return -errno;
	if (blocks)
		error = flowtap_archive_create(fd, &writer);
	for (unsigned int i = 0; i < blocks && !error; i++)
		error = flowtap_archive_write(writer, FLOWTAP_ARCHIVE_INFO, 0, i, payload,
					      sizeof(payload), NULL, 0);
	if (!error && blocks)
		error = flowtap_archive_flush(writer);
	flowtap_archive_writer_free(writer);
	if (!error && ftruncate(fd, LARGE))
		error = -errno;
	close(fd);
	return error;
}

static int reopen(FIXTURE_DATA(after) *self)
{
	int error;

	store_close(self->store);
	self->store = NULL;
	error = store_open(self->directory, &any, &self->left, &self->store);
	after_init(&self->after, self->store, &self->options);
	return error;
}

static off_t size_of(const FIXTURE_DATA(after) *self, const char *name)
{
	struct stat stat_of;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", self->directory, name);
	return stat(path, &stat_of) ? -1 : stat_of.st_size;
}

TEST_F(after, what_was_left_is_finished_before_anything_else)
{
	self->options.pack = true;
	ASSERT_EQ(0, leave(self, SECOND, 3));
	ASSERT_EQ(0, leave(self, FIRST, 0));
	ASSERT_EQ(0, reopen(self));
	EXPECT_EQ(2, self->left.waiting);
	ASSERT_EQ(0, add_segment(self));
	ASSERT_TRUE(until_file(self, SECOND ".ftap", true));
	EXPECT_TRUE(exists(self, FIRST ".ftap.bad"));
	EXPECT_FALSE(exists(self, FIRST ".ftap"));
	EXPECT_FALSE(exists(self, SECOND ".ftap.part"));
	EXPECT_EQ(16 + 3 * (24 + 1000), size_of(self, SECOND ".ftap"));
	EXPECT_EQ(1, self->after.left.finished);
	EXPECT_EQ(1, self->after.left.bad);
	EXPECT_EQ(LARGE - (16 + 3 * (24 + 1000)), self->after.left.cut);
	EXPECT_EQ(0, self->after.packed);
	/* It is a segment as others are. */
	ASSERT_TRUE(until(self, &self->after.packed, 2));
	EXPECT_TRUE(exists(self, SECOND ".ftap.zst"));
	EXPECT_STREQ("", logged_since(&self->logged));
}

/* What nobody can open as it was. */
TEST_F(after, one_that_cannot_be_finished_is_put_off_and_kept)
{
	char path[256];

	ASSERT_EQ(0, leave(self, FIRST, 3));
	ASSERT_EQ(0, leave(self, SECOND, 3));
	ASSERT_EQ(0, reopen(self));
	snprintf(path, sizeof(path), "%s/" FIRST ".ftap.part", self->directory);
	ASSERT_EQ(0, unlink(path));
	ASSERT_EQ(0, symlink("/dev/null", path));
	ASSERT_TRUE(until(self, &self->after.again, 1));
	EXPECT_TRUE(strstr(logged_since(&self->logged), "event=put-off work=mend name=" FIRST ".ftap "
			   "why=\"ended with status 125\" "));
	EXPECT_TRUE(exists(self, FIRST ".ftap.part"));
	self->after.again = 0;
	ASSERT_TRUE(until_file(self, SECOND ".ftap", true));
	EXPECT_TRUE(store_waits(self->store, FIRST ".ftap"));
	EXPECT_EQ(NULL, store_waiting(self->store, number_now()));
	EXPECT_EQ(1, self->after.left.finished);
}

/* Nor do any number of them; each is tried again, and so is a segment that cannot be packed. */
TEST_F(after, many_that_cannot_be_finished_keep_no_segment_from_its_turn_and_take_turns)
{
	const uint64_t now = number_now();
	const char *log;
	char path[256];

	self->options.pack = true;
	for (unsigned int i = 1; i <= MANY; i++) {
		snprintf(path, sizeof(path), "%010u-20261122T120000Z", i);
		ASSERT_EQ(0, leave(self, path, 0));
	}
	ASSERT_EQ(0, reopen(self));
	ASSERT_EQ(MANY, self->left.waiting);
	for (unsigned int i = 1; i <= MANY; i++) {
		snprintf(path, sizeof(path), "%s/%010u-20261122T120000Z.ftap.part", self->directory, i);
		ASSERT_EQ(0, unlink(path));
		ASSERT_EQ(0, symlink("/dev/null", path));
	}
	ASSERT_EQ(0, add_segment(self));
	ASSERT_EQ(0, add_segment(self));
	snprintf(path, sizeof(path), "%s/%010u-20261122T120000Z.ftap", self->directory, MANY + 1);
	ASSERT_EQ(0, unlink(path));
	ASSERT_EQ(0, mkdir(path, 0700));
	ASSERT_TRUE(until_idle(self, now));
	/* What failed for the first time may be nobody's own fault: for a minute nothing is begun. */
	EXPECT_EQ(0, self->after.packed);
	ASSERT_TRUE(until_idle(self, now + MINUTE));
	EXPECT_EQ(1, self->after.packed);
	for (uint64_t i = 2; i <= 2 * MANY; i++)
		ASSERT_TRUE(until_idle(self, now + i * MINUTE));
	log = logged_since(&self->logged);
	for (unsigned int i = 1; i <= MANY + 1; i++)
		EXPECT_EQ(2, put_off(log, i));
	EXPECT_EQ(0, self->after.left.finished + self->after.left.bad);
	EXPECT_LT(now + 2 * MANY * MINUTE, self->after.again);
	after_change(&self->after, &self->options);
	EXPECT_EQ(0, self->after.again);
}

TEST_F(after, one_that_goes_to_make_room_is_not_finished)
{
	struct store_limits limits = { .quota = 1 };
	unsigned int deleted;

	ASSERT_EQ(0, leave(self, FIRST, 3));
	ASSERT_EQ(0, reopen(self));
	after_step(&self->after, number_now(), TIME);
	ASSERT_LT(0, self->after.child);
	store_limit(self->store, &limits);
	ASSERT_EQ(0, store_make_space(self->store, 1, &deleted));
	EXPECT_EQ(1, deleted);
	after_step(&self->after, number_now(), TIME);
	EXPECT_EQ(0, self->after.child);
	EXPECT_EQ(0, self->after.left.finished);
	EXPECT_FALSE(exists(self, FIRST ".ftap"));
	EXPECT_FALSE(exists(self, FIRST ".ftap.part"));
	EXPECT_STREQ("", logged_since(&self->logged));
}

/* The next daemon does it. */
TEST_F(after, what_is_not_finished_when_it_ends_waits_for_the_next_start)
{
	ASSERT_EQ(0, leave(self, FIRST, 3));
	ASSERT_EQ(0, reopen(self));
	after_step(&self->after, number_now(), TIME);
	ASSERT_LT(0, self->after.child);
	after_close(&self->after);
	EXPECT_TRUE(store_waits(self->store, FIRST ".ftap"));
	EXPECT_TRUE(exists(self, FIRST ".ftap.part"));
}

int main(int argc, char **argv)
{
	return after_main(argc, argv);
}
