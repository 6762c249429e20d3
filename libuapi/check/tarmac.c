// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Tarmac and QEMU4V: what their reader says of them, where the flow is not continuous, and what
 * Arm's tarmac-trace-utilities ("Arm's tools") refuse or drop though the specification allows it.
 * What they only warn of (blank lines, as Arm's models write them) is none of it.
 */
#include "check/internal.h"
#include "flow/elsewhere.h"
#include "formats/tarmac/watch.h"

#include <ctype.h>
#include <errno.h>
#include <flowtap/learned.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CPUS 256U

/* The line of an instruction. */
struct insn_line {
	uint64_t offset;
	uint64_t number;	/* 0: none */
	uint64_t address;
};

struct text_check {
	struct tarmac_watch watch;
	struct flowtap_sink sink;
	struct flowtap_check *check;
	bool tarmac;
	bool packed;
	uint64_t offset;	/* of this line */
	uint64_t line;
	uint64_t gap;		/* the address of the one that it tells itself */
	struct insn_line now[CPUS];	/* the last instruction of each CPU, ... */
	struct insn_line before[CPUS];	/* ... and the one before it */
	uint32_t cpu;		/* of this line */
	uint64_t time[CPUS];
	bool any;		/* an instruction came */
	bool numbered;
	uint64_t id;
	struct flowtap_read read;
};

static void say_at(struct text_check *text, uint64_t offset, uint64_t line, const char *reason)
{
	struct flowtap_check *check = text->check;

	check->problems++;
	if (check->problem)
		check->problem(check, &(struct flowtap_check_problem){
			.offset = offset, .unpacked = text->packed, .line = line, .reason = reason,
		});
}

static void say(struct text_check *text, const char *reason)
{
	say_at(text, text->offset, text->line, reason);
}

/* --- Lines. --- */

static void check_time(struct text_check *text, const struct tarmac_head *head)
{
	uint32_t cpu = head->has_cpu && head->cpu < CPUS ? head->cpu : 0;
	char reason[100];

	if (!head->timed)
		return;
	if (head->time < text->time[cpu]) {
		snprintf(reason, sizeof(reason), "the time %" PRIu64 " is before the last one, %" PRIu64,
			 head->time, text->time[cpu]);
		say(text, reason);
	}
	text->time[cpu] = head->time;
	if (head->old_unit && text->tarmac)
		say(text, "Arm's tools drop lines with this unit of time (clk, ns, ps are known)");
	else if (head->fraction && text->tarmac)
		say(text, "Arm's tools drop lines with a time that has a fraction");
}

/* What their scanner takes for the begin of a text. */
static bool can_begin(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_-.#:()[],<>", c));
}

static void check_instruction(struct text_check *text, const struct tarmac_head *head,
			      const struct tarmac_scan *scan, const struct tarmac_instruction *insn)
{
	text->any = true;
	if (!insn->debug) {
		text->before[text->cpu] = text->now[text->cpu];
		text->now[text->cpu] = (struct insn_line){
			.offset = text->offset, .number = text->line, .address = insn->address,
		};
	}
	if (!text->tarmac) {
		if (insn->has_id && text->numbered && insn->id <= text->id)
			say(text, "the number of an instruction is not above the one before");
		text->numbered = insn->has_id;
		text->id = insn->id;
		return;
	}
	if (!head->timed && head->es)
		say(text, "Arm's tools drop instructions without a time");
	if (insn->plain)
		say(text, "without its instruction set a line ends Arm's tools with an error, "
			  "unless they are told of one");
	if (insn->spec)
		say(text, "`IT (address:opcode)` ends Arm's tools with an error");
	if (insn->mode_words)
		say(text, "a mode of two words ends Arm's tools with an error");
	if (insn->text < scan->end && !can_begin(*insn->text))
		say(text, "a disassembly that begins like this ends Arm's tools with an error");
}

/* LD and ST: positions of 16 bytes, each two of digits, `.` or `#`. */
static void check_memory(struct text_check *text, struct tarmac_scan scan)
{
	size_t size, columns = 0;
	const char *word;

	if (scan.at[-1] != 'D' && scan.at[-1] != 'T')
		return;
	tarmac_word(&scan, &word);
	while (columns < 32 && (size = tarmac_word(&scan, &word))) {
		if (strspn(word, "0123456789abcdefABCDEF.#") < size)
			break;
		columns += size;
	}
	if (columns != 32)
		say(text, "a row of memory that has not 16 places ends Arm's tools with an error");
}

/* X and W by their full width; zeros may be left out. */
static void check_register(struct text_check *text, struct tarmac_scan scan)
{
	const char *name, *value;
	size_t size = tarmac_word(&scan, &name), digits, want;

	if (size < 2 || !isdigit((unsigned char)name[1]))
		return;
	want = *name == 'X' ? 16 : *name == 'W' ? 8 : 0;
	size = tarmac_word(&scan, &value);
	if (!want || !size || *value == '(')
		return;
	digits = strspn(value, "0123456789abcdefABCDEF-");
	if (digits >= size && digits < want && strspn(value, "0") < size)
		say(text, "a register's value that is too short ends Arm's tools with an error");
}

static void check_step(struct text_check *text, struct tarmac_scan scan)
{
	const char *word;
	size_t size = tarmac_word(&scan, &word);

	if ((size == 3 && !memcmp(word, "EXC", 3)) || (size >= 5 && !memcmp(word, "Reset", 5)))
		return;
	say(text, "an asynchronous event without EXC in its line ends Arm's tools with an error");
}

/*
 * The address of a gap that the line tells, 0 none: one that a reader found is told in the same
 * words when what it read is written again.
 */
static uint64_t address_of_gap(const struct tarmac_head *head, struct tarmac_scan scan)
{
	static const char name[] = "DebugEvent_TraceGap", key[] = " address=";
	const char *word;
	uint64_t address = 0;

	if (head->event != TARMAC_EVENT || tarmac_word(&scan, &word) != sizeof(name) - 1 ||
	    memcmp(word, name, sizeof(name) - 1))
		return 0;
	word = memmem(scan.at, scan.end - scan.at, key, sizeof(key) - 1);
	if (word) {
		scan.at = word + sizeof(key) - 1;
		scan_hex(&scan, &address);
	}
	return address;
}

static void look(struct tarmac_watch *watch, const struct flowtap_line_reader *rows,
		 const struct tarmac_head *head, const struct tarmac_scan *scan,
		 const struct tarmac_instruction *insn)
{
	struct text_check *text = (struct text_check *)watch;

	text->offset = rows->offset;
	text->line = rows->number;
	text->gap = address_of_gap(head, *scan);
	if (head->has_cpu && head->cpu < CPUS)
		text->cpu = head->cpu;
	check_time(text, head);
	if (insn)
		check_instruction(text, head, scan, insn);
	if (!text->tarmac)
		return;
	switch (head->event) {
	case TARMAC_OTHER_STEP:
		check_step(text, *scan);
		break;
	case TARMAC_MEMORY_ROW:
		check_memory(text, *scan);
		break;
	case TARMAC_REGISTER:
		check_register(text, *scan);
		break;
	case TARMAC_COMMENT:
		if (strchr("/;*", rows->row[strspn(rows->row, " \t")]))
			say(text, "a comment ends Arm's tools with an error");
		break;
	case TARMAC_HEADER:
		/* After an instruction the reader says so. */
		if (text->line != 1 && !text->any)
			say(text, "a header that is not the first line");
		break;
	default:
		break;
	}
}

/* --- The flow. --- */

/*
 * Which line it is that does not follow on the instruction at `address`. An instruction is handed
 * on when the line after it is read: where the one at `address` stands just before the last one it
 * is the last one, where it is the last one itself it is this line, of an exception, and else it
 * is the one before the last.
 */
static void report_elsewhere(struct text_check *text, uint64_t address)
{
	const struct insn_line *now = &text->now[text->cpu], *before = &text->before[text->cpu];
	const struct insn_line *line = before->address == address ? now : before;
	char reason[100];

	if (!line->number || (now->address == address && line == before)) {
		snprintf(reason, sizeof(reason), "this does not follow on 0x%" PRIx64
			 ", and no gap is told", address);
		say(text, reason);
		return;
	}
	snprintf(reason, sizeof(reason),
		 "0x%" PRIx64 " does not follow on 0x%" PRIx64 ", and no gap is told",
		 line->address, address);
	say_at(text, line->offset, line->number, reason);
}

static int check_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct text_check *text = (struct text_check *)((char *)sink -
							offsetof(struct text_check, sink));

	/*
	 * What the file itself marks as a gap is none of its faults; what came before that is
	 * handed on by the same line. QEMU4V cannot mark exceptions, so that anything may follow on
	 * anything.
	 */
	if (text->tarmac && flow_is_elsewhere(element) && element->gap.address != text->gap)
		report_elsewhere(text, element->gap.address);
	return 0;
}

static void report_problem(struct flowtap_read *read, uint64_t offset, uint64_t line,
			   const char *reason)
{
	struct text_check *text = read->argument;

	text->offset = offset;
	text->line = line;
	say(text, reason);
}

static void report_progress(struct flowtap_read *read, uint64_t done, uint64_t size)
{
	struct text_check *text = read->argument;

	if (text->check->progress)
		text->check->progress(text->check, done, size);
}

static int check_text(struct flowtap_check *check, int fd, bool tarmac)
{
	unsigned char magic[2] = { 0 };
	struct text_check text = {
		.watch = { look },
		.sink = { flowtap_sink_nowhere()->block, check_element },
		.check = check,
		.tarmac = tarmac,
		.read = { .problem = report_problem, .progress = report_progress },
	};
	int status;

	text.packed = pread(fd, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
	text.read.argument = &text;
	text.read.sink = &text.sink;
	text.read.learned = flowtap_learned_new(0);
	if (!text.read.learned)
		return -ENOMEM;
	status = flowtap_tarmac_watch(&text.read, fd, !tarmac, &text.watch);
	check->instructions = text.read.instructions;
	check->records = text.read.records;
	if (!status && !check->instructions)
		say(&text, "there is no instruction in it");
	flowtap_learned_free(text.read.learned);
	return status;
}

int flowtap_check_tarmac(struct flowtap_check *check, int fd)
{
	return check_text(check, fd, true);
}

int flowtap_check_qemu4v(struct flowtap_check *check, int fd)
{
	return check_text(check, fd, false);
}
