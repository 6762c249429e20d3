/* SPDX-License-Identifier: GPL-2.0-only */
/* The programs in the kernel that choose tasks (choice_kernel.bpf.c), loaded. */
#ifndef FLOWTAP_DAEMON_PROGRAMS_H
#define FLOWTAP_DAEMON_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "choice_rules.h"
#include "conf.h"

struct programs;

/*
 * kfuncs: they call the module, which is loaded; else they ask `event`. wide: the set is of those
 * that are left out. Needs CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN, none of them afterwards. 0 and
 * *programs, attached, doing nothing yet; -errno of the kernel.
 */
int programs_open(bool kfuncs, bool wide,
		  void (*event)(void *argument, const struct choice_event *event), void *argument,
		  struct programs **programs);
/* What the conf says of commands and cgroups. mount: of cgroup2, NULL: nowhere. 0 or -errno. */
int programs_configure(struct programs *programs, const struct conf *conf,
		       const struct choice_rules *rules, const char *mount);
/* Of a process; 0: nothing. 0 or -errno. */
int programs_mark(struct programs *programs, uint32_t pid, uint32_t flags);
uint32_t programs_marked(const struct programs *programs, uint32_t pid);
/* The set that they change, from now on; 0: none. */
void programs_key(struct programs *programs, uint64_t key);
int programs_fd(const struct programs *programs);
/* Calls `event` for each that waits. */
void programs_serve(struct programs *programs);
/* There is no set, and whoever was asked about up to then has been served. */
void programs_end(struct programs *programs);
uint64_t programs_missed(const struct programs *programs);
uint64_t programs_stops(const struct programs *programs);
/* They go first, then `event` is called for what waits. */
void programs_close(struct programs *programs);

#endif /* FLOWTAP_DAEMON_PROGRAMS_H */
