/* SPDX-License-Identifier: GPL-2.0-only */
/* The file a command reads. */
#ifndef FLOWTAP_TOOLS_COMMON_INPUT_FILE_H
#define FLOWTAP_TOOLS_COMMON_INPUT_FILE_H

#include <flowtap/packed.h>
#include <stdbool.h>
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
/* What the last input_open unpacked, all zeros: nothing; a packing with damages is no good file. */
const struct flowtap_unpacked *input_unpacked(void);
/*
 * By what it is packed, and what unpacks it, for messages: of what no command reads as it is. By gzip
 * only if asked for, as traces are read so. Static; NULL: it does not look like that.
 */
const char *input_packing(int fd, bool gzip);
/* Its name for messages. */
const char *input_name(const char *path);
/* Bytes, 0 unknown. */
off_t input_size(int fd);

#endif /* FLOWTAP_TOOLS_COMMON_INPUT_FILE_H */
