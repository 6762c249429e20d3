/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What an archive of this version begins with. */
#ifndef FLOWTAP_LIBUAPI_FORMATS_ARCHIVE_HEADER_H
#define FLOWTAP_LIBUAPI_FORMATS_ARCHIVE_HEADER_H

#include <flowtap/archive.h>
#include <stddef.h>
#include <string.h>

#include "base/crc32c.h"

static inline struct flowtap_archive_header flowtap_archive_header_made(void)
{
	struct flowtap_archive_header header = { .version = FLOWTAP_ARCHIVE_VERSION };

	memcpy(header.magic, FLOWTAP_ARCHIVE_MAGIC, sizeof(header.magic));
	header.crc = flowtap_crc32c(0, &header, offsetof(struct flowtap_archive_header, crc));
	return header;
}

#endif /* FLOWTAP_LIBUAPI_FORMATS_ARCHIVE_HEADER_H */
