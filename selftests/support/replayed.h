/* SPDX-License-Identifier: GPL-2.0-only */
/* What an archive says that a test has written. */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_REPLAYED_H
#define FLOWTAP_SELFTESTS_SUPPORT_REPLAYED_H

#include <flowtap/replay.h>
#include <stdlib.h>
#include <unistd.h>

static inline void replayed_damage(struct flowtap_replay *replay, uint64_t offset,
				   const char *reason, uint64_t bytes)
{
	(void)replay;
	(void)offset;
	(void)reason;
	(void)bytes;
	abort();
}

static inline int replayed_record(struct flowtap_replay *replay, uint32_t cpu,
				  const struct flowtap_record *record, size_t size)
{
	(void)replay;
	(void)cpu;
	(void)record;
	(void)size;
	return 0;
}

/* From its beginning, into the map, its blocks to `block`; it is whole, or the test ends. */
static inline void replay_archive(struct flowtap_archive_writer *writer, int fd,
				  struct flowtap_address_map *map,
				  int (*block)(struct flowtap_replay *replay,
					       const struct flowtap_archive_block *block),
				  void *argument)
{
	struct flowtap_replay replay = {
		.block = block, .damage = replayed_damage, .record = replayed_record,
		.argument = argument,
	};

	if (flowtap_archive_flush(writer) || lseek(fd, 0, SEEK_SET) ||
	    flowtap_replay(&replay, fd, map))
		abort();
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_REPLAYED_H */
