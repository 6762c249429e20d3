/* SPDX-License-Identifier: GPL-2.0-only */
/* What the fuzzers of readers of text share. */
#ifndef FLOWTAP_SELFTESTS_FUZZ_TEXT_READER_H
#define FLOWTAP_SELFTESTS_FUZZ_TEXT_READER_H

#include <flowtap/learned.h>
#include <flowtap/read.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gzip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n);

struct fuzz_sink {
	struct flowtap_sink sink;
	bool context;
	uint64_t instructions;
	uint64_t hash;
	uint64_t problems;
	size_t size;
};

static inline void fuzz_check(bool condition)
{
	if (!condition)
		abort();
}

static inline void fuzz_add(struct fuzz_sink *sink, uint64_t value)
{
	sink->hash = (sink->hash + value + 1) * 0x9e3779b97f4a7c15;
}

static int fuzz_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		      uint64_t target)
{
	struct fuzz_sink *got = (struct fuzz_sink *)sink;

	fuzz_check(got->context && block->size && block->instructions);
	fuzz_check(block->last < block->size && block->isa <= FLOWTAP_ISA_T32);
	fuzz_check(taken || target == block->address + block->size);
	for (uint32_t i = 0; i < block->size; i++)
		fuzz_add(got, block->bytes[i]);
	fuzz_add(got, block->address ^ target << 1 ^ taken);
	got->instructions += block->instructions;
	return 0;
}

static int fuzz_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct fuzz_sink *got = (struct fuzz_sink *)sink;
	const char *detail = element->kind == FLOWTAP_ELEMENT_GAP ? element->gap.detail : NULL;

	if (element->kind == FLOWTAP_ELEMENT_CONTEXT) {
		got->context = true;
		fuzz_check(element->context.isa <= FLOWTAP_ISA_T32 && element->context.mode <= 3 &&
			   element->context.security <= 3 &&
			   (element->context.width == 32 || element->context.width == 64));
	}
	if (element->kind == FLOWTAP_ELEMENT_GAP)
		fuzz_check(element->gap.reason < FLOWTAP_GAP_REASONS);
	for (; detail && *detail; detail++)
		fuzz_add(got, (uint64_t)*detail);
	fuzz_add(got, element->kind);
	return 0;
}

static void fuzz_problem(struct flowtap_read *read, uint64_t offset, uint64_t line,
			 const char *reason)
{
	struct fuzz_sink *got = read->argument;

	fuzz_check(offset <= got->size && line && *reason);
	got->problems++;
}

static struct fuzz_sink fuzz_read(int (*reader)(struct flowtap_read *read, int fd),
				  const uint8_t *bytes, size_t size, size_t unpacked)
{
	struct fuzz_sink got = {
		.sink = { fuzz_block, fuzz_element }, .size = unpacked,
	};
	struct flowtap_read read = {
		.sink = &got.sink, .learned = flowtap_learned_new(1 << 20),
		.problem = fuzz_problem, .argument = &got,
	};
	int fd = memfd_create("input", MFD_CLOEXEC);

	fuzz_check(read.learned && fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	lseek(fd, 0, SEEK_SET);
	fuzz_check(reader(&read, fd) == 0);
	fuzz_check(read.instructions == got.instructions && read.problems == got.problems);
	close(fd);
	flowtap_learned_free(read.learned);
	return got;
}

static int fuzz_text(int (*reader)(struct flowtap_read *read, int fd), const uint8_t *data,
		     size_t size)
{
	struct fuzz_sink plain, packed;
	uint8_t *bytes;
	size_t n;

	/* What is gzip already may grow beyond all bounds of offsets. */
	if (size > 2 && data[0] == 0x1f && data[1] == 0x8b) {
		fuzz_read(reader, data, size, SIZE_MAX);
		return 0;
	}
	plain = fuzz_read(reader, data, size, size);
	/* Now and then: it takes its time. */
	if (plain.hash % 8)
		return 0;
	bytes = fuzz_gzip(data, size, &n);
	packed = fuzz_read(reader, bytes, n, size);
	fuzz_check(plain.hash == packed.hash && plain.problems == packed.problems);
	free(bytes);
	return 0;
}

static size_t fuzz_text_seed(const char *const *seeds, size_t n_seeds, uint8_t *buffer,
			     size_t capacity, unsigned int n)
{
	size_t size;

	if (n >= n_seeds)
		return 0;
	size = strlen(seeds[n]);
	if (size > capacity)
		size = capacity;
	memcpy(buffer, seeds[n], size);
	return size;
}

#endif /* FLOWTAP_SELFTESTS_FUZZ_TEXT_READER_H */
