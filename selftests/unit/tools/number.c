// SPDX-License-Identifier: GPL-2.0-only
/* Shows that numbers come out as people read them. */
#include "../../../tools/common/event.h"

#include <string.h>

#include "../../../tools/common/tool.h"
#include "support/kselftest_harness.h"

TEST(digits_stand_in_groups)
{
	char text[32];

	EXPECT_STREQ("0", number_group(0, text));
	EXPECT_STREQ("999", number_group(999, text));
	EXPECT_STREQ("1,000", number_group(1000, text));
	EXPECT_STREQ("18,446,744,073,709,551,615", number_group(UINT64_MAX, text));
}

TEST(bytes_have_a_unit)
{
	char text[32];

	EXPECT_STREQ("999 bytes", number_bytes(999, text));
	EXPECT_STREQ("1.0 kB", number_bytes(1000, text));
	EXPECT_STREQ("7.6 MB", number_bytes(7600000, text));
	EXPECT_STREQ("999.9 kB", number_bytes(999949, text));
	EXPECT_STREQ("1.0 MB", number_bytes(999950, text));
	EXPECT_STREQ("999.9 MB", number_bytes(999949999, text));
	EXPECT_STREQ("1.0 GB", number_bytes(999950000, text));
	EXPECT_STREQ("18446744.1 TB", number_bytes(UINT64_MAX, text));
}

TEST(what_is_short_is_in_milliseconds)
{
	char text[32];

	EXPECT_STREQ("0.0 ms", number_time(0, text));
	EXPECT_STREQ("12.3 ms", number_time(12345678, text));
	EXPECT_STREQ("999.9 ms", number_time(999949999, text));
	EXPECT_STREQ("1.0 s", number_time(999950000, text));
	EXPECT_STREQ("3.2 s", number_time(3200000000, text));
}

TEST(clocks_count_nanoseconds)
{
	static const char *const clocks[] = { "cpu-clock", "task-clock", "cpu-clock:u" };
	static const char *const others[] = { "instructions", "-clock", "r10", "clock:u", ":u", "" };

	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		EXPECT_STREQ("ns of ", event_unit(clocks[i], strlen(clocks[i])));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		EXPECT_STREQ("", event_unit(others[i], strlen(others[i])));
}

TEST_HARNESS_MAIN
