// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows which packets an ETMv4 has that an ETE has not, and which it has not (IHI 0064, 6.4), by
 * version and profile; packet.c has what is the same.
 */
#include "support/ete_packet.h"

#include "support/kselftest_harness.h"

static struct flowtap_ete_config unit(unsigned int minor, unsigned int vmid, bool m_profile)
{
	return (struct flowtap_ete_config){
		.devarch = FLOWTAP_ETM4_DEVARCH,
		.idr1 = 0x4100f400 | minor << 4,
		.idr2 = 4 << 5 | vmid << 10,
		.m_profile = m_profile,
	};
}

#define EXPECT_TRACE(config, bytes, expected)                \
	do {                                                 \
		char *got_ = packet_text_of(config, SYNC INFO bytes); \
		EXPECT_STREQ(SYNCED INFORMED expected, got_); \
		free(got_);                                  \
	} while (0)

TEST(headers_are_an_etes_but_for_these)
{
	static const struct {
		uint8_t first, last;
		enum flowtap_ete_packet_type type;
	} others[] = {
		{ 0x05, 0x05, FLOWTAP_ETE_FUNCTION_RETURN },
		{ 0x07, 0x07, FLOWTAP_ETE_EXCEPTION_RETURN },
		{ 0x09, 0x0b, FLOWTAP_ETE_RESERVED },	/* instrumentation, transactions */
		{ 0xb0, 0xb2, FLOWTAP_ETE_RESERVED },	/* source addresses */
		{ 0xb4, 0xb9, FLOWTAP_ETE_RESERVED },
	};

	for (unsigned int header = 0; header < 256; header++) {
		enum flowtap_ete_packet_type want = flowtap_ete_headers[header].type;

		for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
			if (header >= others[i].first && header <= others[i].last)
				want = others[i].type;
		EXPECT_EQ(want, flowtap_etm4_headers[header].type)
			TH_LOG("header %02x", header);
		if (want != flowtap_ete_headers[header].type ||
		    !flowtap_ete_headers[header].size || header == 0x70 || header == 0x88)
			continue;
		EXPECT_EQ(0, memcmp(&flowtap_ete_headers[header], &flowtap_etm4_headers[header],
				    sizeof(flowtap_ete_headers[0])))
			TH_LOG("header %02x", header);
	}
}

TEST(ids_have_the_sizes_of_trcidr2)
{
	static const struct {
		unsigned int size;
		const char *bytes, *expected;
	} cases[] = {
		{ 1, "81f1 07 78563412",
		  "7 Context context EL1 NS 64 new vmid 7 new contextid 12345678\n" },
		{ 2, "81f1 0708 78563412",
		  "8 Context context EL1 NS 64 new vmid 807 new contextid 12345678\n" },
		{ 4, "81f1 0708090a 78563412",
		  "10 Context context EL1 NS 64 new vmid a090807 new contextid 12345678\n" },
		{ 1, "8501 02030405060708 51 09",
		  "11 Target Address with Context 807060504030404 IS0 context EL1 S 64"
		  " new vmid 9 contextid 0\n" },
		{ 0, "8151", "2 reserved (a context has an ID for which TRCIDR2 has no size)\n" },
	};
	struct flowtap_ete_config config = unit(0, 0, false);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char bytes[128], expected[256], *got;

		config = unit(0, cases[i].size, false);
		snprintf(bytes, sizeof(bytes), SYNC INFO "%s", cases[i].bytes);
		got = packet_text_of(&config, bytes);
		snprintf(expected, sizeof(expected), SYNCED INFORMED "%s", cases[i].expected);
		EXPECT_STREQ(expected, got);
		free(got);
	}
	config.idr2 = 0;
	EXPECT_TRACE(&config, "8191",
		     "2 reserved (a context has an ID for which TRCIDR2 has no size)\n");
	EXPECT_TRACE(&config, "8119",
		     "2 reserved (a context: bit 3 of its first byte is set)\n");
	/* An ETE's have 32 bits, whatever its register says. */
	config.devarch = 0;
	EXPECT_TRACE(&config, "81d1 01020304 05060708",
		     "10 Context context EL1 S 64 new vmid 4030201 new contextid 8070605\n");
}

TEST(exceptions_may_have_a_second_byte)
{
	const struct flowtap_ete_config m = unit(5, 0, true), a = unit(0, 1, false);
	const struct flowtap_ete_config ete = { .devarch = 0x47705a13 };

	EXPECT_TRACE(&m, "0691 10 90", "4 Exception type 520 E 1 0 IS0\n");
	EXPECT_TRACE(&m, "06ff 3f 90", "3 reserved (Exception: E is reserved)\n"
		     "1 not synchronized\n");
	EXPECT_TRACE(&m, "06fe 3f 90", "4 Exception type 1023 E 2 0 IS0\n");
	EXPECT_TRACE(&m, "0691 50 90",
		     "3 reserved (Exception: bit 6 or 7 of its second byte is set)\n"
		     "1 not synchronized\n");
	EXPECT_TRACE(&a, "069d 00 9501", "5 Exception type 14 E 1 4 IS0\n");
	EXPECT_TRACE(&a, "061d 9501", "4 Exception type 14 E 1 4 IS0\n");
	EXPECT_TRACE(&a, "069d", "2 incomplete\n");
	EXPECT_TRACE(&a, "069d 00", "3 incomplete\n");
	/* 0x70 is no address of an ETMv4. */
	EXPECT_TRACE(&a, "0601 70", "3 reserved (Exception: no address follows)\n");
	EXPECT_TRACE(&ete, "0601 70", "3 Exception type 0 E 1 unknown\n");
	EXPECT_TRACE(&ete, "0691 10",
		     "2 reserved (Exception: bit 7 of its first byte is set)\n"
		     "1 not synchronized\n");
}

TEST(a_trace_info_has_a_key_and_no_transaction)
{
	const struct flowtap_ete_config etm4 = unit(0, 1, false);

	EXPECT_TRACE(&etm4, "0107 01 8101 05",
		     "6 Trace Info PLCTL 7 INFO 1 cc 1 transaction 0 spec 5 threshold 0\n");
	EXPECT_TRACE(&etm4, "010f 01 8101 05 20",
		     "7 Trace Info PLCTL f INFO 1 cc 1 transaction 0 spec 5 threshold 32\n");
	EXPECT_TRACE(&etm4, "0101 02",
		     "3 reserved (Trace Info: conditional instructions are traced)\n");
	EXPECT_TRACE(&etm4, "0101 10",
		     "3 reserved (Trace Info: loads or stores are P0 elements)\n");
	EXPECT_TRACE(&etm4, "0101 40",
		     "3 reserved (Trace Info: a bit of INFO that ETMv4 has not)\n");
	EXPECT_TRACE(&etm4, "0110",
		     "2 reserved (Trace Info: a section that its architecture has not)\n");
}

#define ZEROS_13 "80808080808080808080808080"

/* What its numbers have of leading zeros is read, up to the last byte that one can have. */
TEST(a_trace_info_is_as_long_as_its_numbers)
{
	static const char *const ends[] = { "00", "" };
	const struct flowtap_ete_config etm4 = unit(0, 1, false);
	char bytes[256];

	EXPECT_TRACE(&etm4, "010f 01" ZEROS_13 "00" ZEROS_13 "00" ZEROS_13 "00 f7",
		     "45 Trace Info PLCTL f INFO 1 cc 1 transaction 0 spec 0 threshold 0\n"
		     "1 Atom format 1 E\n");
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		char *text;

		snprintf(bytes, sizeof(bytes), SYNC INFO "010f 01" ZEROS_13 "00" ZEROS_13 "00" ZEROS_13
			 "%s", ends[i]);
		text = packet_text_of(&etm4, bytes);
		EXPECT_STREQ(i ? SYNCED INFORMED "44 incomplete\n" : SYNCED INFORMED
			     "45 Trace Info PLCTL f INFO 1 cc 1 transaction 0 spec 0 threshold 0\n",
			     text);
		free(text);
	}
	/* Of the 14th byte all eight bits count. */
	EXPECT_TRACE(&etm4, "0102" ZEROS_13 "80",
		     "16 reserved (Trace Info: a number has more than 32 bits)\n");
}

TEST(what_a_version_or_profile_has_not_is_reserved)
{
	const struct flowtap_ete_config v2 = unit(2, 0, false), v3 = unit(3, 0, false);
	const struct flowtap_ete_config v5 = unit(5, 0, false), v6 = unit(6, 0, false);
	const struct flowtap_ete_config m1 = unit(1, 0, true), m2 = unit(2, 0, true);
	/* Nobody says which version it is: all are taken. */
	const struct flowtap_ete_config any = {
		.devarch = FLOWTAP_ETM4_DEVARCH,
		.m_profile = true,
	};

	EXPECT_TRACE(&any, "70 88 05", "1 Ignore\n1 Timestamp Marker\n1 Function Return\n");
	EXPECT_TRACE(&v2, "70", "1 reserved (a header that its version of ETMv4 has not)\n");
	EXPECT_TRACE(&v3, "70", "1 Ignore\n");
	EXPECT_TRACE(&v5, "88", "1 reserved (a header that its version of ETMv4 has not)\n");
	EXPECT_TRACE(&v6, "88", "1 Timestamp Marker\n");
	EXPECT_TRACE(&m1, "05", "1 reserved (a header that its version of ETMv4 has not)\n");
	EXPECT_TRACE(&m2, "05", "1 Function Return\n");
	EXPECT_TRACE(&v6, "05", "1 reserved (Function Return: this is no M profile)\n");
	EXPECT_TRACE(&v2, "07", "1 Exception Return\n");
	EXPECT_TRACE(&v5, "0007", "2 Branch Future Flush\n");
	EXPECT_TRACE(&v3, "0007", "2 reserved (an extension that is reserved)\n");
	EXPECT_TRACE(&v2, "0a", "1 reserved (a header that is reserved)\n");
	EXPECT_TRACE(&v2, "b0", "1 reserved (a header that is reserved)\n");
	EXPECT_TRACE(&v2, "28",
		     "1 reserved (a data synchronisation marker, and data trace is off)\n");
	EXPECT_TRACE(&v2, "6c",
		     "1 reserved (a conditional instruction, and they are not traced)\n");
}

TEST(q_is_there_where_trcidr0_says_so)
{
	struct flowtap_ete_config config = unit(0, 1, false);

	EXPECT_TRACE(&config, "af", "1 Q TYPE f count 0\n");
	config.idr0 = 0x08000ca1;
	EXPECT_TRACE(&config, "af", "1 reserved (Q: TRCIDR0.QSUPP says that there is none)\n");
	config.idr0 |= 1 << 15;
	EXPECT_TRACE(&config, "af", "1 Q TYPE f count 0\n");
	config.devarch = 0x47705a13;
	config.idr0 = 0x08000ca1;
	EXPECT_TRACE(&config, "af", "1 reserved (Q: TRCIDR0.QSUPP says that there is none)\n");
}

TEST(exceptions_of_the_m_profile_have_their_names)
{
	static const struct {
		unsigned int type;
		const char *name;
	} cases[] = {
		{ 0, "reserved" }, { 1, "PE reset" }, { 3, "HardFault" }, { 7, "SecureFault" },
		{ 8, "reserved" }, { 15, "SysTick" }, { 16, "IRQ0" }, { 23, "IRQ7" },
		{ 26, "Lockup" }, { 27, "reserved" }, { 32, "reserved" }, { 0x207, "reserved" },
		{ 0x208, "IRQ8 or above" }, { 0x3ef, "IRQ8 or above" }, { 0x3f0, "reserved" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		EXPECT_STREQ(cases[i].name, flowtap_ete_exception_name(true, cases[i].type));
}

TEST_HARNESS_MAIN
