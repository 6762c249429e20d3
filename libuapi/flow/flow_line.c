// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Prints elements of the flow to lines, field by field; fields that are not known are left out. */
#include "flow/flow_line.h"

#include "base/control.h"

#include <stdlib.h>
#include <string.h>

static void append(struct flowtap_line *line, char c)
{
	if (line->at < line->end)
		*line->at++ = c;
	else
		memcpy(line->end - 3, "...", 3);
}

void flowtap_line_string(struct flowtap_line *line, const char *string)
{
	while (*string)
		append(line, *string++);
}

void flowtap_line_hex(struct flowtap_line *line, uint64_t number)
{
	int shift = number ? (63 - __builtin_clzll(number)) & ~3 : 0;

	for (; shift >= 0; shift -= 4)
		append(line, "0123456789abcdef"[number >> shift & 15]);
}

void flowtap_line_decimal(struct flowtap_line *line, uint64_t number)
{
	char digits[20];
	int n = 0;

	do
		digits[n++] = '0' + number % 10;
	while (number /= 10);
	while (n)
		append(line, digits[--n]);
}

/* " name=number", unless the number says nothing. */
static void field(struct flowtap_line *line, const char *name, uint64_t number, bool given)
{
	if (!given)
		return;
	flowtap_line_string(line, name);
	flowtap_line_hex(line, number);
}

static void decimal_field(struct flowtap_line *line, const char *name, uint64_t number, bool given)
{
	if (!given)
		return;
	flowtap_line_string(line, name);
	flowtap_line_decimal(line, number);
}

/* Nanoseconds as seconds, with all nine digits after the point. */
static void write_seconds(struct flowtap_line *line, uint64_t time)
{
	flowtap_line_decimal(line, time / 1000000000);
	append(line, '.');
	for (uint64_t digit = 100000000; digit; digit /= 10)
		append(line, '0' + time / digit % 10);
}

static void time_field(struct flowtap_line *line, const char *name, uint64_t time, bool given)
{
	if (!given)
		return;
	flowtap_line_string(line, name);
	write_seconds(line, time);
}

const char *flowtap_isa_name(unsigned int isa)
{
	static const char *const names[] = {
		[FLOWTAP_ISA_RV64] = "RV64",
		[FLOWTAP_ISA_A64] = "A64",
		[FLOWTAP_ISA_A32] = "A32",
		[FLOWTAP_ISA_T32] = "T32",
	};

	return isa < sizeof(names) / sizeof(names[0]) ? names[isa] : "?";
}

static void write_context(struct flowtap_line *line, const struct flowtap_context *context)
{
	static const char *const security[] = {
		[FLOWTAP_NONSECURE] = " nonsecure ",
		[FLOWTAP_SECURE] = " secure ",
		[FLOWTAP_REALM] = " realm ",
		[FLOWTAP_ROOT] = " root ",
	};
	bool riscv = context->isa == FLOWTAP_ISA_RV64;

	flowtap_line_string(line, "context ");
	flowtap_line_string(line, flowtap_isa_name(context->isa));
	flowtap_line_string(line, " EL");
	flowtap_line_decimal(line, context->mode);
	flowtap_line_string(line, security[context->security & 3]);
	flowtap_line_decimal(line, context->width);
	field(line, " vmid=", context->vmid, context->has_vmid);
	field(line, " contextid=", context->contextid, context->has_contextid);
	decimal_field(line, " pid=", context->pid, context->pid);
	decimal_field(line, " tid=", context->tid, context->tid);
	decimal_field(line, " cpu=", context->cpu, riscv || context->pid || context->has_cpu);
	if (riscv) {
		flowtap_line_string(line, " mode=");
		append(line, "USHM"[context->mode & 3]);
	}
}

static void write_exception(struct flowtap_line *line, const struct flowtap_exception *exception)
{
	flowtap_line_string(line, exception->number < 0 ? "exception -" : "exception ");
	flowtap_line_decimal(line, llabs(exception->number));
	append(line, ' ');
	flowtap_line_hex(line, exception->address);
	if (exception->interrupt)
		flowtap_line_string(line, " interrupt");
	field(line, " target=", exception->target, exception->target);
}

/* Whatever someone called a file, it stays on its line and does nothing to a terminal. */
static void write_detail(struct flowtap_line *line, const char *detail)
{
	flowtap_line_string(line, " detail=");
	while (*detail) {
		size_t control = flowtap_control_size(detail);

		append(line, control ? '?' : *detail);
		detail += control ? control : 1;
	}
}

static void write_gap(struct flowtap_line *line, const struct flowtap_gap *gap)
{
	/* As the reference decoder says it, where there is nothing more to say. */
	if (gap->reason == FLOWTAP_GAP_NO_IMAGE && !gap->since && !gap->until && !gap->size &&
	    !gap->detail) {
		field(line, "no_image ", gap->address, true);
		return;
	}
	flowtap_line_string(line, "gap ");
	flowtap_line_string(line, flowtap_gap_name(gap->reason));
	time_field(line, " since=", gap->since, gap->since);
	time_field(line, " until=", gap->until, gap->until);
	if (gap->size == UINT64_MAX)
		flowtap_line_string(line, " size=unknown");
	else
		decimal_field(line, " size=", gap->size, gap->size);
	field(line, " address=", gap->address, gap->address);
	if (gap->detail && *gap->detail)
		write_detail(line, gap->detail);
}

/* Twelve digits at least, as the reference decoder writes them. */
static void write_ticks(struct flowtap_line *line, uint64_t ticks)
{
	flowtap_line_string(line, "timestamp ");
	for (uint64_t least = 1ULL << 44; ticks < least && least > 1; least >>= 4)
		append(line, '0');
	flowtap_line_hex(line, ticks);
}

static void write_transfer(struct flowtap_line *line, const struct flowtap_transfer *transfer)
{
	field(line, "transfer ", transfer->source, true);
	field(line, " ", transfer->target, true);
	append(line, ' ');
	flowtap_line_string(line, flowtap_transfer_name(transfer->type));
	if (transfer->mispredicted)
		flowtap_line_string(line, " mispredicted");
}

static void write_timestamp(struct flowtap_line *line, const struct flowtap_timestamp *timestamp)
{
	write_ticks(line, timestamp->ticks);
	if (!timestamp->has_cycles)
		return;
	flowtap_line_string(line, " cycles ");
	flowtap_line_decimal(line, timestamp->cycles);
}

static void write_q(struct flowtap_line *line, const struct flowtap_q *q)
{
	field(line, "q_range ", q->start, true);
	field(line, " ", q->next, true);
	append(line, ' ');
	flowtap_line_decimal(line, q->instructions);
}

static void write_transaction(struct flowtap_line *line, enum flowtap_transaction transaction)
{
	static const char *const words[] = {
		[FLOWTAP_TRANSACTION_START] = "transaction start",
		[FLOWTAP_TRANSACTION_COMMIT] = "transaction commit",
		[FLOWTAP_TRANSACTION_FAIL] = "transaction fail",
	};

	flowtap_line_string(line, words[transaction]);
}

static void write_instrumentation(struct flowtap_line *line,
				  const struct flowtap_instrumentation *instrumentation)
{
	flowtap_line_string(line, "ite EL");
	flowtap_line_decimal(line, instrumentation->mode);
	field(line, " ", instrumentation->value, true);
}

static void write_cycles(struct flowtap_line *line, const struct flowtap_element *element)
{
	flowtap_line_string(line, "cycles ");
	flowtap_line_decimal(line, element->cycles.unknown ? 0 : element->cycles.count);
	if (element->cycles.at_least)
		flowtap_line_string(line, " at_least");
}

static void write_callstack(struct flowtap_line *line, const struct flowtap_element *element)
{
	flowtap_line_string(line, "callstack");
	for (size_t i = 0; i < element->callstack.n && line->at < line->end; i++)
		field(line, " ", element->callstack.frames[i], true);
}

/* Elements of which there is no more to say. */
static const char *const words[] = {
	[FLOWTAP_ELEMENT_SESSION] = "session",
	[FLOWTAP_ELEMENT_EXCEPTION_RETURN] = "eret",
	[FLOWTAP_ELEMENT_MISPREDICTED] = "mispredicted",
	[FLOWTAP_ELEMENT_TRACE_ON] = "trace_on",
	[FLOWTAP_ELEMENT_MARKER] = "marker",
};

size_t flowtap_line_element(char text[FLOWTAP_LINE_CAPACITY], const struct flowtap_element *element)
{
	struct flowtap_line line = { .at = text, .end = text + FLOWTAP_LINE_CAPACITY };

	switch (element->kind) {
	case FLOWTAP_ELEMENT_SESSION:
	case FLOWTAP_ELEMENT_EXCEPTION_RETURN:
	case FLOWTAP_ELEMENT_MISPREDICTED:
	case FLOWTAP_ELEMENT_TRACE_ON:
	case FLOWTAP_ELEMENT_MARKER:
		flowtap_line_string(&line, words[element->kind]);
		break;
	case FLOWTAP_ELEMENT_CONTEXT:
		write_context(&line, &element->context);
		break;
	case FLOWTAP_ELEMENT_EXCEPTION:
		write_exception(&line, &element->exception);
		break;
	case FLOWTAP_ELEMENT_TIME:
		flowtap_line_string(&line, "time ");
		write_seconds(&line, element->time);
		break;
	case FLOWTAP_ELEMENT_CYCLES:
		write_cycles(&line, element);
		break;
	case FLOWTAP_ELEMENT_GAP:
		write_gap(&line, &element->gap);
		break;
	case FLOWTAP_ELEMENT_TRANSFER:
		write_transfer(&line, &element->transfer);
		break;
	case FLOWTAP_ELEMENT_CALLSTACK:
		write_callstack(&line, element);
		break;
	case FLOWTAP_ELEMENT_TIMESTAMP:
		write_timestamp(&line, &element->timestamp);
		break;
	case FLOWTAP_ELEMENT_Q:
		write_q(&line, &element->q);
		break;
	case FLOWTAP_ELEMENT_TRANSACTION:
		write_transaction(&line, element->transaction);
		break;
	case FLOWTAP_ELEMENT_EVENT:
		flowtap_line_string(&line, "event ");
		flowtap_line_decimal(&line, element->event);
		break;
	case FLOWTAP_ELEMENT_INSTRUMENTATION:
		write_instrumentation(&line, &element->instrumentation);
		break;
	case FLOWTAP_ELEMENT_SOURCE:
		break;
	}
	return line.at - text;
}
