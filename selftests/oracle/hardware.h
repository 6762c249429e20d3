/* SPDX-License-Identifier: GPL-2.0-only */
/* A hart's CTR registers as the specification has them, worked by what the log says. */
#ifndef FLOWTAP_SELFTESTS_ORACLE_HARDWARE_H
#define FLOWTAP_SELFTESTS_ORACLE_HARDWARE_H

#include <stdbool.h>
#include <stdint.h>

#include "log.h"

#define CTR_ENTRIES 256

enum privilege {
	PRIVILEGE_U,
	PRIVILEGE_S,
	PRIVILEGE_M,
};

/* A transfer as the program made it. */
struct transfer {
	uint64_t source;
	uint64_t target;
	uint8_t type;			/* Smctr table 9 */
	uint8_t from, to;		/* enum privilege */
};

/* Where an entry comes from. */
struct origin {
	uint64_t in_task;		/* number of the transfer among those of its task */
	uint64_t in_hart;		/* ... of its hart */
	uint64_t step;			/* in the window (steps.h): the instruction or the trap */
	uint32_t task;			/* UINT32_MAX: in the kernel, for whom is not known */
	uint8_t hart;
};

struct entry {
	uint64_t source, target;	/* as read from the registers, without V and MISP */
	uint64_t data;
	bool valid;
	bool written;			/* by software; no origin */
	bool taken;			/* out of the buffer, by the driver */
	struct origin origin;
};

struct ctr {
	uint64_t control;		/* sctrctl */
	uint64_t status;		/* sctrstatus */
	uint64_t depth;			/* sctrdepth */
	uint64_t select;		/* siselect */
	struct entry entries[CTR_ENTRIES];
};

/* Entries in the buffer. */
static inline unsigned int ctr_depth(const struct ctr *ctr)
{
	return 16U << (ctr->depth & 7 ? (ctr->depth & 7) > 4 ? 4 : ctr->depth & 7 : 0);
}

static inline bool ctr_frozen(const struct ctr *ctr)
{
	return ctr->status & ORACLE_STATUS_FROZEN;
}

/* Whether `mode` is recorded, were it not for FROZEN. */
static inline bool ctr_enabled(uint64_t control, enum privilege mode)
{
	return (mode == PRIVILEGE_U && control & ORACLE_CONTROL_U) ||
	       (mode == PRIVILEGE_S && control & ORACLE_CONTROL_S);
}

/*
 * Whether such a transfer is recorded while control is in sctrctl and nothing is frozen, and with
 * which addresses (Smctr 6.1, 6.2, 6.4): it is altered where a mode is not recorded.
 */
bool ctr_qualifies(uint64_t control, struct transfer *transfer);

/* As hardware does it. True: it is in the buffer now (a return that takes a call off it is not). */
bool ctr_record(struct ctr *ctr, const struct transfer *transfer, const struct origin *origin);

/* The entry at a logical number, 0 the newest; NULL where there is none. */
struct entry *ctr_entry(struct ctr *ctr, uint64_t logical);
/* The entry that siselect selects, NULL: it selects none. */
struct entry *ctr_selected(struct ctr *ctr);
void ctr_write(struct ctr *ctr, uint64_t csr, uint64_t keep, uint64_t set);
void ctr_clear(struct ctr *ctr);

#endif /* FLOWTAP_SELFTESTS_ORACLE_HARDWARE_H */
