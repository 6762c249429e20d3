// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks the text by recursive descent of limited depth, then searches the checked text for
 * members.
 */
#include "common/json_reader.h"

#include "common/tool.h"

#include <stdlib.h>
#include <string.h>

struct cursor {
	const char *at, *end;
};

static void skip_blanks(struct cursor *cursor)
{
	while (cursor->at < cursor->end && memchr(" \t\r\n", *cursor->at, 4))
		cursor->at++;
}

static bool is_digit(const struct cursor *cursor)
{
	return cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9';
}

static bool skip_char(struct cursor *cursor, char c)
{
	if (cursor->at == cursor->end || *cursor->at != c)
		return false;
	cursor->at++;
	return true;
}

static bool skip_word(struct cursor *cursor, const char *word)
{
	size_t size = strlen(word);

	if ((size_t)(cursor->end - cursor->at) < size || memcmp(cursor->at, word, size))
		return false;
	cursor->at += size;
	return true;
}

static bool skip_digits(struct cursor *cursor)
{
	if (!is_digit(cursor))
		return false;
	while (is_digit(cursor))
		cursor->at++;
	return true;
}

static bool skip_number(struct cursor *cursor)
{
	skip_char(cursor, '-');
	if (!skip_char(cursor, '0') && !skip_digits(cursor))
		return false;
	if (skip_char(cursor, '.') && !skip_digits(cursor))
		return false;
	if (!skip_char(cursor, 'e') && !skip_char(cursor, 'E'))
		return true;
	if (!skip_char(cursor, '+'))
		skip_char(cursor, '-');
	return skip_digits(cursor);
}

/* After \u: four digits. */
static bool parse_code(struct cursor *cursor, uint32_t *code)
{
	*code = 0;
	for (int i = 0; i < 4; i++, cursor->at++) {
		static const char digits[] = "0123456789abcdefABCDEF";
		const char *digit;

		if (cursor->at == cursor->end)
			return false;
		digit = memchr(digits, *cursor->at, sizeof(digits) - 1);
		if (!digit)
			return false;
		*code = *code << 4 | (uint32_t)(digit - digits < 16 ? digit - digits : digit - digits - 6);
	}
	return true;
}

/* After the backslash. A surrogate wants its other half. */
static bool parse_escape(struct cursor *cursor, uint32_t *code)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *name;
	uint32_t low;

	if (cursor->at == cursor->end)
		return false;
	if (*cursor->at++ != 'u') {
		name = memchr(names, cursor->at[-1], sizeof(names) - 1);
		*code = name ? (uint32_t)values[name - names] : 0;
		return name;
	}
	if (!parse_code(cursor, code))
		return false;
	if (*code < 0xd800 || *code > 0xdfff)
		return true;
	if (*code > 0xdbff || !skip_word(cursor, "\\u") || !parse_code(cursor, &low) ||
	    low < 0xdc00 || low > 0xdfff)
		return false;
	*code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
	return true;
}

static bool skip_string(struct cursor *cursor)
{
	uint32_t code;
	size_t length;

	if (!skip_char(cursor, '"'))
		return false;
	while (cursor->at < cursor->end) {
		if (skip_char(cursor, '"'))
			return true;
		if (skip_char(cursor, '\\')) {
			if (!parse_escape(cursor, &code))
				return false;
			continue;
		}
		length = utf8_length(cursor->at, (size_t)(cursor->end - cursor->at));
		if (!length || (unsigned char)*cursor->at < 0x20)
			return false;
		cursor->at += length;
	}
	return false;
}

static bool skip_value(struct cursor *cursor, unsigned int depth);

/* After the bracket: members or elements up to the other one. */
static bool skip_list(struct cursor *cursor, char close, unsigned int depth)
{
	if (!depth)
		return false;
	skip_blanks(cursor);
	if (skip_char(cursor, close))
		return true;
	do {
		skip_blanks(cursor);
		if (close == '}') {
			if (!skip_string(cursor))
				return false;
			skip_blanks(cursor);
			if (!skip_char(cursor, ':'))
				return false;
		}
		if (!skip_value(cursor, depth - 1))
			return false;
		skip_blanks(cursor);
	} while (skip_char(cursor, ','));
	return skip_char(cursor, close);
}

static bool skip_value(struct cursor *cursor, unsigned int depth)
{
	skip_blanks(cursor);
	if (cursor->at == cursor->end)
		return false;
	switch (*cursor->at) {
	case '{':
		cursor->at++;
		return skip_list(cursor, '}', depth);
	case '[':
		cursor->at++;
		return skip_list(cursor, ']', depth);
	case '"':
		return skip_string(cursor);
	case 't':
		return skip_word(cursor, "true");
	case 'f':
		return skip_word(cursor, "false");
	case 'n':
		return skip_word(cursor, "null");
	default:
		return skip_number(cursor);
	}
}

/* The value at the position, which moves past it; the text was checked. */
static struct json_value parse_value(struct cursor *cursor)
{
	struct json_value value;

	skip_blanks(cursor);
	value.text = cursor->at;
	if (!skip_value(cursor, JSON_READER_DEPTH))
		return (struct json_value){ .text = NULL };
	value.size = (size_t)(cursor->at - value.text);
	return value;
}

bool json_reader_open(const char *text, size_t size, struct json_value *value)
{
	struct cursor cursor = { text, text + size };

	*value = parse_value(&cursor);
	skip_blanks(&cursor);
	return value->size && cursor.at == cursor.end;
}

/* --- What is in it. --- */

struct json_value json_member(struct json_value object, const char *key)
{
	const struct json_value none = { .text = NULL };
	struct cursor cursor = { object.text, object.text + object.size };
	struct json_value name, value;
	char text[64];

	if (!object.size || !skip_char(&cursor, '{'))
		return none;
	skip_blanks(&cursor);
	while (cursor.at < cursor.end && *cursor.at == '"') {
		name = parse_value(&cursor);
		skip_blanks(&cursor);
		skip_char(&cursor, ':');
		value = parse_value(&cursor);
		if (!value.size)
			return none;
		if (json_is_string(name, text, sizeof(text)) && !strcmp(text, key))
			return value;
		skip_blanks(&cursor);
		skip_char(&cursor, ',');
		skip_blanks(&cursor);
	}
	return none;
}

struct json_value json_next(struct json_value array, struct json_value element)
{
	const struct json_value none = { .text = NULL };
	struct cursor cursor = { array.text, array.text + array.size };

	if (!array.size || !skip_char(&cursor, '['))
		return none;
	if (element.size) {
		cursor.at = element.text + element.size;
		skip_blanks(&cursor);
		if (!skip_char(&cursor, ','))
			return none;
	}
	skip_blanks(&cursor);
	return cursor.at < cursor.end && *cursor.at != ']' ? parse_value(&cursor) : none;
}

bool json_is_true(struct json_value value)
{
	return value.size == 4 && !memcmp(value.text, "true", 4);
}

bool json_is_count(struct json_value value, uint64_t *count)
{
	char digits[24];

	if (!value.size || value.size >= sizeof(digits))
		return false;
	memcpy(digits, value.text, value.size);
	digits[value.size] = 0;
	return !digits[strspn(digits, "0123456789")] && number_parse(digits, 0, UINT64_MAX, count);
}

bool json_is_number(struct json_value value, double *number)
{
	char digits[64];

	if (!value.size || value.size >= sizeof(digits) ||
	    !(*value.text == '-' || (*value.text >= '0' && *value.text <= '9')))
		return false;
	memcpy(digits, value.text, value.size);
	digits[value.size] = 0;
	*number = strtod(digits, NULL);
	return true;
}

static size_t put_utf8(char bytes[4], uint32_t code)
{
	static const unsigned char leads[] = { 0, 0xc0, 0xe0, 0xf0 };
	const size_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;

	for (size_t i = more; i; i--, code >>= 6)
		bytes[i] = (char)(0x80 | (code & 0x3f));
	bytes[0] = (char)(leads[more] | code);
	return more + 1;
}

bool json_is_string(struct json_value value, char *text, size_t capacity)
{
	struct cursor cursor = { value.text, value.text + value.size };
	size_t used = 0, length;
	uint32_t code;
	char bytes[4];

	if (!value.size || !skip_char(&cursor, '"'))
		return false;
	while (cursor.at < cursor.end && *cursor.at != '"') {
		if (skip_char(&cursor, '\\')) {
			if (!parse_escape(&cursor, &code))
				return false;
			length = put_utf8(bytes, code ? code : 0xfffd);
		} else {
			length = 1;
			bytes[0] = *cursor.at++;
		}
		if (length >= capacity - used)
			return false;
		memcpy(text + used, bytes, length);
		used += length;
	}
	if (!capacity)
		return false;
	text[used] = 0;
	return true;
}
