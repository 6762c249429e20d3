// SPDX-License-Identifier: GPL-2.0-only
/* Random programs: functions, where they lie, what their branches go to, and their bytes. */
#include "program.h"

#include <stdlib.h>
#include <string.h>

#define A64_REACH	(100LL << 20)
#define A32_REACH	(30LL << 20)
#define T32_REACH	(15LL << 20)

static struct program_insn *add(struct program *program)
{
	struct program_insn *insn;

	if (program->ninsns == program->capacity) {
		program->capacity = program->capacity ? 2 * program->capacity : 1024;
		program->insns = realloc(program->insns, program->capacity * sizeof(*insn));
		if (!program->insns)
			abort();
	}
	insn = &program->insns[program->ninsns++];
	memset(insn, 0, sizeof(*insn));
	insn->function = program->nfunctions;
	return insn;
}

static void choose(struct program *program, uint8_t isa, enum insn_role role)
{
	struct program_insn *insn = add(program);

	if (isa == FLOWTAP_ISA_A64)
		program_a64_choose(insn, role, &program->rng, &program->options);
	else if (isa == FLOWTAP_ISA_A32)
		program_a32_choose(insn, role, &program->rng);
	else
		program_t32_choose(insn, role, &program->rng, &program->options);
}

static void it_block(struct program *program)
{
	unsigned int n = 1 + rng_below(&program->rng, 4);
	bool branch = rng_one_in(&program->rng, 2);

	program_t32_it(add(program), n, &program->rng);
	for (unsigned int i = 0; i < n; i++) {
		if (i == n - 1 && branch)
			program_t32_it_branch(add(program), &program->rng);
		else
			choose(program, FLOWTAP_ISA_T32, ROLE_IT);
		program->insns[program->ninsns - 1].in_it = true;
	}
}

/* As what was added last, one that does this. */
static void insist(struct program *program, uint8_t isa, enum insn_role role, enum insn_what what,
		   bool link)
{
	struct program_insn *insn;

	do {
		choose(program, isa, role);
		insn = &program->insns[program->ninsns - 1];
		if (insn->what == what && insn->link == link)
			return;
		program->ninsns--;
	} while (true);
}

static void body(struct program *program, uint8_t isa, unsigned int n)
{
	struct rng *rng = &program->rng;

	for (unsigned int i = 0; i < n; i++) {
		if (isa == FLOWTAP_ISA_T32 && rng_one_in(rng, 12))
			it_block(program);
		else if (rng_one_in(rng, 5))
			choose(program, isa, ROLE_TRANSFER);
		else
			choose(program, isa, ROLE_PLAIN);
	}
}

static void link_of_chain(struct program *program, uint8_t isa)
{
	choose(program, isa, ROLE_PLAIN);
	insist(program, isa, ROLE_TRANSFER, INSN_DIRECT, true);
	program->insns[program->ninsns - 1].conditional = false;
	choose(program, isa, ROLE_PLAIN);
	insist(program, isa, ROLE_END, INSN_RETURN, false);
}

static void add_function(struct program *program, uint8_t group, uint8_t isa, bool handler)
{
	struct program_function *function = &program->functions[program->nfunctions];
	struct rng *rng = &program->rng;
	unsigned int n = program->options.plain ? 30 + rng_below(rng, 60) : 3 + rng_below(rng, 40);

	*function = (struct program_function){ program->ninsns, 0, isa, group, handler };
	if (program->options.chain && !handler) {
		link_of_chain(program, isa);
	} else {
		body(program, isa, n);
		choose(program, isa, handler ? ROLE_ERET : ROLE_END);
	}
	function->count = program->ninsns - function->first;
	program->nfunctions++;
}

static uint64_t base_of(const struct program *program, unsigned int group)
{
	bool narrow = group == PROGRAM_KERNEL ? program->options.kernel32 :
						program->options.aarch32;

	if (group == PROGRAM_KERNEL && program->options.m_profile)
		return 0x60008000;
	if (group == PROGRAM_KERNEL)
		return narrow ? 0xc0008000 : 0xffff800080010000;
	return narrow ? 0x10000 : program->options.plain ? 0x400000 : 0xaaaac0de0000;
}

static void lay_out(struct program *program)
{
	struct rng *rng = &program->rng;
	uint64_t address = 0;

	for (uint32_t f = 0; f < program->nfunctions; f++) {
		struct program_function *function = &program->functions[f];
		uint32_t first = program->first[function->group];
		uint32_t n = program->first[function->group + 1] - first;

		if (f == first)
			address = base_of(program, function->group);
		else if (!program->options.plain && (f - first) % (n / 4 + 1) == 0)
			address += function->isa == FLOWTAP_ISA_A64 && rng_one_in(rng, 3) ?
				   0x200000000 : rng_one_in(rng, 2) ? 0x10000 : 0x400000;
		else if (rng_one_in(rng, 4))
			address += 4 * rng_below(rng, 64);
		if (function->isa != FLOWTAP_ISA_T32)
			address = (address + 3) & ~3ULL;
		for (uint32_t i = 0; i < function->count; i++) {
			struct program_insn *insn = &program->insns[function->first + i];

			insn->address = address;
			address += insn->size;
		}
	}
}

static uint32_t callee(struct program *program, uint32_t from, uint8_t isa, int64_t reach)
{
	const struct program_function *caller = &program->functions[from];
	uint32_t first = program->first[caller->group], end = program->first[caller->group + 1];
	uint64_t here = program->insns[caller->first].address;

	if (program->options.chain && caller->handler)
		return UINT32_MAX;
	for (unsigned int tries = 0; tries < 200; tries++) {
		uint32_t to = program->options.chain ? from + 1 + tries :
			      first + rng_below(&program->rng, end - first);
		const struct program_function *function = &program->functions[to];
		int64_t distance;

		if (to >= end)
			break;
		distance = program->insns[function->first].address - here;
		/* Like a real call tree, which ends. */
		if (program->options.plain && !rng_one_in(&program->rng, 64) &&
		    (to <= from || to > from + 12))
			continue;
		if (!function->handler && function->isa == isa && distance < reach &&
		    distance > -reach)
			return function->first;
	}
	return UINT32_MAX;
}

/* A place in the function, `reach` instructions away at most, that is not inside an IT block. */
static uint32_t nearby(struct program *program, uint32_t at, unsigned int reach, bool forward)
{
	const struct program_function *function = &program->functions[program->insns[at].function];
	uint32_t low = forward ? at + 1 : function->first, high = function->first + function->count;
	uint32_t to;

	if (low + reach < at)
		low = at - reach;
	if (high > at + reach)
		high = at + reach;
	if (low >= high)
		return at;
	to = low + rng_below(&program->rng, high - low);
	while (program->insns[to].in_it)
		to--;
	return to;
}

static void aim(struct program *program, uint32_t at)
{
	struct program_insn *insn = &program->insns[at];
	uint32_t function = insn->function;
	unsigned int reach = 200;
	bool forward = false, last;
	uint8_t isa = insn->isa;

	if (insn->isa == FLOWTAP_ISA_T32)
		reach = program_t32_reach(insn, &forward);
	if (insn->isa == FLOWTAP_ISA_T32 && program_t32_exchanges(insn))
		isa = FLOWTAP_ISA_A32;
	if (insn->isa == FLOWTAP_ISA_A32 && program_a32_exchanges(insn))
		isa = FLOWTAP_ISA_T32;
	last = at + 1 == program->functions[function].first + program->functions[function].count;
	if (insn->link || last) {
		insn->to = callee(program, function, isa, insn->isa == FLOWTAP_ISA_A64 ? A64_REACH :
				  insn->isa == FLOWTAP_ISA_A32 ? A32_REACH : T32_REACH);
		return;
	}
	if (program->options.plain) {
		forward = !rng_one_in(&program->rng, 5);
		reach = forward ? 12 : 25;
	}
	forward |= !insn->conditional;
	insn->to = nearby(program, at, reach, forward);
	if (insn->to <= at && forward)
		insn->to = at + 1;
	if (insn->to > at && insn->isa == FLOWTAP_ISA_T32 && program_t32_loops(insn))
		insn->to = at;
	/* CBZ goes to the instruction at the address 4 further on at least. */
	if (insn->isa == FLOWTAP_ISA_T32 && program_t32_skips(insn) &&
	    program->insns[insn->to].address < insn->address + 4)
		insn->to = UINT32_MAX;
}

/* What found nothing to call becomes something that goes nowhere. */
static void aim_all(struct program *program)
{
	for (uint32_t i = 0; i < program->ninsns; i++) {
		struct program_insn *insn = &program->insns[i];
		uint8_t size = insn->size;

		if (insn->what != INSN_DIRECT)
			continue;
		aim(program, i);
		while (insn->what == INSN_DIRECT && insn->to == UINT32_MAX) {
			enum insn_role role = i + 1 < program->ninsns &&
					      insn[1].function == insn->function ? ROLE_PLAIN :
					      ROLE_END;

			if (insn->isa == FLOWTAP_ISA_A64)
				program_a64_choose(insn, role, &program->rng, &program->options);
			else if (insn->isa == FLOWTAP_ISA_A32)
				program_a32_choose(insn, role, &program->rng);
			else
				program_t32_choose(insn, role, &program->rng,
						   &program->options);
			if (insn->size != size || insn->what == INSN_DIRECT) {
				insn->what = INSN_DIRECT;
				insn->to = UINT32_MAX;
			}
		}
	}
}

static uint32_t encode(const struct program *program, const struct program_insn *insn)
{
	int64_t distance = insn->what == INSN_DIRECT ?
			   program->insns[insn->to].address - insn->address : 0;

	if (insn->isa == FLOWTAP_ISA_A64)
		return program_a64_encode(insn, distance);
	if (insn->isa == FLOWTAP_ISA_A32)
		return program_a32_encode(insn, distance);
	return program_t32_encode(insn, distance);
}

static void put(uint8_t *bytes, const struct program_insn *insn)
{
	uint32_t opcode = insn->opcode;

	if (insn->isa == FLOWTAP_ISA_T32 && insn->size == 4)
		opcode = opcode >> 16 | opcode << 16;
	for (unsigned int i = 0; i < insn->size; i++)
		bytes[i] = opcode >> 8 * i;
}

static bool splits(struct program *program, uint32_t i)
{
	const struct program_insn *insn = &program->insns[i], *before = insn - 1;
	bool begins = insn->function != before->function;

	if (program->functions[insn->function].group !=
		    program->functions[before->function].group ||
	    before->address + before->size != insn->address)
		return true;
	return !program->options.plain && !insn->in_it &&
	       rng_one_in(&program->rng, begins ? 8 : 400);
}

/* Instructions without a gap between them become a region; some are split where there is none. */
static void make_regions(struct program *program)
{
	uint32_t first = 0, capacity = 0;

	for (uint32_t i = 1; i <= program->ninsns; i++) {
		const struct program_insn *last = &program->insns[i - 1];
		uint64_t start = program->insns[first].address, size;
		struct program_region *region;
		uint8_t *bytes;

		if (i < program->ninsns && !splits(program, i))
			continue;
		if (program->nregions == capacity) {
			capacity = capacity ? 2 * capacity : 64;
			program->regions = realloc(program->regions, capacity * sizeof(*region));
			if (!program->regions)
				abort();
		}
		region = &program->regions[program->nregions++];
		size = last->address + last->size - start;
		/* Exactly so many, that reading more is seen. */
		bytes = malloc(size);
		if (!bytes)
			abort();
		for (; first < i; first++) {
			struct program_insn *insn = &program->insns[first];

			insn->opcode = encode(program, insn);
			put(bytes + (insn->address - start), insn);
		}
		*region = (struct program_region){
			{ .start = start, .end = start + size, .until = UINT64_MAX, .bytes = bytes,
			  .path = "program", .key = program->nregions, .file = UINT32_MAX },
			program->functions[last->function].group
		};
	}
}

struct program *program_new(const struct program_options *options, uint64_t seed)
{
	struct program *program = calloc(1, sizeof(*program));
	unsigned int n = options->functions;

	if (!program)
		abort();
	program->options = *options;
	program->rng.state = seed;
	program->functions = calloc(PROGRAM_GROUPS * n, sizeof(*program->functions));
	if (!program->functions)
		abort();
	for (unsigned int group = 0; group < PROGRAM_GROUPS; group++) {
		bool kernel = group == PROGRAM_KERNEL;
		bool narrow = kernel ? options->kernel32 : options->aarch32;

		program->first[group] = program->nfunctions;
		for (unsigned int i = 0; i < n && (kernel || group < options->spaces); i++)
			add_function(program, group, !narrow ? FLOWTAP_ISA_A64 :
				     i & 1 || options->m_profile ? FLOWTAP_ISA_T32 : FLOWTAP_ISA_A32,
				     kernel && i >= n / 2);
	}
	program->first[PROGRAM_GROUPS] = program->nfunctions;
	lay_out(program);
	aim_all(program);
	make_regions(program);
	return program;
}

void program_free(struct program *program)
{
	if (!program)
		return;
	for (uint32_t i = 0; i < program->nregions; i++)
		free((void *)program->regions[i].code.bytes);
	free(program->regions);
	free(program->functions);
	free(program->insns);
	free(program);
}

const struct flowtap_code *program_find(const struct program *program, unsigned int group,
					uint64_t address)
{
	for (uint32_t i = 0; i < program->nregions; i++) {
		const struct program_region *region = &program->regions[i];

		if (address >= region->code.start && address < region->code.end &&
		    (region->group == group || region->group == PROGRAM_KERNEL))
			return &region->code;
	}
	return NULL;
}
