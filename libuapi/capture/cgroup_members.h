/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Who is in a cgroup (v2) and in those below it. */
#ifndef FLOWTAP_LIBUAPI_CAPTURE_CGROUP_MEMBERS_H
#define FLOWTAP_LIBUAPI_CAPTURE_CGROUP_MEMBERS_H

#include <stddef.h>
#include <stdint.h>

/* A member is the number of a process, or of a thread where a cgroup has threads only. */
#define CGROUP_THREAD (1ULL << 32)

/*
 * Of the cgroup at this path of the file system; *members, freed by the caller, has *n, sorted:
 * 65536 at most. What cannot be read, or goes away meanwhile, has nobody in it.
 */
void flowtap_cgroup_members(const char *path, uint64_t **members, size_t *n);

#endif /* FLOWTAP_LIBUAPI_CAPTURE_CGROUP_MEMBERS_H */
