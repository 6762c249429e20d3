// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shows that each thing software must not do with the trace buffer is found, by exactly its name
 * and whatever the adversary delays; and that what software may do is not reported.
 */
#include <string.h>

#include "fake.h"
#include "support/kselftest_harness.h"

#define SIZE	0x2000
#define LIMIT	(FAKE_BUFFER + SIZE)
#define NONE	VIOLATIONS
#define SR_IRQ	(1 << 22)
#define SR_S	(1 << 17)

static void on(struct fake *fake)
{
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT | 3 << 3);
	unit_on(fake);
	work(fake, 300);
}

static void off(struct fake *fake)
{
	unit_off(fake);
	buffer_off(fake);
}

static void limitr(struct fake *fake, uint64_t set, uint64_t clear)
{
	msr(fake, SYSREG_TRBLIMITR_EL1, (mrs(fake, SYSREG_TRBLIMITR_EL1) & ~clear) | set);
}

/* A watched register: the machine has it, and tells. */
static void set(struct fake *fake, enum machine_register which, uint32_t reg, uint64_t value)
{
	fake->sysregs[which] = value;
	msr(fake, reg, value);
}

/* --- What must not be --- */

static void pointer_written(struct fake *fake)
{
	on(fake);
	prohibit(fake);
	msr(fake, SYSREG_TRBPTR_EL1, FAKE_BUFFER);
	off(fake);
}

/* E is 0, but nothing says that the hardware knows. */
static void pointer_written_early(struct fake *fake)
{
	on(fake);
	unit_off(fake);
	tsb(fake);
	dsb(fake);
	limitr(fake, 0, 1);
	msr(fake, SYSREG_TRBPTR_EL1, FAKE_BUFFER);
	isb(fake);
}

static void base_written(struct fake *fake)
{
	on(fake);
	msr(fake, SYSREG_TRBBASER_EL1, FAKE_BUFFER);
	off(fake);
}

static void limit_written(struct fake *fake)
{
	on(fake);
	msr(fake, SYSREG_TRBLIMITR_EL1, (LIMIT - 0x1000) | 3 << 3 | 1);
	off(fake);
}

static void mode_written(struct fake *fake)
{
	on(fake);
	limitr(fake, 3 << 1, 0);
	off(fake);
}

static void trigger_written(struct fake *fake)
{
	on(fake);
	msr(fake, SYSREG_TRBTRG_EL1, 64);
	off(fake);
}

static void status_written(struct fake *fake)
{
	on(fake);
	msr(fake, SYSREG_TRBSR_EL1, 0);
	off(fake);
}

static void enabled_unsynchronized(struct fake *fake)
{
	msr(fake, SYSREG_TRBSR_EL1, 0);
	msr(fake, SYSREG_TRBBASER_EL1, FAKE_BUFFER);
	isb(fake);
	msr(fake, SYSREG_TRBPTR_EL1, FAKE_BUFFER);
	msr(fake, SYSREG_TRBLIMITR_EL1, LIMIT | 1);
	isb(fake);
	off(fake);
}

/* With what TRBSR_EL1 still holds. */
static void enable_with_status(struct fake *fake, uint64_t status)
{
	msr(fake, SYSREG_TRBSR_EL1, status);
	msr(fake, SYSREG_TRBBASER_EL1, FAKE_BUFFER);
	msr(fake, SYSREG_TRBPTR_EL1, FAKE_BUFFER);
	isb(fake);
	msr(fake, SYSREG_TRBLIMITR_EL1, LIMIT | 1);
	isb(fake);
	off(fake);
}

static void enabled_stopped(struct fake *fake)
{
	enable_with_status(fake, SR_S);
}

/* ... or an interrupt that nobody has served. */
static void enabled_with_interrupt(struct fake *fake)
{
	enable_with_status(fake, SR_IRQ);
}

static void misaligned(struct fake *fake)
{
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER + 32, LIMIT);
	off(fake);
}

static void outside(struct fake *fake)
{
	buffer_on(fake, FAKE_BUFFER, LIMIT, LIMIT);
	off(fake);
}

static void below(struct fake *fake)
{
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER - 64, LIMIT);
	off(fake);
}

static void disabled_unflushed(struct fake *fake)
{
	on(fake);
	work(fake, 3000);
	prohibit(fake);
	msr(fake, TRCPRGCTLR, 0);
	isb(fake);
	limitr(fake, 0, 1);
	isb(fake);
	tsb(fake);
	dsb(fake);
	isb(fake);
	mrs(fake, SYSREG_TRBPTR_EL1);
}

/* The trace is still in the unit. */
static void disabled_with_unit_full(struct fake *fake)
{
	on(fake);
	prohibit(fake);
	limitr(fake, 0, 1);
	isb(fake);
	unit_off(fake);
}

static void read_undrained(struct fake *fake)
{
	on(fake);
	work(fake, 3000);
	prohibit(fake);
	mrs(fake, SYSREG_TRBPTR_EL1);
	off(fake);
}

/* All of it is in the trace unit yet. */
static void read_before_it_comes(struct fake *fake)
{
	on(fake);
	prohibit(fake);
	mrs(fake, SYSREG_TRBPTR_EL1);
	off(fake);
}

/* What an External abort says is known after DSB. */
static void status_before_dsb(struct fake *fake)
{
	on(fake);
	unit_off(fake);
	tsb(fake);
	limitr(fake, 0, 1);
	isb(fake);
	mrs(fake, SYSREG_TRBSR_EL1);
	dsb(fake);
	isb(fake);
}

static void read_unsynchronized(struct fake *fake)
{
	on(fake);
	unit_off(fake);
	isb(fake);
	dsb(fake);
	limitr(fake, 0, 1);
	mrs(fake, SYSREG_TRBPTR_EL1);
	isb(fake);
}

static void read_after_tsb(struct fake *fake)
{
	on(fake);
	prohibit(fake);
	tsb(fake);
	dsb(fake);
	mrs(fake, SYSREG_TRBPTR_EL1);
	off(fake);
}

static void status_after_dsb(struct fake *fake)
{
	on(fake);
	unit_off(fake);
	tsb(fake);
	limitr(fake, 0, 1);
	isb(fake);
	dsb(fake);
	mrs(fake, SYSREG_TRBSR_EL1);
	isb(fake);
}

static void flushed_unsynchronized(struct fake *fake)
{
	on(fake);
	msr(fake, SYSREG_TRFCR_EL1, 0);
	tsb(fake);
	isb(fake);
	off(fake);
}

/* EN is 0, but what is executed until a CSE may be traced. */
static void disabled_unsynchronized(struct fake *fake)
{
	on(fake);
	msr(fake, TRCPRGCTLR, 0);
	tsb(fake);
	isb(fake);
	off(fake);
}

/* ... whether EN is in effect by then or not. */
static void prohibited_and_disabled_unsynchronized(struct fake *fake)
{
	on(fake);
	msr(fake, SYSREG_TRFCR_EL1, 0);
	msr(fake, TRCPRGCTLR, 0);
	tsb(fake);
	isb(fake);
	off(fake);
}

static void allowed_unsynchronized(struct fake *fake)
{
	on(fake);
	prohibit(fake);
	tsb(fake);
	dsb(fake);
	limitr(fake, 0, 1);
	isb(fake);
	limitr(fake, 1, 0);
	msr(fake, SYSREG_TRFCR_EL1, 3);
	isb(fake);
	off(fake);
}

static void tcr_changed(struct fake *fake)
{
	on(fake);
	set(fake, MACHINE_TCR_EL1, SYSREG_TCR_EL1, fake->sysregs[MACHINE_TCR_EL1] ^ 1 << 7);
	/* The same again is no change. */
	set(fake, MACHINE_TCR_EL1, SYSREG_TCR_EL1, fake->sysregs[MACHINE_TCR_EL1]);
	off(fake);
}

static void ttbr_changed(struct fake *fake)
{
	on(fake);
	set(fake, MACHINE_TTBR1_EL1, SYSREG_TTBR1_EL1, fake->sysregs[MACHINE_TTBR1_EL1] + 4096);
	off(fake);
}

static void mmu_off(struct fake *fake)
{
	on(fake);
	set(fake, MACHINE_SCTLR_EL1, SYSREG_SCTLR_EL1, 0);
	off(fake);
}

static void buffer_first(struct fake *fake)
{
	on(fake);
	limitr(fake, 0, 1);
	isb(fake);
	off(fake);
}

static void powered_off(struct fake *fake)
{
	on(fake);
	prohibit(fake);
	pe_power_off(&fake->pe);
}

static void unit_powered_off(struct fake *fake)
{
	unit_on(fake);
	pe_power_off(&fake->pe);
}

static void reserved_bit(struct fake *fake)
{
	msr(fake, SYSREG_TRBTRG_EL1, 1ULL << 40);
}

static void reserved_mode(struct fake *fake)
{
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT | 2 << 1);
	buffer_off(fake);
}

static void reserved_status(struct fake *fake)
{
	msr(fake, SYSREG_TRBSR_EL1, 1 << 19);
}

/* --- What may be --- */

static void orderly(struct fake *fake)
{
	for (unsigned int i = 0; i < 3; i++) {
		on(fake);
		off(fake);
		mrs(fake, SYSREG_TRBSR_EL1);
		mrs(fake, SYSREG_TRBPTR_EL1);
	}
}

/* coresight-trbe, update_buffer after etm4_disable: drained and disabled twice. */
static void drained_twice(struct fake *fake)
{
	orderly(fake);
	buffer_off(fake);
	limitr(fake, 0, ~0ULL);
	isb(fake);
	msr(fake, SYSREG_TRBPTR_EL1, 0);
	msr(fake, SYSREG_TRBBASER_EL1, 0);
	msr(fake, SYSREG_TRBSR_EL1, 0);
	mrs(fake, SYSREG_TRBPTR_EL1);
}

/* The handler of coresight-trbe: TRBSR is read first, while the buffer is enabled. */
static void handled(struct fake *fake)
{
	struct pe_exception interrupt = { .kind = PE_IRQ, .el = 1 };

	on(fake);
	work(fake, SIZE);
	pe_exception(&fake->pe, &interrupt);
	mrs(fake, SYSREG_TRBSR_EL1);
	prohibit(fake);
	buffer_off(fake);
	msr(fake, SYSREG_TRBSR_EL1, mrs(fake, SYSREG_TRBSR_EL1) & ~(uint64_t)SR_IRQ);
	isb(fake);
	mrs(fake, SYSREG_TRBPTR_EL1);
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT | 3 << 3);
	msr(fake, SYSREG_TRFCR_EL1, 3);
	isb(fake);
	pe_return(&fake->pe, 1);
	work(fake, 100);
	off(fake);
}

/* K10.5.10: only EL0 is traced, and the kernel is entered. */
static void context_switch(struct fake *fake)
{
	struct pe_exception call = { .kind = PE_SYNCHRONOUS, .el = 1 };

	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT | 3 << 3);
	msr(fake, SYSREG_TRFCR_EL1, 1);
	isb(fake);
	msr(fake, TRCPRGCTLR, 1);
	isb(fake);
	pe_return(&fake->pe, 0);
	work(fake, 1000);
	pe_exception(&fake->pe, &call);
	tsb(fake);
	msr(fake, TRCPRGCTLR, 0);
	limitr(fake, 0, 1);
	dsb(fake);
	isb(fake);
	mrs(fake, SYSREG_TRBSR_EL1);
	mrs(fake, SYSREG_TRBPTR_EL1);
}

/* K10.5.10, where trace is not prohibited: disabled first, then flushed. */
static void disabled_while_allowed(struct fake *fake)
{
	on(fake);
	msr(fake, TRCPRGCTLR, 0);
	isb(fake);
	tsb(fake);
	msr(fake, SYSREG_TRFCR_EL1, 0);
	limitr(fake, 0, 1);
	dsb(fake);
	isb(fake);
	mrs(fake, SYSREG_TRBSR_EL1);
	mrs(fake, SYSREG_TRBPTR_EL1);
}

/* Linux switches processes while a CPU is traced: the buffer's half is translated as before. */
static void other_half_changed(struct fake *fake)
{
	on(fake);
	set(fake, MACHINE_TTBR0_EL1, SYSREG_TTBR0_EL1, FAKE_RAM + 0x5000);
	set(fake, MACHINE_TTBR1_EL1, SYSREG_TTBR1_EL1,
	    fake->sysregs[MACHINE_TTBR1_EL1] | 5ULL << 48 | 1);
	set(fake, MACHINE_SCTLR_EL1, SYSREG_SCTLR_EL1, 1 | 1ULL << 31);
	off(fake);
	set(fake, MACHINE_TCR_EL1, SYSREG_TCR_EL1, fake->sysregs[MACHINE_TCR_EL1] ^ 1 << 7);
}

/* A pointer that nobody used is as it was written, with no barrier. */
static void nothing_collected(struct fake *fake)
{
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER + 64, LIMIT);
	limitr(fake, 0, 1);
	mrs(fake, SYSREG_TRBPTR_EL1);
	mrs(fake, SYSREG_TRBSR_EL1);
	isb(fake);
}

static void stopped_status_written(struct fake *fake)
{
	on(fake);
	work(fake, 2 * SIZE);
	prohibit(fake);
	tsb(fake);
	isb(fake);
	msr(fake, SYSREG_TRBSR_EL1, 0);
	isb(fake);
	off(fake);
}

/* coresight-trbe begins with clearing E of what the reset has left. */
static void reserved_mode_disabled(struct fake *fake)
{
	msr(fake, SYSREG_TRBLIMITR_EL1, LIMIT | 2 << 1 | 2 << 3);
}

static void tsb_with_nothing_prohibited(struct fake *fake)
{
	on(fake);
	tsb(fake);
	msr(fake, SYSREG_TRFCR_EL1, 3);
	tsb(fake);
	off(fake);
	msr(fake, SYSREG_TRFCR_EL1, 0);
	tsb(fake);
}

/* Trace is prohibited at EL1 all the time. */
static void user_only(struct fake *fake)
{
	struct pe_exception call = { .kind = PE_SYNCHRONOUS, .el = 1 };

	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT | 3 << 3);
	msr(fake, SYSREG_TRFCR_EL1, 1);
	msr(fake, TRCPRGCTLR, 1);
	isb(fake);
	pe_return(&fake->pe, 0);
	work(fake, 1000);
	pe_exception(&fake->pe, &call);
	msr(fake, SYSREG_TRFCR_EL1, 0);
	tsb(fake);
	isb(fake);
	off(fake);
}

static void powered_off_idle(struct fake *fake)
{
	on(fake);
	off(fake);
	pe_power_off(&fake->pe);
}

#define CASE(f, v) { #f, f, v }

static const struct {
	const char *name;
	void (*run)(struct fake *fake);
	unsigned int expected;
} cases[] = {
	CASE(pointer_written, VIOLATION_PTR_WRITTEN),
	CASE(pointer_written_early, VIOLATION_PTR_WRITTEN),
	CASE(base_written, VIOLATION_BASE_WRITTEN),
	CASE(limit_written, VIOLATION_LIMIT_WRITTEN),
	CASE(mode_written, VIOLATION_LIMIT_WRITTEN),
	CASE(trigger_written, VIOLATION_TRG_WRITTEN),
	CASE(status_written, VIOLATION_SR_WRITTEN),
	CASE(enabled_unsynchronized, VIOLATION_ENABLE_UNSYNCHRONIZED),
	CASE(enabled_stopped, VIOLATION_ENABLE_STOPPED),
	CASE(enabled_with_interrupt, VIOLATION_ENABLE_STOPPED),
	CASE(misaligned, VIOLATION_PTR_MISALIGNED),
	CASE(outside, VIOLATION_PTR_OUTSIDE),
	CASE(below, VIOLATION_PTR_OUTSIDE),
	CASE(disabled_unflushed, VIOLATION_DISABLE_UNFLUSHED),
	CASE(disabled_with_unit_full, VIOLATION_DISABLE_UNFLUSHED),
	CASE(read_undrained, VIOLATION_READ_UNDRAINED),
	CASE(read_before_it_comes, VIOLATION_READ_UNDRAINED),
	CASE(status_before_dsb, VIOLATION_READ_UNDRAINED),
	CASE(read_unsynchronized, VIOLATION_READ_UNSYNCHRONIZED),
	CASE(read_after_tsb, VIOLATION_READ_UNSYNCHRONIZED),
	CASE(status_after_dsb, VIOLATION_READ_UNSYNCHRONIZED),
	CASE(flushed_unsynchronized, VIOLATION_TSB_UNSYNCHRONIZED),
	CASE(disabled_unsynchronized, VIOLATION_TSB_UNSYNCHRONIZED),
	CASE(prohibited_and_disabled_unsynchronized, VIOLATION_TSB_UNSYNCHRONIZED),
	CASE(allowed_unsynchronized, VIOLATION_ALLOWED_EARLY),
	CASE(tcr_changed, VIOLATION_REGIME_CHANGED),
	CASE(ttbr_changed, VIOLATION_REGIME_CHANGED),
	CASE(mmu_off, VIOLATION_REGIME_CHANGED),
	CASE(buffer_first, VIOLATION_BUFFER_BEFORE_UNIT),
	CASE(powered_off, VIOLATION_POWERED_OFF),
	CASE(unit_powered_off, VIOLATION_POWERED_OFF),
	CASE(reserved_bit, VIOLATION_UNALLOCATED),
	CASE(reserved_mode, VIOLATION_UNALLOCATED),
	CASE(reserved_status, VIOLATION_UNALLOCATED),
	CASE(orderly, NONE),
	CASE(drained_twice, NONE),
	CASE(handled, NONE),
	CASE(context_switch, NONE),
	CASE(disabled_while_allowed, NONE),
	CASE(other_half_changed, NONE),
	CASE(nothing_collected, NONE),
	CASE(stopped_status_written, NONE),
	CASE(tsb_with_nothing_prohibited, NONE),
	CASE(reserved_mode_disabled, NONE),
	CASE(user_only, NONE),
	CASE(powered_off_idle, NONE),
};

#define CASES	(sizeof(cases) / sizeof(cases[0]))

/* Exactly the expected one, once; 0 or how many are wrong. */
static unsigned int judge(struct fake *fake, const char *name, unsigned int expected, uint64_t seed)
{
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < VIOLATIONS; i++) {
		unsigned int found = fake->pe.adversary.violations[i];

		if (found == (i == expected))
			continue;
		wrong++;
		printf("# %s, seed %llu: %s %u times\n", name, (unsigned long long)seed,
		       violation_word(i), found);
	}
	if (!fake_consistent(fake))
		printf("# %s, seed %llu: the log is not the stream\n", name,
		       (unsigned long long)seed);
	return wrong + !fake_consistent(fake);
}

static unsigned int run(uint32_t what, uint64_t seed, bool prompt)
{
	struct adversary_options options = { .seed = seed, .what = what };
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < CASES; i++) {
		struct fake *fake = fake_new(NULL, &options, NULL);

		fake->prompt = prompt;
		fake_paging(fake);
		fake_map(fake, FAKE_BUFFER, 2);
		isb(fake);
		cases[i].run(fake);
		wrong += judge(fake, cases[i].name, cases[i].expected, seed);
		fake_free(fake);
	}
	return wrong;
}

TEST(without_an_adversary)
{
	EXPECT_EQ(run(0, 1, false), 0);
	EXPECT_EQ(run(0, 1, true), 0);
}

/* For what may take longer than the harness gives a test. */
FIXTURE(slow) { int none; };
FIXTURE_SETUP(slow) {}
FIXTURE_TEARDOWN(slow) {}

/* Not those that stop the buffer by chance: then some of the cases are no violation. */
TEST_F_TIMEOUT(slow, with_an_adversary, 1500)
{
	const uint32_t what = ADVERSARY(DELAY) | ADVERSARY(WITHHOLD) | ADVERSARY(LATE) |
			      ADVERSARY(EARLY) | ADVERSARY(SPURIOUS);

	/* Each violation is told there. */
	ASSERT_NE(freopen("/dev/null", "w", stderr), NULL);
	for (uint64_t seed = 1; seed <= 60; seed++)
		ASSERT_EQ(run(what, seed, seed & 1), 0);
}

TEST_HARNESS_MAIN
