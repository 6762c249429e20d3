// SPDX-License-Identifier: GPL-2.0-only
#include "common/leftout.h"

#include "common/format.h"
#include "common/tool.h"

static const struct {
	const char *name, *text;
} elements[LEFTOUT_KINDS] = {
	[FLOWTAP_ELEMENT_SESSION] = { "sessions", "begins of sessions" },
	[FLOWTAP_ELEMENT_CONTEXT] = { "contexts", "contexts" },
	[FLOWTAP_ELEMENT_EXCEPTION] = { "exceptions", "exceptions" },
	[FLOWTAP_ELEMENT_EXCEPTION_RETURN] = { "exception_returns", "marks of exception returns" },
	[FLOWTAP_ELEMENT_TIME] = { "times", "times" },
	[FLOWTAP_ELEMENT_CYCLES] = { "cycles", "counts of cycles" },
	[FLOWTAP_ELEMENT_GAP] = { "gaps", "gaps" },
	[FLOWTAP_ELEMENT_TRANSFER] = { "transfers", "transfers outside of blocks" },
	[FLOWTAP_ELEMENT_CALLSTACK] = { "call_stacks", "call stacks" },
	[FLOWTAP_ELEMENT_MISPREDICTED] = { "mispredictions", "mispredictions" },
	[FLOWTAP_ELEMENT_TRACE_ON] = { "trace_on", "begins of tracing" },
	[FLOWTAP_ELEMENT_TIMESTAMP] = { "timestamps", "timestamps of the trace unit" },
	[FLOWTAP_ELEMENT_MARKER] = { "markers", "marks of timestamps" },
	[FLOWTAP_ELEMENT_Q] = { "q_ranges", "Q elements" },
	[FLOWTAP_ELEMENT_TRANSACTION] = { "transactions", "begins and ends of transactions" },
	[FLOWTAP_ELEMENT_EVENT] = { "events", "events of the trace unit" },
	[FLOWTAP_ELEMENT_INSTRUMENTATION] = { "instrumentation", "instrumentation by the program" },
	[FLOWTAP_ELEMENT_SOURCE] = { "sources", "source addresses" },
};

/* What of a context changed that cannot be said. The first one is a change, too. */
static void count_context(struct leftout *leftout, const struct flowtap_context *now)
{
	const struct flowtap_context *before = &leftout->context;
	uint64_t holds = leftout->holds;

	if (!(holds & FORMAT_HOLDS_TASK))
		leftout->tasks += now->pid != before->pid || now->tid != before->tid;
	if (!(holds & FORMAT_HOLDS_CPU))
		leftout->cpus += now->cpu != before->cpu;
	if (!(holds & FORMAT_HOLDS_IDS))
		leftout->ids += now->has_vmid != before->has_vmid || now->vmid != before->vmid ||
				now->has_contextid != before->has_contextid ||
				now->contextid != before->contextid;
	leftout->context = *now;
}

static int take_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		      uint64_t target)
{
	struct leftout *leftout = (struct leftout *)sink;

	leftout->instructions += block->instructions;
	leftout->blocks++;
	return leftout->next->block(leftout->next, block, taken, target);
}

static int take_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct leftout *leftout = (struct leftout *)sink;

	if (element->kind == FLOWTAP_ELEMENT_CONTEXT)
		count_context(leftout, &element->context);
	if (element->kind == FLOWTAP_ELEMENT_GAP)
		leftout->gaps[element->gap.reason]++;
	leftout->elements[element->kind]++;
	return leftout->next->element(leftout->next, element);
}

/* The request says what its lines begin with. */
static uint64_t held(const struct format_request *request)
{
	uint64_t holds = request->kind->holds;

	if (!request->kind->text)
		return holds;
	if (request->times == FLOWTAP_LINES_CYCLES)
		holds |= FORMAT_HOLDS(CYCLES);
	if (request->times == FLOWTAP_LINES_TIME)
		holds |= FORMAT_HOLDS(TIME) | (request->frequency ? FORMAT_HOLDS(TIMESTAMP) : 0);
	return holds;
}

void leftout_init(struct leftout *leftout, const struct format_request *request,
		  struct flowtap_sink *next)
{
	*leftout = (struct leftout){
		.sink = { .block = take_block, .element = take_element },
		.next = next,
		.kind = request->kind,
		.holds = held(request),
	};
}

/* Of the elements that came, those that the format cannot hold. */
static uint64_t lost(const struct leftout *leftout, size_t kind)
{
	return leftout->kind && !(leftout->holds & 1ULL << kind) ? leftout->elements[kind] : 0;
}

void leftout_add(struct leftout *sum, const struct leftout *more)
{
	if (more->kind) {
		sum->kind = more->kind;
		sum->holds = more->holds;
	}
	for (size_t i = 0; i < LEFTOUT_KINDS; i++)
		sum->elements[i] += more->elements[i];
	for (size_t i = 0; i < FLOWTAP_GAP_REASONS; i++)
		sum->gaps[i] += more->gaps[i];
	sum->tasks += more->tasks;
	sum->cpus += more->cpus;
	sum->ids += more->ids;
	sum->instructions += more->instructions;
	sum->blocks += more->blocks;
}

static const char *no_times(const struct leftout *leftout, const struct format_request *request)
{
	const uint64_t *elements = leftout->elements;

	if (!leftout->blocks)
		return NULL;
	if (request->times == FLOWTAP_LINES_CYCLES && !elements[FLOWTAP_ELEMENT_CYCLES])
		return "it has no counts of cycles";
	if (request->times != FLOWTAP_LINES_TIME || elements[FLOWTAP_ELEMENT_TIME])
		return NULL;
	if (!elements[FLOWTAP_ELEMENT_TIMESTAMP])
		return "it has no times";
	return request->frequency ? NULL : "it has timestamps, which are times with --frequency HZ";
}

void leftout_complain(const struct leftout *leftout, const struct format_request *request,
		      const char *input)
{
	const char *why = no_times(leftout, request);

	if (why)
		complain("'%s': --times %s: %s; what stands there is counted by 1", input,
			 request->times == FLOWTAP_LINES_TIME ? "time" : "cycles", why);
}

bool leftout_some(const struct leftout *leftout)
{
	uint64_t all = leftout->tasks + leftout->cpus + leftout->ids;

	for (size_t i = 0; i < LEFTOUT_KINDS; i++)
		all += elements[i].text ? lost(leftout, i) : 0;
	return all;
}

static void print_one(FILE *file, const struct leftout *leftout, uint64_t n, const char *text,
		      const char *option)
{
	char number[32];

	if (!n)
		return;
	fprintf(file, "    %14s  %s: %s ", number_group(n, number), text, leftout->kind->title);
	if (option)
		fprintf(file, "has them with %s\n", option);
	else
		fputs("cannot hold them\n", file);
}

/* What would have kept them, or NULL. */
static const char *option_of(const struct leftout *leftout, size_t kind)
{
	if (!leftout->kind || !leftout->kind->text)
		return NULL;
	return kind == FLOWTAP_ELEMENT_TIME	 ? "--times time" :
	       kind == FLOWTAP_ELEMENT_TIMESTAMP ? "--times time --frequency HZ" :
	       kind == FLOWTAP_ELEMENT_CYCLES	 ? "--times cycles" : NULL;
}

void leftout_print(FILE *file, const struct leftout *leftout)
{
	for (size_t i = 0; i < LEFTOUT_KINDS; i++)
		if (elements[i].text)
			print_one(file, leftout, lost(leftout, i), elements[i].text,
				  option_of(leftout, i));
	print_one(file, leftout, leftout->tasks, "changes of process or thread", NULL);
	print_one(file, leftout, leftout->cpus, "changes of the CPU", NULL);
	print_one(file, leftout, leftout->ids, "changes of VMID or CONTEXTIDR", NULL);
}

void leftout_summary(FILE *file, const struct leftout *leftout)
{
	if (leftout_some(leftout))
		fputs("  left out\n", file);
	leftout_print(file, leftout);
}

void leftout_json(struct json *json, const struct leftout *leftout)
{
	json_open(json, "left_out", '{');
	for (size_t i = 0; i < LEFTOUT_KINDS; i++)
		if (elements[i].name && lost(leftout, i))
			json_number(json, elements[i].name, lost(leftout, i));
	if (leftout->tasks)
		json_number(json, "tasks", leftout->tasks);
	if (leftout->cpus)
		json_number(json, "cpus", leftout->cpus);
	if (leftout->ids)
		json_number(json, "ids", leftout->ids);
	json_close(json, '}');
}
