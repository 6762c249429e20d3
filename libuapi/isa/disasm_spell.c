// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * One spelling for what the libraries print each in its own: targets as addresses, immediates as
 * GNU objdump has them, the mnemonic as Tarmac wants it.
 */
#include "isa/disasm_internal.h"

#include <ctype.h>
#include <flowtap/arm.h>
#include <flowtap/riscv.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_SHOWN 120U

/* What an instruction names by a distance from itself. */
struct reference {
	bool there;
	bool code;	/* a branch's target: a symbol may say more */
	uint64_t address;
};

static uint64_t extend(uint64_t value, unsigned int bits)
{
	return (uint64_t)((int64_t)(value << (64 - bits)) >> (64 - bits));
}

/* ADR, ADRP, and loads from a literal (DDI 0487 C4.1.86, C4.1.88). */
static struct reference literal_a64(uint64_t address, uint32_t opcode)
{
	uint64_t adr = extend((opcode >> 5 & 0x7ffff) << 2 | (opcode >> 29 & 3), 21);

	if ((opcode & 0x9f000000) == 0x10000000)
		return (struct reference){ .there = true, .address = address + adr };
	if ((opcode & 0x9f000000) == 0x90000000)
		return (struct reference){ .there = true,
					   .address = (address & ~0xfffULL) + (adr << 12) };
	if ((opcode & 0x3b000000) == 0x18000000)
		return (struct reference){ .there = true,
					   .address = address +
						      extend(opcode >> 5 << 2 & 0x1ffffc, 21) };
	return (struct reference){ 0 };
}

static struct reference reference_of(const struct disasm_instruction *insn)
{
	struct flowtap_riscv_insn riscv;
	struct flowtap_arm_insn arm;

	if (insn->isa == FLOWTAP_ISA_RV64) {
		if (flowtap_riscv_classify(insn->bytes, insn->size, &riscv) || !riscv.direct)
			return (struct reference){ 0 };
		return (struct reference){ .there = true, .code = true,
				       .address = insn->address + (uint64_t)(int64_t)riscv.offset };
	}
	if (!flowtap_arm_classify(insn->isa, insn->address, 0, insn->bytes, insn->size, &arm) &&
	    arm.direct && (arm.kind == FLOWTAP_ARM_BRANCH || arm.kind == FLOWTAP_ARM_CALL))
		return (struct reference){ .there = true, .code = true, .address = arm.target };
	if (insn->isa == FLOWTAP_ISA_A64)
		return literal_a64(insn->address, flowtap_disasm_opcode(insn));
	return (struct reference){ 0 };
}

/* {pc}+0x10; up to 9 without 0x. */
static void write_relative(struct disasm_text *text, uint64_t from, uint64_t to)
{
	uint32_t distance = (uint32_t)(to - from);
	bool back = distance >> 31;

	if (back)
		distance = -distance;
	flowtap_disasm_append(text, distance < 10 ? "{pc}%c%" PRIx32 : "{pc}%c0x%" PRIx32,
			      back ? '-' : '+', distance);
	flowtap_disasm_append(text, " ; 0x%" PRIx32, (uint32_t)to);
}

static void write_symbol(const struct flowtap_disasm_options *options, struct disasm_text *text,
			 bool wide, uint64_t address)
{
	const char *begin = wide ? " ; " : " ", *end = "";
	const char *name = NULL;
	uint64_t offset = 0;

	if (options->symbol)
		name = options->symbol(options->argument, address, &offset);
	if (!name || !*name)
		return;
	if (options->style == FLOWTAP_DISASM_PLAIN) {
		begin = " <";
		end = ">";
	}
	flowtap_disasm_append(text, "%s", begin);
	/* Names are whatever a file says. */
	for (size_t i = 0; name[i] && i < NAME_MAX_SHOWN; i++)
		flowtap_disasm_append(text, "%c", isgraph((unsigned char)name[i]) ? name[i] : '?');
	if (offset)
		flowtap_disasm_append(text, "+0x%" PRIx64, offset);
	flowtap_disasm_append(text, "%s", end);
}

static void write_reference(const struct flowtap_disasm_options *options,
			    const struct disasm_instruction *insn, struct reference reference,
			    struct disasm_text *text)
{
	bool tarmac = options->style == FLOWTAP_DISASM_TARMAC && insn->isa != FLOWTAP_ISA_RV64;
	bool relative = tarmac && insn->isa != FLOWTAP_ISA_A64;
	struct flowtap_disasm_options plain = *options;

	if (relative)
		write_relative(text, insn->address, reference.address);
	else
		flowtap_disasm_append(text, "%" PRIx64, reference.address);
	if (!tarmac)
		plain.style = FLOWTAP_DISASM_PLAIN;
	if (reference.code)
		write_symbol(&plain, text, !relative, reference.address);
}

/* Instructions of which the numbers are positions and amounts, not values. */
static bool counts(const char *mnemonic)
{
	static const char *const names[] = {
		"tbz", "tbnz", "lsl", "lsr", "asr", "ror", "extr", "ubfx", "sbfx", "ubfiz", "sbfiz",
		"bfi", "bfxil", "bfm", "ubfm", "sbfm", "bfc", "usat", "ssat", "lsls", "lsrs", "asrs",
		"shl", "sshr", "ushr", "sshll", "ushll", "sli", "sri", "ext",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(mnemonic, names[i]))
			return true;
	return false;
}

/* lui and auipc take bits, everything else a number. */
static bool takes_bits(enum flowtap_isa isa, const char *mnemonic)
{
	if (isa == FLOWTAP_ISA_RV64)
		return !strcmp(mnemonic, "lui") || !strcmp(mnemonic, "auipc") ||
		       !strcmp(mnemonic, "c.lui");
	return !counts(mnemonic);
}

static bool is_shift(const char *at, const char *begin)
{
	static const char *const words[] = {
		"lsl ", "lsr ", "asr ", "ror ", "msl ", "mul ", "uxtb ", "uxth ", "uxtw ", "uxtx ",
		"sxtb ", "sxth ", "sxtw ", "sxtx ",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(at - begin) >= n && !memcmp(at - n, words[i], n))
			return true;
	}
	return false;
}

struct operands {
	const struct disasm_instruction *insn;
	const char *mnemonic;
	const char *begin;
	const char *at;
	bool bracket;		/* within an address, or after one */
	bool bits;
};

/* The number at `at`, after a # for Arm. Where there is none nothing is done. */
static bool write_number(struct operands *operands, struct disasm_text *text)
{
	bool arm = operands->insn->isa != FLOWTAP_ISA_RV64, minus;
	const char *at = operands->at + arm;
	unsigned long long value;
	char *end;

	minus = *at == '-';
	if (!isdigit((unsigned char)at[minus]))
		return false;
	value = strtoull(at + minus, &end, at[minus] == '0' && at[minus + 1] == 'x' ? 16 : 10);
	/* 1.5, 1e3, 1b */
	if (isalnum((unsigned char)*end) || *end == '.' || *end == '_')
		return false;
	if (minus && arm && !strcmp(operands->mnemonic, "mov")) {
		value = *operands->begin == 'x' ? -value : (uint32_t)-value;
		minus = false;
	}
	flowtap_disasm_append(text, "%s%s", arm ? "#" : "", minus ? "-" : "");
	if (operands->bits && !operands->bracket && !minus && !is_shift(operands->at, operands->begin))
		flowtap_disasm_append(text, "0x%llx", value);
	else
		flowtap_disasm_append(text, "%llu", value);
	operands->at = end;
	return true;
}

/* Operands of Arm have a blank after the comma, those of RISC-V have none. */
static void write_operands(const struct disasm_instruction *insn, const char *mnemonic,
			   const char *begin, size_t length, struct disasm_text *text)
{
	bool arm = insn->isa != FLOWTAP_ISA_RV64;
	struct operands operands = { insn, mnemonic, begin, begin, false,
				     takes_bits(insn->isa, mnemonic) };
	const char *end = begin + length;

	while (operands.at < end) {
		char c = *operands.at;
		bool number = arm ? c == '#' :
			      (c == '-' || isdigit((unsigned char)c)) &&
			      (operands.at == begin || strchr(" ,(\t", operands.at[-1]));

		if (number && write_number(&operands, text))
			continue;
		operands.at++;
		operands.bracket |= c == '[';
		if (c == '\t')
			c = ' ';
		if (c == ' ' && text->length && text->at[text->length - 1] == ',' && !arm)
			continue;
		flowtap_disasm_append(text, "%c", c < 0x20 || c > 0x7e ? '?' : c);
		if (c == ',' && arm && operands.at < end && *operands.at != ' ')
			flowtap_disasm_append(text, " ");
	}
}

/* Where the last operand begins; brackets and braces keep theirs together. */
static const char *last_operand(const char *operands)
{
	const char *last = operands;
	int depth = 0;

	for (const char *at = operands; *at; at++) {
		depth += *at == '[' || *at == '{';
		depth -= *at == ']' || *at == '}';
		if (*at == ',' && !depth)
			last = at + 1;
	}
	return last + strspn(last, " ");
}

/* A32 and T32: `[pc, #8]` as all of an operand. */
static struct reference literal_pc(const struct disasm_instruction *insn, const char *operand)
{
	bool thumb = insn->isa == FLOWTAP_ISA_T32;
	uint64_t pc = (insn->address & ~3ULL) + (thumb ? 4 : 8);
	char *end;
	long offset;

	if (insn->isa == FLOWTAP_ISA_A64 || insn->isa == FLOWTAP_ISA_RV64 ||
	    strncmp(operand, "[pc, #", 6))
		return (struct reference){ 0 };
	offset = strtol(operand + 6, &end, 0);
	if (strcmp(end, "]"))
		return (struct reference){ 0 };
	return (struct reference){ .there = true, .address = (uint32_t)(pc + (uint64_t)offset) };
}

static void write_mnemonic(bool tarmac, bool alone, const char *mnemonic, struct disasm_text *text)
{
	char upper[40];
	size_t n = 0;

	while (tarmac && mnemonic[n] && n < sizeof(upper) - 1) {
		upper[n] = (char)toupper((unsigned char)mnemonic[n]);
		n++;
	}
	upper[n] = '\0';
	if (tarmac)
		flowtap_disasm_append(text, alone ? "%s" : "%-8s ", upper);
	else
		flowtap_disasm_append(text, alone ? "%s" : "%s ", mnemonic);
}

size_t flowtap_disasm_spell(const struct flowtap_disasm_options *options,
			    const struct disasm_instruction *insn, const char *raw, char *at,
			    size_t capacity)
{
	bool tarmac = options->style == FLOWTAP_DISASM_TARMAC && insn->isa != FLOWTAP_ISA_RV64;
	struct disasm_text text = { .at = at, .capacity = capacity };
	const char *operands, *last;
	struct reference reference;
	char mnemonic[40];
	size_t n;

	*at = '\0';
	raw += strspn(raw, " \t");
	n = strcspn(raw, " \t");
	if (!isalnum((unsigned char)*raw) || n >= sizeof(mnemonic))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (raw[i] < 0x21 || raw[i] > 0x7e)
			return 0;
	memcpy(mnemonic, raw, n);
	mnemonic[n] = '\0';
	operands = raw + n + strspn(raw + n, " \t");

	write_mnemonic(tarmac, !*operands, mnemonic, &text);
	reference = reference_of(insn);
	last = *operands ? last_operand(operands) : operands;
	if (!reference.there && tarmac)
		reference = literal_pc(insn, last);
	write_operands(insn, mnemonic, operands,
		       reference.there && *operands ? (size_t)(last - operands) : strlen(operands),
		       &text);
	if (reference.there && *operands)
		write_reference(options, insn, reference, &text);
	while (text.length && at[text.length - 1] == ' ')
		at[--text.length] = '\0';
	return text.length;
}
