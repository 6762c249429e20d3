// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows which code is saved out of memory where /proc is polled, and for how long it is taken for
 * what is executed. The process that is looked at is this one.
 */
#include "capture/mounts.h"
#include "capture/proc_scan.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/kselftest_harness.h"
#include "support/replayed.h"

#define SIZE 4096U

static void (*hook)(void);		/* called before the maps are read a second time in a look */
static unsigned int reads;		/* of maps */

FILE *fopen(const char *path, const char *mode)
{
	const size_t size = strlen(path);

	if (size > 5 && !strcmp(path + size - 5, "/maps") && ++reads == 2 && hook)
		hook();
	return ((__typeof__(&fopen))dlsym(RTLD_NEXT, "fopen"))(path, mode);
}

static uint8_t *page;			/* of code */

static void be_writable(void)
{
	if (mprotect(page, SIZE, PROT_READ | PROT_WRITE))
		abort();
}

/* As a JIT compiler does it. */
static void make_code(uint8_t byte)
{
	be_writable();
	memset(page, byte, SIZE);
	if (mprotect(page, SIZE, PROT_READ | PROT_EXEC))
		abort();
}

FIXTURE(code)
{
	struct flowtap_sideband_sink out;
	struct flowtap_proc_scan *scan;
	struct flowtap_address_map *map;
	int archive;
	unsigned int mappings;		/* blocks about the page */
	unsigned int bytes;
	uint64_t mapped;		/* when, as the last of them says */
	uint64_t saved;
};

FIXTURE_SETUP(code)
{
	const pid_t pid = getpid();

	page = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)page);
	self->archive = memfd_create("archive", MFD_CLOEXEC);
	ASSERT_EQ(flowtap_archive_create(self->archive, &self->out.writer), 0);
	self->out.mounts = flowtap_mounts_new();
	self->scan = flowtap_proc_scan_new(&pid, 1, false);
	ASSERT_NE(self->scan, NULL);
	hook = NULL;
}

FIXTURE_TEARDOWN(code)
{
	flowtap_proc_scan_free(self->scan);
	flowtap_archive_writer_free(self->out.writer);
	flowtap_mounts_free(self->out.mounts);
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
	if (block->type == FLOWTAP_ARCHIVE_BYTES) {
		self->bytes++;
		self->saved = mapping->time;
	} else {
		self->mappings++;
		self->mapped = mapping->time;
	}
	return 0;
}

/* What has been written so far, from the beginning. */
static void replay(FIXTURE_DATA(code) *self)
{
	flowtap_address_map_free(self->map);
	self->map = flowtap_address_map_new(NULL);
	self->mappings = self->bytes = 0;
	replay_archive(self->out.writer, self->archive, self->map, on_block, self);
}

static void look(FIXTURE_DATA(code) *self)
{
	reads = 0;
	if (flowtap_proc_scan_again(self->scan, &self->out, true))
		abort();
	replay(self);
}

static void start(FIXTURE_DATA(code) *self)
{
	reads = 0;
	if (flowtap_proc_scan_start(self->scan, &self->out, false))
		abort();
	replay(self);
}

/* The code of the page at that time: its bytes are all the same. -1: they are not known. */
static int code_at(FIXTURE_DATA(code) *self, uint64_t time)
{
	const struct flowtap_code *code =
		flowtap_address_map_find(self->map, (uint32_t)getpid(), time, (uintptr_t)page);

	return code && code->bytes ? code->bytes[(uintptr_t)page - code->start] : -1;
}

TEST_F(code, what_was_written_anew_between_two_looks_is_saved_again)
{
	make_code(1);
	start(self);
	look(self);
	EXPECT_EQ(self->bytes, 1);
	make_code(2);
	look(self);
	ASSERT_EQ(self->bytes, 2);
	/* What there was between the two looks is not known. */
	EXPECT_LT(self->mapped, self->saved);
	EXPECT_EQ(code_at(self, self->mapped - 1), 1);
	EXPECT_EQ(code_at(self, self->mapped), -1);
	EXPECT_EQ(code_at(self, self->saved - 1), -1);
	EXPECT_EQ(code_at(self, self->saved), 2);
	look(self);
	EXPECT_EQ(self->bytes, 2);
	/* Nor does it last beyond the look that found it. */
	make_code(3);
	look(self);
	EXPECT_EQ(self->bytes, 3);
	EXPECT_EQ(code_at(self, self->mapped - 1), 2);
	EXPECT_EQ(code_at(self, self->mapped), -1);
	EXPECT_EQ(code_at(self, self->saved), 3);
}

TEST_F(code, what_is_being_written_is_not_what_was_saved)
{
	make_code(1);
	start(self);
	look(self);
	be_writable();
	look(self);
	EXPECT_EQ(self->bytes, 1);
	EXPECT_EQ(code_at(self, self->mapped - 1), 1);
	EXPECT_EQ(code_at(self, self->mapped), -1);
	make_code(1);
	look(self);
	EXPECT_EQ(self->bytes, 2);
	EXPECT_EQ(code_at(self, self->saved), 1);
}

TEST_F(code, what_was_not_there_to_be_written_is_written_later)
{
	start(self);
	make_code(1);
	hook = be_writable;
	look(self);
	EXPECT_EQ(self->mappings, 0);
	EXPECT_EQ(self->bytes, 0);
	hook = NULL;
	make_code(2);
	look(self);
	EXPECT_EQ(self->mappings, 1);
	EXPECT_EQ(self->bytes, 1);
	EXPECT_EQ(code_at(self, self->saved), 2);
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

TEST_F(code, what_is_mapped_shared_later_is_not_what_was_saved)
{
	int fd = memfd_create("code", MFD_CLOEXEC);

	ASSERT_EQ(ftruncate(fd, SIZE), 0);
	ASSERT_EQ((void *)page, mmap(page, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
				     0));
	start(self);
	EXPECT_EQ(self->bytes, 1);
	ASSERT_EQ((void *)page, mmap(page, SIZE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd,
				     0));
	look(self);
	look(self);
	EXPECT_EQ(self->bytes, 1);
	EXPECT_EQ(code_at(self, self->mapped - 1), 0);
	EXPECT_EQ(code_at(self, self->mapped), -1);
	close(fd);
}

/* A deleted file: only its file system has what is not in memory of it. */
static void map_deleted_file(void)
{
	char path[] = "/tmp/flowtap-deleted-XXXXXX";
	int fd = mkstemp(path);
	uint8_t bytes[SIZE] = { 7 };

	if (fd < 0 || unlink(path) || write(fd, bytes, SIZE) != SIZE ||
	    mmap(page, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) != page)
		abort();
	close(fd);
}

TEST_F(code, a_file_system_that_may_not_answer_is_not_read)
{
	flowtap_mounts_free(self->out.mounts);
	self->out.mounts = NULL;
	map_deleted_file();
	start(self);
	EXPECT_EQ(1, self->mappings);
	EXPECT_EQ(0, self->bytes);
}

TEST_F(code, one_that_answers_is)
{
	map_deleted_file();
	start(self);
	EXPECT_EQ(1, self->bytes);
}

TEST_HARNESS_MAIN
