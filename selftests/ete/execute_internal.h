/* SPDX-License-Identifier: GPL-2.0-only */
/* What the M profile's PE shares with that of the others. */
#ifndef FLOWTAP_SELFTESTS_ETE_EXECUTE_INTERNAL_H
#define FLOWTAP_SELFTESTS_ETE_EXECUTE_INTERNAL_H

#include "execute.h"

#define EXECUTE_TAIL_CHAINED	UINT32_MAX	/* where to: EXC_RETURN, and an exception waits */

static inline bool now(struct execute *x, uint32_t n)
{
	return rng_one_in(&x->rng, n);
}

static inline const struct program_insn *current(const struct execute *x)
{
	return &x->program->insns[x->pe.at];
}

/* The first instruction of one of the group's functions; any ISA of the two if it interworks. */
uint32_t execute_entry(struct execute *x, unsigned int group, bool handler, bool interworks);
/* A branch that was taken, to `to`. */
void execute_tell_branch(struct execute *x, const struct program_insn *insn, uint32_t to);
/* Where an indirect branch goes. */
uint32_t execute_somewhere(struct execute *x, const struct program_insn *insn);

/* execute_m.c: of the M profile. Where execution begins anew, in Thread mode. */
uint32_t execute_m_afresh(struct execute *x, unsigned int group);
/* number 0: any. There is room for one. */
void execute_m_exception(struct execute *x, unsigned int number);
/* Right after an exception return that went nowhere. */
void execute_m_tail_chained(struct execute *x);
void execute_m_reset(struct execute *x);
/* Lazy floating-point pushes, lockups, exceptions within an instruction or right after another. */
void execute_m_breaks(struct execute *x);
/* The branch was taken: it may have left Secure state. */
void execute_m_branched(struct execute *x, const struct program_insn *insn);
/* Whether the branch returns from a function that Secure state called; it has then. */
bool execute_m_function_return(struct execute *x, const struct program_insn *insn);

#endif
