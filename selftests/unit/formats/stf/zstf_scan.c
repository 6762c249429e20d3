// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that of a .zstf whose index is missing, of an earlier time or wrong, all that is there is
 * read, that this is told, and that nothing else is: wherever its writer was killed, wherever the
 * file was cut, whatever the index claims, however large the file says that it is.
 */
#include "formats/stf/source.h"

#include <errno.h>
#include <flowtap/check.h>
#include <flowtap/learned.h>
#include <flowtap/stf.h>
#include <sys/syscall.h>

#include "support/madestf.h"

#include "support/kselftest_harness.h"

#define SEED		7
#define INDEX_AT	12	/* of the head */
#define LARGE		(10ULL << 30)

/*
 * All that the writer does to its file, to be done again up to any moment. These stand in for the
 * functions of libc.
 */
struct step {
	uint64_t at;		/* offset, or the size that it is cut to */
	size_t size;
	uint8_t *bytes;		/* NULL: a ftruncate */
};

static struct step steps[4096];
static size_t n_steps;
static bool watched;

static void note(uint64_t at, const void *bytes, size_t size)
{
	struct step *step = &steps[n_steps++];

	if (n_steps == sizeof(steps) / sizeof(steps[0]))
		abort();
	*step = (struct step){ .at = at, .size = size };
	if (!bytes)
		return;
	step->bytes = malloc(size + 1);
	memcpy(step->bytes, bytes, size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	if (watched)
		note((uint64_t)offset, bytes, size);
	return syscall(SYS_pwrite64, fd, bytes, size, offset);
}

int ftruncate(int fd, off_t size)
{
	if (watched)
		note((uint64_t)size, NULL, 0);
	return (int)syscall(SYS_ftruncate, fd, size);
}

static void forget_steps(void)
{
	while (n_steps)
		free(steps[--n_steps].bytes);
}

/* As it was when the first n steps were done, and of the next one the first half. */
static int killed_after(size_t n)
{
	int fd = memfd_create("killed", MFD_CLOEXEC);

	for (size_t i = 0; i <= n && i < n_steps; i++) {
		const struct step *step = &steps[i];
		size_t size = i < n ? step->size : step->size / 2;

		if (step->bytes)
			syscall(SYS_pwrite64, fd, step->bytes, size, step->at);
		else if (i < n)
			syscall(SYS_ftruncate, fd, step->at);
	}
	return fd;
}

/* The same flow each time. markers: of a chunk, 0: not compressed. */
static struct output make(bool arm, unsigned int blocks, uint64_t markers)
{
	const struct flowtap_zstf_options zstf = { .markers = markers, .level = 1 };

	return made_stf(SEED, arm, blocks, markers ? &zstf : NULL);
}

static uint64_t number_at(const struct output *file, uint64_t at)
{
	uint64_t value;

	memcpy(&value, file->bytes + at, sizeof(value));
	return le64toh(value);
}

/* Of chunks that are whole in the first `size` bytes of the file, how many bytes they were. */
static uint64_t whole_in(const struct output *file, uint64_t size)
{
	uint64_t index = number_at(file, INDEX_AT), chunks = number_at(file, index), sum = 0;

	for (uint64_t i = 0; i < chunks; i++) {
		uint64_t entry = index + 8 + i * FLOWTAP_ZSTF_ENTRY;
		uint64_t end = i + 1 < chunks ? number_at(file, entry + FLOWTAP_ZSTF_ENTRY) : index;

		sum += end <= size ? number_at(file, entry + 16) : 0;
	}
	return sum;
}

/* What the input gave. */
struct got {
	int status;		/* of opening */
	uint64_t bytes;		/* before anything was lost */
	bool differs;		/* from the records of the plain trace */
	bool told;
	bool unfinished;
};

static struct got input_of(int fd, const struct output *plain)
{
	struct stf_source input;
	struct got got = { .status = 0 };
	bool lost = false;
	int status;

	lseek(fd, 0, SEEK_SET);
	got.status = status = stf_source_open(&input, fd);
	while (!status) {
		size_t n = input.end - input.at;

		got.told |= input.warning || lost;
		input.warning = NULL;
		if (!lost) {
			got.differs |= n > plain->size - got.bytes ||
				       memcmp(input.bytes + input.at, plain->bytes + got.bytes, n);
			got.bytes += n;
		}
		if (got.differs || input.over)
			break;
		input.at = input.end;
		status = stf_source_more(&input);
		if (status == -EBADMSG) {
			got.told = lost = true;
			status = 0;
			input.at = input.end;
		}
	}
	got.unfinished = input.unfinished;
	stf_source_close(&input);
	return got;
}

static struct got input_of_bytes(const void *bytes, size_t size, const struct output *plain)
{
	int fd = memfd_create("bytes", MFD_CLOEXEC);
	struct got got;

	if (write(fd, bytes, size) != (ssize_t)size)
		abort();
	got = input_of(fd, plain);
	close(fd);
	return got;
}

/*
 * The reader and the check of the same file: instructions of both, and whether they told anything.
 */
struct both {
	uint64_t read, checked;
	bool read_told, check_told, truncated;
};

static struct both both_of(int fd)
{
	struct flowtap_read read = { .learned = flowtap_learned_new(0) };
	struct flowtap_check check = { .problems = 0 };
	struct flowtap_learned *learned = read.learned;

	lseek(fd, 0, SEEK_SET);
	if (flowtap_stf_read(&read, fd) || flowtap_check_file(&check, fd))
		abort();
	flowtap_learned_free(learned);
	return (struct both){
		.read = read.instructions, .checked = check.instructions,
		.read_told = read.problems, .check_told = check.problems,
		.truncated = read.truncated,
	};
}

/* Chunks of few instructions, so that there are many of them and the index often moves. */
TEST(wherever_the_writer_was_killed_all_that_was_complete_is_read)
{
	struct output plain = make(false, 600, 0), packed;
	uint64_t before = 0, instructions = 0;
	size_t silent = 0;

	watched = true;
	packed = make(false, 600, 40);
	watched = false;
	TH_LOG("%zu steps of the writer", n_steps);
	ASSERT_LT(60, n_steps);
	/* The first two make the head. */
	for (size_t n = 2; n <= n_steps; n++) {
		int fd = killed_after(n);
		struct got got = input_of(fd, &plain);
		struct both both;

		ASSERT_EQ(0, got.status) TH_LOG("after %zu steps", n);
		ASSERT_FALSE(got.differs) TH_LOG("after %zu steps", n);
		EXPECT_LE(before, got.bytes) TH_LOG("after %zu steps", n);
		before = got.bytes;
		both = both_of(fd);
		EXPECT_EQ(both.read, both.checked);
		EXPECT_EQ(both.read_told, both.check_told) TH_LOG("after %zu steps", n);
		EXPECT_EQ(got.told, both.read_told);
		EXPECT_LE(instructions, both.read);
		instructions = both.read;
		/* Where a chunk was just committed it is a whole file. */
		silent += !both.read_told;
		close(fd);
	}
	EXPECT_EQ(plain.size, before);
	EXPECT_LT(silent, n_steps / 2);
	forget_steps();
	output_free(&plain);
	output_free(&packed);
}

TEST(wherever_it_was_cut_what_is_before_is_read)
{
	for (int arm = 0; arm < 2; arm++) {
		struct output plain = make(arm, 40, 0), packed = make(arm, 40, 30);
		uint64_t before = 0;

		for (size_t cut = FLOWTAP_ZSTF_HEAD; cut < packed.size; cut++) {
			struct got got = input_of_bytes(packed.bytes, cut, &plain);
			int fd = memfd_create("cut", MFD_CLOEXEC);
			struct both both;

			ASSERT_EQ(0, got.status);
			ASSERT_FALSE(got.differs) TH_LOG("cut at %zu", cut);
			EXPECT_TRUE(got.told);
			EXPECT_LE(whole_in(&packed, cut), got.bytes) TH_LOG("cut at %zu", cut);
			EXPECT_LE(before, got.bytes);
			before = got.bytes;
			ASSERT_EQ((ssize_t)cut, write(fd, packed.bytes, cut));
			both = both_of(fd);
			EXPECT_EQ(both.read, both.checked) TH_LOG("cut at %zu", cut);
			EXPECT_TRUE(both.read_told && both.check_told);
			/* Where only the index is cut nothing of the trace is. */
			EXPECT_EQ(cut < number_at(&packed, INDEX_AT), both.truncated)
				TH_LOG("cut at %zu", cut);
			close(fd);
		}
		EXPECT_EQ(plain.size, before);
		output_free(&plain);
		output_free(&packed);
	}
}

/* zstd's blocks are of 128 KiB. */
TEST(of_a_chunk_that_was_cut_what_can_be_unpacked_is_read)
{
	struct output plain = make(false, 200000, 0), packed = make(false, 200000, 10000000);
	uint64_t before = 0;

	ASSERT_LT(1U << 20, plain.size);
	for (unsigned int i = 1; i < 40; i++) {
		size_t cut = packed.size * i / 40;
		struct got got = input_of_bytes(packed.bytes, cut, &plain);

		ASSERT_FALSE(got.differs);
		EXPECT_TRUE(got.told);
		EXPECT_LE(before, got.bytes);
		before = got.bytes;
		if (i == 20)
			EXPECT_LT(plain.size / 3, got.bytes);
	}
	EXPECT_LT(plain.size - (512U << 10), before);
	output_free(&plain);
	output_free(&packed);
}

/* Whatever the head says of where the index is: the frames are there. */
TEST(an_index_that_is_elsewhere_or_nowhere_loses_nothing)
{
	struct output plain = make(false, 60, 0), packed = make(false, 60, 40);
	uint64_t right = number_at(&packed, INDEX_AT);

	for (uint64_t at = 0; at <= packed.size + 2; at++) {
		uint64_t claim = htole64(at == packed.size + 1 ? 1ULL << 63 :
					 at == packed.size + 2 ? UINT64_MAX : at);
		struct got got;

		memcpy(packed.bytes + INDEX_AT, &claim, sizeof(claim));
		got = input_of_bytes(packed.bytes, packed.size, &plain);
		ASSERT_EQ(0, got.status);
		ASSERT_FALSE(got.differs) TH_LOG("at %llu", (unsigned long long)at);
		EXPECT_EQ(plain.size, got.bytes) TH_LOG("at %llu", (unsigned long long)at);
		EXPECT_EQ(at != right, got.told) TH_LOG("at %llu", (unsigned long long)at);
	}
	output_free(&plain);
	output_free(&packed);
}

TEST(an_index_that_contradicts_itself_is_not_believed)
{
	struct output plain = make(false, 60, 0), packed = make(false, 60, 40);
	uint64_t index = number_at(&packed, INDEX_AT), chunks = number_at(&packed, index);

	ASSERT_LT(3, chunks);
	for (size_t at = index; at < packed.size; at++) {
		static const uint8_t flips[] = { 0x01, 0x80, 0xff };
		size_t field = (at - index - 8) % FLOWTAP_ZSTF_ENTRY;

		for (size_t i = 0; i < sizeof(flips); i++) {
			struct got got;

			packed.bytes[at] ^= flips[i];
			got = input_of_bytes(packed.bytes, packed.size, &plain);
			packed.bytes[at] ^= flips[i];
			ASSERT_EQ(0, got.status);
			ASSERT_FALSE(got.differs) TH_LOG("at %zu", at);
			/* A start PC is only needed after damage: the check compares it. */
			EXPECT_EQ(at < index + 8 || field < 8 || field >= 16 ||
				  at < index + 8 + FLOWTAP_ZSTF_ENTRY, got.told)
				TH_LOG("at %zu", at);
			/* Of a wrong size of a chunk nobody knows what is wrong: chunk or index. */
			if (at < index + 8 || field < 16)
				EXPECT_EQ(plain.size, got.bytes) TH_LOG("at %zu", at);
		}
	}
	output_free(&plain);
	output_free(&packed);
}

/* A file that is large takes neither memory nor time. */
TEST(sparse_files_end_where_there_is_no_chunk)
{
	struct output plain = make(false, 60, 0), packed = make(false, 60, 40);
	const uint64_t index = number_at(&packed, INDEX_AT), far = LARGE - 4096;
	const uint64_t claims[] = { index, 0, far, LARGE + 1, index + 1 };
	const uint64_t all = UINT64_MAX / FLOWTAP_ZSTF_ENTRY;
	const uint64_t n[] = { 0, 1, (LARGE - far) / FLOWTAP_ZSTF_ENTRY, all };

	ASSERT_EQ(0, ftruncate(packed.fd, LARGE));
	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		uint64_t claim = htole64(claims[i]);
		size_t variants = claims[i] == far ? sizeof(n) / sizeof(n[0]) : 1;

		ASSERT_EQ(8, pwrite(packed.fd, &claim, 8, INDEX_AT));
		for (size_t j = 0; j < variants; j++) {
			struct got got;
			struct both both;

			ASSERT_EQ(8, pwrite(packed.fd, &n[j], 8, far));
			got = input_of(packed.fd, &plain);
			EXPECT_EQ(0, got.status);
			EXPECT_FALSE(got.differs);
			EXPECT_TRUE(got.told);
			EXPECT_EQ(plain.size, got.bytes) TH_LOG("%zu %zu", i, j);
			both = both_of(packed.fd);
			EXPECT_TRUE(both.read_told && both.check_told);
			EXPECT_EQ(both.read, both.checked);
		}
	}
	output_free(&plain);
	output_free(&packed);
}

/* What stands where the next chunk would be, but is not all there, is no chunk. */
TEST(what_an_older_index_covers_is_only_read_if_it_is_whole)
{
	struct output plain = make(false, 120, 0), packed = make(false, 120, 40);
	uint64_t index = number_at(&packed, INDEX_AT), chunks = number_at(&packed, index);
	uint64_t old = packed.size + 100, first_end, end;
	uint64_t few = htole64(2), at = htole64(old);
	int fd = memfd_create("old", MFD_CLOEXEC);
	struct got got;

	ASSERT_LT(4, chunks);
	first_end = number_at(&packed, index + 8 + 2 * FLOWTAP_ZSTF_ENTRY);
	end = number_at(&packed, index + 8 + 3 * FLOWTAP_ZSTF_ENTRY);
	/* The index of two chunks is after all; of the rest one more and a piece are there. */
	ASSERT_EQ((ssize_t)end + 30, write(fd, packed.bytes, end + 30));
	ASSERT_EQ(8, pwrite(fd, &at, 8, INDEX_AT));
	ASSERT_EQ(8, pwrite(fd, &few, 8, old));
	ASSERT_EQ(48, pwrite(fd, packed.bytes + index + 8, 48, old + 8));
	got = input_of(fd, &plain);
	EXPECT_FALSE(got.differs);
	EXPECT_TRUE(got.told);
	EXPECT_EQ(whole_in(&packed, end), got.bytes);
	EXPECT_LT(whole_in(&packed, first_end), got.bytes);
	/* A chunk without its checksum may be half an old one. */
	packed.bytes[first_end + 4] &= ~4;
	ASSERT_EQ(1, pwrite(fd, packed.bytes + first_end + 4, 1, first_end + 4));
	got = input_of(fd, &plain);
	EXPECT_FALSE(got.differs);
	EXPECT_EQ(whole_in(&packed, first_end), got.bytes);
	EXPECT_TRUE(got.told && got.unfinished);
	close(fd);
	output_free(&plain);
	output_free(&packed);
}

TEST_HARNESS_MAIN
