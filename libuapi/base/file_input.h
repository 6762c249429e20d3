/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The bytes of a file or pipe, one after the other; those of a gzip file unpacked (RFC 1952). */
#ifndef FLOWTAP_IN_H
#define FLOWTAP_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct flowtap_in;

/* So many bytes of the file flowtap_in_first has, unless the file has less. */
#define FLOWTAP_IN_FIRST 8U

/* fd: borrowed, read on from where it stands. 0 and *in; -ENOMEM; -errno of read. */
int flowtap_in_new(int fd, struct flowtap_in **in);
void flowtap_in_free(struct flowtap_in *in);

/*
 * Up to `capacity` bytes, at least one. 0: the end; -errno of read; -EBADMSG: damaged gzip data, or
 * something else than zeros after them; -ENODATA: it ends in the midst of them; -ENOMEM. What came
 * before an error was right.
 */
ssize_t flowtap_in_read(struct flowtap_in *in, void *bytes, size_t capacity);
/* What -EBADMSG or -ENODATA was for, and where in the file; valid as long as `in`. */
const char *flowtap_in_problem(const struct flowtap_in *in, uint64_t *offset);

/* Before the first read: the first bytes of the file, as they stand there. How many. */
size_t flowtap_in_first(const struct flowtap_in *in, const uint8_t **bytes);
/* Whether it is packed by gzip. */
bool flowtap_in_packed(const struct flowtap_in *in);
/* How many bytes of the file were read, and how many it has; 0: that is not known. */
uint64_t flowtap_in_done(const struct flowtap_in *in);
uint64_t flowtap_in_size(const struct flowtap_in *in);

/*
 * Of the first `size` bytes of a file, the first bytes that flowtap_in_read would give: how many
 * there are in text, at most `capacity`.
 */
size_t flowtap_in_begin(const void *begin, size_t size, char *text, size_t capacity);

#endif /* FLOWTAP_IN_H */
