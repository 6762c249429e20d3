// SPDX-License-Identifier: GPL-2.0-only
/* Shows that merging rings takes no more work where all of their records have one time. */
#include <stddef.h>
#include <sys/mman.h>

#include "base/hash_table.h"

/* Counts how often a task is looked for. */
static uint64_t looks;

#define flowtap_hash_table_walk(table, hash) (looks++, flowtap_hash_table_walk(table, hash))
#include "formats/archive/merge.c"
#undef flowtap_hash_table_walk

#include "support/kselftest_harness.h"

#define CPUS 1024U
#define EACH 4U

/* Each misses the one before it: none of them says who comes first. */
TEST(records_of_one_time_take_bounded_work)
{
	int fd = memfd_create("rings", MFD_CLOEXEC);
	struct flowtap_merge *merge = flowtap_merge_new(fd);
	struct flowtap_merge_result result;
	struct flowtap_record_sample sample = {
		.header = { FLOWTAP_RECORD_SAMPLE, 0, sizeof(sample) }, .time = 1,
	};
	unsigned int n = 0;

	ASSERT_NE(NULL, merge);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		ASSERT_EQ(0, flowtap_merge_add(merge, cpu, cpu * EACH * sizeof(sample),
					       EACH * sizeof(sample)));
		for (uint32_t i = 0; i < EACH; i++) {
			sample.tid = cpu + 1;
			sample.sequence = 10 * (i + 1);
			ASSERT_EQ((ssize_t)sizeof(sample), write(fd, &sample, sizeof(sample)));
		}
	}
	looks = 0;
	while (flowtap_merge_next(merge, &result) == 1)
		n++;
	EXPECT_EQ(CPUS * EACH, n);
	EXPECT_LT(looks, CPUS * EACH * 100);
	flowtap_merge_free(merge);
	close(fd);
}

TEST_HARNESS_MAIN
