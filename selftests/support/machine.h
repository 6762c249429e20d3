/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine for tests: executes RV64 code, logs each instruction it executed, and records control
 * transfers as Smctr says. Written from the specifications, not from libuapi.
 *
 * Its kernel resumes programs after traps, sends them signals and takes pages away. It is made of
 * words (machine_kernel) where `kernel.text` is NULL:
 *
 *	driver: machine_step ... true: a trap; the driver may drain the buffer; machine_kernel
 *
 * else its code is executed too (machine_kernel decides only what sepc becomes), and there are M
 * mode, which calls of firmware and exceptions that it hands on go through, guests, and a recorder
 * whose own code is not executed: where it runs, the kernel goes on at kernel.resume.
 */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_MACHINE_H
#define FLOWTAP_SELFTESTS_SUPPORT_MACHINE_H

#include "support/machine_record.h"

static inline bool machine_mapped(const struct machine *m, uint64_t address)
{
	return address - m->base < m->size && m->present[(address - m->base) >> 12];
}

/* The halfword at `address`, as far as the mode may execute it there. */
static inline bool machine_half_at(const struct machine *m, uint64_t address, uint32_t *half)
{
	const uint8_t *bytes;

	if (m->mode == MODE_KERNEL) {
		if (address - m->kernel.base >= m->kernel.size)
			return false;
		bytes = m->kernel.text + (address - m->kernel.base);
	} else {
		if (!machine_mapped(m, address) || !machine_mapped(m, address + 1))
			return false;
		bytes = m->text + (address - m->base);
	}
	*half = bytes[0] | bytes[1] << 8;
	return true;
}

static inline bool machine_fetch(const struct machine *m, uint32_t *insn)
{
	uint32_t high;

	if (!machine_half_at(m, m->pc, insn))
		return false;
	if ((*insn & 3) != 3)
		return true;
	if (!machine_half_at(m, m->pc + 2, &high))
		return false;
	*insn |= high << 16;
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

static inline void machine_kernel(struct machine *m);

/* Any, but often not far from an sret, as few would get out of the kernel's loops else. */
static inline uint64_t machine_kernel_label(struct machine *m)
{
	size_t i = machine_random(m) % m->kernel.n_labels, back = machine_random(m) % 16;
	const uint64_t *labels = m->kernel.labels;

	if (machine_chance(m, 4))
		return labels[i];
	while (i + 1 < m->kernel.n_labels &&
	       memcmp(m->kernel.text + (labels[i] - m->kernel.base), "\x73\0\x20\x10", 4))
		i++;
	return labels[i > back ? i - back : 0];
}

/* To the kernel's `address`; what was interrupted goes on later. Its registers are the kernel's. */
static inline void machine_enter(struct machine *m, uint64_t address)
{
	static const uint8_t jumps[] = { 1, 5, 6, 10 };

	if (m->n_traps == MACHINE_TRAPS)
		memmove(m->traps + 1, m->traps + 2, (--m->n_traps - 1) * sizeof(m->traps[0]));
	m->nested += m->mode == MODE_KERNEL;
	memcpy(m->traps[m->n_traps].x, m->x, sizeof(m->x));
	m->traps[m->n_traps].pc = m->pc;
	m->traps[m->n_traps++].mode = m->mode;
	for (size_t i = 0; i < sizeof(jumps); i++)
		if (!machine_chance(m, 32))
			m->x[jumps[i]] = machine_kernel_label(m);
	m->mode = MODE_KERNEL;
	m->pc = address;
}

static inline void machine_trap(struct machine *m, enum machine_cause cause)
{
	bool executed = cause == CAUSE_ECALL || cause == CAUSE_EBREAK;

	if (executed)
		machine_log(m, 0, true, true);
	m->cause = cause;
	if (m->kernel.text && cause == CAUSE_ILLEGAL && m->mode == MODE_USER &&
	    machine_chance(m, 2)) {
		m->unseen = true;	/* by way of M mode */
		m->redirected++;
	} else {
		machine_record(m, m->pc, m->kernel.base, cause == CAUSE_INTERRUPT ? 2 : 1,
			       executed, MODE_KERNEL);
	}
	if (m->kernel.text) {
		machine_kernel(m);
		machine_enter(m, m->kernel.base);
	}
}

/* Also into a guest, which the next trap leaves. */
static inline void machine_return(struct machine *m)
{
	enum machine_mode to = MODE_USER;
	uint64_t target = m->labels[machine_random(m) % m->n_labels];
	int n = m->n_traps > 1 && machine_chance(m, 3) ? 1 : m->n_traps;

	if (n) {
		m->n_traps = n - 1;
		target = m->traps[n - 1].pc;
		to = m->traps[n - 1].mode;
	}
	if (machine_chance(m, 20)) {
		machine_log(m, 0, true, true);
		machine_record(m, m->pc, 0, 3, false, MODE_ELSEWHERE);
		m->guests++;
		m->n_traps = n;
		m->mode = MODE_ELSEWHERE;
		machine_record(m, target, m->kernel.base, 1 + machine_chance(m, 2), false,
			       MODE_KERNEL);
		m->mode = MODE_KERNEL;
		m->pc = m->kernel.base;
		return;
	}
	machine_log(m, m->control >> to & 1 ? target : 0, true, true);
	machine_record(m, m->pc, target, 3, false, to);
	if (n)
		memcpy(m->x, m->traps[n - 1].x, sizeof(m->x));
	m->mode = to;
	m->pc = target;
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
	m->wild += m->mode == MODE_KERNEL && !(target >> 63);
	machine_log(m, target, true, true);
	machine_record(m, source, target, type, false, m->mode);
	m->pc = target;
}

static inline void machine_branch(struct machine *m, bool taken, int64_t offset,
				  unsigned int length)
{
	uint64_t source = m->pc, target = source + (taken ? offset : (int64_t)length);

	machine_log(m, target, true, taken);
	m->log[m->n - 1].same = offset == (int64_t)length;
	machine_record(m, source, target, taken ? 5 : 4, false, m->mode);
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

/* What only the kernel has. False: no such instruction. */
static inline bool machine_privileged(struct machine *m, uint32_t insn)
{
	if (m->mode != MODE_KERNEL)
		return false;
	switch (insn) {
	case 0x00000073:	/* ecall: firmware returns */
		machine_log(m, m->pc + 4, true, false);
		m->pc += 4;
		return true;
	case 0x10200073:	/* sret */
		machine_return(m);
		return true;
	case 0x14e51073:	/* csrw sctrctl, a0: the recorder runs */
		machine_pass(m, 4);
		m->hole = true;
		m->holes++;
		m->pc = m->kernel.resume;
		return true;
	default:
		return false;
	}
}

/* One instruction, or a trap in its place or by it: then true. */
static inline bool machine_step(struct machine *m)
{
	uint32_t insn;

	if (!machine_fetch(m, &insn)) {
		machine_trap(m, CAUSE_FETCH);
		return true;
	}
	if (machine_privileged(m, insn))
		return false;
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

/* Where what was trapped goes on. */
static inline void machine_kernel(struct machine *m)
{
	if (m->mode == MODE_KERNEL) {
		if (m->cause == CAUSE_EBREAK && machine_chance(m, 2))
			m->pc += 2;	/* a warning */
		else if (m->cause != CAUSE_INTERRUPT)
			m->pc = machine_kernel_label(m);
		return;
	}
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

/*
 * Somebody else's overflow: freezes what is recorded, so its trap is not, but the recorder adds
 * one (a target of 0) when it lets recording go on.
 */
static inline void machine_freeze(struct machine *m)
{
	uint64_t control = m->control;

	if (!(m->control >> m->mode & 1))
		return;
	m->control |= CTL_STE;
	machine_record(m, m->pc, 0, 2, false, MODE_ELSEWHERE);
	m->control = control;
	machine_enter(m, m->kernel.resume);
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_MACHINE_H */
