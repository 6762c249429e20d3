/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Where a recorded file is on this machine: rules in address_map.h, flowtap_address_map_new and
 * flowtap_address_map_images. */
#ifndef FLOWTAP_LIBUAPI_CODE_LOCATE_H
#define FLOWTAP_LIBUAPI_CODE_LOCATE_H

#include "code/elf_file.h"

#include <limits.h>

/*
 * Opens for reading the regular file that was mapped as `path`, with this build-id. Where its size is
 * 0 nothing says that it is the file of then, but it is an ELF file of that machine. sysroot: NULL for
 * /; images: NULL for none. The fd, or -errno and one line in why.
 */
int flowtap_locate_code(const char *sysroot, const char *images, const char *path,
			const struct flowtap_build_id *id, enum flowtap_machine machine,
			char why[FLOWTAP_WHY]);
/*
 * Whether an open file is that one: fd, or -errno and one line in why, and then it is closed. fd may be
 * the -errno of opening it.
 */
int flowtap_locate_check(int fd, const char *path, const struct flowtap_build_id *id,
			 enum flowtap_machine machine, char why[FLOWTAP_WHY]);
/* The path without the kernel's mark of a file that was unlinked; false: it has none. */
bool flowtap_locate_deleted(const char *path, char stripped[PATH_MAX]);
/* The same for a debug file. -ENOENT without a build-id. */
int flowtap_locate_debug(const char *sysroot, const struct flowtap_build_id *id);
/*
 * Opens for reading the regular file `path` of the directory `root`; links and .. do not lead out
 * of it. The fd; -ENOEXEC: not a regular file; -errno.
 */
int flowtap_locate_in(int root, const char *path);

#endif /* FLOWTAP_LIBUAPI_CODE_LOCATE_H */
