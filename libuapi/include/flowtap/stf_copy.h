/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * From one STF to another (.stf, .zstf), record by record: also what no flow holds, registers,
 * memory, page table walks, the comments and the generator of the header. What an STF says of
 * itself (its version, its spelling) is not changed; flowtap_stf_read and flowtap_stf_new write it
 * anew.
 */
#ifndef FLOWTAP_STF_COPY_H
#define FLOWTAP_STF_COPY_H

#include <flowtap/zstf.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the longest record that is copied: a COMMENT of this size nobody writes. */
#define FLOWTAP_STF_COPY_LONGEST (16U << 20)

struct flowtap_stf_copy {
	/* In. */
	const struct flowtap_zstf_options *zstf;	/* makes a .zstf; NULL: a plain .stf */
	/* NULL, or about once a MiB: bytes of the file that were read, of `size` (0: not known). */
	void (*progress)(struct flowtap_stf_copy *copy, uint64_t done, uint64_t size);
	void *argument;			/* the caller's own */

	/* Out. */
	uint64_t records;
	uint64_t instructions;
	uint64_t bytes;			/* of the records, whatever they are packed in */
	bool damaged;			/* not all could be read */
};

/*
 * from: as for flowtap_stf_read, which says what is wrong with it; to: as for flowtap_stf_new. Both
 * are borrowed.
 *
 * The records are the same bytes. Where some could not be read, those of the instruction that they
 * would have belonged to are left out, but for comments, and a COMMENT `gap bad_record`
 * (flowtap/text.h) is in their place, and a FORCE_PC if it is known where the trace goes on; where
 * no instruction follows the last one's opcode comes after it (flowtap/stf.h). So is it for a
 * record longer than FLOWTAP_STF_COPY_LONGEST. Memory is that, and what a reader takes.
 *
 * 0; -EBADMSG: it is no STF; -EPROTONOSUPPORT: packed by xz; -ENODATA: it has no instruction, and
 * what was written is no STF; -ENOMEM; -errno of read and write; with `zstf` as flowtap_stf_new.
 */
int flowtap_stf_copy(struct flowtap_stf_copy *copy, int from, int to);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_STF_COPY_H */
