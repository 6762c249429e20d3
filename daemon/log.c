// SPDX-License-Identifier: GPL-2.0-only
/*
 * Formats the lines of the log: escapes values, adds time or level, and writes each line at once.
 */
#include "log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../tools/common/tool.h"

static const char cut[] = " cut=yes";

/* What every line reserves after its fields. */
#define CAPACITY (LOG_LINE - sizeof(cut) - 1)

static int output = STDERR_FILENO;
static bool journal;

/* JOURNAL_STREAM is DEVICE:INODE (systemd.exec(5)). */
static bool is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat stat;
	char end;

	return stream && sscanf(stream, "%llu:%llu%c", &device, &inode, &end) == 2 &&
	       !fstat(fd, &stat) && device == stat.st_dev && inode == stat.st_ino;
}

void log_open(int fd)
{
	output = fd;
	journal = is_journal(fd);
}

/* All of it or nothing. */
static bool add(struct log_line *line, const char *text, size_t size)
{
	if (line->cut || size > CAPACITY - line->size) {
		line->cut = true;
		return false;
	}
	memcpy(line->text + line->size, text, size);
	line->size += size;
	return true;
}

static void __attribute__((format(printf, 2, 3)))
add_format(struct log_line *line, const char *format, ...)
{
	char text[128];
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	if (n >= (int)sizeof(text))
		line->cut = true;
	else
		add(line, text, (size_t)n);
}

static void add_now(struct log_line *line)
{
	struct timespec now;
	struct tm utc;
	char text[32];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
	add_format(line, "time=%s.%03ldZ ", text, now.tv_nsec / 1000000);
}

void log_begin(struct log_line *line, enum log_level level, const char *event)
{
	static const char *const names[] = {
		[LEVEL_ERROR] = "error", [LEVEL_WARNING] = "warning", [LEVEL_NOTICE] = "notice",
		[LEVEL_INFO] = "info",
	};

	line->size = 0;
	line->cut = false;
	if (journal) {
		add_format(line, "<%d>event=%s", level, event);
		return;
	}
	add_now(line);
	add_format(line, "level=%s event=%s", names[level], event);
}

/* Bytes of the character at text that can be written as it is; 0: it is escaped. */
static size_t plain(const char *text, size_t size)
{
	const unsigned char *c = (const unsigned char *)text;
	size_t length = utf8_length(text, size);

	/* C0, DEL, and the C1 controls, which are two bytes. */
	if (c[0] < 0x20 || c[0] == 0x7f || (length == 2 && c[0] == 0xc2 && c[1] < 0xa0))
		return 0;
	return length;
}

static bool is_bare(const char *text)
{
	static const char bare[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "._/:@%+,-";

	return *text && !text[strspn(text, bare)];
}

static void add_quoted(struct log_line *line, const char *text)
{
	size_t left = strlen(text);

	add(line, "\"", 1);
	while (left && !line->cut) {
		size_t length = plain(text, left);

		if (*text == '"' || *text == '\\')
			add(line, "\\", 1);
		if (length)
			add(line, text, length);
		else
			add_format(line, "\\x%02x", (unsigned char)*text);
		text += length ? length : 1;
		left -= length ? length : 1;
	}
	add(line, "\"", 1);
}

void log_text(struct log_line *line, const char *key, const char *text)
{
	const size_t before = line->size;

	if (!text || line->cut)
		return;
	add_format(line, " %s=", key);
	if (is_bare(text))
		add(line, text, strlen(text));
	else
		add_quoted(line, text);
	/* Half a value would be taken for a whole one. */
	if (line->cut)
		line->size = before;
}

void log_number(struct log_line *line, const char *key, uint64_t value)
{
	add_format(line, " %s=%" PRIu64, key, value);
}

void log_share(struct log_line *line, const char *key, uint64_t millionths)
{
	add_format(line, " %s=%" PRIu64 ".%04" PRIu64 "%%", key, millionths / 10000,
		   millionths % 10000);
}

void log_time(struct log_line *line, const char *key, uint64_t ns)
{
	add_format(line, " %s=%" PRIu64 ".%03" PRIu64 "s", key, ns / 1000000000,
		   ns / 1000000 % 1000);
}

void log_end(struct log_line *line)
{
	if (line->cut) {
		memcpy(line->text + line->size, cut, sizeof(cut) - 1);
		line->size += sizeof(cut) - 1;
	}
	line->text[line->size++] = '\n';
	if (write(output, line->text, line->size) < 0)
		return;
}

static void handle_message(bool advice, const char *text)
{
	struct log_line line;

	log_begin(&line, advice ? LEVEL_NOTICE : LEVEL_ERROR, advice ? "advice" : "message");
	log_text(&line, "text", text);
	log_end(&line);
}

void log_take_messages(bool take)
{
	message_divert(take ? handle_message : NULL);
}
