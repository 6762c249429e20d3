/* SPDX-License-Identifier: GPL-2.0-only */
/* Files as text, one line for each block and record; the parts of flowtap dump. */
#ifndef FLOWTAP_TOOLS_DUMP_DUMP_H
#define FLOWTAP_TOOLS_DUMP_DUMP_H

#include "dump/dump_progress.h"

#include <linux/flowtap.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Each prints to stdout, complains about what is damaged with offset and reason, and returns an
 * exit status: STATUS_OK, STATUS_DAMAGED, STATUS_ERROR. fd is at the beginning; the progress is
 * begun for it.
 */
int dump_archive(int fd, const char *path, bool contents, struct dump_progress *progress);
/* With contents the records too; of trace bytes only where they are. */
int dump_perfdata(int fd, const char *path, bool contents, struct dump_progress *progress);
int dump_stf(int fd, const char *path, bool hex, struct dump_progress *progress);
int dump_zstf(int fd, const char *path, bool hex, struct dump_progress *progress);

/*
 * One record of a ring, of `size` bytes, as indented lines. NULL, or what contradicts itself in it
 * (what could be printed was).
 */
const char *dump_record(const struct flowtap_record *record, size_t size);

/* Nanoseconds as seconds. */
void dump_time(const char *name, uint64_t time);

#endif /* FLOWTAP_TOOLS_DUMP_DUMP_H */
