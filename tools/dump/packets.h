/* SPDX-License-Identifier: GPL-2.0-only */
/* flowtap dump --packets: the packets of an ETE's trace, to be followed beside K10.5.2. */
#ifndef FLOWTAP_TOOLS_DUMP_PACKETS_H
#define FLOWTAP_TOOLS_DUMP_PACKETS_H

#include "common/raw_options.h"

#include <flowtap/ete_packet.h>
#include <stdbool.h>
#include <stdint.h>

struct packets_options {
	const char *path;		/* "-": standard input */
	const char *config;		/* KEY=VALUE,...: of raw bytes; NULL: all are 0 */
	const char *cpu;		/* of a snapshot: a name or a number; NULL: all */
	struct framing framing;		/* of raw bytes */
	bool quiet;			/* no progress */
	int id;				/* which trace ID of them, -1: the configuration's */
};

/* Prints to stdout, complains about what is wrong with offset and reason. An exit status. */
int packets_dump(const struct packets_options *options);

/*
 * One line: offset, bytes in hexadecimal (at most 32 of them), name, fields. bytes: those of the
 * packet, of which `size` are there.
 */
void packet_print(uint64_t offset, const uint8_t *bytes, size_t size,
		  const struct flowtap_ete_packet *packet, bool m_profile);
/* The same for what has no fields. */
void packet_print_plain(uint64_t offset, const uint8_t *bytes, size_t size, uint64_t length,
			const char *name);

#endif /* FLOWTAP_TOOLS_DUMP_PACKETS_H */
