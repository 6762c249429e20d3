// SPDX-License-Identifier: GPL-2.0-only
/* Shows when a segment ends, and that one whose beginning is large is more than its beginning. */
#include "rotation.h"

#include "support/kselftest_harness.h"

FIXTURE(rotation)
{
	struct rotation now;
};

FIXTURE_SETUP(rotation)
{
	self->now = (struct rotation){
		.size = 60, .size_limit = 100, .first = 10, .age = 5, .age_limit = 10,
	};
}

FIXTURE_TEARDOWN(rotation)
{
}

TEST_F(rotation, a_segment_goes_on_up_to_its_size_or_its_time)
{
	EXPECT_EQ(NULL, rotation_due(&self->now));
	self->now.size = 99;
	EXPECT_EQ(NULL, rotation_due(&self->now));
	self->now.size = 100;
	EXPECT_STREQ("size", rotation_due(&self->now));
	self->now.size = 0;
	self->now.age = 9;
	EXPECT_EQ(NULL, rotation_due(&self->now));
	self->now.age = 10;
	EXPECT_STREQ("time", rotation_due(&self->now));
}

TEST_F(rotation, a_trigger_or_a_request_ends_it_at_once)
{
	self->now.asked = true;
	EXPECT_STREQ("asked", rotation_due(&self->now));
	self->now.save = true;
	EXPECT_STREQ("trigger", rotation_due(&self->now));
}

/* As many processes as are there, or all of the kernel's code. */
TEST_F(rotation, what_it_begins_with_alone_does_not_end_it)
{
	self->now.first = self->now.size = 300;
	EXPECT_EQ(NULL, rotation_due(&self->now));
	self->now.size = 324;
	EXPECT_EQ(NULL, rotation_due(&self->now));
	self->now.size = 325;
	EXPECT_STREQ("size", rotation_due(&self->now));
}

TEST_HARNESS_MAIN
