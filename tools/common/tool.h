/* SPDX-License-Identifier: GPL-2.0-only */
/* What every command has: its entry, its exit status, its messages and its numbers. */
#ifndef FLOWTAP_TOOLS_COMMON_TOOL_H
#define FLOWTAP_TOOLS_COMMON_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifndef FLOWTAP_VERSION
#define FLOWTAP_VERSION "0.1"
#endif

/* Exit status (flowtap.1). `record -- CMD` has the command's own, 126 and 127 as the shell does. */
enum status {
	STATUS_OK = 0,
	STATUS_ERROR = 1,
	STATUS_USAGE = 2,
	STATUS_DAMAGED = 3,	/* done as far as the input was good */
	STATUS_NOTHING = 4,	/* a good recording that yields no instruction */
	STATUS_CANNOT_EXECUTE = 126,
	STATUS_NOT_FOUND = 127,
};

/* One per file of that name. argv[0] is "flowtap COMMAND". */
int record_command(int argc, char **argv);
int decode_command(int argc, char **argv);
int convert_command(int argc, char **argv);
int diff_command(int argc, char **argv);
int stat_command(int argc, char **argv);
int dump_command(int argc, char **argv);
int check_command(int argc, char **argv);
int doctor_command(int argc, char **argv);
int list_command(int argc, char **argv);
int ctl_command(int argc, char **argv);

/*
 * message.c: lines on stderr. The format takes no newline.
 *
 * Who speaks, "flowtap" until this is called; the string is borrowed.
 */
void message_program(const char *name);
/* A longer one that is diverted is cut. */
#define MESSAGE_MAX 4096
/* Messages go there instead, without the program's name; advice: as `advise`. NULL: to stderr. */
void message_divert(void (*take)(bool advice, const char *text));
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* That standard output cannot be written to; error: -errno, 0 where it is not known. */
void complain_stdout(int error);
/*
 * Whether standard output is a full disk, or the like: complains, once. What is written to it comes
 * before.
 */
bool output_failed(void);
/* A line that belongs to the one before it: what to do about it. */
void advise(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * What mends an error of writing: a full disk, a quota, a limit of sizes, a standard output that is
 * closed; of others nothing.
 */
void advise_write(int error);
/* Points at --help and returns STATUS_USAGE; for what getopt complained about. As in argv[0]. */
int usage_hint(const char *command);
/* Complains and does that. */
int misused(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * Prints a string of unknown origin (a path, a comm, a line of an archive): control characters
 * and what is not UTF-8 as \xNN, so that it cannot write on the terminal what it likes.
 */
void print_plain(FILE *file, const char *text, size_t size);

/* Length of the UTF-8 sequence at text, 0 where there is none (overlong, surrogate, cut off). */
size_t utf8_length(const char *text, size_t size);

/* number.c: whole strings, decimal or 0x; false when it is none or out of range. */
bool number_parse(const char *text, uint64_t least, uint64_t most, uint64_t *value);
bool number_parse_seconds(const char *text, uint64_t *nanoseconds);
/* "64M" -> bytes, at least one; without a unit, or with K, M, G. */
bool number_parse_size(const char *text, uint64_t *bytes);
/* The ending of a noun of which there are n: "s", or nothing. */
const char *plural(uint64_t n);
/* 1234567 -> "1,234,567"; space for 32 bytes. */
const char *number_group(uint64_t value, char *buffer);
/* Bytes as people read them: "7.6 MB"; space for 32 bytes. */
const char *number_bytes(uint64_t bytes, char *buffer);
/* A duration: "12.3 ms", from a second on "1.2 s"; space for 32 bytes. */
const char *number_time(uint64_t nanoseconds, char *buffer);
/* CLOCK_MONOTONIC_RAW in nanoseconds, the archive's clock. */
uint64_t number_now(void);
/* A moment of CLOCK_MONOTONIC not long ago, by that clock. */
uint64_t number_raw(uint64_t monotonic);

#endif /* FLOWTAP_TOOLS_COMMON_TOOL_H */
