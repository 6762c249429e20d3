/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Bundles: the files that were mapped executable, each once, in the archive itself
 * (FLOWTAP_ARCHIVE_FILE), so that decoding needs no copy of the recorded machine.
 *
 * A file is stored if it has the recorded build-id. One without a build-id is stored if it was not
 * changed (ctime) since the bundle was begun. What no path leads to is not: the side band saves it.
 */
#ifndef FLOWTAP_BUNDLE_H
#define FLOWTAP_BUNDLE_H

#include <flowtap/archive.h>
#include <flowtap/address_map.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * For who saves what is mapped on this machine: opens for reading the regular file that a map would
 * take, where the process has it, or else, as it may have ended, where we have it. Of the mapping pid,
 * path and build-id count. No file system is asked that a user's program serves (FUSE), who could keep
 * us waiting. The fd, which is the caller's to close; -errno and a line in why: -ESTALE: its build-id
 * is another one; -EXDEV: it is, or was, on such a file system, or on one that is not mounted here;
 * -EINVAL: a build-id longer than there is space.
 */
int flowtap_mapping_open(const struct flowtap_mapping *mapping, char why[FLOWTAP_WHY]);

#define FLOWTAP_BUNDLE_MAX	(3ULL << 30)	/* bytes of all files; of one: FLOWTAP_BUNDLE_FILE_MAX */

struct flowtap_bundle;

/* To be begun before the side band is. NULL: no memory. */
struct flowtap_bundle *flowtap_bundle_new(void);
void flowtap_bundle_free(struct flowtap_bundle *bundle);
/* Notes what was mapped; opens nothing. 0 or -ENOMEM. */
int flowtap_bundle_add(struct flowtap_bundle *bundle, const struct flowtap_mapping *mapping);

struct flowtap_bundle_figures {
	uint64_t files;		/* stored */
	uint64_t bytes;		/* of them */
	uint64_t left_out;
};

/*
 * Stores the files, at the end of a recording. left_out (or NULL) is called for each that is not,
 * with a line that says why and names it. 0; -ENOMEM; -errno of the archive.
 */
int flowtap_bundle_write(struct flowtap_bundle *bundle, struct flowtap_archive_writer *writer,
			 void (*left_out)(void *argument, const char *why), void *argument,
			 struct flowtap_bundle_figures *figures);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_BUNDLE_H */
