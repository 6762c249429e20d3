/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One PE of the model: what it executes comes in here, in program order and from one thread, and
 * goes to its trace unit, trace buffer, log and protocol checks. Knows nothing of QEMU.
 */
#ifndef FLOWTAP_SELFTESTS_MODEL_PE_H
#define FLOWTAP_SELFTESTS_MODEL_PE_H

#include <stdbool.h>
#include <stdint.h>

#include "adversary.h"
#include "log.h"
#include "machine.h"
#include "trace_buffer.h"
#include "trace_unit.h"

/* What the last instruction of a block is. */
enum pe_branch {
	PE_NONE,
	PE_DIRECT,		/* B, BL, B.cond, BC.cond, CB*, TB* */
	PE_INDIRECT,		/* BR, BLR, RET and ERET, with pointer authentication or without */
	PE_ISB,
	PE_WFX,			/* WFI, WFE, WFIT, WFET */
};

/* A64 instructions at consecutive addresses that were executed (n at least 1); only the last of
 * them may be of a kind other than PE_NONE. */
struct pe_block {
	uint64_t address;
	uint32_t n;
	uint8_t branch;		/* enum pe_branch */
	bool taken;		/* PE_DIRECT, PE_INDIRECT: execution goes on at `next` */
	bool conditional;	/* PE_DIRECT: it could have been the other way */
	bool link;		/* BL, BLR */
	bool eret;
	uint64_t next;
	uint32_t code;		/* the log's number of the code (log_code), of which this is the */
	uint32_t first;		/* first instruction; blocks may begin in the middle of it */
};

/* An exception or an interrupt was taken. It is a context synchronization event. The unit is told
 * while pe->el still is where it was taken from. */
struct pe_exception {
	uint64_t return_address;	/* preferred one; all before it has been executed */
	uint64_t handler;
	uint32_t syndrome;		/* ESR_ELx for synchronous ones, else 0 */
	uint8_t kind;			/* enum pe_exception_kind: by the vector's offset */
	uint8_t el;			/* where it is taken to */
};

enum pe_exception_kind { PE_SYNCHRONOUS, PE_IRQ, PE_FIQ, PE_SERROR, PE_FIRMWARE };

/* What the PE is, fixed when it is made. */
struct pe_config {
	unsigned int index;
	bool el2;			/* EL2 is implemented: what VMID tracing and TRFCR_EL2 want */
	uint64_t midr;			/* of the CPU model, or what the user gave instead */
	uint64_t frequency;		/* of the generic counter */
	bool times;			/* the log has LOG_TIME and LOG_STAY */
	const struct adversary_options *adversary;
	const struct trace_unit_options *unit;
	const struct trace_buffer_options *buffer;
};

struct pe {
	struct pe_config config;
	const struct machine *machine;
	struct adversary adversary;
	struct trace_unit unit;
	struct trace_buffer buffer;
	struct log log;
	/*
	 * Registers of the PE that bear upon trace. As they take effect; the unit has the delayed.
	 */
	uint8_t el;
	bool e2h;			/* HCR_EL2.E2H */
	bool tge;
	bool oslock;			/* OSLSR_EL1.OSLK */
	uint64_t pc;			/* of the instruction in hand, for reports */
	/* As last written. */
	uint32_t contextidr[2];		/* EL1, EL2 */
	uint64_t trfcr[2];		/* EL1, EL2 */
	uint64_t mdcr_el2;
	/* TRFCR, or TRCPRGCTLR.EN, has ended the trace of where the PE is, with no CSE since. */
	bool ending;
	/* With config.times, while at EL0. */
	uint64_t entered;		/* the counter then */
	uint64_t untraced;		/* instructions since that were not to be traced */
};

/* Both return 0 or a negative errno. log may be NULL: then nothing is logged. The PE is reset. */
int pe_init(struct pe *pe, const struct pe_config *config, const struct machine *machine,
	    struct log_set *log);
/* From any thread, when the machine runs no more; it is not asked for anything. */
void pe_free(struct pe *pe);

/* Power on and warm reset; then what the registers are is as the architecture resets them. */
void pe_reset(struct pe *pe);
/* PSCI CPU_OFF. Not modelled: CPU_SUSPEND to a state that loses registers. */
void pe_power_off(struct pe *pe);

/* Whether blocks that execute at this exception level have to be told. Changes only inside the
 * functions below, never between. */
bool pe_wants(const struct pe *pe, unsigned int el);
void pe_block(struct pe *pe, const struct pe_block *block);
void pe_exception(struct pe *pe, const struct pe_exception *exception);
/* ERET was executed (its block has been told): the exception level is `el` now. */
void pe_return(struct pe *pe, unsigned int el);

/*
 * MRS and MSR of registers that the model owns or watches; reg: SYSREG(). False: the model does not
 * own it, the machine shall do with the instruction what it does by itself (for an unimplemented
 * trace register: UNDEFINED). For ID registers that the model only changes, *value comes in as the
 * machine's and goes out as the guest shall see it. pc: of the instruction. Writes of registers
 * that are only watched are told when the machine has done them.
 */
bool pe_read(struct pe *pe, uint32_t reg, uint64_t pc, uint64_t *value);
bool pe_write(struct pe *pe, uint32_t reg, uint64_t pc, uint64_t value);
/* Whether MRS or MSR of this register (A64 bits 20:5) has to be told at all. */
bool pe_owns(uint32_t reg);
/* The model owns the register's reads (and writes), so the machine must not execute it. */
bool pe_replaces(uint32_t reg);

void pe_isb(struct pe *pe, uint64_t pc);
void pe_dsb(struct pe *pe, uint64_t pc);
void pe_tsb_csync(struct pe *pe, uint64_t pc);
/* HCR_EL2.E2H, TGE and the OS lock as the machine has them now. Told after writes to them. */
void pe_state(struct pe *pe, bool e2h, bool tge, bool oslock);
/* LOG_TIME, with config.times. */
void pe_tell_time(struct pe *pe);
/*
 * Once in a while (each few hundred blocks, and whenever the PE idles): late and spurious things.
 */
void pe_tick(struct pe *pe);

#endif
