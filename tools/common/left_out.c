// SPDX-License-Identifier: GPL-2.0-only
/* Counts the elements of each kind, and prints the kinds that the format cannot hold. */
#include "common/left_out.h"

#include "common/format.h"
#include "common/tool.h"

static const struct {
	const char *name, *text;
} elements[LEFT_OUT_KINDS] = {
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
static void count_context(struct left_out *left_out, const struct flowtap_context *now)
{
	const struct flowtap_context *before = &left_out->context;
	uint64_t holds = left_out->holds;

	if (!(holds & FORMAT_HOLDS_TASK))
		left_out->tasks += now->pid != before->pid || now->tid != before->tid;
	if (!(holds & FORMAT_HOLDS_CPU))
		left_out->cpus += now->cpu != before->cpu;
	if (!(holds & FORMAT_HOLDS_IDS))
		left_out->ids += now->has_vmid != before->has_vmid || now->vmid != before->vmid ||
				now->has_contextid != before->has_contextid ||
				now->contextid != before->contextid;
	if (!(holds & FORMAT_HOLDS_MODE))
		left_out->modes += now->mode != before->mode;
	if (!(holds & FORMAT_HOLDS_SECURITY))
		left_out->securities += now->security != before->security;
	if (left_out->elements[FLOWTAP_ELEMENT_CONTEXT])
		left_out->mixed += now->cpu != before->cpu &&
				   (now->tid != before->tid || !now->tid);
	left_out->context = *now;
}

static int handle_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
			uint64_t target)
{
	struct left_out *left_out = (struct left_out *)sink;

	left_out->instructions += block->instructions;
	left_out->blocks++;
	return left_out->next->block(left_out->next, block, taken, target);
}

static int handle_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct left_out *left_out = (struct left_out *)sink;

	if (element->kind == FLOWTAP_ELEMENT_CONTEXT)
		count_context(left_out, &element->context);
	if (element->kind == FLOWTAP_ELEMENT_GAP)
		left_out->gaps[element->gap.reason]++;
	left_out->elements[element->kind]++;
	return left_out->next->element(left_out->next, element);
}

/* The request says what its lines begin with. */
static uint64_t held(const struct format_request *request)
{
	uint64_t holds = request->kind->holds;

	if (!request->kind->text)
		return holds;
	if (request->cpu_names)
		holds |= request->kind->holds_named;
	if (request->modes)
		holds |= FORMAT_HOLDS_MODE | FORMAT_HOLDS_SECURITY;
	if (request->times == FLOWTAP_LINES_CYCLES)
		holds |= FORMAT_HOLDS(CYCLES);
	if (request->times == FLOWTAP_LINES_TIME)
		holds |= FORMAT_HOLDS(TIME) | (request->frequency ? FORMAT_HOLDS(TIMESTAMP) : 0);
	return holds;
}

void left_out_init(struct left_out *left_out, const struct format_request *request,
		   struct flowtap_sink *next)
{
	*left_out = (struct left_out){
		.sink = { .block = handle_block, .element = handle_element },
		.next = next,
		.kind = request->kind,
		.holds = held(request),
	};
}

/* Of the elements that came, those that the format cannot hold. */
static uint64_t lost(const struct left_out *left_out, size_t kind)
{
	return left_out->kind && !(left_out->holds & 1ULL << kind) ? left_out->elements[kind] : 0;
}

void left_out_add(struct left_out *sum, const struct left_out *more)
{
	if (more->kind) {
		sum->kind = more->kind;
		sum->holds = more->holds;
	}
	for (size_t i = 0; i < LEFT_OUT_KINDS; i++)
		sum->elements[i] += more->elements[i];
	for (size_t i = 0; i < FLOWTAP_GAP_REASONS; i++)
		sum->gaps[i] += more->gaps[i];
	sum->tasks += more->tasks;
	sum->cpus += more->cpus;
	sum->ids += more->ids;
	sum->modes += more->modes;
	sum->securities += more->securities;
	sum->cut += more->cut;
	sum->jumps += more->jumps;
	sum->mixed += more->mixed;
	sum->instructions += more->instructions;
	sum->blocks += more->blocks;
}

static const char *no_times(const struct left_out *left_out, const struct format_request *request)
{
	const uint64_t *elements = left_out->elements;

	if (!left_out->blocks)
		return NULL;
	if (request->times == FLOWTAP_LINES_CYCLES && !elements[FLOWTAP_ELEMENT_CYCLES])
		return "it has no counts of cycles";
	if (request->times != FLOWTAP_LINES_TIME || elements[FLOWTAP_ELEMENT_TIME])
		return NULL;
	if (!elements[FLOWTAP_ELEMENT_TIMESTAMP])
		return "it has no times";
	return request->frequency ? NULL : "it has timestamps, which are times with --frequency HZ";
}

void left_out_complain(const struct left_out *left_out, const struct format_request *request,
		       const char *input)
{
	const char *why = no_times(left_out, request);

	if (why)
		complain("'%s': --times %s: %s; what stands there is counted by 1", input,
			 request->times == FLOWTAP_LINES_TIME ? "time" : "cycles", why);
	if (!left_out->mixed || !request->kind->one_stream)
		return;
	complain("'%s': threads of several CPUs stand in one file: many readers of %s take it for one's",
		 input, request->kind->title);
	advise("flowtap decode --split thread (or cpu) writes one for each");
}

bool left_out_some(const struct left_out *left_out)
{
	uint64_t all = left_out->tasks + left_out->cpus + left_out->ids + left_out->modes +
		       left_out->securities + left_out->cut + left_out->jumps;

	for (size_t i = 0; i < LEFT_OUT_KINDS; i++)
		all += elements[i].text ? lost(left_out, i) : 0;
	return all;
}

static void print_one(FILE *file, const struct left_out *left_out, uint64_t n, const char *text,
		      const char *option)
{
	char number[32];

	if (!n)
		return;
	fprintf(file, "    %14s  %s: %s ", number_group(n, number), text, left_out->kind->title);
	if (option)
		fprintf(file, "has them with %s\n", option);
	else
		fputs("cannot hold them\n", file);
}

/* What would have kept them, or NULL. */
static const char *option_of(const struct left_out *left_out, size_t kind)
{
	if (!left_out->kind || !left_out->kind->text)
		return NULL;
	return kind == FLOWTAP_ELEMENT_TIME	 ? "--times time" :
	       kind == FLOWTAP_ELEMENT_TIMESTAMP ? "--times time --frequency HZ" :
	       kind == FLOWTAP_ELEMENT_CYCLES	 ? "--times cycles" : NULL;
}

void left_out_print(FILE *file, const struct left_out *left_out)
{
	for (size_t i = 0; i < LEFT_OUT_KINDS; i++)
		if (elements[i].text)
			print_one(file, left_out, lost(left_out, i), elements[i].text,
				  option_of(left_out, i));
	print_one(file, left_out, left_out->tasks, "changes of process or thread", NULL);
	print_one(file, left_out, left_out->cpus, "changes of the CPU", NULL);
	print_one(file, left_out, left_out->ids, "changes of VMID or CONTEXTIDR", NULL);
	print_one(file, left_out, left_out->modes, "changes of mode", "--modes");
	print_one(file, left_out, left_out->securities, "changes of security state", "--modes");
	print_one(file, left_out, left_out->jumps, "jumps to an unknown target", NULL);
	print_one(file, left_out, left_out->cut, "ends of lines above 240 bytes", NULL);
}

void left_out_summary(FILE *file, const struct left_out *left_out)
{
	if (left_out_some(left_out))
		fputs("  left out\n", file);
	left_out_print(file, left_out);
}

void left_out_json(struct json *json, const struct left_out *left_out)
{
	json_open(json, "left_out", '{');
	for (size_t i = 0; i < LEFT_OUT_KINDS; i++)
		if (elements[i].name && lost(left_out, i))
			json_number(json, elements[i].name, lost(left_out, i));
	if (left_out->tasks)
		json_number(json, "tasks", left_out->tasks);
	if (left_out->cpus)
		json_number(json, "cpus", left_out->cpus);
	if (left_out->ids)
		json_number(json, "ids", left_out->ids);
	if (left_out->modes)
		json_number(json, "modes", left_out->modes);
	if (left_out->securities)
		json_number(json, "securities", left_out->securities);
	if (left_out->jumps)
		json_number(json, "jumps", left_out->jumps);
	if (left_out->cut)
		json_number(json, "cut_lines", left_out->cut);
	json_close(json, '}');
}
