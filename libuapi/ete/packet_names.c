// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Packets and exceptions by the names that the specification has for them. */
#include <flowtap/ete_packet.h>

#include <stddef.h>

static const char *const packets[FLOWTAP_ETE_PACKET_TYPES] = {
	[FLOWTAP_ETE_INCOMPLETE] = "incomplete",
	[FLOWTAP_ETE_NOT_SYNCED] = "not synchronized",
	[FLOWTAP_ETE_RESERVED] = "reserved",
	[FLOWTAP_ETE_ALIGNMENT_SYNC] = "Alignment Sync",
	[FLOWTAP_ETE_ALIGNMENT_ZEROS] = "Alignment Sync, zeros",
	[FLOWTAP_ETE_DISCARD] = "Discard",
	[FLOWTAP_ETE_OVERFLOW] = "Overflow",
	[FLOWTAP_ETE_TRACE_INFO] = "Trace Info",
	[FLOWTAP_ETE_TIMESTAMP] = "Timestamp",
	[FLOWTAP_ETE_TIMESTAMP_MARKER] = "Timestamp Marker",
	[FLOWTAP_ETE_TRACE_ON] = "Trace On",
	[FLOWTAP_ETE_EXCEPTION] = "Exception",
	[FLOWTAP_ETE_EXCEPTION_RETURN] = "Exception Return",
	[FLOWTAP_ETE_FUNCTION_RETURN] = "Function Return",
	[FLOWTAP_ETE_BRANCH_FUTURE_FLUSH] = "Branch Future Flush",
	[FLOWTAP_ETE_INSTRUMENTATION] = "Instrumentation",
	[FLOWTAP_ETE_TRANSACTION_START] = "Transaction Start",
	[FLOWTAP_ETE_TRANSACTION_COMMIT] = "Transaction Commit",
	[FLOWTAP_ETE_CYCLE_COUNT_1] = "Cycle Count format 1",
	[FLOWTAP_ETE_CYCLE_COUNT_2] = "Cycle Count format 2",
	[FLOWTAP_ETE_CYCLE_COUNT_3] = "Cycle Count format 3",
	[FLOWTAP_ETE_COMMIT] = "Commit",
	[FLOWTAP_ETE_CANCEL_1] = "Cancel format 1",
	[FLOWTAP_ETE_CANCEL_2] = "Cancel format 2",
	[FLOWTAP_ETE_CANCEL_3] = "Cancel format 3",
	[FLOWTAP_ETE_MISPREDICT] = "Mispredict",
	[FLOWTAP_ETE_IGNORE] = "Ignore",
	[FLOWTAP_ETE_EVENT] = "Event",
	[FLOWTAP_ETE_CONTEXT] = "Context",
	[FLOWTAP_ETE_ADDRESS_CONTEXT] = "Target Address with Context",
	[FLOWTAP_ETE_TARGET_EXACT] = "Target Address Exact Match",
	[FLOWTAP_ETE_TARGET_SHORT] = "Target Address Short",
	[FLOWTAP_ETE_TARGET_LONG] = "Target Address Long",
	[FLOWTAP_ETE_Q] = "Q",
	[FLOWTAP_ETE_SOURCE_EXACT] = "Source Address Exact Match",
	[FLOWTAP_ETE_SOURCE_SHORT] = "Source Address Short",
	[FLOWTAP_ETE_SOURCE_LONG] = "Source Address Long",
	[FLOWTAP_ETE_ATOM_1] = "Atom format 1",
	[FLOWTAP_ETE_ATOM_2] = "Atom format 2",
	[FLOWTAP_ETE_ATOM_3] = "Atom format 3",
	[FLOWTAP_ETE_ATOM_4] = "Atom format 4",
	[FLOWTAP_ETE_ATOM_5_1] = "Atom format 5.1",
	[FLOWTAP_ETE_ATOM_5_2] = "Atom format 5.2",
	[FLOWTAP_ETE_ATOM_6] = "Atom format 6",
};

/* TYPE of an Exception packet (DDI 0487 D5): as in ETMv4 of the A and R profiles, but for 24, 25. */
static const char *const exceptions[32] = {
	[0] = "PE reset",
	[1] = "Debug halt",
	[2] = "Call",
	[3] = "Trap",
	[4] = "System error",
	[6] = "Inst debug",
	[7] = "Data debug",
	[10] = "Alignment",
	[11] = "Inst fault",
	[12] = "Data fault",
	[14] = "IRQ",
	[15] = "FIQ",
	[16] = "IMPLEMENTATION DEFINED 0",
	[17] = "IMPLEMENTATION DEFINED 1",
	[18] = "IMPLEMENTATION DEFINED 2",
	[19] = "IMPLEMENTATION DEFINED 3",
	[20] = "IMPLEMENTATION DEFINED 4",
	[21] = "IMPLEMENTATION DEFINED 5",
	[22] = "IMPLEMENTATION DEFINED 6",
	[23] = "IMPLEMENTATION DEFINED 7",
	[FLOWTAP_ETE_TRANSACTION_FAILURE] = "Transaction failure",
	[FLOWTAP_ETE_PE_RESET_UNKNOWN] = "PE reset, address unknown",
};

const char *flowtap_ete_packet_name(enum flowtap_ete_packet_type type)
{
	if ((unsigned int)type >= FLOWTAP_ETE_PACKET_TYPES)
		type = FLOWTAP_ETE_RESERVED;
	return packets[type];
}

/* The M profile's (IHI 0064): exception numbers, then what is none. */
static const char *const m_exceptions[32] = {
	[FLOWTAP_ETM4_M_RESET] = "PE reset",
	[2] = "NMI",
	[3] = "HardFault",
	[4] = "MemManage",
	[5] = "BusFault",
	[6] = "UsageFault",
	[7] = "SecureFault",
	[11] = "SVC",
	[12] = "DebugMonitor",
	[14] = "PendSV",
	[15] = "SysTick",
	[16] = "IRQ0",
	[17] = "IRQ1",
	[18] = "IRQ2",
	[19] = "IRQ3",
	[20] = "IRQ4",
	[21] = "IRQ5",
	[22] = "IRQ6",
	[23] = "IRQ7",
	[24] = "Debug halt",
	[25] = "Lazy FP push",
	[26] = "Lockup",
};

#define M_IRQ_FIRST 0x208	/* IRQ8, and so on */
#define M_IRQ_LAST 0x3ef

const char *flowtap_ete_exception_name(bool m_profile, unsigned int type)
{
	const char *const *names = m_profile ? m_exceptions : exceptions;

	if (m_profile && type >= M_IRQ_FIRST && type <= M_IRQ_LAST)
		return "IRQ8 or above";
	return type < 32 && names[type] ? names[type] : "reserved";
}
