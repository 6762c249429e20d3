// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The decoder's entry, of ETE and ETMv4: bytes in pieces to packets, where decoding begins and
 * resumes, and what was lost in between.
 *
 * Decoding begins at an Alignment Sync and the Trace Info after it (K10.5.1.1). Bytes that do not
 * lead there, from a damaged packet or from the first byte on, become one gap, which is emitted
 * when decoding resumes or ends.
 */
#include <errno.h>
#include <stdlib.h>

#include "ete/internal.h"
#include "ete/packet_fields.h"

#define TRANSACTION_CAPACITY (1U << 20)
#define ARCHITECTURE 0x5a13		/* TRCDEVARCH.ARCHID: ETE */
#define CONFIGR_INSTP0 (3U << 1)
#define CONFIGR_COND (7U << 8)
#define CONFIGR_DATA (3U << 16)		/* DA, DV */
#define CONFIGR_RS (1U << 12)		/* the return stack is used */
#define IDR2_WFXMODE (1U << 31)

bool flowtap_ete_wfx_is_p0(const struct flowtap_ete_config *config)
{
	return config->idr2 & IDR2_WFXMODE;
}

/* TRCIDR2's sizes in bytes: no others are in IHI 0064, nor in the ETE's registers. */
static const char *unsupported_size(const struct flowtap_ete_config *config)
{
	const unsigned int vmid = ete_vmid_size(config), contextid = ete_contextid_size(config);

	if (contextid && contextid != 4)
		return "TRCIDR2.CIDSIZE: a Context ID has 32 bits, or there is none";
	if (!vmid || vmid == 4)
		return NULL;
	if (!flowtap_ete_is_etm4(config))
		return "TRCIDR2.VMIDSIZE: an ETE's VMID has 32 bits, or there is none";
	return vmid <= 2 ? NULL : "TRCIDR2.VMIDSIZE: a VMID has 8, 16 or 32 bits, or there is none";
}

_Static_assert(FLOWTAP_ETE_SPECULATION_MAX == 4096, "as it is told");

/* TRCIDR8 is all MAXSPEC. */
const char *flowtap_ete_unsupported(const struct flowtap_ete_config *config)
{
	const bool etm4 = flowtap_ete_is_etm4(config);

	if (config->devarch && (config->devarch & 0xffff) != ARCHITECTURE && !etm4)
		return "TRCDEVARCH.ARCHID: it is neither an ETE nor an ETMv4";
	if (config->idr8 > FLOWTAP_ETE_SPECULATION_MAX)
		return "TRCIDR8.MAXSPEC: more than 4096 P0 elements may be speculative";
	if (etm4 && config->configr & CONFIGR_INSTP0)
		return "TRCCONFIGR.INSTP0: loads or stores are P0 elements";
	if (etm4 && config->configr & CONFIGR_COND)
		return "TRCCONFIGR.COND: conditional instructions are traced";
	if (etm4 && config->configr & CONFIGR_DATA)
		return "TRCCONFIGR.DA, DV: data trace is on";
	return unsupported_size(config);
}

/* Drops all that is known of the trace. */
static void reset(struct flowtap_ete *ete)
{
	const struct flowtap_context none = { 0 };

	flowtap_ete_stream_begin(&ete->stream, &ete->config);
	ete_set_direct(&ete->held, false);
	ete_restart_elements(&ete->elements);
	ete_discard_committed(&ete->held);
	flowtap_ete_transaction_drop(ete);
	ete_invalidate_context(&ete->position);
	flowtap_ete_returns_init(&ete->returns, ete->config.configr & CONFIGR_RS);
	flowtap_ete_views_select(&ete->views, &none);
	flowtap_ete_invalidate_code(ete);
	ete->after_q = 0;
	flowtap_ete_set_unknown_address(&ete->position, ETE_ADDRESS_MISSING,
					"the trace begins without an address");
}

int flowtap_ete_new(const struct flowtap_ete_config *config,
		    const struct flowtap_ete_options *options,
		    const struct flowtap_ete_images *images, struct flowtap_blocks *blocks,
		    struct flowtap_sink *sink, struct flowtap_ete **ete)
{
	struct flowtap_ete *new;

	*ete = NULL;
	if (flowtap_ete_unsupported(config))
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
	flowtap_ete_elements_init(&new->elements, config);
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

/* Decoding resumes, or ends. */
static int emit_loss(struct flowtap_ete *ete)
{
	struct flowtap_element element = { .kind = FLOWTAP_ELEMENT_GAP };

	if (!flowtap_ete_stream_end_loss(&ete->stream, &element.gap))
		return 0;
	ete->counts.gaps[element.gap.reason]++;
	flowtap_ete_set_unknown_address(&ete->position, ETE_ADDRESS_LOST, NULL);
	return ete_emit(ete, &element);
}

/* What came before is resolved as far as it can be. */
static int interrupt(struct flowtap_ete *ete)
{
	int status = flowtap_ete_cancel_all(ete);

	flowtap_ete_transaction_drop(ete);
	ete_restart_elements(&ete->elements);
	ete_invalidate_context(&ete->position);
	ete_clear_returns(&ete->returns);
	flowtap_ete_invalidate_code(ete);
	ete->after_q = 0;
	flowtap_ete_set_unknown_address(&ete->position, ETE_ADDRESS_LOST, NULL);
	return status;
}

/* A packet that cannot be there: decoding resumes at the next Alignment Sync. */
static int bad_packet(struct flowtap_ete *ete, const uint8_t *bytes, size_t size)
{
	int status = 0;

	ete->counts.bad_packets++;
	if (ete_sync(&ete->stream) == ETE_SYNCED)
		status = interrupt(ete);
	flowtap_ete_stream_reject(&ete->stream, bytes, size, ete->counts.bytes);
	return status;
}

/*
 * After a Discard, or where the trace begins. Within a loss it is part of that, and what is skipped
 * after it is part of this one: one gap for one hole.
 */
static int overflow_before_trace_info(struct flowtap_ete *ete)
{
	int status;

	if (ete->position.state == ETE_ADDRESS_LOST)
		return 0;
	status = emit_loss(ete);
	if (!status)
		status = flowtap_ete_emit_overflow(ete);
	flowtap_ete_stream_silence(&ete->stream);
	return status;
}

/* Events may come before the first Trace Info (K10.5.9), all else says nothing without one. */
static int before_trace_info(struct flowtap_ete *ete, size_t size)
{
	int status;

	switch (ete->stream.packet.type) {
	case FLOWTAP_ETE_TRACE_INFO:
		ete_set_sync(&ete->stream, ETE_SYNCED);
		status = emit_loss(ete);
		return status ? status : flowtap_ete_element(ete, &ete->stream.packet);
	case FLOWTAP_ETE_EVENT:
		return flowtap_ete_element(ete, &ete->stream.packet);
	case FLOWTAP_ETE_TIMESTAMP:
	case FLOWTAP_ETE_TIMESTAMP_MARKER:
	case FLOWTAP_ETE_INSTRUMENTATION:
	case FLOWTAP_ETE_CYCLE_COUNT_1:
	case FLOWTAP_ETE_CYCLE_COUNT_2:
	case FLOWTAP_ETE_CYCLE_COUNT_3:
		/* Nothing is there that a Commit could concern. */
		ete_drop_commit(&ete->stream);
		if (ete_sync(&ete->stream) == ETE_DISCARDED)
			return flowtap_ete_element(ete, &ete->stream.packet);
		flowtap_ete_stream_skip(&ete->stream, size);
		return 0;
	case FLOWTAP_ETE_OVERFLOW:
		return overflow_before_trace_info(ete);
	case FLOWTAP_ETE_DISCARD:
	case FLOWTAP_ETE_IGNORE:
	case FLOWTAP_ETE_BRANCH_FUTURE_FLUSH:
	case FLOWTAP_ETE_ALIGNMENT_SYNC:
	case FLOWTAP_ETE_ALIGNMENT_ZEROS:
		return 0;
	default:
		flowtap_ete_stream_skip(&ete->stream, size);
		return 0;
	}
}

static int process_packet(struct flowtap_ete *ete, const uint8_t *bytes, size_t size)
{
	switch (ete->stream.packet.type) {
	case FLOWTAP_ETE_NOT_SYNCED:
		flowtap_ete_stream_skip(&ete->stream, size);
		return 0;
	case FLOWTAP_ETE_RESERVED:
		return bad_packet(ete, bytes, size);
	case FLOWTAP_ETE_ALIGNMENT_SYNC:
		ete->counts.syncs++;
		if (ete_sync(&ete->stream) == ETE_UNSYNCED)
			ete_set_sync(&ete->stream, ETE_ALIGNED);
		return 0;
	default:
		break;
	}
	if (ete_sync(&ete->stream) != ETE_SYNCED)
		return before_trace_info(ete, size);
	return flowtap_ete_element(ete, &ete->stream.packet);
}

/* Whether atoms need no queue, as soon as it is empty. */
static bool is_direct(const struct flowtap_ete *ete)
{
	return ete_sync(&ete->stream) == ETE_SYNCED && !ete_speculates(&ete->speculation) &&
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
	ete->counts.packets += ete->stream.packet.type != FLOWTAP_ETE_NOT_SYNCED;
	update_direct(ete);
	return status;
}

/* One packet. *used 0: more bytes are needed. */
static int decode_packet(struct flowtap_ete *ete, const uint8_t *bytes, size_t size, size_t *used)
{
	*used = ete_parse(&ete->stream, bytes, size);
	return *used ? finish_packet(ete, bytes, *used) : 0;
}

/* As many packets as there are; *used bytes, the rest is no whole packet. */
static int decode_packets(struct flowtap_ete *ete, const uint8_t *bytes, size_t size, size_t *used)
{
	size_t at = 0, n, parsed = 0;
	int status = 0;

	while (at < size && !status) {
		if (!ete_is_direct(&ete->held) && is_direct(ete) &&
		    flowtap_ete_atoms[bytes[at]].count) {
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
	size_t before = ete_carried(&ete->stream), at = 0, n = 1, all;
	int status = 0;

	all = flowtap_ete_stream_fill(&ete->stream, *bytes, *size);
	while (at < before && n && !status) {
		status = decode_packet(ete, ete->stream.carry + at, all - at, &n);
		at += n;
	}
	n = flowtap_ete_stream_advance(&ete->stream, at, all);
	*bytes += n;
	*size -= n;
	return status;
}

int flowtap_ete_decode(struct flowtap_ete *ete, const uint8_t *bytes, size_t size)
{
	int status = ete->error;
	size_t used;

	while (!status && ete_carried(&ete->stream) && size)
		status = decode_carried(ete, &bytes, &size);
	if (!status && size) {
		status = decode_packets(ete, bytes, size, &used);
		if (!status && used < size)
			flowtap_ete_stream_keep(&ete->stream, bytes + used, size - used);
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
	status = ete_sync(&ete->stream) == ETE_SYNCED ? interrupt(ete) : emit_loss(ete);
	if (!status) {
		ete->counts.gaps[gap->reason]++;
		status = ete_emit(ete, &element);
	}
	/* A packet that has no end: the offsets after it count its bytes. */
	ete->counts.bytes += ete_carried(&ete->stream);
	flowtap_ete_stream_begin(&ete->stream, &ete->config);
	flowtap_ete_stream_silence(&ete->stream);
	flowtap_ete_set_unknown_address(&ete->position, ETE_ADDRESS_LOST, NULL);
	ete_set_direct(&ete->held, false);
	ete->error = status;
	return status;
}

int flowtap_ete_flush(struct flowtap_ete *ete)
{
	if (!ete->error && ete_sync(&ete->stream) == ETE_SYNCED) {
		ete->error = flowtap_ete_release_resolved(ete);
		/* A Mispredict element may concern what has gone on. */
		ete_discard_committed(&ete->held);
		update_direct(ete);
	}
	flowtap_ete_invalidate_code(ete);
	/* Others may empty the block cache before the next bytes come. */
	flowtap_ete_returns_invalidate_blocks(&ete->returns);
	return ete->error;
}

/* The last packet has no end. */
static int cut_off(struct flowtap_ete *ete)
{
	const struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = {
			.reason = FLOWTAP_GAP_TRUNCATED,
			.size = ete_carried(&ete->stream),
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
	size_t unfinished = flowtap_ete_stream_unfinished(&ete->stream);
	int status = flowtap_ete_cancel_all(ete);
	bool open = ete_transaction_waits(&ete->transaction);

	ete->counts.unresolved += speculative;
	ete->counts.cancelled -= speculative;
	if (status)
		return status;
	if (unfinished && ete_sync(&ete->stream) == ETE_SYNCED)
		status = cut_off(ete);
	else if (open)
		status = flowtap_ete_emit_gap(ete, FLOWTAP_GAP_UNRESOLVED, 0,
					      "the trace ends within a transaction");
	else if (unfinished)
		flowtap_ete_stream_skip(&ete->stream, unfinished);
	ete->counts.bytes += ete_carried(&ete->stream);
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
