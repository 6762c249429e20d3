// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The fast path, where nothing is speculative and nothing waits: atoms, addresses, cycle counts
 * and the like from the bytes to the blocks. Of all that is committed the last P0 element waits
 * (internal.h), and one element after it that is none.
 */
#include "ete/block_chain.h"

static const struct ete_follow followed_by_p0 = { .kind = ETE_FOLLOW_P0 };

/* Atoms, the last of which another P0 element follows. */
static int walk(struct flowtap_ete *ete, uint64_t taken, unsigned int n)
{
	unsigned int done;
	int status = 0;

	for (;;) {
		if (!ete->position.block)
			ete_find_target(ete);
		done = ete_follow_chain(ete, taken, n, &status);
		n -= done;
		if (!n || status)
			return status;
		taken >>= done;
		status = flowtap_ete_atom(ete, taken & 1, taken & 1, &followed_by_p0);
		if (!--n || status)
			return status;
		taken >>= 1;
	}
}

/* Analyzes the held element, which an address or another P0 element follows. */
static int release_held(struct flowtap_ete *ete, const struct ete_follow *follow)
{
	uint8_t held = ete->held.kind;
	bool taken = ete->held.taken, initial = ete->held.initial;
	struct flowtap_block *block;

	ete->held.kind = ETE_NONE;
	if (held == ETE_NONE)
		return 0;
	if (held != ETE_ATOMS)
		return flowtap_ete_analyze(ete, &ete->held.entry, follow);
	if (follow->kind == ETE_FOLLOW_P0 && taken == initial)
		return walk(ete, taken, 1);
	block = ete->position.block;
	if (follow->kind == ETE_FOLLOW_ADDRESS && block && taken && ete_is_jump(block))
		return ete_jump_to(ete, block, initial, follow->address, follow->sub_isa);
	return flowtap_ete_atom(ete, taken, initial, follow);
}

/* Analyzes the held element and what came after it, then sets the address that came. */
static int flush_held(struct flowtap_ete *ete)
{
	struct ete_follow follow = followed_by_p0;
	int status;

	if (ete->held.next_known)
		follow = (struct ete_follow){
			.kind = ETE_FOLLOW_ADDRESS,
			.sub_isa = ete->held.next_sub_isa,
			.address = ete->held.next_address,
		};
	ete->held.next_known = false;
	status = release_held(ete, &follow);
	if (!status && ete->after_held.kind != ETE_NONE)
		status = flowtap_ete_analyze(ete, &ete->after_held, NULL);
	ete->after_held.kind = ETE_NONE;
	if (follow.kind == ETE_FOLLOW_ADDRESS &&
	    (ete->position.block || ete->position.state != ETE_ADDRESS_KNOWN ||
	     ete->position.address != follow.address || ete->position.sub_isa != follow.sub_isa))
		ete_set_address(&ete->position, follow.address, follow.sub_isa);
	return status;
}

/* The atoms of some packets, 64 at most. */
static int decode_atoms(struct flowtap_ete *ete, uint64_t taken, unsigned int count)
{
	bool last = taken >> (count - 1) & 1;
	unsigned int n = count - 1;
	int status = 0;

	ete_took_atoms(&ete->stream);
	ete->held.any = true;
	ete->counts.atoms += count;
	if (ete->held.next_known || ete->held.kind > ETE_ATOMS || ete->after_held.kind != ETE_NONE ||
	    (ete->held.kind == ETE_ATOMS && ete->held.initial != ete->held.taken)) {
		status = flush_held(ete);
	} else if (ete->held.kind != ETE_NONE) {
		taken = taken << 1 | ete->held.taken;
		n++;
	}
	ete_hold_atom(&ete->held, last, last);
	return n && !status ? walk(ete, taken, n) : status;
}

/* A Source Address is held as an atom is. */
static int hold_source(struct flowtap_ete *ete)
{
	int status = flush_held(ete);

	ete->held.any = true;
	ete->held.kind = ETE_SOURCE;
	ete->held.entry = (struct ete_entry){
		.kind = ETE_SOURCE,
		.count = 1,
		.taken = true,
		.sub_isa = ete->stream.packet.address.sub_isa,
		.value = ete->stream.packet.address.address,
	};
	return status;
}

static bool is_target(enum flowtap_ete_packet_type type)
{
	return type == FLOWTAP_ETE_TARGET_LONG || type == FLOWTAP_ETE_TARGET_SHORT ||
	       type == FLOWTAP_ETE_TARGET_EXACT;
}

static bool is_source(enum flowtap_ete_packet_type type)
{
	return type == FLOWTAP_ETE_SOURCE_LONG || type == FLOWTAP_ETE_SOURCE_SHORT ||
	       type == FLOWTAP_ETE_SOURCE_EXACT;
}

/* What is not atoms: *used 0 if it is none of these, and the next packet then. */
static int decode_other(struct flowtap_ete *ete, const uint8_t *bytes, size_t size, size_t *used,
			size_t *parsed)
{
	const struct flowtap_ete_packet *packet = &ete->stream.packet;
	enum flowtap_ete_packet_type type = ete_header_type(&ete->stream, *bytes);
	size_t n;

	*used = 0;
	if (size < FLOWTAP_ETE_PACKET_MAX ||
	    !(is_target(type) || is_source(type) ||
	      (ete_is_time_or_event(type) && ete->after_held.kind == ETE_NONE)))
		return 0;
	n = ete_parse(&ete->stream, bytes, size);
	/* A value that returns is for the queue (elements.c). */
	if (packet->type != type ||
	    (is_target(type) && ete_is_return_value(ete, packet->address.address))) {
		*parsed = n;
		return 0;
	}
	*used = n;
	if (is_source(type))
		return hold_source(ete);
	if (is_target(type)) {
		ete_set_next_address(&ete->held, packet->address.address,
				     packet->address.sub_isa);
	} else {
		/* What a Cycle Count commits was committed already. */
		ete->after_held = flowtap_ete_time_or_event(packet);
	}
	return 0;
}

/* From here on all goes by the queue. */
static int queue_after_held(struct flowtap_ete *ete)
{
	const struct ete_entry after_held = ete->after_held;

	ete->after_held.kind = ETE_NONE;
	if (after_held.kind == ETE_NONE)
		return 0;
	ete_set_direct(&ete->held, false);
	return flowtap_ete_push(ete, &after_held);
}

/* As many packets of atoms as there are, 64 atoms at most. */
static inline const uint8_t *gather_atoms(const uint8_t *at, const uint8_t *end, uint64_t *taken,
					  unsigned int *count)
{
	struct flowtap_ete_atoms atoms;
	unsigned int n = 0;
	uint64_t e = 0;

	while (at < end) {
		atoms = flowtap_ete_atoms[*at];
		if (!atoms.count || n + atoms.count > 64)
			break;
		e |= (uint64_t)atoms.taken << n;
		n += atoms.count;
		at++;
	}
	*taken = e;
	*count = n;
	return at;
}

int flowtap_ete_fast_path(struct flowtap_ete *ete, const uint8_t *bytes, size_t size, size_t *used,
			  size_t *parsed)
{
	const uint8_t *at = bytes, *end = bytes + size, *before;
	unsigned int count;
	uint64_t taken;
	int status = 0;
	size_t n;

	*parsed = 0;
	while (at < end && !status) {
		before = at;
		at = gather_atoms(at, end, &taken, &count);
		ete->counts.packets += at - before;
		if (count) {
			status = decode_atoms(ete, taken, count);
			continue;
		}
		status = decode_other(ete, at, end - at, &n, parsed);
		if (!n)
			break;
		at += n;
		ete->counts.packets++;
	}
	if (!status)
		status = queue_after_held(ete);
	*used = at - bytes;
	ete->counts.bytes += *used;
	return status;
}
