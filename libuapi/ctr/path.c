// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Follows the code in a straight line, block by block, from a known address to the source of the
 * next record; a block that has to leave this line disproves the path.
 */
#include "ctr/path.h"
#include <errno.h>
#include <flowtap/riscv.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vector.h"

#define PAGE_SHIFT 12		/* the smallest there is: what shares it shares a larger one too */
#define CAUSE_ECALL_U 8		/* privileged specification, table of scause */
#define CAUSE_ECALL_S 9
#define EXPLAIN_BLOCKS 64
#define FIRST_STEPS 64
#define REMAPS 8		/* of one address during one sample, more are not looked into */

__attribute__((format(printf, 4, 5)))
static int fail(struct ctr_path *path, enum flowtap_gap_reason reason, uint64_t address,
		const char *format, ...)
{
	va_list arguments;

	path->failure.reason = reason;
	path->failure.address = address;
	va_start(arguments, format);
	vsnprintf(path->failure.detail, sizeof(path->failure.detail), format, arguments);
	va_end(arguments);
	return CTR_UNPROVEN;
}

void flowtap_path_release(struct ctr_path *path)
{
	free(path->steps);
}

static bool covers(const struct flowtap_code *code, uint64_t address)
{
	return code && address >= code->start && address < code->end;
}

void flowtap_path_begin(struct ctr_path *path, uint32_t pid, uint64_t time, uint64_t since,
			unsigned int modes, bool all_branches)
{
	/* Another time, and what was found before may have ended meanwhile. */
	for (int i = 0; i < CTR_RECENT; i++)
		path->recent[i] = NULL;
	path->pid = pid;
	path->time = time;
	path->since = since;
	path->jump = NULL;
	path->modes = modes;
	path->all_branches = all_branches;
}

/* The same bytes at the same addresses, as far as both go. */
static bool same(const struct flowtap_code *a, const struct flowtap_code *b)
{
	return a->key == b->key ||
	       (a->file != UINT32_MAX && a->file == b->file &&
		a->start - a->file_offset == b->start - b->file_offset);
}

/*
 * Records carry no time: those of a sample were made between the task's sample before it and its
 * own. Code that was mapped in between is what they ran only if nothing else was there before,
 * in this program or in those that the process was before it became this one.
 */
static bool certain(struct ctr_path *path, const struct flowtap_code *code, uint64_t address)
{
	const struct flowtap_code *older;
	uint64_t from = code->from;

	for (int i = 0; i < REMAPS; i++) {
		if (from <= path->since)
			return true;
		older = flowtap_address_map_find(path->map, path->pid, from - 1, address);
		if (older && !same(older, code))
			return false;
		if (older)
			from = older->from;
		else
			from = address >> 63
				       ? 0
				       : flowtap_address_map_began(path->map, path->pid, from - 1);
	}
	return false;
}

static const struct flowtap_code *look_up(struct ctr_path *path, uint64_t address)
{
	const struct flowtap_code *code;

	if (!(path->modes >> flowtap_path_mode(address) & 1)) {
		fail(path, FLOWTAP_GAP_IMPOSSIBLE, address,
		     "0x%" PRIx64 " is executed in a mode that is not recorded", address);
		return NULL;
	}
	code = flowtap_address_map_find(path->map, path->pid, path->time, address);
	if (!code) {
		fail(path, FLOWTAP_GAP_NO_IMAGE, address, "nothing known is mapped at 0x%" PRIx64,
		     address);
		return NULL;
	}
	if (!code->bytes) {
		fail(path, FLOWTAP_GAP_NO_CODE, address, "0x%" PRIx64 " in %s: %s", address,
		     code->path ? code->path : "?", code->missing ? code->missing : "no bytes");
		return NULL;
	}
	if (!certain(path, code, address)) {
		fail(path, FLOWTAP_GAP_NO_CODE, address,
		     "0x%" PRIx64 " was mapped anew since the task's last sample: %s", address,
		     code->path ? code->path : "?");
		return NULL;
	}
	path->recent[path->oldest] = code;
	path->oldest = (path->oldest + 1) % CTR_RECENT;
	return code;
}

static inline const struct flowtap_code *code_at(struct ctr_path *path, uint64_t address)
{
	for (int i = 0; i < CTR_RECENT; i++) {
		if (covers(path->recent[i], address))
			return path->recent[i];
	}
	return look_up(path, address);
}

/*
 * The block at `address`, where `before` (or NULL) ended. One that reaches the end of its mapping
 * is cut there, as another may follow.
 */
static int step(struct ctr_path *path, struct flowtap_block *before, uint64_t address,
		uint64_t stop, struct flowtap_block **block)
{
	const struct flowtap_code *code = code_at(path, address);
	int status;

	if (!code)
		return CTR_UNPROVEN;
	if (before)
		status = flowtap_blocks_next(path->blocks, code, before, stop, block);
	else if (path->jump && path->jump->target == address && !stop)
		status = flowtap_blocks_taken(path->blocks, code, path->jump, block);
	else
		status = flowtap_blocks_get(path->blocks, code, FLOWTAP_ISA_RV64, address, stop,
					    block);
	if (status == -ENODATA)
		status = flowtap_blocks_get(path->blocks, code, FLOWTAP_ISA_RV64, address,
					    code->end, block);
	if (!status || status == -ENOMEM)
		return status;
	if (status == -ENODATA)
		return fail(path, FLOWTAP_GAP_NO_CODE, address,
			    "an instruction lies across 0x%" PRIx64 ", the end of %s", code->end,
			    code->path ? code->path : "?");
	return fail(path, FLOWTAP_GAP_IMPOSSIBLE, address,
		    stop ? "no known instructions from 0x%" PRIx64 " up to 0x%" PRIx64 :
			   "no known instructions from 0x%" PRIx64 " on", address, stop);
}

static void clear(struct ctr_path *path)
{
	path->n = 0;
	path->bytes = 0;
}

static int append(struct ctr_path *path, struct flowtap_block *block)
{
	const size_t size = (path->n + 1) * sizeof(path->steps[0]);

	if (size > path->capacity &&
	    FLOWTAP_RESERVE(path->steps, path->capacity, size, FIRST_STEPS * sizeof(path->steps[0])))
		return -ENOMEM;
	path->steps[path->n++] = block;
	return 0;
}

/* The cause of the ecall or ebreak that ends the block, as the code has it. */
static int cause_of(const struct flowtap_block *block)
{
	struct flowtap_riscv_insn insn;

	if (flowtap_riscv_classify(block->bytes + block->last, block->size - block->last, &insn))
		return -1;
	return insn.cause;
}

/* A block that always leaves at its end, but for a call of firmware. */
static int pass_unconditional(struct ctr_path *path, const struct flowtap_block *block,
			      uint64_t goal)
{
	uint64_t last = block->address + block->last;

	if (block->end == FLOWTAP_TRANSFER_RECORDING)
		return fail(path, FLOWTAP_GAP_RECORDER, block->address,
			    "what is recorded may have changed at 0x%" PRIx64, last);
	if (block->end == FLOWTAP_TRANSFER_EXCEPTION &&
	    flowtap_path_mode(last) == FLOWTAP_PRIVILEGE_S && cause_of(block) == CAUSE_ECALL_U)
		return 0;
	return fail(path, FLOWTAP_GAP_IMPOSSIBLE, block->address,
		    "%s at 0x%" PRIx64 " lies before 0x%" PRIx64,
		    flowtap_transfer_name(block->end), last, goal);
}

/* Takes `block` as one that was left at its end on the path to `goal`. */
static int pass(struct ctr_path *path, struct flowtap_block *block, uint64_t goal)
{
	if (block->end && !block->conditional && pass_unconditional(path, block, goal))
		return CTR_UNPROVEN;
	if (block->conditional && path->all_branches)
		return fail(path, FLOWTAP_GAP_IMPOSSIBLE, block->address,
			    "branch at 0x%" PRIx64 " before 0x%" PRIx64
			    " has no record, taken or not", block->address + block->last, goal);
	if (path->n == CTR_PATH_LIMIT)
		return fail(path, FLOWTAP_GAP_IMPOSSIBLE, block->address,
			    "more than %d blocks without a transfer before 0x%" PRIx64,
			    CTR_PATH_LIMIT, goal);
	if (block->size > CTR_PATH_BYTES - path->bytes)
		return fail(path, FLOWTAP_GAP_IMPOSSIBLE, block->address,
			    "more than %u bytes of code without a transfer before 0x%" PRIx64,
			    CTR_PATH_BYTES, goal);
	path->bytes += block->size;
	return append(path, block);
}

/* Up to and with the instruction at `source`, which must be the last of its block. */
static int walk_to(struct ctr_path *path, uint64_t from, uint64_t source)
{
	struct flowtap_block *block = NULL;
	uint64_t at = from, last;
	int status;

	clear(path);
	for (;;) {
		if (at > source)
			return fail(path, FLOWTAP_GAP_IMPOSSIBLE, at,
				    "recorded source 0x%" PRIx64 " lies before 0x%" PRIx64
				    ", where execution was", source, at);
		status = step(path, block, at, 0, &block);
		if (status)
			return status;
		last = block->address + block->last;
		if (last == source && block->end)
			return append(path, block);
		if (last >= source)
			return fail(path, FLOWTAP_GAP_IMPOSSIBLE, source,
				    "no transfer instruction at 0x%" PRIx64
				    ", the next from 0x%" PRIx64 " on is at 0x%" PRIx64,
				    source, at, last);
		status = pass(path, block, source);
		if (status)
			return status;
		at = block->address + block->size;
	}
}

/* Trap returns have records where they are executed in a mode that is recorded, as jumps have. */
static inline bool can_transfer(const struct ctr_path *path, uint8_t class, uint64_t source)
{
	if (class > FLOWTAP_TRANSFER_TRAP_RETURN)
		return class < FLOWTAP_TRANSFER_RECORDING;
	return class == FLOWTAP_TRANSFER_TRAP_RETURN && path->modes >> FLOWTAP_PRIVILEGE_S & 1 &&
	       flowtap_path_mode(source) == FLOWTAP_PRIVILEGE_S;
}

/* Whether the last instruction of `block` does what was recorded. */
static inline int verify(struct ctr_path *path, const struct flowtap_block *block,
		  struct flowtap_transfer *transfer)
{
	uint8_t class = block->end;
	uint64_t target = block->target;

	/* Without types a branch that was not taken shows by its target. */
	if (block->conditional &&
	    (transfer->type == FLOWTAP_TRANSFER_NOT_TAKEN ||
	     (!transfer->type && path->all_branches && transfer->target != target))) {
		class = FLOWTAP_TRANSFER_NOT_TAKEN;
		target = block->address + block->size;
	}
	if (!can_transfer(path, class, transfer->source) ||
	    (transfer->type && transfer->type != class))
		return fail(path, FLOWTAP_GAP_IMPOSSIBLE, transfer->source,
			    "recorded %s at 0x%" PRIx64 ", the code has %s there",
			    flowtap_transfer_name(transfer->type), transfer->source,
			    flowtap_transfer_name(class));
	if (block->direct && transfer->target != target)
		return fail(path, FLOWTAP_GAP_IMPOSSIBLE, transfer->source,
			    "recorded target 0x%" PRIx64 " of the %s at 0x%" PRIx64
			    ", the code says 0x%" PRIx64, transfer->target,
			    flowtap_transfer_name(class), transfer->source, target);
	transfer->type = class;
	return 0;
}

/*
 * A path that is impossible is none if recording was turned off and on again in between: then a
 * straight line leads from `from` to where that was done. The last that `status` can say.
 */
static int explain(struct ctr_path *path, uint64_t from, int status)
{
	struct flowtap_block *block = NULL;
	struct ctr_failure failure;

	if (status != CTR_UNPROVEN || path->failure.reason != FLOWTAP_GAP_IMPOSSIBLE ||
	    flowtap_path_mode(from) != FLOWTAP_PRIVILEGE_S)
		return status;
	failure = path->failure;
	clear(path);
	for (int i = 0; i < EXPLAIN_BLOCKS; i++) {
		status = step(path, block, from, 0, &block);
		if (!status)
			status = pass(path, block, from);
		if (status)
			break;
		from = block->address + block->size;
	}
	if (status < 0)
		return status;
	if (!status || path->failure.reason != FLOWTAP_GAP_RECORDER)
		path->failure = failure;
	return CTR_UNPROVEN;
}

int flowtap_path_transfer(struct ctr_path *path, uint64_t from, struct flowtap_transfer *transfer)
{
	int status = walk_to(path, from, transfer->source);

	if (!status)
		status = verify(path, path->steps[path->n - 1], transfer);
	return status ? explain(path, from, status) : 0;
}

int flowtap_path_single(struct ctr_path *path, struct flowtap_transfer *transfer)
{
	int status = walk_to(path, transfer->source, transfer->source);

	return status ? status : verify(path, path->steps[path->n - 1], transfer);
}

/* Up to `stop`, exclusive. */
static int walk_before(struct ctr_path *path, uint64_t from, uint64_t stop)
{
	struct flowtap_block *block = NULL;
	uint64_t at = from;
	int status;

	clear(path);
	while (at != stop) {
		if (at > stop)
			return fail(path, FLOWTAP_GAP_IMPOSSIBLE, at,
				    "0x%" PRIx64 " lies before 0x%" PRIx64 ", where execution was",
				    stop, at);
		status = step(path, block, at, stop, &block);
		if (!status)
			status = pass(path, block, stop);
		if (status)
			return status;
		at = block->address + block->size;
	}
	return 0;
}

int flowtap_path_stop(struct ctr_path *path, uint64_t from, uint64_t stop)
{
	return explain(path, from, walk_before(path, from, stop));
}

int flowtap_path_exception(struct ctr_path *path, uint64_t before, uint64_t from, uint64_t epc,
			   int *cause)
{
	uint64_t previous = from == epc ? before : epc - 1;
	const struct flowtap_block *last;

	*cause = -1;
	/*
	 * An exception at an ecall may also be the fault of fetching it, and then it was not
	 * executed. That is out of the question where it shares its page with the instruction
	 * before it.
	 */
	if (previous >> PAGE_SHIFT == epc >> PAGE_SHIFT &&
	    previous >> PAGE_SHIFT == (epc + 3) >> PAGE_SHIFT && !walk_to(path, from, epc)) {
		last = path->steps[path->n - 1];
		if (last->end == FLOWTAP_TRANSFER_EXCEPTION) {
			*cause = cause_of(last);
			if (*cause == CAUSE_ECALL_U && flowtap_path_mode(epc) == FLOWTAP_PRIVILEGE_S)
				*cause = CAUSE_ECALL_S;
			return 0;
		}
	}
	return flowtap_path_stop(path, from, epc);
}
