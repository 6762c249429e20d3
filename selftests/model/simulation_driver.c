// SPDX-License-Identifier: GPL-2.0-or-later
/* The driver: it programs the trace unit and the trace buffer, and collects, by the book. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sysreg.h"
#include "simulation.h"

#define RAM_BASE	0x40000000ULL
#define BUFFER		0xffff800010000000ULL
#define TABLES		(RAM_BASE + 0x1000)	/* levels 0 to 3 */
#define PAGES_AT	(RAM_BASE + 0x100000)	/* of the buffer: every other page, backwards */
#define PAGES_MAX	64

#define TRC(offset)	SYSREG_TRACE(offset)
#define TRCPRGCTLR	TRC(0x004)
#define TRCSTATR	TRC(0x00c)
#define LIMITR_TM_STOP	(0ULL << 3)
#define LIMITR_TM_IRQ	(1ULL << 3)
#define LIMITR_TM_NONE	(3ULL << 3)
#define LIMITR_E	1ULL
#define SR_S		(1ULL << 17)
#define SR_EA		(1ULL << 18)
#define SR_WRAP		(1ULL << 20)
#define SR_TRG		(1ULL << 21)
#define SR_IRQ		(1ULL << 22)
#define SR_EC		(0x3fULL << 26)
#define SR_MSS		0xffffULL
#define SR_BSC_TRIGGER	2
#define POLLS		100

#define OPCODE_NOP	0xd503201f
#define OPCODE_ISB	0xd5033fdf

static void die(const char *what)
{
	printf("# the driver: %s\n", what);
	abort();
}

static void msr(struct simulation *sim, uint32_t reg, uint64_t value)
{
	uint64_t pc = sim->driver_pc;

	simulation_instruction(sim, OPCODE_NOP, PE_NONE);
	if (!pe_write(&sim->pe, reg, pc, value) && pe_replaces(reg))
		die("a register is UNDEFINED");
}

static uint64_t mrs(struct simulation *sim, uint32_t reg)
{
	uint64_t pc = sim->driver_pc, value = 0;

	simulation_instruction(sim, OPCODE_NOP, PE_NONE);
	if (!pe_read(&sim->pe, reg, pc, &value))
		die("a register is UNDEFINED");
	return value;
}

static void isb(struct simulation *sim)
{
	uint64_t pc = sim->driver_pc;

	simulation_instruction(sim, OPCODE_ISB, PE_ISB);
	pe_isb(&sim->pe, pc);
}

static void dsb(struct simulation *sim)
{
	uint64_t pc = sim->driver_pc;

	simulation_instruction(sim, OPCODE_NOP, PE_NONE);
	pe_dsb(&sim->pe, pc);
}

static void tsb(struct simulation *sim)
{
	uint64_t pc = sim->driver_pc;

	simulation_instruction(sim, OPCODE_NOP, PE_NONE);
	pe_tsb_csync(&sim->pe, pc);
}

static uint64_t page_of(unsigned int i)
{
	return PAGES_AT + 2 * 4096 * (uint64_t)(PAGES_MAX - i);
}

uint8_t *simulation_memory(struct simulation *sim, uint64_t address)
{
	uint64_t page = (address - BUFFER) / 4096;

	if (address < BUFFER || page >= PAGES_MAX)
		die("an address that is not of the buffer");
	return sim->ram + (page_of(page) - RAM_BASE) + address % 4096;
}

static void put(struct simulation *sim, uint64_t at, uint64_t value)
{
	memcpy(sim->ram + (at - RAM_BASE), &value, sizeof(value));
}

void simulation_boot(struct simulation *sim)
{
	static const unsigned int shifts[] = { 39, 30, 21, 12 };
	/* 48 bits in the upper half, 4 KB granule; 48 bits of physical addresses. */
	uint64_t tcr = 16ULL << 16 | 2ULL << 30 | 16 | 5ULL << 32;

	for (int level = 0; level < 3; level++)
		put(sim, TABLES + 0x1000 * level + (BUFFER >> shifts[level] & 511) * 8,
		    (TABLES + 0x1000 * (level + 1)) | 3);
	for (unsigned int i = 0; i < PAGES_MAX; i++)
		put(sim, TABLES + 0x3000 + ((BUFFER >> 12 & 511) + i) * 8,
		    page_of(i) | 1ULL << 10 | 3);
	sim->driver_pc = 0xffff800008000000ULL;
	if (sim->options.host) {
		sim->sysregs[MACHINE_HCR_EL2] = 1ULL << 34 | 1ULL << 27;
		sim->sysregs[MACHINE_SCTLR_EL2] = 1;
		sim->sysregs[MACHINE_TCR_EL2] = tcr;
		sim->sysregs[MACHINE_TTBR1_EL2] = TABLES;
	} else {
		sim->sysregs[MACHINE_SCTLR_EL1] = 1;
		sim->sysregs[MACHINE_TCR_EL1] = tcr;
		sim->sysregs[MACHINE_TTBR1_EL1] = TABLES;
	}
	/* EL2 gives the buffer to EL1, and goes there. */
	if (sim->options.el2 && !sim->options.host)
		msr(sim, SYSREG_MDCR_EL2, 3ULL << 24);
	if (sim->options.el2)
		msr(sim, SYSREG_TRFCR_EL2, sim->options.host ? 0 : 8);
	pe_state(&sim->pe, sim->options.host, sim->options.host, false);
	isb(sim);
	if (sim->options.el2 && !sim->options.host) {
		simulation_instruction(sim, OPCODE_NOP, PE_NONE);
		pe_return(&sim->pe, 1);
	}
}

static void poll(struct simulation *sim, uint64_t mask, uint64_t want)
{
	for (unsigned int i = 0; i < POLLS; i++) {
		isb(sim);
		if ((mrs(sim, TRCSTATR) & mask) == want)
			return;
	}
	die("TRCSTATR does not become what it should");
}

static uint64_t trfcr(const struct simulation *sim)
{
	uint64_t value = sim->options.by_victlr ? 3 : sim->options.levels;

	return value | 3ULL << 5 | (sim->options.host ? 8 : 0);
}

static uint64_t base(const struct simulation *sim)
{
	(void)sim;
	return BUFFER;
}

static uint64_t limit(const struct simulation *sim)
{
	return BUFFER + 4096ULL * sim->options.pages;
}

static void buffer_on(struct simulation *sim)
{
	const struct simulation_options *options = &sim->options;
	uint64_t limitr = limit(sim) | options->mode << 1;

	if (options->watermark)
		limitr |= options->stop ? LIMITR_TM_STOP : LIMITR_TM_IRQ;
	else
		limitr |= LIMITR_TM_NONE;
	sim->pointer = base(sim);
	/* Often with little room. */
	if (rng_one_in(&sim->rng, 3))
		sim->pointer += rng_below(&sim->rng, options->pages * 2) * 2048;
	else if (rng_one_in(&sim->rng, 2))
		sim->pointer = limit(sim) - 128 * (1 + rng_below(&sim->rng, 8));
	msr(sim, SYSREG_TRBSR_EL1, 0);
	msr(sim, SYSREG_TRBBASER_EL1, base(sim));
	msr(sim, SYSREG_TRBPTR_EL1, sim->pointer);
	if (options->watermark) {
		msr(sim, SYSREG_TRBTRG_EL1, options->watermark);
		msr(sim, SYSREG_TRBSR_EL1, SR_TRG);
	}
	isb(sim);
	msr(sim, SYSREG_TRBLIMITR_EL1, limitr | LIMITR_E);
	isb(sim);
}

/* Registers of resources that trace_unit_defaults has: they are UNKNOWN after a reset. */
static const struct {
	uint16_t offset;
	uint8_t step;
	uint8_t n;
} unused[] = {
	{ 0x100, 4, 3 },	/* TRCSEQEVR */
	{ 0x118, 4, 2 },	/* TRCSEQRSTEVR, TRCSEQSTR */
	{ 0x120, 4, 4 },	/* TRCEXTINSELR */
	{ 0x140, 4, 2 }, { 0x150, 4, 2 }, { 0x160, 4, 2 },	/* TRCCNTRLDVR, CTLR, VR */
	{ 0x208, 4, 14 },	/* TRCRSCTLR2 ... */
	{ 0x280, 4, 1 }, { 0x2a0, 4, 1 },	/* TRCSSCCR, TRCSSCSR */
	{ 0x400, 8, 8 }, { 0x480, 8, 8 },	/* TRCACVR, TRCACATR */
	{ 0x600, 8, 1 }, { 0x680, 4, 1 },	/* TRCCIDCVR, TRCCIDCCTLR0 */
};

static void unit_on(struct simulation *sim)
{
	const struct simulation_options *options = &sim->options;
	unsigned int kernel = options->host ? 2 : 1;
	uint32_t victlr = 1 | 1 << 9;

	msr(sim, TRCPRGCTLR, 0);
	poll(sim, 1, 1);
	if (options->by_victlr && !(options->levels & 1))
		victlr |= 1 << 20;
	if (options->by_victlr && !(options->levels & 2))
		victlr |= 1U << (20 + kernel);
	msr(sim, TRC(0x010), options->configr);
	msr(sim, TRC(0x018), 0);
	msr(sim, TRC(0x020), 0);
	msr(sim, TRC(0x024), 0);
	msr(sim, TRC(0x02c), 0);
	msr(sim, TRC(0x030), 0);
	msr(sim, TRC(0x034), options->syncpr);
	msr(sim, TRC(0x038), options->ccctlr);
	msr(sim, TRC(0x03c), 0);
	msr(sim, TRC(0x040), 1);
	msr(sim, TRC(0x080), victlr);
	msr(sim, TRC(0x084), options->filter ? options->exclude ? 1 << 16 : 1 : 0);
	msr(sim, TRC(0x088), 0);
	for (size_t i = 0; i < sizeof(unused) / sizeof(unused[0]); i++)
		for (unsigned int n = 0; n < unused[i].n; n++)
			msr(sim, TRC(unused[i].offset + unused[i].step * n), 0);
	if (options->el2) {
		msr(sim, TRC(0x640), 0);
		msr(sim, TRC(0x688), 0);
	}
	if (options->filter) {
		const struct program *program = sim->program;
		uint32_t i = rng_below(&sim->rng, program->ninsns / 2);
		uint32_t j = i + rng_below(&sim->rng, program->ninsns / 2);

		msr(sim, TRC(0x400), program->insns[i].address);
		msr(sim, TRC(0x408), program->insns[j].address);
	}
	msr(sim, TRC(0x028), 1 << 12);
	isb(sim);
	msr(sim, TRCPRGCTLR, 1);
	poll(sim, 1, 0);
	msr(sim, SYSREG_TRFCR_EL1, trfcr(sim));
	isb(sim);
}

static void take(struct simulation *sim, uint64_t from, uint64_t to, bool lossy)
{
	struct align_piece *more;
	uint8_t *bytes;

	if (from == to)
		return;
	if (from > to || to > limit(sim))
		die("TRBPTR_EL1 is not in the buffer");
	more = realloc(sim->collected, (sim->ncollected + 1) * sizeof(*more));
	bytes = malloc(to - from);
	if (!more || !bytes)
		abort();
	for (uint64_t i = from; i < to; i++)
		bytes[i - from] = *simulation_memory(sim, i);
	sim->collected = more;
	more[sim->ncollected++] = (struct align_piece){ bytes, to - from, lossy };
}

/* Why there is an interrupt, where that is nothing but the trigger. */
static void count_triggers(struct simulation *sim, uint64_t status)
{
	const bool stopped = status & SR_S;

	if (status & (SR_EC | SR_EA | SR_WRAP) || !(status & SR_IRQ))
		return;
	sim->stopped += stopped && (status & SR_MSS) == SR_BSC_TRIGGER;
	sim->triggered += !stopped;
}

/* The buffer is drained and disabled: what is in it. Other modes than fill go around. */
static void collect(struct simulation *sim)
{
	uint64_t pointer = mrs(sim, SYSREG_TRBPTR_EL1), status = mrs(sim, SYSREG_TRBSR_EL1);
	bool wrapped = status & SR_WRAP;

	sim->truncated += wrapped;
	count_triggers(sim, status);
	if (status & SR_EC || status & SR_EA)
		sim->faults++;
	/* Nobody knows which bytes did not come to memory. */
	if (status & SR_EA) {
		sim->discarded++;
		return;
	}
	if (wrapped && sim->options.mode) {
		/* What was there before is older: from where it began, if it went around once. */
		take(sim, pointer > sim->pointer ? pointer : sim->pointer, limit(sim), true);
		take(sim, base(sim), pointer, false);
	} else {
		take(sim, sim->pointer, wrapped ? limit(sim) : pointer, wrapped);
	}
}

static void prohibit(struct simulation *sim)
{
	msr(sim, SYSREG_TRFCR_EL1, sim->options.host ? 8 : 0);
	isb(sim);
}

static void drain(struct simulation *sim)
{
	tsb(sim);
	dsb(sim);
	msr(sim, SYSREG_TRBLIMITR_EL1, 0);
	isb(sim);
	collect(sim);
}

void simulation_start(struct simulation *sim)
{
	msr(sim, SYSREG_TRBLIMITR_EL1, 0);
	isb(sim);
	buffer_on(sim);
	unit_on(sim);
	sim->collecting = true;
}

void simulation_stop(struct simulation *sim)
{
	prohibit(sim);
	tsb(sim);
	dsb(sim);
	msr(sim, TRCPRGCTLR, 0);
	poll(sim, 3, 3);
	drain(sim);
	sim->collecting = false;
	/* Whatever it said is dealt with. */
	msr(sim, SYSREG_TRBSR_EL1, 0);
	isb(sim);
}

void simulation_interrupt(struct simulation *sim)
{
	sim->interrupts++;
	if (!sim->collecting) {
		if (mrs(sim, SYSREG_TRBSR_EL1) & SR_IRQ)
			die("an interrupt that was dealt with");
		sim->spurious++;
		return;
	}
	prohibit(sim);
	drain(sim);
	if (!(mrs(sim, SYSREG_TRBSR_EL1) & SR_IRQ))
		sim->spurious++;
	buffer_on(sim);
	msr(sim, SYSREG_TRFCR_EL1, trfcr(sim));
	isb(sim);
}
