// SPDX-License-Identifier: GPL-2.0-or-later
/* The trace unit's registers by number, under the names that the assembler knows. */
#include "trace.h"

#define READ_WRITE(name) \
	static u64 read_##name(void) { return READ(name); } \
	static void write_##name(u64 value) { WRITE(name, value); }
#define READ_ONLY(name) static u64 read_##name(void) { return READ(name); }
TRACE_WRITABLE(READ_WRITE)
TRACE_READ_ONLY(READ_ONLY)

const char *const trace_register_names[TRACE_REGISTERS] = {
#define X(name) [name] = #name,
	TRACE_WRITABLE(X)
	TRACE_READ_ONLY(X)
#undef X
};

static u64 (*const readers[TRACE_REGISTERS])(void) = {
#define X(name) [name] = read_##name,
	TRACE_WRITABLE(X)
	TRACE_READ_ONLY(X)
#undef X
};

static void (*const writers[TRACE_WRITABLES])(u64) = {
#define X(name) [name] = write_##name,
	TRACE_WRITABLE(X)
#undef X
};

u64 trace_read(enum trace_register which)
{
	return readers[which]();
}

void trace_write(enum trace_register which, u64 value)
{
	writers[which](value);
}

static bool within(enum trace_register which, enum trace_register first, u64 n)
{
	return which - first < n;
}

bool trace_has(enum trace_register which)
{
	u64 idr3 = READ(trcidr3), idr4 = READ(trcidr4), idr5 = READ(trcidr5);
	u64 pairs = idr4 & 15, selectors = (idr4 >> 16 & 15) + 1, singles = idr4 >> 20 & 15;
	u64 contexts = idr4 >> 24 & 15, vmids = idr4 >> 28 & 15, states = idr5 >> 25 & 7;
	u64 counters = idr5 >> 28 & 7, inputs = idr5 >> 9 & 7;

	if (which < trcseqevr0 || which >= TRACE_WRITABLES)
		switch (which) {
		case trcstallctlr: return idr3 >> 26 & 1;
		case trcvissctlr:
		case trcviiectlr: return pairs;
		case trcseqrstevr:
		case trcseqstr: return states;
		case trccidcctlr0: return contexts;
		case trccidcctlr1: return contexts > 4;
		case trcvmidcctlr0: return vmids;
		case trcvmidcctlr1: return vmids > 4;
		default: return true;
		}
	return within(which, trcseqevr0, states ? 3 : 0) || within(which, trcextinselr0, inputs) ||
	       within(which, trccntrldvr0, counters) || within(which, trccntctlr0, counters) ||
	       within(which, trccntvr0, counters) || within(which, trcrsctlr2, selectors * 2 - 2) ||
	       within(which, trcssccr0, singles) || within(which, trcsscsr0, singles) ||
	       within(which, trcacvr0, pairs * 2) || within(which, trcacatr0, pairs * 2) ||
	       within(which, trccidcvr0, contexts) || within(which, trcvmidcvr0, vmids);
}
