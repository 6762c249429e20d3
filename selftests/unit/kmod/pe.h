/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The registers of one PE with ETE and TRBE, as far as the driver uses them: what was written, in
 * which order and with which barriers between (DDI 0487 K10.5.7, K10.5.10). Register numbers and
 * fields are written as DDI 0601 has them. Accesses that the architecture forbids, and each write
 * to what another driver uses, are counted.
 */
#ifndef FLOWTAP_SELFTESTS_UNIT_KMOD_PE_H
#define FLOWTAP_SELFTESTS_UNIT_KMOD_PE_H

#include <stdarg.h>

#include "kernel_arm64.h"

#define PE_NEVER	(~0U)

static struct pe {
	/* What it has. */
	bool el2;			/* the kernel runs there */
	u64 features;			/* ID_AA64DFR0_EL1 */
	u32 trcidr[14], devarch, authstatus;
	u64 trbidr;
	unsigned int slow;		/* reads of TRCSTATR in vain; PE_NEVER */
	/* Its registers. */
	u64 trfcr, prgctlr, claims, locked, unit[0x400];
	u64 limitr, pointer, base, status, trigger;
	/* What another driver does when the driver has set its claim. */
	u64 claims_of_another;
	/* The unit, pointer and base are another's. */
	bool anothers;
	/* How far effects have come. */
	unsigned int waits;		/* reads of TRCSTATR that are still in vain */
	bool idle;			/* as TRCSTATR says */
	bool seen_idle;			/* since EN was cleared */
	bool prohibited;		/* TRFCR prohibits trace, an ISB came since */
	bool flushed;			/* and a TSB CSYNC: nothing is in the unit */
	bool limit_taken;		/* an ISB since TRBLIMITR_EL1 was written */
	bool unlocked;			/* OSLAR was written so */
	/* What came to pass. */
	char did[512];			/* words, with a blank before each */
	unsigned int polls;
	unsigned int wrong;		/* accesses that are forbidden */
	unsigned int meddled;		/* writes to what is another's */
} pe;

#define sys_reg(op0, op1, crn, crm, op2) \
	((op0) << 19 | (op1) << 16 | (crn) << 12 | (crm) << 8 | (op2) << 5)

#define PE_TRFCR	sys_reg(3, 0, 1, 2, 1)
#define PE_LIMITR	sys_reg(3, 0, 9, 11, 0)
#define PE_POINTER	sys_reg(3, 0, 9, 11, 1)
#define PE_BASE		sys_reg(3, 0, 9, 11, 2)
#define PE_STATUS	sys_reg(3, 0, 9, 11, 3)
#define PE_TRIGGER	sys_reg(3, 0, 9, 11, 6)
#define PE_TRBIDR	sys_reg(3, 0, 9, 11, 7)
#define PE_OSLAR	sys_reg(2, 0, 1, 0, 4)
#define PE_OSLSR	sys_reg(2, 0, 1, 1, 4)

static inline bool pe_ends(const char *word)
{
	const size_t n = strlen(pe.did), length = strlen(word);

	return n >= length && !strcmp(pe.did + n - length, word);
}

static inline __attribute__((format(printf, 1, 2))) void pe_did(const char *format, ...)
{
	const size_t n = strlen(pe.did);
	va_list arguments;

	va_start(arguments, format);
	if (n < sizeof(pe.did))
		vsnprintf(pe.did + n, sizeof(pe.did) - n, format, arguments);
	va_end(arguments);
}

/* Of several that come one after the other the first. */
static inline void pe_did_once(const char *word)
{
	if (!pe_ends(word))
		pe_did("%s", word);
}

/* The offset of a trace unit's register: n is CRn[2:0]:op2:CRm. */
static inline u32 pe_offset(u32 reg)
{
	return ((reg >> 12 & 7) << 7 | (reg >> 5 & 7) << 4 | (reg >> 8 & 15)) * 4;
}

/* "isb poll isb poll ..." becomes "poll": a CSE is before each read (STTPKR). */
static inline u64 pe_read_statr(void)
{
	pe.polls++;
	pe.wrong += pe.locked || !pe_ends(" isb");
	if (pe_ends(" isb"))
		pe.did[strlen(pe.did) - 4] = 0;
	pe_did_once(" poll");
	if (pe.waits) {
		pe.waits -= pe.waits != PE_NEVER;
	} else {
		pe.idle = !pe.prgctlr;
		pe.seen_idle |= pe.idle;
	}
	return pe.idle ? 3 : 0;
}

static inline u64 pe_read_unit(u32 offset)
{
	pe.wrong += pe.locked && offset < 0xf00;
	switch (offset) {
	case 0x004:
		return pe.prgctlr;
	case 0x00c:
		return pe_read_statr();
	case 0xfa4:
		return pe.claims;
	case 0xfb8:
		return pe.authstatus;
	case 0xfbc:
		return pe.devarch;
	}
	if (offset >= 0x180 && offset < 0x198)
		return pe.trcidr[8 + (offset - 0x180) / 4];
	if (offset >= 0x1e0 && offset < 0x200)
		return pe.trcidr[(offset - 0x1e0) / 4];
	pe.wrong++;
	return 0;
}

static inline void pe_enable_unit(u64 value)
{
	pe_did(" unit=%llu", value);
	/* On from the sink, off to the sink (K10.5.7.1). */
	if (value)
		pe.wrong += !(pe.limitr & 1) || !pe.limit_taken || !pe.seen_idle;
	else
		pe.wrong += pe.prgctlr && !pe.flushed;
	if (value != pe.prgctlr)
		pe.waits = pe.slow;
	pe.prgctlr = value;
	pe.seen_idle = false;
}

static inline void pe_write_unit(u32 offset, u64 value)
{
	pe.meddled += pe.anothers;
	switch (offset) {
	case 0x004:
		pe_enable_unit(value);
		return;
	case 0xfa0:
		pe_did(" claim");
		pe.claims |= value | pe.claims_of_another;
		return;
	case 0xfa4:
		pe_did(" unclaim");
		pe.claims &= ~value;
		return;
	}
	/* Only what is idle is programmed. */
	pe.wrong += pe.prgctlr || !pe.seen_idle || pe.locked;
	pe.unit[offset / 4] = value;
	pe_did_once(offset == 0x028 || offset == 0x080 ? " state" : " program");
}

static inline void pe_write_trfcr(u64 value)
{
	pe.meddled += pe.anothers;
	pe_did(" trfcr=%llx", value);
	/* K10.5.10: no byte before the buffer takes it. */
	pe.wrong += value & 3 && pe.prgctlr && (!(pe.limitr & 1) || !pe.limit_taken);
	pe.trfcr = value;
	if (value & 3)
		pe.prohibited = pe.flushed = false;
}

static inline void pe_write_limitr(u64 value)
{
	pe.meddled += pe.anothers;
	pe_did(" buffer=%llu", value & 1);
	/* Off: all of the unit's has come. */
	pe.wrong += pe.limitr & 1 && !pe.flushed;
	pe.limitr = value;
	pe.limit_taken = false;
}

static inline void pe_write_buffer(u64 *to, const char *name, u64 value)
{
	pe.meddled += pe.anothers;
	pe.wrong += pe.limitr & 1;
	pe_did(" %s", name);
	*to = value;
}

static inline u64 pe_read(u32 reg)
{
	switch (reg) {
	case PE_TRFCR:
		return pe.trfcr;
	case PE_LIMITR:
		/* It traps where a higher exception level owns it. */
		pe.wrong += pe.trbidr >> 4 & 1;
		return pe.limitr;
	case PE_POINTER:
		pe_did(" pointer?");
		return pe.pointer;
	case PE_BASE:
		return pe.base;
	case PE_STATUS:
		return pe.status;
	case PE_TRBIDR:
		return pe.trbidr;
	case PE_OSLSR:
		return pe.locked << 1;
	}
	pe.wrong += reg >> 16 != (2 << 3 | 1);
	return pe_read_unit(pe_offset(reg));
}

static inline void pe_write(u64 value, u32 reg)
{
	switch (reg) {
	case PE_TRFCR:
		pe_write_trfcr(value);
		return;
	case PE_LIMITR:
		pe_write_limitr(value);
		return;
	case PE_POINTER:
		pe_write_buffer(&pe.pointer, "pointer", value);
		return;
	case PE_BASE:
		pe_write_buffer(&pe.base, "base", value);
		return;
	case PE_STATUS:
		pe_write_buffer(&pe.status, "status", value);
		return;
	case PE_TRIGGER:
		pe_write_buffer(&pe.trigger, "trigger", value);
		return;
	case PE_OSLAR:
		/* Unlocked it is from the next CSE on. */
		pe_did(" lock=%llu", value);
		pe.unlocked = !(value & 1);
		pe.locked |= value & 1;
		return;
	}
	pe.wrong += reg >> 16 != (2 << 3 | 1);
	pe_write_unit(pe_offset(reg), value);
}

static inline void pe_isb(void)
{
	pe_did(" isb");
	pe.prohibited = !(pe.trfcr & 3);
	pe.limit_taken = true;
	pe.locked &= !pe.unlocked;
}

static inline void pe_tsb(void)
{
	pe_did(" tsb");
	pe.flushed = pe.prohibited;
}

/* Something runs at EL0: bytes of it come, where it may be traced. */
static inline void pe_runs(u64 bytes)
{
	if (pe.trfcr & 1 && pe.prgctlr && !pe.waits && pe.limitr & 1)
		pe.pointer += bytes;
}

/* What the files of kmod/ use. */
#define read_sysreg_s(reg)		pe_read(reg)
#define write_sysreg_s(value, reg)	pe_write(value, reg)
#define read_sysreg(name)		pe_##name()
#define pe_id_aa64dfr0_el1()		(pe.features)
#define isb()				pe_isb()
#define dsb(domain)			pe_did(" dsb")
#define tsb_csync()			pe_tsb()
#define is_kernel_in_hyp_mode()		(pe.el2)
#define arch_timer_get_cntfrq()		62500000
#define __arch_counter_get_cntvct()	(++clock_ns)

enum {
	ID_AA64DFR0_EL1_TraceVer_SHIFT = 4,
	ID_AA64DFR0_EL1_TraceFilt_SHIFT = 40,
	ID_AA64DFR0_EL1_TraceBuffer_SHIFT = 44,
};

#endif /* FLOWTAP_SELFTESTS_UNIT_KMOD_PE_H */
