/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A file of text, line by line, in bounded memory. */
#ifndef FLOWTAP_LIBUAPI_BASE_LINE_READER_H
#define FLOWTAP_LIBUAPI_BASE_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLOWTAP_ROW_MAX	65536U	/* bytes of a line; more of it is left out */

struct flowtap_file_input;

struct flowtap_line_reader {
	struct flowtap_file_input *in;
	char *bytes;
	size_t at;		/* what was not handed on yet is [at, end) */
	size_t end;
	uint64_t base;		/* offset of bytes[0] in the unpacked text */
	bool over;		/* there is no more after `end` */
	int error;		/* of reading: what came before is handed on first */

	/* Of the line that flowtap_line_reader_next found. */
	const char *row;	/* followed by a byte that is '\n' */
	size_t size;		/* without \n, \r\n */
	uint64_t offset;
	uint64_t number;	/* counted from 1 */
	bool cut;		/* by FLOWTAP_ROW_MAX */
	bool open;		/* the file ends without a newline after it */
};

/* fd is borrowed. 0; -ENOMEM; -errno of read. To be closed in any case. */
int flowtap_line_reader_open(struct flowtap_line_reader *rows, int fd);
void flowtap_line_reader_close(struct flowtap_line_reader *rows);
/* 1: a line; 0: the end; what flowtap_file_input_read returned. */
int flowtap_line_reader_next(struct flowtap_line_reader *rows);
/* Reads ahead as far as there is space: what can be looked at before the first line. */
void flowtap_line_reader_ahead(struct flowtap_line_reader *rows);

#endif /* FLOWTAP_LIBUAPI_BASE_LINE_READER_H */
