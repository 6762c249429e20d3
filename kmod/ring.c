// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocates, maps and writes the ring; records that do not fit are counted and become one LOST
 * record.
 *
 * The host's unit tests run this file on memory of their own.
 */
#ifdef __KERNEL__
#include <linux/mm.h>
#include <linux/vmalloc.h>
#endif

#include "ring.h"

int ring_init(struct flowtap_ring_writer *ring, u32 pages,
	      const struct flowtap_configure *configure)
{
	/* vmalloc_user gives zeroed pages that may be mapped. */
	ring->control = vmalloc_user(((u64)pages + 1) << PAGE_SHIFT);
	if (!ring->control)
		return -ENOMEM;
	ring->data = (u8 *)ring->control + PAGE_SIZE;
	ring->size = (u64)pages << PAGE_SHIFT;
	ring->overwrite = configure->flags & FLOWTAP_OVERWRITE;
	ring->control->abi = FLOWTAP_ABI;
	ring->control->cpu = configure->cpu;
	ring->control->source = configure->source;
	ring->control->flags = configure->flags;
	ring->control->data_offset = PAGE_SIZE;
	ring->control->data_size = ring->size;
	return 0;
}

/* Mapped and pinned pages have references of their own and outlive this. */
void ring_free(struct flowtap_ring_writer *ring)
{
	vfree(ring->control);
	ring->control = NULL;
}

int ring_map_pages(struct vm_area_struct *vma, void *pages, u64 size, bool overwrite)
{
	if (vma->vm_end - vma->vm_start != size)
		return -EINVAL;
	/* What a flight recorder has written must stay as it is: it walks its own records. */
	if (!(vma->vm_flags & VM_SHARED) || !(vma->vm_flags & VM_WRITE) != overwrite)
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP,
		     VM_MAYEXEC | (overwrite ? VM_MAYWRITE : 0));
	return remap_vmalloc_range(vma, pages, 0);
}

int ring_map(struct flowtap_ring_writer *ring, struct vm_area_struct *vma)
{
	if (vma->vm_pgoff)
		return -EINVAL;
	return ring_map_pages(vma, ring->control, PAGE_SIZE + ring->size, ring->overwrite);
}

static void copy_in(struct flowtap_ring_writer *ring, u64 at, const void *bytes, u32 size)
{
	u64 offset = at & (ring->size - 1);
	u32 first = min_t(u64, size, ring->size - offset);

	memcpy(ring->data + offset, bytes, first);
	memcpy(ring->data, bytes + first, size - first);
}

void ring_drop_oldest(struct flowtap_ring_writer *ring, u32 size)
{
	const struct flowtap_record *record;
	u64 oldest = ring->oldest;

	if (ring->head + size - oldest <= ring->size)
		return;
	while (ring->head + size - oldest > ring->size) {
		record = (const void *)(ring->data + (oldest & (ring->size - 1)));
		oldest += record->size;
	}
	WRITE_ONCE(ring->oldest, oldest);
	WRITE_ONCE(ring->control->data_oldest, oldest);
	smp_wmb();
}

void ring_count_lost(struct flowtap_ring_writer *ring, u64 time, u32 records, u64 size)
{
	/* What is taken over from elsewhere may be older. */
	if (!ring->lost_records || time < ring->lost_since)
		ring->lost_since = time;
	WRITE_ONCE(ring->lost_records, ring->lost_records + records);
	ring->lost_bytes += size;
	ring->total_lost_records += records;
	ring->total_lost_bytes += size;
	WRITE_ONCE(ring->control->lost_records, ring->total_lost_records);
	WRITE_ONCE(ring->control->lost_bytes, ring->total_lost_bytes);
}

void ring_write_lost(struct flowtap_ring_writer *ring, u64 time)
{
	struct flowtap_record_lost lost = {
		.header = { .type = FLOWTAP_RECORD_LOST, .size = sizeof(lost) },
		.time = time,
		.since = ring->lost_since,
		.records = ring->lost_records,
		.bytes = ring->lost_bytes,
		.total_records = ring->total_lost_records,
		.total_bytes = ring->total_lost_bytes,
	};
	u64 waiting = ring_waiting(ring);

	if (!ring->lost_records || ring->size - waiting < sizeof(lost))
		return;
	copy_in(ring, ring->head, &lost, sizeof(lost));
	WRITE_ONCE(ring->lost_records, 0);
	ring->lost_bytes = 0;
	ring->waiting = waiting;
	ring_commit(ring, sizeof(lost));
}

bool ring_lost_fits(const struct flowtap_ring_writer *ring, u32 more)
{
	return (more || READ_ONCE(ring->lost_records)) &&
	       ring->size - ring_waiting(ring) >= sizeof(struct flowtap_record_lost);
}

static u32 needs(const struct flowtap_ring_writer *ring, u32 size)
{
	return size + (ring->lost_records ? sizeof(struct flowtap_record_lost) : 0);
}

bool ring_fits(struct flowtap_ring_writer *ring, u32 size)
{
	return ring->overwrite || ring->size - ring_waiting(ring) >= needs(ring, size);
}

bool ring_write(struct flowtap_ring_writer *ring, u64 time, const void *head, u32 head_size,
		const void *tail, u32 tail_size)
{
	u32 size = head_size + tail_size;
	u32 need = needs(ring, size);
	u64 waiting;

	if (ring->overwrite)
		ring_drop_oldest(ring, size);
	waiting = ring_waiting(ring);
	/* The stores into the data depend on this test of data_tail: they cannot come before it. */
	if (ring->size - waiting < need) {
		ring_count_lost(ring, time, 1, size);
		return false;
	}
	if (ring->lost_records) {
		ring_write_lost(ring, time);
		waiting += sizeof(struct flowtap_record_lost);
	}
	copy_in(ring, ring->head, head, head_size);
	if (tail_size)
		copy_in(ring, ring->head + head_size, tail, tail_size);
	ring->waiting = waiting;
	ring_commit(ring, size);
	return true;
}
