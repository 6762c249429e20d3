// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that memory images give at each address the byte that the first image there has, in the
 * contexts that they are for, whatever overlaps and is adjacent, and that no file is believed.
 */
#include <flowtap/memory.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/tinyelf.h"

#include "support/kselftest_harness.h"
#include "support/seed.h"

FIXTURE(memory)
{
	char path[32];
	int directory;
	struct flowtap_memory *memory;
};

static const struct flowtap_context el1n = { .isa = FLOWTAP_ISA_A64, .mode = FLOWTAP_PRIVILEGE_S };

/* A file of the given bytes. */
static void put(int directory, const char *name, const void *bytes, size_t size)
{
	int fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
}

/* A file of `size` times one byte. */
static void fill(int directory, const char *name, uint8_t byte, size_t size)
{
	void *bytes = malloc(size + 1);

	memset(bytes, byte, size);
	put(directory, name, bytes, size);
	free(bytes);
}

FIXTURE_SETUP(memory)
{
	strcpy(self->path, "/tmp/memory.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->path));
	self->directory = open(self->path, O_RDONLY | O_DIRECTORY);
	ASSERT_LE(0, self->directory);
	self->memory = flowtap_memory_new();
	ASSERT_NE(NULL, self->memory);
}

FIXTURE_TEARDOWN(memory)
{
	char command[64];

	flowtap_memory_free(self->memory);
	close(self->directory);
	snprintf(command, sizeof(command), "rm -rf %s", self->path);
	if (system(command))
		abort();
}

static int add(FIXTURE_DATA(memory) *self, const char *name, uint64_t address, uint64_t size,
	       uint64_t offset)
{
	const struct flowtap_memory_file file = {
		.directory = self->directory, .path = name, .address = address, .size = size,
		.offset = offset,
	};

	return flowtap_memory_add(self->memory, &file);
}

/* The byte at an address, -1: there is none. */
static int byte_at(struct flowtap_memory *memory, const struct flowtap_context *context,
		   uint64_t address)
{
	const struct flowtap_code *code = flowtap_memory_find(memory, context, address);

	if (!code)
		return -1;
	if (address < code->start || address >= code->end || !code->bytes)
		abort();
	return code->bytes[address - code->start];
}

TEST_F(memory, adjacent_dumps_are_one_region)
{
	const struct flowtap_code *code;

	fill(self->directory, "a", 0xa, 0x100);
	fill(self->directory, "b", 0xb, 0x80);
	fill(self->directory, "c", 0xc, 0x10);
	ASSERT_EQ(0, add(self, "b", 0x1100, 0, 0));
	ASSERT_EQ(0, add(self, "a", 0x1000, 0, 0));
	ASSERT_EQ(0, add(self, "c", 0x1181, 0, 0));
	ASSERT_EQ(3, flowtap_memory_images(self->memory));
	ASSERT_EQ(0, flowtap_memory_held(self->memory));
	code = flowtap_memory_find(self->memory, &el1n, 0x1010);
	ASSERT_NE(NULL, code);
	ASSERT_EQ(0x1000, code->start);
	ASSERT_EQ(0x1180, code->end);
	ASSERT_EQ(0xa, code->bytes[0xff]);
	ASSERT_EQ(0xb, code->bytes[0x100]);
	ASSERT_EQ(code, flowtap_memory_find(self->memory, &el1n, 0x117f));
	ASSERT_EQ(NULL, flowtap_memory_find(self->memory, &el1n, 0x1180));
	ASSERT_EQ(NULL, flowtap_memory_find(self->memory, &el1n, 0xfff));
	ASSERT_EQ(0xc, byte_at(self->memory, &el1n, 0x1190));
	ASSERT_EQ(0x190, flowtap_memory_held(self->memory));
	/* Nothing can be added any more: pointers and keys would change. */
	ASSERT_EQ(-EBUSY, add(self, "a", 0x9000, 0, 0));
}

TEST_F(memory, where_images_overlap_the_first_counts)
{
	for (unsigned int round = 0; round < 60; round++) {
		/* Random images in 512 bytes, against a map that is filled byte by byte. */
		struct flowtap_memory *memory = flowtap_memory_new();
		int map[512];

		srand((unsigned int)seeded(round));
		memset(map, 0xff, sizeof(map));
		for (unsigned int i = 0; i < 1 + round / 2; i++) {
			unsigned int from = (unsigned int)rand() % 500;
			unsigned int size = 1 + (unsigned int)rand() % (round % 3 ? 12 : 200);
			struct flowtap_memory_file file = {
				.directory = self->directory, .path = "x", .address = 0x4000 + from,
			};

			size = from + size > 512 ? 512 - from : size;
			/* The same file often: an image is a part of it. */
			file.offset = (unsigned int)rand() % 40;
			file.size = size;
			if (!i) {
				uint8_t bytes[600];

				for (size_t j = 0; j < sizeof(bytes); j++)
					bytes[j] = (uint8_t)(j * 7 + round);
				put(self->directory, "x", bytes, sizeof(bytes));
			}
			ASSERT_EQ(0, flowtap_memory_add(memory, &file));
			for (unsigned int j = 0; j < size; j++)
				if (map[from + j] < 0)
					map[from + j] = (uint8_t)((file.offset + j) * 7 + round);
		}
		for (unsigned int i = 0; i < 512; i++)
			ASSERT_EQ(map[i], byte_at(memory, &el1n, 0x4000 + i));
		flowtap_memory_free(memory);
	}
}

TEST_F(memory, an_image_is_there_in_its_contexts_only)
{
	static const struct {
		const char *space;
		const char *in;		/* levels and states where it is */
	} cases[] = {
		{ "EL1S", "0s 1s" }, { "EL1N", "0n 1n" }, { "EL1R", "0r 1r" },
		{ "EL2S", "2s" }, { "EL2N", "2n" }, { "el2", "2n" }, { "EL2R", "2r" },
		{ "EL3", "3s 3n 3R" }, { "ROOT", "3R" }, { "S", "0s 1s 2s 3s 3n 3R" },
		{ "N", "0n 1n 2n" }, { "R", "0r 1r 2r" }, { "H", "2n" }, { "P", "0n 1n" },
		{ "NP", "0n 1n" }, { "SP", "0s 1s" },
		{ "ANY", "0s 1s 2s 3s 0n 1n 2n 3n 0r 1r 2r 3R" },
	};
	static const char states[] = {
		[FLOWTAP_NONSECURE] = 'n', [FLOWTAP_SECURE] = 's', [FLOWTAP_REALM] = 'r',
		[FLOWTAP_ROOT] = 'R',
	};

	fill(self->directory, "x", 1, 64);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct flowtap_memory *memory = flowtap_memory_new();
		const struct flowtap_memory_file file = {
			.directory = self->directory, .path = "x", .address = 0x1000,
			.filter.spaces = flowtap_memory_space(cases[i].space),
		};

		ASSERT_NE(0, file.filter.spaces);
		ASSERT_EQ(0, flowtap_memory_add(memory, &file));
		for (uint8_t mode = 0; mode < 4; mode++) {
			for (uint8_t state = 0; state < 4; state++) {
				const struct flowtap_context context = {
					.mode = mode, .security = state,
				};
				char name[] = { (char)('0' + mode), states[state], 0 };

				/* No such contexts. */
				if ((mode == 3 && state == FLOWTAP_REALM) ||
				    (mode < 3 && state == FLOWTAP_ROOT))
					continue;
				EXPECT_EQ(strstr(cases[i].in, name) ? 1 : -1,
					  byte_at(memory, &context, 0x1000))
					printf("# %s in %s\n", cases[i].space, name);
			}
		}
		flowtap_memory_free(memory);
	}
	ASSERT_EQ(0, flowtap_memory_space("EL4"));
	ASSERT_EQ(0, flowtap_memory_space(""));
}

TEST_F(memory, processes_and_machines_have_their_own)
{
	struct flowtap_memory_file file = {
		.directory = self->directory, .path = "a", .address = 0x1000,
		.filter = { .has_contextid = true, .contextid = 5 },
	};
	struct flowtap_context context = el1n;
	const struct flowtap_code *five, *any;

	fill(self->directory, "a", 0xa, 64);
	fill(self->directory, "b", 0xb, 64);
	fill(self->directory, "c", 0xc, 64);
	ASSERT_EQ(0, flowtap_memory_add(self->memory, &file));
	file.path = "b";
	file.filter = (struct flowtap_memory_filter){ .has_vmid = true, .vmid = 7 };
	ASSERT_EQ(0, flowtap_memory_add(self->memory, &file));
	ASSERT_EQ(0, add(self, "c", 0x1000, 0, 0));
	/* Far from the others, in every context: the same region. */
	ASSERT_EQ(0, add(self, "c", 0x5000, 0, 0));
	any = flowtap_memory_find(self->memory, &context, 0x5000);
	ASSERT_EQ(0xc, byte_at(self->memory, &context, 0x1000));
	/* What the trace does not tell is not 5. */
	context.contextid = 5;
	ASSERT_EQ(0xc, byte_at(self->memory, &context, 0x1000));
	context.has_contextid = true;
	ASSERT_EQ(0xa, byte_at(self->memory, &context, 0x1000));
	five = flowtap_memory_find(self->memory, &context, 0x1000);
	context.has_vmid = true;
	context.vmid = 7;
	/* Both: the first one counts. */
	ASSERT_EQ(0xa, byte_at(self->memory, &context, 0x1000));
	ASSERT_EQ(five, flowtap_memory_find(self->memory, &context, 0x1000));
	context.contextid = 6;
	ASSERT_EQ(0xb, byte_at(self->memory, &context, 0x1000));
	ASSERT_NE(five->key, flowtap_memory_find(self->memory, &context, 0x1000)->key);
	ASSERT_EQ(any, flowtap_memory_find(self->memory, &context, 0x5000));
	context.vmid = 8;
	ASSERT_EQ(0xc, byte_at(self->memory, &context, 0x1000));
}

TEST_F(memory, parts_of_a_file)
{
	static const uint8_t bytes[] = { 0, 1, 2, 3, 4, 5, 6, 7 };

	put(self->directory, "x", bytes, sizeof(bytes));
	ASSERT_EQ(0, add(self, "x", 0x1000, 3, 2));
	/* Longer than the file: cut. */
	ASSERT_EQ(1, add(self, "x", 0x2000, UINT64_MAX, 6));
	ASSERT_EQ(0, add(self, "x", 0x2800, 2, 6));
	ASSERT_EQ(-ERANGE, add(self, "x", 0x3000, 1, 8));
	ASSERT_EQ(-ERANGE, add(self, "x", 0x3000, 0, UINT64_MAX));
	ASSERT_EQ(2, byte_at(self->memory, &el1n, 0x1000));
	ASSERT_EQ(4, byte_at(self->memory, &el1n, 0x1002));
	ASSERT_EQ(-1, byte_at(self->memory, &el1n, 0x1003));
	ASSERT_EQ(7, byte_at(self->memory, &el1n, 0x2001));
	ASSERT_EQ(-1, byte_at(self->memory, &el1n, 0x2002));
	ASSERT_EQ(-1, byte_at(self->memory, &el1n, 0x3000));
}

TEST_F(memory, the_end_of_memory)
{
	fill(self->directory, "x", 9, 16);
	ASSERT_EQ(-ERANGE, add(self, "x", UINT64_MAX - 14, 0, 0));
	ASSERT_EQ(-ERANGE, add(self, "x", UINT64_MAX, 1, 0));
	ASSERT_EQ(0, add(self, "x", UINT64_MAX - 15, 0, 0));
	ASSERT_EQ(9, byte_at(self->memory, &el1n, UINT64_MAX - 1));
	ASSERT_EQ(-1, byte_at(self->memory, &el1n, UINT64_MAX));
	ASSERT_EQ(-1, byte_at(self->memory, &el1n, UINT64_MAX - 16));
}

TEST_F(memory, files_that_cannot_be_had)
{
	struct flowtap_memory_file file = { .directory = -1, .path = self->path };
	char outside[64];

	ASSERT_EQ(-ENOENT, add(self, "none", 0, 0, 0));
	ASSERT_EQ(0, mkdirat(self->directory, "folder", 0700));
	ASSERT_EQ(-ENOEXEC, add(self, "folder", 0, 0, 0));
	ASSERT_EQ(0, mkfifoat(self->directory, "pipe", 0600));
	ASSERT_EQ(-ENOEXEC, add(self, "pipe", 0, 0, 0));
	ASSERT_EQ(-ENOEXEC, flowtap_memory_add(self->memory, &file));
	file.path = "/dev/zero";
	ASSERT_EQ(-ENOEXEC, flowtap_memory_add(self->memory, &file));
	fill(self->directory, "empty", 0, 0);
	ASSERT_EQ(-ERANGE, add(self, "empty", 0, 0, 0));
	/* Neither names nor links lead out of the directory. */
	ASSERT_EQ(0, symlinkat("/etc/passwd", self->directory, "link"));
	ASSERT_EQ(-ENOENT, add(self, "link", 0, 0, 0));
	snprintf(outside, sizeof(outside), "..%s/folder/../../../etc/passwd", self->path);
	ASSERT_EQ(-ENOENT, add(self, outside, 0, 0, 0));
	ASSERT_EQ(-ENOENT, add(self, "/etc/passwd", 0, 0, 0));
	ASSERT_EQ(0, flowtap_memory_images(self->memory));
	ASSERT_EQ(NULL, flowtap_memory_find(self->memory, &el1n, 0));
}

/* What it is made of may be named once more for each processor. */
TEST_F(memory, a_file_of_many_parts_is_looked_at_once)
{
	const struct flowtap_code *code;

	fill(self->directory, "parts", 7, 0x100);
	ASSERT_EQ(0, add(self, "parts", 0x1000, 0x10, 0));
	ASSERT_EQ(0, unlinkat(self->directory, "parts", 0));
	ASSERT_EQ(0, add(self, "parts", 0x2000, 0x10, 0x20));
	ASSERT_EQ(1, add(self, "parts", 0x3000, 0x100, 0x20));
	ASSERT_EQ(-ERANGE, add(self, "parts", 0x4000, 0, 0x100));
	code = flowtap_memory_find(self->memory, &el1n, 0x2000);
	ASSERT_NE(NULL, code);
	ASSERT_EQ(NULL, code->bytes);
	ASSERT_NE(NULL, strstr(code->missing, "No such file"));
}

TEST_F(memory, a_file_that_shrinks_is_missing_with_its_reason)
{
	const struct flowtap_code *code;

	fill(self->directory, "x", 1, 0x1000);
	ASSERT_EQ(0, add(self, "x", 0x1000, 0, 0));
	fill(self->directory, "x", 1, 0x10);
	code = flowtap_memory_find(self->memory, &el1n, 0x1000);
	ASSERT_NE(NULL, code);
	ASSERT_EQ(NULL, code->bytes);
	ASSERT_STREQ("x: has become shorter", code->missing);
	ASSERT_EQ(0, flowtap_memory_held(self->memory));
	/* It is not asked for again. */
	fill(self->directory, "x", 1, 0x1000);
	ASSERT_EQ(code, flowtap_memory_find(self->memory, &el1n, 0x1fff));
	ASSERT_EQ(NULL, code->bytes);
}

/* A file of holes costs nothing until it is looked at, and is not held beyond the limit. */
TEST_F(memory, huge_files_are_bounded)
{
	const struct flowtap_code *code;
	int fd = openat(self->directory, "huge", O_WRONLY | O_CREAT, 0600);

	if (ftruncate(fd, 1LL << 42))
		SKIP(return, "the file system has no file of 4 TiB");
	close(fd);
	ASSERT_EQ(0, add(self, "huge", 0x1000, 0, 0));
	code = flowtap_memory_find(self->memory, &el1n, 0x1000 + (5ULL << 30) + 4);
	ASSERT_NE(NULL, code);
	ASSERT_EQ(512ULL << 20, code->end - code->start);
	ASSERT_EQ(0x1000 + (5ULL << 30), code->start);
	ASSERT_EQ(512ULL << 20, flowtap_memory_held(self->memory));
}

/* One as long as a file can be. */
TEST_F(memory, a_file_of_nothing_but_holes)
{
	const struct flowtap_code *code;
	int fd = openat(self->directory, "huge", O_WRONLY | O_CREAT, 0600);
	int64_t size = INT64_MAX & ~0xfffLL;

	while (size > 1LL << 40 && ftruncate(fd, size))
		size = size / 2 & ~0xfffLL;
	close(fd);
	fill(self->directory, "x", 5, 16);
	ASSERT_EQ(0, add(self, "huge", 0x1000, 0, 0));
	ASSERT_EQ(0, add(self, "x", 0xffffffffff000000, 0, 0));
	/* What is after it is there; it is, too, as far as anybody looks. */
	ASSERT_EQ(5, byte_at(self->memory, &el1n, 0xffffffffff000000));
	code = flowtap_memory_find(self->memory, &el1n, 0x1000 + (1ULL << 39));
	ASSERT_NE(NULL, code);
	ASSERT_NE(NULL, code->bytes);
	ASSERT_EQ(NULL, flowtap_memory_find(self->memory, &el1n, 1ULL << 62));
}

TEST_F(memory, too_many_filters_and_images)
{
	struct flowtap_memory_file file = { .directory = self->directory, .path = "x" };

	fill(self->directory, "x", 1, 16);
	for (unsigned int i = 0; i < 64; i++) {
		file.filter = (struct flowtap_memory_filter){ .has_vmid = true, .vmid = i };
		ASSERT_EQ(0, flowtap_memory_add(self->memory, &file));
	}
	file.filter.vmid = 64;
	ASSERT_EQ(-E2BIG, flowtap_memory_add(self->memory, &file));
	file.filter.vmid = 63;
	for (unsigned int i = 64; i < 65536; i++) {
		file.address = 32ULL * i;
		if (flowtap_memory_add(self->memory, &file))
			break;
	}
	ASSERT_EQ(65536, flowtap_memory_images(self->memory));
	ASSERT_EQ(-E2BIG, flowtap_memory_add(self->memory, &file));
	for (unsigned int i = 0; i < 65; i++) {
		const struct flowtap_context context = { .has_vmid = true, .vmid = i };

		ASSERT_EQ(i < 64 ? 1 : -1, byte_at(self->memory, &context, 8));
		ASSERT_EQ(i == 63 ? 1 : -1, byte_at(self->memory, &context, 32ULL * 65535));
	}
}

static size_t make_elf(uint8_t *bytes, uint16_t machine)
{
	size_t size = tiny_make(bytes, 3);

	memcpy(bytes + offsetof(Elf64_Ehdr, e_machine), &machine, sizeof(machine));
	return size;
}

/* What another machine executes cannot be in a trace of Arm's. */
TEST_F(memory, an_elf_file_of_another_machine_is_refused)
{
	static const uint16_t machines[] = { EM_NONE, EM_386, EM_X86_64, EM_RISCV };
	static uint8_t bytes[TINY_ROOM];
	struct flowtap_memory_file file = { .directory = self->directory, .path = "elf" };

	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		put(self->directory, "elf", bytes, make_elf(bytes, machines[i]));
		ASSERT_EQ(-ENOTSUP, flowtap_memory_add_elf(self->memory, &file));
	}
	ASSERT_EQ(0, flowtap_memory_images(self->memory));
}

TEST_F(memory, an_elf_file_goes_where_it_says)
{
	static uint8_t bytes[TINY_ROOM];
	size_t size = make_elf(bytes, EM_ARM);
	struct flowtap_memory_file file = { .directory = self->directory, .path = "elf" };

	put(self->directory, "elf", bytes, size);
	ASSERT_EQ(0, flowtap_memory_add_elf(self->memory, &file));
	/* Upwards and, modulo 2^64, downwards. */
	file.address = 0x100000;
	ASSERT_EQ(0, flowtap_memory_add_elf(self->memory, &file));
	file.address = 0 - (uint64_t)0x8000;
	ASSERT_EQ(0, flowtap_memory_add_elf(self->memory, &file));
	for (unsigned int i = 0; i < TINY_CODE_SIZE; i += 77) {
		ASSERT_EQ(tiny_code(3, i),
			  byte_at(self->memory, &el1n, TINY_CODE_ADDRESS - 0x8000 + i));
		ASSERT_EQ(tiny_code(3, i), byte_at(self->memory, &el1n, TINY_CODE_ADDRESS + i));
		ASSERT_EQ(tiny_code(3, i),
			  byte_at(self->memory, &el1n, TINY_CODE_ADDRESS + 0x100000 + i));
	}
	ASSERT_EQ(-1, byte_at(self->memory, &el1n, TINY_CODE_ADDRESS + TINY_CODE_SIZE));
	/* Its other segment: the headers. */
	ASSERT_EQ(0x7f, byte_at(self->memory, &el1n, 0));
}

TEST_F(memory, no_elf_file_is_believed)
{
	static uint8_t bytes[TINY_ROOM];
	size_t size = make_elf(bytes, EM_AARCH64);
	struct flowtap_memory_file file = { .directory = self->directory, .path = "elf" };
	Elf64_Phdr *segments = (Elf64_Phdr *)(bytes + offsetof(struct tiny, segment));

	fill(self->directory, "elf", 0, 100);
	ASSERT_EQ(-EBADMSG, flowtap_memory_add_elf(self->memory, &file));
	fill(self->directory, "elf", 0, 0);
	ASSERT_EQ(-EBADMSG, flowtap_memory_add_elf(self->memory, &file));
	segments[0].p_type = segments[1].p_type = PT_NULL;
	put(self->directory, "elf", bytes, size);
	ASSERT_EQ(-ENODATA, flowtap_memory_add_elf(self->memory, &file));
	/* More than the file has: what it has. */
	segments[1].p_type = PT_LOAD;
	segments[1].p_filesz = UINT64_MAX;
	put(self->directory, "elf", bytes, size);
	ASSERT_EQ(1, flowtap_memory_add_elf(self->memory, &file));
	segments[1].p_offset = UINT64_MAX - 5;
	put(self->directory, "elf", bytes, size);
	ASSERT_EQ(-ERANGE, flowtap_memory_add_elf(self->memory, &file));
	/* Any byte of it turned, or the end missing. */
	size = make_elf(bytes, EM_AARCH64);
	for (size_t at = 0; at < sizeof(struct tiny); at++) {
		struct flowtap_memory *memory = flowtap_memory_new();

		bytes[at] ^= 0xff;
		put(self->directory, "elf", bytes, at & 1 ? size : at);
		bytes[at] ^= 0xff;
		flowtap_memory_add_elf(memory, &file);
		flowtap_memory_find(memory, &el1n, TINY_CODE_ADDRESS);
		flowtap_memory_free(memory);
	}
}

TEST_HARNESS_MAIN
