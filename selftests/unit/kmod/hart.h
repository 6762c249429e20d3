/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A hart with CTR as Smctr/Ssctr 1.0 allows it: what is optional is as the test says, also what no
 * emulator lacks. It stands for the accessors of kmod/ctr_csr.h; register numbers and fields are
 * written as the specification has them.
 */
#ifndef FLOWTAP_SELFTESTS_UNIT_KMOD_HART_H
#define FLOWTAP_SELFTESTS_UNIT_KMOD_HART_H

#include "kernel.h"

#define HART_ENTRIES	256
#define HART_FROZEN	(1UL << 31)
#define HART_LCOFIFRZ	(1UL << 12)
#define HART_STE	(1UL << 8)

/* As in sctrctl. */
#define HART_U		(1UL << 0)
#define HART_S		(1UL << 1)

/* ctrdata.TYPE */
enum { HART_EXCEPTION = 1, HART_INTERRUPT = 2, HART_TRET = 3, HART_TAKEN = 5, HART_CALL = 9 };

static struct hart {
	/* What it has. */
	unsigned long control_bits;	/* writable in sctrctl */
	unsigned long data_bits;	/* in ctrdata */
	unsigned int depths;		/* bit n: 16 << n */
	bool points;			/* sctrstatus.WRPTR */
	bool hypervisor;		/* H, with vsctrctl */
	bool stateen;			/* Smstateen, and Linux knows */
	bool kvm;			/* the kernel has KVM */
	bool m_recorded;		/* mctrctl.M, which the firmware has set */
	/* Its registers. */
	unsigned long control, guests_control, depth, frozen, select;
	unsigned int next;		/* the physical entry to be written next */
	unsigned long source[HART_ENTRIES], target[HART_ENTRIES], data[HART_ENTRIES];
	/* What came to pass. */
	unsigned int reads;		/* of registers */
	unsigned int calls;		/* of the firmware */
	unsigned int cycle_resets;	/* 6.3 */
	unsigned int wrong;		/* accesses that trap */
} hart;

#define CONFIG_RISCV	1
#define CONFIG_KVM	hart.kvm

static inline unsigned int hart_depth(void)
{
	return 16U << hart.depth;
}

/* 2.5: the physical entry of a logical one; -1: there is none. */
static inline int hart_place(void)
{
	unsigned long logical = hart.select - 0x200;

	return logical < hart_depth() ?
	       (int)((hart.next - logical - 1) & (hart_depth() - 1)) : -1;
}

static inline void hart_clear(void)
{
	memset(hart.source, 0, sizeof(hart.source));
	memset(hart.target, 0, sizeof(hart.target));
	memset(hart.data, 0, sizeof(hart.data));
	hart.cycle_resets++;
}

static inline bool hart_has(unsigned int csr)
{
	return csr != 0x24e || hart.hypervisor;
}

static inline unsigned long hart_read(unsigned int csr)
{
	int place = hart_place();

	hart.reads++;
	switch (csr) {
	case 0x14e:
		return hart.control;
	case 0x14f:
		return hart.frozen | (hart.points ? hart.next : 0);
	case 0x15f:
		return hart.depth;
	case 0x150:
		return hart.select;
	case 0x151:
		return place < 0 ? 0 : hart.source[place];
	case 0x152:
		return place < 0 ? 0 : hart.target[place];
	case 0x153:
		return place < 0 ? 0 : hart.data[place];
	}
	if (csr == 0x24e && hart.hypervisor)
		return hart.guests_control;
	hart.wrong++;
	return 0;
}

static inline void hart_write(unsigned int csr, unsigned long value)
{
	int place = hart_place();

	switch (csr) {
	case 0x14e:
		hart.control = value & hart.control_bits;
		hart.cycle_resets++;
		return;
	case 0x14f:
		hart.frozen = value & HART_FROZEN;
		if (hart.points)
			hart.next = value & (hart_depth() - 1);
		return;
	case 0x15f:
		if (value < 5 && hart.depths >> value & 1)
			hart.depth = value;
		hart.next &= hart_depth() - 1;
		return;
	case 0x150:
		hart.select = value;
		return;
	case 0x151:
		if (place >= 0)
			hart.source[place] = value;
		return;
	case 0x152:
		if (place >= 0)
			hart.target[place] = value;
		return;
	case 0x153:
		if (place >= 0)
			hart.data[place] = value & hart.data_bits;
		return;
	}
	if (csr == 0x24e && hart.hypervisor)
		hart.guests_control = value & hart.control_bits;
	else
		hart.wrong++;
}

static inline bool hart_read_guarded(unsigned int csr, unsigned long *value)
{
	*value = hart_has(csr) ? hart_read(csr) : 0;
	return hart_has(csr);
}

static inline unsigned long hart_read_set(unsigned int csr, unsigned long bits)
{
	unsigned long before = hart_read(csr);

	hart_write(csr, before | bits);
	return before;
}

static inline void hart_record(unsigned long source, unsigned long target, unsigned long data)
{
	hart.source[hart.next] = source | 1;
	hart.target[hart.next] = target;
	hart.data[hart.next] = data & hart.data_bits;
	hart.next = (hart.next + 1) & (hart_depth() - 1);
}

/* A transfer within a mode. */
static inline void hart_transfers(unsigned long mode, unsigned long source, unsigned long target,
				  unsigned long data)
{
	if (hart.control & mode && !hart.frozen)
		hart_record(source, target, data);
}

/* 6.1: a trap into S mode. overflow: of a counter, with which an LCOFI traps. */
static inline void hart_traps(unsigned long mode, unsigned long source, unsigned long type,
			      bool overflow)
{
	if (overflow && hart.control & HART_LCOFIFRZ) {
		hart.frozen = HART_FROZEN;
		return;
	}
	if (hart.frozen || !(hart.control & mode))
		return;
	if (hart.control & HART_S)
		hart_record(source, -4096UL, type);
	else if (hart.control & HART_STE)
		hart_record(source, 0, type);
}

/* An SBI call: traps from a mode that is not recorded, and what the firmware does (table 7). */
static inline void hart_calls_firmware(void)
{
	hart.calls++;
	if (!hart.m_recorded || hart.frozen)
		return;
	hart_record(0, 0x80000000, HART_EXCEPTION);
	hart_record(0x80000010, 0x80000100, HART_CALL);
	hart_record(0x80000110, 0, HART_TRET);
}

/* What the files of kmod/ use. */
#define csr_read(csr)			hart_read(csr)
#define csr_write(csr, value)		hart_write(csr, value)
#define csr_set(csr, bits)		((void)hart_read_set(csr, bits))
#define csr_clear(csr, bits)		hart_write(csr, hart_read(csr) & ~(unsigned long)(bits))
#define csr_read_set(csr, bits)		hart_read_set(csr, bits)
#define csr_read_guarded(csr, value)	hart_read_guarded(csr, value)
#define sctrclr()			hart_clear()

enum { SBI_EXT_BASE = 0x10, SBI_EXT_BASE_GET_SPEC_VERSION = 0 };
#define sbi_ecall(extension, function, ...)	hart_calls_firmware()

#define riscv_isa_extension_available(isa, extension) hart_isa_##extension
#define hart_isa_SMSTATEEN		(hart.stateen)

struct irq_domain;
#define riscv_get_intc_hwnode()		NULL
#define irq_find_matching_fwnode(node, bus) ((struct irq_domain *)(node))
#define irq_find_mapping(domain, number) ((void)(domain), 0)

#endif /* FLOWTAP_SELFTESTS_UNIT_KMOD_HART_H */
