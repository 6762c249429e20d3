/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Files that can be read twice, of what may be a pipe. */
#ifndef FLOWTAP_SEEKABLE_H
#define FLOWTAP_SEEKABLE_H

#include <stdint.h>

/*
 * A file without a name, in $TMPDIR, else /var/tmp, /tmp: open for reading and writing. The fd or
 * -errno.
 */
int flowtap_temporary(void);

/*
 * fd itself where it is a regular file, else a temporary file with what could be read from it. *base:
 * where it begins in that. The fd, which the caller closes if it is another one, or -errno.
 */
int flowtap_seekable(int fd, uint64_t *base);

#endif /* FLOWTAP_SEEKABLE_H */
