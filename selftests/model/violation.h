/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What software must not do. The word is what the report says; the text cites the rule.
 * The kernel module that commits each of them (violate/violate.c) is built from this list, too.
 */
#ifndef FLOWTAP_SELFTESTS_MODEL_VIOLATION_H
#define FLOWTAP_SELFTESTS_MODEL_VIOLATION_H

#define VIOLATION_TABLE(X) \
	X(PTR_WRITTEN, "ptr-written-while-enabled", "TRBPTR_EL1 written with TRBLIMITR_EL1.E 1") \
	X(BASE_WRITTEN, "base-written-while-enabled", "TRBBASER_EL1 written with TRBLIMITR_EL1.E 1") \
	X(LIMIT_WRITTEN, "limit-written-while-enabled", \
	  "TRBLIMITR_EL1 other than E changed with E 1") \
	X(TRG_WRITTEN, "trigger-written-while-enabled", "TRBTRG_EL1 written with TRBLIMITR_EL1.E 1") \
	X(SR_WRITTEN, "status-written-while-enabled", "TRBSR_EL1 written while trace is collected") \
	X(ENABLE_UNSYNCHRONIZED, "enable-without-isb", \
	  "TRBLIMITR_EL1.E set with no ISB after a write to TRBPTR_EL1, TRBBASER_EL1 or TRBSR_EL1") \
	X(ENABLE_STOPPED, "enable-with-status", "TRBLIMITR_EL1.E set with TRBSR_EL1.S or IRQ 1") \
	X(PTR_MISALIGNED, "ptr-misaligned", "enabled with TRBPTR_EL1 not aligned as TRBIDR_EL1.Align") \
	X(PTR_OUTSIDE, "ptr-outside", "enabled with TRBPTR_EL1 not between base and limit") \
	X(DISABLE_UNFLUSHED, "disable-without-tsb", \
	  "TRBLIMITR_EL1.E cleared with trace that no TSB CSYNC has flushed (K10.5.10)") \
	X(READ_UNDRAINED, "ptr-read-before-drain", \
	  "TRBPTR_EL1 or TRBSR_EL1 read with no TSB CSYNC, DSB and ISB since trace was collected") \
	X(READ_UNSYNCHRONIZED, "ptr-read-without-isb", \
	  "TRBPTR_EL1 or TRBSR_EL1 read with no ISB after TSB CSYNC and the buffer's disabling") \
	X(TSB_UNSYNCHRONIZED, "tsb-without-isb", \
	  "TSB CSYNC with no ISB after the write to TRFCR or TRCPRGCTLR that ends trace (K10.5.10)") \
	X(UNIT_WRITTEN, "unit-written-while-not-idle", \
	  "a trace unit register written with TRCPRGCTLR.EN 1, or TRCSTATR.IDLE not seen to be 1 since") \
	X(UNIT_READ, "unit-read-while-enabled", \
	  "a trace unit register read with EN 1, or TRCSTATR.PMSTABLE not seen to be 1 since") \
	X(UNIT_ENABLED_BUSY, "unit-enabled-while-not-idle", \
	  "TRCPRGCTLR.EN set before TRCSTATR.IDLE was seen to be 1") \
	X(POLL_UNSYNCHRONIZED, "status-polled-without-isb", \
	  "TRCSTATR read twice with no context synchronization event between (STTPKR)") \
	X(UNIT_LOCKED, "unit-used-while-locked", \
	  "TRCSTATR read for TRCPRGCTLR.EN to take effect, with the OS lock set") \
	X(UNIT_RESERVED, "unit-reserved-value", "TRCPRGCTLR.EN set with a reserved value in a register") \
	X(UNIT_UNPROGRAMMED, "unit-state-not-written", \
	  "TRCPRGCTLR.EN set with state of the unit's own not written since EN was cleared (SLMPNV)") \
	X(REGIME_CHANGED, "regime-changed-while-enabled", \
	  "the owning translation regime changed with TRBLIMITR_EL1.E 1 (SYKCND)") \
	X(BUFFER_BEFORE_UNIT, "unit-disabled-after-buffer", \
	  "TRBLIMITR_EL1.E cleared while the trace unit is enabled and trace is allowed") \
	X(POWERED_OFF, "powered-off-while-enabled", "CPU_OFF with the trace unit or buffer enabled") \
	X(UNALLOCATED, "unallocated-bits", "a RES0 bit written as 1 in a TRBE register") \
	X(ALLOWED_EARLY, "allowed-without-isb", \
	  "TRFCR allows trace where the PE is, with no CSE since TRBLIMITR_EL1.E was set (K10.5.10)")

enum violation {
#define X(name, word, text) VIOLATION_##name,
	VIOLATION_TABLE(X)
#undef X
	VIOLATIONS
};

#endif
