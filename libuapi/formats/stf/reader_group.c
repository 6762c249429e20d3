// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The instructions of an STF, with what their groups say of them, as elements of the flow. What was
 * executed before in the same way is recognised by its records, a block at a time.
 */
#include "formats/stf/reader.h"

#include "formats/stf/block_render.h"
#include "formats/stf/records.h"
#include "isa/block_end.h"

#include <errno.h>
#include <inttypes.h>

int flowtap_stf_flush(struct stf_reader *reader)
{
	reader->call_held = false;
	return flowtap_learned_flush(reader->learned);
}

static bool is_aarch32(unsigned int isa)
{
	return isa == FLOWTAP_ISA_A32 || isa == FLOWTAP_ISA_T32;
}

/* Whether A32 or T32 is executed, each block says. */
static bool same_context(const struct flowtap_context *a, const struct flowtap_context *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->cpu == b->cpu &&
	       (a->isa == b->isa || (is_aarch32(a->isa) && is_aarch32(b->isa))) &&
	       a->mode == b->mode && a->security == b->security && a->width == b->width &&
	       a->has_vmid == b->has_vmid && a->vmid == b->vmid &&
	       a->has_contextid == b->has_contextid && a->contextid == b->contextid &&
	       a->has_cpu == b->has_cpu;
}

static int send(struct stf_reader *reader, const struct flowtap_element *element)
{
	int status = reader->sink->element(reader->sink, element);

	return status < 0 ? status : 0;
}

/* The context of what is executed next, if no record said so. */
static int emit_context(struct stf_reader *reader)
{
	struct flowtap_element element = { .kind = FLOWTAP_ELEMENT_CONTEXT };
	int status;

	reader->context_due = false;
	if (reader->has_mode && reader->read->mode_unknown) {
		status = flowtap_stf_flush(reader);
		if (status)
			return status;
		reader->read->mode_unknown = false;
	}
	if (reader->any_emitted && same_context(&reader->context, &reader->emitted))
		return 0;
	status = flowtap_stf_flush(reader);
	if (status)
		return status;
	reader->emitted = reader->context;
	reader->any_emitted = true;
	element.context = reader->context;
	return send(reader, &element);
}

/* What an element says of the instruction before it, of which nothing was known but that it was. */
static void learn(struct stf_reader *reader, const struct flowtap_element *element)
{
	const struct learned_run *run = &reader->learned->run;

	if (reader->call_held && element->kind == FLOWTAP_ELEMENT_EXCEPTION &&
	    element->exception.address == run->address + run->last)
		flowtap_learned_taken(reader->learned, 0);
}

int flowtap_stf_emit(struct stf_reader *reader, const struct flowtap_element *element)
{
	int status;

	learn(reader, element);
	status = flowtap_stf_flush(reader);

	if (!status && reader->context_due)
		status = emit_context(reader);
	return status ? status : send(reader, element);
}

int flowtap_stf_gap(struct stf_reader *reader, enum flowtap_gap_reason reason, uint64_t address,
		    const char *detail)
{
	const struct flowtap_element gap = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = { .reason = reason, .size = UINT64_MAX, .address = address,
			 .detail = detail },
	};

	return flowtap_stf_emit(reader, &gap);
}

/* What an opcode is, as far as its group's other records ask. */
struct nature {
	bool transfers;		/* it can go elsewhere ... */
	bool always;		/* ... and does; not so where T32 may be in an IT block */
	bool direct;		/* ... to what its opcode has */
	bool returns;		/* from a trap */
	bool calls;		/* ecall, ebreak ... */
	bool own;		/* ... and the group's trap is its own */
};

static struct nature riscv_nature(const struct stf_group *group, const uint8_t *insn, size_t size)
{
	struct flowtap_riscv_insn riscv;
	bool calls;

	if (flowtap_riscv_classify(insn, size, &riscv))
		return (struct nature){ .transfers = false };
	calls = riscv.transfer == FLOWTAP_TRANSFER_EXCEPTION;
	return (struct nature){
		.transfers = flowtap_learned_transfers(FLOWTAP_ISA_RV64, riscv.transfer),
		.always = !riscv.conditional && !calls,
		.direct = riscv.direct,
		.returns = riscv.transfer == FLOWTAP_TRANSFER_TRAP_RETURN,
		.calls = calls,
		/* Environment calls from U, S, VS and M have a number each. */
		.own = calls && group->traps && !group->interrupt &&
		       (riscv.cause == 3 ? group->cause == 3 :
					   group->cause >= 8 && group->cause <= 11),
	};
}

static struct nature arm_nature(const struct stf_reader *reader, uint64_t pc, const uint8_t *insn,
				size_t size)
{
	struct flowtap_arm_insn arm;

	if (flowtap_arm_classify((enum flowtap_isa)reader->isa, pc, 0, insn, size, &arm))
		return (struct nature){ .transfers = false };
	return (struct nature){
		.transfers = flowtap_learned_transfers(reader->isa, arm.kind),
		.always = !arm.conditional && reader->isa != FLOWTAP_ISA_T32,
		.direct = arm.direct,
		.returns = arm.kind == FLOWTAP_ARM_EXCEPTION_RETURN,
	};
}

/* As it is in memory (records.h). */
static void from_record(unsigned int isa, const uint8_t *opcode, size_t size, uint8_t insn[4])
{
	memcpy(insn, opcode, size);
	if (isa == FLOWTAP_ISA_T32 && size == 4) {
		memcpy(insn, opcode + 2, 2);
		memcpy(insn + 2, opcode, 2);
	}
}

static int complete(struct stf_reader *reader, bool taken, uint64_t target)
{
	struct flowtap_block *block;

	reader->call_held = false;
	return flowtap_learned_complete(reader->learned, taken, target, &block);
}

/* An ecall after which the flow goes on at the next instruction. */
static int complete_ecall(struct stf_reader *reader)
{
	if (!reader->call_held || !reader->pc_known)
		return 0;
	return complete(reader, false, reader->pc);
}

/* A PC that is not where the flow was: if nobody said why, it is a gap. */
static int jump(struct stf_reader *reader, const struct stf_group *group)
{
	bool elsewhere = !reader->pc_known || reader->pc != group->force_pc;
	bool first = !reader->any_emitted;
	int status = 0;

	if (elsewhere)
		status = flowtap_stf_flush(reader);
	else
		status = complete_ecall(reader);
	if (!status && elsewhere && !first && !group->explained)
		status = flowtap_stf_gap(reader, FLOWTAP_GAP_IMPOSSIBLE, group->force_pc,
					 "the trace goes on here and does not say why");
	reader->pc = group->force_pc;
	reader->pc_known = true;
	return status;
}

static void set_mode(struct stf_reader *reader, uint8_t mode)
{
	reader->mode_known |= mode != STF_MODE_UNKNOWN;
	if (mode == STF_MODE_UNKNOWN || (reader->has_mode && mode == reader->context.mode))
		return;
	reader->has_mode = true;
	reader->context.mode = mode;
	reader->context_due = true;
}

/*
 * The mode after an xRET. Of Arm's a COMMENT says where the context changed, notes may come before
 * it: without one it is the next instruction's.
 */
static void set_returned(struct stf_reader *reader, uint8_t mode)
{
	if (reader->isa == FLOWTAP_ISA_RV64)
		set_mode(reader, mode);
	else
		reader->returned = mode;
}

/* A trap that is no instruction's own: it was not completed, and comes again. */
static int interrupted(struct stf_reader *reader, const struct stf_group *group)
{
	const struct flowtap_element exception = {
		.kind = FLOWTAP_ELEMENT_EXCEPTION,
		.exception = {
			.number = group->cause <= INT32_MAX ? (int)group->cause : -1,
			.interrupt = group->interrupt,
			.address = reader->pc,
			.target = group->has_handler ? group->handler : 0,
		},
	};
	int status = flowtap_stf_emit(reader, &exception);

	if (status)
		return status;
	if (group->has_handler)
		reader->pc = group->handler;
	else
		stf_invalidate_pc(reader);
	set_mode(reader, group->after);
	return 0;
}

static int emit_return(struct stf_reader *reader)
{
	const struct flowtap_element eret = { .kind = FLOWTAP_ELEMENT_EXCEPTION_RETURN };
	int status = flowtap_stf_flush(reader);

	return status || is_aarch32(reader->isa) ? status : send(reader, &eret);
}

/* An ecall or ebreak that led to its handler. */
static int called(struct stf_reader *reader, const struct stf_group *group)
{
	int status = flowtap_learned_taken(reader->learned, group->handler);

	return status ? status : interrupted(reader, group);
}

/* The instruction at `at` went to the target of its group. */
static int complete_to_target(struct stf_reader *reader, const struct stf_group *group, uint64_t at)
{
	reader->pc = group->target;
	if (!flowtap_learned_taken(reader->learned, group->target))
		return complete(reader, true, group->target);
	if (group->target & 1)
		stf_invalidate_pc(reader);
	flowtap_stf_problem(reader, reader->record, "INST_PC_TARGET 0x%" PRIx64
			    " of an instruction that cannot lead there", group->target);
	return flowtap_stf_gap(reader, FLOWTAP_GAP_IMPOSSIBLE, at,
			       "this instruction cannot lead to where the trace goes on");
}

/* No target. Where an Arm branch by a register went may not be known. */
static int complete_without_target(struct stf_reader *reader, const struct nature *nature,
				   bool taken, uint64_t at)
{
	bool arm = reader->isa != FLOWTAP_ISA_RV64;
	int status;

	reader->call_held = nature->calls;
	if (nature->calls)
		return 0;
	taken = nature->transfers && (nature->always || (taken && arm && !nature->direct));
	if (!taken)
		return complete(reader, false, reader->pc);
	stf_invalidate_pc(reader);
	if (arm && !nature->direct)
		return complete(reader, true, 0);
	status = flowtap_stf_flush(reader);
	if (!nature->returns)
		flowtap_stf_problem(reader, reader->record,
				    "a jump at 0x%" PRIx64 " without INST_PC_TARGET", at);
	return status;
}

/* After the records of an instruction: where it led, and what else is known of it. */
static int complete_instruction(struct stf_reader *reader, const struct stf_group *group,
				const struct nature *nature, uint64_t at, size_t size)
{
	int status;

	if (nature->own)
		return called(reader, group);
	reader->pc = at + size;
	status = group->has_target ? complete_to_target(reader, group, at) :
				     complete_without_target(reader, nature, group->taken, at);
	if (status || !nature->returns)
		return status;
	set_returned(reader, group->between != STF_MODE_UNKNOWN ? group->between : group->before);
	return group->has_target || nature->always ? emit_return(reader) : 0;
}

static int refuse(struct stf_reader *reader, int error, const uint8_t *insn, size_t size)
{
	uint64_t at = reader->pc;

	reader->pc += size;
	if (error == -EINVAL)
		stf_invalidate_pc(reader);
	if (error == -EINVAL)
		flowtap_stf_problem(reader, reader->record, "no instruction can be at 0x%" PRIx64,
				    at);
	else
		flowtap_stf_problem(reader, reader->record,
				    "0x%0*" PRIx64 " at 0x%" PRIx64 " is no opcode of %s",
				    (int)(2 * size), stf_number(insn, (unsigned int)size), at,
				    flowtap_isa_name(reader->isa));
	return flowtap_stf_gap(reader, FLOWTAP_GAP_IMPOSSIBLE, at, "no instruction is like this");
}

static int emit_unsupported(struct stf_reader *reader)
{
	if (reader->reported_unsupported)
		return 0;
	reader->reported_unsupported = true;
	reader->first_unsupported = reader->record;
	return flowtap_stf_gap(reader, FLOWTAP_GAP_NO_CODE, 0, reader->unsupported);
}

/* Where nothing says where it is. */
static int nowhere(struct stf_reader *reader)
{
	if (reader->pc_lost)
		return 0;
	reader->pc_lost = true;
	return flowtap_stf_gap(reader, FLOWTAP_GAP_NO_ADDRESS, 0,
			       "no FORCE_PC says where the trace goes on");
}

/* The part that was asked for begins, or ends, with what comes next. */
static int turn(struct stf_reader *reader)
{
	reader->again = reader->before &&
			(reader->doubtful || !(reader->process_known && reader->mode_known));
	if (reader->again)
		return -EAGAIN;
	reader->before = 0;
	reader->silent = false;
	return 0;
}

static int parse_opcode(struct stf_reader *reader, const struct stf_group *group,
			const uint8_t *opcode, size_t size)
{
	struct nature nature;
	uint8_t insn[4] = { 0 };
	uint64_t at;
	int status;

	if (reader->unsupported)
		return emit_unsupported(reader);
	status = group->forces ? jump(reader, group) : complete_ecall(reader);
	if (status)
		return status;
	if (!reader->pc_known)
		return nowhere(reader);
	at = reader->pc;
	from_record(reader->isa, opcode, size, insn);
	nature = reader->isa == FLOWTAP_ISA_RV64 ? riscv_nature(group, insn, size) :
						   arm_nature(reader, at, insn, size);
	set_mode(reader, reader->returned);
	reader->returned = STF_MODE_UNKNOWN;
	/* Of an xRET a single change of mode is the one that it makes. */
	if (!nature.returns || group->between != STF_MODE_UNKNOWN || group->traps)
		set_mode(reader, group->before);
	if (reader->context_due || !reader->any_emitted)
		status = emit_context(reader);
	if (!status && group->traps && !nature.own)
		return interrupted(reader, group);
	learned_number(reader->learned, reader->read->instructions);
	if (!status && reader->learned->cut)
		status = turn(reader);
	if (!status)
		status = flowtap_learned_instruction(reader->learned, (enum flowtap_isa)reader->isa,
						     at, insn, size);
	if (status == -EINVAL || status == -EILSEQ)
		return refuse(reader, status, insn, size);
	return status ? status : complete_instruction(reader, group, &nature, at, size);
}

int flowtap_stf_opcode(struct stf_reader *reader, const uint8_t *opcode, size_t size)
{
	int status = parse_opcode(reader, &reader->group, opcode, size);

	reader->read->instructions++;
	stf_new_group(&reader->group);
	return status;
}

/* The block that comes next, as far as can be guessed. */
static inline struct flowtap_block *guess(const struct flowtap_learned *learned,
					  struct flowtap_block *last, bool taken, unsigned int isa,
					  uint64_t pc)
{
	struct flowtap_block *next = last ? last->successor[taken] : NULL;

	if (__builtin_expect(next && next->address == pc && next->isa == isa, 1))
		return next;
	next = learned_recent(learned, isa, pc);
	if (next && last)
		last->successor[taken] = next;
	return next;
}

static inline uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return le64toh(word);
}

/* Of few bytes; both sides can be read up to 8 bytes beyond them. */
static inline bool same_bytes(const uint8_t *a, const uint8_t *b, size_t size)
{
	for (; size > 16; size -= 16, a += 16, b += 16)
		if ((word_at(a) ^ word_at(b)) | (word_at(a + 8) ^ word_at(b + 8)))
			return false;
	if (size > 8) {
		if (word_at(a) != word_at(b))
			return false;
		size -= 8, a += 8, b += 8;
	}
	return !size || !((word_at(a) ^ word_at(b)) << (64 - 8 * size));
}

/* Whether the last instruction can have been left like this without a word more. */
static inline bool can_end(const struct flowtap_block *block, bool taken, uint64_t target)
{
	if (taken)
		return block->end && !(target & 1) &&
		       (!block->direct || block->target == target);
	return block->conditional || !flowtap_learned_transfers(block->isa, block->end);
}

/* Rendered as the writer would have it: records, target, last record. */
static const struct flowtap_render *rendered(struct stf_reader *reader, struct flowtap_block *block)
{
	const struct flowtap_render *render = flowtap_slot_guess(&reader->slot, block);

	if (__builtin_expect(render->owner != reader->slot.owner, 0)) {
		reader->learned->added++;
		if (flowtap_stf_render(block, &reader->slot, &render) || !render)
			return NULL;
	}
	return render->mark & STF_MARK_APART ? NULL : render;
}

static bool may_run(const struct stf_reader *reader)
{
	return reader->body && reader->pc_known && !reader->group.any && !reader->group.taken &&
	       !reader->group.explained && !reader->learned->run.size && !reader->context_due &&
	       reader->returned == STF_MODE_UNKNOWN && reader->any_emitted && !reader->unsupported;
}

int flowtap_stf_run(struct stf_reader *reader)
{
	struct flowtap_learned *learned = reader->learned;
	struct stf_source *input = &reader->input;
	const uint8_t *at = input->bytes + input->at, *end = input->bytes + input->end, *last;
	struct flowtap_block *block = learned->last;
	uint64_t pc = reader->pc, targets = 0, target;
	const uint64_t most = learned_until(learned, reader->read->instructions);
	uint64_t left = most;
	bool taken = learned->last_taken;
	const struct flowtap_render *render;
	int status = 0;

	if (!may_run(reader))
		return 0;
	while (!status) {
		uint32_t mark;

		block = guess(learned, block, taken, reader->isa, pc);
		if (!block || block->instructions > left)
			break;
		render = rendered(reader, block);
		if (!render || (size_t)(end - at) < render->size)
			break;
		mark = render->mark;
		last = at + mark;
		if (!same_bytes(at, render->bytes, mark))
			break;
		taken = *last == STF_INST_PC_TARGET;
		target = taken ? word_at(last + 1) : pc + block->size;
		last += taken ? TARGET_SIZE : 0;
		mark += TARGET_SIZE;
		if (!same_bytes(last, (const uint8_t *)render->bytes + mark, render->size - mark) ||
		    !can_end(block, taken, target))
			break;
		at = last + (render->size - mark);
		pc = target;
		left -= block->instructions;
		targets += taken;
		status = learned_add(learned, block, taken, target);
	}
	reader->pc = pc;
	input->at = (size_t)(at - input->bytes);
	reader->read->instructions += most - left;
	reader->read->records += most - left + targets;
	return status;
}
