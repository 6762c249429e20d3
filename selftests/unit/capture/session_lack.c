// SPDX-License-Identifier: GPL-2.0-only
/* Shows what a CPU lacks of what is asked for, each thing by its bits. */
#include <flowtap/session.h>

#include "support/kselftest_harness.h"

static const struct flowtap_query samples = {
	.source = FLOWTAP_SOURCE_CTR,
	.modes = FLOWTAP_MODE_USER,
	.flags = FLOWTAP_CPU_WIDE,
	.triggers = FLOWTAP_TRIGGER_SWITCH,
	.ctr = { .settable = 0xf0, .depths = 2, .depth_max = 32 },
};
static const struct flowtap_query trace = {
	.source = FLOWTAP_SOURCE_ETE,
	.ete = { .settable = 0x18, .address_ranges = 1, .trcidr = { [3] = 0xf0004 } },
};

static const struct {
	const struct flowtap_query *query;
	struct flowtap_configure configure;
	enum flowtap_session_lack lack;
	uint64_t bits;
} rows[] = {
	{ &samples, { .modes = FLOWTAP_MODE_USER, .flags = FLOWTAP_CPU_WIDE,
		      .triggers = FLOWTAP_TRIGGER_SWITCH | FLOWTAP_TRIGGER_SNAPSHOT,
		      .ctr = { .control = 0x50, .depth = 32 } }, FLOWTAP_SESSION_LACK_NONE, 0 },
	{ &samples, { .modes = FLOWTAP_MODE_USER | FLOWTAP_MODE_KERNEL, .flags = FLOWTAP_OVERWRITE },
	  FLOWTAP_SESSION_LACK_MODE, FLOWTAP_MODE_KERNEL },
	{ &samples, { .flags = FLOWTAP_OVERWRITE | FLOWTAP_CPU_WIDE }, FLOWTAP_SESSION_LACK_FLAG,
	  FLOWTAP_OVERWRITE },
	/* What does not depend on the source is for CONFIGURE to judge. */
	{ &samples, { .flags = FLOWTAP_ENDLESS }, FLOWTAP_SESSION_LACK_NONE, 0 },
	{ &samples, { .triggers = FLOWTAP_TRIGGER_TIMER }, FLOWTAP_SESSION_LACK_TRIGGER,
	  FLOWTAP_TRIGGER_TIMER },
	{ &samples, { .ctr.control = 0x180 }, FLOWTAP_SESSION_LACK_CONTROL, 0x100 },
	{ &samples, { .ctr.depth = 16 }, FLOWTAP_SESSION_LACK_DEPTH, 16 },
	{ &samples, { .ete.config = 1 }, FLOWTAP_SESSION_LACK_NONE, 0 },
	{ &trace, { .ete = { .config = 0x18, .address_ranges = 1, .cycle_threshold = 4 } },
	  FLOWTAP_SESSION_LACK_NONE, 0 },
	{ &trace, { .ete.config = 0x48 }, FLOWTAP_SESSION_LACK_TRACE, 0x40 },
	{ &trace, { .ete.address_ranges = 2 }, FLOWTAP_SESSION_LACK_RANGES, 1 },
	{ &trace, { .ete.cycle_threshold = 3 }, FLOWTAP_SESSION_LACK_CYCLES, 4 },
};

TEST(the_first_thing_that_is_lacking_is_named)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t bits = ~0ULL;

		EXPECT_EQ(flowtap_session_lack(rows[i].query, &rows[i].configure, &bits), rows[i].lack)
			TH_LOG("row %zu", i);
		EXPECT_EQ(bits, rows[i].bits)
			TH_LOG("row %zu", i);
	}
}

TEST_HARNESS_MAIN
