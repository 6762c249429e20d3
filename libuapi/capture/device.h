/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The calls of the device; with flowtap_device_open all that reaches the module. */
#ifndef FLOWTAP_LIBUAPI_CAPTURE_DEVICE_H
#define FLOWTAP_LIBUAPI_CAPTURE_DEVICE_H

/* ioctl with a FLOWTAP_IOC_ and its argument: 0 or -errno. */
int flowtap_device_call(int fd, unsigned long command, void *argument);

#endif /* FLOWTAP_LIBUAPI_CAPTURE_DEVICE_H */
