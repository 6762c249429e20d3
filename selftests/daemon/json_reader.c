// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that what RFC 8259 allows is taken and everything else is refused, that what is found is
 * what was written, and that no text whatever is read beyond its end.
 */
#include "../../tools/common/json_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/common/json.h"
#include "support/kselftest_harness.h"

/* From memory of just that size, so that reading beyond it is noticed. */
static bool is_json(const char *text, size_t size)
{
	char *copy = malloc(size ? size : 1);
	struct json_value value;
	bool is;

	memcpy(copy, text, size);
	is = json_reader_open(copy, size, &value);
	free(copy);
	return is;
}

TEST(what_the_standard_allows_is_taken)
{
	static const char *const texts[] = {
		"{}", "[]", " [ ] ", "\t{\r\n}\n", "null", "true", "false", "0", "-0", "-1.5e+10", "1E3",
		"12345678901234567890", "\"\"", "\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
		"\"\\ud83d\\ude00\"", "\"\303\251\"", "{\"a\":1,\"b\":[1,2,{\"c\":null}]}",
		"[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]", "\"\177\"",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		EXPECT_TRUE(is_json(texts[i], strlen(texts[i])))
			TH_LOG("%s", texts[i]);
	}
}

TEST(everything_else_is_refused)
{
	static const char *const texts[] = {
		"", " ", "{", "}", "[", "]", "[1", "[1,", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
		"{a:1}", "{1:1}", "01", "+1", ".5", "1.", "1e", "1e+", "-", "--1", "0x1", "NaN", "nul", "tru",
		"True", "\"", "\"\\\"", "\"\\x41\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud83d\"", "\"\\ude00\"",
		"\"\\ud83dx\"", "\"\\udc00\\udc00\"", "\"\\ud800\\ue000\"", "\"\\ud800\\udbff\"",
		"\"\\ud83d\\u0041\"", "\"a\nb\"", "\"\033[31m\"", "\"\377\"",
		"\"\303\"", "\"\300\200\"", "'a'", "{} {}", "1 2", "[1 2]", "{\"a\":1 \"b\":2}",
		"[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		EXPECT_FALSE(is_json(texts[i], strlen(texts[i])))
			TH_LOG("%s", texts[i]);
	}
	EXPECT_FALSE(is_json("\"a\0b\"", 5));
	/* Controls stand for themselves nowhere. */
	for (char c = 0; c < 0x20; c++)
		EXPECT_FALSE(is_json((char[]){ '"', c, '"' }, 3));
	EXPECT_FALSE(is_json("1\0", 2));
	/* 0x10 to 0x19 are no digits, though they are but for one bit. */
	for (char c = 0x10; c < 0x1a; c++)
		EXPECT_FALSE(is_json((char[]){ '"', '\\', 'u', c, '0', '4', '1', '"' }, 8));
}

TEST(members_are_found_by_their_name)
{
	static const char text[] = " { \"a\" : 1 , \"b\\u0063\" :[ 1 , \"]\" ,{\"a\":2} ], \"n\":-3.5,"
				   "\"s\":\"x\\ty\\u20ac\\ud83d\\ude00\\u0000\", \"t\":true,\"a\":9, "
				   "\"big\":18446744073709551615,\"over\":18446744073709551616} ";
	struct json_value all, list, element = { 0 };
	uint64_t count = 77;
	double number;
	char s[32];

	ASSERT_TRUE(json_reader_open(text, strlen(text), &all));
	EXPECT_TRUE(json_is_count(json_member(all, "a"), &count));
	EXPECT_EQ(1, count);
	EXPECT_TRUE(json_is_number(json_member(all, "n"), &number));
	EXPECT_EQ(-3.5, number);
	EXPECT_FALSE(json_is_count(json_member(all, "n"), &count));
	EXPECT_TRUE(json_is_count(json_member(all, "big"), &count));
	EXPECT_EQ(UINT64_MAX, count);
	EXPECT_FALSE(json_is_count(json_member(all, "over"), &count));
	EXPECT_TRUE(json_is_true(json_member(all, "t")));
	EXPECT_FALSE(json_is_true(json_member(all, "a")));
	EXPECT_TRUE(json_is_string(json_member(all, "s"), s, sizeof(s)));
	EXPECT_STREQ("x\ty\342\202\254\360\237\230\200\357\277\275", s);
	for (size_t capacity = 0; capacity < strlen(s) + 1; capacity++)
		EXPECT_FALSE(json_is_string(json_member(all, "s"), (char[32]){ 0 }, capacity));
	EXPECT_FALSE(json_is_string(json_member(all, "a"), s, sizeof(s)));
	EXPECT_EQ(0, json_member(all, "none").size);
	EXPECT_EQ(0, json_member(json_member(all, "a"), "a").size);
	EXPECT_EQ(0, json_next(all, element).size);
	list = json_member(all, "bc");
	element = json_next(list, element);
	EXPECT_TRUE(json_is_count(element, &count) && count == 1);
	element = json_next(list, element);
	EXPECT_TRUE(json_is_string(element, s, sizeof(s)));
	EXPECT_STREQ("]", s);
	element = json_next(list, element);
	EXPECT_TRUE(json_is_count(json_member(element, "a"), &count) && count == 2);
	EXPECT_EQ(0, json_next(list, element).size);
}

/* The first and the last of each length (RFC 3629, 3). */
TEST(escapes_become_utf8)
{
	static const struct {
		const char *text, *wanted;
	} cases[] = {
		{ "\"\\u0001\"", "\x01" }, { "\"\\u007F\"", "\x7f" },
		{ "\"\\u0080\"", "\xc2\x80" }, { "\"\\u07ff\"", "\xdf\xbf" },
		{ "\"\\u0800\"", "\xe0\xa0\x80" }, { "\"\\uD7FF\"", "\xed\x9f\xbf" },
		{ "\"\\ue000\"", "\xee\x80\x80" }, { "\"\\uffff\"", "\xef\xbf\xbf" },
		{ "\"\\ud800\\udc00\"", "\xf0\x90\x80\x80" },
		{ "\"\\udbff\\udfff\"", "\xf4\x8f\xbf\xbf" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json_value value;
		char text[8];

		ASSERT_TRUE(json_reader_open(cases[i].text, strlen(cases[i].text), &value));
		ASSERT_TRUE(json_is_string(value, text, sizeof(text)));
		EXPECT_STREQ(cases[i].wanted, text);
	}
}

TEST(what_the_writer_writes_is_read)
{
	static const char odd[] = "\"\\\b\001\177\n\303\251\377";
	struct json json = { .flat = true };
	struct json_value all;
	char *text = NULL, s[64];
	size_t size = 0;
	uint64_t count;
	double number;

	json.file = open_memstream(&text, &size);
	json_open(&json, NULL, '{');
	json_string(&json, "odd", odd);
	json_string(&json, "null", NULL);
	json_number(&json, "count", 1234567890123ULL);
	json_real(&json, "real", 0.25);
	json_open(&json, "list", '[');
	json_close(&json, ']');
	json_close(&json, '}');
	fclose(json.file);
	ASSERT_TRUE(json_reader_open(text, size, &all));
	EXPECT_TRUE(json_is_string(json_member(all, "odd"), s, sizeof(s)));
	EXPECT_STREQ("\"\\\b\001\177\n\303\251\357\277\275", s);
	EXPECT_TRUE(json_is_count(json_member(all, "count"), &count) && count == 1234567890123ULL);
	EXPECT_TRUE(json_is_number(json_member(all, "real"), &number) && number == 0.25);
	EXPECT_FALSE(json_is_string(json_member(all, "null"), s, sizeof(s)));
	EXPECT_EQ(0, json_next(json_member(all, "list"), (struct json_value){ 0 }).size);
	free(text);
}

/* In memory of just their size. */
TEST(numbers_of_any_length_are_looked_at)
{
	for (size_t size = 1; size < 200; size++) {
		char *digits = malloc(size);
		struct json_value value;
		uint64_t count;
		double number;

		memset(digits, '1', size);
		ASSERT_TRUE(json_reader_open(digits, size, &value));
		/* 2^64 has 20 digits, and begins with 18. */
		EXPECT_EQ(size <= 20, json_is_count(value, &count))
			TH_LOG("%zu", size);
		EXPECT_EQ(size < 64, json_is_number(value, &number))
			TH_LOG("%zu", size);
		EXPECT_FALSE(json_is_true(value));
		free(digits);
	}
	EXPECT_FALSE(json_is_true((struct json_value){ .text = NULL }));
}

/* Every prefix, and every text with one byte changed: taken or not, nothing is read beyond it. */
TEST(no_text_is_read_beyond_its_end)
{
	static const char text[] = "{\"a\": [1, -2.5e3, \"x\\u00e9\\ud83d\\ude00\303\251\"], \"b\": "
				   "{\"c\": true, \"d\": null}, \"a\": false}";
	const size_t size = strlen(text);
	unsigned int taken = 0;

	for (size_t i = 0; i < size; i++)
		EXPECT_FALSE(is_json(text, i));
	for (size_t i = 0; i < size; i++) {
		for (int byte = 0; byte < 256; byte++) {
			struct json_value all, element = { 0 };
			char *copy = malloc(size), s[8];
			uint64_t count;

			memcpy(copy, text, size);
			copy[i] = (char)byte;
			if (json_reader_open(copy, size, &all)) {
				taken++;
				while ((element = json_next(json_member(all, "a"), element)).size)
					if (!json_is_string(element, s, sizeof(s)))
						json_is_count(element, &count);
				json_member(json_member(all, "b"), "d");
			}
			free(copy);
		}
	}
	EXPECT_LT(size, taken);
}

TEST_HARNESS_MAIN
