// SPDX-License-Identifier: GPL-2.0-only
/*
 * imagediff ARCHIVE IMAGE: the kernel's text as it was recorded, beside the file that the kernel
 * was booted from (an arch/riscv Image: memory from a multiple of 2 MiB on). What is different was
 * patched since: alternatives, static keys, ftrace. Prints how much, and where most of it is.
 */
#include <fcntl.h>
#include <flowtap/replay.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALIGNED (2ULL << 20)

static uint64_t start, size;

static int on_block(struct flowtap_replay *replay, const struct flowtap_archive_block *block)
{
	struct flowtap_archive_kernel kernel;

	(void)replay;
	if (block->type != FLOWTAP_ARCHIVE_KERNEL || size || block->size < sizeof(kernel) + 8)
		return 0;
	memcpy(&kernel, block->payload, sizeof(kernel));
	if (strncmp((const char *)block->payload + sizeof(kernel), "kernel", 7))
		return 0;
	start = kernel.start;
	size = kernel.size;
	return 0;
}

static int on_record(struct flowtap_replay *replay, uint32_t cpu,
		     const struct flowtap_record *record, size_t record_size)
{
	(void)replay;
	(void)cpu;
	(void)record;
	(void)record_size;
	return 0;
}

static const uint8_t *map_file(const char *path, size_t *capacity)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *bytes;

	if (fd < 0 || fstat(fd, &status))
		return NULL;
	*capacity = (size_t)status.st_size;
	bytes = mmap(NULL, *capacity, PROT_READ, MAP_PRIVATE, fd, 0);
	return bytes == MAP_FAILED ? NULL : bytes;
}

static int compare(struct flowtap_address_map *map, const uint8_t *image, size_t capacity)
{
	uint64_t different = 0, missing = 0, places = 0, last = 0, base = start & ~(ALIGNED - 1);

	if (!size || start + size - base > capacity)
		return 1;
	for (uint64_t at = start; at < start + size;) {
		const struct flowtap_code *code = flowtap_address_map_find(map, 1, 0, at);
		uint64_t end = code ? code->end : at + 1;

		for (; at < end && at < start + size; at++) {
			if (!code || !code->bytes) {
				missing++;
			} else if (code->bytes[at - code->start] != image[at - base]) {
				different++;
				places += at - last > 8;
				last = at;
			}
		}
	}
	printf("text %" PRIu64 " missing %" PRIu64 " different %" PRIu64 " places %" PRIu64 "\n",
	       size, missing, different, places);
	return 0;
}

int main(int argc, char **argv)
{
	struct flowtap_replay replay = { .block = on_block, .record = on_record };
	struct flowtap_address_map *map = flowtap_address_map_new(NULL);
	int fd = argc == 3 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	const uint8_t *image;
	size_t capacity = 0;

	if (fd < 0 || !map || flowtap_replay(&replay, fd, map)) {
		fprintf(stderr, "usage: imagediff ARCHIVE IMAGE\n");
		return 2;
	}
	image = map_file(argv[2], &capacity);
	return image ? compare(map, image, capacity) : 2;
}
