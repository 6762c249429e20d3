// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that an STF that was copied to another, compressed or not, has the same records byte for
 * byte, whatever they are; that a .zstf made so is the one that the writer makes; and that of a
 * damaged one the copy has all that a reader gets, and says where something is missing.
 *
 * FLOWTAP_SEED and STF_COPY_ROUNDS set what is tried.
 */
#include <errno.h>
#include <fcntl.h>
#include <flowtap/check.h>
#include <flowtap/learned.h>
#include <flowtap/stf.h>
#include <flowtap/stf_record.h>

#include "support/madestf.h"
#include "support/random.h"
#include "support/stf_steps.h"

#include "support/kselftest_harness.h"

#define ROUNDS		20
#define SAMPLES		"../shared/corpus/stf/"
#define GROUPS		400

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static struct output file_of(const void *bytes, size_t size)
{
	struct output output = output_new();

	if (write(output.fd, bytes, size) != (ssize_t)size)
		abort();
	output_read(&output);
	return output;
}

/* gaps: after the last instruction. */
static struct output make_gaps(bool arm, uint64_t seed, unsigned int blocks, unsigned int gaps,
			       uint64_t markers)
{
	const struct flowtap_zstf_options zstf = { .markers = markers, .level = 1 };

	return made_stf_gaps(seed, arm, blocks, gaps, markers ? &zstf : NULL);
}

static struct output make(bool arm, uint64_t seed, unsigned int blocks, uint64_t markers)
{
	return make_gaps(arm, seed, blocks, 0, markers);
}

/* The flow that is in it, as text; the number of problems. */
static char *flow_of(int fd, uint64_t *problems, uint64_t *instructions)
{
	struct flowtap_learned *learned = flowtap_learned_new(0);
	struct output text = output_new();
	struct flowtap_read read;
	struct flowtap_text *lines;
	char *merged;

	if (!learned || flowtap_text_new(text.fd, flowtap_learned_blocks(learned), &lines))
		abort();
	read = (struct flowtap_read){ .learned = learned, .sink = flowtap_text_sink(lines) };
	lseek(fd, 0, SEEK_SET);
	if (flowtap_stf_read(&read, fd) || flowtap_text_finish(lines))
		abort();
	output_read(&text);
	merged = made_lines((const char *)text.bytes, NULL);
	*problems = read.problems;
	*instructions = read.instructions;
	flowtap_text_free(lines);
	flowtap_learned_free(learned);
	output_free(&text);
	return merged;
}

static uint64_t problems_of(int fd)
{
	struct flowtap_check check = { .problems = 0 };

	return flowtap_check_file(&check, fd) ? 1000000 : check.problems;
}

/* --- Every record there is. --- */

static uint64_t state;

static uint32_t below(uint32_t limit)
{
	return random_below(&state, limit);
}

static uint64_t any(void)
{
	return (uint64_t)below(1U << 31) << 33 | (uint64_t)below(1U << 31) << 2 | below(4);
}

struct making {
	uint8_t *bytes;
	size_t size, capacity;
	struct flowtap_stf_sizes sizes;
	unsigned int kinds[256];
};

static void put(struct making *making, const struct flowtap_stf_record *record)
{
	size_t size;

	if (making->capacity - making->size < 300000) {
		making->capacity = 2 * making->capacity + 600000;
		making->bytes = realloc(making->bytes, making->capacity);
	}
	if (flowtap_stf_record_write(making->bytes + making->size, making->capacity - making->size,
				     &making->sizes, record, &size))
		abort();
	flowtap_stf_record_follow(&making->sizes, record);
	making->kinds[record->descriptor]++;
	making->size += size;
}

static void put_simple(struct making *making, uint8_t descriptor, uint64_t a, uint64_t b, uint64_t c)
{
	put(making, &(struct flowtap_stf_record){ .descriptor = descriptor, .field = { a, b, c } });
}

static void put_bytes(struct making *making, uint8_t descriptor, uint64_t a, uint64_t b,
		      const void *bytes, size_t size)
{
	put(making, &(struct flowtap_stf_record){ .descriptor = descriptor, .field = { a, b },
						  .bytes = bytes, .size = size });
}

static void put_header(struct making *making, bool wide)
{
	put_bytes(making, 0x01, 0, 0, "STF", 3);
	put_simple(making, 0x02, 1, 2 + below(5), 0);
	put_bytes(making, 0x03, 0, 0, "what a generator says of itself", 31);
	put_simple(making, 0x04, 1, 0, 0);
	put_simple(making, 0x05, 2, 0, 0);
	put(making, &(struct flowtap_stf_record){ .descriptor = 0x06, .field = { 1, 2, 3, 4 },
						  .bytes = (const uint8_t *)"QEMU", .size = 4 });
	put_bytes(making, 0x06, 6, 0, "and another", 11);
	put_simple(making, 0x07, 0x2f | (wide ? 1U << 19 : 0), 0, 0);
	put_simple(making, 0x08, 0, 1, 1);
	put_simple(making, 0x09, 0x10000, 0, 0);
	put_simple(making, 0x0a, 256, 0, 0);
	put_bytes(making, 0x0d, 0, 0, "rv64gcv", 7);
	put_simple(making, 0x13, 0, 0, 0);
}

/* What can belong to one instruction, each now and then; in the order that they have. */
static void put_group(struct making *making, const uint8_t *noise)
{
	bool trap = !below(20);

	if (!below(10))
		put_bytes(making, 0x03, 0, 0, noise, below(200));
	/* Longer than readers keep. */
	if (!below(GROUPS / 2))
		put_bytes(making, 0x03, 0, 0, noise, 200000);
	if (!below(30))
		put_simple(making, 0x08, below(4), below(9), below(9));
	if (!below(20))
		put_simple(making, 0x09, any() & ~1ULL, 0, 0);
	if (!below(4))
		put_simple(making, 0x1f, any() & ~1ULL, 0, 0);
	for (unsigned int i = below(4); i; i--)
		put_bytes(making, 0x28, below(32), (1 + below(3)) << 4 | 1, noise + below(99), 8);
	if (!below(8))
		put_bytes(making, 0x28, below(32), 0x33, noise + below(99), 32);
	if (!below(8))
		put_simple(making, 0x29, below(32), 0, 0);
	if (!below(16))
		put(making, &(struct flowtap_stf_record){
			.descriptor = 0x32, .field = { any(), any(), 4096 }, .bytes = noise, .size = 48 });
	for (unsigned int i = below(3); i; i--) {
		put(making, &(struct flowtap_stf_record){
			.descriptor = 0x3c, .field = { any(), 8, 0, 1 + below(2) } });
		put_simple(making, 0x3d, any(), 0, 0);
	}
	if (!below(16)) {
		put(making, &(struct flowtap_stf_record){
			.descriptor = 0x3e, .field = { any(), 8, 3, 0, 1, 2 } });
		put_simple(making, 0x3f, any(), 0, 0);
	}
	if (trap) {
		put_bytes(making, 0x64, below(16), 0, noise, 8 * below(3));
		put_simple(making, 0x65, any() & ~1ULL, 0, 0);
	}
	if (!below(8))
		put_simple(making, 0xe6, 4, below(1 << 30), 0);
	if (below(2))
		put_simple(making, 0xf0, below(1 << 30) << 2 | 3, 0, 0);
	else
		put_simple(making, 0xf1, below(1 << 14) << 2 | 1, 0, 0);
}

static struct output make_all(uint64_t seed, unsigned int groups, bool wide, unsigned int *kinds)
{
	struct making making = { .sizes = { .event_id = 4 } };
	uint8_t *noise = malloc(200000);
	struct output output;

	state = seed * 0x9e3779b97f4a7c15 | 1;
	for (size_t i = 0; i < 200000; i++)
		noise[i] = (uint8_t)below(256);
	put_header(&making, wide);
	for (unsigned int i = 0; i < groups; i++)
		put_group(&making, noise);
	put_bytes(&making, 0x03, 0, 0, "the end", 7);
	output = file_of(making.bytes, making.size);
	for (size_t i = 0; i < 256; i++)
		kinds[i] += making.kinds[i];
	free(making.bytes);
	free(noise);
	return output;
}

/* plain -> .zstf -> plain, and plain -> plain. */
static void there_and_back(struct __test_metadata *_metadata, const struct output *plain,
			   uint64_t markers)
{
	struct flowtap_stf_copy copy, back;
	struct output packed, again;
	int status;

	again = copy_of(plain->fd, 0, &copy, &status);
	EXPECT_EQ(0, status);
	EXPECT_FALSE(copy.damaged);
	EXPECT_EQ(-1, output_differs(plain, again.bytes, again.size));
	output_free(&again);
	packed = copy_of(plain->fd, markers, &copy, &status);
	EXPECT_EQ(0, status);
	EXPECT_EQ(plain->size, copy.bytes);
	again = copy_of(packed.fd, 0, &back, &status);
	EXPECT_EQ(0, status);
	EXPECT_EQ(copy.records, back.records);
	EXPECT_EQ(copy.instructions, back.instructions);
	EXPECT_EQ(-1, output_differs(plain, again.bytes, again.size))
		TH_LOG("markers %llu", (unsigned long long)markers);
	output_free(&again);
	output_free(&packed);
}

TEST(every_record_is_copied_byte_for_byte)
{
	static const uint8_t all[] = {
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0d, 0x13, 0x1f,
		0x28, 0x29, 0x32, 0x3c, 0x3d, 0x3e, 0x3f, 0x64, 0x65, 0xe6, 0xf0, 0xf1,
	};
	uint64_t seed = number("FLOWTAP_SEED", 1), rounds = number("STF_COPY_ROUNDS", ROUNDS);
	unsigned int kinds[256] = { 0 };

	TH_LOG("FLOWTAP_SEED=%llu", (unsigned long long)seed);
	for (uint64_t i = 0; i < rounds; i++) {
		struct output plain = make_all(seed * 1000003 + i, 1 + (i ? GROUPS : 0), i % 2, kinds);

		there_and_back(_metadata, &plain, 1 + i * 7);
		output_free(&plain);
	}
	for (size_t i = 0; i < sizeof(all); i++) {
		EXPECT_NE(0, kinds[all[i]])
			TH_LOG("no record 0x%02x", all[i]);
	}
}

TEST(a_chunk_ends_with_an_opcode_also_where_a_long_record_follows)
{
	struct making making = { .sizes = { .event_id = 4 } };
	uint8_t *text = calloc(1, 200000);
	struct output plain;

	put_header(&making, true);
	for (unsigned int i = 0; i < 8; i++) {
		put_bytes(&making, 0x03, 0, 0, "before", 6);
		put_bytes(&making, 0x03, 0, 0, text, i % 2 ? 200000 : 2);
		put_simple(&making, 0xf0, 0x13, 0, 0);
	}
	plain = file_of(making.bytes, making.size);
	EXPECT_EQ(0, problems_of(plain.fd));
	for (uint64_t markers = 1; markers < 5; markers++) {
		struct flowtap_stf_copy copy;
		struct output packed;
		int status;

		packed = copy_of(plain.fd, markers, &copy, &status);
		EXPECT_EQ(0, status);
		EXPECT_EQ(8, copy.instructions);
		EXPECT_EQ(0, problems_of(packed.fd)) TH_LOG("markers %llu", (unsigned long long)markers);
		output_free(&packed);
	}
	output_free(&plain);
	free(making.bytes);
	free(text);
}

/* Chunks and start PCs are the writer's, wherever they end. */
TEST(a_compressed_copy_is_the_file_that_the_writer_makes)
{
	uint64_t seed = number("FLOWTAP_SEED", 1);

	for (int arm = 0; arm < 2; arm++) {
		for (uint64_t markers = 1; markers < 60; markers += 1 + markers / 2) {
			struct output plain = make(arm, seed, 200, 0);
			struct output want = make(arm, seed, 200, markers), got;
			struct flowtap_stf_copy copy;
			int status;

			got = copy_of(plain.fd, markers, &copy, &status);
			EXPECT_EQ(0, status);
			EXPECT_EQ(-1, output_differs(&want, got.bytes, got.size))
				TH_LOG("%d, markers %llu", arm, (unsigned long long)markers);
			EXPECT_EQ(0, problems_of(got.fd));
			output_free(&got);
			output_free(&want);
			output_free(&plain);
		}
	}
}

TEST(samples_of_others_are_copied_byte_for_byte)
{
	static const char *const names[] = {
		"bmi_pmp.bare.stf", "dhrystone.zstf", "dhrystone_opt1.zstf", "minimal20.stf",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct flowtap_stf_copy copy;
		struct output plain, packed;
		char path[64];
		int fd, status;

		snprintf(path, sizeof(path), SAMPLES "%s", names[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			SKIP(return, "no " SAMPLES);
		plain = copy_of(fd, 0, &copy, &status);
		EXPECT_EQ(0, status);
		TH_LOG("%s: %llu records", names[i], (unsigned long long)copy.records);
		there_and_back(_metadata, &plain, 5000);
		packed = copy_of(fd, 5000, &copy, &status);
		EXPECT_EQ(0, problems_of(plain.fd));
		EXPECT_EQ(0, problems_of(packed.fd));
		if (strstr(names[i], ".stf") == names[i] + strlen(names[i]) - 4) {
			struct output sample = { .fd = fd };

			output_read(&sample);
			EXPECT_EQ(-1, output_differs(&sample, plain.bytes, plain.size));
			free(sample.bytes);
		}
		output_free(&packed);
		output_free(&plain);
		close(fd);
	}
}

/* Readers leave out a chunk of which the last record is none. */
static bool ends_with_opcode(const struct output *output)
{
	struct flowtap_stf_sizes sizes = { .event_id = 4 };
	struct flowtap_stf_record record = { .descriptor = 0 };
	struct flowtap_stf_copy copy;
	struct output plain;
	size_t size, at = 0;
	int status;

	plain = copy_of(output->fd, 0, &copy, &status);
	while (at < plain.size && !flowtap_stf_record_parse(plain.bytes + at, plain.size - at, &sizes,
							    &record, &size)) {
		flowtap_stf_record_follow(&sizes, &record);
		at += size;
	}
	status |= at < plain.size;
	output_free(&plain);
	return !status && (record.descriptor == 0xf0 || record.descriptor == 0xf1);
}

/* What is read of the copy is what is read of the file, and the copy has nothing to be told. */
static void expect_same_flow(struct __test_metadata *_metadata, const struct output *damaged,
			     uint64_t markers, size_t where)
{
	uint64_t problems, instructions, told, copied;
	char *want = flow_of(damaged->fd, &told, &instructions), *got;
	struct flowtap_stf_copy copy;
	int status;
	struct output output = copy_of(damaged->fd, markers, &copy, &status);
	char *differs;

	/* Where only the index is missing nothing of the trace is. */
	if (instructions)
		EXPECT_EQ(strstr(want, "detail=the file") || strstr(want, "detail=what stands here"),
			  copy.damaged) TH_LOG("at %zu", where);
	EXPECT_TRUE(told || !copy.damaged);
	EXPECT_EQ(instructions ? 0 : -ENODATA, status) TH_LOG("at %zu", where);
	if (!status) {
		got = flow_of(output.fd, &problems, &copied);
		differs = made_differs(want, got);
		EXPECT_EQ(NULL, differs) TH_LOG("at %zu: %s", where, differs);
		/* The damage is told in the copy, what only makes no sense is copied as it is. */
		EXPECT_LE(problems + copy.damaged, told) TH_LOG("at %zu", where);
		EXPECT_LE(problems_of(output.fd) + copy.damaged, problems_of(damaged->fd))
			TH_LOG("at %zu", where);
		EXPECT_EQ(instructions, copied) TH_LOG("at %zu", where);
		/* What ends with a comment and is not damaged is copied as it is. */
		if (copy.damaged)
			EXPECT_TRUE(ends_with_opcode(&output)) TH_LOG("at %zu", where);
		free(differs);
		free(got);
	}
	free(want);
	output_free(&output);
}

TEST(of_a_trace_that_was_cut_all_whole_instructions_are_copied)
{
	for (int arm = 0; arm < 2; arm++) {
		struct output plain = make(arm, 7, 12, 0), packed = make(arm, 7, 12, 20);

		for (size_t cut = 300; cut < plain.size; cut++) {
			struct output damaged = file_of(plain.bytes, cut);

			expect_same_flow(_metadata, &damaged, cut % 2 ? 10 : 0, cut);
			output_free(&damaged);
		}
		for (size_t cut = FLOWTAP_ZSTF_HEAD; cut < packed.size; cut += 3) {
			struct output damaged = file_of(packed.bytes, cut);

			expect_same_flow(_metadata, &damaged, cut % 2 ? 10 : 0, cut);
			output_free(&damaged);
		}
		output_free(&packed);
		output_free(&plain);
	}
}

TEST(what_is_after_the_last_instruction_is_copied_where_it_is_cut_or_damaged)
{
	uint8_t was;

	for (unsigned int i = 0; i < 4; i++) {
		struct output whole = make_gaps(i & 1, 9, 9, 6, i & 2 ? 1 + i : 0);

		for (size_t cut = whole.size * 3 / 4; cut < whole.size; cut += i & 2 ? 5 : 2) {
			struct output damaged = file_of(whole.bytes, cut);

			expect_same_flow(_metadata, &damaged, cut % 3, cut);
			output_free(&damaged);
			/* 0 is no record. */
			was = whole.bytes[cut];
			whole.bytes[cut] = was ? 0 : 0x55;
			damaged = file_of(whole.bytes, whole.size);
			whole.bytes[cut] = was;
			expect_same_flow(_metadata, &damaged, cut % 3, cut);
			output_free(&damaged);
		}
		output_free(&whole);
	}
}

static const struct flowtap_block bxeq = {
	.address = 0x1000, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A32,
	CODE(WORD(0x012fff1eU)), .end = FLOWTAP_ARM_RETURN, .conditional = true,
};

/*
 * "taken" is of the branch that comes with it: without the branch, a reader would take the next one
 * there is for taken.
 */
TEST(of_a_branch_that_is_left_out_no_comment_is_copied)
{
	static const struct step steps[] = {
		MODE(A32, 0), IS(bxeq, false, 0x1004), IS(bxeq, true, 0), GAP(OVERFLOW),
	};
	static const char taken[] = "\x03\x05\0\0\0taken";
	const struct flowtap_stf_options options = { .generator = 0xff };
	struct output stf = output_new(), cut, copied;
	struct flowtap_stf_copy copy;
	struct flowtap_stf *writer;
	uint8_t *comment;
	int status;

	ASSERT_EQ(0, flowtap_stf_new(stf.fd, &options, &writer));
	ASSERT_EQ(0, feed(writer, steps, sizeof(steps) / sizeof(steps[0])));
	flowtap_stf_free(writer);
	output_read(&stf);
	comment = memmem(stf.bytes, stf.size, taken, sizeof(taken) - 1);
	ASSERT_NE(NULL, comment);
	cut = file_of(stf.bytes, (size_t)(comment - stf.bytes) + sizeof(taken) - 1);
	copied = copy_of(cut.fd, 0, &copy, &status);
	EXPECT_EQ(0, status);
	EXPECT_TRUE(copy.damaged);
	EXPECT_EQ(NULL, memmem(copied.bytes, copied.size, taken, sizeof(taken) - 1));
	EXPECT_NE(NULL, memmem(copied.bytes, copied.size, "gap ", 4));
	output_free(&copied);
	output_free(&cut);
	output_free(&stf);
}

TEST(where_a_chunk_was_lost_the_copy_says_so_and_goes_on)
{
	for (int arm = 0; arm < 2; arm++) {
		struct output packed = make(arm, 7, 300, 100);

		for (size_t at = packed.size / 60; at < packed.size * 3 / 4; at += packed.size / 60) {
			packed.bytes[at] ^= 0x55;
			struct output damaged = file_of(packed.bytes, packed.size);

			packed.bytes[at] ^= 0x55;
			expect_same_flow(_metadata, &damaged, at % 2 ? 77 : 0, at);
			output_free(&damaged);
		}
		output_free(&packed);
	}
}

TEST(what_cannot_be_copied_is_refused)
{
	static const char *const files[] = { "", "perf.data", "ZSTF", "\1STF\2" };
	static const int errors[] = { -EBADMSG, -EBADMSG, -EBADMSG, -ENODATA };
	struct flowtap_stf_copy copy;
	struct output file, output;
	int status;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		file = file_of(files[i], strlen(files[i]));
		output = copy_of(file.fd, 0, &copy, &status);
		EXPECT_EQ(errors[i], status) TH_LOG("%zu", i);
		output_free(&output);
		output_free(&file);
	}
	file = make(false, 1, 10, 0);
	status = open("/dev/full", O_WRONLY);
	copy = (struct flowtap_stf_copy){ .zstf = NULL };
	lseek(file.fd, 0, SEEK_SET);
	EXPECT_EQ(-ENOSPC, flowtap_stf_copy(&copy, file.fd, status));
	close(status);
	output_free(&file);
}

TEST_HARNESS_MAIN
