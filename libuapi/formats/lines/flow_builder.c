// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Joins instructions to blocks, and finds out from the line after it what the last instruction of
 * a CPU did.
 */
#include "formats/lines/flow_builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow/elsewhere.h"
#include "isa/learned_internal.h"

int builder_begin(struct flow_builder *builder, struct flowtap_read *read)
{
	memset(builder, 0, sizeof(*builder));
	builder->read = read;
	builder->sink = flowtap_learned_part(read->learned, read, read->sink);
	return builder_switch(builder, 0);
}

int builder_end(struct flow_builder *builder, int status)
{
	for (unsigned int i = 0; i < BUILDER_CPUS; i++)
		free(builder->cpus[i]);
	return flowtap_learned_part_end(builder->read->learned, status);
}

static int emit(struct flow_builder *builder, const struct flowtap_element *element)
{
	int status = builder->sink->element(builder->sink, element);

	return status < 0 ? status : 0;
}

static int write_kind(struct flow_builder *builder, enum flowtap_element_kind kind)
{
	return emit(builder, &(struct flowtap_element){.kind = kind});
}

/* --- The instruction that is held back. --- */

/* Hands it on. */
static int release(struct flow_builder *builder)
{
	struct builder_cpu *cpu = builder->cpu;
	const struct line_instruction *last = &cpu->last;
	int status;

	if (!cpu->held)
		return 0;
	cpu->held = false;
	learned_number(builder->read->learned, builder->read->instructions);
	status = flowtap_learned_instruction(builder->read->learned, last->isa, last->address,
					     last->bytes, last->size);
	if (status)
		return status;
	builder->read->instructions++;
	builder->run = cpu->sent = cpu->next_known = true;
	cpu->next = line_next_address(last);
	if (last->said && !flowtap_learned_taken(builder->read->learned, last->target)) {
		cpu->sent = false;
		cpu->next = last->target;
		cpu->next_known = last->target;
	} else if (last->skipped) {
		flowtap_learned_skipped(builder->read->learned);
	}
	return 0;
}

/* Nothing says where it went: as flowtap_learned_flush takes it. */
static void assume(struct builder_cpu *cpu)
{
	struct line_end end = line_end_of(&cpu->last);

	if (!end.ends || end.falls_through)
		return;
	cpu->next = end.target;
	cpu->next_known = end.direct;
}

/*
 * Hands it on, and all blocks before an element. arrives: the flow goes on at `address`, by what
 * the instruction did; where it cannot have done that there is a gap.
 */
static int emit_held_block(struct flow_builder *builder, bool arrives, uint64_t address)
{
	struct builder_cpu *cpu = builder->cpu;
	bool held = cpu->held, returned = held && line_is_return(&cpu->last), broken;
	int status = release(builder);

	if (status)
		return status;
	broken = arrives && cpu->next_known && cpu->next != address;
	if (cpu->sent && arrives && (broken || returned))
		broken = flowtap_learned_taken(builder->read->learned, address);
	else if (cpu->sent && held && !arrives)
		assume(cpu);
	status = flowtap_learned_flush(builder->read->learned);
	builder->run = cpu->sent = false;
	if (!status && returned)
		status = write_kind(builder, FLOWTAP_ELEMENT_EXCEPTION_RETURN);
	if (!status && broken)
		status = flow_emit_elsewhere(builder->sink, cpu->last.address);
	if (arrives) {
		cpu->next = address;
		cpu->next_known = true;
	}
	for (unsigned int i = 0; i < cpu->n_held && !status; i++)
		status = emit(builder, &cpu->held_elements[i]);
	cpu->n_held = 0;
	return status;
}

/* --- CPUs and contexts. --- */

/*
 * The lines of this CPU stop for a while. What was handed on led to what is held back; that stays
 * here until its lines go on, if they have to say where it went; in_order: nothing is known of it.
 */
static int suspend_cpu(struct flow_builder *builder)
{
	struct builder_cpu *cpu = builder->cpu;
	int status = 0;
	bool known;

	if (cpu->sent && cpu->held && cpu->next != cpu->last.address)
		flowtap_learned_taken(builder->read->learned, cpu->last.address);
	known = cpu->held && (cpu->last.said || !line_end_of(&cpu->last).ends);
	if (cpu->held && !builder->resumed && (known || builder->in_order)) {
		status = emit_held_block(builder, false, 0);
		cpu->next_known &= known;
	} else {
		status = flowtap_learned_flush(builder->read->learned);
	}
	builder->run = cpu->sent = false;
	if (cpu->held || cpu->context_known)
		builder->several = builder->resumed = true;
	return status;
}

int builder_switch(struct flow_builder *builder, uint32_t number)
{
	struct builder_cpu *cpu;
	int status;

	if (number >= BUILDER_CPUS)
		return -EINVAL;
	cpu = builder->cpus[number];
	if (cpu && cpu == builder->cpu)
		return 0;
	if (!cpu) {
		cpu = builder->cpus[number] = calloc(1, sizeof(*cpu));
		if (!cpu)
			return -ENOMEM;
		cpu->context.cpu = number;
	}
	if (builder->cpu) {
		status = suspend_cpu(builder);
		if (status)
			return status;
	}
	if (number)
		builder->several = true;
	builder->cpu = cpu;
	return 0;
}

static int write_context(struct flow_builder *builder)
{
	struct flowtap_element element = { .kind = FLOWTAP_ELEMENT_CONTEXT };

	builder->cpu->context_waits = false;
	if (builder->several && builder->cpu->context.isa != FLOWTAP_ISA_RV64)
		builder->cpu->context.has_cpu = true;
	element.context = builder->cpu->context;
	return emit(builder, &element);
}

/* Before anything of another CPU than before. */
static int resume(struct flow_builder *builder)
{
	if (!builder->resumed)
		return 0;
	builder->resumed = false;
	return builder->cpu->context_known ? write_context(builder) : 0;
}

/* Of what is no instruction, and what that has is as the context says. */
static int announce(struct flow_builder *builder)
{
	struct builder_cpu *cpu = builder->cpu;

	if (!cpu->context_waits)
		return 0;
	cpu->context_known = true;
	return write_context(builder);
}

/* After what was handed on, which can have gone nowhere else. */
static int follow(struct flow_builder *builder, uint64_t address)
{
	struct builder_cpu *cpu = builder->cpu;
	bool broken = !cpu->held && !builder->run && cpu->next_known && cpu->next != address;

	cpu->next_known &= !broken;
	return broken ? flow_emit_elsewhere(builder->sink, cpu->last.address) : 0;
}

/* The context, if it is another than before. */
static int enter(struct flow_builder *builder, uint8_t isa, uint8_t mode, uint8_t security, uint64_t address)
{
	uint8_t width = isa == FLOWTAP_ISA_A64 || isa == FLOWTAP_ISA_RV64 ? 64 : 32;
	struct flowtap_context *context = &builder->cpu->context;
	int status;

	/* A32 and T32 change with branches, and blocks show it. */
	if (builder->cpu->context_known && context->mode == mode && context->security == security &&
	    context->width == width && (context->isa == FLOWTAP_ISA_RV64) == (isa == FLOWTAP_ISA_RV64))
		return 0;
	status = emit_held_block(builder, true, address);
	if (status)
		return status;
	context->isa = isa;
	context->mode = mode;
	context->security = security;
	context->width = width;
	builder->cpu->context_known = true;
	return write_context(builder);
}

/* --- Times. --- */

void builder_time(struct flow_builder *builder, uint64_t time, bool counts, uint64_t nanoseconds)
{
	struct builder_cpu *cpu = builder->cpu;

	if (!cpu->timed) {
		cpu->timed = true;
		cpu->time = time;
		cpu->base = time ? time - 1 : 0;
		cpu->time_waits = !counts && time > 1;
	} else if (time > cpu->time + 1) {
		cpu->time_waits = true;
	}
	/* Those that only go on by one are an index. */
	if (time > cpu->time)
		cpu->time = time;
	cpu->time_counts = counts;
	if (cpu->time_waits)
		cpu->nanoseconds = nanoseconds;
}

void builder_index(struct flow_builder *builder)
{
	builder->cpu->time_waits = false;
}

/* Where a block has ended. */
static int write_time(struct flow_builder *builder)
{
	struct builder_cpu *cpu = builder->cpu;
	struct flowtap_element element = { .kind = FLOWTAP_ELEMENT_TIME };

	if (!cpu->time_waits || builder->run)
		return 0;
	cpu->time_waits = false;
	element.time = cpu->nanoseconds;
	if (cpu->time_counts) {
		element.kind = FLOWTAP_ELEMENT_CYCLES;
		element.cycles.count = cpu->time - cpu->base;
		element.cycles.at_least = false;
		element.cycles.unknown = false;
	}
	cpu->base = cpu->time;
	return emit(builder, &element);
}

/* --- What lines say. --- */

/* The handler is where the flow goes on: it is said only if it does not. */
static int write_exception(struct flow_builder *builder, bool arrives, uint64_t address)
{
	struct builder_cpu *cpu = builder->cpu;
	struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_EXCEPTION, .exception = cpu->exception,
	};

	cpu->excepted = false;
	if (!element.exception.target && arrives)
		element.exception.target = address;
	if (arrives && element.exception.target == address &&
	    cpu->context.isa != FLOWTAP_ISA_RV64)
		element.exception.target = 0;
	cpu->next_known = false;
	return emit(builder, &element);
}

/*
 * The last instruction is a call, and this is what it calls. Only flowtap writes lines of RISC-V.
 */
static bool takes_itself(const struct builder_cpu *cpu, const struct line_exception *exception,
			 bool riscv)
{
	const struct line_instruction *last = &cpu->last;

	return exception->own && !exception->undefined && cpu->held && !last->skipped &&
	       line_is_call(last) &&
	       !(riscv && exception->has_address && exception->address != last->address);
}

/*
 * The instruction that did not complete, or the one to return to. A call is complete: RISC-V has
 * its own address, Arm the one after it, whatever the line says (Arm's models have either, or that
 * of the handler).
 */
static bool address_of_exception(struct builder_cpu *cpu, const struct line_exception *exception,
				 bool riscv, uint64_t *address)
{
	const struct line_instruction *last = &cpu->last;
	bool undone = exception->faults || (exception->undefined && exception->has_address &&
					    exception->address == last->address);

	*address = exception->address;
	if (takes_itself(cpu, exception, riscv)) {
		*address = riscv ? last->address : line_next_address(last);
		return true;
	}
	if (exception->own && undone && cpu->held && !last->said) {
		cpu->held = false;
		*address = last->address;
		return true;
	}
	return exception->has_address;
}

int builder_exception(struct flow_builder *builder, const struct line_exception *exception)
{
	struct builder_cpu *cpu = builder->cpu;
	bool riscv = (cpu->held ? cpu->last.isa : cpu->context.isa) == FLOWTAP_ISA_RV64;
	bool call = takes_itself(cpu, exception, riscv), known;
	int status = resume(builder);
	uint64_t address;

	if (!status && cpu->excepted)
		status = write_exception(builder, false, 0);
	if (status)
		return status;
	cpu->exception = (struct flowtap_exception){
		.number = exception->exact ? exception->number : riscv ? -1 :
			  call ? 2 : exception->number,
		.interrupt = riscv && exception->interrupt,
		.m_profile = exception->m_profile,
	};
	known = address_of_exception(cpu, exception, riscv, &address);
	status = emit_held_block(builder, known && !(call && riscv), address);
	if (!known && cpu->next_known && !exception->nowhere)
		address = cpu->next;
	cpu->exception.address = address;
	cpu->excepted = true;
	if (!status)
		status = announce(builder);
	return status ? status : write_time(builder);
}

bool builder_branch(struct flow_builder *builder, uint64_t target)
{
	struct builder_cpu *cpu = builder->cpu;
	struct line_end end;

	if (cpu->excepted) {
		cpu->exception.target = target;
		return true;
	}
	if (!cpu->held)
		return false;
	cpu->last.said = true;
	cpu->last.target = target;
	if (target == line_next_address(&cpu->last))
		return true;
	end = line_end_of(&cpu->last);
	return end.ends && (!end.direct || end.target == target);
}

/* An element has to come between the last instruction and what is here. */
static bool must_flush(const struct builder_cpu *cpu, uint64_t address)
{
	if (cpu->n_held)
		return true;
	if (!cpu->held)
		return false;
	if (line_is_return(&cpu->last))
		return true;
	return cpu->time_waits &&
	       (address != line_next_address(&cpu->last) || line_end_of(&cpu->last).ends);
}

int builder_instruction(struct flow_builder *builder, const struct line_instruction *insn, uint8_t mode,
		     uint8_t security)
{
	struct builder_cpu *cpu = builder->cpu;
	int status = line_instruction_check(insn);

	if (!status)
		status = resume(builder);
	if (!status && cpu->excepted)
		status = write_exception(builder, true, insn->address);
	if (!status)
		status = follow(builder, insn->address);
	if (!status)
		status = enter(builder, insn->isa, mode, security, insn->address);
	if (!status && must_flush(cpu, insn->address))
		status = emit_held_block(builder, true, insn->address);
	if (!status)
		status = release(builder);
	if (!status)
		status = write_time(builder);
	if (status)
		return status;
	cpu->last = *insn;
	cpu->held = true;
	return 0;
}

/*
 * Between its lines and those before nothing follows from one to the other. Lines without a CPU are
 * of one, too, which others are told from by name.
 */
static bool is_elsewhere(const struct flowtap_context *before, const struct flowtap_context *now)
{
	if (now->isa == FLOWTAP_ISA_RV64)
		return before->pid != now->pid || before->tid != now->tid;
	return now->has_cpu && before->cpu != now->cpu;
}

static int leave(struct flow_builder *builder)
{
	struct builder_cpu *cpu = builder->cpu;
	int status = resume(builder);

	if (!status && cpu->excepted)
		status = write_exception(builder, false, 0);
	if (!status)
		status = emit_held_block(builder, false, 0);
	cpu->next_known = false;
	return status;
}

int builder_owner(struct flow_builder *builder, const struct flowtap_context *owner)
{
	struct builder_cpu *cpu = builder->cpu;
	uint32_t number = cpu->context.cpu;
	int status = 0;

	if (is_elsewhere(&cpu->context, owner))
		status = leave(builder);
	cpu->context = *owner;
	/* Else it does not say, and there are others. */
	if (!owner->has_cpu && !owner->pid && owner->isa != FLOWTAP_ISA_RV64)
		cpu->context.cpu = number;
	cpu->context_known = false;
	cpu->context_waits = true;
	return status;
}

int builder_element(struct flow_builder *builder, const struct flowtap_element *element)
{
	struct builder_cpu *cpu = builder->cpu;
	int status = resume(builder);

	if (!status && cpu->excepted)
		status = write_exception(builder, false, 0);
	if (status)
		return status;
	switch (element->kind) {
	case FLOWTAP_ELEMENT_TRANSACTION:
	case FLOWTAP_ELEMENT_EVENT:
	case FLOWTAP_ELEMENT_INSTRUMENTATION:
	case FLOWTAP_ELEMENT_MARKER:
	case FLOWTAP_ELEMENT_MISPREDICTED:
		if (cpu->n_held < BUILDER_HELD) {
			cpu->held_elements[cpu->n_held++] = *element;
			return 0;
		}
		break;
	default:
		break;
	}
	status = emit_held_block(builder, false, 0);
	cpu->next_known = false;
	if (!status)
		status = announce(builder);
	if (!status)
		status = write_time(builder);
	return status ? status : emit(builder, element);
}

int builder_finish(struct flow_builder *builder)
{
	int status = 0;

	for (unsigned int i = 0; i < BUILDER_CPUS && !status; i++) {
		if (!builder->cpus[i] || (!builder->cpus[i]->held && !builder->cpus[i]->excepted))
			continue;
		status = builder_switch(builder, i);
		if (!status)
			status = resume(builder);
		if (!status && builder->cpu->excepted)
			status = write_exception(builder, false, 0);
		if (!status)
			status = emit_held_block(builder, false, 0);
	}
	return status ? status : flowtap_learned_flush(builder->read->learned);
}
