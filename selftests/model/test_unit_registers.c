// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shows that the trace unit has the System registers that it identifies and no others, with the
 * bits they have; when writes take effect; and that what software must not do is found.
 */
#include "unit_rig.h"

#include <stdlib.h>
#include <string.h>

#include "support/kselftest_harness.h"

static const struct trace_unit_options most = {
	.address_pairs = 8, .context_comparators = 8, .vmid_comparators = 8, .resource_pairs = 16,
	.single_shots = 8, .counters = 4, .sequencer_states = 4, .events = 4, .maxspec = 32,
	.commopt = false, .broadcast = true, .cycles = true, .return_stack = 15, .wfx = true,
	.revision = 3, .stall = true,
};

static const struct trace_unit_options least = {
	.resource_pairs = 1, .events = 1, .commopt = true,
};

/*
 * The trace registers that Linux' coresight-etm4x reads or writes by MRS and MSR, from which of
 * them on, how many and how far apart; and how many of them there are with the defaults, with
 * `most`, with `least`. ro: cannot be written.
 */
static const struct known {
	uint16_t offset;
	uint8_t many, stride;
	uint8_t defaults, most, least;
	bool ro;
} known[] = {
	{ 0x004, 1, 4, 1, 1, 1, false },	/* TRCPRGCTLR */
	{ 0x00c, 1, 4, 1, 1, 1, true },		/* TRCSTATR */
	{ 0x010, 1, 4, 1, 1, 1, false },	/* TRCCONFIGR */
	{ 0x018, 1, 4, 1, 1, 1, false },	/* TRCAUXCTLR */
	{ 0x020, 3, 4, 3, 3, 3, false },	/* TRCEVENTCTL0R, TRCEVENTCTL1R, TRCRSR */
	{ 0x02c, 1, 4, 1, 1, 0, false },	/* TRCSTALLCTLR */
	{ 0x030, 2, 4, 2, 2, 2, false },	/* TRCTSCTLR, TRCSYNCPR */
	{ 0x038, 2, 4, 2, 2, 0, false },	/* TRCCCCTLR, TRCBBCTLR */
	{ 0x040, 1, 4, 1, 1, 1, false },	/* TRCTRACEIDR */
	{ 0x044, 1, 4, 0, 0, 0, false },	/* TRCQCTLR */
	{ 0x080, 1, 4, 1, 1, 1, false },	/* TRCVICTLR */
	{ 0x084, 2, 4, 2, 2, 0, false },	/* TRCVIIECTLR, TRCVISSCTLR */
	{ 0x08c, 1, 4, 0, 0, 0, false },	/* TRCVIPCSSCTLR */
	{ 0x100, 3, 4, 3, 3, 0, false },	/* TRCSEQEVR */
	{ 0x118, 2, 4, 2, 2, 0, false },	/* TRCSEQRSTEVR, TRCSEQSTR */
	{ 0x120, 4, 4, 4, 4, 4, false },	/* TRCEXTINSELR */
	{ 0x140, 4, 4, 2, 4, 0, false },	/* TRCCNTRLDVR */
	{ 0x150, 4, 4, 2, 4, 0, false },	/* TRCCNTCTLR */
	{ 0x160, 4, 4, 2, 4, 0, false },	/* TRCCNTVR */
	{ 0x180, 6, 4, 6, 6, 6, true },		/* TRCIDR8 to 13 */
	{ 0x1c0, 1, 4, 1, 1, 1, false },	/* TRCIMSPEC0 */
	{ 0x1c4, 7, 4, 0, 0, 0, false },	/* TRCIMSPEC1 to 7 */
	{ 0x1e0, 8, 4, 8, 8, 8, true },		/* TRCIDR0 to 7 */
	{ 0x208, 30, 4, 14, 30, 0, false },	/* TRCRSCTLR2 to 31 */
	{ 0x280, 8, 4, 1, 8, 0, false },	/* TRCSSCCR */
	{ 0x2a0, 8, 4, 1, 8, 0, false },	/* TRCSSCSR */
	{ 0x2c0, 8, 4, 0, 0, 0, false },	/* TRCSSPCICR */
	{ 0x304, 1, 4, 1, 1, 1, true },		/* TRCOSLSR */
	{ 0x400, 16, 8, 8, 16, 0, false },	/* TRCACVR */
	{ 0x480, 16, 8, 8, 16, 0, false },	/* TRCACATR */
	{ 0x600, 8, 8, 1, 8, 0, false },	/* TRCCIDCVR */
	{ 0x640, 8, 8, 1, 8, 0, false },	/* TRCVMIDCVR */
	{ 0x680, 2, 4, 1, 2, 0, false },	/* TRCCIDCCTLR */
	{ 0x688, 2, 4, 1, 2, 0, false },	/* TRCVMIDCCTLR */
	{ 0xfa0, 2, 4, 2, 2, 2, false },	/* TRCCLAIMSET, TRCCLAIMCLR */
	{ 0xfb8, 2, 4, 2, 2, 2, true },		/* TRCAUTHSTATUS, TRCDEVARCH */
	{ 0xfc8, 1, 4, 1, 1, 1, true },		/* TRCDEVID */
};

static const struct known *find(uint32_t offset, unsigned int *n)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		*n = (offset - known[i].offset) / known[i].stride;
		if (offset >= known[i].offset && *n < known[i].many &&
		    !((offset - known[i].offset) % known[i].stride))
			return &known[i];
	}
	return NULL;
}

/* So many encodings that are not as `known` says. */
static unsigned int wrong(const struct trace_unit_options *options, size_t which)
{
	unsigned int n, wrong = 0;
	struct rig rig;
	uint64_t value;

	rig_init(&rig, options, true, 0, 1);
	for (uint32_t offset = 0; offset < 0x1000; offset += 4) {
		const struct known *k = find(offset, &n);
		bool there = k && n < *((const uint8_t *)k + which);
		bool read = rig_read(&rig, offset, &value);
		bool written = offset == 0x004 ? there : rig_write(&rig, offset, 0);

		if (read != there || written != (there && !k->ro) ||
		    (there && !trace_unit_owns(SYSREG_TRACE(offset)))) {
			printf("# offset %x: read %d written %d\n", offset, read, written);
			wrong++;
		}
	}
	rig_free(&rig);
	return wrong;
}

TEST(all_encodings_are_those_that_the_driver_knows_and_the_options_have)
{
	EXPECT_EQ(0, wrong(NULL, offsetof(struct known, defaults)));
	EXPECT_EQ(0, wrong(&most, offsetof(struct known, most)));
	EXPECT_EQ(0, wrong(&least, offsetof(struct known, least)));
}

TEST(registers_beside_are_not_the_trace_units)
{
	EXPECT_TRUE(trace_unit_owns(SYSREG_TRFCR_EL1));
	EXPECT_TRUE(trace_unit_owns(SYSREG_TRFCR_EL2));
	EXPECT_FALSE(trace_unit_owns(SYSREG_TRBPTR_EL1));
	EXPECT_FALSE(trace_unit_owns(SYSREG(2, 0, 0, 1, 0)));
	EXPECT_FALSE(trace_unit_owns(SYSREG(2, 1, 8, 1, 0)));
	EXPECT_FALSE(trace_unit_owns(SYSREG(2, 2, 0, 1, 0)));
	EXPECT_FALSE(trace_unit_owns(SYSREG(3, 1, 0, 1, 0)));
}

/* offset, what stays of all ones with the defaults, with `most`, both without EL2 */
static const struct {
	uint16_t offset;
	uint64_t defaults, most;
} implemented[] = {
	{ 0x010, 0x1859, 0x1859 },
	{ 0x018, 0, 0 },
	{ 0x020, 0x9f9f9f9f, 0x9f9f9f9f },
	{ 0x024, 0x180f, 0x180f },
	{ 0x028, 0x1f0f, 0x1f0f },
	{ 0x030, 0x9f, 0x9f },
	{ 0x034, 0x1f, 0x1f },
	{ 0x038, 0xfff, 0xfff },
	{ 0x03c, 0x10f, 0x1ff },
	{ 0x040, 0x7f, 0x7f },
	{ 0x080, 0x300e9f, 0x300e9f },
	{ 0x084, 0xf000f, 0xff00ff },
	{ 0x088, 0xff00ff, 0xffffffff },
	{ 0x100, 0x9f9f, 0x9f9f },
	{ 0x11c, 3, 3 },
	{ 0x120, 0xffff, 0xffff },
	{ 0x140, 0xffff, 0xffff },
	{ 0x150, 0x19f9f, 0x19f9f },
	{ 0x154, 0x39f9f, 0x39f9f },
	{ 0x208, 0x3fffff, 0x3fffff },
	{ 0x20c, 0x1fffff, 0x1fffff },
	{ 0x280, 0x10f00ff, 0x1ffffff },
	{ 0x2a0, 0xc0000001, 0xc0000001 },
	{ 0x400, UINT64_MAX, UINT64_MAX },
	{ 0x480, 0x300c, 0x307c },
	{ 0x600, UINT32_MAX, UINT32_MAX },
	{ 0x680, 0xf, 0x0f0f0f0f },
};

TEST(bits_that_are_not_implemented_stay_0)
{
	struct rig rig, other;

	rig_init(&rig, NULL, false, 0, 1);
	rig_init(&other, &most, false, 0, 1);
	for (size_t i = 0; i < sizeof(implemented) / sizeof(implemented[0]); i++) {
		rig_write(&rig, implemented[i].offset, UINT64_MAX);
		rig_write(&other, implemented[i].offset, UINT64_MAX);
		EXPECT_EQ(implemented[i].defaults, rig_get(&rig, implemented[i].offset))
			TH_LOG("offset %x", implemented[i].offset);
		EXPECT_EQ(implemented[i].most, rig_get(&other, implemented[i].offset))
			TH_LOG("offset %x", implemented[i].offset);
	}
	rig_free(&rig);
	rig_free(&other);
}

TEST(el2_brings_its_bits_and_comparators)
{
	struct rig rig;
	uint64_t value;

	rig_init(&rig, NULL, true, 0, 1);
	rig_write(&rig, 0x010, UINT64_MAX);
	EXPECT_EQ(0x98d9, rig_get(&rig, 0x010));
	rig_write(&rig, 0x080, UINT64_MAX);
	EXPECT_EQ(0x700e9f, rig_get(&rig, 0x080));
	EXPECT_EQ(0xd0001088, rig_get(&rig, 0x1e8));
	EXPECT_EQ(0x11170004, rig_get(&rig, 0x1f0));
	rig_free(&rig);
	rig_init(&rig, NULL, false, 0, 1);
	EXPECT_EQ(0x90000088, rig_get(&rig, 0x1e8));
	/* Linux' driver writes TRCVMIDCCTLR0 here as well. */
	EXPECT_EQ(0x11170004, rig_get(&rig, 0x1f0));
	EXPECT_TRUE(rig_read(&rig, 0x688, &value));
	rig_free(&rig);
}

TEST(identification_is_as_the_options_are)
{
	struct rig rig;

	rig_init(&rig, NULL, true, 0, 1);
	EXPECT_EQ(0x28000ea1, rig_get(&rig, 0x1e0));
	EXPECT_EQ(0x4100fff0, rig_get(&rig, 0x1e4));
	EXPECT_EQ(0x05700004, rig_get(&rig, 0x1ec));
	EXPECT_EQ(0x28c709ff, rig_get(&rig, 0x1f4));
	EXPECT_EQ(0, rig_get(&rig, 0x180));
	EXPECT_EQ(0x47705a13, rig_get(&rig, 0xfbc));
	rig_free(&rig);
	rig_init(&rig, &most, true, 0, 1);
	EXPECT_EQ(0x08000ea1, rig_get(&rig, 0x1e0));
	EXPECT_EQ(0x888f0008, rig_get(&rig, 0x1f0));
	EXPECT_EQ(0x48c709ff, rig_get(&rig, 0x1f4));
	EXPECT_EQ(32, rig_get(&rig, 0x180));
	EXPECT_EQ(0x47735a13, rig_get(&rig, 0xfbc));
	rig_free(&rig);
	rig_init(&rig, &least, false, 0, 1);
	/* Without cycle counting there is no CCITMIN either; what is not there cannot be set. */
	EXPECT_EQ(0x28000001, rig_get(&rig, 0x1e0));
	EXPECT_EQ(0x01300000, rig_get(&rig, 0x1ec));
	rig_write(&rig, 0x010, UINT64_MAX);
	EXPECT_EQ(0x0841, rig_get(&rig, 0x010));
	EXPECT_EQ(0, rig_get(&rig, 0x1f0));
	EXPECT_EQ(0x00c709ff, rig_get(&rig, 0x1f4));
	rig_free(&rig);
}

TEST(options_beyond_the_architecture_are_refused)
{
	static const struct {
		size_t field;
		uint8_t value;
	} bad[] = {
		{ offsetof(struct trace_unit_options, address_pairs), 9 },
		{ offsetof(struct trace_unit_options, context_comparators), 9 },
		{ offsetof(struct trace_unit_options, vmid_comparators), 9 },
		{ offsetof(struct trace_unit_options, pe_inputs), 9 },
		{ offsetof(struct trace_unit_options, resource_pairs), 0 },
		{ offsetof(struct trace_unit_options, resource_pairs), 17 },
		{ offsetof(struct trace_unit_options, single_shots), 9 },
		{ offsetof(struct trace_unit_options, counters), 5 },
		{ offsetof(struct trace_unit_options, sequencer_states), 3 },
		{ offsetof(struct trace_unit_options, events), 0 },
		{ offsetof(struct trace_unit_options, events), 5 },
		{ offsetof(struct trace_unit_options, return_stack), 16 },
		{ offsetof(struct trace_unit_options, revision), 4 },
		{ offsetof(struct trace_unit_options, commopt), 0 },	/* with MAXSPEC 0 */
	};
	struct trace_unit_options options;
	struct trace_unit unit;
	struct rig rig;

	rig_init(&rig, NULL, true, 0, 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		options = trace_unit_defaults;
		*((uint8_t *)&options + bad[i].field) = bad[i].value;
		EXPECT_EQ(-EINVAL, trace_unit_init(&unit, &rig.pe, &options)) TH_LOG("%zu", i);
		trace_unit_free(&unit);
	}
	options = trace_unit_defaults;
	options.maxspec = 257;
	EXPECT_EQ(-EINVAL, trace_unit_init(&unit, &rig.pe, &options));
	trace_unit_free(&unit);
	rig_free(&rig);
}

TEST(claim_tags_are_set_and_cleared)
{
	struct rig rig;

	rig_init(&rig, NULL, false, 0, 1);
	EXPECT_EQ(0xf, rig_get(&rig, 0xfa0));
	EXPECT_EQ(0, rig_get(&rig, 0xfa4));
	rig_write(&rig, 0xfa0, 2);
	rig_write(&rig, 0xfa0, ~7ULL);
	EXPECT_EQ(0xa, rig_get(&rig, 0xfa4));
	rig_write(&rig, 0xfa4, 2);
	EXPECT_EQ(8, rig_get(&rig, 0xfa4));
	EXPECT_EQ(0xf, rig_get(&rig, 0xfa0));
	rig_free(&rig);
}

TEST(the_pes_os_lock_disables_the_unit_and_lets_its_registers_be_saved)
{
	struct rig rig;

	rig_init(&rig, NULL, false, 0, 1);
	EXPECT_EQ(0x10, rig_get(&rig, 0x304));
	rig_program(&rig, 1);
	rig_enable(&rig);
	EXPECT_EQ(0, rig_get(&rig, 0x00c));
	rig_branch(&rig, 1, true, 0x1000);
	rig.pe.oslock = true;
	rig_isb(&rig);
	EXPECT_EQ(0x12, rig_get(&rig, 0x304));
	EXPECT_EQ(3, rig_get(&rig, 0x00c));
	EXPECT_EQ(1, rig_get(&rig, 0x004));
	EXPECT_EQ(1, rig_get(&rig, 0x040));
	EXPECT_FALSE(rig.pe.unit.traces[1]);
	/* Restored in K10.5.7.1.3's order: EN before the lock is cleared. */
	rig_write(&rig, 0x040, 2);
	rig_write(&rig, 0x004, 1);
	rig_isb(&rig);
	rig.pe.oslock = false;
	rig_isb(&rig);
	EXPECT_TRUE(rig.pe.unit.traces[1]);
	rig_branch(&rig, 1, true, 0x2000);
	for (unsigned int i = 0; i < VIOLATIONS; i++)
		EXPECT_EQ(0, rig_violations(&rig, i));
	EXPECT_TEXT("Trace On\n"
		    "Target Address with Context 400000 IS0 context EL1 NS 64 vmid 0 contextid 0\n"
		    "Atom format 1 E\nTrace On\n"
		    "Target Address with Context 1000 IS0 context EL1 NS 64 vmid 0 contextid 0\n"
		    "Atom format 1 E\n", rig_packets(&rig));
	rig_free(&rig);
}

/* --- When writes take effect. --- */

TEST(a_delayed_write_reads_back_at_once_and_takes_effect_at_the_latest_at_an_isb)
{
	bool early = false, late = false;

	for (uint64_t seed = 0; seed < 40; seed++) {
		struct rig rig;

		rig_init(&rig, NULL, false, ADVERSARY(DELAY), seed);
		rig_program(&rig, 1);
		rig_isb(&rig);
		rig_trfcr(&rig, 3, 0);
		rig_isb(&rig);
		rig_write(&rig, 0x004, 1);
		EXPECT_EQ(1, rig_get(&rig, 0x004));
		EXPECT_FALSE(trace_unit_enabled(&rig.pe.unit));
		rig_isb(&rig);
		EXPECT_TRUE(trace_unit_enabled(&rig.pe.unit));
		trace_unit_write(&rig.pe.unit, SYSREG_TRFCR_EL1, 0);
		for (unsigned int i = 0; i < 4; i++)
			rig_branch(&rig, 1, true, rig.at + 0x100);
		early |= !rig.pe.unit.traces[1];
		late |= rig.pe.unit.traces[1];
		rig_isb(&rig);
		EXPECT_FALSE(rig.pe.unit.traces[1]);
		rig_free(&rig);
	}
	EXPECT_TRUE(early);
	EXPECT_TRUE(late);
}

TEST(what_is_synchronized_with_the_enabling_counts_for_it)
{
	struct rig rig;

	rig_init(&rig, NULL, false, ADVERSARY(DELAY), 3);
	rig_program(&rig, 1);
	rig_isb(&rig);
	rig_write(&rig, 0x040, 0);	/* reserved */
	rig_isb(&rig);
	rig_trfcr(&rig, 3, 0);
	rig_write(&rig, 0x004, 1);
	rig_write(&rig, 0x040, 1);
	EXPECT_EQ(1, rig_violations(&rig, VIOLATION_UNIT_WRITTEN));
	rig_isb(&rig);
	EXPECT_TRUE(rig.pe.unit.traces[1]);
	EXPECT_EQ(0, rig_violations(&rig, VIOLATION_UNIT_RESERVED));
	rig_free(&rig);
}

TEST(delayed_writes_of_one_register_keep_their_order_those_of_several_do_not)
{
	bool before = false, after = false;

	for (uint64_t seed = 0; seed < 100; seed++) {
		struct rig rig;

		rig_init(&rig, NULL, false, ADVERSARY(DELAY), seed);
		rig.pe.adversary.options.rate = 2;	/* not each */
		rig_program(&rig, 1);
		rig_enable(&rig);
		for (unsigned int i = 1; i < 20; i++) {
			trace_unit_write(&rig.pe.unit, SYSREG_TRFCR_EL1, i & 3);
			trace_unit_write(&rig.pe.unit, SYSREG_TRFCR_EL1, 3);
			if (seed & 1)
				rig_branch(&rig, 1, true, rig.at);
		}
		rig_isb(&rig);
		EXPECT_TRUE(rig.pe.unit.traces[0] && rig.pe.unit.traces[1]);
		/* Two of them: either may be the first. */
		rig.pe.adversary.options.rate = 1;
		trace_unit_context(&rig.pe.unit, 0x77, 0);
		trace_unit_write(&rig.pe.unit, SYSREG_TRFCR_EL1, 1);
		rig_log(&rig, "");
		for (unsigned int i = 0; i < 3; i++)
			rig_branch(&rig, 1, true, rig.at);
		if (rig.nlog) {
			const char *context = strstr(rig.log, "context 77");
			const char *trfcr = strstr(rig.log, "tracing");

			before |= context && (!trfcr || context < trfcr);
			after |= trfcr && (!context || trfcr < context);
		}
		rig_free(&rig);
	}
	EXPECT_TRUE(before);
	EXPECT_TRUE(after);
}

/* No context synchronization event between them: the last one says what is, whichever waited. */
TEST(the_last_write_of_en_is_the_one_that_stays)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		for (unsigned int last = 0; last < 2; last++) {
			struct rig rig;

			rig_init(&rig, NULL, false, ADVERSARY(DELAY), seed);
			rig.pe.adversary.options.rate = 1 + seed % 2;
			rig_program(&rig, 1);
			rig_isb(&rig);
			for (unsigned int i = 0; i < 4 + last; i++)
				rig_write(&rig, 0x004, (i + 1) & 1);
			EXPECT_EQ(last, rig_get(&rig, 0x004));
			rig_isb(&rig);
			EXPECT_EQ(last, trace_unit_enabled(&rig.pe.unit))
				TH_LOG("seed %llu", (unsigned long long)seed);
			rig_free(&rig);
		}
	}
}

TEST(a_slow_unit_is_idle_after_some_polls)
{
	bool slow_up = false, slow_down = false;

	for (uint64_t seed = 0; seed < 40; seed++) {
		unsigned int up = 0, down = 0;
		struct rig rig;

		rig_init(&rig, NULL, false, ADVERSARY(SLOW), seed);
		rig_program(&rig, 1);
		rig_enable(&rig);
		while (rig_get(&rig, 0x00c) & 1 && up++ < 100)
			rig_isb(&rig);
		rig_trfcr(&rig, 0, 0);
		rig_isb(&rig);
		rig_disable(&rig);
		while (rig_get(&rig, 0x00c) != 3 && down++ < 100)
			rig_isb(&rig);
		slow_up |= up > 0;
		slow_down |= down > 0;
		EXPECT_GT(10, up);
		EXPECT_GT(10, down);
		EXPECT_EQ(0, rig_violations(&rig, VIOLATION_POLL_UNSYNCHRONIZED));
		rig_free(&rig);
	}
	EXPECT_TRUE(slow_up);
	EXPECT_TRUE(slow_down);
}

TEST(a_stuck_unit_is_never_idle_after_so_many_disablings_until_a_reset)
{
	struct trace_unit_options options = trace_unit_defaults;
	struct rig rig;

	options.stuck = 2;
	rig_init(&rig, &options, false, 0, 1);
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < 2; i++) {
			rig_isb(&rig);
			EXPECT_EQ(3, rig_get(&rig, 0x00c));
			rig_program(&rig, 1);
			rig_enable(&rig);
			EXPECT_EQ(0, rig_get(&rig, 0x00c));
			rig_branch(&rig, 1, true, 0x1000);
			rig_disable(&rig);
		}
		/* Nothing is traced, the registers are stable. */
		EXPECT_FALSE(rig.pe.unit.traces[1]);
		for (unsigned int i = 0; i < 100; i++) {
			EXPECT_EQ(2, rig_get(&rig, 0x00c));
			rig_isb(&rig);
		}
		rig_get(&rig, 0x010);
		for (unsigned int i = 0; i < VIOLATIONS; i++)
			EXPECT_EQ(0, rig_violations(&rig, i));
		/* Whoever goes on is told, and it stays so. */
		if (round) {
			rig_write(&rig, 0x040, 1);
			EXPECT_EQ(1, rig_violations(&rig, VIOLATION_UNIT_WRITTEN));
			rig_write(&rig, 0x004, 1);
			EXPECT_EQ(1, rig_violations(&rig, VIOLATION_UNIT_ENABLED_BUSY));
			rig_isb(&rig);
			rig_disable(&rig);
			EXPECT_EQ(2, rig_get(&rig, 0x00c));
		}
		trace_unit_reset(&rig.pe.unit);
		rig_isb(&rig);
	}
	rig_free(&rig);
}

/* --- What software must not do. --- */

TEST(violations_are_found_and_nothing_else_is)
{
	struct rig rig;
	uint64_t value;

	rig_init(&rig, NULL, false, 0, 1);
	rig_program(&rig, 1);
	rig_write(&rig, 0x004, 1);
	rig_isb(&rig);
	EXPECT_EQ(0, rig_get(&rig, 0x00c));
	EXPECT_EQ(0, rig_violations(&rig, VIOLATION_POLL_UNSYNCHRONIZED));
	EXPECT_EQ(0, rig_get(&rig, 0x00c));
	EXPECT_EQ(1, rig_violations(&rig, VIOLATION_POLL_UNSYNCHRONIZED));
	rig_isb(&rig);
	EXPECT_EQ(0, rig_get(&rig, 0x00c));
	/* These may be read and written always. */
	rig_read(&rig, 0xfa4, &value);
	rig_write(&rig, 0xfa0, 1);
	rig_read(&rig, 0x1e0, &value);
	rig_read(&rig, 0xfbc, &value);
	rig_read(&rig, 0x304, &value);
	rig_read(&rig, 0x004, &value);
	for (unsigned int i = 0; i < VIOLATIONS; i++)
		EXPECT_EQ(0, rig_violations(&rig, i));
	rig_write(&rig, 0x040, 5);
	EXPECT_EQ(1, rig_violations(&rig, VIOLATION_UNIT_WRITTEN));
	rig_read(&rig, 0x010, &value);
	EXPECT_EQ(1, rig_violations(&rig, VIOLATION_UNIT_READ));
	rig_disable(&rig);
	rig_write(&rig, 0x004, 1);
	EXPECT_EQ(1, rig_violations(&rig, VIOLATION_UNIT_ENABLED_BUSY));
	rig_isb(&rig);
	/* That its state was not written goes with it. */
	EXPECT_EQ(0, rig_violations(&rig, VIOLATION_UNIT_UNPROGRAMMED));
	rig_disable(&rig);
	EXPECT_EQ(3, rig_get(&rig, 0x00c));
	rig.pe.oslock = true;
	rig_isb(&rig);
	rig_write(&rig, 0x004, 1);
	rig_isb(&rig);
	EXPECT_EQ(0, rig_violations(&rig, VIOLATION_UNIT_LOCKED));
	EXPECT_EQ(3, rig_get(&rig, 0x00c));
	EXPECT_EQ(1, rig_violations(&rig, VIOLATION_UNIT_LOCKED));
	for (unsigned int i = 0; i < VIOLATIONS; i++)
		EXPECT_EQ(0, rig_violations(&rig, i));
	rig_free(&rig);
}

/* By number and value; CONTEXTIDR has lines of its own. */
TEST(registers_are_logged)
{
	struct rig rig;
	char line[64];

	rig_init(&rig, NULL, false, 0, 1);
	rig_program(&rig, 1);
	rig_isb(&rig);
	free(rig_log(&rig, "register"));
	rig_write(&rig, 0x040, 5);
	snprintf(line, sizeof(line), "register %x 5\n", SYSREG_TRACE(0x040));
	EXPECT_TEXT(line, rig_log(&rig, "register"));
	trace_unit_write(&rig.pe.unit, SYSREG_TRFCR_EL1, 3);
	snprintf(line, sizeof(line), "register %x 3\n", SYSREG_TRFCR_EL1);
	EXPECT_TEXT(line, rig_log(&rig, "register"));
	trace_unit_context(&rig.pe.unit, 77, 0);
	EXPECT_TEXT("", rig_log(&rig, "register"));
	rig_free(&rig);
}

TEST(reserved_values_are_found_where_they_matter)
{
	/* A register, perhaps more that lead to it, and whether that is reserved. */
	static const struct {
		struct {
			uint16_t offset;
			uint32_t value;
		} set[4];
		bool bad;
	} tries[] = {
		{ { { 0x034, 1 } }, true }, { { { 0x034, 7 } }, true }, { { { 0x034, 8 } }, false },
		{ { { 0x034, 20 } }, false }, { { { 0x034, 21 } }, true },
		{ { { 0x040, 0 } }, true }, { { { 0x040, 0x6f } }, false },
		{ { { 0x040, 0x70 } }, true },
		{ { { 0x038, 3 } }, false },			/* no cycle counting */
		{ { { 0x010, 0x11 }, { 0x038, 3 } }, true },
		{ { { 0x010, 0x11 }, { 0x038, 4 } }, false },
		{ { { 0x030, 16 } }, false },			/* no timestamps */
		{ { { 0x010, 0x801 }, { 0x030, 16 } }, true },	/* beyond the selectors */
		{ { { 0x020, 16 << 24 } }, true }, { { { 0x020, 15 } }, false },
		{ { { 0x020, 0x80 } }, true }, { { { 0x020, 0x88 } }, true },
		{ { { 0x080, 0x21f } }, true },
		{ { { 0x020, 2 }, { 0x208, 0x10000 } }, false },	/* PE comparators: none */
		{ { { 0x020, 2 }, { 0x208, 0x10001 } }, true },
		{ { { 0x020, 2 }, { 0x208, 0x20003 } }, false },
		{ { { 0x020, 2 }, { 0x208, 0x20004 } }, true },
		{ { { 0x020, 2 }, { 0x208, 0x200f0 } }, false },
		{ { { 0x020, 2 }, { 0x208, 0x30002 } }, true },
		{ { { 0x020, 2 }, { 0x208, 0x40100 } }, true },
		{ { { 0x020, 2 }, { 0x208, 0x50010 } }, true },
		{ { { 0x020, 2 }, { 0x208, 0x60002 } }, true },
		{ { { 0x020, 2 }, { 0x208, 0x80001 } }, true },
		{ { { 0x208, 0x80001 } }, false },		/* nobody asks that selector */
		/* Two ask it, and it is told once; either of a pair; one that leads to itself. */
		{ { { 0x020, 0x202 }, { 0x208, 0x80001 } }, true },
		{ { { 0x020, 0x81 }, { 0x208, 0x80001 } }, true },
		{ { { 0x020, 0x81 }, { 0x20c, 0x80001 } }, true },
		{ { { 0x020, 2 }, { 0x208, 0x20001 }, { 0x150, 2 } }, false },
		{ { { 0x020, 0x81 }, { 0x208, 0x300000 } }, true },	/* (1, 1, 0): reserved */
		{ { { 0x020, 0x81 }, { 0x20c, 0x100000 } }, true },	/* (0, 0, 1) */
		{ { { 0x020, 0x81 }, { 0x208, 0x200000 } }, false },
		/* What nothing selects may be anything; where it is selected, no longer. */
		{ { { 0x100, 0x1f00 } }, false }, { { { 0x118, 0x80 } }, false },
		{ { { 0x150, 0x1f } }, false },
		{ { { 0x020, 2 }, { 0x208, 0x20010 }, { 0x100, 0x1f00 } }, true },
		{ { { 0x020, 2 }, { 0x208, 0x20080 }, { 0x118, 0x80 } }, true },
		{ { { 0x020, 2 }, { 0x208, 0x20001 }, { 0x150, 0x1f } }, true },
		{ { { 0x020, 2 }, { 0x208, 0x20002 }, { 0x150, 0x1f } }, false },
		{ { { 0x020, 2 }, { 0x208, 0x20002 }, { 0x154, 0x20000 }, { 0x150, 0x1f00 } },
		  true },
		{ { { 0x020, 2 }, { 0x208, 0x30001 }, { 0x280, 1 << 16 }, { 0x400, 8 } }, true },
		{ { { 0x020, 2 }, { 0x208, 0x30001 }, { 0x280, 1 << 16 }, { 0x400, 4 } }, false },
		{ { { 0x280, 1 << 16 }, { 0x400, 8 } }, false },
		{ { { 0x03c, 1 }, { 0x400, 8 } }, false },	/* no branch broadcasting */
		{ { { 0x010, 9 }, { 0x03c, 1 }, { 0x400, 8 } }, true },
		{ { { 0x084, 1 }, { 0x488, 1 << 13 } }, true },	/* unlike attributes */
	};
	struct rig rig;

	rig_init(&rig, NULL, false, 0, 1);
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		rig_program(&rig, 1);
		rig_comparator(&rig, 0, 0, 0);
		rig_comparator(&rig, 1, 4, 0);
		for (unsigned int k = 0; k < 4 && tries[i].set[k].offset; k++)
			rig_write(&rig, tries[i].set[k].offset, tries[i].set[k].value);
		rig_enable(&rig);
		EXPECT_EQ(tries[i].bad, rig_violations(&rig, VIOLATION_UNIT_RESERVED))
			TH_LOG("%zu", i);
		rig_disable(&rig);
		rig_get(&rig, 0x00c);
	}
	rig_free(&rig);
}

TEST(comparator_inputs_have_a_register_that_is_to_be_programmed)
{
	struct trace_unit_options options = trace_unit_defaults;
	struct rig rig;

	options.pe_inputs = 2;
	rig_init(&rig, &options, false, 0, 1);
	EXPECT_EQ(2, rig_get(&rig, 0x1f0) >> 12 & 15);
	rig_write(&rig, 0x08c, ~0ULL);
	EXPECT_EQ(0x30003, rig_get(&rig, 0x08c));
	for (unsigned int i = 0; i < 2; i++) {
		rig_program(&rig, 1);
		rig_write(&rig, 0x08c, i ? 0 : 0x20000);
		rig_enable(&rig);
		EXPECT_EQ(!i, rig_violations(&rig, VIOLATION_UNIT_RESERVED));
		rig_disable(&rig);
		rig_get(&rig, 0x00c);
	}
	rig_free(&rig);
}

TEST(a_reset_leaves_a_unit_that_is_off_with_registers_of_any_value)
{
	struct rig rig;
	bool any = false;

	rig_init(&rig, NULL, false, ADVERSARY(SLOW), 1);
	any = rig_get(&rig, 0x010) != 1;
	rig_program(&rig, 1);
	rig_enable(&rig);
	rig_branch(&rig, 1, true, 0x1000);
	rig_write(&rig, 0xfa0, 3);
	trace_unit_reset(&rig.pe.unit);
	EXPECT_EQ(0, rig_get(&rig, 0x004));
	EXPECT_EQ(3, rig_get(&rig, 0x00c));
	EXPECT_EQ(0, rig_get(&rig, 0xfa4));
	EXPECT_FALSE(rig.pe.unit.traces[1]);
	EXPECT_FALSE(trace_unit_holds(&rig.pe.unit));
	EXPECT_TRUE(any);
	rig_free(&rig);
}

TEST_HARNESS_MAIN
