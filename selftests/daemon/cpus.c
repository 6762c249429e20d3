// SPDX-License-Identifier: GPL-2.0-only
/* Shows that a list of CPUs, as sysfs has it, is read as it is meant, and nonsense as no CPU. */
#include "cpus.h"

#include "support/kselftest_harness.h"

TEST(a_list_has_its_cpus_and_no_others)
{
	EXPECT_TRUE(cpus_has("0", 0));
	EXPECT_FALSE(cpus_has("0", 1));
	EXPECT_TRUE(cpus_has("0-3,5,8-9", 3));
	EXPECT_FALSE(cpus_has("0-3,5,8-9", 4));
	EXPECT_TRUE(cpus_has("0-3,5,8-9", 5));
	EXPECT_FALSE(cpus_has("0-3,5,8-9", 7));
	EXPECT_TRUE(cpus_has("0-3,5,8-9", 9));
	EXPECT_FALSE(cpus_has("0-3,5,8-9", 10));
	EXPECT_FALSE(cpus_has("10", 1));
}

TEST(nonsense_has_none)
{
	static const char *const lists[] = { "", ",", "-", "a", "2-1", ",1", " " };

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		EXPECT_FALSE(cpus_has(lists[i], 1));
}

TEST_HARNESS_MAIN
