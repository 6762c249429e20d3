/* SPDX-License-Identifier: GPL-2.0-only */
/* The file a command reads. */
#ifndef INPUT_H
#define INPUT_H

#include <sys/types.h>

/*
 * A descriptor of `path` ("-": standard input) at its beginning that can be read twice: what comes
 * by a pipe is copied to a temporary file without a name ($TMPDIR, else /var/tmp) first. Below 0
 * after a complaint.
 */
int input_open(const char *path);
/* Its name for messages. */
const char *input_name(const char *path);
/* Bytes, 0 unknown. */
off_t input_size(int fd);

#endif /* INPUT_H */
