// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Prints the part of an instruction's line that stays the same, of each instruction of a block,
 * into one buffer.
 */
#include "formats/lines/render.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#define TAIL_MAX	208U		/* with its size */
#define SUFFIX_MAX	128U
#define RV64_RA		1U
#define RV64_T0		5U

struct text {
	char at[TAIL_MAX + SUFFIX_MAX];
	struct flowtap_line line;
};

static void text_begin(struct text *text)
{
	text->line = (struct flowtap_line){ text->at, text->at + sizeof(text->at) };
}

static size_t text_size(const struct text *text)
{
	return text->line.at - text->at;
}

static void spaces(struct flowtap_line *line, size_t n)
{
	while (n--)
		flowtap_line_string(line, " ");
}

/* The encoding as the architecture has it. */
static uint32_t opcode_of(unsigned int isa, const uint8_t *insn, size_t size)
{
	uint32_t first = insn[0] | (uint32_t)insn[1] << 8;
	uint32_t second = size == 4 ? insn[2] | (uint32_t)insn[3] << 8 : 0;

	if (isa == FLOWTAP_ISA_T32 && size == 4)
		return first << 16 | second;
	return second << 16 | first;
}

static void write_opcode(struct flowtap_line *line, unsigned int isa, const uint8_t *insn,
			 size_t size)
{
	const char *word = isa_is_arm(isa) ? ".inst 0x" : size == 4 ? ".4byte 0x" : ".2byte 0x";

	flowtap_line_string(line, word);
	flowtap_line_hex(line, opcode_of(isa, insn, size));
}

/* Whatever the disassembler says, it is one line that readers take. */
static void write_disassembly(const struct lines *lines, struct flowtap_line *line,
			      unsigned int isa, uint8_t it, uint64_t address, const uint8_t *insn,
			      size_t size)
{
	char text[256] = "";
	size_t n = 0;

	if (lines->options.disassemble)
		lines->options.disassemble(lines->options.argument, isa, it, address, insn, size,
					   text, sizeof(text));
	text[LINES_TEXT_MAX] = '\0';
	for (; text[n] && text[n] != '\n' && text[n] != '\r'; n++) {
		if ((unsigned char)text[n] < ' ' || (unsigned char)text[n] > '~')
			text[n] = text[n] == '\t' ? ' ' : '?';
	}
	while (n && text[n - 1] == ' ')
		n--;
	text[n] = '\0';
	if (isalnum((unsigned char)text[0]) || text[0] == '.' || text[0] == '<')
		flowtap_line_string(line, text);
	else
		write_opcode(line, isa, insn, size);
}

static const char *unit_of(const struct lines *lines)
{
	return lines->options.time == FLOWTAP_LINES_TIME ? "ps" : "clk";
}

/*
 * From after the time on. The mode has 16 columns, of which the second half is for CCFAIL, and
 * more where a long one has a condition.
 */
static void write_columns(const struct lines *lines, const struct flowtap_block *block, size_t at,
			  size_t size, struct text *text, uint16_t *failed)
{
	struct flowtap_line *line = &text->line;
	bool conditions = block->isa == FLOWTAP_ISA_A32 || block->isa == FLOWTAP_ISA_T32;
	const char *mode;
	size_t used;

	flowtap_line_string(line, " ");
	flowtap_line_string(line, unit_of(lines));
	spaces(line, 4 - strlen(unit_of(lines)));
	flowtap_line_string(line, "ES  (");
	flowtap_lines_address(line, block->isa, block->address + at);
	flowtap_line_string(line, ":");
	flowtap_lines_hex(line, 2 * size, opcode_of(block->isa, block->bytes + at, size));
	flowtap_line_string(line, ") ");
	spaces(line, 8 - 2 * size);
	flowtap_lines_letter(line, lines->form.letters[block->isa]);
	flowtap_line_string(line, " ");
	mode = line->at;
	lines->form.mode(line, &lines->context, block->isa);
	flowtap_line_string(line, ":");
	used = line->at - mode;
	if (used < 8)
		spaces(line, 8 - used);
	else if (conditions)
		spaces(line, 1);
	*failed = line->at - text->at;
	used = line->at - mode;
	spaces(line, used < 9 ? 16 - used : conditions ? 7 : used < 16 ? 16 - used : 1);
}

/* From after the instruction's number on. */
static void write_row(const struct lines *lines, const struct flowtap_block *block, size_t at,
		      size_t size, struct flowtap_line *line)
{
	flowtap_line_string(line, ") ");
	flowtap_lines_address(line, block->isa, block->address + at);
	flowtap_line_string(line, " ");
	flowtap_lines_hex(line, 2 * size, opcode_of(block->isa, block->bytes + at, size));
	flowtap_line_string(line, " ");
	flowtap_lines_letter(line, lines->form.letters[block->isa]);
	flowtap_line_string(line, " ");
	lines->form.mode(line, &lines->context, block->isa);
	flowtap_line_string(line, " : ");
}

/* CBZ, CBNZ; WLS, LE, WLSTP, LETP: they compare, which is no condition that fails. */
static bool compares(const struct flowtap_block *block)
{
	size_t size = block->size - block->last;
	uint32_t opcode = opcode_of(block->isa, block->bytes + block->last, size);

	return size == 2 ? (opcode & 0xf500) == 0xb100 : (opcode & 0xff80f001) == 0xf000c001;
}

/*
 * Whether the last instruction failed its condition if it is not taken. A T32 block does not know
 * whether it begins within an IT block (arm.h).
 */
static bool fails(const struct lines *lines, const struct flowtap_block *block)
{
	if (end_falls_through(block))
		return false;
	switch (block->isa) {
	case FLOWTAP_ISA_A32:
		return block->conditional;
	case FLOWTAP_ISA_T32:
		return !compares(block) && (block->conditional || !block->direct ||
					    block->target != block->address + block->size);
	default:
		/* A vendor's instruction of RV64, which may be a branch, is not direct. */
		return block->conditional && block->direct && lines->options.untaken_skipped &&
		       !lines->form.columns;
	}
}

/* The register that JAL, JALR and C.JALR leave the return address in; 0: none. */
static unsigned int riscv_link(const struct flowtap_block *block)
{
	size_t size = block->size - block->last;
	uint32_t opcode = opcode_of(block->isa, block->bytes + block->last, size);

	if (size == 4 && ((opcode & 0x7f) == 0x6f || (opcode & 0x707f) == 0x67))
		return opcode >> 7 & 31;
	if (size == 2 && (opcode & 0xf07f) == 0x9002 && opcode & 0xf80)
		return RV64_RA;
	return 0;
}

/* The link register as the mode's own: User and Hyp mode share one. */
static const char *bank(const struct lines *lines)
{
	switch (lines->context.mode) {
	case FLOWTAP_PRIVILEGE_S:
		return lines->form.columns ? " (SVC)" : "_svc";
	case FLOWTAP_PRIVILEGE_M:
		return lines->form.columns ? " (MON)" : "_mon";
	default:
		return lines->form.columns ? " (USR)" : "_usr";
	}
}

/* BLXNS leaves FNC_RETURN if it goes to Non-secure state, which its register says. */
static bool is_blxns(const struct flowtap_block *block)
{
	size_t size = block->size - block->last;

	return block->isa == FLOWTAP_ISA_T32 && size == 2 &&
	       (opcode_of(block->isa, block->bytes + block->last, size) & 0xff84) == 0x4784;
}

/* The name of the link register, or false: it leaves no return address that can be known. */
static bool write_link_name(const struct lines *lines, const struct flowtap_block *block,
			    struct flowtap_line *line)
{
	unsigned int link = isa_is_arm(block->isa) ? block->link : riscv_link(block);

	if ((link != RV64_RA && (link != RV64_T0 || !lines->form.lower)) || is_blxns(block))
		return false;
	if (!lines->form.columns) {
		flowtap_line_string(line, "R ");
	} else {
		flowtap_line_string(line, LINES_INDENT "R ");
	}
	if (block->isa == FLOWTAP_ISA_RV64 && lines->form.lower)
		flowtap_line_string(line, link == RV64_RA ? "ra " : "t0 ");
	else if (block->isa == FLOWTAP_ISA_A64 || block->isa == FLOWTAP_ISA_RV64)
		flowtap_line_string(line, lines->form.lower ? "x30 " : "X30 ");
	else if (lines->form.lower)
		flowtap_line_string(line, "lr ");
	else if (!lines->form.columns)
		flowtap_line_string(line, "r14");
	else
		flowtap_line_string(line, "LR");
	if (line->at[-1] == ' ')
		return true;
	if (!lines->form.columns || block->isa == FLOWTAP_ISA_A32)
		flowtap_line_string(line, bank(lines));
	flowtap_line_string(line, " ");
	return true;
}

/* Whether it takes what comes next to say what the last instruction did. */
static bool apart(const struct lines *lines, const struct flowtap_block *block)
{
	bool narrow = block->isa == FLOWTAP_ISA_A32 || block->isa == FLOWTAP_ISA_T32;

	return end_is_trap(block) || end_branches_to_next(block) || lines->options.synthetic_sp ||
	       (narrow && !block->direct && !end_falls_through(block)) ||
	       (block->direct && block->isa != block->target_isa);
}

static void write_suffix(const struct lines *lines, const struct flowtap_block *block,
			 struct text *text, struct lines_render *render)
{
	struct flowtap_line *line = &text->line;
	uint64_t block_end = block->address + block->size;
	unsigned int isa = block->direct ? block->target_isa : block->isa;
	size_t link;

	text_begin(text);
	if (write_link_name(lines, block, line)) {
		flowtap_lines_address(line, block->isa,
				      block_end | (block->isa == FLOWTAP_ISA_T32));
		flowtap_line_string(line, "\n");
	}
	link = text_size(text);
	render->link = link;
	if (!lines->form.columns || end_falls_through(block) || apart(lines, block))
		return;
	flowtap_line_string(line, LINES_INDENT "BR (");
	flowtap_lines_address(line, isa, 0);
	flowtap_line_string(line, ") ");
	flowtap_lines_letter(line, lines->form.letters[isa]);
	flowtap_line_string(line, "\n");
	render->branch = text_size(text) - link;
}

/* The text of every instruction goes through here. Returns where it ends. */
static uint8_t *write_tails(const struct lines *lines, const struct flowtap_block *block,
			    uint8_t *it, struct text *text, struct lines_render *render)
{
	struct flowtap_arm_insn insn = { .it = *it };
	uint8_t *to = render->text;
	uint16_t size;

	for (size_t at = 0, length; at < block->size; at += length) {
		length = insn_size(block->isa, block->bytes + at);
		text_begin(text);
		if (lines->form.columns)
			write_columns(lines, block, at, length, text, &render->failed);
		else
			write_row(lines, block, at, length, &text->line);
		write_disassembly(lines, &text->line, block->isa, insn.it, block->address + at,
				  block->bytes + at, length);
		flowtap_line_string(&text->line, "\n");
		if (block->isa == FLOWTAP_ISA_T32)
			flowtap_arm_classify(FLOWTAP_ISA_T32, block->address + at, insn.it,
					     block->bytes + at, length, &insn);
		size = text_size(text);
		memcpy(to, &size, sizeof(size));
		to = (uint8_t *)memcpy(to + 2, text->at, size) + size;
	}
	*it = insn.it;
	return to;
}

int flowtap_lines_render_part(const struct lines *lines, const struct flowtap_block *block,
			      uint8_t *it, struct lines_render **render)
{
	/* The last 64 are for copies by whole chunks. */
	size_t capacity = sizeof(**render) + (size_t)block->instructions * TAIL_MAX + SUFFIX_MAX +
			  64;
	struct lines_render *made = calloc(1, capacity);
	struct text text;
	uint8_t *to;

	if (!made)
		return -ENOMEM;
	made->limit = isa_is_wide(block->isa) ? 0 : 1ULL << 32;
	to = write_tails(lines, block, it, &text, made);
	made->fails = fails(lines, block);
	if (!lines->form.columns || !made->fails)
		made->failed = 0;
	write_suffix(lines, block, &text, made);
	made->suffix = to - made->text;
	memcpy(to, text.at, text_size(&text));
	to += text_size(&text);
	made->capacity = to - made->text + (block->instructions + 1) * LINES_HEAD_MAX + 64;
	made->size = to + 64 - (uint8_t *)made;
	/* Renderings lie close to each other, not where the space for one was. */
	*render = malloc(made->size);
	if (*render)
		memcpy(*render, made, made->size);
	free(made);
	return *render ? 0 : -ENOMEM;
}

int flowtap_lines_render(struct lines *lines, const struct flowtap_block *block,
			 const struct lines_render **render)
{
	const struct flowtap_render *kept = flowtap_slot_find(&lines->slot, block);
	struct flowtap_render made = {
		.mark = lines->print | (apart(lines, block) ? LINES_MARK_APART : 0),
	};
	struct lines_render *lines_made;
	uint8_t it = 0;
	int error;

	if (kept && (kept->mark & ~LINES_MARK_APART) == lines->print) {
		*render = kept->bytes;
		return 0;
	}
	error = flowtap_block_check(block);
	if (!error)
		error = flowtap_lines_render_part(lines, block, &it, &lines_made);
	if (error)
		return error;
	made.bytes = lines_made;
	made.size = lines_made->size;
	*render = flowtap_slot_keep(&lines->slot, block, &made, made.size)->bytes;
	return 0;
}
