// SPDX-License-Identifier: GPL-2.0-or-later
/* Atoms into packets (K10.5.2.10): all ways to say the next ones, then the longest or any. */
#include "encoder_internal.h"

struct atom_packet {
	uint8_t header;
	uint8_t atoms;
	uint8_t packet;
};

/* The patterns of formats 4 and 5, the first atom in bit 0. */
static const struct {
	uint8_t header;
	uint8_t atoms;
	uint8_t pattern;
	uint8_t packet;
} patterns[] = {
	{ 0xdc, 4, 0x0e, PACKET_ATOM_4 },	/* N E E E */
	{ 0xdd, 4, 0x00, PACKET_ATOM_4 },	/* N N N N */
	{ 0xde, 4, 0x0a, PACKET_ATOM_4 },	/* N E N E */
	{ 0xdf, 4, 0x05, PACKET_ATOM_4 },	/* E N E N */
	{ 0xf5, 5, 0x1e, PACKET_ATOM_5_1 },	/* N E E E E */
	{ 0xd5, 5, 0x00, PACKET_ATOM_5_2 },	/* N N N N N */
	{ 0xd6, 5, 0x0a, PACKET_ATOM_5_2 },	/* N E N E N */
	{ 0xd7, 5, 0x15, PACKET_ATOM_5_2 },	/* E N E N E */
};

/* Format 6 has COUNT + 3 times E, then E or N, with COUNT up to 20. */
#define SIX_LEAST	3
#define SIX_MOST	23

static unsigned int format_six(uint64_t atoms, unsigned int n, struct atom_packet *ways)
{
	unsigned int run = ~atoms ? __builtin_ctzll(~atoms) : 64;
	unsigned int found = 0;

	if (run > n)
		run = n;
	for (unsigned int e = SIX_LEAST; e <= SIX_MOST && e < run; e++)
		ways[found++] = (struct atom_packet){ 0xc0 + e - 3, e + 1, PACKET_ATOM_6_E };
	if (run >= SIX_LEAST && run <= SIX_MOST && run < n)
		ways[found++] = (struct atom_packet){ 0xe0 + run - 3, run + 1, PACKET_ATOM_6_N };
	return found;
}

static unsigned int ways_of(uint64_t atoms, unsigned int n, struct atom_packet *ways)
{
	unsigned int found = 0;

	ways[found++] = (struct atom_packet){ 0xf6 | (atoms & 1), 1, PACKET_ATOM_1 };
	if (n >= 2)
		ways[found++] = (struct atom_packet){ 0xd8 | (atoms & 3), 2, PACKET_ATOM_2 };
	if (n >= 3)
		ways[found++] = (struct atom_packet){ 0xf8 | (atoms & 7), 3, PACKET_ATOM_3 };
	for (unsigned int i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (n >= patterns[i].atoms &&
		    (atoms & ((1U << patterns[i].atoms) - 1)) == patterns[i].pattern)
			ways[found++] = (struct atom_packet){ patterns[i].header, patterns[i].atoms,
							      patterns[i].packet };
	return found + format_six(atoms, n, ways + found);
}

static unsigned int one_packet(struct encoder *encoder, unsigned int n)
{
	struct atom_packet ways[3 + 8 + SIX_MOST + 1];
	unsigned int found = ways_of(encoder->atoms, n, ways);
	unsigned int best = 0;

	for (unsigned int i = 1; i < found; i++)
		if (ways[i].atoms > ways[best].atoms)
			best = i;
	if (!encoder->options.shortest && rng_one_in(&encoder->rng, 2))
		best = rng_below(&encoder->rng, found);
	packet_byte(encoder, ways[best].header);
	encoder->counts[ways[best].packet]++;
	encoder->atoms >>= ways[best].atoms;
	encoder->natoms -= ways[best].atoms;
	return ways[best].atoms;
}

void packet_atoms(struct encoder *encoder, unsigned int but)
{
	while (encoder->natoms > but)
		one_packet(encoder, encoder->natoms - but);
	if (!encoder->natoms)
		encoder->committed = encoder->resolved;
}

void packet_atom(struct encoder *encoder, bool taken)
{
	if (encoder->natoms == 48)
		one_packet(encoder, encoder->natoms);
	encoder->atoms &= (1ULL << encoder->natoms) - 1;
	encoder->atoms |= (uint64_t)taken << encoder->natoms++;
}
