// SPDX-License-Identifier: GPL-2.0-only
/*
 * RISC-V control transfer records, user mode (Smctr/Ssctr 1.0).
 *
 * Recording is on (sctrctl.U) only while a traced task is on the CPU. S is never set, so what
 * the kernel does leaves no trace and the buffer cannot change while it is read; the trap out of
 * user mode is recorded by STE. The buffer is emptied (SCTRCLR) before recording begins for a
 * task: no entry can be another's.
 */
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/percpu.h>

#include "ctr_csr.h"
#include "stream.h"

static bool takeover;
module_param(takeover, bool, 0444);
MODULE_PARM_DESC(takeover, "use CTR even where sctrctl is not zero when the module is loaded (0)");

struct ctr {
	struct flowtap_ctr_caps caps;
	u32 depth_before;	/* sctrdepth as we found it */
};

static DEFINE_PER_CPU(struct ctr, ctrs);

static void set_depth(u32 depth)
{
	csr_write(SCTRDEPTH, ilog2(depth) - 4);
	/* Newly accessible entries are unspecified (2.4): the caller empties the buffer. */
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
	caps->settable = 0;

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

static u32 ctr_online(void)
{
	struct ctr *ctr = this_cpu_ptr(&ctrs);
	unsigned long control, depth;

	if (!readable(&control, &depth))
		return FLOWTAP_REASON_ABSENT;
	if (control && !takeover) {
		pr_err("flowtap: sctrctl of CPU %d is %#lx: someone else uses CTR, or the board starts like that (takeover=1 uses it anyway)\n",
		       smp_processor_id(), control);
		return FLOWTAP_REASON_OWNED;
	}
	csr_write(SCTRCTL, 0);
	ctr->depth_before = depth;
	discover(ctr);
	if (!ctr->caps.depths || !(ctr->caps.control & CTRCTL_U)) {
		pr_err("flowtap: CTR of CPU %d has no depth or no user mode (sctrctl %#llx)\n",
		       smp_processor_id(), ctr->caps.control);
		return FLOWTAP_REASON_UNUSABLE;
	}
	return FLOWTAP_REASON_NONE;
}

static void ctr_offline(void)
{
	csr_write(SCTRCTL, 0);
	csr_write(SCTRDEPTH, this_cpu_ptr(&ctrs)->depth_before);
	csr_clear(SCTRSTATUS, CTRSTATUS_FROZEN);
	sctrclr();
}

static void ctr_query(u32 cpu, struct flowtap_query *query)
{
	query->ctr = per_cpu(ctrs, cpu).caps;
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

static int ctr_configure(struct stream *stream, const struct flowtap_configure *configure)
{
	const struct flowtap_ctr_caps *caps = &per_cpu(ctrs, configure->cpu).caps;
	const struct flowtap_ctr_configure *ctr = &configure->ctr;

	if (ctr->flags & ~(FLOWTAP_CTR_NO_TRAPS | FLOWTAP_CTR_SHALLOW) ||
	    ctr->control & ~(CTRCTL_FILTERS | CTRCTL_RASEMU | CTRCTL_BPFRZ))
		return -EINVAL;
	if (ctr->control & ~caps->settable)
		return -EOPNOTSUPP;
	if (ctr->depth && (ctr->depth < 16 || ctr->depth > FLOWTAP_DEPTH_MAX))
		return -EINVAL;
	stream->depth = choose_depth(caps, ctr->depth, ctr->flags & FLOWTAP_CTR_SHALLOW);
	if (!stream->depth)
		return -EOPNOTSUPP;
	stream->control = CTRCTL_U | ctr->control;
	if (!(ctr->flags & FLOWTAP_CTR_NO_TRAPS))
		stream->control |= caps->control & CTRCTL_STE;
	if (configure->triggers & FLOWTAP_TRIGGER_OVERFLOW) {
		if (!(caps->control & CTRCTL_LCOFIFRZ))
			return -EOPNOTSUPP;
		stream->control |= CTRCTL_LCOFIFRZ;
	}
	return 0;
}

static void ctr_start(struct stream *stream)
{
	/* Each time: an idle state or a suspend may have lost it, and it tells of wraps. */
	set_depth(stream->depth);
	csr_clear(SCTRSTATUS, CTRSTATUS_FROZEN);
	sctrclr();
	csr_write(SCTRCTL, stream->control);
}

static bool ctr_stop(struct stream *stream)
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

/* A kernel address in a user-only record says where the kernel is: only its flag bit stays. */
static u64 hide_kernel(u64 address)
{
	return (s64)address < 0 ? address & 1 : address;
}

static u32 ctr_drain(struct stream *stream, struct flowtap_entry *entries, bool *frozen)
{
	unsigned long status = csr_read(SCTRSTATUS);
	unsigned long select = csr_read(SISELECT);
	u32 nr;

	for (nr = 0; nr < stream->depth; nr++) {
		struct flowtap_entry *entry = entries + stream->depth - 1 - nr;

		csr_write(SISELECT, CTR_SELECT(nr));
		entry->source = hide_kernel(csr_read(SIREG));
		if (!(entry->source & CTRSOURCE_V))
			break;
		entry->target = hide_kernel(csr_read(SIREG2));
		entry->data = csr_read(SIREG3);
	}
	csr_write(SISELECT, select);
	sctrclr();
	*frozen = status & CTRSTATUS_FROZEN;
	if (*frozen)
		csr_clear(SCTRSTATUS, CTRSTATUS_FROZEN);
	return nr;
}

/*
 * An overflow that is not ours froze recording (6.5) and its trap was not recorded. Nothing else
 * is missing: what the kernel did is not recorded anyway. So the trap is added as it would have
 * been without LCOFIFRZ, in the way that 2.5 describes for emulators. An empty buffer needs none:
 * where it begins is unknown in any case.
 */
static void ctr_thaw(struct stream *stream, u64 ip)
{
	unsigned long status = csr_read_clear(SCTRSTATUS, CTRSTATUS_FROZEN);
	unsigned long select;

	if (!(status & CTRSTATUS_FROZEN) || !ip || !(stream->control & CTRCTL_STE))
		return;
	select = csr_read(SISELECT);
	csr_write(SISELECT, CTR_SELECT(0));
	if (csr_read(SIREG) & CTRSOURCE_V) {
		csr_write(SCTRSTATUS, (status & ~(CTRSTATUS_FROZEN | CTRSTATUS_WRPTR)) |
				      ((status + 1) & (stream->depth - 1)));
		csr_write(SIREG, ip | CTRSOURCE_V);
		csr_write(SIREG2, 0);
		csr_write(SIREG3, CTRDATA_INTERRUPT);
	}
	csr_write(SISELECT, select);
}

const struct source ctr_source = {
	.name = "ctr",
	.id = FLOWTAP_SOURCE_CTR,
	.modes = FLOWTAP_MODE_USER,
	.triggers = FLOWTAP_TRIGGER_SNAPSHOT | FLOWTAP_TRIGGER_OVERFLOW | FLOWTAP_TRIGGER_SWITCH,
	.online = ctr_online,
	.offline = ctr_offline,
	.query = ctr_query,
	.configure = ctr_configure,
	.start = ctr_start,
	.stop = ctr_stop,
	.drain = ctr_drain,
	.thaw = ctr_thaw,
};
