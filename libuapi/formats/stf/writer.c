// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Writes the flow as STF: the header, the instructions of each block, and before them the
 * context, FORCE_PC and comments that a reader needs.
 */
#include "formats/stf/writer.h"

#include <errno.h>
#include <stdlib.h>

/* These and no others. */
static inline void set_pending(struct flowtap_stf *stf, uint32_t pending)
{
	stf->pending = (stf->pending & ~STF_MARK_TARGET) | pending;
}

/* From ISA to what has to follow END_HEADER: identifier, version and comments are there. */
static void write_header(struct flowtap_stf *stf, uint64_t address)
{
	const uint64_t features = FEATURE_EVENT | FEATURE_PROCESS_ID | FEATURE_EVENT64;
	size_t comment = strlen(stf->generator_comment);
	bool arm = isa_is_arm(stf_isa(stf));
	uint8_t head[64], *to = head;

	to = put16(put8(to, STF_ISA), arm ? ISA_ARM : ISA_RISCV);
	to = put16(put8(to, STF_INST_IEM), arm ? IEM_NONE : IEM_RV64);
	to = put8(to, STF_TRACE_INFO);
	memcpy(to, stf->generator, sizeof(stf->generator));
	to = put16(to + sizeof(stf->generator), comment);
	stf_output_add(&stf->out, head, to - head);
	stf_output_add(&stf->out, stf->generator_comment, comment);

	to = put8(head, STF_TRACE_INFO_FEATURE);
	to = put64(to, features | (arm ? 0 : FEATURE_RV64));
	to = put_process(to, &stf->context);
	to = put_address(to, STF_FORCE_PC, address);
	to = put8(to, STF_END_HEADER);
	stf_output_add(&stf->out, head, to - head);
	stf_output_end_header(&stf->out);
	set_pending(stf, PENDING_PROCESS | PENDING_MODE | PENDING_CONTEXT);
	stf->out.pc = address;
}

bool flowtap_stf_same_context(const struct flowtap_context *a, const struct flowtap_context *b)
{
	return a->isa == b->isa && a->mode == b->mode && a->security == b->security &&
	       a->width == b->width && a->has_vmid == b->has_vmid && a->vmid == b->vmid &&
	       a->has_contextid == b->has_contextid && a->contextid == b->contextid &&
	       a->has_cpu == b->has_cpu && !a->pid == !b->pid;
}

size_t flowtap_stf_context_line(struct flowtap_stf *stf)
{
	const struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_CONTEXT, .context = stf->context,
	};

	stf->written = stf->context;
	return flowtap_line_element(stf->line, &element);
}

static void write_context(struct flowtap_stf *stf)
{
	if (isa_is_arm(stf_isa(stf)) && !flowtap_stf_same_context(&stf->written, &stf->context))
		stf_output_comment(&stf->out, stf->line, flowtap_stf_context_line(stf));
}

/*
 * A change to user mode may only be with the xRET that makes it, and before the first
 * instruction: elsewhere stf_check rejects it (SWITCH_USR). A COMMENT records it, then.
 */
static void write_user_mode(struct flowtap_stf *stf)
{
	if (!(stf->pending & PENDING_MODE) || stf->context.mode != FLOWTAP_PRIVILEGE_U ||
	    isa_is_arm(stf_isa(stf)) || !stf->out.instructions)
		return;
	if (!flowtap_stf_same_context(&stf->written, &stf->context))
		stf_output_comment(&stf->out, stf->line, flowtap_stf_context_line(stf));
	stf->mode = FLOWTAP_PRIVILEGE_U;
	stf->pending &= ~PENDING_MODE;
}

/* What has to come before a block, but for the mode: that is an EVENT, in its own position. */
static void write_pending(struct flowtap_stf *stf, uint64_t address)
{
	uint8_t bytes[32], *to = bytes;

	if (stf->pending & PENDING_HEADER)
		write_header(stf, address);
	if (address != stf->out.pc)
		stf->pending |= PENDING_FORCE;
	if (stf->pending & PENDING_FORCE && !(stf->pending & PENDING_EXPLAINED))
		stf_output_comment(&stf->out, COMMENT_UNEXPLAINED, sizeof(COMMENT_UNEXPLAINED) - 1);
	if (stf->pending & PENDING_CONTEXT)
		write_context(stf);
	write_user_mode(stf);
	if (stf->pending & PENDING_PROCESS)
		to = put_process(to, &stf->context);
	if (stf->pending & PENDING_FORCE) {
		to = put_address(to, STF_FORCE_PC, address);
		stf->counts.forced++;
	}
	stf_output_add(&stf->out, bytes, to - bytes);
}

/* The one place, beside renderings, where instructions are written and counted. */
static void write_opcodes(struct flowtap_stf *stf, const struct flowtap_block *block, size_t at,
			  size_t end)
{
	const uint8_t *insns = block->bytes;
	uint8_t record[OPCODE_MAX];
	size_t size;

	for (; at < end; at += insn_size(block->isa, insns + at)) {
		stf_output_begin_group(&stf->out, block->address + at);
		size = (size_t)(put_insn(record, block->isa, insns + at) - record);
		stf_output_opcode(&stf->out, record, size);
	}
}

void flowtap_stf_write_last(struct flowtap_stf *stf)
{
	uint8_t group[LAST_MAX], *opcode;
	size_t size = 1 + insn_size(stf->last.isa, stf->last.insn);

	if (!(stf->pending & PENDING_LAST))
		return;
	stf->pending &= ~PENDING_LAST;
	stf_output_begin_group(&stf->out, stf->last.address);
	opcode = put_last(group, &stf->last) - size;
	stf_output_add(&stf->out, group, (size_t)(opcode - group));
	stf_output_opcode(&stf->out, opcode, size);
}

static void write_before_last(struct flowtap_stf *stf, const struct flowtap_block *block)
{
	bool mode = stf->pending & PENDING_MODE;
	uint8_t event[EVENT_SIZE];

	stf->mode = mode ? stf->context.mode : stf->mode;
	if (mode && block->last)
		stf_output_add(&stf->out, event, put_mode(event, stf->mode) - event);
	write_opcodes(stf, block, 0, block->last);
}

/*
 * One piece after the other, in the order that groups must have: target, event, opcode. hold: the
 * last instruction is not written yet.
 */
static void write_pieces(struct flowtap_stf *stf, const struct flowtap_block *block, bool carries,
			 uint64_t target, bool hold)
{
	bool mode = stf->pending & PENDING_MODE;

	write_before_last(stf, block);
	stf->last = (struct stf_last){
		.address = block->address + block->last,
		.isa = block->isa,
		.unknown = hold && isa_is_arm(block->isa) && !carries,
		.may_fall_through = block->conditional || block->isa == FLOWTAP_ISA_T32,
		.returns = end_returns(block),
		.carries = carries,
		.target = target,
		.begins = mode && !block->last,
		.before = stf->mode,
	};
	memcpy(stf->last.insn, block->bytes + block->last, block->size - block->last);
	set_pending(stf, PENDING_LAST);
	if (!hold)
		flowtap_stf_write_last(stf);
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
	struct flowtap_write_buffer *out = &stf->out.buffer;
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

/* RV64's jump to nobody knows where, which no reader takes without a target. As either(). */
static inline bool lacks_target(const struct flowtap_block *block, bool taken)
{
	return (block->isa == FLOWTAP_ISA_RV64) & !taken & !block->conditional &
	       ((uint8_t)(block->end - FLOWTAP_TRANSFER_INDIRECT_CALL) <=
		FLOWTAP_TRANSFER_DIRECT_LINK - FLOWTAP_TRANSFER_INDIRECT_CALL);
}

/* Arm's branch to an address that was unknown, written as 0, did go to 0. */
static void learn_target(struct flowtap_stf *stf, uint64_t address)
{
	if (!(stf->pending & PENDING_LAST) || !stf->last.unknown || address)
		return;
	stf->last.carries = true;
	stf->pending &= ~PENDING_FORCE;
	stf->out.pc = 0;
}

/* All that comes before the block's own groups. */
static void begin_block(struct flowtap_stf *stf, const struct flowtap_block *block)
{
	learn_target(stf, block->address);
	flowtap_stf_write_last(stf);
	stf_output_release(&stf->out);
	stf->pending |= block->isa != stf->context.isa ? PENDING_CONTEXT : 0;
	stf->context.isa = block->isa;
	stf_set_isa(stf, block->isa);
	stf_output_begin_group(&stf->out, stf->out.pc);
	write_pending(stf, block->address);
}

/* The block without its last instruction, which a gap stands for. */
static int leave_out_jump(struct flowtap_stf *stf, const struct flowtap_block *block)
{
	const struct flowtap_element gap = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = {
			.reason = FLOWTAP_GAP_NO_ADDRESS,
			.size = UINT64_MAX,
			.address = block->address + block->last,
			.detail = "where this jump went is not known, and STF has no jump without "
				  "a target",
		},
	};

	if (block->last) {
		begin_block(stf, block);
		write_before_last(stf, block);
		stf->out.pc = block->address + block->last;
		set_pending(stf, 0);
		stf->written = stf->context;
	}
	stf->counts.jumps++;
	return flowtap_stf_element(&stf->sink, &gap);
}

/* Any block. Apart, so that the fast path needs few registers. */
__attribute__((noinline))
static int write_slowly(struct flowtap_stf *stf, const struct flowtap_block *block, bool taken,
			uint64_t target)
{
	const struct flowtap_render *render = NULL;
	bool transfers = (taken && !end_falls_through(block)) || end_branches_to_next(block);
	bool carries = transfers && carries_target(block, target);
	bool hold = transfers && (end_is_trap(block) || (isa_is_arm(block->isa) && !carries));
	struct stf_output *out = &stf->out;
	int error = out->buffer.error;

	if (!error && !stf_may_have(stf, block->isa))
		error = -EOPNOTSUPP;
	if (!error)
		error = flowtap_stf_render(block, &stf->slot, &render);
	if (!error && carries && target & 1)
		error = -EINVAL;
	if (error)
		return error;
	if (lacks_target(block, taken))
		return leave_out_jump(stf, block);
	begin_block(stf, block);
	if (render && !(stf->pending & PENDING_MODE) && !hold &&
	    out->boundary - out->instructions >= block->instructions) {
		if (!flowtap_write_buffer_reserve(&out->buffer, render->size))
			write_rendered(stf, render, carries, target);
		out->last_opcode = opcode_size(render);
		out->instructions += block->instructions;
		set_pending(stf, 0);
	} else {
		write_pieces(stf, block, carries, target, hold);
	}
	out->pc = carries ? target : block->address + block->size;
	stf->pending &= ~PENDING_EXPLAINED;
	stf->pending |= transfers && !carries ? PENDING_FORCE : 0;
	stf->written = stf->context;
	return out->buffer.error;
}

/*
 * The fast path, of nearly all blocks: what continues the flow, in the same ISA, and was rendered
 * before, not STF_MARK_APART.
 */
static int write_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		       uint64_t target)
{
	struct flowtap_stf *stf = (struct flowtap_stf *)sink;
	const struct flowtap_render *render = flowtap_slot_guess(&stf->slot, block);
	const uint64_t instructions = stf->out.instructions + block->instructions;

	if (__builtin_expect(render->owner != stf->slot.owner || block->address != stf->out.pc ||
			     (render->mark & ~STF_MARK_TARGET) != stf->pending ||
			     (taken & (target & 1 || !target)) || lacks_target(block, taken) ||
			     instructions > stf->out.boundary ||
			     stf->out.buffer.fill + render->size > FLOWTAP_WRITE_BUFFER_CAPACITY, 0))
		return write_slowly(stf, block, taken, target);
	write_rendered(stf, render, taken, target);
	stf->out.pc = either(taken, target, block->address + block->size);
	stf->out.instructions = instructions;
	stf->out.last_opcode = opcode_size(render);
	return 0;
}

static void write_beginning(struct flowtap_stf *stf, const char *comment)
{
	uint8_t head[16], *to = head;

	to = put8(to, STF_IDENTIFIER);
	memcpy(to, "STF", 3);
	to = put8(to + 3, STF_VERSION);
	to = put32(put32(to, VERSION_MAJOR), VERSION_MINOR);
	stf_output_add(&stf->out, head, to - head);
	stf_output_comment(&stf->out, comment, strlen(comment));
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
	error = stf_output_init(&new->out, fd, options->zstf);
	if (!new->generator_comment)
		error = -ENOMEM;
	if (error) {
		flowtap_stf_free(new);
		return error;
	}
	new->sink.block = write_block;
	new->sink.element = flowtap_stf_element;
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
	struct flowtap_stf_counts *counts = &((struct flowtap_stf *)stf)->counts;

	/* These are not kept up to date: the output knows. */
	counts->instructions = stf->out.instructions;
	counts->bytes = stf->out.buffer.written;
	return &stf->counts;
}

int flowtap_stf_finish(struct flowtap_stf *stf)
{
	if (stf->out.buffer.error)
		return stf->out.buffer.error;
	if (stf->pending & PENDING_HEADER)
		return -ENODATA;
	flowtap_stf_write_last(stf);
	return stf_output_finish(&stf->out);
}

void flowtap_stf_free(struct flowtap_stf *stf)
{
	if (!stf)
		return;
	stf_output_free(&stf->out);
	free(stf->generator_comment);
	free(stf);
}
