/* SPDX-License-Identifier: GPL-2.0-only */
/* The ring that a stream's reader maps: one writer (the stream's CPU, interrupts off). */
#ifndef FLOWTAP_KMOD_RING_H
#define FLOWTAP_KMOD_RING_H

#ifdef __KERNEL__
#include <linux/mm_types.h>
#endif
#include <linux/flowtap.h>

/**
 * struct flowtap_ring_writer - the ring of a stream, as the module knows it: struct flowtap_ring of
 *	linux/flowtap.h is what its reader shares
 */
struct flowtap_ring_writer {
	/** @control: shared with user space: written, never believed. */
	struct flowtap_ring *control;
	/** @data: the records, in the pages after it. */
	u8 *data;
	/** @size: bytes of data, a power of two. */
	u64 size;
	/** @head: bytes written so far; counts for ever. */
	u64 head;
	/** @oldest: with FLOWTAP_OVERWRITE, where the oldest whole record begins. */
	u64 oldest;
	/** @overwrite: FLOWTAP_OVERWRITE: the oldest records give way. */
	bool overwrite;
	/** @lost_since: time of the first record lost since LOST was written. */
	u64 lost_since;
	/** @lost_records: since then; 0: none. */
	u64 lost_records;
	/** @lost_bytes: since then. */
	u64 lost_bytes;
	/** @total_lost_records: ever. */
	u64 total_lost_records;
	/** @total_lost_bytes: ever. */
	u64 total_lost_bytes;
	/** @records: written. */
	u64 records;
	/** @high_water: most bytes that ever waited. */
	u64 high_water;
	/** @waiting: with the last record; from ring_reserve() to ring_commit(): before it. */
	u64 waiting;
};

/**
 * ring_init() - allocate a ring, zeroed pages that may be mapped
 * @ring: zeroed.
 * @pages: of data, a power of two.
 * @configure: what the control page says.
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int ring_init(struct flowtap_ring_writer *ring, u32 pages,
	      const struct flowtap_configure *configure);

/**
 * ring_free() - free a ring, if there is one
 * @ring: nothing writes to it any more.
 *
 * Pages that are mapped or pinned have references of their own and outlive this.
 *
 * Context: may sleep.
 */
void ring_free(struct flowtap_ring_writer *ring);

/**
 * ring_map_pages() - map pages for their reader
 * @vma: all of them, shared, not executable; writable, or with @overwrite read-only.
 * @pages: of vmalloc_user().
 * @size: bytes that are mapped.
 * @overwrite: the reader is not to write.
 *
 * Context: mmap of the device, with the mmap_lock.
 * Return: 0; -EINVAL: another size, private, or writable where it must not be and the other way
 * round; -EPERM: executable; -errno of remap_vmalloc_range().
 */
int ring_map_pages(struct vm_area_struct *vma, void *pages, u64 size, bool overwrite);

/**
 * ring_map() - map the ring for its reader
 * @ring: the ring.
 * @vma: the control page and all of the data, shared, not executable; writable, or read-only in
 *	overwrite mode.
 *
 * Context: mmap of the device, with the mmap_lock.
 * Return: 0; -EINVAL: another offset or size, private, or writable where it must not be and the
 * other way round; -EPERM: executable; -errno of remap_vmalloc_range().
 */
int ring_map(struct flowtap_ring_writer *ring, struct vm_area_struct *vma);

/**
 * ring_waiting() - bytes that wait for the reader, or can be seen with FLOWTAP_OVERWRITE
 * @ring: the ring.
 *
 * Context: any, any CPU.
 * Return: bytes; all of the ring where data_tail makes no sense.
 */
static inline u64 ring_waiting(const struct flowtap_ring_writer *ring)
{
	u64 tail = ring->overwrite ? READ_ONCE(ring->oldest) : READ_ONCE(ring->control->data_tail);
	u64 waiting = READ_ONCE(ring->head) - tail;

	return waiting > ring->size ? ring->size : waiting;
}

/**
 * ring_fits() - whether a record would find space
 * @ring: the ring.
 * @size: bytes of the record.
 *
 * Context: the writer, interrupts off.
 * Return: it would, after a LOST record if there are losses.
 */
bool ring_fits(struct flowtap_ring_writer *ring, u32 size);

/**
 * ring_write() - append a record
 * @ring: the ring.
 * @time: of the record, ns of CLOCK_MONOTONIC_RAW.
 * @head: its first bytes, with the header.
 * @head_size: bytes.
 * @tail: what follows.
 * @tail_size: bytes, may be 0.
 *
 * Context: the writer, interrupts off.
 * Return: false: no space. The record is counted as lost: a LOST record is written ahead of the
 * next one that fits.
 */
bool ring_write(struct flowtap_ring_writer *ring, u64 time, const void *head, u32 head_size,
		const void *tail, u32 tail_size);

/**
 * ring_drop_oldest() - let the oldest records give way
 * @ring: in overwrite mode.
 * @size: bytes that are to fit.
 *
 * Readers learn of it before they could see what replaces them.
 *
 * Context: the writer, interrupts off.
 */
void ring_drop_oldest(struct flowtap_ring_writer *ring, u32 size);

/**
 * ring_reserve() - find space for a record, in one piece, to be written and then committed
 * @ring: the ring; waiting is then what waits before the record.
 * @size: bytes of the record.
 *
 * Context: the writer, interrupts off.
 * Return: where the record goes; NULL: no space, or not in one piece, or a LOST record is to come
 * first: ring_write() it is.
 */
static inline void *ring_reserve(struct flowtap_ring_writer *ring, u32 size)
{
	u64 offset = ring->head & (ring->size - 1);

	if (ring->lost_records || ring->size - offset < size)
		return NULL;
	if (ring->overwrite)
		ring_drop_oldest(ring, size);
	/* The stores into the data depend on this test of data_tail: they cannot come before it. */
	ring->waiting = ring_waiting(ring);
	return ring->size - ring->waiting < size ? NULL : ring->data + offset;
}

/**
 * ring_commit() - make what was reserved a record
 * @ring: the ring.
 * @size: bytes, as reserved.
 *
 * Context: the writer, interrupts off since ring_reserve().
 */
static inline void ring_commit(struct flowtap_ring_writer *ring, u32 size)
{
	u64 head = ring->head + size;

	/* POLL and STATS read it on other CPUs. */
	WRITE_ONCE(ring->head, head);
	ring->records++;
	ring->waiting += size;
	if (ring->high_water < ring->waiting)
		ring->high_water = ring->waiting;
	/* Records before head: pairs with the reader's load-acquire. */
	smp_store_release(&ring->control->data_head, head);
}

/**
 * ring_count_lost() - count records as lost
 * @ring: not in overwrite mode.
 * @time: of the first of them, ns of CLOCK_MONOTONIC_RAW.
 * @records: how many.
 * @size: their bytes.
 *
 * Context: the writer, interrupts off.
 */
void ring_count_lost(struct flowtap_ring_writer *ring, u64 time, u32 records, u64 size);

/**
 * ring_lost_fits() - whether ring_write_lost() would write a record
 * @ring: the ring.
 * @more: records that are about to be counted as lost.
 *
 * Context: any CPU.
 * Return: there are losses, and there is space for a LOST record.
 */
bool ring_lost_fits(const struct flowtap_ring_writer *ring, u32 more);

/**
 * ring_write_lost() - write a LOST record now, if there are losses and there is space
 * @ring: the ring.
 * @time: of the record, ns of CLOCK_MONOTONIC_RAW.
 *
 * Context: the writer, interrupts off.
 */
void ring_write_lost(struct flowtap_ring_writer *ring, u64 time);

#endif /* FLOWTAP_KMOD_RING_H */
