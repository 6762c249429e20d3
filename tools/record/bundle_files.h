/* SPDX-License-Identifier: GPL-2.0-only */
/* record --bundle: the files that were mapped go into the archive at the end. */
#ifndef FLOWTAP_TOOLS_RECORD_BUNDLE_FILES_H
#define FLOWTAP_TOOLS_RECORD_BUNDLE_FILES_H

#include <flowtap/archive.h>
#include <flowtap/bundle.h>

/* For flowtap_sideband_options.mapped; the argument is a struct flowtap_bundle. */
int bundle_mapped(void *bundle, const struct flowtap_mapping *mapping);
/* Complains about what cannot be stored, which is no error. 0 or -errno of archive or memory. */
int bundle_store(struct flowtap_bundle *bundle, struct flowtap_archive_writer *writer);

#endif /* FLOWTAP_TOOLS_RECORD_BUNDLE_FILES_H */
