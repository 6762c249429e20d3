// SPDX-License-Identifier: GPL-2.0-only
/* Shows whose records of perf's become blocks of an archive. */
#include "capture/perf_records.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

static unsigned int mapped;

static int count_mapping(void *argument, const struct flowtap_mapping *mapping)
{
	(void)argument;
	(void)mapping;
	mapped++;
	return 0;
}

/* As perf writes them, with a sample_id. */
union record {
	struct perf_event_header header;
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t start, size, file_offset;
		uint8_t id_size, reserved[3], id[20];
		uint32_t protection, flags;
		char path[8];
		uint64_t sample_id[3];
	} mmap2;
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		char name[8];
		uint64_t sample_id[3];
	} comm;
	struct {
		struct perf_event_header header;
		uint32_t pid, parent_pid, tid, parent_tid;
		uint64_t time;
		uint64_t sample_id[3];
	} task;
};

/* A mapping, an exec, a fork and an end of this process: blocks they become in an archive. */
static unsigned int blocks_of(uint32_t pid, uint32_t parent)
{
	const union record records[] = {
		{ .mmap2 = { { PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID,
			       sizeof(records[0].mmap2) }, pid, pid, 0x1000, 0x1000, 0, 20, { 0 },
			     { 1 }, PROT_READ | PROT_EXEC, MAP_PRIVATE, "/bin/a", { 0 } } },
		{ .comm = { { PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC,
			      sizeof(records[0].comm) }, pid, pid, "a", { 0 } } },
		{ .task = { { PERF_RECORD_FORK, 0, sizeof(records[0].task) }, pid, parent, pid,
			    parent, 0, { 0 } } },
		{ .task = { { PERF_RECORD_EXIT, 0, sizeof(records[0].task) }, pid, parent, pid,
			    parent, 0, { 0 } } },
	};
	struct flowtap_sideband_sink out = { .mapped = count_mapping };
	int archive = memfd_create("archive", MFD_CLOEXEC);
	struct flowtap_perf_losses losses = { 0 };
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	unsigned int n = 0;

	mapped = 0;
	if (flowtap_archive_create(archive, &out.writer))
		abort();
	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		if (flowtap_perf_record(&records[i], records[i].header.size, 0, &out, &losses))
			abort();
	if (flowtap_archive_flush(out.writer) || lseek(archive, 0, SEEK_SET) ||
	    flowtap_archive_open(archive, &reader))
		abort();
	while (flowtap_archive_next(reader, &block) > 0)
		n += block.type == FLOWTAP_ARCHIVE_MAPPING || block.type == FLOWTAP_ARCHIVE_TASK;
	flowtap_archive_reader_free(reader);
	flowtap_archive_writer_free(out.writer);
	close(archive);
	return n;
}

TEST(events_of_a_process_become_blocks)
{
	EXPECT_EQ(4, blocks_of(7, 6));
	EXPECT_EQ(1, mapped);
	/* Whose parent is not in our PID namespace. */
	EXPECT_EQ(4, blocks_of(7, 0));
}

/* All of them have one number: their code would be one process's. */
TEST(those_of_processes_of_other_pid_namespaces_do_not)
{
	EXPECT_EQ(0, blocks_of(0, 0));
	EXPECT_EQ(0, blocks_of(UINT32_MAX, 0));
	EXPECT_EQ(0, mapped);
}

TEST_HARNESS_MAIN
