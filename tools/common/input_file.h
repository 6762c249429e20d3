/* SPDX-License-Identifier: GPL-2.0-only */
/* The file a command reads. */
#ifndef INPUT_FILE_H
#define INPUT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A descriptor of `path` ("-": standard input) at its beginning that can be read twice: what comes
 * by a pipe is copied to a temporary file without a name ($TMPDIR, else /var/tmp) first, and so is
 * the archive in a packed one (.ftap.zst), up to $FLOWTAP_UNPACK_LIMIT bytes; complains of damage
 * and cuts in that. What may have no end is refused: what begins with 64 KiB of zeros, and
 * devices. Of a directory that perf record made (--kcore) it is the file "data". Quiet: no progress
 * of the copying. Below 0 after a complaint.
 */
int input_open(const char *path, bool quiet);
/* Damages that the last input_open complained of: a packing with any is no good file. */
uint64_t input_damages(void);
/* Its name for messages. */
const char *input_name(const char *path);
/* Bytes, 0 unknown. */
off_t input_size(int fd);

#endif /* INPUT_FILE_H */
