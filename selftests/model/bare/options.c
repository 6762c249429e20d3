// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line: words, most of the form key=value. */
#include "bare.h"

const char *option(const char *command, const char *key)
{
	size_t n = strlen(key);

	for (const char *word = command; *word; word++) {
		bool begins = word == command || word[-1] == ' ';
		size_t i = 0;

		while (begins && i < n && word[i] == key[i])
			i++;
		if (begins && i == n && word[n] == '=')
			return word + n + 1;
	}
	return NULL;
}

bool option_is(const char *key, const char *value)
{
	const char *text = option(boot.command, key);
	size_t n = strlen(value);

	for (size_t i = 0; text && i < n; i++)
		if (text[i] != value[i])
			return false;
	return text && (text[n] == ' ' || !text[n]);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

u64 option_number(const char *key, u64 otherwise)
{
	const char *text = option(boot.command, key);
	int base = 10;
	u64 n = 0;

	if (!text)
		return otherwise;
	if (text[0] == '0' && text[1] == 'x') {
		base = 16;
		text += 2;
	}
	if (digit(*text) >= base)
		panic("%s= wants a number", key);
	for (; digit(*text) < base; text++)
		n = n * base + digit(*text);
	if (*text && *text != ' ')
		panic("%s= wants a number", key);
	return n;
}

void option_copy(const char *key, char *text, size_t capacity, const char *otherwise)
{
	const char *value = option(boot.command, key) ?: otherwise;
	size_t n = 0;

	while (value[n] && value[n] != ' ')
		n++;
	if (n >= capacity)
		panic("%s= is too long", key);
	memcpy(text, value, n);
	text[n] = 0;
}
