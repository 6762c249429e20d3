// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the same packets come out of an ETE's bytes however they are cut; that no bytes at all
 * crash the parser, make it stand still or keep it from the next Alignment Sync; and that every
 * byte of the public traces is in a packet.
 */
#include "support/ete_packet.h"

#include "support/corpus.h"
#include "support/hex.h"

#include "support/kselftest_harness.h"
#include "support/random.h"
#include "support/seed.h"

static const struct flowtap_ete_config plain;

/* Every packet, every part of one that is there or not, and damage. */
static const char *const stream =
	"f7 00 0001 00" SYNC INFO "01090104 010d41 8301 8502 04 0a 0b 70 88 0003 0005 75"
	"9d0102030405060708 9e0102030405060708 9a01020304 9b01020304 9505 958581 96858192 91 90"
	"b80102030405060708 b58581 b405 b601000000 b701000000 b90102030405060708 b0"
	"8172 78563412 81b0 efcdab89 81f1 04030201 08070605 8110 80"
	"860102030405060708f1 01000000 02000000 820102030431"
	"064285 0102030405060708 f1 01000000 02000000 060170 061d90 065c958101 065c9b01020304"
	"0205 02ffffffffffffffffff 0305ffff3f 0e0205 0f02 0c35 0d35 1b 2d8101 2e03 2f8101 31 36 3d"
	"a005 a50107 a6810180 01 aa0102030409 ac0b af 0901 0807060504030201 f7 fe d9 c0 d6"
	"0000000000000000000000000000000000000000000000000000000000000000" SYNC
	"9d0102" SYNC INFO "f7 06" SYNC "81 04 04" SYNC "0104 ffffffff1f" SYNC "0305ffff40" SYNC
	"9d0082" SYNC "00000000000000000000 80 f6" SYNC "09" SYNC "f7 40 00 00" SYNC "f7 9d0102";

/* In pieces of bytes[0..cut), then the rest; step: each piece so long. */
static char *pieces(const uint8_t *bytes, size_t size, size_t cut, size_t step)
{
	struct packet_text out = { .text = NULL };
	struct flowtap_ete_parser parser;
	size_t at = 0;

	flowtap_ete_parser_init(&parser, &plain);
	for (size_t end = cut; at < size; end = end + step < size ? end + step : size) {
		uint8_t *piece = malloc(end - at + 1);
		size_t used = 0;

		/* What is there, and nothing after it. */
		piece = realloc(piece, end - at ? end - at : 1);
		memcpy(piece, bytes + at, end - at);
		if (!packet_text_parse(&out, &parser, piece, end - at, &used))
			packet_text_add(&out, "the parser breaks its contract\n");
		free(piece);
		at += used;
		if (end == size)
			break;
	}
	packet_text_parts(&out);
	packet_text_add(&out, "%zu left\n", size - at);
	return out.text;
}

TEST(the_same_packets_come_out_of_pieces)
{
	struct hex hex = { .size = 0 };
	char *whole, *parts;

	hex_add(&hex, stream);
	whole = pieces(hex.bytes, hex.size, hex.size, hex.size);
	EXPECT_NE(NULL, strstr(whole, "3 left\n"));
	EXPECT_EQ(NULL, strstr(whole, "contract"));
	for (size_t cut = 0; cut < hex.size; cut++) {
		parts = pieces(hex.bytes, hex.size, cut, hex.size);
		EXPECT_STREQ(whole, parts) {
			TH_LOG("cut at %zu", cut);
		}
		free(parts);
	}
	for (size_t step = 1; step < 40; step++) {
		parts = pieces(hex.bytes, hex.size, step, step);
		EXPECT_STREQ(whole, parts) {
			TH_LOG("pieces of %zu", step);
		}
		free(parts);
	}
	free(whole);
}

/*
 * Random bytes after a sync, with syncs and runs of zeros strewn in: every byte is in one packet,
 * and in pieces they are the same packets.
 */
TEST(garbage)
{
	uint64_t state = seeded(0x9e3779b97f4a7c15);

	for (unsigned int round = 0; round < 3000; round++) {
		uint8_t bytes[600] = { [11] = 0x80 };
		size_t size = 12 + random_next(&state) % 400;
		char *whole, *parts;

		for (size_t i = 12; i < size; i++)
			bytes[i] = (uint8_t)(random_next(&state) >> 20);
		for (unsigned int runs = random_next(&state) % 6; runs; runs--) {
			size_t at = 12 + random_next(&state) % size, n = random_next(&state) % 80;

			memset(bytes + at, 0, n);
			bytes[at + n] = random_next(&state) % 4 ? 0x80 : 0x41;
		}
		whole = pieces(bytes, size, size, size);
		EXPECT_EQ(NULL, strstr(whole, "contract"));
		parts = pieces(bytes, size, 1, 1);
		EXPECT_STREQ(whole, parts);
		free(parts);
		parts = pieces(bytes, size, random_next(&state) % size, 7);
		EXPECT_STREQ(whole, parts);
		free(parts);
		free(whole);
	}
}

TEST(the_corpus_has_no_reserved_packet)
{
	unsigned int streams = 0;

	if (access(CORPUS_DIRECTORY, F_OK))
		SKIP(return, "no corpus beside the checkout");
	for (size_t i = 0; i < CORPUS_NAMES; i++) {
		char directory[300];
		struct corpus corpus;

		snprintf(directory, sizeof(directory), "%s/%s", CORPUS_DIRECTORY, corpus_names[i]);
		for (size_t n = 0; !corpus_load(&corpus, directory, n); n++) {
			struct packet_text out = { .text = NULL };
			struct flowtap_ete_parser parser;
			size_t at = 0;

			flowtap_ete_parser_init(&parser, &corpus.config);
			EXPECT_TRUE(packet_text_parse(&out, &parser, corpus.bytes, corpus.size,
						      &at));
			EXPECT_EQ(corpus.size, at);
			EXPECT_EQ(NULL, strstr(out.text, "reserved")) {
				TH_LOG("%s", corpus.name);
			}
			EXPECT_EQ(NULL, strstr(out.text, "not synchronized"));
			free(out.text);
			corpus_free(&corpus);
			streams++;
		}
	}
	EXPECT_LE(CORPUS_NAMES, streams);
}

TEST_HARNESS_MAIN
