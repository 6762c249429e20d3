/* SPDX-License-Identifier: GPL-2.0-only */
/* The machine for tests (machine.h): what it is made of, and its control transfer records. */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_MACHINE_RECORD_H
#define FLOWTAP_SELFTESTS_SUPPORT_MACHINE_RECORD_H

#include <linux/flowtap.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"

#define MACHINE_PAGES	64
#define MACHINE_FRAMES	6
#define MACHINE_TRAPS	8
#define MACHINE_LOG	(1U << 20)

#define CTL_U		(1ULL << 0)
#define CTL_S		(1ULL << 1)
#define CTL_RASEMU	(1ULL << 7)
#define CTL_STE		(1ULL << 8)
#define CTL_LCOFIFRZ	(1ULL << 12)
#define CTL_NTBREN	(1ULL << 36)
#define CTL_INHIBIT(type) (1ULL << (32 + (type)))

enum machine_cause { CAUSE_FETCH, CAUSE_ILLEGAL, CAUSE_ECALL, CAUSE_EBREAK, CAUSE_INTERRUPT };

/* As in sctrctl. ELSEWHERE is recorded by nobody: guests, M mode. */
enum machine_mode { MODE_USER, MODE_KERNEL, MODE_ELSEWHERE };

struct step {
	uint64_t pc;
	uint64_t next;		/* 0: an ecall or ebreak, or a return to a mode not recorded */
	bool ends;		/* it could transfer */
	bool taken;
	bool same;		/* a branch that goes to the next instruction if taken, too */
};

/* A record, and when it was made. */
struct made {
	struct flowtap_entry entry;
	size_t at;		/* log index of its instruction; of the next one for most traps */
	bool trap;
	bool executed;		/* a trap: log[at] is the ecall or ebreak that caused it */
	bool hole;		/* recording was off for a while since the record before */
	bool unseen;		/* there was a trap since then that has no record */
	uint8_t type;
	size_t next;		/* log index of what follows */
};

struct machine {
	const uint8_t *text;
	uint64_t base;
	size_t size;
	const uint64_t *labels;		/* where signals and restarts may go */
	size_t n_labels;
	uint64_t x[32];
	uint64_t pc;
	uint64_t random;
	bool present[MACHINE_PAGES];
	enum machine_cause cause;
	struct {
		uint64_t x[32];
		uint64_t pc;
	} frames[MACHINE_FRAMES];
	int n_frames;
	struct {
		const uint8_t *text;
		uint64_t base;		/* its first instruction handles traps */
		size_t size;
		const uint64_t *labels;
		size_t n_labels;
		uint64_t resume;
	} kernel;
	enum machine_mode mode;
	struct {
		uint64_t x[32];
		uint64_t pc;
		enum machine_mode mode;
	} traps[MACHINE_TRAPS];		/* the newest last; of too many the second goes */
	int n_traps;
	bool hole, unseen;
	bool typeless;
	uint64_t control;
	uint32_t depth;
	uint32_t wrptr;
	struct made buffer[256];
	struct step *log;
	size_t n;
	uint64_t executed;		/* ever */
	uint64_t signals, faults, nested, guests, holes, redirected, wild;
};

static inline uint64_t machine_random(struct machine *m)
{
	return random_next(&m->random) >> 11;
}

static inline bool machine_chance(struct machine *m, unsigned int one_in)
{
	return machine_random(m) % one_in == 0;
}

/* Smctr table 10, the JALR lines: sets of registers. */
static inline unsigned int machine_jalr_type(unsigned int rd, unsigned int rs)
{
	enum { X0 = 1 << 0, X1 = 1 << 1, X5 = 1 << 5 };
	static const struct {
		uint32_t rd, rs;
		unsigned int type;
	} lines[] = {
		{ X1, ~X5, 8 },
		{ X5, ~X1, 8 },
		{ X0, ~(X1 | X5), 10 },
		{ X1, X5, 12 },
		{ X5, X1, 12 },
		{ ~(X1 | X5), X1 | X5, 13 },
		{ ~(X0 | X1 | X5), ~(X1 | X5), 14 },
	};
	size_t i = 0;

	while (!(lines[i].rd >> rd & 1 && lines[i].rs >> rs & 1))
		i++;
	return lines[i].type;
}

static inline unsigned int machine_jal_type(unsigned int rd)
{
	return rd == 1 || rd == 5 ? 9 : rd == 0 ? 11 : 15;
}

/* Made cycle counts, a quarter of them not valid: the formula of 6.3 the other way round. */
static inline uint64_t machine_cycles(struct machine *m)
{
	uint64_t cycles = machine_random(m) >> (machine_random(m) % 50) & 0x7ffffff;
	unsigned int exponent = 0;

	if (machine_chance(m, 4))
		return 0;
	while (cycles >> exponent >= 8192)
		exponent++;
	if (cycles >= 4096)
		exponent++;
	if (exponent)
		cycles = (cycles >> (exponent - 1)) - 4096;
	return (uint64_t)exponent << 28 | cycles << 16 | 1 << 15;
}

/* Tables 7 and 8, and the filters (6.2), which external traps ignore. */
static inline bool machine_qualifies(const struct machine *m, unsigned int type,
				     enum machine_mode to)
{
	bool source = m->control >> m->mode & 1, target = m->control >> to & 1;
	bool filtered = type == 4 ? !(m->control & CTL_NTBREN) : m->control >> (32 + type) & 1;

	if (type == 1 || type == 2) {
		if (source && !target)
			return m->control & CTL_STE;
		return target && !filtered;
	}
	return source && !filtered;
}

static inline void machine_record(struct machine *m, uint64_t source, uint64_t target,
				  unsigned int type, bool executed, enum machine_mode to)
{
	bool trap = type == 1 || type == 2;
	struct made made = {
		.entry = {
			.source = (m->control >> m->mode & 1 ? source : 0) | 1,
			.target = (m->control >> to & 1 ? target : 0) | machine_chance(m, 8),
			.data = machine_cycles(m) | (m->typeless ? 0 : type),
		},
		.at = m->n - (trap && !executed ? 0 : 1),
		.trap = trap,
		.executed = executed,
		.hole = m->hole,
		.unseen = m->unseen,
		.type = type,
		.next = m->n,
	};

	if (m->control & CTL_RASEMU) {
		if (type == 13) {
			m->wrptr = (m->wrptr + m->depth - 1) % m->depth;
			m->buffer[m->wrptr].entry.source &= ~1ULL;
		}
		if (type == 12)
			m->buffer[(m->wrptr + m->depth - 1) % m->depth] = made;
		if (type != 8 && type != 9)
			return;
	} else if (!machine_qualifies(m, type, to)) {
		return;
	}
	m->hole = m->unseen = false;
	m->buffer[m->wrptr] = made;
	m->wrptr = (m->wrptr + 1) % m->depth;
}

/* Takes what the buffer holds, the oldest first, and empties it, log and all. */
static inline uint32_t machine_drain(struct machine *m, struct made *made)
{
	uint32_t nr = 0;

	while (nr < m->depth &&
	       m->buffer[(m->wrptr + m->depth - 1 - nr) % m->depth].entry.source & 1)
		nr++;
	for (uint32_t i = 0; i < nr; i++)
		made[i] = m->buffer[(m->wrptr + m->depth - nr + i) % m->depth];
	memset(m->buffer, 0, sizeof(m->buffer));
	m->hole = m->unseen = false;
	return nr;
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_MACHINE_RECORD_H */
