/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Recording: the device, and what each CPU of this machine has for it.
 *
 * Functions return 0 or -errno, print nothing and leave errno alone.
 */
#ifndef FLOWTAP_SESSION_H
#define FLOWTAP_SESSION_H

#include <linux/flowtap.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLOWTAP_DEVICE "/dev/flowtap"

/*
 * A descriptor, the caller's to close; or -errno of open: -ENOENT, -ENXIO or -ENODEV: the module is not
 * loaded; -EACCES or -EPERM: one may not.
 */
int flowtap_device_open(void);

/*
 * What each CPU has of the source `want` (a FLOWTAP_SOURCE_), 0: of what its hardware has. *queries has
 * *n, by CPU number, and is the caller's to free. A number that is no CPU has no source, for
 * FLOWTAP_REASON_OFFLINE. 0; what flowtap_device_open returns; -errno of the first query, -ENOTTY: the
 * device is another's; -EPROTO: it gives no number of CPUs, or one above 8192; -ENOMEM.
 */
int flowtap_device_query(uint32_t want, struct flowtap_query **queries, size_t *n);

/*
 * FLOWTAP_IOC_CONFIGURE: 0 or -errno of it. Where the CPU is held by a process that has ended, or that
 * cannot be seen, it is tried again for up to 5 s: the kernel may take a moment to close what was that
 * one's.
 */
int flowtap_device_configure(int fd, struct flowtap_configure *configure);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_SESSION_H */
