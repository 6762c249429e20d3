/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The kernel's text over time, out of the looks that a recorder took at it (archive.h).
 *
 *	address ^   look 0        look 1     look 2
 *	        |  [====]        [====]     [====]
 *	        |   AAAA.............A........AAAA	the same in all looks: known throughout
 *	        |   BBBB??????????CCCC......CCCC	known but between the look that found B
 *	        +-------------------------------> time	and the one that found C
 *
 * What two looks found to be the same is taken for known in between, which is not proven: it may
 * have been another and become the same again. What they found to be different is not known from
 * the beginning of the first to the end of the second, parcel by parcel (2 bytes: nothing shorter
 * is an instruction). What was there at the first look of all was there since ever, and what the
 * last one found stays.
 */
#ifndef FLOWTAP_LIBUAPI_CODE_KERNEL_TEXT_H
#define FLOWTAP_LIBUAPI_CODE_KERNEL_TEXT_H

#include <flowtap/address_map.h>

#include "code/kernel_symbols.h"

struct flowtap_kernel_texts;

/*
 * symbols: borrowed; where functions begin. limit: parts of timelines to hold, 0 for 4 Mi, 128 MiB.
 * NULL: no memory.
 */
struct flowtap_kernel_texts *flowtap_kernel_texts_new(struct flowtap_kernel_symbols *symbols,
						      size_t limit);
void flowtap_kernel_texts_free(struct flowtap_kernel_texts *texts);

/* As flowtap_address_map_add_kernel. */
int flowtap_kernel_texts_add(struct flowtap_kernel_texts *texts,
			     const struct flowtap_kernel_text *text, const void *bytes);
/* Symbols have come: where what was changed is cut out is another. */
void flowtap_kernel_texts_renew(struct flowtap_kernel_texts *texts);

/*
 * What was at address at time: fills all but key; file is below 1 << 24, and 0 where there are no
 * bytes. Where timelines that are more than can be held were made anew 64 times, a region that does
 * not fit beside the others is missing. 0; -ENOENT: nothing is known to be there; -ENOMEM.
 */
int flowtap_kernel_texts_find(struct flowtap_kernel_texts *texts, uint64_t time, uint64_t address,
			      struct flowtap_code *code);

#endif /* FLOWTAP_LIBUAPI_CODE_KERNEL_TEXT_H */
