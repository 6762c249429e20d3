// SPDX-License-Identifier: GPL-2.0-only
/* Executes by chance: which way branches go, when exceptions come, where speculation is wrong. */
#include <string.h>

#include "execute_internal.h"

#define TRANSACTION_MOST	60

static bool step(struct execute *x);

static uint8_t group_of(const struct execute *x, uint32_t insn)
{
	return x->program->functions[x->program->insns[insn].function].group;
}

unsigned int execute_group(const struct program *program, uint64_t contextid, bool modified)
{
	unsigned int space = contextid % (program->options.spaces < 2 ? 1 : 2);

	return !space && modified ? 2 : space;
}

static unsigned int user_group(const struct execute *x)
{
	if (x->options.as_linux)
		return x->options.group;
	return execute_group(x->program, x->encoder->options.contextid ? x->context.contextid : 0,
			     x->modified);
}

uint32_t execute_entry(struct execute *x, unsigned int group, bool handler, bool interworks)
{
	const struct program *program = x->program;
	uint32_t first = program->first[group], n = program->first[group + 1] - first;
	uint8_t isa = current(x)->isa;

	for (;;) {
		const struct program_function *function;

		function = &program->functions[first + rng_below(&x->rng,
					program->options.plain && !handler ? n / 4 + 1 : n)];
		if (function->handler == handler && (interworks || function->isa == isa))
			return function->first;
	}
}

static void tell(struct execute *x, const struct program_insn *insn, bool taken, uint32_t to,
		 unsigned int flips, bool wrong)
{
	struct encoder_insn told = { .address = insn->address, .isa = insn->isa, .size = insn->size,
				     .target_isa = insn->isa, .taken = taken, .link = insn->link,
				     .flips = flips, .wrong = wrong };

	told.function_return = x->function_returns;
	switch (insn->what) {
	case INSN_DIRECT:
		told.kind = ENCODER_DIRECT;
		to = insn->to;
		break;
	case INSN_INDIRECT:
	case INSN_RETURN:
	case INSN_TABLE:
	case INSN_ERET:
		told.kind = ENCODER_INDIRECT;
		told.eret = insn->what == INSN_ERET;
		break;
	case INSN_ISB:
	case INSN_TSTART:
		told.kind = ENCODER_BARRIER;
		break;
	case INSN_WFX:
		told.kind = x->encoder->options.wfx ? ENCODER_BARRIER : ENCODER_OTHER;
		break;
	}
	if ((told.kind == ENCODER_DIRECT || told.kind == ENCODER_INDIRECT) &&
	    to != EXECUTE_TAIL_CHAINED) {
		told.target = x->program->insns[to].address;
		told.target_isa = x->program->insns[to].isa;
	}
	if (told.eret && to == EXECUTE_TAIL_CHAINED)
		told.target = ENCODER_TAIL_CHAINED;
	if (told.kind != ENCODER_OTHER)
		encoder_cycles(x->encoder, rng_below(&x->rng, 6));
	x->executed++;
	if (x->silent)
		encoder_quiet(x->encoder, &told);
	else
		encoder_insn(x->encoder, &told);
}

void execute_tell_branch(struct execute *x, const struct program_insn *insn, uint32_t to)
{
	tell(x, insn, true, to, 0, false);
}

static void called(struct execute *x, uint32_t back)
{
	struct execute_pe *pe = &x->pe;

	if (pe->ncalls == EXECUTE_CALLS)
		memmove(pe->calls, pe->calls + 1, --pe->ncalls * sizeof(*pe->calls));
	pe->calls[pe->ncalls++] = back;
}

uint32_t execute_somewhere(struct execute *x, const struct program_insn *insn)
{
	uint32_t at = insn - x->program->insns, end, to;
	const struct program_function *function = &x->program->functions[insn->function];

	if (insn->what == INSN_RETURN && x->pe.ncalls && !now(x, 50)) {
		to = x->pe.calls[x->pe.ncalls - 1];
		if (group_of(x, to) == function->group &&
		    (insn->interworks || x->program->insns[to].isa == insn->isa)) {
			x->pe.ncalls--;
			return to;
		}
	}
	if (insn->what == INSN_TABLE || (!insn->link && insn->what == INSN_INDIRECT && now(x, 2))) {
		end = function->first + function->count;
		if (at + 1 < end) {
			to = at + 1 + rng_below(&x->rng, end - at - 1);
			while (x->program->insns[to].in_it)
				to--;
			if (to > at)
				return to;
		}
	}
	return execute_entry(x, function->group, false, insn->interworks);
}

static void beside_wrong(struct execute *x)
{
	if (now(x, x->options.event))
		encoder_event(x->encoder, 1 + rng_below(&x->rng, 15));
	if (x->encoder->options.timestamps && now(x, x->options.timestamp)) {
		x->ticks += rng_below(&x->rng, 1000);
		encoder_timestamp(x->encoder, x->ticks);
	}
}

static void go_wrong(struct execute *x, unsigned int n)
{
	struct execute_pe pe = x->pe, before = x->before;

	x->wrong++;
	while (n-- && encoder_go_on(x->encoder) && step(x))
		beside_wrong(x);
	x->wrong--;
	x->pe = pe;
	x->before = before;
}

/* Some instructions from `to` on are executed, and then were not. */
static void wrong_path(struct execute *x, uint32_t to, unsigned int most)
{
	uint32_t at = x->pe.at;

	if (!encoder_mark(x->encoder))
		return;
	x->pe.at = to;
	go_wrong(x, rng_below(&x->rng, most));
	x->pe.at = at;
}

static bool can_go_wrong(struct execute *x)
{
	return x->encoder->options.maxspec >= 2 && x->encoder->tracing && !x->silent &&
	       x->wrong < ENCODER_MARKS && (!x->wrong || encoder_go_on(x->encoder)) &&
	       !x->encoder->view.trace_on_due;
}

static void cancel(struct execute *x, bool mispredict, uint32_t to, bool need_address)
{
	const struct program_insn *insn = &x->program->insns[to];

	encoder_cancel(x->encoder, mispredict, insn->address, insn->isa, need_address);
}

static bool way(struct execute *x, const struct program_insn *insn)
{
	static const uint8_t eighths[] = { 1, 4, 4, 7 };
	unsigned int bias = eighths[insn->bits >> 6 & 3];

	if (!insn->conditional)
		return true;
	if (x->program->options.plain && insn->what == INSN_DIRECT &&
	    insn->to <= insn - x->program->insns)
		bias = bias / 2 + 4;
	return rng_below(&x->rng, 8) < bias;
}

static void branch(struct execute *x, const struct program_insn *insn)
{
	uint32_t next = x->pe.at + 1, to = insn->to;
	bool taken = way(x, insn);
	unsigned int flips = 0;

	if (x->program->options.m_profile && !x->wrong && !x->silent && taken &&
	    execute_m_function_return(x, insn))
		return;

	if (insn->what != INSN_DIRECT && taken)
		to = execute_somewhere(x, insn);
	else if (insn->what != INSN_DIRECT)
		to = next;
	if (insn->what == INSN_DIRECT && insn->conditional && can_go_wrong(x) &&
	    now(x, x->options.wrong)) {
		tell(x, insn, !taken, to, 0, true);
		wrong_path(x, taken ? next : to, 12);
		cancel(x, true, taken ? to : next, false);
	} else if (insn->what != INSN_DIRECT && !insn->conditional && can_go_wrong(x) &&
		   !x->encoder->options.broadcast && now(x, x->options.wrong)) {
		uint32_t wrong = execute_entry(x, group_of(x, x->pe.at), false,
					       insn->interworks);

		tell(x, insn, true, wrong, 0, true);
		wrong_path(x, wrong, 12);
		cancel(x, false, to, true);
	} else {
		if (insn->conditional && x->encoder->options.maxspec && now(x, x->options.flip))
			flips = 1 + rng_below(&x->rng, 3);
		tell(x, insn, taken, to, flips, false);
	}
	if (taken && insn->link)
		called(x, next);
	x->pe.at = taken ? to : next;
	if (taken && x->program->options.m_profile && !x->wrong && !x->silent)
		execute_m_branched(x, insn);
}

static uint8_t a_security(struct execute *x, uint8_t el)
{
	if (x->options.as_linux)
		return FLOWTAP_NONSECURE;
	if (el == 3)
		return x->options.rme ? FLOWTAP_ROOT : FLOWTAP_SECURE;
	return rng_below(&x->rng, x->options.rme ? 3 : 2);
}

static void new_ids(struct execute *x)
{
	if (now(x, 2))
		x->context.vmid = now(x, 3) ? rng_next(&x->rng) : rng_below(&x->rng, 3);
	if (now(x, 2))
		x->context.contextid = now(x, 3) ? rng_next(&x->rng) : rng_below(&x->rng, 4);
}

/* Where an exception return goes that does not go back. */
static uint32_t start_afresh(struct execute *x)
{
	const struct program_options *options = &x->program->options;
	unsigned int el = options->kernel32 ? rng_below(&x->rng, 2) :
			  now(x, 2) ? 0 : rng_below(&x->rng, x->context.el + 1);

	x->nsaved = 0;
	x->pe.ncalls = 0;
	if (options->m_profile)
		return execute_m_afresh(x, now(x, 2) ? PROGRAM_KERNEL : user_group(x));
	x->context.el = el;
	if (x->context.security == FLOWTAP_ROOT || now(x, 8) || el == 3)
		x->context.security = a_security(x, el);
	new_ids(x);
	x->context.sf = el ? !options->kernel32 : !options->aarch32;
	return execute_entry(x, el ? PROGRAM_KERNEL : user_group(x), false, true);
}

static void exception_return(struct execute *x, const struct program_insn *insn)
{
	uint32_t to;

	if (x->program->options.m_profile && now(x, 3) && !x->program->options.classic) {
		tell(x, insn, true, EXECUTE_TAIL_CHAINED, 0, false);
		execute_m_tail_chained(x);
		return;
	}
	if (x->nsaved && !now(x, 4)) {
		x->nsaved--;
		to = x->saved[x->nsaved].at;
		x->context = x->saved[x->nsaved].context;
	} else {
		to = start_afresh(x);
	}
	tell(x, insn, true, to, 0, false);
	encoder_context(x->encoder, &x->context);
	x->pe.at = to;
}

static void exception(struct execute *x, unsigned int number)
{
	/* Table of the Exception packet: debug halt, call, trap ... FIQ, IMPLEMENTATION DEFINED. */
	static const uint8_t numbers[] = { 1, 2, 3, 4, 6, 7, 10, 11, 12, 14, 15, 16, 17, 18, 19, 20,
					   21, 22, 23 };
	uint64_t address = current(x)->address;
	unsigned int el;

	if (x->nsaved == EXECUTE_NESTED)
		return;
	if (x->program->options.m_profile) {
		execute_m_exception(x, number);
		return;
	}
	if (number == 0)
		number = numbers[rng_below(&x->rng, sizeof(numbers))];
	x->saved[x->nsaved].at = x->pe.at;
	x->saved[x->nsaved++].context = x->context;
	el = x->program->options.kernel32 || x->options.as_linux ? 1 : 1 + rng_below(&x->rng, 3);
	if (el < x->context.el)
		el = x->context.el;
	x->context.el = el;
	if (el == 3)
		x->context.security = a_security(x, 3);
	x->context.sf = !x->program->options.kernel32;
	x->pe.at = execute_entry(x, PROGRAM_KERNEL, true, true);
	encoder_exception(x->encoder, number, address, current(x)->address, current(x)->isa,
			  &x->context);
}

static void reset(struct execute *x)
{
	x->nsaved = 0;
	x->pe.ncalls = 0;
	if (x->program->options.m_profile) {
		execute_m_reset(x);
		return;
	}
	x->context = (struct trace_context){ .el = x->program->options.kernel32 ? 1 : 3,
					     .sf = !x->program->options.kernel32 };
	x->context.security = a_security(x, x->context.el);
	x->pe.at = execute_entry(x, PROGRAM_KERNEL, false, true);
	encoder_reset(x->encoder, current(x)->address, current(x)->isa, &x->context);
}

static void fail(struct execute *x)
{
	x->pe = x->before;
	x->pe.transaction = false;
	encoder_transaction_fail(x->encoder, current(x)->address, current(x)->isa);
}

static void transaction_start(struct execute *x, const struct program_insn *insn)
{
	bool begins = !x->pe.transaction && x->encoder->tracing && !x->silent &&
		      (x->encoder->options.commtrans || encoder_go_on(x->encoder));

	tell(x, insn, true, 0, 0, false);
	x->pe.at++;
	if (!begins || (x->wrong && !encoder_go_on(x->encoder)))
		return;
	encoder_transaction_start(x->encoder);
	x->pe.transaction = true;
	x->pe.in_transaction = 0;
	x->before = x->pe;
}

/* Instructions that are executed and not told, in a Q element. */
static void quiet(struct execute *x)
{
	uint64_t before = x->executed;
	unsigned int n = 1 + rng_below(&x->rng, 30);

	x->silent = true;
	while (n-- && step(x))
		;
	x->silent = false;
	if (x->executed != before)
		encoder_q(x->encoder, current(x)->address, current(x)->isa);
}

/* Takes back some of the right path, which is then executed again or not. */
static void rewind_some(struct execute *x)
{
	if (!can_go_wrong(x) || x->encoder->nrun || x->encoder->emitted == x->encoder->resolved)
		return;
	if (encoder_mark(x->encoder)) {
		go_wrong(x, 1 + rng_below(&x->rng, 20));
		cancel(x, false, x->pe.at, false);
	}
}

static bool step(struct execute *x)
{
	const struct program_insn *insn = current(x);
	bool bound = x->wrong || x->silent;

	switch (insn->what) {
	case INSN_DIRECT:
	case INSN_INDIRECT:
	case INSN_RETURN:
	case INSN_TABLE:
		branch(x, insn);
		return true;
	case INSN_ERET:
	case INSN_SVC:
		if (bound)
			return false;
		if (insn->what == INSN_ERET) {
			exception_return(x, insn);
			return true;
		}
		tell(x, insn, false, 0, 0, false);
		x->pe.at++;
		exception(x, 2);
		return true;
	case INSN_TSTART:
		if (x->silent)
			return false;
		transaction_start(x, insn);
		return true;
	case INSN_TCOMMIT:
		if (x->pe.transaction && bound)
			return false;
		tell(x, insn, false, 0, 0, false);
		x->pe.at++;
		if (x->pe.transaction)
			encoder_transaction_commit(x->encoder);
		x->pe.transaction = false;
		return true;
	default:
		tell(x, insn, true, 0, 0, false);
		x->pe.at++;
		if (insn->what == INSN_ISB && !bound && x->context.el && !x->pe.transaction &&
		    now(x, 4)) {
			new_ids(x);
			encoder_context(x->encoder, &x->context);
		}
		return true;
	}
}

static void beside(struct execute *x)
{
	struct encoder *encoder = x->encoder;

	if (!encoder->tracing)
		return;
	if (now(x, x->options.event))
		encoder_event(encoder, 1 + rng_below(&x->rng, 15));
	if (encoder->options.timestamps && now(x, x->options.timestamp)) {
		x->ticks += now(x, 50) && !x->options.as_linux ? rng_next(&x->rng) >> (8 + rng_below(&x->rng, 40)) :
					 rng_below(&x->rng, 1 << (1 + rng_below(&x->rng, 20)));
		encoder_timestamp(encoder, x->ticks);
	}
	if (now(x, x->options.marker))
		encoder_marker(encoder);
	if (now(x, x->options.ite))
		encoder_ite(encoder, x->context.el, rng_next(&x->rng));
	if (encoder->options.maxspec && now(x, 200))
		encoder_commit(encoder);
}

static void pause_tracing(struct execute *x, uint32_t most)
{
	x->hidden = 1 + rng_below(&x->rng, most);
	x->pe.transaction = false;
}

static void modify(struct execute *x)
{
	if (x->modified || x->context.el == 0 || !x->encoder->tracing || x->encoder->nrun ||
	    !x->encoder->options.timestamps || x->executed < x->options.instructions / 2 ||
	    x->pe.transaction)
		return;
	x->ticks += 1 + rng_below(&x->rng, 1000);
	x->modified = x->ticks;
	x->nsaved = 0;
	encoder_timestamp(x->encoder, x->ticks);
}

static void breaks(struct execute *x)
{
	struct encoder *encoder = x->encoder;

	if (x->pe.transaction) {
		if (x->pe.in_transaction++ > TRANSACTION_MOST || now(x, x->options.fail) ||
		    current(x)->what == INSN_SVC || current(x)->what == INSN_ERET)
			fail(x);
		return;
	}
	if (x->options.modify)
		modify(x);
	if (now(x, x->options.exception))
		exception(x, 0);
	if (x->program->options.m_profile)
		execute_m_breaks(x);
	if (now(x, x->options.reset))
		reset(x);
	if (!x->hidden && now(x, x->options.filter)) {
		encoder_off(encoder);
		pause_tracing(x, 100);
	}
	if (!x->hidden && now(x, x->options.q) && encoder_can_q(encoder))
		quiet(x);
	if (!x->hidden && now(x, x->options.wrong))
		rewind_some(x);
}

static void losses(struct execute *x)
{
	if (x->hidden)
		return;
	if (now(x, x->options.overflow)) {
		encoder_overflow(x->encoder);
		pause_tracing(x, 500);
	} else if (now(x, x->options.discard)) {
		encoder_discard(x->encoder);
		pause_tracing(x, 500);
	}
}

static void trace_on(struct execute *x)
{
	encoder_on(x->encoder, current(x)->address, current(x)->isa, &x->context);
}

void execute_run(struct execute *execute, const struct execute_options *options,
		 const struct program *program, struct encoder *encoder, uint64_t seed)
{
	struct execute *x = execute;

	memset(x, 0, sizeof(*x));
	x->options = *options;
	x->program = program;
	x->encoder = encoder;
	x->rng.state = seed;
	x->ticks = options->as_linux ? options->ticks : rng_next(&x->rng) >> 24;
	x->context.el = options->exception ? 1 : 0;
	x->pe.at = start_afresh(x);
	trace_on(x);
	while (x->executed < options->instructions) {
		beside(x);
		breaks(x);
		losses(x);
		if (x->hidden && !--x->hidden)
			trace_on(x);
		step(x);
	}
	if (x->pe.transaction)
		fail(x);
	encoder_finish(encoder);
}
