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
