// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Readers of Tarmac and QEMU4V: lines (line.c) become the flow (formats/lines/flow_builder.c). */
#include <flowtap/lines.h>

#include "base/file_input.h"
#include "flow/flow_line.h"
#include "formats/lines/flow_builder.h"
#include "formats/tarmac/cpu_names.h"
#include "formats/tarmac/kind.h"
#include "formats/tarmac/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS (1U << 20)

struct reader {
	struct flowtap_read *read;
	struct tarmac_watch *watch;
	struct flow_builder builder;
	struct flowtap_line_reader rows;
	bool qemu4v;
	bool riscv;		/* what is 64 bits wide is RV64 */
	bool more_memory;	/* rows of memory may follow */
	bool comment;		/* likewise, of what a model said */
	bool any;		/* a line of an instruction came */
	bool apart;		/* an asynchronous event had a line, of which EXC may say more */
	bool fault_known;	/* an instruction that was not fetched, at: */
	uint64_t fault;
	uint64_t fault_offset, fault_line;	/* of what said so */
	bool numbered;
	uint64_t id;		/* of the last instruction */
	uint64_t time;		/* of the last line; since the one before: */
	uint64_t elapsed;
	uint64_t progress;
	/* The last mode's word and what it means. */
	char word[24];
	size_t word_size;
	uint8_t mode;
	uint8_t security;
	struct flowtap_element element;
	struct flowtap_line_parts parts;
	struct tarmac_cpu_names names;
};

static void problem_at(struct reader *reader, uint64_t offset, uint64_t line, const char *reason)
{
	struct flowtap_read *read = reader->read;

	read->problems++;
	if (read->problem)
		read->problem(read, offset, line, reason);
}

static void problem(struct reader *reader, const char *reason)
{
	problem_at(reader, reader->rows.offset, reader->rows.number, reason);
}

/* Of what may have been instructions. */
static int add_gap(struct reader *reader, const char *reason)
{
	const struct flowtap_element gap = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = {
			.reason = FLOWTAP_GAP_BAD_RECORD, .size = UINT64_MAX, .detail = reason,
		},
	};

	return builder_element(&reader->builder, &gap);
}

static int damage(struct reader *reader, const char *reason)
{
	problem(reader, reason);
	return add_gap(reader, reason);
}

/* What was not fetched is an exception's, which should have come by now. */
static int drop_fault(struct reader *reader)
{
	static const char reason[] = "an instruction without opcode, and no exception says why";

	if (!reader->fault_known)
		return 0;
	reader->fault_known = false;
	problem_at(reader, reader->fault_offset, reader->fault_line, reason);
	return add_gap(reader, reason);
}

/* --- Instructions. --- */

static void bytes_of(const struct tarmac_instruction *insn, struct line_instruction *line)
{
	uint32_t opcode = insn->opcode;

	line->size = insn->digits / 2;
	if (line->isa == FLOWTAP_ISA_T32 && insn->digits == 8)
		opcode = opcode << 16 | opcode >> 16;
	for (unsigned int i = 0; i < 4; i++)
		line->bytes[i] = (uint8_t)(opcode >> 8 * i);
}

/* `---_-`: it was not known. */
static bool is_unknown_mode(const char *word, size_t size)
{
	while (size && (word[size - 1] == '-' || word[size - 1] == '_'))
		size--;
	return !size;
}

/* Nearly always it is the word of the line before. */
static void parse_mode(struct reader *reader, const struct tarmac_instruction *insn)
{
	bool bare = false, unknown;

	if (insn->mode_size == reader->word_size &&
	    !memcmp(insn->mode, reader->word, insn->mode_size))
		return;
	unknown = is_unknown_mode(insn->mode, insn->mode_size);
	/* What was executed is known all the same: Unsupported_ns of gem5. */
	if (!unknown && !tarmac_mode(insn->mode, insn->mode_size, &reader->mode, &reader->security,
				     &bare)) {
		problem(reader, "a mode that is none (el1h_ns, svc ...) is taken for EL1 or S");
		unknown = true;
	}
	if (unknown) {
		reader->mode = FLOWTAP_PRIVILEGE_S;
		reader->security = FLOWTAP_NONSECURE;
	}
	/* QEMU4V's own example has none, and knows no Secure state. */
	if (bare && reader->qemu4v)
		reader->security = FLOWTAP_NONSECURE;
	/* Its producer has svc whoever executes: with others beside it that means something. */
	if (reader->qemu4v && !unknown && (insn->mode_size < 3 || memcmp(insn->mode, "svc", 3)))
		reader->read->mode_unknown = false;
	reader->word_size = SIZE_MAX;
	if (insn->mode_size <= sizeof(reader->word)) {
		memcpy(reader->word, insn->mode, insn->mode_size);
		reader->word_size = insn->mode_size;
	}
}

/*
 * QEMU4V has numbers that go up by one, and leave one out where something is missing; so do times that
 * are no more than an index.
 */
static int parse_number(struct reader *reader, const struct tarmac_instruction *insn)
{
	const struct flowtap_element gap = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = {
			.reason = FLOWTAP_GAP_DISABLED, .size = UINT64_MAX,
			.detail = "the number of an instruction is missing",
		},
	};
	bool skips = reader->qemu4v && reader->numbered && insn->has_id &&
		     insn->id > reader->id + 1;

	if (skips && insn->id - reader->id == reader->elapsed)
		builder_index(&reader->builder);
	reader->numbered = insn->has_id;
	reader->id = insn->id;
	return skips ? builder_element(&reader->builder, &gap) : 0;
}

static int read_instruction(struct reader *reader, const struct tarmac_head *head,
			    struct tarmac_scan scan)
{
	struct tarmac_instruction insn;
	struct line_instruction line = { 0 };
	const char *wrong = tarmac_instruction(scan, head->es, &insn);
	int status;

	if (reader->watch)
		reader->watch->line(reader->watch, &reader->rows, head, &scan,
				    wrong ? NULL : &insn);
	if (wrong)
		return damage(reader, wrong);
	parse_mode(reader, &insn);
	if (insn.debug) {
		reader->read->extra[FLOWTAP_READ_OTHER]++;
		return 0;
	}
	if (!insn.digits) {
		reader->fault_known = true;
		reader->fault = insn.address;
		reader->fault_offset = reader->rows.offset;
		reader->fault_line = reader->rows.number;
		return 0;
	}
	if (insn.letter == 'E' || insn.letter == 'X')
		return damage(reader, "ThumbEE is not supported");
	line.isa = tarmac_is_wide(&insn, reader->qemu4v) ?
		   (reader->riscv ? FLOWTAP_ISA_RV64 : FLOWTAP_ISA_A64) :
		   insn.letter == 'T' ? FLOWTAP_ISA_T32 : FLOWTAP_ISA_A32;
	line.address = insn.address;
	line.skipped = insn.skipped || head->event == TARMAC_SKIPPED;
	bytes_of(&insn, &line);
	status = parse_number(reader, &insn);
	if (!status)
		status = builder_instruction(&reader->builder, &line, reader->mode, reader->security);
	if (status == -EILSEQ)
		return damage(reader, "the opcode's size is none of its instruction set");
	if (status == -EINVAL)
		return damage(reader, "there can be no instruction at this address");
	return status;
}

/* --- What else happens. --- */

static int build_exception(struct reader *reader, const struct tarmac_exception *exception,
			  bool own, bool faults)
{
	struct line_exception exc = {
		.number = exception->number,
		.exact = exception->exact,
		.interrupt = exception->asynchronous,
		.own = own && !exception->asynchronous,
		.faults = faults && !exception->exact,
		.undefined = exception->undefined && !exception->exact,
		.m_profile = exception->m_profile,
		.nowhere = !own && !exception->asynchronous,
		.has_address = exception->has_address,
		.address = exception->address,
	};

	/* Before the first instruction, as Reset is: what the file is of is known. */
	if (!reader->builder.cpu->context_known && !reader->builder.cpu->context_waits)
		reader->builder.cpu->context.isa = reader->riscv ? FLOWTAP_ISA_RV64 :
								   FLOWTAP_ISA_A64;
	if (reader->fault_known) {
		exc.has_address = true;
		exc.address = reader->fault;
		exc.own = false;
		/* There was no opcode to execute. */
		if (!exc.exact && !exc.interrupt && exc.number < 0)
			exc.number = 11;
		reader->fault_known = false;
	}
	return builder_exception(&reader->builder, &exc);
}

/* ES, and no instruction: EXC, Reset, IRQ ... */
static int read_step(struct reader *reader, struct tarmac_scan scan)
{
	struct tarmac_exception exception;
	struct tarmac_scan after = scan;
	const char *word;

	if (tarmac_word(&after, &word) == 3 && !memcmp(word, "EXC", 3))
		scan = after;
	if (tarmac_exception(scan, &exception)) {
		reader->apart = exception.asynchronous;
		return build_exception(reader, &exception, false, false);
	}
	tarmac_blanks(&scan);
	if (scan.end - scan.at >= 10 && !memcmp(scan.at, "Background", 10)) {
		reader->read->extra[FLOWTAP_READ_OTHER]++;
		return 0;
	}
	return damage(reader, "an event that is not known");
}

/* EXC, below what it belongs to: an asynchronous event has come already. */
static int read_exception(struct reader *reader, struct tarmac_scan scan)
{
	struct tarmac_exception exception;

	if (!tarmac_exception(scan, &exception)) {
		problem(reader, "an exception that is not known");
		exception = (struct tarmac_exception){ .number = -1 };
	}
	if (reader->builder.cpu->excepted && (exception.asynchronous || reader->apart)) {
		if (exception.exact)
			reader->builder.cpu->exception.number = exception.number;
		reader->builder.cpu->exception.m_profile |= exception.m_profile;
		if (exception.has_address)
			reader->builder.cpu->exception.address = exception.address;
		return 0;
	}
	return build_exception(reader, &exception, true, true);
}

/* Ours, as far as it goes: one that was too long ends in "...", and so does its last word. */
static bool parse_own(struct reader *reader, const char *text, size_t size)
{
	if (flowtap_line_parse(text, size, &reader->element, &reader->parts))
		return true;
	if (size < 3 || memcmp(text + size - 3, "...", 3))
		return false;
	while (size && text[size - 1] != ' ')
		size--;
	return size && flowtap_line_parse(text, size - 1, &reader->element, &reader->parts);
}

/* What flowtap writes itself: `E DebugEvent_TraceGap overflow`. */
static int read_own(struct reader *reader, struct tarmac_scan scan, bool gap)
{
	static const char *const kinds[] = { "", "gap " };
	struct flowtap_element *element = &reader->element;
	char text[300];
	size_t size;

	tarmac_blanks(&scan);
	size = scan.end - scan.at;
	for (int i = 0; i < 1 + gap; i++) {
		size_t before = strlen(kinds[i]);

		if (size + before > sizeof(text))
			break;
		memcpy(text, kinds[i], before);
		memcpy(text + before, scan.at, size);
		if (!parse_own(reader, text, size + before))
			continue;
		if (element->kind == FLOWTAP_ELEMENT_CONTEXT)
			return builder_owner(&reader->builder, &element->context);
		return builder_element(&reader->builder, element);
	}
	if (!gap) {
		reader->read->extra[FLOWTAP_READ_COMMENTS]++;
		return 0;
	}
	/* Others stop tracing for reasons of their own. */
	*element = (struct flowtap_element){
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = { .reason = FLOWTAP_GAP_DISABLED, .size = UINT64_MAX },
	};
	if (size >= sizeof(reader->parts.detail))
		size = sizeof(reader->parts.detail) - 1;
	memcpy(reader->parts.detail, scan.at, size);
	reader->parts.detail[size] = '\0';
	element->gap.detail = reader->parts.detail;
	if (size == 11 && !memcmp(scan.at, "unexplained", 11)) {
		element->gap.reason = FLOWTAP_GAP_IMPOSSIBLE;
		element->gap.detail = NULL;
	}
	return builder_element(&reader->builder, element);
}

static int read_event(struct reader *reader, struct tarmac_scan scan)
{
	struct tarmac_exception exception;
	struct tarmac_scan after = scan;
	const char *word;
	size_t size = tarmac_word(&after, &word);

	if (size == 19 && !memcmp(word, "DebugEvent_TraceGap", 19))
		return read_own(reader, after, true);
	if (size == 20 && !memcmp(word, "DebugEvent_TraceNote", 20))
		return read_own(reader, after, false);
	if (size == 20 && !memcmp(word, "DebugEvent_Exception", 20) &&
	    tarmac_exception(after, &exception))
		return build_exception(reader, &exception, true, false);
	if (size == 15 && !memcmp(word, "DebugEvent_RV64", 15))
		reader->riscv = true;
	else if (tarmac_core_event(scan, &exception))
		return build_exception(reader, &exception, true, false);
	else
		reader->read->extra[FLOWTAP_READ_OTHER]++;
	return 0;
}

static int read_branch(struct reader *reader, const struct tarmac_head *head,
		       struct tarmac_scan scan)
{
	uint64_t target;
	const char *wrong = tarmac_branch(scan, &target);

	if (wrong)
		problem(reader, wrong);
	else if (builder_branch(&reader->builder, target))
		return 0;
	/* QEMU4V, with names of CPUs as well, has no line for an exception: this may be its handler. */
	else if (reader->qemu4v || head->has_cpu)
		reader->read->extra[FLOWTAP_READ_OTHER]++;
	else
		problem(reader, "a target (BR) to which no branch before it can lead");
	return 0;
}

/* Lines of two traces in one file: what is before says nothing of what comes. */
static int read_header(struct reader *reader, struct tarmac_scan scan)
{
	if (reader->read->records > 1 && reader->any)
		return damage(reader, "a header that is not the first line");
	if (reader->read->records > 1)
		reader->read->extra[FLOWTAP_READ_COMMENTS]++;
	if (memmem(scan.at, scan.end - scan.at, "RV64", 4))
		reader->riscv = true;
	return 0;
}

/* `            00000010  ........`: more of LD or ST, below its address. */
static bool is_memory_row(const struct reader *reader)
{
	const char *at = reader->rows.row, *end = at + reader->rows.size;
	size_t digits = 0;

	if (!reader->more_memory)
		return false;
	while (at < end && *at == ' ')
		at++;
	if (at - reader->rows.row < 8)
		return false;
	while (at + digits < end && at[digits] != ' ')
		digits++;
	return digits == 8 || digits == 16;
}

/* Its address may look like a time, and a byte FD or a place ## like a word. */
static bool can_be_memory(enum tarmac_event event)
{
	return event == TARMAC_UNKNOWN || event == TARMAC_ELSE || event == TARMAC_COMMENT;
}

static int read_event_line(struct reader *reader, const struct tarmac_head *head,
			   struct tarmac_scan scan)
{
	struct flowtap_read *read = reader->read;
	int status;

	if (reader->watch && head->event != TARMAC_INSTRUCTION && head->event != TARMAC_SKIPPED)
		reader->watch->line(reader->watch, &reader->rows, head, &scan, NULL);
	switch (head->event) {
	case TARMAC_INSTRUCTION:
	case TARMAC_SKIPPED:
		status = drop_fault(reader);
		reader->apart = false;
		reader->any = true;
		return status ? status : read_instruction(reader, head, scan);
	case TARMAC_OTHER_STEP:
		return read_step(reader, scan);
	case TARMAC_EXCEPTION:
		return read_exception(reader, scan);
	case TARMAC_EVENT:
		return read_event(reader, scan);
	case TARMAC_BRANCH:
		return read_branch(reader, head, scan);
	case TARMAC_REGISTER:
		read->extra[FLOWTAP_READ_REGISTERS]++;
		return 0;
	case TARMAC_MEMORY_ROW:
		reader->more_memory = true;
		read->extra[FLOWTAP_READ_MEMORY]++;
		return 0;
	case TARMAC_MEMORY:
		read->extra[FLOWTAP_READ_MEMORY]++;
		return 0;
	case TARMAC_PAGE_TABLE:
		read->extra[FLOWTAP_READ_PAGE_TABLES]++;
		return 0;
	case TARMAC_ELSE:
		read->extra[FLOWTAP_READ_OTHER]++;
		return 0;
	case TARMAC_COMMENT:
		reader->comment = true;
		read->extra[FLOWTAP_READ_COMMENTS]++;
		return 0;
	case TARMAC_HEADER:
		return read_header(reader, scan);
	case TARMAC_BLANK:
		return 0;
	case TARMAC_UNKNOWN:
		break;
	}
	return damage(reader, "a line that is not known");
}

/* 0; -EINVAL: there can be no such CPU, as *reason says; -errno. */
static int switch_cpu(struct reader *reader, struct tarmac_head *head, const char **reason)
{
	int number;

	*reason = "a CPU's number above 255";
	if (head->cpu_name) {
		number = tarmac_cpu_number(&reader->names, head->cpu_name, head->cpu_name_size,
					   head->cpu);
		*reason = "a CPU's name of more than 64 characters, or more than 256 CPUs";
		if (number < 0)
			return number;
		head->cpu = (uint32_t)number;
	}
	return builder_switch(&reader->builder, head->cpu);
}

static int read_line(struct reader *reader)
{
	struct tarmac_scan scan = { reader->rows.row, reader->rows.row + reader->rows.size };
	bool more = is_memory_row(reader), comment = reader->comment;
	struct tarmac_head head;
	const char *reason;
	int status;

	reader->read->records++;
	reader->more_memory = reader->comment = false;
	if (reader->rows.cut)
		return damage(reader, "a line of more than 65536 bytes");
	tarmac_head(&scan, &head);
	if (more && can_be_memory(head.event)) {
		reader->more_memory = true;
		reader->read->extra[FLOWTAP_READ_MEMORY]++;
		return 0;
	}
	if (comment && head.indented && !head.timed && head.event == TARMAC_UNKNOWN)
		head.event = TARMAC_COMMENT;
	if (head.has_cpu && head.event != TARMAC_UNKNOWN) {
		status = switch_cpu(reader, &head, &reason);
		if (status == -EINVAL)
			return damage(reader, reason);
		if (status)
			return status;
	}
	if (head.timed && head.event != TARMAC_UNKNOWN) {
		reader->elapsed = head.time - reader->time;
		reader->time = head.time;
		builder_time(&reader->builder, head.time, head.counts, head.nanoseconds);
	}
	return read_event_line(reader, &head, scan);
}

/* --- All of it. --- */

static int read_all(struct reader *reader)
{
	struct flowtap_read *read = reader->read;
	int status;

	while ((status = flowtap_line_reader_next(&reader->rows)) > 0) {
		if (reader->rows.open) {
			read->truncated = true;
			problem(reader, "the last line has no end");
		}
		status = read_line(reader);
		if (!status && reader->rows.open)
			status = add_gap(reader, "the last line has no end");
		if (status)
			return status;
		if (read->progress && reader->rows.offset - reader->progress >= PROGRESS) {
			reader->progress = reader->rows.offset;
			read->progress(read, flowtap_file_input_done(reader->rows.in),
				       flowtap_file_input_size(reader->rows.in));
		}
	}
	if (status == -EBADMSG || status == -ENODATA) {
		read->truncated = true;
		status = damage(reader, status == -EBADMSG ? "the gzip data is damaged" :
							     "the gzip data ends too early");
	}
	if (!status)
		status = drop_fault(reader);
	return status ? status : builder_finish(&reader->builder);
}

int flowtap_tarmac_watch(struct flowtap_read *read, int fd, bool qemu4v,
			 struct tarmac_watch *watch)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	int status;

	if (!reader)
		return -ENOMEM;
	read->instructions = read->records = read->problems = 0;
	memset(read->extra, 0, sizeof(read->extra));
	read->truncated = false;
	read->mode_unknown = qemu4v;
	reader->read = read;
	reader->watch = watch;
	reader->qemu4v = qemu4v;
	reader->word_size = SIZE_MAX;
	status = builder_begin(&reader->builder, read);
	/* Its CPUs are those that one program ran on. */
	reader->builder.in_order = qemu4v;
	if (!status)
		status = flowtap_line_reader_open(&reader->rows, fd);
	if (!status) {
		flowtap_line_reader_ahead(&reader->rows);
		reader->riscv = tarmac_is_riscv(reader->rows.bytes, reader->rows.end, qemu4v);
		status = read_all(reader);
	}
	flowtap_line_reader_close(&reader->rows);
	status = builder_end(&reader->builder, status);
	free(reader);
	return status;
}

int flowtap_tarmac_read(struct flowtap_read *read, int fd)
{
	return flowtap_tarmac_watch(read, fd, false, NULL);
}

int flowtap_qemu4v_read(struct flowtap_read *read, int fd)
{
	return flowtap_tarmac_watch(read, fd, true, NULL);
}
