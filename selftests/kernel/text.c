// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the text of this kernel, taken by looks of the recorder while it is patched under
 * them, is known byte for byte except where and when it was patched. Needs root, no CTR.
 */
#include <errno.h>
#include <fcntl.h>
#include <flowtap/archive.h>
#include <flowtap/kernel.h>
#include <flowtap/replay.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "capture/kcore.h"
#include "other_driver.h"
#include "support/kselftest_harness.h"

#define TRACING "/sys/kernel/tracing"
#define LIMIT 900		/* seconds: an emulator takes many for each look, on a busy machine */

FIXTURE(text)
{
	int fd;				/* the archive */
	struct flowtap_archive_writer *writer;
	struct flowtap_kernel *kernel;
	struct flowtap_address_map *map;
	uint64_t start;			/* of the kernel's text */
	size_t size;
	uint8_t *before;
	uint8_t *after;
};

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return (uint64_t)time.tv_sec * 1000000000ULL + (uint64_t)time.tv_nsec;
}

static uint64_t address_of(const char *name)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], symbol[256];
	uint64_t address, found = 0;

	while (file && !found && fgets(line, sizeof(line), file))
		if (sscanf(line, "%lx %*c %255s", &address, symbol) == 2 && !strcmp(symbol, name))
			found = address;
	if (file)
		fclose(file);
	return found;
}

/* False: it cannot be read. */
static bool read_text(uint64_t start, uint8_t *bytes, size_t size)
{
	struct flowtap_kcore *kcore;
	int err = flowtap_kcore_open(&kcore);

	if (err)
		return false;
	err = flowtap_kcore_read(kcore, start, bytes, size);
	flowtap_kcore_close(kcore);
	return !err;
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return written;
}

FIXTURE_SETUP(text)
{
	int err;

	if (geteuid())
		SKIP(return, "not root");
	err = flowtap_kernel_open(&self->kernel);
	if (err == -ENOENT)
		SKIP(return, "this kernel has no /proc/kcore, or no symbols");
	ASSERT_EQ(0, err);
	self->start = address_of("_stext");
	self->size = address_of("_etext") - self->start;
	ASSERT_NE(0, self->start);
	self->before = malloc(self->size);
	self->after = malloc(self->size);
	self->fd = memfd_create("archive", MFD_CLOEXEC);
	ASSERT_EQ(0, flowtap_archive_create(self->fd, &self->writer));
	self->map = flowtap_address_map_new(NULL);
	mount("none", TRACING, "tracefs", 0, NULL);
}

FIXTURE_TEARDOWN(text)
{
	flowtap_kernel_free(self->kernel);
	flowtap_archive_writer_free(self->writer);
	flowtap_address_map_free(self->map);
	close(self->fd);
	free(self->before);
	free(self->after);
}

/* One look, into the archive. Returns when it had ended, 0: it failed. */
static uint64_t look(FIXTURE_DATA(text) *self)
{
	uint64_t begin = now(), end;
	int err = flowtap_kernel_look(self->kernel);

	end = now();
	while (!err && (err = flowtap_kernel_write(self->kernel, self->writer)) > 0)
		err = 0;
	printf("# a look took %lu us; writing it %lu us; the archive has %lu bytes\n",
	       (end - begin) / 1000, (now() - end) / 1000, flowtap_archive_size(self->writer));
	return err ? 0 : now();
}

static int on_record(struct flowtap_replay *replay, uint32_t cpu,
		     const struct flowtap_record *record, size_t size)
{
	return 0;
}

static int replay(FIXTURE_DATA(text) *self)
{
	struct flowtap_replay replay = { .record = on_record };
	int err = flowtap_archive_flush(self->writer);

	lseek(self->fd, 0, SEEK_SET);
	if (!err)
		err = flowtap_replay(&replay, self->fd, self->map);
	return err ? err : replay.counts.damages ? -EBADMSG : 0;
}

/* What the map has there: bytes, missing ones (bytes NULL), or nothing (code NULL). */
struct span {
	const struct flowtap_code *code;
	const uint8_t *bytes;
	size_t size;
};

static struct span span_at(struct flowtap_address_map *map, uint64_t time, uint64_t address,
			   size_t most)
{
	const struct flowtap_code *code = flowtap_address_map_find(map, 1, time, address);
	struct span span = { .code = code, .size = 1 };

	if (!code)
		return span;
	span.size = code->end - address < most ? code->end - address : most;
	if (code->bytes)
		span.bytes = code->bytes + (address - code->start);
	return span;
}

/* The byte there, -1: missing, -2: nothing. */
static int byte_at(struct flowtap_address_map *map, uint64_t time, uint64_t address)
{
	struct span span = span_at(map, time, address, 1);

	return !span.code ? -2 : span.bytes ? span.bytes[0] : -1;
}

/*
 * What was patched between two looks, at a time in between: how many bytes are wrong, which are
 * those that are missing though their parcel is the same or there though they differ.
 */
static size_t wrong_bytes(FIXTURE_DATA(text) *self, uint64_t time, size_t *missing)
{
	const uint8_t *before = self->before, *after = self->after;
	size_t wrong = 0;

	*missing = 0;
	for (size_t at = 0, n; at < self->size; at += n) {
		struct span span = span_at(self->map, time, self->start + at, self->size - at);

		n = span.size;
		if (span.bytes && !memcmp(span.bytes, before + at, n) &&
		    !memcmp(before + at, after + at, n))
			continue;
		for (size_t i = at; i < at + n; i++) {
			size_t parcel = i & ~1UL;
			bool same = !memcmp(before + parcel, after + parcel, 2);

			*missing += span.code && !span.bytes;
			wrong += same ? !span.bytes || span.bytes[i - at] != before[i] :
					!span.code || span.bytes;
		}
	}
	return wrong;
}

static size_t other_bytes(FIXTURE_DATA(text) *self, uint64_t time, const uint8_t *wanted)
{
	size_t other = 0;

	for (size_t at = 0, n; at < self->size; at += n) {
		struct span span = span_at(self->map, time, self->start + at, self->size - at);

		n = span.size;
		if (span.bytes && !memcmp(span.bytes, wanted + at, n))
			continue;
		for (size_t i = 0; i < n; i++)
			other += !span.bytes || span.bytes[i] != wanted[at + i];
	}
	return other;
}

static size_t different(FIXTURE_DATA(text) *self)
{
	size_t n = 0;

	for (size_t i = 0; i < self->size; i++)
		n += self->before[i] != self->after[i];
	return n;
}

/*
 * The module patches tracepoints some seconds after the last stream was closed, which another program
 * did: when nothing has changed for longer than that, nobody does.
 */
static bool wait_until_nobody_patches(FIXTURE_DATA(text) *self)
{
	unsigned int same = 0;

	for (unsigned int tries = 0; tries < 100 && same < 7; tries++) {
		if (!read_text(self->start, self->before, self->size))
			return false;
		sleep(1);
		if (!read_text(self->start, self->after, self->size))
			return false;
		same = different(self) ? 0 : same + 1;
	}
	return same == 7;
}

TEST_F_TIMEOUT(text, text_that_nobody_patches_is_known, LIMIT)
{
	uint64_t offset, begin;

	ASSERT_TRUE(wait_until_nobody_patches(self));
	ASSERT_TRUE(read_text(self->start, self->before, self->size));
	ASSERT_NE(0, look(self));
	begin = now();
	ASSERT_NE(0, look(self));
	ASSERT_TRUE(read_text(self->start, self->after, self->size));
	ASSERT_EQ(0, different(self));
	ASSERT_EQ(0, replay(self));
	EXPECT_EQ(0, other_bytes(self, 0, self->before));
	EXPECT_EQ(0, other_bytes(self, begin, self->before));
	EXPECT_EQ(0, other_bytes(self, UINT64_MAX - 1, self->before));
	EXPECT_STREQ("vfs_read",
		     flowtap_address_map_symbol(
			     self->map,
			     flowtap_address_map_find(self->map, 1, begin, address_of("vfs_read")),
			     address_of("vfs_read") + 2, &offset));
	EXPECT_EQ(2, offset);
	/* Data and what was there at the start only are not text. */
	EXPECT_EQ(-2, byte_at(self->map, begin, address_of("jiffies")));
	EXPECT_EQ(-2, byte_at(self->map, begin, address_of("_sinittext")));
}

/* A way to change the kernel's text, the text without and with it, and times with each. */
struct patch {
	const char *file, *on, *off;
	uint64_t between, later;
	uint8_t *before, *after;
};

/* Between two looks; undone after the third. */
static void patch(struct __test_metadata *_metadata, FIXTURE_DATA(text) *self, struct patch *patch)
{
	patch->before = malloc(self->size);
	patch->after = malloc(self->size);
	ASSERT_NE(0, look(self));
	ASSERT_TRUE(read_text(self->start, patch->before, self->size));
	patch->between = now();
	ASSERT_TRUE(write_file(patch->file, patch->on));
	ASSERT_NE(0, look(self));
	patch->later = now();
	ASSERT_TRUE(read_text(self->start, patch->after, self->size));
	ASSERT_NE(0, look(self));
	ASSERT_TRUE(write_file(patch->file, patch->off));
}

static void judge(struct __test_metadata *_metadata, FIXTURE_DATA(text) *self, struct patch *patch)
{
	size_t missing;

	free(self->before);
	free(self->after);
	self->before = patch->before;
	self->after = patch->after;
	EXPECT_NE(0, different(self));
	EXPECT_EQ(0, wrong_bytes(self, patch->between, &missing));
	EXPECT_EQ(0, other_bytes(self, patch->later, self->after));
	printf("# %s: %zu bytes were changed, %zu are missing of %zu\n", patch->file,
	       different(self), missing, self->size);
}

/* Where an instruction begins is the kernel's to check. 0: there are no kprobes. */
static uint64_t make_probe(void)
{
	uint64_t at = address_of("vfs_read") + 0x20;
	char probe[64];

	for (; at < address_of("vfs_read") + 0x40; at += 2) {
		snprintf(probe, sizeof(probe), "p:flowtap/probe 0x%lx", at);
		if (write_file(TRACING "/kprobe_events", probe))
			return at;
	}
	return 0;
}

/* A static key, a kprobe, the function tracer: one after the other, in one archive. */
TEST_F_TIMEOUT(text, what_is_patched_between_two_looks_is_known, LIMIT)
{
	struct patch key = { .file = TRACING "/events/sched/sched_switch/enable", .on = "1", .off = "0" };
	struct patch probe = { .file = TRACING "/events/flowtap/probe/enable", .on = "1", .off = "0" };
	struct patch tracer = { .file = TRACING "/current_tracer", .on = "function", .off = "nop" };
	uint64_t at;

	if (access(key.file, W_OK))
		SKIP(return, "no tracefs");
	patch(_metadata, self, &key);
	at = make_probe();
	if (at)
		patch(_metadata, self, &probe);
	if (write_file(TRACING "/set_ftrace_filter", "vfs_read"))
		patch(_metadata, self, &tracer);
	write_file(TRACING "/set_ftrace_filter", "\n");
	ASSERT_EQ(0, replay(self));
	EXPECT_EQ(0, other_bytes(self, 0, key.before));
	judge(_metadata, self, &key);
	if (tracer.after)
		judge(_metadata, self, &tracer);
	if (probe.after) {
		judge(_metadata, self, &probe);
		EXPECT_NE(self->before[at - self->start], self->after[at - self->start]);
		write_file(TRACING "/kprobe_events", "-:flowtap/probe");
	}
}

TEST_F_TIMEOUT(text, modules_come_and_go, LIMIT)
{
	uint64_t without, with, again, address, offset;
	const struct flowtap_code *code;

	if (!getenv("FLOWTAP_MODULE"))
		SKIP(return, "FLOWTAP_MODULE is not set");
	if (!access("/sys/module/flowtap", F_OK))
		ASSERT_EQ(0, unload());
	ASSERT_NE(0, look(self));
	EXPECT_FALSE(flowtap_kernel_moved(self->kernel));
	without = now();
	ASSERT_EQ(0, load("soft=1"));
	EXPECT_TRUE(flowtap_kernel_moved(self->kernel));
	ASSERT_NE(0, look(self));
	EXPECT_FALSE(flowtap_kernel_moved(self->kernel));
	with = now();
	address = address_of("hooks_get");
	ASSERT_NE(0, address);
	ASSERT_TRUE(read_text(address, self->before, 64));
	ASSERT_NE(0, look(self));
	ASSERT_EQ(0, unload());
	EXPECT_TRUE(flowtap_kernel_moved(self->kernel));
	ASSERT_NE(0, look(self));
	again = now();
	ASSERT_EQ(0, replay(self));
	EXPECT_EQ(-2, byte_at(self->map, 0, address));
	EXPECT_EQ(-1, byte_at(self->map, without, address));
	for (int i = 0; i < 64; i++)
		ASSERT_EQ(self->before[i], byte_at(self->map, with, address + i));
	EXPECT_EQ(-2, byte_at(self->map, again, address));
	code = flowtap_address_map_find(self->map, 1, with, address);
	EXPECT_STREQ("[flowtap]", code->path);
	EXPECT_STREQ("hooks_get",
		     flowtap_address_map_symbol(self->map, code, address + 4, &offset));
	EXPECT_EQ(4, offset);
	/* Its data and what only its start needed are not text. */
	printf("# text of flowtap.ko: 0x%lx to 0x%lx\n", code->start, code->end);
	ASSERT_EQ(0, load("soft=1"));
}

TEST_HARNESS_MAIN
