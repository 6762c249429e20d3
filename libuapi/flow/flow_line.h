/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Elements of the flow as lines of text (the grammar is in flowtap/text.h). */
#ifndef FLOWTAP_LIBUAPI_FLOW_FLOW_LINE_H
#define FLOWTAP_LIBUAPI_FLOW_FLOW_LINE_H

#include <flowtap/flow.h>

/* What a line may take: the longest call stack, or a path of PATH_MAX with all numbers. */
#define FLOWTAP_LINE_CAPACITY 8192

/* A line in the making. What does not fit is left out, and the line then ends in "...". */
struct flowtap_line {
	char *at;
	char *end;
};

/* Append: the text; the number in hexadecimal without 0x; in decimal. */
void flowtap_line_string(struct flowtap_line *line, const char *string);
void flowtap_line_hex(struct flowtap_line *line, uint64_t number);
void flowtap_line_decimal(struct flowtap_line *line, uint64_t number);

/* "RV64", "A64" ... */
const char *flowtap_isa_name(unsigned int isa);

/* The element without a newline, not terminated. Returns its length. */
size_t flowtap_line_element(char text[FLOWTAP_LINE_CAPACITY],
			    const struct flowtap_element *element);

#define FLOWTAP_LINE_FRAMES	(FLOWTAP_LINE_CAPACITY / 2)

/* What a parsed element points to. */
struct flowtap_line_parts {
	char detail[FLOWTAP_LINE_CAPACITY + 1];
	uint64_t frames[FLOWTAP_LINE_FRAMES];
};

/*
 * The element that the line holds, `size` bytes without a newline; it is valid as long as `parts`
 * is not used again. False: the line is none that flowtap_line_element makes of a context,
 * exception, eret, gap, transfer, callstack, session, trace_on, q_range, transaction, event or ite.
 */
bool flowtap_line_parse(const char *text, size_t size, struct flowtap_element *element,
			struct flowtap_line_parts *parts);

#endif /* FLOWTAP_LIBUAPI_FLOW_FLOW_LINE_H */
