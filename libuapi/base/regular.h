/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Opens files whose path others can change meanwhile. */
#ifndef FLOWTAP_LIBUAPI_BASE_REGULAR_H
#define FLOWTAP_LIBUAPI_BASE_REGULAR_H

/*
 * Opens for reading what was opened with O_PATH: the very file, whatever is put in place of its path
 * meanwhile, so that no device is opened, which can have effects. path_fd, 0 or above, is closed in
 * any case. The fd; -ENOEXEC: it is not a regular file; -ENOENT: no /proc is mounted; another -errno.
 */
int flowtap_open_regular(int path_fd);

#endif /* FLOWTAP_LIBUAPI_BASE_REGULAR_H */
