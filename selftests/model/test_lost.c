// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shows that trace which a reset or a disabled trace unit takes away is told as lost: the log stays
 * one that can be read, and both decoders' trace of before and after it is what was executed.
 */
#include <unistd.h>

#include "decoders.h"
#include "pe.h"
#include "support/kselftest_harness.h"
#include "sysreg.h"

#define CODE	0x40000
#define LENGTH	3	/* instructions of the loop, the last of which branches to the first */
#define BUFFER	0x100000
#define SIZE	0x10000
#define LIMITR_NVM	(1U << 5)

FIXTURE(lost)
{
	char directory[32];
	char prefix[40];
	struct machine machine;
	struct log_set *set;
	struct pe pe;
	uint32_t code;
};

static bool no_memory(void *opaque, unsigned int cpu, uint64_t physical, void *bytes, size_t n)
{
	return false;
}

static bool any_memory(void *opaque, unsigned int cpu, uint64_t physical, const void *bytes,
		       size_t n)
{
	return true;
}

static uint64_t no_sysreg(void *opaque, unsigned int cpu, enum machine_register which)
{
	return 0;
}

static void no_interrupt(void *opaque, unsigned int cpu, bool level) {}

static uint64_t counter(void *opaque, unsigned int cpu)
{
	return 1000;
}

FIXTURE_SETUP(lost)
{
	/* NOP, NOP, B.NE to the first */
	static const uint32_t opcodes[LENGTH] = { 0xd503201f, 0xd503201f, 0x54ffffc1 };
	static const struct pe_config config = { .frequency = 1000000000,
						 .unit = &trace_unit_defaults };

	memset(self, 0, sizeof(*self));
	strcpy(self->directory, "/tmp/test_lost.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->directory));
	snprintf(self->prefix, sizeof(self->prefix), "%s/log", self->directory);
	self->set = log_open(self->prefix);
	ASSERT_NE(NULL, self->set);
	self->code = log_code(self->set, CODE, opcodes, LENGTH);
	self->machine = (struct machine){ self, no_memory, any_memory, no_sysreg, no_interrupt,
					  counter };
	ASSERT_EQ(0, pe_init(&self->pe, &config, &self->machine, self->set));
}

FIXTURE_TEARDOWN(lost)
{
	static const char *const suffixes[] = { "code", "report", "0" };
	char path[64];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s.%s", self->prefix, suffixes[i]);
		unlink(path);
	}
	rmdir(self->directory);
}

static void msr(struct pe *pe, uint32_t reg, uint64_t value)
{
	pe_write(pe, reg, 0, value);
}

/* The buffer's addresses are physical ones. */
static void start(struct pe *pe)
{
	pe_state(pe, false, false, false);
	msr(pe, SYSREG_TRBSR_EL1, 0);
	msr(pe, SYSREG_TRBBASER_EL1, BUFFER);
	msr(pe, SYSREG_TRBPTR_EL1, BUFFER);
	pe_isb(pe, 0);
	msr(pe, SYSREG_TRBLIMITR_EL1, (BUFFER + SIZE) | LIMITR_NVM | 1);
	msr(pe, SYSREG_TRACE(0x010), 1 | 1 << 11);	/* TRCCONFIGR.TS */
	msr(pe, SYSREG_TRACE(0x028), 0);
	msr(pe, SYSREG_TRACE(0x040), 1);
	msr(pe, SYSREG_TRACE(0x080), 0x201);
	pe_isb(pe, 0);
	msr(pe, SYSREG_TRACE(0x004), 1);
	msr(pe, SYSREG_TRFCR_EL1, 3);
	pe_isb(pe, 0);
}

static void disable_unit(struct pe *pe)
{
	uint64_t value;

	msr(pe, SYSREG_TRACE(0x004), 0);
	pe_isb(pe, 0);
	pe_read(pe, SYSREG_TRACE(0x00c), 0, &value);
}

static void flush(struct pe *pe)
{
	pe_tsb_csync(pe, 0);
	pe_dsb(pe, 0);
	pe_isb(pe, 0);
}

/* early: the unit is disabled before TSB CSYNC, not after it. */
static void stop(struct pe *pe, bool early)
{
	msr(pe, SYSREG_TRFCR_EL1, 0);
	pe_isb(pe, 0);
	if (early)
		disable_unit(pe);
	flush(pe);
	if (!early)
		disable_unit(pe);
	msr(pe, SYSREG_TRBLIMITR_EL1, 0);
	pe_isb(pe, 0);
}

static void execute(struct pe *pe, uint32_t code, unsigned int n)
{
	struct pe_block block = { .address = CODE, .n = LENGTH, .branch = PE_DIRECT, .taken = true,
				  .conditional = true, .next = CODE, .code = code };

	while (n--)
		pe_block(pe, &block);
}

/* What was stored is what was executed, by each decoder; how many instructions of it. */
static uint64_t decoded(struct __test_metadata *_metadata, const struct history *history)
{
	static const struct decoder *const decoders[] = { &decoder_flowtap, &decoder_opencsd };
	static struct judge judge;
	struct align_piece *pieces = calloc(history->nstored + 1, sizeof(*pieces));
	struct alignment alignment;
	uint64_t instructions = 0;

	for (size_t i = 0; i < history->nstored; i++)
		pieces[i] = (struct align_piece){ history->stored[i].bytes, history->stored[i].n,
						  false };
	EXPECT_EQ(0, align(&alignment, history, pieces, history->nstored));
	for (unsigned int i = 0; i < 2; i++) {
		EXPECT_EQ(0, decode(decoders[i], history, &alignment, false, &judge, NULL));
		EXPECT_FALSE(judge.failed) {
			TH_LOG("%s: %s", decoders[i]->name, judge.message);
		}
		EXPECT_TRUE(!i || judge.counts.instructions == instructions);
		instructions = judge.counts.instructions;
	}
	align_free(&alignment);
	free(pieces);
	return instructions;
}

/* Ends the log; so many instructions of it were decoded. */
static uint64_t compare(struct __test_metadata *_metadata, FIXTURE_DATA(lost) *self)
{
	struct history history;
	uint64_t lost = 0, instructions;

	pe_free(&self->pe);
	EXPECT_EQ(0, log_close(self->set));
	EXPECT_EQ(0, history_read(&history, self->prefix, 0, NULL)) {
		TH_LOG("%s", history.error);
	}
	EXPECT_EQ(2, history.nsyncs);
	EXPECT_EQ(0, history.violations);
	for (size_t i = 0; i < history.nlost; i++)
		lost += history.lost[i].n;
	EXPECT_EQ(self->pe.buffer.lost, lost);
	instructions = decoded(_metadata, &history);
	history_free(&history);
	log_unmap(&history.code_file);
	log_unmap(&history.pe_file);
	return instructions;
}

static void across(struct __test_metadata *_metadata, FIXTURE_DATA(lost) *self, unsigned int before)
{
	start(&self->pe);
	execute(&self->pe, self->code, before);
	pe_reset(&self->pe);
	EXPECT_EQ(self->pe.buffer.accepted, self->pe.buffer.stored + self->pe.buffer.lost);
	EXPECT_LT(0, self->pe.buffer.lost);
	start(&self->pe);
	execute(&self->pe, self->code, 1);
	stop(&self->pe, false);
	EXPECT_LE(LENGTH, compare(_metadata, self));
}

TEST_F(lost, at_a_reset_of_a_unit_that_has_sent_nothing)
{
	across(_metadata, self, 1);
}

/* The buffer has some of it in memory, and holds what is short of a multiple of its alignment. */
TEST_F(lost, at_a_reset_of_a_unit_and_a_buffer_that_hold_some)
{
	across(_metadata, self, 4000);
}

/* What one session discards is missing in the midst of the stream: the next one's follows it. */
TEST_F(lost, at_the_disabling_of_a_unit_without_tsb_csync)
{
	for (unsigned int tsb = 0; tsb < 2; tsb++) {
		uint64_t before = self->pe.buffer.lost;

		/* Not from the reset on, which would leave UNKNOWN values in the registers. */
		self->pe.adversary.options.what = ADVERSARY(WITHHOLD);
		self->pe.adversary.options.rate = 1;
		start(&self->pe);
		execute(&self->pe, self->code, 4000);
		stop(&self->pe, !tsb);
		EXPECT_EQ(!tsb, self->pe.buffer.lost > before);
		EXPECT_EQ(self->pe.buffer.accepted, self->pe.buffer.stored + self->pe.buffer.lost);
	}
	EXPECT_LE(4000 * LENGTH, compare(_metadata, self));
}

TEST_HARNESS_MAIN
