// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows which code is saved out of memory where /proc is polled. The process that is looked at is this one.
 */
#include "capture/proc_scan.h"

#include <flowtap/replay.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

#define SIZE 4096U

static uint8_t *page;			/* of code */

FIXTURE(code)
{
	struct flowtap_sideband_sink out;
	struct flowtap_proc_scan *scan;
	struct flowtap_address_map *map;
	int archive;
	unsigned int mappings;		/* blocks about the page */
	unsigned int bytes;
};

FIXTURE_SETUP(code)
{
	const pid_t pid = getpid();

	page = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)page);
	self->archive = memfd_create("archive", MFD_CLOEXEC);
	ASSERT_EQ(flowtap_archive_create(self->archive, &self->out.writer), 0);
	self->scan = flowtap_proc_scan_new(&pid, 1, false);
	ASSERT_NE(self->scan, NULL);
}

FIXTURE_TEARDOWN(code)
{
	flowtap_proc_scan_free(self->scan);
	flowtap_archive_writer_free(self->out.writer);
	flowtap_address_map_free(self->map);
	munmap(page, SIZE);
	close(self->archive);
}

static int on_block(struct flowtap_replay *replay, const struct flowtap_archive_block *block)
{
	FIXTURE_DATA(code) *self = replay->argument;
	const struct flowtap_archive_mapping *mapping = block->payload;

	if ((block->type != FLOWTAP_ARCHIVE_MAPPING && block->type != FLOWTAP_ARCHIVE_BYTES) ||
	    mapping->start != (uintptr_t)page)
		return 0;
	if (block->type == FLOWTAP_ARCHIVE_BYTES)
		self->bytes++;
	else
		self->mappings++;
	return 0;
}

static void on_damage(struct flowtap_replay *replay, uint64_t offset, const char *reason,
		      uint64_t bytes)
{
	abort();
}

static int on_record(struct flowtap_replay *replay, uint32_t cpu,
		     const struct flowtap_record *record, size_t size)
{
	return 0;
}

/* What has been written so far, from the beginning. */
static void replay(FIXTURE_DATA(code) *self)
{
	struct flowtap_replay replay = {
		.block = on_block, .damage = on_damage, .record = on_record, .argument = self,
	};

	flowtap_address_map_free(self->map);
	self->map = flowtap_address_map_new(NULL);
	self->mappings = self->bytes = 0;
	if (flowtap_archive_flush(self->out.writer) || lseek(self->archive, 0, SEEK_SET) ||
	    flowtap_replay(&replay, self->archive, self->map))
		abort();
}

static void look(FIXTURE_DATA(code) *self)
{
	if (flowtap_proc_scan_again(self->scan, &self->out, true))
		abort();
	replay(self);
}

static void start(FIXTURE_DATA(code) *self)
{
	if (flowtap_proc_scan_start(self->scan, &self->out, false))
		abort();
	replay(self);
}

/* .NET maps its code twice: what is written at the other place is here as well. */
TEST_F(code, shared_memory_is_not_saved)
{
	int fd = memfd_create("doublemapper", MFD_CLOEXEC);

	ASSERT_EQ(ftruncate(fd, SIZE), 0);
	ASSERT_EQ((void *)page, mmap(page, SIZE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd,
				     0));
	start(self);
	EXPECT_EQ(self->mappings, 1);
	EXPECT_EQ(self->bytes, 0);
	ASSERT_EQ(pwrite(fd, "a", 1, 0), 1);
	look(self);
	EXPECT_EQ(self->mappings, 1);
	EXPECT_EQ(self->bytes, 0);
	close(fd);
}

TEST_HARNESS_MAIN
