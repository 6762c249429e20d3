/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What /proc says about tasks and their executable mappings, and /sys about CPUs. */
#ifndef FLOWTAP_LIBUAPI_CAPTURE_PROCFS_H
#define FLOWTAP_LIBUAPI_CAPTURE_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/elf_file.h"

struct flowtap_mounts;

/* Which file: of /proc/PID/maps and of perf's MMAP2, where the device is the file system's. */
struct flowtap_proc_file {
	uint32_t major;
	uint32_t minor;
	uint64_t inode;		/* 0: none */
};

/* One executable mapping. Valid during the call. */
struct flowtap_proc_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t file_offset;
	struct flowtap_proc_file file;
	bool writable;
	bool shared;		/* what is written to the file or elsewhere is here too */
	const char *path;	/* as perf spells it: anonymous memory is "//anon" */
	int maps;		/* /proc/PID/maps, open */
};

/* The CPUs that are online; freed by the caller. 0, -errno. */
int flowtap_proc_online(uint32_t **cpus, size_t *n);

/* These stop at, and return, what is not 0. -errno where /proc cannot be read; -ESRCH: no task. */
typedef int (*flowtap_proc_visit)(void *argument, uint32_t id);
int flowtap_proc_each_process(flowtap_proc_visit visit, void *argument);
int flowtap_proc_each_thread(uint32_t pid, flowtap_proc_visit visit, void *argument);
/* Of all threads. 0 also for a process that is gone; -ENOENT: this kernel has no such list. */
int flowtap_proc_each_child(uint32_t pid, flowtap_proc_visit visit, void *argument);
int flowtap_proc_each_mapping(uint32_t pid, void *argument,
			      int (*visit)(void *argument,
					   const struct flowtap_proc_mapping *mapping));

struct flowtap_proc_status {
	uint32_t parent;
	uint64_t started;	/* clock ticks since boot: distinguishes two processes of one pid */
	char comm[16];		/* 0-terminated */
};

/* False: there is no such thread. */
bool flowtap_proc_status(uint32_t pid, uint32_t tid, struct flowtap_proc_status *status);

/* Identifies the program that the process executes; 0 unknown. */
uint64_t flowtap_proc_program(uint32_t pid);

/*
 * The build-id of the file that is mapped, also of one that was deleted where the kernel or our
 * rights allow; of size 0 where it cannot be known, or only by waiting for a user's file system.
 */
struct flowtap_build_id flowtap_proc_build_id(uint32_t pid,
					      const struct flowtap_proc_mapping *mapping,
					      struct flowtap_mounts *mounts);
/*
 * The same by path, for mappings that may be gone. The path is followed as far as the kernel has it
 * in memory, and what is there must be the file.
 */
struct flowtap_build_id flowtap_proc_build_id_of(uint32_t pid, const char *path,
						 const struct flowtap_proc_file *file,
						 struct flowtap_mounts *mounts);

/*
 * Which file the path leads to for this process, as far as the kernel has the way in memory; false:
 * it is not known. Nothing is waited for.
 */
bool flowtap_proc_file_at(uint32_t pid, const char *path, struct flowtap_proc_file *file);

/* Whether path names something that no path leads to: anonymous memory, memfd, deleted files. */
bool flowtap_proc_is_nameless(const char *path);
/* Reads `size` bytes of another's memory whole: 0 or -errno. */
int flowtap_proc_memory(uint32_t pid, uint64_t address, void *bytes, size_t size);

#endif /* FLOWTAP_LIBUAPI_CAPTURE_PROCFS_H */
