// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that from the records of random programs on a simulated machine the decoder makes exactly
 * what the machine's own log says was executed, as far as the records prove it, and nothing else.
 */
#include <flowtap/ctr.h>
#include <flowtap/riscv.h>

#include "support/kselftest_harness.h"
#include "support/seed.h"

#include "support/program.h"
#include "unit/ctr/expect.h"

#define PROCESSES 2

struct process {
	struct program program;
	struct machine machine;
	uint32_t pid;
	uint32_t tid;
	uint64_t sequence;
	uint32_t loss;
	bool seen;			/* the decoder has had a sample of it */
};

struct totals {
	uint64_t samples, wrapped, lost, exact, ecalls, contiguous;
};

FIXTURE(ctr) {
	struct process *processes;
	struct flowtap_address_map *map;
	struct flowtap_blocks *blocks;
	struct flowtap_ctr *ctr;
	struct flowlog log;
	struct items expected;
	struct totals totals;
	uint32_t last;			/* tid that the decoder's context is of */
	uint64_t time;
	uint64_t instructions;
};

FIXTURE_VARIANT(ctr) {
	uint64_t control;
	uint32_t depth;
	bool typeless;
	size_t cache;		/* bytes, 0 the default */
};

#define PLAIN (CTL_U | CTL_STE | CTL_LCOFIFRZ)

FIXTURE_VARIANT_ADD(ctr, depth_16) { PLAIN, 16, false, 0 };
FIXTURE_VARIANT_ADD(ctr, depth_32) { PLAIN, 32, false, 0 };
FIXTURE_VARIANT_ADD(ctr, depth_64) { PLAIN, 64, false, 0 };
FIXTURE_VARIANT_ADD(ctr, depth_128) { PLAIN, 128, false, 0 };
FIXTURE_VARIANT_ADD(ctr, depth_256) { PLAIN, 256, false, 0 };
FIXTURE_VARIANT_ADD(ctr, cache_of_nothing) { PLAIN, 256, false, 1 };
FIXTURE_VARIANT_ADD(ctr, cache_too_small) { PLAIN, 256, false, 1 << 17 };
FIXTURE_VARIANT_ADD(ctr, not_taken_recorded) { PLAIN | CTL_NTBREN, 256, false, 0 };
FIXTURE_VARIANT_ADD(ctr, types_absent) { PLAIN, 256, true, 0 };
FIXTURE_VARIANT_ADD(ctr, types_absent_not_taken_recorded) { PLAIN | CTL_NTBREN, 256, true, 0 };
FIXTURE_VARIANT_ADD(ctr, overflow_recorded) { CTL_U | CTL_STE, 256, false, 0 };
FIXTURE_VARIANT_ADD(ctr, traps_not_recorded) { CTL_U | CTL_LCOFIFRZ, 256, false, 0 };
FIXTURE_VARIANT_ADD(ctr, calls_inhibited) { PLAIN | CTL_INHIBIT(8) | CTL_INHIBIT(9),
					    256, false, 0 };
FIXTURE_VARIANT_ADD(ctr, branches_inhibited) { PLAIN | CTL_INHIBIT(5), 64, false, 0 };
FIXTURE_VARIANT_ADD(ctr, exceptions_inhibited) { PLAIN | CTL_INHIBIT(1) | CTL_INHIBIT(2) |
						 CTL_INHIBIT(3), 64, false, 0 };
FIXTURE_VARIANT_ADD(ctr, call_stacks) { PLAIN | CTL_RASEMU, 32, false, 0 };

/* Both processes have their text at the same address. */
static void start(struct process *process, struct flowtap_address_map *map, uint32_t pid,
		  const FIXTURE_VARIANT(ctr) * variant)
{
	struct machine *m = &process->machine;
	char path[32];
	struct flowtap_mapping mapping;

	process->pid = pid;
	process->tid = pid + 1;
	process->loss = 1U << FLOWTAP_CAUSE_START;
	program_make(&process->program, 0x2aaaaaa000, 0x1234567890 + pid * 77777,
		     program_dense);
	snprintf(path, sizeof(path), "[program %u]", pid);
	mapping = (struct flowtap_mapping){
		.start = process->program.base,
		.size = process->program.size,
		.pid = pid,
		.executable = true,
		.path = path,
	};
	if (flowtap_address_map_add_bytes(map, &mapping, process->program.text))
		abort();
	m->text = process->program.text;
	m->base = process->program.base;
	m->size = process->program.size;
	m->labels = process->program.labels;
	m->n_labels = process->program.n;
	m->pc = m->base;
	m->random = seeded(88172645463325252 + pid);
	m->control = variant->control;
	m->depth = variant->depth;
	m->typeless = variant->typeless;
	m->log = calloc(MACHINE_LOG, sizeof(*m->log));
}

FIXTURE_SETUP(ctr)
{
	self->processes = calloc(PROCESSES, sizeof(*self->processes));
	self->map = flowtap_address_map_new(NULL);
	self->blocks = flowtap_blocks_new(flowtap_riscv_block, variant->cache);
	flowlog_init(&self->log);
	self->ctr = flowtap_ctr_new(self->map, self->blocks, &self->log.sink);
	for (int i = 0; i < PROCESSES; i++)
		start(&self->processes[i], self->map, 100 + 10 * i, variant);
	self->time = 1000;
}

FIXTURE_TEARDOWN(ctr)
{
	flowtap_ctr_free(self->ctr);
	flowtap_blocks_free(self->blocks);
	flowtap_address_map_free(self->map);
	for (int i = 0; i < PROCESSES; i++) {
		free(self->processes[i].program.text);
		free(self->processes[i].machine.log);
	}
	free(self->processes);
	free(self->log.items.list);
	free(self->expected.list);
}

static size_t expect_trap(FIXTURE_DATA(ctr) *self, const struct machine *m, const struct made *made,
			  size_t from)
{
	bool shows = from != UNKNOWN && ecall_shows(m, made, from, m->log[made->at - 1].pc);
	uint64_t epc = made->entry.source & ~1ULL;
	int number = -1;

	if (from != UNKNOWN)
		expect_steps(&self->expected, m, from, made->at);
	if (shows) {
		number = ecall_cause(m, epc);
		add_item(&self->expected, ITEM_INSN, epc, 0, 0);
		add_item(&self->expected, ITEM_END, true, 0, 0);
		self->totals.ecalls++;
	}
	add_item(&self->expected, ITEM_EXCEPTION, epc, number, (made->entry.data & 15) == 2);
	return UNKNOWN;
}

/* What the records prove by themselves, in blocks. */
static size_t expect_blocks(FIXTURE_DATA(ctr) *self, const struct machine *m,
			    const struct made *made, uint32_t nr)
{
	struct items *items = &self->expected;
	size_t from = UNKNOWN;

	for (uint32_t i = 0; i < nr; i++) {
		bool trap = m->typeless ? made[i].entry.target < 2 : made[i].trap;
		uint64_t ecalls = self->totals.ecalls;

		if (from == UNKNOWN && i)
			add_item(items, ITEM_GAP, FLOWTAP_GAP_TRAP, 0, 0);
		if (trap) {
			from = expect_trap(self, m, &made[i], from);
		} else {
			expect_steps(items, m, from == UNKNOWN ? made[i].at : from, made[i].at + 1);
			from = made[i].at + 1;
		}
		/* It is said of the entry's own block, which a trap has if it is an ecall's. */
		if (!trap || self->totals.ecalls > ecalls)
			expect_mispredicted(items, &made[i].entry);
		expect_cycles(items, made[i].entry.data);
	}
	return from;
}

static void expect_entries(FIXTURE_DATA(ctr) *self, const struct machine *m,
			   const struct made *made, uint32_t nr, bool user)
{
	struct items *items = &self->expected;
	size_t from;

	if (m->control & CTL_RASEMU) {
		uint32_t n = nr + user;

		if (user)
			add_item(items, ITEM_FRAME, m->pc, 0, n);
		for (uint32_t i = nr; i--;)
			add_item(items, ITEM_FRAME, made[i].entry.source - 1, n - 1 - i, n);
	} else if (m->control & (CTL_INHIBIT(5) | CTL_INHIBIT(8) | CTL_INHIBIT(9))) {
		add_item(items, ITEM_GAP, FLOWTAP_GAP_FILTERED, 0, 0);
		for (uint32_t i = 0; i < nr; i++) {
			expect_transfer(items, &made[i].entry);
			expect_cycles(items, made[i].entry.data);
		}
	} else if (!(m->control & CTL_STE)) {
		for (uint32_t i = 0; i < nr; i++) {
			expect_transfer(items, &made[i].entry);
			if (i)
				add_item(items, ITEM_GAP, FLOWTAP_GAP_TRAP, 0, 0);
			expect_steps(items, m, made[i].at, made[i].at + 1);
			expect_cycles(items, made[i].entry.data);
		}
	} else {
		from = expect_blocks(self, m, made, nr);
		if (user && from != UNKNOWN)
			expect_steps(items, m, from, m->n);
		self->totals.exact += from != UNKNOWN && user;
	}
}

static void expect_begin(FIXTURE_DATA(ctr) *self, struct process *process, uint32_t loss)
{
	struct items *items = &self->expected;

	if (self->last != process->tid)
		add_item(items, ITEM_CONTEXT, process->pid, process->tid, 3);
	self->last = process->tid;
	add_item(items, ITEM_TIME, self->time, 0, 0);
	expect_gap(items, loss ? FLOWTAP_GAP_START + __builtin_ctz(loss) :
			  process->machine.control & CTL_RASEMU ? FLOWTAP_GAP_FILTERED :
			  FLOWTAP_GAP_TRAP);
}

struct sample {
	struct flowtap_record_sample head;
	struct flowtap_entry entries[256];
};

/* As the kernel takes and writes it; one in 20 is lost. False: the decoder is wrong. */
static bool sample(FIXTURE_DATA(ctr) *self, struct process *process, uint32_t trigger, bool user)
{
	struct machine *m = &process->machine;
	struct made made[256];
	struct sample s = { .head = {
		.header = { FLOWTAP_RECORD_SAMPLE, user ? FLOWTAP_MISC_USER : 0, 0 },
		.ip = user ? m->pc : 0,
		.control = m->control,
		.pid = process->pid,
		.tid = process->tid,
		.cpu = 3,
		.trigger = trigger,
		.depth = m->depth,
	} };
	uint32_t nr = machine_drain(m, made);
	bool same = true;

	self->time += 10;
	if (nr == m->depth)
		process->loss |= 1U << FLOWTAP_CAUSE_WRAPPED;
	process->sequence += process->loss ? 2 : 1;
	s.head.header.size = sizeof(s.head) + nr * sizeof(s.entries[0]);
	s.head.time = self->time;
	s.head.sequence = process->sequence;
	s.head.loss = process->loss;
	s.head.nr = nr;
	for (uint32_t i = 0; i < nr; i++)
		s.entries[i] = made[i].entry;
	process->loss = 0;
	if (machine_chance(m, 20)) {
		process->loss = 1U << FLOWTAP_CAUSE_RING_FULL;
		self->totals.lost++;
	} else {
		self->expected.n = 0;
		self->log.items.n = 0;
		expect_begin(self, process, s.head.loss);
		expect_entries(self, m, made, nr, user);
		same = !flowtap_ctr_decode(self->ctr, &s.head.header, s.head.header.size) &&
		       same_items(&self->expected, &self->log.items);
		self->totals.samples++;
		self->totals.wrapped += nr == m->depth;
		self->totals.contiguous += !s.head.loss;
	}
	m->n = 0;
	return same;
}

/* Runs for a while, with interrupts, and takes samples: in traps, and at last by an overflow. */
static bool run(FIXTURE_DATA(ctr) *self, struct process *process)
{
	struct machine *m = &process->machine;
	uint64_t left = 1 + (machine_random(m) & 4095) % (1 + (machine_random(m) & 4095));
	bool same = true;

	for (; left && same; left--) {
		if (machine_chance(m, 50))
			machine_interrupt(m, true);
		else if (!machine_step(m))
			continue;
		if (machine_chance(m, 40))
			same = sample(self, process, FLOWTAP_TRIGGER_SNAPSHOT, false);
		machine_kernel(m);
	}
	if (same) {
		machine_interrupt(m, !(m->control & CTL_LCOFIFRZ));
		same = sample(self, process, FLOWTAP_TRIGGER_OVERFLOW, true);
		machine_kernel(m);
	}
	return same;
}

static void add_executed(const struct flowtap_block *block, void *argument)
{
	uint64_t *sums = argument;

	sums[0] += block->executed * block->instructions;
	sums[1] += block->key == UINT32_MAX;
}

TEST_F(ctr, the_flow_is_what_was_executed)
{
	const struct flowtap_ctr_counts *counts = flowtap_ctr_counts(self->ctr);
	struct totals *totals = &self->totals;
	uint64_t executed = 0, visited[2] = { 0 };
	bool same = true;

	for (int round = 0; same && executed < 600000; round++) {
		same = run(self, &self->processes[round % PROCESSES]);
		executed = self->processes[0].machine.executed +
			   self->processes[1].machine.executed;
	}
	EXPECT_TRUE(same);
	TH_LOG("%llu executed, %llu said in %llu blocks, "
	       "%llu samples (%llu wrapped, %llu lost, %llu contiguous), %llu ecalls",
	       (unsigned long long)executed, (unsigned long long)counts->instructions,
	       (unsigned long long)counts->blocks, (unsigned long long)totals->samples,
	       (unsigned long long)totals->wrapped, (unsigned long long)totals->lost,
	       (unsigned long long)totals->contiguous, (unsigned long long)totals->ecalls);
	EXPECT_EQ(counts->samples, totals->samples);
	EXPECT_EQ(counts->instructions, self->log.instructions);
	EXPECT_EQ(counts->blocks, self->log.blocks);
	flowtap_blocks_visit(self->blocks, add_executed, visited);
	EXPECT_EQ(counts->instructions, visited[0]);
	EXPECT_EQ(visited[1], variant->cache != 0);	/* the decoder kept to the limit */
	EXPECT_EQ(counts->gaps[FLOWTAP_GAP_IMPOSSIBLE], 0U);
	EXPECT_EQ(counts->gaps[FLOWTAP_GAP_NO_IMAGE], 0U);
	EXPECT_EQ(counts->bad_records, 0U);
	if (test_seed_given())
		return;
	/* The runs were worth it: each kind of thing came up. */
	EXPECT_GT(totals->wrapped, 20U);
	EXPECT_GT(totals->lost, 20U);
	EXPECT_GT(totals->contiguous, 20U);
	EXPECT_GT(self->processes[0].machine.signals, 100U);
	EXPECT_GT(self->processes[0].machine.faults, 20U);
	if (!(variant->control & (CTL_RASEMU | CTL_INHIBIT(5) | CTL_INHIBIT(8)))) {
		EXPECT_GT(counts->instructions, 30000U);
		for (int type = 8; type < 16; type++)
			EXPECT_GT(counts->transfers[type], 20U);
	}
	if (variant->control & CTL_STE && variant->control & CTL_LCOFIFRZ && !variant->typeless &&
	    !(variant->control & (CTL_RASEMU | CTL_INHIBIT(5) | CTL_INHIBIT(8)))) {
		EXPECT_GT(totals->exact, 20U);
		EXPECT_GT(totals->ecalls, 100U);
	}
}

TEST_HARNESS_MAIN
