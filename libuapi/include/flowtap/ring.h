/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Reader of a stream's ring (linux/flowtap.h, The ring). */
#ifndef FLOWTAP_RING_H
#define FLOWTAP_RING_H

#include <linux/flowtap.h>
#include <stddef.h>
#include <stdint.h>

struct flowtap_reader {
	struct flowtap_ring *ring;	/* the mapping */
	size_t mapped;			/* bytes */
	const uint8_t *data;
	uint64_t size;			/* of data, a power of two */
};

/* A contiguous stretch of the data area: a ring's readable part is at most two of them. */
struct flowtap_stretch {
	const void *bytes;
	size_t size;
};

/*
 * Maps the ring of a configured stream; data_pages as in CONFIGURE. 0; -errno of mmap; -EPROTO
 * where the control page contradicts the mapping; -EOPNOTSUPP for a ring with FLOWTAP_OVERWRITE.
 */
int flowtap_reader_map(struct flowtap_reader *reader, int fd, size_t data_pages);
void flowtap_reader_unmap(struct flowtap_reader *reader);
/*
 * The same over `mapped` bytes that are there already, borrowed: the control page, then data.
 * 0, -EPROTO, -EOPNOTSUPP.
 */
int flowtap_reader_attach(struct flowtap_reader *reader, void *ring, size_t mapped);

/*
 * What can be read now: whole records, in at most two stretches (the second one's size is 0
 * where the first does not reach the end of the data area), and *head to hand to
 * flowtap_reader_advance when they are taken. A record can begin in the first and end in the
 * second. Load-acquires data_head. -EPROTO when head or tail is out of range (nothing is taken).
 */
int flowtap_reader_peek(const struct flowtap_reader *reader, struct flowtap_stretch part[2],
			uint64_t *head);
/* Store-releases data_tail: everything before `tail` may be overwritten. */
void flowtap_reader_advance(struct flowtap_reader *reader, uint64_t tail);

/*
 * The record at `offset` of a buffer of `size` bytes, aligned to 8. 0 and *record; -ENODATA at
 * the end; -EBADMSG where no whole, aligned record begins there. Only size is checked, not what
 * a type needs.
 */
int flowtap_record_at(const void *buffer, size_t size, size_t offset,
		      const struct flowtap_record **record);

#define FLOWTAP_RECORD_MAX 65536U	/* no record is that long */

/*
 * The record at `offset` of the two stretches together. One that crosses from the first to the
 * second is copied to `copy`, FLOWTAP_RECORD_MAX bytes aligned to 8. Results of flowtap_record_at.
 */
int flowtap_record_in(const struct flowtap_stretch part[2], size_t offset, void *copy,
		      const struct flowtap_record **record);

#endif /* FLOWTAP_RING_H */
