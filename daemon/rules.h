/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whom [tasks] of flowtapd.conf(5) chooses: the same rules for the kernel (choice_rules.h) and for /proc.
 */
#ifndef FLOWTAP_DAEMON_RULES_H
#define FLOWTAP_DAEMON_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "choice_rules.h"
#include "conf.h"

/* A process, as /proc has it. */
struct rules_process {
	uint32_t pid, parent;
	uint64_t started;		/* with pid it is one of its kind */
	bool kernel;			/* a thread of the kernel */
	char comm[CHOICE_COMM];
	char cgroup[4096];		/* its path; "": there is no cgroup2 */
};

/* Somebody is named, to be recorded or not to be. */
bool rules_any(const struct conf *conf);
/* All are recorded that are not left out: CPUs as a whole. Else those alone that are named. */
bool rules_wide(const struct conf *conf);

/*
 * As fnmatch(3) takes it without flags, in the C locale, for names of less than CHOICE_COMM bytes.
 */
void rules_compile_pattern(const char *text, struct choice_pattern *pattern);
void rules_compile(const struct conf *conf, struct choice_rules *rules);
/*
 * The path of a cgroup as the kernel names it, of one as it is configured: below the mount, which
 * is at `mount` (NULL: nowhere), or with it.
 */
void rules_path(const char *text, const char *mount, char path[CHOICE_PATH]);
/* CHOICE_WANTED, CHOICE_UNWANTED of the cgroup and those above it. */
uint32_t rules_cgroup(const struct conf *conf, const char *mount, const char *path);
/* flags: CHOICE_WANTED, CHOICE_OWN of the process. */
bool rules_want(const struct conf *conf, const struct choice_rules *rules, const char *mount,
		const struct rules_process *process, uint32_t flags);

/* Reads /proc/PID. False: it has gone. */
bool rules_look(uint32_t pid, struct rules_process *process);
/* The same of two texts of it: of `stat` and `cgroup`. False: that is neither. */
bool rules_parse(const char *stat, const char *cgroup, struct rules_process *process);

#endif /* FLOWTAP_DAEMON_RULES_H */
