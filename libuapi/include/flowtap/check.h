/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Checks whole files against all that their formats say: archives (.ftap), STF traces, plain and
 * compressed (.stf, .zstf), Tarmac, QEMU4V. Which it is, its first bytes say.
 *
 * An archive: checksums, whole blocks, the records of rings and what is in them, an END; that what
 * was counted (STATS, LOST) is what is there; that the sequence numbers of each task follow each
 * other, and say where something was lost; that the bytes of AUX records are there, and before
 * them.
 *
 * STF, also packed by gzip: what its readers (flowtap-stf(5)) want: the header's records, the order
 * of the records of an instruction, opcodes of the right size, targets that the opcode can have,
 * changes of mode where there can be one, a PC that is known at each instruction; an end that is
 * not in the midst of one. Remarks: features that announce physical addresses where no record has
 * one, or do not where one has; an end that stf_recompress leaves out.
 *
 * .zstf, on top of it: an index that is right, chunks that are one frame each, have as many
 * instructions as they should and begin at the PC that the index says.
 *
 * Tarmac and QEMU4V, also packed by gzip: lines that are known, with all their parts; times and
 * numbers that do not go back; opcodes of the right size; a last line that has its end. Of Tarmac
 * besides: a PC that is where the instruction before leads to, unless a gap or an exception is
 * written (QEMU4V cannot express them); and what Arm's own tools (tarmac-trace-utilities) do not
 * take though the specification allows it.
 */
#ifndef FLOWTAP_CHECK_H
#define FLOWTAP_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum flowtap_check_format {
	FLOWTAP_CHECK_UNKNOWN,
	FLOWTAP_CHECK_ARCHIVE,
	FLOWTAP_CHECK_STF,
	FLOWTAP_CHECK_ZSTF,
	FLOWTAP_CHECK_TARMAC,
	FLOWTAP_CHECK_QEMU4V,
};

struct flowtap_check_problem {
	uint64_t offset;
	bool unpacked;			/* ... in the records of a .zstf or in what gzip packed, */
					/* not in the file */
	uint64_t line;			/* of text, counted from 1; 0: it is none */
	const char *reason;		/* one line, valid during the call */
};

struct flowtap_check {
	/*
	 * In. Each may be NULL. A remark is what a known tool does not take of a file that is as
	 * its format wants: one with a problem has none. progress comes about once a MiB.
	 */
	void (*problem)(struct flowtap_check *check, const struct flowtap_check_problem *problem);
	void (*remark)(struct flowtap_check *check, const struct flowtap_check_problem *remark);
	void (*progress)(struct flowtap_check *check, uint64_t done, uint64_t size);
	void *argument;			/* the caller's own */

	/* Out. */
	enum flowtap_check_format format;
	uint64_t problems;
	uint64_t remarks;
	uint64_t size;			/* of the file */
	uint64_t instructions;		/* of a trace */
	uint64_t chunks;
	uint64_t records;		/* of a trace (lines), or of an archive's rings */
	uint64_t blocks;		/* of an archive */
	uint64_t samples;
	uint64_t entries;
	uint64_t lost_records;		/* by the archive's own account: no problem */
	uint64_t aux_records;
	uint64_t aux_bytes;		/* that they name */
};

/*
 * fd: a regular file, borrowed, read from its beginning. Memory is some 50 bytes for each task, up
 * to 130 KiB for each of at most 8192 CPUs, 16 bytes for each RING block, 24 to 48 for each AUX
 * block, up to twice that where lists have grown, and what the readers of archives and .zstf take. 0: it was read as far as can be, see `problems`; -EBADMSG: none of these formats;
 * -EPROTONOSUPPORT: an archive of another version; -ENOMEM; -errno of read.
 */
int flowtap_check_file(struct flowtap_check *check, int fd);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_CHECK_H */
