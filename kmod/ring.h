/* SPDX-License-Identifier: GPL-2.0-only */
/* The ring that a stream's reader maps: one writer (the stream's CPU, interrupts off). */
#ifndef FLOWTAP_RING_H
#define FLOWTAP_RING_H

#include <linux/mm_types.h>
#include <linux/flowtap.h>

struct ring {
	struct flowtap_ring *control;	/* shared with user space: written, never believed */
	u8 *data;
	u64 size;			/* of data, a power of two */
	u64 head;
	u64 oldest;			/* FLOWTAP_OVERWRITE: where the oldest whole record begins */
	bool overwrite;
	u64 lost_since;			/* time of the first record since LOST was written, 0 none */
	u64 lost_records;		/* since then */
	u64 lost_bytes;
	u64 total_lost_records;
	u64 total_lost_bytes;
	u64 records;
	u64 high_water;
	u64 waiting;			/* with the last record; from ring_reserve to ring_commit: before it */
};

int ring_init(struct ring *ring, u32 pages, const struct flowtap_configure *configure);
void ring_free(struct ring *ring);
int ring_map(struct ring *ring, struct vm_area_struct *vma);

/*
 * Bytes that wait for the reader, or can be seen with FLOWTAP_OVERWRITE; all of the ring where
 * data_tail makes no sense.
 */
static inline u64 ring_waiting(const struct ring *ring)
{
	u64 tail = ring->overwrite ? READ_ONCE(ring->oldest) : READ_ONCE(ring->control->data_tail);
	u64 waiting = READ_ONCE(ring->head) - tail;

	return waiting > ring->size ? ring->size : waiting;
}

/* Whether a record of `size` bytes would find room. */
bool ring_fits(struct ring *ring, u32 size);
/*
 * Appends a record: `head` with its header, then `tail` (may be empty). False: no room, it is
 * counted as lost and told by a LOST record ahead of the next one that fits.
 */
bool ring_write(struct ring *ring, u64 time, const void *head, u32 head_size, const void *tail,
		u32 tail_size);
/* The oldest records give way. Readers learn of it before they could see what replaces them. */
void ring_make_room(struct ring *ring, u32 size);
/*
 * Room for a record of `size` bytes, in one piece, to be written and then committed. NULL: none, or not
 * in one piece, or a LOST record is to come first: ring_write it is. `waiting` is what there is before.
 */
static inline void *ring_reserve(struct ring *ring, u32 size)
{
	u64 offset = ring->head & (ring->size - 1);

	if (ring->lost_records || ring->size - offset < size)
		return NULL;
	if (ring->overwrite)
		ring_make_room(ring, size);
	/* The stores into the data depend on this test of data_tail: they cannot come before it. */
	ring->waiting = ring_waiting(ring);
	return ring->size - ring->waiting < size ? NULL : ring->data + offset;
}

static inline void ring_commit(struct ring *ring, u32 size)
{
	u64 head = ring->head + size;

	/* POLL and STATS read it on other CPUs. */
	WRITE_ONCE(ring->head, head);
	ring->records++;
	ring->waiting += size;
	ring->high_water = max(ring->high_water, ring->waiting);
	/* Records before head: pairs with the reader's load-acquire. */
	smp_store_release(&ring->control->data_head, head);
}

/* There are losses to tell of, and room for that. */
bool ring_lost_fits(const struct ring *ring);
/* Tells of losses now, if there were any and there is room. */
void ring_write_lost(struct ring *ring, u64 time);

#endif /* FLOWTAP_RING_H */
