/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Files that can be read twice, of what may be a pipe. */
#ifndef FLOWTAP_LIBUAPI_PIPELINE_SEEKABLE_H
#define FLOWTAP_LIBUAPI_PIPELINE_SEEKABLE_H

#include <stdint.h>

/*
 * fd itself where it is a regular file, else a temporary file with what could be read from it.
 * *base: where it begins in that. The fd, which the caller closes if it is another one; -errno, or
 * what flowtap_input_keep returns below 0.
 */
int flowtap_seekable(int fd, uint64_t *base);

#endif /* FLOWTAP_LIBUAPI_PIPELINE_SEEKABLE_H */
