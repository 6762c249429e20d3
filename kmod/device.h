/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FLOWTAP_DEVICE_H
#define FLOWTAP_DEVICE_H

int device_init(void);
void device_exit(void);

#endif /* FLOWTAP_DEVICE_H */
