// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The blocks of a flow as lines. Nearly all are written as they were rendered: for each line its
 * numbers, then its tail.
 */
#include "base/hexdigits.h"
#include "formats/lines/render.h"

#include <errno.h>
#include <stdlib.h>

#define LINES_AT_ONCE	512U
#define LINE_CAPACITY	(LINES_HEAD_MAX + 256U)	/* of any line, with its suffix */
#define BR_TARGET	24U			/* in a BR line: LINES_INDENT "BR (" */

/* --- What was rendered. --- */

static inline void copy_words(uint8_t *to, const struct lines_words *words)
{
	memcpy(to, words->text, sizeof(words->text));
}

/* Writes n lines, for which there is space. Counters are kept in registers meanwhile. */
static inline __attribute__((always_inline))
uint8_t *write_lines(struct lines *lines, uint8_t *to, const uint8_t **tails, uint32_t n,
		     bool columns)
{
	struct flowtap_counter time = lines->time, id = lines->id;
	const uint8_t *from = *tails;

	lines->counts.instructions += n;
	while (n--) {
		time = flowtap_counter_next(time);
		to = flowtap_counter_write(to, time);
		if (!columns) {
			id = flowtap_counter_next(id);
			copy_words(to, &lines->words);
			to = flowtap_counter_write(to + lines->words.size, id);
		}
		to = lines_tail(to, &from);
	}
	lines->time = time;
	lines->id = id;
	*tails = from;
	return to;
}

static inline uint8_t *copy_suffix(uint8_t *to, const uint8_t *from, uint32_t size)
{
	memcpy(to, from, 64);
	if (__builtin_expect(size > 64, 0))
		memcpy(to + 64, from + 64, 64);
	return to + size;
}

static inline void write_target(uint8_t *to, uint64_t target, bool wide)
{
	if (wide)
		flowtap_hex16(to, target);
	else
		flowtap_hex8(to, target);
}

/* What follows the last line of a block that is taken to `target`; branch: render->branch, or 0. */
static inline __attribute__((always_inline))
uint8_t *write_suffix(struct lines *lines, uint8_t *to, const struct lines_render *render,
		      uint64_t target, uint32_t branch, bool columns)
{
	const uint8_t *suffix = render->text + render->suffix;

	if (columns) {
		to = copy_suffix(to, suffix, render->link + branch);
		if (branch)
			write_target(to - branch + BR_TARGET, target, !render->limit);
	} else if (render->link) {
		to = flowtap_counter_write(to, lines->time);
		copy_words(to, &lines->event_words);
		to = copy_suffix(to + lines->event_words.size, suffix, render->link);
	}
	return to;
}

static inline __attribute__((always_inline))
void write_rendered(struct lines *lines, const struct flowtap_block *block,
		    const struct lines_render *render, bool taken, uint64_t target, bool columns)
{
	const uint8_t *tails = render->text;
	uint8_t *to = lines->out.bytes + lines->out.fill;

	to = write_lines(lines, to, &tails, block->instructions, columns);
	if (taken)
		to = write_suffix(lines, to, render, target, render->branch, columns);
	lines->out.fill = to - lines->out.bytes;
}

/* --- Any block. --- */

/* Some lines, whatever space there is. */
static void write_some(struct lines *lines, const uint8_t **tails, uint32_t n)
{
	while (n && !lines->out.error) {
		uint32_t now = n < LINES_AT_ONCE ? n : LINES_AT_ONCE;
		uint8_t *to;

		if (flowtap_write_buffer_reserve(&lines->out, now * LINE_CAPACITY))
			return;
		to = lines->out.bytes + lines->out.fill;
		to = lines->form.columns ? write_lines(lines, to, tails, now, true) :
					   write_lines(lines, to, tails, now, false);
		lines->out.fill = to - lines->out.bytes;
		n -= now;
	}
}

/* The last one, which may have failed its condition. */
static void write_last(struct lines *lines, const struct lines_render *render,
		       const uint8_t **tails, bool failed)
{
	char *tag = lines->words.text + lines->words.size - sizeof("T (") + 1;
	uint16_t size;

	memcpy(&size, *tails, sizeof(size));
	if (failed && !lines->form.columns)
		*tag = 'S';
	write_some(lines, tails, 1);
	*tag = 'T';
	if (failed && render->failed && !lines->out.error)
		memcpy(lines->out.bytes + lines->out.fill - size + render->failed, "CCFAIL", 6);
}

static void write_all(struct lines *lines, const struct flowtap_block *block,
		      const struct lines_render *render, uint32_t n, bool failed)
{
	const uint8_t *tails = render->text;

	if (lines->pending & LINES_SP && n > 1) {
		write_some(lines, &tails, 1);
		flowtap_lines_write_sp(lines, block->isa);
		n--;
	}
	write_some(lines, &tails, n - 1);
	write_last(lines, render, &tails, failed);
	if (lines->pending & LINES_SP)
		flowtap_lines_write_sp(lines, block->isa);
}

/* The part of a long block that begins at `at`. */
static struct flowtap_block part_of(const struct flowtap_block *block, uint32_t at)
{
	struct flowtap_block part = *block;

	part.address += at;
	part.bytes += at;
	part.size = 0;
	part.instructions = 0;
	while (at + part.size < block->size && part.size < LINES_RENDER_MAX) {
		part.last = part.size;
		part.size += insn_size(block->isa, part.bytes + part.size);
		part.instructions++;
	}
	return part;
}

/* All lines of a long block; *render is that of its last part, for the caller to free. */
static int write_long(struct lines *lines, const struct flowtap_block *block, bool failed,
		      struct lines_render **render)
{
	struct flowtap_block part;
	uint8_t it = 0;
	int error;

	*render = NULL;
	for (uint32_t at = 0; at < block->size; at += part.size) {
		part = part_of(block, at);
		free(*render);
		*render = NULL;
		error = flowtap_lines_render_part(lines, &part, &it, render);
		if (error)
			return error;
		write_all(lines, &part, *render, part.instructions,
			  failed && at + part.size == block->size && (*render)->fails);
	}
	return 0;
}

/* What the last instruction did, if it transferred control. */
static void write_transfer(struct lines *lines, const struct flowtap_block *block,
			   const struct lines_render *render, bool known, uint64_t target)
{
	bool waits = !known || end_returns(block) || (!isa_is_wide(block->isa) && !block->direct);
	uint32_t branch = waits ? 0 : render->branch;
	uint8_t *to;

	if (flowtap_write_buffer_reserve(&lines->out, 2 * LINE_CAPACITY))
		return;
	to = lines->out.bytes + lines->out.fill;
	to = lines->form.columns ? write_suffix(lines, to, render, target, branch, true) :
				   write_suffix(lines, to, render, target, branch, false);
	lines->out.fill = to - lines->out.bytes;
	if (!isa_is_arm(block->isa) && !known)
		return;
	if (waits) {
		lines->branch = (struct lines_branch){
			.target = target, .isa = block->isa, .returns = end_returns(block),
		};
		lines->pending |= LINES_BRANCH;
	} else if (lines->form.columns && !render->branch) {
		flowtap_lines_write_branch(lines, block->direct ? block->target_isa : block->isa,
					   target);
		lines->ended = true;
	}
}

static bool calls(const struct flowtap_block *block)
{
	if (isa_is_arm(block->isa))
		return block->link;
	return block->end == FLOWTAP_TRANSFER_INDIRECT_CALL ||
	       block->end == FLOWTAP_TRANSFER_DIRECT_CALL;
}

static void move_sp(struct lines *lines, const struct flowtap_block *block)
{
	bool arm = isa_is_arm(block->isa);
	struct lines_sp *sp = &lines->sp;

	if (calls(block)) {
		sp->depth++;
		lines->pending |= LINES_SP;
	} else if (block->end == (arm ? FLOWTAP_ARM_RETURN : FLOWTAP_TRANSFER_RETURN)) {
		sp->depth -= sp->depth != 0;
		flowtap_lines_write_sp(lines, block->isa);
	} else if (end_returns(block)) {
		uint32_t depth = sp->stacks ? sp->saved[--sp->stacks] : 0;

		lines->pending |= depth != sp->depth ? LINES_SP : 0;
		sp->depth = depth;
	}
}

/* Whether the branch says where it went: as in STF (stf/writer.c), a target of 0 may be none. */
static bool writes_target(const struct flowtap_block *block, uint64_t target)
{
	if (isa_is_arm(block->isa))
		return block->direct || target;
	return !end_is_trap(block) || (end_returns(block) && target);
}

/* Where the flow goes on; of no block's address if that is not known, but Arm's may be 0. */
static uint64_t where(const struct flowtap_block *block, bool goes, bool known, uint64_t target)
{
	if (!goes)
		return block->address + block->size;
	if (known)
		return target;
	return isa_is_arm(block->isa) ? 0 : UINT64_MAX;
}

static int check(const struct lines *lines, const struct flowtap_block *block, bool goes,
		 uint64_t target)
{

	if (lines->out.error)
		return lines->out.error;
	if (block->isa > FLOWTAP_ISA_T32)
		return -EINVAL;
	if (!isa_is_arm(block->isa) && !lines->form.riscv)
		return -EOPNOTSUPP;
	if (isa_is_wide(block->isa))
		return 0;
	if (block->address > UINT32_MAX || block->size > (1ULL << 32) - block->address ||
	    (goes && target > UINT32_MAX))
		return -EINVAL;
	return 0;
}

/* Apart, so that the fast path needs few registers. */
__attribute__((noinline))
static int write_slowly(struct lines *lines, const struct flowtap_block *block, bool taken,
			uint64_t target)
{
	bool transfers = (taken && !end_falls_through(block)) || end_branches_to_next(block);
	bool known = transfers && writes_target(block, target);
	const struct lines_render *render = NULL;
	struct lines_render *part = NULL;
	int error = check(lines, block, transfers, target);

	if (!error && block->size > LINES_RENDER_MAX)
		error = flowtap_block_check(block);
	else if (!error)
		error = flowtap_lines_render(lines, block, &render);
	if (error)
		return error;
	if (!lines->knows_isa)
		lines->context.isa = block->isa;
	lines->knows_isa = true;
	flowtap_lines_begin_block(lines, block);
	flowtap_lines_head(lines);
	flowtap_lines_catch_up(lines);
	if (render)
		write_all(lines, block, render, block->instructions, !taken && render->fails);
	else
		error = write_long(lines, block, !taken, &part);
	lines->ended = true;
	lines->trapped = !isa_is_arm(block->isa) && end_is_trap(block) && !end_returns(block);
	lines->trap = block->address + block->last;
	lines->explained = false;
	lines->isa = lines->context.isa = block->isa;
	lines->pc = where(block, transfers, known, target);
	lines->fell = known && !end_returns(block) &&
		      (!block->direct || block->isa == block->target_isa) ?
		      block->address + block->size : lines->pc;
	if (!error && transfers)
		write_transfer(lines, block, render ? render : part, known, target);
	if (!error && transfers && lines->options.synthetic_sp)
		move_sp(lines, block);
	free(part);
	return error ? error : lines->out.error;
}

/*
 * Where many blocks are in turn neither they nor their lines are in the processor's caches. All
 * lines are asked for at once, and those of the block that comes next, if the cache of blocks knows
 * it, while this one is written; and the blocks that may be after that.
 */
static inline void prefetch(const struct lines_render *render, uint32_t instructions)
{
	uint32_t size = instructions < 16 ? 128 + 80 * instructions : 128 + 80 * 16;

	for (uint32_t at = 0; at < size; at += 64)
		__builtin_prefetch((const uint8_t *)render + at);
}

/* What of it is looked at here. */
static inline void prefetch_block(const struct lines *lines, const struct flowtap_block *block)
{
	if (!block)
		return;
	__builtin_prefetch(block);
	__builtin_prefetch(flowtap_slot_guess(&lines->slot, block));
}

/* The fast path, of nearly all blocks: what continues the flow and was rendered before. */
static inline __attribute__((always_inline))
int write_block(struct lines *lines, const struct flowtap_block *block, bool taken, uint64_t target,
		bool columns)
{
	const struct flowtap_render *kept = flowtap_slot_guess(&lines->slot, block);
	const struct lines_render *render = kept->bytes;
	const struct flowtap_block *next = block->successor[taken];

	prefetch(render, block->instructions);
	if (next) {
		prefetch(flowtap_slot_guess(&lines->slot, next)->bytes, next->instructions);
		prefetch_block(lines, next->successor[0]);
		prefetch_block(lines, next->successor[1]);
	}
	/* limit: 0 is 2 to the power of 64, so that this takes out a target of 0, too. */
	if (__builtin_expect(kept->owner != lines->slot.owner || kept->mark != lines->print ||
			     lines->pending || block->address != lines->pc ||
			     (taken ? target - 1 > render->limit - 2 : render->fails) ||
			     lines->out.fill + render->capacity > FLOWTAP_WRITE_BUFFER_CAPACITY, 0))
		return write_slowly(lines, block, taken, target);
	write_rendered(lines, block, render, taken, target, columns);
	lines->fell = block->address + block->size;
	lines->pc = taken ? target : lines->fell;
	lines->isa = lines->context.isa = block->isa;
	lines->explained = false;
	lines->trapped = false;
	lines->ended = true;
	return 0;
}

static int write_columns(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
			 uint64_t target)
{
	return write_block((struct lines *)sink, block, taken, target, true);
}

static int write_rows(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		      uint64_t target)
{
	return write_block((struct lines *)sink, block, taken, target, false);
}

static int write_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	return flowtap_lines_element((struct lines *)sink, element);
}

/* --- The sink. --- */

int flowtap_lines_init(struct lines *lines, int fd, const struct lines_form *form,
		       const struct flowtap_lines_options *options)
{
	if ((unsigned int)options->time >= FLOWTAP_LINES_TIMES)
		return -EINVAL;
	lines->form = *form;
	lines->options = *options;
	lines->sink.element = write_element;
	lines->sink.block = form->columns ? write_columns : write_rows;
	lines->slot = flowtap_blocks_slot(options->blocks, NULL);
	lines->pending = LINES_HEADER | (options->synthetic_sp ? LINES_SP : 0);
	lines->explained = true;
	lines->time = flowtap_counter_at(0, form->columns ? LINES_COLUMNS : 0);
	lines->id = flowtap_counter_at(0, 0);
	flowtap_lines_set_print(lines);
	flowtap_lines_set_words(lines);
	return flowtap_write_buffer_init(&lines->out, fd);
}

const struct flowtap_lines_counts *flowtap_lines_counts(struct lines *lines)
{
	/* Only `bytes` is not kept up to date: the buffer knows. */
	lines->counts.bytes = lines->out.written;
	return &lines->counts;
}

int flowtap_lines_finish(struct lines *lines)
{
	int error;

	flowtap_lines_end_flow(lines);
	error = lines->out.error ? lines->out.error : flowtap_write_buffer_flush(&lines->out);
	return error ? error : lines->counts.instructions ? 0 : -ENODATA;
}

void flowtap_lines_free(struct lines *lines)
{
	flowtap_write_buffer_free(&lines->out);
}
