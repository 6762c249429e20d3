// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as a file into the check: of archives, STF and .zstf. It reads to the end of any of
 * them within its bounds, and each problem has an offset within the file and a reason.
 */
#include <flowtap/archive.h>
#include <flowtap/check.h>
#include <flowtap/zstf.h>

#include "stfcheck/sample.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

static uint64_t problems;

static void look(struct flowtap_check *check, const struct flowtap_check_problem *problem)
{
	if (!problem->reason[0] || (!problem->unpacked && problem->offset > check->size))
		abort();
	if (++problems != check->problems)
		abort();
}

static void check_fd(int fd)
{
	struct flowtap_check check = { .problem = look };

	problems = 0;
	flowtap_check_file(&check, fd);
	if (problems != check.problems)
		abort();
}

/* The same bytes as a block of each type, under a checksum that is right. */
static void make_archive(int fd, const uint8_t *data, size_t size)
{
	struct flowtap_archive_writer *writer;

	if (flowtap_archive_create(fd, &writer))
		abort();
	for (uint32_t type = 1; type < 17; type++)
		flowtap_archive_write(writer, type, 0, 0, data, size & ~7ULL, NULL, 0);
	flowtap_archive_write(writer, FLOWTAP_ARCHIVE_END, 0, 0, NULL, 0, NULL, 0);
	flowtap_archive_flush(writer);
	flowtap_archive_writer_free(writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	check_fd(fd);
	if (size > 4096 || ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET))
		return 0;
	make_archive(fd, data, size);
	check_fd(fd);
	return 0;
}

static size_t seed_archive(uint8_t *buffer, size_t capacity)
{
	struct {
		struct flowtap_record_sample head;
		struct flowtap_entry entries[2];
	} sample = { { { FLOWTAP_RECORD_SAMPLE, 0, sizeof(sample) }, 1, 1, .pid = 7, .tid = 7,
		       .loss = 1, .depth = 16, .nr = 2 }, { { 1, 2, 5 }, { 3, 4, 5 } } };
	const struct flowtap_record_lost lost = { { FLOWTAP_RECORD_LOST, 0, sizeof(lost) }, 2, 1,
						  3, 300, 3, 300 };
	struct flowtap_archive_kernel kernel = { .start = 1ULL << 63, .size = 64, .part_size = 64,
						 .stored_size = 64, .name_size = 6 };
	static const char named[8 + 64] = "kernel";
	struct flowtap_archive_writer *writer;
	int fd = memfd_create("seed", MFD_CLOEXEC);
	ssize_t size;

	if (fd < 0 || flowtap_archive_create(fd, &writer))
		return 0;
	flowtap_archive_write(writer, FLOWTAP_ARCHIVE_INFO, 0, 0, "host=me\n", 8, NULL, 0);
	flowtap_archive_write(writer, FLOWTAP_ARCHIVE_KERNEL, 0, 0, &kernel, sizeof(kernel), named,
			      sizeof(named));
	for (int i = 0; i < 3; i++, sample.head.time++, sample.head.sequence++)
		flowtap_archive_write(writer, FLOWTAP_ARCHIVE_RING, (uint32_t)i % 2, 0, &sample,
				      sizeof(sample), &lost, sizeof(lost));
	flowtap_archive_write(writer, FLOWTAP_ARCHIVE_END, 0, 0, NULL, 0, NULL, 0);
	flowtap_archive_flush(writer);
	flowtap_archive_writer_free(writer);
	size = pread(fd, buffer, capacity, 0);
	close(fd);
	return size < 0 ? 0 : (size_t)size;
}

/* What stands in a RING block. */
static size_t seed_ring(uint8_t *buffer)
{
	const struct flowtap_record_gap gap = {
		.header = { FLOWTAP_RECORD_GAP, 0, sizeof(gap) },
		.time = 2,
		.since = 1,
	};
	const struct flowtap_record_sample sample = { { FLOWTAP_RECORD_SAMPLE, 0, sizeof(sample) },
						      1, 1, .tid = 7, .depth = 16 };

	memcpy(buffer, &sample, sizeof(sample));
	memcpy(buffer + sizeof(sample), &gap, sizeof(gap));
	memcpy(buffer + sizeof(sample) + sizeof(gap), &sample, sizeof(sample));
	return 2 * sizeof(sample) + sizeof(gap);
}

/* sample_user in two chunks of one half each. */
static size_t seed_zstf(uint8_t *buffer, size_t capacity)
{
	size_t half = sizeof(sample_user) / 2, first, second, index;

	first = ZSTD_compress(buffer + 20, capacity - 20, sample_user, half, 1);
	second = ZSTD_compress(buffer + 20 + first, capacity - 20 - first, sample_user + half,
			       sizeof(sample_user) - half, 1);
	index = 20 + first + second;
	memcpy(buffer, "ZSTF", 4);
	memcpy(buffer + 4, (uint64_t[]){ 4, index }, 16);
	memcpy(buffer + index, (uint64_t[]){ 2, 20, 0, half, 20 + first, 0x10008,
					     sizeof(sample_user) - half }, 56);
	return index + 56;
}

size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	static const struct {
		const uint8_t *bytes;
		size_t size;
	} traces[] = {
		{ sample_all, sizeof(sample_all) },
		{ sample_arm, sizeof(sample_arm) },
		{ sample_user, sizeof(sample_user) },
	};

	if (n < 3) {
		memcpy(buffer, traces[n].bytes, traces[n].size);
		return traces[n].size;
	}
	if (n == 3)
		return seed_archive(buffer, capacity);
	if (n == 4)
		return seed_zstf(buffer, capacity);
	return n == 5 ? seed_ring(buffer) : 0;
}
