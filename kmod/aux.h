/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ring's AUX area: bytes that hardware stores by itself, described by AUX records. Its pages
 * are apart from the ring's. One writer: the stream's CPU with interrupts off.
 */
#ifndef FLOWTAP_KMOD_AUX_H
#define FLOWTAP_KMOD_AUX_H

#ifdef __KERNEL__
#include <linux/mm_types.h>
#endif
#include <linux/flowtap.h>

/* After the area, for the source: nobody maps them. */
#define AUX_SPARE_PAGES	2

struct flowtap_ring_writer;

/**
 * struct flowtap_aux - the AUX area of a stream, or none
 */
struct flowtap_aux {
	/** @control: the ring's first page, shared with user space. */
	struct flowtap_ring *control;
	/** @bytes: the area, with AUX_SPARE_PAGES after it; NULL: none. */
	u8 *bytes;
	/** @size: bytes, a power of two, at least two pages. */
	u64 size;
	/** @head: bytes published so far; counts for ever. */
	u64 head;
	/** @offset: of the mapping, in bytes. */
	u64 offset;
	/** @watermark: bytes that wake the reader. */
	u32 watermark;
	/** @overwrite: the oldest bytes give way: none wait for the reader. */
	bool overwrite;
};

/**
 * aux_init() - allocate the AUX area that CONFIGURE asks for
 * @aux: zeroed.
 * @ring: initialized; its control page gets the area's offset and size.
 * @configure: aux_pages are 0 (no area) or a power of two; aux_watermark is in bytes, 0 a quarter
 *	of the area.
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int aux_init(struct flowtap_aux *aux, struct flowtap_ring_writer *ring,
	     const struct flowtap_configure *configure);

/**
 * aux_free() - give the area back, if there is one
 * @aux: nothing writes to it any more.
 *
 * Pages that are mapped or pinned have references of their own and outlive this.
 *
 * Context: may sleep.
 */
void aux_free(struct flowtap_aux *aux);

/**
 * aux_map() - map the area for its reader
 * @aux: the area, or none.
 * @vma: the whole area, shared, not executable; writable, or read-only in overwrite mode.
 *
 * Context: mmap of the device, with the mmap_lock.
 * Return: 0; -EINVAL: no area, another size, private, or writable where it must not be and the
 * other way round; -EPERM: executable; -errno of remap_vmalloc_range().
 */
int aux_map(struct flowtap_aux *aux, struct vm_area_struct *vma);

/**
 * aux_tail() - how far the reader has taken the bytes
 * @aux: an area.
 *
 * Context: any.
 * Return: the reader's aux_tail, which may be anything.
 */
u64 aux_tail(const struct flowtap_aux *aux);

/**
 * aux_waiting() - bytes that wait for the reader
 * @aux: an area.
 *
 * Context: any, any CPU.
 * Return: at most the area's size, and that where the reader's tail makes no sense; 0 in overwrite
 * mode.
 */
u64 aux_waiting(const struct flowtap_aux *aux);

/**
 * aux_publish() - move the head: more bytes are there
 * @aux: an area.
 * @size: bytes from the head on. They are complete in memory.
 *
 * Context: the stream's CPU, interrupts off.
 */
void aux_publish(struct flowtap_aux *aux, u64 size);

#endif /* FLOWTAP_KMOD_AUX_H */
