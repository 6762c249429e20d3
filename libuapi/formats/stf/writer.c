// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Writes the flow as STF: the header, the instructions of each block, and before them the
 * context, FORCE_PC and comments that a reader needs.
 */
#include <flowtap/block.h>
#include <flowtap/stf.h>

#include "base/write_buffer.h"
#include "flow/flow_line.h"
#include "formats/stf/block_render.h"
#include "formats/stf/records.h"
#include "formats/zstf/writer.h"

#include <errno.h>
#include <stdlib.h>

#define LATER_MAX	2048U
#define TAIL_MAX (OPCODE_MAX + AFTER_MAX) /* more comments are written where they come */
#define CAUSE_BREAKPOINT 3
#define CAUSE_ECALL_U	8
#define CAUSE_ECALL_M	11
#define MODE_TOLD	0xff		/* said.mode: an EVENT told it, no COMMENT */

/* What has to come before the next block. */
enum {
	PENDING_HEADER = 1 << 0,
	PENDING_PROCESS = 1 << 1,
	PENDING_FORCE = 1 << 2,
	PENDING_MODE = 1 << 3,
	PENDING_LAST = 1 << 4,	  /* `last` is not written yet */
	PENDING_CONTEXT = 1 << 5, /* `context` may not be what was said */
	PENDING_TAIL = 1 << 6,	  /* the last opcode and what comes after it is in `tail` */
};

/* How what was written ends. */
enum {
	ENDED_OPCODE = 7,    /* the size of the last record, which is an opcode; 0: is none */
	ENDED_EXPLAINED = 8, /* why there will be a FORCE_PC stands in the trace */
};

struct flowtap_stf {
	struct flowtap_sink sink;
	uint64_t pc;			/* where a reader believes the next instruction to be */
	uint32_t pending;		/* PENDING_, and above STF_MARK_ISA the last block's ISA */
	bool decided;			/* whose ISA it is: RISC-V's or Arm's */
	struct flowtap_slot slot;
	struct flowtap_write_buffer out;
	struct flowtap_stf_counts counts;
	uint64_t boundary;		/* instructions at which the chunk is full; UINT64_MAX never */
	struct flowtap_context context;
	struct flowtap_context said;	/* what the trace has told of it */
	uint8_t mode;			/* that a reader believes in */
	uint32_t ended;			/* ENDED_: one store for each block */
	uint8_t generator[4];
	char *generator_comment;
	struct flowtap_zstf *zstf;	/* NULL: not compressed */
	struct stf_last last;		/* what is said next may belong to it */
	size_t later_size;
	uint8_t later[LATER_MAX];	/* comments that stand after `last` */
	uint8_t *tail;			/* an opcode, and the comments after it */
	size_t tail_size;
	char line[FLOWTAP_LINE_CAPACITY];
};

static inline uint8_t isa_of(const struct flowtap_stf *stf)
{
	return stf->pending >> STF_MARK_ISA;
}

static inline void set_isa(struct flowtap_stf *stf, uint8_t isa)
{
	stf->pending = (stf->pending & STF_MARK_TARGET) | (uint32_t)isa << STF_MARK_ISA;
}

/* These and no others. */
static inline void set_pending(struct flowtap_stf *stf, uint32_t pending)
{
	stf->pending = (stf->pending & ~STF_MARK_TARGET) | pending;
}

static inline uint32_t last_opcode(const struct flowtap_stf *stf)
{
	return stf->ended & ENDED_OPCODE;
}

/* 0: the last record is none. */
static inline void set_last_opcode(struct flowtap_stf *stf, uint32_t size)
{
	stf->ended = (stf->ended & ENDED_EXPLAINED) | size;
}

/*
 * To be called before a record that belongs to the instruction at `pc`: a chunk that is full ends
 * here.
 */
static inline void begin_group(struct flowtap_stf *stf, uint64_t pc)
{
	if (stf->counts.instructions != stf->boundary)
		return;
	flowtap_zstf_cut(stf->zstf, pc);
	stf->boundary += flowtap_zstf_markers(stf->zstf);
}

/* What is in `tail` goes where it belongs: an instruction comes after it. */
static void write_tail(struct flowtap_stf *stf)
{
	uint32_t opcode = last_opcode(stf);

	if (!(stf->pending & PENDING_TAIL))
		return;
	stf->pending &= ~PENDING_TAIL;
	set_last_opcode(stf, 0);
	flowtap_write_buffer_add(&stf->out, stf->tail, opcode);
	begin_group(stf, stf->pc);
	flowtap_write_buffer_add(&stf->out, stf->tail + opcode, stf->tail_size - opcode);
}

/* Some bytes of a comment, or of several. */
static int add_comment(struct flowtap_stf *stf, const void *bytes, size_t size)
{
	if (stf->pending & PENDING_TAIL && size > AFTER_MAX + last_opcode(stf) - stf->tail_size)
		write_tail(stf);
	if (!(stf->pending & PENDING_TAIL)) {
		set_last_opcode(stf, 0);
		return flowtap_write_buffer_add(&stf->out, bytes, size);
	}
	memcpy(stf->tail + stf->tail_size, bytes, size);
	stf->tail_size += size;
	return stf->out.error;
}

static int write_comment(struct flowtap_stf *stf, const char *text, size_t size)
{
	uint8_t head[5];

	put32(put8(head, STF_COMMENT), size);
	add_comment(stf, head, sizeof(head));
	return add_comment(stf, text, size);
}

/*
 * Comments follow. The opcode before them is taken back until the next instruction comes: if there
 * is none it will be the last record. Otherwise a chunk that is full ends here.
 */
static void begin_comments(struct flowtap_stf *stf)
{
	uint32_t opcode = last_opcode(stf);

	if (stf->pending & PENDING_TAIL)
		return;
	if (opcode && stf->out.fill >= opcode) {
		stf->out.fill -= opcode;
		memcpy(stf->tail, stf->out.bytes + stf->out.fill, opcode);
		stf->tail_size = opcode;
		stf->pending |= PENDING_TAIL;
	} else {
		begin_group(stf, stf->pc);
	}
}

/* From ISA to what has to follow END_HEADER: identifier, version and comments are there. */
static void write_header(struct flowtap_stf *stf, uint64_t address)
{
	const uint64_t features = FEATURE_EVENT | FEATURE_PROCESS_ID | FEATURE_EVENT64;
	size_t comment = strlen(stf->generator_comment);
	bool arm = isa_is_arm(isa_of(stf));
	uint8_t head[64], *to = head;

	to = put16(put8(to, STF_ISA), arm ? ISA_ARM : ISA_RISCV);
	to = put16(put8(to, STF_INST_IEM), arm ? IEM_NONE : IEM_RV64);
	to = put8(to, STF_TRACE_INFO);
	memcpy(to, stf->generator, sizeof(stf->generator));
	to = put16(to + sizeof(stf->generator), comment);
	flowtap_write_buffer_add(&stf->out, head, to - head);
	flowtap_write_buffer_add(&stf->out, stf->generator_comment, comment);

	to = put8(head, STF_TRACE_INFO_FEATURE);
	to = put64(to, features | (arm ? 0 : FEATURE_RV64));
	to = put_process(to, &stf->context);
	to = put_address(to, STF_FORCE_PC, address);
	to = put8(to, STF_END_HEADER);
	flowtap_write_buffer_add(&stf->out, head, to - head);
	set_pending(stf, PENDING_PROCESS | PENDING_MODE | PENDING_CONTEXT);
	stf->pc = address;
}

/*
 * All that no record of an Arm trace can say. Whether there is a CPU shows where there is no pid.
 */
static bool same_context(const struct flowtap_context *a, const struct flowtap_context *b)
{
	return a->isa == b->isa && a->mode == b->mode && a->security == b->security &&
	       a->width == b->width && a->has_vmid == b->has_vmid && a->vmid == b->vmid &&
	       a->has_contextid == b->has_contextid && a->contextid == b->contextid &&
	       a->has_cpu == b->has_cpu && !a->pid == !b->pid;
}

static bool same_process(const struct flowtap_context *a, const struct flowtap_context *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->cpu == b->cpu;
}

static size_t context_line(struct flowtap_stf *stf)
{
	const struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_CONTEXT, .context = stf->context,
	};

	stf->said = stf->context;
	return flowtap_line_element(stf->line, &element);
}

static void write_context(struct flowtap_stf *stf)
{
	if (isa_is_arm(isa_of(stf)) && !same_context(&stf->said, &stf->context))
		write_comment(stf, stf->line, context_line(stf));
}

/*
 * A change to user mode may only stand with the xRET that makes it, and before the first
 * instruction: elsewhere stf_check rejects it (SWITCH_USR). A COMMENT tells of it, then.
 */
static void write_user_mode(struct flowtap_stf *stf)
{
	if (!(stf->pending & PENDING_MODE) || stf->context.mode != FLOWTAP_MODE_U ||
	    isa_is_arm(isa_of(stf)) || !stf->counts.instructions)
		return;
	if (!same_context(&stf->said, &stf->context))
		write_comment(stf, stf->line, context_line(stf));
	stf->mode = FLOWTAP_MODE_U;
	stf->pending &= ~PENDING_MODE;
}

/* Whether there is a context whose records would come too late, after an element's comment. */
static bool context_unsaid(const struct flowtap_stf *stf)
{
	return !same_context(&stf->said, &stf->context) ||
	       !same_process(&stf->said, &stf->context);
}

/* What has to come before a block, but for the mode: that is an EVENT and has its place. */
static void write_pending(struct flowtap_stf *stf, uint64_t address)
{
	uint8_t bytes[32], *to = bytes;

	if (stf->pending & PENDING_HEADER)
		write_header(stf, address);
	if (address != stf->pc)
		stf->pending |= PENDING_FORCE;
	if (stf->pending & PENDING_FORCE && !(stf->ended & ENDED_EXPLAINED))
		write_comment(stf, COMMENT_UNEXPLAINED, sizeof(COMMENT_UNEXPLAINED) - 1);
	if (stf->pending & PENDING_CONTEXT)
		write_context(stf);
	write_user_mode(stf);
	if (stf->pending & PENDING_PROCESS)
		to = put_process(to, &stf->context);
	if (stf->pending & PENDING_FORCE) {
		to = put_address(to, STF_FORCE_PC, address);
		stf->counts.forced++;
	}
	flowtap_write_buffer_add(&stf->out, bytes, to - bytes);
}

/* The one place, beside renderings, where instructions are written and counted. */
static void write_opcodes(struct flowtap_stf *stf, const struct flowtap_block *block, size_t at,
			  size_t end)
{
	const uint8_t *insns = block->bytes;
	uint8_t record[OPCODE_MAX];
	size_t size;

	for (; at < end; at += insn_size(block->isa, insns + at)) {
		begin_group(stf, block->address + at);
		size = (size_t)(put_insn(record, block->isa, insns + at) - record);
		flowtap_write_buffer_add(&stf->out, record, size);
		set_last_opcode(stf, (uint32_t)size);
		stf->counts.instructions++;
	}
}

/* The instruction that was held back, with what was said of it meanwhile. */
static void write_held(struct flowtap_stf *stf)
{
	uint8_t group[LAST_MAX];

	if (!(stf->pending & PENDING_LAST))
		return;
	stf->pending &= ~PENDING_LAST;
	begin_group(stf, stf->last.address);
	/* Of T32 the next reader may not know that it is always taken (arm.h). */
	if (stf->last.unknown && stf->last.may_stay && !stf->last.carries)
		write_comment(stf, COMMENT_TAKEN, sizeof(COMMENT_TAKEN) - 1);
	flowtap_write_buffer_add(&stf->out, group, put_last(group, &stf->last) - group);
	set_last_opcode(stf, (uint32_t)(1 + insn_size(stf->last.isa, stf->last.insn)));
	stf->counts.instructions++;
	if (!stf->later_size)
		return;
	begin_comments(stf);
	add_comment(stf, stf->later, stf->later_size);
	stf->later_size = 0;
}

/*
 * One piece after the other, in the order that groups must have: target, event, opcode. hold: the
 * last instruction is not written yet.
 */
static void write_pieces(struct flowtap_stf *stf, const struct flowtap_block *block, bool carries,
			 uint64_t target, bool hold)
{
	bool mode = stf->pending & PENDING_MODE;
	uint8_t event[EVENT_SIZE];

	stf->mode = mode ? stf->context.mode : stf->mode;
	if (mode && block->last)
		flowtap_write_buffer_add(&stf->out, event, put_mode(event, stf->mode) - event);
	write_opcodes(stf, block, 0, block->last);
	stf->last = (struct stf_last){
		.address = block->address + block->last,
		.isa = block->isa,
		.unknown = hold && isa_is_arm(block->isa) && !carries,
		.may_stay = block->conditional || block->isa == FLOWTAP_ISA_T32,
		.returns = end_returns(block),
		.carries = carries,
		.target = target,
		.begins = mode && !block->last,
		.before = stf->mode,
	};
	memcpy(stf->last.insn, block->bytes + block->last, block->size - block->last);
	set_pending(stf, PENDING_LAST);
	if (!hold)
		write_held(stf);
}

/*
 * A trap is no branch; of a return into a mode that is not recorded the target is not known, nor
 * is that of an Arm branch by a register which nothing came after.
 */
static bool carries_target(const struct flowtap_block *block, uint64_t target)
{
	if (isa_is_arm(block->isa))
		return block->direct || target;
	return !end_is_trap(block) || (end_returns(block) && target);
}

/* One or the other without a branch: whether one is taken is what a predictor knows least. */
static inline uint64_t either(bool which, uint64_t if_true, uint64_t if_false)
{
	return if_false ^ ((if_true ^ if_false) & -(uint64_t)which);
}

/*
 * What was rendered before: one copy, then over it the target, or else the last opcode in place of
 * the target.
 */
static inline void write_rendered(struct flowtap_stf *stf, const struct flowtap_render *render,
				  bool carries, uint64_t target)
{
	const uint32_t mark = render->mark & STF_MARK_TARGET;
	const uint8_t *bytes = render->bytes, *last = bytes + mark + TARGET_SIZE;
	struct flowtap_write_buffer *out = &stf->out;
	uint8_t *to = out->bytes + out->fill;
	uint64_t over;

	flowtap_write_buffer_copy(to, bytes, render->size);
	memcpy(&over, last, sizeof(over));
	over = either(carries, htole64(target), over);
	memcpy(to + mark + carries, &over, sizeof(over));
	out->fill += render->size - TARGET_SIZE + (TARGET_SIZE & -(uint32_t)carries);
}

/* Of the record that it ends with. */
static inline uint32_t opcode_size(const struct flowtap_render *render)
{
	return render->size - TARGET_SIZE - (render->mark & STF_MARK_TARGET);
}

/* Whether a trace can have this: all of it is RISC-V's, or Arm's. */
static bool may_have(const struct flowtap_stf *stf, unsigned int isa)
{
	return isa <= FLOWTAP_ISA_T32 &&
	       (!stf->decided || isa_is_arm(isa) == isa_is_arm(isa_of(stf)));
}

/* Arm's branch to an address that was not told, for which 0 stands, did go to 0. */
static void learn_target(struct flowtap_stf *stf, uint64_t address)
{
	if (!(stf->pending & PENDING_LAST) || !stf->last.unknown || address)
		return;
	stf->last.carries = true;
	stf->pending &= ~PENDING_FORCE;
	stf->pc = 0;
}

static void handle_isa(struct flowtap_stf *stf, uint8_t isa)
{
	stf->pending |= isa != stf->context.isa ? PENDING_CONTEXT : 0;
	stf->context.isa = isa;
	set_isa(stf, isa);
	stf->decided = true;
}

/* Any block. Apart, so that the fast way needs few registers. */
__attribute__((noinline))
static int write_slowly(struct flowtap_stf *stf, const struct flowtap_block *block, bool taken,
			uint64_t target)
{
	const struct flowtap_render *render = NULL;
	bool goes = (taken && !end_stays(block)) || end_goes_anyway(block);
	bool carries = goes && carries_target(block, target);
	bool hold = goes && (end_is_trap(block) || (isa_is_arm(block->isa) && !carries));
	struct flowtap_write_buffer *out = &stf->out;
	int error = out->error;

	if (!error && !may_have(stf, block->isa))
		error = -EOPNOTSUPP;
	if (!error)
		error = flowtap_stf_render(block, &stf->slot, &render);
	if (!error && carries && target & 1)
		error = -EINVAL;
	if (error)
		return error;
	write_tail(stf);
	learn_target(stf, block->address);
	write_held(stf);
	write_tail(stf);
	handle_isa(stf, block->isa);
	begin_group(stf, stf->pc);
	write_pending(stf, block->address);
	if (render && !(stf->pending & PENDING_MODE) && !hold &&
	    stf->boundary - stf->counts.instructions >= block->instructions) {
		if (!flowtap_write_buffer_reserve(out, render->size))
			write_rendered(stf, render, carries, target);
		set_last_opcode(stf, opcode_size(render));
		stf->counts.instructions += block->instructions;
		set_pending(stf, 0);
	} else {
		write_pieces(stf, block, carries, target, hold);
	}
	stf->pc = carries ? target : block->address + block->size;
	stf->pending |= goes && !carries ? PENDING_FORCE : 0;
	stf->ended &= ENDED_OPCODE;
	stf->said = stf->context;
	return out->error;
}

/*
 * The way of nearly all blocks: what continues the flow, in the same ISA, and was rendered before,
 * not STF_MARK_APART.
 */
static int write_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		       uint64_t target)
{
	struct flowtap_stf *stf = (struct flowtap_stf *)sink;
	const struct flowtap_render *render = flowtap_slot_guess(&stf->slot, block);
	const uint64_t instructions = stf->counts.instructions + block->instructions;

	if (__builtin_expect(render->owner != stf->slot.owner || block->address != stf->pc ||
			     (render->mark & ~STF_MARK_TARGET) != stf->pending ||
			     (taken & (target & 1 || !target)) ||
			     instructions > stf->boundary ||
			     stf->out.fill + render->size > FLOWTAP_WRITE_BUFFER_CAPACITY, 0))
		return write_slowly(stf, block, taken, target);
	write_rendered(stf, render, taken, target);
	stf->pc = either(taken, target, block->address + block->size);
	stf->counts.instructions = instructions;
	stf->ended = opcode_size(render);
	return 0;
}

/* Whether it is the last instruction that changes the mode: a trap raises it, an xRET lowers it. */
static bool last_changes(const struct flowtap_stf *stf, uint8_t mode)
{
	const struct stf_last *last = &stf->last;

	return stf->pending & PENDING_LAST && !last->changes &&
	       (last->returns ? last->carries && mode < stf->mode :
				last->traps && mode > stf->mode);
}

/*
 * CTR tells of another thread only between samples. An Arm trace is a CPU's, and goes on when the
 * kernel switches.
 */
static void handle_process(struct flowtap_stf *stf, const struct flowtap_context *old)
{
	const struct flowtap_context *context = &stf->context;

	if (context->pid != old->pid || context->tid != old->tid || context->cpu != old->cpu)
		stf->pending |= PENDING_PROCESS;
	if (isa_is_arm(context->isa) || (context->pid == old->pid && context->tid == old->tid))
		return;
	write_held(stf);
	stf->pending |= PENDING_FORCE;
	stf->ended |= ENDED_EXPLAINED;
}

static int handle_context(struct flowtap_stf *stf, const struct flowtap_context *context)
{
	const struct flowtap_context old = stf->context;

	if (!may_have(stf, context->isa))
		return -EOPNOTSUPP;
	if (context->mode > FLOWTAP_MODE_M)
		return -EINVAL;
	stf->context = *context;
	if (stf->pending & PENDING_HEADER) {
		set_isa(stf, context->isa);
		stf->decided = true;
		return 0;
	}
	handle_process(stf, &old);
	stf->pending &= ~PENDING_MODE;
	stf->pending |= isa_is_arm(context->isa) ? PENDING_CONTEXT : 0;
	if (context->mode == stf->mode) {
		/* A comment has told of another one. */
		if (!isa_is_arm(context->isa) && stf->said.mode != context->mode)
			stf->pending |= PENDING_MODE;
		return 0;
	}
	if (!last_changes(stf, context->mode)) {
		stf->pending |= PENDING_MODE | PENDING_FORCE;
		/* A comment tells of the context. */
		stf->ended |= isa_is_arm(context->isa) ? ENDED_EXPLAINED : 0;
		return 0;
	}
	stf->last.changes = true;
	stf->last.after = context->mode;
	/* Back in the one from before is a change as well. */
	stf->said.mode = MODE_TOLD;
	stf->mode = context->mode;
	return 0;
}

/*
 * Whether the exception is what this instruction is for: environment calls have a cause per mode.
 */
static bool own_cause(const struct stf_last *last, int number)
{
	struct flowtap_riscv_insn insn;

	if (flowtap_riscv_classify(last->insn, sizeof(last->insn), &insn) || insn.cause < 0)
		return false;
	return insn.cause == CAUSE_BREAKPOINT ? number == CAUSE_BREAKPOINT :
						number >= CAUSE_ECALL_U && number <= CAUSE_ECALL_M;
}

/*
 * An ecall or ebreak of which the cause and the handler are known is an EVENT in its group. No
 * other trap is: CTR does not record causes, and an EVENT must have one. Its field is the address
 * (breakpoint), or the number of the system call, which is not known: all ones. Events are
 * RISC-V's causes: no Arm exception is one.
 */
static bool handle_exception(struct flowtap_stf *stf, const struct flowtap_exception *exception)
{
	struct stf_last *last = &stf->last;

	if (!(stf->pending & PENDING_LAST) || isa_is_arm(last->isa) || last->returns || last->traps ||
	    !exception->target || exception->target & 1 || !own_cause(last, exception->number) ||
	    exception->interrupt || exception->address != last->address)
		return false;
	last->traps = true;
	last->id = exception->number;
	last->field = exception->number == CAUSE_BREAKPOINT ? exception->address : UINT64_MAX;
	last->handler = exception->target;
	stf->pc = exception->target;
	stf->pending &= ~PENDING_FORCE;
	stf->counts.events++;
	return true;
}

/* What no record can say. The flow goes on somewhere else, unless it says where. */
static int explain(struct flowtap_stf *stf, const struct flowtap_element *element, bool forces)
{
	write_held(stf);
	stf->ended |= ENDED_EXPLAINED;
	if (forces && !(stf->pending & PENDING_HEADER))
		stf->pending |= PENDING_FORCE;
	begin_comments(stf);
	if (context_unsaid(stf))
		write_comment(stf, stf->line, context_line(stf));
	return write_comment(stf, stf->line, flowtap_line_element(stf->line, element));
}

/* A line after the instruction that is held back: that may still change the mode. */
static int write_later(struct flowtap_stf *stf, size_t size)
{
	uint8_t *later = stf->later + stf->later_size;

	if (stf->pending & PENDING_LAST && LATER_MAX - stf->later_size >= size + 5) {
		memcpy(put32(put8(later, STF_COMMENT), size), stf->line, size);
		stf->later_size += 5 + size;
		return 0;
	}
	write_held(stf);
	begin_comments(stf);
	return write_comment(stf, stf->line, size);
}

/* What is only noted. */
static int note(struct flowtap_stf *stf, const struct flowtap_element *element)
{
	int error = context_unsaid(stf) ? write_later(stf, context_line(stf)) : 0;

	return error ? error : write_later(stf, flowtap_line_element(stf->line, element));
}

/* That of the xRET before it needs no word, but one that was not recorded does. */
static int handle_return(struct flowtap_stf *stf, const struct flowtap_element *element)
{
	return stf->pending & PENDING_LAST ? 0 : explain(stf, element, false);
}

static int write_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct flowtap_stf *stf = (struct flowtap_stf *)sink;

	if (stf->out.error)
		return stf->out.error;
	switch (element->kind) {
	case FLOWTAP_ELEMENT_CONTEXT:
		return handle_context(stf, &element->context);
	case FLOWTAP_ELEMENT_GAP:
		stf->counts.gaps++;
		return explain(stf, element, true);
	case FLOWTAP_ELEMENT_EXCEPTION:
		if (handle_exception(stf, &element->exception))
			return 0;
		stf->counts.traps++;
		return explain(stf, element, false);
	case FLOWTAP_ELEMENT_TRANSFER:
	case FLOWTAP_ELEMENT_CALLSTACK:
		stf->counts.skipped++;
		return explain(stf, element, true);
	case FLOWTAP_ELEMENT_SESSION:
	case FLOWTAP_ELEMENT_TRACE_ON:
	case FLOWTAP_ELEMENT_Q:
		return explain(stf, element, true);
	case FLOWTAP_ELEMENT_TRANSACTION:
		if (element->transaction == FLOWTAP_TRANSACTION_FAIL)
			return explain(stf, element, false);
		return note(stf, element);
	case FLOWTAP_ELEMENT_EVENT:
	case FLOWTAP_ELEMENT_INSTRUMENTATION:
		return note(stf, element);
	case FLOWTAP_ELEMENT_EXCEPTION_RETURN:
		return handle_return(stf, element);
	case FLOWTAP_ELEMENT_TIME:
	case FLOWTAP_ELEMENT_CYCLES:
	case FLOWTAP_ELEMENT_MISPREDICTED:
	case FLOWTAP_ELEMENT_TIMESTAMP:
	case FLOWTAP_ELEMENT_MARKER:
	case FLOWTAP_ELEMENT_SOURCE:
		break;
	}
	return 0;
}

static void write_beginning(struct flowtap_stf *stf, const char *comment)
{
	uint8_t head[16], *to = head;

	to = put8(to, STF_IDENTIFIER);
	memcpy(to, "STF", 3);
	to = put8(to + 3, STF_VERSION);
	to = put32(put32(to, VERSION_MAJOR), VERSION_MINOR);
	flowtap_write_buffer_add(&stf->out, head, to - head);
	write_comment(stf, comment, strlen(comment));
}

/* zstf: options, or NULL for a plain file. */
static int open_output(struct flowtap_stf *stf, int fd, const struct flowtap_zstf_options *zstf)
{
	stf->boundary = UINT64_MAX;
	if (flowtap_write_buffer_init(&stf->out, fd))
		return -ENOMEM;
	if (!zstf)
		return 0;
	stf->boundary = zstf->markers ? zstf->markers : FLOWTAP_ZSTF_MARKERS;
	return flowtap_zstf_new(&stf->out, zstf, &stf->zstf);
}

int flowtap_stf_new(int fd, const struct flowtap_stf_options *options, struct flowtap_stf **stf)
{
	const char *comment = options->generator_comment ? options->generator_comment : "";
	struct flowtap_stf *new;
	int error;

	*stf = NULL;
	if (strlen(comment) > UINT16_MAX)
		return -EINVAL;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->generator_comment = strdup(comment);
	new->tail = malloc(TAIL_MAX);
	error = new->generator_comment &&new->tail ? open_output(new, fd, options->zstf) : -ENOMEM;
	if (error) {
		flowtap_stf_free(new);
		return error;
	}
	new->sink.block = write_block;
	new->sink.element = write_element;
	new->slot = flowtap_stf_slot(options->blocks);
	new->pending = PENDING_HEADER;
	new->generator[0] = options->generator;
	memcpy(new->generator + 1, options->version, sizeof(options->version));
	write_beginning(new, options->comment ? options->comment : "flowtap");
	*stf = new;
	return 0;
}

struct flowtap_sink *flowtap_stf_sink(struct flowtap_stf *stf)
{
	return &stf->sink;
}

const struct flowtap_stf_counts *flowtap_stf_counts(const struct flowtap_stf *stf)
{
	/* Only `bytes` is not kept up to date: the buffer knows. */
	((struct flowtap_stf *)stf)->counts.bytes = stf->out.written;
	return &stf->counts;
}

/*
 * The last record is an opcode, as each chunk's of a .zstf: stf_recompress leaves out a chunk that
 * ends with a comment. What the trace has after the last instruction stands before its opcode.
 */
static void end_with_opcode(struct flowtap_stf *stf)
{
	uint32_t opcode = last_opcode(stf);

	if (!(stf->pending & PENDING_TAIL))
		return;
	stf->pending &= ~PENDING_TAIL;
	write_comment(stf, COMMENT_AFTER, sizeof(COMMENT_AFTER) - 1);
	add_comment(stf, stf->tail + opcode, stf->tail_size - opcode);
	flowtap_write_buffer_add(&stf->out, stf->tail, opcode);
}

int flowtap_stf_finish(struct flowtap_stf *stf)
{
	if (stf->out.error)
		return stf->out.error;
	if (stf->pending & PENDING_HEADER)
		return -ENODATA;
	write_held(stf);
	end_with_opcode(stf);
	return stf->zstf ? flowtap_zstf_finish(stf->zstf) : flowtap_write_buffer_flush(&stf->out);
}

void flowtap_stf_free(struct flowtap_stf *stf)
{
	if (!stf)
		return;
	flowtap_zstf_free(stf->zstf);
	flowtap_write_buffer_free(&stf->out);
	free(stf->generator_comment);
	free(stf->tail);
	free(stf);
}
