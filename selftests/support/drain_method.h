/* SPDX-License-Identifier: GPL-2.0-only */
/* Which method a drain takes where not all can be had. */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_DRAIN_METHOD_H
#define FLOWTAP_SELFTESTS_SUPPORT_DRAIN_METHOD_H

#include <flowtap/drain.h>
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In place of `wanted`, where no memory can be registered, or io_uring is kept from this user. */
static inline enum flowtap_drain_method unregistered(enum flowtap_drain_method wanted)
{
	struct io_uring_params params = { .flags = 0 };
	long fd = syscall(SYS_io_uring_setup, 1, &params);

	if (fd < 0)
		return FLOWTAP_DRAIN_POLL;
	close((int)fd);
	return wanted > FLOWTAP_DRAIN_URING ? wanted : FLOWTAP_DRAIN_URING;
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_DRAIN_METHOD_H */
