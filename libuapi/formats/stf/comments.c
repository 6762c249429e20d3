// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* A buffer that doubles up to a limit, for comments that are held back. */
#include "formats/stf/comments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

#define FIRST ((size_t)16 << 10)

int stf_comments_reserve(struct stf_comments *comments, size_t size)
{
	if (size > comments->most || comments->size > comments->most - size)
		return -ENOBUFS;
	return FLOWTAP_RESERVE(comments->bytes, comments->capacity, comments->size + size, FIRST);
}

void stf_comments_add(struct stf_comments *comments, const void *bytes, size_t size)
{
	if (!size)
		return;
	memcpy(comments->bytes + comments->size, bytes, size);
	comments->size += size;
}

void stf_comments_free(struct stf_comments *comments)
{
	free(comments->bytes);
	*comments = (struct stf_comments){ .most = comments->most };
}
