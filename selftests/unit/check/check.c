// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the check of files agrees with another checker of STF on every damage of a trace, and
 * finds what is wrong with chunks.
 */
#include <flowtap/archive.h>
#include <flowtap/check.h>
#include <flowtap/stf.h>

#include "checked.h"
#include "stfcheck/sample.h"
#include "stfcheck/stfcheck.h"
#include "support/hex.h"
#include "support/sink.h"

#include <errno.h>
#include <inttypes.h>
#include <zlib.h>

#include "support/kselftest_harness.h"

/* Both checkers on the same bytes: whether one finds a problem where the other does not. */
static bool differ(const struct stfcheck *other, const struct flowtap_check *check, int error)
{
	/* Ours knows all ISAs there are, and says nothing of opcodes that may be anybody's. */
	if (!check->problems && (strstr(other->reason, "opcode 0x") == other->reason ||
				 strstr(other->reason, "ISA ") == other->reason ||
				 strstr(other->reason, "which cannot branch")))
		return false;
	/* That causes are small only ours says. */
	if (!error && strstr(first.reason, " is no cause;"))
		return false;
	if (!error != !check->problems)
		return true;
	return !error && other->counts.instructions != check->instructions;
}

static unsigned int compare(const uint8_t *bytes, size_t size, const char *what, size_t at)
{
	struct stfcheck other = { .strict = false };
	struct flowtap_check check;
	int error = stfcheck_run(&other, bytes, size);

	/* It is no STF at all then, as the first bytes say. */
	if (check_bytes(&check, bytes, size) == -EBADMSG)
		return !error;
	if (!differ(&other, &check, error))
		return 0;
	printf("# %s %zu: \"%s\" at %llu, the other says \"%s\" at %llu\n", what, at, first.reason,
	       (unsigned long long)first.offset, other.reason, (unsigned long long)other.offset);
	return 1;
}

TEST(agrees_with_the_other_checker_on_each_cut_of_a_trace)
{
	unsigned int differs = 0;

	for (size_t size = 4; size <= sizeof(sample_user); size++)
		differs += compare(sample_user, size, "cut at", size);
	for (size_t size = 4; size <= sizeof(sample_arm); size++)
		differs += compare(sample_arm, size, "Arm, cut at", size);
	for (size_t size = 4; size <= sizeof(sample_isas); size++)
		differs += compare(sample_isas, size, "our Arm, cut at", size);
	for (size_t size = 4; size <= sizeof(sample_all); size++)
		differs += compare(sample_all, size, "all records, cut at", size);
	EXPECT_EQ(0, differs);
}

static unsigned int compare_flipped(const uint8_t *sample, size_t size)
{
	uint8_t bytes[1024];
	unsigned int differs = 0;

	for (size_t bit = 0; bit < 8 * size; bit++) {
		memcpy(bytes, sample, size);
		bytes[bit / 8] ^= 1 << bit % 8;
		differs += compare(bytes, size, "bit", bit);
	}
	return differs;
}

TEST(agrees_with_the_other_checker_on_each_flipped_bit_of_a_trace)
{
	EXPECT_EQ(0, compare_flipped(sample_user, sizeof(sample_user)));
	EXPECT_EQ(0, compare_flipped(sample_isas, sizeof(sample_isas)));
	EXPECT_EQ(0, compare_flipped(sample_all, sizeof(sample_all)));
}

/* RV32, and RV64 without the D extension. */
TEST(takes_what_has_the_place_of_other_encodings_of_rv64gc)
{
#define BEGIN_OF(iem, features) "01'STF' 02 01000000 05000000 04 0100 05 " iem " 06 ff 000000 " \
	"0000 07 " features "080000000000 09 1000000000000000 13 "
#define BEGIN BEGIN_OF("0100", "0000")
#define BEGIN64 BEGIN_OF("0200", "2000")
#define TO_200 "1f 0002000000000000 f1 "
	static const struct {
		const char *trace;
		unsigned int problems;
	} cases[] = {
		{ BEGIN "1f f0ffffff00000000 f0 6ff01ffe", 0 },		/* jal zero, .-0x20 */
		{ BEGIN "1f e0ffffff00000000 f0 6ff01ffe", 1 },
		{ BEGIN TO_200 "02a0", 0 },				/* cm.jt */
		{ BEGIN TO_200 "fea3", 0 },				/* cm.jalt */
		{ BEGIN TO_200 "42be", 0 },				/* cm.popret */
		{ BEGIN TO_200 "42bc", 0 },				/* cm.popretz */
		{ BEGIN TO_200 "42b8", 1 },				/* cm.push */
		{ BEGIN TO_200 "42ba", 1 },				/* cm.pop */
		{ BEGIN64 TO_200 "02a0", 0 },
		{ BEGIN64 TO_200 "fea3", 0 },
		{ BEGIN64 TO_200 "42be", 0 },
		{ BEGIN64 TO_200 "42bc", 0 },
		{ BEGIN64 TO_200 "42b8", 1 },
		{ BEGIN64 TO_200 "42ba", 1 },
		{ BEGIN64 TO_200 "f537", 1 },				/* c.addiw, RV32's c.jal */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stfcheck other = { .strict = false };
		struct flowtap_check check;
		struct hex trace = { .size = 0 };

		hex_add(&trace, cases[i].trace);
		EXPECT_EQ(0, compare(trace.bytes, trace.size, "place", i));
		EXPECT_EQ(!cases[i].problems, !stfcheck_run(&other, trace.bytes, trace.size));
		EXPECT_EQ(0, check_bytes(&check, trace.bytes, trace.size));
		EXPECT_EQ(cases[i].problems, check.problems) TH_LOG("%zu: %s", i, first.reason);
	}
#undef BEGIN
#undef BEGIN_OF
#undef BEGIN64
#undef TO_200
}

struct remarks {
	char text[512];
};

static void add_remark(struct flowtap_check *check, const struct flowtap_check_problem *remark)
{
	struct remarks *remarks = check->argument;
	size_t length = strlen(remarks->text);

	snprintf(remarks->text + length, sizeof(remarks->text) - length, "%" PRIu64 "%s %s\n",
		 remark->offset, remark->unpacked ? " unpacked" : "", remark->reason);
}

TEST(says_what_tools_do_not_take_of_a_trace_without_problems)
{
#define BEGIN "01'STF' 02 01000000 05000000 04 0100 05 0200 06 ff 000000 0000 07 "
#define HEADER " 0000000000 09 0000010000000000 13 "
#define BODY HEADER "f0 13000000 "
#define WALK "32 0000020000000000 0000000000000000 00100000 01 " \
	     "0000030000000000 0100000000000000 f0 13000000 "
#define REJECTS ": stf_check rejects it\n"
	static const struct {
		const char *trace, *remarks;
		unsigned int problems;
	} cases[] = {
		{ BEGIN "200008" BODY, "", 0 },
		{ BEGIN "210008" BODY,
		  "26 feature PHYSICAL_ADDRESS, but no PAGE_TABLE_WALK record" REJECTS, 0 },
		{ BEGIN "200108" BODY, "26 feature PTE, but no PAGE_TABLE_WALK record" REJECTS, 0 },
		{ BEGIN "210108" BODY WALK, "", 0 },
		{ BEGIN "200008" BODY WALK,
		  "26 PAGE_TABLE_WALK records without feature PHYSICAL_ADDRESS" REJECTS
		  "26 PAGE_TABLE_WALK records without feature PTE" REJECTS, 0 },
		{ BEGIN "200008" BODY "03 #'why'",
		  "58 the trace ends with a COMMENT: stf_recompress leaves out its last chunk\n", 0 },
		{ BEGIN "200008" BODY "fb 0000000000000000 0000000000000000 0000",
		  "69 the trace ends with a DEPENDENCY: stf_recompress leaves out its last chunk\n", 0 },
		{ BEGIN "200008" BODY "03 #'why' f0 13000000", "", 0 },
		{ BEGIN "200008" HEADER "03 #'why'", "", 0 },
		{ BEGIN "210008" BODY "1f 0001010000000000 f0 13000000", "", 1 },
		{ BEGIN "210008" BODY "32 00", "", 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct remarks remarks = { "" };
		struct flowtap_check check = { .remark = add_remark, .argument = &remarks };
		struct hex trace = { .size = 0 };
		int fd = memfd_create("remarks", MFD_CLOEXEC);

		hex_add(&trace, cases[i].trace);
		EXPECT_EQ((ssize_t)trace.size, write(fd, trace.bytes, trace.size));
		EXPECT_EQ(0, flowtap_check_file(&check, fd));
		EXPECT_EQ(cases[i].problems, check.problems);
		EXPECT_STREQ(cases[i].remarks, remarks.text);
		EXPECT_EQ(!*cases[i].remarks, !check.remarks);
		close(fd);
	}
#undef BEGIN
#undef HEADER
#undef BODY
#undef WALK
#undef REJECTS
}

static size_t pack(uint8_t *to, size_t capacity, const uint8_t *from, size_t size)
{
	z_stream stream = { .next_in = (uint8_t *)from, .avail_in = (uInt)size, .next_out = to,
			    .avail_out = (uInt)capacity };

	if (deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
	    deflate(&stream, Z_FINISH) != Z_STREAM_END)
		abort();
	deflateEnd(&stream);
	return stream.total_out;
}

/* One problem, of where it begins: all that follows would be said of the wrong trace. */
TEST(says_once_that_another_trace_begins)
{
	uint8_t both[2 * sizeof(sample_user)];
	struct flowtap_check one, check;

	memcpy(both, sample_user, sizeof(sample_user));
	memcpy(both + sizeof(sample_user), sample_user, sizeof(sample_user));
	ASSERT_EQ(0, check_bytes(&one, both, sizeof(sample_user)));
	ASSERT_EQ(0, check_bytes(&check, both, sizeof(both)));
	EXPECT_EQ(1, check.problems);
	EXPECT_EQ(sizeof(sample_user), first.offset);
	EXPECT_NE(NULL, strstr(first.reason, "another trace begins here: each has to be a file"));
	EXPECT_EQ(one.instructions, check.instructions);
}

TEST(says_of_a_packed_trace_what_it_says_of_the_plain_one)
{
	uint8_t bytes[1024], packed[2048];
	struct flowtap_check check;

	for (size_t at = 4; at <= sizeof(sample_user); at++) {
		struct first plain;
		uint64_t problems, instructions;
		size_t size;

		memcpy(bytes, sample_user, sizeof(sample_user));
		/* The last time it is good. */
		if (at < sizeof(sample_user))
			bytes[at] ^= 0x40;
		ASSERT_EQ(0, check_bytes(&check, bytes, sizeof(sample_user)));
		EXPECT_EQ(0, at == sizeof(sample_user) && check.problems);
		plain = first;
		problems = check.problems;
		instructions = check.instructions;
		size = pack(packed, sizeof(packed), bytes, sizeof(sample_user));
		ASSERT_EQ(0, check_bytes(&check, packed, size));
		EXPECT_EQ(FLOWTAP_CHECK_STF, check.format);
		EXPECT_EQ(problems, check.problems);
		EXPECT_EQ(instructions, check.instructions);
		EXPECT_EQ(plain.offset, first.offset);
		EXPECT_EQ(problems != 0, first.unpacked);
		EXPECT_STREQ(plain.reason, first.reason);
	}
}

TEST(finds_each_cut_and_each_turned_byte_of_a_packed_trace)
{
	uint8_t packed[2048];
	size_t size = pack(packed, sizeof(packed), sample_user, sizeof(sample_user));
	unsigned int silent = 0;
	struct flowtap_check check;

	for (size_t cut = 3; cut < size; cut++) {
		ASSERT_EQ(0, check_bytes(&check, packed, cut)) TH_LOG("cut at %zu", cut);
		EXPECT_EQ(1, check.problems) TH_LOG("cut at %zu: %s", cut, first.reason);
		EXPECT_EQ(cut, first.offset);
		EXPECT_EQ(0, strncmp("the file ends within its gzip stream", first.reason, 36));
	}
	for (size_t at = 0; at < size; at++) {
		int error;

		packed[at] ^= 0xff;
		error = check_bytes(&check, packed, size);
		packed[at] ^= 0xff;
		/* Time, flags and system of the member's head say nothing of the trace. */
		silent += !error && !check.problems && (at < 4 || at > 9);
	}
	EXPECT_EQ(0, silent);
	ASSERT_EQ(0, check_bytes(&check, "\xfd""7zXZ\0 and more", 15));
	EXPECT_EQ(1, check.problems);
	EXPECT_NE(NULL, strstr(first.reason, "packed by xz"));
}

/* sample_user's loop as chunks of four instructions. */
static int make_zstf(struct output *output)
{
	static const uint8_t code[] = { U32(0x00500513), U32(0xfeb51ee3) };
	struct flowtap_block loop = {
		.address = 0x10000, .size = 8, .instructions = 2, .last = 4, .bytes = code,
		.end = FLOWTAP_TRANSFER_TAKEN, .conditional = true, .direct = true,
		.target = 0x10000,
	};
	const struct flowtap_zstf_options zstf = { .markers = 4 };
	const struct flowtap_stf_options options = { .generator = 0xff, .zstf = &zstf };
	struct flowtap_stf *stf;
	int error = flowtap_stf_new(output->fd, &options, &stf);

	if (!error)
		error = sink_context(flowtap_stf_sink(stf), 1, 1, 0, 0);
	for (int i = 0; i < 5 && !error; i++)
		error = sink_block(flowtap_stf_sink(stf), &loop, true, 0x10000);
	if (!error)
		error = flowtap_stf_finish(stf);
	flowtap_stf_free(stf);
	blocks_unrender(&loop, 1);
	output_read(output);
	return error;
}

struct damage {
	size_t at;		/* from the head, or before the end if `back` */
	bool back;
	uint8_t flip;
	const char *reason;	/* how it begins */
};

TEST(says_what_is_wrong_with_chunks)
{
	/* The index of three: 8 bytes, then offset, start PC, bytes of each. */
	static const struct damage damages[] = {
		{ 4, false, 1, "chunk 0 has 4 instructions of 5" },
		{ 4, false, 4, "chunks of 0 instructions" },
		{ 13, false, 0x80, "the index is at" },
		{ 20, false, 1, "chunk 0 is no zstd frame" },
		{ 80, true, 1, "an index of 2 chunks" },
		{ 80, true, 4, "an index of 7 chunks" },
		{ 72, true, 1, "chunk 0 begins at 21" },
		{ 64, true, 1, "the first chunk has a start PC" },
		{ 56, true, 1, "chunk 0 has" },
		{ 48, true, 1, "chunk 1 begins at" },
		{ 40, true, 1, "chunk 1 is said to begin at PC 0x10001, it begins at 0x10000" },
		{ 32, true, 2, "chunk 1 has" },
		{ 24, true, 0x80, "chunk 1" },
		{ 16, true, 4, "chunk 2 is said to begin at PC 0x10004, it begins at 0x10000" },
		{ 8, true, 8, "chunk 2 has" },
		{ 4, true, 0x80, "chunk 2 is said to have" },
	};
	struct output output = output_new();
	struct flowtap_check check;

	ASSERT_EQ(0, make_zstf(&output));
	ASSERT_EQ(0, check_fd(&check, output.fd));
	ASSERT_EQ(0, check.problems) TH_LOG("%s", first.reason);
	EXPECT_EQ(FLOWTAP_CHECK_ZSTF, check.format);
	EXPECT_EQ(3, check.chunks);
	EXPECT_EQ(10, check.instructions);
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		const struct damage *damage = &damages[i];
		uint8_t *byte = output.bytes +
				(damage->back ? output.size - damage->at : damage->at);

		*byte ^= damage->flip;
		EXPECT_EQ(0, check_bytes(&check, output.bytes, output.size));
		*byte ^= damage->flip;
		/* A chunk less than there is leaves one over: that is told at the end. */
		if (damage->reason[0] == 'a' && damage->flip == 1) {
			EXPECT_LT(0, check.problems);
			continue;
		}
		EXPECT_EQ(0, strncmp(damage->reason, first.reason, strlen(damage->reason)))
			TH_LOG("%zu: %s", i, first.reason);
	}
	output_free(&output);
}

TEST(finds_each_byte_of_a_compressed_trace_that_is_turned)
{
	struct output output = output_new();
	struct flowtap_check check;
	unsigned int silent = 0;

	ASSERT_EQ(0, make_zstf(&output));
	for (size_t at = 0; at < output.size; at++) {
		int error;

		output.bytes[at] ^= 0xff;
		error = check_bytes(&check, output.bytes, output.size);
		output.bytes[at] ^= 0xff;
		EXPECT_EQ(at < 4 ? -EBADMSG : 0, error);
		silent += !error && !check.problems;
	}
	EXPECT_EQ(0, silent);
	for (size_t size = 4; size < output.size; size++) {
		EXPECT_EQ(0, check_bytes(&check, output.bytes, size));
		EXPECT_LT(0, check.problems);
	}
	output_free(&output);
}

/* The chunk with the damage is told, those after it are checked nevertheless. */
TEST(goes_on_after_a_chunk_that_is_damaged)
{
	struct output output = output_new();
	struct stfcheck_file file;
	struct flowtap_check check;

	ASSERT_EQ(0, make_zstf(&output));
	ASSERT_EQ(0, stfcheck_open(output.fd, &file));
	output.bytes[file.chunk[1].offset + 9] ^= 0x10;
	EXPECT_EQ(0, check_bytes(&check, output.bytes, output.size));
	EXPECT_EQ(1, check.problems) TH_LOG("%s", first.reason);
	EXPECT_EQ(file.chunk[1].offset, first.offset);
	EXPECT_EQ(3, check.chunks);
	EXPECT_LE(6, check.instructions);
	stfcheck_close(&file);
	output_free(&output);
}

TEST(what_is_neither_is_refused)
{
	struct flowtap_check check;

	EXPECT_EQ(-EBADMSG, check_bytes(&check, "", 0));
	EXPECT_EQ(-EBADMSG, check_bytes(&check, "hello", 5));
	EXPECT_EQ(-EBADMSG, check_bytes(&check, FLOWTAP_ARCHIVE_MAGIC, 8));
	EXPECT_EQ(-EBADMSG, check_bytes(&check, "ZST", 3));
	EXPECT_EQ(FLOWTAP_CHECK_UNKNOWN, check.format);
	EXPECT_EQ(-EBADF, check_fd(&check, -1));
}

TEST_HARNESS_MAIN
