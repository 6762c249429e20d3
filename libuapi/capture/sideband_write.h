/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The side band's blocks, as they go into an archive. All return 0 or -errno of the archive. */
#ifndef FLOWTAP_LIBUAPI_CAPTURE_SIDEBAND_WRITE_H
#define FLOWTAP_LIBUAPI_CAPTURE_SIDEBAND_WRITE_H

#include <flowtap/archive.h>
#include <flowtap/address_map.h>

#include "capture/roster.h"

struct flowtap_mounts;

/* Where the side band goes. */
struct flowtap_sideband_sink {
	struct flowtap_archive_writer *writer;	/* NULL: none, the roster alone gets it */
	struct flowtap_roster *roster;	/* which gets it, too; NULL: none */
	/* Unless NULL: called for each mapping. 0 or -errno, which ends it. */
	int (*mapped)(void *argument, const struct flowtap_mapping *mapping);
	void *argument;
	struct flowtap_mounts *mounts;	/* of which files are read for it; NULL: of none */
};

/* tid and cpu: of who made the mapping, 0 unknown. A path longer than the kernel's is cut. */
int flowtap_sideband_write_mapping(const struct flowtap_sideband_sink *out,
				   const struct flowtap_mapping *mapping, uint32_t tid,
				   uint32_t cpu);
/* mapping->size bytes; -EMSGSIZE beyond a block. */
int flowtap_sideband_write_bytes(const struct flowtap_sideband_sink *out,
				 const struct flowtap_mapping *mapping, const void *bytes);
/* comm: up to 16 bytes, or NULL. comm_size and comm of *task are set here. */
int flowtap_sideband_write_task(const struct flowtap_sideband_sink *out,
				struct flowtap_archive_task *task, const char *comm, uint32_t cpu);
int flowtap_sideband_write_lost(const struct flowtap_sideband_sink *out, uint64_t count,
				uint64_t time, uint32_t cpu);

#endif /* FLOWTAP_LIBUAPI_CAPTURE_SIDEBAND_WRITE_H */
