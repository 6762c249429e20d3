/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* One region of the kernel's text: what looks found, and which of it holds where at which time. */
#ifndef FLOWTAP_LIBUAPI_CODE_KERNEL_HISTORY_H
#define FLOWTAP_LIBUAPI_CODE_KERNEL_HISTORY_H

#include <flowtap/address_map.h>

#include "code/kernel_symbols.h"

/* What a look found, if it is not what the one before it did. Its look was [time, until]. */
struct kernel_finding {
	uint64_t time;
	uint64_t until;
	uint64_t last_time;	/* when the last look began that found the same */
	uint8_t *bytes;		/* of the whole region */
	uint8_t *stored;	/* by page: whether it came */
	uint32_t file;
};

struct kernel_era;

struct kernel_region {
	char *path;		/* "[name]" */
	uint64_t start;
	uint64_t end;
	uint64_t begin_time;
	uint64_t end_time;
	bool fresh;		/* it came while it was recorded */
	struct kernel_finding *findings;
	uint32_t n;
	uint64_t last_time;	/* the last look */
	uint64_t last_until;
	const char *lost;	/* why nothing is known after the last look; NULL: it is */
	/* Made at the first question. */
	struct kernel_era *eras;
	uint32_t n_eras;
};

/* Makes the eras. 0 or -ENOMEM. */
int kernel_history_build(struct kernel_region *region, struct flowtap_kernel_symbols *symbols);
/* Makes one of which all is missing, instead: it cannot be held. 0 or -ENOMEM. */
int kernel_history_give_up(struct kernel_region *region);
void kernel_history_drop(struct kernel_region *region);
/* What it takes, in parts. */
size_t kernel_history_size(const struct kernel_region *region);
/*
 * address and time are the region's, which has eras. Fills all but key; file is 0 where there are
 * no bytes.
 */
void kernel_history_find(const struct kernel_region *region, uint64_t time, uint64_t address,
			  struct flowtap_code *code);

#endif /* FLOWTAP_LIBUAPI_CODE_KERNEL_HISTORY_H */
