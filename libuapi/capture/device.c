// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Opens and calls the device. Tests have one of their own in place of this file. */
#include "capture/device.h"

#include <errno.h>
#include <fcntl.h>
#include <flowtap/session.h>
#include <sys/ioctl.h>

int flowtap_device_open(void)
{
	int saved = errno, fd = open(FLOWTAP_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		fd = -errno;
	errno = saved;
	return fd;
}

int flowtap_device_call(int fd, unsigned long command, void *argument)
{
	int saved = errno, error = ioctl(fd, command, argument) ? -errno : 0;

	errno = saved;
	return error;
}
