// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What a trace of lines makes of all that is no block, and what has to come before one. */
#include "formats/lines/internal.h"

#include <errno.h>

#define NANOSECONDS	1000000000U
/* What no trace reaches is no time: this leaves space for all lines after it. */
#define TIME_MAX	1000000000000000000U

/* --- Times. --- */

/* The next line is not before this. */
static void not_before(struct lines *lines, uint64_t time)
{
	if (time > TIME_MAX || time <= lines->time.value + 1)
		return;
	lines->least = time;
	lines->pending |= LINES_LATER;
}

static void handle_nanoseconds(struct lines *lines, uint64_t time)
{
	if (lines->options.time != FLOWTAP_LINES_TIME)
		return;
	if (!lines->has_since) {
		lines->since = lines->options.since ? lines->options.since : time;
		lines->has_since = true;
	}
	if (time >= lines->since && time - lines->since <= TIME_MAX / 1000)
		not_before(lines, 1000 * (time - lines->since));
}

static void handle_ticks(struct lines *lines, uint64_t ticks)
{
	unsigned __int128 time = (unsigned __int128)ticks * NANOSECONDS;

	if (!lines->options.frequency)
		return;
	time /= lines->options.frequency;
	if (time <= UINT64_MAX)
		handle_nanoseconds(lines, time);
}

static void handle_cycles(struct lines *lines, const struct flowtap_element *element)
{
	if (lines->options.time != FLOWTAP_LINES_CYCLES || element->cycles.unknown)
		return;
	if (element->cycles.count <= TIME_MAX - lines->cycles)
		lines->cycles += element->cycles.count;
	not_before(lines, lines->cycles);
}

/* --- What waits for what comes next. --- */

/* The block that comes is where the branch led to, or else what is known of its target's ISA. */
static void write_waiting_branch(struct lines *lines, const struct flowtap_block *block)
{
	const struct lines_branch *branch = &lines->branch;
	bool there = block && block->address == branch->target;

	lines->pending &= ~LINES_BRANCH;
	if (there)
		lines->pc = branch->target;
	if (!lines->form.events || (!branch->target && !there) || (!lines->form.columns && there))
		return;
	if (there)
		flowtap_lines_write_branch(lines, block->isa, branch->target);
	else if (branch->moved)
		flowtap_lines_write_branch(lines, lines->context.isa, branch->target);
	else if (isa_is_wide(branch->isa))
		flowtap_lines_write_branch(lines, branch->isa, branch->target);
}

void flowtap_lines_flush(struct lines *lines)
{
	uint64_t target = lines->exception.exception.target;

	if (lines->pending & LINES_BRANCH)
		write_waiting_branch(lines, NULL);
	if (lines->pending & LINES_EXCEPTION)
		flowtap_lines_write_exception(lines, lines->context.isa, target, target);
}

void flowtap_lines_end_flow(struct lines *lines)
{
	bool waits = lines->pending & (LINES_BRANCH | LINES_EXCEPTION);

	flowtap_lines_flush(lines);
	if (waits || lines->form.columns || !lines->form.events || !lines->ended ||
	    lines->pc == lines->fell)
		return;
	lines->fell = lines->pc;
	flowtap_lines_write_branch(lines, lines->isa, lines->pc);
}

static bool same_owner(const struct flowtap_context *a, const struct flowtap_context *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->has_vmid == b->has_vmid &&
	       a->vmid == b->vmid && a->has_contextid == b->has_contextid &&
	       a->contextid == b->contextid && a->has_cpu == b->has_cpu &&
	       (!a->has_cpu || a->cpu == b->cpu);
}

static void write_note(struct lines *lines, const struct flowtap_element *element)
{
	const struct lines_branch *branch = &lines->branch;
	char words[FLOWTAP_LINE_CAPACITY];

	/* The context that an exception return led to comes after notes of it. */
	if (!(lines->pending & LINES_BRANCH) || !branch->returns || branch->moved)
		flowtap_lines_flush(lines);
	if (lines->form.events)
		flowtap_lines_event(lines, "TraceNote", words, flowtap_line_element(words, element),
				    false);
	else
		lines->counts.unsaid++;
}

static void write_context_note(struct lines *lines)
{
	const struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_CONTEXT, .context = lines->context,
	};

	if (!(lines->pending & LINES_NOTE))
		return;
	lines->pending &= ~LINES_NOTE;
	if (same_owner(&lines->written_context, &lines->context) &&
	    (isa_is_arm(lines->context.isa) || !lines->form.events ||
	     lines->written_context.cpu == lines->context.cpu))
		return;
	lines->written_context = lines->context;
	write_note(lines, &element);
}

/* Without E lines a missing number shows it. */
static void begin_anew(struct lines *lines)
{
	lines->pending &= ~LINES_BREAK;
	if (lines->form.events || lines->pending & LINES_HEADER)
		return;
	lines->time = flowtap_counter_next(lines->time);
	lines->id = flowtap_counter_next(lines->id);
}

static void reset_sp(struct lines *lines)
{
	lines->sp.depth = 0;
	lines->sp.stacks = 0;
	if (lines->options.synthetic_sp)
		lines->pending |= LINES_SP;
}

static void write_break(struct lines *lines, const char *words, size_t size)
{
	flowtap_lines_end_flow(lines);
	write_context_note(lines);
	if (lines->form.events)
		flowtap_lines_event(lines, "TraceGap", words, size, true);
	lines->pending |= LINES_BREAK;
	lines->explained = true;
	reset_sp(lines);
}

void flowtap_lines_begin_block(struct lines *lines, const struct flowtap_block *block)
{
	static const char unexplained[] = "unexplained";
	uint64_t target = lines->exception.exception.target;

	if (lines->pending & LINES_BRANCH)
		write_waiting_branch(lines, block);
	if (lines->pending & LINES_EXCEPTION)
		flowtap_lines_write_exception(lines, block->isa, true,
					      target ? target : block->address);
	if (block->address != lines->pc && !lines->explained) {
		lines->counts.breaks++;
		write_break(lines, unexplained, sizeof(unexplained) - 1);
	}
	if (lines->pending & LINES_BREAK)
		begin_anew(lines);
	write_context_note(lines);
}

/* --- Elements. --- */

/* A gap, or what else leaves out instructions. */
static int handle_break(struct lines *lines, const struct flowtap_element *element)
{
	char words[FLOWTAP_LINE_CAPACITY];
	size_t size = flowtap_line_element(words, element), skip = 0;

	if (size > 4 && !memcmp(words, "gap ", 4))
		skip = 4;
	if (!lines->form.events)
		lines->counts.unsaid++;
	write_break(lines, words + skip, size - skip);
	return lines->out.error;
}

static int handle_skipped(struct lines *lines, const struct flowtap_element *element)
{
	lines->counts.skipped++;
	return handle_break(lines, element);
}

/* Before the first line a trace begins anyhow. */
static int handle_begin(struct lines *lines, const struct flowtap_element *element)
{
	if (lines->pending & LINES_HEADER)
		return 0;
	lines->counts.breaks++;
	return handle_break(lines, element);
}

/*
 * CTR names another thread only between samples; an Arm trace is a CPU's and goes on. The first
 * CPU of several may not have been named: then it was CPU 0.
 */
static bool is_elsewhere(const struct flowtap_context *before, const struct flowtap_context *now)
{
	if (!isa_is_arm(now->isa))
		return now->pid != before->pid || now->tid != before->tid;
	return now->has_cpu && now->cpu != before->cpu;
}

static int handle_context(struct lines *lines, const struct flowtap_context *context)
{
	const struct flowtap_context old = lines->context;
	bool other = !same_owner(&old, context);

	if (context->isa > FLOWTAP_ISA_T32 || context->mode > FLOWTAP_PRIVILEGE_M)
		return -EINVAL;
	if (!isa_is_arm(context->isa) && !lines->form.riscv)
		return -EOPNOTSUPP;
	lines->context = *context;
	lines->knows_isa = true;
	lines->branch.moved = lines->branch.returns;
	lines->exception.moved = true;
	flowtap_lines_set_print(lines);
	if (context->cpu != old.cpu)
		flowtap_lines_set_words(lines);
	if (other)
		reset_sp(lines);
	if (lines->options.synthetic_sp && context->mode != old.mode)
		lines->pending |= LINES_SP;
	lines->pending |= LINES_NOTE;
	if (is_elsewhere(&old, context)) {
		flowtap_lines_end_flow(lines);
		lines->explained = true;
		lines->pending |= LINES_BREAK;
	}
	return lines->out.error;
}

/* A call exception (SVC, ecall ...) belongs to the instruction right before it. */
static bool is_own(const struct lines *lines, const struct flowtap_exception *exception)
{
	enum { TYPE_CALL = 2, M_SVCALL = 11 };

	if (!lines->ended || lines->pending & LINES_EXCEPTION || !exception->address ||
	    exception->interrupt)
		return false;
	if (!isa_is_arm(lines->context.isa))
		return lines->trapped && lines->trap == exception->address;
	return exception->number == (exception->m_profile ? M_SVCALL : TYPE_CALL) &&
	       exception->address == lines->pc;
}

/* The lines so far do not lead to where it was taken. */
static bool is_unwritten(const struct lines *lines, const struct flowtap_exception *exception)
{
	const struct lines_branch *branch = &lines->branch;
	bool unsaid = lines->pending & LINES_BRANCH && !isa_is_wide(branch->isa) && !branch->moved;

	return exception->address && (lines->explained || unsaid || lines->trapped ||
				      exception->address != lines->pc);
}

static void save_sp(struct lines_sp *sp)
{
	if (sp->stacks == LINES_STACKS) {
		memmove(sp->saved, sp->saved + 1, sizeof(sp->saved) - sizeof(sp->saved[0]));
		sp->stacks--;
	}
	sp->saved[sp->stacks++] = sp->depth;
}

static int handle_exception(struct lines *lines, const struct flowtap_exception *exception)
{
	struct lines_exception *waiting = &lines->exception;
	bool own = is_own(lines, exception), unwritten = !own && is_unwritten(lines, exception);

	lines->counts.exceptions++;
	/* Nothing was executed between the two: the first handler is where the second one came. */
	if (lines->pending & LINES_EXCEPTION && !waiting->exception.target)
		waiting->exception.target = exception->address;
	if (exception->address == lines->pc)
		flowtap_lines_flush(lines);
	else
		flowtap_lines_end_flow(lines);
	write_context_note(lines);
	*waiting = (struct lines_exception){
		.exception = *exception, .from = lines->context, .placed = lines->knows_isa,
		.own = own, .unwritten = unwritten,
	};
	lines->pending |= LINES_EXCEPTION;
	lines->explained = true;
	if (lines->options.synthetic_sp)
		save_sp(&lines->sp);
	return lines->out.error;
}

int flowtap_lines_element(struct lines *lines, const struct flowtap_element *element)
{
	if (lines->out.error)
		return lines->out.error;
	switch (element->kind) {
	case FLOWTAP_ELEMENT_CONTEXT:
		return handle_context(lines, &element->context);
	case FLOWTAP_ELEMENT_EXCEPTION:
		return handle_exception(lines, &element->exception);
	case FLOWTAP_ELEMENT_GAP:
		lines->counts.gaps++;
		return handle_break(lines, element);
	case FLOWTAP_ELEMENT_TRANSFER:
	case FLOWTAP_ELEMENT_CALLSTACK:
	case FLOWTAP_ELEMENT_Q:
		return handle_skipped(lines, element);
	case FLOWTAP_ELEMENT_SESSION:
	case FLOWTAP_ELEMENT_TRACE_ON:
		return handle_begin(lines, element);
	case FLOWTAP_ELEMENT_TRANSACTION:
	case FLOWTAP_ELEMENT_EVENT:
	case FLOWTAP_ELEMENT_INSTRUMENTATION:
		write_note(lines, element);
		return lines->out.error;
	case FLOWTAP_ELEMENT_TIME:
		handle_nanoseconds(lines, element->time);
		return 0;
	case FLOWTAP_ELEMENT_TIMESTAMP:
		handle_ticks(lines, element->timestamp.ticks);
		return 0;
	case FLOWTAP_ELEMENT_CYCLES:
		handle_cycles(lines, element);
		return 0;
	case FLOWTAP_ELEMENT_MISPREDICTED:
	case FLOWTAP_ELEMENT_MARKER:
		lines->counts.unsaid++;
		return 0;
	case FLOWTAP_ELEMENT_EXCEPTION_RETURN:	/* in its block */
	case FLOWTAP_ELEMENT_SOURCE:
		return 0;
	}
	return 0;
}

void flowtap_lines_set_print(struct lines *lines)
{
	if (lines->form.moded)
		lines->print = (lines->context.mode & 3U) | (lines->context.security & 3U) << 2;
}

static void add_word(struct lines_words *words, const char *word)
{
	struct flowtap_line line = {
		words->text + words->size, words->text + sizeof(words->text) - 1,
	};

	flowtap_line_string(&line, word);
	words->size = line.at - words->text;
	words->text[words->size] = '\0';
}

void flowtap_lines_set_words(struct lines *lines)
{
	const char *ps = lines->form.columns ? " ps  " : " ps ";
	const char *unit = lines->options.time == FLOWTAP_LINES_TIME ? ps : " clk ";
	char cpu[20] = "cpu";
	struct flowtap_line line = { cpu + 3, cpu + sizeof(cpu) - 2 };

	lines->words.size = lines->event_words.size = 0;
	add_word(&lines->words, unit);
	add_word(&lines->event_words, unit);
	flowtap_line_decimal(&line, lines->context.cpu);
	memcpy(line.at, " ", 2);
	if (lines->form.cpu_names) {
		add_word(&lines->words, cpu);
		add_word(&lines->event_words, cpu);
	} else if (lines->form.cpu_numbers) {
		add_word(&lines->words, cpu + 3);
	}
	add_word(&lines->words, "IT (");
}
