// SPDX-License-Identifier: GPL-2.0-or-later
/* A PE that executes a random program by chance and tells the model. */
#include "simulation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sysreg.h"

#define RAM_BASE	0x40000000ULL
#define RAM_SIZE	(4U << 20)

static bool now(struct simulation *sim, uint32_t in)
{
	return rng_one_in(&sim->rng, in);
}

/* --- The machine. --- */

static uint8_t *ram(struct simulation *sim, uint64_t physical, size_t n)
{
	if (physical < RAM_BASE || physical - RAM_BASE > RAM_SIZE - n)
		return NULL;
	return sim->ram + (physical - RAM_BASE);
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
	return ((struct simulation *)opaque)->sysregs[which];
}

static void machine_interrupt(void *opaque, unsigned int cpu, bool level)
{
	((struct simulation *)opaque)->level = level;
}

static uint64_t machine_counter(void *opaque, unsigned int cpu)
{
	struct simulation *sim = opaque;

	return sim->counter += rng_below(&sim->rng, now(sim, 100) ? 1U << 30 : 50);
}

/* --- What a seed decides. --- */

static uint32_t one_of(struct rng *rng, const uint32_t *of, uint32_t n)
{
	return of[rng_below(rng, n)];
}

static uint32_t random_configr(struct rng *rng, const struct simulation_options *options)
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

void simulation_choose(struct simulation_options *options, uint64_t seed)
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
	options->stop = options->watermark && rng_one_in(&rng, 2);
	/* So that it does before the buffer is full, or a session ends. */
	if (options->stop && rng_one_in(&rng, 2))
		options->watermark = 64 + rng_below(&rng, 512);
}

/* --- Making it. --- */

/* Instructions that follow each other in memory are a piece of the log's code. */
static void log_program(struct simulation *sim)
{
	const struct program *program = sim->program;
	uint32_t *opcodes = malloc(program->ninsns * sizeof(*opcodes));
	uint32_t begin = 0;

	sim->pieces = calloc(program->ninsns, sizeof(*sim->pieces));
	sim->first = calloc(program->ninsns, sizeof(*sim->first));
	if (!opcodes || !sim->pieces || !sim->first)
		abort();
	for (uint32_t i = 0; i < program->ninsns; i++)
		opcodes[i] = program->insns[i].opcode;
	for (uint32_t i = 1; i <= program->ninsns; i++) {
		uint32_t number;

		if (i < program->ninsns &&
		    program->insns[i].address == program->insns[i - 1].address + 4)
			continue;
		number = log_code(sim->log, program->insns[begin].address, opcodes + begin,
				  i - begin);
		for (uint32_t first = 0; begin < i; begin++, first++) {
			sim->pieces[begin] = number;
			sim->first[begin] = first;
		}
	}
	free(opcodes);
}

static uint32_t entry(struct simulation *sim, unsigned int group, bool handler)
{
	const struct program *program = sim->program;
	uint32_t first = program->first[group], n = program->first[group + 1] - first;
	const struct program_function *function;

	do {
		function = &program->functions[first + rng_below(&sim->rng, n)];
	} while (function->handler != handler);
	return function->first;
}

struct simulation *simulation_new(const struct simulation_options *options, uint64_t seed,
				  const char *prefix)
{
	const struct program_options program = { .classic = true, .functions = 12, .spaces = 1 };
	struct simulation *sim = calloc(1, sizeof(*sim));
	struct pe_config config = { .el2 = options->el2, .frequency = 1000000000 };

	if (!sim)
		abort();
	sim->options = *options;
	sim->rng.state = seed;
	sim->machine = (struct machine){ sim, machine_read, machine_write, machine_sysreg,
					   machine_interrupt, machine_counter };
	sim->ram = calloc(1, RAM_SIZE);
	sim->log = log_open(prefix);
	sim->program = program_new(&program, seed);
	if (!sim->ram || !sim->log || !sim->program)
		abort();
	log_program(sim);
	config.unit = &sim->options.unit;
	config.buffer = &sim->options.buffer;
	config.adversary = &sim->options.adversary;
	if (pe_init(&sim->pe, &config, &sim->machine, sim->log))
		abort();
	sim->at = entry(sim, PROGRAM_KERNEL, false);
	simulation_boot(sim);
	/* The kernel's functions do not leave it by themselves. */
	if (!now(sim, 4)) {
		sim->at = entry(sim, 0, false);
		pe_return(&sim->pe, 0);
	}
	return sim;
}

int simulation_end(struct simulation *sim)
{
	pe_free(&sim->pe);
	return log_close(sim->log);
}

void simulation_free(struct simulation *sim)
{
	for (size_t i = 0; i < sim->ncollected; i++)
		free((void *)sim->collected[i].bytes);
	free(sim->collected);
	program_free(sim->program);
	free(sim->pieces);
	free(sim->first);
	free(sim->ram);
	free(sim);
}

/* --- Executing. --- */

static const struct program_insn *current(const struct simulation *sim)
{
	return &sim->program->insns[sim->at];
}

static bool conditional_way(struct simulation *sim, const struct program_insn *insn)
{
	static const uint8_t eighths[] = { 1, 4, 4, 7 };

	return !insn->conditional || rng_below(&sim->rng, 8) < eighths[insn->bits >> 6 & 3];
}

static uint32_t somewhere(struct simulation *sim, const struct program_insn *insn)
{
	const struct program_function *function = &sim->program->functions[insn->function];
	uint32_t to;

	if (insn->what == INSN_RETURN && sim->ncalls && !now(sim, 50)) {
		to = sim->calls[--sim->ncalls];
		if (sim->program->functions[sim->program->insns[to].function].group ==
		    function->group)
			return to;
	}
	if (insn->what == INSN_TABLE && sim->at + 1 < function->first + function->count)
		return sim->at + 1 +
		       rng_below(&sim->rng, function->first + function->count - sim->at - 1);
	return entry(sim, function->group, false);
}

static void call(struct simulation *sim, uint32_t back)
{
	if (sim->ncalls == SIMULATION_CALLS)
		memmove(sim->calls, sim->calls + 1, --sim->ncalls * sizeof(*sim->calls));
	sim->calls[sim->ncalls++] = back;
}

/* How many instructions are executed in one go; the last may be of any kind. */
static uint32_t length(struct simulation *sim)
{
	const struct program *program = sim->program;
	uint32_t i = sim->at;

	while (program->insns[i].what == INSN_PLAIN && i + 1 < program->ninsns &&
	       program->insns[i + 1].address == program->insns[i].address + 4 && !now(sim, 40))
		i++;
	return i + 1 - sim->at;
}

static void take_exception(struct simulation *sim, enum pe_exception_kind kind, uint32_t syndrome)
{
	struct pe_exception exception = { .return_address = current(sim)->address, .kind = kind,
					  .syndrome = syndrome };

	if (sim->nsaved == SIMULATION_NESTED)
		return;
	sim->saved[sim->nsaved].at = sim->at;
	sim->saved[sim->nsaved++].el = sim->pe.el;
	sim->at = entry(sim, PROGRAM_KERNEL, true);
	exception.handler = current(sim)->address;
	exception.el = simulation_kernel_el(sim);
	pe_exception(&sim->pe, &exception);
}

/* Back to where an exception came from; or into user code afresh. */
static uint32_t return_to(struct simulation *sim, unsigned int *el)
{
	if (sim->nsaved) {
		*el = sim->saved[--sim->nsaved].el;
		return sim->saved[sim->nsaved].at;
	}
	*el = 0;
	sim->ncalls = 0;
	return entry(sim, 0, false);
}

static void switch_context(struct simulation *sim)
{
	uint64_t pc = current(sim)->address;

	sim->contextid = rng_below(&sim->rng, 5);
	pe_write(&sim->pe, SYSREG_CONTEXTIDR_EL1, pc, sim->contextid);
	if (sim->options.el2 && sim->pe.el == 2)
		pe_write(&sim->pe, sim->options.host ? SYSREG_CONTEXTIDR_EL12 :
			 SYSREG_CONTEXTIDR_EL2, pc, rng_below(&sim->rng, 3));
}

static void execute_block(struct simulation *sim)
{
	uint32_t n = length(sim), last = sim->at + n - 1, to = last + 1;
	const struct program_insn *insn = &sim->program->insns[last];
	struct pe_block block = {
		.address = current(sim)->address, .n = n, .code = sim->pieces[sim->at],
		.first = sim->first[sim->at],
	};
	unsigned int el = sim->pe.el;

	switch (insn->what) {
	case INSN_DIRECT:
		block.branch = PE_DIRECT;
		block.conditional = insn->conditional;
		block.taken = conditional_way(sim, insn);
		to = block.taken ? insn->to : to;
		break;
	case INSN_INDIRECT:
	case INSN_RETURN:
	case INSN_TABLE:
	case INSN_ERET:
		block.branch = PE_INDIRECT;
		block.taken = true;
		block.eret = insn->what == INSN_ERET;
		sim->at = last;
		to = block.eret ? return_to(sim, &el) : somewhere(sim, insn);
		break;
	case INSN_ISB:
		block.branch = PE_ISB;
		break;
	case INSN_WFX:
		block.branch = PE_WFX;
		break;
	}
	block.link = block.taken && insn->link;
	block.next = sim->program->insns[to].address;
	if (insn->what == INSN_ISB && sim->pe.el && now(sim, 4))
		switch_context(sim);
	pe_block(&sim->pe, &block);
	sim->executed += n;
	sim->at = to;
	if (block.link)
		call(sim, last + 1);
	if (block.eret)
		pe_return(&sim->pe, el);
	if (insn->what == INSN_ISB)
		pe_isb(&sim->pe, insn->address);
	if (insn->what == INSN_SVC)
		take_exception(sim, PE_SYNCHRONOUS, 0x15U << 26);
}

static void disturb(struct simulation *sim)
{
	static const uint8_t classes[] = { 0x00, 0x18, 0x20, 0x21, 0x22, 0x24, 0x25, 0x26, 0x2f,
					   0x30, 0x34, 0x3c, 0x01, 0x07 };

	if (now(sim, 150))
		take_exception(sim, PE_IRQ, 0);
	/* A process is scheduled. */
	if (sim->pe.el && now(sim, 400)) {
		sim->nsaved = 0;
		sim->ncalls = 0;
	}
	if (now(sim, 300))
		take_exception(sim, PE_SYNCHRONOUS,
			       (uint32_t)classes[rng_below(&sim->rng, sizeof(classes))] << 26);
	if (now(sim, 2000))
		take_exception(sim, now(sim, 2) ? PE_FIQ : PE_SERROR, 0);
	if (now(sim, 8))
		pe_tick(&sim->pe);
	if (sim->level && now(sim, sim->options.latency)) {
		simulation_enter(sim, PE_IRQ, 0);
		simulation_interrupt(sim);
		simulation_return(sim);
	}
}

static void execute(struct simulation *sim, uint64_t n)
{
	uint64_t end = sim->executed + n;

	while (sim->executed < end) {
		execute_block(sim);
		disturb(sim);
	}
}

void simulation_run(struct simulation *sim)
{
	for (unsigned int i = 0; i < sim->options.sessions; i++) {
		execute(sim, rng_below(&sim->rng, 1000));
		simulation_enter(sim, PE_SYNCHRONOUS, 0x15U << 26);
		simulation_start(sim);
		simulation_return(sim);
		execute(sim, sim->options.instructions);
		simulation_enter(sim, PE_SYNCHRONOUS, 0x15U << 26);
		simulation_stop(sim);
		simulation_return(sim);
	}
}

unsigned int simulation_kernel_el(const struct simulation *sim)
{
	return sim->options.host ? 2 : 1;
}

void simulation_enter(struct simulation *sim, enum pe_exception_kind kind, uint32_t syndrome)
{
	struct pe_exception exception = {
		.return_address = current(sim)->address, .handler = sim->driver_pc,
		.syndrome = syndrome, .kind = kind, .el = simulation_kernel_el(sim),
	};

	if (sim->nsaved == SIMULATION_NESTED)
		sim->nsaved--;
	sim->saved[sim->nsaved].at = sim->at;
	sim->saved[sim->nsaved++].el = sim->pe.el;
	pe_exception(&sim->pe, &exception);
}

void simulation_return(struct simulation *sim)
{
	unsigned int el;
	struct pe_block block = {
		.address = sim->driver_pc, .n = 1, .branch = PE_INDIRECT, .taken = true,
		.eret = true,
	};
	uint32_t opcode = 0xd69f03e0;

	sim->driver_pc += 4;
	sim->at = return_to(sim, &el);
	block.next = current(sim)->address;
	block.code = log_code(sim->log, block.address, &opcode, 1);
	pe_block(&sim->pe, &block);
	pe_return(&sim->pe, el);
}

void simulation_instruction(struct simulation *sim, uint32_t opcode, enum pe_branch branch)
{
	struct pe_block block = { .address = sim->driver_pc, .n = 1, .branch = branch };

	sim->driver_pc += 4;
	block.next = sim->driver_pc;
	if (!pe_wants(&sim->pe, sim->pe.el))
		return;
	block.code = log_code(sim->log, block.address, &opcode, 1);
	pe_block(&sim->pe, &block);
}
