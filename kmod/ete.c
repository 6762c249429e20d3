// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ETE source: programs the CPU's trace unit, and enables and disables it in the order of DDI
 * 0487 K10.5.7.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

/*
 * Arm's Embedded Trace Extension through the Trace Buffer Extension (DDI 0487 K10.5).
 *
 * The trace unit is enabled only while a traced task is on the CPU, so that no byte can be
 * another's. User mode and the kernel are included and excluded by TRFCR_EL1 (by TRFCR_EL2 where
 * the kernel runs at EL2), which hides their addresses as well; TRCVICTLR follows it. While this
 * module works trace is prohibited. Guests are never traced: their TRFCR_EL1 is 0.
 *
 * The host's unit tests run this file on a model of the registers.
 */
#ifdef __KERNEL__
#include <linux/acpi.h>
#include <linux/of.h>
#include <linux/percpu.h>
#include <linux/pid_namespace.h>
#include <linux/string.h>
#include <asm/arch_timer.h>
#include <asm/barrier.h>
#include <asm/sysreg.h>
#include <asm/virt.h>
#endif

#include "ete_config.h"
#include "ete_registers.h"
#include "source.h"
#include "trbe.h"
#include "trbe_registers.h"
#include "warning.h"

#define POLLS		10000
#define POLLS_BUSY	32
#define TRACE_ID	0x10			/* any but 0; there is one stream in a buffer */

struct ete {
	struct flowtap_ete_caps caps;
	u64 trfcr_before;
	u64 programmed;			/* recording->id that the registers are of, 0 none */
	bool described;			/* firmware says that there is a trace unit */
	bool buffer;			/* the trace buffer is enabled */
	bool unit;			/* TRCPRGCTLR.EN is 1 */
	bool busy;			/* a wait was in vain; until online again */
};

static DEFINE_PER_CPU(struct ete, etes);

/* The number of a register is part of the instruction. */
#define EACH4(X, at)	X(at) X((at) + 4) X((at) + 8) X((at) + 12)
#define EACH16(X, at)	EACH4(X, at) EACH4(X, (at) + 16) EACH4(X, (at) + 32) EACH4(X, (at) + 48)
#define WIDE4(X, at)	X(at) X((at) + 8) X((at) + 16) X((at) + 24)
#define WIDE8(X, at)	WIDE4(X, at) WIDE4(X, (at) + 32)

static u64 trc_read(u32 offset)
{
	switch (offset) {
#define X(offset) case (offset): return read_sysreg_s(TRC(offset));
	X(TRCPRGCTLR) X(TRCSTATR) X(TRCCLAIMCLR) X(TRCAUTHSTATUS) X(TRCDEVARCH)
	EACH4(X, TRCIDR0) EACH4(X, TRCIDR0 + 16) EACH4(X, TRCIDR8) X(TRCIDR8 + 16) X(TRCIDR8 + 20)
#undef X
	}
	WARN_ON_ONCE(1);
	return 0;
}

static void trc_write(u32 offset, u64 value)
{
	switch (offset) {
#define X(offset) case (offset): write_sysreg_s(value, TRC(offset)); return;
	X(TRCPRGCTLR) X(TRCCONFIGR) X(TRCAUXCTLR) X(TRCEVENTCTL0R) X(TRCEVENTCTL1R) X(TRCRSR)
	X(TRCSTALLCTLR) X(TRCTSCTLR) X(TRCSYNCPR) X(TRCCCCTLR) X(TRCBBCTLR) X(TRCTRACEIDR)
	X(TRCQCTLR) X(TRCVICTLR) X(TRCVIIECTLR) X(TRCVISSCTLR) X(TRCVIPCSSCTLR) X(TRCSEQEVR)
	X(TRCSEQEVR + 4) X(TRCSEQEVR + 8) X(TRCSEQRSTEVR) X(TRCSEQSTR) X(TRCCLAIMSET) X(TRCCLAIMCLR)
	EACH4(X, TRCCNTRLDVR) EACH4(X, TRCCNTCTLR) EACH4(X, TRCCNTVR)
	EACH16(X, TRCRSCTLR) EACH16(X, TRCRSCTLR + 64)
	EACH4(X, TRCSSCCR) EACH4(X, TRCSSCCR + 16) EACH4(X, TRCSSCSR) EACH4(X, TRCSSCSR + 16)
	WIDE8(X, TRCACVR) WIDE8(X, TRCACVR + 64) WIDE8(X, TRCACATR) WIDE8(X, TRCACATR + 64)
	WIDE8(X, TRCCIDCVR) WIDE8(X, TRCVMIDCVR)
	X(TRCCIDCCTLR) X(TRCCIDCCTLR + 4) X(TRCVMIDCCTLR) X(TRCVMIDCCTLR + 4)
#undef X
	}
	WARN_ON_ONCE(1);
}

static void trc_clear(u32 offset, u32 stride, u32 first, u32 end)
{
	u32 n;

	for (n = first; n < end; n++)
		trc_write(offset + n * stride, 0);
}

/* Bounded: "the loops that poll TRCSTATR might never complete" (IDHQGM). */
static bool poll_status(u64 mask, u64 want, u32 polls)
{
	u32 n;

	for (n = 0; n < polls; n++) {
		/* A CSE between any two reads (STTPKR), and after the write that is waited for. */
		isb();
		if ((trc_read(TRCSTATR) & mask) == want)
			return true;
	}
	return false;
}

/* A unit that keeps one waiting in vain does so once, not at each switch, with interrupts off. */
static bool wait_status(struct ete *ete, u64 mask, u64 want)
{
	if (poll_status(mask, want, ete->busy ? POLLS_BUSY : POLLS))
		return true;
	ete->busy = true;
	return false;
}

static u64 trfcr_of(const struct flowtap_recording *recording)
{
	if (!recording)
		return ete_config_trfcr(0, 0, false);
	return ete_config_trfcr(recording->modes, recording->ete.config, is_kernel_in_hyp_mode());
}

static void prohibit(void)
{
	write_sysreg_s(trfcr_of(NULL), TRFCR);
	/* Synchronizes the entry to the trace prohibited region (K10.5.7.1.2). */
	isb();
}

/* --- Programming (K10.5.7.2), while the unit is idle. --- */

static u32 id(const struct ete *ete, u32 n, u32 mask)
{
	return (ete->caps.trcidr[n] & mask) >> __ffs(mask);
}

/* Registers that nothing selects: they are UNKNOWN after a reset. */
static void clear_resources(const struct ete *ete)
{
	u32 pairs = id(ete, 4, IDR4_ACPAIRS), selectors = id(ete, 4, IDR4_RSPAIR);

	if (id(ete, 5, IDR5_SEQSTATE)) {
		trc_clear(TRCSEQEVR, 4, 0, 3);
		trc_write(TRCSEQRSTEVR, 0);
		trc_write(TRCSEQSTR, 0);
	}
	trc_clear(TRCCNTRLDVR, 4, 0, min(id(ete, 5, IDR5_COUNTERS), 4U));
	trc_clear(TRCCNTCTLR, 4, 0, min(id(ete, 5, IDR5_COUNTERS), 4U));
	trc_clear(TRCCNTVR, 4, 0, min(id(ete, 5, IDR5_COUNTERS), 4U));
	if (selectors)
		trc_clear(TRCRSCTLR, 4, 2, 2 * selectors + 2);
	trc_clear(TRCSSCCR, 4, 0, min(id(ete, 4, IDR4_SSC), 8U));
	trc_clear(TRCSSCSR, 4, 0, min(id(ete, 4, IDR4_SSC), 8U));
	trc_clear(TRCACVR, 8, 0, 2 * min(pairs, 8U));
	trc_clear(TRCACATR, 8, 0, 2 * min(pairs, 8U));
	trc_clear(TRCCIDCVR, 8, 0, min(id(ete, 4, IDR4_CIDC), 8U));
	trc_clear(TRCCIDCCTLR, 4, 0, DIV_ROUND_UP(min(id(ete, 4, IDR4_CIDC), 8U), 4));
	trc_clear(TRCVMIDCVR, 8, 0, min(id(ete, 4, IDR4_VMIDC), 8U));
	trc_clear(TRCVMIDCCTLR, 4, 0, DIV_ROUND_UP(min(id(ete, 4, IDR4_VMIDC), 8U), 4));
}

/* Address range comparators, "include" (K10.5.7.5). */
static void write_ranges(const struct ete *ete, const struct flowtap_ete_configure *configure)
{
	u32 n;

	if (!id(ete, 4, IDR4_ACPAIRS))
		return;
	for (n = 0; n < configure->address_ranges; n++) {
		trc_write(TRCACVR + 16 * n, configure->address_start[n]);
		trc_write(TRCACVR + 16 * n + 8, configure->address_end[n] - 1);
	}
	trc_write(TRCVIIECTLR, (1U << configure->address_ranges) - 1);
	trc_write(TRCVISSCTLR, 0);
}

static void program(const struct ete *ete, const struct flowtap_recording *recording)
{
	const struct flowtap_ete_configure *configure = &recording->ete;

	trc_write(TRCCONFIGR, configure->config | CONFIGR_RES1);
	trc_write(TRCAUXCTLR, 0);
	trc_write(TRCEVENTCTL0R, 0);
	trc_write(TRCEVENTCTL1R, 0);
	if (id(ete, 3, IDR3_STALLCTL))
		trc_write(TRCSTALLCTLR, 0);
	if (id(ete, 0, IDR0_TSSIZE))
		trc_write(TRCTSCTLR, 0);
	if (!id(ete, 3, IDR3_SYNCPR))
		trc_write(TRCSYNCPR, configure->sync_period);
	if (id(ete, 0, IDR0_CCI))
		trc_write(TRCCCCTLR, configure->cycle_threshold);
	if (id(ete, 0, IDR0_BB))
		trc_write(TRCBBCTLR, 0);
	if (id(ete, 0, IDR0_QFILT))
		trc_write(TRCQCTLR, 0);
	trc_write(TRCTRACEIDR, TRACE_ID);
	if (id(ete, 4, IDR4_NUMPC))
		trc_write(TRCVIPCSSCTLR, 0);
	clear_resources(ete);
	write_ranges(ete, configure);
}

/* The unit's state: to be written before each enabling, disabling it saves its own there. */
static void begin_anew(const struct ete *ete, const struct flowtap_recording *recording)
{
	trc_write(TRCVICTLR, ete_config_victlr(recording->modes, ete->caps.trcidr[3]));
	trc_write(TRCRSR, RSR_TA);
}

/* --- The unit and the buffer, in the order of K10.5.7.1: on from the sink, off to the sink. --- */

/* etm4x clears this claim when it is loaded, and takes the unit when someone asks it to. */
static bool claim(struct ete *ete)
{
	const u64 claims = trc_read(TRCCLAIMCLR);

	/* Who has cleared ours may have programmed the unit since. */
	if (!(claims & CLAIM_SELF))
		ete->programmed = 0;
	if (claims & ~(u64)CLAIM_SELF || trc_read(TRCPRGCTLR) & 1)
		return false;
	trc_write(TRCCLAIMSET, CLAIM_SELF);
	isb();
	if (trc_read(TRCCLAIMCLR) == CLAIM_SELF)
		return true;
	trc_write(TRCCLAIMCLR, CLAIM_SELF);
	return false;
}

/* K10.5.7.1.1, the trace buffer is enabled. */
static bool enable_unit(struct ete *ete)
{
	isb();
	trc_write(TRCPRGCTLR, 1);
	ete->unit = true;
	return wait_status(ete, STATR_IDLE, 0);
}

/* K10.5.7.1.2, from the TSB CSYNC on. */
static void disable_unit(struct ete *ete)
{
	if (!ete->unit)
		return;
	trc_write(TRCPRGCTLR, 0);
	ete->unit = false;
	if (!wait_status(ete, STATR_IDLE | STATR_PMSTABLE, STATR_IDLE | STATR_PMSTABLE))
		warning_unit_busy();
}

static int ete_open(struct flowtap_recording *recording, bool spare)
{
	struct ete *ete = this_cpu_ptr(&etes);
	int error;

	if (!ete->unit) {
		/* Whoever came since: it is not disturbed. */
		if (!claim(ete))
			return -EBUSY;
		prohibit();
		if (!wait_status(ete, STATR_IDLE, STATR_IDLE))
			return -EIO;
		if (ete->programmed != recording->id)
			program(ete, recording);
		ete->programmed = recording->id;
		begin_anew(ete, recording);
	}
	error = trbe_enable(recording->aux, spare);
	if (error)
		return error;
	ete->buffer = true;
	if (ete->unit || enable_unit(ete))
		return 0;
	disable_unit(ete);
	ete->programmed = 0;
	trbe_disable(recording->aux, &(struct flowtap_collected){ 0 });
	ete->buffer = false;
	return -EIO;
}

static void ete_close(struct flowtap_recording *recording, bool stop,
		      struct flowtap_collected *collected)
{
	struct ete *ete = this_cpu_ptr(&etes);

	/* K10.5.10, steps 1 to 4; compression state goes when the unit is disabled. */
	prohibit();
	tsb_csync();
	/* Whoever has disabled the unit has had what came since. */
	collected->collision = ete->unit && !(trc_read(TRCPRGCTLR) & 1);
	if (stop)
		disable_unit(ete);
	trbe_disable(recording->aux, collected);
	ete->buffer = false;
	/* Another one had it: nobody knows what is in its registers. */
	if (collected->collision)
		ete->programmed = 0;
}

/* Nothing is in the unit: the buffer was closed with trace prohibited. */
static void ete_reset(struct flowtap_recording *recording)
{
	disable_unit(this_cpu_ptr(&etes));
}

static u64 ete_counter(void)
{
	return __arch_counter_get_cntvct();
}

/* Where the buffer is not enabled trace is prohibited, or another's. */
static bool ete_pause(struct flowtap_recording *recording)
{
	if (this_cpu_ptr(&etes)->buffer)
		prohibit();
	return false;
}

static void ete_resume(struct flowtap_recording *recording)
{
	if (!this_cpu_ptr(&etes)->buffer)
		return;
	write_sysreg_s(trfcr_of(recording), TRFCR);
	/* User mode is entered by an ERET, which synchronizes. */
	if (recording->modes & FLOWTAP_MODE_KERNEL)
		isb();
}

/* --- What there is. --- */

static void ete_init(void)
{
	struct device_node *node, *cpu_node;
	u32 cpu;
	int n;

	/* ACPI names the trace units by this. Tried on no machine, in unit tests only. */
	if (!acpi_disabled && acpi_dev_present("ARMHC500", NULL, -1))
		for_each_possible_cpu(cpu)
			per_cpu(etes, cpu).described = true;
	for_each_compatible_node(node, NULL, "arm,embedded-trace-extension") {
		if (!of_device_is_available(node))
			continue;
		cpu_node = of_parse_phandle(node, "cpu", 0);
		n = cpu_node ? of_cpu_node_to_id(cpu_node) : -ENODEV;
		of_node_put(cpu_node);
		if (n >= 0)
			per_cpu(etes, n).described = true;
	}
	warning_init();
	trbe_init();
}

static void ete_exit(void)
{
	trbe_exit();
	warning_exit();
}

/* Of the CPU itself: what the kernel says of all CPUs hides these fields. */
static bool features(void)
{
	u64 features = read_sysreg(id_aa64dfr0_el1);

	return features >> ID_AA64DFR0_EL1_TraceVer_SHIFT & 15 &&
	       features >> ID_AA64DFR0_EL1_TraceFilt_SHIFT & 15 &&
	       features >> ID_AA64DFR0_EL1_TraceBuffer_SHIFT & 15;
}

static void discover(struct ete *ete)
{
	struct flowtap_ete_caps *caps = &ete->caps;
	u32 n;

	for (n = 0; n < 14; n++)
		caps->trcidr[n] = trc_read(n < 8 ? TRCIDR0 + 4 * n : TRCIDR8 + 4 * (n - 8));
	caps->trcdevarch = trc_read(TRCDEVARCH);
	caps->trcauthstatus = trc_read(TRCAUTHSTATUS);
	caps->trbidr = trbe_idr();
	caps->counter_frequency = arch_timer_get_cntfrq();
	caps->settable = ete_config_settable(caps->trcidr);
	caps->address_ranges = min(id(ete, 4, IDR4_ACPAIRS), 4U);
	caps->exception_level = is_kernel_in_hyp_mode() ? 2 : 1;
}

static u32 ete_online(void)
{
	struct ete *ete = this_cpu_ptr(&etes);
	u32 reason;

	/* Without a word of firmware an access might trap to EL3, for good. */
	if (!ete->described || !features())
		return FLOWTAP_REASON_ABSENT;
	ete->unit = ete->buffer = ete->busy = false;
	ete->programmed = 0;
	reason = trbe_online();
	if (reason != FLOWTAP_REASON_NONE)
		return reason;
	if (read_sysreg_s(OSLSR) & OSLSR_OSLK) {
		write_sysreg_s(0, OSLAR);
		isb();
	}
	if ((trc_read(TRCDEVARCH) & ~DEVARCH_REVISION) != (DEVARCH_ETE & ~DEVARCH_REVISION)) {
		reason = FLOWTAP_REASON_ABSENT;
		goto err_trbe;
	}
	if (!claim(ete)) {
		pr_err("the trace unit of CPU %d has an owner: a debugger, or the driver coresight_etm4x (rmmod coresight_etm4x)\n",
		       smp_processor_id());
		reason = FLOWTAP_REASON_OWNED;
		goto err_trbe;
	}
	ete->trfcr_before = read_sysreg_s(TRFCR);
	prohibit();
	discover(ete);
	return FLOWTAP_REASON_NONE;

err_trbe:
	trbe_offline();
	return reason;
}

/* Another driver came after this one, and traces: the claim's bit, trace and buffer are its own. */
static bool is_anothers(const struct ete *ete)
{
	return !ete->unit && trc_read(TRCPRGCTLR) & 1;
}

static void ete_offline(void)
{
	struct ete *ete = this_cpu_ptr(&etes);

	if (!is_anothers(ete)) {
		prohibit();
		disable_unit(ete);
		trc_write(TRCCLAIMCLR, CLAIM_SELF);
		write_sysreg_s(ete->trfcr_before, TRFCR);
		isb();
	}
	trbe_offline();
}

/* Everything was saved by being off; whatever is in the registers now is nobody's. */
static void ete_recover(void)
{
	struct ete *ete = this_cpu_ptr(&etes);

	ete->programmed = 0;
	/* Until it is unlocked no register can be read. */
	if (read_sysreg_s(OSLSR) & OSLSR_OSLK) {
		write_sysreg_s(0, OSLAR);
		isb();
	}
	if (is_anothers(ete))
		return;
	prohibit();
	trbe_recover();
}

static void ete_query(u32 cpu, struct flowtap_query *query)
{
	query->ete = per_cpu(etes, cpu).caps;
}

/* CONTEXTIDR has the PID as the initial namespace counts it. */
static bool may_see_contexts(void)
{
	return task_active_pid_ns(current) == &init_pid_ns;
}

static int ete_configure(struct flowtap_recording *recording,
			 const struct flowtap_configure *configure)
{
	const struct flowtap_ete_caps *caps = &per_cpu(etes, configure->cpu).caps;
	struct flowtap_ete_configure *ete = &recording->ete;
	int error;

	*ete = configure->ete;
	if (memchr_inv(&configure->ctr, 0, sizeof(configure->ctr)))
		return -EINVAL;
	error = ete_config_complete(caps, ete);
	if (error)
		return error;
	if (ete->config & (CONFIGR_CID | CONFIGR_VMID) && !may_see_contexts())
		return -EACCES;
	return 0;
}

static const struct flowtap_collector ete_collector = {
	.open = ete_open,
	.close = ete_close,
	.reset = ete_reset,
	.counter = ete_counter,
};

const struct flowtap_source ete_source = {
	.name = "ete",
	.id = FLOWTAP_SOURCE_ETE,
	.modes = FLOWTAP_MODE_USER | FLOWTAP_MODE_KERNEL,
	.triggers = FLOWTAP_TRIGGER_SNAPSHOT | FLOWTAP_TRIGGER_SWITCH,
	.collector = &ete_collector,
	.init = ete_init,
	.exit = ete_exit,
	.online = ete_online,
	.offline = ete_offline,
	.recover = ete_recover,
	.query = ete_query,
	.configure = ete_configure,
	.pause = ete_pause,
	.resume = ete_resume,
};
