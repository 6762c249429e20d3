// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints each instruction of a block and each element by the same functions as text line or JSON
 * object.
 */
#include "dump/listing.h"

#include "common/isa.h"
#include "common/json.h"
#include "common/tool.h"
#include "common/tracefile.h"
#include "dump/dump_progress.h"

#include <errno.h>
#include <flowtap/disasm.h>
#include <flowtap/riscv.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

struct listing {
	struct flowtap_sink sink;	/* first */
	struct flowtap_disasm *disasm;
	uint64_t number;		/* of the next instruction, from 1 */
	bool json;
};

/* --- Instructions. --- */

struct line {
	enum flowtap_isa isa;
	uint64_t address;
	const uint8_t *bytes;
	size_t size;
	const char *text;
	bool taken;
	uint64_t target;
};

static void print_instruction(const struct listing *listing, const struct line *line)
{
	printf("%14" PRIu64 "  %016" PRIx64 "  %0*" PRIx32 "%*s  %-4s  %s", listing->number,
	       line->address, 2 * (int)line->size, isa_opcode(line->isa, line->bytes, line->size),
	       8 - 2 * (int)line->size, "", isa_name(line->isa), line->text);
	if (line->taken)
		printf("  -> %" PRIx64, line->target);
	putchar('\n');
}

static void json_instruction(const struct listing *listing, const struct line *line)
{
	struct json json = { .file = stdout, .flat = true };

	json_open(&json, NULL, '{');
	json_number(&json, "instruction", listing->number);
	json_string(&json, "isa", isa_name(line->isa));
	json_hex(&json, "address", line->address);
	json_hex(&json, "opcode", isa_opcode(line->isa, line->bytes, line->size));
	json_number(&json, "size", line->size);
	json_string(&json, "text", line->text);
	if (line->taken)
		json_hex(&json, "target", line->target);
	json_close(&json, '}');
}

static int handle_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
			uint64_t target)
{
	struct listing *listing = (struct listing *)sink;
	struct line line = { .isa = (enum flowtap_isa)block->isa, .target = target };
	char text[FLOWTAP_DISASM_CAPACITY];
	uint8_t it = 0;

	line.text = text;
	for (uint32_t at = 0; at < block->size; at += (uint32_t)line.size) {
		line.address = block->address + at;
		line.bytes = block->bytes + at;
		line.size = isa_length(line.isa, line.bytes, block->size - at);
		if (!line.size)
			return -EINVAL;
		line.taken = taken && at == block->last;
		flowtap_disasm_text(listing->disasm, line.isa, it, line.address, line.bytes,
				    line.size, text, sizeof(text));
		it = isa_it_after(line.isa, it, line.address, line.bytes, line.size);
		if (listing->json)
			json_instruction(listing, &line);
		else
			print_instruction(listing, &line);
		listing->number++;
	}
	/* Standard output may be gone. */
	return ferror(stdout) ? -EPIPE : 0;
}

/* --- What is between them. One struct json serves both: its text is made of it. --- */

/* A line "kind: key value ..." or an object {"element": kind, ...}. */
struct element_line {
	struct json json;
	bool as_json;
};

static void begin(struct element_line *line, const char *kind)
{
	if (line->as_json) {
		json_open(&line->json, NULL, '{');
		json_string(&line->json, "element", kind);
	} else {
		printf("%16s%s", "", kind);
	}
}

static void write_number(struct element_line *line, const char *key, uint64_t value)
{
	if (line->as_json)
		json_number(&line->json, key, value);
	else
		printf(" %s %" PRIu64, key, value);
}

/* Of CLOCK_MONOTONIC_RAW; for people as everywhere else. */
static void write_time(struct element_line *line, const char *json_key, const char *text,
		       uint64_t ns)
{
	if (line->as_json)
		json_number(&line->json, json_key, ns);
	else
		printf("%s %" PRIu64 ".%09" PRIu64, text, ns / 1000000000, ns % 1000000000);
}

static void write_hex(struct element_line *line, const char *key, uint64_t value)
{
	if (line->as_json)
		json_hex(&line->json, key, value);
	else
		printf(" %s 0x%" PRIx64, key, value);
}

static void write_word(struct element_line *line, const char *key, const char *word)
{
	if (line->as_json) {
		json_string(&line->json, key, word);
	} else {
		printf(" %s ", key);
		print_plain(stdout, word, strlen(word));
	}
}

static void end(struct element_line *line)
{
	if (line->as_json)
		json_close(&line->json, '}');
	else
		putchar('\n');
}

static void write_context(struct element_line *line, const struct flowtap_context *context)
{
	begin(line, "context");
	write_number(line, "pid", context->pid);
	write_number(line, "tid", context->tid);
	write_number(line, "cpu", context->cpu);
	write_word(line, "isa", isa_name((enum flowtap_isa)context->isa));
	write_word(line, "mode", isa_mode_name((enum flowtap_isa)context->isa, context->mode & 3));
	if (context->security)
		write_word(line, "security", isa_security_name(context->security));
	if (context->has_vmid)
		write_hex(line, "vmid", context->vmid);
	if (context->has_contextid)
		write_hex(line, "contextid", context->contextid);
	end(line);
}

static void write_exception(struct element_line *line, const struct flowtap_exception *exception)
{
	begin(line, exception->interrupt ? "interrupt" : "exception");
	if (exception->number >= 0)
		write_number(line, "number", (uint64_t)exception->number);
	write_hex(line, "address", exception->address);
	if (exception->target)
		write_hex(line, "target", exception->target);
	end(line);
}

static void write_gap(struct element_line *line, const struct flowtap_gap *gap)
{
	begin(line, "gap");
	write_word(line, "reason", flowtap_gap_name(gap->reason));
	if (gap->since)
		write_time(line, "since_ns", " since", gap->since);
	if (gap->until)
		write_time(line, "until_ns", " until", gap->until);
	if (gap->size && gap->size != UINT64_MAX)
		write_number(line, "size", gap->size);
	if (gap->address)
		write_hex(line, "address", gap->address);
	if (gap->detail)
		write_word(line, "detail", gap->detail);
	end(line);
}

static void write_transfer(struct element_line *line, const struct flowtap_transfer *transfer)
{
	begin(line, "transfer");
	write_hex(line, "source", transfer->source);
	write_hex(line, "target", transfer->target);
	write_word(line, "type", flowtap_transfer_name(transfer->type));
	end(line);
}

static void write_one(struct element_line *line, const char *kind, const char *key, uint64_t value)
{
	begin(line, kind);
	write_number(line, key, value);
	end(line);
}

static void write_moment(struct element_line *line, uint64_t ns)
{
	begin(line, "time");
	write_time(line, "time_ns", "", ns);
	end(line);
}

static void write_cycles(struct element_line *line, const struct flowtap_element *element)
{
	begin(line, "cycles");
	if (!element->cycles.unknown)
		write_number(line, "count", element->cycles.count);
	else if (!line->as_json)
		fputs(" unknown", stdout);
	end(line);
}

static void write_q(struct element_line *line, const struct flowtap_q *q)
{
	begin(line, "q_range");
	write_hex(line, "start", q->start);
	write_hex(line, "next", q->next);
	write_number(line, "instructions", q->instructions);
	end(line);
}

static void write_transaction(struct element_line *line, const struct flowtap_element *element)
{
	static const char *const states[] = {
		[FLOWTAP_TRANSACTION_START] = "start",
		[FLOWTAP_TRANSACTION_COMMIT] = "commit",
		[FLOWTAP_TRANSACTION_FAIL] = "fail",
	};

	begin(line, "transaction");
	write_word(line, "state", states[element->transaction]);
	end(line);
}

static void write_instrumentation(struct element_line *line,
				  const struct flowtap_instrumentation *instrumentation)
{
	begin(line, "instrumentation");
	write_number(line, "level", instrumentation->mode);
	write_hex(line, "value", instrumentation->value);
	end(line);
}

static const char *const others[] = {
	[FLOWTAP_ELEMENT_SESSION] = "session",
	[FLOWTAP_ELEMENT_EXCEPTION_RETURN] = "exception_return",
	[FLOWTAP_ELEMENT_CALLSTACK] = "callstack",
	[FLOWTAP_ELEMENT_MISPREDICTED] = "mispredicted",
	[FLOWTAP_ELEMENT_TRACE_ON] = "trace_on",
	[FLOWTAP_ELEMENT_MARKER] = "marker",
	[FLOWTAP_ELEMENT_SOURCE] = "source",
};

static int handle_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	const struct listing *listing = (struct listing *)sink;
	struct element_line line = {
		.json = { .file = stdout, .flat = true },
		.as_json = listing->json,
	};

	switch (element->kind) {
	case FLOWTAP_ELEMENT_CONTEXT:
		write_context(&line, &element->context);
		break;
	case FLOWTAP_ELEMENT_EXCEPTION:
		write_exception(&line, &element->exception);
		break;
	case FLOWTAP_ELEMENT_GAP:
		write_gap(&line, &element->gap);
		break;
	case FLOWTAP_ELEMENT_TRANSFER:
		write_transfer(&line, &element->transfer);
		break;
	case FLOWTAP_ELEMENT_TIME:
		write_moment(&line, element->time);
		break;
	case FLOWTAP_ELEMENT_TIMESTAMP:
		write_one(&line, "timestamp", "ticks", element->timestamp.ticks);
		break;
	case FLOWTAP_ELEMENT_CYCLES:
		write_cycles(&line, element);
		break;
	case FLOWTAP_ELEMENT_EVENT:
		write_one(&line, "event", "bits", element->event);
		break;
	case FLOWTAP_ELEMENT_Q:
		write_q(&line, &element->q);
		break;
	case FLOWTAP_ELEMENT_TRANSACTION:
		write_transaction(&line, element);
		break;
	case FLOWTAP_ELEMENT_INSTRUMENTATION:
		write_instrumentation(&line, &element->instrumentation);
		break;
	default:
		begin(&line, others[element->kind]);
		end(&line);
	}
	return 0;
}

static int list(struct listing *listing, const char *path, int fd,
		const struct listing_request *request)
{
	struct tracefile file;
	int error, status;

	if (tracefile_open(&file, path, fd < 0 ? fd : dup(fd), NULL, request->quiet))
		return STATUS_ERROR;
	file.part = request->part;
	file.progress.doing = dump_progress_doing(request->quiet);
	error = tracefile_read(&file, &listing->sink);
	if (error && error != -EPIPE)
		tracefile_complain(&file, error);
	status = error ? STATUS_ERROR : tracefile_status(&file);
	tracefile_close(&file);
	return status;
}

int listing_dump(const char *command, const char *path, int fd,
		 const struct listing_request *request)
{
	struct symbols symbols;
	const struct flowtap_disasm_options options = {
		.backend = request->disassembler,
		.style = FLOWTAP_DISASM_PLAIN,
		.symbol = symbols_find, .argument = &symbols,
	};
	struct listing listing = {
		.sink = { .block = handle_block, .element = handle_element },
		.number = 1 + request->part.skip,
		.json = request->json,
	};
	int status = symbols_open(&symbols, &request->symbols, command), error = 0;

	if (!status)
		error = flowtap_disasm_new(&options, &listing.disasm);
	if (error) {
		complain("%s", error == -ENOPKG ? flowtap_disasm_missing(options.backend) :
						  strerror(-error));
		status = STATUS_ERROR;
	}
	if (!status)
		status = list(&listing, path, fd, request);
	flowtap_disasm_free(listing.disasm);
	symbols_free(&symbols);
	return status;
}
