// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps the depth and whether each level has members yet, and prints commas, indentation and
 * escapes from that.
 */
#include "common/json.h"

#include "common/tool.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void write_string(FILE *file, const char *text, size_t size)
{
	fputc('"', file);
	while (size) {
		const unsigned char c = (unsigned char)*text;
		size_t length = utf8_length(text, size);

		if (c == '"' || c == '\\')
			fprintf(file, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			fprintf(file, "\\u%04x", c);
		/* U+0080 to U+009F: a terminal may take U+009B for ESC [. */
		else if (length == 2 && c == 0xc2 && (unsigned char)text[1] < 0xa0)
			fprintf(file, "\\u%04x", (unsigned char)text[1]);
		else if (length)
			fwrite(text, 1, length, file);
		else
			fputs("\\ufffd", file);
		text += length ? length : 1;
		size -= length ? length : 1;
	}
	fputc('"', file);
}

/* What is before a value: comma, line, key. */
static void begin(struct json *json, const char *key)
{
	uint64_t bit = 1ULL << json->depth;

	if (json->filled & bit)
		fputc(',', json->file);
	json->filled |= bit;
	if (json->depth && !json->flat) {
		fputc('\n', json->file);
		for (unsigned int i = 0; i < json->depth; i++)
			fputc('\t', json->file);
	} else if (json->depth && (json->filled & bit) && json->flat && key) {
		fputc(' ', json->file);
	}
	if (key) {
		write_string(json->file, key, strlen(key));
		fputs(": ", json->file);
	}
}

void json_open(struct json *json, const char *key, char bracket)
{
	begin(json, key);
	fputc(bracket, json->file);
	json->depth++;
	json->filled &= ~(1ULL << json->depth);
}

void json_close(struct json *json, char bracket)
{
	bool filled = json->filled & 1ULL << json->depth;

	json->depth--;
	if (filled && !json->flat) {
		fputc('\n', json->file);
		for (unsigned int i = 0; i < json->depth; i++)
			fputc('\t', json->file);
	}
	fputc(bracket, json->file);
	if (!json->depth)
		fputc('\n', json->file);
}

void json_bytes(struct json *json, const char *key, const char *text, size_t size)
{
	begin(json, key);
	write_string(json->file, text, size);
}

void json_string(struct json *json, const char *key, const char *text)
{
	if (text) {
		json_bytes(json, key, text, strlen(text));
		return;
	}
	begin(json, key);
	fputs("null", json->file);
}

void json_number(struct json *json, const char *key, uint64_t value)
{
	begin(json, key);
	fprintf(json->file, "%" PRIu64, value);
}

void json_real(struct json *json, const char *key, double value)
{
	begin(json, key);
	if (isfinite(value))
		fprintf(json->file, "%.6g", value);
	else
		fputs("null", json->file);
}

void json_seconds(struct json *json, const char *key, uint64_t nanoseconds)
{
	begin(json, key);
	fprintf(json->file, "%" PRIu64 ".%09" PRIu64, nanoseconds / 1000000000,
		nanoseconds % 1000000000);
}

void json_hex(struct json *json, const char *key, uint64_t value)
{
	begin(json, key);
	fprintf(json->file, "\"0x%" PRIx64 "\"", value);
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin(json, key);
	fputs(value ? "true" : "false", json->file);
}
