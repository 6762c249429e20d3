// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Copies records of an STF by group, one group for an instruction, so that chunks of a .zstf
 * begin between two groups.
 */
#include <flowtap/stf_copy.h>

#include "flow/flow_line.h"
#include "formats/stf/source.h"
#include "formats/stf/layout.h"
#include "formats/stf/output.h"

#include <errno.h>
#include <flowtap/stf_record.h>
#include <stdlib.h>

#define PROGRESS	(1U << 20)

/* What is known of the instruction whose records are read. */
struct group {
	bool any;		/* a record that needs an opcode after it */
	bool after;		/* COMMENT_AFTER */
	bool targets, traps;
	uint64_t target, handler;
};

struct copier {
	struct flowtap_stf_copy *copy;
	struct stf_source input;
	struct stf_output out;
	struct flowtap_stf_sizes sizes;
	uint64_t progress;		/* bytes of the file at the last one */
	bool body;
	bool another;			/* another trace begins here, of which nothing is copied */
	bool narrow;			/* A32 or T32: not known any more after damage */
	bool forces;			/* FORCE_PC `forced` has to be said before what comes next */
	uint64_t pc, forced;		/* out.pc: after the last opcode */
	struct group group;
	/*
	 * In the input: [input.at, whole) is whole, [whole, next) are records that need an opcode.
	 * The last opcode ends at `after`.
	 */
	size_t whole, next, after;
	size_t opcode;			/* size of the last one; 0: it is not in the input any more */
	char line[FLOWTAP_LINE_CAPACITY];
};

static int write_bytes(struct copier *copier, const uint8_t *bytes, size_t size)
{
	uint8_t force[TARGET_SIZE];

	if (!size)
		return copier->out.buffer.error;
	stf_output_release(&copier->out);
	if (copier->forces) {
		put_address(force, STF_FORCE_PC, copier->forced);
		stf_output_add(&copier->out, force, sizeof(force));
		copier->forces = false;
	}
	return stf_output_add(&copier->out, bytes, size);
}

/* Hands on what is before `end`, of the input. 0 or -errno. */
static int write_until(struct copier *copier, size_t end)
{
	struct stf_source *input = &copier->input;
	int error = 0;

	if (end > input->at)
		error = write_bytes(copier, input->bytes + input->at, end - input->at);
	input->at = end;
	if (copier->after <= end)
		copier->opcode = 0;
	if (copier->whole < end)
		copier->whole = end;
	return error;
}

/* All up to the last opcode that was read is handed on: a chunk that is full ends after it. */
static void begin_chunk(struct copier *copier)
{
	stf_output_release(&copier->out);
	copier->out.instructions = copier->copy->instructions;
	stf_output_begin_group(&copier->out, copier->out.pc);
}

/* Records of an instruction follow: a chunk that is full ends after the last opcode. */
static int begin_group(struct copier *copier)
{
	int error;

	if (copier->copy->instructions != copier->out.boundary)
		return 0;
	error = write_until(copier, copier->opcode ? copier->after : copier->whole);
	if (error)
		return error;
	begin_chunk(copier);
	return copier->out.buffer.error;
}

/* An opcode ends the group of its instruction. 0 or -errno. */
static int handle_opcode(struct copier *copier, size_t size)
{
	struct group *group = &copier->group;
	int error = begin_group(copier);

	copier->pc = group->traps ? group->handler : group->targets ? group->target :
		     copier->pc + size - 1;
	*group = (struct group){ .any = false };
	copier->copy->instructions++;
	copier->opcode = size;
	copier->after = copier->next + size;
	copier->out.pc = copier->pc;
	return error;
}

static bool is_comment(const struct flowtap_stf_record *record, const char *text)
{
	return record->descriptor == STF_COMMENT && record->size == strlen(text) &&
	       !memcmp(record->bytes, text, record->size);
}

static void handle_comment(struct copier *copier, const struct flowtap_stf_record *record)
{
	static const char arm[] = "context A", rest[] = "context T32 ";

	if (is_comment(record, COMMENT_AFTER))
		copier->group.after = true;
	if (record->size < sizeof(rest) - 1)
		return;
	if (!memcmp(record->bytes, rest, sizeof(rest) - 1))
		copier->narrow = true;
	else if (!memcmp(record->bytes, arm, sizeof(arm) - 1))
		copier->narrow = record->bytes[sizeof(arm) - 1] == '3';
}

static bool needs_opcode(uint8_t descriptor)
{
	return descriptor != STF_COMMENT && descriptor != STF_TRANSACTION &&
	       descriptor != STF_DEPENDENCY;
}

/* What a record says of the PC, of sizes, and of where the header ends. */
static void handle_record(struct copier *copier, const struct flowtap_stf_record *record)
{
	struct group *group = &copier->group;

	flowtap_stf_record_follow(&copier->sizes, record);
	group->any |= copier->body && needs_opcode(record->descriptor);
	switch (record->descriptor) {
	case STF_END_HEADER:
		copier->body = true;
		break;
	case STF_COMMENT:
		handle_comment(copier, record);
		break;
	case STF_FORCE_PC:
		copier->pc = record->field[0];
		break;
	case STF_INST_PC_TARGET:
		group->targets = true;
		group->target = record->field[0];
		break;
	case STF_EVENT_PC_TARGET:
		group->traps = true;
		group->handler = record->field[0];
		break;
	}
}

/*
 * The next record, if it is there: *size of it. -ENODATA: more is needed, or *size bytes are, of
 * which only some have to be looked at; -EBADMSG: there is no such record.
 */
static int get_record(struct copier *copier, size_t *size)
{
	const struct stf_source *input = &copier->input;
	const uint8_t *bytes = input->bytes + copier->next;
	size_t there = input->end - copier->next;
	struct flowtap_stf_record record;
	int error;

	*size = 0;
	if (!there)
		return -ENODATA;
	/* Most are these. */
	if (copier->body && (bytes[0] == STF_INST_32 || bytes[0] == STF_INST_16)) {
		*size = bytes[0] == STF_INST_32 ? 5 : 3;
		if (there < *size)
			return -ENODATA;
		return handle_opcode(copier, *size);
	}
	if (bytes[0] == STF_INST_PC_TARGET && there >= TARGET_SIZE && copier->body) {
		*size = TARGET_SIZE;
		copier->group.any = copier->group.targets = true;
		copier->group.target = stf_number(bytes + 1, 8);
		return 0;
	}
	copier->another = copier->body && bytes[0] == STF_IDENTIFIER;
	if (copier->another || (!copier->copy->records && bytes[0] != STF_IDENTIFIER))
		return -EBADMSG;
	error = flowtap_stf_record_parse(bytes, there, &copier->sizes, &record, size);
	if (error)
		return error;
	handle_record(copier, &record);
	return 0;
}

/* Nothing that was read is in the input any more, from input.at on it is new. */
static void begin_input(struct copier *copier)
{
	copier->whole = copier->next = copier->input.at;
	copier->opcode = 0;
}

/* What has to be kept in case that a gap comes: from the last opcode on. */
static size_t kept(const struct copier *copier)
{
	return copier->opcode ? copier->after - copier->opcode : copier->whole;
}

/* What is kept is handed on: a chunk that is full ends after the opcode. 0 or -errno. */
static int write_kept(struct copier *copier, const uint8_t *bytes, size_t size)
{
	int error = write_bytes(copier, bytes, copier->opcode);

	if (!error)
		begin_chunk(copier);
	return error ? error : write_bytes(copier, bytes + copier->opcode, size - copier->opcode);
}

/*
 * The last opcode, and all comments after it, are held back: those too of an instruction that is
 * left out. bytes: what is kept. 0 or -errno.
 */
static int hold_comments(struct copier *copier, const uint8_t *bytes, size_t size)
{
	struct stf_output *out = &copier->out;
	size_t at = copier->opcode, next;
	struct flowtap_stf_record record;

	if (copier->opcode) {
		write_bytes(copier, bytes, copier->opcode);
		out->last_opcode = (uint32_t)copier->opcode;
	}
	out->instructions = copier->copy->instructions;
	stf_output_begin_comments(out);
	for (; at < size; at += next) {
		if (flowtap_stf_record_parse(bytes + at, size - at, &copier->sizes, &record, &next))
			break;
		if (!needs_opcode(record.descriptor) && !is_comment(&record, COMMENT_AFTER) &&
		    !is_comment(&record, COMMENT_TAKEN))
			stf_output_comments(out, bytes + at, next);
	}
	return out->buffer.error;
}

/* After -EBADMSG of the input, or where it is over too early: said once. */
static const char *what_is_missing(struct stf_source *input)
{
	if (!input->over)
		return "the file is damaged";
	input->unfinished = false;
	return "the file ends here, the trace did not";
}

/* Something is missing here. */
static int write_gap(struct copier *copier, const char *detail)
{
	const struct flowtap_element gap = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = { .reason = FLOWTAP_GAP_BAD_RECORD, .size = UINT64_MAX, .detail = detail },
	};

	copier->copy->damaged = true;
	copier->forces = false;
	copier->group = (struct group){ .any = false };
	if (!copier->body)
		return 0;
	stf_output_begin_comments(&copier->out);
	return stf_output_comment(&copier->out, copier->line,
				  flowtap_line_element(copier->line, &gap));
}

/*
 * A record that is longer than what the input holds at once: it is copied if all of it is there. 0
 * or -errno.
 */
static int copy_long(struct copier *copier, uint64_t size)
{
	struct stf_source *input = &copier->input;
	bool fits = size <= FLOWTAP_STF_COPY_LONGEST;
	const struct group group = copier->group;
	int error;
	/* With what is kept, and what is before it in the records of its instruction. */
	size_t begin = kept(copier), have = copier->next - begin;
	uint64_t all = size + have, done = have;
	uint8_t *bytes = malloc(fits ? all : have + 1);
	bool whole, damaged;

	error = bytes ? write_until(copier, begin) : -ENOMEM;
	if (!error)
		memcpy(bytes, input->bytes + input->at, have);
	input->at += have;
	while (!error) {
		size_t there = input->end - input->at;
		size_t n = all - done < there ? (size_t)(all - done) : there;

		if (fits)
			memcpy(bytes + done, input->bytes + input->at, n);
		input->at += n;
		done += n;
		if (done == all || input->over)
			break;
		error = stf_source_more(input);
	}
	whole = !error && done == all;
	damaged = error == -EBADMSG;
	if (whole && (fits || group.any))
		error = write_kept(copier, bytes, fits ? all : have);
	else if (copier->body && bytes && (!error || damaged))
		hold_comments(copier, bytes, have);
	if (damaged)
		input->at = input->end;
	begin_input(copier);
	if (damaged || (!error && !whole))
		error = write_gap(copier, what_is_missing(input));
	else if (!error && !fits)
		error = write_gap(copier, "a record that is too long was left out");
	if (whole) {
		copier->copy->records++;
		copier->group = group;
	}
	free(bytes);
	return error ? error : copier->out.buffer.error;
}

/* As many records as are there. 0: more are needed; -EBADMSG: what is there is none; -errno. */
static int copy_there(struct copier *copier)
{
	struct flowtap_stf_copy *copy = copier->copy;
	size_t size;
	int error;

	for (;;) {
		bool header = !copier->body;

		error = get_record(copier, &size);
		if (error == -ENODATA && size > STF_SOURCE_WHOLE) {
			error = copy_long(copier, size);
			if (error)
				return error;
			continue;
		}
		if (error)
			return error == -ENODATA ? 0 : error;
		copy->records++;
		copier->next += size;
		if (!copier->group.any)
			copier->whole = copier->next;
		if (header && copier->body) {
			error = write_until(copier, copier->next);
			if (!error)
				error = stf_output_end_header(&copier->out);
			if (error)
				return error;
		}
	}
}

/* The records of an instruction that is not whole are left out. */
static int drop_group(struct copier *copier, const char *detail)
{
	struct stf_source *input = &copier->input;
	int error = write_until(copier, kept(copier));

	if (!error && copier->body)
		error = hold_comments(copier, input->bytes + input->at, copier->next - input->at);
	input->at = input->end;
	begin_input(copier);
	return error ? error : write_gap(copier, detail);
}

/*
 * A chunk after one that was lost: where it begins is known, but not what was switched to A32 or
 * T32.
 */
static void resume(struct copier *copier)
{
	copier->input.resumed = false;
	if (!copier->body || copier->narrow)
		return;
	copier->pc = copier->forced = copier->input.start_pc;
	/* Not if nothing comes that it is for. */
	copier->forces = copier->group.any = true;
}

/*
 * Hands on what needs not be kept: of what is too long to be kept all that was read. 0 or -errno.
 */
static int write_old(struct copier *copier)
{
	size_t keep = kept(copier);
	int error;

	if (copier->next - keep <= STF_SOURCE_WHOLE)
		return write_until(copier, keep);
	error = begin_group(copier);
	if (error)
		return error;
	return write_until(copier, copier->next - copier->whole > STF_SOURCE_WHOLE ? copier->next :
										    copier->whole);
}

/* More of the input. What is kept of it begins at 0 then. */
static int more(struct copier *copier)
{
	struct stf_source *input = &copier->input;
	struct flowtap_stf_copy *copy = copier->copy;
	int error = write_old(copier);
	size_t gone = input->at;

	if (error)
		return error;
	error = stf_source_more(input);
	gone -= input->at;
	copier->whole -= gone;
	copier->next -= gone;
	copier->after -= copier->opcode ? gone : 0;
	if (error == -EBADMSG)
		error = drop_group(copier, what_is_missing(input));
	if (!error && input->resumed)
		resume(copier);
	if (copy->progress && input->done / PROGRESS != copier->progress / PROGRESS)
		copy->progress(copy, input->done, input->size);
	copier->progress = input->done;
	return error;
}

static int end(struct copier *copier)
{
	struct stf_source *input = &copier->input;
	bool lacks_opcode = copier->group.any || copier->group.after;
	int error;

	/* What is there of a record or an instruction that the file ends within is not copied. */
	if (copier->next < input->end || input->unfinished || lacks_opcode)
		error = drop_group(copier, "the file ends here, the trace did not");
	else
		error = write_until(copier, copier->next);
	if (!error && !copier->copy->instructions)
		error = -ENODATA;
	return error;
}

static int copy_all(struct copier *copier)
{
	struct stf_source *input = &copier->input;

	for (;;) {
		int error = copy_there(copier);

		if (error == -EBADMSG) {
			if (!copier->copy->records)
				return copier->copy->damaged ? -ENODATA : error;
			error = drop_group(copier, copier->another ? STF_ANOTHER : STF_NO_RECORD);
			/* What is after it is only found through the next chunk. */
			if (!error && (copier->another || !stf_source_give_up(input) ||
				       !copier->body))
				return copier->copy->instructions ? 0 : -ENODATA;
			begin_input(copier);
		}
		if (error)
			return error;
		if (input->over)
			return end(copier);
		error = more(copier);
		if (error)
			return error;
	}
}

static int run(struct copier *copier, int from, int to)
{
	int error = stf_source_open(&copier->input, from);

	if (!error)
		error = stf_output_init(&copier->out, to, copier->copy->zstf);
	if (!error)
		error = copy_all(copier);
	if (!error)
		error = stf_output_finish(&copier->out);
	copier->copy->bytes = copier->out.buffer.written;
	return error;
}

int flowtap_stf_copy(struct flowtap_stf_copy *copy, int from, int to)
{
	struct copier *copier = calloc(1, sizeof(*copier));
	int error;

	*copy = (struct flowtap_stf_copy){
		.zstf = copy->zstf, .progress = copy->progress, .argument = copy->argument,
	};
	if (!copier)
		return -ENOMEM;
	copier->copy = copy;
	copier->sizes.event_id = 4;
	error = run(copier, from, to);
	stf_output_free(&copier->out);
	stf_source_close(&copier->input);
	free(copier);
	return error;
}
