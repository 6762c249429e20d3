// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that every header byte is the packet that K10.5.2 says, with every field at its bounds; and
 * where an Alignment Sync is seen.
 */
#include "support/ete_packet.h"

#include "support/kselftest_harness.h"

static const struct flowtap_ete_config plain;

#define EXPECT_PACKETS(config, bytes, expected)              \
	do {                                                 \
		char *got_ = packet_text_of(config, bytes);           \
		EXPECT_STREQ(expected, got_);                \
		free(got_);                                  \
	} while (0)

/* Synced and after a Trace Info. */
#define EXPECT_TRACE(bytes, expected) \
	EXPECT_PACKETS(&plain, SYNC INFO bytes, SYNCED INFORMED expected)

/*
 * K10.5.2.2.1 as it is written there, and what it lacks; the first that matches counts. For each a
 * payload that makes the packet whole, and its size with it; 0: as K10.5.2.10 says.
 */
static const struct {
	const char *header;
	enum flowtap_ete_packet_type type;
	const char *payload;
	size_t size;
} headers[] = {
	{ "00000001", FLOWTAP_ETE_TRACE_INFO, "00", 2 },
	{ "00000010", FLOWTAP_ETE_TIMESTAMP, "01", 2 },
	{ "00000011", FLOWTAP_ETE_TIMESTAMP, "0101", 3 },
	{ "00000100", FLOWTAP_ETE_TRACE_ON, "", 1 },
	{ "00000110", FLOWTAP_ETE_EXCEPTION, "1d90", 3 },
	{ "00001001", FLOWTAP_ETE_INSTRUMENTATION, "010203040506070809", 10 },
	{ "00001010", FLOWTAP_ETE_TRANSACTION_START, "", 1 },
	{ "00001011", FLOWTAP_ETE_TRANSACTION_COMMIT, "", 1 },
	{ "0000110x", FLOWTAP_ETE_CYCLE_COUNT_2, "11", 2 },
	{ "00001110", FLOWTAP_ETE_CYCLE_COUNT_1, "0101", 3 },
	{ "00001111", FLOWTAP_ETE_CYCLE_COUNT_1, "01", 2 },
	{ "0001xxxx", FLOWTAP_ETE_CYCLE_COUNT_3, "", 1 },
	{ "00101101", FLOWTAP_ETE_COMMIT, "01", 2 },
	{ "0010111x", FLOWTAP_ETE_CANCEL_1, "01", 2 },
	{ "001100xx", FLOWTAP_ETE_MISPREDICT, "", 1 },
	{ "001101xx", FLOWTAP_ETE_CANCEL_2, "", 1 },
	{ "00111xxx", FLOWTAP_ETE_CANCEL_3, "", 1 },
	{ "01110000", FLOWTAP_ETE_IGNORE, "", 1 },
	{ "0111xxxx", FLOWTAP_ETE_EVENT, "", 1 },
	{ "10000000", FLOWTAP_ETE_CONTEXT, "", 1 },
	{ "10000001", FLOWTAP_ETE_CONTEXT, "01", 2 },
	{ "1000001x", FLOWTAP_ETE_ADDRESS_CONTEXT, "0102030401", 6 },
	{ "10000101", FLOWTAP_ETE_ADDRESS_CONTEXT, "010203040506070801", 10 },
	{ "10000110", FLOWTAP_ETE_ADDRESS_CONTEXT, "010203040506070801", 10 },
	{ "10001000", FLOWTAP_ETE_TIMESTAMP_MARKER, "", 1 },
	{ "1001000x", FLOWTAP_ETE_TARGET_EXACT, "", 1 },
	{ "10010010", FLOWTAP_ETE_TARGET_EXACT, "", 1 },
	{ "10010101", FLOWTAP_ETE_TARGET_SHORT, "01", 2 },
	{ "10010110", FLOWTAP_ETE_TARGET_SHORT, "01", 2 },
	{ "1001101x", FLOWTAP_ETE_TARGET_LONG, "01020304", 5 },
	{ "10011101", FLOWTAP_ETE_TARGET_LONG, "0102030405060708", 9 },
	{ "10011110", FLOWTAP_ETE_TARGET_LONG, "0102030405060708", 9 },
	{ "1010000x", FLOWTAP_ETE_Q, "01", 2 },
	{ "10100010", FLOWTAP_ETE_Q, "01", 2 },
	{ "10100101", FLOWTAP_ETE_Q, "0101", 3 },
	{ "10100110", FLOWTAP_ETE_Q, "0101", 3 },
	{ "1010101x", FLOWTAP_ETE_Q, "0102030401", 6 },
	{ "10101100", FLOWTAP_ETE_Q, "01", 2 },
	{ "10101111", FLOWTAP_ETE_Q, "", 1 },
	{ "10110000", FLOWTAP_ETE_SOURCE_EXACT, "", 1 },
	{ "10110001", FLOWTAP_ETE_SOURCE_EXACT, "", 1 },
	{ "10110010", FLOWTAP_ETE_SOURCE_EXACT, "", 1 },
	{ "1011010x", FLOWTAP_ETE_SOURCE_SHORT, "01", 2 },
	{ "1011011x", FLOWTAP_ETE_SOURCE_LONG, "01020304", 5 },
	{ "1011100x", FLOWTAP_ETE_SOURCE_LONG, "0102030405060708", 9 },
	{ "1111011x", FLOWTAP_ETE_ATOM_1, "", 0 },
	{ "110110xx", FLOWTAP_ETE_ATOM_2, "", 0 },
	{ "11111xxx", FLOWTAP_ETE_ATOM_3, "", 0 },
	{ "110111xx", FLOWTAP_ETE_ATOM_4, "", 0 },
	{ "11110101", FLOWTAP_ETE_ATOM_5_1, "", 0 },
	{ "110101x1", FLOWTAP_ETE_ATOM_5_2, "", 0 },
	{ "11010110", FLOWTAP_ETE_ATOM_5_2, "", 0 },
	{ "11xxxxxx", FLOWTAP_ETE_ATOM_6, "", 0 },
};

static bool matches(const char *pattern, unsigned int byte)
{
	for (int bit = 0; bit < 8; bit++)
		if (pattern[bit] != 'x' && pattern[bit] - '0' != (int)(byte >> (7 - bit) & 1))
			return false;
	return true;
}

/* K10.5.2.10.2 to K10.5.2.10.8. */
static void atoms(enum flowtap_ete_packet_type type, unsigned int header, char *text)
{
	static const char *const format_4[] = { "NEEE", "NNNN", "NENE", "ENEN" };
	static const char *const format_5_2[] = { "", "NNNNN", "NENEN", "ENENE" };
	unsigned int n = type == FLOWTAP_ETE_ATOM_1 ? 1 : type == FLOWTAP_ETE_ATOM_2 ? 2 : 3;

	switch (type) {
	case FLOWTAP_ETE_ATOM_4:
		strcpy(text, format_4[header & 3]);
		return;
	case FLOWTAP_ETE_ATOM_5_1:
		strcpy(text, "NEEEE");
		return;
	case FLOWTAP_ETE_ATOM_5_2:
		strcpy(text, format_5_2[header & 3]);
		return;
	case FLOWTAP_ETE_ATOM_6:
		for (unsigned int i = 0; i <= (header & 0x1f) + 2; i++)
			*text++ = 'E';
		*text++ = header & 0x20 ? 'N' : 'E';
		*text = 0;
		return;
	default:
		for (unsigned int i = 0; i < n; i++)
			*text++ = header >> i & 1 ? 'E' : 'N';
		*text = 0;
	}
}

static void expect_header(struct __test_metadata *_metadata, unsigned int header, size_t row)
{
	struct flowtap_ete_packet packet;
	struct flowtap_ete_parser parser;
	struct hex hex = { .size = 0 };
	char expected[64] = "", got[64] = "", text[8];

	snprintf(text, sizeof(text), "%02x", header);
	hex_add(&hex, text);
	hex_add(&hex, headers[row].payload);
	hex_add(&hex, "0404040404040404040404040404040404040404040404040404040404040404");
	flowtap_ete_parser_init(&parser, &plain);
	parser.synced = true;
	EXPECT_EQ(headers[row].size ? headers[row].size : 1,
		  flowtap_ete_parse(&parser, hex.bytes, hex.size, &packet)) {
		TH_LOG("header %02x", header);
	}
	EXPECT_EQ(headers[row].type, packet.type);
	if (headers[row].size)
		return;
	atoms(headers[row].type, header, expected);
	for (unsigned int i = 0; i < packet.atom_count; i++)
		got[i] = packet.atoms >> i & 1 ? 'E' : 'N';
	EXPECT_STREQ(expected, got);
	for (unsigned int i = 0; i < flowtap_ete_atoms[header].count; i++)
		got[i] = flowtap_ete_atoms[header].taken >> i & 1 ? 'E' : 'N';
	got[flowtap_ete_atoms[header].count] = 0;
	EXPECT_STREQ(expected, got);
}

TEST(every_header_byte)
{
	const size_t rows = sizeof(headers) / sizeof(headers[0]);

	for (unsigned int header = 1; header < 256; header++) {
		struct flowtap_ete_packet packet;
		struct flowtap_ete_parser parser;
		uint8_t bytes[2] = { header, 4 };
		size_t row = 0;

		while (row < rows && !matches(headers[row].header, header))
			row++;
		if (row < rows) {
			expect_header(_metadata, header, row);
			continue;
		}
		flowtap_ete_parser_init(&parser, &plain);
		parser.synced = true;
		EXPECT_EQ(1, flowtap_ete_parse(&parser, bytes, sizeof(bytes), &packet));
		EXPECT_EQ(FLOWTAP_ETE_RESERVED, packet.type) {
			TH_LOG("header %02x", header);
		}
		EXPECT_FALSE(parser.synced);
		EXPECT_EQ(0, flowtap_ete_atoms[header].count);
	}
}

TEST(a_header_byte_of_zero_is_an_extension)
{
	for (unsigned int second = 1; second < 256; second++) {
		struct flowtap_ete_packet packet;
		struct flowtap_ete_parser parser;
		uint8_t bytes[2] = { 0, second };

		flowtap_ete_parser_init(&parser, &plain);
		parser.synced = true;
		EXPECT_EQ(2, flowtap_ete_parse(&parser, bytes, sizeof(bytes), &packet));
		EXPECT_EQ(second == 3 ? FLOWTAP_ETE_DISCARD :
			  second == 5 ? FLOWTAP_ETE_OVERFLOW : FLOWTAP_ETE_RESERVED, packet.type);
	}
}

TEST(trace_info)
{
	EXPECT_TRACE("010141",
		     "3 Trace Info PLCTL 1 INFO 41 cc 1 transaction 1 spec 0 threshold 0\n");
	EXPECT_TRACE("010d41 8301 8502",
		     "7 Trace Info PLCTL d INFO 41 cc 1 transaction 1 spec 131 threshold 261\n");
	EXPECT_TRACE("010905", "3 incomplete\n");
	EXPECT_TRACE("010d00 01 05",
		     "5 Trace Info PLCTL d INFO 0 cc 0 transaction 0 spec 1 threshold 0\n");
	/* 96 bits are 14 bytes. */
	EXPECT_TRACE("0104 81808080808080808080808080 00",
		     "16 Trace Info PLCTL 4 INFO 0 cc 0 transaction 0 spec 1 threshold 0\n");
	EXPECT_TRACE("010d01 81808080808080808080808080 00 85808080808080808080808080 00 04",
		     "31 Trace Info PLCTL d INFO 1 cc 1 transaction 0 spec 1 threshold 5\n"
		     "1 Trace On\n");
	EXPECT_TRACE("0104 ffffffff0f",
		     "7 Trace Info PLCTL 4 INFO 0 cc 0 transaction 0 spec 4294967295"
		     " threshold 0\n");
	EXPECT_TRACE("0104 ffffffff1f",
		     "7 reserved (Trace Info: a number has more than 32 bits)\n");
	EXPECT_TRACE("0104 808080808001",
		     "8 reserved (Trace Info: a number has more than 32 bits)\n");
	EXPECT_TRACE("0104 808080808080808080808080 80 01",
		     "16 reserved (Trace Info: a number has more than 32 bits)\n");
	EXPECT_TRACE("0102", "2 reserved (Trace Info: a section that its architecture has not)\n");
	EXPECT_TRACE("0110", "2 reserved (Trace Info: a section that its architecture has not)\n");
}

TEST(a_trace_info_resets_what_is_retained)
{
	EXPECT_TRACE("9e7fffffffffffffff 81f3 01020304 05060708 02 ff7f" INFO "9501 80 0201",
		     "9 Target Address Long fffffffffffffffe IS1\n"
		     "10 Context context EL3 NS 64 new vmid 4030201 new contextid 8070605\n"
		     "3 Timestamp time 3fff\n" INFORMED
		     "2 Target Address Short 4 IS0\n"
		     "1 Context same EL0 S 32 vmid 0 contextid 0\n"
		     "2 Timestamp time 1\n");
}

TEST(target_addresses)
{
	EXPECT_TRACE("9d0102030405060708", "9 Target Address Long 807060504030404 IS0\n");
	EXPECT_TRACE("9e0102030405060708", "9 Target Address Long 807060504030202 IS1\n");
	EXPECT_TRACE("9d7f7fffffffffffff", "9 Target Address Long fffffffffffffffc IS0\n");
	EXPECT_TRACE("9a7f7fffff", "5 Target Address Long fffffffc IS0\n");
	EXPECT_TRACE("9b7fffffff", "5 Target Address Long fffffffe IS1\n");
	EXPECT_TRACE("957f", "2 Target Address Short 1fc IS0\n");
	EXPECT_TRACE("95ffff", "3 Target Address Short 1fffc IS0\n");
	EXPECT_TRACE("9580ff", "3 Target Address Short 1fe00 IS0\n");
	EXPECT_TRACE("967f", "2 Target Address Short fe IS1\n");
	EXPECT_TRACE("96ffff", "3 Target Address Short fffe IS1\n");
	EXPECT_TRACE("9d8002030405060708",
		     "2 reserved (an address: bit 7 of its first byte is set)\n"
		     "7 not synchronized\n");
	EXPECT_TRACE("9d0082030405060708",
		     "3 reserved (an address: bit 7 of its second byte is set)\n"
		     "6 not synchronized\n");
	/* The second byte of IS1 has 8 bits. */
	EXPECT_TRACE("9b01ff0000", "5 Target Address Long ff02 IS1\n");
	EXPECT_TRACE("9b81ff0000",
		     "2 reserved (an address: bit 7 of its first byte is set)\n1 not synchronized\n"
		     "2 incomplete\n");
}

TEST(addresses_are_completed_from_the_history)
{
	EXPECT_TRACE("9d000034120000 80ff 9505 958581 968581 92 91 9a01000000 90 900a",
		     "9 Target Address Long ff80000012340000 IS0\n"
		     "2 Target Address Short ff80000012340014 IS0\n"
		     "3 Target Address Short ff80000012350214 IS0\n"
		     "3 Target Address Short ff8000001235810a IS1\n"
		     "1 Target Address Exact Match ff80000012340014 IS0\n"
		     "1 Target Address Exact Match ff8000001235810a IS1\n"
		     "5 Target Address Long ff80000000000004 IS0\n"
		     "1 Target Address Exact Match ff80000000000004 IS0\n"
		     "1 Target Address Exact Match ff80000000000004 IS0\n"
		     "1 Transaction Start\n");
}

TEST(source_addresses)
{
	EXPECT_TRACE("b80102030405060708 b58581 b405 b601000000 b701000000 b90102030405060708"
		     "b0 b2 b1",
		     "9 Source Address Long 807060504030404 IS0\n"
		     "3 Source Address Short 80706050403810a IS1\n"
		     "2 Source Address Short 807060504038014 IS0\n"
		     "5 Source Address Long 807060500000004 IS0\n"
		     "5 Source Address Long 807060500000002 IS1\n"
		     "9 Source Address Long 807060504030202 IS1\n"
		     "1 Source Address Exact Match 807060504030202 IS1\n"
		     "1 Source Address Exact Match 807060500000002 IS1\n"
		     "1 Source Address Exact Match 807060504030202 IS1\n");
	/* Both kinds share the history. */
	EXPECT_TRACE("b68100000090",
		     "2 reserved (an address: bit 7 of its first byte is set)\n"
		     "4 not synchronized\n");
	EXPECT_TRACE("b601000000 90 9d0102030405060708 b1",
		     "5 Source Address Long 4 IS0\n"
		     "1 Target Address Exact Match 4 IS0\n"
		     "9 Target Address Long 807060504030404 IS0\n"
		     "1 Source Address Exact Match 4 IS0\n");
}

TEST(contexts)
{
	EXPECT_TRACE("80", "1 Context same EL0 S 32 vmid 0 contextid 0\n");
	EXPECT_TRACE("8131", "2 Context context EL1 NS 64 vmid 0 contextid 0\n");
	EXPECT_TRACE("8108", "2 Context context EL0 Root 32 vmid 0 contextid 0\n");
	EXPECT_TRACE("812a", "2 Context context EL2 Realm 32 vmid 0 contextid 0\n");
	EXPECT_TRACE("8103", "2 Context context EL3 S 32 vmid 0 contextid 0\n");
	EXPECT_TRACE("8104", "2 reserved (a context: bit 2 of its first byte is set)\n");
	EXPECT_TRACE("8172 78563412 81b0 efcdab89 81f1 04030201 08070605 8110 80",
		     "6 Context context EL2 NS 64 new vmid 12345678 contextid 0\n"
		     "6 Context context EL0 NS 64 vmid 12345678 new contextid 89abcdef\n"
		     "10 Context context EL1 NS 64 new vmid 1020304 new contextid 5060708\n"
		     "2 Context context EL0 S 64 vmid 1020304 contextid 5060708\n"
		     "1 Context same EL0 S 64 vmid 1020304 contextid 5060708\n");
	EXPECT_TRACE("820102030431", "6 Target Address with Context 4030404 IS0"
		     " context EL1 NS 64 vmid 0 contextid 0\n");
	EXPECT_TRACE("830102030421", "6 Target Address with Context 4030202 IS1"
		     " context EL1 NS 32 vmid 0 contextid 0\n");
	EXPECT_TRACE("85010203040506070831", "10 Target Address with Context 807060504030404 IS0"
		     " context EL1 NS 64 vmid 0 contextid 0\n");
	EXPECT_TRACE("860102030405060708f1 01000000 02000000",
		     "18 Target Address with Context 807060504030202 IS1"
		     " context EL1 NS 64 new vmid 1 new contextid 2\n");
	EXPECT_TRACE("85010203040506070804",
		     "10 reserved (a context: bit 2 of its first byte is set)\n");
}

TEST(exceptions)
{
	EXPECT_TRACE("060170", "3 Exception type 0 E 1 unknown\n");
	EXPECT_TRACE("063170", "3 Exception type 24 E 1 unknown\n");
	EXPECT_TRACE("067070", "3 Exception type 24 E 2 unknown\n");
	EXPECT_TRACE("063370", "3 Exception type 25 E 1 unknown\n");
	EXPECT_TRACE("063f90", "3 Exception type 31 E 1 0 IS0\n");
	EXPECT_TRACE("061d9d0102030405060708", "11 Exception type 14 E 1 807060504030404 IS0\n");
	EXPECT_TRACE("065c9b01020304", "7 Exception type 14 E 2 4030202 IS1\n");
	EXPECT_TRACE("065c958101", "5 Exception type 14 E 2 204 IS0\n");
	EXPECT_TRACE("065c9601", "4 Exception type 14 E 2 2 IS1\n");
	EXPECT_TRACE("045c",  "1 Trace On\n1 reserved (a header that is reserved)\n");
	EXPECT_TRACE("064285 0102030405060708 f1 01000000 02000000",
		     "20 Exception type 1 E 2 807060504030404 IS0"
		     " context EL1 NS 64 new vmid 1 new contextid 2\n");
	/* An address that is not known is one of 0 in the history. */
	EXPECT_TRACE("9d0102030405060708 063170 91 91",
		     "9 Target Address Long 807060504030404 IS0\n"
		     "3 Exception type 24 E 1 unknown\n"
		     "1 Target Address Exact Match 807060504030404 IS0\n"
		     "1 Target Address Exact Match 0 IS0\n");
	EXPECT_TRACE("061c", "2 reserved (Exception: E is reserved)\n");
	EXPECT_TRACE("065d", "2 reserved (Exception: E is reserved)\n");
	EXPECT_TRACE("069d", "2 reserved (Exception: bit 7 of its first byte is set)\n");
	EXPECT_TRACE("061d04", "3 reserved (Exception: no address follows)\n");
	EXPECT_TRACE("061d93", "3 reserved (Exception: no address follows)\n");
	EXPECT_TRACE("061db0", "3 reserved (Exception: no address follows)\n");
	EXPECT_TRACE("061d80", "3 reserved (Exception: no address follows)\n");
}

TEST(timestamps)
{
	EXPECT_TRACE("0205 02ffffffffffffffffff 028000 0203 88",
		     "2 Timestamp time 5\n"
		     "10 Timestamp time ffffffffffffffff\n"
		     "3 Timestamp time ffffffffffffc000\n"
		     "2 Timestamp time ffffffffffffc003\n"
		     "1 Timestamp Marker\n");
	EXPECT_TRACE("02808080808080808001", "10 Timestamp time 100000000000000\n");
	EXPECT_TRACE("028080808080808001", "9 Timestamp time 2000000000000\n");
	EXPECT_TRACE("02808080808080808080", "10 Timestamp time 8000000000000000\n");
	EXPECT_TRACE("030503", "3 Timestamp time 5 cycles 3\n");
	EXPECT_TRACE("0305ffff3f88", "5 Timestamp time 5 cycles 1048575\n1 Timestamp Marker\n");
	EXPECT_TRACE("0305ffff40", "5 reserved (a number has bits above its width)\n");
	EXPECT_TRACE("0305ffff80", "5 reserved (a number has bits above its width)\n");
}

#define THRESHOLD "01090104"
#define COUNTED "4 Trace Info PLCTL 9 INFO 1 cc 1 transaction 0 spec 0 threshold 4\n"

TEST(cycle_counts)
{
	const struct flowtap_ete_config deep = { .idr8 = 20 }, shallow = { .idr8 = 3 };

	EXPECT_TRACE(THRESHOLD "0e0205 0f02 0e0005 0eff01ffff3f 0c35 0cff 1b 10",
		     COUNTED
		     "3 Cycle Count format 1 commit 2 cycles 9\n"
		     "2 Cycle Count format 1 commit 2\n"
		     "3 Cycle Count format 1 cycles 9\n"
		     "6 Cycle Count format 1 commit 255 cycles 1048579\n"
		     "2 Cycle Count format 2 commit 4 cycles 9\n"
		     "2 Cycle Count format 2 commit 16 cycles 19\n"
		     "1 Cycle Count format 3 commit 3 cycles 7\n"
		     "1 Cycle Count format 3 commit 1 cycles 4\n");
	EXPECT_PACKETS(&deep, SYNC "0d35 0df0", SYNCED
		       "2 Cycle Count format 2 commit 8 cycles 5\n"
		       "2 Cycle Count format 2 commit 20 cycles 0\n");
	EXPECT_PACKETS(&shallow, SYNC "0d35 0dc0 0dd0", SYNCED
		       "2 Cycle Count format 2 cycles 5\n"
		       "2 Cycle Count format 2 cycles 0\n"
		       "2 Cycle Count format 2 commit 1 cycles 0\n");
	EXPECT_TRACE("0effffffff8f01", "6 reserved (a number has bits above its width)\n"
		     "1 not synchronized\n");
}

TEST(cycle_counts_of_commit_mode_1)
{
	const struct flowtap_ete_config mode_1 = { .idr0 = 1u << 29, .idr8 = 20 };

	EXPECT_PACKETS(&mode_1, SYNC THRESHOLD "0e05 0f 0df5 0c35 1b", SYNCED COUNTED
		       "2 Cycle Count format 1 cycles 9\n"
		       "1 Cycle Count format 1\n"
		       "2 Cycle Count format 2 cycles 9\n"
		       "2 Cycle Count format 2 cycles 9\n"
		       "1 Cycle Count format 3 cycles 7\n");
}

TEST(speculation)
{
	EXPECT_TRACE("2d05 2d8101 2dffffffff0f",
		     "2 Commit commit 5\n3 Commit commit 129\n6 Commit commit 4294967295\n");
	EXPECT_TRACE("2dffffffff10", "6 reserved (a number has bits above its width)\n");
	EXPECT_TRACE("2dffffffff8f", "6 reserved (a number has bits above its width)\n");
	EXPECT_TRACE("2e03 2f8101", "2 Cancel format 1 cancel 3\n"
		     "3 Cancel format 1 cancel 129 mispredict\n");
	EXPECT_TRACE("30 31 32 33",
		     "1 Mispredict mispredict\n1 Mispredict E mispredict\n"
		     "1 Mispredict EE mispredict\n1 Mispredict N mispredict\n");
	EXPECT_TRACE("34 35 36 37",
		     "1 Cancel format 2 cancel 1 mispredict\n"
		     "1 Cancel format 2 E cancel 1 mispredict\n"
		     "1 Cancel format 2 EE cancel 1 mispredict\n"
		     "1 Cancel format 2 N cancel 1 mispredict\n");
	EXPECT_TRACE("38 39 3a 3b 3c 3d 3e 3f",
		     "1 Cancel format 3 cancel 2 mispredict\n"
		     "1 Cancel format 3 E cancel 2 mispredict\n"
		     "1 Cancel format 3 cancel 3 mispredict\n"
		     "1 Cancel format 3 E cancel 3 mispredict\n"
		     "1 Cancel format 3 cancel 4 mispredict\n"
		     "1 Cancel format 3 E cancel 4 mispredict\n"
		     "1 Cancel format 3 cancel 5 mispredict\n"
		     "1 Cancel format 3 E cancel 5 mispredict\n");
}

TEST(q_packets)
{
	EXPECT_TRACE("9d0102030405060708 a005 a2ffffffff0f a50107 a6810180 01 aa0102030409"
		     "ab01020304 0a ac0b af",
		     "9 Target Address Long 807060504030404 IS0\n"
		     "2 Q TYPE 0 count 5 807060504030404 IS0\n"
		     "6 Q TYPE 2 count 4294967295 0 IS0\n"
		     "3 Q TYPE 5 count 7 4 IS0\n"
		     "5 Q TYPE 6 count 128 102 IS1\n"
		     "6 Q TYPE a count 9 4030404 IS0\n"
		     "6 Q TYPE b count 10 4030202 IS1\n"
		     "2 Q TYPE c count 11\n"
		     "1 Q TYPE f count 0\n");
	EXPECT_TRACE("aa8002030409",
		     "2 reserved (an address: bit 7 of its first byte is set)\n"
		     "4 not synchronized\n");
	EXPECT_TRACE("acffffffff10", "6 reserved (a number has bits above its width)\n");
}

TEST(others)
{
	EXPECT_TRACE("04 0a 0b 70 88 0003 0005 71 7f",
		     "1 Trace On\n1 Transaction Start\n1 Transaction Commit\n1 Ignore\n"
		     "1 Timestamp Marker\n2 Discard\n2 Overflow\n1 Event events 1\n"
		     "1 Event events f\n");
	EXPECT_TRACE("0901 0807060504030201",
		     "10 Instrumentation EL1 102030405060708\n");
	EXPECT_TRACE("0902 ffffffffffffffff", "10 Instrumentation EL2 ffffffffffffffff\n");
}

TEST(nothing_but_an_alignment_sync_begins_a_trace)
{
	EXPECT_PACKETS(&plain, "04 f7 0003", "4 not synchronized\n");
	EXPECT_PACKETS(&plain, "00", "1 incomplete\n");
	EXPECT_PACKETS(&plain, "0102 " SYNC "04", "2 not synchronized\n" SYNCED "1 Trace On\n");
	/* A start in the middle of a packet, of which the end is zeros. */
	EXPECT_PACKETS(&plain, "9d0000000000 " SYNC "04",
		       "1 not synchronized\n17 Alignment Sync\n1 Trace On\n");
	EXPECT_PACKETS(&plain, "9d0000000001 " SYNC "04",
		       "6 not synchronized\n" SYNCED "1 Trace On\n");
	EXPECT_PACKETS(&plain, "0000" SYNC "04", "14 Alignment Sync\n1 Trace On\n");
	EXPECT_PACKETS(&plain,
		       "00000000000000000000 00000000000000000000 0000000000"
		       "00000000000000000000000000000000" SYNC "04",
		       "37 Alignment Sync, zeros\n16 Alignment Sync\n1 Trace On\n");
	EXPECT_PACKETS(&plain, "00000000000000000000 80 04",
		       "12 not synchronized\n");
	EXPECT_PACKETS(&plain, "00000000000000000000 81 04" SYNC "f7",
		       "12 not synchronized\n" SYNCED "1 Atom format 1 E\n");
	EXPECT_PACKETS(&plain, "00 00 00 01 00 00 00", "4 not synchronized\n3 incomplete\n");
}

TEST(an_alignment_sync_is_seen_wherever_a_packet_begins)
{
	EXPECT_TRACE("f7" SYNC "f6", "1 Atom format 1 E\n" SYNCED "1 Atom format 1 N\n");
	EXPECT_TRACE("00" SYNC "f6", "13 Alignment Sync\n1 Atom format 1 N\n");
	/* Of 59 zeros the first 37, and of what is left: K10.5.2.3.1 has no limit. */
	EXPECT_TRACE("f7 00000000000000000000000000000000"
		     "00000000000000000000000000000000"
		     "00000000000000000000000000000000" SYNC "f6",
		     "1 Atom format 1 E\n"
		     "37 Alignment Sync, zeros\n23 Alignment Sync\n1 Atom format 1 N\n");
	EXPECT_TRACE("f7 00000000000000000000 80 f6" SYNC,
		     "1 Atom format 1 E\n11 reserved (zeros that are no Alignment Sync)\n"
		     "1 not synchronized\n" SYNCED);
	EXPECT_TRACE("f7 0000000000000000000000 81" SYNC,
		     "1 Atom format 1 E\n12 reserved (zeros that are no Alignment Sync)\n" SYNCED);
	EXPECT_TRACE("0080", "2 reserved (an extension that is reserved)\n");
}

/* What is looked at and wrong may have the first zeros of an Alignment Sync in it. */
TEST(an_alignment_sync_ends_a_damaged_packet)
{
	EXPECT_TRACE("06" SYNC "04",
		     "1 reserved (Exception: E is reserved)\n" SYNCED "1 Trace On\n");
	EXPECT_TRACE("061d" SYNC "04",
		     "2 reserved (Exception: no address follows)\n" SYNCED "1 Trace On\n");
	/* Cut off: an address takes 6 zeros of the sync, and 5 are left. */
	EXPECT_TRACE("9d0102" SYNC "04",
		     "9 Target Address Long 404 IS0\n"
		     "1 reserved (the packet before was cut off by an Alignment Sync)\n"
		     "5 Alignment Sync\n1 Trace On\n");
	EXPECT_TRACE("09" SYNC "04",
		     "10 Instrumentation EL0 0\n"
		     "1 reserved (the packet before was cut off by an Alignment Sync)\n"
		     "2 Alignment Sync\n1 Trace On\n");
	EXPECT_TRACE("81f0 01" SYNC "04",
		     "10 Context context EL0 NS 64 new vmid 1 new contextid 0\n"
		     "1 reserved (the packet before was cut off by an Alignment Sync)\n"
		     "4 Alignment Sync\n1 Trace On\n");
	/* But not where something stands between. */
	EXPECT_TRACE("9d0102000000000000 9505 0000000000 80 04",
		     "9 Target Address Long 404 IS0\n2 Target Address Short 414 IS0\n"
		     "6 reserved (zeros that are no Alignment Sync)\n1 not synchronized\n");
	EXPECT_TRACE("9d0102000000000000 0003 0000000000 80 04",
		     "9 Target Address Long 404 IS0\n2 Discard\n"
		     "6 reserved (zeros that are no Alignment Sync)\n1 not synchronized\n");
	EXPECT_TRACE("9d0102000000000000 f7 0000000000 80 04",
		     "9 Target Address Long 404 IS0\n1 Atom format 1 E\n"
		     "6 reserved (zeros that are no Alignment Sync)\n1 not synchronized\n");
}

TEST(names)
{
	EXPECT_STREQ("Atom format 5.1", flowtap_ete_packet_name(FLOWTAP_ETE_ATOM_5_1));
	for (int type = 0; type < FLOWTAP_ETE_PACKET_TYPES; type++)
		EXPECT_NE(NULL, flowtap_ete_packet_name(type));
	EXPECT_STREQ("PE reset", flowtap_ete_exception_name(false, 0));
	EXPECT_STREQ("IRQ", flowtap_ete_exception_name(false, 14));
	EXPECT_STREQ("Transaction failure", flowtap_ete_exception_name(false, 24));
	EXPECT_STREQ("reserved", flowtap_ete_exception_name(false, 5));
	EXPECT_STREQ("reserved", flowtap_ete_exception_name(false, 32));
}

TEST_HARNESS_MAIN
