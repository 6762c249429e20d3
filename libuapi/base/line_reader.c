// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Searches lines in one buffer that is refilled; a line that is too long is cut and its rest is
 * skipped.
 */
#include "base/line_reader.h"
#include "base/file_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY (1U << 20)

int flowtap_line_reader_open(struct flowtap_line_reader *rows, int fd)
{
	memset(rows, 0, sizeof(*rows));
	rows->bytes = malloc(CAPACITY + 1);
	if (!rows->bytes)
		return -ENOMEM;
	return flowtap_file_input_new(fd, &rows->in);
}

void flowtap_line_reader_close(struct flowtap_line_reader *rows)
{
	flowtap_file_input_free(rows->in);
	free(rows->bytes);
	memset(rows, 0, sizeof(*rows));
}

/* Some more bytes after `end`. */
static void read_some(struct flowtap_line_reader *rows)
{
	ssize_t n = flowtap_file_input_read(rows->in, rows->bytes + rows->end, CAPACITY - rows->end);

	if (n > 0) {
		rows->end += (size_t)n;
		return;
	}
	rows->over = true;
	rows->error = (int)n;
}

static void reserve_capacity(struct flowtap_line_reader *rows)
{
	memmove(rows->bytes, rows->bytes + rows->at, rows->end - rows->at);
	rows->base += rows->at;
	rows->end -= rows->at;
	rows->at = 0;
}

void flowtap_line_reader_ahead(struct flowtap_line_reader *rows)
{
	reserve_capacity(rows);
	while (!rows->over && rows->end < CAPACITY)
		read_some(rows);
}

static int hand_on(struct flowtap_line_reader *rows, size_t size, size_t with_end)
{
	rows->row = rows->bytes + rows->at;
	rows->offset = rows->base + rows->at;
	rows->number++;
	rows->at += with_end;
	rows->size = size;
	if (size && rows->row[size - 1] == '\r') {
		rows->size--;
		((char *)rows->row)[size - 1] = '\n';
	}
	return 1;
}

/* Leaves out what is left of a line. */
static void skip_rest(struct flowtap_line_reader *rows)
{
	for (;;) {
		const char *end = memchr(rows->bytes + rows->at, '\n', rows->end - rows->at);

		if (end) {
			rows->at = end + 1 - rows->bytes;
			return;
		}
		rows->at = rows->end;
		if (rows->over)
			return;
		reserve_capacity(rows);
		read_some(rows);
	}
}

int flowtap_line_reader_next(struct flowtap_line_reader *rows)
{
	size_t searched = 0, left;
	const char *end;

	if (rows->cut)
		skip_rest(rows);
	rows->cut = rows->open = false;
	for (;;) {
		left = rows->end - rows->at;
		end = memchr(rows->bytes + rows->at + searched, '\n', left - searched);
		if (end) {
			left = end - (rows->bytes + rows->at);
			rows->cut = left > FLOWTAP_ROW_MAX;
			if (!rows->cut)
				return hand_on(rows, left, left + 1);
		}
		if (end || left > FLOWTAP_ROW_MAX) {
			rows->cut = true;
			/* No newline was there: the first one is after it. */
			rows->bytes[rows->at + FLOWTAP_ROW_MAX] = '\n';
			return hand_on(rows, FLOWTAP_ROW_MAX, FLOWTAP_ROW_MAX + 1);
		}
		if (rows->over)
			break;
		searched = left;
		if (rows->end == CAPACITY)
			reserve_capacity(rows);
		read_some(rows);
	}
	if (!left)
		return rows->error;
	rows->open = true;
	rows->bytes[rows->end] = '\n';
	return hand_on(rows, left, left);
}
