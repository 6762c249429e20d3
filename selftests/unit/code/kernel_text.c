// SPDX-License-Identifier: GPL-2.0-only
/* Shows that the kernel's text is known where two looks agree, and missing just where not. */
#include <errno.h>
#include <flowtap/address_map.h>
#include <stdlib.h>
#include <string.h>

#include "code/kernel_text.h"
#include "support/kselftest_harness.h"

#define AT 0xffffffff80002000ULL
#define SIZE 0x3800ULL			/* three pages and a half */
#define MODULE 0xffffffff01000000ULL

FIXTURE(kernel_text)
{
	struct flowtap_address_map *map;
	uint8_t bytes[SIZE];
};

FIXTURE_SETUP(kernel_text)
{
	self->map = flowtap_address_map_new(NULL);
	ASSERT_NE(self->map, NULL);
	for (size_t i = 0; i < SIZE; i++)
		self->bytes[i] = (uint8_t)(i * 7 + i / 256);
}

FIXTURE_TEARDOWN(kernel_text)
{
	flowtap_address_map_free(self->map);
}

static struct flowtap_kernel_text text_of(const char *name, uint64_t start, uint64_t size,
					  uint64_t time, uint64_t until)
{
	return (struct flowtap_kernel_text) {
		.time = time,
		.until = until,
		.start = start,
		.size = size,
		.name = name,
	};
}

/* One look at [AT, AT + SIZE): the pages [first, first + n) were different. */
static int look(struct flowtap_address_map *map, uint64_t time, uint64_t until, uint64_t first,
		uint64_t n, const uint8_t *bytes)
{
	struct flowtap_kernel_text text = text_of("kernel", AT, SIZE, time, until);

	text.offset = first * 4096;
	text.part_size = n * 4096 > SIZE - text.offset ? SIZE - text.offset : n * 4096;
	return flowtap_address_map_add_kernel(map, &text, bytes + text.offset);
}

/* The byte there, -1: missing, -2: nothing. All that the answer says holds. */
static int byte_at(struct flowtap_address_map *map, uint64_t time, uint64_t address)
{
	const struct flowtap_code *code = flowtap_address_map_find(map, 7, time, address);

	if (!code)
		return -2;
	if (address < code->start || address >= code->end || time < code->from ||
	    time >= code->until || !code->bytes == !code->missing)
		abort();
	return code->bytes ? code->bytes[address - code->start] : -1;
}

TEST_F(kernel_text, known_in_every_process_and_ever)
{
	ASSERT_EQ(look(self->map, 10, 20, 0, 4, self->bytes), 0);
	for (uint64_t time = 0; time < 100; time += 5)
		ASSERT_EQ(byte_at(self->map, time, AT + 0x1234), self->bytes[0x1234]);
	EXPECT_EQ(flowtap_address_map_find(self->map, 1, 5, AT),
		  flowtap_address_map_find(self->map, 2, 50, AT));
	EXPECT_EQ(byte_at(self->map, 5, AT + SIZE - 1), self->bytes[SIZE - 1]);
	EXPECT_EQ(byte_at(self->map, 5, AT + SIZE), -2);
	EXPECT_EQ(byte_at(self->map, 5, AT - 1), -2);
	EXPECT_STREQ(flowtap_address_map_find(self->map, 1, 5, AT)->path, "[kernel]");
}

TEST_F(kernel_text, only_what_was_changed_is_missing_and_only_in_between)
{
	uint8_t after[SIZE];

	memcpy(after, self->bytes, SIZE);
	after[0x1003] ^= 1;		/* one byte of a parcel, then one of two */
	after[0x2ffe] ^= 1;
	after[0x3000] ^= 1;
	ASSERT_EQ(look(self->map, 10, 20, 0, 4, self->bytes), 0);
	ASSERT_EQ(look(self->map, 30, 40, 0, 0, after), 0);
	ASSERT_EQ(look(self->map, 50, 60, 1, 3, after), 0);
	for (uint64_t time = 0; time < 80; time++) {
		for (uint64_t at = 0; at < SIZE; at++) {
			bool place = at == 0x1002 || at == 0x1003 || at == 0x2ffe || at == 0x2fff ||
				     at == 0x3000 || at == 0x3001;
			int wanted = time < 60 ? self->bytes[at] : after[at];

			if (place && time >= 30 && time < 60)
				wanted = -1;
			ASSERT_EQ(byte_at(self->map, time, AT + at), wanted);
		}
	}
	EXPECT_NE(
		strstr(flowtap_address_map_find(self->map, 1, 45, AT + 0x1002)->missing, "changed"),
		NULL);
}

TEST_F(kernel_text, what_is_outside_of_a_changed_function_stays_the_same_code)
{
	static const char symbols[] =
		"ffffffff80002000 T first\n"
		"ffffffff80003000 t second\n"
		"ffffffff80003000 t $x\n"
		"ffffffff80003100 W third\n"
		"ffffffff80003080 d data\n";
	const struct flowtap_code *before, *after;
	uint8_t bytes[SIZE];

	memcpy(bytes, self->bytes, SIZE);
	bytes[0x1042] ^= 1;
	ASSERT_EQ(look(self->map, 10, 20, 0, 4, self->bytes), 0);
	ASSERT_EQ(look(self->map, 30, 40, 1, 1, bytes), 0);
	ASSERT_EQ(flowtap_address_map_add_symbols(self->map, symbols, sizeof(symbols) - 1), 0);
	before = flowtap_address_map_find(self->map, 1, 5, AT);
	after = flowtap_address_map_find(self->map, 1, 50, AT);
	/* As the decoder compares them. */
	EXPECT_EQ(before->file, after->file);
	EXPECT_EQ(after->end, AT + 0x1000);
	after = flowtap_address_map_find(self->map, 1, 50, AT + 0x1000);
	EXPECT_NE(after->file, before->file);
	EXPECT_EQ(after->start, AT + 0x1000);
	EXPECT_EQ(after->end, AT + 0x1100);
	after = flowtap_address_map_find(self->map, 1, 50, AT + 0x1100);
	EXPECT_EQ(after->file, before->file);
	EXPECT_EQ(after->end, AT + SIZE);
	/* While it is not known all but the place is the same. */
	after = flowtap_address_map_find(self->map, 1, 35, AT + 0x1000);
	EXPECT_EQ(after->file, before->file);
	EXPECT_EQ(after->end, AT + 0x1042);
}

TEST_F(kernel_text, looks_at_once_are_apart_in_time)
{
	uint8_t second[SIZE], third[SIZE];

	memcpy(second, self->bytes, SIZE);
	second[0] ^= 1;
	memcpy(third, second, SIZE);
	third[0x100] ^= 1;
	ASSERT_EQ(look(self->map, 10, 20, 0, 4, self->bytes), 0);
	ASSERT_EQ(look(self->map, 30, 40, 0, 1, second), 0);
	ASSERT_EQ(look(self->map, 40, 50, 0, 1, third), 0);
	/* The second look may have read the one byte at 30, and it was changed at 31. */
	EXPECT_EQ(byte_at(self->map, 29, AT + 0x100), self->bytes[0x100]);
	EXPECT_EQ(byte_at(self->map, 30, AT + 0x100), -1);
	EXPECT_EQ(byte_at(self->map, 49, AT + 0x100), -1);
	EXPECT_EQ(byte_at(self->map, 50, AT + 0x100), third[0x100]);
	EXPECT_EQ(byte_at(self->map, 9, AT), self->bytes[0]);
	EXPECT_EQ(byte_at(self->map, 10, AT), -1);
	EXPECT_EQ(byte_at(self->map, 39, AT), -1);
	EXPECT_EQ(byte_at(self->map, 40, AT), second[0]);
}

TEST_F(kernel_text, parts_that_did_not_come_are_missing)
{
	ASSERT_EQ(look(self->map, 10, 20, 0, 1, self->bytes), 0);
	ASSERT_EQ(look(self->map, 10, 20, 3, 1, self->bytes), 0);
	EXPECT_EQ(byte_at(self->map, 5, AT + 0xfff), self->bytes[0xfff]);
	EXPECT_EQ(byte_at(self->map, 5, AT + 0x1000), -1);
	EXPECT_EQ(byte_at(self->map, 5, AT + 0x2fff), -1);
	EXPECT_EQ(byte_at(self->map, 5, AT + 0x3000), self->bytes[0x3000]);
	/* A later look has them. */
	ASSERT_EQ(look(self->map, 30, 40, 1, 2, self->bytes), 0);
	EXPECT_EQ(byte_at(self->map, 39, AT + 0x1000), -1);
	EXPECT_EQ(byte_at(self->map, 40, AT + 0x1000), self->bytes[0x1000]);
}

TEST_F(kernel_text, modules_come_and_go)
{
	struct flowtap_kernel_text text = text_of("one", MODULE, 0x1000, 10, 20);
	static const char symbols[] = "ffffffff01000000 t here\t[one]\n"
				      "ffffffff01000010 t not_here\t[two]\n"
				      "ffffffff01000000 t there\t[two]\n";
	uint64_t offset;

	ASSERT_EQ(flowtap_address_map_add_symbols(self->map, symbols, sizeof(symbols) - 1), 0);
	text.part_size = 0x1000;
	text.fresh = true;
	ASSERT_EQ(flowtap_address_map_add_kernel(self->map, &text, self->bytes), 0);
	text.fresh = false;
	text.part_size = 0;
	text.time = 30;
	text.until = 40;
	ASSERT_EQ(flowtap_address_map_add_kernel(self->map, &text, NULL), 0);
	text.gone = true;
	text.time = 40;
	text.until = 70;
	ASSERT_EQ(flowtap_address_map_add_kernel(self->map, &text, NULL), 0);
	/* Another in its place. */
	text = text_of("two", MODULE, 0x1000, 60, 80);
	text.fresh = true;
	text.part_size = 0x1000;
	ASSERT_EQ(flowtap_address_map_add_kernel(self->map, &text, self->bytes + 0x1000), 0);

	EXPECT_EQ(byte_at(self->map, 9, MODULE), -2);
	EXPECT_EQ(byte_at(self->map, 10, MODULE), -1);
	EXPECT_EQ(byte_at(self->map, 19, MODULE), -1);
	EXPECT_EQ(byte_at(self->map, 20, MODULE + 5), self->bytes[5]);
	EXPECT_EQ(byte_at(self->map, 29, MODULE + 5), self->bytes[5]);
	EXPECT_EQ(byte_at(self->map, 30, MODULE), -1);
	EXPECT_EQ(byte_at(self->map, 79, MODULE), -1);
	EXPECT_EQ(byte_at(self->map, 80, MODULE + 5), self->bytes[0x1005]);
	EXPECT_STREQ(flowtap_address_map_find(self->map, 1, 25, MODULE)->path, "[one]");
	EXPECT_STREQ(flowtap_address_map_find(self->map, 1, 90, MODULE)->path, "[two]");
	EXPECT_STREQ(flowtap_address_map_symbol(self->map,
						flowtap_address_map_find(self->map, 1, 25, MODULE),
						MODULE + 0x14, &offset),
		     "here");
	EXPECT_EQ(offset, 0x14);
	EXPECT_STREQ(flowtap_address_map_symbol(self->map,
						flowtap_address_map_find(self->map, 1, 90, MODULE),
						MODULE + 0x14, &offset),
		     "not_here");
	EXPECT_EQ(offset, 4);
}

TEST_F(kernel_text, contradictions_are_refused)
{
	struct flowtap_kernel_text text = text_of("kernel", AT, SIZE, 10, 20);

	text.gone = true;
	EXPECT_EQ(flowtap_address_map_add_kernel(self->map, &text, NULL), -EINVAL);
	text.gone = false;
	text.part_size = 0x1001;
	EXPECT_EQ(flowtap_address_map_add_kernel(self->map, &text, self->bytes), -EINVAL);
	text.part_size = 0x1000;
	text.offset = 0x800;
	EXPECT_EQ(flowtap_address_map_add_kernel(self->map, &text, self->bytes), -EINVAL);
	text.offset = 0x3000;
	EXPECT_EQ(flowtap_address_map_add_kernel(self->map, &text, self->bytes), -EINVAL);
	text.offset = 0;
	text.start = 0x1000;
	EXPECT_EQ(flowtap_address_map_add_kernel(self->map, &text, self->bytes), -EINVAL);
	text.start = UINT64_MAX - 0x1000;
	EXPECT_EQ(flowtap_address_map_add_kernel(self->map, &text, self->bytes), -EINVAL);
	text.start = AT;
	text.until = 9;
	EXPECT_EQ(flowtap_address_map_add_kernel(self->map, &text, self->bytes), -EINVAL);
	text.until = 20;
	ASSERT_EQ(flowtap_address_map_add_kernel(self->map, &text, self->bytes), 0);
	/* A look that began before the other ended. */
	text.time = 19;
	text.until = 30;
	EXPECT_EQ(flowtap_address_map_add_kernel(self->map, &text, self->bytes), -EINVAL);
	/* A gigabyte each is too much. */
	text = text_of("kernel", AT, 1ULL << 30, 40, 50);
	EXPECT_EQ(flowtap_address_map_add_kernel(self->map, &text, self->bytes), -EFBIG);
	EXPECT_EQ(byte_at(self->map, 100, AT), self->bytes[0]);
}

TEST_F(kernel_text, too_many_changes_end_what_is_known)
{
	uint8_t bytes[SIZE];
	uint64_t time = 0;
	int err = 0;

	memcpy(bytes, self->bytes, SIZE);
	for (; !err && time < 10000; time += 10) {
		bytes[0x10] = (uint8_t)(time / 10);
		err = look(self->map, time, time + 5, 0, 4, bytes);
	}
	EXPECT_EQ(err, -EFBIG);
	EXPECT_EQ(byte_at(self->map, time, AT), -1);
	EXPECT_EQ(byte_at(self->map, 21, AT), self->bytes[0]);
}

TEST_F(kernel_text, more_places_than_are_kept_are_one)
{
	uint8_t *before = calloc(1, 1 << 20), *after = calloc(1, 1 << 20);
	struct flowtap_kernel_text text = text_of("kernel", AT, 1 << 20, 10, 20);

	ASSERT_NE(before, NULL);
	ASSERT_NE(after, NULL);
	for (size_t i = 0x1000; i < 0xff000; i += 8)
		after[i] = 1;
	text.part_size = text.size;
	ASSERT_EQ(flowtap_address_map_add_kernel(self->map, &text, before), 0);
	text.time = 30;
	text.until = 40;
	ASSERT_EQ(flowtap_address_map_add_kernel(self->map, &text, after), 0);
	EXPECT_EQ(byte_at(self->map, 35, AT + 0xfff), 0);
	EXPECT_EQ(byte_at(self->map, 35, AT + 0x1004), -1);
	EXPECT_EQ(byte_at(self->map, 35, AT + 0xff000), 0);
	EXPECT_EQ(byte_at(self->map, 45, AT + 0x1008), 1);
	free(before);
	free(after);
}

/* Two looks that differ in 1024 places, which makes a timeline of 2050 parts. */
static int add_restless(struct flowtap_kernel_texts *texts, uint32_t region)
{
	struct flowtap_kernel_text text = text_of("kernel", AT + region * 4096ULL, 4096, 10, 20);
	uint8_t bytes[4096];
	int err;

	text.part_size = text.size;
	memset(bytes, (int)region, sizeof(bytes));
	err = flowtap_kernel_texts_add(texts, &text, bytes);
	for (size_t i = 0; i < sizeof(bytes); i += 4)
		bytes[i] = (uint8_t)(region + 100);
	text.time = 30;
	text.until = 40;
	return err ? err : flowtap_kernel_texts_add(texts, &text, bytes);
}

/* They drive out one another for a while: then some stay and the others are given up. */
TEST(timelines_are_not_made_again_without_end)
{
	enum { REGIONS = 16, ROUNDS = 50 };
	struct flowtap_kernel_symbols *symbols = flowtap_kernel_symbols_new();
	struct flowtap_kernel_texts *texts = flowtap_kernel_texts_new(symbols, 6000);
	unsigned int known[ROUNDS] = { 0 };
	struct flowtap_code code;

	for (uint32_t i = 0; i < REGIONS; i++)
		ASSERT_EQ(0, add_restless(texts, i));
	for (size_t n = 0; n < (size_t)ROUNDS * REGIONS; n++) {
		const uint32_t i = n % REGIONS;
		const uint64_t at = AT + i * 4096ULL + 4 * n % 4096;

		ASSERT_EQ(0, flowtap_kernel_texts_find(texts, 50, at, &code));
		EXPECT_STREQ("[kernel]", code.path);
		if (code.missing) {
			EXPECT_STREQ("its text changed too often to be followed", code.missing);
			EXPECT_EQ(NULL, code.bytes);
			continue;
		}
		EXPECT_EQ(i + 100, code.bytes[at - code.start]);
		known[n / REGIONS]++;
	}
	EXPECT_EQ(REGIONS, known[0]);
	EXPECT_EQ(3, known[ROUNDS - 1]);
	flowtap_kernel_texts_free(texts);
	flowtap_kernel_symbols_free(symbols);
}

/* A timeline that is made anew for a look that has come is none that did not fit. */
TEST(looks_that_come_between_questions_give_nothing_up)
{
	struct flowtap_kernel_symbols *symbols = flowtap_kernel_symbols_new();
	struct flowtap_kernel_texts *texts = flowtap_kernel_texts_new(symbols, 3000);
	struct flowtap_kernel_text text = text_of("kernel", AT, 4096, 50, 60);
	struct flowtap_code code;

	ASSERT_EQ(0, add_restless(texts, 0));
	for (int i = 0; i < 200; i++) {
		ASSERT_EQ(0, flowtap_kernel_texts_add(texts, &text, NULL));
		ASSERT_EQ(0, flowtap_kernel_texts_find(texts, text.until, AT, &code));
		ASSERT_EQ(NULL, code.missing);
		text.time += 20;
		text.until += 20;
	}
	flowtap_kernel_texts_free(texts);
	flowtap_kernel_symbols_free(symbols);
}

TEST_F(kernel_text, symbols_of_nonsense)
{
	static const char nonsense[] = "\n\nzz\nffffffff80002000\nffffffff80002000 t\n"
				       "ffffffff80002000 t \n1234 t user\nffffffff80002000  t x";
	uint64_t offset;

	ASSERT_EQ(flowtap_address_map_add_symbols(self->map, nonsense, sizeof(nonsense)), 0);
	ASSERT_EQ(flowtap_address_map_add_symbols(self->map, nonsense, 0), 0);
	ASSERT_EQ(look(self->map, 10, 20, 0, 4, self->bytes), 0);
	EXPECT_EQ(flowtap_address_map_symbol(
			  self->map, flowtap_address_map_find(self->map, 1, 5, AT), AT, &offset),
		  NULL);
}

TEST_HARNESS_MAIN
