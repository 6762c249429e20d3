// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mutates a fuzzer's seeds, the same way each time for a given --seed, and runs it under ASan and
 * UBSan.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/random.h"
#include "support/seed.h"

#define CAPACITY (1U << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n);

static uint64_t state;

static size_t below(size_t limit)
{
	return limit ? random_next(&state) % limit : 0;
}

static const uint64_t edges[] = {
	0, 1, 7, 8, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
	0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff,
};

/* One change. Returns the new size. */
static size_t mutate(uint8_t *data, size_t size)
{
	size_t at = below(size), n;

	switch (below(7)) {
	case 0:
		if (size)
			data[at] ^= 1U << below(8);
		return size;
	case 1:
		if (size)
			data[at] = random_next(&state);
		return size;
	case 2:
		return at;
	case 3:
		n = 1U << below(4);
		if (at + n <= size)
			memcpy(data + at, &edges[below(sizeof(edges) / sizeof(edges[0]))], n);
		return size;
	case 4:
		n = below(size - at + 1);
		memmove(data + at, data + at + n, size - at - n);
		return size - n;
	case 5:
		n = below(64);
		if (size + n > CAPACITY)
			return size;
		memmove(data + at + n, data + at, size - at);
		return size + n;
	default:
		n = below(size - at + 1);
		memmove(data + below(size - n + 1), data + at, n);
		return size;
	}
}

static void save(const uint8_t *data, size_t size, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		perror(path);
	close(fd);
}

static int replay(const char *path, uint8_t *data)
{
	FILE *file = fopen(path, "rb");
	size_t size;

	if (!file) {
		perror(path);
		return 1;
	}
	size = fread(data, 1, CAPACITY, file);
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	return 0;
}

/* Inputs that were found to be interesting: selftests/corpus/fuzz/NAME, from the checkout's top. */
static unsigned int replay_kept(const char *name, uint8_t *data)
{
	const char *slash = strrchr(name, '/');
	struct dirent *entry;
	unsigned int n = 0;
	char path[600];
	DIR *directory;

	snprintf(path, sizeof(path), "selftests/corpus/fuzz/%.255s", slash ? slash + 1 : name);
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		if (*entry->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "selftests/corpus/fuzz/%.255s/%.255s",
			 slash ? slash + 1 : name, entry->d_name);
		n += !replay(path, data);
	}
	if (directory)
		closedir(directory);
	return n;
}

/* For another fuzzer to begin with. */
static int write_seeds(const char *directory, uint8_t *seed)
{
	char path[600];
	size_t size;

	for (unsigned int n = 0; (size = flowtap_fuzz_seed(seed, CAPACITY, n)); n++) {
		snprintf(path, sizeof(path), "%.500s/seed-%u", directory, n);
		save(seed, size, path);
	}
	return 0;
}

/* The input is kept in a file before each run, so a crash leaves its cause there. */
int main(int argc, char **argv)
{
	unsigned long iterations = 10000, i;
	const char *crash = NULL, *file = NULL, *write_to = NULL;
	static uint8_t seed[CAPACITY], data[CAPACITY];
	unsigned int seeds = 0, kept;
	uint64_t start = 20261121 + 2 * (test_seed - 1);
	size_t size;

	for (int a = 1; a < argc; a++) {
		if (!strncmp(argv[a], "--iterations=", 13))
			iterations = strtoul(argv[a] + 13, NULL, 0);
		else if (!strncmp(argv[a], "--seed=", 7))
			start = strtoull(argv[a] + 7, NULL, 0);
		else if (!strncmp(argv[a], "--keep=", 7))
			crash = argv[a] + 7;
		else if (!strncmp(argv[a], "--write-seeds=", 14))
			write_to = argv[a] + 14;
		else
			file = argv[a];
	}
	if (file)
		return replay(file, data);
	if (write_to)
		return write_seeds(write_to, seed);
	state = start | 1;
	while ((size = flowtap_fuzz_seed(seed, CAPACITY, seeds))) {
		LLVMFuzzerTestOneInput(seed, size);
		seeds++;
	}
	kept = replay_kept(argv[0], data);
	printf("TAP version 13\n1..1\n# seed %llu, %u inputs, %u kept ones, %lu mutations\n",
	       (unsigned long long)start, seeds, kept, iterations);
	fflush(stdout);
	for (i = 0; seeds && i < iterations; i++) {
		size = flowtap_fuzz_seed(data, CAPACITY, i % seeds);
		for (size_t n = 1 + below(6); n; n--)
			size = mutate(data, size);
		if (crash)
			save(data, size, crash);
		LLVMFuzzerTestOneInput(data, size);
	}
	printf("%s 1 survives mutated input\n", seeds ? "ok" : "not ok");
	return !seeds;
}
