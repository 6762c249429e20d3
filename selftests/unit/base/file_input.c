// SPDX-License-Identifier: GPL-2.0-only
/* Shows that the bytes of a file come as they are, and those of a gzip file as they were. */
#include "base/file_input.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "support/kselftest_harness.h"

/* Stands in for libc's, and counts. */
static uint64_t moved;

static void *count_memmove(void *to, const void *from, size_t size)
{
	moved += size;
	return memmove(to, from, size);
}

#define memmove count_memmove
#include "base/file_input.c"
#undef memmove

#define CAPACITY (4U << 20)

FIXTURE(in)
{
	uint8_t *plain, *packed, *got;
	size_t n_plain, n_packed;
};

FIXTURE_SETUP(in)
{
	uint32_t state = 1;

	self->plain = malloc(CAPACITY);
	self->packed = malloc(CAPACITY);
	self->got = malloc(CAPACITY);
	ASSERT_TRUE(self->plain && self->packed && self->got);
	for (size_t i = 0; i < CAPACITY; i++) {
		state = state * 1664525 + 1013904223;
		self->plain[i] = 'a' + (state >> 28);
	}
}

FIXTURE_TEARDOWN(in)
{
	free(self->plain);
	free(self->packed);
	free(self->got);
}

/* A gzip member more. */
static size_t pack(uint8_t *to, size_t capacity, const uint8_t *from, size_t size)
{
	z_stream stream = { .next_in = (uint8_t *)from, .avail_in = size, .next_out = to,
			    .avail_out = capacity };

	deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
	deflate(&stream, Z_FINISH);
	deflateEnd(&stream);
	return stream.next_out - to;
}

static int file_of(const void *bytes, size_t size)
{
	FILE *file = tmpfile();
	int fd = file ? dup(fileno(file)) : -1;

	if (file)
		fclose(file);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static const char *reason;	/* of the last read_all that failed, and where */
static uint64_t reason_offset;

/* Reads all, `step` bytes at a time. The first status that is not a number of bytes. */
static ssize_t read_all(FIXTURE_DATA(in) *self, int fd, size_t step, size_t *size)
{
	struct flowtap_file_input *in;
	ssize_t n = flowtap_file_input_new(fd, &in);

	*size = 0;
	if (n)
		return n;
	while (*size < CAPACITY) {
		size_t capacity = CAPACITY - *size < step ? CAPACITY - *size : step;

		n = flowtap_file_input_read(in, self->got + *size, capacity);
		if (n <= 0)
			break;
		*size += n;
	}
	if (n == -EBADMSG || n == -ENODATA)
		reason = flowtap_file_input_problem(in, &reason_offset);
	flowtap_file_input_free(in);
	return n;
}

static void expect(struct __test_metadata *_metadata, FIXTURE_DATA(in) *self, const uint8_t *bytes,
		   size_t size, ssize_t status, size_t want)
{
	static const size_t steps[] = { 7, 4096, CAPACITY };

	for (size_t i = 0; i < 3; i++) {
		int fd = file_of(bytes, size);
		size_t got;

		if (size > 100000 && i == 0) {
			close(fd);
			continue;
		}
		EXPECT_EQ(status, read_all(self, fd, steps[i], &got));
		EXPECT_EQ(want, got);
		EXPECT_EQ(0, memcmp(self->got, self->plain, got));
		close(fd);
	}
}

TEST_F(in, a_plain_file_is_as_it_is)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 4096, 262144, 262145, 1000000 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		expect(_metadata, self, self->plain, sizes[i], 0, sizes[i]);
	/* One that only begins like gzip's. */
	self->plain[0] = 0x1f;
	self->plain[1] = 0x8b;
	expect(_metadata, self, self->plain, 2, 0, 2);
	expect(_metadata, self, self->plain, 2000, 0, 2000);
}

TEST_F(in, gzip_members_are_unpacked_one_after_the_other)
{
	static const size_t sizes[] = { 0, 1, 1000, 300000, 2000000 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t n = pack(self->packed, CAPACITY, self->plain, sizes[i]);

		expect(_metadata, self, self->packed, n, 0, sizes[i]);
	}
	self->n_packed = pack(self->packed, CAPACITY, self->plain, 5000);
	self->n_packed += pack(self->packed + self->n_packed, CAPACITY - self->n_packed,
			       self->plain + 5000, 0);
	self->n_packed += pack(self->packed + self->n_packed, CAPACITY - self->n_packed,
			       self->plain + 5000, 700000);
	expect(_metadata, self, self->packed, self->n_packed, 0, 705000);
	/* What is after the last member and is none, gzip leaves out. */
	memset(self->packed + self->n_packed, 0, 1000);
	expect(_metadata, self, self->packed, self->n_packed + 1000, 0, 705000);
	memset(self->packed + self->n_packed, 0, 600000);
	expect(_metadata, self, self->packed, self->n_packed + 600000, 0, 705000);
	/* Anything else there is damage: a begin of a member, too. */
	self->packed[self->n_packed + 599999] = 1;
	expect(_metadata, self, self->packed, self->n_packed + 600000, -EBADMSG, 705000);
	EXPECT_EQ(self->n_packed + 599999, reason_offset);
	self->packed[self->n_packed] = 0x1f;
	for (size_t size = 1; size < 3; size++) {
		expect(_metadata, self, self->packed, self->n_packed + size, -EBADMSG, 705000);
		EXPECT_EQ(self->n_packed, reason_offset);
		self->packed[self->n_packed + size] = 0x8b;
	}
}

TEST_F(in, damage_and_a_cut_are_told_after_what_was_right)
{
	size_t n = pack(self->packed, CAPACITY, self->plain, 200000), got;
	int fd;

	for (size_t cut = 4; cut < n; cut += n / 50) {
		fd = file_of(self->packed, cut);
		EXPECT_EQ(-ENODATA, read_all(self, fd, 4096, &got));
		EXPECT_STREQ("the file ends within its gzip stream", reason);
		EXPECT_EQ(cut, reason_offset);
		EXPECT_LE(got, 200000);
		EXPECT_EQ(0, memcmp(self->got, self->plain, got));
		close(fd);
	}
	/* The checksum at the end. */
	self->packed[n - 6] ^= 1;
	fd = file_of(self->packed, n);
	EXPECT_EQ(-EBADMSG, read_all(self, fd, 4096, &got));
	EXPECT_STREQ("incorrect data check", reason);
	EXPECT_EQ(200000, got);
	close(fd);
}

TEST_F(in, what_it_begins_with_is_there_before_it_is_read)
{
	size_t n = pack(self->packed, CAPACITY, self->plain, 5000);
	const uint8_t *first;
	struct flowtap_file_input *in;

	for (int packed = 0; packed < 2; packed++) {
		const uint8_t *bytes = packed ? self->packed : self->plain;
		int fd = file_of(bytes, packed ? n : 5000);

		ASSERT_EQ(0, flowtap_file_input_new(fd, &in));
		EXPECT_LE(FLOWTAP_IN_FIRST, flowtap_file_input_first(in, &first));
		EXPECT_EQ(0, memcmp(first, bytes, FLOWTAP_IN_FIRST));
		EXPECT_EQ(packed, flowtap_file_input_packed(in));
		EXPECT_EQ(packed ? n : 5000, flowtap_file_input_size(in));
		EXPECT_EQ(100, flowtap_file_input_read(in, self->got, 100));
		EXPECT_EQ(0, memcmp(self->got, self->plain, 100));
		flowtap_file_input_free(in);
		close(fd);
	}
}

TEST_F(in, a_pipe_is_read_as_it_comes)
{
	size_t n = pack(self->packed, CAPACITY, self->plain, 30000), got;
	int fds[2];

	ASSERT_LT(n, 60000);
	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ((ssize_t)n, write(fds[1], self->packed, n));
	close(fds[1]);
	EXPECT_EQ(0, read_all(self, fds[0], 100, &got));
	EXPECT_EQ(30000, got);
	EXPECT_EQ(0, memcmp(self->got, self->plain, got));
	close(fds[0]);
	EXPECT_EQ(-EBADF, read_all(self, fds[0], 100, &got));
}

/* Whoever is malicious packs each byte alone: what is read is moved once, not for each of them. */
TEST_F(in, tiny_members_take_bounded_work)
{
	uint8_t member[64];
	size_t size = 0, n, got;
	int fd;

	for (n = 0; n < 40000; n++) {
		size_t packed = pack(member, sizeof(member), self->plain + n, 1);

		memcpy(self->packed + size, member, packed);
		size += packed;
	}
	fd = file_of(self->packed, size);
	moved = 0;
	EXPECT_EQ(0, read_all(self, fd, CAPACITY, &got));
	EXPECT_EQ(n, got);
	EXPECT_LT(moved, size);
	close(fd);
}

TEST_HARNESS_MAIN
