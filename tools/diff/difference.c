// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps the last steps before the difference in a ring, and prints them and what follows from
 * both traces.
 */
#include "diff/difference.h"

#include "common/input_file.h"
#include "common/isa.h"
#include "common/json.h"
#include "common/tool.h"

#include <errno.h>
#include <flowtap/disasm.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static size_t lines_before(const struct difference *difference)
{
	return difference->context + DIFFERENCE_MORE;
}

int difference_init(struct difference *difference, enum flowtap_disasm_backend disassembler)
{
	const struct flowtap_disasm_options options = {
		.backend = disassembler,
		.style = FLOWTAP_DISASM_PLAIN,
	};
	int error = flowtap_disasm_new(&options, &difference->disasm);

	if (error == -ENOPKG) {
		complain("%s", flowtap_disasm_missing(options.backend));
		return STATUS_USAGE;
	}
	difference->before = calloc(lines_before(difference), sizeof(struct step));
	for (int i = 0; i < 2; i++)
		difference->after[i] = calloc(difference->context + 1, sizeof(struct step));
	if (!error && difference->before && difference->after[0] && difference->after[1])
		return 0;
	complain("no memory");
	return STATUS_USAGE;
}

void difference_free(struct difference *difference)
{
	flowtap_disasm_free(difference->disasm);
	free(difference->before);
	free(difference->after[0]);
	free(difference->after[1]);
}

void difference_before(struct difference *difference, const struct step *step)
{
	difference->before[difference->n_before++ % lines_before(difference)] = *step;
	difference->same += step->kind == STEP_INSTRUCTION;
}

void difference_add(struct difference *difference, int file, const struct step *step)
{
	if (!step)
		difference->ended[file] = true;
	else if (difference->n[file] <= difference->context)
		difference->after[file][difference->n[file]++] = *step;
}

/* --- One step. --- */

struct position {
	const struct difference *difference;
	uint64_t number;		/* of the next instruction, from 1 */
	uint8_t it;			/* ITSTATE before it */
};

/* The next address differs. */
static void pass(struct position *position, const struct step *step)
{
	uint8_t bytes[4];

	if (step->kind == STEP_EXCEPTION || step->kind == STEP_GAP)
		position->it = 0;
	if (step->kind != STEP_INSTRUCTION)
		return;
	memcpy(bytes, &step->opcode, sizeof(bytes));
	position->number++;
	position->it = isa_it_after((enum flowtap_isa)step->isa, position->it, step->address, bytes,
				    step->size);
}

static void text_of(const struct position *position, const struct step *step, char *text)
{
	uint8_t bytes[4];

	memcpy(bytes, &step->opcode, sizeof(bytes));
	flowtap_disasm_text(position->difference->disasm, (enum flowtap_isa)step->isa, position->it,
			    step->address, bytes, step->size, text, FLOWTAP_DISASM_CAPACITY);
}

static uint32_t opcode_of(const struct step *step)
{
	uint8_t bytes[4];

	memcpy(bytes, &step->opcode, sizeof(bytes));
	return isa_opcode((enum flowtap_isa)step->isa, bytes, step->size);
}

static void print_context(const struct flowtap_context *context)
{
	printf("context pid %" PRIu32 " tid %" PRIu32 " CPU %" PRIu32 " %s", context->pid,
	       context->tid, context->cpu,
	       isa_mode_name((enum flowtap_isa)context->isa, context->mode & 3));
	if (context->security)
		printf(" %s", isa_security_name(context->security));
	if (context->has_vmid)
		printf(" vmid 0x%" PRIx32, context->vmid);
	if (context->has_contextid)
		printf(" contextid 0x%" PRIx64, context->contextid);
	putchar('\n');
}

static void print_step(struct position *position, char mark, const struct step *step)
{
	char text[FLOWTAP_DISASM_CAPACITY], number[32];

	switch ((enum step_kind)step->kind) {
	case STEP_INSTRUCTION:
		text_of(position, step, text);
		printf("%c %14s  %016" PRIx64 "  %0*" PRIx32 "%*s  %s  %s\n", mark,
		       number_group(position->number, number), step->address, 2 * step->size,
		       opcode_of(step), 8 - 2 * step->size, "", isa_name((enum flowtap_isa)step->isa), text);
		break;
	case STEP_CONTEXT:
		printf("%c %14s  ", mark, "");
		print_context(&step->context);
		break;
	case STEP_GAP:
		printf("%c %14s  gap %s\n", mark, "", flowtap_gap_name(step->gap.reason));
		break;
	case STEP_EXCEPTION:
		printf("%c %14s  %s", mark, "",
		       step->exception.interrupt ? "interrupt" : "exception");
		if (step->exception.number >= 0)
			printf(" %d", step->exception.number);
		printf(" at %016" PRIx64 "\n", step->exception.address);
		break;
	}
	pass(position, step);
}

/* The first step that is shown of those before. */
static uint64_t first_before(const struct difference *difference, size_t shown)
{
	return difference->n_before > shown ? difference->n_before - shown : 0;
}

static const struct step *before(const struct difference *difference, uint64_t i)
{
	return &difference->before[i % lines_before(difference)];
}

/* Where the oldest step that is known is. */
static struct position begin(const struct difference *difference, uint64_t *first)
{
	struct position position = { .difference = difference, .number = difference->same + 1 };

	*first = first_before(difference, lines_before(difference));
	for (uint64_t i = *first; i < difference->n_before; i++)
		position.number -= before(difference, i)->kind == STEP_INSTRUCTION;
	return position;
}

void difference_print(const struct difference *difference)
{
	uint64_t shown = first_before(difference, difference->context), i;
	struct position position = begin(difference, &i), side;
	char number[32];

	printf("--- ");
	print_plain(stdout, difference->files[0].path, strlen(difference->files[0].path));
	printf("\n+++ ");
	print_plain(stdout, difference->files[1].path, strlen(difference->files[1].path));
	printf("\n@@ %s instruction%s the same @@\n", number_group(difference->same, number),
	       difference->same == 1 ? " is" : "s are");
	for (; i < shown; i++)
		pass(&position, before(difference, i));
	for (; i < difference->n_before; i++)
		print_step(&position, ' ', before(difference, i));
	for (int file = 0; file < 2; file++) {
		side = position;
		for (size_t at = 0; at < difference->n[file]; at++)
			print_step(&side, "-+"[file], &difference->after[file][at]);
		if (difference->ended[file])
			printf("%c %14s  the trace ends\n", "-+"[file], "");
	}
}

/* --- JSON --- */

static void json_instruction(struct json *json, const struct position *position,
			     const struct step *step)
{
	char text[FLOWTAP_DISASM_CAPACITY];

	text_of(position, step, text);
	json_number(json, "instruction", position->number);
	json_string(json, "isa", isa_name((enum flowtap_isa)step->isa));
	json_hex(json, "address", step->address);
	json_hex(json, "opcode", opcode_of(step));
	json_number(json, "size", step->size);
	json_string(json, "text", text);
}

static void json_context(struct json *json, const struct flowtap_context *context)
{
	json_string(json, "element", "context");
	json_number(json, "pid", context->pid);
	json_number(json, "tid", context->tid);
	json_number(json, "cpu", context->cpu);
	json_string(json, "mode", isa_mode_name((enum flowtap_isa)context->isa, context->mode & 3));
	if (context->security)
		json_string(json, "security", isa_security_name(context->security));
	if (context->has_vmid)
		json_hex(json, "vmid", context->vmid);
	if (context->has_contextid)
		json_hex(json, "contextid", context->contextid);
}

static void json_exception(struct json *json, const struct flowtap_exception *exception)
{
	json_string(json, "element", exception->interrupt ? "interrupt" : "exception");
	if (exception->number >= 0)
		json_number(json, "number", (uint64_t)exception->number);
	json_hex(json, "address", exception->address);
}

/* The keys are those of `dump --json`. */
static void json_step(struct json *json, struct position *position, const struct step *step)
{
	json_open(json, NULL, '{');
	switch ((enum step_kind)step->kind) {
	case STEP_INSTRUCTION:
		json_instruction(json, position, step);
		break;
	case STEP_CONTEXT:
		json_context(json, &step->context);
		break;
	case STEP_GAP:
		json_string(json, "element", "gap");
		json_string(json, "reason", flowtap_gap_name(step->gap.reason));
		break;
	case STEP_EXCEPTION:
		json_exception(json, &step->exception);
		break;
	}
	json_close(json, '}');
	pass(position, step);
}

void difference_json(const struct difference *difference)
{
	struct json json = { .file = stdout };
	uint64_t shown = first_before(difference, difference->context), i;
	struct position position = begin(difference, &i), side;

	json_open(&json, NULL, '{');
	json_open(&json, "files", '[');
	for (int file = 0; file < 2; file++)
		json_string(&json, NULL, input_name(difference->files[file].path));
	json_close(&json, ']');
	if (difference->unknown)
		json_string(&json, "different", NULL);
	else
		json_bool(&json, "different", difference->found);
	json_open(&json, "problem_count", '[');
	for (int file = 0; file < 2; file++)
		json_number(&json, NULL, difference->files[file].read.problems);
	json_close(&json, ']');
	json_number(&json, "same_instructions", difference->same);
	json_open(&json, "before", '[');
	for (; i < difference->n_before; i++) {
		if (i < shown || !difference->found)
			pass(&position, before(difference, i));
		else
			json_step(&json, &position, before(difference, i));
	}
	json_close(&json, ']');
	for (int file = 0; file < 2; file++) {
		side = position;
		json_open(&json, file ? "second" : "first", '[');
		for (size_t at = 0; at < difference->n[file]; at++)
			json_step(&json, &side, &difference->after[file][at]);
		json_close(&json, ']');
		json_bool(&json, file ? "second_ends" : "first_ends", difference->ended[file]);
	}
	json_close(&json, '}');
}
