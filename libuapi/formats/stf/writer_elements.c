// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Writes what comes between the blocks: contexts, and the EVENTs and COMMENTs that elements become.
 */
#include "formats/stf/writer.h"

#include <errno.h>

#define CAUSE_BREAKPOINT 3
#define CAUSE_ECALL_U	8
#define CAUSE_ECALL_M	11

/* Whether it is the last instruction that changes the mode: a trap raises it, an xRET lowers it. */
static bool last_changes(const struct flowtap_stf *stf, uint8_t mode)
{
	const struct stf_last *last = &stf->last;

	return stf->pending & PENDING_LAST && !last->changes &&
	       (last->returns ? last->carries && mode < stf->mode :
				last->traps && mode > stf->mode);
}

/*
 * CTR reports another thread only between samples. An Arm trace is a CPU's, and goes on when the
 * kernel switches.
 */
static void handle_process(struct flowtap_stf *stf, const struct flowtap_context *old)
{
	const struct flowtap_context *context = &stf->context;

	if (context->pid != old->pid || context->tid != old->tid || context->cpu != old->cpu)
		stf->pending |= PENDING_PROCESS;
	if (isa_is_arm(context->isa) || (context->pid == old->pid && context->tid == old->tid))
		return;
	flowtap_stf_write_last(stf);
	stf->pending |= PENDING_FORCE | PENDING_EXPLAINED;
}

static int handle_context(struct flowtap_stf *stf, const struct flowtap_context *context)
{
	const struct flowtap_context old = stf->context;

	if (!stf_may_have(stf, context->isa))
		return -EOPNOTSUPP;
	if (context->mode > FLOWTAP_PRIVILEGE_M)
		return -EINVAL;
	stf->context = *context;
	if (stf->pending & PENDING_HEADER) {
		stf_set_isa(stf, context->isa);
		return 0;
	}
	handle_process(stf, &old);
	stf->pending &= ~PENDING_MODE;
	stf->pending |= isa_is_arm(context->isa) ? PENDING_CONTEXT : 0;
	if (context->mode == stf->mode) {
		/* A comment has named another one. */
		if (!isa_is_arm(context->isa) && stf->written.mode != context->mode)
			stf->pending |= PENDING_MODE;
		return 0;
	}
	if (!last_changes(stf, context->mode)) {
		stf->pending |= PENDING_MODE | PENDING_FORCE;
		/* A comment holds the context. */
		stf->pending |= isa_is_arm(context->isa) ? PENDING_EXPLAINED : 0;
		return 0;
	}
	stf->last.changes = true;
	stf->last.after = context->mode;
	/* Back in the one from before is a change as well. */
	stf->written.mode = STF_MODE_EVENT;
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
	stf->out.pc = exception->target;
	stf->pending &= ~PENDING_FORCE;
	stf->counts.events++;
	return true;
}

static bool same_process(const struct flowtap_context *a, const struct flowtap_context *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->cpu == b->cpu;
}

/* Whether there is a context whose records would come too late, after an element's comment. */
static bool context_unwritten(const struct flowtap_stf *stf)
{
	return !flowtap_stf_same_context(&stf->written, &stf->context) ||
	       !same_process(&stf->written, &stf->context);
}

/* What no record can say. The flow goes on somewhere else, unless it says where. */
static int explain(struct flowtap_stf *stf, const struct flowtap_element *element, bool forces)
{
	flowtap_stf_write_last(stf);
	stf->pending |= PENDING_EXPLAINED | PENDING_COMMENTS;
	if (forces && !(stf->pending & PENDING_HEADER))
		stf->pending |= PENDING_FORCE;
	stf_output_begin_comments(&stf->out);
	if (context_unwritten(stf))
		stf_output_comment(&stf->out, stf->line, flowtap_stf_context_line(stf));
	return stf_output_comment(&stf->out, stf->line, flowtap_line_element(stf->line, element));
}

/* A line after the instruction that is held back: that may still change the mode. */
static int write_later(struct flowtap_stf *stf, size_t size)
{
	if (!(stf->pending & PENDING_LAST) || !stf_output_await_opcode(&stf->out, size)) {
		flowtap_stf_write_last(stf);
		stf_output_begin_comments(&stf->out);
	}
	stf->pending |= PENDING_COMMENTS;
	return stf_output_comment(&stf->out, stf->line, size);
}

/* What becomes a COMMENT alone. */
static int write_comment(struct flowtap_stf *stf, const struct flowtap_element *element)
{
	int error = context_unwritten(stf) ? write_later(stf, flowtap_stf_context_line(stf)) : 0;

	return error ? error : write_later(stf, flowtap_line_element(stf->line, element));
}

/* That of the xRET before it needs no word, but one that was not recorded does. */
static int handle_return(struct flowtap_stf *stf, const struct flowtap_element *element)
{
	return stf->pending & PENDING_LAST ? 0 : explain(stf, element, false);
}

int flowtap_stf_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct flowtap_stf *stf = (struct flowtap_stf *)sink;

	if (stf->out.buffer.error)
		return stf->out.buffer.error;
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
		return write_comment(stf, element);
	case FLOWTAP_ELEMENT_EVENT:
	case FLOWTAP_ELEMENT_INSTRUMENTATION:
		return write_comment(stf, element);
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
