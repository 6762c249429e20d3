/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What real readers of Tarmac take, as a checker that is stricter than any of them: the rules of
 * Arm's tarmac-trace-utilities and of gem5's parser, found by running and reading them, and what
 * the specification says where both are silent. It shares nothing with the writer.
 */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_TTU_H
#define FLOWTAP_SELFTESTS_SUPPORT_TTU_H

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ttu {
	bool rows;		/* in: each line has its time; else Tarmac's columns */
	bool spelled;		/* in: asynchronous events as the specification has them, too */
	bool riscv;		/* in: QEMU4V: RISC-V's code is A with 16 digits, ra and t0 there */
	/* Called for each instruction that was executed or failed its condition. */
	void (*instruction)(struct ttu *ttu, uint64_t address, uint32_t opcode, char isa,
			    bool skipped);
	void *argument;
	/* out */
	const char *reason;	/* NULL: all is right */
	size_t line;
	size_t instructions, skipped, gaps, exceptions, faults, registers, branches, notes;
	uint64_t time, id;
	bool timed;
	uint64_t link;		/* the value of the last link register's line */
	uint64_t target;	/* of the last BR */
	char target_isa;
};

struct ttu_token {
	const char *at;
	size_t size;		/* 0: the end of the line */
	bool punctuation;
};

static inline bool ttu_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == '#';
}

/* False: a character no lexer knows. */
static inline bool ttu_lex(const char **at, const char *end, struct ttu_token *token)
{
	while (*at < end && **at == ' ')
		++*at;
	*token = (struct ttu_token){ .at = *at };
	if (*at == end)
		return true;
	if (strchr(":()[],<>", **at)) {
		token->punctuation = true;
		token->size = 1;
		++*at;
		return true;
	}
	while (*at < end && ttu_word_char(**at))
		++*at;
	token->size = *at - token->at;
	return token->size;
}

static inline bool ttu_is(const struct ttu_token *token, const char *word)
{
	return token->size == strlen(word) && !memcmp(token->at, word, token->size);
}

static inline bool ttu_digits(const struct ttu_token *token, const char *digits)
{
	if (token->punctuation || !token->size)
		return false;
	for (size_t i = 0; i < token->size; i++) {
		if (!strchr(digits, token->at[i]))
			return false;
	}
	return true;
}

#define TTU_DECIMAL "0123456789"
#define TTU_HEX "0123456789abcdef"

/* A word of that form comes next. */
static inline bool ttu_next_hex(const char **at, const char *end, uint64_t *value, size_t *size)
{
	struct ttu_token token;
	char copy[20] = "";

	if (!ttu_lex(at, end, &token) || !ttu_digits(&token, TTU_HEX) || token.size > 16)
		return false;
	memcpy(copy, token.at, token.size);
	*value = strtoull(copy, NULL, 16);
	*size = token.size;
	return true;
}

static inline bool ttu_next(const char **at, const char *end, const char *word)
{
	struct ttu_token token;

	return ttu_lex(at, end, &token) && ttu_is(&token, word);
}

static inline bool ttu_no(struct ttu *ttu, const char *reason)
{
	ttu->reason = reason;
	return false;
}

/* Its disassembly: nothing, or what a lexer can begin to read. */
static inline bool ttu_text(struct ttu *ttu, const char *at, const char *end, bool needed)
{
	while (at < end && *at == ' ')
		at++;
	if (at == end)
		return needed ? ttu_no(ttu, "no disassembly") : true;
	if (!isalnum((unsigned char)*at) && *at != '.' && *at != '<')
		return ttu_no(ttu, "a disassembly that cannot begin so");
	return true;
}

/* ISA, mode, colon. */
static inline bool ttu_mode(struct ttu *ttu, const char **at, const char *end, char *isa)
{
	struct ttu_token token;

	if (!ttu_lex(at, end, &token) || token.size != 1 || !strchr("ATO", *token.at))
		return ttu_no(ttu, "an ISA that is none of A, T, O");
	*isa = *token.at;
	if (!ttu_lex(at, end, &token) || token.punctuation || !token.size)
		return ttu_no(ttu, "no mode");
	if (!ttu_next(at, end, ":"))
		return ttu_no(ttu, "no colon after the mode");
	return true;
}

static inline bool ttu_widths(struct ttu *ttu, char isa, size_t address, size_t opcode)
{
	if (address != (isa == 'O' ? 16 : 8) && !(ttu->riscv && isa == 'A' && address == 16))
		return ttu_no(ttu, "an address of another width than the ISA's");
	if (opcode != 8 && opcode != 4)
		return ttu_no(ttu, "an opcode of no width");
	return true;
}

static inline bool ttu_es(struct ttu *ttu, const char *at, const char *end)
{
	uint64_t address, opcode = 0;
	size_t address_size, opcode_size = 8;
	struct ttu_token token;
	const char *back;
	bool dashes, failed;
	char isa;

	if (!ttu_lex(&at, end, &token))
		return ttu_no(ttu, "what is after ES");
	if (ttu_is(&token, "EXC") || ttu_is(&token, "Reset")) {
		ttu->exceptions++;
		return true;
	}
	if (ttu->spelled && (ttu_is(&token, "IRQ") || ttu_is(&token, "FIQ") ||
			     ttu_is(&token, "System")))
		return true;
	if (!ttu_is(&token, "("))
		return ttu_no(ttu, "neither an instruction nor EXC nor Reset after ES");
	if (!ttu_next_hex(&at, end, &address, &address_size) || !ttu_next(&at, end, ":"))
		return ttu_no(ttu, "no address");
	back = at;
	dashes = ttu_lex(&at, end, &token) && ttu_is(&token, "--------");
	if (!dashes) {
		at = back;
		if (!ttu_next_hex(&at, end, &opcode, &opcode_size))
			return ttu_no(ttu, "no opcode");
	}
	if (!ttu_next(&at, end, ")") || !ttu_mode(ttu, &at, end, &isa))
		return ttu->reason ? false : ttu_no(ttu, "no )");
	if (!ttu_widths(ttu, isa, address_size, opcode_size))
		return false;
	back = at;
	failed = ttu_lex(&at, end, &token) && ttu_is(&token, "CCFAIL");
	if (failed && isa == 'O')
		return ttu_no(ttu, "CCFAIL in AArch64");
	if (!ttu_text(ttu, failed ? at : back, end, !dashes))
		return false;
	ttu->faults += dashes;
	ttu->instructions += !dashes;
	ttu->skipped += failed;
	if (!dashes && ttu->instruction)
		ttu->instruction(ttu, address, opcode, isa, failed);
	return true;
}

static inline bool ttu_it(struct ttu *ttu, const char *at, const char *end, bool skipped)
{
	uint64_t address, opcode;
	size_t address_size, opcode_size;
	struct ttu_token token;
	uint64_t id;
	char isa;

	if (!ttu_next(&at, end, "(") || !ttu_lex(&at, end, &token) ||
	    !ttu_digits(&token, TTU_DECIMAL))
		return ttu_no(ttu, "no number of an instruction");
	id = strtoull(token.at, NULL, 10);
	if (id <= ttu->id)
		return ttu_no(ttu, "a number of an instruction that does not ascend");
	ttu->id = id;
	/* gem5 takes words between spaces here. */
	if (*at != ')' || at[1] != ' ' || !ttu_next(&at, end, ")"))
		return ttu_no(ttu, "no )");
	if (!ttu_next_hex(&at, end, &address, &address_size) ||
	    !ttu_next_hex(&at, end, &opcode, &opcode_size))
		return ttu_no(ttu, "no address or opcode");
	if (!ttu_mode(ttu, &at, end, &isa) || !ttu_widths(ttu, isa, address_size, opcode_size) ||
	    !ttu_text(ttu, at, end, true))
		return false;
	ttu->instructions++;
	ttu->skipped += skipped;
	if (ttu->instruction)
		ttu->instruction(ttu, address, opcode, isa, skipped);
	return true;
}

static inline bool ttu_register(struct ttu *ttu, const char *at, const char *end)
{
	struct ttu_token name, token;
	uint64_t value;
	size_t size;
	bool wide;

	if (!ttu_lex(&at, end, &name) || name.punctuation || !name.size)
		return ttu_no(ttu, "no name of a register");
	if (at + 1 < end && at[1] == '(' &&
	    (!ttu_next(&at, end, "(") || !ttu_lex(&at, end, &token) || !ttu_next(&at, end, ")")))
		return ttu_no(ttu, "what is in parentheses");
	if (!ttu_next_hex(&at, end, &value, &size) || at != end)
		return ttu_no(ttu, "no value, or more than one");
	if (ttu->riscv && (ttu_is(&name, "ra") || ttu_is(&name, "t0")))
		return size == 16 || ttu_no(ttu, "too few digits");
	wide = ttu_is(&name, "X30") || ttu_is(&name, "x30") || !strncmp(name.at, "SP_EL", 5);
	if (!wide && !ttu_is(&name, "LR") && !ttu_is(&name, "SP") && !ttu_is(&name, "lr") &&
	    !ttu_is(&name, "sp") && strncmp(name.at, "r14_", 4) && strncmp(name.at, "r13_", 4))
		return ttu_no(ttu, "a register that is not known here");
	if (size != (wide ? 16 : 8) && !(ttu_is(&name, "sp") && size == 16))
		return ttu_no(ttu, "too few or too many digits");
	if (ttu_is(&name, "X30") || ttu_is(&name, "x30") || ttu_is(&name, "LR") ||
	    ttu_is(&name, "lr") || !strncmp(name.at, "r14", 3))
		ttu->link = value;
	ttu->registers++;
	return true;
}

static inline bool ttu_event(struct ttu *ttu, const char *at, const char *end)
{
	struct ttu_token token;
	uint64_t value;
	size_t size;

	if (!ttu_lex(&at, end, &token))
		return ttu_no(ttu, "an event");
	if (ttu_is(&token, "DebugEvent_TraceGap")) {
		ttu->gaps++;
		return at != end || ttu_no(ttu, "a gap without a reason");
	}
	if (token.size > 11 && !memcmp(token.at, "DebugEvent_", 11)) {
		ttu->notes += ttu_is(&token, "DebugEvent_TraceNote");
		ttu->exceptions += ttu_is(&token, "DebugEvent_Exception");
		return true;
	}
	at = token.at;
	if (!ttu_next_hex(&at, end, &value, &size) || (size != 8 && size != 16) ||
	    !ttu_next_hex(&at, end, &value, &size) || size != 8 || !ttu_lex(&at, end, &token) ||
	    strncmp(token.at, "CoreEvent_", 10))
		return ttu_no(ttu, "an event of no known kind");
	ttu->exceptions++;
	return true;
}

static inline bool ttu_branch(struct ttu *ttu, const char *at, const char *end)
{
	struct ttu_token token;
	size_t size;

	if (!ttu_next(&at, end, "(") || !ttu_next_hex(&at, end, &ttu->target, &size) ||
	    !ttu_next(&at, end, ")") || !ttu_lex(&at, end, &token) || token.size != 1 ||
	    at != end || !strchr("ATO", *token.at))
		return ttu_no(ttu, "a branch that is not BR (ADDRESS) ISA");
	if (size != (*token.at == 'O' ? 16 : 8) && !ttu->riscv)
		return ttu_no(ttu, "a target of another width than the ISA's");
	ttu->target_isa = *token.at;
	ttu->branches++;
	return true;
}

/* Times ascend; what belongs to a line before has its time in rows, and none in columns. */
static inline bool ttu_time(struct ttu *ttu, const struct ttu_token *token, bool own)
{
	uint64_t time = strtoull(token->at, NULL, 10);

	if (token->size > 19)
		return ttu_no(ttu, "a time that is too long");
	if (ttu->timed && (own ? time <= ttu->time : time != ttu->time))
		return ttu_no(ttu, "a time that does not ascend");
	ttu->timed = true;
	ttu->time = time;
	return true;
}

static inline bool ttu_line(struct ttu *ttu, const char *at, const char *end)
{
	static const char indent[] = "                    ";
	struct ttu_token time, token;
	const char *begin = at;
	bool timed = true;

	if (at == end)
		return ttu_no(ttu, "an empty line");
	if (end - at > 255)
		return ttu_no(ttu, "a line that is too long");
	for (const char *c = at; c < end; c++) {
		if ((unsigned char)*c < ' ' || *c == 127)
			return ttu_no(ttu, "a control character");
	}
	if (!strncmp(at, "Tarmac ", 7))
		return (ttu->line == 1 && !ttu->rows) || ttu_no(ttu, "a header that is none");
	if (ttu->line == 1 && !ttu->rows)
		return ttu_no(ttu, "no header");
	if (!ttu_lex(&at, end, &time))
		return ttu_no(ttu, "a line that begins with no word");
	if (!ttu_digits(&time, TTU_DECIMAL)) {
		timed = false;
		if (ttu->rows || strncmp(begin, indent, 20) || begin[20] == ' ')
			return ttu_no(ttu, "no time, and it continues nothing");
		token = time;
	} else {
		if (!ttu_lex(&at, end, &token) ||
		    (!ttu_is(&token, "clk") && !ttu_is(&token, "ns") && !ttu_is(&token, "ps")))
			return ttu_no(ttu, "a unit of time that is not known");
		if (!ttu_lex(&at, end, &token))
			return ttu_no(ttu, "nothing that happened");
		if (token.size > 3 && !memcmp(token.at, "cpu", 3) && !ttu_lex(&at, end, &token))
			return ttu_no(ttu, "nothing that happened");
	}
	if (ttu_is(&token, "IT") || ttu_is(&token, "IS")) {
		if (!ttu->rows)
			return ttu_no(ttu, "a row among columns");
		return ttu_time(ttu, &time, true) && ttu_it(ttu, at, end, token.at[1] == 'S');
	}
	if (ttu_is(&token, "ES")) {
		if (ttu->rows || !timed)
			return ttu_no(ttu, "columns among rows, or without a time");
		return ttu_time(ttu, &time, true) && ttu_es(ttu, at, end);
	}
	if (ttu_is(&token, "E")) {
		if (timed && !ttu_time(ttu, &time, !ttu->rows ||
				       strtoull(time.at, NULL, 10) != ttu->time))
			return false;
		return ttu_event(ttu, at, end);
	}
	if (timed != ttu->rows || (timed && !ttu_time(ttu, &time, false)))
		return ttu->reason ? false : ttu_no(ttu, "a time where none is, or none");
	if (ttu_is(&token, "R"))
		return ttu_register(ttu, at, end);
	if (ttu_is(&token, "BR"))
		return ttu_branch(ttu, at, end);
	if (ttu_is(&token, "EXC") && !ttu->rows) {
		ttu->exceptions++;
		return true;
	}
	return ttu_no(ttu, "nothing that is known");
}

/* text: NUL-terminated. True if all is right; else reason and line. */
static inline bool ttu_check(struct ttu *ttu, const char *text, size_t size)
{
	const char *end = text + size, *newline;

	ttu->reason = NULL;
	ttu->line = 0;
	if (memchr(text, 0, size))
		return ttu_no(ttu, "a NUL");
	while (text < end) {
		ttu->line++;
		newline = memchr(text, '\n', end - text);
		if (!newline)
			return ttu_no(ttu, "no newline at the end");
		if (!ttu_line(ttu, text, newline)) {
			printf("# line %zu: %s: %.*s\n", ttu->line, ttu->reason,
			       (int)(newline - text), text);
			return false;
		}
		text = newline + 1;
	}
	return true;
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_TTU_H */
