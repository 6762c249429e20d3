// SPDX-License-Identifier: GPL-2.0-or-later
/* Holds a decoded flow against the log: instructions, exceptions, contexts, and what is beside. */
#include "judge.h"

#include <stdarg.h>
#include <string.h>

#include "judge_internal.h"
#include "pe.h"

static const uint8_t side_kinds[JUDGE_SIDES] = { LOG_TIMESTAMP, LOG_CYCLES, LOG_EVENT };
static const char *const side_names[JUDGE_SIDES] = { "timestamp", "cycle count", "event" };

void judge_init(struct judge *judge, const struct history *history, const char *decoder)
{
	memset(judge, 0, sizeof(*judge));
	judge->history = history;
	judge->decoder = decoder;
	judge->config = history->config;
	judge->place = history_begin();
	judge->lost = true;
	judge->hint = HISTORY_NONE;
	judge->reached = HISTORY_NONE;
	judge->mark = 1;
}

bool judge_fail(struct judge *judge, const char *format, ...)
{
	va_list ap;

	if (judge->failed)
		return false;
	judge->failed = true;
	judge->where = judge->place;
	if (judge->attempt)
		return false;
	va_start(ap, format);
	vsnprintf(judge->message, sizeof(judge->message), format, ap);
	va_end(ap);
	return false;
}

/* Exception classes (ESR_ELx.EC) as the trace unit tells them. */
static const uint8_t class_numbers[64] = {
	[0x11] = EXCEPTION_CALL, [0x12] = EXCEPTION_CALL, [0x13] = EXCEPTION_CALL,
	[0x15] = EXCEPTION_CALL, [0x16] = EXCEPTION_CALL, [0x17] = EXCEPTION_CALL,
	[0x20] = EXCEPTION_INST_FAULT, [0x21] = EXCEPTION_INST_FAULT,
	[0x22] = EXCEPTION_ALIGNMENT, [0x26] = EXCEPTION_ALIGNMENT,
	[0x24] = EXCEPTION_DATA_FAULT, [0x25] = EXCEPTION_DATA_FAULT,
	[0x2f] = EXCEPTION_SERROR,
	[0x30] = EXCEPTION_INST_DEBUG, [0x31] = EXCEPTION_INST_DEBUG,
	[0x32] = EXCEPTION_INST_DEBUG, [0x33] = EXCEPTION_INST_DEBUG,
	[0x38] = EXCEPTION_INST_DEBUG, [0x3a] = EXCEPTION_INST_DEBUG,
	[0x3c] = EXCEPTION_INST_DEBUG,
	[0x34] = EXCEPTION_DATA_DEBUG, [0x35] = EXCEPTION_DATA_DEBUG,
};

unsigned int judge_exception_number(unsigned int kind, uint32_t syndrome)
{
	unsigned int class = syndrome >> 26;

	switch (kind) {
	case PE_IRQ:
		return EXCEPTION_IRQ;
	case PE_FIQ:
		return EXCEPTION_FIQ;
	case PE_SERROR:
		return EXCEPTION_SERROR;
	case PE_FIRMWARE:
		return EXCEPTION_CALL;
	default:
		return class_numbers[class] ? class_numbers[class] : EXCEPTION_TRAP;
	}
}

/* --- Going on in the log. --- */

void judge_pass(struct judge *judge)
{
	const struct history_event *event = history_event(judge->history, &judge->place);

	history_pass(judge->history, &judge->place);
	switch (event->kind) {
	case LOG_TRACING:
	case LOG_FILTER:
	case LOG_RESET:
	case LOG_OVERFLOW:
		judge->cause = true;
		break;
	default:
		break;
	}
	if (!history_allowed(&judge->place.state) || event->kind == LOG_RESET)
		judge->broken = judge->cause = true;
}

/* A P0 element is after: a run of instructions up to the next one begins. */
void judge_run(struct judge *judge)
{
	judge->run_traced = false;
}

/* Whether anything from the place on to the next P0 instruction is to be traced. */
bool judge_run_has(const struct judge *judge, const struct history_place *from)
{
	struct history_place at = *from;
	const struct history_event *event;
	const struct log_block *block;

	while (at.item < judge->history->n) {
		event = history_event(judge->history, &at);
		if (event && event->kind == LOG_EXCEPTION)
			return false;
		if (event) {
			history_pass(judge->history, &at);
			continue;
		}
		if (history_traced(&at.state))
			return true;
		block = history_block(judge->history, &at);
		if (!history_allowed(&at.state) || history_p0(&judge->config, block))
			return false;
		history_go(judge->history, &at, block->n - at.within);
	}
	return false;
}

/* The place is at the next instruction, if that is what the flow may go on with. */
static bool next_instruction(struct judge *judge, uint64_t address)
{
	const struct history_event *event;

	while ((event = history_event(judge->history, &judge->place))) {
		if (event->kind == LOG_EXCEPTION && history_traced(&judge->place.state))
			return judge_fail(judge, "0x%llx is decoded, where an exception (kind %llu, "
					  "syndrome 0x%llx) was taken with return address 0x%llx",
					  LLU(address), LLU(event->fields[0]), LLU(event->fields[1]),
					  LLU(event->fields[2]));
		if (event->kind == LOG_EXCEPTION)
			judge->broken = true;
		if (event->kind == LOG_OVERFLOW)
			return judge_fail(judge, "0x%llx is decoded, where the trace unit's buffer "
					  "overflowed", LLU(address));
		judge_pass(judge);
	}
	if (!history_block(judge->history, &judge->place))
		return judge_fail(judge, "0x%llx is decoded, where the log ends", LLU(address));
	if (judge->broken || !history_allowed(&judge->place.state))
		return judge_fail(judge, "0x%llx is decoded without a Trace On, where trace was off",
				  LLU(address));
	return true;
}

static uint64_t here(const struct judge *judge)
{
	return history_block(judge->history, &judge->place)->address + 4 * judge->place.within;
}

/* What is not told since the A-sync is 0 (K10.5, Trace Info). */
static bool context_is(const struct judge *judge, const struct history_state *state)
{
	const struct flowtap_ete_config *config = &judge->config;
	const struct judge_context *context = &judge->context;

	if (context->el != state->el)
		return false;
	if (config->configr >> 6 & 1 &&
	    (context->has_contextid ? context->contextid : 0) != state->contextidr_el1)
		return false;
	return !(config->configr >> 7 & 1) ||
	       (context->has_vmid ? context->vmid : 0) == state->contextidr_el2;
}

static bool check_context(struct judge *judge, uint64_t address)
{
	const struct history_state *state = &judge->place.state;

	if (!judge->context.nonsecure || !judge->context.aarch64)
		return judge_fail(judge, "0x%llx is decoded as %s", LLU(address),
				  judge->context.aarch64 ? "not Non-secure" : "AArch32");
	if (context_is(judge, state))
		return true;
	return judge_fail(judge, "0x%llx is decoded at EL%u, context ID 0x%x, VMID 0x%x; it was "
			  "executed at EL%u, CONTEXTIDR_EL1 0x%x, CONTEXTIDR_EL2 0x%x", LLU(address),
			  judge->context.el, judge->context.contextid, judge->context.vmid, state->el,
			  state->contextidr_el1, state->contextidr_el2);
}

static bool check_end(struct judge *judge, const struct log_block *block, enum judge_taken taken,
		      uint64_t target)
{
	uint64_t last = block->address + 4 * (uint64_t)(block->n - 1);

	if (block->branch != PE_DIRECT && block->branch != PE_INDIRECT)
		return true;
	if (taken != JUDGE_TAKEN_UNKNOWN && (taken == JUDGE_TAKEN) != block->taken)
		return judge_fail(judge, "the branch at 0x%llx is decoded as %s, it was %s",
				  LLU(last), taken ? "taken" : "not taken",
				  block->taken ? "taken" : "not taken");
	/* Where trace stops after a branch, the target of a cancelled wrong path may be all that the
	 * stream says (K10.5, Cancel: a Target Address before what is cancelled stays). */
	if (taken == JUDGE_TAKEN && target && target != block->next && !judge->config.idr8)
		return judge_fail(judge, "the branch at 0x%llx is decoded to 0x%llx, it went to "
				  "0x%llx", LLU(last), LLU(target), LLU(block->next));
	return true;
}

/* So many of the block at the place were decoded. */
static bool consume(struct judge *judge, uint32_t n, bool last, enum judge_taken taken,
		    uint64_t target)
{
	const struct log_block *block = history_block(judge->history, &judge->place);
	uint64_t address = here(judge);
	bool end = judge->place.within + n == block->n;

	if (!check_context(judge, address))
		return false;
	if (history_traced(&judge->place.state))
		judge->run_traced = true;
	else if (!judge->run_traced && !judge_run_has(judge, &judge->place))
		return judge_fail(judge, "0x%llx is decoded, which a filter excludes", LLU(address));
	if (end && history_p0(&judge->config, block)) {
		if (!last)
			return judge_fail(judge, "decoding goes over the P0 instruction at 0x%llx",
					  LLU(address + 4 * (uint64_t)(n - 1)));
		if (!check_end(judge, block, taken, target))
			return false;
	}
	if (judge->covered)
		judge->covered[judge->place.item] = judge->mark;
	history_go(judge->history, &judge->place, n);
	judge->counts.instructions += n;
	judge->cause = judge->broken = false;
	if (end && history_p0(&judge->config, block)) {
		judge->eret = block->eret && block->taken;
		judge_run(judge);
	}
	return true;
}

static bool no_return_due(struct judge *judge)
{
	if (!judge->eret)
		return true;
	return judge_fail(judge, "an exception return was executed and is not decoded as one");
}

static void instructions(struct judge *judge, const struct judge_said *said)
{
	uint64_t address = said->address;
	uint32_t left = said->n;

	if (!no_return_due(judge))
		return;
	while (left) {
		const struct log_block *block;
		uint32_t n;

		if (judge->on ? !judge_resume(judge, address, false) :
				!next_instruction(judge, address))
			return;
		judge->on = false;
		if (here(judge) != address) {
			judge_fail(judge, "0x%llx is decoded, 0x%llx was executed", LLU(address),
				   LLU(here(judge)));
			return;
		}
		block = history_block(judge->history, &judge->place);
		n = block->n - judge->place.within;
		if (n > left)
			n = left;
		if (!consume(judge, n, n == left, said->taken, said->target))
			return;
		address += 4 * (uint64_t)n;
		left -= n;
	}
}

/* The place is at an exception that may be told. */
static bool next_exception(struct judge *judge, uint64_t address)
{
	const struct history_event *event;

	for (;;) {
		event = history_event(judge->history, &judge->place);
		if (!event)
			break;
		if (event->kind == LOG_RESET)
			return true;
		if (event->kind == LOG_EXCEPTION && history_allowed(&judge->place.state))
			return true;
		if (event->kind == LOG_OVERFLOW)
			return judge_fail(judge, "an exception is decoded at 0x%llx, where the trace "
					  "unit's buffer overflowed", LLU(address));
		judge_pass(judge);
	}
	if (judge->place.item == judge->history->n)
		return judge_fail(judge, "an exception is decoded at 0x%llx, where the log ends",
				  LLU(address));
	return judge_fail(judge, "an exception is decoded at 0x%llx, where 0x%llx was executed",
			  LLU(address), LLU(here(judge)));
}

static void exception(struct judge *judge, const struct judge_said *said)
{
	const struct history_event *event;
	unsigned int number;

	if (!no_return_due(judge))
		return;
	if (judge->on ? !judge_resume(judge, said->address, true) :
			!next_exception(judge, said->address))
		return;
	judge->on = false;
	event = history_event(judge->history, &judge->place);
	number = event->kind == LOG_RESET ? EXCEPTION_RESET :
		 judge_exception_number(event->fields[0], event->fields[1]);
	if (said->n != number || (number != EXCEPTION_RESET && said->address != event->fields[2])) {
		judge_fail(judge, "exception %u is decoded with return address 0x%llx; it was %u "
			   "(kind %llu, syndrome 0x%llx) with 0x%llx", said->n, LLU(said->address),
			   number, LLU(event->fields[0]), LLU(event->fields[1]),
			   LLU(event->fields[2]));
		return;
	}
	judge->cause = judge->broken = false;
	if (judge->covered)
		judge->covered[judge->place.item] = judge->mark;
	judge_pass(judge);
	judge_run(judge);
	judge->counts.exceptions++;
}

static void side(struct judge *judge, const struct judge_said *said)
{
	const struct history *history = judge->history;
	enum judge_side which = said->n;
	uint64_t i = judge->sides[which];

	while (i < history->nevents && (history->events[i].kind != side_kinds[which] ||
					(judge->slack[which] &&
					 history->events[i].fields[0] != said->address)))
		i++;
	judge->slack[which] = false;
	if (i == history->nevents || history->events[i].fields[0] != said->address) {
		judge_fail(judge, "%s 0x%llx is decoded, the next one of the log is %s0x%llx",
			   side_names[which], LLU(said->address),
			   i == history->nevents ? "none " : "",
			   i == history->nevents ? 0 : LLU(history->events[i].fields[0]));
		return;
	}
	judge->sides[which] = i + 1;
	if (judge->covered)
		judge->covered[history->events[i].item] = judge->mark;
	judge->counts.sides[which]++;
}

void judge_do(struct judge *judge, const struct judge_said *said)
{
	judge->since += said->kind == SAID_INSTRUCTIONS || said->kind == SAID_EXCEPTION;
	switch (said->kind) {
	case SAID_INSTRUCTIONS:
		instructions(judge, said);
		break;
	case SAID_EXCEPTION:
		exception(judge, said);
		break;
	case SAID_RETURN:
		if (!judge->eret)
			judge_fail(judge, "an exception return is decoded, none was executed");
		judge->eret = false;
		judge->counts.returns++;
		break;
	case SAID_CONTEXT:
		judge->context = said->context;
		judge->counts.contexts++;
		break;
	case SAID_TRACE_ON:
		judge->on = true;
		judge->counts.trace_ons++;
		break;
	case SAID_SIDE:
		side(judge, said);
		break;
	}
}

static void say(struct judge *judge, const struct judge_said *said)
{
	if (judge->failed)
		return;
	if (!judge->lost) {
		judge_do(judge, said);
		return;
	}
	judge->said[judge->nsaid++] = *said;
	if (judge->nsaid == JUDGE_SAID ||
	    (judge->nsaid % (judge->hint == HISTORY_NONE ? JUDGE_SAID / 4 : JUDGE_SAID / 16) == 0 &&
	     !judge_is_ambiguous(judge)))
		judge_flush(judge);
}

void judge_instructions(struct judge *judge, uint64_t address, uint32_t n, enum judge_taken taken,
			uint64_t target)
{
	say(judge, &(struct judge_said){ .kind = SAID_INSTRUCTIONS, .address = address, .n = n,
					 .taken = taken, .target = target });
}

void judge_exception(struct judge *judge, unsigned int number, uint64_t address)
{
	say(judge, &(struct judge_said){ .kind = SAID_EXCEPTION, .address = address, .n = number });
}

void judge_return(struct judge *judge)
{
	say(judge, &(struct judge_said){ .kind = SAID_RETURN });
}

void judge_context(struct judge *judge, const struct judge_context *context)
{
	say(judge, &(struct judge_said){ .kind = SAID_CONTEXT, .context = *context });
}

void judge_trace_on(struct judge *judge)
{
	say(judge, &(struct judge_said){ .kind = SAID_TRACE_ON });
}

void judge_side(struct judge *judge, enum judge_side which, uint64_t value)
{
	say(judge, &(struct judge_said){ .kind = SAID_SIDE, .n = which, .address = value });
}
