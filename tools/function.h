/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions by how much of them was executed. */
#ifndef FUNCTION_H
#define FUNCTION_H

#include "tap.h"

#include <flowtap/block.h>
#include <flowtap/image.h>
#include <stddef.h>
#include <stdint.h>

struct function {
	const char *name;	/* NULL: the file has no symbol for it */
	const char *path;	/* NULL: not known any more */
	uint64_t start;		/* of the function; 0 without a name */
	uint64_t instructions;
};

/* All that were executed, the hottest first; malloc'ed, NULL for none or for lack of memory. */
struct function *functions_of(struct flowtap_blocks *blocks, const struct tap *tap, size_t *n);

#endif /* FUNCTION_H */
