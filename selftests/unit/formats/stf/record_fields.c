// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that each record of STF is written and read as its specification has it, that a trace with
 * all of them is read whole, and that the public example comes out byte for byte.
 */
#include <errno.h>
#include <fcntl.h>
#include <flowtap/check.h>
#include <flowtap/learned.h>
#include <flowtap/stf.h>
#include <flowtap/stf_record.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

#define MINIMAL "../shared/corpus/stf/minimal20.stf"

struct trace {
	struct flowtap_stf_sizes sizes;
	uint8_t bytes[4096];
	size_t size;
};

static int add(struct trace *trace, struct flowtap_stf_record record)
{
	size_t size;
	int error = flowtap_stf_record_write(trace->bytes + trace->size,
					     sizeof(trace->bytes) - trace->size, &trace->sizes,
					     &record, &size);

	if (error)
		return error;
	flowtap_stf_record_follow(&trace->sizes, &record);
	trace->size += size;
	return 0;
}

#define RECORD(which, ...) \
	ASSERT_EQ(0, add(trace, (struct flowtap_stf_record){ .descriptor = which, ##__VA_ARGS__ }))
#define FIELDS(...) .field = { __VA_ARGS__ }
#define BYTES(data, n) .bytes = (const uint8_t *)(data), .size = n
#define TEXT(text) BYTES(text, sizeof(text) - 1)

static void put_word(struct __test_metadata *_metadata, struct trace *trace, uint32_t opcode)
{
	RECORD((opcode & 3) == 3 ? 0xf0 : 0xf1, FIELDS(opcode));
}

static const uint8_t modes[2][8] = { { 0 }, { 1 } };

static void put_mode(struct __test_metadata *_metadata, struct trace *trace, unsigned int mode)
{
	RECORD(0x64, FIELDS(1ULL << (trace->sizes.event_id * 8 - 2)), BYTES(modes[mode], 8));
}

static void put_header(struct __test_metadata *_metadata, struct trace *trace, uint64_t features,
		       const char *comment, const char *info)
{
	memset(trace, 0, sizeof(*trace));
	RECORD(0x01, TEXT("STF"));
	RECORD(0x02, FIELDS(1, 3));
	RECORD(0x03, BYTES(comment, strlen(comment)));
	RECORD(0x04, FIELDS(1));
	RECORD(0x05, FIELDS(2));
	RECORD(0x06, FIELDS(6, 1, 0, 0), BYTES(info, strlen(info)));
	RECORD(0x07, FIELDS(features));
	RECORD(0x08, FIELDS(0, 100, 100));
	RECORD(0x09, FIELDS(0x80000000));
}

/* By the layout that stands beside it in the corpus. */
static void make_minimal(struct __test_metadata *_metadata, struct trace *trace)
{
	static const uint32_t begin[] = { 0x00000297, 0x02028293, 0x14129073, 0x0001, 0x0001 };
	static const uint32_t user[] = { 0x00500513, 0x4585, 0xfff50513 };
	static const uint32_t end[] = { 0x0001, 0x0001, 0x00000013 };
	static const uint8_t none[8];

	put_header(_metadata, trace, 0x80428, "mkstf.py 0.1 (git 0000000)", "mkstf minimal");
	RECORD(0x13);
	put_mode(_metadata, trace, 1);
	for (size_t i = 0; i < 5; i++)
		put_word(_metadata, trace, begin[i]);
	RECORD(0x1f, FIELDS(0x80000020));
	put_mode(_metadata, trace, 0);
	put_word(_metadata, trace, 0x10200073);
	for (size_t i = 0; i < 3; i++)
		put_word(_metadata, trace, user[i]);
	RECORD(0x1f, FIELDS(0x80000026));
	put_word(_metadata, trace, 0xfeb51ee3);
	put_word(_metadata, trace, 0xfff50513);
	put_word(_metadata, trace, 0xfeb51ee3);
	RECORD(0x3c, FIELDS(0x7ffff000, 8, 0, 1));
	RECORD(0x3d, FIELDS(0));
	put_word(_metadata, trace, 0x00013603);
	RECORD(0x1f, FIELDS(0x80000040));
	put_word(_metadata, trace, 0x00e000ef);
	RECORD(0x64, FIELDS(1ULL << 63 | 5), BYTES(none, 8));
	RECORD(0x65, FIELDS(0x80001000));
	put_mode(_metadata, trace, 1);
	put_word(_metadata, trace, 0x0001);
	put_word(_metadata, trace, 0x00000013);
	RECORD(0x1f, FIELDS(0x80000040));
	put_mode(_metadata, trace, 0);
	put_word(_metadata, trace, 0x10200073);
	for (size_t i = 0; i < 3; i++)
		put_word(_metadata, trace, end[i]);
}

/* Every kind, in groups as they may be. */
static void make_all(struct __test_metadata *_metadata, struct trace *trace, bool event64)
{
	static const uint8_t data[64] = { 1, 2, 3 };
	uint64_t top = event64 ? 1ULL << 63 : 1ULL << 31;

	put_header(_metadata, trace, 0x20 | 8 | 0x400 | (event64 ? 1ULL << 19 : 0), "all", "");
	RECORD(0x0a, FIELDS(256));
	RECORD(0x0d, TEXT("rv64gcv"));
	RECORD(0x13);
	put_mode(_metadata, trace, 1);
	RECORD(0xf1, FIELDS(0x0001));
	RECORD(0x08, FIELDS(1, 2, 3));
	RECORD(0x28, FIELDS(5, 2 << 4 | 1), BYTES(data, 8));
	RECORD(0x28, FIELDS(7, 3 << 4 | 3), BYTES(data, 32));
	RECORD(0x29, FIELDS(7));
	RECORD(0x32, FIELDS(0x1000, 1, 4096), BYTES(data, 48));
	RECORD(0x3c, FIELDS(0x2000, 16, 3, 2));
	RECORD(0x3d, FIELDS(UINT64_MAX));
	RECORD(0x3d, FIELDS(1));
	RECORD(0x3e, FIELDS(0x3000, 8, 3, 1, 0xffffffff, 2));
	RECORD(0x3f, FIELDS(2));
	RECORD(0xe6, FIELDS(4, 0x12345678));
	RECORD(0xf0, FIELDS(0x00013603));
	RECORD(0x64, FIELDS(2), BYTES(data, 16));
	RECORD(0x65, FIELDS(0x80001000));
	RECORD(0xf0, FIELDS(0x00013603));
	RECORD(0x64, FIELDS(top | 7), BYTES(data, 0));
	RECORD(0x65, FIELDS(0x80002000));
	RECORD(0xf1, FIELDS(0x0001));
	RECORD(0x03, TEXT("a word"));
	RECORD(0x03, TEXT("gap skid"));
	RECORD(0x09, FIELDS(0x80003000));
	RECORD(0x1f, FIELDS(0x80003010));
	RECORD(0xf0, FIELDS(0x0100006f));
	RECORD(0xf1, FIELDS(0x0001));
}

/* Of each channel of TileLink, as stf_lib's protocols/tilelink.hpp has them. */
#define MESSAGE(channel) channel, 4, 5, 6, 1, 2, 3, 4, 5, 6, 7, 8
#define NUMBER 1, 2, 3, 4, 5, 6, 7, 8

static const uint8_t channel_a[] = { MESSAGE(1), 3, 0, 'a', 'b', 'c', NUMBER, 9, 0, 0xff, 1 };
static const uint8_t channel_b[] = { MESSAGE(2), 0, 0, NUMBER, 0, 0 };
static const uint8_t channel_c[] = { MESSAGE(3), 1, 0, 'a', NUMBER };
static const uint8_t channel_d[] = { MESSAGE(4), 1, 1, [14 ... 270] = 7, NUMBER };
static const uint8_t channel_e[] = { 5, NUMBER };

/* Transactions before the first instruction, between two, within the records of one, at the end. */
static void make_transactions(struct __test_metadata *_metadata, struct trace *trace)
{
	put_header(_metadata, trace, 0x180428, "transactions", "");
	RECORD(0x0b, FIELDS(1));
	RECORD(0x0c, FIELDS(1), TEXT("clk"));
	RECORD(0x13);
	RECORD(0xfa, FIELDS(1, 2, 1), BYTES(channel_a, sizeof(channel_a)));
	put_mode(_metadata, trace, 1);
	RECORD(0xf1, FIELDS(0x0001));
	RECORD(0xfa, FIELDS(UINT64_MAX, UINT64_MAX, 0xffff), BYTES(channel_b, sizeof(channel_b)));
	RECORD(0xfb, FIELDS(UINT64_MAX, UINT64_MAX, 0xffff));
	RECORD(0xf0, FIELDS(0x00013603));
	RECORD(0x1f, FIELDS(0x80000020));
	RECORD(0xfa, FIELDS(3, 0, 1), BYTES(channel_c, sizeof(channel_c)));
	RECORD(0xf0, FIELDS(0x01a0006f));
	RECORD(0xf1, FIELDS(0x0001));
	RECORD(0xfa, FIELDS(4, 0, 1), BYTES(channel_d, sizeof(channel_d)));
	RECORD(0xfa, FIELDS(5, 0, 1), BYTES(channel_e, sizeof(channel_e)));
}

TEST(the_public_example_is_written_byte_for_byte)
{
	int fd = open(MINIMAL, O_RDONLY | O_CLOEXEC);
	struct trace made, *trace = &made;
	uint8_t want[1024];
	ssize_t size;

	if (fd < 0)
		SKIP(return, "no " MINIMAL);
	size = read(fd, want, sizeof(want));
	close(fd);
	make_minimal(_metadata, trace);
	ASSERT_EQ(size, (ssize_t)trace->size);
	EXPECT_EQ(0, memcmp(want, trace->bytes, trace->size));
}

/* What was taken apart and put together again is the same; cut anywhere, it is not all of it. */
static void take_apart(struct __test_metadata *_metadata, const struct trace *trace)
{
	struct flowtap_stf_sizes sizes = { 0 };
	struct flowtap_stf_record record;
	size_t at, size, again;
	uint8_t bytes[512];

	for (at = 0; at < trace->size; at += size) {
		ASSERT_EQ(0, flowtap_stf_record_parse(trace->bytes + at, trace->size - at, &sizes,
						      &record, &size));
		ASSERT_NE(NULL, flowtap_stf_record_name(record.descriptor));
		for (size_t cut = 0; cut < size; cut++) {
			struct flowtap_stf_record part;
			uint8_t *exact = malloc(cut + 1);
			size_t n;

			memcpy(exact + 1, trace->bytes + at, cut);
			EXPECT_EQ(-ENODATA,
				  flowtap_stf_record_parse(exact + 1, cut, &sizes, &part, &n));
			free(exact);
		}
		ASSERT_EQ(0, flowtap_stf_record_write(bytes, size, &sizes, &record, &again));
		EXPECT_EQ(size, again);
		EXPECT_EQ(0, memcmp(bytes, trace->bytes + at, size));
		EXPECT_EQ(-ENOSPC,
			  flowtap_stf_record_write(bytes, size - 1, &sizes, &record, &again));
		EXPECT_EQ(size, again);
		flowtap_stf_record_follow(&sizes, &record);
	}
	EXPECT_EQ(trace->size, at);
}

static void read_whole(struct __test_metadata *_metadata, const struct trace *trace)
{
	struct flowtap_read read = { .learned = flowtap_learned_new(0) };
	struct flowtap_check check = { .problems = 0 };
	int fd = memfd_create("all", MFD_CLOEXEC);

	ASSERT_EQ((ssize_t)trace->size, write(fd, trace->bytes, trace->size));
	ASSERT_EQ(0, flowtap_check_file(&check, fd));
	EXPECT_EQ(0, check.problems);
	lseek(fd, 0, SEEK_SET);
	ASSERT_EQ(0, flowtap_stf_read(&read, fd));
	EXPECT_EQ(0, read.problems);
	EXPECT_EQ(check.records, read.records);
	EXPECT_EQ(check.instructions, read.instructions);
	EXPECT_EQ(6, read.instructions);
	EXPECT_EQ(3, read.extra[FLOWTAP_READ_REGISTERS]);
	EXPECT_EQ(3, read.extra[FLOWTAP_READ_MEMORY]);
	EXPECT_EQ(1, read.extra[FLOWTAP_READ_PAGE_TABLES]);
	EXPECT_EQ(2, read.extra[FLOWTAP_READ_COMMENTS]);
	EXPECT_EQ(3, read.extra[FLOWTAP_READ_OTHER]);
	EXPECT_FALSE(read.truncated);
	flowtap_learned_free(read.learned);
	close(fd);
}

TEST(each_record_is_read_as_it_was_written_with_both_widths_of_events)
{
	struct trace trace;

	for (int event64 = 0; event64 < 2; event64++) {
		make_all(_metadata, &trace, event64);
		take_apart(_metadata, &trace);
		read_whole(_metadata, &trace);
	}
	make_minimal(_metadata, &trace);
	take_apart(_metadata, &trace);
	make_transactions(_metadata, &trace);
	take_apart(_metadata, &trace);
}

struct problem {
	char text[128];
	uint64_t offset;
};

static void note(struct flowtap_read *read, uint64_t offset, uint64_t line, const char *reason)
{
	struct problem *problem = read->argument;

	(void)line;
	problem->offset = offset;
	snprintf(problem->text, sizeof(problem->text), "%s", reason);
}

static struct flowtap_read read_bytes(struct __test_metadata *_metadata, const uint8_t *bytes,
				      size_t size, struct problem *problem)
{
	struct flowtap_read read = { .learned = flowtap_learned_new(0), .problem = note,
				     .argument = problem };
	int fd = memfd_create("trace", MFD_CLOEXEC);

	EXPECT_EQ((ssize_t)size, write(fd, bytes, size));
	lseek(fd, 0, SEEK_SET);
	EXPECT_EQ(0, flowtap_stf_read(&read, fd));
	flowtap_learned_free(read.learned);
	close(fd);
	return read;
}

TEST(transactions_are_passed_over_and_counted)
{
	struct problem problem = { .offset = 0 };
	struct flowtap_read read;
	struct trace trace;

	make_transactions(_metadata, &trace);
	read = read_bytes(_metadata, trace.bytes, trace.size, &problem);
	EXPECT_EQ(0, read.problems);
	EXPECT_STREQ("", problem.text);
	EXPECT_EQ(4, read.instructions);
	EXPECT_EQ(6, read.extra[FLOWTAP_READ_OTHER]);
	EXPECT_FALSE(read.truncated);
	for (size_t size = trace.size - sizeof(channel_e); size < trace.size; size++) {
		read = read_bytes(_metadata, trace.bytes, size, &problem);
		EXPECT_EQ(1, read.problems);
		EXPECT_TRUE(read.truncated);
		EXPECT_EQ(4, read.instructions);
	}
}

/* Data and a mask as long as they can be. */
TEST(the_longest_transaction_is_read)
{
	static uint8_t longest[12 + 2 + UINT16_MAX + 8 + 2 + (UINT16_MAX + 7) / 8];
	static uint8_t bytes[4096 + 2 * sizeof(longest)];
	struct flowtap_stf_record record = {
		.descriptor = 0xfa, BYTES(longest, sizeof(longest)),
	};
	struct problem problem = { .offset = 0 };
	struct flowtap_read read;
	struct trace trace;
	size_t size, at;

	make_transactions(_metadata, &trace);
	longest[0] = 1;
	memset(longest + 12, 0xff, 2);
	memset(longest + 12 + 2 + UINT16_MAX + 8, 0xff, 2);
	memcpy(bytes, trace.bytes, trace.size);
	at = trace.size;
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, flowtap_stf_record_write(bytes + at, sizeof(bytes) - at, &trace.sizes,
						      &record, &size));
		EXPECT_EQ(1 + 18 + sizeof(longest), size);
		at += size;
	}
	read = read_bytes(_metadata, bytes, at, &problem);
	EXPECT_EQ(0, read.problems);
	EXPECT_EQ(8, read.extra[FLOWTAP_READ_OTHER]);
	record.size--;
	EXPECT_EQ(-EINVAL,
		  flowtap_stf_record_write(bytes, sizeof(bytes), &trace.sizes, &record, &size));
	read = read_bytes(_metadata, bytes, at - 1, &problem);
	EXPECT_EQ(1, read.problems);
	EXPECT_EQ(at - size, problem.offset);
}

TEST(a_transaction_of_no_known_length_is_told_with_its_offset)
{
	static const struct {
		uint8_t protocol, channel;
		const char *problem;
	} unknown[] = {
		{ 0, 1, "a transaction of protocol 0, channel 1: how long that is is not known" },
		{ 2, 1, "a transaction of protocol 2, channel 1: how long that is is not known" },
		{ 1, 0, "a transaction of protocol 1, channel 0: how long that is is not known" },
		{ 1, 6, "a transaction of protocol 1, channel 6: how long that is is not known" },
		{ 1, 255, "a transaction of protocol 1, channel 255: how long that is is not known" },
	};
	uint8_t rest[64] = { 0 };
	struct flowtap_stf_record record;
	struct flowtap_read read;
	struct problem problem;
	size_t size;

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		struct trace made, *trace = &made;
		size_t at;

		put_header(_metadata, trace, 0x180428, "", "");
		RECORD(0x0b, FIELDS(unknown[i].protocol));
		RECORD(0x13);
		put_mode(_metadata, trace, 1);
		RECORD(0xf1, FIELDS(0x0001));
		at = trace->size;
		trace->bytes[at] = 0xfa;
		memcpy(trace->bytes + at + 1, rest, sizeof(rest));
		trace->bytes[at + 19] = unknown[i].channel;
		read = read_bytes(_metadata, trace->bytes, at + 1 + sizeof(rest), &problem);
		EXPECT_EQ(1, read.problems);
		EXPECT_EQ(at, problem.offset);
		EXPECT_STREQ(unknown[i].problem, problem.text);
		EXPECT_EQ(1, read.instructions);
		EXPECT_EQ(-EBADMSG, flowtap_stf_record_parse(trace->bytes + at, 64, &trace->sizes,
							     &record, &size));
		rest[0] = unknown[i].channel;
		record = (struct flowtap_stf_record){ .descriptor = 0xfa, BYTES(rest, 40) };
		EXPECT_EQ(-EINVAL, flowtap_stf_record_write(trace->bytes, sizeof(trace->bytes),
							    &trace->sizes, &record, &size));
	}
}

TEST(what_cannot_be_a_record_is_refused)
{
	struct flowtap_stf_sizes sizes = { .event_id = 4 };
	struct flowtap_stf_record record = { .descriptor = 0x64, FIELDS(1ULL << 32) };
	uint8_t bytes[64] = { 0 };
	size_t size;

	EXPECT_EQ(-ERANGE, flowtap_stf_record_write(bytes, sizeof(bytes), &sizes, &record, &size));
	record = (struct flowtap_stf_record){ .descriptor = 0x64, BYTES(bytes, 7) };
	EXPECT_EQ(-EINVAL, flowtap_stf_record_write(bytes, sizeof(bytes), &sizes, &record, &size));
	record = (struct flowtap_stf_record){ .descriptor = 0x09, BYTES(bytes, 1) };
	EXPECT_EQ(-EINVAL, flowtap_stf_record_write(bytes, sizeof(bytes), &sizes, &record, &size));
	for (int i = 0; i < 256; i++) {
		static const uint8_t none[] = { 0x00, 0x0e, 0x63, 0xfc, 0xff };

		if (!memchr(none, i, sizeof(none)))
			continue;
		record = (struct flowtap_stf_record){ .descriptor = (uint8_t)i };
		EXPECT_EQ(-EINVAL,
			  flowtap_stf_record_write(bytes, sizeof(bytes), &sizes, &record, &size));
		bytes[0] = (uint8_t)i;
		EXPECT_EQ(-EBADMSG,
			  flowtap_stf_record_parse(bytes, sizeof(bytes), &sizes, &record, &size));
		EXPECT_EQ(NULL, flowtap_stf_record_name((uint8_t)i));
	}
}

TEST_HARNESS_MAIN
