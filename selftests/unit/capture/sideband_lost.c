// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that what perf's rings had no room for is looked for in /proc when the next archive begins,
 * and that that archive says so, once. Events come from this program instead of perf.
 */
#include <flowtap/sideband.h>

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/kselftest_harness.h"
#include "support/lost_events.h"

FIXTURE(sideband_lost)
{
	struct flowtap_sideband *sideband;
	struct flowtap_archive_writer *writer;
	int archive;
	pid_t pid;
	char path[64];			/* a file of code that is mapped later */
	void *code;
};

/* What an archive has. */
struct told {
	unsigned int losses;
	uint64_t lost;
	bool mapped;			/* the file */
};

static int begin(FIXTURE_DATA(sideband_lost) *self, bool first)
{
	struct flowtap_archive_writer *before = self->writer;
	int archive = memfd_create("sideband", MFD_CLOEXEC);
	int error = flowtap_archive_create(archive, &self->writer);

	if (!error)
		error = first ? flowtap_sideband_start(self->sideband, self->writer) :
				flowtap_sideband_switch(self->sideband, self->writer);
	flowtap_archive_writer_free(before);
	if (self->archive >= 0)
		close(self->archive);
	self->archive = archive;
	return error;
}

FIXTURE_SETUP(sideband_lost)
{
	struct flowtap_sideband_options options = { .pids = &self->pid, .n_pids = 1,
						    .keep = 16 << 20 };
	int fd;

	self->pid = getpid();
	self->archive = -1;
	strcpy(self->path, "/tmp/flowtap-sideband-lost-XXXXXX");
	fd = mkstemp(self->path);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, 4096));
	ASSERT_EQ(0, flowtap_sideband_open(&options, &self->sideband));
	ASSERT_FALSE(flowtap_sideband_polled(self->sideband));
	ASSERT_EQ(0, begin(self, true));
	/* Of which there is no event. */
	self->code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, self->code);
	close(fd);
}

FIXTURE_TEARDOWN(sideband_lost)
{
	munmap(self->code, 4096);
	unlink(self->path);
	flowtap_sideband_free(self->sideband);
	flowtap_archive_writer_free(self->writer);
	close(self->archive);
}

static struct told read_archive(FIXTURE_DATA(sideband_lost) *self)
{
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	struct told told = { 0 };
	uint64_t lost;

	if (flowtap_archive_flush(self->writer) || lseek(self->archive, 0, SEEK_SET) ||
	    flowtap_archive_open(self->archive, &reader))
		abort();
	while (flowtap_archive_next(reader, &block) > 0) {
		const struct flowtap_archive_mapping *mapping = block.payload;

		if (block.type == FLOWTAP_ARCHIVE_LOST) {
			memcpy(&lost, block.payload, sizeof(lost));
			told.losses++;
			told.lost += lost;
		} else if (block.type == FLOWTAP_ARCHIVE_MAPPING) {
			told.mapped |= mapping->path_size == strlen(self->path) &&
				       !memcmp(mapping + 1, self->path, mapping->path_size);
		}
	}
	flowtap_archive_reader_free(reader);
	return told;
}

TEST_F(sideband_lost, what_was_lost_is_looked_for_when_the_next_archive_begins)
{
	struct told told;

	losing = 3;
	ASSERT_EQ(0, flowtap_sideband_drain(self->sideband));
	losing = 2;
	ASSERT_EQ(0, flowtap_sideband_drain(self->sideband));
	told = read_archive(self);
	EXPECT_EQ(2, told.losses);
	EXPECT_EQ(5, told.lost);
	EXPECT_FALSE(told.mapped);
	ASSERT_EQ(0, begin(self, false));
	told = read_archive(self);
	EXPECT_EQ(1, told.losses);
	EXPECT_EQ(5, told.lost);
	EXPECT_TRUE(told.mapped);
	/* It is known from then on, and nothing is missing any more. */
	ASSERT_EQ(0, flowtap_sideband_drain(self->sideband));
	ASSERT_EQ(0, begin(self, false));
	told = read_archive(self);
	EXPECT_EQ(0, told.losses);
	EXPECT_TRUE(told.mapped);
	EXPECT_EQ(5, flowtap_sideband_lost(self->sideband));
}

/* Between two archives as well. */
TEST_F(sideband_lost, what_was_lost_while_there_was_no_archive_is_told_by_the_next)
{
	struct told told;

	ASSERT_EQ(0, flowtap_sideband_switch(self->sideband, NULL));
	losing = 1;
	ASSERT_EQ(0, flowtap_sideband_drain(self->sideband));
	ASSERT_EQ(0, begin(self, false));
	told = read_archive(self);
	EXPECT_EQ(1, told.losses);
	EXPECT_EQ(1, told.lost);
	EXPECT_TRUE(told.mapped);
}

TEST_F(sideband_lost, what_perf_has_not_told_yet_is_asked_for_at_the_end_of_an_archive)
{
	struct told told;

	untold = 2;
	ASSERT_EQ(0, flowtap_sideband_drain(self->sideband));
	EXPECT_EQ(0, flowtap_sideband_lost(self->sideband));
	ASSERT_EQ(0, flowtap_sideband_look(self->sideband));
	told = read_archive(self);
	EXPECT_EQ(1, told.losses);
	EXPECT_EQ(2, told.lost);
	ASSERT_EQ(0, begin(self, false));
	told = read_archive(self);
	EXPECT_EQ(1, told.losses);
	EXPECT_EQ(2, told.lost);
	EXPECT_TRUE(told.mapped);
}

TEST_F(sideband_lost, and_when_the_next_one_begins)
{
	struct told told;

	ASSERT_EQ(0, flowtap_sideband_switch(self->sideband, NULL));
	untold = 2;
	ASSERT_EQ(0, flowtap_sideband_drain(self->sideband));
	ASSERT_EQ(0, begin(self, false));
	told = read_archive(self);
	EXPECT_EQ(1, told.losses);
	EXPECT_EQ(2, told.lost);
	EXPECT_TRUE(told.mapped);
	EXPECT_EQ(2, flowtap_sideband_lost(self->sideband));
}

/* What was looked at for it is not all that there is. */
TEST_F(sideband_lost, an_archive_that_cannot_be_written_leaves_it_to_the_next)
{
	struct flowtap_archive_writer *writer;
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct told told;

	ASSERT_LE(0, full);
	losing = 4;
	ASSERT_EQ(0, flowtap_sideband_drain(self->sideband));
	ASSERT_EQ(0, flowtap_archive_create(full, &writer));
	ASSERT_EQ(-ENOSPC, flowtap_archive_flush(writer));
	EXPECT_GT(0, flowtap_sideband_switch(self->sideband, writer));
	flowtap_archive_writer_free(writer);
	close(full);
	ASSERT_EQ(0, begin(self, false));
	told = read_archive(self);
	EXPECT_EQ(1, told.losses);
	EXPECT_EQ(4, told.lost);
	EXPECT_TRUE(told.mapped);
}

TEST_F(sideband_lost, nothing_is_looked_at_where_nothing_was_lost)
{
	struct told told;

	ASSERT_EQ(0, flowtap_sideband_drain(self->sideband));
	ASSERT_EQ(0, begin(self, false));
	told = read_archive(self);
	EXPECT_EQ(0, told.losses);
	EXPECT_FALSE(told.mapped);
}

TEST_HARNESS_MAIN
