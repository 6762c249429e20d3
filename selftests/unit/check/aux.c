// SPDX-License-Identifier: GPL-2.0-only
/* Shows that the check of archives finds what AUX records and AUX blocks contradict. */
#include <flowtap/archive.h>
#include <flowtap/check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

/* An archive of one CPU: two blocks of bytes, and three records of them. */
struct made {
	struct flowtap_configure configure;
	uint64_t offset[2];
	uint64_t size[2];
	struct flowtap_record_aux record[3];
	struct flowtap_stats stats;
	uint64_t flip;			/* a bit of the file, 0 none */
	bool restart;			/* a second stream before the second block */
};

#define AUX(number, since_, time_, offset_, size_)				\
	{									\
		.header = { FLOWTAP_RECORD_AUX, 0, 80 },			\
		.since = since_, .time = time_, .offset = offset_, .size = size_, \
		.pid = 7, .tid = 7, .sequence = number,				\
	}

static const struct made whole = {
	.offset = { 0, 164 },
	.size = { 100, 50 },
	.record = { AUX(1, 5, 10, 0, 60), AUX(2, 10, 11, 60, 40), AUX(3, 12, 13, 164, 50) },
	.stats = { .samples = 3, .records = 3, .bytes = 240, .aux_bytes = 150 },
};

static void make_archive(int fd, const struct made *made)
{
	struct flowtap_archive_writer *writer;
	uint8_t bytes[256] = { 0x70 };

	if (flowtap_archive_create(fd, &writer))
		abort();
	flowtap_archive_write(writer, FLOWTAP_ARCHIVE_CONFIGURE, 0, 0, &made->configure,
			      sizeof(made->configure), NULL, 0);
	for (int i = 0; i < 2; i++) {
		if (i && made->restart)
			flowtap_archive_write(writer, FLOWTAP_ARCHIVE_CONFIGURE, 0, 0,
					      &made->configure, sizeof(made->configure), NULL, 0);
		flowtap_archive_write(writer, FLOWTAP_ARCHIVE_AUX, 0, 0, &made->offset[i], 8, bytes,
				      made->size[i]);
		flowtap_archive_write(writer, FLOWTAP_ARCHIVE_RING, 0, 0, &made->record[2 * i],
				      (i ? 1 : 2) * sizeof(made->record[0]), NULL, 0);
	}
	flowtap_archive_write(writer, FLOWTAP_ARCHIVE_STATS, 0, 0, &made->stats,
			      sizeof(made->stats), NULL, 0);
	flowtap_archive_write(writer, FLOWTAP_ARCHIVE_END, 0, 0, NULL, 0, NULL, 0);
	flowtap_archive_flush(writer);
	flowtap_archive_writer_free(writer);
	if (made->flip) {
		if (pread(fd, bytes, 1, (off_t)made->flip) != 1)
			abort();
		bytes[0] ^= 1;
		if (pwrite(fd, bytes, 1, (off_t)made->flip) != 1)
			abort();
	}
}

static char first[200];

static void keep_first(struct flowtap_check *check, const struct flowtap_check_problem *problem)
{
	if (check->problems == 1)
		snprintf(first, sizeof(first), "%s", problem->reason);
}

static struct flowtap_check check_made(const struct made *made)
{
	struct flowtap_check check = { .problem = keep_first };
	int fd = memfd_create("checked", MFD_CLOEXEC);

	first[0] = 0;
	make_archive(fd, made);
	if (flowtap_check_file(&check, fd))
		abort();
	close(fd);
	return check;
}

/* One field is another than it should be: the first problem then, NULL none. */
#define LIE(field, wrong, why)							\
	{ offsetof(struct made, field), sizeof(((struct made *)0)->field), wrong, why }

static const struct {
	size_t at;
	size_t size;
	uint64_t value;
	const char *reason;
} lies[] = {
	LIE(record[1].offset, 61, "an AUX record of 40 bytes, before which there are 39 of them"),
	LIE(record[1].offset, 59, "an AUX record of bytes from 59 on, after one of bytes up to 60"),
	LIE(record[0].size, 61, "an AUX record of bytes from 60 on, after one of bytes up to 61"),
	LIE(record[0].size, 0, "an AUX record of 0 bytes"),
	LIE(record[0].size, -1ULL, "an AUX record of 18446744073709551615 bytes, before which "
				   "there are 100 of them"),
	LIE(record[2].size, 1ULL << 63, "an AUX record of 9223372036854775808 bytes, before which "
					"there are 50 of them"),
	LIE(record[2].size, -100ULL, "an AUX record of 18446744073709551516 bytes"),
	LIE(record[2].offset, 163, "an AUX record of 50 bytes, before which there are 0 of them"),
	LIE(record[2].since, 14, "an AUX record that ended before it began"),
	LIE(record[2].cpu, 1, "an AUX record of CPU 1 in the ring of CPU 0"),
	LIE(record[2].loss, 1U << 30, "causes 0x40000000 of a loss are unknown"),
	LIE(record[2].loss, 2, "thread 7: sequence 3 follows the one before, but there is a loss"),
	LIE(record[2].sequence, 5, "thread 7: sequence 5 after 2, and nothing is said to be lost"),
	LIE(record[2].header.size, 72, "a record of type 6 with 72 bytes, it needs 80"),
	LIE(offset[1], 99, "AUX bytes from 99 on, after bytes up to 100"),
	LIE(offset[1], 165, "an AUX record of 50 bytes, before which there are 0 of them"),
	LIE(offset[1], -10ULL, "AUX bytes beyond all counting"),
	LIE(size[0], 99, "an AUX record of 40 bytes, before which there are 39 of them"),
	LIE(stats.aux_bytes, 151, "CPU 0: 151 aux_bytes were counted, 150 are there"),
	LIE(stats.samples, 2, "CPU 0: 2 samples were counted, 3 are there"),
	/* The bytes of a flight recorder's old records may have given way. */
	LIE(configure.flags, FLOWTAP_OVERWRITE, NULL),
	/* Of a damaged archive only the damage is told. */
	LIE(flip, 16 + 24 + sizeof(struct flowtap_configure) + 24 + 8 + 20,
	    "the checksum of a block of type 5"),
	LIE(restart, true, NULL),
};

TEST(says_what_is_wrong_with_aux_records_and_blocks)
{
	struct flowtap_check check = check_made(&whole);

	EXPECT_EQ(0, check.problems) TH_LOG("%s", first);
	EXPECT_EQ(3, check.aux_records);
	EXPECT_EQ(150, check.aux_bytes);
	EXPECT_EQ(3, check.records);
	EXPECT_EQ(0, check.samples);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		const char *reason = lies[i].reason;
		struct made made = whole;

		memcpy((uint8_t *)&made + lies[i].at, &lies[i].value, lies[i].size);
		check = check_made(&made);
		EXPECT_EQ(!reason, !check.problems) TH_LOG("%zu: %s", i, first);
		EXPECT_EQ(0, strncmp(reason ? reason : "", first, reason ? strlen(reason) : 0))
			TH_LOG("%zu: %s", i, first);
		if (made.flip)
			EXPECT_EQ(1, check.problems);
	}
}

/* One that goes back is told, and names nothing anew: the next one goes back as well. */
TEST(what_was_named_stays_named_after_a_record_that_goes_back)
{
	struct made made = whole;

	made.record[1].offset = 10;
	made.record[1].size = 20;
	made.record[2].offset = 40;
	made.record[2].size = 10;
	made.stats.aux_bytes = 90;
	EXPECT_EQ(2, check_made(&made).problems) TH_LOG("%s", first);
	/* Nor does one that claims more than there is take it from those after it. */
	made = whole;
	made.record[0].size = -1ULL;
	made.stats.aux_bytes = 40 + 50 - 1ULL;
	EXPECT_EQ(2, check_made(&made).problems) TH_LOG("%s", first);
}

TEST(of_a_flight_recorder_bytes_may_be_missing)
{
	struct made made = whole;

	made.configure.flags = FLOWTAP_OVERWRITE;
	made.offset[0] = 30;
	made.size[0] = 70;
	EXPECT_EQ(0, check_made(&made).problems) TH_LOG("%s", first);
}

TEST(a_second_stream_counts_from_0)
{
	struct made made = whole;

	made.restart = true;
	made.offset[1] = made.record[2].offset = 0;
	EXPECT_EQ(0, check_made(&made).problems) TH_LOG("%s", first);
	/* The other stream's bytes are not its. */
	made.record[2].offset = 10;
	EXPECT_EQ(1, check_made(&made).problems) TH_LOG("%s", first);
	made.restart = false;
	made.record[2].offset = 0;
	EXPECT_EQ(2, check_made(&made).problems) TH_LOG("%s", first);
}

TEST_HARNESS_MAIN
