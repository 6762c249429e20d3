/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bytes written down as text: hexadecimal pairs with spaces anywhere, 'text' for its characters,
 * #'text' for its length in four bytes and its characters.
 */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_HEX_H
#define FLOWTAP_SELFTESTS_SUPPORT_HEX_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hex {
	uint8_t bytes[4096];
	size_t size;
};

static inline void hex_put(struct hex *hex, uint8_t byte)
{
	if (hex->size == sizeof(hex->bytes))
		abort();
	hex->bytes[hex->size++] = byte;
}

/* What stands between quotes, from *text on; leaves *text after the second. */
static inline void hex_quoted(struct hex *hex, const char **text, int count)
{
	const char *end = strchr(*text, '\'');

	for (int i = 0; i < count; i++)
		hex_put(hex, (end - *text) >> 8 * i);
	while (*text < end)
		hex_put(hex, *(*text)++);
	(*text)++;
}

static inline void hex_add(struct hex *hex, const char *text)
{
	unsigned int byte;
	int n;

	for (; *text; text++) {
		if (*text == ' ')
			continue;
		if (*text == '#' || *text == '\'') {
			n = *text == '#' ? 4 : 0;
			text += n ? 2 : 1;
			hex_quoted(hex, &text, n);
			text--;
			continue;
		}
		if (sscanf(text, "%2x%n", &byte, &n) != 1 || n != 2)
			abort();
		hex_put(hex, byte);
		text++;
	}
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_HEX_H */
