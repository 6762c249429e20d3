// SPDX-License-Identifier: GPL-2.0-only
/* Lines on stderr, and strings of unknown origin made harmless. */
#include "common/tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *program = "flowtap";
static void (*taker)(bool advice, const char *text);

void message_program(const char *name)
{
	program = name;
}

void message_divert(void (*take)(bool advice, const char *text))
{
	taker = take;
}

/* False: nobody takes it. */
static bool divert(bool advice, const char *format, va_list list)
{
	char text[MESSAGE_MAX];

	if (!taker)
		return false;
	vsnprintf(text, sizeof(text), format, list);
	taker(advice, text);
	return true;
}

/* One line, whatever the names in it are: of files, of tasks, out of a trace. */
static void print_line(const char *begin, const char *format, va_list list)
{
	char *text;
	int size = vasprintf(&text, format, list);

	/* Two files may be read at a time. */
	flockfile(stderr);
	fputs(begin, stderr);
	if (size < 0)
		fputs(format, stderr);
	else
		print_plain(stderr, text, (size_t)size);
	fputc('\n', stderr);
	funlockfile(stderr);
	if (size >= 0)
		free(text);
}

void complain(const char *format, ...)
{
	char begin[64];
	va_list list;
	bool taken;

	va_start(list, format);
	taken = divert(false, format, list);
	va_end(list);
	if (taken)
		return;
	fflush(stdout);
	snprintf(begin, sizeof(begin), "%s: ", program);
	va_start(list, format);
	print_line(begin, format, list);
	va_end(list);
}

void complain_stdout(int error)
{
	if (error)
		complain("cannot write to standard output: %s", strerror(-error));
	else
		complain("cannot write to standard output");
	advise_write(error);
}

bool output_failed(void)
{
	static bool failed;

	if (failed)
		return true;
	/* Which error an earlier write had is not known, unless it comes again. */
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return false;
	failed = true;
	complain_stdout(-errno);
	return true;
}

void advise(const char *format, ...)
{
	va_list list;
	bool taken;

	va_start(list, format);
	taken = divert(true, format, list);
	va_end(list);
	if (taken)
		return;
	va_start(list, format);
	print_line("  ", format, list);
	va_end(list);
}

void advise_write(int error)
{
	if (error == -ENOSPC)
		advise("free space on that disk, or write to another one");
	else if (error == -EDQUOT)
		advise("delete files of yours on that disk, or write to another one: your quota of it "
		       "is used up");
	else if (error == -EFBIG)
		advise("raise the limit of the size of files (ulimit -f), or write to a file system "
		       "that takes larger ones");
	else if (error == -EBADF)
		advise("standard output is closed: redirect it to a file, or to /dev/null");
}

int usage_hint(const char *command)
{
	advise("%s --help shows what there is", command);
	return STATUS_USAGE;
}

int misused(const char *command, const char *format, ...)
{
	char begin[64];
	va_list list;

	snprintf(begin, sizeof(begin), "%s: ", command);
	va_start(list, format);
	print_line(begin, format, list);
	va_end(list);
	return usage_hint(command);
}

size_t utf8_length(const char *bytes, size_t size)
{
	const unsigned char *text = (const unsigned char *)bytes;
	static const struct {
		unsigned char mask, lead;
		uint32_t least;
	} forms[] = { { 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 }, { 0xf8, 0xf0, 0x10000 } };

	if (text[0] < 0x80)
		return 1;
	for (size_t n = 0; n < sizeof(forms) / sizeof(forms[0]); n++) {
		uint32_t code = text[0] & ~forms[n].mask;

		if ((text[0] & forms[n].mask) != forms[n].lead)
			continue;
		if (size < n + 2)
			return 0;
		for (size_t i = 1; i < n + 2; i++) {
			if ((text[i] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (text[i] & 0x3f);
		}
		if (code < forms[n].least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
			return 0;
		return n + 2;
	}
	return 0;
}

void print_plain(FILE *file, const char *text, size_t size)
{
	const unsigned char *at = (const unsigned char *)text;

	while (size) {
		size_t length = utf8_length((const char *)at, size);
		/* C0, DEL and the C1 controls, which are two bytes in UTF-8. */
		bool control = at[0] < 0x20 || at[0] == 0x7f ||
			       (length == 2 && at[0] == 0xc2 && at[1] < 0xa0);

		if (length && !control) {
			fwrite(at, 1, length, file);
		} else {
			length = length ? length : 1;
			for (size_t i = 0; i < length; i++)
				fprintf(file, "\\x%02x", at[i]);
		}
		at += length;
		size -= length;
	}
}
