// SPDX-License-Identifier: GPL-2.0-or-later
/* The driver: it programs the trace unit and the trace buffer, and collects, by the book. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sysreg.h"
#include "world.h"

#define RAM_BASE	0x40000000ULL
#define BUFFER		0xffff800010000000ULL
#define TABLES		(RAM_BASE + 0x1000)	/* levels 0 to 3 */
#define PAGES_AT	(RAM_BASE + 0x100000)	/* of the buffer: every other page, backwards */
#define PAGES_MAX	64

#define TRC(offset)	SYSREG_TRACE(offset)
#define TRCPRGCTLR	TRC(0x004)
#define TRCSTATR	TRC(0x00c)
#define LIMITR_E	1ULL
#define SR_S		(1ULL << 17)
#define SR_EA		(1ULL << 18)
#define SR_WRAP		(1ULL << 20)
#define SR_TRG		(1ULL << 21)
#define SR_IRQ		(1ULL << 22)
#define SR_EC		(0x3fULL << 26)
#define POLLS		100

#define OPCODE_NOP	0xd503201f
#define OPCODE_ISB	0xd5033fdf

static void die(const char *what)
{
	printf("# the driver: %s\n", what);
	abort();
}

static void msr(struct world *world, uint32_t reg, uint64_t value)
{
	uint64_t pc = world->driver_pc;

	world_instruction(world, OPCODE_NOP, PE_NONE);
	if (!pe_write(&world->pe, reg, pc, value) && pe_replaces(reg))
		die("a register is UNDEFINED");
}

static uint64_t mrs(struct world *world, uint32_t reg)
{
	uint64_t pc = world->driver_pc, value = 0;

	world_instruction(world, OPCODE_NOP, PE_NONE);
	if (!pe_read(&world->pe, reg, pc, &value))
		die("a register is UNDEFINED");
	return value;
}

static void isb(struct world *world)
{
	uint64_t pc = world->driver_pc;

	world_instruction(world, OPCODE_ISB, PE_ISB);
	pe_isb(&world->pe, pc);
}

static void dsb(struct world *world)
{
	uint64_t pc = world->driver_pc;

	world_instruction(world, OPCODE_NOP, PE_NONE);
	pe_dsb(&world->pe, pc);
}

static void tsb(struct world *world)
{
	uint64_t pc = world->driver_pc;

	world_instruction(world, OPCODE_NOP, PE_NONE);
	pe_tsb_csync(&world->pe, pc);
}

static uint64_t page_of(unsigned int i)
{
	return PAGES_AT + 2 * 4096 * (uint64_t)(PAGES_MAX - i);
}

uint8_t *world_memory(struct world *world, uint64_t address)
{
	uint64_t page = (address - BUFFER) / 4096;

	if (address < BUFFER || page >= PAGES_MAX)
		die("an address that is not of the buffer");
	return world->ram + (page_of(page) - RAM_BASE) + address % 4096;
}

static void put(struct world *world, uint64_t at, uint64_t value)
{
	memcpy(world->ram + (at - RAM_BASE), &value, sizeof(value));
}

void world_boot(struct world *world)
{
	static const unsigned int shifts[] = { 39, 30, 21, 12 };
	/* 48 bits in the upper half, 4 KB granule; 48 bits of physical addresses. */
	uint64_t tcr = 16ULL << 16 | 2ULL << 30 | 16 | 5ULL << 32;

	for (int level = 0; level < 3; level++)
		put(world, TABLES + 0x1000 * level + (BUFFER >> shifts[level] & 511) * 8,
		    (TABLES + 0x1000 * (level + 1)) | 3);
	for (unsigned int i = 0; i < PAGES_MAX; i++)
		put(world, TABLES + 0x3000 + ((BUFFER >> 12 & 511) + i) * 8,
		    page_of(i) | 1ULL << 10 | 3);
	world->driver_pc = 0xffff800008000000ULL;
	if (world->options.host) {
		world->sysregs[MACHINE_HCR_EL2] = 1ULL << 34 | 1ULL << 27;
		world->sysregs[MACHINE_SCTLR_EL2] = 1;
		world->sysregs[MACHINE_TCR_EL2] = tcr;
		world->sysregs[MACHINE_TTBR1_EL2] = TABLES;
	} else {
		world->sysregs[MACHINE_SCTLR_EL1] = 1;
		world->sysregs[MACHINE_TCR_EL1] = tcr;
		world->sysregs[MACHINE_TTBR1_EL1] = TABLES;
	}
	/* EL2 gives the buffer to EL1, and goes there. */
	if (world->options.el2 && !world->options.host)
		msr(world, SYSREG_MDCR_EL2, 3ULL << 24);
	if (world->options.el2)
		msr(world, SYSREG_TRFCR_EL2, world->options.host ? 0 : 8);
	pe_state(&world->pe, world->options.host, world->options.host, false);
	isb(world);
	if (world->options.el2 && !world->options.host) {
		world_instruction(world, OPCODE_NOP, PE_NONE);
		pe_return(&world->pe, 1);
	}
}

static void poll(struct world *world, uint64_t mask, uint64_t want)
{
	for (unsigned int i = 0; i < POLLS; i++) {
		isb(world);
		if ((mrs(world, TRCSTATR) & mask) == want)
			return;
	}
	die("TRCSTATR does not become what it should");
}

static uint64_t trfcr(const struct world *world)
{
	uint64_t value = world->options.by_victlr ? 3 : world->options.levels;

	return value | 3ULL << 5 | (world->options.host ? 8 : 0);
}

static uint64_t base(const struct world *world)
{
	(void)world;
	return BUFFER;
}

static uint64_t limit(const struct world *world)
{
	return BUFFER + 4096ULL * world->options.pages;
}

static void buffer_on(struct world *world)
{
	const struct world_options *options = &world->options;
	uint64_t limitr = limit(world) | options->mode << 1;

	/* TM: stop on trigger where there is a watermark, else it is ignored. */
	limitr |= options->watermark ? 1ULL << 3 : 3ULL << 3;
	world->pointer = base(world);
	/* Often with little room. */
	if (rng_one_in(&world->rng, 3))
		world->pointer += rng_below(&world->rng, options->pages * 2) * 2048;
	else if (rng_one_in(&world->rng, 2))
		world->pointer = limit(world) - 128 * (1 + rng_below(&world->rng, 8));
	msr(world, SYSREG_TRBSR_EL1, 0);
	msr(world, SYSREG_TRBBASER_EL1, base(world));
	msr(world, SYSREG_TRBPTR_EL1, world->pointer);
	if (options->watermark) {
		msr(world, SYSREG_TRBTRG_EL1, options->watermark);
		msr(world, SYSREG_TRBSR_EL1, SR_TRG);
	}
	isb(world);
	msr(world, SYSREG_TRBLIMITR_EL1, limitr | LIMITR_E);
	isb(world);
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

static void unit_on(struct world *world)
{
	const struct world_options *options = &world->options;
	unsigned int kernel = options->host ? 2 : 1;
	uint32_t victlr = 1 | 1 << 9;

	msr(world, TRCPRGCTLR, 0);
	poll(world, 1, 1);
	if (options->by_victlr && !(options->levels & 1))
		victlr |= 1 << 20;
	if (options->by_victlr && !(options->levels & 2))
		victlr |= 1U << (20 + kernel);
	msr(world, TRC(0x010), options->configr);
	msr(world, TRC(0x018), 0);
	msr(world, TRC(0x020), 0);
	msr(world, TRC(0x024), 0);
	msr(world, TRC(0x02c), 0);
	msr(world, TRC(0x030), 0);
	msr(world, TRC(0x034), options->syncpr);
	msr(world, TRC(0x038), options->ccctlr);
	msr(world, TRC(0x03c), 0);
	msr(world, TRC(0x040), 1);
	msr(world, TRC(0x080), victlr);
	msr(world, TRC(0x084), options->filter ? options->exclude ? 1 << 16 : 1 : 0);
	msr(world, TRC(0x088), 0);
	for (size_t i = 0; i < sizeof(unused) / sizeof(unused[0]); i++)
		for (unsigned int n = 0; n < unused[i].n; n++)
			msr(world, TRC(unused[i].offset + unused[i].step * n), 0);
	if (options->el2) {
		msr(world, TRC(0x640), 0);
		msr(world, TRC(0x688), 0);
	}
	if (options->filter) {
		const struct program *program = world->program;
		uint32_t i = rng_below(&world->rng, program->ninsns / 2);
		uint32_t j = i + rng_below(&world->rng, program->ninsns / 2);

		msr(world, TRC(0x400), program->insns[i].address);
		msr(world, TRC(0x408), program->insns[j].address);
	}
	msr(world, TRC(0x028), 1 << 12);
	isb(world);
	msr(world, TRCPRGCTLR, 1);
	poll(world, 1, 0);
	msr(world, SYSREG_TRFCR_EL1, trfcr(world));
	isb(world);
}

static void take(struct world *world, uint64_t from, uint64_t to, bool lossy)
{
	struct align_piece *more;
	uint8_t *bytes;

	if (from == to)
		return;
	if (from > to || to > limit(world))
		die("TRBPTR_EL1 is not in the buffer");
	more = realloc(world->collected, (world->ncollected + 1) * sizeof(*more));
	bytes = malloc(to - from);
	if (!more || !bytes)
		abort();
	for (uint64_t i = from; i < to; i++)
		bytes[i - from] = *world_memory(world, i);
	world->collected = more;
	more[world->ncollected++] = (struct align_piece){ bytes, to - from, lossy };
}

/* The buffer is drained and disabled: what is in it. Other modes than fill go around. */
static void collect(struct world *world)
{
	uint64_t pointer = mrs(world, SYSREG_TRBPTR_EL1), status = mrs(world, SYSREG_TRBSR_EL1);
	bool wrapped = status & SR_WRAP;

	world->truncated += wrapped;
	if (status & SR_EC || status & SR_EA)
		world->faults++;
	/* Nobody knows which bytes did not come to memory. */
	if (status & SR_EA) {
		world->discarded++;
		return;
	}
	if (wrapped && world->options.mode) {
		/* What was there before is older: from where it began, if it went around once. */
		take(world, pointer > world->pointer ? pointer : world->pointer, limit(world), true);
		take(world, base(world), pointer, false);
	} else {
		take(world, world->pointer, wrapped ? limit(world) : pointer, wrapped);
	}
}

static void prohibit(struct world *world)
{
	msr(world, SYSREG_TRFCR_EL1, world->options.host ? 8 : 0);
	isb(world);
}

static void drain(struct world *world)
{
	tsb(world);
	dsb(world);
	msr(world, SYSREG_TRBLIMITR_EL1, 0);
	isb(world);
	collect(world);
}

void world_start(struct world *world)
{
	msr(world, SYSREG_TRBLIMITR_EL1, 0);
	isb(world);
	buffer_on(world);
	unit_on(world);
	world->collecting = true;
}

void world_stop(struct world *world)
{
	prohibit(world);
	tsb(world);
	dsb(world);
	msr(world, TRCPRGCTLR, 0);
	poll(world, 3, 3);
	drain(world);
	world->collecting = false;
	/* Whatever it said is dealt with. */
	msr(world, SYSREG_TRBSR_EL1, 0);
	isb(world);
}

void world_interrupt(struct world *world)
{
	world->interrupts++;
	if (!world->collecting) {
		if (mrs(world, SYSREG_TRBSR_EL1) & SR_IRQ)
			die("an interrupt that was dealt with");
		world->spurious++;
		return;
	}
	prohibit(world);
	drain(world);
	if (!(mrs(world, SYSREG_TRBSR_EL1) & SR_IRQ))
		world->spurious++;
	buffer_on(world);
	msr(world, SYSREG_TRFCR_EL1, trfcr(world));
	isb(world);
}
