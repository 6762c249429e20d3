/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Compresses what an output drains into chunks of a .zstf (flowtap/zstf.h), in a thread. */
#ifndef FLOWTAP_LIBUAPI_FORMATS_ZSTF_WRITER_H
#define FLOWTAP_LIBUAPI_FORMATS_ZSTF_WRITER_H

#include <flowtap/zstf.h>

#include "base/write_buffer.h"

struct flowtap_zstf;

/* Becomes the drain of `out`, whose fd it takes over. Errors: flowtap_stf_new. */
int flowtap_zstf_new(struct flowtap_write_buffer *out, const struct flowtap_zstf_options *options,
		     struct flowtap_zstf **zstf);
/* What was put so far is one chunk, the next one begins at start_pc. Errors are out->error. */
void flowtap_zstf_cut(struct flowtap_zstf *zstf, uint64_t start_pc);
/*
 * What was put so far is in blocks of its own (RFC 8878 3.1.1.2): it can be decompressed where what
 * comes after it in its chunk is damaged. Errors are out->error.
 */
void flowtap_zstf_set_apart(struct flowtap_zstf *zstf);
/* Instructions in a chunk. */
uint64_t flowtap_zstf_markers(const struct flowtap_zstf *zstf);
/* Empties `out` and waits until all is written. 0 or -errno. Nothing can be put afterwards. */
int flowtap_zstf_finish(struct flowtap_zstf *zstf);
/* Waits for the thread, which writes no more. NULL is nothing. `out` must still be there. */
void flowtap_zstf_free(struct flowtap_zstf *zstf);

#endif /* FLOWTAP_LIBUAPI_FORMATS_ZSTF_WRITER_H */
