/* SPDX-License-Identifier: GPL-2.0-only */
/* What the programs in the kernel that trigger snapshots (probes_kernel.bpf.c) and the daemon share. */
#ifndef FLOWTAP_DAEMON_PROBE_EVENT_H
#define FLOWTAP_DAEMON_PROBE_EVENT_H

#include <linux/types.h>

#define PROBE_MAX 64			/* of all kinds together */

/* A probe was reached, or took too long. */
struct probe_event {
	__u64 time;			/* CLOCK_MONOTONIC, ns */
	__u64 address;			/* of the function; of a tracepoint: where its task was in user mode */
	__u64 took;			/* ns, of a latency */
	__u32 number;
	__u32 pid;
	__u32 tid;
	__u32 reserved;
};

#endif /* FLOWTAP_DAEMON_PROBE_EVENT_H */
