// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The ETE decoder's entry: bytes in pieces to packets, where decoding begins and resumes, and what
 * was lost in between.
 *
 * Decoding begins at an Alignment Sync and the Trace Info after it (K10.5.1.1). Bytes that do not
 * lead there, from a damaged packet or from the first byte on, become one gap, which is emitted when
 * decoding resumes or ends.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ete/internal.h"

#define TRANSACTION_CAPACITY (1U << 20)
#define ARCHITECTURE 0x5a13		/* TRCDEVARCH.ARCHID: ETE */
#define CONFIGR_RS (1U << 12)		/* the return stack is used */
#define IDR0_COMMTRANS (1U << 30)
#define IDR2_WFXMODE (1U << 31)

bool flowtap_ete_wfx_is_p0(const struct flowtap_ete_config *config)
{
	return config->idr2 & IDR2_WFXMODE;
}

/* TRCIDR8 is all MAXSPEC. */
static bool valid(const struct flowtap_ete_config *config)
{
	if (config->devarch && (config->devarch & 0xffff) != ARCHITECTURE)
		return false;
	return config->idr8 <= FLOWTAP_ETE_SPECULATION_MAX;
}

/* Drops all that is known of the trace. */
static void reset(struct flowtap_ete *ete)
{
	const struct flowtap_context none = { 0 };

	flowtap_ete_parser_init(&ete->parser, &ete->config);
	ete->sync = ETE_UNSYNCED;
	ete_set_direct(&ete->held, false);
	ete->carried = 0;
	ete->initialized = false;
	ete_forget_committed(&ete->held);
	flowtap_ete_transaction_drop(ete);
	ete->has_context = false;
	flowtap_ete_returns_init(&ete->returns, ete->config.configr & CONFIGR_RS);
	ete->context = none;
	flowtap_ete_invalidate_code(ete);
	flowtap_ete_set_unknown_address(ete, ETE_ADDRESS_MISSING,
					"the trace begins without an address");
}

int flowtap_ete_new(const struct flowtap_ete_config *config,
		    const struct flowtap_ete_options *options,
		    const struct flowtap_ete_images *images, struct flowtap_blocks *blocks,
		    struct flowtap_sink *sink, struct flowtap_ete **ete)
{
	struct flowtap_ete *new;

	*ete = NULL;
	if (!valid(config))
		return -EINVAL;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->config = *config;
	if (options)
		new->options = *options;
	if (!new->options.transaction_capacity)
		new->options.transaction_capacity = TRANSACTION_CAPACITY;
	new->images = *images;
	new->blocks = blocks;
	new->sink = sink;
	flowtap_ete_speculation_init(&new->speculation, config->idr8);
	new->start_is_p0 = !(config->idr0 & IDR0_COMMTRANS);
	reset(new);
	*ete = new;
	return 0;
}

void flowtap_ete_free(struct flowtap_ete *ete)
{
	if (!ete)
		return;
	flowtap_ete_speculation_free(&ete->speculation);
	flowtap_ete_transaction_free(&ete->transaction);
	free(ete);
}

const struct flowtap_ete_counts *flowtap_ete_counts(const struct flowtap_ete *ete)
{
	return &ete->counts;
}

/* Bytes that decoding skips. */
static void skip(struct flowtap_ete *ete, size_t size)
{
	if (!ete->loss.pending) {
		ete->loss.pending = true;
		ete->loss.reason = FLOWTAP_GAP_UNSYNCED;
		ete->loss.size = 0;
		ete->loss.detail[0] = '\0';
	}
	ete->loss.size += size;
}

static int emit_loss(struct flowtap_ete *ete)
{
	struct ete_loss *loss = &ete->loss;
	const struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = {
			.reason = loss->reason,
			.size = loss->size,
			.detail = loss->detail[0] ? loss->detail : NULL,
		},
	};
	bool pending = loss->pending && !loss->silent;

	loss->pending = false;
	loss->silent = false;
	if (!pending)
		return 0;
	ete->counts.gaps[loss->reason]++;
	flowtap_ete_set_unknown_address(ete, ETE_ADDRESS_LOST, NULL);
	return ete_emit(ete, &element);
}

/* What came before is resolved as far as it can be. */
static int interrupt(struct flowtap_ete *ete)
{
	int status = flowtap_ete_cancel_all(ete);

	flowtap_ete_transaction_drop(ete);
	ete->initialized = false;
	ete->has_context = false;
	ete_clear_returns(&ete->returns);
	flowtap_ete_invalidate_code(ete);
	flowtap_ete_set_unknown_address(ete, ETE_ADDRESS_LOST, NULL);
	return status;
}

static void describe(struct flowtap_ete *ete, const uint8_t *bytes, size_t size)
{
	struct ete_loss *loss = &ete->loss;
	size_t capacity = sizeof(loss->detail), n;

	n = snprintf(loss->detail, capacity, "offset 0x%" PRIx64 ":", ete->counts.bytes);
	for (size_t i = 0; i < size && i < 16; i++)
		n += snprintf(loss->detail + n, capacity - n, " %02x", bytes[i]);
	snprintf(loss->detail + n, capacity - n, ": %s", ete->packet.reason);
}

/* A packet that cannot be there: decoding resumes at the next Alignment Sync. */
static int bad_packet(struct flowtap_ete *ete, const uint8_t *bytes, size_t size)
{
	enum ete_sync before = ete->sync;
	int status = 0;

	ete->sync = ETE_UNSYNCED;
	ete->counts.bad_packets++;
	if (before == ETE_SYNCED)
		status = interrupt(ete);
	if (!ete->loss.pending) {
		ete->loss.pending = true;
		ete->loss.reason = FLOWTAP_GAP_BAD_PACKET;
		ete->loss.size = 0;
		describe(ete, bytes, size);
	}
	ete->loss.size += size;
	return status;
}

/* Events may come before the first Trace Info (K10.5.9), all else says nothing without one. */
static int before_trace_info(struct flowtap_ete *ete, size_t size)
{
	int status;

	switch (ete->packet.type) {
	case FLOWTAP_ETE_TRACE_INFO:
		ete->sync = ETE_SYNCED;
		status = emit_loss(ete);
		return status ? status : flowtap_ete_element(ete, &ete->packet);
	case FLOWTAP_ETE_EVENT:
		return flowtap_ete_element(ete, &ete->packet);
	case FLOWTAP_ETE_TIMESTAMP:
	case FLOWTAP_ETE_TIMESTAMP_MARKER:
	case FLOWTAP_ETE_INSTRUMENTATION:
	case FLOWTAP_ETE_CYCLE_COUNT_1:
	case FLOWTAP_ETE_CYCLE_COUNT_2:
	case FLOWTAP_ETE_CYCLE_COUNT_3:
		/* Nothing is there that a Commit could concern. */
		ete->packet.commit = 0;
		if (ete->sync == ETE_DISCARDED)
			return flowtap_ete_element(ete, &ete->packet);
		skip(ete, size);
		return 0;
	case FLOWTAP_ETE_DISCARD:
	case FLOWTAP_ETE_OVERFLOW:
	case FLOWTAP_ETE_IGNORE:
	case FLOWTAP_ETE_ALIGNMENT_SYNC:
	case FLOWTAP_ETE_ALIGNMENT_ZEROS:
		return 0;
	default:
		skip(ete, size);
		return 0;
	}
}

static int process_packet(struct flowtap_ete *ete, const uint8_t *bytes, size_t size)
{
	switch (ete->packet.type) {
	case FLOWTAP_ETE_NOT_SYNCED:
		skip(ete, size);
		return 0;
	case FLOWTAP_ETE_RESERVED:
		return bad_packet(ete, bytes, size);
	case FLOWTAP_ETE_ALIGNMENT_SYNC:
		ete->counts.syncs++;
		if (ete->sync == ETE_UNSYNCED)
			ete->sync = ETE_ALIGNED;
		return 0;
	default:
		break;
	}
	if (ete->sync != ETE_SYNCED)
		return before_trace_info(ete, size);
	return flowtap_ete_element(ete, &ete->packet);
}

/* Whether atoms need no queue, as soon as it is empty. */
static bool is_direct(const struct flowtap_ete *ete)
{
	return ete->sync == ETE_SYNCED && !ete_speculates(&ete->speculation) &&
	       !ete_in_transaction(&ete->transaction);
}

static void update_direct(struct flowtap_ete *ete)
{
	ete_set_direct(&ete->held, is_direct(ete) && !ete_queue_waits(&ete->speculation));
}

/* The packet that was parsed. */
static int finish_packet(struct flowtap_ete *ete, const uint8_t *bytes, size_t size)
{
	int status = process_packet(ete, bytes, size);

	ete->counts.bytes += size;
	ete->counts.packets += ete->packet.type != FLOWTAP_ETE_NOT_SYNCED;
	update_direct(ete);
	return status;
}

/* One packet. *used 0: more bytes are needed. */
static int decode_packet(struct flowtap_ete *ete, const uint8_t *bytes, size_t size, size_t *used)
{
	*used = flowtap_ete_parse(&ete->parser, bytes, size, &ete->packet);
	return *used ? finish_packet(ete, bytes, *used) : 0;
}

/* As many packets as there are; *used bytes, the rest is no whole packet. */
static int decode_packets(struct flowtap_ete *ete, const uint8_t *bytes, size_t size, size_t *used)
{
	size_t at = 0, n, parsed = 0;
	int status = 0;

	while (at < size && !status) {
		if (!ete_is_direct(&ete->held) && is_direct(ete) && flowtap_ete_atoms[bytes[at]].count) {
			status = flowtap_ete_process_queue(ete);
			ete_set_direct(&ete->held, is_direct(ete));
			if (status)
				break;
		}
		if (ete_is_direct(&ete->held)) {
			status = flowtap_ete_fast_path(ete, bytes + at, size - at, &n, &parsed);
			at += n;
			if (status || at == size)
				break;
		}
		n = parsed;
		parsed = 0;
		if (n)
			status = finish_packet(ete, bytes + at, n);
		else
			status = decode_packet(ete, bytes + at, size - at, &n);
		if (!n)
			break;
		at += n;
	}
	*used = at;
	return status;
}

/* The packet that was cut at the end of the last piece, with what this one has of it. */
static int decode_carried(struct flowtap_ete *ete, const uint8_t **bytes, size_t *size)
{
	size_t before = ete->carried, more = sizeof(ete->carry) - before, at = 0, n = 1;
	int status = 0;

	if (more > *size)
		more = *size;
	memcpy(ete->carry + before, *bytes, more);
	while (at < before && n && !status) {
		status = decode_packet(ete, ete->carry + at, before + more - at, &n);
		at += n;
	}
	if (at < before) {
		ete->carried = before + more - at;
		memmove(ete->carry, ete->carry + at, ete->carried);
		at = before + more;
	} else {
		ete->carried = 0;
	}
	*bytes += at - before;
	*size -= at - before;
	return status;
}

int flowtap_ete_decode(struct flowtap_ete *ete, const uint8_t *bytes, size_t size)
{
	int status = ete->error;
	size_t used;

	while (!status && ete->carried && size)
		status = decode_carried(ete, &bytes, &size);
	if (!status && size) {
		status = decode_packets(ete, bytes, size, &used);
		if (!status && used < size) {
			ete->carried = size - used;
			memcpy(ete->carry, bytes + used, ete->carried);
		}
	}
	ete->error = status;
	return status;
}

int flowtap_ete_gap(struct flowtap_ete *ete, const struct flowtap_gap *gap)
{
	const struct flowtap_element element = { .kind = FLOWTAP_ELEMENT_GAP, .gap = *gap };
	int status = ete->error;

	if (status)
		return status;
	status = ete->sync == ETE_SYNCED ? interrupt(ete) : emit_loss(ete);
	if (!status) {
		ete->counts.gaps[gap->reason]++;
		status = ete_emit(ete, &element);
	}
	flowtap_ete_parser_init(&ete->parser, &ete->config);
	flowtap_ete_set_unknown_address(ete, ETE_ADDRESS_LOST, NULL);
	ete->sync = ETE_UNSYNCED;
	ete_set_direct(&ete->held, false);
	ete->carried = 0;
	ete->loss.silent = true;
	ete->error = status;
	return status;
}

int flowtap_ete_flush(struct flowtap_ete *ete)
{
	if (!ete->error && ete->sync == ETE_SYNCED) {
		ete->error = flowtap_ete_release_resolved(ete);
		/* A Mispredict element may concern what has gone on. */
		ete_forget_committed(&ete->held);
		update_direct(ete);
	}
	flowtap_ete_invalidate_code(ete);
	return ete->error;
}

static bool all_zero(const uint8_t *bytes, size_t size)
{
	while (size && !bytes[size - 1])
		size--;
	return !size;
}

/* The last packet has no end. Zeros may be what a buffer was filled up with. */
static bool is_cut_off(const struct flowtap_ete *ete)
{
	return ete->carried && ete->sync == ETE_SYNCED && !all_zero(ete->carry, ete->carried);
}

static int cut_off(struct flowtap_ete *ete)
{
	const struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = {
			.reason = FLOWTAP_GAP_TRUNCATED,
			.size = ete->carried,
			.detail = "the trace ends within a packet",
		},
	};

	ete->counts.gaps[FLOWTAP_GAP_TRUNCATED]++;
	return ete_emit(ete, &element);
}

/* The flow just ends before what is not resolved: that is no gap. */
static int end(struct flowtap_ete *ete)
{
	uint64_t speculative = ete_speculation_waiting(&ete->speculation);
	int status = flowtap_ete_cancel_all(ete);
	bool open = ete_transaction_waits(&ete->transaction);

	ete->counts.unresolved += speculative;
	ete->counts.cancelled -= speculative;
	if (status)
		return status;
	if (is_cut_off(ete))
		status = cut_off(ete);
	else if (open)
		status = flowtap_ete_emit_gap(ete, FLOWTAP_GAP_UNRESOLVED, 0,
					      "the trace ends within a transaction");
	else if (ete->carried && !all_zero(ete->carry, ete->carried))
		skip(ete, ete->carried);
	ete->counts.bytes += ete->carried;
	return status ? status : emit_loss(ete);
}

int flowtap_ete_finish(struct flowtap_ete *ete)
{
	if (!ete->error) {
		ete->error = end(ete);
		reset(ete);
	}
	return ete->error;
}

int flowtap_ete_session(struct flowtap_ete *ete)
{
	const struct flowtap_element element = { .kind = FLOWTAP_ELEMENT_SESSION };
	int status = flowtap_ete_finish(ete);

	return status ? status : ete_emit(ete, &element);
}
