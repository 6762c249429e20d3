/* SPDX-License-Identifier: GPL-2.0-only */
/* For tests of rights: gives up a capability of the calling thread. */
#ifndef FLOWTAP_SELFTESTS_KERNEL_CAPABILITY_H
#define FLOWTAP_SELFTESTS_KERNEL_CAPABILITY_H

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of this thread, for good. */
static inline void drop(unsigned int capability)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	syscall(SYS_capget, &header, data);
	data[capability / 32].effective &= ~(1U << capability % 32);
	data[capability / 32].permitted &= ~(1U << capability % 32);
	syscall(SYS_capset, &header, data);
}

#endif /* FLOWTAP_SELFTESTS_KERNEL_CAPABILITY_H */
