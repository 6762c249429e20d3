// SPDX-License-Identifier: GPL-2.0-or-later
/* The bytes of each packet but the atoms' and the addresses' (K10.5.2). */
#include <stdlib.h>

#include "encoder_internal.h"

const char *const encoder_packet_names[PACKETS] = {
	[PACKET_ASYNC] = "A-sync",
	[PACKET_DISCARD] = "Discard",
	[PACKET_OVERFLOW] = "Overflow",
	[PACKET_TRACE_INFO] = "Trace Info",
	[PACKET_TRACE_INFO_MIDDLE] = "Trace Info, later",
	[PACKET_TRACE_INFO_DEEP] = "Trace Info, speculating",
	[PACKET_TRACE_INFO_TRANSACTION] = "Trace Info, in a transaction",
	[PACKET_TRACE_INFO_KEY] = "Trace Info, P0 key",
	[PACKET_TRACE_ON] = "Trace On",
	[PACKET_TIMESTAMP] = "Timestamp",
	[PACKET_TIMESTAMP_CYCLES] = "Timestamp, cycles",
	[PACKET_MARKER] = "Timestamp Marker",
	[PACKET_ITE] = "Instrumentation",
	[PACKET_EVENT] = "Event",
	[PACKET_IGNORE] = "Ignore",
	[PACKET_EXCEPTION] = "Exception",
	[PACKET_EXCEPTION_LONGER] = "Exception, two information bytes",
	[PACKET_EXCEPTION_PENDING] = "Exception, a fault is pending",
	[PACKET_EXCEPTION_RETURN] = "Exception Return",
	[PACKET_FUNCTION_RETURN] = "Function Return",
	[PACKET_EXCEPTION_ADDRESS] = "Exception, target address",
	[PACKET_EXCEPTION_CONTEXT] = "Exception, context",
	[PACKET_EXCEPTION_EXACT] = "Exception, exact match",
	[PACKET_EXCEPTION_SHORT] = "Exception, short",
	[PACKET_EXCEPTION_LONG32] = "Exception, long 32",
	[PACKET_EXCEPTION_LONG64] = "Exception, long 64",
	[PACKET_PE_RESET] = "PE Reset",
	[PACKET_TRANSACTION_START] = "Transaction Start",
	[PACKET_TRANSACTION_COMMIT] = "Transaction Commit",
	[PACKET_TRANSACTION_FAILURE] = "Transaction Failure",
	[PACKET_CYCLES_1] = "Cycle Count 1",
	[PACKET_CYCLES_1_UNKNOWN] = "Cycle Count 1, unknown",
	[PACKET_CYCLES_1_COMMIT] = "Cycle Count 1, commit",
	[PACKET_CYCLES_2] = "Cycle Count 2",
	[PACKET_CYCLES_2_F] = "Cycle Count 2, F",
	[PACKET_CYCLES_3] = "Cycle Count 3",
	[PACKET_COMMIT] = "Commit",
	[PACKET_CANCEL_1] = "Cancel 1",
	[PACKET_CANCEL_1_MISPREDICT] = "Cancel 1, mispredict",
	[PACKET_CANCEL_2_0] = "Cancel 2",
	[PACKET_CANCEL_2_1] = "Cancel 2, E",
	[PACKET_CANCEL_2_2] = "Cancel 2, EE",
	[PACKET_CANCEL_2_3] = "Cancel 2, N",
	[PACKET_CANCEL_3_0] = "Cancel 3",
	[PACKET_CANCEL_3_1] = "Cancel 3, E",
	[PACKET_MISPREDICT_0] = "Mispredict",
	[PACKET_MISPREDICT_1] = "Mispredict, E",
	[PACKET_MISPREDICT_2] = "Mispredict, EE",
	[PACKET_MISPREDICT_3] = "Mispredict, N",
	[PACKET_CONTEXT_SAME] = "Context, the same",
	[PACKET_CONTEXT] = "Context",
	[PACKET_CONTEXT_VMID] = "Context, VMID",
	[PACKET_CONTEXT_ID] = "Context, CONTEXTID",
	[PACKET_CONTEXT_BOTH] = "Context, VMID and CONTEXTID",
	[PACKET_EXACT_0] = "Address, exact match 0",
	[PACKET_EXACT_1] = "Address, exact match 1",
	[PACKET_EXACT_2] = "Address, exact match 2",
	[PACKET_SHORT_0] = "Address, short IS0",
	[PACKET_SHORT_1] = "Address, short IS1",
	[PACKET_LONG32_0] = "Address, long 32 IS0",
	[PACKET_LONG32_1] = "Address, long 32 IS1",
	[PACKET_LONG64_0] = "Address, long 64 IS0",
	[PACKET_LONG64_1] = "Address, long 64 IS1",
	[PACKET_LONG32_0_CONTEXT] = "Address, long 32 IS0, context",
	[PACKET_LONG32_1_CONTEXT] = "Address, long 32 IS1, context",
	[PACKET_LONG64_0_CONTEXT] = "Address, long 64 IS0, context",
	[PACKET_LONG64_1_CONTEXT] = "Address, long 64 IS1, context",
	[PACKET_SOURCE_EXACT_0] = "Source, exact match 0",
	[PACKET_SOURCE_EXACT_1] = "Source, exact match 1",
	[PACKET_SOURCE_EXACT_2] = "Source, exact match 2",
	[PACKET_SOURCE_SHORT_0] = "Source, short IS0",
	[PACKET_SOURCE_SHORT_1] = "Source, short IS1",
	[PACKET_SOURCE_LONG32_0] = "Source, long 32 IS0",
	[PACKET_SOURCE_LONG32_1] = "Source, long 32 IS1",
	[PACKET_SOURCE_LONG64_0] = "Source, long 64 IS0",
	[PACKET_SOURCE_LONG64_1] = "Source, long 64 IS1",
	[PACKET_Q_0] = "Q 0",
	[PACKET_Q_1] = "Q 1",
	[PACKET_Q_2] = "Q 2",
	[PACKET_Q_5] = "Q 5",
	[PACKET_Q_6] = "Q 6",
	[PACKET_Q_A] = "Q A",
	[PACKET_Q_B] = "Q B",
	[PACKET_Q_C] = "Q C",
	[PACKET_Q_F] = "Q F",
	[PACKET_ATOM_1] = "Atom 1",
	[PACKET_ATOM_2] = "Atom 2",
	[PACKET_ATOM_3] = "Atom 3",
	[PACKET_ATOM_4] = "Atom 4",
	[PACKET_ATOM_5_1] = "Atom 5.1",
	[PACKET_ATOM_5_2] = "Atom 5.2",
	[PACKET_ATOM_6_E] = "Atom 6, E",
	[PACKET_ATOM_6_N] = "Atom 6, N",
};

void packet_byte(struct encoder *encoder, uint8_t byte)
{
	if (encoder->size == encoder->capacity) {
		encoder->capacity = encoder->capacity ? 2 * encoder->capacity : 1 << 16;
		encoder->bytes = realloc(encoder->bytes, encoder->capacity);
		if (!encoder->bytes)
			abort();
	}
	encoder->bytes[encoder->size++] = byte;
}

static void add_point(struct encoder *encoder)
{
	size_t n = encoder->npoints, ends = sizeof(encoder->ends) / sizeof(encoder->ends[0]);

	if (!encoder->oracle)
		return;
	if (!(n & (n - 1))) {
		encoder->points = realloc(encoder->points,
					  (n ? 2 * n : 1) * sizeof(*encoder->points));
		if (!encoder->points)
			abort();
	}
	encoder->points[encoder->npoints++] = (struct encoder_point){
		encoder->size, encoder->ends[encoder->resolved % ends]
	};
}

static void header_byte(struct encoder *encoder, enum encoder_packet packet, uint8_t header)
{
	if (rng_one_in(&encoder->rng, encoder->options.ignore)) {
		encoder->counts[PACKET_IGNORE]++;
		packet_byte(encoder, 0x70);
	}
	encoder->counts[packet]++;
	packet_byte(encoder, header);
}

void packet_begin(struct encoder *encoder, enum encoder_packet packet, uint8_t header)
{
	packet_atoms(encoder, 0);
	add_point(encoder);
	header_byte(encoder, packet, header);
}

/* K10.5.6.4.2. At most 32 bits here, so five bytes, of which the last is full. */
void packet_uleb(struct encoder *encoder, uint64_t value)
{
	while (value >= 0x80) {
		packet_byte(encoder, 0x80 | (value & 0x7f));
		value >>= 7;
	}
	packet_byte(encoder, value);
}

static void add_sync(struct encoder *encoder)
{
	struct encoder_sync *sync;
	size_t n = encoder->nsyncs++;

	if (encoder->options.drained)
		return;
	if (!(n & (n - 1))) {
		encoder->syncs = realloc(encoder->syncs, (n ? 2 * n : 1) * sizeof(*sync));
		if (!encoder->syncs)
			abort();
	}
	sync = &encoder->syncs[n];
	sync->offset = encoder->size;
	sync->told = encoder->oracle ? encoder->oracle->n : 0;
}

static void packet_async(struct encoder *encoder)
{
	unsigned int zeros = 11;

	if (!encoder->options.shortest && rng_one_in(&encoder->rng, 8))
		zeros += rng_below(&encoder->rng, 9);
	if (encoder->options.sync_exact)
		zeros = 11;
	packet_atoms(encoder, 0);
	add_sync(encoder);
	if (encoder->seen)
		encoder->seen(encoder->opaque, ENCODER_SEEN_SYNC, encoder->taken + encoder->size);
	encoder->counts[PACKET_ASYNC]++;
	while (zeros--)
		packet_byte(encoder, 0);
	packet_byte(encoder, 0x80);
}

/* K10.5.2.6: PLCTL says which sections are there; what is left out is 0. */
void packet_sync(struct encoder *encoder, uint64_t depth)
{
	struct rng *rng = &encoder->rng;
	bool all = !encoder->options.shortest && rng_one_in(rng, 4);
	bool transaction = encoder->view.in_transaction;
	uint8_t info = encoder->options.cycles | transaction << 6;
	uint8_t control = 0;

	packet_async(encoder);
	if (info || all || rng_one_in(rng, 2))
		control |= 1;
	if (encoder->options.etm4 && all)
		control |= 2;
	if (depth || all)
		control |= 4;
	if (encoder->options.cycles)
		control |= 8;
	packet_begin(encoder, PACKET_TRACE_INFO, 0x01);
	encoder->counts[PACKET_TRACE_INFO_MIDDLE] += encoder->nsyncs > 1;
	encoder->counts[PACKET_TRACE_INFO_DEEP] += depth != 0;
	encoder->counts[PACKET_TRACE_INFO_TRANSACTION] += transaction;
	encoder->counts[PACKET_TRACE_INFO_KEY] += control >> 1 & 1;
	packet_byte(encoder, control);
	if (control & 1)
		packet_byte(encoder, info);
	if (control & 2)
		packet_uleb(encoder, rng_below(rng, 1000));
	if (control & 4)
		packet_uleb(encoder, depth);
	if (control & 8)
		packet_uleb(encoder, encoder->options.threshold);
	encoder->timestamp = 0;
	encoder->told = (struct trace_context){ .security = FLOWTAP_SECURE };
	encoder->told_ids = false;
	for (unsigned int i = 0; i < 3; i++)
		encoder->history[i] = (struct encoder_address){ 0 };
	encoder->synced = encoder->size;
}

/* K10.5.2.16.1: the bytes replace the low bits of the last timestamp. */
void packet_timestamp(struct encoder *encoder, uint64_t ticks, bool with_cycles)
{
	uint64_t changed = ticks ^ encoder->timestamp;
	unsigned int bytes = 1;

	while (bytes < 9 && changed >> 7 * bytes)
		bytes++;
	if (!encoder->options.shortest && rng_one_in(&encoder->rng, 16))
		bytes += rng_below(&encoder->rng, 10 - bytes);
	if (with_cycles)
		packet_begin(encoder, PACKET_TIMESTAMP_CYCLES, 0x03);
	else
		packet_begin(encoder, PACKET_TIMESTAMP, 0x02);
	for (unsigned int i = 0; i < bytes && i < 8; i++)
		packet_byte(encoder, (ticks >> 7 * i & 0x7f) | (i + 1 < bytes ? 0x80 : 0));
	if (bytes == 9)
		packet_byte(encoder, ticks >> 56);
	if (with_cycles)
		packet_uleb(encoder, encoder->cycles);
	encoder->timestamp = ticks;
}

void packet_commit(struct encoder *encoder, uint64_t count)
{
	packet_begin(encoder, PACKET_COMMIT, 0x2d);
	packet_uleb(encoder, count);
}

static void cycles_long(struct encoder *encoder, uint64_t commit, uint64_t above)
{
	bool unknown = encoder->cycles_unknown;

	packet_begin(encoder, unknown ? PACKET_CYCLES_1_UNKNOWN : PACKET_CYCLES_1, 0x0e | unknown);
	encoder->counts[PACKET_CYCLES_1_COMMIT] += commit != 0;
	if (!encoder->options.commopt)
		packet_uleb(encoder, commit);
	if (!unknown)
		packet_uleb(encoder, above);
}

/*
 * K10.5.2.16.2 to .6. Format 2 with COMMOPT 1 is there read as F 1 and AAAA 0b1111, which commits
 * MAXSPEC elements: it is only told where that is none.
 */
void packet_cycles(struct encoder *encoder, uint64_t commit)
{
	const struct encoder_options *options = &encoder->options;
	uint64_t above = encoder->cycles - options->threshold;
	bool any = !options->shortest && rng_one_in(&encoder->rng, 3);
	uint64_t f = commit + 15 - options->maxspec;	/* AAAA with F 1, if below 16 */

	if (encoder->cycles_unknown || any || above > 15 ||
	    (options->classic && !options->commopt)) {
		cycles_long(encoder, commit, above);
	} else if (above < 4 && options->commopt) {
		packet_begin(encoder, PACKET_CYCLES_3, 0x10 | above);
	} else if (above < 4 && commit - 1 < 4) {
		packet_begin(encoder, PACKET_CYCLES_3, 0x10 | (commit - 1) << 2 | above);
	} else if (options->commopt && options->maxspec) {
		cycles_long(encoder, commit, above);
	} else if (options->commopt) {
		packet_begin(encoder, PACKET_CYCLES_2_F, 0x0d);
		packet_byte(encoder, 0xf0 | above);
	} else if (commit - 1 < 16 && (f > 15 || rng_one_in(&encoder->rng, 2))) {
		packet_begin(encoder, PACKET_CYCLES_2, 0x0c);
		packet_byte(encoder, (commit - 1) << 4 | above);
	} else if (f < 16) {
		packet_begin(encoder, PACKET_CYCLES_2_F, 0x0d);
		packet_byte(encoder, f << 4 | above);
	} else {
		cycles_long(encoder, commit, above);
	}
}

/* The atoms that a packet of Mispredict or Cancel format 2 can take with it: A, or 0. */
static unsigned int takes(struct encoder *encoder)
{
	if (!encoder->natoms || (!encoder->options.shortest && rng_one_in(&encoder->rng, 3)))
		return 0;
	if (!(encoder->atoms >> (encoder->natoms - 1) & 1))
		return 3;
	if (encoder->natoms > 1 && (encoder->atoms >> (encoder->natoms - 2) & 1) &&
	    (encoder->options.shortest || rng_one_in(&encoder->rng, 2)))
		return 2;
	return 1;
}

/* A packet that brings its own last atoms. */
static void with_atoms(struct encoder *encoder, enum encoder_packet packet, uint8_t header,
		       unsigned int atoms)
{
	packet_atoms(encoder, atoms);
	encoder->natoms = 0;
	encoder->committed = encoder->resolved;
	header_byte(encoder, packet, header);
}

void packet_mispredict(struct encoder *encoder)
{
	unsigned int a = takes(encoder);

	with_atoms(encoder, PACKET_MISPREDICT_0 + a, 0x30 | a, a == 3 ? 1 : a);
}

void packet_cancel(struct encoder *encoder, uint64_t count, bool mispredict)
{
	bool longer = !encoder->options.shortest && rng_one_in(&encoder->rng, 3);

	if (count > 1 && longer && rng_one_in(&encoder->rng, 3)) {
		uint64_t part = 1 + rng_below(&encoder->rng, count - 1);

		packet_begin(encoder, PACKET_CANCEL_1, 0x2e);
		packet_uleb(encoder, part);
		count -= part;
	}
	if (mispredict && !longer && count == 1) {
		unsigned int a = takes(encoder);

		with_atoms(encoder, PACKET_CANCEL_2_0 + a, 0x34 | a, a == 3 ? 1 : a);
	} else if (mispredict && !longer && count < 6) {
		unsigned int a = takes(encoder) % 3 != 0;

		with_atoms(encoder, PACKET_CANCEL_3_0 + a, 0x38 | (count - 2) << 1 | a, a);
	} else {
		bool m = mispredict && !rng_one_in(&encoder->rng, 4);

		packet_begin(encoder, m ? PACKET_CANCEL_1_MISPREDICT : PACKET_CANCEL_1, 0x2e | m);
		packet_uleb(encoder, count);
		if (mispredict && !m)
			packet_mispredict(encoder);
	}
}
