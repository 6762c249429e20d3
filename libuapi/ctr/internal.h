/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What the CTR decoder's files share: decoder.c (records), sample.c, entry.c, path.c,
 * sequence.c.
 */
#ifndef CTR_INTERNAL_H
#define CTR_INTERNAL_H

#include "ctr/sequence.h"
#include "ctr/path.h"
#include <flowtap/ctr.h>
#include <flowtap/riscv.h>

#define CTR_CPUS 8192		/* of which ctrdata bits are kept */

/* Fields of sctrctl (Smctr 2.1), which a sample's `control` is. */
#define CTR_CONTROL_U		(1ULL << 0)
#define CTR_CONTROL_S		(1ULL << 1)
#define CTR_CONTROL_M		(1ULL << 2)
#define CTR_CONTROL_RASEMU	(1ULL << 7)
#define CTR_CONTROL_STE		(1ULL << 8)
#define CTR_CONTROL_BPFRZ	(1ULL << 11)
#define CTR_CONTROL_LCOFIFRZ	(1ULL << 12)
#define CTR_CONTROL_TRAPINH	(7ULL << 33)	/* EXCINH, INTRINH, TRETINH */
#define CTR_CONTROL_NTBREN	(1ULL << 36)
#define CTR_CONTROL_TKBRINH	(1ULL << 37)
#define CTR_CONTROL_JUMPINH	(0xffULL << 40)	/* INDCALLINH ... DIRLJMPINH */
#define CTR_CONTROL_CUSTOM	(0xfULL << 60)

/* ctrdata (Smctr 3.3), as the ABI has it. */
#define CTR_DATA_TYPE		0xfU
#define CTR_DATA_CCV		(1U << 15)
#define CTR_DATA_CC_SHIFT	16

/* What a sample can become. */
enum ctr_way {
	CTR_WAY_BLOCKS,
	CTR_WAY_SOURCES,	/* transfers, and the instruction of each, but nothing in between */
	CTR_WAY_TRANSFERS,	/* transfers only */
	CTR_WAY_CALLSTACK,
};

struct flowtap_ctr {
	struct flowtap_sink *sink;
	struct flowtap_ctr_counts counts;
	struct flowtap_context context;	/* as the sink was told, the mode included */
	bool has_context;
	struct ctr_tasks tasks;
	uint64_t absent[CTR_CPUS];	/* ctrdata bits that the CPU does not have */

	struct ctr_walk walk;
	/* Where the decoder stands within a sample. */
	enum ctr_way way;
	bool known;			/* execution was at `at`, after the one at `before` */
	uint64_t at;
	uint64_t before;		/* 0: after a trap */
	bool owes;			/* a gap comes before anything else: `owed` */
	enum flowtap_gap_reason owed;
	const char *owed_detail;
};

static inline bool flowtap_ctr_records(const struct flowtap_ctr *ctr, enum flowtap_mode mode)
{
	return ctr->walk.modes >> mode & 1;
}

static inline int flowtap_ctr_send(struct flowtap_ctr *ctr, const struct flowtap_element *element)
{
	return ctr->sink->element(ctr->sink, element);
}

/* Sends a gap and counts it. What the sink returns. */
int flowtap_ctr_gap(struct flowtap_ctr *ctr, const struct flowtap_gap *gap);
/* A record that is not well formed. */
int flowtap_ctr_bad_record(struct flowtap_ctr *ctr, uint64_t time, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Says who executes from now on, and in which mode, if that changes. */
int flowtap_ctr_enter(struct flowtap_ctr *ctr, uint32_t pid, uint32_t tid, uint32_t cpu,
		      enum flowtap_mode mode);

/* One sample whose size, nr and depth agree. */
int flowtap_ctr_sample(struct flowtap_ctr *ctr, const struct flowtap_record_sample *sample);
/* The entries of a sample that is not a call stack. */
int flowtap_ctr_entries(struct flowtap_ctr *ctr, const struct flowtap_entry *entries, uint32_t nr);
/* From the newest transfer to where the trigger interrupted the task. */
int flowtap_ctr_tail(struct flowtap_ctr *ctr, const struct flowtap_record_sample *sample);

#endif /* CTR_INTERNAL_H */
