// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes at all are taken apart into packets: the parser reads nothing beyond them, always goes
 * on, and finds the same packets however many bytes it is given at once.
 *
 * Input: 4 bytes of options, then the stream: flags (bit 0: COMMOPT, 1: ETMv4, 2: of the M profile,
 * 3, 4: how many bytes a VMID has, 5: whether there is a Context ID), MAXSPEC, how the pieces are
 * cut, and an ETMv4's minor version.
 */
#include <flowtap/ete_packet.h>
#include <stdlib.h>
#include <string.h>

#include "support/golden.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n);

struct counts {
	uint64_t packets;
	uint64_t hash;
};

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void mix(struct counts *counts, uint64_t value)
{
	counts->hash = (counts->hash ^ value) * 0x9e3779b97f4a7c15;
	counts->hash ^= counts->hash >> 29;
}

static void count(struct counts *counts, const struct flowtap_ete_packet *packet)
{
	check(packet->type < FLOWTAP_ETE_PACKET_TYPES && packet->type != FLOWTAP_ETE_INCOMPLETE);
	check(flowtap_ete_packet_name(packet->type) != NULL);
	check(packet->atom_count <= 24);
	check((packet->type == FLOWTAP_ETE_RESERVED) == (packet->reason != NULL) ||
	      packet->type != FLOWTAP_ETE_RESERVED);
	/* What is skipped, and the zeros of a long Alignment Sync, come as the pieces do. */
	if (packet->type == FLOWTAP_ETE_NOT_SYNCED || packet->type == FLOWTAP_ETE_ALIGNMENT_ZEROS)
		return;
	counts->packets++;
	mix(counts, packet->type);
	mix(counts, packet->atoms | (uint64_t)packet->atom_count << 32);
	mix(counts, packet->commit | (uint64_t)packet->cancel << 32);
	if (packet->has_address)
		mix(counts, packet->address.address + packet->address.sub_isa);
	if (packet->type == FLOWTAP_ETE_EXCEPTION)
		flowtap_ete_exception_name(false, packet->exception_type);
}

/* As a decoder does it: what an unfinished packet leaves is given again, with more after it. */
static void parse(const struct flowtap_ete_config *config, const uint8_t *bytes, size_t size,
		  size_t piece, struct counts *counts)
{
	struct flowtap_ete_parser parser;
	struct flowtap_ete_packet packet;
	size_t have = 0, at = 0, used;
	uint8_t *copy;

	flowtap_ete_parser_init(&parser, config);
	while (at < size) {
		/* Exactly as large, so that a byte read beyond is found. */
		have = have + piece < size - at ? have + piece : size - at;
		copy = malloc(have);
		memcpy(copy, bytes + at, have);
		for (size_t done = 0; done < have; done += used) {
			used = flowtap_ete_parse(&parser, copy + done, have - done, &packet);
			check(used <= have - done);
			if (!used) {
				check(packet.type == FLOWTAP_ETE_INCOMPLETE ||
				      packet.type == FLOWTAP_ETE_NOT_SYNCED);
				check(have - done < FLOWTAP_ETE_PACKET_MAX);
				have -= done;
				at += done;
				goto more;
			}
			check(used == packet.size);
			count(counts, &packet);
		}
		at += have;
		have = 0;
more:
		free(copy);
		if (at + have == size)
			break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct flowtap_ete_config config = { .traceidr = 1 };
	static const uint32_t vmid_sizes[4] = { 0, 1, 2, 4 };
	struct counts whole = { 0 }, pieces = { 0 };

	if (size < 4)
		return 0;
	config.idr0 = data[0] & 1 ? 1U << 29 : 0;
	config.idr8 = data[1];
	config.devarch = data[0] & 2 ? FLOWTAP_ETM4_DEVARCH : 0;
	config.m_profile = data[0] & 4;
	config.idr2 = vmid_sizes[data[0] >> 3 & 3] << 10 | (data[0] & 0x20 ? 4U << 5 : 0);
	config.idr1 = (data[3] & 0xfU) << 4;
	parse(&config, data + 4, size - 4, size, &whole);
	parse(&config, data + 4, size - 4, 1 + data[2] % 40, &pieces);
	check(whole.packets == pieces.packets && whole.hash == pieces.hash);
	return 0;
}

/* The streams of golden files. */
size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	static const char *const names[] = {
		"atom-formats", "cancel-2", "context-identifiers", "cycle-counts-commit",
		"exact-match", "instrumentation", "mispredict", "q", "q-t32", "source-address-64",
		"source-address-t32", "table-k10-18", "timestamps", "wrapped-start",
		"etm4-conditional", "etm4-exception-return", "etm4-loops", "etm4-m-profile",
		"etm4-return-stack", "etm4-speculative-returns",
	};
	char name[64];
	struct golden *golden;
	size_t size;

	if (n >= sizeof(names) / sizeof(names[0]))
		return 0;
	snprintf(name, sizeof(name), "%s.golden", names[n]);
	golden = golden_load(name);
	/* 0 would be the end of them: those behind one that is gone would be, too. */
	check(golden && golden->size + 4 <= capacity);
	size = golden->size + 4;
	buffer[0] = (golden->config.idr0 >> 29 & 1) | flowtap_ete_is_etm4(&golden->config) << 1 |
		    golden->config.m_profile << 2 | 0x38;
	buffer[1] = golden->config.idr8 & 0xff;
	buffer[2] = n;
	buffer[3] = golden->config.idr1 >> 4 & 0xf;
	memcpy(buffer + 4, golden->stream, golden->size);
	free(golden);
	return size;
}
