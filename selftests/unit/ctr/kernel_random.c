// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that from the records of a simulated machine whose kernel is executed as well the decoder
 * makes exactly what the machine's log says was executed, in which mode, as far as the records
 * prove it: system calls, interrupts, nested traps, faults, firmware, guests, the recorder itself.
 * Shows that all of it becomes an STF that keeps the rules.
 */
#include <flowtap/ctr.h>
#include <flowtap/riscv.h>
#include <flowtap/stf.h>

#include "support/kselftest_harness.h"
#include "support/seed.h"

#include "stfcheck/stfcheck.h"
#include "support/program.h"
#include "support/sink.h"
#include "unit/ctr/expect.h"

#define PID 100
#define CPU 3

FIXTURE(kernel) {
	struct program programs[2];		/* by mode */
	struct machine machine;
	struct flowtap_address_map *map;
	struct flowtap_blocks *blocks;
	struct flowtap_ctr *ctr;
	struct tee {
		struct flowtap_sink sink;
		struct flowtap_sink *stf;
		struct flowlog log;
	} tee;
	struct output output;
	struct flowtap_stf *stf;
	struct items expected;
	bool told;				/* the decoder said who runs */
	enum machine_mode mode;			/* and how */
	uint64_t time, sequence;
	uint32_t loss;
	uint64_t samples, contiguous, exact, ecalls;
	/* While a sample is gone through. */
	size_t from;
	uint64_t before;
	int owed;				/* a gap's reason, -1 none */
};

FIXTURE_VARIANT(kernel) {
	uint64_t control;
	uint32_t depth;
};

#define BOTH (CTL_U | CTL_S | CTL_STE | CTL_LCOFIFRZ)
#define ONLY (CTL_S | CTL_STE | CTL_LCOFIFRZ)

FIXTURE_VARIANT_ADD(kernel, both_modes_16) { BOTH, 16 };
FIXTURE_VARIANT_ADD(kernel, both_modes_64) { BOTH, 64 };
FIXTURE_VARIANT_ADD(kernel, both_modes_256) { BOTH, 256 };
FIXTURE_VARIANT_ADD(kernel, kernel_only_64) { ONLY, 64 };
FIXTURE_VARIANT_ADD(kernel, kernel_only_256) { ONLY, 256 };
FIXTURE_VARIANT_ADD(kernel, not_taken_recorded) { BOTH | CTL_NTBREN, 256 };
FIXTURE_VARIANT_ADD(kernel, kernel_only_not_taken_recorded) { ONLY | CTL_NTBREN, 256 };
FIXTURE_VARIANT_ADD(kernel, overflow_recorded) { BOTH & ~CTL_LCOFIFRZ, 256 };
FIXTURE_VARIANT_ADD(kernel, external_traps_not_recorded) { BOTH & ~CTL_STE, 256 };
FIXTURE_VARIANT_ADD(kernel, exceptions_inhibited) { BOTH | CTL_INHIBIT(1), 256 };
FIXTURE_VARIANT_ADD(kernel, interrupts_inhibited) { BOTH | CTL_INHIBIT(2), 256 };
FIXTURE_VARIANT_ADD(kernel, trap_returns_inhibited) { ONLY | CTL_INHIBIT(3), 256 };
FIXTURE_VARIANT_ADD(kernel, returns_inhibited) { BOTH | CTL_INHIBIT(13), 256 };

#define FILTERS (CTL_INHIBIT(1) | CTL_INHIBIT(2) | CTL_INHIBIT(3) | CTL_INHIBIT(13))

static int tee_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		     uint64_t target)
{
	struct tee *tee = (struct tee *)sink;
	int error = tee->stf->block(tee->stf, block, taken, target);

	return error ? error : flowlog_block(&tee->log.sink, block, taken, target);
}

static int tee_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct tee *tee = (struct tee *)sink;
	int error = tee->stf->element(tee->stf, element);

	return error ? error : flowlog_element(&tee->log.sink, element);
}

static void add_programs(struct flowtap_address_map *map, const struct program *user,
			 const struct program *kernel)
{
	struct flowtap_mapping mapping = {
		.start = user->base, .size = user->size, .pid = PID, .executable = true,
		.path = "[program]",
	};
	struct flowtap_kernel_text text = {
		.start = kernel->base, .size = kernel->size, .part_size = kernel->size,
		.name = "kernel",
	};

	if (flowtap_address_map_add_bytes(map, &mapping, user->text) ||
	    flowtap_address_map_add_kernel(map, &text, kernel->text))
		abort();
}

static const struct flowtap_stf_options options = { .generator = 0xff };

FIXTURE_SETUP(kernel)
{
	struct machine *m = &self->machine;
	struct program *user = &self->programs[0], *kernel = &self->programs[1];

	program_make(user, 0x2aaaaaa000, 0x1234567890, program_dense);
	program_make(kernel, 0xffffffff80000000, 0x987654321, program_kernel);
	memcpy(kernel->text, (uint8_t[]){ 0x02, 0x85 }, 2);	/* c.jr a0: a trap goes anywhere */
	self->map = flowtap_address_map_new(NULL);
	add_programs(self->map, user, kernel);
	self->blocks = flowtap_blocks_new(flowtap_riscv_block, 0);
	flowlog_init(&self->tee.log);
	self->output = output_new();
	ASSERT_EQ(flowtap_stf_new(self->output.fd, &options, &self->stf), 0);
	self->tee.sink = (struct flowtap_sink){ tee_block, tee_element };
	self->tee.stf = flowtap_stf_sink(self->stf);
	self->ctr = flowtap_ctr_new(self->map, self->blocks, &self->tee.sink);
	*m = (struct machine){
		.text = user->text, .base = user->base, .size = user->size,
		.labels = user->labels, .n_labels = user->n, .pc = user->base,
		.kernel = { kernel->text, kernel->base, kernel->size, kernel->labels, kernel->n,
			    kernel->resume },
		.random = seeded(88172645463325252), .control = variant->control,
		.depth = variant->depth, .log = calloc(MACHINE_LOG, sizeof(*m->log)),
	};
	self->time = 1000;
	self->loss = 1U << FLOWTAP_CAUSE_START;
}

FIXTURE_TEARDOWN(kernel)
{
	flowtap_ctr_free(self->ctr);
	flowtap_stf_free(self->stf);
	output_free(&self->output);
	flowtap_blocks_free(self->blocks);
	flowtap_address_map_free(self->map);
	free(self->programs[0].text);
	free(self->programs[1].text);
	free(self->machine.log);
	free(self->tee.log.items.list);
	free(self->expected.list);
}

static bool both(const struct machine *m)
{
	return (m->control & (CTL_U | CTL_S)) == (CTL_U | CTL_S);
}

static void expect_context(FIXTURE_DATA(kernel) *self, enum machine_mode mode)
{
	if (!self->told || self->mode != mode)
		add_item(&self->expected, ITEM_CONTEXT, PID, PID, CPU | (uint64_t)mode << 32);
	self->told = true;
	self->mode = mode;
}

/* What is executed at an address is, for all that a record tells, in the mode of the address. */
static void expect_mode_of(FIXTURE_DATA(kernel) *self, uint64_t address)
{
	if (both(&self->machine))
		expect_context(self, address >> 63 ? MODE_KERNEL : MODE_USER);
}

static void owe(FIXTURE_DATA(kernel) *self, enum flowtap_gap_reason reason)
{
	self->from = UNKNOWN;
	self->owed = reason;
}

static void go_on(FIXTURE_DATA(kernel) *self, size_t from, uint64_t before)
{
	self->from = from;
	self->before = before;
	self->owed = -1;
}

/* Up to log[to - 1]. False: the way there is not proven, and a gap says why, if need be. */
static bool expect_way(FIXTURE_DATA(kernel) *self, bool hole, bool unseen, size_t to)
{
	if (self->from != UNKNOWN && unseen && both(&self->machine)) {
		expect_gap(&self->expected, FLOWTAP_GAP_TRAP);
	} else if (self->from != UNKNOWN && hole) {
		expect_gap(&self->expected, FLOWTAP_GAP_RECORDER);
	} else if (self->from != UNKNOWN) {
		expect_steps(&self->expected, &self->machine, self->from, to);
		return true;
	} else if (self->owed >= 0) {
		expect_gap(&self->expected, self->owed);
	}
	self->owed = -1;
	return false;
}

static enum flowtap_gap_reason elsewhere(const struct machine *m)
{
	return m->control & CTL_U ? FLOWTAP_GAP_GUEST : FLOWTAP_GAP_USER;
}

static void expect_trap(FIXTURE_DATA(kernel) *self, const struct made *made)
{
	const struct machine *m = &self->machine;
	struct items *items = &self->expected;
	uint64_t epc = made->entry.source & ~1ULL, target = made->entry.target & ~1ULL;
	bool interrupt = made->type == 2;
	int number = -1;

	if (!epc && self->from == UNKNOWN) {
		expect_way(self, false, false, 0);
	} else if (expect_way(self, made->hole, made->unseen, made->at)) {
		if (ecall_shows(m, made, self->from, self->before)) {
			number = ecall_cause(m, epc);
			add_item(items, ITEM_INSN, epc, 0, 0);
			add_item(items, ITEM_END, true, 0, 0);
			self->ecalls++;
		}
	} else if (!made->hole || made->unseen || self->from == UNKNOWN) {
		expect_mode_of(self, epc);
	}
	add_item(items, ITEM_EXCEPTION, epc, number, target | interrupt);
	if (!target) {
		owe(self, interrupt ? FLOWTAP_GAP_FROZEN : FLOWTAP_GAP_TRAP);
		return;
	}
	go_on(self, made->next, 0);
	expect_mode_of(self, target);
}

static void expect_jump(FIXTURE_DATA(kernel) *self, const struct made *made)
{
	uint64_t source = made->entry.source & ~1ULL, target = made->entry.target & ~1ULL;
	struct items *items = &self->expected;

	if (!expect_way(self, made->hole, made->unseen, made->at)) {
		expect_mode_of(self, source);
	}
	expect_steps(items, &self->machine, made->at, made->at + 1);
	go_on(self, made->next, source);
	if (made->type != 3)
		return;
	add_item(items, ITEM_ERET, 0, 0, 0);
	if (target)
		expect_mode_of(self, target);
	else
		owe(self, elsewhere(&self->machine));
}

static void expect_blocks(FIXTURE_DATA(kernel) *self, const struct made *made, uint32_t nr)
{
	self->from = UNKNOWN;
	self->owed = -1;
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t ecalls = self->ecalls;

		if (made[i].trap)
			expect_trap(self, &made[i]);
		else
			expect_jump(self, &made[i]);
		/* It is said of the entry's own block, which a trap has if it is an ecall's. */
		if (!made[i].trap || self->ecalls > ecalls)
			expect_mispredicted(&self->expected, &made[i].entry);
		expect_cycles(&self->expected, made[i].entry.data);
	}
}

/* What the sample begins with: who, and why there is no way from the one before. */
static void expect_begin(FIXTURE_DATA(kernel) *self, const struct made *made, uint32_t nr,
			 uint32_t loss)
{
	bool kernel = !both(&self->machine) || !nr || made[0].entry.source <= 1 ||
		      made[0].entry.source >> 63;

	if (!self->told)
		expect_context(self, kernel ? MODE_KERNEL : MODE_USER);
	add_item(&self->expected, ITEM_TIME, self->time, 0, 0);
	expect_gap(&self->expected, loss ? FLOWTAP_GAP_START + __builtin_ctz(loss) :
					   FLOWTAP_GAP_RECORDER);
}

struct sample {
	struct flowtap_record_sample head;
	struct flowtap_entry entries[256];
};

static void expect_sample(FIXTURE_DATA(kernel) *self, const struct sample *s,
			  const struct made *made, bool hole, bool unseen)
{
	struct machine *m = &self->machine;
	uint16_t misc = s->head.header.misc;

	self->expected.n = 0;
	expect_begin(self, made, s->head.nr, s->head.loss);
	if (m->control & FILTERS) {
		expect_gap(&self->expected, FLOWTAP_GAP_FILTERED);
		for (uint32_t i = 0; i < s->head.nr; i++) {
			expect_transfer(&self->expected, &made[i].entry);
			expect_cycles(&self->expected, made[i].entry.data);
		}
		return;
	}
	expect_blocks(self, made, s->head.nr);
	if (!(m->control & CTL_LCOFIFRZ) || self->from == UNKNOWN ||
	    !(misc & (both(m) ? FLOWTAP_MISC_USER | FLOWTAP_MISC_KERNEL : FLOWTAP_MISC_KERNEL)))
		return;
	self->exact += expect_way(self, hole, unseen, m->n);
}

/* misc: what interrupted what, at ip; 0: the recorder was called. False: the decoder is wrong. */
static bool sample(FIXTURE_DATA(kernel) *self, uint16_t misc, uint64_t ip)
{
	struct machine *m = &self->machine;
	bool hole = m->hole, unseen = m->unseen, same = true;
	struct made made[256];
	struct sample s = { .head = {
		.header = { FLOWTAP_RECORD_SAMPLE, misc, 0 },
		.time = self->time += 10,
		.ip = ip,
		.control = m->control,
		.pid = PID,
		.tid = PID,
		.cpu = CPU,
		.trigger = misc ? FLOWTAP_TRIGGER_OVERFLOW : FLOWTAP_TRIGGER_SNAPSHOT,
		.depth = m->depth,
	} };

	s.head.nr = machine_drain(m, made);
	if (s.head.nr == m->depth)
		self->loss |= 1U << FLOWTAP_CAUSE_WRAPPED;
	self->sequence += self->loss ? 2 : 1;
	s.head.header.size = sizeof(s.head) + s.head.nr * sizeof(s.entries[0]);
	s.head.sequence = self->sequence;
	s.head.loss = self->loss;
	for (uint32_t i = 0; i < s.head.nr; i++)
		s.entries[i] = made[i].entry;
	self->loss = 0;
	if (machine_chance(m, 20)) {
		self->loss = 1U << FLOWTAP_CAUSE_RING_FULL;
	} else {
		self->tee.log.items.n = 0;
		expect_sample(self, &s, made, hole, unseen);
		same = !flowtap_ctr_decode(self->ctr, &s.head.header, s.head.header.size) &&
		       same_items(&self->expected, &self->tee.log.items);
		self->samples++;
		self->contiguous += !s.head.loss;
	}
	m->n = 0;
	return same;
}

/* The trigger's own interrupt, frozen or recorded; afterwards the recorder lets recording go on. */
static bool overflow(FIXTURE_DATA(kernel) *self)
{
	struct machine *m = &self->machine;
	uint16_t misc = m->mode == MODE_KERNEL ? FLOWTAP_MISC_KERNEL : FLOWTAP_MISC_USER;
	uint64_t ip = m->pc;
	bool same;

	if (m->control & CTL_LCOFIFRZ) {
		same = sample(self, misc, ip);
		machine_enter(m, m->kernel.resume);
	} else {
		machine_trap(m, CAUSE_INTERRUPT);
		same = sample(self, misc, ip);
		m->pc = m->kernel.resume;
	}
	return same;
}

static bool run(FIXTURE_DATA(kernel) *self)
{
	struct machine *m = &self->machine;
	uint64_t left = 1 + (machine_random(m) & 2047) % (1 + (machine_random(m) & 2047));
	bool same = true;

	for (; left && same; left--) {
		if (machine_chance(m, m->mode == MODE_KERNEL ? 100 : 60)) {
			machine_trap(m, CAUSE_INTERRUPT);
		} else if (machine_chance(m, 300)) {
			machine_freeze(m);
		} else if (m->mode == MODE_KERNEL && machine_chance(m, 500)) {
			same = sample(self, 0, 0);
			m->pc = m->kernel.resume;
		} else {
			machine_step(m);
		}
	}
	return same && overflow(self);
}

static bool stf_is_right(FIXTURE_DATA(kernel) *self)
{
	const struct flowtap_ctr_counts *counts = flowtap_ctr_counts(self->ctr);
	struct stfcheck check = { .strict = true };

	if (flowtap_stf_finish(self->stf))
		return false;
	output_read(&self->output);
	if (stfcheck_run(&check, self->output.bytes, self->output.size))
		ksft_print_msg("%s at %llu\n", check.reason, (unsigned long long)check.offset);
	return !*check.reason && check.counts.instructions == counts->instructions &&
	       check.counts.traps == flowtap_stf_counts(self->stf)->events &&
	       check.counts.traps >= self->ecalls && check.counts.modes[1];
}

TEST_F(kernel, the_flow_is_what_was_executed_in_both_modes)
{
	const struct flowtap_ctr_counts *counts = flowtap_ctr_counts(self->ctr);
	struct machine *m = &self->machine;
	bool same = true;

	while (same && m->executed < 600000)
		same = run(self);
	EXPECT_TRUE(same);
	TH_LOG("%llu executed, %llu said, %llu samples (%llu contiguous), %llu ecalls, %llu exact",
	       (unsigned long long)m->executed, (unsigned long long)counts->instructions,
	       (unsigned long long)self->samples, (unsigned long long)self->contiguous,
	       (unsigned long long)self->ecalls, (unsigned long long)self->exact);
	EXPECT_EQ(counts->samples, self->samples);
	EXPECT_EQ(counts->instructions, self->tee.log.instructions);
	EXPECT_EQ(counts->gaps[FLOWTAP_GAP_IMPOSSIBLE], 0U);
	EXPECT_EQ(counts->gaps[FLOWTAP_GAP_NO_IMAGE], 0U);
	EXPECT_EQ(counts->bad_records, 0U);
	if (test_seed_given()) {
		if (!(variant->control & FILTERS))
			EXPECT_TRUE(stf_is_right(self));
		return;
	}
	/* The runs were worth it: each kind of thing came up. */
	EXPECT_GT(self->contiguous, 20U);
	EXPECT_GT(m->nested, 500U);
	EXPECT_GT(m->wild, 50U);
	EXPECT_GT(m->guests, 100U);
	EXPECT_GT(m->holes, 100U);
	EXPECT_GT(m->signals, 100U);
	EXPECT_GT(m->redirected, 30U);
	if (variant->control & FILTERS)
		return;
	EXPECT_TRUE(stf_is_right(self));
	EXPECT_GT(counts->instructions, 30000U);
	EXPECT_GT(counts->gaps[elsewhere(m)], 20U);
	EXPECT_GT(counts->gaps[FLOWTAP_GAP_RECORDER], 50U);
	EXPECT_GT(counts->gaps[FLOWTAP_GAP_FROZEN], 50U);
	EXPECT_GT(self->ecalls, 100U);
	if (both(m))
		EXPECT_GT(counts->gaps[FLOWTAP_GAP_TRAP], variant->depth < 256 ? 0U : 20U);
	if (variant->control & CTL_LCOFIFRZ)
		EXPECT_GT(self->exact, 100U);
}

TEST_HARNESS_MAIN
