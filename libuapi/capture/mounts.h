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
void flowtap_mounts_free(struct flowtap_mounts *mounts);

#endif /* FLOWTAP_LIBUAPI_CAPTURE_MOUNTS_H */
