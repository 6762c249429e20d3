/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions and tracepoints that trigger snapshots, as [snapshot] has them: probes_kernel.bpf.c, loaded. */
#ifndef FLOWTAP_DAEMON_PROBES_H
#define FLOWTAP_DAEMON_PROBES_H

#include <stdint.h>

#include "conf.h"
#include "probe_event.h"

struct probes;

/*
 * Attaches all that the conf names. Needs CAP_BPF, CAP_PERFMON and, where perf_event_paranoid asks
 * for it, CAP_SYS_ADMIN, none of them afterwards. Calls `failed` for each that cannot be attached:
 * item as it was written, -errno. 0 and *probes, NULL where none is; -errno: the kernel takes no
 * program.
 */
int probes_open(const struct conf *conf,
		void (*failed)(void *argument, const char *item, int error), void *argument,
		struct probes **probes);
int probes_fd(const struct probes *probes);
/*
 * Calls `event` for each that waits. cause: FLOWTAP_ARCHIVE_CAUSE_; text: what is to be said of it.
 * How many were missed since the last time.
 */
uint64_t probes_serve(struct probes *probes,
		      void (*event)(void *argument, const struct probe_event *event,
				    uint32_t cause, const char *text), void *argument);
void probes_close(struct probes *probes);

#endif /* FLOWTAP_DAEMON_PROBES_H */
