// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CTR source: sets up, reads and clears the CTR registers of the CPU it runs on (Smctr/Ssctr
 * 1.0).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

/*
 * RISC-V control transfer records (Smctr/Ssctr 1.0).
 *
 * Recording is on (sctrctl.U, sctrctl.S) only while a traced task is on the CPU. The buffer is
 * emptied (SCTRCLR) before recording begins for a task, or filled with what that task had in it
 * before: no entry can be another's. Without S what the kernel does leaves no trace, and the trap
 * out of user mode is recorded by STE. With S recording pauses while the module works.
 *
 * What runs at each sample is not traced (notrace): the function tracer's places cost a tenth of
 * it.
 *
 * A guest has its own control register, vsctrctl, which is kept at 0: what runs with V=1 is not
 * recorded (6.1.1). In a guest sctrdepth traps (2.4): there is no CTR for us then.
 *
 * The host's unit tests run this file on a model of the registers.
 */
#ifdef __KERNEL__
#include <linux/bitfield.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <asm/cpufeature.h>
#include <asm/irq_regs.h>
#include <asm/sbi.h>
#endif
#include <linux/perf_event.h>

#include "ctr_csr.h"
#include "source.h"

static bool takeover;
module_param(takeover, bool, 0444);
MODULE_PARM_DESC(takeover, "use CTR even where sctrctl is not zero when the module is loaded (0)");

struct ctr {
	struct flowtap_ctr_caps caps;
	u32 depth_before;	/* sctrdepth as we found it */
	bool ours;		/* found free when the module was loaded, or taken */
	bool guests;		/* it has H, and vsctrctl with it */
	bool points;		/* sctrstatus.WRPTR is there */
};

static DEFINE_PER_CPU(struct ctr, ctrs);

static void set_depth(u32 depth)
{
	csr_write(SCTRDEPTH, ilog2(depth) - 4);
	/* Newly accessible entries are unspecified (2.4): the caller empties the buffer. */
}

static u32 write_pointer(void)
{
	return FIELD_GET(CTRSTATUS_WRPTR, csr_read(SCTRSTATUS));
}

/* Every field is WARL: what can be written is what there is (2.1, 2.4, 3). */
static void discover(struct ctr *ctr)
{
	struct flowtap_ctr_caps *caps = &ctr->caps;
	unsigned long select = csr_read(SISELECT);
	u32 depth;

	/* Frozen, no mode that is enabled for a moment records anything. */
	csr_set(SCTRSTATUS, CTRSTATUS_FROZEN);
	csr_write(SCTRCTL, CTRCTL_STANDARD);
	caps->control = csr_read(SCTRCTL) & CTRCTL_STANDARD;
	csr_write(SCTRCTL, 0);
	caps->settable = caps->control & (CTRCTL_FILTERS | CTRCTL_RASEMU | CTRCTL_BPFRZ);

	caps->depths = 0;
	for (depth = 0; depth <= 4; depth++) {
		csr_write(SCTRDEPTH, depth);
		if (csr_read(SCTRDEPTH) != depth)
			continue;
		caps->depths |= 1U << depth;
		caps->depth_max = 16U << depth;
	}
	if (caps->depths)
		set_depth(caps->depth_max);
	csr_write(SCTRSTATUS, (csr_read(SCTRSTATUS) & ~CTRSTATUS_WRPTR) | 5);
	ctr->points = write_pointer() == 5;
	sctrclr();
	csr_write(SISELECT, CTR_SELECT(0));
	csr_write(SIREG2, CTRTARGET_MISP);
	caps->target = csr_read(SIREG2) & CTRTARGET_MISP;
	csr_write(SIREG3, ~0UL);
	caps->data = csr_read(SIREG3);
	sctrclr();
	csr_write(SISELECT, select);
	csr_clear(SCTRSTATUS, CTRSTATUS_FROZEN);
}

static bool readable(unsigned long *control, unsigned long *depth)
{
	unsigned long select, entry;
	bool there;

	if (!csr_read_guarded(SCTRCTL, control) || !csr_read_guarded(SISELECT, &select))
		return false;
	/* Traps in a guest (2.4), where CTR is not ours to use. */
	if (!csr_read_guarded(SCTRDEPTH, depth))
		return false;
	csr_write(SISELECT, CTR_SELECT(0));
	there = csr_read_guarded(SIREG, &entry);
	csr_write(SISELECT, select);
	return there;
}

/*
 * Guests have no entry registers of their own (3). Who runs them keeps them away from the host's by
 * hstateen0.CTR (5), which only Smstateen gives; Linux does so where it knows of that.
 */
static bool open_to_guests(const struct ctr *ctr)
{
	return ctr->guests && IS_ENABLED(CONFIG_KVM) &&
	       !riscv_isa_extension_available(NULL, SMSTATEEN);
}

/*
 * mctrctl.M does not show in sctrctl (2.2), and cannot be cleared from here. With no other mode
 * enabled the path into the firmware and out of it leaves entries only where M is.
 */
static bool records_firmware(void)
{
	unsigned long select = csr_read(SISELECT);
	bool any;

	sbi_ecall(SBI_EXT_BASE, SBI_EXT_BASE_GET_SPEC_VERSION, 0, 0, 0, 0, 0, 0);
	csr_write(SISELECT, CTR_SELECT(0));
	any = csr_read(SIREG) & CTRSOURCE_V;
	csr_write(SISELECT, select);
	sctrclr();
	return any;
}

/* Why what was discovered is not to be used, or NULL. */
static const char *obstacle(const struct ctr *ctr)
{
	if (!ctr->caps.depths)
		return "has no depth";
	if (!(ctr->caps.control & CTRCTL_U))
		return "does not record user mode";
	if (records_firmware())
		return "records the firmware as well (mctrctl.M): its entries would be among the program's";
	return NULL;
}

/* Nothing is recorded, neither here nor in a guest. */
static void switch_off(const struct ctr *ctr)
{
	csr_write(SCTRCTL, 0);
	if (ctr->guests)
		csr_write(VSCTRCTL, 0);
}

static void ctr_offline(void)
{
	const struct ctr *ctr = this_cpu_ptr(&ctrs);

	switch_off(ctr);
	csr_write(SCTRDEPTH, ctr->depth_before);
	csr_clear(SCTRSTATUS, CTRSTATUS_FROZEN);
	sctrclr();
}

static u32 ctr_online(void)
{
	struct ctr *ctr = this_cpu_ptr(&ctrs);
	unsigned long control, depth, guests;
	const char *why;

	if (!readable(&control, &depth))
		return FLOWTAP_REASON_ABSENT;
	ctr->guests = csr_read_guarded(VSCTRCTL, &guests);
	if (open_to_guests(ctr)) {
		pr_err("CTR of CPU %d is open to guests: it has H, and no Smstateen to keep them out of what the host records\n",
		       smp_processor_id());
		return FLOWTAP_REASON_UNUSABLE;
	}
	/* A CPU that was away is reset: there is no value that these have then. */
	if ((control || guests) && !takeover && !ctr->ours) {
		pr_err("sctrctl of CPU %d is %#lx, vsctrctl %#lx: someone else uses CTR, or the board starts like that (takeover=1 uses it anyway)\n",
		       smp_processor_id(), control, guests);
		return FLOWTAP_REASON_OWNED;
	}
	switch_off(ctr);
	if (!ctr->ours)
		ctr->depth_before = depth;
	ctr->ours = true;
	discover(ctr);
	why = obstacle(ctr);
	if (why) {
		pr_err("CTR of CPU %d %s (sctrctl %#llx)\n", smp_processor_id(), why,
		       ctr->caps.control);
		ctr_offline();
		return FLOWTAP_REASON_UNUSABLE;
	}
	return FLOWTAP_REASON_NONE;
}

/* Whatever is in the registers now, it is nobody's. The depth is set at each start. */
static void ctr_recover(void)
{
	switch_off(this_cpu_ptr(&ctrs));
	csr_clear(SCTRSTATUS, CTRSTATUS_FROZEN);
	sctrclr();
}

static void ctr_query(u32 cpu, struct flowtap_query *query)
{
	query->ctr = per_cpu(ctrs, cpu).caps;
	if (!(query->ctr.control & CTRCTL_S))
		query->modes &= ~FLOWTAP_MODE_KERNEL;
	if (!(query->ctr.control & CTRCTL_LCOFIFRZ))
		query->triggers &= ~FLOWTAP_TRIGGER_OVERFLOW;
}

/* The depth asked for, or where that is allowed the next smaller one; 0: none. */
static u32 choose_depth(const struct flowtap_ctr_caps *caps, u32 depth, bool shallow)
{
	u32 fits;

	if (!depth)
		return caps->depth_max;
	if (shallow)
		depth = rounddown_pow_of_two(depth);
	else if (!is_power_of_2(depth))
		return 0;
	for (fits = min(depth, FLOWTAP_DEPTH_MAX); fits >= 16; fits /= 2)
		if (caps->depths & (fits / 16) && (shallow || fits == depth))
			return fits;
	return 0;
}

static int ctr_configure(struct flowtap_recording *recording,
			 const struct flowtap_configure *configure)
{
	const struct flowtap_ctr_caps *caps = &per_cpu(ctrs, configure->cpu).caps;
	const struct flowtap_ctr_configure *ctr = &configure->ctr;

	if (ctr->flags & ~(FLOWTAP_CTR_NO_TRAPS | FLOWTAP_CTR_SHALLOW) ||
	    ctr->control & ~(CTRCTL_FILTERS | CTRCTL_RASEMU | CTRCTL_BPFRZ))
		return -EINVAL;
	/* A stack that was not kept up while frozen is wrong ever after. */
	if (ctr->control & CTRCTL_RASEMU &&
	    (configure->modes & FLOWTAP_MODE_KERNEL || ctr->control & CTRCTL_BPFRZ))
		return -EINVAL;
	if (configure->modes & FLOWTAP_MODE_KERNEL && !(caps->control & CTRCTL_S))
		return -EOPNOTSUPP;
	if (ctr->control & ~caps->settable)
		return -EOPNOTSUPP;
	if (ctr->depth && (ctr->depth < 16 || ctr->depth > FLOWTAP_DEPTH_MAX))
		return -EINVAL;
	recording->depth = choose_depth(caps, ctr->depth, ctr->flags & FLOWTAP_CTR_SHALLOW);
	if (!recording->depth)
		return -EOPNOTSUPP;
	recording->control = ctr->control;
	recording->stacks = ctr->control & CTRCTL_RASEMU;
	recording->breakpoints = ctr->control & CTRCTL_BPFRZ;
	recording->points = per_cpu(ctrs, configure->cpu).points && !recording->stacks;
	recording->data = caps->data;
	recording->cycles = caps->data & CTRDATA_CCV && !recording->stacks;
	if (configure->modes & FLOWTAP_MODE_USER)
		recording->control |= CTRCTL_U;
	if (configure->modes & FLOWTAP_MODE_KERNEL)
		recording->control |= CTRCTL_S;
	else if (!(ctr->flags & FLOWTAP_CTR_NO_TRAPS))
		recording->control |= caps->control & CTRCTL_STE;
	/* A software event has no interrupt of its own that would be an LCOFI (6.5). */
	recording->stopping = configure->event_type == PERF_TYPE_SOFTWARE ? 0 :
			      configure->triggers & FLOWTAP_TRIGGER_OVERFLOW;
	if (recording->stopping) {
		if (!(caps->control & CTRCTL_LCOFIFRZ))
			return -EOPNOTSUPP;
		recording->control |= CTRCTL_LCOFIFRZ;
	}
	return 0;
}

static void write_entries(const struct flowtap_entry *entries, u32 nr)
{
	const struct flowtap_entry *entry = entries + nr;
	unsigned long before = csr_read(SISELECT), select = CTR_SELECT(0);

	while (entry != entries) {
		entry--;
		csr_write(SISELECT, select++);
		csr_write(SIREG, entry->source);
		csr_write(SIREG2, entry->target);
		csr_write(SIREG3, entry->data);
	}
	csr_write(SISELECT, before);
}

static void ctr_start(struct flowtap_recording *recording, const struct flowtap_entry *entries,
		      u32 nr)
{
	/* Each time: an idle state or a suspend may have lost it, and it shows wraps. */
	set_depth(recording->depth);
	sctrclr();
	csr_set(SCTRSTATUS, CTRSTATUS_FROZEN);
	if (nr)
		write_entries(entries, nr);
	recording->begin = write_pointer() - nr;
	csr_write(SCTRCTL, recording->control);
	recording->written = csr_read(SCTRCTL);
}

static bool ctr_stop(struct flowtap_recording *recording)
{
	unsigned long select = csr_read(SISELECT);
	bool any;

	csr_write(SCTRCTL, 0);
	csr_write(SISELECT, CTR_SELECT(0));
	any = csr_read(SIREG) & CTRSOURCE_V;
	csr_write(SISELECT, select);
	sctrclr();
	return any;
}

/*
 * By FROZEN, in one instruction: while S is recorded hardware may be about to change sctrstatus
 * (2.5), and a write to sctrctl would reset the cycle counter (6.3). Returns what sctrstatus was;
 * its write pointer is constant from there on.
 */
static __always_inline unsigned long freeze(void)
{
	return csr_read_set(SCTRSTATUS, CTRSTATUS_FROZEN);
}

/* Somebody else records, or has: modes, filters and entries are his. */
static __always_inline bool is_foreign(const struct flowtap_recording *recording)
{
	return unlikely(csr_read(SCTRCTL) != recording->written);
}

static bool notrace ctr_pause(struct flowtap_recording *recording)
{
	return freeze() & CTRSTATUS_FROZEN || is_foreign(recording);
}

static void notrace ctr_resume(struct flowtap_recording *recording)
{
	recording->stale = false;
	csr_clear(SCTRSTATUS, CTRSTATUS_FROZEN);
}

/* Those that are valid, from the newest on. */
static u32 count_valid(u32 depth)
{
	u32 nr;

	for (nr = 0; nr < depth; nr++) {
		csr_write(SISELECT, CTR_SELECT(nr));
		if (!(csr_read(SIREG) & CTRSOURCE_V))
			break;
	}
	return nr;
}

/*
 * The pointer says how many came, modulo depth. What is older is invalid, for it was marked or
 * cleared; where it is valid it was overwritten: all are there. Returns move the pointer back in
 * RASEMU (6.4).
 */
static u32 notrace ctr_count(struct flowtap_recording *recording)
{
	const unsigned long select = csr_read(SISELECT);
	const u32 status = freeze();
	int nr;

	_Static_assert(SOURCE_STOPPED == CTRSTATUS_FROZEN, "it is returned as it is read");
	if (is_foreign(recording))
		return SOURCE_FOREIGN;
	if (!recording->points) {
		nr = count_valid(recording->depth);
	} else {
		/* What else is in sctrstatus is above the depth's bits. */
		nr = (status - recording->begin) & (recording->depth - 1);
		csr_write(SISELECT, CTR_SELECT(nr));
		if (csr_read(SIREG) & CTRSOURCE_V)
			nr = recording->depth;
	}
	csr_write(SISELECT, select);
	return nr | (status & CTRSTATUS_FROZEN);
}

/*
 * SCTRCLR would cost the next record its cycle count (6.3). An invalid entry on top of those that
 * were taken does as well: what is newer lies above it. (In RASEMU the entries are the call stack:
 * they are kept until their functions return.)
 */
static void mark_taken(struct flowtap_recording *recording)
{
	if (recording->cycles) {
		csr_write(SISELECT, CTR_SELECT(0));
		csr_write(SIREG, 0);
	} else if (!recording->stacks) {
		sctrclr();
	}
	recording->begin = csr_read(SCTRSTATUS);
}

/* A kernel address in a user-only record says where the kernel is: only its flag is kept. */
static __always_inline u64 visible(u64 address, bool kernel)
{
	if (!kernel && unlikely((s64)address < 0))
		address &= 1;
	return address;
}

/* The newest nr. Each instruction here is executed as often as there are entries. */
static __always_inline void read_entries(struct flowtap_entry *entries, int nr, bool kernel)
{
	struct flowtap_entry *entry = entries + nr;
	unsigned long select = CTR_SELECT(0);

	while (entry != entries) {
		entry--;
		csr_write(SISELECT, select++);
		entry->source = visible(csr_read(SIREG), kernel);
		entry->target = visible(csr_read(SIREG2), kernel);
		entry->data = csr_read(SIREG3);
	}
}

static void notrace ctr_drain(struct flowtap_recording *recording, struct flowtap_entry *entries,
			      int nr)
{
	unsigned long select = csr_read(SISELECT);

	if (!nr)
		return;
	if (recording->modes & FLOWTAP_MODE_KERNEL)
		read_entries(entries, nr, true);
	else
		read_entries(entries, nr, false);
	mark_taken(recording);
	csr_write(SISELECT, select);
}

/* Whether the trap that froze recording would have been recorded otherwise, as an interrupt. */
static bool records_interrupts(const struct flowtap_recording *recording)
{
	if (recording->stacks)
		return false;
	if (recording->modes & FLOWTAP_MODE_KERNEL)
		return !(recording->control & CTRCTL_INTRINH);
	return recording->control & CTRCTL_STE;
}

/* Where, in a mode that is recorded; else 0. */
static u64 interrupted_at(const struct flowtap_recording *recording, struct pt_regs *regs)
{
	u32 mode = regs && user_mode(regs) ? FLOWTAP_MODE_USER : FLOWTAP_MODE_KERNEL;

	return regs && recording->modes & mode ? instruction_pointer(regs) : 0;
}

/* KVM lets the interrupt that has ended a guest's turn in while that still is the guest's time. */
static bool from_guest(void)
{
	return current->flags & PF_VCPU;
}

/* An overflow can, and nothing else: where that cannot be no register has to be looked at. */
static __always_inline bool stopped_by_overflows(const struct flowtap_recording *recording)
{
	return (recording->control & (CTRCTL_LCOFIFRZ | CTRCTL_BPFRZ)) == CTRCTL_LCOFIFRZ;
}

/*
 * An overflow that is not ours froze recording (6.5) and its trap was not recorded, nor, with S,
 * the kernel's path to here. So the trap is added as it would have been without LCOFIFRZ, but
 * with target 0, in the way that 2.5 describes for emulators. With BPFRZ it may have been a
 * breakpoint, whose history is wanted: the next trigger finds it frozen and records the loss. Where
 * the pointer cannot be moved it remains frozen as well, and where the overflow was in a guest,
 * whose exit through the kernel is not there: the loss is recorded even if that trigger's own
 * overflow would have frozen it.
 */
static void notrace ctr_thaw(struct flowtap_recording *recording)
{
	unsigned long status, select;
	u64 ip;

	if (!stopped_by_overflows(recording) || recording->stale)
		return;
	status = csr_read(SCTRSTATUS);
	if (!(status & CTRSTATUS_FROZEN) || is_foreign(recording))
		return;
	ip = interrupted_at(recording, get_irq_regs());
	if (ip && records_interrupts(recording)) {
		if (!recording->points || from_guest()) {
			recording->stale = true;
			return;
		}
		select = csr_read(SISELECT);
		csr_write(SISELECT, CTR_SELECT(0));
		csr_write(SCTRSTATUS, (status & ~CTRSTATUS_WRPTR) |
				      ((status + 1) & (recording->depth - 1)));
		csr_write(SIREG, ip | CTRSOURCE_V);
		csr_write(SIREG2, 0);
		csr_write(SIREG3, CTRDATA_INTERRUPT);
		csr_write(SISELECT, select);
		/* Resets the cycle counter: the next record's count is not from this one on. */
		csr_write(SCTRCTL, recording->control);
	}
	csr_clear(SCTRSTATUS, CTRSTATUS_FROZEN);
}

/* That of counters that have overflown: LCOFI, as Linux has it. */
static int ctr_stopping_irq(void)
{
	struct irq_domain *domain =
		irq_find_matching_fwnode(riscv_get_intc_hwnode(), DOMAIN_BUS_ANY);

	return domain ? irq_find_mapping(domain, RV_IRQ_PMU) : 0;
}

const struct flowtap_source ctr_source = {
	.name = "ctr",
	.id = FLOWTAP_SOURCE_CTR,
	.modes = FLOWTAP_MODE_USER | FLOWTAP_MODE_KERNEL,
	.triggers = FLOWTAP_TRIGGER_SNAPSHOT | FLOWTAP_TRIGGER_OVERFLOW | FLOWTAP_TRIGGER_TIMER |
		    FLOWTAP_TRIGGER_SWITCH,
	.restores = true,
	.online = ctr_online,
	.offline = ctr_offline,
	.recover = ctr_recover,
	.query = ctr_query,
	.configure = ctr_configure,
	.start = ctr_start,
	.stop = ctr_stop,
	.pause = ctr_pause,
	.resume = ctr_resume,
	.count = ctr_count,
	.drain = ctr_drain,
	.thaw = ctr_thaw,
	.stopping_irq = ctr_stopping_irq,
};
