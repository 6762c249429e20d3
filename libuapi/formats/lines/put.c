// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Writes lines between instructions: header, events, branch targets and stack pointers, each with
 * the time that is known.
 */
#include "formats/lines/internal.h"

#define SP_BASE		0x7fff0000U
#define SP_DEPTH_MAX	0x100000U

void flowtap_lines_letter(struct flowtap_line *line, char letter)
{
	const char string[2] = { letter };

	flowtap_line_string(line, string);
}

void flowtap_lines_hex(struct flowtap_line *line, unsigned int digits, uint64_t value)
{
	while (digits--)
		flowtap_lines_letter(line, "0123456789abcdef"[value >> 4 * digits & 15]);
}

void flowtap_lines_address(struct flowtap_line *line, unsigned int isa, uint64_t address)
{
	flowtap_lines_hex(line, isa_is_wide(isa) || address > UINT32_MAX ? 16 : 8, address);
}

static void write_time(struct lines *lines, struct flowtap_line *line)
{
	uint8_t *to = (uint8_t *)line->at;

	line->at = (char *)flowtap_counter_write_any(to, lines->time.value, lines->time.columns);
}

/* What has to be known of the whole trace: as a word of the header, and of an event's name. */
static const char *remark(const struct lines *lines, bool event)
{
	static const char *const words[2][3] = {
		{ " (RV64)", " (SP is synthetic)", " (RV64, SP is synthetic)" },
		{ "RV64", "SyntheticSP", "RV64_SyntheticSP" },
	};
	bool may = lines->form.riscv && lines->form.foreign;
	bool riscv = lines->knows_isa ? !isa_is_arm(lines->context.isa) : may;
	bool sp = lines->options.synthetic_sp;

	return riscv || sp ? words[event][riscv + 2 * sp - 1] : NULL;
}

/* gem5 takes no header. */
void flowtap_lines_head(struct lines *lines)
{
	char text[LINES_MAX + 1];
	struct flowtap_line line = { text, text + LINES_MAX };
	const char *words = remark(lines, !lines->form.columns);

	if (!(lines->pending & LINES_HEADER))
		return;
	lines->pending &= ~LINES_HEADER;
	if (lines->form.columns) {
		flowtap_line_string(&line, "Tarmac Text Rev 3t");
		flowtap_line_string(&line, words ? words : "");
		flowtap_lines_end(lines, &line, text);
	} else if (lines->form.events && words) {
		flowtap_lines_event(lines, words, "", 0, false);
	}
}

void flowtap_lines_catch_up(struct lines *lines)
{
	if (!(lines->pending & LINES_LATER))
		return;
	lines->pending &= ~LINES_LATER;
	if (lines->least > lines->time.value + 1)
		lines->time = flowtap_counter_at(lines->least - 1, lines->time.columns);
}

void flowtap_lines_begin(struct lines *lines, struct flowtap_line *line, char text[LINES_MAX + 1],
			 bool own)
{
	*line = (struct flowtap_line){ text, text + LINES_MAX };
	flowtap_lines_head(lines);
	if (own) {
		flowtap_lines_catch_up(lines);
		lines->time = flowtap_counter_next(lines->time);
	}
	if (lines->form.columns && !own) {
		flowtap_line_string(line, LINES_INDENT);
		return;
	}
	write_time(lines, line);
	flowtap_line_string(line, lines->event_words.text);
}

void flowtap_lines_end(struct lines *lines, struct flowtap_line *line, char text[LINES_MAX + 1])
{
	*line->at++ = '\n';
	flowtap_write_buffer_add(&lines->out, text, line->at - text);
	lines->ended = false;
}

void flowtap_lines_event(struct lines *lines, const char *name, const char *words, size_t size,
			 bool own)
{
	char text[LINES_MAX + 1], cut[LINES_MAX + 1];
	struct flowtap_line line;

	size = size < LINES_MAX ? size : LINES_MAX;
	memcpy(cut, words, size);
	cut[size] = '\0';
	flowtap_lines_begin(lines, &line, text, own);
	flowtap_line_string(&line, "E DebugEvent_");
	flowtap_line_string(&line, name);
	flowtap_line_string(&line, size ? " " : "");
	lines->counts.cut += size > (size_t)(line.end - line.at);
	flowtap_line_string(&line, cut);
	flowtap_lines_end(lines, &line, text);
}

void flowtap_lines_write_branch(struct lines *lines, unsigned int isa, uint64_t target)
{
	char text[LINES_MAX + 1];
	struct flowtap_line line;

	if (!isa_is_wide(isa) && target > UINT32_MAX)
		return;
	flowtap_lines_begin(lines, &line, text, false);
	flowtap_line_string(&line, "BR (");
	flowtap_lines_address(&line, isa, target);
	flowtap_line_string(&line, ") ");
	flowtap_lines_letter(&line, lines->form.letters[isa]);
	flowtap_lines_end(lines, &line, text);
}

/* As the link register's: User and Hyp mode of AArch32 have SPs of their own. */
static void write_sp_name(const struct lines *lines, struct flowtap_line *line, unsigned int isa)
{
	static const char *const columns[] = { " (USR)", " (SVC)", " (HYP)", " (MON)" };
	static const char *const rows[] = { "_usr", "_svc", "_hyp", "_mon" };
	unsigned int mode = lines->context.mode & 3;

	if (lines->form.lower) {
		flowtap_line_string(line, "sp ");
		return;
	}
	if (isa_is_wide(isa)) {
		flowtap_line_string(line, "SP_EL");
		flowtap_lines_letter(line, "0123"[mode]);
	} else if (!lines->form.columns) {
		flowtap_line_string(line, "r13");
		flowtap_line_string(line, rows[mode]);
	} else {
		flowtap_line_string(line, "SP");
		if (isa == FLOWTAP_ISA_A32)
			flowtap_line_string(line, columns[mode]);
	}
	flowtap_line_string(line, " ");
}

void flowtap_lines_write_sp(struct lines *lines, unsigned int isa)
{
	uint32_t depth = lines->sp.depth < SP_DEPTH_MAX ? lines->sp.depth : SP_DEPTH_MAX;
	bool ended = lines->ended;
	char text[LINES_MAX + 1];
	struct flowtap_line line;

	flowtap_lines_begin(lines, &line, text, false);
	flowtap_line_string(&line, "R ");
	write_sp_name(lines, &line, isa);
	flowtap_lines_address(&line, isa, SP_BASE - 16 * depth);
	flowtap_lines_end(lines, &line, text);
	lines->ended = ended;
	lines->pending &= ~LINES_SP;
}
