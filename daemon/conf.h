/* SPDX-License-Identifier: GPL-2.0-only */
/* flowtapd.conf(5): what is wanted. */
#ifndef FLOWTAP_DAEMON_CONF_H
#define FLOWTAP_DAEMON_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONF_LIST_MAX 256	/* entries of a list */
#define CONF_TEXT_MAX 4095	/* bytes of a value */
#define CONF_UNAPPLIED 1024	/* bytes: the names of all keys */
#define CONF_CGROUP_MAX 254	/* of a cgroup's path, without a slash at its beginning */

struct conf_list {
	char **items;
	size_t n;
};

enum conf_source {
	CONF_SOURCE_AUTO,	/* what the machine has */
	CONF_SOURCE_CTR,
	CONF_SOURCE_ETE,
	CONF_SOURCE_SOFT,	/* made up, for tests */
};

enum conf_modes {
	CONF_MODES_USER,
	CONF_MODES_KERNEL,
	CONF_MODES_BOTH,
};

enum conf_format {
	CONF_FORMAT_NONE,	/* segments stay raw */
	CONF_FORMAT_STF,
	CONF_FORMAT_ZSTF,
	CONF_FORMAT_TARMAC,
	CONF_FORMAT_QEMU4V,
};

struct conf {
	/* [record] */
	uint32_t source;		/* enum conf_source */
	uint32_t modes;			/* enum conf_modes */
	uint64_t period;		/* CTR: instructions between samples */
	uint64_t on_time;		/* ns recorded of each on_period; equal: all the time */
	uint64_t on_period;		/* ns */
	uint64_t ring_size;		/* bytes, of each CPU */
	uint64_t aux_size;
	uint64_t strobe_on;		/* ns: a trace unit's own duty cycle; both 0: it has none */
	uint64_t strobe_off;
	bool overwrite;			/* rings are kept hot, snapshots alone are saved */
	bool kernel_text;		/* the kernel's code goes into the segments */
	/* [tasks]: all of them where none is named */
	struct conf_list pids;
	struct conf_list cgroups;	/* paths below the cgroup mount */
	struct conf_list commands;	/* patterns as fnmatch(3)'s */
	struct conf_list not_cgroups;
	struct conf_list not_commands;
	/* [budget] */
	uint32_t cpu;			/* millionths of one CPU */
	uint32_t loss;			/* millionths of what is recorded */
	uint32_t least;			/* share of what is configured that is recorded anyway, millionths */
	uint64_t memory;		/* bytes resident, without the rings */
	/* [segments] */
	char *directory;
	uint64_t size;			/* bytes */
	uint64_t time;			/* ns */
	uint64_t quota;			/* bytes; 0 any */
	uint64_t free;			/* bytes */
	bool compress;
	bool images;			/* what was mapped is saved by its build-id */
	/* [snapshot] */
	uint64_t snapshot_size;		/* bytes, the newest of each CPU */
	bool crash;			/* when a process ends by a signal that dumps core */
	struct conf_list uprobes;	/* FILE:FUNCTION */
	struct conf_list tracepoints;
	struct conf_list latencies;	/* FILE:FUNCTION TIME */
	uint64_t pause;			/* ns that each of those, and crashes, are silent after one */
	/* [decode] */
	uint32_t format;		/* enum conf_format */
	uint64_t waiting;		/* segments; with more the oldest are not decoded */
	/* [control] */
	char *socket;
	char *group;			/* that may ask; "" root alone */
	char *metrics;			/* a path, ADDRESS:PORT of the loopback, or "" */
	/* [service] */
	char *user;			/* whom it becomes when root starts it; "": see privileges.h */
};

/* How many functions and tracepoints are to trigger. */
size_t conf_probes(const struct conf *conf);

struct conf_function {
	char path[CONF_TEXT_MAX + 1];
	char name[CONF_TEXT_MAX + 1];
	uint64_t limit;			/* ns; 0 where it is not timed */
};

/* An item of uprobes or, timed, of latencies. False: it is none. */
bool conf_function(const char *item, bool timed, struct conf_function *function);
/* What flowtapd does without a file. 0; -ENOMEM. */
int conf_default(struct conf *conf);
/*
 * Reads the file over the defaults. 0 and *conf; else *error is one line, "PATH:LINE: what is wrong
 * and what to write", to be freed (NULL: no memory), and *conf is empty: -EINVAL; -E2BIG; -errno of
 * the file.
 */
int conf_load(const char *path, struct conf *conf, char **error);
/*
 * The keys that differ and take effect only when flowtapd is started again: "[SECTION] KEY, KEY,
 * [SECTION] KEY"; "": none.
 */
void conf_unapplied(const struct conf *holds, const struct conf *read, char text[CONF_UNAPPLIED]);
/* All that holds, as a file that says it. 0; -errno of the writing. */
int conf_print(const struct conf *conf, int fd);
void conf_free(struct conf *conf);

#endif /* FLOWTAP_DAEMON_CONF_H */
