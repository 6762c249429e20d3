// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks the text by recursive descent of limited depth, then searches the checked text for
 * members.
 */
#include "common/json_reader.h"

#include "common/tool.h"

#include <stdlib.h>
#include <string.h>

struct place {
	const char *at, *end;
};

static void skip_blanks(struct place *place)
{
	while (place->at < place->end && memchr(" \t\r\n", *place->at, 4))
		place->at++;
}

static bool is_digit(const struct place *place)
{
	return place->at < place->end && *place->at >= '0' && *place->at <= '9';
}

static bool skip_char(struct place *place, char c)
{
	if (place->at == place->end || *place->at != c)
		return false;
	place->at++;
	return true;
}

static bool skip_word(struct place *place, const char *word)
{
	size_t size = strlen(word);

	if ((size_t)(place->end - place->at) < size || memcmp(place->at, word, size))
		return false;
	place->at += size;
	return true;
}

static bool skip_digits(struct place *place)
{
	if (!is_digit(place))
		return false;
	while (is_digit(place))
		place->at++;
	return true;
}

static bool skip_number(struct place *place)
{
	skip_char(place, '-');
	if (!skip_char(place, '0') && !skip_digits(place))
		return false;
	if (skip_char(place, '.') && !skip_digits(place))
		return false;
	if (!skip_char(place, 'e') && !skip_char(place, 'E'))
		return true;
	if (!skip_char(place, '+'))
		skip_char(place, '-');
	return skip_digits(place);
}

/* After \u: four digits. */
static bool parse_code(struct place *place, uint32_t *code)
{
	*code = 0;
	for (int i = 0; i < 4; i++, place->at++) {
		const char *digits = "0123456789abcdef", *digit;

		if (place->at == place->end)
			return false;
		digit = *place->at ? strchr(digits, *place->at | 0x20) : NULL;
		if (!digit)
			return false;
		*code = *code << 4 | (uint32_t)(digit - digits);
	}
	return true;
}

/* After the backslash. A surrogate wants its other half. */
static bool parse_escape(struct place *place, uint32_t *code)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *name;
	uint32_t low;

	if (place->at == place->end)
		return false;
	if (*place->at++ != 'u') {
		name = memchr(names, place->at[-1], sizeof(names) - 1);
		*code = name ? (uint32_t)values[name - names] : 0;
		return name;
	}
	if (!parse_code(place, code))
		return false;
	if (*code < 0xd800 || *code > 0xdfff)
		return true;
	if (*code > 0xdbff || !skip_word(place, "\\u") || !parse_code(place, &low) ||
	    low < 0xdc00 || low > 0xdfff)
		return false;
	*code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
	return true;
}

static bool skip_string(struct place *place)
{
	uint32_t code;
	size_t length;

	if (!skip_char(place, '"'))
		return false;
	while (place->at < place->end) {
		if (skip_char(place, '"'))
			return true;
		if (skip_char(place, '\\')) {
			if (!parse_escape(place, &code))
				return false;
			continue;
		}
		length = utf8_length(place->at, (size_t)(place->end - place->at));
		if (!length || (unsigned char)*place->at < 0x20)
			return false;
		place->at += length;
	}
	return false;
}

static bool skip_value(struct place *place, unsigned int depth);

/* After the bracket: members or elements up to the other one. */
static bool skip_list(struct place *place, char close, unsigned int depth)
{
	if (!depth)
		return false;
	skip_blanks(place);
	if (skip_char(place, close))
		return true;
	do {
		skip_blanks(place);
		if (close == '}') {
			if (!skip_string(place))
				return false;
			skip_blanks(place);
			if (!skip_char(place, ':'))
				return false;
		}
		if (!skip_value(place, depth - 1))
			return false;
		skip_blanks(place);
	} while (skip_char(place, ','));
	return skip_char(place, close);
}

static bool skip_value(struct place *place, unsigned int depth)
{
	skip_blanks(place);
	if (place->at == place->end)
		return false;
	switch (*place->at) {
	case '{':
		place->at++;
		return skip_list(place, '}', depth);
	case '[':
		place->at++;
		return skip_list(place, ']', depth);
	case '"':
		return skip_string(place);
	case 't':
		return skip_word(place, "true");
	case 'f':
		return skip_word(place, "false");
	case 'n':
		return skip_word(place, "null");
	default:
		return skip_number(place);
	}
}

/* The value at the position, which moves past it; the text was checked. */
static struct json_value parse_value(struct place *place)
{
	struct json_value value;

	skip_blanks(place);
	value.text = place->at;
	if (!skip_value(place, JSON_READER_DEPTH))
		return (struct json_value){ .text = NULL };
	value.size = (size_t)(place->at - value.text);
	return value;
}

bool json_reader_open(const char *text, size_t size, struct json_value *value)
{
	struct place place = { text, text + size };

	*value = parse_value(&place);
	skip_blanks(&place);
	return value->size && place.at == place.end;
}

/* --- What is in it. --- */

struct json_value json_member(struct json_value object, const char *key)
{
	const struct json_value none = { .text = NULL };
	struct place place = { object.text, object.text + object.size };
	struct json_value name, value;
	char text[64];

	if (!object.size || !skip_char(&place, '{'))
		return none;
	skip_blanks(&place);
	while (place.at < place.end && *place.at == '"') {
		name = parse_value(&place);
		skip_blanks(&place);
		skip_char(&place, ':');
		value = parse_value(&place);
		if (!value.size)
			return none;
		if (json_is_string(name, text, sizeof(text)) && !strcmp(text, key))
			return value;
		skip_blanks(&place);
		skip_char(&place, ',');
		skip_blanks(&place);
	}
	return none;
}

struct json_value json_next(struct json_value array, struct json_value element)
{
	const struct json_value none = { .text = NULL };
	struct place place = { array.text, array.text + array.size };

	if (!array.size || !skip_char(&place, '['))
		return none;
	if (element.size) {
		place.at = element.text + element.size;
		skip_blanks(&place);
		if (!skip_char(&place, ','))
			return none;
	}
	skip_blanks(&place);
	return place.at < place.end && *place.at != ']' ? parse_value(&place) : none;
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
	struct place place = { value.text, value.text + value.size };
	size_t used = 0, length;
	uint32_t code;
	char bytes[4];

	if (!value.size || !skip_char(&place, '"'))
		return false;
	while (place.at < place.end && *place.at != '"') {
		if (skip_char(&place, '\\')) {
			if (!parse_escape(&place, &code))
				return false;
			length = put_utf8(bytes, code ? code : 0xfffd);
		} else {
			length = 1;
			bytes[0] = *place.at++;
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
