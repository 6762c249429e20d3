// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Parses the packets of bytes that wait for the decoder, and lists their timestamps and the
 * breaks between them.
 */
#include "ete/ahead.h"

#include <string.h>

/* What a packet that cannot be there hides: more than anybody counts. */
#define UNKNOWN (1ULL << 32)
/* Of exceptions (K10.5.2.13.2): SVC and its like. */
#define CALL 2

void flowtap_ete_break_exception(struct ete_breaks *breaks, unsigned int type, bool known,
				      uint64_t address)
{
	breaks->all++;
	breaks->stopped = known && type != CALL;
	breaks->address = address;
	breaks->calls += !breaks->stopped;
}

void flowtap_ete_break_trace_on(struct ete_breaks *breaks)
{
	breaks->all++;
	breaks->calls += !breaks->stopped;
}

void flowtap_ete_break_end(struct ete_breaks *breaks, uint64_t address)
{
	breaks->calls += breaks->stopped && address != breaks->address;
	breaks->stopped = false;
}

void flowtap_ete_ahead_begin(struct ete_ahead *ahead,
				  const struct flowtap_ete_config *config)
{
	flowtap_ete_parser_init(&ahead->parser, config);
	ahead->size = ahead->parsed = 0;
	ahead->breaks = (struct ete_breaks){ 0 };
	ahead->informed = ahead->marker = ahead->left = false;
	ahead->first = ahead->n = ahead->unsure = 0;
}

/* Something was executed, or an exception taken: the trace had not stopped before. */
static void resume(struct ete_ahead *ahead, bool left)
{
	for (; ahead->unsure < ahead->n; ahead->unsure++)
		ahead->stamps[ahead->unsure].sure = true;
	ahead->left = left;
}

/* The last one that waits; NULL: none does. */
static struct ete_stamp *last_stamp(struct ete_ahead *ahead)
{
	return ahead->first < ahead->n ? &ahead->stamps[ahead->n - 1] : NULL;
}

static void stamp(struct ete_ahead *ahead, uint64_t ticks)
{
	struct ete_stamp *last = last_stamp(ahead);
	bool marked = ahead->marker;

	ahead->marker = false;
	if (!ahead->informed)
		return;
	/* Of equal ones only the first is found, and each look-up would go over all of them. */
	if (last && last->ticks == ticks) {
		last->marked |= marked;
		return;
	}
	/* A timestamp is one byte and more; the space of dropped ones is used again. */
	if (ahead->n == ETE_AHEAD && ahead->first) {
		ahead->n -= ahead->first;
		ahead->unsure -= ahead->unsure < ahead->first ? ahead->unsure : ahead->first;
		memmove(ahead->stamps, ahead->stamps + ahead->first,
			ahead->n * sizeof(ahead->stamps[0]));
		ahead->first = 0;
	}
	/* Else they are not being reached: the last ones are as good as none. */
	if (ahead->n < ETE_AHEAD)
		ahead->stamps[ahead->n++] = (struct ete_stamp){
			.ticks = ticks,
			.sure = ahead->left,
			.marked = marked,
			.all = ahead->breaks.all,
			.calls = ahead->breaks.calls,
		};
}

static void add_stamp(struct ete_ahead *ahead, const struct flowtap_ete_packet *packet)
{
	switch (packet->type) {
	case FLOWTAP_ETE_EXCEPTION:
		resume(ahead, true);
		flowtap_ete_break_exception(&ahead->breaks, packet->exception_type,
						 packet->has_address && !packet->address_unknown &&
						 packet->address.address, packet->address.address);
		break;
	case FLOWTAP_ETE_TRACE_ON:
		flowtap_ete_break_trace_on(&ahead->breaks);
		ahead->unsure = ahead->n;
		ahead->left = false;
		break;
	case FLOWTAP_ETE_ATOM_1:
	case FLOWTAP_ETE_ATOM_2:
	case FLOWTAP_ETE_ATOM_3:
	case FLOWTAP_ETE_ATOM_4:
	case FLOWTAP_ETE_ATOM_5_1:
	case FLOWTAP_ETE_ATOM_5_2:
	case FLOWTAP_ETE_ATOM_6:
	case FLOWTAP_ETE_Q:
	case FLOWTAP_ETE_SOURCE_EXACT:
	case FLOWTAP_ETE_SOURCE_SHORT:
	case FLOWTAP_ETE_SOURCE_LONG:
		resume(ahead, false);
		break;
	case FLOWTAP_ETE_CANCEL_1:
	case FLOWTAP_ETE_CANCEL_2:
	case FLOWTAP_ETE_CANCEL_3:
	case FLOWTAP_ETE_MISPREDICT:
		if (packet->atom_count)
			resume(ahead, false);
		break;
	case FLOWTAP_ETE_ADDRESS_CONTEXT:
	case FLOWTAP_ETE_TARGET_LONG:
	case FLOWTAP_ETE_TARGET_SHORT:
	case FLOWTAP_ETE_TARGET_EXACT:
		flowtap_ete_break_end(&ahead->breaks, packet->address.address);
		break;
	case FLOWTAP_ETE_RESERVED:
	case FLOWTAP_ETE_OVERFLOW:
	case FLOWTAP_ETE_DISCARD:
		ahead->breaks.all += UNKNOWN;
		ahead->breaks.calls += UNKNOWN;
		break;
	case FLOWTAP_ETE_TRACE_INFO:
		ahead->informed = true;
		break;
	case FLOWTAP_ETE_TIMESTAMP_MARKER:
		ahead->marker = true;
		break;
	case FLOWTAP_ETE_TIMESTAMP:
		stamp(ahead, packet->timestamp);
		break;
	default:
		break;
	}
}

size_t flowtap_ete_ahead_add(struct ete_ahead *ahead, const uint8_t *bytes, size_t size)
{
	size_t n = ETE_AHEAD - ahead->size, used;
	struct flowtap_ete_packet packet;

	n = size < n ? size : n;
	memcpy(ahead->bytes + ahead->size, bytes, n);
	ahead->size += n;
	while (ahead->parsed < ahead->size) {
		used = flowtap_ete_parse(&ahead->parser, ahead->bytes + ahead->parsed,
					 ahead->size - ahead->parsed, &packet);
		if (!used)
			break;
		ahead->parsed += used;
		add_stamp(ahead, &packet);
	}
	return n;
}

void flowtap_ete_ahead_drop(struct ete_ahead *ahead, size_t n)
{
	memmove(ahead->bytes, ahead->bytes + n, ahead->size - n);
	ahead->size -= n;
	ahead->parsed = ahead->parsed > n ? ahead->parsed - n : 0;
}

void flowtap_ete_ahead_advance(struct ete_ahead *ahead, uint64_t ticks)
{
	while (ahead->first < ahead->n && ahead->stamps[ahead->first].ticks < ticks)
		ahead->first++;
}

const struct ete_stamp *flowtap_ete_ahead_next(const struct ete_ahead *ahead,
							 const uint64_t *ticks)
{
	for (size_t i = ahead->first; i < ahead->n; i++)
		if (!ticks || ahead->stamps[i].ticks > *ticks)
			return &ahead->stamps[i];
	return NULL;
}

const struct ete_stamp *flowtap_ete_ahead_at(const struct ete_ahead *ahead,
						       uint64_t ticks)
{
	if (ahead->first == ahead->n || ahead->stamps[ahead->first].ticks != ticks)
		return NULL;
	return &ahead->stamps[ahead->first];
}
