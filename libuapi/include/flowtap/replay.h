/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Replay: an archive's contents in the order a decoder can use.
 *
 * First every block but RING, in file order, goes to `block`, and the side band among them
 * (MAPPING, TASK, BYTES, KERNEL, SYMBOLS, FILE), sorted by time, into the map. Then the records of
 * all rings come, merged by time, each ring's in its own order; a task that moved between CPUs has
 * its samples and AUX records in the order of their sequence, also where their times are equal, and
 * gaps before the record that follows them. Damage is reported and passed over.
 *
 * Memory: 16 bytes for each RING block and 24 for each AUX block and block of the side band (arrays
 * grow by doubling), some 50 for each task, a window of 128 KiB for each CPU, and what the reader
 * of archives takes (archive.h). A pipe is first copied to a temporary file without a name
 * ($TMPDIR, else /var/tmp, /tmp).
 *
 * The end of a process is not reported to the map: the last sample of a task is made when it leaves
 * the CPU for the last time, which is after the EXIT of its last thread. An address space ends when
 * the pid is forked anew or executes.
 */
#ifndef FLOWTAP_REPLAY_H
#define FLOWTAP_REPLAY_H

#include <flowtap/archive.h>
#include <flowtap/address_map.h>
#include <linux/flowtap.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct flowtap_replay_counts {
	uint64_t blocks;		/* whole ones, of any type */
	uint64_t records;		/* handed on */
	uint64_t mappings;
	uint64_t sideband_lost;		/* events that perf or the recorder lost */
	uint64_t damages;
	uint64_t bad_bytes;		/* of the file, not usable */
	uint64_t first_time;		/* of the records, 0 none */
	uint64_t last_time;
	bool finalised;			/* there is an END block */
};

struct flowtap_replay {
	/*
	 * Any but the last may be NULL. Below 0 stops the replay, which hands it to its caller.
	 * What is pointed to is valid during the call. A record has at least 16 bytes (its header
	 * and time), is aligned to 8, and record->size is `size`; what else it claims is unchecked.
	 */
	int (*block)(struct flowtap_replay *replay, const struct flowtap_archive_block *block);
	void (*damage)(struct flowtap_replay *replay, uint64_t offset, const char *reason,
		       uint64_t bytes);
	int (*record)(struct flowtap_replay *replay, uint32_t cpu,
		      const struct flowtap_record *record, size_t size);
	void *argument;			/* the caller's own */
	struct flowtap_replay_counts counts;	/* out, current during the calls */
	void *pass;			/* flowtap_replay's own */
};

/*
 * fd is borrowed and read from its offset on. map: filled, borrowed during the call; NULL for
 * callers who want no images. replay->counts is set to zeros first. 0 when the end was reached,
 * whatever the damage (see counts; an error of read is damage too); -EBADMSG or -EPROTONOSUPPORT:
 * no archive; -errno of reading its first bytes or of the temporary file; -ENOMEM; what a callback
 * returned.
 */
int flowtap_replay(struct flowtap_replay *replay, int fd, struct flowtap_address_map *map);

/*
 * During `record` only: bytes [offset, offset + size) of the CPU's AUX area, as struct
 * flowtap_record_aux counts them, out of the AUX blocks. How many from `offset` on were copied;
 * fewer than size where the archive lacks the next one; -errno of read, -EIO where the file has
 * become shorter.
 *
 * An archive can have several streams of one CPU, one after the other, which count from 0 each: the
 * bytes are of the last one that has AUX blocks before the record (flowtap/archive.h). Of blocks
 * that overlap the earlier ones count for records before the later one, and that one for those
 * after.
 */
long flowtap_replay_aux(struct flowtap_replay *replay, uint32_t cpu, uint64_t offset, void *buffer,
			size_t size);
/*
 * During `record` only: the first offset, at or after `offset`, of which the archive has the byte.
 * UINT64_MAX: none.
 */
uint64_t flowtap_replay_aux_next(struct flowtap_replay *replay, uint32_t cpu, uint64_t offset);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_REPLAY_H */
