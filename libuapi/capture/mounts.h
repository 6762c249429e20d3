/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Which file systems can be asked. Where a user's program serves one (FUSE), whoever reads it waits
 * for as long as that user likes, and cannot be killed meanwhile.
 */
#ifndef FLOWTAP_LIBUAPI_CAPTURE_MOUNTS_H
#define FLOWTAP_LIBUAPI_CAPTURE_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

struct flowtap_mounts;

/* Freed by the caller; NULL: no memory. */
struct flowtap_mounts *flowtap_mounts_new(void);
/*
 * Whether a file on this device is read without waiting for a user: its file system is mounted where
 * we see it, which wants privileges but for FUSE, and is not FUSE's; or it is the kernel's own for
 * memory that has a descriptor (memfd, System V). What is mounted later is seen. NULL: none is.
 */
bool flowtap_mounts_answer(struct flowtap_mounts *mounts, uint32_t major, uint32_t minor);
/*
 * Opens (O_PATH) the file at `path` as the kernel writes it, without links and dots, below the root of
 * a process; pid 0: below ours. It goes from folder to folder, and asks none whose file system does not
 * answer, whatever is mounted or put in place of one meanwhile. Of one in a namespace of mounts that is
 * not ours the file system is mounted here too, or tmpfs. The fd; -EXDEV: one on the way, or the
 * file's, does not answer; another -errno.
 */
int flowtap_mounts_walk(struct flowtap_mounts *mounts, uint32_t pid, const char *path);
void flowtap_mounts_free(struct flowtap_mounts *mounts);

#endif /* FLOWTAP_LIBUAPI_CAPTURE_MOUNTS_H */
