// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Opens the disassembler that is asked for, or the first that is installed, and prints as a
 * directive what it does not know.
 */
#include "isa/disasm_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct flowtap_disasm {
	struct flowtap_disasm_options options;
	const struct disasm_library *library;	/* NULL: none */
	void *self;
	char version[40];
};

static const struct {
	const char *name;
	const struct disasm_library *library;
} backends[FLOWTAP_DISASM_BACKENDS] = {
	[FLOWTAP_DISASM_AUTO] = { "auto", NULL },
	[FLOWTAP_DISASM_LLVM] = { "llvm", &flowtap_disasm_llvm },
	[FLOWTAP_DISASM_CAPSTONE] = { "capstone", &flowtap_disasm_capstone },
	[FLOWTAP_DISASM_NONE] = { "none", NULL },
};

static int open_library(struct flowtap_disasm *disasm, enum flowtap_disasm_backend backend)
{
	const struct disasm_library *library = backends[backend].library;
	int err = 0;

	if (library)
		err = library->open(&disasm->self, disasm->version, sizeof(disasm->version));
	else
		strcpy(disasm->version, "none");
	if (err)
		return err;
	disasm->library = library;
	disasm->options.backend = backend;
	return 0;
}

int flowtap_disasm_new(const struct flowtap_disasm_options *options, struct flowtap_disasm **disasm)
{
	enum flowtap_disasm_backend first = options->backend, last = first;
	struct flowtap_disasm *made;
	int err = -ENOPKG;

	if ((unsigned int)options->backend >= FLOWTAP_DISASM_BACKENDS ||
	    (unsigned int)options->style > FLOWTAP_DISASM_PLAIN)
		return -EINVAL;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->options = *options;
	if (first == FLOWTAP_DISASM_AUTO) {
		first = FLOWTAP_DISASM_LLVM;
		last = FLOWTAP_DISASM_NONE;
	}
	for (enum flowtap_disasm_backend b = first; b <= last && err == -ENOPKG; b++)
		err = open_library(made, b);
	if (err) {
		free(made);
		return err;
	}
	*disasm = made;
	return 0;
}

void flowtap_disasm_free(struct flowtap_disasm *disasm)
{
	if (disasm && disasm->library)
		disasm->library->close(disasm->self);
	free(disasm);
}

enum flowtap_disasm_backend flowtap_disasm_backend(const struct flowtap_disasm *disasm)
{
	return disasm->options.backend;
}

const char *flowtap_disasm_version(const struct flowtap_disasm *disasm)
{
	return disasm->version;
}

const char *flowtap_disasm_name(enum flowtap_disasm_backend backend)
{
	return (unsigned int)backend < FLOWTAP_DISASM_BACKENDS ? backends[backend].name : NULL;
}

int flowtap_disasm_parse(const char *name)
{
	for (int b = 0; b < FLOWTAP_DISASM_BACKENDS; b++)
		if (!strcmp(name, backends[b].name))
			return b;
	return -EINVAL;
}

const char *flowtap_disasm_missing(enum flowtap_disasm_backend backend)
{
	if ((unsigned int)backend < FLOWTAP_DISASM_BACKENDS && backends[backend].library)
		return backends[backend].library->missing;
	return "it is part of flowtap";
}

void flowtap_disasm_append(struct disasm_text *text, const char *format, ...)
{
	size_t left = text->capacity - text->length;
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(text->at + text->length, left, format, arguments);
	va_end(arguments);
	if (n > 0)
		text->length += (size_t)n < left ? (size_t)n : left - 1;
}

uint32_t flowtap_disasm_opcode(const struct disasm_instruction *insn)
{
	const uint8_t *bytes = insn->bytes;
	uint32_t low = bytes[0] | (uint32_t)bytes[1] << 8, high;

	if (insn->size == 2)
		return low;
	high = bytes[2] | (uint32_t)bytes[3] << 8;
	/* The first halfword of T32 is the upper one. */
	return insn->isa == FLOWTAP_ISA_T32 ? low << 16 | high : high << 16 | low;
}

static size_t directive(const struct disasm_instruction *insn, char *at, size_t capacity)
{
	struct disasm_text text = { .at = at, .capacity = capacity };
	bool arm = insn->isa != FLOWTAP_ISA_RV64;

	*at = '\0';
	if (insn->size == 4)
		flowtap_disasm_append(&text, arm ? ".inst 0x%08x" : ".4byte 0x%x",
				      flowtap_disasm_opcode(insn));
	else if (insn->size == 2)
		flowtap_disasm_append(&text, arm ? ".inst 0x%04x" : ".2byte 0x%x",
				      flowtap_disasm_opcode(insn));
	else
		flowtap_disasm_append(&text, ".byte");
	for (size_t i = 0; insn->size != 2 && insn->size != 4 && i < insn->size && i < 24; i++)
		flowtap_disasm_append(&text, "%s 0x%02x", i ? "," : "", insn->bytes[i]);
	return text.length;
}

size_t flowtap_disasm_text(struct flowtap_disasm *disasm, enum flowtap_isa isa, uint8_t it,
			   uint64_t address, const uint8_t *bytes, size_t size, char *text,
			   size_t capacity)
{
	struct disasm_instruction insn = {
		.isa = isa, .address = address, .bytes = bytes, .size = size,
	};
	char raw[DISASM_RAW];
	size_t length;

	if (disasm->library && (size == 2 || size == 4) &&
	    disasm->library->text(disasm->self, isa, it, address, bytes, size, raw)) {
		raw[sizeof(raw) - 1] = '\0';
		length = flowtap_disasm_spell(&disasm->options, &insn, raw, text, capacity);
		if (length)
			return length;
	}
	return directive(&insn, text, capacity);
}
