// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Splits the text in place into sections, keys and values; nothing is allocated. */
#include <flowtap/ini.h>

#include <stdbool.h>
#include <string.h>

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static char *trim(char *text)
{
	size_t size;

	while (blank(*text))
		text++;
	size = strlen(text);
	while (size && blank(text[size - 1]))
		text[--size] = 0;
	return text;
}

static char *unquote(char *text)
{
	size_t size = strlen(text);

	if (size < 2 || (text[0] != '"' && text[0] != '\'') || text[size - 1] != text[0])
		return text;
	text[size - 1] = 0;
	return trim(text + 1);
}

/* Takes one line apart; false: it says nothing. */
static bool split(char *text, struct flowtap_ini_line *line)
{
	char *end;

	text[strcspn(text, "#;")] = 0;
	text = trim(text);
	if (!*text)
		return false;
	if (*text == '[' && (end = strchr(text, ']'))) {
		*end = 0;
		line->section = trim(text + 1);
		line->key = NULL;
		return true;
	}
	line->key = "";
	line->value = text;
	end = strchr(text, '=');
	if (!end || end == text)
		return true;
	*end = 0;
	line->key = trim(text);
	line->value = unquote(trim(end + 1));
	return true;
}

int flowtap_ini_read(char *text, size_t size,
		     int (*take)(void *argument, const struct flowtap_ini_line *line),
		     void *argument)
{
	static const char mark[] = "\xef\xbb\xbf";
	struct flowtap_ini_line line = { .section = "" };
	char *end = text + size;

	*end = 0;
	/* What editors of some systems put before everything. */
	if (size >= 3 && !memcmp(text, mark, 3))
		text += 3;
	for (char *next; text < end; text = next) {
		char *stop = memchr(text, '\n', end - text);
		bool whole;
		int error;

		stop = stop ? stop : end;
		next = stop + 1;
		*stop = 0;
		whole = strlen(text) == (size_t)(stop - text);
		line.number++;
		if (!split(text, &line) && whole)
			continue;
		/* A 0 within it: no line of text. */
		if (!whole) {
			line.key = "";
			line.value = "binary data";
		}
		error = take(argument, &line);
		if (error)
			return error;
	}
	return 0;
}

char *flowtap_ini_next(char **list)
{
	while (*list) {
		char *item = *list, *comma = strchr(item, ',');

		*list = comma ? comma + 1 : NULL;
		if (comma)
			*comma = 0;
		item = trim(item);
		if (*item)
			return item;
	}
	return NULL;
}
