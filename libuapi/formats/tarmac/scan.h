/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Words and numbers of a line, one after the other. */
#ifndef FLOWTAP_LIBUAPI_FORMATS_TARMAC_SCAN_H
#define FLOWTAP_LIBUAPI_FORMATS_TARMAC_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The rest of a line; *end is '\n'. */
struct tarmac_scan {
	const char *at;
	const char *end;
};

/* Values of digits, and 1 more: 0 is no digit. */
static const uint8_t scan_digits[256] = {
	['0'] = 1, ['1'] = 2, ['2'] = 3, ['3'] = 4, ['4'] = 5, ['5'] = 6, ['6'] = 7, ['7'] = 8,
	['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15,
	['f'] = 16, ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

static inline bool scan_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline bool scan_is_decimal(char c)
{
	return (unsigned char)(c - '0') < 10;
}

static inline bool scan_is_letter(char c)
{
	return (unsigned char)((c | 0x20) - 'a') < 26;
}

static inline void tarmac_blanks(struct tarmac_scan *scan)
{
	while (scan_is_blank(*scan->at))
		scan->at++;
}

/* The value of up to 16 digits; how many there are, of more than 254 it is 255. */
static inline unsigned int scan_hex(struct tarmac_scan *scan, uint64_t *value)
{
	const char *at = scan->at;
	unsigned int digit;
	uint64_t sum = 0;

	while ((digit = scan_digits[(unsigned char)*at])) {
		sum = sum << 4 | (digit - 1);
		at++;
	}
	digit = at - scan->at > 255 ? 255 : (unsigned int)(at - scan->at);
	scan->at = at;
	*value = sum;
	return digit;
}

/* The value of up to 19 digits, likewise. */
static inline unsigned int scan_decimal(struct tarmac_scan *scan, uint64_t *value)
{
	const char *at = scan->at;
	uint64_t sum = 0;
	size_t n;

	while (scan_is_decimal(*at))
		sum = sum * 10 + (unsigned int)(*at++ - '0');
	n = at - scan->at;
	scan->at = at;
	*value = sum;
	return n > 255 ? 255 : (unsigned int)n;
}

/* The next word, ended by a blank. */
static inline size_t tarmac_word(struct tarmac_scan *scan, const char **word)
{
	tarmac_blanks(scan);
	*word = scan->at;
	while (scan->at < scan->end && !scan_is_blank(*scan->at))
		scan->at++;
	return scan->at - *word;
}

/* Physical addresses, of which a T32 instruction may have two: `:ADDRESS_NS,ADDRESS_NS`. */
static inline void scan_physical(struct tarmac_scan *scan)
{
	if (*scan->at != ':')
		return;
	while (scan->at < scan->end && !scan_is_blank(*scan->at))
		scan->at++;
}

static inline bool word_is(const char *word, size_t size, const char *name)
{
	return size == strlen(name) && !memcmp(word, name, size);
}

static inline bool word_begins(const char *word, size_t size, const char *name)
{
	return size >= strlen(name) && !memcmp(word, name, strlen(name));
}

#endif /* FLOWTAP_LIBUAPI_FORMATS_TARMAC_SCAN_H */
