/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Packed archives (.ftap.zst): the bytes of an archive in zstd frames (RFC 8878) one after the
 * other, each of FLOWTAP_PACKED_FRAME bytes of it (the last one has less), with their number in its
 * head and a checksum after it. `zstd -d` takes them as well, and what zstd packed is taken here.
 *
 * Frames do not need each other. A file that was cut is good up to there, and one that is damaged
 * before and after the damage: what is missing of a frame becomes zeros, so that what follows
 * is at its old offset, and the archive's own checksums show which blocks are good.
 */
#ifndef FLOWTAP_PACKED_H
#define FLOWTAP_PACKED_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLOWTAP_PACKED_FRAME (4U << 20)		/* bytes of the archive in each */
#define FLOWTAP_PACKED_LIMIT (16ULL << 30)	/* for flowtap_unpack, where nobody says another one */
/*
 * Frames that look further back than this many bytes (a power of 2) are not taken: it is the memory
 * that unpacking takes. The zstd command has the same limit, unless --long raises it.
 */
#define FLOWTAP_PACKED_WINDOW (128U << 20)
#define FLOWTAP_PACKED_DAMAGES 64U		/* with more of them the rest of a file is left out */

/*
 * Packs the file `from`, from its first byte to its last, and writes it to `to`, from its offset
 * on. What was read or written leaves the page cache, where the kernel likes: nobody needs it
 * soon. Takes about 16 MiB of memory. 0; -errno of reading or writing; -ENOMEM.
 */
int flowtap_pack(int from, int to);

/*
 * Whether the file, read from its first byte on, is zstd's and an archive is in it; or, where nothing
 * comes out of its first frame, one of FLOWTAP_PACKED_FRAME bytes follows, as flowtap_pack makes
 * them. The fd's offset is kept. False also for what is no regular file.
 */
bool flowtap_packed_is(int fd);

struct flowtap_unpacked {
	uint64_t bytes;		/* of the archive, with the zeros */
	uint64_t zeros;		/* of them */
	uint64_t frames;	/* that were whole */
	uint64_t damages;	/* frames that were not, and what was between frames */
	bool cut;		/* the last of them is that the file ends within a frame */
	uint64_t offset;	/* in the packed file, of the first damage */
	const char *reason;	/* of the first damage, NULL none; a constant */
};

/*
 * Unpacks the file `from`, from its first byte on, into the file `to`, from its first byte on; `to`
 * is empty before. Both are regular files. 0, damage or not, which *unpacked says; else what came
 * out before is in `to`: -EFBIG: it would be more than `limit` bytes; -EOVERFLOW: no frame
 * is whole, and the first looks further back than FLOWTAP_PACKED_WINDOW; -errno of reading or writing; -ENOMEM.
 */
int flowtap_unpack(int from, int to, uint64_t limit, struct flowtap_unpacked *unpacked);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_PACKED_H */
