/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ring's AUX area: bytes that hardware stores by itself, described by AUX records. Its pages
 * are apart from the ring's. One writer: the stream's CPU with interrupts off.
 */
#ifndef FLOWTAP_AUX_H
#define FLOWTAP_AUX_H

#include <linux/mm_types.h>
#include <linux/flowtap.h>

/* Behind the area, for the source: nobody maps them. */
#define AUX_SPARE_PAGES	2

struct ring;

struct aux {
	struct flowtap_ring *control;	/* the ring's */
	u8 *bytes;			/* NULL: none. AUX_SPARE_PAGES are behind them. */
	u64 size;			/* a power of two, at least two pages */
	u64 head;
	u64 offset;			/* of the mapping */
	u32 watermark;
	bool overwrite;
};

/* pages: 0 for none, or a power of two. watermark in bytes, 0 a quarter. -ENOMEM. */
int aux_init(struct aux *aux, struct ring *ring, const struct flowtap_configure *configure);
void aux_free(struct aux *aux);
int aux_map(struct aux *aux, struct vm_area_struct *vma);

/* What the reader says it has taken up to; may be anything. */
u64 aux_tail(const struct aux *aux);
/* Bytes that wait for the reader, all where its tail makes no sense; 0 in overwrite mode. */
u64 aux_waiting(const struct aux *aux);
/* `size` more bytes are there. */
void aux_publish(struct aux *aux, u64 size);

#endif /* FLOWTAP_AUX_H */
