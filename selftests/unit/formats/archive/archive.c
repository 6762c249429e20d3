// SPDX-License-Identifier: GPL-2.0-only
/* Shows that archives come back as written, and that damage loses the damaged block and no more. */
#include <errno.h>
#include <fcntl.h>
#include <flowtap/archive.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "formats/archive/reserve.h"
#include "support/kselftest_harness.h"

/* Stands in for the library's, and counts. */
static uint64_t checksummed;

#define flowtap_crc32c checksum_of
#include "base/crc32c.c"
#undef flowtap_crc32c

uint32_t flowtap_crc32c(uint32_t crc, const void *bytes, size_t size)
{
	checksummed += size;
	return checksum_of(crc, bytes, size);
}

/* Stands in for libc's: fails after so many calls; -1 never. */
static int reads = -1;

ssize_t read(int fd, void *bytes, size_t size)
{
	if (!reads) {
		errno = EIO;
		return -1;
	}
	reads -= reads > 0;
	return syscall(SYS_read, fd, bytes, size);
}

#define BLOCK_HEADER sizeof(struct flowtap_archive_block_header)
#define FIRST sizeof(struct flowtap_archive_header)

/* What the small archive holds: sizes with every remainder modulo 8. */
#define SMALL 9

struct small {
	uint32_t type;
	uint32_t cpu;
	uint64_t time;
	size_t size;
	uint8_t payload[64];
	size_t offset;		/* in the file */
	size_t end;		/* with padding */
};

static void describe(struct small blocks[SMALL])
{
	size_t offset = FIRST;

	for (unsigned int i = 0; i < SMALL; i++) {
		struct small *block = &blocks[i];

		*block = (struct small) {
			.type = 1 + i,
			.cpu = i * 3,
			.time = 0x123456789abULL * i,
			.size = i ? 4 * i + i : 0,
			.offset = offset,
		};
		for (size_t b = 0; b < block->size; b++)
			block->payload[b] = (uint8_t)(i * 31 + b);
		offset += BLOCK_HEADER + ((block->size + 7) & ~7UL);
		block->end = offset;
	}
}

static int new_file(void)
{
	return memfd_create("archive", MFD_CLOEXEC);
}

static size_t write_small(int fd, const struct small blocks[SMALL])
{
	struct flowtap_archive_writer *writer;
	size_t size;

	if (flowtap_archive_create(fd, &writer))
		return 0;
	for (unsigned int i = 0; i < SMALL; i++) {
		size_t first = blocks[i].size / 3;

		if (flowtap_archive_write(writer, blocks[i].type, blocks[i].cpu, blocks[i].time,
					  blocks[i].payload, first, blocks[i].payload + first,
					  blocks[i].size - first))
			return 0;
	}
	size = flowtap_archive_size(writer);
	if (flowtap_archive_flush(writer))
		return 0;
	flowtap_archive_writer_free(writer);
	return size;
}

static bool equal(const struct flowtap_archive_block *got, const struct small *want)
{
	return got->type == want->type && got->cpu == want->cpu && got->time == want->time &&
	       got->offset == want->offset && got->size == want->size &&
	       !memcmp(got->payload, want->payload, want->size);
}

/* What reading gave. got: a bit for each block that came whole and in order. */
struct reading {
	int opened;
	unsigned int got;
	bool wrong;		/* a block that was never written, or out of order */
	unsigned int damages;
	int last_damage;
	uint64_t damage_offset;
	uint64_t bad_bytes;
};

static struct reading read_small(int fd, const struct small blocks[SMALL])
{
	struct reading reading = { 0 };
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	unsigned int next = 0;
	int got;

	lseek(fd, 0, SEEK_SET);
	reading.opened = flowtap_archive_open(fd, &reader);
	if (reading.opened)
		return reading;
	while ((got = flowtap_archive_next(reader, &block))) {
		if (got > 0) {
			while (next < SMALL && !equal(&block, &blocks[next]))
				next++;
			if (next == SMALL)
				reading.wrong = true;
			else
				reading.got |= 1U << next++;
		} else {
			reading.damages++;
			reading.last_damage = got;
			reading.damage_offset = flowtap_archive_damage(reader)->offset;
			if (reading.damages > 100)
				break;
		}
	}
	flowtap_archive_error(reader, &reading.bad_bytes);
	flowtap_archive_reader_free(reader);
	return reading;
}

TEST(checksum_is_crc32c)
{
	uint8_t bytes[300];

	EXPECT_EQ(flowtap_crc32c(0, "123456789", 9), 0xe3069283);
	memset(bytes, 0, 32);
	EXPECT_EQ(flowtap_crc32c(0, bytes, 32), 0x8a9136aa);	/* RFC 3720 B.4 */
	memset(bytes, 0xff, 32);
	EXPECT_EQ(flowtap_crc32c(0, bytes, 32), 0x62a8ab43);
	for (int i = 0; i < 32; i++)
		bytes[i] = (uint8_t)i;
	EXPECT_EQ(flowtap_crc32c(0, bytes, 32), 0x46dd794e);
	EXPECT_EQ(flowtap_crc32c_table(0, bytes, 32), 0x46dd794e);
	EXPECT_EQ(flowtap_crc32c(flowtap_crc32c(0, bytes, 5), bytes + 5, 27), 0x46dd794e);
}

TEST(checksum_by_machine_is_that_by_table)
{
	uint8_t bytes[300];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i + 3 * i);
	for (size_t start = 0; start < 9; start++)
		for (size_t size = 0; size <= sizeof(bytes) - start; size++)
			ASSERT_EQ(flowtap_crc32c(7, bytes + start, size),
				  flowtap_crc32c_table(7, bytes + start, size));
}

TEST(blocks_come_back_as_written)
{
	struct small blocks[SMALL];
	struct reading reading;
	int fd = new_file();

	describe(blocks);
	ASSERT_EQ(write_small(fd, blocks), blocks[SMALL - 1].end);
	EXPECT_EQ(lseek(fd, 0, SEEK_END), blocks[SMALL - 1].end);
	reading = read_small(fd, blocks);
	EXPECT_EQ(reading.opened, 0);
	EXPECT_EQ(reading.got, (1U << SMALL) - 1);
	EXPECT_FALSE(reading.wrong);
	EXPECT_EQ(reading.damages, 0);
	EXPECT_EQ(reading.bad_bytes, 0);
}

TEST(truncated_at_every_byte)
{
	struct small blocks[SMALL];
	int fd = new_file();
	size_t size;

	describe(blocks);
	size = write_small(fd, blocks);
	while (size-- > 0) {
		struct reading reading;
		unsigned int whole = 0, n = 0;
		size_t good = FIRST;

		ASSERT_EQ(ftruncate(fd, (off_t)size), 0);
		reading = read_small(fd, blocks);
		if (size < FIRST) {
			ASSERT_EQ(reading.opened, -EBADMSG);
			continue;
		}
		/* A block without its padding is whole. */
		while (n < SMALL && size >= blocks[n].offset + BLOCK_HEADER + blocks[n].size) {
			whole |= 1U << n;
			good = blocks[n++].end;
		}
		ASSERT_EQ(reading.got, whole);
		ASSERT_FALSE(reading.wrong);
		ASSERT_EQ(reading.damages, size > good);
		if (size > good) {
			ASSERT_EQ(reading.last_damage, -ENODATA);
			ASSERT_EQ(reading.damage_offset, good);
			ASSERT_EQ(reading.bad_bytes, size - good);
		}
	}
}

/* Which block the byte is in, and whether it is one that the checksum covers. */
static unsigned int block_at(const struct small blocks[SMALL], size_t at, bool *covered)
{
	unsigned int i = 0;

	while (at >= blocks[i].end)
		i++;
	*covered = at < blocks[i].offset + BLOCK_HEADER + blocks[i].size;
	return i;
}

TEST(every_bit_flipped_loses_one_block_at_most)
{
	struct small blocks[SMALL];
	int fd = new_file();
	size_t size;

	describe(blocks);
	size = write_small(fd, blocks);
	for (size_t bit = 0; bit < size * 8; bit++) {
		size_t at = bit / 8;
		struct reading reading;
		bool covered;
		unsigned int i;
		uint8_t byte;

		ASSERT_EQ(pread(fd, &byte, 1, (off_t)at), 1);
		byte ^= 1U << bit % 8;
		ASSERT_EQ(pwrite(fd, &byte, 1, (off_t)at), 1);
		reading = read_small(fd, blocks);
		byte ^= 1U << bit % 8;
		ASSERT_EQ(pwrite(fd, &byte, 1, (off_t)at), 1);
		if (at < FIRST) {
			ASSERT_EQ(reading.opened, -EBADMSG);
			continue;
		}
		i = block_at(blocks, at, &covered);
		ASSERT_FALSE(reading.wrong);
		ASSERT_EQ(reading.damages, covered);
		ASSERT_EQ(reading.got, ((1U << SMALL) - 1) & ~(covered ? 1U << i : 0));
		if (covered) {
			ASSERT_EQ(reading.damage_offset, blocks[i].offset);
			ASSERT_EQ(reading.bad_bytes, blocks[i].end - blocks[i].offset);
		}
	}
}

TEST(blocks_after_garbage_are_found)
{
	struct small blocks[SMALL];
	static uint8_t garbage[3 << 20];
	uint8_t bytes[4096];
	struct reading reading;
	int fd = new_file(), other = new_file();
	size_t size, cut;

	describe(blocks);
	size = write_small(fd, blocks);
	ASSERT_LE(size, sizeof(bytes));
	ASSERT_EQ(pread(fd, bytes, size, 0), size);
	for (size_t i = sizeof(garbage) / 2; i < sizeof(garbage); i++)
		garbage[i] = (uint8_t)(i * 2654435761U >> 11);
	cut = blocks[4].offset + 8;
	ASSERT_EQ(write(other, bytes, cut), cut);
	ASSERT_EQ(write(other, garbage, sizeof(garbage)), sizeof(garbage));
	ASSERT_EQ(write(other, bytes + blocks[5].offset, size - blocks[5].offset),
		  size - blocks[5].offset);
	for (int i = SMALL - 1; i >= 5; i--)
		blocks[i].offset += cut + sizeof(garbage) - blocks[4].end;
	reading = read_small(other, blocks);
	EXPECT_EQ(reading.got, ((1U << SMALL) - 1) & ~(1U << 4));
	EXPECT_FALSE(reading.wrong);
	EXPECT_EQ(reading.damages, 1);
	EXPECT_EQ(reading.last_damage, -EBADMSG);
	EXPECT_EQ(reading.damage_offset, blocks[4].offset);
	EXPECT_EQ(reading.bad_bytes, 8 + sizeof(garbage));
}

/* A disk fails where something is wrong already: both are told, each where it is. */
TEST(damage_is_told_before_the_error_that_ends_the_search)
{
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	struct small blocks[SMALL];
	int fd = new_file();
	size_t size;

	describe(blocks);
	size = write_small(fd, blocks);
	ASSERT_EQ(0, ftruncate(fd, 1 << 20));
	ASSERT_EQ(0, lseek(fd, 0, SEEK_SET));
	ASSERT_EQ(0, flowtap_archive_open(fd, &reader));
	reads = 0;
	for (int i = 0; i < SMALL; i++)
		ASSERT_EQ(1, flowtap_archive_next(reader, &block));
	EXPECT_EQ(-EBADMSG, flowtap_archive_next(reader, &block));
	EXPECT_EQ(size, flowtap_archive_damage(reader)->offset);
	EXPECT_STREQ("no block begins here", flowtap_archive_damage(reader)->reason);
	EXPECT_LT(1U << 16, flowtap_archive_damage(reader)->bytes);
	/* Also if it could be read now: the search is not begun again and again. */
	reads = -1;
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(-EIO, flowtap_archive_next(reader, &block));
		EXPECT_STREQ("cannot read: Input/output error",
			     flowtap_archive_damage(reader)->reason);
		EXPECT_EQ(0, flowtap_archive_damage(reader)->bytes);
	}
	flowtap_archive_reader_free(reader);
	close(fd);
}

/* Each 8 bytes claim to begin a great block, so that each could ask for a checksum of it. */
TEST(search_for_blocks_takes_bounded_time)
{
	struct flowtap_archive_block_header claim = {
		.type = FLOWTAP_ARCHIVE_RING,
		.mark = FLOWTAP_ARCHIVE_MARK,
		.size = 4U << 20,
	};
	const size_t claims = (8U << 20) / sizeof(claim);
	struct flowtap_archive_writer *writer;
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	int fd = new_file(), got;

	ASSERT_EQ(flowtap_archive_create(fd, &writer), 0);
	ASSERT_EQ(flowtap_archive_flush(writer), 0);
	flowtap_archive_writer_free(writer);
	for (size_t i = 0; i < claims; i++)
		ASSERT_EQ(write(fd, &claim, sizeof(claim)), sizeof(claim));
	lseek(fd, 0, SEEK_SET);
	checksummed = 0;
	ASSERT_EQ(flowtap_archive_open(fd, &reader), 0);
	while ((got = flowtap_archive_next(reader, &block)))
		ASSERT_LT(got, 0);
	flowtap_archive_reader_free(reader);
	/* All claims together would be 700 GB. */
	EXPECT_LE(checksummed, 12 * claims * sizeof(claim));
}

/*
 * Great blocks that are bad, one after the other, then a small good one, and that often: the first of
 * them asks for a checksum where a block has to be, the others while it is searched.
 */
static void read_bad_between_good(struct __test_metadata *_metadata, unsigned int bad)
{
	const struct flowtap_archive_block_header claim = {
		.type = FLOWTAP_ARCHIVE_RING,
		.mark = FLOWTAP_ARCHIVE_MARK,
		.size = 4U << 20,
	};
	struct flowtap_archive_block_header good = {
		.type = 1000,
		.mark = FLOWTAP_ARCHIVE_MARK,
	};
	const uint64_t times = (8U << 20) / ((bad + 1) * sizeof(claim));
	struct flowtap_archive_writer *writer;
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	uint64_t found = 0;
	int fd = new_file(), got;

	good.crc = flowtap_crc32c(0, &good, sizeof(good));
	ASSERT_EQ(flowtap_archive_create(fd, &writer), 0);
	ASSERT_EQ(flowtap_archive_flush(writer), 0);
	flowtap_archive_writer_free(writer);
	for (uint64_t i = 0; i < times; i++) {
		for (unsigned int j = 0; j < bad; j++)
			ASSERT_EQ(write(fd, &claim, sizeof(claim)), sizeof(claim));
		ASSERT_EQ(write(fd, &good, sizeof(good)), sizeof(good));
	}
	lseek(fd, 0, SEEK_SET);
	checksummed = 0;
	ASSERT_EQ(flowtap_archive_open(fd, &reader), 0);
	/* Those that are read in vain show soon: all of them would be 700 GB. */
	while (checksummed < 1ULL << 30 && (got = flowtap_archive_next(reader, &block)))
		found += got > 0;
	flowtap_archive_reader_free(reader);
	close(fd);
	EXPECT_EQ(times, found);
	/* 64 MiB, and in proportion to the file. */
	EXPECT_LE(checksummed, (64U << 20) + 12 * times * (bad + 1) * sizeof(claim));
}

TEST(bad_blocks_between_good_ones_take_bounded_time)
{
	read_bad_between_good(_metadata, 1);
	read_bad_between_good(_metadata, 5);
}

TEST(other_files_are_refused)
{
	struct flowtap_archive_header header = { .version = FLOWTAP_ARCHIVE_VERSION + 1 };
	struct flowtap_archive_reader *reader;
	int fd = new_file();

	EXPECT_EQ(flowtap_archive_open(fd, &reader), -EBADMSG);
	ASSERT_EQ(write(fd, "\177ELF0123456789abcdef", 20), 20);
	lseek(fd, 0, SEEK_SET);
	EXPECT_EQ(flowtap_archive_open(fd, &reader), -EBADMSG);
	memcpy(header.magic, FLOWTAP_ARCHIVE_MAGIC, 8);
	header.crc = flowtap_crc32c(0, &header, 12);
	ASSERT_EQ(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	lseek(fd, 0, SEEK_SET);
	EXPECT_EQ(flowtap_archive_open(fd, &reader), -EPROTONOSUPPORT);
	EXPECT_EQ(flowtap_archive_open(-1, &reader), -EBADF);
}

struct pipe_writer {
	int fd;
	const uint8_t *payload;
};

static void *write_pipe(void *argument)
{
	struct pipe_writer *job = argument;
	struct flowtap_archive_writer *writer;
	int err;

	err = flowtap_archive_create(job->fd, &writer);
	if (err)
		return NULL;
	for (uint32_t i = 0; !err && i < 40; i++)
		err = flowtap_archive_write(writer, FLOWTAP_ARCHIVE_RING, i, i, job->payload,
					    i * 100003, job->payload, i);
	if (!err)
		err = flowtap_archive_write(writer, FLOWTAP_ARCHIVE_BYTES, 0, 0, job->payload,
					    FLOWTAP_ARCHIVE_BLOCK_MAX, NULL, 0);
	if (!err)
		err = flowtap_archive_flush(writer);
	flowtap_archive_writer_free(writer);
	close(job->fd);
	return err ? NULL : job;
}

TEST(great_blocks_through_a_pipe)
{
	uint8_t *payload = malloc(FLOWTAP_ARCHIVE_BLOCK_MAX);
	struct pipe_writer job = { .payload = payload };
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	pthread_t thread;
	void *done;
	int ends[2];

	ASSERT_NE(payload, NULL);
	for (size_t i = 0; i < FLOWTAP_ARCHIVE_BLOCK_MAX; i++)
		payload[i] = (uint8_t)(i * i >> 7);
	ASSERT_EQ(pipe(ends), 0);
	job.fd = ends[1];
	ASSERT_EQ(pthread_create(&thread, NULL, write_pipe, &job), 0);
	ASSERT_EQ(flowtap_archive_open(ends[0], &reader), 0);
	for (uint32_t i = 0; i < 40; i++) {
		ASSERT_EQ(flowtap_archive_next(reader, &block), 1);
		ASSERT_EQ(block.cpu, i);
		ASSERT_EQ(block.size, i * 100003 + i);
		ASSERT_EQ((uintptr_t)block.payload % 8, 0);
		ASSERT_EQ(memcmp(block.payload, payload, i * 100003), 0);
		ASSERT_EQ(memcmp((const uint8_t *)block.payload + i * 100003, payload, i), 0);
	}
	ASSERT_EQ(flowtap_archive_next(reader, &block), 1);
	ASSERT_EQ(block.size, FLOWTAP_ARCHIVE_BLOCK_MAX);
	ASSERT_EQ(memcmp(block.payload, payload, block.size), 0);
	ASSERT_EQ(flowtap_archive_next(reader, &block), 0);
	ASSERT_EQ(pthread_join(thread, &done), 0);
	EXPECT_EQ(done, &job);
	flowtap_archive_reader_free(reader);
	free(payload);
}

TEST(what_does_not_fit_is_refused)
{
	struct flowtap_archive_writer *writer;
	uint8_t *payload = malloc(FLOWTAP_ARCHIVE_BLOCK_MAX);
	int fd = new_file();

	ASSERT_NE(payload, NULL);
	ASSERT_EQ(flowtap_archive_create(fd, &writer), 0);
	EXPECT_EQ(flowtap_archive_write(writer, 1, 0, 0, payload, FLOWTAP_ARCHIVE_BLOCK_MAX,
					payload, 1), -EMSGSIZE);
	EXPECT_EQ(flowtap_archive_write(writer, 1, 0, 0, payload, SIZE_MAX, payload, 2), -EMSGSIZE);
	EXPECT_EQ(flowtap_archive_write(writer, 0x10000, 0, 0, payload, 1, NULL, 0), -EINVAL);
	EXPECT_EQ(flowtap_archive_size(writer), FIRST);
	flowtap_archive_writer_free(writer);
	free(payload);
}

static off_t size_of(int fd)
{
	struct stat status;

	return fstat(fd, &status) ? -1 : status.st_size;
}

TEST(full_disk_is_told_and_stays)
{
	struct flowtap_archive_writer *writer;
	static uint8_t payload[1 << 20];
	int fd = open("/dev/full", O_WRONLY);

	if (fd < 0)
		SKIP(return, "no /dev/full here");
	errno = 1234;
	ASSERT_EQ(flowtap_archive_create(fd, &writer), 0);
	EXPECT_EQ(flowtap_archive_write(writer, 1, 0, 0, payload, sizeof(payload), NULL, 0),
		  -ENOSPC);
	EXPECT_EQ(flowtap_archive_write(writer, 1, 0, 0, payload, 8, NULL, 0), -ENOSPC);
	EXPECT_EQ(flowtap_archive_flush(writer), -ENOSPC);
	EXPECT_EQ(errno, 1234);
	flowtap_archive_writer_free(writer);
}

TEST(of_what_finds_no_room_whole_blocks_stay)
{
	struct rlimit limit, less = { 0 };
	struct flowtap_archive_writer *writer;
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	static uint8_t payload[1000];
	int fd = new_file();

	ASSERT_EQ(flowtap_archive_create(fd, &writer), 0);
	ASSERT_EQ(flowtap_archive_write(writer, 1, 0, 0, payload, sizeof(payload), NULL, 0), 0);
	ASSERT_EQ(flowtap_archive_flush(writer), 0);
	EXPECT_EQ(size_of(fd), FIRST + 24 + 1000);
	for (int i = 0; i < 4; i++)
		ASSERT_EQ(flowtap_archive_write(writer, 1, 0, 0, payload, sizeof(payload), NULL, 0),
			  0);
	/* Room for two blocks and a half. */
	ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
	less.rlim_max = limit.rlim_max;
	less.rlim_cur = FIRST + 1024 + 2500;
	signal(SIGXFSZ, SIG_IGN);
	ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &less), 0);
	EXPECT_EQ(flowtap_archive_flush(writer), -EFBIG);
	ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	EXPECT_EQ(size_of(fd), FIRST + 3 * 1024);
	EXPECT_EQ(flowtap_archive_written(writer), FIRST + 3 * 1024);
	flowtap_archive_writer_free(writer);
	lseek(fd, 0, SEEK_SET);
	ASSERT_EQ(flowtap_archive_open(fd, &reader), 0);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(flowtap_archive_next(reader, &block), 1);
		EXPECT_EQ(block.size, sizeof(payload));
	}
	EXPECT_EQ(flowtap_archive_next(reader, &block), 0);
	flowtap_archive_reader_free(reader);
}

TEST(a_first_flush_that_finds_no_room)
{
	struct flowtap_archive_writer *writer;
	struct rlimit limit, less;
	int fd;

	signal(SIGXFSZ, SIG_IGN);
	ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
	/*
	 * Within the archive's header; after it; within the block's; within its payload; all of it.
	 */
	for (rlim_t capacity = 1; capacity <= FIRST + 48; capacity++) {
		fd = new_file();
		less = (struct rlimit){ capacity, limit.rlim_max };
		ASSERT_EQ(flowtap_archive_create(fd, &writer), 0);
		ASSERT_EQ(flowtap_archive_write(writer, 1, 0, 0, "12345678901234567890", 20, NULL, 0), 0);
		ASSERT_EQ(flowtap_archive_write(writer, 1, 0, 0, "1", 1, NULL, 0), 0);
		ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &less), 0);
		EXPECT_EQ(flowtap_archive_flush(writer), -EFBIG);
		ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
		EXPECT_EQ(size_of(fd), capacity < FIRST	       ? 0
				       : capacity < FIRST + 48 ? FIRST
							       : FIRST + 48);
		flowtap_archive_writer_free(writer);
		close(fd);
	}
}

/* Until it is killed; but no more than memory has room for, should that take long. */
static void write_for_ever(int fd)
{
	struct flowtap_archive_writer *writer;
	uint64_t payload[500];

	if (flowtap_archive_create(fd, &writer))
		_exit(1);
	for (uint64_t i = 0; ; i++) {
		for (size_t w = 0; w < 500; w++)
			payload[w] = i;
		if (flowtap_archive_write(writer, FLOWTAP_ARCHIVE_RING, 1, i, payload,
					  8 * (i % 501), NULL, 0))
			_exit(1);
	}
}

/* In the middle of a write. */
TEST(killed_writer_leaves_a_readable_archive)
{
	for (int round = 0; round < 5; round++) {
		struct rlimit limit = { 5000000 + 100003 * round, RLIM_INFINITY }, none = { 0, 0 };
		struct flowtap_archive_reader *reader;
		struct flowtap_archive_block block;
		int fd = new_file(), got, status;
		uint64_t next = 0;
		pid_t pid = fork();

		if (pid == 0) {
			signal(SIGXFSZ, SIG_DFL);
			setrlimit(RLIMIT_CORE, &none);
			/*
			 * What goes beyond it is cut off there; the next write kills with SIGXFSZ.
			 */
			setrlimit(RLIMIT_FSIZE, &limit);
			write_for_ever(fd);
		}
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		ASSERT_TRUE(WIFSIGNALED(status));
		ASSERT_EQ(size_of(fd), (off_t)limit.rlim_cur);
		lseek(fd, 0, SEEK_SET);
		got = flowtap_archive_open(fd, &reader);
		ASSERT_EQ(got, 0);
		while ((got = flowtap_archive_next(reader, &block)) > 0) {
			ASSERT_EQ(block.time, next);
			ASSERT_EQ(block.size, 8 * (next % 501));
			next++;
		}
		EXPECT_GT(next, 2000);
		EXPECT_TRUE(got == 0 || got == -ENODATA);
		flowtap_archive_reader_free(reader);
		close(fd);
	}
}

TEST_HARNESS_MAIN
