/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A driver of ETE and TRBE by the book (DDI 0487 K10.5.7, K10.5.10 and .11). It writes per CPU N:
 *
 *	OUT.N.trace	the bytes as they were drained, one piece after the other
 *	OUT.N.regs	NAME=0x... of the trace unit's registers that decoders want, and of all that
 *			the scenario wrote
 *	OUT.N.chunks	a line for each piece: OFFSET LENGTH ADDRESS WHAT, in hexadecimal: where it is
 *			in OUT.N.trace, its length, the address it had in the buffer; WHAT is "new"
 *			(the trace unit was enabled before it), "lost" (bytes are missing before it) or
 *			"continued"
 */
#ifndef FLOWTAP_SELFTESTS_MODEL_BARE_TRACE_H
#define FLOWTAP_SELFTESTS_MODEL_BARE_TRACE_H

#include "bare.h"

#define TRACE_INDEXED(X) \
	X(trcseqevr0) X(trcseqevr1) X(trcseqevr2) \
	X(trcextinselr0) X(trcextinselr1) X(trcextinselr2) X(trcextinselr3) \
	X(trccntrldvr0) X(trccntrldvr1) X(trccntrldvr2) X(trccntrldvr3) \
	X(trccntctlr0) X(trccntctlr1) X(trccntctlr2) X(trccntctlr3) \
	X(trccntvr0) X(trccntvr1) X(trccntvr2) X(trccntvr3) \
	X(trcrsctlr2) X(trcrsctlr3) X(trcrsctlr4) X(trcrsctlr5) X(trcrsctlr6) X(trcrsctlr7) \
	X(trcrsctlr8) X(trcrsctlr9) X(trcrsctlr10) X(trcrsctlr11) X(trcrsctlr12) X(trcrsctlr13) \
	X(trcrsctlr14) X(trcrsctlr15) X(trcrsctlr16) X(trcrsctlr17) X(trcrsctlr18) X(trcrsctlr19) \
	X(trcrsctlr20) X(trcrsctlr21) X(trcrsctlr22) X(trcrsctlr23) X(trcrsctlr24) X(trcrsctlr25) \
	X(trcrsctlr26) X(trcrsctlr27) X(trcrsctlr28) X(trcrsctlr29) X(trcrsctlr30) X(trcrsctlr31) \
	X(trcssccr0) X(trcssccr1) X(trcssccr2) X(trcssccr3) X(trcssccr4) X(trcssccr5) X(trcssccr6) \
	X(trcssccr7) X(trcsscsr0) X(trcsscsr1) X(trcsscsr2) X(trcsscsr3) X(trcsscsr4) X(trcsscsr5) \
	X(trcsscsr6) X(trcsscsr7) \
	X(trcacvr0) X(trcacvr1) X(trcacvr2) X(trcacvr3) X(trcacvr4) X(trcacvr5) X(trcacvr6) \
	X(trcacvr7) X(trcacvr8) X(trcacvr9) X(trcacvr10) X(trcacvr11) X(trcacvr12) X(trcacvr13) \
	X(trcacvr14) X(trcacvr15) \
	X(trcacatr0) X(trcacatr1) X(trcacatr2) X(trcacatr3) X(trcacatr4) X(trcacatr5) X(trcacatr6) \
	X(trcacatr7) X(trcacatr8) X(trcacatr9) X(trcacatr10) X(trcacatr11) X(trcacatr12) \
	X(trcacatr13) X(trcacatr14) X(trcacatr15) \
	X(trccidcvr0) X(trccidcvr1) X(trccidcvr2) X(trccidcvr3) X(trccidcvr4) X(trccidcvr5) \
	X(trccidcvr6) X(trccidcvr7) \
	X(trcvmidcvr0) X(trcvmidcvr1) X(trcvmidcvr2) X(trcvmidcvr3) X(trcvmidcvr4) X(trcvmidcvr5) \
	X(trcvmidcvr6) X(trcvmidcvr7)

/* What can be read and written while the trace unit is idle. */
#define TRACE_WRITABLE(X) \
	X(trcconfigr) X(trcauxctlr) X(trceventctl0r) X(trceventctl1r) X(trcrsr) X(trcstallctlr) \
	X(trctsctlr) X(trcsyncpr) X(trcccctlr) X(trcbbctlr) X(trctraceidr) X(trcvictlr) \
	X(trcviiectlr) X(trcvissctlr) X(trcseqrstevr) X(trcseqstr) \
	X(trccidcctlr0) X(trccidcctlr1) X(trcvmidcctlr0) X(trcvmidcctlr1) TRACE_INDEXED(X)

#define TRACE_READ_ONLY(X) \
	X(trcidr0) X(trcidr1) X(trcidr2) X(trcidr3) X(trcidr4) X(trcidr5) X(trcidr6) X(trcidr7) \
	X(trcidr8) X(trcidr9) X(trcidr10) X(trcidr11) X(trcidr12) X(trcidr13) X(trcstatr) \
	X(trcdevarch) X(trcdevid) X(trcauthstatus) X(trcoslsr) X(trcimspec0)

enum trace_register {
#define X(name) name,
	TRACE_WRITABLE(X)
	TRACE_WRITABLES,
	TRACE_BEFORE_READ_ONLY = TRACE_WRITABLES - 1,
	TRACE_READ_ONLY(X)
#undef X
	TRACE_REGISTERS
};

/* trace_registers.c */
extern const char *const trace_register_names[TRACE_REGISTERS];
u64 trace_read(enum trace_register which);
void trace_write(enum trace_register which, u64 value);
/* Whether this trace unit implements it, by TRCIDR2 to 5; others may not be touched. */
bool trace_has(enum trace_register which);

/* TRCCONFIGR */
#define CONFIG_BB	(1 << 3)
#define CONFIG_CCI	(1 << 4)
#define CONFIG_CID	(1 << 6)
#define CONFIG_VMID	(1 << 7)
#define CONFIG_TS	(1 << 11)
#define CONFIG_RS	(1 << 12)
#define CONFIG_VMIDOPT	(1 << 15)
/* TRCVICTLR */
#define VIEW_ALL	0x201		/* event TRUE, start/stop started */
#define VIEW_RESET	(1 << 10)
#define VIEW_ERROR	(1 << 11)
#define VIEW_NOT_EL0	(1 << 20)
#define VIEW_NOT_EL1	(1 << 21)
#define VIEW_NOT_EL2	(1 << 22)
/* TRFCR_EL1, TRFCR_EL2 */
#define FILTER_E0	1
#define FILTER_E1	2
#define FILTER_CX	(1 << 3)	/* EL2: CONTEXTIDR_EL2 and VMID may be traced */
#define FILTER_TS	(3 << 5)	/* physical */
#define FILTER_TS_VIRTUAL (1 << 5)
/* TRBLIMITR_EL1 */
#define LIMIT_E		1UL
#define LIMIT_FILL	(0UL << 1)
#define LIMIT_WRAP	(1UL << 1)
#define LIMIT_CIRCULAR	(3UL << 1)
#define LIMIT_STOP	(0UL << 3)
#define LIMIT_IRQ	(1UL << 3)
#define LIMIT_IGNORE	(3UL << 3)
#define LIMIT_NVM	(1UL << 5)
/* TRBSR_EL1 */
#define STATUS_IRQ	(1UL << 22)
#define STATUS_TRG	(1UL << 21)
#define STATUS_WRAP	(1UL << 20)
#define STATUS_EA	(1UL << 18)
#define STATUS_S	(1UL << 17)
#define STATUS_EC(sr)	((sr) >> 26 & 0x3f)
#define STATUS_CODE(sr)	((sr) & 0x3f)

struct trace_value {
	enum trace_register which;
	u64 value;
};

#define TRACE_VALUES 24

/* How a scenario wants it; trace_setup_defaults first. */
struct trace_setup {
	u64 filter;		/* TRFCR */
	struct trace_value values[TRACE_VALUES];
	unsigned int nvalues;
	u64 mode;		/* FM, TM, nVM of TRBLIMITR */
	bool low;		/* the buffer is in the user half */
	u64 size;		/* bytes, whole pages of 4K */
	u64 start;		/* where in it writing begins */
	u64 limit;		/* bytes from the base on, 0: all */
	u64 trigger;		/* TRBTRG */
	bool triggered;		/* TRBSR.TRG set at the start */
	bool restart;		/* the trace unit is begun anew at each drain */
	bool keep_masked;	/* no interrupt: the buffer is drained where trace_poll is called */
	bool ta;		/* TRCRSR.TA set at the start */
	/* After a fault (TRBSR.S with EC 0x24, 0x25, or EA): mends it; false: tracing ends. */
	bool (*fault)(unsigned int cpu, u64 status, u64 address);
};

struct trace_totals {
	u64 starts, drains, bytes, interrupts, spurious, full, wrapped, triggered, faults, aborts, dropped;
	u64 strayed;		/* bytes written after the limit */
	u64 first_fault;	/* TRBSR of it */
};

extern struct trace_totals trace_totals[CPUS];

void trace_set(struct trace_setup *setup, enum trace_register which, u64 value);
void trace_setup_defaults(struct trace_setup *setup);
/* Whether this CPU has ETE, TRBE and TRF; prints what they are. */
bool trace_probe(void);
/* On this CPU, between them what the scenario does; interrupts may be on. setup: borrowed. */
void trace_start(const struct trace_setup *setup);
void trace_stop(void);
/* Trace is prohibited and allowed again, with nothing else. */
void trace_pause(void);
void trace_resume(void);
/* The handler of the PPI; and the same with no interrupt. */
void trace_interrupt(void);
void trace_poll(void);
/* So many times its handler leaves TRBSR as it is: the interrupt comes again. Then it is masked. */
void trace_keep_status(unsigned int times);
/* The setup's buffer begins here on this CPU. */
u64 trace_base(const struct trace_setup *setup);
/* Of all CPUs that traced. */
void trace_write_files(const char *prefix);

#endif
