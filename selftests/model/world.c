// SPDX-License-Identifier: GPL-2.0-or-later
/* A PE that executes a random program by chance and tells the model. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sysreg.h"

#define RAM_BASE	0x40000000ULL
#define RAM_SIZE	(4U << 20)

static bool now(struct world *world, uint32_t in)
{
	return rng_one_in(&world->rng, in);
}

/* --- The machine. --- */

static uint8_t *ram(struct world *world, uint64_t physical, size_t n)
{
	if (physical < RAM_BASE || physical - RAM_BASE > RAM_SIZE - n)
		return NULL;
	return world->ram + (physical - RAM_BASE);
}

static bool machine_read(void *opaque, unsigned int cpu, uint64_t physical, void *bytes, size_t n)
{
	uint8_t *at = ram(opaque, physical, n);

	if (at)
		memcpy(bytes, at, n);
	return at;
}

static bool machine_write(void *opaque, unsigned int cpu, uint64_t physical, const void *bytes,
			  size_t n)
{
	uint8_t *at = ram(opaque, physical, n);

	if (at)
		memcpy(at, bytes, n);
	return at;
}

static uint64_t machine_sysreg(void *opaque, unsigned int cpu, enum machine_register which)
{
	return ((struct world *)opaque)->sysregs[which];
}

static void machine_interrupt(void *opaque, unsigned int cpu, bool level)
{
	((struct world *)opaque)->level = level;
}

static uint64_t machine_counter(void *opaque, unsigned int cpu)
{
	struct world *world = opaque;

	return world->counter += rng_below(&world->rng, now(world, 100) ? 1U << 30 : 50);
}

/* --- What a seed decides. --- */

static uint32_t one_of(struct rng *rng, const uint32_t *of, uint32_t n)
{
	return of[rng_below(rng, n)];
}

static uint32_t random_configr(struct rng *rng, const struct world_options *options)
{
	uint32_t configr = 1;

	configr |= rng_one_in(rng, 4) << 3;			/* BB */
	configr |= rng_one_in(rng, 3) << 4;			/* CCI */
	configr |= rng_one_in(rng, 2) << 6;			/* CID */
	if (options->el2)
		configr |= rng_one_in(rng, 2) * (1U << 7 | 1U << 15);	/* VMID, VMIDOPT */
	configr |= rng_one_in(rng, 2) << 11;			/* TS */
	if (options->unit.return_stack)
		configr |= rng_one_in(rng, 2) << 12;		/* RS */
	return configr;
}

static uint32_t random_adversary(struct rng *rng)
{
	uint32_t what = 0;

	if (rng_one_in(rng, 4))
		return 0;
	for (unsigned int i = 0; i < ADVERSARY_BITS; i++)
		what |= (uint32_t)rng_one_in(rng, 2) << i;
	if (rng_one_in(rng, 2))
		what &= ~(ADVERSARY(ABORT) | ADVERSARY(FAULT));
	if (rng_one_in(rng, 2))
		what &= ~ADVERSARY(PACKETS);
	return what;
}

void world_choose(struct world_options *options, uint64_t seed)
{
	static const uint32_t speculation[] = { 0, 0, 8, 64, 255 }, modes[] = { 0, 0, 0, 1, 3 };
	struct rng rng = { seed ^ 0x776f726c64 };

	memset(options, 0, sizeof(*options));
	options->unit = trace_unit_defaults;
	options->buffer = trace_buffer_defaults;
	options->buffer.errata = 0;
	options->buffer.align = rng_below(&rng, 8);
	options->unit.maxspec = one_of(&rng, speculation, 5);
	options->unit.commopt = !options->unit.maxspec || rng_one_in(&rng, 2);
	options->unit.return_stack = rng_one_in(&rng, 4) ? 0 : 1 + rng_below(&rng, 15);
	options->unit.wfx = rng_one_in(&rng, 2);
	options->el2 = rng_one_in(&rng, 2);
	options->host = options->el2 && rng_one_in(&rng, 2);
	options->configr = random_configr(&rng, options);
	options->syncpr = rng_one_in(&rng, 4) ? 0 : 8 + rng_below(&rng, 6);
	options->ccctlr = 4 + rng_below(&rng, 100);
	options->levels = 1 + rng_below(&rng, 3);
	options->by_victlr = rng_one_in(&rng, 3);
	options->filter = rng_one_in(&rng, 4);
	options->exclude = rng_one_in(&rng, 3);
	options->mode = one_of(&rng, modes, 5);
	options->pages = 2 + rng_below(&rng, 6);
	if (rng_one_in(&rng, 3))
		options->watermark = 64 + rng_below(&rng, options->pages * 4096);
	options->latency = 1 + rng_below(&rng, rng_one_in(&rng, 3) ? 300 : 10);
	options->adversary.rate = rng_one_in(&rng, 3) ? 5 + rng_below(&rng, 100) : 0;
	options->sessions = 1 + rng_below(&rng, 4);
	options->instructions = 2000 + rng_below(&rng, 20000);
	options->adversary.seed = seed;
	options->adversary.what = random_adversary(&rng);
}

/* --- Making it. --- */

/* Instructions that follow each other in memory are a piece of the log's code. */
static void log_program(struct world *world)
{
	const struct program *program = world->program;
	uint32_t *opcodes = malloc(program->ninsns * sizeof(*opcodes));
	uint32_t begin = 0;

	world->pieces = calloc(program->ninsns, sizeof(*world->pieces));
	world->first = calloc(program->ninsns, sizeof(*world->first));
	if (!opcodes || !world->pieces || !world->first)
		abort();
	for (uint32_t i = 0; i < program->ninsns; i++)
		opcodes[i] = program->insns[i].opcode;
	for (uint32_t i = 1; i <= program->ninsns; i++) {
		uint32_t number;

		if (i < program->ninsns &&
		    program->insns[i].address == program->insns[i - 1].address + 4)
			continue;
		number = log_code(world->log, program->insns[begin].address, opcodes + begin,
				  i - begin);
		for (uint32_t first = 0; begin < i; begin++, first++) {
			world->pieces[begin] = number;
			world->first[begin] = first;
		}
	}
	free(opcodes);
}

static uint32_t entry(struct world *world, unsigned int group, bool handler)
{
	const struct program *program = world->program;
	uint32_t first = program->first[group], n = program->first[group + 1] - first;
	const struct program_function *function;

	do {
		function = &program->functions[first + rng_below(&world->rng, n)];
	} while (function->handler != handler);
	return function->first;
}

struct world *world_new(const struct world_options *options, uint64_t seed, const char *prefix)
{
	const struct program_options program = { .classic = true, .functions = 12, .spaces = 1 };
	struct world *world = calloc(1, sizeof(*world));
	struct pe_config config = { .el2 = options->el2, .frequency = 1000000000 };

	if (!world)
		abort();
	world->options = *options;
	world->rng.state = seed;
	world->machine = (struct machine){ world, machine_read, machine_write, machine_sysreg,
					   machine_interrupt, machine_counter };
	world->ram = calloc(1, RAM_SIZE);
	world->log = log_open(prefix);
	world->program = program_new(&program, seed);
	if (!world->ram || !world->log || !world->program)
		abort();
	log_program(world);
	config.unit = &world->options.unit;
	config.buffer = &world->options.buffer;
	config.adversary = &world->options.adversary;
	if (pe_init(&world->pe, &config, &world->machine, world->log))
		abort();
	world->at = entry(world, PROGRAM_KERNEL, false);
	world_boot(world);
	/* The kernel's functions do not leave it by themselves. */
	if (!now(world, 4)) {
		world->at = entry(world, 0, false);
		pe_return(&world->pe, 0);
	}
	return world;
}

int world_end(struct world *world)
{
	pe_free(&world->pe);
	return log_close(world->log);
}

void world_free(struct world *world)
{
	for (size_t i = 0; i < world->ncollected; i++)
		free((void *)world->collected[i].bytes);
	free(world->collected);
	program_free(world->program);
	free(world->pieces);
	free(world->first);
	free(world->ram);
	free(world);
}

/* --- Executing. --- */

static const struct program_insn *current(const struct world *world)
{
	return &world->program->insns[world->at];
}

static bool conditional_way(struct world *world, const struct program_insn *insn)
{
	static const uint8_t eighths[] = { 1, 4, 4, 7 };

	return !insn->conditional || rng_below(&world->rng, 8) < eighths[insn->bits >> 6 & 3];
}

static uint32_t somewhere(struct world *world, const struct program_insn *insn)
{
	const struct program_function *function = &world->program->functions[insn->function];
	uint32_t to;

	if (insn->what == INSN_RETURN && world->ncalls && !now(world, 50)) {
		to = world->calls[--world->ncalls];
		if (world->program->functions[world->program->insns[to].function].group ==
		    function->group)
			return to;
	}
	if (insn->what == INSN_TABLE && world->at + 1 < function->first + function->count)
		return world->at + 1 +
		       rng_below(&world->rng, function->first + function->count - world->at - 1);
	return entry(world, function->group, false);
}

static void call(struct world *world, uint32_t back)
{
	if (world->ncalls == WORLD_CALLS)
		memmove(world->calls, world->calls + 1, --world->ncalls * sizeof(*world->calls));
	world->calls[world->ncalls++] = back;
}

/* How many instructions are executed in one go; the last may be of any kind. */
static uint32_t length(struct world *world)
{
	const struct program *program = world->program;
	uint32_t i = world->at;

	while (program->insns[i].what == INSN_PLAIN && i + 1 < program->ninsns &&
	       program->insns[i + 1].address == program->insns[i].address + 4 && !now(world, 40))
		i++;
	return i + 1 - world->at;
}

static void take_exception(struct world *world, enum pe_exception_kind kind, uint32_t syndrome)
{
	struct pe_exception exception = { .return_address = current(world)->address, .kind = kind,
					  .syndrome = syndrome };

	if (world->nsaved == WORLD_NESTED)
		return;
	world->saved[world->nsaved].at = world->at;
	world->saved[world->nsaved++].el = world->pe.el;
	world->at = entry(world, PROGRAM_KERNEL, true);
	exception.handler = current(world)->address;
	exception.el = world_kernel_el(world);
	pe_exception(&world->pe, &exception);
}

/* Back to where an exception came from; or into user code afresh. */
static uint32_t return_to(struct world *world, unsigned int *el)
{
	if (world->nsaved) {
		*el = world->saved[--world->nsaved].el;
		return world->saved[world->nsaved].at;
	}
	*el = 0;
	world->ncalls = 0;
	return entry(world, 0, false);
}

static void switch_context(struct world *world)
{
	uint64_t pc = current(world)->address;

	world->contextid = rng_below(&world->rng, 5);
	pe_write(&world->pe, SYSREG_CONTEXTIDR_EL1, pc, world->contextid);
	if (world->options.el2 && world->pe.el == 2)
		pe_write(&world->pe, world->options.host ? SYSREG_CONTEXTIDR_EL12 :
			 SYSREG_CONTEXTIDR_EL2, pc, rng_below(&world->rng, 3));
}

static void execute_block(struct world *world)
{
	uint32_t n = length(world), last = world->at + n - 1, to = last + 1;
	const struct program_insn *insn = &world->program->insns[last];
	struct pe_block block = {
		.address = current(world)->address, .n = n, .code = world->pieces[world->at],
		.first = world->first[world->at],
	};
	unsigned int el = world->pe.el;

	switch (insn->what) {
	case INSN_DIRECT:
		block.branch = PE_DIRECT;
		block.taken = conditional_way(world, insn);
		to = block.taken ? insn->to : to;
		break;
	case INSN_INDIRECT:
	case INSN_RETURN:
	case INSN_TABLE:
	case INSN_ERET:
		block.branch = PE_INDIRECT;
		block.taken = true;
		block.eret = insn->what == INSN_ERET;
		world->at = last;
		to = block.eret ? return_to(world, &el) : somewhere(world, insn);
		break;
	case INSN_ISB:
		block.branch = PE_ISB;
		break;
	case INSN_WFX:
		block.branch = PE_WFX;
		break;
	}
	block.link = block.taken && insn->link;
	block.next = world->program->insns[to].address;
	if (insn->what == INSN_ISB && world->pe.el && now(world, 4))
		switch_context(world);
	pe_block(&world->pe, &block);
	world->executed += n;
	world->at = to;
	if (block.link)
		call(world, last + 1);
	if (block.eret)
		pe_return(&world->pe, el);
	if (insn->what == INSN_ISB)
		pe_isb(&world->pe, insn->address);
	if (insn->what == INSN_SVC)
		take_exception(world, PE_SYNCHRONOUS, 0x15U << 26);
}

static void disturb(struct world *world)
{
	static const uint8_t classes[] = { 0x00, 0x18, 0x20, 0x21, 0x22, 0x24, 0x25, 0x26, 0x2f,
					   0x30, 0x34, 0x3c, 0x01, 0x07 };

	if (now(world, 150))
		take_exception(world, PE_IRQ, 0);
	/* A process is scheduled. */
	if (world->pe.el && now(world, 400)) {
		world->nsaved = 0;
		world->ncalls = 0;
	}
	if (now(world, 300))
		take_exception(world, PE_SYNCHRONOUS,
			       (uint32_t)classes[rng_below(&world->rng, sizeof(classes))] << 26);
	if (now(world, 2000))
		take_exception(world, now(world, 2) ? PE_FIQ : PE_SERROR, 0);
	if (now(world, 8))
		pe_tick(&world->pe);
	if (world->level && now(world, world->options.latency)) {
		world_enter(world, PE_IRQ, 0);
		world_interrupt(world);
		world_return(world);
	}
}

static void execute(struct world *world, uint64_t n)
{
	uint64_t end = world->executed + n;

	while (world->executed < end) {
		execute_block(world);
		disturb(world);
	}
}

void world_run(struct world *world)
{
	for (unsigned int i = 0; i < world->options.sessions; i++) {
		execute(world, rng_below(&world->rng, 1000));
		world_enter(world, PE_SYNCHRONOUS, 0x15U << 26);
		world_start(world);
		world_return(world);
		execute(world, world->options.instructions);
		world_enter(world, PE_SYNCHRONOUS, 0x15U << 26);
		world_stop(world);
		world_return(world);
	}
}

unsigned int world_kernel_el(const struct world *world)
{
	return world->options.host ? 2 : 1;
}

void world_enter(struct world *world, enum pe_exception_kind kind, uint32_t syndrome)
{
	struct pe_exception exception = {
		.return_address = current(world)->address, .handler = world->driver_pc,
		.syndrome = syndrome, .kind = kind, .el = world_kernel_el(world),
	};

	if (world->nsaved == WORLD_NESTED)
		world->nsaved--;
	world->saved[world->nsaved].at = world->at;
	world->saved[world->nsaved++].el = world->pe.el;
	pe_exception(&world->pe, &exception);
}

void world_return(struct world *world)
{
	unsigned int el;
	struct pe_block block = {
		.address = world->driver_pc, .n = 1, .branch = PE_INDIRECT, .taken = true,
		.eret = true,
	};
	uint32_t opcode = 0xd69f03e0;

	world->driver_pc += 4;
	world->at = return_to(world, &el);
	block.next = current(world)->address;
	block.code = log_code(world->log, block.address, &opcode, 1);
	pe_block(&world->pe, &block);
	pe_return(&world->pe, el);
}

void world_instruction(struct world *world, uint32_t opcode, enum pe_branch branch)
{
	struct pe_block block = { .address = world->driver_pc, .n = 1, .branch = branch };

	world->driver_pc += 4;
	block.next = world->driver_pc;
	if (!pe_wants(&world->pe, world->pe.el))
		return;
	block.code = log_code(world->log, block.address, &opcode, 1);
	pe_block(&world->pe, &block);
}
