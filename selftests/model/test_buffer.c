// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shows that the trace buffer stores, wraps, counts and stops as each mode says, at every edge;
 * held against a simulation of a byte at a time.
 */
#include <string.h>

#include "fake.h"
#include "support/kselftest_harness.h"

/* For what may take longer than the harness gives a test. */
FIXTURE(slow) { int none; };
FIXTURE_SETUP(slow) {}
FIXTURE_TEARDOWN(slow) {}

#define PAGES	2U
#define SIZE	(PAGES * 4096U)
#define LIMIT	(FAKE_BUFFER + SIZE)

enum { FILL = 0 << 1, WRAP = 1 << 1, CIRCULAR = 3 << 1 };
enum { STOP = 0 << 3, IRQ = 1 << 3, NOTHING = 3 << 3 };
enum { SR_IRQ = 1 << 22, SR_TRG = 1 << 21, SR_WRAP = 1 << 20, SR_EA = 1 << 18, SR_S = 1 << 17 };

/* --- A byte at a time --- */

struct simulation {
	unsigned int mode, trigger, alignment;
	uint64_t counter, status, at;	/* at: offset in the buffer */
	uint8_t memory[SIZE];
	uint8_t held[4096];
	unsigned int nheld;
	uint64_t stored, lost;
	unsigned int wraps, triggers;
	bool stopping;
};

static void simulate_trigger(struct simulation *s)
{
	s->triggers++;
	if (s->trigger == IRQ)
		s->status |= SR_IRQ;
	s->stopping |= s->trigger == STOP;
}

static void simulate_byte(struct simulation *s, uint8_t byte)
{
	if (s->status & SR_S) {
		s->lost++;
		return;
	}
	s->memory[s->at++] = byte;
	s->stored++;
	if (s->status & SR_TRG && s->counter && !--s->counter)
		simulate_trigger(s);
	if (s->at < SIZE)
		return;
	s->at = 0;
	s->wraps++;
	s->status |= SR_WRAP;
	if (s->mode == FILL)
		s->status = (s->status & ~0xffffULL) | SR_S | SR_IRQ | 1;
	else if (s->mode == WRAP)
		s->status |= SR_IRQ;
}

static void simulate_drain(struct simulation *s)
{
	unsigned int n = s->nheld - s->nheld % s->alignment;

	for (unsigned int i = 0; i < n; i++)
		simulate_byte(s, s->held[i]);
	s->nheld -= n;
	memmove(s->held, s->held + n, s->nheld);
	if (s->status & SR_S) {
		s->lost += s->nheld;
		s->nheld = 0;
	}
}

static void simulate_flush(struct simulation *s)
{
	while (!(s->status & SR_S) && s->nheld % s->alignment)
		s->held[s->nheld++] = 0x70;
	simulate_drain(s);
}

static void simulate(struct simulation *s, const uint8_t *bytes, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		s->held[s->nheld++] = bytes[i];
	simulate_drain(s);
	if (s->stopping) {
		s->stopping = false;
		simulate_flush(s);
		if (!(s->status & SR_S))
			s->status = (s->status & ~0xffffULL) | SR_S | SR_IRQ | 2;
	}
}

/* --- One run of both --- */

struct run {
	unsigned int align, mode, trigger;
	uint64_t at, n;
	int64_t counter;	/* TRBTRG, -1: no trigger */
	int64_t detected;	/* a Detected Trigger after so many bytes, -1: TRBSR.TRG written */
};

static struct fake *machine(unsigned int align)
{
	struct trace_buffer_options options = trace_buffer_defaults;
	struct fake *fake;

	options.align = align;
	fake = fake_new(&options, NULL, NULL);
	fake_paging(fake);
	fake_map(fake, FAKE_BUFFER, PAGES);
	return fake;
}

/* The first difference, NULL if there is none. */
static const char *compare(struct fake *fake, const struct simulation *s)
{
	const struct trace_buffer *buffer = &fake->pe.buffer;

	if (!fake_consistent(fake))
		return "the log is not the stream";
	if (buffer->stored != s->stored || buffer->lost != s->lost)
		return "stored, lost";
	if (mrs(fake, SYSREG_TRBPTR_EL1) != FAKE_BUFFER + s->at)
		return "TRBPTR";
	if (mrs(fake, SYSREG_TRBSR_EL1) != s->status)
		return "TRBSR";
	if (mrs(fake, SYSREG_TRBTRG_EL1) != s->counter)
		return "TRBTRG";
	if (fake->level != !!(s->status & SR_IRQ))
		return "interrupt";
	if (fake->wraps != s->wraps || fake->triggers != s->triggers)
		return "events";
	for (unsigned int i = 0; i < PAGES; i++) {
		if (memcmp(fake_at(fake, FAKE_BUFFER + 4096 * i), s->memory + 4096 * i, 4096))
			return "memory";
	}
	return fake_violations(fake) ? "violations" : NULL;
}

static void start(struct fake *fake, const struct run *run, struct simulation *s)
{
	*s = (struct simulation){ .mode = run->mode, .trigger = run->trigger,
				  .alignment = 1U << run->align, .at = run->at };
	if (run->counter >= 0) {
		s->counter = run->counter;
		s->status = run->detected < 0 ? SR_TRG : 0;
	}
	msr(fake, SYSREG_TRBTRG_EL1, s->counter);
	msr(fake, SYSREG_TRBSR_EL1, s->status);
	msr(fake, SYSREG_TRBBASER_EL1, FAKE_BUFFER);
	msr(fake, SYSREG_TRBPTR_EL1, FAKE_BUFFER + run->at);
	isb(fake);
	msr(fake, SYSREG_TRBLIMITR_EL1, LIMIT | run->trigger | run->mode | 1);
	isb(fake);
}

static const char *both(const struct run *run)
{
	struct fake *fake = machine(run->align);
	struct simulation s;
	uint64_t done = 0, from;
	const char *wrong;

	start(fake, run, &s);
	while (done < run->n) {
		unsigned int piece = 1 + rng_below(&fake->rng, 200);

		if (piece > run->n - done)
			piece = run->n - done;
		if (run->detected >= 0 && done < (uint64_t)run->detected &&
		    done + piece > (uint64_t)run->detected)
			piece = run->detected - done;
		if (run->counter >= 0 && done == (uint64_t)run->detected &&
		    !(s.status & (SR_TRG | SR_S))) {
			trace_buffer_trigger(&fake->pe.buffer);
			s.status |= SR_TRG;
			if (!s.counter)
				simulate_trigger(&s);
			trace_buffer_update(&fake->pe.buffer, false);
			simulate(&s, NULL, 0);
		}
		from = fake->pe.buffer.accepted;
		feed(fake, piece);
		trace_buffer_update(&fake->pe.buffer, false);
		simulate(&s, fake->stream + from, piece);
		done += piece;
	}
	tsb(fake);
	dsb(fake);
	isb(fake);
	simulate_flush(&s);
	wrong = compare(fake, &s);
	if (wrong)
		printf("# %s: align %u mode %u trigger %u at %llu n %llu counter %lld "
		       "detected %lld\n",
		       wrong, run->align, run->mode, run->trigger, (unsigned long long)run->at,
		       (unsigned long long)run->n, (long long)run->counter,
		       (long long)run->detected);
	fake_free(fake);
	return wrong;
}

static const unsigned int aligns[] = { 0, 3, 6, 11 };

TEST_F_TIMEOUT(slow, modes_at_every_edge, 1500)
{
	static const unsigned int modes[] = { FILL, WRAP, CIRCULAR };
	static const int ends[] = { -65, -64, -63, -1, 0, 1, 63, 64, 65, 4096, SIZE, SIZE + 1 };

	for (unsigned int m = 0; m < 3; m++) {
		for (unsigned int a = 0; a < 4; a++) {
			for (unsigned int at = 0; at < SIZE; at += 2048) {
				for (unsigned int e = 0; e < sizeof(ends) / sizeof(*ends); e++) {
					struct run run = { aligns[a], modes[m], NOTHING, at,
							   SIZE - at + ends[e], -1, -1 };
					ASSERT_STREQ(both(&run) ?: "", "");
				}
			}
		}
	}
}

TEST_F_TIMEOUT(slow, little_trace_is_filled_up, 1500)
{
	for (unsigned int a = 0; a < 4; a++) {
		for (unsigned int n = 0; n < 130; n++) {
			struct run run = { aligns[a], FILL, NOTHING, 0, n, -1, -1 };

			ASSERT_STREQ(both(&run) ?: "", "");
		}
	}
}

/* K10.5.11, second way, and by the trace unit; at the limit, too. */
TEST_F_TIMEOUT(slow, trigger_counter, 1500)
{
	static const unsigned int modes[] = { FILL, WRAP, CIRCULAR };
	static const unsigned int triggers[] = { STOP, IRQ, NOTHING };
	static const int counters[] = { 0, 64, 128, 4096, SIZE - 64, SIZE, SIZE + 64 };
	static const int detected[] = { -1, 0, 1, 64, 100, SIZE - 64 };

	for (unsigned int i = 0; i < 3 * 3 * 7 * 6; i++) {
		struct run run = { i % 2 ? 6 : 0, modes[i % 3], triggers[i / 3 % 3], 0, SIZE + 300,
				   counters[i / 9 % 7], detected[i / 63] };

		ASSERT_STREQ(both(&run) ?: "", "");
		run.n = 5000;
		run.at = 2048;
		ASSERT_STREQ(both(&run) ?: "", "");
	}
}

TEST_F_TIMEOUT(slow, every_counter_around_the_alignment, 1500)
{
	for (unsigned int c = 0; c < 200; c++) {
		struct run run = { 0, CIRCULAR, IRQ, 0, 199, c, c % 3 ? -1 : 5 };

		ASSERT_STREQ(both(&run) ?: "", "");
	}
}

/* A counter that is no multiple of the alignment ends with the unit of writing it ends in. */
TEST(counter_not_aligned)
{
	struct fake *fake = machine(6);

	msr(fake, SYSREG_TRBTRG_EL1, 100);
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT | IRQ | CIRCULAR);
	trace_buffer_trigger(&fake->pe.buffer);
	feed(fake, 64);
	EXPECT_EQ(fake->level, false);
	feed(fake, 64);
	EXPECT_EQ(fake->level, true);
	isb(fake);
	EXPECT_EQ(mrs(fake, SYSREG_TRBTRG_EL1), 0);
	fake_free(fake);
}

TEST(second_trigger_counts_for_nothing)
{
	struct fake *fake = machine(6);

	msr(fake, SYSREG_TRBTRG_EL1, 0);
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT | IRQ | CIRCULAR);
	for (unsigned int i = 0; i < 3; i++) {
		feed(fake, 64);
		trace_buffer_trigger(&fake->pe.buffer);
		trace_buffer_update(&fake->pe.buffer, false);
	}
	EXPECT_EQ(fake->triggers, 1);
	fake_free(fake);
}

/* Limits and pointers that make no sense do nothing bad, and collect nothing. */
TEST_F_TIMEOUT(slow, limit_at_or_below_base, 1500)
{
	static const uint64_t limits[] = { 0, FAKE_BUFFER - 4096, FAKE_BUFFER, ~0xfffULL };
	static const uint64_t pointers[] = { 0, FAKE_BUFFER - 64, FAKE_BUFFER, LIMIT, LIMIT - 64,
					     ~0ULL, ~63ULL };
	static const unsigned int modes[] = { FILL, WRAP, CIRCULAR, 2 << 1 };

	for (unsigned int i = 0; i < 4 * 7 * 4; i++) {
		struct fake *fake = machine(6);

		fake->pe.adversary.violations[VIOLATION_PTR_OUTSIDE] = 3;	/* quiet */
		fake->pe.adversary.violations[VIOLATION_PTR_MISALIGNED] = 3;
		fake->pe.adversary.violations[VIOLATION_UNALLOCATED] = 3;
		buffer_on(fake, FAKE_BUFFER, pointers[i / 4 % 7], limits[i % 4] | modes[i / 28]);
		feed(fake, 3 * SIZE);
		tsb(fake);
		dsb(fake);
		isb(fake);
		EXPECT_TRUE(fake_consistent(fake));
		if (limits[i % 4] <= FAKE_BUFFER) {
			EXPECT_EQ(fake->pe.buffer.stored, 0);
			EXPECT_EQ(mrs(fake, SYSREG_TRBPTR_EL1), FAKE_BUFFER);
			EXPECT_TRUE(mrs(fake, SYSREG_TRBSR_EL1) & SR_S);
		}
		fake_free(fake);
	}
}

TEST(disabled_or_stopped_discards)
{
	struct fake *fake = machine(6);

	feed(fake, 100);
	EXPECT_EQ(fake->losses[LOG_LOSS_DISABLED], 100);
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT | FILL | NOTHING);
	feed(fake, SIZE + 100);
	EXPECT_EQ(fake->losses[LOG_LOSS_STOPPED], 100);
	EXPECT_EQ(fake->last.offset + fake->last.bytes, 200 + SIZE);
	EXPECT_TRUE(fake_consistent(fake));
	fake_free(fake);
}

/* The level is TRBSR.IRQ: written as 0 it falls, and rises again with the next event only. */
TEST(interrupt_is_a_level)
{
	struct fake *fake = machine(6);

	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT | WRAP | NOTHING);
	feed(fake, SIZE);
	EXPECT_TRUE(fake->level);
	buffer_off(fake);
	EXPECT_TRUE(fake->level);
	msr(fake, SYSREG_TRBSR_EL1, mrs(fake, SYSREG_TRBSR_EL1) & ~(uint64_t)SR_IRQ);
	EXPECT_FALSE(fake->level);
	msr(fake, SYSREG_TRBSR_EL1, SR_IRQ);
	EXPECT_TRUE(fake->level);
	EXPECT_EQ(fake->raised, 2);
	fake_free(fake);
}

/* What a sequence has written is what MRS gives at once; RES0 bits are 0. */
TEST(registers_read_as_written)
{
	static const struct { uint32_t reg; uint64_t bits; } registers[] = {
		{ SYSREG_TRBLIMITR_EL1, ~0xfc1ULL }, { SYSREG_TRBPTR_EL1, ~0ULL },
		{ SYSREG_TRBBASER_EL1, ~0xfffULL }, { SYSREG_TRBSR_EL1, 0x00fffffffc36ffffULL },
		{ SYSREG_TRBMAR_EL1, 0x3ff }, { SYSREG_TRBTRG_EL1, 0xffffffff },
	};
	struct fake *fake = machine(6);

	fake->pe.adversary.violations[VIOLATION_UNALLOCATED] = 3;
	for (unsigned int i = 0; i < 6; i++) {
		msr(fake, registers[i].reg, i == 3 ? ~(uint64_t)SR_IRQ : i ? ~0ULL : ~1ULL);
		EXPECT_EQ(mrs(fake, registers[i].reg), registers[i].bits);
		EXPECT_EQ(fake->logged[0], registers[i].reg);
		EXPECT_EQ(fake->logged[1], registers[i].bits);
		msr(fake, registers[i].reg, 0);
		EXPECT_EQ(mrs(fake, registers[i].reg), 0);
	}
	EXPECT_EQ(mrs(fake, SYSREG_TRBIDR_EL1), 6);
	EXPECT_FALSE(pe_write(&fake->pe, SYSREG_TRBIDR_EL1, 0, 0));
	fake->pe.el = 0;
	EXPECT_FALSE(pe_write(&fake->pe, SYSREG_TRBPTR_EL1, 0, 0));
	fake_free(fake);
}

TEST(identity)
{
	struct trace_buffer_options options = { 2, 11, true, true, 1, 0 };
	struct pe_config config = { .el2 = true, .midr = 0x410fd493 };
	struct fake *fake = fake_new(&options, NULL, &config);
	uint64_t value = 0x1122334455667788;

	fake->sysregs[MACHINE_MIDR_EL1] = 0x1234;
	EXPECT_TRUE(pe_read(&fake->pe, SYSREG_ID_AA64DFR0_EL1, 0, &value));
	EXPECT_EQ(value, 0x1122214455667718);
	value = 0x1234;
	EXPECT_TRUE(pe_read(&fake->pe, SYSREG_MIDR_EL1, 0, &value));
	EXPECT_EQ(value, 0x410fd493);
	EXPECT_EQ(mrs(fake, SYSREG_TRBIDR_EL1), 0x12b);
	/* MDCR_EL2.E2TB: EL2 owns the buffer, and EL1 is to know. */
	fake->pe.el = 1;
	EXPECT_EQ(mrs(fake, SYSREG_TRBIDR_EL1), 0x13b);
	EXPECT_FALSE(pe_read(&fake->pe, SYSREG_TRBPTR_EL1, 0, &value));
	fake->pe.mdcr_el2 = 3 << 24;
	EXPECT_EQ(mrs(fake, SYSREG_TRBIDR_EL1), 0x12b);
	EXPECT_TRUE(pe_read(&fake->pe, SYSREG_TRBPTR_EL1, 0, &value));
	/* 0b10: it is EL1's, and EL2 has its accesses trapped. */
	fake->pe.mdcr_el2 = 2 << 24;
	EXPECT_EQ(mrs(fake, SYSREG_TRBIDR_EL1), 0x12b);
	EXPECT_FALSE(pe_read(&fake->pe, SYSREG_TRBPTR_EL1, 0, &value));
	EXPECT_FALSE(pe_write(&fake->pe, SYSREG_TRBPTR_EL1, 0, 0));
	/* VPIDR_EL2 is what EL2 made of it. */
	value = 0x1235;
	EXPECT_TRUE(pe_read(&fake->pe, SYSREG_MIDR_EL1, 0, &value));
	EXPECT_EQ(value, 0x1235);
	fake_free(fake);
}

/* A higher exception level keeps the buffer to itself: TRBIDR_EL1 can be read, and nothing else. */
TEST(not_programmable)
{
	struct trace_buffer_options options = trace_buffer_defaults;
	struct fake *fake;
	uint64_t value;

	options.programmable = false;
	fake = fake_new(&options, NULL, NULL);
	EXPECT_EQ(mrs(fake, SYSREG_TRBIDR_EL1), 0x16);
	EXPECT_FALSE(pe_read(&fake->pe, SYSREG_TRBLIMITR_EL1, 0, &value));
	EXPECT_FALSE(pe_write(&fake->pe, SYSREG_TRBLIMITR_EL1, 0, 1));
	EXPECT_FALSE(trace_buffer_enabled(&fake->pe.buffer));
	fake_free(fake);
}

/* An address where no memory is. TRBIDR_EL1.EA says whether anybody is told. */
TEST(external_abort)
{
	for (unsigned int ignored = 0; ignored < 2; ignored++) {
		struct trace_buffer_options options = trace_buffer_defaults;
		const uint64_t nowhere = 1ULL << 40;
		struct fake *fake;

		options.external_abort = ignored;
		fake = fake_new(&options, NULL, NULL);
		buffer_on(fake, nowhere, nowhere, (nowhere + SIZE) | NOTHING | FILL);
		feed(fake, 128);
		feed(fake, 64);
		dsb(fake);
		isb(fake);
		EXPECT_EQ(mrs(fake, SYSREG_TRBSR_EL1), ignored ? 0 : SR_EA | SR_S | SR_IRQ);
		EXPECT_EQ(fake->level, !ignored);
		/* Where it is told, nothing more is written. */
		EXPECT_EQ(mrs(fake, SYSREG_TRBPTR_EL1), nowhere + (ignored ? 192 : 128));
		EXPECT_EQ(fake->pe.buffer.stored, 0);
		EXPECT_EQ(fake->losses[LOG_LOSS_FAULT], 192);
		EXPECT_TRUE(fake_consistent(fake));
		fake_free(fake);
	}
}

/* TRBPTR_EL1[M-1:0] reads as written, and is 0 for the hardware. */
TEST(pointer_not_aligned)
{
	struct fake *fake = machine(6);

	fake->pe.adversary.violations[VIOLATION_PTR_MISALIGNED] = 3;
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER + 64 + 9, LIMIT | NOTHING | FILL);
	EXPECT_EQ(mrs(fake, SYSREG_TRBPTR_EL1), FAKE_BUFFER + 64 + 9);
	feed(fake, 64);
	isb(fake);
	EXPECT_EQ(memcmp(fake_at(fake, FAKE_BUFFER + 64), fake->stream, 64), 0);
	EXPECT_EQ(mrs(fake, SYSREG_TRBPTR_EL1), FAKE_BUFFER + 128);
	fake_free(fake);
}

/* "The PE might ignore a direct write" of some registers with E 1: it does, and it does not. */
TEST(writes_while_enabled_may_be_ignored)
{
	static const uint32_t registers[] = { SYSREG_TRBPTR_EL1, SYSREG_TRBBASER_EL1,
					      SYSREG_TRBTRG_EL1 };
	struct fake *fake = machine(6);
	unsigned int taken[3] = { 0 };

	for (unsigned int i = 0; i < VIOLATIONS; i++)
		fake->pe.adversary.violations[i] = 3;
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT | NOTHING | FILL);
	for (uint64_t i = 1; i <= 100; i++)
		for (unsigned int r = 0; r < 3; r++) {
			msr(fake, registers[r], FAKE_BUFFER + 4096 * i);
			taken[r] += mrs(fake, registers[r]) ==
				    ((FAKE_BUFFER + 4096 * i) & (r == 2 ? UINT32_MAX : ~0ULL));
		}
	for (unsigned int r = 0; r < 3; r++) {
		EXPECT_GT(taken[r], 10) TH_LOG("register %u", r);
		EXPECT_LT(taken[r], 90) TH_LOG("register %u", r);
	}
	fake_free(fake);
}

/* A buffer that collects nothing detects no trigger. */
TEST(trigger_while_nothing_is_collected)
{
	struct fake *fake = machine(6);

	trace_buffer_trigger(&fake->pe.buffer);
	EXPECT_EQ(mrs(fake, SYSREG_TRBSR_EL1), 0);
	msr(fake, SYSREG_TRBTRG_EL1, 0);
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT | IRQ | FILL);
	feed(fake, SIZE);
	trace_buffer_trigger(&fake->pe.buffer);
	isb(fake);
	EXPECT_EQ(mrs(fake, SYSREG_TRBSR_EL1), SR_WRAP | SR_S | SR_IRQ | 1);
	trace_buffer_update(&fake->pe.buffer, false);
	EXPECT_EQ(fake->triggers, 0);
	fake_free(fake);
}

/* Bytes that are on their way when the trigger comes were sent before it: they do not count. */
TEST(trigger_counts_what_comes_after_it)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct adversary_options adversary = { .seed = seed, .what = ADVERSARY(WITHHOLD) };
		struct fake *fake = fake_new(NULL, &adversary, NULL);

		fake_paging(fake);
		fake_map(fake, FAKE_BUFFER, PAGES);
		msr(fake, SYSREG_TRBTRG_EL1, 4096);
		buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT | IRQ | FILL);
		feed(fake, 1280);
		EXPECT_NE(fake->pe.buffer.nheld, 0);
		trace_buffer_trigger(&fake->pe.buffer);
		feed(fake, 640);
		tsb(fake);
		isb(fake);
		EXPECT_EQ(mrs(fake, SYSREG_TRBTRG_EL1), 4096 - 640);
		fake_free(fake);
	}
}

TEST_HARNESS_MAIN
