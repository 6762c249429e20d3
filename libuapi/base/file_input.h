/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The bytes of a file or pipe, one after the other; those of a gzip file unpacked (RFC 1952). */
#ifndef FLOWTAP_LIBUAPI_BASE_FILE_INPUT_H
#define FLOWTAP_LIBUAPI_BASE_FILE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct flowtap_file_input;

/* So many bytes of the file flowtap_file_input_first has, unless the file has less. */
#define FLOWTAP_IN_FIRST 8U

/* fd: borrowed, read from its offset on. 0 and *in; -ENOMEM; -errno of read. */
int flowtap_file_input_new(int fd, struct flowtap_file_input **in);
void flowtap_file_input_free(struct flowtap_file_input *in);

/*
 * Up to `capacity` bytes, at least one. 0: the end; -errno of read; -EBADMSG: damaged gzip data, or
 * something else than zeros after them; -ENODATA: it ends in the midst of them; -ENOMEM. What came
 * before an error was right.
 */
ssize_t flowtap_file_input_read(struct flowtap_file_input *in, void *bytes, size_t capacity);
/* What -EBADMSG or -ENODATA was for, and where in the file; valid as long as `in`. */
const char *flowtap_file_input_problem(const struct flowtap_file_input *in, uint64_t *offset);

/* Before the first read: the first bytes of the file, as they are there. How many. */
size_t flowtap_file_input_first(const struct flowtap_file_input *in, const uint8_t **bytes);
/* Whether it is packed by gzip. */
bool flowtap_file_input_packed(const struct flowtap_file_input *in);
/* How many bytes of the file were read, and how many it has; 0: that is not known. */
uint64_t flowtap_file_input_done(const struct flowtap_file_input *in);
uint64_t flowtap_file_input_size(const struct flowtap_file_input *in);

/*
 * Of the first `size` bytes of a file, the first bytes that flowtap_file_input_read would give: how many
 * there are in text, at most `capacity`.
 */
size_t flowtap_file_input_begin(const void *begin, size_t size, char *text, size_t capacity);

#endif /* FLOWTAP_LIBUAPI_BASE_FILE_INPUT_H */
