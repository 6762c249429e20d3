/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Readers of trace files: a file becomes the flow that a decoder would have emitted (flow.h). Each
 * format's reader is declared in its header: flowtap_stf_read (stf.h), flowtap_tarmac_read and
 * flowtap_qemu4v_read (lines.h).
 *
 * Blocks are made of the opcodes that the file holds (learned.h). What is in the file and has no
 * element in the flow (registers, memory) is counted, not handed on.
 *
 * Damage never ends a reader: it is reported with its offset, becomes a gap, and reading goes on
 * where the format allows it. What is before it was handed on.
 */
#ifndef FLOWTAP_READ_H
#define FLOWTAP_READ_H

#include <flowtap/flow.h>

#ifdef __cplusplus
extern "C" {
#endif

struct flowtap_learned;

/* What a file can hold and the flow cannot. */
enum flowtap_read_extra {
	FLOWTAP_READ_REGISTERS,
	FLOWTAP_READ_MEMORY,
	FLOWTAP_READ_PAGE_TABLES,
	FLOWTAP_READ_COMMENTS,		/* that are none of flowtap's own lines */
	FLOWTAP_READ_OTHER,		/* micro-operations, bus masters, transactions, events ... */
	FLOWTAP_READ_EXTRAS
};

struct flowtap_read {
	/* In. Callbacks may be NULL. */
	struct flowtap_sink *sink;
	struct flowtap_learned *learned;	/* borrowed: where blocks come from, they live as long */
	/* line: counted from 1, 0 in binary formats. reason: valid during the call. */
	void (*problem)(struct flowtap_read *read, uint64_t offset, uint64_t line,
			const char *reason);
	/* About once a MiB: bytes of the file that were read, of `size` (0: not known). */
	void (*progress)(struct flowtap_read *read, uint64_t done, uint64_t size);
	void *argument;				/* the caller's own */
	/*
	 * A part of it: instructions that are passed over, and how many come then (0: all). Where
	 * some are passed over the flow begins with the context that was the last one before, and a
	 * gap (FLOWTAP_GAP_START); where it ends reading ends as well.
	 */
	uint64_t skip, count;

	/* Out: of what was read. */
	uint64_t instructions;			/* with those that were passed over */
	uint64_t records;			/* or lines */
	uint64_t problems;
	uint64_t extra[FLOWTAP_READ_EXTRAS];
	bool truncated;				/* the file ends in the midst of a record */
	/* So far no word of modes: what contexts have of them is made up. */
	bool mode_unknown;
};

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_READ_H */
