// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shows that the hub gives each register access to the register that is meant at the exception
 * level (E2H), leaves alone what is not the model's, and keeps unit and buffer in the order that
 * lets one context synchronization event end a sequence.
 */
#include "fake.h"
#include "support/kselftest_harness.h"

#define LIMIT	(FAKE_BUFFER + 0x2000)

static const struct pe_config with_el2 = { .el2 = true };

TEST(trfcr_by_exception_level)
{
	static const struct {
		unsigned int el;
		bool el2, e2h;
		uint32_t reg;
		int meant;		/* of trfcr[], -1: UNDEFINED */
	} cases[] = {
		{ 0, true, false, SYSREG_TRFCR_EL1, -1 }, { 1, false, false, SYSREG_TRFCR_EL1, 0 },
		{ 1, true, true, SYSREG_TRFCR_EL1, 0 }, { 1, true, false, SYSREG_TRFCR_EL2, -1 },
		{ 1, true, true, SYSREG_TRFCR_EL12, -1 }, { 2, true, false, SYSREG_TRFCR_EL1, 0 },
		{ 2, true, false, SYSREG_TRFCR_EL2, 1 }, { 2, true, false, SYSREG_TRFCR_EL12, -1 },
		{ 2, true, true, SYSREG_TRFCR_EL1, 1 }, { 2, true, true, SYSREG_TRFCR_EL2, 1 },
		{ 2, true, true, SYSREG_TRFCR_EL12, 0 }, { 3, true, true, SYSREG_TRFCR_EL1, 0 },
		{ 3, true, true, SYSREG_TRFCR_EL2, 1 }, { 1, false, false, SYSREG_TRFCR_EL2, -1 },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pe_config config = { .el2 = cases[i].el2 };
		struct fake *fake = fake_new(NULL, NULL, &config);
		uint64_t value;

		pe_return(&fake->pe, cases[i].el);
		pe_state(&fake->pe, cases[i].e2h, false, false);
		EXPECT_EQ(pe_write(&fake->pe, cases[i].reg, 0, 3), cases[i].meant >= 0)
			TH_LOG("case %u", i);
		EXPECT_EQ(pe_read(&fake->pe, cases[i].reg, 0, &value), cases[i].meant >= 0);
		for (int which = 0; which < 2; which++)
			EXPECT_EQ(fake->pe.trfcr[which], which == cases[i].meant ? 3 : 0)
				TH_LOG("case %u", i);
		fake_free(fake);
	}
}

/* The machine has CONTEXTIDR: the model only looks on. */
TEST(contextidr_is_watched)
{
	struct fake *fake = fake_new(NULL, NULL, &with_el2);
	struct pe *pe = &fake->pe;

	pe_state(pe, true, false, false);
	EXPECT_FALSE(pe_write(pe, SYSREG_CONTEXTIDR_EL1, 0, 5));
	EXPECT_EQ(pe->contextidr[1], 5);
	EXPECT_FALSE(pe_write(pe, SYSREG_CONTEXTIDR_EL12, 0, 6));
	EXPECT_EQ(pe->contextidr[0], 6);
	pe_return(pe, 1);
	EXPECT_FALSE(pe_write(pe, SYSREG_CONTEXTIDR_EL1, 0, 7));
	EXPECT_EQ(pe->contextidr[0], 7);
	EXPECT_EQ(pe->contextidr[1], 5);
	EXPECT_FALSE(pe_write(pe, SYSREG_CONTEXTIDR_EL2, 0, 8));
	EXPECT_EQ(pe->contextidr[1], 5);
	EXPECT_TRUE(pe_owns(SYSREG_CONTEXTIDR_EL12));
	EXPECT_FALSE(pe_replaces(SYSREG_CONTEXTIDR_EL1));
	fake_free(fake);
}

TEST(what_is_owned)
{
	static const uint32_t replaced[] = {
		SYSREG_TRFCR_EL1, SYSREG_TRFCR_EL2, SYSREG_TRFCR_EL12, SYSREG_TRBLIMITR_EL1,
		SYSREG_TRBPTR_EL1, SYSREG_TRBBASER_EL1, SYSREG_TRBSR_EL1, SYSREG_TRBMAR_EL1,
		SYSREG_TRBTRG_EL1, SYSREG_TRBIDR_EL1, SYSREG_ID_AA64DFR0_EL1, SYSREG_MIDR_EL1,
		TRCPRGCTLR,
	};
	static const uint32_t seen[] = {
		SYSREG_OSLAR_EL1, SYSREG_MDCR_EL2, SYSREG_TTBR0_EL1, SYSREG_TTBR1_EL1,
		SYSREG_TCR_EL1, SYSREG_SCTLR_EL1, SYSREG_HCR_EL2, SYSREG_VTCR_EL2,
		SYSREG_VTTBR_EL2, SYSREG(3, 5, 2, 0, 2) /* TCR_EL12 */,
	};
	unsigned int owned = 0;

	for (unsigned int i = 0; i < sizeof(replaced) / sizeof(replaced[0]); i++)
		EXPECT_TRUE(pe_owns(replaced[i]) && pe_replaces(replaced[i]));
	for (unsigned int i = 0; i < sizeof(seen) / sizeof(seen[0]); i++)
		EXPECT_TRUE(pe_owns(seen[i]) && !pe_replaces(seen[i]));
	for (uint32_t reg = 0; reg < 0x10000; reg++)
		owned += pe_owns(reg);
	/* Those, CONTEXTIDR x 3, EL2's and EL12's SCTLR, TCR, TTBR0, TTBR1, less what is above. */
	EXPECT_EQ(owned, sizeof(replaced) / 4 + sizeof(seen) / 4 + 3 + 4 + 3);
}

/* A hypervisor that traps ID registers answers itself. */
TEST(id_registers_trapped)
{
	struct fake *fake = fake_new(NULL, NULL, &with_el2);
	uint64_t value = 0;

	EXPECT_TRUE(pe_read(&fake->pe, SYSREG_ID_AA64DFR0_EL1, 0, &value));
	pe_return(&fake->pe, 1);
	EXPECT_TRUE(pe_read(&fake->pe, SYSREG_ID_AA64DFR0_EL1, 0, &value));
	fake->sysregs[MACHINE_HCR_EL2] = 1 << 18;
	EXPECT_FALSE(pe_read(&fake->pe, SYSREG_ID_AA64DFR0_EL1, 0, &value));
	pe_return(&fake->pe, 0);
	EXPECT_FALSE(pe_read(&fake->pe, SYSREG_MIDR_EL1, 0, &value));
	fake_free(fake);
}

TEST(blocks_are_wanted_where_trace_is_allowed)
{
	struct fake *fake = fake_new(NULL, NULL, NULL);

	for (unsigned int trfcr = 0; trfcr < 4; trfcr++) {
		msr(fake, SYSREG_TRFCR_EL1, trfcr);
		msr(fake, TRCPRGCTLR, 1);
		isb(fake);
		EXPECT_EQ(pe_wants(&fake->pe, 0), trfcr & 1);
		EXPECT_EQ(pe_wants(&fake->pe, 1), trfcr >> 1 & 1);
		msr(fake, TRCPRGCTLR, 0);
		isb(fake);
		EXPECT_FALSE(pe_wants(&fake->pe, 0) || pe_wants(&fake->pe, 1));
	}
	EXPECT_FALSE(pe_wants(&fake->pe, 4));
	fake_free(fake);
}

/* TraceAllowed(): EL1's buffer gets nothing of EL2, nor of EL0 below EL2. */
TEST(blocks_of_others_are_not_wanted)
{
	struct fake *fake = fake_new(NULL, NULL, &with_el2);

	msr(fake, SYSREG_MDCR_EL2, 3 << 24);
	unit_on(fake);
	EXPECT_TRUE(pe_wants(&fake->pe, 2));
	fake_paging(fake);
	fake_map(fake, FAKE_BUFFER, 2);
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
	EXPECT_FALSE(pe_wants(&fake->pe, 2));
	EXPECT_TRUE(pe_wants(&fake->pe, 1) && pe_wants(&fake->pe, 0));
	pe_state(&fake->pe, true, true, false);
	EXPECT_FALSE(pe_wants(&fake->pe, 0));
	pe_state(&fake->pe, false, false, false);
	/* Not while it is enabled, but the model has to do something. */
	fake->pe.adversary.violations[VIOLATION_REGIME_CHANGED] = 100;
	msr(fake, SYSREG_MDCR_EL2, 0);
	EXPECT_TRUE(pe_wants(&fake->pe, 2));
	fake_free(fake);
}

/* TRFCR_EL2.DnVM, of FEAT_TRBEv1p1. */
TEST(physical_addresses_disabled)
{
	for (unsigned int version = 1; version <= 2; version++) {
		struct trace_buffer_options options = trace_buffer_defaults;
		struct fake *fake;
		uint64_t page;

		options.version = version;
		fake = fake_new(&options, NULL, &with_el2);
		fake_paging(fake);
		page = fake_alloc(fake, 8192);
		msr(fake, SYSREG_MDCR_EL2, 3 << 24);
		msr(fake, SYSREG_TRFCR_EL2, 1 << 11);
		isb(fake);
		buffer_on(fake, page, page, (page + 8192) | 1 << 5);
		feed(fake, 64);
		EXPECT_EQ(fake->pe.buffer.stored, version == 1 ? 64 : 0);
		EXPECT_EQ(fake->losses[LOG_LOSS_FAULT], version == 1 ? 0 : 64);
		if (version == 1)
			EXPECT_EQ(fake_load(fake, page), *(uint64_t *)fake->stream);
		fake_free(fake);
	}
}

/* SYKCND: which registers the owner's translation hangs on. */
TEST(changes_of_the_owning_regime)
{
	/* Who owns the buffer: EL1 in the upper or the lower half; EL2, without E2H, and with it. */
	enum { HIGH, LOW, EL2, HOST, OWNERS };
	static const struct {
		enum machine_register which;
		uint32_t reg;
		uint64_t bits;
		uint8_t matters;	/* for these owners */
	} tries[] = {
		{ MACHINE_SCTLR_EL1, SYSREG_SCTLR_EL1, 1 << 0, 1 << HIGH | 1 << LOW },
		{ MACHINE_SCTLR_EL1, SYSREG_SCTLR_EL1, 1 << 25, 1 << HIGH | 1 << LOW },
		{ MACHINE_SCTLR_EL1, SYSREG_SCTLR_EL1, 1 << 2, 0 },
		{ MACHINE_SCTLR_EL2, SYSREG_SCTLR_EL2, 1 << 0, 1 << EL2 | 1 << HOST },
		{ MACHINE_TCR_EL1, SYSREG_TCR_EL1, 1 << 7, 1 << HIGH | 1 << LOW },
		{ MACHINE_TCR_EL2, SYSREG_TCR_EL2, 1 << 7, 1 << EL2 | 1 << HOST },
		{ MACHINE_TTBR0_EL1, SYSREG_TTBR0_EL1, 4096, 1 << LOW },
		{ MACHINE_TTBR1_EL1, SYSREG_TTBR1_EL1, 4096, 1 << HIGH },
		{ MACHINE_TTBR0_EL2, SYSREG_TTBR0_EL2, 4096, 1 << EL2 },
		{ MACHINE_TTBR1_EL2, SYSREG_TTBR1_EL2, 4096, 1 << HOST },
		/* An ASID, and what two PEs have in common. */
		{ MACHINE_TTBR0_EL1, SYSREG_TTBR0_EL1, 5ULL << 48 | 1, 0 },
		{ MACHINE_HCR_EL2, SYSREG_HCR_EL2, 1 << 0, 1 << HIGH | 1 << LOW },	/* VM */
		{ MACHINE_HCR_EL2, SYSREG_HCR_EL2, 1 << 27, 1 << HIGH | 1 << LOW },	/* TGE */
		{ MACHINE_HCR_EL2, SYSREG_HCR_EL2, 1ULL << 34, (1 << OWNERS) - 1 },	/* E2H */
		{ MACHINE_HCR_EL2, SYSREG_HCR_EL2, 1 << 13, 0 },			/* TWI */
		/* There is no second stage. */
		{ MACHINE_VTTBR_EL2, SYSREG_VTTBR_EL2, 4096, 0 },
		{ MACHINE_VTCR_EL2, SYSREG_VTCR_EL2, 1 << 6, 0 },
	};

	for (unsigned int i = 0; i < OWNERS * sizeof(tries) / sizeof(tries[0]); i++) {
		const unsigned int owner = i % OWNERS, t = i / OWNERS;
		const uint64_t base = owner == HIGH || owner == HOST ? FAKE_BUFFER : 0x10000000;
		struct fake *fake = fake_new(NULL, NULL, &with_el2);
		uint64_t *violations = fake->pe.adversary.violations;

		fake->sysregs[MACHINE_HCR_EL2] = owner == HOST ? 1ULL << 34 : 0;
		msr(fake, SYSREG_MDCR_EL2, owner == HIGH || owner == LOW ? 3 << 24 : 0);
		buffer_on(fake, base, base, base + 0x2000);
		fake->sysregs[tries[t].which] ^= tries[t].bits;
		violations[VIOLATION_REGIME_CHANGED] = 100;	/* not told */
		msr(fake, tries[t].reg, fake->sysregs[tries[t].which]);
		EXPECT_EQ(violations[VIOLATION_REGIME_CHANGED], 100 + (tries[t].matters >> owner & 1))
			TH_LOG("try %u, owner %u", t, owner);
		/* With the buffer disabled nobody minds. */
		buffer_off(fake);
		fake->sysregs[tries[t].which] ^= tries[t].bits;
		msr(fake, tries[t].reg, fake->sysregs[tries[t].which]);
		EXPECT_LE(violations[VIOLATION_REGIME_CHANGED], 101);
		fake_free(fake);
	}
}

/* A second stage is of the regime; and so is who has the buffer. */
TEST(changes_of_stage_2_and_of_the_owner)
{
	static const struct {
		enum machine_register which;
		uint32_t reg;
		uint64_t value;
		bool matters;
	} tries[] = {
		{ MACHINE_VTTBR_EL2, SYSREG_VTTBR_EL2, 0x1000, true },
		{ MACHINE_VTTBR_EL2, SYSREG_VTTBR_EL2, 1, false },
		{ MACHINE_VTCR_EL2, SYSREG_VTCR_EL2, 1 << 6, true },
		{ MACHINE_REGISTERS, SYSREG_MDCR_EL2, 0, true },
		{ MACHINE_REGISTERS, SYSREG_MDCR_EL2, 3 << 24 | 1, false },
	};

	for (unsigned int i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct fake *fake = fake_new(NULL, NULL, &with_el2);
		uint64_t *violations = fake->pe.adversary.violations;

		fake->sysregs[MACHINE_HCR_EL2] = 1;
		msr(fake, SYSREG_MDCR_EL2, 3 << 24);
		buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
		if (tries[i].which < MACHINE_REGISTERS)
			fake->sysregs[tries[i].which] = tries[i].value;
		violations[VIOLATION_REGIME_CHANGED] = 100;
		msr(fake, tries[i].reg, tries[i].value);
		EXPECT_EQ(violations[VIOLATION_REGIME_CHANGED], 100 + tries[i].matters)
			TH_LOG("try %u", i);
		fake_free(fake);
	}
}

/* What is allowed or prohibited elsewhere needs no context synchronization event here. */
TEST(trfcr_of_another_exception_level)
{
	struct fake *fake = fake_new(NULL, NULL, &with_el2);

	fake_paging(fake);
	fake_map(fake, FAKE_BUFFER, 2);
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
	msr(fake, TRCPRGCTLR, 1);
	isb(fake);
	buffer_off(fake);
	msr(fake, SYSREG_TRBLIMITR_EL1, LIMIT | 1);
	msr(fake, SYSREG_TRFCR_EL1, 2);
	EXPECT_EQ(fake_violations(fake), 0);
	isb(fake);
	msr(fake, SYSREG_TRFCR_EL1, 0);
	tsb(fake);
	EXPECT_EQ(fake_violations(fake), 0);
	fake_free(fake);
}

static struct fake *delayed(uint64_t seed)
{
	struct adversary_options options = { .seed = seed, .what = ADVERSARY(DELAY) };
	struct fake *fake = fake_new(NULL, &options, NULL);

	fake_paging(fake);
	fake_map(fake, FAKE_BUFFER, 2);
	isb(fake);
	for (unsigned int i = 0; i < VIOLATIONS; i++)
		fake->pe.adversary.violations[i] = 100;
	return fake;
}

/* K10.5.10, PKLXF: buffer and unit are enabled with one CSE; what the unit sends then is kept. */
TEST(one_event_enables_both)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct fake *fake = delayed(seed);

		fake->greeting = 32;
		msr(fake, SYSREG_TRBSR_EL1, 0);
		msr(fake, SYSREG_TRBBASER_EL1, FAKE_BUFFER);
		msr(fake, SYSREG_TRBPTR_EL1, FAKE_BUFFER);
		msr(fake, SYSREG_TRFCR_EL1, 3);
		isb(fake);
		msr(fake, SYSREG_TRBLIMITR_EL1, LIMIT | 1);
		msr(fake, TRCPRGCTLR, 1);
		isb(fake);
		EXPECT_EQ(fake->n, 32);
		EXPECT_EQ(fake->losses[LOG_LOSS_DISABLED], 0);
		fake_free(fake);
	}
}

/* And where one disables both, what the unit still sends comes before. */
TEST(one_event_disables_both)
{
	unsigned int pending = 0;

	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct fake *fake = delayed(seed);

		buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
		unit_on(fake);
		fake->greeting = 32;
		msr(fake, TRCPRGCTLR, 0);
		msr(fake, SYSREG_TRBLIMITR_EL1, LIMIT);
		if (trace_buffer_enabled(&fake->pe.buffer)) {
			pending++;
			isb(fake);
			EXPECT_EQ(fake->n, 32);
			EXPECT_EQ(fake->losses[LOG_LOSS_DISABLED], 0);
		}
		fake_free(fake);
	}
	EXPECT_GT(pending, 5);
}

/* Stop on trigger: what the unit has at the trigger is stored, what comes later is not. */
TEST(stop_on_trigger_flushes_the_unit)
{
	struct fake *fake = fake_new(NULL, NULL, NULL);

	fake_paging(fake);
	fake_map(fake, FAKE_BUFFER, 2);
	msr(fake, SYSREG_TRBTRG_EL1, 0);
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);	/* TM 0: stop */
	unit_on(fake);
	work(fake, 100);
	EXPECT_EQ(fake->nunit, 100);
	trace_buffer_trigger(&fake->pe.buffer);
	work(fake, 28);
	EXPECT_EQ(fake->pe.buffer.stored, 128);
	EXPECT_TRUE(fake->level);
	EXPECT_EQ(fake->triggers, 1);
	work(fake, 60);
	tsb(fake);
	EXPECT_EQ(fake->losses[LOG_LOSS_STOPPED], 60);
	isb(fake);
	EXPECT_EQ(mrs(fake, SYSREG_TRBSR_EL1), 1 << 22 | 1 << 21 | 1 << 17 | 2);
	EXPECT_EQ(mrs(fake, SYSREG_TRBPTR_EL1), FAKE_BUFFER + 128);
	fake_free(fake);
}

TEST(reset)
{
	struct adversary_options options = {
		.seed = 1, .what = ADVERSARY(DELAY) | ADVERSARY(WITHHOLD)
	};
	struct fake *fake = fake_new(NULL, &options, NULL);
	uint64_t different = 0;

	fake_paging(fake);
	fake_map(fake, FAKE_BUFFER, 2);
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
	feed(fake, 100);
	for (unsigned int i = 0; i < 20; i++) {
		pe_reset(&fake->pe);
		EXPECT_TRUE(fake_consistent(fake));
		EXPECT_EQ(fake->pe.buffer.nheld, 0);
		EXPECT_EQ(mrs(fake, SYSREG_TRBLIMITR_EL1) & 1, 0);
		EXPECT_EQ(mrs(fake, SYSREG_TRBSR_EL1) & 1 << 22, 0);
		EXPECT_FALSE(fake->level);
		EXPECT_TRUE(fake->pe.oslock);
		fake->pe.oslock = false;
		/* All else is UNKNOWN. */
		different |= mrs(fake, SYSREG_TRBPTR_EL1);
	}
	EXPECT_NE(different, 0);
	EXPECT_EQ(fake->losses[LOG_LOSS_DISABLED], 100);
	fake_free(fake);
}

/* The machine ends in the middle of tracing: each byte is told all the same. */
TEST(end_while_tracing)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct adversary_options options = { .seed = seed, .what = ADVERSARY(WITHHOLD) };
		struct fake *fake = fake_new(NULL, &options, NULL);
		struct trace_buffer *buffer = &fake->pe.buffer;

		fake_paging(fake);
		fake_map(fake, FAKE_BUFFER, 2);
		buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
		feed(fake, 5000);
		EXPECT_NE(buffer->nheld + buffer->npending, 0);
		fake->gone = true;
		trace_buffer_free(buffer);
		EXPECT_EQ(buffer->stored + buffer->lost, buffer->accepted);
		EXPECT_TRUE(fake_consistent(fake));
		fake_free(fake);
	}
}

/* Options that TRBIDR cannot say. */
TEST(options_that_there_are_not)
{
	static const struct trace_buffer_options bad[] = {
		{ .version = 1, .align = 12 }, { .version = 0 }, { .version = 3 },
		{ .version = 1, .external_abort = 2 },
	};
	struct fake *fake = fake_new(NULL, NULL, NULL);
	struct trace_buffer buffer;

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EXPECT_EQ(trace_buffer_init(&buffer, &fake->pe, &bad[i]), -22);
	fake_free(fake);
}

TEST_HARNESS_MAIN
