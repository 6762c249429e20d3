// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a vCPU executed, out of QEMU's translation blocks.
 *
 * A callback says that a block begins, never that it ended. What comes next says it: the next
 * block, or an exception with the pc where it was taken. A block may be left
 *
 *   - at its end;
 *   - in the middle by an exception, of which QEMU tells;
 *   - in the middle with not a word: QEMU executes the rest in another block that begins there
 *     (device accesses with icount, atomic instructions that need the other vCPUs to stop).
 *
 * Where the next pc is inside the block, the last two cases could also be a branch at its end that
 * leads back into it. Translated code of such blocks stores that their last instruction was begun.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plugin.h"

#define EC(syndrome)		((syndrome) >> 26 & 63)
#define EC_INSN_ABORT_LOWER	0x20
#define EC_INSN_ABORT		0x21
#define SPSR_AARCH32		(1U << 4)
#define PSCI_CPU_OFF		0x84000002
#define TICK			256

enum arrival { BY_BLOCK, BY_INTERRUPT, BY_EXCEPTION };

/* What comes next. */
struct next {
	enum arrival by;
	uint64_t pc;		/* BY_EXCEPTION: the preferred return address */
	uint32_t syndrome;
	uint8_t el;		/* the exception level of the instruction there */
	bool refetch;		/* BY_EXCEPTION: of its fetch, not of its execution */
};

void vcpu_update(struct vcpu *vcpu)
{
	struct score *score = vcpu_score(vcpu);
	const bool always = vcpu->write.due || vcpu->eret.due || !vcpu->begun;

	for (unsigned int el = 0; el < 4; el++)
		score->wants[el] = always || pe_wants(&vcpu->pe, el);
}

/*
 * QEMU keeps the pc of code that may be mapped anywhere at the begin of a block, and further on
 * only its distance from it. A block never leaves its page.
 */
uint64_t vcpu_pc(struct vcpu *vcpu, uint64_t offset)
{
	return (machine_register(vcpu, VCPU_PC) & ~0xfffULL) | offset;
}

static void wrong(struct vcpu *vcpu, const struct next *next, const char *what)
{
	const struct code *code = vcpu->code;

	if (vcpu->errors++ < 4)
		fprintf(stderr, PLUGIN_NAME ": error: CPU %u: %s: block 0x%" PRIx64 ", %u "
			"instructions, the last 0x%08x, then 0x%" PRIx64 " by %d\n",
			vcpu->index, what, vcpu->pc, code ? code->n : 0, code ? code->opcodes[code->n - 1] : 0,
			next->pc, next->by);
}

/* Tells instructions [first, end) of the block in hand; a P0 instruction inside ends a part. */
static void tell(struct vcpu *vcpu, uint32_t end, bool taken, uint64_t next)
{
	const struct code *code = vcpu->code;

	while (vcpu->first < end) {
		struct insn insn = code->last;
		struct pe_block block = {
			.address = vcpu->pc + 4 * (uint64_t)vcpu->first,
			.code = code->id,
			.first = vcpu->first,
		};
		uint32_t stop = end;

		if (code->inner || end < code->n) {
			for (stop = vcpu->first; stop < end; ) {
				insn_classify(code->opcodes[stop++], &insn);
				if (insn_is_p0(&insn))
					break;
			}
		}
		block.n = stop - vcpu->first;
		block.next = block.address + 4 * (uint64_t)block.n;
		switch (insn.kind) {
		case INSN_DIRECT:
		case INSN_INDIRECT:
			block.branch = insn.kind == INSN_DIRECT ? PE_DIRECT : PE_INDIRECT;
			block.link = insn.link;
			block.eret = insn.eret;
			block.conditional = insn.conditional;
			block.taken = taken;
			if (taken)
				block.next = next;
			break;
		case INSN_ISB:
			block.branch = PE_ISB;
			break;
		case INSN_WFX:
			block.branch = PE_WFX;
			break;
		}
		vcpu->first = stop;
		pe_block(&vcpu->pe, &block);
	}
}

/* Whether the last instruction of the block in hand was begun. */
static bool is_reached(struct vcpu *vcpu, const struct next *next)
{
	const struct code *code = vcpu->code;

	if (code->watched_end)
		return vcpu_score(vcpu)->reached;
	return code->n == 1 || next->pc - vcpu->pc >= 4 * (uint64_t)code->n;
}

/* How many instructions of the block in hand were executed, and whether its branch was taken. */
static uint32_t executed(struct vcpu *vcpu, const struct next *next, bool *taken)
{
	const struct code *code = vcpu->code;
	const uint64_t last = vcpu->pc + 4 * (uint64_t)(code->n - 1);
	const bool at_last = next->pc == last;

	*taken = false;
	if (!is_reached(vcpu, next)) {
		if (next->pc - vcpu->pc > last - vcpu->pc || next->pc & 3) {
			wrong(vcpu, next, "a block was left in the middle");
			return vcpu->first;
		}
		return (next->pc - vcpu->pc) / 4;
	}
	switch (code->last.kind) {
	case INSN_DIRECT:
	case INSN_INDIRECT:
		/* A branch to itself was executed, unless it is what the exception is about. */
		if (next->by == BY_EXCEPTION && at_last && !next->refetch)
			return code->n - 1;
		*taken = true;
		if (code->last.kind == INSN_INDIRECT)
			return code->n;
		if (code->last.conditional)
			*taken = code->last.distance == 4 ? vcpu->taken :
				 next->pc == last + code->last.distance;
		if (next->pc != (*taken ? last + code->last.distance : last + 4))
			wrong(vcpu, next, "a branch led elsewhere");
		return code->n;
	}
	if (at_last)
		return code->n - 1;
	if (next->pc != last + 4)
		wrong(vcpu, next, "a block was left for elsewhere");
	return code->n;
}

static bool was_executed(const struct aftermath *aftermath, const struct next *next)
{
	return next->by != BY_EXCEPTION || next->pc != aftermath->pc || next->refetch;
}

/* Tells everything that was executed before next. */
static void flush(struct vcpu *vcpu, const struct next *next)
{
	const bool write = vcpu->write.due && was_executed(&vcpu->write, next);
	const bool eret = vcpu->eret.due && was_executed(&vcpu->eret, next);

	if (vcpu->code) {
		bool taken;
		const uint32_t n = executed(vcpu, next, &taken);

		if (write && vcpu->write.pc - vcpu->pc < 4 * (uint64_t)n) {
			tell(vcpu, (vcpu->write.pc - vcpu->pc) / 4 + 1, taken, next->pc);
			access_written(vcpu);
		}
		tell(vcpu, n, taken, next->pc);
		vcpu->code = NULL;
	}
	if (write && vcpu->write.due)
		access_written(vcpu);
	if (eret)
		vcpu->aarch32 = vcpu->eret.aarch32;
	if (eret)
		pe_return(&vcpu->pe, vcpu->aarch32 ? EL_UNTRACED : next->el);
	if (vcpu->write.due || vcpu->eret.due || write) {
		vcpu->write.due = false;
		vcpu->eret.due = false;
		vcpu_update(vcpu);
	}
}

void vcpu_executed(struct vcpu *vcpu, const struct code *code, uint32_t index)
{
	if (vcpu->write.due) {
		if (vcpu->code == code)
			tell(vcpu, (vcpu->write.pc - vcpu->pc) / 4 + 1, false, 0);
		access_written(vcpu);
	}
	if (vcpu->code == code)
		tell(vcpu, index, false, 0);
}

void vcpu_go_on(struct vcpu *vcpu, const struct code *code, uint32_t index, uint64_t pc)
{
	vcpu_update(vcpu);
	if (index == code->n || !pe_wants(&vcpu->pe, code->el)) {
		vcpu->code = NULL;
		return;
	}
	if (!vcpu->code)
		vcpu_score(vcpu)->reached = false;
	vcpu->code = code;
	vcpu->first = index;
	vcpu->pc = pc - 4 * (uint64_t)index;
}

void vcpu_stop(struct vcpu *vcpu)
{
	vcpu->begun = false;
	vcpu->code = NULL;
	vcpu->aarch32 = false;
	vcpu->call_due = false;
	vcpu->write.due = false;
	vcpu->eret.due = false;
	vcpu_update(vcpu);
}

/* The first instruction after the vCPU was switched on. */
static void begin(struct vcpu *vcpu, unsigned int el)
{
	if (vcpu->was_on)
		pe_reset(&vcpu->pe);
	vcpu->begun = true;
	vcpu->was_on = true;
	if (vcpu->pe.el != el)
		pe_return(&vcpu->pe, el);
	vcpu_update(vcpu);
}

/*
 * Where a block begins. It follows from the block before where that says it, else the register is
 * read, which takes longer. The offset in the page is sure.
 */
static uint64_t begin_of(struct vcpu *vcpu, const struct code *code)
{
	const struct code *before = vcpu->code;

	if (before && (!before->watched_end || vcpu_score(vcpu)->reached)) {
		const uint64_t end = vcpu->pc + 4 * (uint64_t)before->n;

		const bool direct = before->last.kind == INSN_DIRECT;
		const uint64_t target = end - 4 + before->last.distance;
		const bool to = direct && (target & 0xfff) == code->offset;
		const bool falls = direct ? before->last.conditional :
				   before->last.kind != INSN_INDIRECT;
		const bool on = falls && (end & 0xfff) == code->offset;

		/* Not where it may as well have been left in the middle. */
		if (to != on && (before->watched_end || code->offset < before->offset ||
				 code->offset >= before->offset + 4 * before->n))
			return to ? target : end;
	}
	return vcpu_pc(vcpu, code->offset);
}

static void on_block(struct vcpu *vcpu, const struct code *code)
{
	struct next next = { .by = BY_BLOCK, .el = code->el };

	if (!vcpu->begun)
		begin(vcpu, code->el);
	next.pc = begin_of(vcpu, code);
	flush(vcpu, &next);
	if (vcpu->pe.el != code->el) {
		wrong(vcpu, &next, "the exception level changed");
		pe_return(&vcpu->pe, code->el);
	}
	if (++vcpu->ticks % TICK == 0) {
		pe_tick(&vcpu->pe);
		vcpu_update(vcpu);
	}
	if (!pe_wants(&vcpu->pe, code->el)) {
		vcpu_update(vcpu);
		return;
	}
	vcpu->code = code;
	vcpu->pc = next.pc;
	vcpu->first = 0;
	vcpu->blocks++;
	vcpu_score(vcpu)->reached = false;
}

void vcpu_on_block(unsigned int index, void *code)
{
	struct vcpu *vcpu = vcpu_enter(index);

	if (!vcpu)
		return;
	on_block(vcpu, code);
	vcpu_leave(vcpu);
}

void vcpu_on_any_block(unsigned int index, void *data)
{
	struct vcpu *vcpu = machine_current();
	const struct code *code = data;

	if (vcpu && vcpu->score.wants[code->el])
		vcpu_on_block(index, data);
}

void vcpu_on_last(unsigned int index, void *data)
{
	struct vcpu *vcpu = machine_current();

	(void)index;
	(void)data;
	if (vcpu)
		vcpu->score.reached = true;
}

void vcpu_on_condition(unsigned int index, void *data)
{
	struct vcpu *vcpu = vcpu_enter(index);
	const struct point *point = data;
	const unsigned int rt = point->opcode & 31, rm = point->opcode >> 16 & 31;

	if (!vcpu)
		return;
	vcpu->taken = insn_taken(point->opcode, machine_register(vcpu, VCPU_CPSR) >> 28,
				 rt == 31 ? 0 : machine_register(vcpu, VCPU_X0 + rt),
				 rm == 31 ? 0 : machine_register(vcpu, VCPU_X0 + rm));
	vcpu_leave(vcpu);
}

bool vcpu_is_aarch32(const struct vcpu *vcpu)
{
	return vcpu->eret.due ? vcpu->eret.aarch32 : vcpu->aarch32;
}

/* QEMU has done the work of firmware at EL3 and changed the pc or not. */
static void call(struct vcpu *vcpu, uint64_t from)
{
	const unsigned int el = vcpu->pe.el;
	struct next next = { .by = BY_INTERRUPT, .pc = from, .el = el };
	struct pe_exception exception = {
		.return_address = from,
		.kind = PE_FIRMWARE,
		.el = EL_UNTRACED,
	};

	flush(vcpu, &next);
	pe_exception(&vcpu->pe, &exception);
	if (vcpu->function == PSCI_CPU_OFF) {
		pe_power_off(&vcpu->pe);
		vcpu_stop(vcpu);
	} else {
		pe_return(&vcpu->pe, el);
		vcpu_update(vcpu);
	}
}

static void on_exception(struct vcpu *vcpu, int type, uint64_t from, uint64_t to)
{
	struct next next = { .by = type == QEMU_PLUGIN_INTERRUPT ? BY_INTERRUPT : BY_EXCEPTION };
	struct pe_exception exception = { .return_address = from, .handler = to };
	uint32_t spsr;

	exception.el = machine_register(vcpu, VCPU_CPSR) >> 2 & 3;
	exception.kind = to >> 7 & 3;
	if (!exception.el)
		return;		/* AArch32's own, before any AArch64 code */
	/* From AArch32 to AArch32: PSTATE is that of the last exception level of AArch64. */
	if (vcpu_is_aarch32(vcpu) &&
	    machine_register(vcpu, VCPU_ELR_EL1 + exception.el - 1) != from)
		return;
	if (exception.kind == PE_SYNCHRONOUS && next.by == BY_EXCEPTION)
		exception.syndrome = machine_register(vcpu, VCPU_ESR_EL1 + exception.el - 1);
	spsr = machine_register(vcpu, VCPU_SPSR_EL1 + exception.el - 1);
	next.pc = from;
	next.el = spsr & SPSR_AARCH32 ? EL_UNTRACED : spsr >> 2 & 3;
	next.refetch = EC(exception.syndrome) == EC_INSN_ABORT ||
		       EC(exception.syndrome) == EC_INSN_ABORT_LOWER;
	if (!vcpu->begun)
		begin(vcpu, next.el);
	flush(vcpu, &next);
	vcpu->aarch32 = false;
	pe_exception(&vcpu->pe, &exception);
	pe_tick(&vcpu->pe);
	vcpu_update(vcpu);
}

void vcpu_on_discontinuity(unsigned int index, int type, uint64_t from, uint64_t to, void *data)
{
	struct vcpu *vcpu = vcpu_enter(index);
	bool called;

	(void)data;
	if (!vcpu)
		return;
	called = vcpu->call_due && vcpu->call_pc + 4 == from;
	vcpu->call_due = false;
	if (type != QEMU_PLUGIN_HOSTCALL)
		on_exception(vcpu, type, from, to);
	else if (called)	/* not semihosting, which is an instruction like others */
		call(vcpu, from);
	vcpu_leave(vcpu);
}

void vcpu_on_idle(unsigned int index, void *data)
{
	struct vcpu *vcpu = vcpu_enter(index);

	(void)data;
	if (!vcpu)
		return;
	if (vcpu->begun) {
		pe_tick(&vcpu->pe);
		vcpu_update(vcpu);
	}
	vcpu_leave(vcpu);
}
