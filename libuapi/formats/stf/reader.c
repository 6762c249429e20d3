// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The reader of STF: its records, and what they mean for the instructions after them. */
#include "formats/stf/reader.h"

#include "base/file_input.h"
#include "formats/stf/block_render.h"
#include "formats/stf/records.h"

#include <errno.h>
#include <flowtap/stf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PROGRESS	(1U << 20)
#define IEM_RV32	1
#define OLDEST_MINOR	2

/* What step found. */
enum {
	STEP_RECORD,
	STEP_MORE,		/* there is not all of it yet */
	STEP_LOST,		/* it cannot be passed over */
};

void flowtap_stf_problem(struct stf_reader *reader, uint64_t offset, const char *format, ...)
{
	struct flowtap_read *read = reader->read;
	char reason[256];
	va_list arguments;

	/* What is left out there would give all that follows another number. */
	reader->doubtful |= reader->before > 0;
	if (reader->silent)
		return;
	read->problems++;
	if (!read->problem)
		return;
	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	read->problem(read, offset, 0, reason);
}

static void parse_isa(struct stf_reader *reader)
{
	static const char *const names[] = { "no ISA", NULL, NULL, "ISA x86", "ISA Power" };
	unsigned int isa = reader->isa_record;
	bool arm = isa == ISA_ARM;
	struct flowtap_context *context = &reader->context;

	reader->unsupported = isa < sizeof(names) / sizeof(names[0]) ? names[isa] : "an unknown ISA";
	if (isa == ISA_RISCV && reader->iem == IEM_RV32)
		reader->unsupported = "RV32 code";
	else if (isa == ISA_RISCV && reader->iem != IEM_RV64)
		flowtap_stf_problem(reader, reader->record,
				    "INST_IEM %u is none of RISC-V's: read as %u, which is RV64",
				    reader->iem, IEM_RV64);
	if (reader->any_emitted && (reader->emitted.isa != FLOWTAP_ISA_RV64) != arm)
		reader->unsupported = "a trace whose comments are of another ISA";
	/* Arm: until a comment says something else. */
	else if ((context->isa != FLOWTAP_ISA_RV64) != arm)
		context->isa = arm ? FLOWTAP_ISA_A64 : FLOWTAP_ISA_RV64;
	context->width = context->width ? context->width : 64;
	reader->isa = context->isa;
}

static void parse_vlen(struct stf_reader *reader, uint64_t vlen)
{
	if (vlen && vlen <= STF_VLEN_MAX)
		reader->widths.vlen = (uint32_t)vlen;
	else
		flowtap_stf_problem(reader, reader->record, "vector registers of %" PRIu64 " bits",
				    vlen);
}

static void parse_header(struct stf_reader *reader, uint8_t descriptor, const uint8_t *payload)
{
	switch (descriptor) {
	case STF_IDENTIFIER:
		if (memcmp(payload, "STF", 3))
			flowtap_stf_problem(reader, reader->record, "the identifier is not STF");
		else if (reader->read->records > 1)
			flowtap_stf_problem(reader, reader->record,
					    "a second IDENTIFIER in the header");
		break;
	case STF_VERSION:
		if (stf_number(payload, 4) != 1)
			flowtap_stf_problem(reader, reader->record, "version %" PRIu64 ".%" PRIu64
					    ": read as 1.x", stf_number(payload, 4),
					    stf_number(payload + 4, 4));
		else if (stf_number(payload + 4, 4) < OLDEST_MINOR)
			flowtap_stf_problem(reader, reader->record, "version 1.%" PRIu64
					    ": read as 1.2, in which records have other numbers",
					    stf_number(payload + 4, 4));
		break;
	case STF_ISA:
		reader->isa_record = (uint16_t)stf_number(payload, 2);
		break;
	case STF_INST_IEM:
		reader->iem = (uint16_t)stf_number(payload, 2);
		break;
	case STF_TRACE_INFO_FEATURE:
		reader->widths.event_id = stf_number(payload, 8) & FEATURE_EVENT64 ? 8 : 4;
		break;
	case STF_PROTOCOL_ID:
		reader->widths.protocol = payload[0];
		break;
	case STF_VLEN_CONFIG:
		parse_vlen(reader, stf_number(payload, 4));
		break;
	case STF_END_HEADER:
		parse_isa(reader);
		reader->body = true;
		reader->pc = reader->group.force_pc;
		reader->pc_known = reader->group.forces;
		stf_new_group(&reader->group);
		break;
	}
}

/* Another thread is reason enough for another PC, without a word. */
static void parse_process(struct stf_reader *reader, const uint8_t *payload)
{
	struct flowtap_context *context = &reader->context;
	uint32_t pid = (uint32_t)stf_number(payload + 4, 4);
	uint32_t tid = (uint32_t)stf_number(payload + 8, 4);

	reader->group.explained |= pid != context->pid || tid != context->tid;
	reader->group.any = true;
	context->cpu = (uint32_t)stf_number(payload, 4);
	context->pid = pid;
	context->tid = tid;
	context->has_cpu &= !pid;
	reader->process_known = true;
	reader->context_due = true;
}

/* That of an Arm trace says what no record can; that of a RISC-V one, what it is from here on. */
static void parse_context(struct stf_reader *reader, const struct flowtap_context *context)
{
	uint32_t cpu = reader->context.cpu;

	reader->has_mode = true;
	reader->process_known = reader->mode_known = true;
	reader->returned = STF_MODE_UNKNOWN;
	reader->context = *context;
	/* Where the line has none it is the process's. */
	if (context->isa != FLOWTAP_ISA_RV64 && !context->pid && !context->has_cpu)
		reader->context.cpu = cpu;
	reader->isa = context->isa;
	reader->context_due = true;
}

/* What is no line of flowtap/text.h. */
static bool parse_word(struct stf_group *group, const uint8_t *text, size_t size)
{
	if (size == sizeof(COMMENT_UNEXPLAINED) - 1 && !memcmp(text, COMMENT_UNEXPLAINED, size))
		return group->explained = true;
	if (size == sizeof(COMMENT_TAKEN) - 1 && !memcmp(text, COMMENT_TAKEN, size))
		return group->taken = true;
	return false;
}

static int parse_comment(struct stf_reader *reader, const uint8_t *text, size_t size);

/* What was held until its instruction came, or until there is too much of it. */
static int release_comments(struct stf_reader *reader)
{
	size_t at = 0, end = reader->held.size;
	int status = 0;

	reader->holds = false;
	reader->held.size = 0;
	while (!status && at < end) {
		const uint8_t *payload = reader->held.bytes + at;
		size_t size = stf_number(payload, 4);

		status = parse_comment(reader, payload + 4, size);
		at += 4 + size;
	}
	return status;
}

/* text: after the four bytes of its size. */
static int hold_comment(struct stf_reader *reader, const uint8_t *text, size_t size)
{
	int status = stf_comments_reserve(&reader->held, size + 4);

	if (status == -ENOBUFS) {
		status = release_comments(reader);
		return status ? status : parse_comment(reader, text, size);
	}
	if (status)
		return status;
	stf_comments_add(&reader->held, text - 4, size + 4);
	return 0;
}

static int parse_comment(struct stf_reader *reader, const uint8_t *text, size_t size)
{
	struct flowtap_element element;

	/* Again within those that are held it is nothing new: each is held once. */
	if (size == sizeof(COMMENT_AFTER) - 1 && !memcmp(text, COMMENT_AFTER, size)) {
		reader->holds = reader->body;
		return 0;
	}
	if (reader->holds)
		return hold_comment(reader, text, size);
	if (parse_word(&reader->group, text, size))
		return 0;
	if (!flowtap_line_parse((const char *)text, size, &element, &reader->parts) ||
	    (element.kind == FLOWTAP_ELEMENT_CONTEXT && (reader->body || reader->any_emitted) &&
	     (element.context.isa != FLOWTAP_ISA_RV64) != (reader->isa != FLOWTAP_ISA_RV64))) {
		reader->read->extra[FLOWTAP_READ_COMMENTS]++;
		return 0;
	}
	reader->group.explained = true;
	if (element.kind != FLOWTAP_ELEMENT_CONTEXT)
		return flowtap_stf_emit(reader, &element);
	parse_context(reader, &element.context);
	return 0;
}

static void parse_event(struct stf_reader *reader, const uint8_t *payload)
{
	unsigned int width = reader->widths.event_id, fields = payload[width];
	uint64_t id = stf_number(payload, width), top = 1ULL << (8 * width - 1);
	struct stf_group *group = &reader->group;
	uint8_t *mode = group->traps			      ? &group->after :
			group->before == STF_MODE_UNKNOWN ? &group->before :
							   &group->between;

	if (id == top >> 1 && fields == 1 && payload[width + 1] <= FLOWTAP_PRIVILEGE_M &&
	    !stf_number(payload + width + 2, 7)) {
		*mode = payload[width + 1];
	} else if (!(id & top >> 1) && !group->traps) {
		group->traps = true;
		group->interrupt = id & top;
		group->cause = id & ~top;
	} else {
		reader->read->extra[FLOWTAP_READ_OTHER]++;
	}
}

static void parse_handler(struct stf_reader *reader, uint64_t handler)
{
	if (handler & 1) {
		flowtap_stf_problem(reader, reader->record, "EVENT_PC_TARGET 0x%" PRIx64
				    " is odd", handler);
		return;
	}
	reader->group.has_handler = true;
	reader->group.handler = handler;
}

static void parse_group(struct stf_reader *reader, uint8_t descriptor, const uint8_t *payload)
{
	struct stf_group *group = &reader->group;
	uint64_t *extra = reader->read->extra;

	group->any = true;
	switch (descriptor) {
	case STF_FORCE_PC:
		group->forces = true;
		group->force_pc = stf_number(payload, 8);
		break;
	case STF_INST_PC_TARGET:
		group->has_target = true;
		group->target = stf_number(payload, 8);
		break;
	case STF_INST_REG:
	case STF_INST_READY_REG:
		extra[FLOWTAP_READ_REGISTERS]++;
		break;
	case STF_INST_MEM_ACCESS:
	case STF_INST_MEM_CONTENT:
		extra[FLOWTAP_READ_MEMORY]++;
		break;
	case STF_PAGE_TABLE_WALK:
		extra[FLOWTAP_READ_PAGE_TABLES]++;
		break;
	case STF_EVENT:
		parse_event(reader, payload);
		break;
	case STF_EVENT_PC_TARGET:
		parse_handler(reader, stf_number(payload, 8));
		break;
	default:
		extra[FLOWTAP_READ_OTHER]++;
		break;
	}
}

static int parse_record(struct stf_reader *reader, uint8_t descriptor, const uint8_t *payload,
			size_t size)
{
	enum stf_position position = stf_position(descriptor);
	int status;

	reader->read->records++;
	if (position == STF_POSITION_OPCODE) {
		if (reader->body) {
			status = flowtap_stf_opcode(reader, payload, size);
			return status || !reader->holds ? status : release_comments(reader);
		}
		flowtap_stf_problem(reader, reader->record, "%s in the header",
				    stf_name(descriptor));
	} else if (position == STF_POSITION_HEADER && reader->body) {
		/* What comes is still read by the header: a file has one. */
		flowtap_stf_problem(reader, reader->record, "%s after the header is passed over",
				    stf_name(descriptor));
	} else if (position == STF_POSITION_HEADER) {
		parse_header(reader, descriptor, payload);
	} else if (descriptor == STF_COMMENT) {
		return parse_comment(reader, payload + 4, size - 4);
	} else if (descriptor == STF_PROCESS_ID_EXT) {
		parse_process(reader, payload);
	} else if (position == STF_POSITION_TRANSACTION) {
		/* Beside the instructions: of no group. */
		reader->read->extra[FLOWTAP_READ_OTHER]++;
	} else {
		parse_group(reader, descriptor, payload);
	}
	return 0;
}

static const char *hopeless(const struct stf_reader *reader, uint8_t descriptor)
{
	enum stf_position position = stf_position(descriptor);

	if (position == STF_POSITION_NONE)
		return descriptor ? "no record has this descriptor" :
				    "descriptor 0 is reserved for errors";
	if (!reader->identified && descriptor != STF_IDENTIFIER)
		return "the trace does not begin with IDENTIFIER";
	/* Files that were put one behind the other: ISA, sizes and processes may all be others. */
	if (reader->body && descriptor == STF_IDENTIFIER)
		return "another trace begins here, which is not read: each has to be a file";
	return NULL;
}

/* Bytes that nobody looks at: of a comment, or of what only has to be passed over. */
static bool long_text(uint8_t descriptor, uint64_t payload)
{
	return payload > FLOWTAP_LINE_CAPACITY + 4 &&
	       (descriptor == STF_COMMENT || descriptor == STF_ISA_EXTENDED);
}

/* One record. *status: of what it led to. */
static int step(struct stf_reader *reader, int *status)
{
	struct stf_source *input = &reader->input;
	const uint8_t *bytes = input->bytes + input->at;
	size_t size = input->end - input->at;
	const char *why;
	uint64_t payload;

	if (!size)
		return STEP_MORE;
	reader->record = input->offset + input->at;
	why = hopeless(reader, bytes[0]);
	if (why) {
		flowtap_stf_problem(reader, reader->record, "descriptor 0x%02x: %s", bytes[0], why);
		reader->another = bytes[0] == STF_IDENTIFIER;
		return STEP_LOST;
	}
	payload = stf_payload(&reader->widths, bytes[0], bytes + 1, size - 1);
	if (payload == UINT64_MAX)
		return STEP_MORE;
	if (payload == STF_PAYLOAD_UNKNOWN) {
		flowtap_stf_problem(reader, reader->record, "a transaction of protocol %u, channel "
				    "%u: how long that is is not known", reader->widths.protocol,
				    bytes[19]);
		return STEP_LOST;
	}
	if (long_text(bytes[0], payload)) {
		reader->read->records++;
		reader->read->extra[FLOWTAP_READ_COMMENTS] += bytes[0] == STF_COMMENT;
		reader->skip = 1 + payload;
		return STEP_RECORD;
	}
	if (payload > size - 1)
		return STEP_MORE;
	reader->identified = true;
	input->at += 1 + (size_t)payload;
	*status = parse_record(reader, bytes[0], bytes + 1, (size_t)payload);
	return STEP_RECORD;
}

/* Of what is to be passed over, as much as there is. */
static void pass(struct stf_reader *reader)
{
	struct stf_source *input = &reader->input;
	size_t there = input->end - input->at;
	size_t n = reader->skip < there ? (size_t)reader->skip : there;

	input->at += n;
	reader->skip -= n;
}

static void show_progress(struct stf_reader *reader)
{
	struct flowtap_read *read = reader->read;

	if (!read->progress || reader->input.done / PROGRESS == reader->progress / PROGRESS)
		return;
	reader->progress = reader->input.done;
	read->progress(read, reader->input.done, reader->input.size);
}

/* After what could not be read: what was begun is worth nothing. */
static int drop_group(struct stf_reader *reader, const char *detail)
{
	int status;

	stf_new_group(&reader->group);
	/* What comes next is not the rest of a long record. */
	reader->skip = 0;
	if (!reader->body)
		return flowtap_stf_flush(reader);
	/* The opcode that these are after is lost as well. */
	status = release_comments(reader);
	if (status)
		return status;
	stf_invalidate_pc(reader);
	reader->pc_lost = true;
	reader->group.explained = true;
	reader->process_known = reader->mode_known = false;
	return flowtap_stf_gap(reader, FLOWTAP_GAP_BAD_RECORD, 0, detail);
}

/* Whether A32 is still A32 after what is missing nobody knows: only a FORCE_PC helps there. */
static void resume(struct stf_reader *reader)
{
	if (!reader->body || reader->isa == FLOWTAP_ISA_A32 || reader->isa == FLOWTAP_ISA_T32)
		return;
	reader->pc = reader->input.start_pc;
	reader->pc_known = true;
}

/* What is wrong with the file, though nothing is lost. */
static void report_warning(struct stf_reader *reader)
{
	struct stf_source *input = &reader->input;

	if (input->warning)
		flowtap_stf_problem(reader, input->warning_offset, "%s", input->warning);
	input->warning = NULL;
	reader->read->truncated |= input->unfinished;
}

/* Before the part each chunk begins with the instruction that the index says. */
static void check_number(struct stf_reader *reader)
{
	uint64_t markers, chunks;

	if (!reader->before || reader->input.chunk == reader->chunk ||
	    !stf_source_chunks(&reader->input, &markers, &chunks))
		return;
	reader->chunk = reader->input.chunk;
	reader->doubtful |= reader->read->instructions / markers != reader->chunk ||
			    reader->read->instructions % markers;
}

/* More bytes. 0; what ends it all. */
static int more(struct stf_reader *reader)
{
	struct stf_source *input = &reader->input;
	int status = stf_source_more(input);

	check_number(reader);
	report_warning(reader);
	if (status == -EBADMSG) {
		reader->headless = !reader->body && !input->over;
		flowtap_stf_problem(reader, input->reason_offset, "%s%s", input->reason,
				    reader->headless ? "; the header is lost with it, without which "
						       "nothing can be read" : "");
		reader->read->truncated |= input->over || reader->headless;
		input->at = input->end;
		stf_new_group(&reader->group);
		/* What is over has its gap at the end. */
		status = input->over ? 0 : drop_group(reader, "the file is damaged");
	}
	if (!status && input->resumed) {
		input->resumed = false;
		resume(reader);
	}
	show_progress(reader);
	return status;
}

/* The file ends in the midst of something. */
static int end(struct stf_reader *reader, bool within)
{
	struct flowtap_read *read = reader->read;
	/* The opcode that comments are after is missing as well. */
	bool lacks_opcode = reader->group.any || reader->holds;

	if (within) {
		read->truncated = true;
		flowtap_stf_problem(reader, reader->record, "the trace ends within this record");
	} else if (reader->body && lacks_opcode) {
		read->truncated = true;
		flowtap_stf_problem(reader, reader->record,
				    "the trace ends within the records of an instruction");
	} else if (!reader->body && !read->truncated) {
		read->truncated = true;
		flowtap_stf_problem(reader, reader->record, "the trace ends within its header");
	}
	if (read->truncated && reader->body)
		return drop_group(reader, "the file ends here, the trace did not");
	return flowtap_stf_flush(reader);
}

/*
 * Chunks that are before the part that was asked for are not read, but for the last of them: they say
 * who executes it and in which mode. Whether A32 is still A32 there they may not say.
 */
static int seek(struct stf_reader *reader)
{
	uint64_t markers, chunks, number, before = reader->before;
	int error;

	reader->before = 0;
	if (!before || reader->isa != FLOWTAP_ISA_RV64 || reader->unsupported ||
	    !stf_source_chunks(&reader->input, &markers, &chunks))
		return 0;
	number = reader->read->skip / markers;
	if (number >= chunks)
		number = chunks - 1;
	if (number <= before)
		return 0;
	error = stf_source_seek(&reader->input, number - before);
	if (error) {
		reader->again = error == -EBADMSG;
		return error;
	}
	reader->before = before;
	reader->silent = true;
	reader->doubtful = false;
	reader->process_known = reader->mode_known = false;
	reader->read->instructions = (number - before) * markers;
	stf_new_group(&reader->group);
	return more(reader);
}

static int read_all(struct stf_reader *reader)
{
	struct stf_source *input = &reader->input;
	bool sought = false;
	int status = 0, found;

	for (;;) {
		if (reader->body && !sought) {
			sought = true;
			status = seek(reader);
			reader->silent &= reader->before > 0;
			if (status)
				return status;
		}
		pass(reader);
		found = STEP_MORE;
		if (!reader->skip) {
			status = reader->holds ? 0 : flowtap_stf_run(reader);
			if (!status)
				found = step(reader, &status);
		}
		if (status)
			return status;
		if (found == STEP_RECORD)
			continue;
		if (found == STEP_MORE && input->over)
			return end(reader, reader->skip || input->at < input->end);
		if (found == STEP_LOST) {
			status = drop_group(reader, reader->another ? STF_ANOTHER : STF_NO_RECORD);
			if (status || reader->another || !stf_source_give_up(input) ||
			    !reader->body)
				return status;
		}
		if (!reader->learned->run.size)
			flowtap_learned_trim(reader->learned);
		status = more(reader);
		if (status)
			return status;
		if (reader->headless)
			return flowtap_stf_flush(reader);
	}
}

/* before: 0, or chunks between where reading begins and the part that was asked for. */
static void begin(struct stf_reader *reader, struct flowtap_read *read, uint64_t before, bool again)
{
	*read = (struct flowtap_read){
		.sink = read->sink,
		.learned = read->learned,
		.problem = read->problem,
		.progress = read->progress,
		.argument = read->argument,
		.skip = read->skip,
		.count = read->count,
		.problems = again ? read->problems : 0,
	};
	reader->before = before;
	reader->silent = again;
	reader->read = read;
	read->mode_unknown = true;
	reader->learned = read->learned;
	reader->held.most = STF_COMMENTS_MOST;
	reader->slot = flowtap_stf_slot(flowtap_learned_blocks(read->learned));
	reader->widths.event_id = 4;
	reader->returned = STF_MODE_UNKNOWN;
	stf_new_group(&reader->group);
	reader->sink = flowtap_learned_part(reader->learned, read,
					    read->sink ? read->sink : flowtap_sink_nowhere());
}

static int read_from(struct flowtap_read *read, int fd, uint64_t before, bool *again)
{
	struct stf_reader *reader = calloc(1, sizeof(*reader));
	int status;

	if (!reader)
		return -ENOMEM;
	begin(reader, read, before, *again);
	status = stf_source_open(&reader->input, fd);
	report_warning(reader);
	if (!status)
		status = read_all(reader);
	else if (reader->input.reason)
		flowtap_stf_problem(reader, reader->input.reason_offset, "%s",
				    reader->input.reason);
	if (reader->reported_unsupported)
		flowtap_stf_problem(reader, reader->first_unsupported,
				    "%s: its %" PRIu64 " instructions are only counted",
				    reader->unsupported, read->instructions);
	stf_source_close(&reader->input);
	stf_comments_free(&reader->held);
	/* It ended before the part. */
	reader->again |= reader->before && reader->doubtful;
	*again = reader->again;
	if (*again)
		status = flowtap_learned_flush(reader->learned);
	status = flowtap_learned_part_end(reader->learned, status);
	free(reader);
	return status;
}

int flowtap_stf_read(struct flowtap_read *read, int fd)
{
	static const uint64_t before[] = { 1, 16, 256, 0 };
	off_t at = lseek(fd, 0, SEEK_CUR);
	bool again = false;
	int status = 0;

	for (size_t i = read->skip && at >= 0 ? 0 : 3; i < 4; i++) {
		status = read_from(read, fd, before[i], &again);
		if (status || !again)
			break;
		if (lseek(fd, at, SEEK_SET) < 0)
			return -errno;
	}
	return status;
}

bool flowtap_stf_is(const void *begin, size_t size)
{
	static const struct {
		const char *magic;
		size_t size;
	} magics[] = { { "\1STF", 4 }, { FLOWTAP_ZSTF_MAGIC, 4 }, { "\xfd""7zXZ", 6 } };
	char first[4];
	size_t n;

	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (size >= magics[i].size && !memcmp(begin, magics[i].magic, magics[i].size))
			return true;
	if (size < 3 || memcmp(begin, "\x1f\x8b\x08", 3))
		return false;
	/* What is too damaged to show anything may be one: its reader says where. */
	n = flowtap_file_input_begin(begin, size, first, sizeof(first));
	return !memcmp(first, "\1STF", n);
}
