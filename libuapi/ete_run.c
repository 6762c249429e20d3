// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The shortest way, where nothing is speculative and nothing waits: atoms and target addresses from
 * the bytes to the walk. Of all that is committed the last atom waits (ete_internal.h).
 */
#include "ete_chain.h"

static const struct ete_follow another = { .kind = ETE_FOLLOW_P0 };

/*
 * The held element goes on, with the address behind it, where the analysis then is, or another P0
 * element.
 */
static int settle(struct flowtap_ete *ete)
{
	struct ete_follow follow = another;
	uint8_t held = ete->held;
	int status = 0;

	if (ete->next_known)
		follow = (struct ete_follow){ ETE_FOLLOW_ADDRESS, ete->next_sub_isa,
					      ete->next_address };
	ete->next_known = false;
	ete->held = ETE_NONE;
	if (held == ETE_ATOMS)
		status = flowtap_ete_atom(ete, ete->held_taken, ete->held_initial, &follow);
	else if (held != ETE_NONE)
		status = flowtap_ete_analyze(ete, &ete->held_entry, &follow);
	if (follow.kind == ETE_FOLLOW_ADDRESS &&
	    (ete->block || ete->where != ETE_KNOWN || ete->address != follow.address ||
	     ete->sub_isa != follow.sub_isa))
		ete_go(ete, follow.address, follow.sub_isa);
	return status;
}

/* A packet of atoms. */
static inline int run(struct flowtap_ete *ete, uint32_t taken, unsigned int count)
{
	bool last = taken >> (count - 1) & 1;
	unsigned int n = count - 1, done;
	int status = 0;

	if (ete->next_known || ete->held > ETE_ATOMS ||
	    (ete->held == ETE_ATOMS && ete->held_initial != ete->held_taken)) {
		status = settle(ete);
	} else if (ete->held != ETE_NONE) {
		taken = taken << 1 | ete->held_taken;
		n++;
	}
	ete->held = ETE_ATOMS;
	ete->held_taken = last;
	ete->held_initial = last;
	while (n && !status) {
		if (!ete->block)
			ete_land(ete);
		done = ete_chain(ete, taken, n, &status);
		taken >>= done;
		n -= done;
		if (!n || status)
			break;
		status = flowtap_ete_atom(ete, taken & 1, taken & 1, &another);
		taken >>= 1;
		n--;
	}
	return status;
}

static bool is_target(const struct flowtap_ete_packet *packet)
{
	return packet->type == FLOWTAP_ETE_TARGET_LONG ||
	       packet->type == FLOWTAP_ETE_TARGET_SHORT || packet->type == FLOWTAP_ETE_TARGET_EXACT;
}

static bool is_source(const struct flowtap_ete_packet *packet)
{
	return packet->type == FLOWTAP_ETE_SOURCE_LONG ||
	       packet->type == FLOWTAP_ETE_SOURCE_SHORT || packet->type == FLOWTAP_ETE_SOURCE_EXACT;
}

/* A Source Address is held as an atom is. */
static int source(struct flowtap_ete *ete)
{
	int status = settle(ete);

	ete->any = true;
	ete->held = ETE_SOURCE;
	ete->held_entry = (struct ete_entry){
		.kind = ETE_SOURCE,
		.count = 1,
		.taken = true,
		.sub_isa = ete->packet.address.sub_isa,
		.value = ete->packet.address.address,
	};
	return status;
}

/* What is not atoms: *used 0 if it is no address either. */
static int address(struct flowtap_ete *ete, const uint8_t *bytes, size_t size, size_t *used,
		   size_t *parsed)
{
	const struct flowtap_ete_packet *header = &flowtap_ete_headers[*bytes];
	size_t n;

	*used = 0;
	if (size < FLOWTAP_ETE_PACKET_MAX || !(is_target(header) || is_source(header)))
		return 0;
	n = flowtap_ete_parse(&ete->parser, bytes, size, &ete->packet);
	if (is_source(&ete->packet)) {
		*used = n;
		return source(ete);
	}
	if (!is_target(&ete->packet)) {
		*parsed = n;
		return 0;
	}
	*used = n;
	ete->next_known = true;
	ete->next_address = ete->packet.address.address;
	ete->next_sub_isa = ete->packet.address.sub_isa;
	return 0;
}

int flowtap_ete_run(struct flowtap_ete *ete, const uint8_t *bytes, size_t size, size_t *used,
		    size_t *parsed)
{
	const struct flowtap_ete_atoms *atoms;
	uint64_t packets = 0, n_atoms = 0;
	size_t at = 0, n;
	bool atoms_last = false;
	int status = 0;

	*parsed = 0;
	while (at < size && !status) {
		atoms = &flowtap_ete_atoms[bytes[at]];
		if (atoms->count) {
			at++;
			n_atoms += atoms->count;
			status = run(ete, atoms->taken, atoms->count);
			atoms_last = true;
		} else {
			status = address(ete, bytes + at, size - at, &n, parsed);
			at += n;
			if (n || *parsed)
				atoms_last = false;
			if (!n)
				break;
		}
		packets++;
	}
	/* Those that end an address are the parser's to know. */
	if (atoms_last)
		ete->parser.zeros = 0;
	if (n_atoms)
		ete->any = true;
	ete->counts.bytes += at;
	ete->counts.packets += packets;
	ete->counts.atoms += n_atoms;
	*used = at;
	return status;
}
