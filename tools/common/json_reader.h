/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A reader of JSON (RFC 8259) that somebody else wrote. It is checked as a whole first; what is
 * found in it then points into the text. Nothing is allocated.
 */
#ifndef FLOWTAP_TOOLS_COMMON_JSON_READER_H
#define FLOWTAP_TOOLS_COMMON_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_READER_DEPTH 16

/* A value in the text, which is borrowed; size 0: there is none. */
struct json_value {
	const char *text;
	size_t size;
};

/*
 * The text is one value, nested no deeper than JSON_READER_DEPTH, its strings UTF-8 without control
 * characters, with white space around it or not. False: it is none.
 */
bool json_reader_open(const char *text, size_t size, struct json_value *value);

/* The first member of that name; none where the value is no object, or has none. */
struct json_value json_member(struct json_value object, const char *key);
/*
 * The element of an array after this one, the first one if it has size 0; none at the end, or
 * where the value is no array.
 */
struct json_value json_next(struct json_value array, struct json_value element);

bool json_is_true(struct json_value value);
/* A whole number of 64 bits, as it is written: 1e3 is none. */
bool json_is_count(struct json_value value, uint64_t *count);
/* Any number. */
bool json_is_number(struct json_value value, double *number);
/*
 * A string, with escapes resolved and a final 0; U+0000 becomes U+FFFD. False: it is none, or
 * has no space.
 */
bool json_is_string(struct json_value value, char *text, size_t capacity);

#endif /* FLOWTAP_TOOLS_COMMON_JSON_READER_H */
