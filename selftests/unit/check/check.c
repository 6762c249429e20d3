// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the check of files agrees with another checker of STF on every damage of a trace,
 * finds what is wrong with chunks, and with what an archive says of itself.
 */
#include <flowtap/archive.h>
#include <flowtap/check.h>
#include <flowtap/stf.h>

#include "stfcheck/sample.h"
#include "stfcheck/stfcheck.h"
#include "support/hex.h"
#include "support/sink.h"

#include <errno.h>
#include <inttypes.h>
#include <zlib.h>

#include "support/kselftest_harness.h"

struct first {
	uint64_t offset;
	bool unpacked;
	char reason[200];
};

static void keep_first(struct flowtap_check *check, const struct flowtap_check_problem *problem)
{
	struct first *first = check->argument;

	if (check->problems > 1)
		return;
	first->offset = problem->offset;
	first->unpacked = problem->unpacked;
	snprintf(first->reason, sizeof(first->reason), "%s", problem->reason);
}

static struct first first;

static int check_fd(struct flowtap_check *check, int fd)
{
	*check = (struct flowtap_check){ .problem = keep_first, .argument = &first };
	memset(&first, 0, sizeof(first));
	return flowtap_check_file(check, fd);
}

static int check_bytes(struct flowtap_check *check, const void *bytes, size_t size)
{
	int fd = memfd_create("checked", MFD_CLOEXEC), error;

	error = write(fd, bytes, size) == (ssize_t)size ? check_fd(check, fd) : -EIO;
	close(fd);
	return error;
}

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

TEST(takes_of_rv32_what_it_has_where_rv64_has_other_encodings)
{
#define BEGIN "01'STF' 02 01000000 05000000 04 0100 05 0100 06 ff 000000 0000 " \
	      "07 0000080000000000 09 1000000000000000 13 "
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
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct flowtap_check check;
		struct hex trace = { .size = 0 };

		hex_add(&trace, cases[i].trace);
		EXPECT_EQ(0, compare(trace.bytes, trace.size, "RV32", i));
		EXPECT_EQ(0, check_bytes(&check, trace.bytes, trace.size));
		EXPECT_EQ(cases[i].problems, check.problems) TH_LOG("%zu: %s", i, first.reason);
	}
#undef BEGIN
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

/* --- Archives --- */

static struct flowtap_archive_writer *writer;

static void put(uint32_t type, const void *bytes, size_t size)
{
	if (flowtap_archive_write(writer, type, 0, 1, bytes, size, NULL, 0))
		abort();
}

struct ring {
	struct {
		struct flowtap_record_sample head;
		struct flowtap_entry entries[2];
	} samples[3];
	struct flowtap_record_gap gap;
	struct flowtap_record_lost lost;
};

/* All that a recording has, and all of it right. */
struct made {
	struct flowtap_configure configure;
	struct {
		struct flowtap_archive_mapping head;
		char path[8];
	} mapping;
	struct flowtap_archive_task task;
	struct {
		struct flowtap_archive_trigger head;
		char text[8];
	} trigger;
	uint32_t trigger_cut;	/* bytes of it that are not there */
	struct ring ring;
	struct flowtap_stats stats;
	struct flowtap_stats begun;
	uint32_t after_end;	/* bytes of a block after END */
	bool no_end;
	bool begun_first;	/* the streams are older than the archive */
	bool begun_late;
};

static const struct made whole = {
	.mapping = { { .start = 0x1000, .size = 0x1000, .build_id_size = 20, .path_size = 8 },
		     "/bin/mad" },
	.task = { .event = FLOWTAP_TASK_COMM, .pid = 7, .tid = 7, .comm_size = 3 },
	.trigger = { { .time = 1, .address = 0x1004, .pid = 7, .tid = 7,
		       .cause = FLOWTAP_ARCHIVE_CAUSE_ASKED, .text_size = 8 }, "by hand " },
	.ring = {
		.samples = {
			{ { { FLOWTAP_RECORD_SAMPLE, 0, 120 }, 1, 2, .tid = 7, .loss = 1,
			    .depth = 16, .nr = 2 }, { { 1, 2, 5 }, { 3, 4, 5 } } },
			{ { { FLOWTAP_RECORD_SAMPLE, 0, 120 }, 2, 3, .tid = 7, .depth = 16,
			    .nr = 2 }, { { 1, 2, 5 }, { 3, 4, 5 } } },
			{ { { FLOWTAP_RECORD_SAMPLE, 0, 120 }, 3, 5, .tid = 7, .loss = 2,
			    .depth = 16, .nr = 2 }, { { 1, 2, 5 }, { 3, 4, 5 } } },
		},
		.gap = { { FLOWTAP_RECORD_GAP, 0, 48 }, 4, 3, FLOWTAP_UNKNOWN, .tid = 7,
			 .cause = FLOWTAP_CAUSE_DISPLACED },
		.lost = { { FLOWTAP_RECORD_LOST, 0, 56 }, 5, 4, 3, 300, 3, 300 },
	},
	.stats = { .samples = 3, .entries = 6, .records = 5, .bytes = 464, .lost_records = 4,
		   .lost_bytes = 400 },
};

static void make_archive(int fd, const struct made *made)
{
	if (flowtap_archive_create(fd, &writer))
		abort();
	put(FLOWTAP_ARCHIVE_INFO, "host=me\n", 8);
	put(FLOWTAP_ARCHIVE_CONFIGURE, &made->configure, sizeof(made->configure));
	put(FLOWTAP_ARCHIVE_MAPPING, &made->mapping, sizeof(made->mapping));
	put(FLOWTAP_ARCHIVE_TASK, &made->task, sizeof(made->task));
	put(FLOWTAP_ARCHIVE_TRIGGER, &made->trigger, sizeof(made->trigger) - made->trigger_cut);
	if (made->begun_first)
		put(FLOWTAP_ARCHIVE_BEGUN, &made->begun, sizeof(made->begun));
	put(FLOWTAP_ARCHIVE_RING, &made->ring, sizeof(made->ring));
	if (made->begun_late)
		put(FLOWTAP_ARCHIVE_BEGUN, &made->begun, sizeof(made->begun));
	put(FLOWTAP_ARCHIVE_STATS, &made->stats, sizeof(made->stats));
	put(99, "of a later version", 18);
	if (!made->no_end)
		put(FLOWTAP_ARCHIVE_END, NULL, 0);
	if (made->after_end)
		put(FLOWTAP_ARCHIVE_TASK, &made->task, sizeof(made->task));
	if (flowtap_archive_flush(writer))
		abort();
	flowtap_archive_writer_free(writer);
}

/* One field set to another value, and what is said of that. NULL: it is still right. */
struct lie {
	size_t at;
	size_t size;
	uint64_t value;
	const char *reason;
};

#define LIE(field, value, reason) \
	{ offsetof(struct made, field), sizeof(((struct made *)0)->field), value, reason }
#define SECOND_SAMPLE ring.samples[1].head
#define THIRD_SAMPLE ring.samples[2].head

static const struct lie lies[] = {
	LIE(stats.samples, 4, "CPU 0: 4 samples were counted, 3 are there"),
	LIE(stats.entries, 5, "CPU 0: 5 entries were counted, 6 are there"),
	LIE(stats.records, 6, "CPU 0: 6 records were counted, 5 are there"),
	LIE(stats.bytes, 0, "CPU 0: 0 bytes were counted, 464 are there"),
	LIE(stats.lost_records, 2, "CPU 0: 2 lost_records were counted, 3 are there"),
	LIE(stats.lost_records, 3, NULL),
	LIE(stats.lost_bytes, 299, "CPU 0: 299 lost_bytes were counted, 300 are there"),
	LIE(ring.lost.records, 0, "a LOST record of no records"),
	LIE(ring.lost.records, 2, "2 records lost after 0 make 2, it says 3"),
	LIE(ring.lost.total_bytes, 299, "3 records lost after 0"),
	LIE(ring.gap.cause, FLOWTAP_CAUSE_MAX + 50, "cause 6"),
	LIE(ring.gap.since, 5, "a gap that ended before it began"),
	LIE(ring.gap.cpu, 1, "a gap of CPU 1 in the ring of CPU 0"),
	LIE(SECOND_SAMPLE.cpu, 1, "a sample of CPU 1 in the ring of CPU 0"),
	LIE(SECOND_SAMPLE.depth, 1, "2 transfers out of a buffer of 1"),
	LIE(SECOND_SAMPLE.depth, 2, "the buffer was full, and nothing is said to be lost"),
	LIE(SECOND_SAMPLE.nr, 3, "a sample of 3 transfers in 120 bytes"),
	LIE(SECOND_SAMPLE.nr, 1, "a sample of 1 transfers in 120 bytes"),
	LIE(SECOND_SAMPLE.loss, 1U << 31, "causes 0x80000000 of a loss are unknown"),
	LIE(SECOND_SAMPLE.header.size, 128, "a sample of 2 transfers in 128 bytes"),
	LIE(SECOND_SAMPLE.header.size, 1, "no whole record begins here"),
	LIE(SECOND_SAMPLE.header.type, FLOWTAP_RECORD_GAP, "a gap that ended before it began"),
	LIE(SECOND_SAMPLE.header.type, 0, "a record of type 0"),
	LIE(SECOND_SAMPLE.sequence, 4, "thread 7: sequence 4 after 2, and nothing is said to be"),
	LIE(SECOND_SAMPLE.sequence, 2, "thread 7: sequence 2 after 2"),
	LIE(SECOND_SAMPLE.loss, 4, "thread 7: sequence 3 follows the one before, but there is a"),
	LIE(THIRD_SAMPLE.sequence, 4, "thread 7: sequence 4 follows the one before, but there is"),
	LIE(THIRD_SAMPLE.sequence, 1, "thread 7: sequence 1 after 3"),
	LIE(THIRD_SAMPLE.loss, 0, "thread 7: sequence 5 after 3, and nothing is said to be lost"),
	LIE(THIRD_SAMPLE.loss, 1, NULL),
	LIE(configure.flags, FLOWTAP_OVERWRITE, NULL),
	LIE(mapping.head.path_size, 9, "a mapping whose path does not fit"),
	LIE(mapping.head.build_id_size, 21, "a build-id of 21 bytes"),
	LIE(mapping.head.size, UINT64_MAX, "a mapping beyond the end of memory"),
	LIE(task.event, 5, "task event 5 is unknown"),
	LIE(task.comm_size, 17, "a name of 17 bytes"),
	LIE(trigger.head.time, 0, NULL),
	LIE(trigger.head.time, 2, "a trigger that happened after it was written"),
	LIE(trigger.head.cause, FLOWTAP_ARCHIVE_CAUSE_LATENCY, NULL),
	LIE(trigger.head.cause, 0, "cause 0 of a trigger is unknown"),
	LIE(trigger.head.cause, FLOWTAP_ARCHIVE_CAUSE_LATENCY + 1, "cause 6 of a trigger is unknown"),
	LIE(trigger.head.text_size, 7, "a text of 7 bytes in 8"),
	LIE(trigger.head.text_size, 9, "a text of 9 bytes in 8"),
	LIE(trigger.head.text_size, UINT32_MAX, "a text of 4294967295 bytes in 8"),
	LIE(trigger_cut, 1, "a text of 8 bytes in 7"),
	LIE(trigger_cut, 8, "a text of 8 bytes in 0"),
	LIE(trigger_cut, 9, "a block of type 16 with 31 bytes, it needs 32"),
	LIE(trigger_cut, 40, "a block of type 16 with 0 bytes, it needs 32"),
	LIE(after_end, 1, "a block after the END"),
	LIE(no_end, 1, "there is no END"),
};

TEST(says_what_is_wrong_with_an_archive)
{
	struct flowtap_check check;
	struct output output = output_new();

	make_archive(output.fd, &whole);
	ASSERT_EQ(0, check_fd(&check, output.fd));
	EXPECT_EQ(0, check.problems) TH_LOG("%s", first.reason);
	EXPECT_EQ(FLOWTAP_CHECK_ARCHIVE, check.format);
	EXPECT_EQ(5, check.records);
	EXPECT_EQ(3, check.samples);
	EXPECT_EQ(6, check.entries);
	EXPECT_EQ(3, check.lost_records);
	EXPECT_EQ(9, check.blocks);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct made made = whole;
		const char *reason = lies[i].reason;

		memcpy((uint8_t *)&made + lies[i].at, &lies[i].value, lies[i].size);
		ASSERT_EQ(0, ftruncate(output.fd, 0));
		ASSERT_EQ(0, lseek(output.fd, 0, SEEK_SET));
		make_archive(output.fd, &made);
		EXPECT_EQ(0, check_fd(&check, output.fd));
		EXPECT_EQ(!reason, !check.problems)
			TH_LOG("%zu: %s", i, first.reason);
		EXPECT_EQ(0, strncmp(reason ? reason : "", first.reason,
				     reason ? strlen(reason) : 0))
			TH_LOG("%zu: %s", i, first.reason);
	}
	output_free(&output);
}

/* One of several of the same streams: what the others have is not missing. */
TEST(an_archive_from_the_middle_has_what_was_counted_since)
{
	struct output output = output_new();
	struct flowtap_check check;
	struct made made = whole;

	made.begun_first = true;
	made.begun = (struct flowtap_stats){ .samples = 100, .entries = 200, .records = 130,
					     .bytes = 5000, .lost_records = 7, .lost_bytes = 900 };
	for (size_t i = 0; i < sizeof(made.stats) / sizeof(__u64); i++)
		((__u64 *)&made.stats)[i] += ((__u64 *)&made.begun)[i];
	made.ring.lost.total_records += 7;
	made.ring.lost.total_bytes += 900;
	make_archive(output.fd, &made);
	ASSERT_EQ(0, check_fd(&check, output.fd));
	EXPECT_EQ(0, check.problems) TH_LOG("%s", first.reason);
	/* Two of the three were lost before, and there was no room to tell of them. */
	made.begun.lost_records += 2;
	made.begun.lost_bytes += 200;
	ASSERT_EQ(0, ftruncate(output.fd, 0));
	ASSERT_EQ(0, lseek(output.fd, 0, SEEK_SET));
	make_archive(output.fd, &made);
	ASSERT_EQ(0, check_fd(&check, output.fd));
	EXPECT_EQ(0, check.problems) TH_LOG("%s", first.reason);
	/* All of them, and one more, that is told nowhere. */
	made.begun.lost_records += 2;
	ASSERT_EQ(0, ftruncate(output.fd, 0));
	ASSERT_EQ(0, lseek(output.fd, 0, SEEK_SET));
	make_archive(output.fd, &made);
	ASSERT_EQ(0, check_fd(&check, output.fd));
	EXPECT_EQ(3, check.problems);
	EXPECT_NE(NULL, strstr(first.reason, "3 records lost after 11 make 14, it says 10"));
	made.begun.lost_records -= 4;
	made.begun.lost_bytes -= 200;
	/* Without it, they are. */
	made.begun_first = false;
	ASSERT_EQ(0, ftruncate(output.fd, 0));
	ASSERT_EQ(0, lseek(output.fd, 0, SEEK_SET));
	make_archive(output.fd, &made);
	ASSERT_EQ(0, check_fd(&check, output.fd));
	EXPECT_LT(4, check.problems);
	made.begun_late = true;
	ASSERT_EQ(0, ftruncate(output.fd, 0));
	ASSERT_EQ(0, lseek(output.fd, 0, SEEK_SET));
	make_archive(output.fd, &made);
	ASSERT_EQ(0, check_fd(&check, output.fd));
	EXPECT_LT(0, check.problems);
	output_free(&output);
}

/* The block whose text this is does not match its checksum any more. */
static void break_block(int fd, const char *text)
{
	char bytes[4096];
	ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
	const char *found = n < 0 ? NULL : memmem(bytes, (size_t)n, text, strlen(text));

	if (!found || pwrite(fd, "?", 1, found - bytes) != 1)
		abort();
}

/* It had records that told of losses, maybe: the next one says how many there are. */
TEST(after_a_place_that_was_passed_over_more_may_be_lost)
{
	struct output output = output_new();
	struct flowtap_check check;
	struct made made = whole;

	made.ring.lost.total_records += 7;
	made.ring.lost.total_bytes += 900;
	made.no_end = true;
	make_archive(output.fd, &made);
	ASSERT_EQ(0, check_fd(&check, output.fd));
	EXPECT_LE(2, check.problems);
	break_block(output.fd, made.trigger.text);
	ASSERT_EQ(0, check_fd(&check, output.fd));
	EXPECT_EQ(2, check.problems);
	EXPECT_NE(NULL, strstr(first.reason, "the checksum of a block of type 16"));
	/* But not fewer. */
	made.ring.lost.total_records = made.ring.lost.records - 1;
	ASSERT_EQ(0, ftruncate(output.fd, 0));
	ASSERT_EQ(0, lseek(output.fd, 0, SEEK_SET));
	make_archive(output.fd, &made);
	break_block(output.fd, made.trigger.text);
	ASSERT_EQ(0, check_fd(&check, output.fd));
	EXPECT_EQ(3, check.problems);
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
