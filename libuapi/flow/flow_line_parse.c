// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Lines of the flow grammar (flowtap/text.h) back to the elements that flow_line.c made them of. */
#include "flow/flow_line.h"

#include <limits.h>
#include <string.h>

/* What is left of a line: words with one space between them. */
struct rest {
	const char *at;
	const char *end;
};

/* Takes exactly this. */
static bool literal(struct rest *rest, const char *text)
{
	size_t size = strlen(text);

	if ((size_t)(rest->end - rest->at) < size || memcmp(rest->at, text, size))
		return false;
	rest->at += size;
	return true;
}

/* Takes the next word if it is this one, and the space after it. */
static bool word(struct rest *rest, const char *text)
{
	struct rest after = *rest;

	if (!literal(&after, text) || (after.at < after.end && *after.at != ' '))
		return false;
	after.at += after.at < after.end;
	*rest = after;
	return true;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/* A number that is a word of its own, or the end of one. */
static bool number(struct rest *rest, unsigned int base, uint64_t *value)
{
	const char *at = rest->at;
	uint64_t n = 0;

	for (; at < rest->end && *at != ' '; at++) {
		unsigned int d = (unsigned int)digit(*at);

		if (d >= base || n > (UINT64_MAX - d) / base)
			return false;
		n = n * base + d;
	}
	if (at == rest->at)
		return false;
	rest->at = at + (at < rest->end);
	*value = n;
	return true;
}

static bool over(const struct rest *rest)
{
	return rest->at == rest->end;
}

/* name=NUMBER; given: whether it is there. False: it is, and wrong. */
static bool field(struct rest *rest, const char *name, uint64_t *value, bool *given)
{
	*given = literal(rest, name);
	return !*given || number(rest, 16, value);
}

static bool decimal_field(struct rest *rest, const char *name, uint64_t *value, bool *given)
{
	*given = literal(rest, name);
	return !*given || number(rest, 10, value);
}

/* SECONDS.NNNNNNNNN as nanoseconds. */
static bool seconds(struct rest *rest, uint64_t *value)
{
	const char *point = memchr(rest->at, '.', (size_t)(rest->end - rest->at));
	struct rest whole = { .at = rest->at, .end = point };
	const char *rest_start = point ? point + 1 : NULL;
	uint64_t before, after;

	if (!point || !number(&whole, 10, &before) || !over(&whole))
		return false;
	rest->at = rest_start;
	if (!number(rest, 10, &after) || rest->at - rest_start - (rest->at[-1] == ' ') != 9 ||
	    before > (UINT64_MAX - after) / 1000000000)
		return false;
	*value = before * 1000000000 + after;
	return true;
}

/* name=SECONDS, as field. */
static bool time_field(struct rest *rest, const char *name, uint64_t *value)
{
	return !literal(rest, name) || seconds(rest, value);
}

static bool parse_isa(struct rest *rest, struct flowtap_context *context)
{
	for (uint8_t isa = FLOWTAP_ISA_RV64; isa <= FLOWTAP_ISA_T32; isa++) {
		if (word(rest, flowtap_isa_name(isa))) {
			context->isa = isa;
			return true;
		}
	}
	return false;
}

static bool parse_security(struct rest *rest, struct flowtap_context *context)
{
	static const char *const names[] = {
		[FLOWTAP_NONSECURE] = "nonsecure",
		[FLOWTAP_SECURE] = "secure",
		[FLOWTAP_REALM] = "realm",
		[FLOWTAP_ROOT] = "root",
	};

	for (uint8_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (word(rest, names[i])) {
			context->security = i;
			return true;
		}
	}
	return false;
}

static bool parse_mode(struct rest *rest, struct flowtap_context *context)
{
	static const char letters[] = "USHM";
	const char *letter;

	if (context->isa != FLOWTAP_ISA_RV64)
		return true;
	if (!literal(rest, "mode=") || over(rest))
		return false;
	letter = strchr(letters, *rest->at++);
	return letter && *letter && letter - letters == context->mode && over(rest);
}

static bool parse_context(struct rest *rest, struct flowtap_context *context)
{
	uint64_t mode, width, vmid = 0, contextid = 0, pid = 0, tid = 0, cpu = 0;
	bool given;

	if (!parse_isa(rest, context) || !literal(rest, "EL") || !number(rest, 10, &mode) ||
	    mode > FLOWTAP_PRIVILEGE_M || !parse_security(rest, context) ||
	    !number(rest, 10, &width) || (width != 32 && width != 64))
		return false;
	context->mode = (uint8_t)mode;
	context->width = (uint8_t)width;
	if (!field(rest, "vmid=", &vmid, &context->has_vmid) ||
	    !field(rest, "contextid=", &contextid, &context->has_contextid) ||
	    !decimal_field(rest, "pid=", &pid, &given) ||
	    !decimal_field(rest, "tid=", &tid, &given) ||
	    !decimal_field(rest, "cpu=", &cpu, &given) || !parse_mode(rest, context))
		return false;
	if (vmid > UINT32_MAX || pid > UINT32_MAX || tid > UINT32_MAX || cpu > UINT32_MAX)
		return false;
	context->has_cpu = given && !pid && context->isa != FLOWTAP_ISA_RV64;
	context->vmid = (uint32_t)vmid;
	context->contextid = contextid;
	context->pid = (uint32_t)pid;
	context->tid = (uint32_t)tid;
	context->cpu = (uint32_t)cpu;
	return true;
}

static bool parse_exception(struct rest *rest, struct flowtap_exception *exception)
{
	bool negative = literal(rest, "-"), given;
	uint64_t n;

	if (!number(rest, 10, &n) || n > INT_MAX || !number(rest, 16, &exception->address))
		return false;
	exception->number = negative ? -(int)n : (int)n;
	exception->interrupt = word(rest, "interrupt");
	return field(rest, "target=", &exception->target, &given);
}

static bool parse_gap(struct rest *rest, struct flowtap_gap *gap,
		      char detail[FLOWTAP_LINE_CAPACITY + 1])
{
	size_t size;
	bool given;
	int reason;

	for (reason = 0; reason < FLOWTAP_GAP_REASONS; reason++)
		if (word(rest, flowtap_gap_name((enum flowtap_gap_reason)reason)))
			break;
	if (reason == FLOWTAP_GAP_REASONS)
		return false;
	gap->reason = (enum flowtap_gap_reason)reason;
	if (!time_field(rest, "since=", &gap->since) || !time_field(rest, "until=", &gap->until))
		return false;
	if (word(rest, "size=unknown"))
		gap->size = UINT64_MAX;
	else if (!decimal_field(rest, "size=", &gap->size, &given))
		return false;
	if (!field(rest, "address=", &gap->address, &given))
		return false;
	if (!literal(rest, "detail="))
		return true;
	size = (size_t)(rest->end - rest->at);
	if (memchr(rest->at, '\0', size))
		return false;
	memcpy(detail, rest->at, size);
	detail[size] = '\0';
	gap->detail = detail;
	rest->at = rest->end;
	return true;
}

static bool parse_no_image(struct rest *rest, struct flowtap_gap *gap)
{
	gap->reason = FLOWTAP_GAP_NO_IMAGE;
	return number(rest, 16, &gap->address);
}

static bool parse_transfer(struct rest *rest, struct flowtap_transfer *transfer)
{
	unsigned int type = 0;

	if (!number(rest, 16, &transfer->source) || !number(rest, 16, &transfer->target))
		return false;
	while (type <= FLOWTAP_TRANSFER_RECORDING && !word(rest, flowtap_transfer_name(type)))
		type++;
	transfer->type = (uint8_t)type;
	transfer->mispredicted = word(rest, "mispredicted");
	return type <= FLOWTAP_TRANSFER_RECORDING;
}

static bool parse_callstack(struct rest *rest, struct flowtap_element *element,
			    uint64_t frames[FLOWTAP_LINE_FRAMES])
{
	element->callstack.frames = frames;
	while (!over(rest) && element->callstack.n < FLOWTAP_LINE_FRAMES)
		if (!number(rest, 16, &frames[element->callstack.n++]))
			return false;
	return true;
}

static bool parse_q(struct rest *rest, struct flowtap_q *q)
{
	return number(rest, 16, &q->start) && number(rest, 16, &q->next) &&
	       number(rest, 10, &q->instructions);
}

static bool parse_transaction(struct rest *rest, struct flowtap_element *element)
{
	static const char *const names[] = { "start", "commit", "fail" };

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (word(rest, names[i])) {
			element->transaction = (enum flowtap_transaction)i;
			return true;
		}
	}
	return false;
}

static bool parse_event(struct rest *rest, struct flowtap_element *element)
{
	uint64_t event;

	if (!number(rest, 10, &event) || event > UINT_MAX)
		return false;
	element->event = (unsigned int)event;
	return true;
}

static bool parse_instrumentation(struct rest *rest,
				  struct flowtap_instrumentation *instrumentation)
{
	uint64_t mode;

	if (!literal(rest, "EL") || !number(rest, 10, &mode) || mode > UINT8_MAX)
		return false;
	instrumentation->mode = (uint8_t)mode;
	return number(rest, 16, &instrumentation->value);
}

static const struct {
	const char *word;
	enum flowtap_element_kind kind;
} words[] = {
	{ "gap", FLOWTAP_ELEMENT_GAP },
	{ "no_image", FLOWTAP_ELEMENT_GAP },
	{ "exception", FLOWTAP_ELEMENT_EXCEPTION },
	{ "context", FLOWTAP_ELEMENT_CONTEXT },
	{ "trace_on", FLOWTAP_ELEMENT_TRACE_ON },
	{ "session", FLOWTAP_ELEMENT_SESSION },
	{ "eret", FLOWTAP_ELEMENT_EXCEPTION_RETURN },
	{ "transfer", FLOWTAP_ELEMENT_TRANSFER },
	{ "callstack", FLOWTAP_ELEMENT_CALLSTACK },
	{ "q_range", FLOWTAP_ELEMENT_Q },
	{ "transaction", FLOWTAP_ELEMENT_TRANSACTION },
	{ "event", FLOWTAP_ELEMENT_EVENT },
	{ "ite", FLOWTAP_ELEMENT_INSTRUMENTATION },
};

static bool parse(struct rest *rest, struct flowtap_element *element, bool no_image,
		  struct flowtap_line_parts *parts)
{
	switch (element->kind) {
	case FLOWTAP_ELEMENT_GAP:
		return no_image ? parse_no_image(rest, &element->gap) :
				  parse_gap(rest, &element->gap, parts->detail);
	case FLOWTAP_ELEMENT_EXCEPTION:
		return parse_exception(rest, &element->exception);
	case FLOWTAP_ELEMENT_CONTEXT:
		return parse_context(rest, &element->context);
	case FLOWTAP_ELEMENT_TRANSFER:
		return parse_transfer(rest, &element->transfer);
	case FLOWTAP_ELEMENT_CALLSTACK:
		return parse_callstack(rest, element, parts->frames);
	case FLOWTAP_ELEMENT_Q:
		return parse_q(rest, &element->q);
	case FLOWTAP_ELEMENT_TRANSACTION:
		return parse_transaction(rest, element);
	case FLOWTAP_ELEMENT_EVENT:
		return parse_event(rest, element);
	case FLOWTAP_ELEMENT_INSTRUMENTATION:
		return parse_instrumentation(rest, &element->instrumentation);
	default:
		return true;
	}
}

bool flowtap_line_parse(const char *text, size_t size, struct flowtap_element *element,
			struct flowtap_line_parts *parts)
{
	struct rest rest = { .at = text, .end = text + size };

	if (size > FLOWTAP_LINE_CAPACITY)
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!word(&rest, words[i].word))
			continue;
		*element = (struct flowtap_element){ .kind = words[i].kind };
		return parse(&rest, element, words[i].word[0] == 'n', parts) && over(&rest);
	}
	return false;
}
