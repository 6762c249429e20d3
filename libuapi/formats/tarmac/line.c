// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Scans a line word by word for its time, CPU and event, and accepts the columns in each order
 * that a producer writes.
 */
#include "formats/tarmac/line.h"

#include <flowtap/flow.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

/* --- What is before the event. --- */

static const struct unit {
	char name[4];
	uint32_t times;		/* nanoseconds of one, or 0 */
	uint32_t parts;		/* how many are a nanosecond, or 0; both: cycles */
	bool old;
} units[] = {
	{ "clk", 0, 0, false }, { "ns", 1, 0, false }, { "ps", 0, 1000, false },
	{ "us", 1000, 0, true }, { "ms", 1000000, 0, true }, { "s", 1000000000, 0, true },
	{ "fs", 0, 1000000, true }, { "cs", 0, 0, false }, { "cyc", 0, 0, false },
	{ "tic", 0, 0, false },
};

/* `scale`: 10 to the number of digits that the time has after its point. */
static uint64_t to_nanoseconds(uint64_t time, const struct unit *unit, uint64_t scale)
{
	unsigned __int128 scaled = (unsigned __int128)time * (unit->times ? unit->times : 1);

	/* No division of 128 bits on each line of a usual file. */
	if (scale == 1 && unit->parts)
		return time / unit->parts;
	if (scale > 1)
		scaled /= (unit->parts ? unit->parts : 1) * scale;
	return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

static void parse_unit(struct tarmac_scan *scan, uint64_t scale, struct tarmac_head *head)
{
	const char *at = scan->at;
	size_t size = 0;

	while (scan_is_letter(at[size]))
		size++;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const struct unit *unit = &units[i];

		if (!word_is(at, size, unit->name))
			continue;
		scan->at += size;
		head->counts = !unit->times && !unit->parts;
		head->old_unit = unit->old;
		head->nanoseconds = head->counts ? 0 : to_nanoseconds(head->time, unit, scale);
		return;
	}
}

/*
 * `.356000`, of RTL simulators that print the time of their scale: the time is counted in units of
 * its last digit. False: more digits than any of them has.
 */
static bool parse_fraction(struct tarmac_scan *scan, struct tarmac_head *head, uint64_t *scale)
{
	uint64_t digits;
	unsigned int n;

	*scale = 1;
	if (*scan->at != '.')
		return true;
	scan->at++;
	n = scan_decimal(scan, &digits);
	if (!n || n > 9)
		return false;
	while (n--)
		*scale *= 10;
	head->fraction = true;
	return !__builtin_mul_overflow(head->time, *scale, &head->time) &&
	       !__builtin_add_overflow(head->time, digits, &head->time);
}

/* False: what begins with a digit is no time. */
static bool parse_time(struct tarmac_scan *scan, struct tarmac_head *head)
{
	struct tarmac_scan after = *scan;
	uint64_t scale;

	if (*after.at == '-') {
		/* The specification's eleven dashes for one that is not known. */
		while (*after.at == '-')
			after.at++;
		if (!scan_is_blank(*after.at))
			return false;
		*scan = after;
		return true;
	}
	if (!scan_is_decimal(*after.at))
		return true;
	if (scan_decimal(&after, &head->time) > 19 || !parse_fraction(&after, head, &scale))
		return false;
	if (!scan_is_blank(*after.at) && !scan_is_letter(*after.at))
		return false;
	head->timed = head->counts = true;
	tarmac_blanks(&after);
	parse_unit(&after, scale, head);
	/* Of a cycle there is no part. */
	if (head->fraction && head->counts)
		return false;
	*scan = after;
	return true;
}

/* The number that a name ends with: 3 of cluster1.cpu3, 0 of cpu. */
static uint32_t last_number(const char *name, size_t size)
{
	const char *end = name + size;
	uint32_t number = 0;

	while (size && scan_is_decimal(name[size - 1]))
		size--;
	for (const char *at = name + size; at < end && number < UINT32_MAX / 10; at++)
		number = number * 10 + (uint32_t)(*at - '0');
	return number;
}

/* cluster1.cpu0, as models of several clusters name their CPUs: of where they are, too. */
static bool is_path(const char *word, size_t size)
{
	for (size_t i = 0; i + 3 < size; i++)
		if (word[i] == '.' && !memcmp(word + i + 1, "cpu", 3))
			return true;
	return false;
}

/* cpu0, cpu12, cluster1.cpu0; a number by itself where an instruction follows. */
static void parse_cpu(struct tarmac_scan *scan, struct tarmac_head *head)
{
	struct tarmac_scan after = *scan;
	const char *word, *rest;
	uint64_t number;
	size_t size;

	if (!scan_is_letter(*after.at) && !scan_is_decimal(*after.at))
		return;
	size = tarmac_word(&after, &word);
	rest = word;
	if (word_begins(word, size, "cpu"))
		rest += 3;
	else if (!head->timed || (!scan_is_decimal(*word) && !is_path(word, size)))
		return;
	after.end = after.at;
	after.at = rest;
	head->cpu_named = !scan_is_decimal(*word);
	head->has_cpu = true;
	if (!scan_decimal(&after, &number) || after.at != after.end || number > UINT32_MAX) {
		number = 0;
		if (head->cpu_named) {
			number = last_number(word, size);
			head->cpu_name = word;
			head->cpu_name_size = size;
		}
	}
	head->cpu = (uint32_t)number;
	scan->at += size;
}

/* --- Events. --- */

static const struct word {
	const char *name;
	enum tarmac_event event;
	bool prefix;
} words[] = {
	{ "IT", TARMAC_INSTRUCTION, false }, { "ES", TARMAC_OTHER_STEP, false },
	{ "R", TARMAC_REGISTER, false }, { "IS", TARMAC_SKIPPED, false },
	{ "BR", TARMAC_BRANCH, false }, { "E", TARMAC_EVENT, false },
	{ "EXC", TARMAC_EXCEPTION, false }, { "IF", TARMAC_INSTRUCTION, false },
	{ "LD", TARMAC_MEMORY_ROW, false }, { "ST", TARMAC_MEMORY_ROW, false },
	{ "LA", TARMAC_MEMORY_ROW, false }, { "SA", TARMAC_MEMORY_ROW, false },
	{ "SX", TARMAC_MEMORY_ROW, false },
	{ "MR", TARMAC_MEMORY, true }, { "MW", TARMAC_MEMORY, true },
	{ "MNR", TARMAC_MEMORY, true }, { "MNW", TARMAC_MEMORY, true },
	{ "R0", TARMAC_MEMORY, true }, { "W0", TARMAC_MEMORY, true },
	{ "TTW", TARMAC_PAGE_TABLE, false }, { "TLB", TARMAC_PAGE_TABLE, false },
	{ "CACHE", TARMAC_ELSE, false }, { "CADI", TARMAC_ELSE, false },
	{ "P", TARMAC_ELSE, false }, { "SIGNAL", TARMAC_ELSE, true },
	/* A branch once more (Fast Models, trace of the program flow). */
	{ "FD", TARMAC_ELSE, false }, { "FI", TARMAC_ELSE, false }, { "FR", TARMAC_ELSE, false },
	{ "INFO_", TARMAC_ELSE, true }, { "SEV", TARMAC_ELSE, false },
	{ "Tarmac", TARMAC_HEADER, false },
	/* What models and simulators say in between. */
	{ "TUBE", TARMAC_COMMENT, false }, { "Warning:", TARMAC_COMMENT, false },
	{ "Note:", TARMAC_COMMENT, false }, { "Error:", TARMAC_COMMENT, false },
	{ "Info:", TARMAC_COMMENT, false },
	{ "//", TARMAC_COMMENT, true }, { ";", TARMAC_COMMENT, true },
	{ "*", TARMAC_COMMENT, true }, { "#", TARMAC_COMMENT, true },
};

/* MR4, MNW4___D, of a coprocessor MCR4___R, on the bus BNR4___I: M or B, which, R or W, a size. */
static bool is_access(const char *word, size_t size)
{
	size_t at = 1;

	if (size < 3 || (*word != 'M' && *word != 'B'))
		return false;
	if (word[at] != 'R' && word[at] != 'W')
		at++;
	return at + 1 < size && (word[at] == 'R' || word[at] == 'W') && scan_is_decimal(word[at + 1]);
}

static enum tarmac_event find(const char *word, size_t size)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].prefix ? word_begins(word, size, words[i].name) :
				      word_is(word, size, words[i].name))
			return words[i].event;
	return is_access(word, size) ? TARMAC_MEMORY : TARMAC_UNKNOWN;
}

/* `CORTEXM0PLUS TARMAC 00000001`, `hw_top.u_tarmac`: what RTL says of itself before all else. */
static bool names_itself(const char *line, const char *end)
{
	return memmem(line, end - line, "TARMAC", 6) || memmem(line, end - line, "tarmac", 6);
}

void tarmac_head(struct tarmac_scan *scan, struct tarmac_head *head)
{
	const char *begin = scan->at, *word;
	size_t size;

	*head = (struct tarmac_head){ .event = TARMAC_UNKNOWN };
	tarmac_blanks(scan);
	head->indented = scan->at != begin;
	if (scan->at >= scan->end) {
		head->event = TARMAC_BLANK;
		return;
	}
	if (!parse_time(scan, head))
		return;
	tarmac_blanks(scan);
	parse_cpu(scan, head);
	size = tarmac_word(scan, &word);
	head->event = find(word, size);
	if (head->event == TARMAC_OTHER_STEP) {
		head->es = true;
		tarmac_blanks(scan);
		if (*scan->at == '(')
			head->event = TARMAC_INSTRUCTION;
	}
	if (head->event == TARMAC_UNKNOWN && !head->timed && names_itself(begin, scan->end))
		head->event = TARMAC_COMMENT;
	/* Times and CPUs are of events. */
	if (head->timed && (head->event == TARMAC_COMMENT || head->event == TARMAC_HEADER))
		head->event = TARMAC_UNKNOWN;
}

/* --- Instructions. --- */

static bool is_set(const char *word, size_t size)
{
	if (size == 3)
		return word_is(word, size, "T16") || word_is(word, size, "T32");
	return size == 1 && *word && strchr("ATOEX", *word);
}

/* Opcode, or dashes where none was fetched. */
static const char *parse_opcode(struct tarmac_scan *scan, struct tarmac_instruction *insn)
{
	uint64_t opcode = 0;

	if (*scan->at == '-') {
		while (*scan->at == '-')
			scan->at++;
		return NULL;
	}
	insn->digits = (uint8_t)scan_hex(scan, &opcode);
	insn->opcode = (uint32_t)opcode;
	return insn->digits == 4 || insn->digits == 8 ? NULL : "an opcode has 4 or 8 digits";
}

static const char *set_address(struct tarmac_instruction *insn, uint64_t address,
			       unsigned int digits)
{
	insn->address = address;
	insn->address_digits = (uint8_t)digits;
	return digits && digits <= 16 ? NULL : "an address has up to 16 digits";
}

static const char *parse_address(struct tarmac_scan *scan, struct tarmac_instruction *insn)
{
	uint64_t address;
	unsigned int digits = scan_hex(scan, &address);

	return set_address(insn, address, digits);
}

/* (ADDRESS:OPCODE) */
static const char *parse_pair(struct tarmac_scan *scan, struct tarmac_instruction *insn)
{
	const char *wrong;

	scan->at++;
	if (*scan->at == 'D' || *scan->at == 'E') {
		struct tarmac_scan after = *scan;
		const char *word = after.at;

		while (scan_is_letter(*after.at))
			after.at++;
		insn->debug = word_is(word, after.at - word, "DBGITR") ||
			      word_is(word, after.at - word, "EDITR");
		if (insn->debug)
			*scan = after;
	}
	wrong = insn->debug ? NULL : parse_address(scan, insn);
	if (wrong)
		return wrong;
	if (*scan->at++ != ':')
		return "`:` is missing between address and opcode";
	wrong = parse_opcode(scan, insn);
	if (wrong)
		return wrong;
	return *scan->at++ == ')' ? NULL : "`)` is missing after the opcode";
}

/* What may be in brackets: number, address and number, address, address and opcode. */
struct bracket {
	bool there, two;
	uint64_t first, second;
	uint8_t first_digits, second_digits;
	uint64_t decimal;
};

static const char *parse_bracket(struct tarmac_scan *scan, struct bracket *bracket)
{
	struct tarmac_scan number;

	if (*scan->at != '(')
		return NULL;
	scan->at++;
	bracket->there = true;
	number = *scan;
	bracket->first_digits = (uint8_t)scan_hex(scan, &bracket->first);
	if (*scan->at == ':') {
		scan->at++;
		bracket->two = true;
		number = *scan;
		bracket->second_digits = (uint8_t)scan_hex(scan, &bracket->second);
	}
	scan_decimal(&number, &bracket->decimal);
	if (!bracket->first_digits || *scan->at != ')')
		return "a number in brackets is missing";
	scan->at++;
	return NULL;
}

/*
 * IT (NUMBER) ADDRESS OPCODE SET; others have (ADDRESS) OPCODE SET, (ADDRESS:NUMBER) ADDRESS OPCODE
 * SET, or, as the specification's example, (ADDRESS:OPCODE) SET.
 */
static const char *parse_row(struct tarmac_scan *scan, struct tarmac_instruction *insn)
{
	struct bracket bracket = { 0 };
	const char *wrong = parse_bracket(scan, &bracket), *word;
	struct tarmac_scan after;
	size_t size;

	if (wrong)
		return wrong;
	insn->plain = !bracket.there;
	after = *scan;
	size = tarmac_word(&after, &word);
	if (bracket.two && is_set(word, size) &&
	    (bracket.second_digits == 4 || bracket.second_digits == 8)) {
		insn->opcode = (uint32_t)bracket.second;
		insn->digits = bracket.second_digits;
		insn->spec = true;
		return set_address(insn, bracket.first, bracket.first_digits);
	}
	tarmac_blanks(scan);
	after = *scan;
	wrong = parse_address(scan, insn);
	if (wrong)
		return wrong;
	scan_physical(scan);
	tarmac_blanks(scan);
	if (bracket.there && !bracket.two && bracket.first_digits >= 8) {
		struct tarmac_scan set = *scan;

		size = tarmac_word(&set, &word);
		if (is_set(word, size)) {
			wrong = set_address(insn, bracket.first, bracket.first_digits);
			return wrong ? wrong : parse_opcode(&after, insn);
		}
	}
	insn->has_id = bracket.there;
	insn->id = bracket.decimal;
	return parse_opcode(scan, insn);
}

/* `el1h_ns:`, `EL1h_n :`, `hyp ns:` */
static const char *parse_mode(struct tarmac_scan *scan, struct tarmac_instruction *insn)
{
	const char *end;

	tarmac_blanks(scan);
	end = memchr(scan->at, ':', scan->end - scan->at);
	if (!end || end - scan->at > 24)
		return "`:` is missing after the mode";
	insn->mode = scan->at;
	scan->at = end + 1;
	while (end > insn->mode && scan_is_blank(end[-1]))
		end--;
	insn->mode_size = end - insn->mode;
	insn->mode_words = memchr(insn->mode, ' ', insn->mode_size);
	return NULL;
}

const char *tarmac_instruction(struct tarmac_scan scan, bool es, struct tarmac_instruction *insn)
{
	const char *wrong, *word;
	size_t size;

	memset(insn, 0, sizeof(*insn));
	tarmac_blanks(&scan);
	wrong = es ? parse_pair(&scan, insn) : parse_row(&scan, insn);
	if (wrong)
		return wrong;
	size = tarmac_word(&scan, &word);
	if (!is_set(word, size)) {
		if (!insn->plain || !size || insn->address_digits > 8)
			return "the instruction set is missing (A, T, O)";
		/* RTL of Cortex-M0, which has one only: IT ADDRESS OPCODE TEXT. */
		insn->letter = 'T';
		insn->mode = insn->text = word;
		return NULL;
	}
	insn->plain = false;
	insn->letter = *word;
	insn->mode = scan.at;
	/* RTL simulators of M-profile have no mode. */
	if (size == 1)
		wrong = parse_mode(&scan, insn);
	if (wrong)
		return wrong;
	tarmac_blanks(&scan);
	if (scan.end - scan.at >= 6 && !memcmp(scan.at, "CCFAIL", 6)) {
		insn->skipped = true;
		scan.at += 6;
		tarmac_blanks(&scan);
	}
	insn->text = scan.at;
	return NULL;
}

static const struct {
	const char *name;
	uint8_t mode;
} modes[] = {
	{ "el0t", FLOWTAP_PRIVILEGE_U }, { "el1h", FLOWTAP_PRIVILEGE_S },
	{ "el1t", FLOWTAP_PRIVILEGE_S }, { "el2h", FLOWTAP_PRIVILEGE_H },
	{ "el2t", FLOWTAP_PRIVILEGE_H }, { "el3h", FLOWTAP_PRIVILEGE_M },
	{ "el3t", FLOWTAP_PRIVILEGE_M }, { "usr", FLOWTAP_PRIVILEGE_U },
	{ "svc", FLOWTAP_PRIVILEGE_S }, { "sys", FLOWTAP_PRIVILEGE_S },
	{ "abt", FLOWTAP_PRIVILEGE_S }, { "und", FLOWTAP_PRIVILEGE_S },
	{ "irq", FLOWTAP_PRIVILEGE_S }, { "fiq", FLOWTAP_PRIVILEGE_S },
	{ "hyp", FLOWTAP_PRIVILEGE_H }, { "mon", FLOWTAP_PRIVILEGE_M },
	/* M-profile, of models and of RTL simulators: its trace units have levels 0 and 3 only. */
	{ "thread", FLOWTAP_PRIVILEGE_U }, { "handler", FLOWTAP_PRIVILEGE_M },
	{ "thrd", FLOWTAP_PRIVILEGE_U }, { "hndl", FLOWTAP_PRIVILEGE_M },
	{ "hdlr", FLOWTAP_PRIVILEGE_M },
};

static const struct {
	const char *name;
	uint8_t security;
} states[] = {
	{ "ns", FLOWTAP_NONSECURE }, { "n", FLOWTAP_NONSECURE }, { "s", FLOWTAP_SECURE },
	{ "realm", FLOWTAP_REALM }, { "root", FLOWTAP_ROOT }, { "rl", FLOWTAP_REALM },
	{ "rt", FLOWTAP_ROOT },
};

static bool same_word(const char *word, size_t size, const char *name)
{
	return size == strlen(name) && !strncasecmp(word, name, size);
}

bool tarmac_mode(const char *word, size_t size, uint8_t *mode, uint8_t *security, bool *bare)
{
	size_t name = 0, i;

	while (name < size && word[name] != '_' && word[name] != ' ')
		name++;
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (same_word(word, name, modes[i].name))
			break;
	if (i == sizeof(modes) / sizeof(modes[0]))
		return false;
	*mode = modes[i].mode;
	*bare = name == size;
	if (*bare) {
		*security = FLOWTAP_SECURE;
		return true;
	}
	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (same_word(word + name + 1, size - name - 1, states[i].name)) {
			*security = states[i].security;
			return true;
		}
	}
	return false;
}

const char *tarmac_branch(struct tarmac_scan scan, uint64_t *target)
{
	unsigned int digits;

	tarmac_blanks(&scan);
	if (*scan.at++ != '(')
		return "`(` is missing before a branch's target";
	digits = scan_hex(&scan, target);
	if (!digits || digits > 16 || *scan.at++ != ')')
		return "a branch has no target";
	tarmac_blanks(&scan);
	if (*scan.at == 'T')
		*target &= ~1ULL;
	return NULL;
}
