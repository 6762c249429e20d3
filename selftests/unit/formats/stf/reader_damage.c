// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what reading an STF makes of damage, of a file that was cut and of what somebody malicious
 * writes: each is told with its offset, and what is whole before and after it is read.
 */
#include <errno.h>
#include <flowtap/check.h>

#include "formats/stf/comments.h"
#include "formats/stf/layout.h"
#include "formats/zstf/writer.h"
#include "support/hex.h"
#include "support/stf_reading.h"
#include "support/stf_steps.h"

#include "support/kselftest_harness.h"

static const struct flowtap_block a64 = {
	.address = 0x2000, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
	CODE(WORD(0xd65f03c0)), .end = FLOWTAP_ARM_RETURN,
};
static const struct flowtap_block nop = {
	.address = 0x3000, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
	CODE(WORD(0xd503201f)),
};
/* As by a writer that holds more, or by somebody malicious. */
TEST(comments_of_what_comes_later_may_be_of_any_size)
{
	struct output made = made_stf(7, false, 200, NULL), longer = output_new();
	static const char after[] = "\x03\x1a\0\0\0after the next instruction",
			  line[] = "\x03\x09\0\0\0gap start";
	static char text[1 << 16] = "\x03\xfb\xff";
	struct reading reading;
	size_t gaps = 0;

	ASSERT_EQ((ssize_t)made.size, write(longer.fd, made.bytes, made.size));
	ASSERT_EQ(31, write(longer.fd, after, sizeof(after) - 1));
	for (size_t i = 0; i < (STF_COMMENTS_MOST >> 16) + 100; i++) {
		ASSERT_EQ(14, write(longer.fd, line, sizeof(line) - 1));
		ASSERT_EQ((ssize_t)sizeof(text), write(longer.fd, text, sizeof(text)));
	}
	read_file(&reading, longer.fd, NULL);
	EXPECT_EQ(0, reading.status);
	for (const char *at = (const char *)reading.text.bytes; (at = strstr(at, "\ngap start\n"));
	     at++)
		gaps++;
	EXPECT_LE((STF_COMMENTS_MOST >> 16) + 100, gaps);
	reading_free(&reading);
	output_free(&longer);
	output_free(&made);
}

/*
 * Said twice, it is of the same instruction: else each opcode would take one away and hold all the
 * others again, which are 64 MiB where somebody malicious writes them.
 */
TEST(comments_of_what_comes_later_are_held_once)
{
	struct output made = made_stf(7, false, 200, NULL), longer = output_new();
	static const char records[] = "\x03\x1a\0\0\0after the next instruction"
				      "\x03\x09\0\0\0gap start"
				      "\x03\x1a\0\0\0after the next instruction"
				      "\x03\x0c\0\0\0gap overflow"
				      "\xf0\x13\0\0\0\xf0\x13\0\0\0";
	struct reading reading;

	ASSERT_EQ((ssize_t)made.size, write(longer.fd, made.bytes, made.size));
	ASSERT_EQ((ssize_t)sizeof(records) - 1, write(longer.fd, records, sizeof(records) - 1));
	read_file(&reading, longer.fd, NULL);
	EXPECT_EQ(0, reading.status);
	EXPECT_NE(NULL, strstr((const char *)reading.text.bytes,
			       "\ngap start\ngap overflow\nrange "));
	reading_free(&reading);
	output_free(&longer);
	output_free(&made);
}

TEST(what_is_something_else_is_said_to_be)
{
	struct reading reading;

	read_bytes(&reading, "", 0);
	EXPECT_EQ(-EBADMSG, reading.status);
	reading_free(&reading);
	read_bytes(&reading, "perf.data", 9);
	EXPECT_EQ(-EBADMSG, reading.status);
	reading_free(&reading);
	read_bytes(&reading, "\xfd""7zXZ\0 and more", 15);
	EXPECT_EQ(-EPROTONOSUPPORT, reading.status);
	EXPECT_STREQ("0: it is packed by xz, which cannot be read: unpack it (xz -d)\n",
		     reading.reasons);
	reading_free(&reading);
}

/* Those whose records have the numbers of 1.2 are read without a word; of others it is said how. */
TEST(the_version_is_looked_at)
{
	static const struct {
		uint8_t major, minor;
		const char *reasons;
	} versions[] = {
		{ 1, 2, "" }, { 1, 3, "" }, { 1, 5, "" }, { 1, 6, "" }, { 1, 255, "" },
		{ 1, 1, "4: version 1.1: read as 1.2, in which records have other numbers\n" },
		{ 1, 0, "4: version 1.0: read as 1.2, in which records have other numbers\n" },
		{ 0, 9, "4: version 0.9: read as 1.x\n" },
		{ 2, 0, "4: version 2.0: read as 1.x\n" },
	};
	struct output made = made_stf(7, false, 12, NULL);

	ASSERT_EQ(0, memcmp(made.bytes, "\x01STF\x02\1\0\0\0\5\0\0\0", 13));
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct reading reading;

		made.bytes[5] = versions[i].major;
		made.bytes[9] = versions[i].minor;
		read_bytes(&reading, made.bytes, made.size);
		EXPECT_EQ(0, reading.status);
		EXPECT_STREQ(versions[i].reasons, reading.reasons);
		EXPECT_LE(12, reading.read.instructions);
		reading_free(&reading);
	}
	output_free(&made);
}

TEST(an_encoding_that_the_isa_does_not_have_is_told)
{
	struct output made = made_stf(7, false, 12, NULL);
	uint8_t *iem = memmem(made.bytes, made.size, "\x04\x01\0\x05\x02", 5);
	struct reading reading;

	ASSERT_NE(NULL, iem);
	iem[4] = 3;
	read_bytes(&reading, made.bytes, made.size);
	EXPECT_EQ(1, reading.read.problems);
	EXPECT_NE(NULL, strstr(reading.reasons, "INST_IEM 3 is none of RISC-V's: read as 2"));
	EXPECT_LE(12, reading.read.instructions);
	reading_free(&reading);
	output_free(&made);
}

TEST(a_trace_that_was_cut_is_noticed_wherever_that_was)
{
	for (int arm = 0; arm < 2; arm++) {
		struct output whole = made_stf(7, arm, 12, NULL);

		for (size_t cut = 6; cut < whole.size; cut++) {
			struct flowtap_check check = { .problems = 0 };
			struct reading reading;
			int fd = memfd_create("cut", MFD_CLOEXEC);

			ASSERT_EQ((ssize_t)cut, write(fd, whole.bytes, cut));
			ASSERT_EQ(0, flowtap_check_file(&check, fd));
			read_file(&reading, fd, NULL);
			EXPECT_EQ(0, reading.status);
			/* It may be where an instruction ends: that nobody can know. */
			EXPECT_EQ(check.problems != 0, reading.read.problems != 0)
				TH_LOG("cut at %zu: %s", cut, reading.reasons);
			EXPECT_EQ(reading.read.problems != 0, reading.read.truncated);
			EXPECT_EQ(check.instructions, reading.read.instructions);
			reading_free(&reading);
			close(fd);
		}
		output_free(&whole);
	}
}

/* Its opcode stood after comments: one that is lost as a whole is noticed, too. */
TEST(a_trace_without_its_last_opcode_is_noticed)
{
	static const struct step steps[] = {
		MODE(A64, 1), IS(a64, true, 0x3000), IS(nop, false, 0), GAP(OVERFLOW), GAP(START),
	};
	const struct flowtap_stf_options options = { .generator = 0xff };
	struct flowtap_check check = { .problems = 0 };
	struct output stf = output_new();
	struct flowtap_stf *writer;
	struct reading reading;

	ASSERT_EQ(0, flowtap_stf_new(stf.fd, &options, &writer));
	ASSERT_EQ(0, feed(writer, steps, sizeof(steps) / sizeof(steps[0])));
	flowtap_stf_free(writer);
	output_read(&stf);
	ASSERT_EQ(0, ftruncate(stf.fd, (off_t)stf.size - 5));
	ASSERT_EQ(0, flowtap_check_file(&check, stf.fd));
	EXPECT_EQ(1, check.problems);
	read_file(&reading, stf.fd, NULL);
	EXPECT_EQ(1, reading.read.problems);
	EXPECT_TRUE(reading.read.truncated);
	EXPECT_TRUE(strstr((const char *)reading.text.bytes, "gap start"));
	reading_free(&reading);
	output_free(&stf);
}

/* What a comment claims, and zeros without end. */
TEST(sparse_files_take_no_memory_and_end_where_there_is_no_record)
{
	const uint8_t comment[] = { 0x03, 0, 0, 0, 0x08 };
	struct output whole = made_stf(7, false, 12, NULL);
	struct reading reading;

	ASSERT_EQ(0, ftruncate(whole.fd, 10LL << 30));
	read_file(&reading, whole.fd, NULL);
	EXPECT_EQ(0, reading.status);
	EXPECT_EQ(1, reading.read.problems);
	EXPECT_EQ(whole.size, reading.first_offset);
	EXPECT_NE(NULL, strstr(reading.reasons, "descriptor 0 is reserved"));
	EXPECT_NE(NULL, strstr((const char *)reading.text.bytes, "gap bad_record"));
	reading_free(&reading);
	ASSERT_EQ(sizeof(comment), pwrite(whole.fd, comment, sizeof(comment), whole.size));
	read_file(&reading, whole.fd, NULL);
	EXPECT_EQ(0, reading.status);
	EXPECT_EQ(whole.size + sizeof(comment) + (8U << 24), reading.first_offset);
	reading_free(&reading);
	output_free(&whole);
}

/* `cat a.stf b.stf`: of the second one nothing fits, and of the first nothing is lost. */
TEST(where_another_trace_begins_reading_ends_and_says_so)
{
	static const char detail[] = "gap bad_record size=unknown detail=another trace begins here\n";

	for (int arm = 0; arm < 2; arm++) {
		struct output first = made_stf(7, arm, 200, NULL), second = made_stf(8, !arm, 200, NULL);
		struct flowtap_stf_copy copy;
		struct reading alone, both;
		struct output copied;
		int status;

		read_file(&alone, first.fd, NULL);
		ASSERT_EQ((ssize_t)second.size,
			  pwrite(first.fd, second.bytes, second.size, (off_t)first.size));
		read_file(&both, first.fd, NULL);
		EXPECT_EQ(0, both.status);
		EXPECT_EQ(1, both.read.problems);
		EXPECT_EQ(first.size, both.first_offset);
		EXPECT_NE(NULL, strstr(both.reasons, "another trace begins here"));
		EXPECT_EQ(alone.read.instructions, both.read.instructions);
		EXPECT_EQ(0, memcmp(alone.text.bytes, both.text.bytes, alone.text.size));
		EXPECT_STREQ(detail, (const char *)both.text.bytes + alone.text.size);
		reading_free(&both);

		copied = copy_of(first.fd, 0, &copy, &status);
		EXPECT_EQ(0, status);
		EXPECT_TRUE(copy.damaged);
		read_file(&both, copied.fd, NULL);
		EXPECT_EQ(0, both.read.problems) TH_LOG("%s", both.reasons);
		EXPECT_EQ(alone.read.instructions, both.read.instructions);
		reading_free(&both);
		reading_free(&alone);
		output_free(&copied);
		output_free(&second);
		output_free(&first);
	}
}

/* A record of the header changes nothing of how what comes is read. */
TEST(a_header_s_record_after_the_header_is_told_and_passed_over)
{
	static const uint8_t features[] = { 0x07, 0, 0, 0, 0, 0, 0, 0, 0 };
	static const uint8_t event[] = {
		0x64, 0, 0, 0, 0, 0, 0, 0, 0x40, 1, 0, 0, 0, 0, 0, 0, 0, 0,	/* mode change */
		0xf0, 0x13, 0, 0, 0,						/* nop */
	};
	struct flowtap_stf_copy copy;
	struct output copied;
	int status;
	struct output first = made_stf(7, false, 200, NULL), longer = output_new();
	struct reading alone, both;

	read_file(&alone, first.fd, NULL);
	ASSERT_EQ((ssize_t)first.size, write(longer.fd, first.bytes, first.size));
	ASSERT_EQ((ssize_t)sizeof(features), write(longer.fd, features, sizeof(features)));
	read_file(&both, longer.fd, NULL);
	EXPECT_EQ(1, both.read.problems);
	EXPECT_EQ(first.size, both.first_offset);
	EXPECT_NE(NULL, strstr(both.reasons, "TRACE_INFO_FEATURE after the header is passed over"));
	EXPECT_STREQ((const char *)alone.text.bytes, (const char *)both.text.bytes);
	reading_free(&both);

	/* An event of the size that the header says, and an instruction: nobody else takes them. */
	ASSERT_EQ((ssize_t)sizeof(event), write(longer.fd, event, sizeof(event)));
	read_file(&both, longer.fd, NULL);
	EXPECT_EQ(1, both.read.problems);
	EXPECT_EQ(alone.read.instructions + 1, both.read.instructions);
	reading_free(&both);
	copied = copy_of(longer.fd, 0, &copy, &status);
	EXPECT_EQ(0, status);
	EXPECT_FALSE(copy.damaged);
	EXPECT_EQ(alone.read.instructions + 1, copy.instructions);
	read_file(&both, copied.fd, NULL);
	EXPECT_EQ(copy.instructions, both.read.instructions);
	reading_free(&both);
	reading_free(&alone);
	output_free(&copied);
	output_free(&longer);
	output_free(&first);
}

/* Blocks that are in memory: of those that went only counts are left. */
static void add_bytes(const struct flowtap_block *block, void *argument)
{
	if (block->bytes)
		*(uint64_t *)argument += block->size;
}

struct most {
	struct flowtap_sink sink;
	struct flowtap_learned *learned;
	uint64_t bytes;		/* of blocks, at a time */
	bool fewer;		/* than at another time before: some were forgotten */
};

static int measure(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		   uint64_t target)
{
	struct most *most = (struct most *)sink;
	uint64_t bytes = 0;

	(void)block, (void)taken, (void)target;
	flowtap_blocks_visit(flowtap_learned_blocks(most->learned), add_bytes, &bytes);
	most->fewer |= bytes < most->bytes;
	if (bytes > most->bytes)
		most->bytes = bytes;
	return 0;
}

/* 4 Mi instructions in a row, of which each buffer that is read ends within a block. */
TEST(code_without_branches_takes_no_more_memory_than_other_code)
{
	struct flowtap_learned *learned = flowtap_learned_new(2U << 20);
	struct most most = {
		.sink = { measure, flowtap_sink_nowhere()->element }, .learned = learned,
	};
	struct output made = made_stf(7, false, 12, NULL);
	struct flowtap_read read = { .sink = &most.sink, .learned = learned };
	const uint8_t force_pc[] = { 0x09, 0, 0, 0, 0x40, 0, 0, 0, 0 };
	static uint8_t nops[3U << 16];

	ASSERT_NE(NULL, learned);
	for (size_t i = 0; i < sizeof(nops); i += 3)
		memcpy(nops + i, "\xf1\x01\x00", 3);
	lseek(made.fd, 0, SEEK_END);
	ASSERT_EQ((ssize_t)sizeof(force_pc), write(made.fd, force_pc, sizeof(force_pc)));
	for (unsigned int i = 0; i < 64; i++)
		ASSERT_EQ((ssize_t)sizeof(nops), write(made.fd, nops, sizeof(nops)));
	lseek(made.fd, 0, SEEK_SET);
	EXPECT_EQ(0, flowtap_stf_read(&read, made.fd));
	EXPECT_LE(64U << 16, read.instructions);
	EXPECT_LT(0, most.bytes);
	EXPECT_LT(most.bytes, 2U << 20);
	flowtap_learned_free(learned);
	output_free(&made);
}

/* The blocks of the first time are within the limit, with what is rendered of them they are not. */
TEST(what_is_rendered_of_known_code_counts)
{
	struct flowtap_learned *learned = flowtap_learned_new(2U << 20);
	struct most most = {
		.sink = { measure, flowtap_sink_nowhere()->element }, .learned = learned,
	};
	struct output made = made_stf(7, false, 12, NULL);
	struct flowtap_read read = { .sink = &most.sink, .learned = learned };
	const uint8_t force_pc[] = { 0x09, 0, 0, 0, 0x40, 0, 0, 0, 0 };
	static uint8_t nops[3U << 16];

	ASSERT_NE(NULL, learned);
	for (size_t i = 0; i < sizeof(nops); i += 3)
		memcpy(nops + i, "\xf1\x01\x00", 3);
	lseek(made.fd, 0, SEEK_END);
	for (unsigned int i = 0; i < 3 * 8; i++) {
		if (i % 8 == 0)
			ASSERT_EQ((ssize_t)sizeof(force_pc),
				  write(made.fd, force_pc, sizeof(force_pc)));
		ASSERT_EQ((ssize_t)sizeof(nops), write(made.fd, nops, sizeof(nops)));
	}
	lseek(made.fd, 0, SEEK_SET);
	EXPECT_EQ(0, flowtap_stf_read(&read, made.fd));
	EXPECT_LT(0, most.bytes);
	EXPECT_TRUE(most.fewer) TH_LOG("%llu", (unsigned long long)most.bytes);
	flowtap_learned_free(learned);
	output_free(&made);
}

/* c.j by so many bytes. */
static uint16_t jump(int offset)
{
	uint32_t o = (uint32_t)offset;

	return (uint16_t)(0xa001 | (o >> 11 & 1) << 12 | (o >> 4 & 1) << 11 | (o >> 8 & 3) << 9 |
			  (o >> 10 & 1) << 8 | (o >> 6 & 1) << 7 | (o >> 7 & 1) << 6 |
			  (o >> 1 & 7) << 3 | (o >> 5 & 1) << 2);
}

/* A loop's records at 0x400000, in which one of the c.nop is a c.nop 1. Returns their end. */
static uint8_t *put_loop(uint8_t *at, unsigned int nops, unsigned int other)
{
	uint16_t back = jump(-2 * (int)nops);

	for (unsigned int i = 0; i < nops; i++, at += 3)
		memcpy(at, i == other ? "\xf1\x05\x00" : "\xf1\x01\x00", 3);
	memcpy(at, "\x1f\0\0\x40\0\0\0\0\0\xf1", 10);
	memcpy(at + 10, &back, 2);
	return at + 12;
}

/* What is known is compared as a whole: one opcode that is another one is read all the same. */
TEST(code_that_changes_is_read_wherever_it_does)
{
	const struct flowtap_stf_options options = { .generator = 0xff };
	const uint8_t force_pc[] = { 0x09, 0, 0, 0x40, 0, 0, 0, 0, 0 };

	for (unsigned int nops = 1; nops <= 24; nops++)
		for (unsigned int other = 0; other < nops; other++) {
			struct output made = made_stf(7, false, 12, NULL), again = output_new();
			uint8_t records[9 + 5 * (24 * 3 + 12)], *end = records + sizeof(force_pc);
			struct flowtap_stf *writer;
			struct reading reading;
			const uint8_t *first;

			memcpy(records, force_pc, sizeof(force_pc));
			for (unsigned int i = 0; i < 5; i++)
				end = put_loop(end, nops, i == 3 ? other : nops);
			lseek(made.fd, 0, SEEK_END);
			ASSERT_EQ(end - records, write(made.fd, records, (size_t)(end - records)));
			ASSERT_EQ(0, flowtap_stf_new(again.fd, &options, &writer));
			read_file(&reading, made.fd, flowtap_stf_sink(writer));
			EXPECT_EQ(0, reading.status);
			EXPECT_EQ(0, flowtap_stf_finish(writer));
			flowtap_stf_free(writer);
			output_read(&again);
			first = memmem(again.bytes, again.size, "\xf1\x05\x00", 3);
			ASSERT_NE(NULL, first) TH_LOG("%u of %u", other, nops);
			EXPECT_EQ(NULL, memmem(first + 1, again.size - (size_t)(first + 1 - again.bytes),
					       "\xf1\x05\x00", 3));
			/* The same loop again comes after it. */
			EXPECT_EQ(12 + 3 * (nops - 1 - other) + 3 + 3 * nops + 12,
				  again.size - (size_t)(first - again.bytes));
			reading_free(&reading);
			output_free(&again);
			output_free(&made);
		}
}

/* Of a .zstf: where the first block ends, which is the header's (RFC 8878 3.1.1). */
static size_t header_end(const struct output *file)
{
	const uint8_t *block = file->bytes + FLOWTAP_ZSTF_HEAD + 6;

	return FLOWTAP_ZSTF_HEAD + 6 + 3 + ((block[0] | block[1] << 8 | block[2] << 16) >> 3);
}

TEST(a_damaged_chunk_is_a_gap_and_the_others_are_read)
{
	const struct flowtap_zstf_options options = { .markers = 100, .level = 1 };

	for (int arm = 0; arm < 2; arm++) {
		struct output whole = made_stf(7, arm, 800, &options);
		struct reading before, reading;
		uint8_t *damaged = malloc(whole.size);

		read_file(&before, whole.fd, NULL);
		EXPECT_EQ(0, before.read.problems);
		for (unsigned int i = 0; i < 20; i++) {
			size_t first = header_end(&whole);
			size_t at = first + (whole.size * 3 / 4 - first) * i / 20;

			memcpy(damaged, whole.bytes, whole.size);
			damaged[at] ^= 0x55;
			read_bytes(&reading, damaged, whole.size);
			EXPECT_EQ(0, reading.status);
			EXPECT_LT(0, reading.read.problems);
			EXPECT_LE(reading.first_offset, whole.size);
			EXPECT_LT(reading.read.instructions, before.read.instructions);
			EXPECT_LE(before.read.instructions, reading.read.instructions + 200)
				TH_LOG("damaged at %zu: %s", at, reading.reasons);
			EXPECT_NE(NULL, strstr((const char *)reading.text.bytes, "gap bad_record"));
			reading_free(&reading);
		}
		free(damaged);
		reading_free(&before);
		output_free(&whole);
	}
}

/* Its header is in blocks of its own, and all that comes after it is read by it. */
TEST(of_a_damaged_first_chunk_the_header_is_used)
{
	const struct flowtap_zstf_options options = { .markers = 100, .level = 1 };

	for (int arm = 0; arm < 2; arm++) {
		struct output whole = made_stf(7, arm, 800, &options);
		uint64_t index = stf_number(whole.bytes + 12, 8);
		size_t ends = stf_number(whole.bytes + index + 8 + FLOWTAP_ZSTF_ENTRY, 8);
		/* The index, too, says how large it is. */
		size_t size_field = index + 8 + 16;
		struct reading before, reading;
		size_t harmless = 0;

		read_file(&before, whole.fd, NULL);
		for (size_t at = header_end(&whole); at < size_field + 3; at++) {
			if (at == ends)
				at = size_field;
			whole.bytes[at] ^= 1;
			read_bytes(&reading, whole.bytes, whole.size);
			whole.bytes[at] ^= 1;
			EXPECT_EQ(0, reading.status);
			/* A bit that says nothing: all that comes out has its checksum. */
			if (!reading.read.problems) {
				EXPECT_EQ(before.read.instructions, reading.read.instructions);
				harmless++;
				reading_free(&reading);
				continue;
			}
			EXPECT_EQ(1, reading.read.problems) TH_LOG("%zu: %s", at, reading.reasons);
			EXPECT_NE(NULL, strstr(reading.reasons, "nothing verifies the header"));
			EXPECT_EQ(before.read.instructions - 100, reading.read.instructions)
				TH_LOG("damaged at %zu: %s", at, reading.reasons);
			EXPECT_NE(NULL, strstr((const char *)reading.text.bytes, "gap bad_record"));
			reading_free(&reading);
		}
		EXPECT_LT(harmless, 5);
		reading_free(&before);
		output_free(&whole);
	}
}

/* What is wrong is told once, not what follows from it. */
TEST(without_its_header_a_file_is_lost_and_says_so)
{
	const struct flowtap_zstf_options options = { .markers = 100, .level = 1 };
	struct output whole = made_stf(7, false, 800, &options);
	struct reading reading;

	/* The type of the header's block: reserved (RFC 8878 3.1.1.2.2). */
	whole.bytes[FLOWTAP_ZSTF_HEAD + 6] |= 6;
	read_bytes(&reading, whole.bytes, whole.size);
	EXPECT_EQ(0, reading.read.instructions);
	EXPECT_EQ(1, reading.read.problems) TH_LOG("%s", reading.reasons);
	EXPECT_NE(NULL, strstr(reading.reasons, "chunk 0 cannot be decompressed"));
	EXPECT_NE(NULL, strstr(reading.reasons, "the header is lost with it"));
	reading_free(&reading);
	output_free(&whole);
}

static void put_nops(struct flowtap_write_buffer *out, unsigned int n)
{
	while (n--)
		flowtap_write_buffer_add(out, "\xf1\x01\x00", 3);
}

/* The first ends within a comment of so many bytes, all but 100 of it are in the second. */
static struct output made_chunks(unsigned int nops, uint32_t size)
{
	uint8_t *text = malloc(size);
	const struct flowtap_zstf_options options = { .markers = nops, .level = 1 };
	struct flowtap_write_buffer out;
	struct output file = output_new();
	struct hex header = { .size = 0 };
	struct flowtap_zstf *zstf;
	uint32_t state = 1;

	for (uint32_t i = 0; i < size; i++) {
		state = state * 1664525 + 1013904223;
		text[i] = (uint8_t)(state >> 24);
	}
	hex_add(&header, "01 535446 02 01000000 05000000 04 0100 05 0200 06 ff 000000 0000 "
			 "07 2004080000000000 09 0000010000000000 13");
	if (flowtap_write_buffer_init(&out, file.fd) || flowtap_zstf_new(&out, &options, &zstf))
		abort();
	flowtap_write_buffer_add(&out, header.bytes, header.size);
	put_nops(&out, nops);
	flowtap_write_buffer_add(&out, "\x03", 1);
	flowtap_write_buffer_add(&out, &size, sizeof(size));
	flowtap_write_buffer_add(&out, text, 100);
	flowtap_zstf_cut(zstf, 0x20000);
	flowtap_write_buffer_add(&out, text + 100, size - 100);
	put_nops(&out, nops);
	flowtap_zstf_cut(zstf, 0x30000);
	put_nops(&out, nops);
	if (flowtap_zstf_finish(zstf))
		abort();
	flowtap_zstf_free(zstf);
	flowtap_write_buffer_free(&out);
	free(text);
	output_read(&file);
	return file;
}

static void damage_second(struct output *file)
{
	uint64_t index = stf_number(file->bytes + 12, 8);

	file->bytes[stf_number(file->bytes + index + 8 + FLOWTAP_ZSTF_ENTRY, 8) + 20] ^= 1;
}

TEST(after_a_damaged_chunk_nothing_is_the_rest_of_a_long_record)
{
	const unsigned int nops = 10000;
	struct output file = made_chunks(nops, 20000);
	struct reading reading;

	read_file(&reading, file.fd, NULL);
	EXPECT_EQ(0, reading.read.problems) TH_LOG("%s", reading.reasons);
	EXPECT_EQ(3 * nops, reading.read.instructions);
	reading_free(&reading);
	damage_second(&file);
	read_bytes(&reading, file.bytes, file.size);
	EXPECT_EQ(1, reading.read.problems) TH_LOG("%s", reading.reasons);
	EXPECT_EQ(2 * nops, reading.read.instructions);
	EXPECT_NE(NULL, strstr((const char *)reading.text.bytes, "range 30000 34e20 10000 "));
	reading_free(&reading);
	output_free(&file);
}

static void expect_copied_gap(struct __test_metadata *_metadata, const void *bytes, size_t size,
			      uint64_t instructions, const char *gap)
{
	int fd = memfd_create("damaged", MFD_CLOEXEC), status;
	struct flowtap_stf_copy copy;
	struct reading reading;
	struct output copied;
	const char *found;

	ASSERT_EQ((ssize_t)size, write(fd, bytes, size));
	copied = copy_of(fd, 0, &copy, &status);
	EXPECT_EQ(0, status);
	EXPECT_TRUE(copy.damaged);
	EXPECT_EQ(instructions, copy.instructions);
	read_file(&reading, copied.fd, NULL);
	EXPECT_EQ(0, reading.read.problems) TH_LOG("%s", reading.reasons);
	EXPECT_EQ(instructions, reading.read.instructions);
	found = strstr((const char *)reading.text.bytes, "gap bad_record");
	ASSERT_NE(NULL, found);
	EXPECT_EQ(0, strncmp(found, gap, strlen(gap))) TH_LOG("%s", found);
	EXPECT_EQ(NULL, strstr(found + 1, "gap bad_record"));
	reading_free(&reading);
	output_free(&copied);
	close(fd);
}

/* Longer than what is in one piece: what is wrong is the file, not what stands in it. */
TEST(a_copy_says_why_a_long_record_is_not_whole)
{
	struct output file = made_chunks(100, 400000), plain, packed;
	struct flowtap_stf_copy copy;
	int status;

	plain = copy_of(file.fd, 0, &copy, &status);
	EXPECT_FALSE(copy.damaged);
	packed = (struct output){ .fd = gzip_pack(plain.fd, 1U << 20) };
	output_read(&packed);
	expect_copied_gap(_metadata, packed.bytes, packed.size / 2, 100, "gap bad_record "
			  "size=unknown detail=the file ends here, the trace did not\n");
	damage_second(&file);
	expect_copied_gap(_metadata, file.bytes, file.size, 200, "gap bad_record "
			  "size=unknown detail=the file is damaged\n");
	output_free(&packed);
	output_free(&plain);
	output_free(&file);
}

TEST(a_cut_gzip_stream_is_read_as_far_as_it_goes)
{
	struct output whole = made_stf(7, false, 400, NULL), packed;
	struct reading reading, before;

	read_file(&before, whole.fd, NULL);
	packed = (struct output){ .fd = gzip_pack(whole.fd, 1U << 20) };
	output_read(&packed);
	read_bytes(&reading, packed.bytes, packed.size / 2);
	EXPECT_EQ(0, reading.status);
	EXPECT_TRUE(reading.read.truncated);
	EXPECT_NE(NULL, strstr(reading.reasons, "ends within its gzip stream"));
	EXPECT_EQ(packed.size / 2, reading.first_offset);
	EXPECT_LT(100, reading.read.instructions);
	EXPECT_LT(reading.read.instructions, before.read.instructions);
	reading_free(&reading);
	reading_free(&before);
	output_free(&packed);
	output_free(&whole);
}

TEST_HARNESS_MAIN
