// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Blocks made of the instructions that a trace holds. As long as they are those of the block that
 * was last at the address, they are only compared with it.
 */
#include "base/hash_table.h"
#include "flow/elsewhere.h"
#include "isa/block_end.h"
#include "isa/learned_internal.h"

#include <errno.h>
#include <flowtap/arm.h>
#include <flowtap/riscv.h>
#include <stdlib.h>
#include <string.h>

#define ARENA		(256U << 10)

struct learned_arena {
	struct learned_arena *next;
	size_t used;
	uint8_t bytes[ARENA];
};

/* What one instruction is to a block. */
struct kind {
	uint8_t length;
	uint8_t it;
	uint8_t end;
	bool direct;
	bool conditional;
	bool link;
	uint8_t target_isa;
	uint64_t target;
};

/* A vendor's instruction may do anything; one of more than 32 bits has no record anywhere. */
static int classify_riscv(uint64_t address, const uint8_t *bytes, size_t size, struct kind *kind)
{
	struct flowtap_riscv_insn insn;
	int status = flowtap_riscv_classify(bytes, size, &insn);

	if (status == -EILSEQ && (bytes[0] & 0x1f) != 0x1f) {
		insn.transfer = FLOWTAP_TRANSFER_INDIRECT_JUMP;
		insn.conditional = true;
	} else if (status) {
		return status;
	}
	*kind = (struct kind){
		.length = insn.length,
		.end = insn.transfer,
		.direct = insn.direct,
		.conditional = insn.conditional,
		.target_isa = FLOWTAP_ISA_RV64,
		.target = insn.direct ? address + (uint64_t)(int64_t)insn.offset : 0,
	};
	return 0;
}

static int classify(unsigned int isa, uint64_t address, uint8_t it, const uint8_t *bytes,
		    size_t size, struct kind *kind)
{
	struct flowtap_arm_insn insn;
	int status;

	if (isa == FLOWTAP_ISA_RV64)
		return classify_riscv(address, bytes, size, kind);
	status = flowtap_arm_classify((enum flowtap_isa)isa, address, it, bytes, size, &insn);
	if (status)
		return status;
	*kind = (struct kind){ .length = insn.length, .it = insn.it, .target_isa = isa };
	if (insn.kind == FLOWTAP_ARM_OTHER || insn.kind == FLOWTAP_ARM_WFX)
		return 0;
	kind->end = insn.kind;
	kind->direct = insn.direct;
	kind->conditional = insn.conditional;
	kind->link = insn.link;
	kind->target_isa = insn.target_isa;
	kind->target = insn.target;
	return 0;
}

/*
 * flowtap_block_decode: all of the bytes are the block, as flowtap_learned_instruction took them.
 */
static int decode(struct flowtap_block *block, const uint8_t *bytes, size_t available)
{
	struct kind kind = { 0 };
	size_t at = 0;
	int status;

	block->instructions = 0;
	do {
		status = classify(block->isa, block->address + at, kind.it, bytes + at,
				  available - at, &kind);
		if (status)
			return status;
		block->last = at;
		block->instructions++;
		at += kind.length;
	} while (at < available);
	block->size = at;
	block->end = kind.end;
	block->direct = kind.direct;
	block->conditional = kind.conditional;
	block->link = kind.link;
	block->target = kind.target;
	block->target_isa = kind.target_isa;
	return 0;
}

struct flowtap_learned *flowtap_learned_new(size_t limit)
{
	struct flowtap_learned *learned = calloc(1, sizeof(*learned));

	if (!learned)
		return NULL;
	flowtap_learned_sink(learned, NULL);
	learned->blocks = flowtap_blocks_new(decode, limit);
	if (learned->blocks)
		return learned;
	free(learned);
	return NULL;
}

static void free_arenas(struct flowtap_learned *learned)
{
	struct learned_arena *arena, *next;

	for (arena = learned->arenas; arena; arena = next) {
		next = arena->next;
		free(arena);
	}
	learned->arenas = NULL;
}

void flowtap_learned_free(struct flowtap_learned *learned)
{
	if (!learned)
		return;
	flowtap_blocks_free(learned->blocks);
	free_arenas(learned);
	free(learned);
}

struct flowtap_blocks *flowtap_learned_blocks(struct flowtap_learned *learned)
{
	return learned->blocks;
}

void flowtap_learned_sink(struct flowtap_learned *learned, struct flowtap_sink *sink)
{
	learned->sink = sink;
	learned->cut = false;
	learned->part.before = false;
	learned->part.over = false;
	learned->part.until = UINT64_MAX;
}

bool flowtap_learned_trim(struct flowtap_learned *learned)
{
	learned->added = 0;
	if (!flowtap_blocks_trim(learned->blocks))
		return false;
	free_arenas(learned);
	memset(learned->recent, 0, sizeof(learned->recent));
	learned->run.guess = NULL;
	learned->last = NULL;
	return true;
}

/* Where no run is held. A long block and what sinks keep with it may be a MiB: one by one. */
static void look_at_limit(struct flowtap_learned *learned)
{
	if (learned->added)
		flowtap_learned_trim(learned);
}

/* Bytes that live as long as the blocks; NULL: no memory. */
static const uint8_t *keep(struct flowtap_learned *learned, const uint8_t *bytes, size_t size)
{
	struct learned_arena *arena = learned->arenas;

	if (!arena || ARENA - arena->used < size) {
		arena = malloc(sizeof(*arena));
		if (!arena)
			return NULL;
		arena->next = learned->arenas;
		arena->used = 0;
		learned->arenas = arena;
		flowtap_blocks_charge(learned->blocks, sizeof(*arena));
	}
	memcpy(arena->bytes + arena->used, bytes, size);
	arena->used += size;
	return arena->bytes + arena->used - size;
}

/* The block of the bytes of the run, from the cache or made. Which ones they are, the key says. */
static int look_up(struct flowtap_learned *learned, struct flowtap_block **found)
{
	const struct learned_run *run = &learned->run;
	struct flowtap_code code = {
		.start = run->address,
		.end = run->address + run->size,
		.bytes = run->bytes,
		.key = (uint32_t)flowtap_hash(run->address, run->bytes, run->size) >> 1,
	};
	struct flowtap_block *block;
	int status;

	for (;; code.key++) {
		status = flowtap_blocks_get(learned->blocks, &code, (enum flowtap_isa)run->isa,
					    run->address, run->whole ? 0 : code.end, &block);
		if (status)
			return status;
		if (block->bytes == run->bytes)
			break;
		if (block->size == run->size && !memcmp(block->bytes, run->bytes, run->size)) {
			*found = block;
			return 0;
		}
	}
	learned->added++;
	block->bytes = keep(learned, run->bytes, run->size);
	*found = block;
	if (block->bytes)
		return 0;
	/* It has to be something that stays; the block will not be found again. */
	block->bytes = (const uint8_t *)"";
	block->size = block->last = 0;
	return -ENOMEM;
}

bool flowtap_learned_transfers(unsigned int isa, unsigned int end)
{
	if (isa == FLOWTAP_ISA_RV64)
		return end != FLOWTAP_TRANSFER_NONE && end != FLOWTAP_TRANSFER_RECORDING;
	return end >= FLOWTAP_ARM_BRANCH && end <= FLOWTAP_ARM_EXCEPTION_RETURN;
}

static bool transfers(const struct learned_run *run)
{
	return run->whole && flowtap_learned_transfers(run->isa, run->end);
}

static uint64_t run_end(const struct learned_run *run)
{
	return run->address + run->size;
}

/* An ecall or ebreak, which goes on after itself where no other mode is recorded. */
static bool is_call(const struct learned_run *run)
{
	return run->isa == FLOWTAP_ISA_RV64 && run->end == FLOWTAP_TRANSFER_EXCEPTION;
}

/* T32 does not know of a branch whether it is in an IT block that began before. */
static bool always_transfers(const struct learned_run *run)
{
	return transfers(run) && !run->conditional && !is_call(run);
}

/* Hands on the run, which has a last instruction that was left like this. */
static int add_run(struct flowtap_learned *learned, bool taken, uint64_t target,
		   struct flowtap_block **sent)
{
	struct learned_run *run = &learned->run;
	struct flowtap_block *block = run->guess;
	int status = 0;

	if (!run->known || !run->whole) {
		if (run->known)
			memcpy(run->bytes, run->guess->bytes, run->size);
		status = look_up(learned, &block);
	}
	run->size = 0;
	if (status)
		return status;
	if (run->whole)
		learned->recent[(block->address >> 1 ^ block->address >> 17) % LEARNED_RECENT] =
			block;
	if (sent)
		*sent = block;
	/* An ISB and the like are P0 instructions: a trace has them as taken. */
	if (block->end && block->isa != FLOWTAP_ISA_RV64 && !transfers(run))
		taken = true;
	return learned_add(learned, block, taken, target);
}

int flowtap_learned_flush(struct flowtap_learned *learned)
{
	struct learned_run *run = &learned->run;
	bool taken = run->said;
	uint64_t target = run->to;
	int status;

	if (!run->size)
		return 0;
	if (!taken && !run->skipped && always_transfers(run) &&
	    (run->direct || run->isa != FLOWTAP_ISA_RV64 ||
	     run->end == FLOWTAP_TRANSFER_TRAP_RETURN)) {
		taken = true;
		target = run->direct ? run->target : 0;
	}
	status = add_run(learned, taken, taken ? target : run_end(run), NULL);
	look_at_limit(learned);
	return status;
}

int flowtap_learned_complete(struct flowtap_learned *learned, bool taken, uint64_t target,
			     struct flowtap_block **block)
{
	*block = NULL;
	if (!learned->run.whole || !learned->run.size)
		return 0;
	return add_run(learned, taken, target, block);
}

int flowtap_learned_taken(struct flowtap_learned *learned, uint64_t target)
{
	struct learned_run *run = &learned->run;

	if (!run->size || !transfers(run) || run->skipped || target & 1 ||
	    (run->direct && run->target != target))
		return -EPROTO;
	run->said = true;
	run->to = target;
	return 0;
}

void flowtap_learned_skipped(struct flowtap_learned *learned)
{
	struct learned_run *run = &learned->run;

	run->skipped = run->size && transfers(run) && !run->said;
}

/* Whether the run's last instruction can have gone to where the next one is, and how. */
static bool leads(const struct learned_run *run, unsigned int isa, uint64_t address, bool *taken)
{
	bool follows = address == run_end(run) && isa == run->isa;

	*taken = run->said;
	if (run->said)
		return run->to == address || (!run->to && !run->direct);
	if (!transfers(run) || run->skipped)
		return follows;
	*taken = !follows || (always_transfers(run) &&
			      (run->isa != FLOWTAP_ISA_T32 || !run->direct ||
			       run->target == address));
	if (!*taken)
		return true;
	/* Who goes on in another set of instructions, an indirect branch may decide. */
	return !run->direct || (run->target == address && run->target_isa == isa);
}

/* The run ends where another block begins. */
static int end_run(struct flowtap_learned *learned, unsigned int isa, uint64_t address)
{
	struct learned_run *run = &learned->run;
	uint64_t last = run->address + run->last;
	bool taken;
	int status;

	if (!leads(run, isa, address, &taken)) {
		status = flowtap_learned_flush(learned);
		return status ? status : flow_emit_elsewhere(learned->sink, last);
	}
	status = add_run(learned, taken, taken ? address : run_end(run), NULL);
	look_at_limit(learned);
	return status;
}

static void begin_run(struct flowtap_learned *learned, unsigned int isa, uint64_t address)
{
	struct learned_run *run = &learned->run;

	run->address = address;
	run->isa = isa;
	run->size = 0;
	run->last = 0;
	run->instructions = 0;
	run->it = 0;
	run->whole = false;
	run->said = false;
	run->skipped = false;
	run->end = 0;
	run->guess = learned_recent(learned, isa, address);
	run->known = run->guess;
}

static void set_end(struct learned_run *run, const struct kind *kind)
{
	run->end = kind->end;
	run->direct = kind->direct;
	run->conditional = kind->conditional;
	run->target = kind->target;
	run->target_isa = kind->target_isa;
	run->whole = kind->end || run->size >= flowtap_block_max_size(run->address, 0);
}

/* One more instruction, by its opcode. */
static int add(struct learned_run *run, const uint8_t *bytes, size_t size)
{
	struct kind kind;
	int status = classify(run->isa, run_end(run), run->it, bytes, size, &kind);

	if (status)
		return -EILSEQ;
	if (kind.length != size)
		return -EILSEQ;
	memcpy(run->bytes + run->size, bytes, size);
	run->last = run->size;
	run->size += size;
	run->instructions++;
	run->it = kind.it;
	set_end(run, &kind);
	return 0;
}

/* The run is not what was expected any more: what it has so far is taken by its opcodes. */
static void doubt(struct learned_run *run)
{
	uint32_t size = run->size;
	struct kind kind;

	run->known = false;
	run->size = 0;
	run->instructions = 0;
	while (run->size < size) {
		if (classify(run->isa, run_end(run), run->it, run->guess->bytes + run->size,
			     size - run->size, &kind))
			return;
		add(run, run->guess->bytes + run->size, kind.length);
	}
}

/* One more instruction, if it is the one that is expected. */
static bool add_known(struct learned_run *run, const uint8_t *bytes, size_t size)
{
	const struct flowtap_block *guess = run->guess;

	if (!run->known)
		return false;
	if (guess->size - run->size < size || memcmp(guess->bytes + run->size, bytes, size) ||
	    insn_size(run->isa, bytes) != size)
		return false;
	run->last = run->size;
	run->size += size;
	run->instructions++;
	if (run->size < guess->size)
		return true;
	run->end = guess->end;
	run->direct = guess->direct;
	run->conditional = guess->conditional;
	run->target = guess->target;
	run->target_isa = guess->target_isa;
	run->whole = true;
	return true;
}

static int check(unsigned int isa, uint64_t address, const uint8_t *bytes, size_t size)
{
	uint64_t aligned = isa == FLOWTAP_ISA_A64 || isa == FLOWTAP_ISA_A32 ? 3 : 1;

	if (isa > FLOWTAP_ISA_T32 || (size != 2 && size != 4) || insn_size(isa, bytes) != size ||
	    (isa == FLOWTAP_ISA_RV64 && (bytes[0] & 0x1f) == 0x1f))
		return -EILSEQ;
	if (address & aligned || address > UINT64_MAX - size ||
	    (isa >= FLOWTAP_ISA_A32 && address > UINT32_MAX))
		return -EINVAL;
	return 0;
}

int flowtap_learned_instruction(struct flowtap_learned *learned, enum flowtap_isa isa,
				uint64_t address, const uint8_t *bytes, size_t size)
{
	struct learned_run *run = &learned->run;
	int status = check(isa, address, bytes, size);

	if (status)
		return status;
	if (run->size &&
	    (run->whole || address != run_end(run) || isa != run->isa || learned->cut))
		status = end_run(learned, isa, address);
	if (!status && learned->cut)
		status = flowtap_learned_turn(learned);
	if (status)
		return status;
	if (!run->size) {
		/* Where each block was completed no flush may ever come. */
		look_at_limit(learned);
		begin_run(learned, isa, address);
	}
	if (add_known(run, bytes, size))
		return 0;
	if (run->known)
		doubt(run);
	return add(run, bytes, size);
}
