// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that packed archives come back as they were, that the zstd library takes them, that a file
 * that was cut or damaged anywhere gives what is whole in it, and that no file takes more memory or
 * room than was allowed.
 */
#include <errno.h>
#include <fcntl.h>
#include <flowtap/archive.h>
#include <flowtap/packed.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "support/kselftest_harness.h"
#include "support/random.h"

#define FRAME FLOWTAP_PACKED_FRAME
#define BLOCK 65536		/* of payload */

static uint64_t state = 88172645463325252ULL;

/* An archive with this many blocks, of which zstd makes about a quarter. */
static int make_archive(unsigned int blocks)
{
	struct flowtap_archive_writer *writer;
	int fd = memfd_create("archive", MFD_CLOEXEC);
	static uint64_t payload[BLOCK / 8];

	if (fd < 0 || flowtap_archive_create(fd, &writer))
		abort();
	for (unsigned int i = 0; i < blocks; i++) {
		for (size_t k = 0; k < BLOCK / 8; k++)
			payload[k] = 0x1000 * i + (random_next(&state) & 0xffff);
		if (flowtap_archive_write(writer, FLOWTAP_ARCHIVE_INFO, i, i, payload, BLOCK, NULL, 0))
			abort();
	}
	if (flowtap_archive_flush(writer))
		abort();
	flowtap_archive_writer_free(writer);
	return fd;
}

static uint8_t *contents(int fd, size_t *size)
{
	struct stat stat;
	uint8_t *bytes;

	if (fstat(fd, &stat))
		abort();
	*size = (size_t)stat.st_size;
	bytes = malloc(*size + 1);
	if (!bytes || pread(fd, bytes, *size, 0) != (ssize_t)*size)
		abort();
	return bytes;
}

static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("bytes", MFD_CLOEXEC);

	if (fd < 0 || pwrite(fd, bytes, size, 0) != (ssize_t)size)
		abort();
	return fd;
}

static bool same(int one, int other)
{
	size_t a, b;
	uint8_t *first = contents(one, &a), *second = contents(other, &b);
	bool equal = a == b && !memcmp(first, second, a);

	free(first);
	free(second);
	return equal;
}

/* Whole blocks of an archive that are what was written. -1: it is none. */
static int good_blocks(int fd, uint64_t *bad_bytes)
{
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	int n = 0, result;

	lseek(fd, 0, SEEK_SET);
	if (flowtap_archive_open(fd, &reader))
		return -1;
	while ((result = flowtap_archive_next(reader, &block)))
		n += result > 0 && block.size == BLOCK;
	flowtap_archive_error(reader, bad_bytes);
	flowtap_archive_reader_free(reader);
	return n;
}

FIXTURE(packed)
{
	int archive, packed, out;
	uint8_t *bytes;			/* the packed ones */
	size_t size;
	size_t frames[8];		/* where each begins; the end */
	unsigned int n_frames;
	struct flowtap_unpacked told;
};

#define BLOCKS 200		/* 13 MB: four frames */
/* That are whole without one of the frames: one lies across each border. -1, of no archive, is less. */
#define BLOCKS_LEFT ((int)(BLOCKS - FRAME / BLOCK) - 2)

FIXTURE_SETUP(packed)
{
	size_t at = 0;

	self->archive = make_archive(BLOCKS);
	self->packed = memfd_create("packed", MFD_CLOEXEC);
	self->out = memfd_create("out", MFD_CLOEXEC);
	ASSERT_EQ(0, flowtap_pack(self->archive, self->packed));
	self->bytes = contents(self->packed, &self->size);
	while (at < self->size) {
		ASSERT_GT(7, self->n_frames);
		self->frames[self->n_frames++] = at;
		at += ZSTD_findFrameCompressedSize(self->bytes + at, self->size - at);
	}
	self->frames[self->n_frames] = self->size;
	ASSERT_EQ(4, self->n_frames);
}

FIXTURE_TEARDOWN(packed)
{
	close(self->archive);
	close(self->packed);
	close(self->out);
	free(self->bytes);
}

/* Of these bytes, into an empty file. */
static int unpack(FIXTURE_DATA(packed) *self, const void *bytes, size_t size, uint64_t limit)
{
	int fd = file_of(bytes, size), result;

	if (ftruncate(self->out, 0))
		abort();
	result = flowtap_unpack(fd, self->out, limit, &self->told);
	close(fd);
	return result;
}

TEST_F(packed, it_comes_back_as_it_was)
{
	EXPECT_TRUE(flowtap_packed_is(self->packed));
	EXPECT_FALSE(flowtap_packed_is(self->archive));
	ASSERT_EQ(0, flowtap_unpack(self->packed, self->out, FLOWTAP_PACKED_LIMIT, &self->told));
	EXPECT_EQ(0, self->told.damages);
	EXPECT_EQ(NULL, self->told.reason);
	EXPECT_EQ(4, self->told.frames);
	EXPECT_EQ(0, self->told.zeros);
	EXPECT_TRUE(same(self->archive, self->out));
	EXPECT_GT(self->told.bytes / 2, self->size);
	/* Nor does it leave anything else behind. */
	errno = 44;
	EXPECT_EQ(-EBADF, flowtap_pack(-1, self->out));
	EXPECT_EQ(-EBADF, flowtap_pack(self->archive, -1));
	EXPECT_EQ(-EBADF, flowtap_unpack(-1, self->out, FLOWTAP_PACKED_LIMIT, &self->told));
	EXPECT_EQ(44, errno);
}

TEST_F(packed, each_frame_is_one_by_itself)
{
	uint8_t *frame = malloc(FRAME), *whole;
	size_t size;

	whole = contents(self->archive, &size);
	for (unsigned int i = 0; i < self->n_frames; i++) {
		const uint8_t *from = self->bytes + self->frames[i];
		const size_t packed = self->frames[i + 1] - self->frames[i];
		const size_t want = i + 1 < self->n_frames ? FRAME : size - i * FRAME;

		EXPECT_EQ(want, ZSTD_getFrameContentSize(from, packed));
		ASSERT_EQ(want, ZSTD_decompress(frame, FRAME, from, packed));
		EXPECT_EQ(0, memcmp(frame, whole + (size_t)i * FRAME, want));
		/* RFC 8878 3.1.1.1.1.5: the checksum flag. */
		EXPECT_TRUE(from[4] & 4);
	}
	free(frame);
	free(whole);
}

TEST_F(packed, a_cut_file_keeps_its_beginning)
{
	uint8_t *whole, *out;
	size_t size, got;

	whole = contents(self->archive, &size);
	/* Around each frame's end, in its head, and anywhere. */
	for (int i = 0; i < 60; i++) {
		size_t end = self->frames[i % 5], cut;

		cut = i < 40 ? end - 20 + (size_t)i / 5 * 5 : random_next(&state) % self->size;
		if (cut > self->size)
			continue;
		ASSERT_EQ(0, unpack(self, self->bytes, cut, FLOWTAP_PACKED_LIMIT));
		out = contents(self->out, &got);
		ASSERT_LE(got, size);
		ASSERT_EQ(0, memcmp(out, whole, got));
		ASSERT_EQ(self->told.bytes, got);
		ASSERT_EQ(0, self->told.zeros);
		for (unsigned int k = 0; k < self->n_frames; k++) {
			if (self->frames[k + 1] <= cut)
				ASSERT_LE((k + 1) * FRAME < size ? (k + 1) * FRAME : size, got);
			/*
			 * The cut is told just where it is within a frame, with that frame's place.
			 */
			if (self->frames[k] < cut && cut < self->frames[k + 1]) {
				ASSERT_EQ(1, self->told.damages);
				ASSERT_EQ(self->frames[k], self->told.offset);
				ASSERT_EQ(cut - self->frames[k] >= 4, self->told.cut);
			}
			if (self->frames[k] == cut)
				ASSERT_EQ(0, self->told.damages);
		}
		free(out);
	}
	free(whole);
}

TEST_F(packed, damage_takes_a_frame_and_no_more)
{
	for (int i = 0; i < 25; i++) {
		uint8_t *bytes = malloc(self->size);
		const size_t at = random_next(&state) % self->size;
		const uint8_t bit = 1 << random_next(&state) % 8;
		uint64_t bad;
		int good;

		memcpy(bytes, self->bytes, self->size);
		bytes[at] ^= bit;
		ASSERT_EQ(0, unpack(self, bytes, self->size, FLOWTAP_PACKED_LIMIT));
		/* In a head a bit may be one that nobody needs. */
		if (!self->told.damages) {
			ASSERT_TRUE(same(self->archive, self->out));
			free(bytes);
			continue;
		}
		ASSERT_LE(3, self->told.frames);
		good = good_blocks(self->out, &bad);
		/* The archive's header goes with the first frame, and is as that of any other. */
		ASSERT_LE(BLOCKS_LEFT, good);
		ASSERT_GE(BLOCKS, good);
		free(bytes);
	}
}

TEST_F(packed, without_the_first_frame_the_others_are_an_archive)
{
	uint64_t bad;
	int fd;

	memset(self->bytes + 400000, 0xff, 16);
	ASSERT_LT(400016, self->frames[1]);
	ASSERT_EQ(0, unpack(self, self->bytes, self->size, FLOWTAP_PACKED_LIMIT));
	EXPECT_EQ(1, self->told.damages);
	EXPECT_LE(BLOCKS_LEFT, good_blocks(self->out, &bad));
	memset(self->bytes + 12, 0xff, self->frames[1] - 12);
	ASSERT_EQ(0, ftruncate(self->out, 0));
	ASSERT_EQ(0, unpack(self, self->bytes, self->size, FLOWTAP_PACKED_LIMIT));
	EXPECT_EQ(FRAME, self->told.zeros);
	EXPECT_LE(BLOCKS_LEFT, good_blocks(self->out, &bad));
	/* So it is known as one; not what is cut before the next frame. */
	fd = file_of(self->bytes, self->size);
	EXPECT_TRUE(flowtap_packed_is(fd));
	ASSERT_EQ(0, ftruncate(fd, (off_t)self->frames[1]));
	EXPECT_FALSE(flowtap_packed_is(fd));
	close(fd);
}

TEST_F(packed, a_frame_that_is_not_there_any_more_keeps_its_place)
{
	const size_t hole = self->frames[2] - self->frames[1];
	uint64_t bad;

	/* Its head says how much was in it. */
	memset(self->bytes + self->frames[1] + 12, 0xff, hole - 12);
	ASSERT_EQ(0, unpack(self, self->bytes, self->size, FLOWTAP_PACKED_LIMIT));
	EXPECT_EQ(1, self->told.damages);
	EXPECT_EQ(self->frames[1], self->told.offset);
	EXPECT_EQ(3, self->told.frames);
	EXPECT_EQ(FRAME, self->told.zeros);
	EXPECT_FALSE(self->told.cut);
	/* A block lies across each border. */
	EXPECT_EQ(BLOCKS - FRAME / BLOCK - 1, good_blocks(self->out, &bad));
}

/* The file with `size` bytes more at `at`. */
static void insert(const FIXTURE_DATA(packed) *self, uint8_t *bytes, size_t at, const void *more,
		   size_t size)
{
	memcpy(bytes, self->bytes, at);
	memcpy(bytes + at, more, size);
	memcpy(bytes + at + size, self->bytes + at, self->size - at);
}

TEST_F(packed, what_stands_between_frames_is_passed_over)
{
	static const uint8_t skippable[] = { 0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c' };
	uint8_t *bytes = malloc(self->size + 4096);
	size_t at = self->frames[2];

	insert(self, bytes, at, skippable, sizeof(skippable));
	ASSERT_EQ(0, unpack(self, bytes, self->size + sizeof(skippable), FLOWTAP_PACKED_LIMIT));
	EXPECT_EQ(0, self->told.damages);
	EXPECT_TRUE(same(self->archive, self->out));
	/* Other bytes are told. */
	bytes[at] = 0;
	ASSERT_EQ(0, unpack(self, bytes, self->size + sizeof(skippable), FLOWTAP_PACKED_LIMIT));
	EXPECT_EQ(1, self->told.damages);
	EXPECT_EQ(at, self->told.offset);
	EXPECT_TRUE(same(self->archive, self->out));
	/* And after the last. */
	memcpy(bytes, self->bytes, self->size);
	memset(bytes + self->size, 7, 4096);
	ASSERT_EQ(0, unpack(self, bytes, self->size + 4096, FLOWTAP_PACKED_LIMIT));
	EXPECT_EQ(1, self->told.damages);
	EXPECT_EQ(self->size, self->told.offset);
	EXPECT_TRUE(same(self->archive, self->out));
	free(bytes);
}

/* So near to the end that there are no 8 bytes of its head. */
TEST_F(packed, half_of_a_skippable_frame_is_damage)
{
	static const uint8_t skippable[] = { 0x5a, 0x2a, 0x4d, 0x18, 0, 0, 0 };

	for (size_t size = 4; size <= sizeof(skippable); size++) {
		ASSERT_EQ(0, unpack(self, skippable, size, FLOWTAP_PACKED_LIMIT));
		EXPECT_EQ(1, self->told.damages);
		EXPECT_EQ(0, self->told.bytes);
	}
}

/* A size that cannot be takes no frame with it. */
TEST_F(packed, a_skippable_frame_longer_than_the_file_is_damage)
{
	static const uint8_t skippable[] = { 0x5a, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff };
	uint8_t *bytes = malloc(self->size + sizeof(skippable));
	size_t at = self->frames[2];

	insert(self, bytes, at, skippable, sizeof(skippable));
	ASSERT_EQ(0, unpack(self, bytes, self->size + sizeof(skippable), FLOWTAP_PACKED_LIMIT));
	EXPECT_EQ(1, self->told.damages);
	EXPECT_EQ(at, self->told.offset);
	EXPECT_FALSE(self->told.cut);
	EXPECT_TRUE(same(self->archive, self->out));
	/* As the last of the file it is one that was cut, by a byte too. */
	memcpy(bytes, self->bytes, self->size);
	memcpy(bytes + self->size, skippable, sizeof(skippable));
	memset(bytes + self->size + 5, 0, 3);
	for (uint8_t size = 0; size < 2; size++) {
		bytes[self->size + 4] = size;
		ASSERT_EQ(0, unpack(self, bytes, self->size + sizeof(skippable),
				    FLOWTAP_PACKED_LIMIT));
		EXPECT_EQ(size, self->told.damages);
		EXPECT_EQ(size, self->told.cut);
		EXPECT_TRUE(same(self->archive, self->out));
	}
	free(bytes);
}

/* Wherever it is within what is read at a time. */
TEST_F(packed, a_frame_is_found_after_any_number_of_bytes)
{
	static const char text[] = "what is in the frame";
	const size_t around = 128 << 10;
	uint8_t *bytes = calloc(1, around + 256), *out;
	size_t size;

	for (size_t before = around - 8; before <= around + 8; before++) {
		memset(bytes, 0, around + 256);
		size = before + ZSTD_compress(bytes + before, 200, text, sizeof(text), 1);
		ASSERT_EQ(0, unpack(self, bytes, size, FLOWTAP_PACKED_LIMIT));
		EXPECT_EQ(1, self->told.frames);
		EXPECT_EQ(1, self->told.damages);
		out = contents(self->out, &size);
		EXPECT_EQ(sizeof(text), size);
		EXPECT_STREQ(text, (char *)out);
		free(out);
	}
	free(bytes);
}

/*
 * By RFC 8878 3.1.1: a head that has the size of the content in 8 bytes and a window of 128 KiB,
 * then one raw block, of more bytes than follow.
 */
static size_t put_endless(uint8_t *to, uint64_t content)
{
	static const uint8_t head[] = { 0x28, 0xb5, 0x2f, 0xfd, 0xc0, 0x38 };
	const uint32_t block = 100000U << 3 | 1;

	memcpy(to, head, sizeof(head));
	memcpy(to + 6, &content, 8);
	memcpy(to + 14, &block, 3);
	memset(to + 17, 'x', 1000);
	return 17 + 1000;
}

/* The next frame is there nevertheless, where a block could begin. */
TEST_F(packed, a_frame_that_seems_to_have_no_end_has_one)
{
	static const uint64_t contents_said[] = { 1ULL << 40, UINT64_MAX - 2, FRAME + 1 };
	static const char text[] = "what is in the frame after it";
	static uint8_t bytes[4096];
	uint8_t *out;
	size_t size;

	for (size_t i = 0; i < ARRAY_SIZE(contents_said); i++) {
		for (size_t more = 0; more < 8; more++) {
			size = put_endless(bytes, contents_said[i]) + more;
			memset(bytes + size - more, 'y', more);
			size += ZSTD_compress(bytes + size, 1000, text, sizeof(text), 1);
			ASSERT_EQ(0, unpack(self, bytes, size, FLOWTAP_PACKED_LIMIT));
			EXPECT_EQ(1, self->told.damages);
			EXPECT_EQ(0, self->told.offset);
			EXPECT_EQ(1, self->told.frames);
			EXPECT_FALSE(self->told.cut);
			out = contents(self->out, &size);
			ASSERT_EQ(self->told.bytes, size);
			EXPECT_EQ(0, (size - sizeof(text)) % 8);
			EXPECT_STREQ(text, (char *)out + size - sizeof(text));
			free(out);
		}
	}
}

TEST_F(packed, no_more_comes_out_than_is_allowed)
{
	size_t size;

	free(contents(self->archive, &size));
	EXPECT_EQ(0, unpack(self, self->bytes, self->size, size));
	EXPECT_EQ(-EFBIG, unpack(self, self->bytes, self->size, size - 1));
	EXPECT_GE(size - 1, self->told.bytes);
	EXPECT_EQ(-EFBIG, unpack(self, self->bytes, self->size, 0));
	/* What is to be left free for a damaged frame counts as well. */
	memset(self->bytes + self->frames[1] + 12, 0xff, 1000);
	EXPECT_EQ(-EFBIG, unpack(self, self->bytes, self->size, FRAME + FRAME / 2));
	EXPECT_GE(FRAME + FRAME / 2, self->told.bytes);
}

/* Packed as a stream by a level's window, without the size of what is in it. */
static size_t pack_stream(uint8_t *packed, size_t capacity, const uint8_t *bytes, size_t size,
			  int log)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	ZSTD_outBuffer out = { packed, capacity, 0 };
	ZSTD_inBuffer in = { bytes, size, 0 };
	size_t left;

	ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, log);
	ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1);
	do
		left = ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue);
	while (in.pos < in.size && !ZSTD_isError(left));
	do
		left = ZSTD_compressStream2(context, &out, &in, ZSTD_e_end);
	while (left && !ZSTD_isError(left));
	ZSTD_freeCCtx(context);
	return out.pos;
}

TEST_F(packed, what_zstd_packed_is_taken_up_to_a_window)
{
	size_t size, packed;
	uint8_t *bytes = contents(self->archive, &size), *buffer = malloc(size);
	int fd;

	packed = pack_stream(buffer, size, bytes, size, 27);
	fd = file_of(buffer, packed);
	EXPECT_TRUE(flowtap_packed_is(fd));
	close(fd);
	ASSERT_EQ(0, unpack(self, buffer, packed, FLOWTAP_PACKED_LIMIT));
	EXPECT_EQ(0, self->told.damages);
	EXPECT_TRUE(same(self->archive, self->out));
	packed = pack_stream(buffer, size, bytes, size, 28);
	EXPECT_EQ(-EOVERFLOW, unpack(self, buffer, packed, FLOWTAP_PACKED_LIMIT));
	free(bytes);
	free(buffer);
}

/* A bit of a frame's head says so: it is damage where others are good. */
TEST_F(packed, a_window_that_is_too_large_in_one_frame_is_damage)
{
	/* RFC 8878 3.1.1.1.1: no single segment, so that a byte says how large the window is. */
	const uint8_t was[] = { self->bytes[self->frames[0] + 4], self->bytes[self->frames[0] + 5] };

	self->bytes[self->frames[0] + 4] &= 0xdf;
	self->bytes[self->frames[0] + 5] = 0xf8;
	ASSERT_EQ(0, unpack(self, self->bytes, self->size, FLOWTAP_PACKED_LIMIT));
	EXPECT_EQ(1, self->told.damages);
	EXPECT_EQ(3, self->told.frames);
	EXPECT_EQ(0, self->told.offset);
	EXPECT_NE(NULL, self->told.reason);
	memcpy(self->bytes + self->frames[0] + 4, was, sizeof(was));
	self->bytes[self->frames[2] + 4] &= 0xdf;
	self->bytes[self->frames[2] + 5] = 0xf8;
	ASSERT_EQ(0, unpack(self, self->bytes, self->size, FLOWTAP_PACKED_LIMIT));
	EXPECT_EQ(1, self->told.damages);
	EXPECT_EQ(3, self->told.frames);
	EXPECT_EQ(self->frames[2], self->told.offset);
}

/* 256 MiB of zeros in some 10 kB. */
TEST_F(packed, a_bomb_ends_at_the_limit)
{
	const size_t capacity = 1 << 20, piece = 1 << 20;
	uint8_t *packed = malloc(capacity), *zeros = calloc(1, piece);
	ZSTD_CCtx *context = ZSTD_createCCtx();
	ZSTD_outBuffer out = { packed, capacity, 0 };

	for (int i = 0; i < 256; i++) {
		ZSTD_inBuffer in = { zeros, piece, 0 };

		while (in.pos < in.size)
			ASSERT_FALSE(ZSTD_isError(ZSTD_compressStream2(context, &out, &in,
								       ZSTD_e_continue)));
	}
	while (ZSTD_compressStream2(context, &out, &(ZSTD_inBuffer){ 0 }, ZSTD_e_end))
		;
	ZSTD_freeCCtx(context);
	ASSERT_GT(100000, out.pos);
	EXPECT_EQ(-EFBIG, unpack(self, packed, out.pos, 8 << 20));
	EXPECT_GE(8 << 20, self->told.bytes);
	free(packed);
	free(zeros);
}

/* Frames' magic numbers without frames: the search ends. */
TEST_F(packed, much_damage_ends_it)
{
	static uint8_t bytes[4 << 20];
	static const uint8_t head[] = { 0x28, 0xb5, 0x2f, 0xfd, 0xff };

	for (size_t i = 0; i + sizeof(head) <= sizeof(bytes); i += sizeof(head))
		memcpy(bytes + i, head, sizeof(head));
	ASSERT_GT(sizeof(bytes) / 2, self->frames[1]);
	memcpy(bytes, self->bytes, self->frames[1]);
	ASSERT_EQ(0, unpack(self, bytes, sizeof(bytes), FLOWTAP_PACKED_LIMIT));
	EXPECT_EQ(FLOWTAP_PACKED_DAMAGES + 1, self->told.damages);
}

TEST_F(packed, a_full_disk_is_told)
{
	struct rlimit before, limit;

	getrlimit(RLIMIT_FSIZE, &before);
	limit = (struct rlimit){ 1 << 20, before.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &limit));
	ASSERT_EQ(0, ftruncate(self->out, 0));
	EXPECT_EQ(-EFBIG, flowtap_unpack(self->packed, self->out, FLOWTAP_PACKED_LIMIT, &self->told));
	setrlimit(RLIMIT_FSIZE, &before);
	EXPECT_EQ(-EBADF, flowtap_unpack(self->packed, -1, FLOWTAP_PACKED_LIMIT, &self->told));
	EXPECT_EQ(-EBADF, flowtap_pack(-1, self->out));
	EXPECT_EQ(-EBADF, flowtap_pack(self->archive, -1));
	EXPECT_EQ(-EBADF, flowtap_pack(self->archive, -1));
}

TEST_F(packed, what_is_no_archive_is_not_one_packed)
{
	static const uint8_t text[] = "some text that is no archive";
	uint8_t packed[128];
	size_t size = ZSTD_compress(packed, sizeof(packed), text, sizeof(text), 1);
	int fd = file_of(packed, size), ends[2];

	EXPECT_FALSE(flowtap_packed_is(fd));
	close(fd);
	fd = file_of("", 0);
	EXPECT_FALSE(flowtap_packed_is(fd));
	ASSERT_EQ(0, unpack(self, "", 0, 100));
	EXPECT_EQ(0, self->told.bytes + self->told.damages);
	close(fd);
	ASSERT_EQ(0, pipe(ends));
	EXPECT_FALSE(flowtap_packed_is(ends[0]));
	close(ends[0]);
	close(ends[1]);
}

TEST_HARNESS_MAIN
