/* SPDX-License-Identifier: GPL-2.0-only */
/* A roster, into an archive. */
#ifndef FLOWTAP_SELFTESTS_UNIT_CAPTURE_ROSTER_ARCHIVE_H
#define FLOWTAP_SELFTESTS_UNIT_CAPTURE_ROSTER_ARCHIVE_H

#include <flowtap/archive.h>
#include <stdio.h>

#include "capture/roster.h"

static inline int write_roster(const struct flowtap_roster *roster, FILE *file)
{
	struct flowtap_archive_writer *writer;
	int error = flowtap_archive_create(fileno(file), &writer);

	if (error)
		return error;
	error = flowtap_roster_write(roster, writer);
	if (!error)
		error = flowtap_archive_flush(writer);
	flowtap_archive_writer_free(writer);
	return error;
}


#endif /* FLOWTAP_SELFTESTS_UNIT_CAPTURE_ROSTER_ARCHIVE_H */
