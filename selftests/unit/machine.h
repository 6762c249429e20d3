/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine for tests: executes RV64 code in user mode, logs each instruction it executed, and
 * records control transfers as Smctr says. Its kernel resumes programs after traps, sends them
 * signals and takes pages away. Written from the specifications, not from libuapi.
 *
 *	driver: machine_step ... true: a trap; the driver may drain the buffer; machine_kernel
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <linux/flowtap.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MACHINE_PAGES	64
#define MACHINE_FRAMES	6
#define MACHINE_LOG	(1U << 20)

#define CTL_U		(1ULL << 0)
#define CTL_S		(1ULL << 1)
#define CTL_RASEMU	(1ULL << 7)
#define CTL_STE		(1ULL << 8)
#define CTL_LCOFIFRZ	(1ULL << 12)
#define CTL_NTBREN	(1ULL << 36)
#define CTL_INHIBIT(type) (1ULL << (32 + (type)))

enum machine_cause { CAUSE_FETCH, CAUSE_ILLEGAL, CAUSE_ECALL, CAUSE_EBREAK, CAUSE_INTERRUPT };

struct step {
	uint64_t pc;
	uint64_t next;		/* 0: an ecall or ebreak */
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
	bool typeless;
	uint64_t control;
	uint32_t depth;
	uint32_t wrptr;
	struct made buffer[256];
	struct step *log;
	size_t n;
	uint64_t executed;		/* ever */
	uint64_t signals, faults;
};

static inline uint64_t machine_random(struct machine *m)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return m->random >> 11;
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

static inline void machine_record(struct machine *m, uint64_t source, uint64_t target,
				  unsigned int type, bool executed)
{
	bool trap = type == 1 || type == 2;
	struct made made = {
		.entry = {
			.source = source | 1,
			.target = target | machine_chance(m, 8),
			.data = machine_cycles(m) | (m->typeless ? 0 : type),
		},
		.at = m->n - (trap && !executed ? 0 : 1),
		.trap = trap,
		.executed = executed,
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
	} else if (trap) {
		if (!(m->control & CTL_STE))
			return;
	} else if (type == 4 ? !(m->control & CTL_NTBREN) : m->control >> (32 + type) & 1) {
		return;
	}
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
	return nr;
}

static inline bool machine_mapped(const struct machine *m, uint64_t address)
{
	return address - m->base < m->size && m->present[(address - m->base) >> 12];
}

static inline bool machine_fetch(const struct machine *m, uint32_t *insn)
{
	uint64_t offset = m->pc - m->base;

	if (!machine_mapped(m, m->pc) || !machine_mapped(m, m->pc + 1))
		return false;
	*insn = m->text[offset] | m->text[offset + 1] << 8;
	if ((*insn & 3) != 3)
		return true;
	if (!machine_mapped(m, m->pc + 2) || !machine_mapped(m, m->pc + 3))
		return false;
	*insn |= (uint32_t)m->text[offset + 2] << 16 | (uint32_t)m->text[offset + 3] << 24;
	return true;
}

static inline void machine_log(struct machine *m, uint64_t next, bool ends, bool taken)
{
	if (m->n == MACHINE_LOG)
		abort();
	m->log[m->n++] = (struct step){ m->pc, next, ends, taken, false };
	m->executed++;
}

static inline void machine_set(struct machine *m, unsigned int rd, uint64_t value)
{
	if (rd)
		m->x[rd] = value;
}

static inline void machine_trap(struct machine *m, enum machine_cause cause)
{
	bool executed = cause == CAUSE_ECALL || cause == CAUSE_EBREAK;

	if (executed)
		machine_log(m, 0, true, true);
	m->cause = cause;
	machine_record(m, m->pc, 0, cause == CAUSE_INTERRUPT ? 2 : 1, executed);
}

static inline void machine_pass(struct machine *m, unsigned int length)
{
	machine_log(m, m->pc + length, false, false);
	m->pc += length;
}

static inline void machine_jump(struct machine *m, uint64_t target, unsigned int type)
{
	uint64_t source = m->pc;

	target &= ~1ULL;
	machine_log(m, target, true, true);
	machine_record(m, source, target, type, false);
	m->pc = target;
}

static inline void machine_branch(struct machine *m, bool taken, int64_t offset,
				  unsigned int length)
{
	uint64_t source = m->pc, target = source + (taken ? offset : (int64_t)length);

	machine_log(m, target, true, taken);
	m->log[m->n - 1].same = offset == (int64_t)length;
	machine_record(m, source, target, taken ? 5 : 4, false);
	m->pc = target;
}

static inline int64_t bits(uint32_t insn, int high, int low)
{
	return insn >> low & ((1ULL << (high - low + 1)) - 1);
}

static inline bool machine_compare(const struct machine *m, uint32_t insn, bool *taken)
{
	uint64_t a = m->x[bits(insn, 19, 15)], b = m->x[bits(insn, 24, 20)];

	switch (bits(insn, 14, 12)) {
	case 0: *taken = a == b; return true;
	case 1: *taken = a != b; return true;
	case 4: *taken = (int64_t)a < (int64_t)b; return true;
	case 5: *taken = (int64_t)a >= (int64_t)b; return true;
	case 6: *taken = a < b; return true;
	case 7: *taken = a >= b; return true;
	default: return false;
	}
}

/* OP and OP-IMM as far as the programs use them. */
static inline bool machine_alu(struct machine *m, uint32_t insn)
{
	unsigned int rd = bits(insn, 11, 7), f3 = bits(insn, 14, 12);
	uint64_t a = m->x[bits(insn, 19, 15)], b = m->x[bits(insn, 24, 20)];
	int64_t imm = (int32_t)insn >> 20;

	if (bits(insn, 6, 0) == 0x13) {
		if (f3 == 0)
			machine_set(m, rd, a + imm);
		else if (f3 == 5 && insn >> 26 == 0)
			machine_set(m, rd, a >> (imm & 63));
		else
			return false;
	} else if (f3 == 0 && insn >> 25 == 0) {
		machine_set(m, rd, a + b);
	} else if (f3 == 4 && insn >> 25 == 0) {
		machine_set(m, rd, a ^ b);
	} else if (f3 == 0 && insn >> 25 == 1) {
		machine_set(m, rd, a * b);
	} else {
		return false;
	}
	machine_pass(m, 4);
	return true;
}

static inline bool machine_word(struct machine *m, uint32_t insn)
{
	unsigned int rd = bits(insn, 11, 7), rs1 = bits(insn, 19, 15);
	int64_t high = (int32_t)(insn & 0xfffff000), sign = (int32_t)insn >> 31;
	uint64_t target;
	bool taken;

	switch (bits(insn, 6, 0)) {
	case 0x13:
	case 0x33:
		return machine_alu(m, insn);
	case 0x37:
	case 0x17:
		machine_set(m, rd, high + (insn & 0x20 ? 0 : m->pc));
		machine_pass(m, 4);
		return true;
	case 0x6f:
		target = m->pc + (sign * (1 << 20) | bits(insn, 19, 12) << 12 |
				  bits(insn, 20, 20) << 11 | bits(insn, 30, 21) << 1);
		machine_set(m, rd, m->pc + 4);
		machine_jump(m, target, machine_jal_type(rd));
		return true;
	case 0x67:
		if (bits(insn, 14, 12))
			return false;
		target = m->x[rs1] + ((int32_t)insn >> 20);
		machine_set(m, rd, m->pc + 4);
		machine_jump(m, target, machine_jalr_type(rd, rs1));
		return true;
	case 0x63:
		if (!machine_compare(m, insn, &taken))
			return false;
		machine_branch(m, taken, sign * 4096 | bits(insn, 7, 7) << 11 |
			       bits(insn, 30, 25) << 5 | bits(insn, 11, 8) << 1, 4);
		return true;
	default:
		return false;
	}
}

static inline bool machine_half(struct machine *m, uint32_t insn)
{
	unsigned int rd = bits(insn, 11, 7), rs2 = bits(insn, 6, 2);
	int64_t sign = -bits(insn, 12, 12), imm = sign * 32 | rs2;
	unsigned int rs1 = 8 + bits(insn, 9, 7);
	uint64_t target;

	switch (insn & 0xe003) {
	case 0x0001:	/* c.addi */
		machine_set(m, rd, m->x[rd] + imm);
		break;
	case 0x4001:	/* c.li */
		machine_set(m, rd, imm);
		break;
	case 0xa001:	/* c.j */
		machine_jump(m, m->pc + (sign * 2048 | bits(insn, 8, 8) << 10 |
					 bits(insn, 10, 9) << 8 | bits(insn, 6, 6) << 7 |
					 bits(insn, 7, 7) << 6 | bits(insn, 2, 2) << 5 |
					 bits(insn, 11, 11) << 4 | bits(insn, 5, 3) << 1), 11);
		return true;
	case 0xc001:	/* c.beqz, c.bnez */
	case 0xe001:
		machine_branch(m, (m->x[rs1] == 0) == !(insn & 0x2000),
			       sign * 256 | bits(insn, 6, 5) << 6 | bits(insn, 2, 2) << 5 |
			       bits(insn, 11, 10) << 3 | bits(insn, 4, 3) << 1, 2);
		return true;
	case 0x8002:
		if (rs2) {
			machine_set(m, rd, sign ? m->x[rd] + m->x[rs2] : m->x[rs2]);
			break;
		}
		if (!rd)
			return false;
		target = m->x[rd];
		if (sign)
			m->x[1] = m->pc + 2;
		machine_jump(m, target, machine_jalr_type(sign ? 1 : 0, rd));
		return true;
	default:
		return false;
	}
	machine_pass(m, 2);
	return true;
}

/* One instruction, or a trap in its place or by it: then true. */
static inline bool machine_step(struct machine *m)
{
	uint32_t insn;

	if (!machine_fetch(m, &insn)) {
		machine_trap(m, CAUSE_FETCH);
		return true;
	}
	if (insn == 0x00000073 || insn == 0x00100073 || insn == 0x9002) {
		machine_trap(m, insn == 0x73 ? CAUSE_ECALL : CAUSE_EBREAK);
		return true;
	}
	if ((insn & 3) == 3 ? machine_word(m, insn) : machine_half(m, insn))
		return false;
	machine_trap(m, CAUSE_ILLEGAL);
	return true;
}

static inline uint64_t machine_label(struct machine *m)
{
	return m->labels[machine_random(m) % m->n_labels];
}

/* A signal: the handler begins at some label, and what was interrupted goes on some time later. */
static inline void machine_signal(struct machine *m)
{
	if (m->n_frames < MACHINE_FRAMES) {
		memcpy(m->frames[m->n_frames].x, m->x, sizeof(m->x));
		m->frames[m->n_frames++].pc = m->pc;
	}
	m->signals++;
	m->pc = machine_label(m);
}

static inline void machine_fault(struct machine *m)
{
	uint64_t page = (m->pc - m->base) >> 12;

	m->faults++;
	for (uint64_t i = page; i <= page + 1; i++)
		if (m->pc - m->base < m->size && i < MACHINE_PAGES)
			m->present[i] = true;
	if (!machine_mapped(m, m->pc) || !machine_mapped(m, m->pc + 1))
		m->pc = machine_label(m);
}

/* Back to user mode after a trap. */
static inline void machine_kernel(struct machine *m)
{
	switch (m->cause) {
	case CAUSE_FETCH:
		machine_fault(m);
		break;
	case CAUSE_ILLEGAL:
		m->pc = machine_label(m);
		break;
	case CAUSE_ECALL:
		if (m->n_frames && machine_chance(m, 4)) {	/* sigreturn */
			memcpy(m->x, m->frames[--m->n_frames].x, sizeof(m->x));
			m->pc = m->frames[m->n_frames].pc;
		} else if (!machine_chance(m, 8)) {		/* else restarted */
			m->pc += 4;
		}
		break;
	case CAUSE_EBREAK:
		m->pc = machine_label(m);
		break;
	case CAUSE_INTERRUPT:
		if (machine_chance(m, 16))
			m->present[machine_random(m) % (m->size / 4096 + 1)] = false;
		break;
	}
	if (machine_chance(m, 4))
		machine_signal(m);
}

/* An interrupt before the next instruction. LCOFI with LCOFIFRZ is not recorded (6.5). */
static inline void machine_interrupt(struct machine *m, bool recorded)
{
	m->cause = CAUSE_INTERRUPT;
	if (recorded)
		machine_trap(m, CAUSE_INTERRUPT);
}

#endif /* MACHINE_H */
