/* SPDX-License-Identifier: GPL-2.0-only */
/* What the rules share: what was read so far, and the functions of each part. */
#ifndef FLOWTAP_SELFTESTS_STFCHECK_STATE_H
#define FLOWTAP_SELFTESTS_STFCHECK_STATE_H

#include "records.h"
#include "stfcheck.h"

#include <errno.h>
#include <stdbool.h>

#define FEATURE_PHYS	(1ULL << 0)
#define FEATURE_EVENT	(1ULL << 3)
#define FEATURE_RV64	(1ULL << 5)
#define FEATURE_PROCESS	(1ULL << 10)
#define FEATURE_EVENT64	(1ULL << 19)
#define MODE_UNKNOWN	0xff

enum { ISA_RISCV = 1, ISA_ARM = 2 };

/* What was read since the last opcode. */
struct group {
	uint8_t last;		/* descriptor of the last record that has an order */
	uint8_t mode;		/* by the last MODE_CHANGE, or MODE_UNKNOWN */
	uint8_t before;		/* by the first, where there are two */
	unsigned int modes;	/* MODE_CHANGEs */
	uint64_t cause;		/* of the last EVENT of a trap */
	unsigned int records;	/* all but comments */
	unsigned int comments;
	unsigned int processes;
	unsigned int forces;
	bool target, event, trap, event_target;
	bool after; /* comments from here on are of what comes after the opcode */
	uint64_t force_pc, target_pc, event_pc;
};

struct state {
	struct stfcheck *check;
	struct record_widths widths;
	struct group group;
	struct stfcheck_insn insn;	/* pid, tid, hw, mode that hold */
	uint64_t pc;			/* of the next instruction */
	uint8_t level;			/* by the last comment `context`, or MODE_UNKNOWN; RISC-V: */
					/* if no EVENT came since */
	bool lost;			/* ... is not known: a FORCE_PC has to come */
	bool body;
	uint8_t header_last;
};

static inline uint64_t seen(const struct state *state, uint8_t descriptor)
{
	return state->check->counts.records[descriptor];
}

static inline bool riscv(const struct state *state)
{
	return state->check->isa == ISA_RISCV;
}

/* Keeps the reason, printf's. -EBADMSG. */
__attribute__((format(printf, 2, 3)))
int bad(struct state *state, const char *format, ...);

/* Each takes one record, of which the payload is all there. 0 or -EBADMSG. */

/* What stands in the header only. */
int check_header(struct state *state, uint8_t descriptor, const uint8_t *payload);
/* What stands there and between instructions: COMMENT, PROCESS_ID_EXT, FORCE_PC. */
int check_any(struct state *state, uint8_t descriptor, const uint8_t *payload);
/* What an instruction has before its opcode. */
int check_group(struct state *state, uint8_t descriptor, const uint8_t *payload);
/* The opcode, of `size` bytes: it ends the group. */
int check_opcode(struct state *state, const uint8_t *payload, unsigned int size);

#endif /* FLOWTAP_SELFTESTS_STFCHECK_STATE_H */
