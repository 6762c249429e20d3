// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stores the mapped files, and reports the first of those that are left out and the number of
 * all.
 */
#include "record/bundle_files.h"

#include "common/tool.h"

#include <inttypes.h>

#define SHOWN 10

int bundle_mapped(void *bundle, const struct flowtap_mapping *mapping)
{
	return flowtap_bundle_add(bundle, mapping);
}

static void left_out(void *argument, const char *why)
{
	uint64_t *count = argument;

	if (++*count <= SHOWN)
		complain("not stored: %s", why);
	if (*count == SHOWN)
		advise("and so on: what else is not stored is only counted");
}

int bundle_store(struct flowtap_bundle *bundle, struct flowtap_archive_writer *writer)
{
	struct flowtap_bundle_figures figures;
	uint64_t count = 0;
	int error = flowtap_bundle_write(bundle, writer, left_out, &count, &figures);

	if (!error && figures.left_out)
		advise("%" PRIu64 " of %" PRIu64 " files %s not in the archive: to decode what "
		       "they did takes the files themselves (--sysroot)", figures.left_out,
		       figures.left_out + figures.files, figures.left_out == 1 ? "is" : "are");
	return error;
}
