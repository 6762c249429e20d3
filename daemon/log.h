/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens, for whoever watches: a line for each event, of KEY=VALUE.
 *
 *	time=2026-11-22T15:30:00.123Z level=notice event=segment-begun name=7-20261122T153000Z.ftap
 *
 * A value with anything but letters, digits and ._/:@%+,- is in quotes: \" and \\ are these
 * characters, \xNN is a byte that is a control or no UTF-8. Where the lines go to the journal it
 * has the time, and the level is the <N> that a line begins with (sd-daemon(3)).
 */
#ifndef FLOWTAP_DAEMON_LOG_H
#define FLOWTAP_DAEMON_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_LINE 8192		/* bytes; what is longer is cut, and ends with cut=yes */

/* syslog(3)'s numbers */
enum log_level {
	LEVEL_ERROR = 3,	/* something was not done */
	LEVEL_WARNING = 4,	/* less is recorded than was asked for */
	LEVEL_NOTICE = 5,
	LEVEL_INFO = 6,		/* comes all day */
};

struct log_line {
	bool cut;
	size_t size;
	char text[LOG_LINE];
};

/*
 * Lines go to this fd (standard error until this is called), which is the journal's if the
 * environment's JOURNAL_STREAM names it.
 */
void log_open(int fd);
/*
 * From now on the messages of message.c are events, too: "message" with the level error, and
 * "advice". False: no more.
 */
void log_take_messages(bool take);

/* A line: begun, filled, written. The event and keys: words of lower case letters, - and _. */
void log_begin(struct log_line *line, enum log_level level, const char *event);
/* Text of any origin; NULL: the key is left out. */
void log_text(struct log_line *line, const char *key, const char *text);
void log_number(struct log_line *line, const char *key, uint64_t value);
/* Millionths, as "12.3456%". */
void log_share(struct log_line *line, const char *key, uint64_t millionths);
/* ns, as "1.234s". */
void log_time(struct log_line *line, const char *key, uint64_t ns);
/* One write; what cannot be written is lost. */
void log_end(struct log_line *line);

#endif /* FLOWTAP_DAEMON_LOG_H */
