// SPDX-License-Identifier: GPL-2.0-or-later
/* Text: a small printf for the PL011, and what of the C library the compiler wants. */
#include <stdarg.h>

#include "bare.h"

#define UART 0x09000000UL

struct text {
	char *at, *end;		/* at NULL: the console */
	size_t n;
};

static void put(struct text *text, char c)
{
	text->n++;
	if (text->at) {
		if (text->at < text->end)
			*text->at++ = c;
		return;
	}
	*(volatile u32 *)(UART + (READ(sctlr_el1) & 1 ? KERNEL : 0)) = (u8)c;
}

static void put_number(struct text *text, u64 n, unsigned int base, int width, char pad)
{
	char digits[24];
	int i = 0;

	do
		digits[i++] = "0123456789abcdef"[n % base];
	while (n /= base);
	for (; width > i; width--)
		put(text, pad);
	while (i)
		put(text, digits[--i]);
}

/* %s %c %d %u %x, width, 0, l. */
static void vprint(struct text *text, const char *format, va_list list)
{
	for (; *format; format++) {
		bool wide = false;
		char pad = ' ';
		int width = 0;
		u64 n;

		if (*format != '%') {
			put(text, *format);
			continue;
		}
		if (*++format == '0')
			pad = *format++;
		while (*format >= '0' && *format <= '9')
			width = width * 10 + *format++ - '0';
		for (; *format == 'l' || *format == 'z'; format++)
			wide = true;
		switch (*format) {
		case 's':
			for (const char *s = va_arg(list, const char *); *s; s++)
				put(text, *s);
			break;
		case 'c':
			put(text, va_arg(list, int));
			break;
		case 'd':
			n = wide ? va_arg(list, u64) : (u64)(int64_t)va_arg(list, int);
			if ((int64_t)n < 0) {
				put(text, '-');
				n = -n;
			}
			put_number(text, n, 10, width, pad);
			break;
		case 'u':
		case 'x':
			n = wide ? va_arg(list, u64) : va_arg(list, u32);
			put_number(text, n, *format == 'x' ? 16 : 10, width, pad);
			break;
		default:
			put(text, *format);
		}
	}
}

void print(const char *format, ...)
{
	struct text text = { 0 };
	va_list list;

	va_start(list, format);
	vprint(&text, format, list);
	va_end(list);
}

size_t format(char *buffer, size_t capacity, const char *format, ...)
{
	struct text text = { .at = buffer, .end = buffer + capacity - 1 };
	va_list list;

	va_start(list, format);
	vprint(&text, format, list);
	va_end(list);
	*text.at = 0;
	return text.at - buffer;
}

void panic(const char *format, ...)
{
	struct text text = { 0 };
	va_list list;

	print("panic: ");
	va_start(list, format);
	vprint(&text, format, list);
	va_end(list);
	print("\n");
	system_off();
}

void *memcpy(void *to, const void *from, size_t n)
{
	u8 *t = to;
	const u8 *f = from;

	if (!(((u64)t | (u64)f) & 7))
		for (; n >= 8; n -= 8, t += 8, f += 8)
			*(volatile u64 *)t = *(const u64 *)f;
	while (n--)
		*(volatile u8 *)t++ = *f++;
	return to;
}

void *memset(void *to, int c, size_t n)
{
	u8 *t = to;

	if (!((u64)t & 7))
		for (; n >= 8; n -= 8, t += 8)
			*(volatile u64 *)t = 0x0101010101010101UL * (u8)c;
	while (n--)
		*(volatile u8 *)t++ = c;
	return to;
}

size_t strlen(const char *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	return n;
}

int strcmp(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return (u8)*a - (u8)*b;
}
