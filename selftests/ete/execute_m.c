// SPDX-License-Identifier: GPL-2.0-only
/*
 * The M profile's PE (DDI 0553): exceptions and how they return, the two security states. Thread
 * mode is EL0 in a context, Handler mode EL3.
 */
#include "execute_internal.h"

#define FIRST_IRQ8	0x208
#define LAST_IRQ	0x3ef
#define NMI		2
#define RESET		1

static unsigned int any_exception(struct execute *x)
{
	/* NMI and the faults, SVC, DebugMonitor, PendSV, SysTick, IRQ0 to 7, debug halt. */
	static const uint8_t numbers[] = { 2, 3, 4, 5, 6, 7, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21,
					   22, 23, 24 };

	if (now(x, 3))
		return FIRST_IRQ8 + rng_below(&x->rng, LAST_IRQ - FIRST_IRQ8 + 1);
	return numbers[rng_below(&x->rng, sizeof(numbers))];
}

uint32_t execute_m_afresh(struct execute *x, unsigned int group)
{
	x->context.el = 0;
	x->context.sf = false;
	x->context.security = now(x, 2) ? FLOWTAP_SECURE : FLOWTAP_NONSECURE;
	return execute_entry(x, group, false, true);
}

static void enter(struct execute *x, unsigned int number, uint64_t return_address)
{
	x->context.el = 3;
	if (now(x, 3))
		x->context.security = now(x, 2) ? FLOWTAP_SECURE : FLOWTAP_NONSECURE;
	x->pe.at = execute_entry(x, PROGRAM_KERNEL, true, true);
	encoder_exception(x->encoder, number, return_address, current(x)->address, current(x)->isa,
			  &x->context);
}

static void save(struct execute *x)
{
	x->saved[x->nsaved].at = x->pe.at;
	x->saved[x->nsaved++].context = x->context;
}

/* SVC is 2 elsewhere. */
void execute_m_exception(struct execute *x, unsigned int number)
{
	uint64_t address = current(x)->address;

	save(x);
	enter(x, number ? 11 : any_exception(x), address);
}

/* As after a late arrival, whose place another exception took: what was saved stays so. */
void execute_m_tail_chained(struct execute *x)
{
	enter(x, any_exception(x), ENCODER_TAIL_CHAINED);
}

void execute_m_reset(struct execute *x)
{
	x->context = (struct trace_context){ .security = FLOWTAP_SECURE };
	x->pe.at = execute_entry(x, PROGRAM_KERNEL, false, true);
	encoder_reset(x->encoder, current(x)->address, current(x)->isa, &x->context);
}

/* The state is pushed before the instruction, which is executed next. */
static void lazy_push(struct execute *x)
{
	const struct program_insn *insn = current(x);

	encoder_exception(x->encoder, ENCODER_LAZY_FP_PUSH, insn->address, insn->address, insn->isa,
			  &x->context);
}

/* Nothing is executed until the NMI, which goes back to where the trace begins anew. */
static void lockup(struct execute *x)
{
	encoder_exception(x->encoder, ENCODER_LOCKUP, current(x)->address, ENCODER_LOCKED_UP,
			  FLOWTAP_ISA_T32, &x->context);
	x->nsaved = 0;
	x->pe.ncalls = 0;
	enter(x, NMI, ENCODER_LOCKED_UP);
}

/* The return address is in the middle of it, and it is executed again. */
static void within_instruction(struct execute *x)
{
	const struct program_insn *insn = current(x);
	struct encoder_insn told = { .address = insn->address, .isa = insn->isa, .size = insn->size,
				     .kind = ENCODER_OTHER };

	if (insn->what != INSN_PLAIN || insn->size != 4)
		return;
	encoder_insn(x->encoder, &told);
	save(x);
	enter(x, any_exception(x), insn->address + 2);
}

/* A fault of the exception's entry; one that it cannot return from has no return address. */
static void right_after_another(struct execute *x)
{
	execute_m_exception(x, 0);
	if (x->nsaved == EXECUTE_NESTED)
		return;
	if (now(x, 2))
		enter(x, any_exception(x), ENCODER_TAIL_CHAINED);
	else
		execute_m_exception(x, 0);
}

void execute_m_breaks(struct execute *x)
{
	if (x->program->options.classic)
		return;
	if (now(x, x->options.lazy_push))
		lazy_push(x);
	if (now(x, x->options.lockup))
		lockup(x);
	if (x->nsaved < EXECUTE_NESTED && now(x, 4 * x->options.exception))
		within_instruction(x);
	if (x->nsaved < EXECUTE_NESTED && now(x, 4 * x->options.exception))
		right_after_another(x);
}

void execute_m_branched(struct execute *x, const struct program_insn *insn)
{
	if (!program_t32_leaves_secure(insn) || x->context.security != FLOWTAP_SECURE)
		return;
	x->context.security = FLOWTAP_NONSECURE;
	encoder_context(x->encoder, &x->context);
}

bool execute_m_function_return(struct execute *x, const struct program_insn *insn)
{
	uint32_t to;

	/* Function Return packets came with ETMv4.2. */
	if (!program_t32_returns(insn) || x->context.security != FLOWTAP_NONSECURE ||
	    x->encoder->options.etm4 < 0x42 || x->program->options.classic || !now(x, 3))
		return false;
	to = execute_somewhere(x, insn);
	x->function_returns = true;
	execute_tell_branch(x, insn, to);
	x->function_returns = false;
	x->pe.at = to;
	x->context.security = FLOWTAP_SECURE;
	encoder_context(x->encoder, &x->context);
	return true;
}
