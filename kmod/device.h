/* SPDX-License-Identifier: GPL-2.0-only */
/* /dev/flowtap. Whom its commands call beside members and group, and why: see layers. */
#ifndef FLOWTAP_KMOD_DEVICE_H
#define FLOWTAP_KMOD_DEVICE_H

/**
 * device_init() - make the device: users can open it from here on
 *
 * Context: the module's load, after all else; may sleep.
 * Return: 0 or -errno of misc_register().
 */
int device_init(void);

/**
 * device_exit() - take the device away
 *
 * Context: the module's unload: no file is open. May sleep.
 */
void device_exit(void);

#endif /* FLOWTAP_KMOD_DEVICE_H */
