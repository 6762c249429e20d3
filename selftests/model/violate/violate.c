// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Traces a loop of its own with ETE into TRBE as the architecture says (K10.5.7.1, K10.5.10), but
 * for one wrong step: insmod violate.ko commit=WORD cpu=N, where WORD is one of VIOLATION_TABLE or
 * "none". So that a model that finds violations can be shown to find each of them, and nothing
 * else.
 *
 * All is done on that CPU with interrupts off, and undone before insmod returns. Neither ETE nor
 * TRBE may have another driver. No wrong step makes the hardware write outside of the buffer: it
 * has a spare page at either end.
 */
#include <linux/cpu.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include <asm/barrier.h>
#include <asm/sysreg.h>

#include "violation.h"

/* A trace unit's register by its offset (DDI 0487 H9). */
#define TRC(offset) \
	sys_reg(2, 1, ((offset) >> 9) & 7, ((offset) >> 2) & 15, ((offset) >> 6) & 7)
#define TRCPRGCTLR	TRC(0x004)
#define TRCSTATR	TRC(0x00c)
#define TRCCONFIGR	TRC(0x010)
#define TRCAUXCTLR	TRC(0x018)
#define TRCEVENTCTL0R	TRC(0x020)
#define TRCEVENTCTL1R	TRC(0x024)
#define TRCRSR		TRC(0x028)
#define TRCSTALLCTLR	TRC(0x02c)
#define TRCTSCTLR	TRC(0x030)
#define TRCSYNCPR	TRC(0x034)
#define TRCTRACEIDR	TRC(0x040)
#define TRCVICTLR	TRC(0x080)
#define TRCVIIECTLR	TRC(0x084)
#define TRCVISSCTLR	TRC(0x088)
#define TRCIDR3		TRC(0x1ec)
#define TRCIDR4		TRC(0x1f0)
#define TRCCLAIMSET	TRC(0xfa0)
#define TRCCLAIMCLR	TRC(0xfa4)
#define TRCDEVARCH	TRC(0xfbc)

#define TRBLIMITR	sys_reg(3, 0, 9, 11, 0)
#define TRBPTR		sys_reg(3, 0, 9, 11, 1)
#define TRBBASER	sys_reg(3, 0, 9, 11, 2)
#define TRBSR		sys_reg(3, 0, 9, 11, 3)
#define TRBTRG		sys_reg(3, 0, 9, 11, 6)
#define TRBIDR		sys_reg(3, 0, 9, 11, 7)

/* At EL2 with E2H these are TRFCR_EL2 and TCR_EL2, with the same bits. */
#define TRFCR		sys_reg(3, 0, 1, 2, 1)
#define TCR		sys_reg(3, 0, 2, 0, 2)
#define OSLAR		sys_reg(2, 0, 1, 0, 4)
#define OSLSR		sys_reg(2, 0, 1, 1, 4)

#define TRFCR_PROHIBIT		BIT(5)			/* TS: virtual; E0TRE, ExTRE 0 */
#define TRFCR_ALLOW		(TRFCR_PROHIBIT | BIT(1))	/* ExTRE */
#define TRCSTATR_IDLE		BIT(0)
#define TRCSTATR_PMSTABLE	BIT(1)
#define TRCDEVARCH_ETE		0x47705a13		/* of any revision */
#define TRCDEVARCH_REVISION	GENMASK(19, 16)
#define TRCIDR3_STALLCTL	BIT(26)
#define TRCIDR4_NUMACPAIRS	GENMASK(3, 0)
#define TRCRSR_TA		BIT(12)
#define CLAIM_SELF_HOSTED	BIT(1)
#define TRBLIMITR_E		BIT(0)
#define TRBLIMITR_TM_IGNORE	(3 << 3)		/* FM 0: fill */
#define TRBSR_S			BIT(17)
#define TRBIDR_ALIGN		GENMASK(3, 0)
#define TRBIDR_P		BIT(4)
#define OSLSR_OSLK		BIT(1)
#define TCR_EPD0		BIT(7)

#define PAGES		4		/* of the buffer, without the spare ones */
#define POLLS		100000

static char *commit = "none";
module_param(commit, charp, 0444);
MODULE_PARM_DESC(commit, "the violation to commit, or none");

static unsigned int cpu;
module_param(cpu, uint, 0444);
MODULE_PARM_DESC(cpu, "the CPU that does it");

static const char * const words[] = {
#define X(name, word, text) [VIOLATION_##name] = word,
	VIOLATION_TABLE(X)
#undef X
	[VIOLATIONS] = "none",
};

/* What a CPU is told, and what it tells. */
struct run {
	enum violation wrong;	/* VIOLATIONS: none */
	void *memory;		/* a spare page, PAGES, a spare page */
	bool committed;		/* it has come to the wrong step */
	bool stopped;		/* the buffer is disabled: the memory is nobody's */
	u64 bytes;
	u64 status;
	int error;
};

/* Whether the step at hand is the one to be done wrongly. */
static bool commits(struct run *run, enum violation violation)
{
	if (run->wrong != violation)
		return false;
	run->committed = true;
	return true;
}

static int poll_status(u64 mask, u64 want)
{
	unsigned int i;

	for (i = 0; i < POLLS; i++) {
		isb();
		if ((read_sysreg_s(TRCSTATR) & mask) == want)
			return 0;
	}
	return -ETIMEDOUT;
}

static u64 base_of(const struct run *run)
{
	return (u64)(unsigned long)run->memory + PAGE_SIZE;
}

static u64 limit_of(const struct run *run)
{
	return base_of(run) + PAGES * PAGE_SIZE;
}

/* Whether the CPU has both, and nobody else uses them. */
static int probe(void)
{
	u64 features = read_sysreg(id_aa64dfr0_el1);

	/* TraceVer, TraceFilt, TraceBuffer */
	if (!(features >> 4 & 15) || !(features >> 40 & 15) || !(features >> 44 & 15))
		return -ENODEV;
	if ((read_sysreg_s(TRCDEVARCH) & ~(u64)TRCDEVARCH_REVISION) != TRCDEVARCH_ETE)
		return -ENODEV;
	if (read_sysreg_s(TRBIDR) & TRBIDR_P)
		return -EPERM;
	if ((read_sysreg_s(TRBLIMITR) & TRBLIMITR_E) || (read_sysreg_s(TRCPRGCTLR) & 1) ||
	    (read_sysreg_s(OSLSR) & OSLSR_OSLK) || read_sysreg_s(TRCCLAIMCLR))
		return -EBUSY;
	return 0;
}

/* The least that K10.5.7.2 names; the unit is idle. */
static void program_unit(struct run *run)
{
	write_sysreg_s(1, TRCCONFIGR);
	write_sysreg_s(0, TRCAUXCTLR);
	write_sysreg_s(0, TRCEVENTCTL0R);
	write_sysreg_s(0, TRCEVENTCTL1R);
	if (read_sysreg_s(TRCIDR3) & TRCIDR3_STALLCTL)
		write_sysreg_s(0, TRCSTALLCTLR);
	write_sysreg_s(0, TRCTSCTLR);
	/* A period of 2 bytes is reserved. */
	write_sysreg_s(commits(run, VIOLATION_UNIT_RESERVED) ? 1 : 12, TRCSYNCPR);
	write_sysreg_s(0x10, TRCTRACEIDR);
	write_sysreg_s(0x201, TRCVICTLR);
	if (read_sysreg_s(TRCIDR4) & TRCIDR4_NUMACPAIRS) {
		write_sysreg_s(0, TRCVIIECTLR);
		write_sysreg_s(0, TRCVISSCTLR);
	}
	/* It has what it had when the last trace ended. */
	if (!commits(run, VIOLATION_UNIT_UNPROGRAMMED))
		write_sysreg_s(TRCRSR_TA, TRCRSR);
}

static void enable_buffer(struct run *run)
{
	u64 base = base_of(run), ptr = base;

	write_sysreg_s(0, TRBSR);
	write_sysreg_s(0, TRBTRG);
	if (commits(run, VIOLATION_UNALLOCATED)) {
		write_sysreg_s(BIT_ULL(40), TRBTRG);
		write_sysreg_s(0, TRBTRG);
	}
	if (commits(run, VIOLATION_PTR_MISALIGNED))
		ptr += 1;
	if (commits(run, VIOLATION_PTR_OUTSIDE))
		ptr -= PAGE_SIZE;
	write_sysreg_s(base, TRBBASER);
	write_sysreg_s(ptr, TRBPTR);
	isb();
	if (commits(run, VIOLATION_ENABLE_STOPPED)) {
		write_sysreg_s(TRBSR_S, TRBSR);
		isb();
	}
	/* The value that it has: whether this is seen or not, the pointer is right. */
	if (commits(run, VIOLATION_ENABLE_UNSYNCHRONIZED))
		write_sysreg_s(ptr, TRBPTR);
	write_sysreg_s(limit_of(run) | TRBLIMITR_TM_IGNORE | TRBLIMITR_E, TRBLIMITR);
	isb();
}

static int enable_unit(struct run *run)
{
	if (commits(run, VIOLATION_UNIT_LOCKED)) {
		write_sysreg_s(1, OSLAR);
		isb();
		write_sysreg_s(1, TRCPRGCTLR);
		isb();
		read_sysreg_s(TRCSTATR);
		write_sysreg_s(0, OSLAR);
		isb();
	} else {
		write_sysreg_s(1, TRCPRGCTLR);
	}
	return poll_status(TRCSTATR_IDLE, 0);
}

static void allow(struct run *run)
{
	u64 limitr = read_sysreg_s(TRBLIMITR);

	if (commits(run, VIOLATION_ALLOWED_EARLY)) {
		write_sysreg_s(0, TRBLIMITR);
		isb();
		write_sysreg_s(limitr, TRBLIMITR);
	}
	write_sysreg_s(TRFCR_ALLOW, TRFCR);
	isb();
}

static noinline void traced(void)
{
	unsigned long n = 100;

	asm volatile("1: sub %0, %0, #1\n"
		     "   cbnz %0, 1b\n" : "+r" (n));
}

/* Wrong steps while both are enabled, and trace is generated. */
static void misbehave(struct run *run)
{
	u64 base = base_of(run), limit = limit_of(run);

	if (commits(run, VIOLATION_PTR_WRITTEN))
		write_sysreg_s(base, TRBPTR);
	if (commits(run, VIOLATION_BASE_WRITTEN))
		write_sysreg_s(base, TRBBASER);
	if (commits(run, VIOLATION_LIMIT_WRITTEN))
		write_sysreg_s((limit - PAGE_SIZE) | TRBLIMITR_TM_IGNORE | TRBLIMITR_E, TRBLIMITR);
	if (commits(run, VIOLATION_TRG_WRITTEN))
		write_sysreg_s(0, TRBTRG);
	if (commits(run, VIOLATION_SR_WRITTEN))
		write_sysreg_s(0, TRBSR);
	if (commits(run, VIOLATION_UNIT_WRITTEN))
		write_sysreg_s(0x11, TRCTRACEIDR);
	if (commits(run, VIOLATION_UNIT_READ))
		read_sysreg_s(TRCCONFIGR);
	if (commits(run, VIOLATION_POLL_UNSYNCHRONIZED)) {
		isb();
		read_sysreg_s(TRCSTATR);
		read_sysreg_s(TRCSTATR);
	}
	if (commits(run, VIOLATION_BUFFER_BEFORE_UNIT))
		write_sysreg_s(0, TRBLIMITR);
}

/* Trace is prohibited, and what was generated has left the unit and has been translated. */
static void prohibit(struct run *run)
{
	write_sysreg_s(TRFCR_PROHIBIT, TRFCR);
	if (commits(run, VIOLATION_TSB_UNSYNCHRONIZED))
		tsb_csync();
	isb();
	if (commits(run, VIOLATION_READ_UNDRAINED))
		read_sysreg_s(TRBPTR);
	if (commits(run, VIOLATION_DISABLE_UNFLUSHED))
		return;
	tsb_csync();
}

static int disable_unit(struct run *run)
{
	write_sysreg_s(0, TRCPRGCTLR);
	if (commits(run, VIOLATION_UNIT_ENABLED_BUSY)) {
		isb();
		write_sysreg_s(1, TRCPRGCTLR);
		isb();
		write_sysreg_s(0, TRCPRGCTLR);
	}
	return poll_status(TRCSTATR_IDLE | TRCSTATR_PMSTABLE, TRCSTATR_IDLE | TRCSTATR_PMSTABLE);
}

static void disable_buffer(struct run *run)
{
	u64 tcr = read_sysreg_s(TCR);

	/* Nobody is in user space: that its addresses are not translated hurts nobody. */
	if (commits(run, VIOLATION_REGIME_CHANGED)) {
		write_sysreg_s(tcr ^ TCR_EPD0, TCR);
		isb();
	}
	dsb(nsh);
	write_sysreg_s(0, TRBLIMITR);
	if (commits(run, VIOLATION_READ_UNSYNCHRONIZED))
		read_sysreg_s(TRBPTR);
	isb();
	if (run->wrong == VIOLATION_REGIME_CHANGED) {
		write_sysreg_s(tcr, TCR);
		isb();
	}
	/* The pointer is read next. */
	if (run->wrong == VIOLATION_DISABLE_UNFLUSHED) {
		tsb_csync();
		dsb(nsh);
		isb();
	}
}

/* Ends whatever there is, by the book. */
static void make_sound(struct run *run)
{
	int error;

	write_sysreg_s(TRFCR_PROHIBIT, TRFCR);
	isb();
	tsb_csync();
	write_sysreg_s(0, TRCPRGCTLR);
	error = poll_status(TRCSTATR_IDLE | TRCSTATR_PMSTABLE, TRCSTATR_IDLE | TRCSTATR_PMSTABLE);
	dsb(nsh);
	write_sysreg_s(0, TRBLIMITR);
	isb();
	write_sysreg_s(0, TRBSR);
	write_sysreg_s(CLAIM_SELF_HOSTED, TRCCLAIMCLR);
	isb();
	run->stopped = !(read_sysreg_s(TRBLIMITR) & TRBLIMITR_E);
	if (error && !run->error)
		run->error = error;
}

/* Up to where both are enabled, and down again. */
static int trace(struct run *run)
{
	int error;

	program_unit(run);
	isb();
	enable_buffer(run);
	error = enable_unit(run);
	if (error)
		return error;
	allow(run);
	traced();
	misbehave(run);
	prohibit(run);
	/* The CPU is to be switched off as it is. */
	if (commits(run, VIOLATION_POWERED_OFF))
		return 0;
	error = disable_unit(run);
	if (error)
		return error;
	disable_buffer(run);
	run->bytes = read_sysreg_s(TRBPTR) - base_of(run);
	run->status = read_sysreg_s(TRBSR);
	return 0;
}

static void run_here(void *data)
{
	struct run *run = data;
	u64 trfcr;

	run->error = probe();
	if (run->error)
		return;
	if (run->wrong == VIOLATION_PTR_MISALIGNED && !(read_sysreg_s(TRBIDR) & TRBIDR_ALIGN)) {
		run->error = -EOPNOTSUPP;
		return;
	}
	write_sysreg_s(CLAIM_SELF_HOSTED, TRCCLAIMSET);
	trfcr = read_sysreg_s(TRFCR);
	write_sysreg_s(TRFCR_PROHIBIT, TRFCR);
	run->error = poll_status(TRCSTATR_IDLE, TRCSTATR_IDLE);
	run->stopped = false;
	if (!run->error)
		run->error = trace(run);
	if (run->error || run->wrong != VIOLATION_POWERED_OFF)
		make_sound(run);
	write_sysreg_s(trfcr, TRFCR);
	isb();
}

static void make_sound_here(void *data)
{
	make_sound(data);
}

/* Takes the CPU down as it is, and brings it back. */
static int power_off(struct run *run)
{
	int error = remove_cpu(cpu);

	if (!error)
		error = add_cpu(cpu);
	/* It is on, whichever of the two failed, or its buffer went with it. */
	return smp_call_function_single(cpu, make_sound_here, run, 1) ?: error ?: run->error;
}

/* The stream begins with an A-sync, and memory has all of it. */
static int check(const struct run *run)
{
	const u8 *at = run->memory + PAGE_SIZE;
	u64 i;

	if (run->wrong != VIOLATIONS)
		return 0;
	if (run->status || run->bytes < 12 || run->bytes >= PAGES * PAGE_SIZE)
		return -EIO;
	for (i = 0; i < 11; i++)
		if (at[i])
			return -EIO;
	return at[11] == 0x80 ? 0 : -EIO;
}

static int __init violate_init(void)
{
	struct run run = { .stopped = true };
	int error;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(words[i], commit))
			break;
	if (i == ARRAY_SIZE(words)) {
		pr_err("violate: commit=%s is none of these:\n", commit);
		for (i = 0; i < ARRAY_SIZE(words); i++)
			pr_err("violate:   %s\n", words[i]);
		return -EINVAL;
	}
	run.wrong = i;
	run.memory = vmalloc((PAGES + 2) * PAGE_SIZE);
	if (!run.memory)
		return -ENOMEM;
	memset(run.memory, 0xa5, (PAGES + 2) * PAGE_SIZE);

	error = smp_call_function_single(cpu, run_here, &run, 1) ?: run.error;
	if (!error && run.wrong == VIOLATION_POWERED_OFF)
		error = power_off(&run);
	if (!error)
		error = check(&run);
	if (!error && run.wrong != VIOLATIONS && !run.committed) {
		pr_err("violate: no step here commits %s\n", commit);
		error = -EOPNOTSUPP;
	}
	pr_info("violate: %s on CPU %u: %d, %llu bytes of trace, TRBSR_EL1 %#llx\n", commit, cpu,
		error, run.bytes, run.status);
	if (run.stopped)
		vfree(run.memory);
	else
		pr_err("violate: the buffer of CPU %u is not disabled: its memory is kept\n", cpu);
	return error;
}

static void __exit violate_exit(void)
{
}

module_init(violate_init);
module_exit(violate_exit);
MODULE_DESCRIPTION("Violations of the rules of ETE and TRBE, for a model to find");
MODULE_LICENSE("GPL");
