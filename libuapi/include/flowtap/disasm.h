/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Disassembly: the text of one instruction. LLVM's library or capstone's is loaded at run time;
 * nothing of them is needed to build or to start.
 *
 * It is slow (about a microsecond), so callers keep what it returns with the block.
 */
#ifndef FLOWTAP_DISASM_H
#define FLOWTAP_DISASM_H

#include <flowtap/flow.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A size that holds any text: longer ones (names of symbols) are cut. */
#define FLOWTAP_DISASM_CAPACITY 256

/* Which library. AUTO takes the first of those below that is there. */
enum flowtap_disasm_backend {
	FLOWTAP_DISASM_AUTO,
	FLOWTAP_DISASM_LLVM,		/* libLLVM 14 or later, with every extension it knows */
	FLOWTAP_DISASM_CAPSTONE,	/* libcapstone 5 or later: few of RISC-V's extensions */
	FLOWTAP_DISASM_NONE,		/* opcodes only */
	FLOWTAP_DISASM_BACKENDS
};

/*
 * How Arm's are spelled; RISC-V's always plain: `li a0,3`, `beqz a0,80000014`.
 *
 * TARMAC: the mnemonic in upper case and 8 columns wide, targets of branches in A64 as an absolute
 * address, in A32 and T32 from the instruction on with the address after it:
 *	STP      x29, x30, [sp, #-16]!
 *	BL       21081c
 *	BNE      {pc}+0x40 ; 0x1ce4
 * with symbols `BL       21081c ; main+0x10`, `BNE      {pc}+0x40 ; 0x1ce4 main+0x10`.
 *
 * PLAIN: lower case, one space, targets as absolute addresses: `bl 21081c <main+0x10>`.
 */
enum flowtap_disasm_style {
	FLOWTAP_DISASM_TARMAC,
	FLOWTAP_DISASM_PLAIN,
};

struct flowtap_disasm_options {
	enum flowtap_disasm_backend backend;
	enum flowtap_disasm_style style;
	/*
	 * The function that the target of a branch belongs to and how far in it is, or NULL; may be
	 * NULL itself: no symbols. The name is used before the call returns.
	 */
	const char *(*symbol)(void *argument, uint64_t address, uint64_t *offset);
	void *argument;
};

struct flowtap_disasm;

/*
 * 0 and *disasm; -EINVAL: options are not of the above; -ENOPKG: that library is not there (AUTO
 * and NONE are always), or too old, see flowtap_disasm_missing; -ENOMEM.
 */
int flowtap_disasm_new(const struct flowtap_disasm_options *options, struct flowtap_disasm **disasm);
void flowtap_disasm_free(struct flowtap_disasm *disasm);

/* Which one it is: never AUTO. */
enum flowtap_disasm_backend flowtap_disasm_backend(const struct flowtap_disasm *disasm);
/* "LLVM 19.1.7", "capstone 5.0", "none". Owned by disasm. */
const char *flowtap_disasm_version(const struct flowtap_disasm *disasm);

/* "auto", "llvm", "capstone", "none". Static; NULL: none of them. */
const char *flowtap_disasm_name(enum flowtap_disasm_backend backend);
/* The one of that name; -EINVAL: none. */
int flowtap_disasm_parse(const char *name);
/*
 * Why flowtap_disasm_new said -ENOPKG, and what to install, one line for people: "LLVM's library
 * was not found (libLLVM.so.19.1 ...): install libllvm19, or take another disassembler". Static.
 */
const char *flowtap_disasm_missing(enum flowtap_disasm_backend backend);

/*
 * Writes the text of the instruction of `isa` at `address`, NUL-terminated and cut to `capacity`
 * bytes (at least 1; FLOWTAP_DISASM_CAPACITY never cuts more than symbols), and returns its length.
 * bytes: the opcode in memory order, `size` of them: of exactly one instruction. it: ITSTATE before
 * it (T32: flowtap_arm_insn.it of the one before), 0 elsewhere.
 *
 * What the library does not know, and everything if there is none, is `.inst 0xd503201f` (T32 of
 * two bytes `.inst 0xbf00`, RISC-V `.4byte 0x100073`, `.2byte 0x9002`; other sizes `.byte 0x12,
 * 0x34 ...`, 24 at most). So there is always a text. It is printable ASCII and begins with a
 * letter, digit, `.` or `<`.
 *
 * One thread at a time for each handle; handles are independent of each other.
 */
size_t flowtap_disasm_text(struct flowtap_disasm *disasm, enum flowtap_isa isa, uint8_t it,
			   uint64_t address, const uint8_t *bytes, size_t size, char *text,
			   size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_DISASM_H */
