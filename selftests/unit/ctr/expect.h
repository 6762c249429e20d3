/* SPDX-License-Identifier: GPL-2.0-only */
/* What the CTR decoder must say, from the log and the records of the machine for tests. */
#ifndef FLOWTAP_SELFTESTS_UNIT_CTR_EXPECT_H
#define FLOWTAP_SELFTESTS_UNIT_CTR_EXPECT_H

#include "support/flowlog.h"
#include "support/machine.h"

#define UNKNOWN SIZE_MAX

/* The instructions log[from] up to log[to - 1]. */
static inline void expect_steps(struct items *items, const struct machine *m, size_t from,
				size_t to)
{
	/* Where each branch has a record but no type, one to the next instruction is taken. */
	bool blind = m->typeless && m->control & CTL_NTBREN;

	for (size_t i = from; i < to; i++) {
		add_item(items, ITEM_INSN, m->log[i].pc, 0, 0);
		if (m->log[i].ends)
			add_item(items, ITEM_END, m->log[i].taken || (blind && m->log[i].same),
				 m->log[i].next, 0);
	}
}

/*
 * An ecall or ebreak shows as such only if it cannot have been the fetch that failed: it shares its
 * page with the end of the instruction before it, which is known to have been executed. That is
 * `before` if the flow begins at the ecall.
 */
static inline bool ecall_shows(const struct machine *m, const struct made *made, size_t from,
			       uint64_t before)
{
	uint64_t epc = m->log[made->at].pc;

	if (!made->executed || m->typeless)
		return false;
	if (made->at > from)
		before = epc - 1;
	return before / 4096 == epc / 4096 && before / 4096 == (epc + 3) / 4096;
}

static inline int ecall_cause(const struct machine *m, uint64_t epc)
{
	bool kernel = epc >> 63;
	const uint8_t *insn = kernel ? m->kernel.text + (epc - m->kernel.base) :
				       m->text + (epc - m->base);

	return insn[0] == 0x73 && !(insn[2] & 0x10) ? 8 : 3;
}

static inline void expect_cycles(struct items *items, uint64_t data)
{
	uint64_t exponent = data >> 28 & 15, mantissa = data >> 16 & 0xfff;

	if (data >> 15 & 1)
		add_item(items, ITEM_CYCLES,
			 exponent ? (4096 + mantissa) << (exponent - 1) : mantissa,
			 (data >> 16 & 0xffff) == 0xffff, 0);
}

static inline void expect_mispredicted(struct items *items, const struct flowtap_entry *entry)
{
	if (entry->target & 1)
		add_item(items, ITEM_MISPREDICTED, 0, 0, 0);
}

static inline void expect_gap(struct items *items, enum flowtap_gap_reason reason)
{
	add_item(items, ITEM_GAP, reason, 0, 0);
}

static inline void expect_transfer(struct items *items, const struct flowtap_entry *entry)
{
	add_item(items, ITEM_TRANSFER, entry->source & ~1ULL, entry->target & ~1ULL,
		 (entry->data & 15) | (entry->target & 1) << 8);
}

#endif /* FLOWTAP_SELFTESTS_UNIT_CTR_EXPECT_H */
