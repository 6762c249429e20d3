/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A writer of JSON (RFC 8259). What can be counted or measured is a number, what names a place or
 * holds bits (addresses, opcodes, registers, the architecture's ids) a string of "0x": readers that
 * keep numbers in a double change those of more than 53 bits. Keys of what is no count end with the
 * unit: _ns, seconds, _hz, bytes, pages (flowtap.1, JSON). Strings of any bytes come out valid:
 * what is not UTF-8 becomes U+FFFD.
 */
#ifndef FLOWTAP_TOOLS_COMMON_JSON_H
#define FLOWTAP_TOOLS_COMMON_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *file;
	unsigned int depth;
	uint64_t filled;	/* bit d: something is at depth d already */
	bool flat;		/* all on one line */
};

/* key: NULL in an array and at the top. At most 63 deep. */
void json_open(struct json *json, const char *key, char bracket);	/* '{' or '[' */
void json_close(struct json *json, char bracket);			/* '}' or ']' */
void json_string(struct json *json, const char *key, const char *text);	/* NULL: null */
void json_bytes(struct json *json, const char *key, const char *text, size_t size);
void json_number(struct json *json, const char *key, uint64_t value);
void json_real(struct json *json, const char *key, double value);
/* Nanoseconds as seconds, all digits of them. */
void json_seconds(struct json *json, const char *key, uint64_t nanoseconds);
void json_hex(struct json *json, const char *key, uint64_t value);
void json_bool(struct json *json, const char *key, bool value);

#endif /* FLOWTAP_TOOLS_COMMON_JSON_H */
