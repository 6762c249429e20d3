/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What the CTR decoder's files share. A record goes in one direction, none of them calls back:
 *
 *	decoder.c	the entrance: records
 *	sample.c	one sample, its position in its sequence (sequence.c)
 *	entry.c		its entries, against the code (path.c) and ctrdata (data.c)
 *	emit.c		elements, blocks and gaps to the sink
 */
#ifndef FLOWTAP_LIBUAPI_CTR_INTERNAL_H
#define FLOWTAP_LIBUAPI_CTR_INTERNAL_H

#include "ctr/data.h"
#include "ctr/emit.h"
#include "ctr/path.h"
#include "ctr/sequence.h"
#include <flowtap/ctr.h>
#include <flowtap/riscv.h>
#include <linux/flowtap.h>

/* Fields of sctrctl (Smctr 2.1), which a sample's `control` is. */
#define CTR_TRAPINH	(FLOWTAP_SCTRCTL_EXCINH | FLOWTAP_SCTRCTL_INTRINH | FLOWTAP_SCTRCTL_TRETINH)
#define CTR_JUMPINH	(0xffULL << 40)		/* INDCALLINH ... DIRLJMPINH */
#define CTR_CUSTOM	(0xfULL << 60)

/* What a sample can become. */
enum ctr_mode {
	CTR_MODE_BLOCKS,
	CTR_MODE_SOURCES,    /* transfers, and the instruction of each, but nothing in between */
	CTR_MODE_TRANSFERS, /* transfers only */
	CTR_MODE_CALLSTACK,
};

struct flowtap_ctr {
	struct ctr_emit emit;
	struct ctr_tasks tasks;
	struct ctr_data_bits bits;
	struct ctr_path path;
	/* Where the decoder is within a sample. */
	enum ctr_mode mode;
	bool sent;			/* the block of the entry's own transfer was */
	bool known;			/* execution was at `at`, after the one at `before` */
	uint64_t at;
	uint64_t before;		/* 0: after a trap */
	bool owes;			/* a gap comes before anything else: `owed` */
	enum flowtap_gap_reason owed;
	const char *owed_detail;
};

static inline bool flowtap_ctr_records(const struct flowtap_ctr *ctr, enum flowtap_privilege mode)
{
	return ctr->path.modes >> mode & 1;
}

/* One sample whose size, nr and depth agree. */
int flowtap_ctr_sample(struct flowtap_ctr *ctr, const struct flowtap_record_sample *sample);
/* The entries of a sample that is not a call stack. */
int flowtap_ctr_entries(struct flowtap_ctr *ctr, const struct flowtap_entry *entries, uint32_t nr);
/* From the newest transfer to where the trigger interrupted the task. */
int flowtap_ctr_tail(struct flowtap_ctr *ctr, const struct flowtap_record_sample *sample);

#endif /* FLOWTAP_LIBUAPI_CTR_INTERNAL_H */
