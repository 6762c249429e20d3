// SPDX-License-Identifier: GPL-2.0-only
/* Shows that the check of files finds what is wrong with what an archive says of itself. */
#include <flowtap/archive.h>
#include <flowtap/check.h>

#include "base/cpus.h"
#include "checked.h"
#include "support/sink.h"

#include <errno.h>

#include "support/kselftest_harness.h"

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
	LIE(ring.lost.total_bytes, 299, "300 bytes lost after 0 make 300, it says 299"),
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

/* Each of their blocks is well made: whoever writes a number for each takes no memory with it. */
TEST(of_more_cpus_than_there_can_be_nothing_is_kept)
{
	static const struct flowtap_stats stats = { .samples = 1 };
	struct output output = output_new();
	struct flowtap_check check;

	if (flowtap_archive_create(output.fd, &writer))
		abort();
	for (uint32_t cpu = 0; cpu < FLOWTAP_CPUS_MAX + 1000; cpu++)
		ASSERT_EQ(0, flowtap_archive_write(writer, FLOWTAP_ARCHIVE_STATS, cpu * 1000003, 1,
						   &stats, sizeof(stats), NULL, 0));
	put(FLOWTAP_ARCHIVE_END, NULL, 0);
	ASSERT_EQ(0, flowtap_archive_flush(writer));
	flowtap_archive_writer_free(writer);
	ASSERT_EQ(0, check_fd(&check, output.fd));
	EXPECT_STREQ("blocks of more CPUs than there can be", first.reason);
	/* And one sample that is missing of each CPU that is kept. */
	EXPECT_EQ(1 + FLOWTAP_CPUS_MAX, check.problems);
	output_free(&output);
}

TEST_HARNESS_MAIN
