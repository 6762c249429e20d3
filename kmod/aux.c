// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocates and maps the pages of an AUX area, and publishes its head to the reader.
 *
 * The host's unit tests run this file on memory of their own.
 */
#ifdef __KERNEL__
#include <linux/mm.h>
#include <linux/vmalloc.h>
#endif

#include "aux.h"
#include "ring.h"

int aux_init(struct flowtap_aux *aux, struct flowtap_ring_writer *ring,
	     const struct flowtap_configure *configure)
{
	u64 size = (u64)configure->aux_pages << PAGE_SHIFT;

	aux->control = ring->control;
	if (!size)
		return 0;
	/*
	 * Zeroed pages of their own, mapped as PAGE_KERNEL: what the trace buffer writes through.
	 */
	aux->bytes = vmalloc_user(size + AUX_SPARE_PAGES * PAGE_SIZE);
	if (!aux->bytes)
		return -ENOMEM;
	aux->size = size;
	aux->watermark = configure->aux_watermark ?: size / 4;
	aux->overwrite = configure->flags & FLOWTAP_OVERWRITE;
	aux->offset = PAGE_SIZE + ring->size;
	ring->control->aux_offset = aux->offset;
	ring->control->aux_size = size;
	return 0;
}

/* Mapped and pinned pages have references of their own and outlive this. */
void aux_free(struct flowtap_aux *aux)
{
	vfree(aux->bytes);
	aux->bytes = NULL;
}

int aux_map(struct flowtap_aux *aux, struct vm_area_struct *vma)
{
	if (!aux->bytes)
		return -EINVAL;
	return ring_map_pages(vma, aux->bytes, aux->size, aux->overwrite);
}

u64 aux_tail(const struct flowtap_aux *aux)
{
	return READ_ONCE(aux->control->aux_tail);
}

u64 aux_waiting(const struct flowtap_aux *aux)
{
	u64 waiting = READ_ONCE(aux->head) - aux_tail(aux);

	if (aux->overwrite)
		return 0;
	return waiting > aux->size ? aux->size : waiting;
}

void aux_publish(struct flowtap_aux *aux, u64 size)
{
	WRITE_ONCE(aux->head, aux->head + size);
	/*
	 * The bytes (a DSB has made them complete) before the head: pairs with the reader's load.
	 */
	smp_store_release(&aux->control->aux_head, aux->head);
}
