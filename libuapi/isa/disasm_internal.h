/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Between the interface, the libraries that are loaded, and the spelling. */
#ifndef FLOWTAP_LIBUAPI_ISA_DISASM_INTERNAL_H
#define FLOWTAP_LIBUAPI_ISA_DISASM_INTERNAL_H

#include <flowtap/disasm.h>

/* What a library says of an instruction: "mnemonic", blanks, "operands". */
#define DISASM_RAW 256

struct disasm_library {
	const char *missing;	/* flowtap_disasm_missing */
	/* 0, and *self and the version; -ENOPKG, -ENOMEM. */
	int (*open)(void **self, char *version, size_t capacity);
	void (*close)(void *self);
	/* The text of one instruction of exactly `size` bytes; false: it is not known. */
	bool (*text)(void *self, enum flowtap_isa isa, uint8_t it, uint64_t address,
		     const uint8_t *bytes, size_t size, char raw[DISASM_RAW]);
};

extern const struct disasm_library flowtap_disasm_llvm;
extern const struct disasm_library flowtap_disasm_capstone;

struct disasm_instruction {
	enum flowtap_isa isa;
	uint64_t address;
	const uint8_t *bytes;
	size_t size;
};

/* The opcode as one number, as the manuals have it; size is 2 or 4. */
uint32_t flowtap_disasm_opcode(const struct disasm_instruction *insn);

/*
 * What the library said, in the spelling of options. The length; 0: it is no text that a trace can
 * have. capacity >= 1.
 */
size_t flowtap_disasm_spell(const struct flowtap_disasm_options *options,
			    const struct disasm_instruction *insn, const char *raw, char *text,
			    size_t capacity);

/* A text that grows and is cut where its capacity ends; always terminated. */
struct disasm_text {
	char *at;
	size_t length;
	size_t capacity;
};

void flowtap_disasm_append(struct disasm_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* FLOWTAP_LIBUAPI_ISA_DISASM_INTERNAL_H */
