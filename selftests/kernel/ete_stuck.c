// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what becomes of a recording where the trace unit never becomes idle after it was disabled (the
 * model's stuck=1): what it had is kept, what comes then is a gap, and the CPU records again once it
 * was switched off.
 */
#include "support/kselftest_harness.h"
#include "worker.h"

#define CPU1	"/sys/devices/system/cpu/cpu1/online"
#define TURNS	5

FIXTURE(stuck)
{
	struct flowtap_query query;
	struct flowtap_configure configure;
	struct aux aux;
};

FIXTURE_SETUP(stuck)
{
	self->aux.stream.fd = -1;
	if (!query_source(FLOWTAP_SOURCE_ETE, &self->query))
		SKIP(return, "no ETE here");
	if (cpus_online() < 2 || write_file(CPU1, "1"))
		SKIP(return, "no CPU here can go");
	self->configure = tracing(1, 512);
	pin(0, 0);
}

FIXTURE_TEARDOWN(stuck)
{
	aux_close(&self->aux);
}

TEST_F(stuck, what_comes_after_it_is_a_gap_until_the_cpu_was_off)
{
	unsigned int recorded = 0, n, i;
	struct worker worker;

	/* A worker that left the CPU at once has used the only session up, and has no bytes. */
	for (n = 0; n < 10 && recorded < 2; n++) {
		worker = start_worker(1, 1000);
		ASSERT_TRUE(WAIT_FOR(state_of(worker.pid) == 'S'));
		ASSERT_EQ(0, trace(&self->aux, &self->configure, worker.pid));
		for (i = 0; i < TURNS; i++)
			ASSERT_TRUE(turn(&worker));
		ASSERT_EQ(0, disable(&self->aux.stream));
		end_worker(&worker);
		aux_take(&self->aux);
		EXPECT_EQ(NULL, self->aux.wrong) TH_LOG("%s", self->aux.wrong);
		recorded += !!self->aux.records;
		EXPECT_EQ(0, self->aux.losses);
		EXPECT_LE(TURNS - 1, self->aux.gaps[FLOWTAP_CAUSE_HARDWARE]);
		EXPECT_EQ(self->aux.gaps[FLOWTAP_CAUSE_HARDWARE], all_gaps(&self->aux));
		aux_close(&self->aux);
		ASSERT_EQ(0, write_file(CPU1, "0"));
		ASSERT_EQ(0, write_file(CPU1, "1"));
	}
	EXPECT_EQ(2, recorded);
}

TEST_HARNESS_MAIN
