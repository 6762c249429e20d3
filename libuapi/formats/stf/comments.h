/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Comments that are held back: by a writer those after an opcode until it is known what comes next,
 * by a reader those between COMMENT_AFTER and their opcode. Memory grows with what there is.
 */
#ifndef FLOWTAP_LIBUAPI_FORMATS_STF_COMMENTS_H
#define FLOWTAP_LIBUAPI_FORMATS_STF_COMMENTS_H

#include <stddef.h>
#include <stdint.h>

/* Of records that cannot be decoded, after the last instruction, some tens of bytes each. */
#define STF_COMMENTS_MOST (64U << 20)

/* All zero: none, and none fit until `most` is set. bytes: to be freed with stf_comments_free. */
struct stf_comments {
	uint8_t *bytes;
	size_t size, capacity;
	size_t most;			/* bytes at a time: STF_COMMENTS_MOST, and less in tests */
};

/* Makes space for `size` bytes more. 0; -ENOBUFS: they would be more than `most`; -ENOMEM. */
int stf_comments_reserve(struct stf_comments *comments, size_t size);
/* Adds bytes for which there is space. */
void stf_comments_add(struct stf_comments *comments, const void *bytes, size_t size);
void stf_comments_free(struct stf_comments *comments);

#endif /* FLOWTAP_LIBUAPI_FORMATS_STF_COMMENTS_H */
