// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shows what each erratum of TRBE does without its workaround, that nothing of it is left with it,
 * and which CPUs have it.
 */
#include <string.h>

#include "fake_driver.h"
#include "support/kselftest_harness.h"

/* For what may take longer than the harness gives a test. */
FIXTURE(slow) { int none; };
FIXTURE_SETUP(slow) {}
FIXTURE_TEARDOWN(slow) {}

static bool base_overwritten(struct fake *fake, bool right)
{
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER + (right ? 256 : 0), LIMIT);
	feed(fake, SIZE + 512);
	return memcmp(fake_at(fake, FAKE_BUFFER + (right ? 256 : 0)), fake->stream, 128);
}

/* right: only the spare page after the limit is for the trace; it is never more than 64 bytes. */
static bool past_limit(struct fake *fake, bool right)
{
	static const uint8_t zero[4096];

	const uint64_t limit = LIMIT - (right ? 4096 : 0);

	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, limit);
	feed(fake, SIZE + 512);
	if (right && memcmp(fake_at(fake, limit) + 64, zero, 4096 - 64))
		return true;
	return memcmp(fake_at(fake, LIMIT), zero, 64);
}

static bool flush_fails(struct fake *fake, bool right)
{
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
	unit_on(fake);
	work(fake, 100);
	prohibit(fake);
	tsb(fake);
	if (right)
		tsb(fake);
	msr(fake, SYSREG_TRBLIMITR_EL1, LIMIT);
	isb(fake);
	return fake->pe.adversary.violations[VIOLATION_DISABLE_UNFLUSHED] > 100;
}

static bool write_ignored(struct fake *fake, bool right)
{
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
	feed(fake, 64);
	buffer_off(fake);
	if (right) {
		tsb(fake);
		dsb(fake);
	}
	msr(fake, SYSREG_TRBPTR_EL1, 0x1000);
	return mrs(fake, SYSREG_TRBPTR_EL1) != 0x1000;
}

/* right: TSB CSYNC and DSB; DSB alone is not enough. */
static bool write_ignored_after_dsb(struct fake *fake, bool right)
{
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
	msr(fake, SYSREG_TRBLIMITR_EL1, LIMIT);
	if (right)
		tsb(fake);
	dsb(fake);
	isb(fake);
	msr(fake, SYSREG_TRBBASER_EL1, 0x1000);
	return mrs(fake, SYSREG_TRBBASER_EL1) != 0x1000;
}

static bool prohibited_inexact(struct fake *fake, bool right)
{
	msr(fake, TRCPRGCTLR, 1);
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
	if (right)
		isb(fake);
	msr(fake, SYSREG_TRFCR_EL1, 3);
	isb(fake);
	work(fake, 600);
	tsb(fake);
	dsb(fake);
	return fake->losses[LOG_LOSS_ERRATUM] &&
	       memcmp(fake_at(fake, FAKE_BUFFER), fake->stream, 64);
}

static bool inexact_by_eret(struct fake *fake, bool right)
{
	msr(fake, TRCPRGCTLR, 1);
	msr(fake, SYSREG_TRFCR_EL1, 1);
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, 0);
	msr(fake, SYSREG_TRBLIMITR_EL1, 0);
	isb(fake);
	msr(fake, SYSREG_TRBLIMITR_EL1, LIMIT | 1);
	if (right)
		isb(fake);
	pe_return(&fake->pe, 0);
	work(fake, 600);
	tsb(fake);
	dsb(fake);
	return fake->losses[LOG_LOSS_ERRATUM];
}

/* right: nobody uses it. */
static bool corrupted(struct fake *fake, bool right)
{
	if (!right)
		buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
	feed(fake, 4096);
	return fake->losses[LOG_LOSS_ERRATUM] &&
	       memcmp(fake_at(fake, FAKE_BUFFER), fake->stream, 4096);
}

static const struct {
	bool (*shows)(struct fake *fake, bool right);
	int erratum;
} errata[] = {
	{ base_overwritten, ERRATUM_OVERWRITE_BASE },
	{ past_limit, ERRATUM_WRITE_PAST_LIMIT },
	{ flush_fails, ERRATUM_TSB_FLUSH_FAILS },
	{ write_ignored, ERRATUM_REGISTER_WRITES_LOST },
	{ write_ignored_after_dsb, ERRATUM_REGISTER_WRITES_LOST },
	{ prohibited_inexact, ERRATUM_TRACE_PROHIBITED_INEXACT },
	{ inexact_by_eret, ERRATUM_TRACE_PROHIBITED_INEXACT },
	{ corrupted, ERRATUM_CORRUPTION },
};

#define N_ERRATA (sizeof(errata) / sizeof(errata[0]))

TEST_F_TIMEOUT(slow, errata_and_workarounds, 1500)
{
	for (unsigned int i = 0; i < N_ERRATA; i++) {
		EXPECT_GE(of_100(errata[i].shows, false, 0, errata[i].erratum), 30)
			TH_LOG("erratum %u", i);
		EXPECT_EQ(of_100(errata[i].shows, true, 0, errata[i].erratum), 0)
			TH_LOG("erratum %u", i);
		EXPECT_EQ(of_100(errata[i].shows, false, 0, 0x3f & ~errata[i].erratum &
				 ~ERRATUM_CORRUPTION & ~(ERRATUM_OVERWRITE_BASE |
							 ERRATUM_WRITE_PAST_LIMIT)), 0)
			TH_LOG("erratum %u", i);
	}
}

/* 128 bytes are in the unit. */
static struct fake *with_trace(uint64_t seed)
{
	struct fake *fake = adversary(seed, 0, ERRATUM_TSB_FLUSH_FAILS);

	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
	unit_on(fake);
	work(fake, 128);
	return fake;
}

/* Whatever comes in between, the second one does not follow the first. */
TEST(flush_fails_again_unless_it_follows_at_once)
{
	for (unsigned int what = 0; what < 5; what++) {
		unsigned int failed = 0;

		for (uint64_t seed = 1; seed <= 100; seed++) {
			struct fake *fake = with_trace(seed);

			prohibit(fake);
			tsb(fake);
			switch (what) {
			case 1:
				msr(fake, SYSREG_TRBMAR_EL1, 0);
				break;
			case 2:
				mrs(fake, SYSREG_TRBPTR_EL1);
				break;
			case 3:
				isb(fake);
				break;
			case 4:
				dsb(fake);
				break;
			}
			tsb(fake);
			failed += fake->pe.buffer.stored != 128;
			fake_free(fake);
		}
		/* Half of a half. */
		EXPECT_TRUE(what ? failed >= 10 : !failed) TH_LOG("%u: %u", what, failed);
	}
}

/* TSB CSYNC where trace is allowed flushes on those CPUs, too. */
TEST(flush_fails_where_trace_is_prohibited)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct fake *fake = with_trace(seed);

		tsb(fake);
		EXPECT_EQ(fake->pe.buffer.stored, 128);
		EXPECT_EQ(fake->pe.buffer.errata_counts[2], 0);
		fake_free(fake);
	}
}

/* The report has what showed, and nothing else. */
TEST(what_shows_is_counted)
{
	for (unsigned int i = 0; i < N_ERRATA; i++) {
		for (uint64_t seed = 1; seed <= 20; seed++) {
			struct fake *fake = adversary(seed, 0, errata[i].erratum);
			const bool showed = errata[i].shows(fake, false);

			for (unsigned int bit = 0; bit < ERRATA; bit++) {
				const uint64_t n = fake->pe.buffer.errata_counts[bit];

				if (errata[i].erratum != 1 << bit) {
					EXPECT_EQ(n, 0) TH_LOG("%u: bit %u", i, bit);
				} else if (showed) {
					EXPECT_NE(n, 0) TH_LOG("%u: bit %u", i, bit);
				}
			}
			fake_free(fake);
		}
	}
	EXPECT_STREQ(trace_buffer_erratum_word(0), "overwrite-base");
	EXPECT_STREQ(trace_buffer_erratum_word(ERRATA - 1), "corruption");
	EXPECT_STREQ(trace_buffer_erratum_word(ERRATA), "?");
}

/* Nobody has mapped the page at the limit: a stage 1 fault, which software is told. */
TEST(write_past_limit_unmapped)
{
	unsigned int n = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct fake *fake = adversary(seed, 0, ERRATUM_WRITE_PAST_LIMIT);

		buffer_on(fake, LIMIT, LIMIT, LIMIT + 4096);
		feed(fake, 8192);
		n += (fake->pe.buffer.registers[TRB_SR].effective & SR_EC) == 0x24ULL << 26;
		EXPECT_TRUE(fake_consistent(fake));
		fake_free(fake);
	}
	EXPECT_GT(n, 3);
}

/* Software that works around is as safe as on a CPU without errata. */
TEST_F_TIMEOUT(slow, correct_software_on_affected_cpus, 1500)
{
	const int errata = 0x3f & ~ERRATUM_CORRUPTION;

	for (uint64_t seed = 1; seed <= 500; seed++) {
		const char *wrong = drive(seed, seed % 2 ? ALL & ~ADVERSARY(FAULT) &
					  ~ADVERSARY(ABORT) : 0, errata, errata);

		ASSERT_EQ(wrong, NULL) TH_LOG("%s: seed %llu", wrong, (unsigned long long)seed);
	}
}

TEST(errata_by_midr)
{
	static const struct { uint64_t midr; int errata; } cpus[] = {
		{ 0x410fd460, 0x38 }, { 0x410fd461, 0x38 }, { 0x410fd462, 0x18 },	/* A510 */
		{ 0x410fd463, 0 }, { 0x411fd460, 0 },
		{ 0x412fd471, 0x07 }, { 0x410fd470, 0x07 },				/* A710 */
		{ 0x412fd480, 0x03 }, { 0x412fd481, 0 },				/* X2 */
		{ 0x410fd493, 0x07 },							/* N2 */
		{ 0x6d0fd490, 0x07 },					/* Azure Cobalt 100 */
		{ 0x6d0fd470, 0 }, { 0x420fd493, 0 }, { 0x410fd4f0, 0 }, { 0, 0 },
	};

	for (unsigned int i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		struct pe_config config = { .midr = cpus[i].midr };
		struct fake *fake = fake_new(NULL, NULL, &config);

		EXPECT_EQ(fake->pe.buffer.errata, cpus[i].errata);
		fake_free(fake);
	}
}

TEST_HARNESS_MAIN
